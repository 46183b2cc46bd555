//! Prefixes and the namespaces they denote, according to Namespaces in XML 1.0 (third edition).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::chars::is_name;
use super::error::{XmlError, XmlErrorKind, quoted};
use super::tag::Attributes;

const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// The declarations in force at a place of a document. The caller reports the begin and end of each
/// element in order.
#[derive(Default)]
pub(super) struct Namespaces<'a> {
    /// The namespaces of each prefix, the outermost declaration first.
    bound: HashMap<&'a str, Vec<Cow<'a, str>>>,
    /// The prefixes that each open element declares.
    declared: Vec<Vec<&'a str>>,
}

impl<'a> Namespaces<'a> {
    /// Enters an element whose tag is at that byte.
    pub(super) fn enter(&mut self, name: &'a str, attributes: &Attributes<'a>, at: usize) -> Result<(), XmlError> {
        let mut declared = Vec::new();
        for (attribute, value) in attributes {
            let Some(prefix) = prefix_declared(attribute) else { continue };
            check_declaration(prefix, attribute, value).map_err(|fault| error(at, fault))?;
            if !prefix.is_empty() {
                self.bound.entry(prefix).or_default().push(value.clone());
                declared.push(prefix);
            }
        }
        self.declared.push(declared);
        self.space_of(name, at)?;
        let mut seen = HashSet::new();
        for (attribute, _) in attributes {
            if prefix_declared(attribute).is_some() {
                continue;
            }
            if let Some((space, local)) = self.space_of(attribute, at)?
                && !seen.insert((space, local))
            {
                let fault = format!("the attribute {} stands twice under two prefixes", quoted(attribute));
                return Err(error(at, fault));
            }
        }
        Ok(())
    }

    /// Leaves the innermost element.
    pub(super) fn leave(&mut self) {
        for prefix in self.declared.pop().unwrap_or_default() {
            if let Some(bound) = self.bound.get_mut(prefix) {
                bound.pop();
            }
        }
    }

    /// Returns the namespace and the local part of a name with a prefix; `None` without a prefix.
    fn space_of<'n>(&self, name: &'n str, at: usize) -> Result<Option<(&str, &'n str)>, XmlError> {
        let Some((prefix, local)) = name.split_once(':') else { return Ok(None) };
        if prefix.is_empty() || local.contains(':') || !is_name(local) {
            return Err(error(at, format!("{} is no name with a prefix", quoted(name))));
        }
        let bound = self.bound.get(prefix).and_then(|bound| bound.last());
        match bound {
            Some(space) => Ok(Some((space, local))),
            None if prefix == "xml" => Ok(Some((XML, local))),
            None => Err(error(at, format!("nothing declares the prefix of {}", quoted(name)))),
        }
    }
}

/// Returns the prefix that an attribute declares, empty for the default namespace; `None` for any
/// other attribute.
pub(super) fn prefix_declared(attribute: &str) -> Option<&str> {
    match attribute.strip_prefix("xmlns")? {
        "" => Some(""),
        rest => rest.strip_prefix(':'),
    }
}

/// Returns the fault of a declaration, if it has one. `attribute` is the attribute's full name.
fn check_declaration(prefix: &str, attribute: &str, space: &str) -> Result<(), String> {
    let fault = match prefix {
        "" if attribute == "xmlns" => matches!(space, XML | XMLNS),
        "xml" => space != XML,
        "xmlns" => true,
        _ => prefix.contains(':') || !is_name(prefix) || matches!(space, "" | XML | XMLNS),
    };
    if fault {
        return Err(format!("{} may not stand for {}", quoted(attribute), quoted(space)));
    }
    Ok(())
}

fn error(at: usize, fault: String) -> XmlError {
    XmlError::at_byte(XmlErrorKind::Namespace, at, fault)
}
