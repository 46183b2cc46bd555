//! Samples of every kind of stored value, always the same.

use bytes::Bytes;
use stet_auth::Privilege;
use stet_auth::{Grant, User, UserGroup};
use stet_domain::drawer::{self, DrawerHead, Item};
use stet_domain::id::{DatabaseId, Loid, ObjectUuid, ShortcutId};
use stet_domain::liveblog::{self, LiveblogHead, Post, PostHistoryEntry, PostStatus, RemovedPost};
use stet_domain::object::{
    Attributes, ChannelCopy, Content, ContentLocation, DiscardNote, Draft, DraftBase, FamilyKind, FolderKey, Link,
    Lock, Record, Version,
};
use stet_domain::part::{PartAttachment, PartKind};
use stet_domain::planning::plan::{PlannedTopic, TopicPlan};
use stet_domain::planning::topic::{TextOrNumber, Topic, TopicAttachment, TopicItem};
use stet_domain::planning::{Divider, Planning, PlanningHead};
use stet_domain::receipt::{KeptReply, Receipt, ReceiptContent};
use stet_domain::sequence::MovableItem;
use stet_domain::store::{Event, EventId, Row, RowChange, Segment, StatusStep, StoredEvent, Table, encode_value};
use stet_store::blob::{self, NumberedChangeSet};

use super::rows::number_of;

const LOID: Loid = Loid::new(DatabaseId::FIRST, 4711);
const FOLDER: Loid = Loid::new(DatabaseId::FIRST, 12);

/// Returns target, name of the seed, and input of each sample.
pub(super) fn stored() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let plain = Record { uuid: uuid(), ..Record::new(LOID, "desk", "Drawer", FamilyKind::Drawer, &"ada".into(), 1000) };
    let kept = |kept| Receipt {
        user: "ada".into(),
        key: "once".into(),
        step: 1,
        fingerprint: Bytes::from_static(&[7; 32]),
        at_ms: 1000,
        kept,
    };
    let reply = KeptReply {
        status: 200,
        headers: vec![("content-type".to_owned(), Bytes::from_static(b"application/json"))],
        body: Bytes::from_static(b"{}"),
        rights: 3,
    };
    let outcome = ReceiptContent::Outcome { command: "drawer.add".to_owned(), reply: Bytes::from_static(b"\x01\xc0") };
    let attributes = Attributes { attributes: Some("<props/>".into()), ..Attributes::none(LOID) };
    let version =
        Version { loid: LOID.at_version(1), author: "ada".into(), at: 1, content: content(ContentLocation::Row) };
    let head = DrawerHead { loid: LOID, capacity: 100, automatic: false, title: "Desk".into(), description: "".into() };
    let item = Item::new(LOID, ShortcutId(7), FOLDER, 1 << 65, true);
    let group = UserGroup { name: "desk".into(), description: "The desk".to_owned(), privileges: grants() };
    let mut user = User::new("ada");
    user.home = Some("/Users/ada".to_owned());
    let removed = RemovedPost { liveblog: LOID, post: FOLDER, revision: 9, was_approved: true, author: "ada".into() };
    // Older rows did not record who may have seen the post.
    let before = encode_value(1, &(FolderKey(LOID), FolderKey(FOLDER), 9u64));
    vec![
        ("rows", "record", row(b'0', &record())),
        ("rows", "record_plain", row(b'0', &plain)),
        ("rows", "attributes", row(b'1', &attributes)),
        ("rows", "version", row(b'2', &version)),
        ("rows", "draft", row(b'3', &draft())),
        ("rows", "receipt_outcome", row(b'4', &kept(outcome))),
        ("rows", "receipt_reply", row(b'4', &kept(ReceiptContent::Reply(reply)))),
        ("rows", "user", row(b'5', &user)),
        ("rows", "group", row(b'6', &group)),
        ("rows", "session", numbered(b'7', &session(None))),
        ("rows", "session_key", numbered(b'7', &session(Some(("feed", grants()))))),
        ("rows", "event", numbered(b'8', &encode_value(1, &event()))),
        ("rows", "segment", numbered(b';', &segment())),
        ("rows", "link", row(b'9', &link())),
        ("rows", "drawer", part(drawer::HEAD, &head)),
        ("rows", "item", part(drawer::ITEM, &item)),
        ("rows", "liveblog", part(liveblog::HEAD, &LiveblogHead { loid: LOID, moderated: true })),
        ("rows", "post", part(liveblog::POST, &post())),
        ("rows", "removed_post", part(liveblog::REMOVED_POST, &removed)),
        ("rows", "removed_post_before", numbered(number_of(liveblog::REMOVED_POST), &before)),
        ("rows", "topic", part(Topic::HEAD, &PlanningHead::<Topic>::new(LOID, "City".into(), "".into()))),
        ("rows", "topic_item", part(Topic::ENTRY, &topic_item())),
        ("rows", "topic_divider", part(Topic::DIVIDER, &Divider::<Topic>::new(LOID, Some(FOLDER), 8, "Late".into()))),
        ("rows", "plan", part(TopicPlan::HEAD, &PlanningHead::<TopicPlan>::new(LOID, "".into(), "".into()))),
        ("rows", "planned_topic", part(TopicPlan::ENTRY, &PlannedTopic::new(LOID, FOLDER).at(1 << 65))),
        ("rows", "plan_divider", part(TopicPlan::DIVIDER, &Divider::<TopicPlan>::new(LOID, None, 9, "Mon".into()))),
        ("journal", "empty", journal(&[])),
        ("journal", "sets", journal(&sets())),
    ]
}

fn uuid() -> ObjectUuid {
    "0190f3a1-7c1e-7000-8000-0123456789ab".parse().expect("it is a uuid")
}

fn content(stored: ContentLocation) -> Content {
    Content { content_type: "text/xml".into(), size: 8, sha256: [7; 32], stored }
}

fn draft() -> Draft {
    let base = Some(DraftBase { version: 2, sha256: [7; 32] });
    Draft { loid: LOID, author: "ada".into(), at: 1, content: content(ContentLocation::Row), base }
}

fn record() -> Record {
    let new = Record::new(LOID, "harbour-ferry.xml", "Story", FamilyKind::Document, &"ada".into(), 1000);
    Record {
        uuid: uuid(),
        folder: Some(FolderKey(FOLDER)),
        work_folder: Some("/Work/City".into()),
        issue_date: Some("20240102".into()),
        version: 1,
        suid: Some("s".into()),
        status: Some("Story/Draft".into()),
        content: Some(content(ContentLocation::File)),
        lock: Some(Lock { user: "ada".into(), session: "s1".into(), at: 1, expires: 2 }),
        bin: Some(DiscardNote { at: 3, by: "ada".into(), entry: FOLDER, path: "/News".into() }),
        copy: Some(ChannelCopy {
            channel: "Web".into(),
            inherited_from: Some(FolderKey(FOLDER)),
            inherit_from: Some("Neutral".into()),
            version: 4,
            follows: true,
        }),
        container_bytes: 1234,
        ..new
    }
}

fn post() -> Post {
    let change = |from, to| PostHistoryEntry { from, to, user: "ada".into(), at_ms: 1000 };
    Post {
        liveblog: LOID,
        record: record(),
        status: PostStatus::Rejected,
        title: "Title".into(),
        summary: "".into(),
        description: "".into(),
        kind: "goal".into(),
        timestamp: 1_763_726_400_000,
        moderated: true,
        pinned: true,
        tags: vec!["sport".into()],
        attachments: vec![PartAttachment { id: 30, name: "a.jpg".into(), content: content(ContentLocation::Row) }],
        history: vec![change(None, PostStatus::Pending), change(Some(PostStatus::Pending), PostStatus::Rejected)],
        text: "words".into(),
    }
}

fn topic_item() -> TopicItem {
    let mut item = TopicItem::new(LOID, Some(FOLDER), record());
    item.content_type = "text".into();
    item.comment = "From the quay".into();
    item.occupation = "reporter".into();
    item.priority = TextOrNumber::Text("high".into());
    item.custom_priority = TextOrNumber::Number(3);
    item.product = "Morning".into();
    item.edition = "City".into();
    item.assignees = vec!["ada".into(), "mia".into()];
    item.due = Some(1_763_726_400);
    item.attachment = Some(TopicAttachment { object: Loid::new(DatabaseId::FIRST, 13), hidden: true });
    item.at(1 << 65)
}

fn link() -> Link {
    Link { source: LOID, source_name: "story".into(), target: FOLDER, target_name: "planned in".into() }
}

fn grants() -> Vec<Grant> {
    vec![Grant { privilege: Privilege::Read, folder: Some(FOLDER.to_string()) }]
}

/// Encodes the fields of a session in their order, since some of them are private.
fn session(key: Option<(&str, Vec<Grant>)>) -> Bytes {
    encode_value(1, &([7u8; 32], "s1", "ada", "Editorial", "desk", 1u64, 2u64, 3u64, 4u64, "192.0.2.7", key))
}

fn event() -> Event {
    Event {
        container: Some(LOID),
        revision: 3,
        kind: "drawer.add".to_owned(),
        ids: vec!["7".to_owned(), FOLDER.to_string()],
        user: "ada".to_owned(),
        at_ms: 1000,
        session: "s1".to_owned(),
        address: "192.0.2.7".to_owned(),
        withdrawn: Some(Vec::new()),
        unseen: Some(Vec::new()),
        status: Some(StatusStep { from: None, to: Some("Story/Draft".to_owned()) }),
        before: Some(Bytes::new()),
    }
}

fn segment() -> Bytes {
    let logged = |seq, ordinal| StoredEvent::of(EventId { seq, ordinal }, &event());
    Segment::of(vec![logged(7, 0), logged(7, 1), logged(300, 0)]).expect("they are in order").encode()
}

fn row<R: Row>(kind: u8, row: &R) -> Vec<u8> {
    numbered(kind, &encode_value(R::FORMAT, row))
}

fn part<R: Row>(kind: PartKind, part: &R) -> Vec<u8> {
    row(number_of(kind), part)
}

fn numbered(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind], value].concat()
}

fn sets() -> Vec<NumberedChangeSet> {
    let change = |table, key: &'static [u8], value: Option<&'static [u8]>| RowChange {
        table,
        key: Bytes::from_static(key),
        value: value.map(Bytes::from_static),
    };
    let first = vec![change(Table::Objects, b"key", Some(b"value")), change(Table::Names, b"name", None)];
    let set = |seq, changes, events| NumberedChangeSet { seq, changes, events };
    let logged = StoredEvent::of(EventId { seq: 1, ordinal: 0 }, &event());
    vec![
        set(1, first, vec![logged]),
        set(2, vec![], vec![]),
        set(3, vec![change(Table::Bodies, b"", Some(b""))], vec![]),
    ]
}

/// Encodes a journal record without the zeros that fill its page: they add nothing to a seed.
fn journal(sets: &[NumberedChangeSet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    blob::encode(sets.iter().map(NumberedChangeSet::parts), &mut bytes);
    let len = 5 + u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize;
    bytes.truncate(len);
    bytes
}
