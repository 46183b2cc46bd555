//! The posts of one liveblog, named by their names, which clash.

pub mod spec;
mod tell;

use serde_json::{Value, json};

use self::spec::{Mode, Op, Post, Posts, Refusal, Reply, Status, Tag, USERS, What};
use super::newsroom::{CALLS, CLIENTS, Subject};
use super::tell::as_it_came;
use crate::harness::*;

/// Timestamps of posts, milliseconds: few, so that names clash.
const TIMESTAMPS: [u64; 2] = [1_763_733_784_005, 1_763_733_999_000];

/// A liveblog.
pub struct LiveBlog {
    loid: String,
    /// The revision at its creation.
    revision: u64,
}

/// The memory of a client.
#[derive(Default)]
pub struct Known {
    /// The number of its calls so far.
    calls: usize,
    /// Names that it has been shown last; they may be gone.
    names: Vec<String>,
}

/// Text, for the listing shows it; some of it too much for a row, and then the listing does not.
fn bytes(tag: Tag) -> Vec<u8> {
    let mut bytes = format!("<p>{tag}</p>").into_bytes();
    bytes.resize(if is_large(tag) { 1000 } else { 100 } + tag, b' ');
    bytes
}

fn is_large(tag: Tag) -> bool {
    tag % 4 == 3
}

fn tag_of(found: &[u8]) -> Option<Tag> {
    (0..=CLIENTS * CALLS).find(|tag| bytes(*tag) == found)
}

impl LiveBlog {
    fn path(&self, rest: &str) -> String {
        format!("/v3/container/liveblog/{}{rest}", encoded(&self.loid))
    }

    fn post_path(&self, name: &str, rest: &str) -> String {
        self.path(&format!("/post/{}{rest}", encoded(name)))
    }

    /// Changes since it was made.
    fn revision_of(&self, reply: &Value) -> u64 {
        reply["revision"].as_u64().expect("a revision is a number") - self.revision
    }

    /// A post alone.
    fn read(&self, reply: &Value) -> Reply {
        self.shown(reply).map_or_else(Reply::Garbled, |post| Reply::Post(post, self.revision_of(reply)))
    }

    fn shown(&self, post: &Value) -> Result<Post, String> {
        let garbled = || post.to_string();
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(garbled);
        let number = |value: &Value| value.as_u64().ok_or_else(garbled);
        let history: Vec<Status> = post["history"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|turn| Status::ALL.into_iter().find(|status| turn["to"] == status.name()))
            .collect();
        let title = text(&post["title"])?.parse::<Tag>().map_err(|_| garbled())?;
        let size = number(&post["info"]["virtualAttributes"]["size"])?;
        let content = (0..=CLIENTS * CALLS).find(|tag| bytes(*tag).len() as u64 == size).ok_or_else(garbled)?;
        let inline = post["content"].as_str().map(str::as_bytes).map(tag_of);
        let agrees = history.last().is_some_and(|status| post["status"] == status.name())
            && inline == if is_large(content) { None } else { Some(Some(content)) };
        if !agrees {
            return Err(garbled());
        }
        Ok(Post {
            name: text(&post["info"]["name"])?,
            timestamp: number(&post["timestamp"])?,
            title,
            content,
            version: number(&post["info"]["version"])?,
            author: text(&post["author"])?,
            history,
            pinned: post["pinned"] == true,
        })
    }
}

impl Subject for LiveBlog {
    type Board = Posts;
    type Room = ();
    type Known = Known;
    const USERS: [&'static str; CLIENTS] = USERS;
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("STORE__SMALL_BODY_BYTES", "500")];

    fn room(_client: &Client, _folder: &str) {}

    fn make(client: &Client, folder: &str, name: &str) -> LiveBlog {
        let loid = client.liveblog(folder, name);
        let reply = client.get(&format!("/v3/container/liveblog/{}", encoded(&loid))).ok();
        LiveBlog { loid, revision: reply["revision"].as_u64().expect("a revision is a number") }
    }

    fn choose(client: usize, dice: &mut Dice, known: &mut Known) -> Op {
        let tag = 1 + client * CALLS + known.calls;
        known.calls += 1;
        let timestamp = TIMESTAMPS[dice.roll(TIMESTAMPS.len())];
        let first = stet_domain::liveblog::post_name(timestamp).expect("it is a timestamp of this century");
        let name = match dice.pick(&known.names) {
            Some(name) if dice.roll(3) > 0 => name.clone(),
            _ => first,
        };
        let what = match dice.roll(16) {
            0 => What::Create(timestamp, Mode::AutoRename),
            1 | 2 => What::Create(timestamp, Mode::Exception),
            3 => What::Create(timestamp, Mode::Replace),
            4 => What::Create(timestamp, Mode::NewVersion),
            5 | 6 => What::Edit(name, [None, Some(true), Some(false)][dice.roll(3)]),
            7..=9 => What::Set(name, Status::ALL[dice.roll(4)]),
            10 => What::Remove(name),
            11 | 12 => What::Read(name),
            13 => What::ReadContent(name),
            _ => What::List,
        };
        Op { by: client, tag, what }
    }

    fn learn(known: &mut Known, _op: &Op, reply: &Reply) {
        match reply {
            Reply::Made(Some(name)) => known.names.push(name.clone()),
            Reply::List(posts, _) => known.names = posts.iter().map(|post| post.name.clone()).collect(),
            _ => {}
        }
    }

    fn send(&self, _room: &(), client: &Client, op: &Op) -> Result<Answer, String> {
        let title = op.tag.to_string();
        let content = bytes(op.tag);
        let form = |method: &str, path: &str, options: Value| {
            client.try_send_form(method, path, &[], &options, &[("content", "post.xml", "text/xml", &content)])
        };
        match &op.what {
            What::Create(timestamp, mode) => {
                let mode = match mode {
                    Mode::Exception => "EXCEPTION",
                    Mode::AutoRename => "AUTO_RENAME",
                    Mode::Replace => "REPLACE",
                    Mode::NewVersion => "NEW_VERSION",
                };
                let options = json!({ "timestamp": timestamp, "title": title, "createMode": mode });
                form("POST", &self.path("/post"), options)
            }
            What::Edit(name, None) => form("PUT", &self.post_path(name, ""), json!({ "title": title })),
            What::Edit(name, Some(pinned)) => {
                form("PUT", &self.post_path(name, ""), json!({ "title": title, "pinned": pinned }))
            }
            What::Set(name, status) => {
                client.try_send("POST", &self.post_path(name, &format!("/{}", status.call())), &[], b"")
            }
            What::Remove(name) => client.try_send("DELETE", &self.post_path(name, ""), &[], b""),
            What::Read(name) => client.try_send("GET", &self.post_path(name, ""), &[], b""),
            What::ReadContent(name) => client.try_send("GET", &self.post_path(name, "/content"), &[], b""),
            What::List => client.try_send("GET", &self.path(""), &[], b""),
        }
    }

    fn understood(&self, _room: &(), op: &Op, answer: &Answer) -> Reply {
        if answer.status != 200 {
            let code = answer.json()["result"]["code"].take();
            return Reply::Refused(match (answer.status, code.as_str()) {
                (409, Some("CMS.DuplicatedName")) => Refusal::DuplicatedName,
                (404, Some("CMS.ObjectNotFound")) => Refusal::ObjectNotFound,
                (403, Some("CMS.PermissionDenied")) => Refusal::PermissionDenied,
                _ => return Reply::Garbled(as_it_came(answer)),
            });
        }
        if let What::ReadContent(_) = op.what {
            let garbled = || Reply::Garbled(as_it_came(answer));
            return tag_of(&answer.body).map_or_else(garbled, Reply::Content);
        }
        let reply = answer.ok();
        let revision = self.revision_of(&reply);
        match op.what {
            What::Create(..) => Reply::Made(reply["info"]["name"].as_str().map(str::to_owned)),
            What::Edit(..) | What::Set(..) => Reply::Done,
            What::Remove(_) => Reply::Removed(revision),
            What::List => {
                let items = reply["items"].as_array().expect("a liveblog has items");
                assert_eq!(reply["total"], items.len(), "the reply does not agree with itself: {reply}");
                let posts: Result<Vec<Post>, String> = items.iter().map(|post| self.shown(post)).collect();
                posts.map_or_else(Reply::Garbled, |posts| Reply::List(posts, revision))
            }
            _ => self.read(&reply),
        }
    }

    /// Returns the post in the reply to a change as a read beside the change. The reply shows it as
    /// the change left it, or a little later if its bytes were replaced in place. A read allows
    /// more; the server's unit tests check the exact reply.
    fn shown_beside(&self, op: &Op, answer: &Answer) -> Option<(Op, Reply)> {
        if answer.status != 200 || !matches!(op.what, What::Create(..) | What::Edit(..) | What::Set(..)) {
            return None;
        }
        let reply = answer.ok();
        // It has no record if the post was removed before the reply was made.
        let name = reply["info"]["name"].as_str()?.to_owned();
        Some((Op { by: op.by, tag: op.tag, what: What::Read(name) }, self.read(&reply)))
    }

    fn last_looks() -> Vec<Op> {
        vec![Op { by: 0, tag: 0, what: What::List }]
    }
}
