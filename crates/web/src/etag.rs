//! ETags and the requests that depend on them (docs/api/README.md, "Conditional requests"; RFC
//! 9110).
//!
//! An ETag is `"<revision>-<object>-<representation>"`. The object is the container or object that
//! the path names, given by its loid, and the revision is the object's. The third part
//! distinguishes representations. `If-None-Match` compares all parts, `If-Match` only object and
//! revision. So an ETag of any representation is valid for a write, but not one of another object
//! that has taken the name since.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use stet_base::json::ReadyJson;
use stet_base::limits::offload::offload_if_large;
use stet_domain::error::{Error, Result};
use stet_domain::expect::{Precondition, RevisionTag};

use super::compress::without_coding;

/// The number of characters of a header that a message shows.
const SHOWN: usize = 100;

/// A strong entity tag, quoted. A clone shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ETag(HeaderValue);

impl ETag {
    /// Creates the tag of a representation of an object at a revision. `what` is anything that
    /// differs whenever the bytes may differ.
    pub fn new(of: RevisionTag, what: impl Hash) -> ETag {
        ETag::written(format_args!("{}-{}-{:016x}", of.revision, of.object, hash_of(what)))
    }

    /// Creates the tag of bytes that never change, whatever happens to their object. It is of no
    /// use in `If-Match`.
    pub fn of_bytes(what: impl Hash) -> ETag {
        ETag::written(format_args!("{:016x}", hash_of(what)))
    }

    fn written(text: fmt::Arguments<'_>) -> ETag {
        // Quotes, digits, dots, a dollar and dashes are visible ASCII, as a header's value must be.
        ETag(HeaderValue::try_from(format!("\"{text}\"")).expect("a tag is a header's value"))
    }

    /// Returns the tag as a header's value.
    pub fn value(&self) -> &HeaderValue {
        &self.0
    }

    /// Reports whether a client with these headers has this representation already
    /// (`If-None-Match`).
    pub fn is_known(&self, headers: &HeaderMap) -> bool {
        tags(headers, &header::IF_NONE_MATCH)
            .is_some_and(|mut tags| tags.any(|tag| tag == "*" || self.is(tag.strip_prefix("W/").unwrap_or(tag))))
    }
}

impl From<HeaderValue> for ETag {
    fn from(value: HeaderValue) -> ETag {
        ETag(value)
    }
}

/// Reports whether `If-None-Match` names a tag, weak or strong.
pub(super) fn names_tag(headers: &HeaderMap, wanted: &HeaderValue) -> bool {
    tags(headers, &header::IF_NONE_MATCH)
        .is_some_and(|mut tags| tags.any(|tag| wanted == tag.strip_prefix("W/").unwrap_or(tag)))
}

impl ETag {
    /// Reports whether a text is this tag, or its form in a coding.
    fn is(&self, tag: &str) -> bool {
        let inside = |tag: &str| Some(without_coding(tag.strip_suffix('"')?).to_owned());
        tag == self.0 || self.0.to_str().is_ok_and(|own| own.strip_suffix('"').map(str::to_owned) == inside(tag))
    }
}

/// Returns a hash of a JSON text, which may have megabytes, as a part of a tag.
///
/// # Errors
/// `Overloaded`.
pub async fn hash_of_json<T: 'static>(json: &ReadyJson<T>) -> Result<u64> {
    let shared = json.clone();
    offload_if_large(json.text().len(), move || hash_of(shared.text())).await
}

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Returns the entity tags of a header, `*` included; `None` without the header.
fn tags<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<impl Iterator<Item = &'h str>> {
    headers.contains_key(name).then(|| {
        headers.get_all(name).filter_map(|value| value.to_str().ok()).flat_map(|value| ETagList { rest: value })
    })
}

/// An iterator over the members of a list of entity tags. They need not be valid tags.
struct ETagList<'h> {
    rest: &'h str,
}

impl<'h> Iterator for ETagList<'h> {
    type Item = &'h str;

    fn next(&mut self) -> Option<&'h str> {
        let list = self.rest.trim_start_matches([' ', '\t', ',']);
        if list.is_empty() {
            return None;
        }
        // A foreign tag may contain commas: it ends at its closing quote. Without a closing quote
        // there is no quote in the remaining text, so each byte is read at most twice.
        let opening = ["\"", "W/\""].into_iter().find(|opening| list.starts_with(opening)).map(str::len);
        let closing = opening.and_then(|opening| Some(opening + list[opening..].find('"')? + 1)).unwrap_or(0);
        let end = list[closing..].find(',').map_or(list.len(), |comma| closing + comma);
        self.rest = &list[end..];
        Some(list[..end].trim_end())
    }
}

/// Parses the object and revision of a tag; `None` if it is weak or was not created by this server.
fn parse_tag(tag: &str) -> Option<RevisionTag> {
    let inside = tag.strip_prefix('"')?.strip_suffix('"')?;
    let (revision, rest) = inside.split_once('-')?;
    let (object, _) = rest.split_once('-')?;
    let known = RevisionTag { object: object.parse().ok()?, revision: revision.parse().ok()? };
    // Accepts exactly the form that `ETag::new` writes.
    inside.starts_with(&format!("{}-{}-", known.revision, known.object)).then_some(known)
}

/// Returns the condition in `If-Match`; `None` without the header. The time is proportional to the
/// header's size, which is bounded.
///
/// A tag that is weak or not from this server matches nothing, so the call fails as it would for an
/// old tag. Weak tags are kept for the error message.
pub fn expectation(headers: &HeaderMap) -> Option<Precondition> {
    let mut all = tags(headers, &header::IF_MATCH)?.peekable();
    if all.next_if_eq(&"*").is_some() && all.peek().is_none() {
        return Some(Precondition::Any);
    }
    let (mut tags, mut weak) = (HashSet::new(), HashSet::new());
    for tag in all {
        match tag.strip_prefix("W/") {
            Some(weakened) => weak.extend(parse_tag(weakened)),
            None => tags.extend(parse_tag(tag)),
        }
    }
    Some(Precondition::OneOf { tags, weak })
}

/// Returns the condition of a call that may change an existing object or create one: `If-Match`, or
/// `If-None-Match: *`.
///
/// # Errors
/// `InvalidParameter` for tags in `If-None-Match`, and for both headers at once.
pub fn expectation_of_meeting(headers: &HeaderMap) -> Result<Option<Precondition>> {
    let expected = expectation(headers);
    let Some(mut none) = tags(headers, &header::IF_NONE_MATCH).map(Iterator::peekable) else { return Ok(expected) };
    let is_any = none.next_if_eq(&"*").is_some() && none.peek().is_none();
    if is_any && expected.is_none() {
        return Ok(Some(Precondition::Nothing));
    }
    let wanted = if is_any { "without `If-Match`" } else { "`*`, which allows only a new object" };
    Err(Error::parameter("If-None-Match", show_none_match(headers), wanted))
}

/// Returns `If-None-Match` for a message, shortened.
fn show_none_match(headers: &HeaderMap) -> String {
    let value = headers.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes).unwrap_or_default();
    String::from_utf8_lossy(value).chars().take(SHOWN).collect()
}

/// Refuses `If-None-Match` on a change of objects. It is a condition on the change (RFC 9110,
/// 13.1.2) that no command supports, and it must not be ignored silently.
///
/// # Errors
/// `InvalidParameter`.
pub fn refuse_none_match(headers: &HeaderMap) -> Result<()> {
    if !headers.contains_key(header::IF_NONE_MATCH) {
        return Ok(());
    }
    let wanted = "omitted from changes (it applies only to reads; use `If-Match` for changes and `createMode` for \
                  new objects)";
    Err(Error::parameter("If-None-Match", show_none_match(headers), wanted))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderName;
    use stet_domain::id::{DatabaseId, Loid};

    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    fn at(revision: u64) -> RevisionTag {
        RevisionTag { object: Loid::new(DatabaseId::FIRST, 5), revision }
    }

    fn text(tag: &ETag) -> String {
        tag.value().to_str().unwrap().to_owned()
    }

    #[test]
    fn if_none_match_compares_the_whole_tag_weakly() {
        let tag = ETag::new(at(7), "a");
        assert_ne!(tag, ETag::new(at(7), "b"));
        assert!(tag.is_known(&with(header::IF_NONE_MATCH, &format!("\"x\", W/{}", text(&tag)))));
        assert!(tag.is_known(&with(header::IF_NONE_MATCH, "*")));
        for other in [ETag::new(at(7), "b"), ETag::new(at(8), "a"), ETag::of_bytes("a")] {
            assert!(!tag.is_known(&with(header::IF_NONE_MATCH, &text(&other))));
        }
        let other = RevisionTag { object: Loid::new(DatabaseId::FIRST, 6), revision: 7 };
        assert!(!tag.is_known(&with(header::IF_NONE_MATCH, &text(&ETag::new(other, "a")))));
        assert!(!tag.is_known(&HeaderMap::new()));
    }

    #[test]
    fn if_match_takes_object_and_revision_of_any_representation() {
        let expect = |value: &str| expectation(&with(header::IF_MATCH, value));
        let one_of = |tags: &[RevisionTag]| Some(Precondition::one_of(tags.iter().copied()));
        let [seven, nine] = [7, 9].map(|revision| text(&ETag::new(at(revision), "a")));
        assert_eq!(expect(&format!("{seven},, {nine} ,")), one_of(&[at(7), at(9)]));
        assert_eq!(expect("\"7-1$1.0.5-\""), one_of(&[at(7)]), "the rest is of no account");
        assert_eq!(expect("*"), Some(Precondition::Any));
        assert_eq!(expectation(&HeaderMap::new()), None);
        let bytes = text(&ETag::of_bytes("a"));
        for nothing in [
            "",
            ",",
            "nonsense",
            "\"nonsense\"",
            "\"7\"",
            "\"7-0123456789abcdef\"",
            "\"07-1$1.0.5-0\"",
            "\"+7-1$1.0.5-0\"",
            "\"7-1.0.5-0\"",
            "\"7-1$1.0.5-0",
            "7-1$1.0.5-0",
            "\"7-1$1.0.5-0\"x",
            "\"a, \"7-1$1.0.5-0\"",
            "\"a,\"7-1$1.0.5-0\",\"",
            "\"x, *\"",
            "\"x\", *",
            "*, *",
            &bytes,
        ] {
            assert_eq!(expect(nothing), one_of(&[]), "{nothing}");
        }
        let weak = Precondition::OneOf { tags: [at(9)].into(), weak: [at(7)].into() };
        assert_eq!(expect(&format!("W/{seven}, W/\"x\", {nine}")), Some(weak));
    }

    #[test]
    fn a_header_of_many_tags_is_read_once() {
        let many: String = (0..4000).map(|revision| text(&ETag::new(at(revision), "a")) + ",").collect();
        let Some(Precondition::OneOf { tags, .. }) = expectation(&with(header::IF_MATCH, &many)) else {
            panic!("they are tags")
        };
        assert_eq!(tags.len(), 4000);
        let open = "\"".to_owned() + &",".repeat(100_000);
        assert_eq!(expectation(&with(header::IF_MATCH, &open)), Some(Precondition::one_of([])));
    }
}
