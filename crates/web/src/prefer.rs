//! The preferences of RFC 7240. `Prefer: return=minimal` asks for a short reply to a change,
//! without data that the client knows or does not need. `handling=strict` refuses unknown names
//! ([`super::unknown_names`]).
//!
//! A handler whose reply may be short returns a [`PreferredReply`], and the OpenAPI document shows
//! that. A short reply has its own media type, so that `application/json` always means the full
//! reply.

use std::marker::PhantomData;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use stet_base::json::{ChangeAnswer, TypeOf, type_of};
use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::expect::RevisionTag;

use super::call::Call;
use super::etag::ETag;
use super::minimal::{MinimalItem, MinimalReply};
use super::reply::{EnvelopedReply, HandlerAnswer, Json, Reply};

/// The request header.
pub(super) const PREFER: &str = "prefer";
/// The response header that lists the preferences that were followed.
pub(super) const APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The answer to a change: a `T`, or a short reply if the client prefers it.
pub struct PreferredReply<T> {
    reply: Reply,
    of: PhantomData<fn() -> T>,
}

impl<T> PreferredReply<T> {
    fn new(reply: Reply) -> PreferredReply<T> {
        PreferredReply { reply, of: PhantomData }
    }

    /// Converts the answer into one of several types that a handler may return.
    pub fn among<U: From<T>>(self) -> PreferredReply<U> {
        PreferredReply::new(self.reply)
    }

    /// Converts the answer into one for objects that may be removed before the reply is rendered.
    pub fn shown<G>(self) -> PreferredReply<ChangeAnswer<T, G>> {
        PreferredReply::new(self.reply)
    }
}

impl<T: JsonSchema> From<Json<T>> for PreferredReply<T> {
    fn from(whole: Json<T>) -> PreferredReply<T> {
        PreferredReply::new(whole.into_reply())
    }
}

impl<T: JsonSchema> HandlerAnswer for PreferredReply<T> {
    const SCHEMA: Option<TypeOf> = Some(type_of::<T>);
    const MAY_BE_MINIMAL: bool = true;

    fn into_reply(self) -> Reply {
        self.reply
    }
}

impl Call {
    /// Reports whether the client prefers a short reply.
    pub fn prefers_minimal(&self) -> bool {
        prefers_minimal(self.headers())
    }

    /// Returns the short reply for that id in its current state, if the client prefers it.
    ///
    /// # Errors
    /// The errors of [`EnvelopedReply::of`].
    pub fn minimal<T>(&self, id: impl ToString, state: RevisionTag) -> Result<Option<PreferredReply<T>>> {
        if !self.prefers_minimal() {
            return Ok(None);
        }
        Ok(Some(short_reply(EnvelopedReply::of(&MinimalReply::of(id, state), 0)?, state)))
    }

    /// Returns the short reply for a drawer and some of its items, if the client prefers it. There
    /// may be thousands of items.
    ///
    /// # Errors
    /// The errors of [`EnvelopedReply::of`].
    pub async fn minimal_with<T>(
        &self,
        state: RevisionTag,
        items: Vec<MinimalItem>,
    ) -> Result<Option<PreferredReply<T>>> {
        if !self.prefers_minimal() {
            return Ok(None);
        }
        let bytes = items.len() * MinimalItem::BYTES;
        let made =
            offload::offload_if_large(bytes, move || EnvelopedReply::of(&MinimalReply::with_items(items, state), 0))
                .await??;
        Ok(Some(short_reply(made, state)))
    }
}

fn short_reply<T>(minimal: EnvelopedReply<MinimalReply>, state: RevisionTag) -> PreferredReply<T> {
    let reply = Reply::minimal(minimal).with_etag(ETag::new(state, "minimal"));
    PreferredReply::new(reply.with_header(APPLIED, HeaderValue::from_static("return=minimal")))
}

/// Reports whether the client prefers `return=minimal`.
fn prefers_minimal(headers: &HeaderMap) -> bool {
    prefers(headers, "return", "minimal")
}

/// Reports whether the client prefers `handling=strict`, which refuses calls with unknown names.
/// `handling=lenient` is the default.
pub(super) fn prefers_strict(headers: &HeaderMap) -> bool {
    prefers(headers, "handling", "strict")
}

/// Adds `handling=strict` to the response's list of preferences that were followed.
pub(super) fn note_strict(headers: &mut HeaderMap) {
    let followed = headers.get(&APPLIED).and_then(|value| value.to_str().ok()).map(|others| format!("{others}, "));
    let followed = format!("{}handling=strict", followed.unwrap_or_default());
    // Text from a valid header is also valid in a combined header.
    if let Ok(value) = HeaderValue::try_from(followed) {
        headers.insert(APPLIED, value);
    }
}

/// Reports whether the first preference of that name has that value (RFC 7240, section 2). Names
/// and values are compared without regard to case, a value may be quoted, and parameters of a
/// preference are ignored.
fn prefers(headers: &HeaderMap, name: &str, wanted: &str) -> bool {
    let lines = headers.get_all(PREFER).filter_map(|line| line.to_str().ok());
    let first = lines.flat_map(preferences).find(|(known, _)| known.eq_ignore_ascii_case(name));
    first.is_some_and(|(_, value)| value.eq_ignore_ascii_case(wanted))
}

/// Returns the preferences of a line, by name and value.
fn preferences(line: &str) -> impl Iterator<Item = (&str, &str)> {
    outside_quotes(line, ',').map(|preference| {
        let preference = outside_quotes(preference, ';').next().unwrap_or_default();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        (name.trim(), value.trim().trim_matches('"'))
    })
}

fn outside_quotes(text: &str, at: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |letter| {
        quoted ^= letter == '"';
        letter == at && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HeaderName::from_static(PREFER), HeaderValue::from_str(line).expect("it is a header"));
        }
        headers
    }

    fn prefers(lines: &[&str]) -> bool {
        prefers_minimal(&headers(lines))
    }

    #[test]
    fn strict_handling_is_preferred_beside_others_and_in_any_line() {
        for lines in [
            &["handling=strict"][..],
            &["Handling=\"Strict\""],
            &["return=minimal, handling=strict"],
            &["return=minimal", "wait=1; x=y, handling=strict, handling=lenient"],
        ] {
            assert!(prefers_strict(&headers(lines)), "{lines:?}");
        }
        for lines in [&[][..], &["handling"], &["handling=lenient", "handling=strict"], &["strict"]] {
            assert!(!prefers_strict(&headers(lines)), "{lines:?}");
        }
    }

    #[test]
    fn the_preferences_that_were_followed_stand_in_one_header() {
        let mut response = HeaderMap::new();
        note_strict(&mut response);
        assert_eq!(response.get(&APPLIED).map(HeaderValue::as_bytes), Some(&b"handling=strict"[..]));
        response.insert(APPLIED, HeaderValue::from_static("return=minimal"));
        note_strict(&mut response);
        assert_eq!(response.get(&APPLIED).map(HeaderValue::as_bytes), Some(&b"return=minimal, handling=strict"[..]));
    }

    #[test]
    fn the_first_return_counts_wherever_it_stands_and_nothing_else_does() {
        for line in [
            "return=minimal",
            "RETURN = minimal",
            "return=\"minimal\"",
            "return=minimal; foo=\"a;b,c\"",
            "respond-async, wait=10, return=minimal",
            "note=\"a, return=representation\", return=minimal",
            "return=minimal, return=representation",
        ] {
            assert!(prefers(&[line]), "{line}");
        }
        assert!(prefers(&["wait=1", "return=minimal"]));
        for line in [
            "",
            "return",
            "minimal",
            "return=representation",
            "return=representation, return=minimal",
            "return, return=minimal",
            "note=\"x, return=minimal\"",
            "returns=minimal",
            "wait=10; return=minimal",
            "return=MINIMAL!",
            "\"",
        ] {
            assert!(!prefers(&[line]), "{line}");
        }
        assert!(!prefers(&[]));
    }
}
