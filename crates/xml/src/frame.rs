//! A document as a frame into which text is inserted while it is sent.

use std::borrow::Cow;
use std::ops::Range;

use super::Limits;
use super::chars::is_name;
use super::doctype;
use super::error::XmlError;
use super::namespaces::prefix_declared;
use super::scan::Scanner;
use super::tag::Attributes;
use super::token::XmlToken;

/// The place in a document for inserted text. Ranges are in bytes of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsertionFrame {
    /// The declaration, if it would be wrong after the insertion: the text is UTF-8 and XML 1.0
    /// then.
    pub false_declaration: Option<Range<usize>>,
    /// The range that `before`, the inserted text and `after` replace. It is empty unless the
    /// element had the form `<a/>`.
    pub place: Range<usize>,
    /// The text before the insertion.
    pub before: &'static str,
    /// The text after the insertion.
    pub after: String,
    /// Whether a default namespace is in force at the place.
    pub in_default: bool,
}

/// The declaration that replaces a [`InsertionFrame::false_declaration`].
pub const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Finds the place for the insertion: the end of the first element whose attribute `mark.0` has the
/// value `mark.1`, or of the root if there is none.
///
/// References to entities stay as they are if a DOCTYPE may declare them.
///
/// # Errors
/// When the text is not a well-formed document within `limits`.
pub fn frame(xml: &str, mark: (&str, &str), limits: &Limits) -> Result<InsertionFrame, XmlError> {
    let masked = without_entities(xml, limits)?;
    let mut scanner = Scanner::new(&masked, limits)?;
    let mut found =
        InsertionFrame { false_declaration: None, place: 0..0, before: "", after: String::new(), in_default: false };
    // Whether a default namespace holds in each open element.
    let mut defaults: Vec<bool> = Vec::new();
    // The depth of the marked element, and its place.
    let (mut marked, mut is_placed) = (None, false);
    while let Some(token) = scanner.next()? {
        let span = scanner.span();
        match token {
            XmlToken::Declaration(_) if !fits(&xml[span.clone()]) => found.false_declaration = Some(span),
            XmlToken::Start(name, attributes) => {
                defaults.push(has_default(&attributes).unwrap_or(defaults.last() == Some(&true)));
                let is_marked = attributes.iter().any(|(name, value)| (*name, &**value) == mark);
                if marked.is_none() && is_marked {
                    marked = Some(defaults.len());
                }
                // The root counts until a marked element is found.
                if scanner.starts_empty() && !is_placed && (defaults.len() == 1 || marked == Some(defaults.len())) {
                    found.place = span.end - 2..span.end;
                    (found.before, found.after) = (">", format!("</{name}>"));
                    found.in_default = defaults.last() == Some(&true);
                    is_placed = true;
                }
            }
            XmlToken::End(_) => {
                if !is_placed && (defaults.len() == 1 || marked == Some(defaults.len())) {
                    found.place = span.start..span.start;
                    found.in_default = defaults.last() == Some(&true);
                    is_placed = true;
                }
                defaults.pop();
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Reports whether a declaration is correct for text in UTF-8 and XML 1.0.
fn fits(declaration: &str) -> bool {
    let value = |name: &str| {
        let (_, rest) = declaration.split_once(name)?;
        rest.split(['"', '\'']).nth(1)
    };
    value("version") == Some("1.0") && value("encoding").is_none_or(|name| name.eq_ignore_ascii_case("UTF-8"))
}

/// Reports whether an element sets a default namespace (`true`) or removes it (`false`).
fn has_default(attributes: &Attributes<'_>) -> Option<bool> {
    attributes.iter().find(|(name, _)| prefix_declared(name) == Some("")).map(|(_, value)| !value.is_empty())
}

/// Masks each reference to an entity that the DOCTYPE may declare: its bytes are overwritten with
/// characters that are legal only in text and attribute values.
pub(super) fn without_entities<'a>(xml: &'a str, limits: &Limits) -> Result<Cow<'a, str>, XmlError> {
    let mut scanner = Scanner::new(xml, limits)?;
    let declaration = loop {
        match scanner.next()? {
            Some(XmlToken::Doctype(raw)) => break raw,
            Some(XmlToken::Start(..)) | None => return Ok(Cow::Borrowed(xml)),
            Some(_) => {}
        }
    };
    let behind = scanner.span().end;
    let known = doctype::parse(declaration, 0)?;
    let (mut out, mut rest) = (xml[..behind].to_owned(), &xml[behind..]);
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let name = after.split([';', '&', '<', '"', '\'', ' ', '\n']).next().unwrap_or_default();
        let is_reference = after[name.len()..].starts_with(';') && is_name(name);
        let predefined = matches!(name, "amp" | "lt" | "gt" | "apos" | "quot");
        if is_reference && !predefined && known.may_declare(name) {
            out.extend(std::iter::repeat_n('*', 1 + name.len() + 1));
            rest = &after[name.len() + 1..];
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document with `+` inserted.
    fn put(xml: &str) -> String {
        let found = frame(xml, ("posts", "here"), &Limits::default()).unwrap_or_else(|error| panic!("{xml}: {error}"));
        let (before, after) = (&xml[..found.place.start], &xml[found.place.end..]);
        format!("{before}{}+{}{after}", found.before, found.after)
    }

    #[test]
    fn the_place_is_in_the_first_element_that_is_marked_or_in_the_root() {
        for (xml, expected) in [
            ("<a/>", "<a>+</a>"),
            ("<a />", "<a >+</a>"),
            ("<a></a>", "<a>+</a>"),
            ("<a><b/>x</a>", "<a><b/>x+</a>"),
            ("<a posts='here'/>", "<a posts='here'>+</a>"),
            ("<a><b posts='here'/><b posts='here'/></a>", "<a><b posts='here'>+</b><b posts='here'/></a>"),
            ("<a><b posts='here'>x<c/></b>y</a>", "<a><b posts='here'>x<c/>+</b>y</a>"),
            ("<a><b posts='here'><b posts='here'/></b></a>", "<a><b posts='here'><b posts='here'/>+</b></a>"),
            ("<a posts='there'><b post='here'/></a>", "<a posts='there'><b post='here'/>+</a>"),
            (
                "<a><!-- <b posts='here'/> --><x:c posts=\"h&#101;re\"/></a>",
                "<a><!-- <b posts='here'/> --><x:c posts=\"h&#101;re\">+</x:c></a>",
            ),
            ("\u{feff}<?xml version='1.0'?><a/><!-- x -->", "\u{feff}<?xml version='1.0'?><a>+</a><!-- x -->"),
        ] {
            assert_eq!(put(xml), expected);
        }
    }

    #[test]
    fn the_default_namespace_is_that_of_the_place() {
        let holds = |xml: &str| frame(xml, ("posts", "here"), &Limits::default()).unwrap().in_default;
        assert!(holds("<a xmlns='x'/>") && holds("<a xmlns='x'><b posts='here'/></a>"));
        assert!(holds("<a><b xmlns='x' posts='here'></b></a>"));
        assert!(!holds("<a xmlns:x='x'/>") && !holds("<a><b xmlns='x'/></a>"));
        assert!(!holds("<a xmlns='x'><b xmlns='' posts='here'><c xmlns='y'/></b></a>"));
    }

    #[test]
    fn a_declaration_that_would_not_be_true_any_more_is_told() {
        let declaration = |xml: &str| frame(xml, ("posts", "here"), &Limits::default()).unwrap().false_declaration;
        for xml in
            ["<a/>", "<?xml version='1.0'?><a/>", "<?xml version=\"1.0\" encoding='utf-8' standalone='yes'?><a/>"]
        {
            assert_eq!(declaration(xml), None, "{xml}");
        }
        assert_eq!(declaration("<?xml version='1.0' encoding='US-ASCII'?><a/>"), Some(0..41));
        assert_eq!(declaration("\u{feff}<?xml version='1.1'?><a/>"), Some(3..24));
    }

    #[test]
    fn entities_are_those_that_the_doctype_may_declare() {
        let parsed = |xml: &str| frame(xml, ("posts", "here"), &Limits::default());
        let own =
            "<!DOCTYPE a [<!ENTITY ü 'x'><!ENTITY % p 'y'>]><a b='&ü;'>&ü;&amp;<![CDATA[&q;]]><c posts='here'/></a>";
        assert!(put(own).ends_with("<c posts='here'>+</c></a>"));
        assert!(parsed("<!DOCTYPE a SYSTEM 'a.dtd'><a>&any;</a>").is_ok());
        assert!(parsed("<!DOCTYPE a [%p;]><a>&any;</a>").is_ok());
        for xml in [
            "<a>&any;</a>",
            "<!DOCTYPE a [<!ENTITY x 'x'>]><a>&any;</a>",
            "<!DOCTYPE a [<!ENTITY % any 'x'>]><a>&any;</a>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><a>&any</a>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><a>& any;</a>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><&any;/>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><a &any;='x'/>",
            "<!DOCTYPE a SYSTEM 'a.dtd'>&any;<a/>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><a/>&any;",
        ] {
            assert!(parsed(xml).is_err(), "{xml}");
        }
    }
}
