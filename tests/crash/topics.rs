//! Topics, plans and templates. Each worker has a pair of topics or of plans of its own. It makes
//! the same calls as the clients of a history, and compares the state with the same whiteboard
//! (`histories::topics`, `histories::plans`). Other workers create topics from a template.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Worker, all_rounds};
use crate::harness::*;
use crate::histories::newsroom::{Op, Reply, Subject};
use crate::histories::plans::Plans;
use crate::histories::record::Whiteboard;
use crate::histories::topics::Topics;

/// The number of workers of each kind.
const WORKERS: usize = 2;

/// A worker with a thing of its own, of a kind that histories know.
struct Alone<S: Subject> {
    room: S::Room,
    thing: S,
    known: S::Known,
    dice: Dice,
    /// The possible states: more than one if no read can distinguish them.
    boards: Vec<S::Board>,
    pending: Option<Op<S>>,
}

impl<S: Subject> Alone<S> {
    fn new(client: &Client, folder: &str, dice: Dice) -> Alone<S> {
        let room = S::room(client, folder);
        let thing = S::make(client, folder, "own");
        Alone { room, thing, known: S::Known::default(), dice, boards: vec![S::Board::start()], pending: None }
    }

    /// Asks, and holds the answer against the whiteboard; `None` if none came.
    fn ask(&mut self, client: &Client, op: &Op<S>) -> Option<()> {
        let answer = self.thing.send(&self.room, client, op).ok()?;
        let reply = self.thing.understood(&self.room, op, &answer);
        self.hold(op, &reply);
        if let Some((op, reply)) = self.thing.shown_beside(op, &answer) {
            self.hold(&op, &reply);
        }
        S::learn(&mut self.known, op, &reply);
        Some(())
    }

    fn hold(&mut self, op: &Op<S>, reply: &Reply<S>) {
        let after: Vec<_> = self.boards.iter().filter_map(|board| board.after_answer(op, reply)).collect();
        assert!(!after.is_empty(), "what is there is not what was acknowledged: {op} -> {reply} on {:?}", self.boards);
        self.boards = after;
    }
}

impl<S: Subject> Worker for Alone<S>
where
    S::Room: Send,
    S::Known: Send,
    S::Board: Send,
{
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        loop {
            let op = S::choose(0, &mut self.dice, &mut self.known);
            if self.ask(client, &op).is_none() {
                self.pending = Some(op);
                return;
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle(&mut self, client: &Client) {
        if let Some(op) = self.pending.take() {
            let with: Vec<_> = self.boards.iter().map(|board| board.after(&op)).collect();
            self.boards.extend(with);
        }
        for op in S::last_looks() {
            self.ask(client, &op).expect("the server is up");
        }
    }
}

/// A worker that creates topics from a template.
struct Founder {
    folder: String,
    template: String,
    /// Topics that were acknowledged; their names are numbers.
    made: usize,
    has_pending: bool,
}

/// The lines of the template and of every topic created from it: names of items, and titles of
/// dividers in brackets.
const LINES: [&str; 4] = ["interview", "[pictures]", "portrait", "agency"];

fn make_template(client: &Client, folder: &str) -> String {
    let body = json!({ "name": "template", "folderPath": folder });
    let reply = client.call("topic-post", &[]).json(&body).ok();
    let topic = reply["info"]["id"].as_str().expect("a new topic has an id").to_owned();
    for line in LINES {
        let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) else {
            let item = client.call("topicitem-post", &[&topic]).json(&json!({ "name": line })).ok();
            let item = item["info"]["id"].as_str().expect("a new item has an id").to_owned();
            client.call("topicsubitem-post", &[&topic, &item]).json(&json!({ "name": "first" })).ok();
            continue;
        };
        client.call("topic-divider-post", &[&topic]).json(&json!({ "title": title })).ok();
    }
    topic
}

/// Returns the lines of a topic, in order.
fn lines(topic: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let items = topic["items"].as_array().expect("a topic has items").iter();
    let items = items.map(|item| {
        assert_eq!(item["items"][0]["info"]["name"], "first", "{item}");
        (item["position"].as_u64(), text(&item["info"]["name"]))
    });
    let dividers = topic["dividers"].as_array().expect("a topic has dividers").iter();
    let dividers = dividers.map(|divider| (divider["position"].as_u64(), format!("[{}]", text(&divider["title"]))));
    let mut lines: Vec<_> = items.chain(dividers).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

impl Worker for Founder {
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        loop {
            let body = json!({ "name": self.made.to_string(), "folderPath": self.folder });
            let call = client.call("topic-from-template-post", &[&self.template]).json(&body);
            let Ok(answer) = call.try_send() else {
                self.has_pending = true;
                return;
            };
            answer.ok();
            self.made += 1;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_pending(&self) -> bool {
        self.has_pending
    }

    fn settle(&mut self, client: &Client) {
        let path = |number: usize| format!("{}/{number}", self.folder);
        for number in 0..self.made {
            let topic = client.call("topic-get", &[&path(number)]).query("limitToChildren", false).ok();
            assert_eq!(lines(&topic), LINES, "what is there is not what was acknowledged: topic {number}");
        }
        let next = client.call("topic-get", &[&path(self.made)]).query("limitToChildren", false).send();
        if next.status == 200 {
            assert!(self.has_pending, "what is there is more than was asked for: topic {}", self.made);
            assert_eq!(lines(&next.ok()), LINES, "what is there is half made: topic {}", self.made);
            self.made += 1;
        } else {
            next.fails(404, "ObjectNotFound");
        }
        self.has_pending = false;
    }
}

fn hire(_: &Server, client: &Client, top: &str, dice: &mut Dice) -> Vec<Box<dyn Worker>> {
    let template = make_template(client, top);
    let mut workers: Vec<Box<dyn Worker>> = Vec::new();
    for number in 0..WORKERS {
        let mut dice = || Dice::new(dice.roll(usize::MAX) as u64);
        workers.push(Box::new(Alone::<Topics>::new(client, &format!("{top}/t{number}"), dice())));
        workers.push(Box::new(Alone::<Plans>::new(client, &format!("{top}/p{number}"), dice())));
    }
    let (folder, template) = (format!("{top}/made"), template);
    workers.push(Box::new(Founder { folder, template, made: 0, has_pending: false }));
    workers
}

#[test]
fn topics_and_plans_survive_a_crash_and_nothing_is_half_done() {
    all_rounds(hire);
}

/// Checks that the planted fault is found (`tests/histories/plants.rs`).
#[cfg(feature = "planted-bugs")]
#[test]
#[should_panic(expected = "what is there is")]
fn a_planted_move_of_items_and_topics_that_a_crash_can_tear_is_found() {
    super::look_for("torn-move", hire);
}
