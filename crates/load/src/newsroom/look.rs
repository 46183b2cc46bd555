//! The values of the clients' things as replies show them.

use std::collections::HashMap;

use serde_json::Value;

use super::office::{NewsroomObjects, NewsroomReadTarget, link_of, step_of};
use super::plan::{NewsroomThing, ThingKey};
use crate::client::CallAnswer;
use crate::liveblog::model::PostId;
use crate::topic::wire::result;
use crate::{drawer, liveblog, topic};

/// The values found on the server, with contradictions as one sentence each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FoundThings {
    /// The value of each existing thing.
    pub things: HashMap<ThingKey, u32>,
    /// Contradictions, one sentence each.
    pub odd: Vec<String>,
}

/// The value of a text that no client wrote.
const UNKNOWN: u32 = u32::MAX;

impl FoundThings {
    /// Notes the value of one thing.
    pub fn is(&mut self, client: u32, thing: NewsroomThing, value: u32) {
        let key = ThingKey { client, thing };
        if self.things.insert(key, value).is_some() {
            self.odd.push(format!("{key} is there twice."));
        }
    }

    /// Notes something that belongs to no client.
    pub fn foreign(&mut self, what: &str, name: &str) {
        self.odd.push(format!("{what} `{name}` belongs to no client."));
    }

    /// Adds the values of another read.
    pub fn add(&mut self, other: FoundThings) {
        for (key, value) in other.things {
            self.is(key.client, key.thing, value);
        }
        self.odd.extend(other.odd);
    }
}

/// Parses a number that is shown as a text or as a number; a missing one is 0.
fn parse_number(value: &Value) -> u32 {
    match value {
        Value::Null => 0,
        Value::String(text) => text.parse().unwrap_or(UNKNOWN),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(UNKNOWN),
    }
}

impl NewsroomObjects {
    /// Reads the values from the answer to a read. Returns `None` if the answer does not have the
    /// documented shape.
    pub fn held(&self, place: NewsroomReadTarget, client: u32, answer: &CallAnswer) -> Option<FoundThings> {
        let mut held = FoundThings::default();
        match place {
            NewsroomReadTarget::Story => {
                held.is(client, NewsroomThing::Text, step_of(client, &answer.body).unwrap_or(UNKNOWN))
            }
            NewsroomReadTarget::Drawer => {
                for item in drawer::wire::reply(answer)?.items {
                    match self.wires.get(&*item.source) {
                        Some(key) => held.is(key.client, key.thing, 1),
                        None => held.foreign("In a drawer, the item", &item.source),
                    }
                }
            }
            NewsroomReadTarget::Topic => {
                let whole: topic::wire::TopicReadReply<'_> = result(answer)?;
                let Some(lines) = whole.lines(&self.topics) else {
                    held.odd.push("The positions of a topic's items are not dense.".to_owned());
                    return Some(held);
                };
                for line in lines {
                    match line.said {
                        Some((comment, _)) if self.items.get(line.line as usize) == Some(&line.id.into()) => {
                            held.is(line.line, NewsroomThing::Comment, comment);
                        }
                        _ => held.foreign("In a topic, a line", &line.line.to_string()),
                    }
                }
            }
            NewsroomReadTarget::Posts => held.add(self.posts(client, answer)?),
            NewsroomReadTarget::Bundle => {
                let bundle = result::<Value>(answer)?;
                held.is(
                    client,
                    NewsroomThing::Headline,
                    parse_number(&bundle["info"]["attributes"]["story"]["headline"]),
                );
                for copy in bundle["items"].as_array()? {
                    let channel = copy["name"].as_str().unwrap_or_default();
                    match (0..).zip(&self.channels).find(|(_, name)| *name == channel) {
                        Some((slot, _)) => held.is(client, NewsroomThing::Copy(slot), 1),
                        None => held.foreign("In a story, the copy for the channel", channel),
                    }
                }
            }
            NewsroomReadTarget::Links => {
                for link in result::<Value>(answer)?["items"].as_array()? {
                    let name = link["linkName"].as_str().unwrap_or_default();
                    match link_of(name) {
                        Some(slot) => held.is(client, NewsroomThing::Link(slot), 1),
                        None => held.foreign("The link", name),
                    }
                }
            }
        }
        Some(held)
    }

    /// Reads the values from a listing of posts of a client's liveblog. Returns `None` if the
    /// answer does not have the documented shape.
    pub fn posts(&self, client: u32, answer: &CallAnswer) -> Option<FoundThings> {
        let mut held = FoundThings::default();
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
            held.is(post.client, NewsroomThing::Post(post.number), step);
            held.is(post.client, NewsroomThing::State(post.number), look.map_or(UNKNOWN, |look| look.status as u32));
        }
        Some(held)
    }

    /// Returns how often the front page was published.
    pub fn published(record: &Value) -> u64 {
        u64::from(parse_number(&record["attributes"]["story"]["published"]))
    }
}

/// The changes that a reply to a publication reports as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicationReply {
    /// `true` if the story got its headline.
    pub headline: bool,
    /// `true` if the front page's counter was raised.
    pub front: bool,
}

impl NewsroomObjects {
    /// Reads the reply to a publication. Returns `None` if it does not have the documented shape.
    pub fn publication(&self, client: u32, answer: &CallAnswer) -> Option<PublicationReply> {
        let reply = result::<Value>(answer)?;
        let items = reply["items"].as_array()?;
        let done = |source: &str| items.iter().any(|item| item["source"] == source);
        Some(PublicationReply { headline: done(&self.story_path(client)), front: done(&self.front) })
    }
}

/// Returns the code of the first source that a bulk read could not read for overload. The reply
/// itself is a success then.
pub fn overload(answer: &CallAnswer) -> Option<String> {
    let reply = result::<Value>(answer)?;
    let codes = reply["errors"].as_array()?.iter().filter_map(|error| error["code"].as_str());
    codes.filter(|code| code.ends_with("Overloaded")).map(str::to_owned).next()
}

/// Returns the id of a sent message.
pub fn message_id(answer: &CallAnswer) -> Option<String> {
    result::<Value>(answer)?["id"].as_str().map(str::to_owned)
}

/// Returns the token in the answer to a login.
pub fn token(answer: &CallAnswer) -> Option<String> {
    result::<Value>(answer)?["token"]["value"].as_str().map(str::to_owned)
}
