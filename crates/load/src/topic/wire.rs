//! Topics and their plan in HTTP calls, and the used parts of the replies.
//!
//! An item is identified by its name and a divider by its title. An item's comment is the number of
//! the step that set it.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use super::model::{FOREIGN, LineNumber};
use crate::client::{Call, CallAnswer};
use crate::desk::encode_segment;

/// The loids of the objects that the load works on.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// The topics.
    pub topics: Vec<String>,
    /// The plan.
    pub plan: String,
    /// The objects to attach to items.
    pub objects: Vec<String>,
}

impl Paths {
    fn topic(&self, topic: u16, rest: &str) -> String {
        format!("/v3/container/topic/{}{rest}", encode_segment(&self.topics[usize::from(topic)]))
    }

    fn below(&self, topic: u16, kind: &str, id: &str) -> String {
        self.topic(topic, &format!("/{kind}/{}", encode_segment(id)))
    }

    fn in_plan(&self, rest: &str) -> String {
        format!("/v3/container/topicplan/{}{rest}", encode_segment(&self.plan))
    }

    /// Returns the path of the first topic's events.
    pub fn events(&self) -> String {
        format!("/v3/container/{}/events", encode_segment(&self.topics[0]))
    }

    /// Reads a topic with its items.
    pub fn read(&self, topic: u16) -> Call {
        Call::new(Method::GET, self.topic(topic, ""))
    }

    /// Reads the structure of a topic.
    pub fn structure(&self, topic: u16) -> Call {
        Call::new(Method::GET, self.topic(topic, "/structure"))
    }

    /// Reads the structure of the plan.
    pub fn plan(&self) -> Call {
        Call::new(Method::GET, self.in_plan("/structure"))
    }

    /// Creates an item.
    pub fn item(&self, topic: u16, line: LineNumber, position: i32) -> Call {
        let body = json!({ "name": item_name(line), "position": position });
        Call::json(Method::POST, &self.topic(topic, "/topicitem"), &body)
    }

    /// Sets another comment.
    pub fn edit(&self, topic: u16, id: &str, step: u32) -> Call {
        Call::json(Method::PUT, &self.below(topic, "topicitem", id), &json!({ "comment": step.to_string() }))
    }

    /// Attaches an object.
    pub fn attach(&self, topic: u16, id: &str, object: usize) -> Call {
        let object = encode_segment(&self.objects[object]);
        Call::new(Method::PUT, format!("{}/attach/{object}", self.below(topic, "topicitem", id)))
    }

    /// Moves an item to another position of its topic.
    pub fn shift(&self, topic: u16, id: &str, position: i32) -> Call {
        Call::json(Method::PUT, &self.below(topic, "topicitem", id), &json!({ "position": position }))
    }

    /// Removes an item.
    pub fn remove(&self, topic: u16, id: &str) -> Call {
        Call::new(Method::DELETE, self.below(topic, "topicitem", id))
    }

    /// Moves an item into a topic, wherever it is now.
    pub fn move_into(&self, topic: u16, id: &str, position: i32) -> Call {
        let body = json!({ "sources": [id], "target": self.topics[usize::from(topic)], "position": position });
        Call::json(Method::PUT, "/v3/container/topic/move", &body)
    }

    /// Creates a divider.
    pub fn divide(&self, topic: u16, line: LineNumber, position: i32) -> Call {
        let body = json!({ "title": divider_title(line), "position": position });
        Call::json(Method::POST, &self.topic(topic, "/divider"), &body)
    }

    /// Moves a divider to another position.
    pub fn shift_divider(&self, topic: u16, id: &str, position: i32) -> Call {
        Call::json(Method::PUT, &self.below(topic, "divider", id), &json!({ "position": position }))
    }

    /// Removes a divider.
    pub fn undivide(&self, topic: u16, id: &str) -> Call {
        Call::new(Method::DELETE, self.below(topic, "divider", id))
    }

    /// Moves a topic to a position of the plan, and adds it if it is missing.
    pub fn order(&self, topic: u16, position: i32) -> Call {
        let path = self.in_plan(&format!("/add/{}", encode_segment(&self.topics[usize::from(topic)])));
        Call::json(Method::PUT, &path, &json!({ "position": position }))
    }

    /// Returns the number of the topic with this loid.
    pub fn topic_of(&self, loid: &str) -> Option<u16> {
        let place = self.topics.iter().position(|topic| topic == loid)?;
        u16::try_from(place).ok()
    }
}

const ITEM: &str = "item ";
const DIVIDER: &str = "divider ";

fn item_name(line: LineNumber) -> String {
    format!("{ITEM}{line}")
}

fn divider_title(line: LineNumber) -> String {
    format!("{DIVIDER}{line}")
}

fn line_from_name(text: &str, what: &str) -> LineNumber {
    text.strip_prefix(what).and_then(|line| line.parse().ok()).unwrap_or(FOREIGN)
}

/// Hashes an id.
pub fn hash_id(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[derive(Deserialize)]
struct TopicEnvelope<T> {
    result: T,
}

/// Returns the used part of a successful reply's `result`.
pub fn result<'a, T: Deserialize<'a>>(answer: &'a CallAnswer) -> Option<T> {
    serde_json::from_slice::<TopicEnvelope<T>>(&answer.body).ok().map(|envelope| envelope.result)
}

/// An item in a reply, with or without details.
#[derive(Debug, Deserialize)]
pub struct TopicReplyItem<'a> {
    /// The item's own fields.
    #[serde(borrow)]
    pub info: ItemInfo<'a>,
    /// The position, counted from 0; `None` if the item is no longer in the topic.
    pub position: Option<u32>,
    /// The attached object.
    #[serde(borrow, default)]
    attachment: Option<ReplyId<'a>>,
}

/// The item's own fields.
#[derive(Debug, Deserialize)]
pub struct ItemInfo<'a> {
    /// The item's loid.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    comment: Cow<'a, str>,
    /// The topic's revision after the item's last change.
    pub revision: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ReplyId<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
}

/// The fields of an item: the step of its comment, 0 for none, and the index of its attachment. An
/// unknown attachment has the index one beyond the objects.
pub type ShownItemFields = (u32, Option<usize>);

impl TopicReplyItem<'_> {
    /// Returns the line's number.
    pub fn line(&self) -> LineNumber {
        line_from_name(&self.info.name, ITEM)
    }

    /// Returns the item's fields.
    pub fn said(&self, paths: &Paths) -> ShownItemFields {
        let comment = &self.info.comment;
        let step = if comment.is_empty() { 0 } else { comment.parse().unwrap_or(u32::MAX) };
        let place = |id: &str| paths.objects.iter().position(|object| object == id).unwrap_or(paths.objects.len());
        (step, self.attachment.as_ref().map(|attached| place(&attached.id)))
    }
}

/// The reply to a change of a divider.
#[derive(Debug, Deserialize)]
pub struct DividerChangeReply<'a> {
    /// The divider.
    #[serde(borrow)]
    pub info: TopicReplyDivider<'a>,
}

/// A divider.
#[derive(Debug, Deserialize)]
pub struct TopicReplyDivider<'a> {
    /// The divider's id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    title: Cow<'a, str>,
    /// The position, counted from 0.
    pub position: Option<u32>,
}

/// A topic with its items and dividers.
#[derive(Debug, Deserialize)]
pub struct TopicReadReply<'a> {
    /// The items, in order.
    #[serde(borrow)]
    pub items: Vec<TopicReplyItem<'a>>,
    #[serde(borrow, default)]
    dividers: Vec<TopicReplyDivider<'a>>,
}

/// A line in the reply to a read of a topic.
pub struct TopicReplyLine {
    /// The line's number.
    pub line: LineNumber,
    /// The line's id.
    pub id: Box<str>,
    /// The fields of an item; `None` for a divider.
    pub said: Option<ShownItemFields>,
}

impl TopicReadReply<'_> {
    /// Returns items and dividers in order; `None` if positions are missing or used twice.
    pub fn lines(&self, paths: &Paths) -> Option<Vec<TopicReplyLine>> {
        let items = self.items.iter().map(|item| {
            let read =
                TopicReplyLine { line: item.line(), id: item.info.id.as_ref().into(), said: Some(item.said(paths)) };
            (item.position, read)
        });
        let dividers = self.dividers.iter().map(|divider| {
            let line = line_from_name(&divider.title, DIVIDER);
            (divider.position, TopicReplyLine { line, id: divider.id.as_ref().into(), said: None })
        });
        let mut lines: Vec<_> = items.chain(dividers).collect();
        lines.sort_by_key(|(position, _)| *position);
        let is_dense = lines.iter().zip(0..).all(|((position, _), place)| *position == Some(place));
        is_dense.then(|| lines.into_iter().map(|(_, read)| read).collect())
    }
}

/// The structure of a topic or plan.
#[derive(Debug, Deserialize)]
pub struct StructureReply<'a> {
    #[serde(borrow)]
    items: Vec<ReplyId<'a>>,
}

impl StructureReply<'_> {
    /// Returns the ids of the lines in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|line| &*line.id)
    }
}

/// The reply to a move.
#[derive(Debug, Deserialize)]
pub struct TopicMoveReply<'a> {
    #[serde(borrow, default)]
    items: Vec<MovedItem<'a>>,
    /// The topics that the move has changed.
    #[serde(borrow)]
    pub revisions: Option<Vec<TopicRevision<'a>>>,
}

#[derive(Debug, Deserialize)]
struct MovedItem<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    position: u32,
}

/// A topic that a move has changed.
#[derive(Debug, Deserialize)]
pub struct TopicRevision<'a> {
    /// The topic's loid.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The topic's revision after the move.
    pub revision: u64,
}

impl TopicMoveReply<'_> {
    /// Returns the new position of the item with this id.
    pub fn position(&self, id: &str) -> Option<u32> {
        self.items.iter().find(|item| item.id == id).map(|item| item.position)
    }
}

/// The reply to a change of a plan, with the affected topic.
#[derive(Debug, Deserialize)]
pub struct PlanChangeReply {
    items: Vec<PlanEntryPosition>,
}

#[derive(Debug, Deserialize)]
struct PlanEntryPosition {
    position: Option<u32>,
}

impl PlanChangeReply {
    /// Returns the topic's position.
    pub fn position(&self) -> Option<u32> {
        self.items.first()?.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> CallAnswer {
        CallAnswer { status: 200, etag: None, body: body.to_owned().into() }
    }

    fn paths() -> Paths {
        let loids = |from: u32| (from..from + 2).map(|n| format!("1$1.0.{n}")).collect();
        Paths { topics: loids(1), plan: "1$1.0.9".to_owned(), objects: loids(3) }
    }

    #[test]
    fn calls_are_the_interfaces() {
        let paths = paths();
        let said = |call: Call| format!("{} {} {}", call.method, call.path, String::from_utf8_lossy(&call.body));
        for (call, wanted) in [
            (paths.read(1), "GET /v3/container/topic/1%241.0.2 "),
            (paths.structure(0), "GET /v3/container/topic/1%241.0.1/structure "),
            (paths.plan(), "GET /v3/container/topicplan/1%241.0.9/structure "),
            (
                paths.item(0, 7, -1),
                "POST /v3/container/topic/1%241.0.1/topicitem {\"name\":\"item 7\",\"position\":-1}",
            ),
            (paths.edit(0, "a$1", 3), "PUT /v3/container/topic/1%241.0.1/topicitem/a%241 {\"comment\":\"3\"}"),
            (paths.attach(0, "a", 1), "PUT /v3/container/topic/1%241.0.1/topicitem/a/attach/1%241.0.4 "),
            (paths.shift(0, "a", 2), "PUT /v3/container/topic/1%241.0.1/topicitem/a {\"position\":2}"),
            (paths.remove(0, "a"), "DELETE /v3/container/topic/1%241.0.1/topicitem/a "),
            (
                paths.move_into(1, "a", 0),
                "PUT /v3/container/topic/move {\"sources\":[\"a\"],\"target\":\"1$1.0.2\",\"position\":0}",
            ),
            (
                paths.divide(0, 8, 0),
                "POST /v3/container/topic/1%241.0.1/divider {\"title\":\"divider 8\",\"position\":0}",
            ),
            (paths.shift_divider(0, "5", 1), "PUT /v3/container/topic/1%241.0.1/divider/5 {\"position\":1}"),
            (paths.undivide(0, "5"), "DELETE /v3/container/topic/1%241.0.1/divider/5 "),
            (paths.order(1, 0), "PUT /v3/container/topicplan/1%241.0.9/add/1%241.0.2 {\"position\":0}"),
        ] {
            assert_eq!(said(call), wanted);
        }
        assert_eq!((paths.topic_of("1$1.0.2"), paths.topic_of("1$1.0.3")), (Some(1), None));
    }

    #[test]
    fn a_topic_is_read_in_order_with_what_its_items_say() {
        let body = r#"{"result":{"info":{"id":"t"},"dividers":[{"id":"5","title":"divider 8","position":1}],"items":[
            {"info":{"id":"a","name":"item 7","comment":"3","revision":4},"position":0,"attachment":{"id":"1$1.0.4"}},
            {"info":{"id":"b","name":"x","comment":""},"position":2,"attachment":null}]}}"#;
        let shown = answer(body);
        let whole: TopicReadReply<'_> = result(&shown).expect("it is such a reply");
        let lines = whole.lines(&paths()).expect("its positions are dense");
        let read: Vec<_> = lines.iter().map(|read| (read.line, &*read.id, read.said)).collect();
        assert_eq!(read, [(7, "a", Some((3, Some(1)))), (8, "5", None), (FOREIGN, "b", Some((0, None)))]);
        let gap = answer(&body.replace("\"position\":2", "\"position\":3"));
        assert!(result::<TopicReadReply<'_>>(&gap).expect("it is such a reply").lines(&paths()).is_none());
    }

    #[test]
    fn replies_to_changes_are_read_with_whatever_else_is_in_them() {
        let gone = answer(r#"{"result":{"info":{"id":"a"}}}"#);
        let gone: TopicReplyItem<'_> = result(&gone).expect("it is such a reply");
        assert_eq!((&*gone.info.id, gone.position, gone.info.revision), ("a", None, None));
        let moved = answer(
            r#"{"result":{"info":{"id":"t"},"items":[{"id":"a","position":6}],"revisions":[{"id":"t","revision":9}]}}"#,
        );
        let moved: TopicMoveReply<'_> = result(&moved).expect("it is such a reply");
        assert_eq!((moved.position("a"), moved.position("b")), (Some(6), None));
        assert_eq!(moved.revisions.expect("they are there")[0].revision, 9);
        let ordered = answer(r#"{"result":{"info":{},"items":[{"info":{"id":"t"},"position":2}]}}"#);
        assert_eq!(result::<PlanChangeReply>(&ordered).and_then(|ordered| ordered.position()), Some(2));
        let structure =
            answer(r#"{"result":{"info":{},"items":[{"id":"a","kind":"item"},{"id":"5","kind":"divider"}]}}"#);
        let structure: StructureReply<'_> = result(&structure).expect("it is such a reply");
        assert_eq!(structure.ids().collect::<Vec<_>>(), ["a", "5"]);
    }
}
