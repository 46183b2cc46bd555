//! ETags and the requests that depend on them (decisions 1, RFC 9110).
//!
//! An ETag is `"<revision>-<representation>"`. The revision is that of the container or object that the path names; the rest
//! tells representations of it apart. `If-None-Match` compares all of it, `If-Match` the revision only, so that an ETag of any
//! representation serves for a write.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::http::header::{self, HeaderMap};
use stet_actors::id::Loid;
use stet_actors::runtime::Expect;

/// The ETag of a representation: `what` is anything that differs when the bytes may.
pub fn etag(revision: u64, what: impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    format!("\"{revision}-{:016x}\"", hasher.finish())
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

/// Whether the client has this representation already.
pub fn none_match(headers: &HeaderMap, etag: &str) -> bool {
    tags(headers, &header::IF_NONE_MATCH)
        .is_some_and(|mut tags| tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag))
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
    use actix_web::http::header::{HeaderName, HeaderValue};
    use stet_actors::id::DatabaseId;

    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn if_none_match_compares_the_whole_tag_weakly() {
        let tag = etag(7, "a");
        assert_ne!(tag, etag(7, "b"));
        assert!(none_match(&with(header::IF_NONE_MATCH, &format!("\"x\", W/{tag}")), &tag));
        assert!(none_match(&with(header::IF_NONE_MATCH, "*"), &tag));
        assert!(!none_match(&with(header::IF_NONE_MATCH, &etag(7, "b")), &tag));
        assert!(!none_match(&HeaderMap::new(), &tag));
    }

    #[test]
    fn if_match_takes_the_revision_of_any_representation() {
        let loid = Loid::new(DatabaseId::MAIN, 5);
        let expect = |value: &str| expectation(&with(header::IF_MATCH, value), loid);
        let tags = format!("{}, {}", etag(7, "a"), etag(9, "b"));
        assert_eq!(expect(&tags), Some(Expect { container: loid, revisions: vec![7, 9] }));
        assert_eq!(expect("W/\"7-0\", \"nonsense\", nonsense"), Some(Expect { container: loid, revisions: vec![] }));
        assert_eq!(expect("*"), None);
        assert_eq!(expectation(&HeaderMap::new(), loid), None);
    }
}
