//! The references of a document in attributes with certain names.

use super::Limits;
use super::error::XmlError;
use super::frame::without_entities;
use super::scan::Scanner;
use super::token::XmlToken;

/// Returns the values of the attributes with one of these names on any element, each once, in the
/// order of the document. The prefix and the case of a name are ignored. References to entities
/// that a DOCTYPE may declare are no error.
///
/// # Errors
/// When the text is not a well-formed document within `limits`.
pub fn references(xml: &str, names: &[&str], limits: &Limits) -> Result<Vec<String>, XmlError> {
    let masked = without_entities(xml, limits)?;
    let mut scanner = Scanner::new(&masked, limits)?;
    let (mut found, mut known) = (Vec::new(), std::collections::HashSet::new());
    while let Some(token) = scanner.next()? {
        let XmlToken::Start(_, attributes) = token else { continue };
        for (name, value) in attributes {
            let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
            if names.iter().any(|wanted| wanted.eq_ignore_ascii_case(local)) && known.insert(value.to_string()) {
                found.push(value.into_owned());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_given_once_in_the_order_of_the_document() {
        let xml = "<!DOCTYPE a SYSTEM 'a.dtd'><a href='/1'>&e;<b x:HREF='/2 &amp; 3' other='/4'/><!-- <c href='/5'/> --><d uuid='6' href='/1'/></a>";
        let found = references(xml, &["href", "uuid"], &Limits::default()).unwrap();
        assert_eq!(found, ["/1", "/2 & 3", "6"]);
        assert!(references("<a>", &["href"], &Limits::default()).is_err());
    }
}
