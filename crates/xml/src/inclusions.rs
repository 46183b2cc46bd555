//! The places where a document includes others: references to entities that its DOCTYPE declares as
//! files.

use std::collections::HashMap;
use std::ops::Range;

use super::Limits;
use super::doctype;
use super::error::XmlError;
use super::frame::without_entities;
use super::scan::Scanner;
use super::token::XmlToken;

/// The inclusions of a document. Ranges are in bytes of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inclusions {
    /// The root, from its start tag to its end tag.
    pub root: Range<usize>,
    /// Declarations of entities that are files.
    declared: Vec<Range<usize>>,
    /// The references to them, each with the system identifier of its entity.
    references: Vec<(Range<usize>, String)>,
}

impl Inclusions {
    /// Returns the ranges to replace when the files are inserted, in the order of the document. A
    /// declaration is replaced by nothing, a reference by the file that is given with it.
    pub fn gaps(&self) -> impl Iterator<Item = (Range<usize>, Option<&str>)> {
        let declared = self.declared.iter().map(|place| (place.clone(), None));
        // A DOCTYPE stands before all content.
        declared.chain(self.references.iter().map(|(place, system)| (place.clone(), Some(&**system))))
    }
}

/// Finds the references in a document's content to entities that its DOCTYPE declares with a system
/// identifier. The first declaration of a name counts. References in attribute values, which XML
/// forbids, are ignored.
///
/// # Errors
/// If the text is not a well-formed document within `limits`. References to entities that a DOCTYPE
/// may declare are no error.
pub fn inclusions(xml: &str, limits: &Limits) -> Result<Inclusions, XmlError> {
    let masked = without_entities(xml, limits)?;
    let mut scanner = Scanner::new(&masked, limits)?;
    let mut found = Inclusions { root: 0..0, declared: Vec::new(), references: Vec::new() };
    let mut externals: HashMap<&str, &str> = HashMap::new();
    let (mut depth, mut known) = (0usize, false);
    while let Some(token) = scanner.next()? {
        let span = scanner.span();
        match token {
            XmlToken::Doctype(_) => {
                let raw = &xml[span.clone()];
                for entity in doctype::parse(raw, 0)?.externals {
                    found.declared.push(span.start + entity.place.start..span.start + entity.place.end);
                    externals.entry(entity.name).or_insert(entity.system);
                }
                known = !externals.is_empty();
            }
            XmlToken::Start(..) => {
                if depth == 0 {
                    found.root.start = span.start;
                }
                depth += 1;
            }
            XmlToken::End(_) => {
                depth -= 1;
                found.root.end = span.end;
            }
            XmlToken::Text(_) if known && !xml[span.clone()].starts_with("<![CDATA[") => {
                let mut from = span.start;
                while let Some(at) = xml[from..span.end].find('&').map(|at| from + at) {
                    let Some(end) = xml[at..span.end].find(';').map(|end| at + end) else { break };
                    let name = &xml[at + 1..end];
                    if let Some(system) = externals.get(name) {
                        found.references.push((at..end + 1, (*system).to_owned()));
                    }
                    from = end + 1;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_files_are_found_in_content_alone() {
        let xml = "<!DOCTYPE a [<!ENTITY b SYSTEM '/b.xml'> <!ENTITY c PUBLIC 'x' \"c.xml\" ><!ENTITY b SYSTEM '/d.xml'>\
                   <!ENTITY t 'text'><!ENTITY % p SYSTEM '/p'><!ENTITY n SYSTEM 'n' NDATA gif>]><!-- &b; --><a x='1'>&amp;&b; é<![CDATA[&b;]]><e>&c;&t;</e><?do &b;?></a>";
        let found = inclusions(xml, &Limits::default()).expect("it is well-formed");
        let shown: Vec<_> = found.gaps().map(|(place, system)| (&xml[place], system)).collect();
        let gap = |text, system| (text, Some(system));
        assert_eq!(
            shown,
            [
                ("<!ENTITY b SYSTEM '/b.xml'>", None),
                ("<!ENTITY c PUBLIC 'x' \"c.xml\" >", None),
                ("<!ENTITY b SYSTEM '/d.xml'>", None),
                gap("&b;", "/b.xml"),
                gap("&c;", "c.xml"),
            ]
        );
        assert!(xml[found.root].starts_with("<a x='1'>") && xml.ends_with("</a>"));
        let none = inclusions("<a/>", &Limits::default()).expect("it is well-formed");
        assert_eq!((none.gaps().count(), none.root), (0, 0..4));
        assert!(inclusions("<a>&b;</a>", &Limits::default()).is_err());
    }
}
