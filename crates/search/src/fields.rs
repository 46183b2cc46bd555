//! The texts in the attributes of objects.

use std::ops::ControlFlow;

use stet_xml::{DocumentPiece, Limits, walk};

/// Maximum number of fields of one attribute text that are indexed.
const MOST_FIELDS: usize = 1000;

/// Maximum bytes of all fields of one attribute text that are indexed.
const MOST_BYTES: usize = 256 << 10;

/// Returns the texts of the elements of an attribute text, each with the name of its element, as
/// many as are indexed. Text around inner elements belongs to the outer one. A text that is no
/// well-formed XML has those before the fault.
pub fn element_texts(xml: &str, limits: &Limits) -> Vec<(String, String)> {
    let (mut fields, mut open, mut bytes) = (Vec::new(), Vec::<(&str, String)>::new(), 0);
    // The fault of a damaged text is reported where it is written and shown.
    let _ = walk(xml, limits, &mut |piece| {
        match piece {
            DocumentPiece::Start(name) => open.push((name, String::new())),
            DocumentPiece::Text(text) => {
                bytes += text.len();
                if let Some((_, whole)) = open.last_mut() {
                    whole.push_str(&text);
                }
            }
            DocumentPiece::End => {
                if let Some((name, text)) = open.pop().filter(|(_, text)| !text.trim().is_empty()) {
                    fields.push((local_name(name).to_owned(), text));
                }
            }
        }
        match fields.len() < MOST_FIELDS && bytes < MOST_BYTES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    fields
}

/// Returns a name without its namespace's prefix.
fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_belong_to_their_innermost_elements() {
        let xml = "<story><headline>The <b>port</b> today</headline><x:by>Ada</x:by><empty/> <n> </n></story>";
        let texts = element_texts(xml, &Limits::default());
        let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(texts, [("b", "port"), ("headline", "The  today"), ("by", "Ada")]);
        assert_eq!(element_texts("<a><b>x</b><c>", &Limits::default()), [("b".to_owned(), "x".to_owned())]);
        assert_eq!(element_texts("no XML", &Limits::default()), []);
    }

    #[test]
    fn many_and_long_texts_are_cut_off() {
        let many = format!("<a>{}</a>", "<b>x</b>".repeat(MOST_FIELDS + 5));
        assert_eq!(element_texts(&many, &Limits::default()).len(), MOST_FIELDS);
        let long = format!("<a>{}<b>behind</b></a>", format!("<b>{}</b>", "x".repeat(MOST_BYTES)).repeat(2));
        assert_eq!(element_texts(&long, &Limits::default()).len(), 0, "the text is longer than all that is indexed");
    }
}
