//! What replies show of clients' things.

use std::collections::HashMap;

use serde_json::Value;

use super::office::{Office, Place, link_of, step_of};
use super::plan::{Key, Thing};
use crate::client::Answer;
use crate::liveblog::model::PostId;
use crate::topic::wire::result;
use crate::{drawer, liveblog, topic};

/// What is held: the value of each thing that is there, and what can't be, a sentence each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Held {
    /// By thing.
    pub things: HashMap<Key, u32>,
    /// What can't be.
    pub odd: Vec<String>,
}

/// Stands for what nobody wrote.
const UNKNOWN: u32 = u32::MAX;

impl Held {
    /// Notes one thing.
    pub fn is(&mut self, client: u32, thing: Thing, value: u32) {
        let key = Key { client, thing };
        if self.things.insert(key, value).is_some() {
            self.odd.push(format!("{key} is there twice."));
        }
    }

    /// Notes what is nobody's.
    pub fn foreign(&mut self, what: &str, name: &str) {
        self.odd.push(format!("{what} `{name}` is there, which is nobody's."));
    }

    /// Adds what another look has shown.
    pub fn add(&mut self, other: Held) {
        for (key, value) in other.things {
            self.is(key.client, key.thing, value);
        }
        self.odd.extend(other.odd);
    }
}

/// A number that is shown as a text or as a number; 0 for nothing.
fn number(value: &Value) -> u32 {
    match value {
        Value::Null => 0,
        Value::String(text) => text.parse().unwrap_or(UNKNOWN),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(UNKNOWN),
    }
}

impl Office {
    /// What the answer to a read shows; `None` if it has another shape than the interface says.
    pub fn held(&self, place: Place, client: u32, answer: &Answer) -> Option<Held> {
        let mut held = Held::default();
        match place {
            Place::Story => held.is(client, Thing::Text, step_of(client, &answer.body).unwrap_or(UNKNOWN)),
            Place::Drawer => {
                for item in drawer::wire::reply(answer)?.items {
                    match self.wires.get(&*item.source) {
                        Some(key) => held.is(key.client, key.thing, 1),
                        None => held.foreign("In a drawer, the item", &item.source),
                    }
                }
            }
            Place::Topic => {
                let whole: topic::wire::Whole<'_> = result(answer)?;
                let Some(lines) = whole.lines(&self.topics) else {
                    held.odd.push("The positions of a topic's items are not dense.".to_owned());
                    return Some(held);
                };
                for line in lines {
                    match line.said {
                        Some((comment, _)) if self.items.get(line.line as usize) == Some(&line.id.into()) => {
                            held.is(line.line, Thing::Comment, comment);
                        }
                        _ => held.foreign("In a topic, a line", &line.line.to_string()),
                    }
                }
            }
            Place::Posts => held.add(self.posts(client, answer)?),
            Place::Bundle => {
                let bundle = result::<Value>(answer)?;
                held.is(client, Thing::Headline, number(&bundle["info"]["attributes"]["story"]["headline"]));
                for copy in bundle["items"].as_array()? {
                    let channel = copy["name"].as_str().unwrap_or_default();
                    match (0..).zip(&self.channels).find(|(_, name)| *name == channel) {
                        Some((slot, _)) => held.is(client, Thing::Copy(slot), 1),
                        None => held.foreign("In a story, the copy for the channel", channel),
                    }
                }
            }
            Place::Links => {
                for link in result::<Value>(answer)?["items"].as_array()? {
                    let name = link["linkName"].as_str().unwrap_or_default();
                    match link_of(name) {
                        Some(slot) => held.is(client, Thing::Link(slot), 1),
                        None => held.foreign("The link", name),
                    }
                }
            }
        }
        Some(held)
    }

    /// What a listing of posts shows, of a client's liveblog; `None` if it has another shape than
    /// the interface says.
    pub fn posts(&self, client: u32, answer: &Answer) -> Option<Held> {
        let mut held = Held::default();
        for shown in &liveblog::wire::posts(answer)?.items {
            let is_made = |post: &PostId| {
                let own = self.posts.get(post.client as usize).and_then(|own| own.get(post.number as usize));
                own.is_some_and(|id| id == shown.id())
            };
            let Some(post) = shown.post().filter(is_made) else {
                held.foreign("In a liveblog, the post", shown.id());
                continue;
            };
            let look = self.liveblogs[usize::from(self.desk_of(client))].look(post, shown);
            let step = look.and_then(|look| look.step).unwrap_or(UNKNOWN);
            held.is(post.client, Thing::Post(post.number), step);
            held.is(post.client, Thing::State(post.number), look.map_or(UNKNOWN, |look| look.status as u32));
        }
        Some(held)
    }

    /// How often the front page was published.
    pub fn published(record: &Value) -> u64 {
        u64::from(number(&record["attributes"]["story"]["published"]))
    }
}

/// What a reply to a publication says was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The story has its headline.
    pub headline: bool,
    /// The front page is counted up.
    pub front: bool,
}

impl Office {
    /// Reads it; `None` if it has another shape than the interface says.
    pub fn publication(&self, client: u32, answer: &Answer) -> Option<Published> {
        let reply = result::<Value>(answer)?;
        let items = reply["items"].as_array()?;
        let done = |source: &str| items.iter().any(|item| item["source"] == source);
        Some(Published { headline: done(&self.story_path(client)), front: done(&self.front) })
    }
}

/// The id of a message that was sent.
pub fn message_id(answer: &Answer) -> Option<String> {
    result::<Value>(answer)?["id"].as_str().map(str::to_owned)
}

/// The token in the answer to a login.
pub fn token(answer: &Answer) -> Option<String> {
    result::<Value>(answer)?["token"]["value"].as_str().map(str::to_owned)
}
