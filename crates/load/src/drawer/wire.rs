//! The calls of drawers, and the parts of the replies that the load needs.

use std::borrow::Cow;

use hyper::Method;
use serde::Deserialize;

use super::plan::{DrawerOperation, DrawerOperationKind};
use crate::client::{Call, CallAnswer};
use crate::desk::encode_segment;

/// Encoded path segments of the load's objects.
#[derive(Debug, Default)]
pub struct Paths {
    /// The encoded loid of each drawer.
    pub drawers: Vec<String>,
    /// The encoded loid of each object.
    pub objects: Vec<String>,
}

impl Paths {
    /// Encodes the loids of drawers and objects.
    pub fn of(drawers: &[String], objects: &[String]) -> Paths {
        let all = |loids: &[String]| loids.iter().map(|loid| encode_segment(loid)).collect();
        Paths { drawers: all(drawers), objects: all(objects) }
    }

    /// Returns the call of an operation. `shortcut` is the item's known shortcut; without it the
    /// object is used instead.
    pub fn call(&self, operation: &DrawerOperation, shortcut: Option<&str>) -> Call {
        let drawer = &self.drawers[usize::from(operation.drawer)];
        let object = &self.objects[operation.object as usize];
        let position = operation.position;
        let below = |method, rest: String| Call::new(method, format!("/v3/container/drawer/{drawer}{rest}"));
        match operation.kind {
            DrawerOperationKind::Read => below(Method::GET, "?showItems=true".to_owned()),
            DrawerOperationKind::Add => below(Method::POST, format!("/item/{object}")),
            DrawerOperationKind::Position => below(Method::PUT, format!("/item/{object}/position/{position}")),
            DrawerOperationKind::Shift => {
                let shortcut = shortcut.map_or_else(|| Cow::Borrowed(object.as_str()), |id| encode_segment(id).into());
                below(Method::PUT, format!("/shortcut/{shortcut}/position/{position}"))
            }
            DrawerOperationKind::Delete => below(Method::DELETE, format!("/item/{object}")),
            DrawerOperationKind::Move => {
                let target = &self.drawers[usize::from(operation.target)];
                below(Method::PUT, format!("/item/{object}/move/{target}"))
            }
        }
    }
}

#[derive(Deserialize)]
struct DrawerEnvelope<'a> {
    #[serde(borrow)]
    result: DrawerLoadReply<'a>,
}

/// A container reply.
#[derive(Debug, Deserialize)]
pub struct DrawerLoadReply<'a> {
    /// The drawer.
    #[serde(default)]
    pub info: DrawerReplyInfo,
    /// The items concerned.
    #[serde(borrow, default)]
    pub items: Vec<DrawerReplyItem<'a>>,
    /// The revisions after a move, if the server reports them.
    pub revisions: Option<Revisions>,
}

/// The drawer in a reply.
#[derive(Debug, Default, Deserialize)]
pub struct DrawerReplyInfo {
    /// The number of items.
    pub count: Option<u32>,
    /// The revision, which some servers report here.
    pub revision: Option<u64>,
}

/// An item in a reply.
#[derive(Debug, Deserialize)]
pub struct DrawerReplyItem<'a> {
    /// The shortcut.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// The position, counted from 0.
    pub position: Option<u32>,
    /// The object's loid.
    #[serde(borrow, default)]
    pub source: Cow<'a, str>,
}

/// The revisions that a move led to.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Revisions {
    /// The revision of the source drawer.
    pub source: u64,
    /// The revision of the target drawer.
    pub target: u64,
}

/// Parses a reply.
pub fn reply(answer: &CallAnswer) -> Option<DrawerLoadReply<'_>> {
    serde_json::from_slice::<DrawerEnvelope<'_>>(&answer.body).ok().map(|envelope| envelope.result)
}

/// Returns the revision of an answer: from its ETag, else from its `info`.
pub fn revision(answer: &CallAnswer, reply: Option<&DrawerLoadReply<'_>>) -> Option<u64> {
    answer.revision().or_else(|| reply?.info.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(etag: Option<&str>, body: &'static str) -> CallAnswer {
        CallAnswer { status: 200, etag: etag.map(str::to_owned), body: body.into() }
    }

    #[test]
    fn a_revision_is_what_the_etag_begins_with_or_what_info_says() {
        let acked = |etag, body| {
            let answer = answer(etag, body);
            revision(&answer, reply(&answer).as_ref())
        };
        assert_eq!(acked(Some("\"17-00ab\""), "{}"), Some(17));
        assert_eq!(acked(Some("\"17\""), "{}"), Some(17));
        assert_eq!(acked(Some("\"abc\""), "{}"), None);
        assert_eq!(acked(Some("W/\"17\""), "{}"), None, "a weak tag promises nothing");
        assert_eq!(acked(None, "{\"result\":{\"info\":{\"revision\":4}}}"), Some(4));
        assert_eq!(acked(None, "no JSON"), None);
    }

    #[test]
    fn a_reply_is_read_with_whatever_else_is_in_it() {
        let answer = answer(
            None,
            r#"{"status":"success","result":{"info":{"id":"1$1.0.2","count":3},"items":[{"id":"s\u0041","position":2,
            "source":"1$1.0.9","object":{"id":"1$1.0.9"}}],"revisions":{"source":5,"target":8}}}"#,
        );
        let reply = reply(&answer).unwrap();
        assert_eq!((reply.info.count, reply.items[0].position), (Some(3), Some(2)));
        assert_eq!((&*reply.items[0].id, &*reply.items[0].source), ("sA", "1$1.0.9"));
        assert_eq!(reply.revisions.map(|revisions| (revisions.source, revisions.target)), Some((5, 8)));
    }

    #[test]
    fn calls_are_the_interfaces() {
        let loids = |n: u32| vec![format!("1$1.0.{n}"), format!("1$1.0.{}", n + 1)];
        let paths = Paths::of(&loids(1), &loids(3));
        let path = |kind, shortcut| {
            let call = paths.call(&DrawerOperation { kind, drawer: 0, target: 1, object: 1, position: -1 }, shortcut);
            format!("{} {}", call.method, call.path.replace("/v3/container/drawer/1%241.0.1", "…"))
        };
        assert_eq!(path(DrawerOperationKind::Read, None), "GET …?showItems=true");
        assert_eq!(path(DrawerOperationKind::Add, None), "POST …/item/1%241.0.4");
        assert_eq!(path(DrawerOperationKind::Position, None), "PUT …/item/1%241.0.4/position/-1");
        assert_eq!(path(DrawerOperationKind::Shift, Some("s/7")), "PUT …/shortcut/s%2F7/position/-1");
        assert_eq!(path(DrawerOperationKind::Shift, None), "PUT …/shortcut/1%241.0.4/position/-1");
        assert_eq!(path(DrawerOperationKind::Delete, None), "DELETE …/item/1%241.0.4");
        assert_eq!(path(DrawerOperationKind::Move, None), "PUT …/item/1%241.0.4/move/1%241.0.2");
    }
}
