//! ETags and the requests that depend on them (docs/api/README.md, "Conditional requests"; RFC 9110).
//!
//! An ETag is `"<revision>-<representation>"`. The revision is that of the container or object that the path names; the rest
//! distinguishes representations of it. `If-None-Match` compares all of it, `If-Match` the revision only, so that an ETag of any
//! representation serves for a write.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use stet_actors::id::Loid;
use stet_actors::runtime::Expect;

/// A strong entity tag, quoted. A clone shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ETag(HeaderValue);

impl ETag {
    /// The tag of a representation: `what` is anything that differs when the bytes may.
    pub fn new(revision: u64, what: impl Hash) -> ETag {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let text = format!("\"{revision}-{:016x}\"", hasher.finish());
        // Quotes, digits and a dash are visible ASCII, which is all that a header's value must be.
        ETag(HeaderValue::try_from(text).expect("a tag is a header's value"))
    }

    /// As it stands in a header.
    pub fn value(&self) -> &HeaderValue {
        &self.0
    }

    /// Whether a client that sends these headers has this representation already (`If-None-Match`).
    pub fn is_known(&self, headers: &HeaderMap) -> bool {
        tags(headers, &header::IF_NONE_MATCH)
            .is_some_and(|mut tags| tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.0))
    }
}

/// The entity tags of a header; `None` without it. A `*` is given as itself.
fn tags<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<impl Iterator<Item = &'h str>> {
    headers.contains_key(name).then(|| {
        headers
            .get_all(name)
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|tag| !tag.is_empty())
    })
}

/// The precondition of `If-Match` on a container; `None` without it, or for `*`, which any container that exists meets.
///
/// A tag that is weak or not ours matches nothing, and then the call fails as it would for an old one.
pub fn expectation(headers: &HeaderMap, container: Loid) -> Option<Expect> {
    let tags = tags(headers, &header::IF_MATCH)?;
    let mut revisions = Vec::new();
    for tag in tags {
        if tag == "*" {
            return None;
        }
        let revision = tag.strip_prefix('"').and_then(|tag| tag.split(['-', '"']).next());
        revisions.extend(revision.and_then(|revision| revision.parse::<u64>().ok()));
    }
    Some(Expect { container, revisions })
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderName;
    use stet_actors::id::DatabaseId;

    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn if_none_match_compares_the_whole_tag_weakly() {
        let tag = ETag::new(7, "a");
        let text = |tag: &ETag| tag.value().to_str().unwrap().to_owned();
        assert_ne!(tag, ETag::new(7, "b"));
        assert!(tag.is_known(&with(header::IF_NONE_MATCH, &format!("\"x\", W/{}", text(&tag)))));
        assert!(tag.is_known(&with(header::IF_NONE_MATCH, "*")));
        assert!(!tag.is_known(&with(header::IF_NONE_MATCH, &text(&ETag::new(7, "b")))));
        assert!(!tag.is_known(&HeaderMap::new()));
    }

    #[test]
    fn if_match_takes_the_revision_of_any_representation() {
        let loid = Loid::new(DatabaseId::MAIN, 5);
        let expect = |value: &str| expectation(&with(header::IF_MATCH, value), loid);
        let text = |revision| ETag::new(revision, "a").value().to_str().unwrap().to_owned();
        let tags = format!("{}, {}", text(7), text(9));
        assert_eq!(expect(&tags), Some(Expect { container: loid, revisions: vec![7, 9] }));
        assert_eq!(expect("W/\"7-0\", \"nonsense\", nonsense"), Some(Expect { container: loid, revisions: vec![] }));
        assert_eq!(expect("*"), None);
        assert_eq!(expectation(&HeaderMap::new(), loid), None);
    }
}
