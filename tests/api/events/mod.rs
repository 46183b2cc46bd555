//! Following containers live: `/v3/container/{source}/events` (ours).

mod below;
mod ends;
mod order;
mod planning;
mod presence;
mod resume;
mod rights;
mod several;

use serde_json::{Value, json};

use super::drawer::Desk;
use super::endpoints::cases::{Kind, Made, cases, word};
use super::liveblog::reporter_below;
use crate::harness::{FollowedEvent, *};

/// An empty drawer with room for all of the stories beside it.
fn desk(client: Client, stories: usize) -> Desk {
    Desk::of(client, 1000, stories, 0)
}

/// Returns such a desk on the server that tests share.
fn shared_desk(stories: usize) -> Desk {
    desk(Server::shared().user("editor"), stories)
}

/// Operations on a desk that tests of followers need.
impl Desk {
    /// Adds a story.
    fn put_in(&self, story: usize) -> Answer {
        let answer = self.client.call("drawer-item-post", &[&self.drawer, &self.stories[story]]).send();
        answer.ok();
        answer
    }

    fn take_out(&self, story: usize) {
        self.client.call("drawer-item-delete", &[&self.drawer, &self.stories[story]]).ok();
    }

    fn take_all_out(&self) {
        self.client.call("drawer-item-clear-put", &[&self.drawer]).ok();
    }

    fn put_first(&self, story: usize) -> Call<'_> {
        self.client.call("drawer-item-position-put", &[&self.drawer, &self.stories[story], &0])
    }

    /// Puts one story after the other first, so that each call changes something.
    fn shuffle(&self, turn: usize) {
        self.put_first((turn + 1) % self.stories.len()).ok();
    }

    /// The drawer's revision.
    fn present(&self) -> u64 {
        revision(&self.client.call("drawer-get", &[&self.drawer]).send())
    }

    fn follow(&self, after: Option<u64>) -> Follow {
        self.client.follow(&self.drawer, after)
    }

    fn events(&self) -> Call<'_> {
        events(&self.client, &self.drawer)
    }
}

/// The revision that an ETag speaks of.
fn revision(answer: &Answer) -> u64 {
    let tag = answer.header("etag").expect("it has an ETag");
    let revision = tag.trim_matches('"').split('-').next().and_then(|number| number.parse().ok());
    revision.expect("a tag begins with a revision")
}

fn events<'c>(client: &'c Client, container: &str) -> Call<'c> {
    client.call("stet-container-events-get", &[&container])
}

/// Follows a container and waits for the greeting.
fn greeted(client: &Client, container: &str) -> (Follow, FollowedEvent) {
    let mut follow = client.follow(container, None);
    let hello = follow.must();
    assert_eq!(hello.event, "hello");
    (follow, hello)
}

/// The path of a container's events.
fn events_of(container: &str) -> String {
    format!("/v3/container/{}/events", encoded(container))
}

/// Returns the events stored after a revision, without waiting for more.
fn stored(client: &Client, container: &str, after: u64) -> Vec<FollowedEvent> {
    let path = format!("{}?wait=false", events_of(container));
    let mut follow = client.try_follow(&path, Some(after)).expect("it is answered");
    let told = follow.rest();
    assert!(follow.whole, "the answer was cut off");
    told
}

/// Asserts that a stream ends properly, and returns its events until then.
fn ended(mut follow: Follow) -> Vec<FollowedEvent> {
    let told = follow.rest();
    assert!(follow.whole, "it was cut off");
    told
}

fn ids(told: &FollowedEvent) -> Vec<&str> {
    told.data["ids"].as_array().into_iter().flatten().map(|id| id.as_str().expect("an id is a text")).collect()
}

cases! {
    "stet-events-get": |corner| {
        let drawer = corner.drawer(1).drawer;
        Made::on([]).query("wait", word(false)).query("containers", drawer)
    };
    "stet-events-post": |corner| {
        let drawer = corner.drawer(1).drawer;
        let mut follow = several::follow_all(&corner.client, &[drawer.to_string()]);
        follow.must();
        let stream = follow.stream.clone().expect("the stream has a name");
        // It stays open as long as the test runs.
        std::mem::forget(follow);
        let body = json!({ "follow": [{ "container": drawer.to_string() }], "unfollow": [] });
        Made::on([word(stream)]).json(body)
    };
    "stet-presence-post": |corner| {
        let drawer = corner.drawer(1).drawer;
        Made::on([]).json(json!({ "container": drawer.to_string(), "state": "viewing" }))
    };
    "stet-liveblog-events-get": |corner| {
        Made::on([corner.bare_post()[0].clone()]).query("wait", word(false)).query("lastEventId", word(0))
    };
    "stet-container-events-get": |corner| {
        let drawer = corner.drawer(1).drawer.with_kind(Kind::Any);
        Made::on([drawer]).query("wait", word(false)).query("lastEventId", word(0))
    };
}
