//! Pairs of plans: topics stand in both or in one, move from one to the other, and come and go.

pub mod spec;
mod tell;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use self::spec::{Line, Op, Pair, Reply, TOPICS, Tag, Topic, What};
use super::newsroom::{CALLS, CLIENTS, Subject};
use super::tell::as_it_came;
use super::topics::{make_topic, number};
use crate::harness::*;

/// A pair, by loid.
pub struct Plans {
    plans: [String; 2],
    topics: [String; TOPICS],
    /// Ids of dividers, by their tags, as replies have shown them; they stay for all time.
    ids: Mutex<BTreeMap<Tag, String>>,
}

/// The memory of a client.
#[derive(Default)]
pub struct Known {
    /// The number of its calls so far.
    calls: usize,
    /// Dividers that it has been shown, and the plans that they stand in; they may be gone.
    dividers: BTreeMap<Tag, usize>,
}

impl Plans {
    fn request<'c>(&self, client: &'c Client, op: &Op) -> Call<'c> {
        let (plan, topic) = (|number: usize| &self.plans[number], |number: usize| &self.topics[number]);
        let divider = |tag: &Tag| self.ids.lock().get(tag).expect("clients name what they have been shown").clone();
        match &op.what {
            What::Add { plan: to, topic: added, position } => {
                let body = json!({ "position": position });
                client.call("topicplan-add-put", &[plan(*to), topic(*added)]).json(&body)
            }
            What::Remove { plan: of, topic: removed } => {
                client.call("topicplan-topic-delete", &[plan(*of), topic(*removed)])
            }
            What::Divide { plan: of, position } => {
                let body = json!({ "title": op.tag.to_string(), "position": position });
                client.call("topicplan-divider-post", &[plan(*of)]).json(&body)
            }
            What::Shift { plan: of, divider: tag, position } => {
                let body = json!({ "position": position });
                client.call("topicplan-divider-put", &[plan(*of), &divider(tag)]).json(&body)
            }
            What::Undivide { plan: of, divider: tag } => {
                client.call("topicplan-divider-delete", &[plan(*of), &divider(tag)])
            }
            What::Move { topics, target, position } => {
                let sources: Vec<&String> = topics.iter().map(|number| topic(*number)).collect();
                let body = json!({ "sources": sources, "target": plan(*target), "position": position });
                client.call("topic-move-put", &[]).json(&body)
            }
            What::Discard(number) => client.call("object-discard", &[topic(*number)]),
            What::Restore(number) => client.call("stet-object-restore-post", &[topic(*number)]).json(&json!({})),
            What::Read(of) => client.call("topicplan-get", &[plan(*of)]),
        }
    }

    fn topic(&self, id: &Value) -> Option<Topic> {
        self.topics.iter().position(|topic| *id == topic.as_str())
    }

    /// A divider and its position; its id is the same as ever.
    fn divider(&self, shown: &Value) -> Option<(Tag, usize)> {
        let tag: Tag = shown["title"].as_str()?.parse().ok()?;
        let id = shown["id"].as_str()?;
        let is_same = self.ids.lock().entry(tag).or_insert_with(|| id.to_owned()) == id;
        is_same.then_some((tag, number(&shown["position"])?))
    }

    fn topics_of(&self, reply: &Value) -> Option<Vec<(Topic, usize)>> {
        let items = reply["items"].as_array()?.iter();
        items.map(|item| Some((self.topic(&item["info"]["id"])?, number(&item["position"])?))).collect()
    }

    fn understand(&self, op: &Op, reply: &Value) -> Option<Reply> {
        Some(match &op.what {
            What::Add { .. } | What::Remove { .. } => Reply::Changed {
                count: number(&reply["info"]["count"])?,
                topic: self.topics_of(reply)?.first().copied(),
            },
            What::Divide { .. } | What::Shift { .. } => {
                let (tag, position) = self.divider(&reply["info"])?;
                Reply::Divider(tag, position)
            }
            What::Move { .. } => {
                let items = reply["items"].as_array()?.iter();
                let items = items.map(|item| Some((self.topic(&item["id"])?, number(&item["position"])?)));
                Reply::Moved(items.collect::<Option<_>>()?)
            }
            What::Read(_) => {
                let topics = self.topics_of(reply)?;
                (number(&reply["info"]["count"])? == topics.len()).then_some(())?;
                let dividers = reply["dividers"].as_array()?.iter().map(|divider| self.divider(divider));
                let dividers = dividers.collect::<Option<Vec<_>>>()?.into_iter();
                let dividers = dividers.map(|(tag, position)| (position, Line::Divider(tag)));
                let topics = topics.into_iter().map(|(topic, position)| (position, Line::Topic(topic)));
                let mut lines: Vec<(usize, Line)> = topics.chain(dividers).collect();
                lines.sort_by_key(|(position, _)| *position);
                let dense = lines.iter().enumerate().all(|(at, (position, _))| at == *position);
                dense.then_some(())?;
                Reply::List(lines.into_iter().map(|(_, line)| line).collect())
            }
            What::Undivide { .. } | What::Discard(_) | What::Restore(_) => Reply::Done,
        })
    }
}

fn choose(dice: &mut Dice, known: &Known) -> What {
    let (plan, topic) = (dice.roll(2), dice.roll(TOPICS));
    let at = dice.roll(5) as i64 - 1;
    let position = (dice.roll(3) > 0).then_some(at);
    let dividers: Vec<(Tag, usize)> = known.dividers.iter().map(|(tag, plan)| (*tag, *plan)).collect();
    match dice.roll(20) {
        0..=4 => What::Add { plan, topic, position },
        5 => What::Remove { plan, topic },
        6 => What::Divide { plan, position },
        7 => match dice.pick(&dividers) {
            Some((divider, plan)) if dice.roll(3) == 0 => What::Undivide { plan: *plan, divider: *divider },
            Some((divider, plan)) => What::Shift { plan: *plan, divider: *divider, position: at },
            None => What::Divide { plan, position },
        },
        8..=13 => {
            let topics = (0..1 + dice.roll(2)).map(|_| dice.roll(TOPICS)).collect();
            What::Move { topics, target: plan, position }
        }
        14 => What::Discard(topic),
        15 | 16 => What::Restore(topic),
        _ => What::Read(plan),
    }
}

impl Subject for Plans {
    type Board = Pair;
    type Room = ();
    type Known = Known;
    const USERS: [&'static str; CLIENTS] = ["editor"; CLIENTS];

    fn room(_client: &Client, _folder: &str) {}

    fn make(client: &Client, folder: &str, name: &str) -> Plans {
        let plans = [0, 1].map(|number| {
            let body = json!({ "name": format!("{name}-plan-{number}"), "folderPath": folder });
            let reply = client.call("topicplan-post", &[]).json(&body).ok();
            reply["info"]["id"].as_str().expect("a new plan has an id").to_owned()
        });
        let topics = std::array::from_fn(|number| make_topic(client, folder, &format!("{name}-{number}")));
        Plans { plans, topics, ids: Mutex::default() }
    }

    fn choose(client: usize, dice: &mut Dice, known: &mut Known) -> Op {
        let tag = 1 + client * CALLS + known.calls;
        known.calls += 1;
        Op { tag, what: choose(dice, known) }
    }

    fn learn(known: &mut Known, op: &Op, reply: &Reply) {
        match (&op.what, reply) {
            (What::Divide { plan, .. }, Reply::Divider(tag, _)) => drop(known.dividers.insert(*tag, *plan)),
            (What::Read(plan), Reply::List(lines)) => {
                known.dividers.retain(|_, of| of != plan);
                let dividers = lines.iter().filter_map(|line| match line {
                    Line::Divider(tag) => Some((*tag, *plan)),
                    Line::Topic(_) => None,
                });
                known.dividers.extend(dividers);
            }
            _ => {}
        }
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

    fn last_looks() -> Vec<Op> {
        [0, 1].map(|plan| Op { tag: 0, what: What::Read(plan) }).to_vec()
    }
}
