//! Following containers live: `/v3/container/{source}/events` (ours).

mod ends;
mod order;
mod resume;
mod rights;

use serde_json::json;

use super::drawer::Desk;
use crate::harness::{FollowedEvent as Told, *};

/// A drawer with room for all, nothing in it, and so many stories beside it.
fn desk(client: Client, stories: usize) -> Desk {
    Desk::of(client, 1000, stories, 0)
}

/// The same on the server that tests share.
fn shared_desk(stories: usize) -> Desk {
    desk(Server::shared().login("editor"), stories)
}

/// What following needs of a desk.
impl Desk {
    /// Adds a story, which must go well.
    fn put_in(&self, story: usize) -> Answer {
        let answer = self.add(story).send();
        answer.ok();
        answer
    }

    /// Puts one story after the other first, so that each call changes something.
    fn shuffle(&self, turn: usize) {
        let story = (turn + 1) % self.stories.len();
        self.client.put(&format!("{}/position/0", self.item(story)), &json!({})).ok();
    }

    /// The drawer's revision.
    fn revision(&self) -> u64 {
        revision(&self.client.get(&self.path("")))
    }

    fn follow(&self, after: Option<u64>) -> Follow {
        self.client.follow(&self.drawer, after)
    }
}

/// The revision that an ETag speaks of.
fn revision(answer: &Answer) -> u64 {
    let tag = answer.header("etag").expect("it has an ETag");
    tag.trim_matches('"')
        .split('-')
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a tag begins with a revision")
}

fn events_of(container: &str) -> String {
    format!("/v3/container/{}/events", encoded(container))
}

fn ids(told: &Told) -> Vec<&str> {
    told.data["ids"].as_array().into_iter().flatten().map(|id| id.as_str().expect("an id is a text")).collect()
}
