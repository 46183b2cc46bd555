//! A document's root element as a part of another document.

use super::Limits;
use super::error::{XmlError, XmlErrorKind, quoted};
use super::namespaces::{Namespaces, prefix_declared};
use super::scan::Scanner;
use super::token::XmlToken;

/// The root element of a document, as it is written there. It means the same at any place, because
/// it refers to nothing outside: neither to an entity, nor to a prefix that it does not declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    text: &'a str,
    /// Bytes of the root's name.
    name: usize,
    /// Whether the root declares its default namespace.
    says_default: bool,
}

impl Fragment<'_> {
    /// Writes the element to a place. `in_default` states that a default namespace is in force
    /// there which is not the element's.
    pub fn write(&self, out: &mut String, in_default: bool) {
        if self.says_default || !in_default {
            return out.push_str(self.text);
        }
        let (start, rest) = self.text.split_at(1 + self.name);
        out.extend([start, " xmlns=\"\"", rest]);
    }
}

/// Returns the root element of a document, without the declaration, the DOCTYPE and anything else
/// around it.
///
/// # Errors
/// When the text is not a well-formed document within `limits`, with its namespaces; refers to an
/// entity; or has a prefix that only its DTD could declare.
pub fn fragment<'a>(xml: &'a str, limits: &Limits) -> Result<Fragment<'a>, XmlError> {
    let mut scanner = Scanner::new(xml, limits)?;
    let mut spaces = Namespaces::default();
    let (mut depth, mut begin, mut end) = (0_usize, 0, 0);
    let mut says_default = false;
    while let Some(token) = scanner.next()? {
        let span = scanner.span();
        match token {
            XmlToken::Start(name, attributes) => {
                spaces.enter(name, &attributes, span.start)?;
                if depth == 0 {
                    begin = span.start;
                    says_default = attributes.iter().any(|(name, _)| prefix_declared(name) == Some(""));
                }
                depth += 1;
            }
            XmlToken::End(_) => {
                spaces.leave();
                depth -= 1;
                if depth == 0 {
                    end = span.end;
                }
            }
            XmlToken::Instruction(target, _) if depth > 0 && target.contains(':') => {
                let fault = format!("a colon stands in the name of the instruction {}", quoted(target));
                return Err(XmlError::at_byte(XmlErrorKind::Namespace, span.start, fault));
            }
            _ => {}
        }
    }
    let name = scanner.root()?.len();
    Ok(Fragment { text: &xml[begin..end], name, says_default })
}
