//! The shapes that replies share, and JSON that is rendered in advance.
//!
//! A reply is one value, serialised once. Parts that take too long to serialise for each reply (a
//! record, a post) are cached as [`ReadyJson`], the JSON of a value. They are used in replies like
//! that value. Large ones are not copied into a reply: [`append_json`] makes them pieces of their
//! own.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use stet_domain::error::{Error, Result};
use stet_domain::object::SharedText;

use crate::rope::{LARGE_PIECE, TextRope};

/// A function that returns the schema of a type in the OpenAPI document.
pub type TypeOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the schema of `T`, for use as a [`TypeOf`].
pub fn type_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Gives `$holder<T>` the schema of `T` with its name, because its JSON is that of a `T`. A derived
/// schema would describe the holder.
#[macro_export]
macro_rules! schema_of_content {
    ($holder:ident) => {
        impl<T: schemars::JsonSchema> schemars::JsonSchema for $holder<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                T::schema_name()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                T::schema_id()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                T::json_schema(generator)
            }
        }
    };
}

pub use crate::schema_of_content;

/// A JSON object whose members are entries in a fixed order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderedObject<V>(pub Vec<(SharedText, V)>);

impl<V: Serialize> Serialize for OrderedObject<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, value)))
    }
}

impl<V: JsonSchema> JsonSchema for OrderedObject<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("InOrder_of_{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <BTreeMap<String, V>>::json_schema(generator)
    }
}

/// The JSON of a `T`. Only serialising a `T` creates it, so it matches the schema of `T`. A clone
/// shares the text.
pub struct ReadyJson<T> {
    text: Arc<RawValue>,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize> ReadyJson<T> {
    /// Serialises a value.
    ///
    /// # Errors
    /// None for the types of endpoints: texts, numbers, lists and maps with text keys.
    pub fn of(value: &T) -> Result<ReadyJson<T>> {
        let text = serde_json::value::to_raw_value(value).map_err(|error| unserialisable(&error))?;
        Ok(ReadyJson { text: text.into(), of: PhantomData })
    }
}

impl<T> ReadyJson<T> {
    /// Returns the JSON.
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// Creates a stand-in of that length, at least 2, for tests of memory.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_length(bytes: usize) -> ReadyJson<T> {
        let text = serde_json::value::to_raw_value(&"x".repeat(bytes - 2)).expect("a text can be serialised");
        ReadyJson { text: text.into(), of: PhantomData }
    }
}

impl<T> Clone for ReadyJson<T> {
    fn clone(&self) -> Self {
        ReadyJson { text: self.text.clone(), of: PhantomData }
    }
}

impl<T> fmt::Debug for ReadyJson<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl<T> Serialize for ReadyJson<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_shared(&self.text, serializer)
    }
}

schema_of_content!(ReadyJson);

thread_local! {
    /// The large text that is being serialised on this thread, for [`append_json`].
    static OFFERED: RefCell<Option<Arc<RawValue>>> = const { RefCell::new(None) };
}

/// Serialises JSON that is shared. [`append_json`] does not copy a large one.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize_shared<S: Serializer>(text: &Arc<RawValue>, serializer: S) -> Result<S::Ok, S::Error> {
    if text.get().len() < LARGE_PIECE {
        return text.serialize(serializer);
    }
    // A serializer passes bytes on and not their owner. Other writers than that of `append_json`
    // ignore the offer.
    OFFERED.set(Some(text.clone()));
    let outcome = text.serialize(serializer);
    OFFERED.take();
    outcome
}

/// Bytes of JSON that is shared.
struct SharedJson(Arc<RawValue>);

impl SharedJson {
    fn bytes_of(text: &Arc<RawValue>) -> Bytes {
        Bytes::from_owner(SharedJson(text.clone()))
    }
}

impl AsRef<[u8]> for SharedJson {
    fn as_ref(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

/// The members of a `T` followed by those of an `M`. Both are structs with at least one member.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}With{M}", description = "One alone, and the members beside it.")]
pub struct JoinedMembers<T, M> {
    /// The main subject of the reply.
    #[serde(flatten)]
    pub base: T,
    /// The other members of the reply.
    #[serde(flatten)]
    pub more: M,
}

impl<T, M: Serialize> JoinedMembers<T, M> {
    /// Writes the JSON of a `JoinedMembers` whose base has been serialised already, and does not
    /// copy a large base.
    ///
    /// # Errors
    /// The errors of [`ReadyJson::of`].
    pub fn write(base: &ReadyJson<T>, more: &M, out: &mut TextRope) -> Result<()> {
        let members = JoinedMembers::<T, M>::open(base);
        if members.len() < LARGE_PIECE {
            out.extend_from_slice(members.as_bytes());
        } else {
            out.push(&SharedJson::bytes_of(&base.text).slice(..members.len()));
        }
        JoinedMembers::<T, M>::write_more(more, out.tail())
    }

    /// Serialises a `JoinedMembers` whose base has been serialised already.
    ///
    /// # Errors
    /// The errors of [`ReadyJson::of`].
    pub fn ready(base: &ReadyJson<T>, more: &M) -> Result<ReadyJson<JoinedMembers<T, M>>> {
        let mut out = Vec::with_capacity(base.text().len() + 64);
        out.extend_from_slice(JoinedMembers::<T, M>::open(base).as_bytes());
        JoinedMembers::<T, M>::write_more(more, &mut out)?;
        let text = String::from_utf8(out).map_err(|_| Error::internal())?;
        let text = RawValue::from_string(text).map_err(|error| unserialisable(&error))?;
        Ok(ReadyJson { text: text.into(), of: PhantomData })
    }

    /// Returns the base without the brace at its end.
    fn open(base: &ReadyJson<T>) -> &str {
        let base = base.text();
        debug_assert!(base.starts_with("{\"") && base.ends_with('}'), "a struct with members is such an object");
        base.strip_suffix('}').unwrap_or(base)
    }

    /// Writes the further members and the brace at the end.
    fn write_more(more: &M, out: &mut Vec<u8>) -> Result<()> {
        let place = out.len();
        serde_json::to_writer(&mut *out, more).map_err(|error| unserialisable(&error))?;
        debug_assert!(out[place..].starts_with(b"{\""), "a struct with members is such an object");
        // The further members continue where those of the base end.
        out[place] = b',';
        Ok(())
    }
}

/// The answer to a change: the object as the change has left it. If others have removed it since,
/// the answer has only the remaining facts about it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Changed{T}")]
pub enum ChangeAnswer<T, G> {
    /// The object as the change has left it; the current one if an earlier attempt under an
    /// `Idempotency-Key` made the change.
    Shown(T),
    /// The object was removed since, which does not make the change fail.
    Gone(G),
}

/// A list in a reply: complete, or inserted item by item while the reply is sent (the module
/// `stet_web::listing`).
#[derive(Debug)]
pub struct ReplyList<T>(ReplyListItems<T>);

#[derive(Debug)]
enum ReplyListItems<T> {
    Now(Vec<T>),
    /// Only [`with_gaps`] can serialise it, without its items.
    Later(ReplyListGap),
}

/// The kinds of lists that are inserted into a reply later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyListGap {
    /// The items of the list.
    Items,
    /// The failures.
    Failed,
}

/// The positions in JSON at which lists are to be inserted, each between its brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListGaps {
    /// The position of the items.
    pub items: usize,
    /// The position of the failures, behind the items.
    pub failed: Option<usize>,
}

impl<T> ReplyList<T> {
    /// Creates a list that is inserted later. Call it where the items are rendered, so that they
    /// have the type that the reply states.
    pub fn later(gap: ReplyListGap) -> ReplyList<T> {
        ReplyList(ReplyListItems::Later(gap))
    }
}

impl<T> From<Vec<T>> for ReplyList<T> {
    fn from(items: Vec<T>) -> ReplyList<T> {
        ReplyList(ReplyListItems::Now(items))
    }
}

/// The positions of the items and the failures in the JSON that is being written.
type NotedGaps = (Option<usize>, Option<usize>);

thread_local! {
    /// The gaps in the JSON that [`with_gaps`] writes on this thread.
    static GAPS: Cell<Option<NotedGaps>> = const { Cell::new(None) };
    /// The length of the JSON that [`with_gaps`] has written so far.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

impl<T: Serialize> Serialize for ReplyList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            ReplyListItems::Now(items) => items.serialize(serializer),
            ReplyListItems::Later(gap) => {
                let Some((items, failed)) = GAPS.get() else {
                    return Err(S::Error::custom("a list that comes later can't be there now"));
                };
                // After the bracket that is written next.
                let place = Some(WRITTEN.get() + 1);
                GAPS.set(Some(match gap {
                    ReplyListGap::Items => (place, failed),
                    ReplyListGap::Failed => (items, place),
                }));
                [(); 0].serialize(serializer)
            }
        }
    }
}

/// Describes the list as a plain list, which it is in JSON.
impl<T: JsonSchema> JsonSchema for ReplyList<T> {
    fn inline_schema() -> bool {
        Vec::<T>::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Vec::<T>::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

/// Serialises a value at the end of `out`. Large JSON that is shared ([`serialize_shared`]) is not
/// copied.
///
/// # Errors
/// The errors of [`ReadyJson::of`].
pub fn append_json(value: &impl Serialize, out: &mut TextRope) -> Result<()> {
    write_json::<false>(value, out)
}

/// Serialises a value for [`append_json`]. `NOTES` keeps [`WRITTEN`] up to date.
fn write_json<const NOTES: bool>(value: &impl Serialize, out: &mut TextRope) -> Result<()> {
    struct RopeWriter<'o, const NOTES: bool>(&'o mut TextRope);

    impl<const NOTES: bool> io::Write for RopeWriter<'_, NOTES> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_all(bytes).map(|()| bytes.len())
        }

        fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
            if bytes.len() < LARGE_PIECE {
                self.0.extend_from_slice(bytes);
            } else if let Some(shared) = OFFERED.take().filter(|shared| ptr::eq(shared.get().as_bytes(), bytes)) {
                self.0.push(&SharedJson::bytes_of(&shared));
            } else {
                // What follows must not double megabytes.
                self.0.reserve_exact(bytes.len() + LARGE_PIECE);
                self.0.extend_from_slice(bytes);
            }
            if NOTES {
                WRITTEN.set(self.0.len());
            }
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    serde_json::to_writer(RopeWriter::<NOTES>(out), value).map_err(|error| unserialisable(&error))
}

/// Serialises a value with a list that is inserted later at the end of `out`. Returns the positions
/// in `out` where its lists are to be inserted.
///
/// # Errors
/// The errors of [`ReadyJson::of`]; an internal error for a value without such a list, or with its
/// failures in front of the items.
pub fn with_gaps(value: &impl Serialize, out: &mut TextRope) -> Result<ListGaps> {
    WRITTEN.set(out.len());
    GAPS.set(Some((None, None)));
    let outcome = write_json::<true>(value, out);
    let gaps = GAPS.take();
    outcome?;
    match gaps {
        Some((Some(items), failed)) if failed.is_none_or(|failed| failed > items) => Ok(ListGaps { items, failed }),
        _ => {
            tracing::error!(?gaps, "a reply does not have its lists at the expected places");
            Err(Error::internal())
        }
    }
}

/// Serialises a number as a text, because clients may not be able to hold it; for `serialize_with`.
///
/// # Errors
/// The errors of the serializer.
pub fn as_text<S: Serializer>(number: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Returns a value as JSON.
///
/// # Errors
/// The errors of [`ReadyJson::of`].
pub fn to_json_text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unserialisable(&error))
}

/// Makes JSON safe for the `script` element of a page: no text in it ends the element or begins a
/// comment.
pub fn for_html(json: &str) -> String {
    // `<` occurs only in texts.
    json.replace("</", "<\\/").replace("<!--", "\\u003c!--")
}

/// Logs a value that can't be serialised, and returns the error for it.
pub fn unserialisable(error: &serde_json::Error) -> Error {
    tracing::error!(%error, "a reply can't be serialised");
    Error::internal()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schemars::schema_for;
    use serde_json::json;

    use super::*;

    #[test]
    fn json_in_a_page_ends_no_element_and_begins_no_comment() {
        let value = json!({ "</a>": "</script><!--<script>--> a < b <\\/ \u{2028}" });
        let text = for_html(&to_json_text(&value).expect("it is JSON"));
        assert!(!text.contains("</") && !text.contains("<!--"), "{text}");
        assert!(text.contains("<\\/script>"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON still"), value);
    }

    #[derive(Serialize, JsonSchema)]
    struct Story {
        name: String,
        tags: Vec<String>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Placement {
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        position: usize,
    }

    fn story() -> Story {
        Story { name: "a \"{}\"".to_owned(), tags: vec!["}".to_owned()] }
    }

    fn story_of(bytes: usize) -> Story {
        Story { name: "\"".repeat(bytes / 2), ..story() }
    }

    /// Returns a text that begins with `before`.
    fn rope() -> TextRope {
        let mut rope = TextRope::default();
        rope.extend_from_slice(b"before");
        rope
    }

    fn text_of(rope: TextRope) -> String {
        String::from_utf8(rope.finish().into_whole().into()).expect("it is text")
    }

    /// Reports whether a text contains the bytes of a value themselves.
    fn shares(rope: TextRope, json: &ReadyJson<Story>) -> bool {
        rope.finish().iter().any(|piece| piece.as_ptr() == json.text().as_ptr())
    }

    #[test]
    fn ready_json_serialises_like_its_value_and_has_its_schema() {
        let ready = ReadyJson::of(&story()).expect("it can be serialised");
        let list = serde_json::to_string(&[ready.clone(), ready]).expect("it can be serialised");
        assert_eq!(list, serde_json::to_string(&[story(), story()]).expect("it can be serialised"));
        assert_eq!(schema_for!(Vec<ReadyJson<Story>>), schema_for!(Vec<Story>));
    }

    #[test]
    fn members_behind_what_is_ready_are_written_as_those_of_the_whole_are() {
        let ready = ReadyJson::of(&story()).expect("it can be serialised");
        let large = ReadyJson::of(&story_of(2 * LARGE_PIECE)).expect("it can be serialised");
        for path in [None, Some("/a".to_owned())] {
            let more = || Placement { path: path.clone(), position: 3 };
            for (ready, base) in [(&ready, story()), (&large, story_of(2 * LARGE_PIECE))] {
                let (is_large, mut written) = (ready.text().len() > LARGE_PIECE, rope());
                JoinedMembers::write(ready, &more(), &mut written).expect("it can be serialised");
                let whole = serde_json::to_string(&JoinedMembers { base, more: more() }).expect("it can be serialised");
                assert!(text_of(written) == format!("before{whole}"));
                assert!(JoinedMembers::ready(ready, &more()).expect("it can be serialised").text() == whole);
                let mut written = rope();
                JoinedMembers::write(ready, &more(), &mut written).expect("it can be serialised");
                assert_eq!(shares(written, ready), is_large);
            }
        }
    }

    #[derive(Serialize)]
    struct Pair<'s> {
        one: &'s ReadyJson<Story>,
        #[serde(flatten)]
        other: Flat<'s>,
    }

    #[derive(Serialize)]
    struct Flat<'s> {
        other: Option<&'s ReadyJson<Story>>,
        plain: &'s str,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn json_with_shared_texts_equals_the_json_that_is_copied(
            sizes in prop::collection::vec(prop_oneof![0..200usize, LARGE_PIECE - 60..LARGE_PIECE + 60], 0..6),
        ) {
            let stories: Vec<_> =
                sizes.iter().map(|size| ReadyJson::of(&story_of(*size)).expect("it can be serialised")).collect();
            // A text as long as a shared one, which has no owner to share it with.
            let long = "y".repeat(stories.last().map_or(0, |story| story.text().len()));
            let pair = |one| Pair { one, other: Flat { other: stories.last(), plain: &long } };
            let pairs: Vec<_> = stories.iter().map(pair).collect();
            let mut written = rope();
            append_json(&pairs, &mut written).expect("it can be serialised");
            append_json(&stories, &mut written).expect("it can be serialised");
            let copied = [
                serde_json::to_string(&pairs).expect("it can be serialised"),
                serde_json::to_string(&stories).expect("it can be serialised"),
            ];
            let copied = format!("before{}", copied.concat());
            prop_assert!(text_of(written) == copied);
        }
    }

    #[test]
    fn large_json_is_shared_by_the_replies_that_contain_it_and_small_json_copied() {
        for (bytes, is_shared) in [(LARGE_PIECE, true), (LARGE_PIECE - 100, false)] {
            let ready = ReadyJson::of(&story_of(bytes)).expect("it can be serialised");
            let other = Flat { other: Some(&ready), plain: "" };
            let mut written = rope();
            append_json(&Pair { one: &ready, other }, &mut written).expect("it can be serialised");
            assert_eq!(
                written.finish().iter().filter(|piece| piece.as_ptr() == ready.text().as_ptr()).count(),
                if is_shared { 2 } else { 0 }
            );
            assert!(OFFERED.take().is_none(), "nothing is held any longer");
        }
    }

    #[test]
    fn other_writers_copy_large_json_and_leave_nothing_for_later_ones() {
        let ready = ReadyJson::of(&story_of(LARGE_PIECE)).expect("it can be serialised");
        let copied = serde_json::to_string(&ready).expect("it can be serialised");
        let mut written = rope();
        append_json(&copied, &mut written).expect("it can be serialised");
        assert!(!shares(written, &ready) && copied == ready.text());
        assert!(OFFERED.take().is_none(), "nothing is held any longer");
    }

    #[derive(Serialize, JsonSchema)]
    struct Stories {
        first: ReadyJson<Story>,
        #[serde(flatten)]
        all: All,
        failed: ReplyList<String>,
        total: usize,
    }

    #[derive(Serialize, JsonSchema)]
    struct All {
        items: ReplyList<Story>,
    }

    #[test]
    fn a_list_that_comes_later_leaves_a_gap_where_it_would_be() {
        for bytes in [10, LARGE_PIECE] {
            let first = ReadyJson::of(&story_of(bytes)).expect("it can be serialised");
            let of = |items, failed| Stories { first: first.clone(), all: All { items }, failed, total: 2 };
            let now = serde_json::to_string(&of(vec![story()].into(), vec!["x".to_owned()].into())).expect("it can be");
            let later = of(ReplyList::later(ReplyListGap::Items), ReplyList::later(ReplyListGap::Failed));
            assert!(serde_json::to_string(&later).is_err(), "nothing would tell where they go");
            let mut written = rope();
            let gaps = with_gaps(&later, &mut written).expect("it can be serialised");
            let ListGaps { items, failed: Some(failed) } = gaps else { panic!("{gaps:?}") };
            let (after, between) = (written.split_off(failed), written.split_off(items));
            let item = serde_json::to_string(&story()).expect("it can be");
            let whole = text_of(written) + &item + &text_of(between) + "\"x\"" + &text_of(after);
            assert!(whole == format!("before{now}"), "{bytes}");
        }
        assert_eq!(schema_for!(ReplyList<Story>), schema_for!(Vec<Story>));
    }

    #[test]
    fn shapes_are_named_after_what_is_in_them() {
        assert_eq!(JoinedMembers::<Story, Placement>::schema_name(), "StoryWithPlacement");
        assert_eq!(ChangeAnswer::<ReadyJson<Story>, Placement>::schema_name(), "ChangedStory");
        let gone = ChangeAnswer::<Story, _>::Gone(Placement { path: None, position: 1 });
        assert_eq!(serde_json::to_value(gone).expect("it can be serialised"), json!({ "position": 1 }));
    }
}
