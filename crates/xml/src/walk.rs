//! A walk through the elements and texts of a document.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::token::XmlToken;
use super::{Limits, XmlError, scan};

/// A part of a document. Every start has its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentPiece<'a> {
    /// An element of that name begins.
    Start(&'a str),
    /// Text of the innermost element, with references resolved; adjoining pieces belong together.
    Text(Cow<'a, str>),
    /// The innermost element ends.
    End,
}

/// Passes all elements and texts of a document to `visit`, in their order, until it breaks.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, or refers to an entity.
pub fn walk<'a>(
    xml: &'a str,
    limits: &Limits,
    visit: &mut dyn FnMut(DocumentPiece<'a>) -> ControlFlow<()>,
) -> Result<(), XmlError> {
    let mut scanner = scan::Scanner::new(xml, limits)?;
    while let Some(token) = scanner.next()? {
        let piece = match token {
            XmlToken::Start(name, _) => DocumentPiece::Start(name),
            XmlToken::Text(text) => DocumentPiece::Text(text.text),
            XmlToken::End(_) => DocumentPiece::End,
            XmlToken::Declaration(_) | XmlToken::Doctype(_) | XmlToken::Comment(_) | XmlToken::Instruction(..) => {
                continue;
            }
        };
        if visit(piece).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the text of the first element with that name, including the text of all elements in it.
/// White space at its ends is removed, and any other run of white space becomes one space. `None`
/// if there is no such element.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, or refers to an entity.
pub fn first_text_of(xml: &str, name: &str, limits: &Limits) -> Result<Option<String>, XmlError> {
    let (mut depth, mut text, mut found) = (0_usize, String::new(), None);
    walk(xml, limits, &mut |piece| {
        match piece {
            DocumentPiece::Start(begins) if depth > 0 || begins == name => depth += 1,
            DocumentPiece::Text(piece) if depth > 0 => text.push_str(&piece),
            DocumentPiece::End if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found = Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
                    return ControlFlow::Break(());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_text_of_an_element_has_all_text_within() {
        let first = |xml: &str| first_text_of(xml, "headline", &Limits::default()).expect("it is well-formed");
        let cases = [
            (
                "<m><headline> The  <b>harbour</b>\n ferry </headline><headline>2</headline></m>",
                Some("The harbour ferry"),
            ),
            ("<m><a><headline>In&amp;<![CDATA[<deep>]]></headline></a></m>", Some("In&<deep>")),
            ("<headline><headline>x</headline>y</headline>", Some("xy")),
            ("<m><headline/><headline>2</headline></m>", Some("")),
            ("<m><title>x</title></m>", None),
        ];
        for (xml, wanted) in cases {
            assert_eq!(first(xml).as_deref(), wanted, "{xml}");
        }
        assert!(first_text_of("<m><headline>", "headline", &Limits::default()).is_err());
    }
}
