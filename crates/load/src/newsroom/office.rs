//! The containers and objects of a newsroom load, and the calls that work on them.

use std::collections::HashMap;

use hyper::Method;
use serde_json::json;

use super::plan::{NewsroomOperation, NewsroomOperationKind, NewsroomThing, ThingKey, WIRES};
use crate::client::Call;
use crate::desk::{encode_segment, object};
use crate::liveblog::model::{PostChange, PostId};
use crate::liveblog::wire::{PostCalls, WORDS};
use crate::{drawer, topic};

/// The use of messages by an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailAction {
    /// Sends the client's message of this number.
    Send(u32),
    /// Removes the message of this number, by its id.
    Remove(u32, String),
    /// Reads the inbox. The client sends no messages, has none to remove, or still has one to
    /// remove before the next.
    Look,
}

/// The number of clients that send messages. The inbox of stet holds a thousand by default.
const SENDERS: u32 = 400;
/// The paths that clients look up, in turn.
const LOOKUPS: [&str; 7] = [
    "/v3/conf/cache/timestamp",
    "/v3/conf/cache/workflows",
    "/v3/conf/cache/users",
    "/v3/conf/catalogs",
    "/conf/channel/list?loidsSource=%2F",
    "/conf/user/list",
    "/v3/session",
];

/// The views that a client reads, in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewsroomReadTarget {
    /// The text of the client's story.
    Story,
    /// The client's drawer.
    Drawer,
    /// The client's topic.
    Topic,
    /// The client's posts.
    Posts,
    /// The bundle of the client's story.
    Bundle,
    /// The links of the client's story.
    Links,
}

impl NewsroomReadTarget {
    const ALL: [NewsroomReadTarget; 6] = [
        NewsroomReadTarget::Story,
        NewsroomReadTarget::Drawer,
        NewsroomReadTarget::Topic,
        NewsroomReadTarget::Posts,
        NewsroomReadTarget::Bundle,
        NewsroomReadTarget::Links,
    ];

    /// Returns the view that a read operation reads.
    pub fn of(operation: &NewsroomOperation) -> NewsroomReadTarget {
        NewsroomReadTarget::ALL[operation.step as usize % NewsroomReadTarget::ALL.len()]
    }

    /// Reports whether the view shows all things of this sort that a client has.
    pub fn shows(self, thing: NewsroomThing) -> bool {
        match self {
            NewsroomReadTarget::Story => thing == NewsroomThing::Text,
            NewsroomReadTarget::Drawer => matches!(thing, NewsroomThing::Wire(_)),
            NewsroomReadTarget::Topic => thing == NewsroomThing::Comment,
            NewsroomReadTarget::Posts => matches!(thing, NewsroomThing::Post(_) | NewsroomThing::State(_)),
            NewsroomReadTarget::Bundle => matches!(thing, NewsroomThing::Headline | NewsroomThing::Copy(_)),
            NewsroomReadTarget::Links => matches!(thing, NewsroomThing::Link(_)),
        }
    }
}

/// The containers and objects of a newsroom load.
#[derive(Debug, Default)]
pub struct NewsroomObjects {
    /// The user who makes all calls and receives the messages.
    pub user: String,
    /// The number of clients that share a drawer, a liveblog and a topic.
    pub desk: u32,
    /// The folder of this run.
    pub folder: String,
    /// The prefix of the subjects of this run's messages.
    pub subject: String,
    /// The paths of the drawers and of all clients' wires.
    pub drawers: drawer::wire::Paths,
    /// The loids of all wires, starting with those of the first client.
    pub wire_ids: Vec<String>,
    /// The owner of each wire, by loid.
    pub wires: HashMap<String, ThingKey>,
    /// The topics.
    pub topics: topic::wire::Paths,
    /// The loid of each client's topic item.
    pub items: Vec<String>,
    /// The liveblogs.
    pub liveblogs: Vec<PostCalls>,
    /// The loids of each client's posts.
    pub posts: Vec<Vec<String>>,
    /// The loid of each client's story, encoded for a path.
    pub stories: Vec<String>,
    /// The loid of the front page.
    pub front: String,
    /// The channels for which copies are created.
    pub channels: Vec<String>,
    /// The channel from which copies inherit.
    pub template: String,
}

impl NewsroomObjects {
    /// Returns the number of a client's drawer, liveblog and topic.
    pub fn desk_of(&self, client: u32) -> u16 {
        // At most 20,000 clients: checked.
        (client / self.desk) as u16
    }

    /// Returns the number of desks.
    pub fn desks(&self, clients: u32) -> u16 {
        // The same limit holds here.
        clients.div_ceil(self.desk) as u16
    }

    /// Returns the call of an operation other than a login, which takes two calls. `mail` is the
    /// operation's use of messages.
    pub fn call(&self, operation: &NewsroomOperation, mail: &MailAction) -> Call {
        let NewsroomOperation { client, kind, slot, step } = *operation;
        let (desk, own) = (self.desk_of(client), client as usize);
        let wire = client * WIRES + slot;
        match kind {
            NewsroomOperationKind::Login | NewsroomOperationKind::Lookup => {
                Call::new(Method::GET, LOOKUPS[step as usize % LOOKUPS.len()].to_owned())
            }
            NewsroomOperationKind::Read => self.read(NewsroomReadTarget::of(operation), client),
            NewsroomOperationKind::Plan => self.topics.edit(desk, &self.items[own], step),
            NewsroomOperationKind::Write => Call {
                content_type: "text/xml",
                body: text(client, step).into(),
                ..Call::new(Method::PUT, self.story(client, "/content"))
            },
            NewsroomOperationKind::Correlate => {
                let verb = if operation.makes() { "/correlate" } else { "/uncorrelate" };
                let (wire, link) = (&self.wire_ids[wire as usize], link_name(slot));
                let body = json!({ "sourceLinkName": link, "targetLinkName": "usedBy", "targetSource": wire });
                Call::json(Method::POST, &self.story(client, verb), &body)
            }
            NewsroomOperationKind::Drawer => {
                let kind = if operation.makes() {
                    drawer::plan::DrawerOperationKind::Add
                } else {
                    drawer::plan::DrawerOperationKind::Delete
                };
                let of_drawer =
                    drawer::plan::DrawerOperation { kind, drawer: desk, target: desk, object: wire, position: 0 };
                self.drawers.call(&of_drawer, None)
            }
            NewsroomOperationKind::Post => self.post(client, slot, PostChange::Edit { step }),
            NewsroomOperationKind::Moderate => self.post(client, slot, PostChange::Set(operation.state())),
            NewsroomOperationKind::Copy => {
                let channel = &self.channels[slot as usize];
                if operation.makes() {
                    let path = format!("/v3/container/bundle/{}/channelcopy", self.stories[own]);
                    let body = json!({ "channel": channel, "inheritFrom": self.template });
                    return Call::json(Method::POST, &path, &body);
                }
                let copy = encode_segment(&format!("{}/{channel}", self.story_path(client)));
                Call::new(Method::DELETE, format!("/v3/object/{copy}/destroy"))
            }
            NewsroomOperationKind::Publish => {
                let headline = json!({ "set": { "xpath": HEADLINE, "content": step.to_string() } });
                let body = json!({ "updateFields": [
                    { "sourceIds": [self.story_path(client)], "operators": [headline] },
                    { "sourceIds": [self.front], "operators": [{ "inc": { "xpath": PUBLISHED } }] },
                ] });
                Call::json(Method::POST, "/v3/object/metadata/change/fields", &body)
            }
            NewsroomOperationKind::Message => match mail {
                MailAction::Send(number) => {
                    let subject = format!("{}{client}/{number}", self.subject);
                    let body = json!({ "subject": subject, "body": "The ferry is late.", "recipients": [self.user] });
                    Call::json(Method::POST, "/v3/message/sendmail", &body)
                }
                MailAction::Remove(_, id) => Call::new(Method::DELETE, format!("/v3/message/{}", encode_segment(id))),
                MailAction::Look => Call::new(Method::GET, "/v3/message/inbox?limit=20".to_owned()),
            },
            NewsroomOperationKind::Tidy => {
                let name = scrap_name(client, operation.number());
                if operation.makes() {
                    return object(&self.folder, &name, "Story", &text(client, step));
                }
                let scrap = encode_segment(&format!("{}/{name}", self.folder));
                Call::new(Method::DELETE, format!("/v3/object/{scrap}/destroy"))
            }
        }
    }

    /// Returns the call that reads a view of a client, or the container of its desk.
    pub fn read(&self, place: NewsroomReadTarget, client: u32) -> Call {
        let desk = self.desk_of(client);
        match place {
            NewsroomReadTarget::Story => Call::new(Method::GET, self.story(client, "/content")),
            NewsroomReadTarget::Drawer => self.drawers.call(
                &drawer::plan::DrawerOperation {
                    kind: drawer::plan::DrawerOperationKind::Read,
                    drawer: desk,
                    target: desk,
                    object: 0,
                    position: 0,
                },
                None,
            ),
            NewsroomReadTarget::Topic => self.topics.read(desk),
            NewsroomReadTarget::Posts => PostCalls::these(&self.posts[client as usize]),
            NewsroomReadTarget::Bundle => {
                Call::new(Method::GET, format!("/v3/bundle/{}", self.stories[client as usize]))
            }
            NewsroomReadTarget::Links => Call::new(Method::GET, self.story(client, "/correlates")),
        }
    }

    fn story(&self, client: u32, rest: &str) -> String {
        format!("/v3/object/{}{rest}", self.stories[client as usize])
    }

    fn post(&self, client: u32, slot: u32, change: PostChange) -> Call {
        let id = &self.posts[client as usize][slot as usize];
        self.liveblogs[usize::from(self.desk_of(client))].change(PostId { client, number: slot }, change, id)
    }

    /// Returns the path of a client's story, which contains its channel copies.
    pub fn story_path(&self, client: u32) -> String {
        format!("{}/{}", self.folder, story_name(client))
    }

    /// Reports whether a client sends messages. All messages have one recipient, whose inbox is
    /// bounded.
    pub fn sends(client: u32) -> bool {
        client < SENDERS
    }
}

const HEADLINE: &str = "/attributes/story/headline";
const PUBLISHED: &str = "/attributes/story/published";

/// Returns the text of a client's story after a step.
pub fn text(client: u32, step: u32) -> String {
    format!("<story client='{client}' step='{step}'><p>{}</p></story>", WORDS.repeat(8))
}

/// Returns the step that wrote a text; `None` if no client wrote it.
pub fn step_of(client: u32, body: &[u8]) -> Option<u32> {
    let body = std::str::from_utf8(body).ok()?;
    let step = body.split_once(" step='")?.1.split_once('\'')?.0.parse().ok()?;
    (text(client, step) == body).then_some(step)
}

/// Returns the name of a client's story.
pub fn story_name(client: u32) -> String {
    format!("own-{client}.xml")
}

const SCRAP: &str = "scrap-";

fn scrap_name(client: u32, number: u32) -> String {
    format!("{SCRAP}{client}-{number}.xml")
}

/// Reports whether the name is that of a story, wire, front page or container of the run. These are
/// read separately; all other objects are scraps.
pub fn is_read_separately(name: &str) -> bool {
    ["own-", "story-", "front.xml", "drawer-", "topic-", "liveblog-"].iter().any(|begin| name.starts_with(begin))
}

/// Returns the scrap with this name.
pub fn scrap_of(name: &str) -> Option<ThingKey> {
    let (client, number) = name.strip_prefix(SCRAP)?.strip_suffix(".xml")?.split_once('-')?;
    Some(ThingKey { client: client.parse().ok()?, thing: NewsroomThing::Scrap(number.parse().ok()?) })
}

/// Returns the name of the link from a client's story to a wire.
pub fn link_name(slot: u32) -> String {
    format!("uses {slot}")
}

/// Returns the number of the wire that a link points to.
pub fn link_of(name: &str) -> Option<u32> {
    name.strip_prefix("uses ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_step_and_only_whole() {
        assert_eq!(step_of(3, text(3, 17).as_bytes()), Some(17));
        assert_eq!(step_of(4, text(3, 17).as_bytes()), None, "of another client");
        assert_eq!(step_of(3, &text(3, 17).as_bytes()[..90]), None, "cut off");
        assert_eq!(step_of(3, b"<story/>"), None);
    }

    #[test]
    fn names_tell_whose_they_are() {
        assert_eq!(scrap_of(&scrap_name(4, 9)), Some(ThingKey { client: 4, thing: NewsroomThing::Scrap(9) }));
        assert_eq!([scrap_of("own-4.xml"), scrap_of("scrap-4.xml"), scrap_of("scrap-4-x.xml")], [None; 3]);
        assert_eq!((link_of(&link_name(5)), link_of("usedBy")), (Some(5), None));
    }
}
