//! A DTD inserted into the document that refers to it.

use std::ops::Range;

use super::chars::is_char;
use super::scan::Scanner;
use super::token::XmlToken;
use super::{Limits, doctype};

/// The DOCTYPE of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doctype<'a> {
    /// The whole declaration, from `<!DOCTYPE` to `>`.
    text: &'a str,
    /// The place of the declaration, in bytes of the document.
    pub place: Range<usize>,
    /// The system identifier of the DTD.
    pub system: &'a str,
}

/// Returns the DOCTYPE of a document whose beginning is `head`, if it refers to a DTD and ends
/// within `head`.
pub fn doctype_of(head: &str) -> Option<Doctype<'_>> {
    let limits = Limits { max_bytes: head.len(), ..Limits::default() };
    let mut scanner = Scanner::new(head, &limits).ok()?;
    loop {
        match scanner.next().ok()?? {
            XmlToken::Doctype(text) => {
                let system = doctype::parse(text, 0).ok()?.system?;
                return Some(Doctype { text, place: scanner.span(), system });
            }
            XmlToken::Start(..) => return None,
            _ => {}
        }
    }
}

impl Doctype<'_> {
    /// Returns the DOCTYPE with a DTD in place of the reference to it. The DTD follows the
    /// DOCTYPE's own declarations, because the first declaration of a name counts. `None` for a
    /// text that is not a DTD or can't be inserted: one with conditional sections, or with
    /// references within declarations.
    pub fn with(&self, dtd: &str) -> Option<String> {
        let dtd = dtd.strip_prefix('\u{FEFF}').unwrap_or(dtd);
        let dtd = match dtd.strip_prefix("<?xml").filter(|rest| rest.starts_with(super::chars::SPACE)) {
            Some(rest) => rest.split_once("?>")?.1,
            None => dtd,
        };
        if !dtd.chars().all(is_char) {
            return None;
        }
        let own = doctype::parse(self.text, 0).ok()?;
        let declared = own.subset.map_or("", |subset| &self.text[subset]);
        let whole = format!("{}[{declared}\n{dtd}]>", &self.text[..own.external.start]);
        // The DTD might close the subset, and continue after it.
        let found = doctype::parse(&whole, 0).ok()?;
        let all = found.subset.is_some_and(|subset| subset.end == whole.len() - "]>".len());
        (all && !found.refers_within).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use roxmltree::{Document, ParsingOptions};

    use super::*;

    #[test]
    fn a_dtd_takes_the_place_of_the_reference_and_leaves_the_rest_as_it_is() {
        let document = "<?xml version='1.0'?>\n<!-- <!DOCTYPE x> --><!DOCTYPE a PUBLIC \"-//x\" '/a.dtd' [<!ENTITY x 'own'>] ><a>&x;&y;</a>";
        let found = doctype_of(document).expect("it has one");
        assert_eq!((found.system, document[found.place.clone()].starts_with("<!DOCTYPE a")), ("/a.dtd", true));
        let dtd = "<?xml version='1.0' encoding='UTF-8'?><!-- 100%; --><!ENTITY x 'theirs'><!ENTITY y 'more'><!ELEMENT a ANY>";
        let with = found.with(dtd).expect("it can stand there");
        let own = "<!DOCTYPE a [<!ENTITY x 'own'>\n";
        assert_eq!(with, format!("{own}<!-- 100%; --><!ENTITY x 'theirs'><!ENTITY y 'more'><!ELEMENT a ANY>]>"));
        let whole = document.replace(&document[found.place], &with);
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let parsed = Document::parse_with_options(&whole, options).expect("it is well-formed");
        assert_eq!(parsed.root_element().text(), Some("ownmore"));
        let plain = doctype_of("<!DOCTYPE a SYSTEM '/a.dtd'><a>").unwrap().with("<!ELEMENT a ANY>").unwrap();
        assert_eq!(plain, "<!DOCTYPE a [\n<!ELEMENT a ANY>]>");
    }

    #[test]
    fn texts_without_a_complete_doctype_reference_have_none() {
        for head in [
            "",
            "<a/>",
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
            "<!DOCTYPE a SYSTEM '/a.dtd'",
            "<a><!DOCTYPE a SYSTEM '/a.dtd'></a>",
            "text <!DOCTYPE a SYSTEM '/a.dtd'>",
            "<!doctype a SYSTEM '/a.dtd'>",
        ] {
            assert_eq!(doctype_of(head), None, "{head}");
        }
    }

    #[test]
    fn a_dtd_that_can_not_stand_in_a_document_is_not_put_there() {
        let found = doctype_of("<!DOCTYPE a SYSTEM '/a.dtd'><a>").unwrap();
        for dtd in [
            "<![INCLUDE[<!ELEMENT a ANY>]]>",
            "<!ELEMENT a (%content;)>",
            "<!ENTITY x '%content;'>",
            "]><!-- ",
            "]><a/><!DOCTYPE a [",
            "<a/>",
            "text",
            "\u{1}",
            "<?xml version='1.0'",
        ] {
            assert_eq!(found.with(dtd), None, "{dtd}");
        }
        for dtd in ["", "<!ENTITY % content 'x'>%content;", "<!ATTLIST a b CDATA '50% ;'>", "<?do it?>"] {
            assert!(found.with(dtd).is_some(), "{dtd}");
        }
    }
}
