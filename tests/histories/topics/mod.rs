//! Pairs of topics: items and subitems move from one to the other, and objects that hang on them
//! come and go.

mod choice;
pub mod spec;
mod tell;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use self::choice::Known;
use self::spec::{Attachment, Item, Line, OBJECTS, Op, Pair, Reply, Tag, What, Which};
use super::newsroom::{CLIENTS, Subject};
use super::tell::as_it_came;
use crate::harness::*;

/// A pair, by loid.
pub struct Topics {
    topics: [String; 2],
    /// Objects that are attached to items.
    objects: [String; OBJECTS],
    /// Ids of items and dividers, by their tags, as replies have shown them; they stay for all
    /// time.
    ids: Mutex<BTreeMap<Tag, String>>,
}

/// Creates a topic in a folder, and returns its loid.
pub fn make_topic(client: &Client, folder: &str, name: &str) -> String {
    let reply = client.call("topic-post", &[]).json(&json!({ "name": name, "folderPath": folder })).ok();
    reply["info"]["id"].as_str().expect("a new topic has an id").to_owned()
}

impl Topics {
    fn id(&self, tag: Tag) -> String {
        self.ids.lock().get(&tag).expect("clients name what they have been shown").clone()
    }

    fn request<'c>(&self, client: &'c Client, op: &Op) -> Call<'c> {
        let topic = |number: usize| self.topics[number].clone();
        let name = op.tag.to_string();
        match &op.what {
            What::Add { topic: to, under, position, attachment } => {
                let mut body = json!({ "name": name, "position": position });
                if let Some(object) = attachment {
                    body["attachment"] = json!(self.objects[*object]);
                }
                let call = match under {
                    None => client.call("topicitem-post", &[&topic(*to)]),
                    Some(under) => client.call("topicsubitem-post", &[&topic(*to), &self.id(*under)]),
                };
                call.json(&body)
            }
            What::Change { topic: of, which, position, attachment } => {
                let mut body = json!({ "comment": name, "position": position });
                if let Some(attachment) = attachment {
                    body["attachment"] = json!(attachment.map(|object| &self.objects[object]));
                }
                self.call_item(client, "put", *of, *which).json(&body)
            }
            What::Attach { topic: of, which: Which { item, sub }, object } => {
                let object = &self.objects[*object];
                match sub {
                    None => client.call("topicitem-attach-put", &[&topic(*of), &self.id(*item), object]),
                    Some(sub) => {
                        let (item, sub) = (self.id(*item), self.id(*sub));
                        client.call("topicsubitem-attach-put", &[&topic(*of), &item, &sub, object])
                    }
                }
            }
            What::Remove { topic: of, which } => self.call_item(client, "delete", *of, *which),
            What::Divide { topic: of, under, position } => {
                let call = match under {
                    None => client.call("topic-divider-post", &[&topic(*of)]),
                    Some(under) => client.call("topicitem-divider-post", &[&topic(*of), &self.id(*under)]),
                };
                call.json(&json!({ "title": name, "position": position }))
            }
            What::Shift { topic: of, under, divider, position } => {
                self.call_divider(client, "put", *of, *under, *divider).json(&json!({ "position": position }))
            }
            What::Undivide { topic: of, under, divider } => self.call_divider(client, "delete", *of, *under, *divider),
            What::Move { sources, target, position } => {
                let sources: Vec<String> = sources.iter().map(|tag| self.id(*tag)).collect();
                let body = json!({ "sources": sources, "target": topic(*target), "position": position });
                client.call("topic-move-put", &[]).json(&body)
            }
            What::Discard(object) => client.call("object-discard", &[&self.objects[*object]]),
            What::Restore(object) => {
                client.call("stet-object-restore-post", &[&self.objects[*object]]).json(&json!({}))
            }
            // No client reads a single item.
            What::Read(of) | What::See { topic: of, .. } => {
                client.call("topic-get", &[&topic(*of)]).query("limitToChildren", false)
            }
        }
    }

    fn call_item<'c>(&self, client: &'c Client, method: &str, topic: usize, which: Which) -> Call<'c> {
        let (topic, item) = (&self.topics[topic], self.id(which.item));
        match which.sub {
            None => client.call(&format!("topicitem-{method}"), &[topic, &item]),
            Some(sub) => client.call(&format!("topicsubitem-{method}"), &[topic, &item, &self.id(sub)]),
        }
    }

    fn call_divider<'c>(
        &self,
        client: &'c Client,
        method: &str,
        topic: usize,
        under: Option<Tag>,
        divider: Tag,
    ) -> Call<'c> {
        let (topic, divider) = (&self.topics[topic], self.id(divider));
        match under {
            None => client.call(&format!("topic-divider-{method}"), &[topic, &divider]),
            Some(under) => client.call(&format!("topicitem-divider-{method}"), &[topic, &self.id(under), &divider]),
        }
    }

    /// Takes note of the id behind a tag, which is the same as ever.
    fn note(&self, id: &Value, tag: &Value) -> Option<Tag> {
        let tag: Tag = tag.as_str()?.parse().ok()?;
        let id = id.as_str()?;
        (self.ids.lock().entry(tag).or_insert_with(|| id.to_owned()) == id).then_some(tag)
    }

    /// An item, and the position that it has; with what stands below it, if the reply has that.
    fn item(&self, shown: &Value) -> Option<(usize, Line<Attachment>)> {
        let info = &shown["info"];
        let attachment = match &shown["attachment"] {
            Value::Null => Attachment::Nothing,
            attachment if attachment["hidden"] == true => Attachment::Hidden,
            attachment => {
                let object = self.objects.iter().position(|object| attachment["id"] == object.as_str());
                Attachment::Object(object?)
            }
        };
        let comment = match info["comment"].as_str()? {
            "" => 0,
            comment => comment.parse().ok()?,
        };
        let below = if shown["items"].is_null() { Vec::new() } else { self.lines(shown)? };
        let line =
            Line { tag: self.note(&info["id"], &info["name"])?, item: Some(Item { comment, attachment, below }) };
        Some((number(&shown["position"])?, line))
    }

    fn divider(&self, shown: &Value) -> Option<(usize, Line<Attachment>)> {
        Some((number(&shown["position"])?, Line { tag: self.note(&shown["id"], &shown["title"])?, item: None }))
    }

    /// Items and dividers of one order, whose positions are dense.
    fn lines(&self, shown: &Value) -> Option<Vec<Line<Attachment>>> {
        let items = shown["items"].as_array()?.iter().map(|item| self.item(item));
        let dividers = shown["dividers"].as_array()?.iter().map(|divider| self.divider(divider));
        let mut lines = items.chain(dividers).collect::<Option<Vec<_>>>()?;
        lines.sort_by_key(|(position, _)| *position);
        let dense = lines.iter().enumerate().all(|(at, (position, _))| at == *position);
        dense.then(|| lines.into_iter().map(|(_, line)| line).collect())
    }

    fn understand(&self, op: &Op, reply: &Value) -> Option<Reply> {
        Some(match &op.what {
            What::Add { .. } => {
                self.note(&reply["info"]["id"], &json!(op.tag.to_string()))?;
                Reply::Done
            }
            What::Divide { .. } | What::Shift { .. } => {
                let (position, divider) = self.divider(&reply["info"])?;
                Reply::Divider(divider.tag, position)
            }
            What::Move { sources, .. } => {
                let tag_of = |id: &Value| sources.iter().copied().find(|tag| *id == self.id(*tag).as_str());
                let moved = reply["items"].as_array()?.iter();
                let moved = moved.map(|item| Some((tag_of(&item["id"])?, number(&item["position"])?)));
                Reply::Moved(moved.collect::<Option<_>>()?)
            }
            What::Read(_) => {
                let items = reply["items"].as_array()?.len();
                (reply["info"]["count"] == items).then_some(())?;
                Reply::Tree(self.lines(reply)?)
            }
            What::See { .. } => {
                let (position, item) = self.item(reply)?;
                Reply::Item(item, position)
            }
            What::Change { .. } | What::Attach { .. } | What::Remove { .. } | What::Undivide { .. } => Reply::Done,
            What::Discard(_) | What::Restore(_) => Reply::Done,
        })
    }
}

/// A number of a reply, such as a position.
pub fn number(value: &Value) -> Option<usize> {
    value.as_u64()?.try_into().ok()
}

impl Subject for Topics {
    type Board = Pair;
    type Room = ();
    type Known = Known;
    const USERS: [&'static str; CLIENTS] = ["editor"; CLIENTS];

    fn room(_client: &Client, _folder: &str) {}

    fn make(client: &Client, folder: &str, name: &str) -> Topics {
        let topics = [0, 1].map(|number| make_topic(client, folder, &format!("{name}-{number}")));
        let objects = std::array::from_fn(|number| client.story(folder, &format!("{name}-{number}.xml")));
        Topics { topics, objects, ids: Mutex::default() }
    }

    fn choose(client: usize, dice: &mut Dice, known: &mut Known) -> Op {
        choice::op(client, dice, known)
    }

    fn learn(known: &mut Known, op: &Op, reply: &Reply) {
        known.learn(op, reply);
    }

    fn send(&self, _room: &(), client: &Client, op: &Op) -> Result<Answer, String> {
        self.request(client, op).try_send()
    }

    fn understood(&self, _room: &(), op: &Op, answer: &Answer) -> Reply {
        let garbled = || Reply::Garbled(as_it_came(answer));
        match answer.status {
            200 => self.understand(op, &answer.ok()).unwrap_or_else(garbled),
            404 if answer.json()["result"]["code"] == "CMS.ObjectNotFound" => Reply::NotFound,
            _ => garbled(),
        }
    }

    /// Returns the item in the reply to a change as a reading of its own. The reply shows it as the
    /// change left it, or a little later, since its attributes are rows of their own. It has only
    /// the id if others have removed the item.
    fn shown_beside(&self, op: &Op, answer: &Answer) -> Option<(Op, Reply)> {
        let (topic, item) = match &op.what {
            What::Add { topic, .. } => (*topic, op.tag),
            What::Change { topic, which, .. } | What::Attach { topic, which, .. } => {
                (*topic, which.sub.unwrap_or(which.item))
            }
            _ => return None,
        };
        if answer.status != 200 || answer.ok()["position"].is_null() {
            return None;
        }
        let op = Op { tag: op.tag, what: What::See { topic, item } };
        let reply = self.understand(&op, &answer.ok());
        Some((op, reply.unwrap_or_else(|| Reply::Garbled(as_it_came(answer)))))
    }

    fn last_looks() -> Vec<Op> {
        [0, 1].map(|topic| Op { tag: 0, what: What::Read(topic) }).to_vec()
    }
}
