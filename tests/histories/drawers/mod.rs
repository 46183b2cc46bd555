//! Pairs of drawers: moves go from one to the other.

pub mod choice;
pub mod rules;
pub mod spec;
mod tell;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::choice::Known;
use self::spec::{CAPACITIES, Named, OBJECTS, Op, Pair, Refusal, Reply, Shortcut, Shown};
use super::newsroom::{CLIENTS, Subject};
use super::record::Call;
use crate::harness::*;

/// A pair, by loid.
pub struct Drawers([String; 2]);

/// Data that all pairs share.
pub struct Room {
    /// Loids of the objects that are put into drawers.
    objects: Vec<String>,
    /// The origin of each shortcut that was seen: round, pair, drawer, and its object.
    shortcuts: BTreeMap<Shortcut, (usize, usize, usize, usize)>,
}

impl Subject for Drawers {
    type Board = Pair;
    type Room = Room;
    type Known = Known;
    const USERS: [&'static str; CLIENTS] = ["editor"; CLIENTS];

    fn room(client: &Client, folder: &str) -> Room {
        let objects = (0..OBJECTS).map(|number| client.story(folder, &format!("{number}.xml"))).collect();
        Room { objects, shortcuts: BTreeMap::new() }
    }

    fn make(client: &Client, folder: &str, name: &str) -> Drawers {
        Drawers([0, 1].map(|number| client.drawer(folder, &format!("{name}-{number}"), CAPACITIES[number] as u32)))
    }

    fn choose(_client: usize, dice: &mut Dice, known: &mut Known) -> Op {
        choice::op(dice, known)
    }

    fn learn(known: &mut Known, op: &Op, reply: &Reply) {
        known.learn(op, reply);
    }

    fn send(&self, room: &Room, client: &Client, op: &Op) -> Result<Answer, String> {
        let (method, path, body) = request(&self.0, &room.objects, op);
        let headers: &[(&str, &str)] = if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
        client.try_send(method, &path, headers, body.as_bytes())
    }

    fn understood(&self, room: &Room, op: &Op, answer: &Answer) -> Reply {
        understood(answer, &room.objects, op)
    }

    fn last_looks() -> Vec<Op> {
        vec![Op::Read(0), Op::Read(1)]
    }

    /// A shortcut stands for one object in one drawer, for all time.
    fn inspect(room: &mut Room, (round, pair): (usize, usize), history: &[Call<Pair>]) {
        for call in history {
            for item in call.answered.iter().flat_map(|(_, reply)| reply.shown()) {
                let of = (round, pair, call.op.drawer(), item.object);
                let first = *room.shortcuts.entry(item.shortcut).or_insert(of);
                assert_eq!(of, first, "the shortcut {} was given twice", item.shortcut);
            }
        }
    }
}

fn request(drawers: &[String; 2], objects: &[String], op: &Op) -> (&'static str, String, String) {
    let drawer = |number: usize| format!("/v3/container/drawer/{}", encoded(&drawers[number]));
    let object = |object: usize| encoded(&objects[object]);
    let item = |item: &Named| item.shortcut.map_or_else(|| object(item.object), |shortcut| shortcut.to_string());
    let empty = String::new();
    match op {
        Op::Add(at, added) => ("POST", format!("{}/item/{}", drawer(*at), object(*added)), empty),
        Op::AddAll(at, all) => {
            let sources: Vec<&String> = all.iter().map(|object| &objects[*object]).collect();
            ("POST", format!("{}/item", drawer(*at)), json!({ "sources": sources }).to_string())
        }
        Op::Place(at, put, position) => {
            ("PUT", format!("{}/item/{}/position/{position}", drawer(*at), object(*put)), empty)
        }
        Op::Shift(at, named, position) => {
            ("PUT", format!("{}/shortcut/{}/position/{position}", drawer(*at), item(named)), empty)
        }
        Op::Delete(at, named) => ("DELETE", format!("{}/item/{}", drawer(*at), item(named)), empty),
        Op::Clear(at) => ("PUT", format!("{}/item/clear", drawer(*at)), empty),
        Op::Move { from, item: named } => {
            let target = encoded(&drawers[1 - from]);
            ("PUT", format!("{}/item/{}/move/{target}", drawer(*from), item(named)), empty)
        }
        Op::Read(at) => ("GET", format!("{}?showItems=true", drawer(*at)), empty),
    }
}

fn understood(answer: &Answer, objects: &[String], op: &Op) -> Reply {
    if answer.status != 200 {
        let code = answer.json()["result"]["code"].take();
        return Reply::Refused(match (answer.status, code.as_str()) {
            (409, Some("CMS.DrawerFull")) => Refusal::DrawerFull,
            (404, Some("CMS.ObjectNotFound")) => Refusal::ObjectNotFound,
            (400, Some("CMS.InvalidParameter")) => Refusal::InvalidParameter,
            _ => panic!("{op}: {} {}", answer.status, String::from_utf8_lossy(&answer.body)),
        });
    }
    let reply = answer.ok();
    let number = |value: &Value| value.as_u64().expect("it is a number") as usize;
    let count = number(&reply["info"]["count"]);
    let shown = |item: &Value| {
        let object = objects.iter().position(|known| item["source"] == known.as_str());
        let shortcut = item["id"].as_str().expect("an item has an id").parse();
        Shown {
            at: number(&item["position"]),
            object: object.expect("only these were put into it"),
            shortcut: shortcut.expect("a shortcut is a number"),
        }
    };
    let items: Vec<Shown> = reply["items"].as_array().expect("a drawer has items").iter().map(shown).collect();
    match op {
        Op::Move { .. } => Reply::Moved,
        Op::Read(_) => {
            assert_eq!(items.len(), count, "the reply does not agree with itself: {reply}");
            Reply::List(items)
        }
        _ => Reply::Changed { count, items },
    }
}
