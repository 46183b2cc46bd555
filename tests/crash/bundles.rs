//! Compound stories: their text, the copies that follow it, a number among their attributes, and
//! where they lie.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{Worker, all_rounds};
use crate::harness::*;

const WORKERS: usize = 4;
const CHANNELS: [&str; 2] = ["Web", "Tabloid"];

/// A compound story.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Story {
    text: String,
    /// Text of the copy for each channel that has one, and whether it follows.
    copies: BTreeMap<&'static str, (String, bool)>,
    /// The expected value of the number among its attributes.
    count: u64,
    /// The index of its folder, out of two.
    at: usize,
}

#[derive(Debug, Clone)]
enum Change {
    Write(String),
    Copy(&'static str),
    WriteCopy(&'static str, String),
    Drop(&'static str),
    Increase,
    Move(usize),
}

fn after(story: &Story, change: &Change) -> Story {
    let mut story = story.clone();
    match change {
        Change::Write(text) => {
            story.text.clone_from(text);
            for (copy, follows) in story.copies.values_mut() {
                if *follows {
                    copy.clone_from(text);
                }
            }
        }
        Change::Copy(channel) => drop(story.copies.insert(channel, (story.text.clone(), true))),
        Change::WriteCopy(channel, text) => drop(story.copies.insert(channel, (text.clone(), false))),
        Change::Drop(channel) => drop(story.copies.remove(channel)),
        Change::Increase => story.count += 1,
        Change::Move(at) => story.at = *at,
    }
    story
}

struct Desk {
    loid: String,
    folders: [String; 2],
    story: Story,
    written: usize,
    dice: Dice,
    pending: Option<Change>,
}

impl Desk {
    fn choose(&mut self) -> Change {
        let channel = CHANNELS[self.dice.roll(2)];
        self.written += 1;
        // Now and then one that lies in a file.
        let text = format!("{} {}", self.written, "x".repeat(if self.dice.roll(8) == 0 { 150_000 } else { 10 }));
        match (self.dice.roll(10), self.story.copies.contains_key(channel)) {
            (0..4, _) => Change::Write(text),
            (4, _) => Change::Increase,
            (5, _) => Change::Move(1 - self.story.at),
            (6..8, true) => Change::WriteCopy(channel, text),
            (_, true) => Change::Drop(channel),
            (_, false) => Change::Copy(channel),
        }
    }

    fn copy(&self, channel: &str) -> String {
        format!("{}/story.xml/{channel}", self.folders[self.story.at])
    }

    fn ask(&self, client: &Client, change: &Change) -> Result<Answer, String> {
        let write = |object: &str, text: &str| {
            client
                .call("stet-object-content-put", &[&object])
                .bytes("text/xml", text)
                .query("newVersion", true)
                .try_send()
        };
        match change {
            Change::Write(text) => write(&self.loid, text),
            Change::WriteCopy(channel, text) => write(&self.copy(channel), text),
            Change::Copy(channel) => {
                let body = json!({ "channel": channel, "inheritFrom": "Neutral" });
                client.call("container-bundle-channelcopy-post", &[&self.loid]).json(&body).try_send()
            }
            Change::Drop(channel) => client.call("object-destroy", &[&self.copy(channel)]).try_send(),
            Change::Increase => {
                let operators = json!([{ "inc": { "xpath": "/attributes/metadata/count" } }]);
                let body = json!({ "updateFields": [{ "sourceIds": [self.loid], "operators": operators }] });
                client.call("stet-object-metadata-change-fields-post", &[]).json(&body).try_send()
            }
            Change::Move(at) => {
                let body = json!({ "folder": self.folders[*at] });
                client.call("stet-object-move-post", &[&self.loid]).json(&body).try_send()
            }
        }
    }

    fn look(&self, client: &Client) -> Story {
        let record = client.call("object-get", &[&self.loid]).query("showPath", true).ok();
        let path = record["path"].as_str().expect("the path was asked for");
        let at = self.folders.iter().position(|folder| path == format!("{folder}/story.xml")).expect("it is in one");
        let text = |object: &str| {
            let answer = client.call("stet-object-content-get", &[&object]).send();
            assert_eq!(answer.status, 200, "{answer:?}");
            String::from_utf8(answer.body).expect("it is a text")
        };
        let listed = client.call("bundle-items-get", &[&self.loid]).ok();
        let copies = listed["items"].as_array().expect("a bundle has items").iter().map(|copy| {
            let channel = CHANNELS.into_iter().find(|channel| copy["name"] == *channel).expect("it is for one of two");
            let follows = copy["channelCopy"]["follows"].as_bool().expect("it says so");
            (channel, (text(copy["id"].as_str().expect("a record has an id")), follows))
        });
        let count =
            record["attributes"]["metadata"]["count"].as_str().map_or(0, |count| count.parse().expect("a number"));
        Story { text: text(&self.loid), copies: copies.collect(), count, at }
    }
}

impl Worker for Desk {
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        loop {
            let change = self.choose();
            let Ok(answer) = self.ask(client, &change) else {
                self.pending = Some(change);
                return;
            };
            answer.ok();
            self.story = after(&self.story, &change);
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle(&mut self, client: &Client) {
        let seen = self.look(client);
        let made = self.pending.take().map(|change| after(&self.story, &change));
        assert!(
            seen == self.story || made.as_ref() == Some(&seen),
            "what is there is {}, not {} or {}",
            super::short(&seen),
            super::short(&self.story),
            super::short(&made)
        );
        self.story = seen;
    }
}

fn hire(_: &Server, client: &Client, top: &str, dice: &mut Dice) -> Vec<Box<dyn Worker>> {
    (0..WORKERS)
        .map(|number| -> Box<dyn Worker> {
            let folders = [0, 1].map(|folder| format!("{top}/{number}-{folder}"));
            client.call("folder-post", &[]).json(&json!({ "path": folders[1] })).ok();
            let options = json!({ "name": "story.xml", "type": "CompoundStory", "folderPath": folders[0] });
            let file = ("content", "story.xml", "text/xml", b"0".as_slice());
            let made = client.call("stet-object-create-post", &[]).form(&options, &[file]).ok();
            let story = Story { text: "0".to_owned(), copies: BTreeMap::new(), count: 0, at: 0 };
            let (loid, dice) =
                (made["id"].as_str().expect("it has an id").to_owned(), Dice::new(dice.roll(usize::MAX) as u64));
            Box::new(Desk { loid, folders, story, written: 0, dice, pending: None })
        })
        .collect()
}

#[test]
fn bundles_and_their_channel_copies_survive_crashes_whole() {
    all_rounds(hire);
}
