//! A scenario, what of it was acknowledged, and what there may therefore be.
//!
//! Whatever was acknowledged must be there, whatever was refused must not, and what nobody knows the outcome of may be there or
//! not: so there is a set of states that are possible, of which the server must show one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

const FOLDER: &str = "/Faults";
/// More than lies in the tables: the content is a file.
const LARGE: usize = 50_000;

/// One call.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Drawer(&'static str),
    Story(&'static str, usize),
    Add(&'static str, &'static str),
    Move(&'static str, &'static str, &'static str),
    Discard(&'static str),
    Destroy(&'static str),
    Clear(&'static str),
}

use Step::*;

/// Before the checkpoint.
pub const FIRST: &[Step] = &[
    Drawer("a"),
    Drawer("b"),
    Story("one", 10),
    Story("two", LARGE),
    Story("three", 2000),
    Add("a", "one"),
    Add("a", "two"),
    Add("a", "three"),
    Move("a", "one", "b"),
];

/// Between the checkpoint and the restart.
pub const SECOND: &[Step] = &[Discard("two"), Move("b", "one", "a"), Story("four", 10)];

/// After the restart.
pub const THIRD: &[Step] = &[Add("b", "four"), Destroy("three"), Clear("a"), Add("b", "one")];

/// What there is, by name: the sizes of stories, and what is in drawers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    stories: BTreeMap<String, usize>,
    drawers: BTreeMap<String, Vec<String>>,
}

impl State {
    /// What a call makes of it; `None` if it would be refused.
    fn after(&self, step: Step) -> Option<State> {
        let mut next = self.clone();
        match step {
            Drawer(name) => {
                next.drawers.insert(name.to_owned(), Vec::new()).is_none().then_some(())?;
            }
            Story(name, size) => next.stories.insert(name.to_owned(), size).is_none().then_some(())?,
            Add(drawer, story) => {
                next.stories.get(story)?;
                let items = next.drawers.get_mut(drawer)?;
                if !items.iter().any(|item| item == story) {
                    items.push(story.to_owned());
                }
            }
            Move(from, story, to) => {
                let items = next.drawers.get_mut(from)?;
                let at = items.iter().position(|item| item == story)?;
                let item = items.remove(at);
                next.drawers.get_mut(to)?.push(item);
            }
            Discard(story) | Destroy(story) => {
                next.stories.remove(story)?;
                next.drawers.values_mut().for_each(|items| items.retain(|item| item != story));
            }
            Clear(drawer) => next.drawers.get_mut(drawer)?.clear(),
        }
        Some(next)
    }
}

fn path(name: &str) -> String {
    encoded(&format!("{FOLDER}/{name}"))
}

fn bytes(size: usize) -> Vec<u8> {
    [b"<story>".as_slice(), &vec![b'x'; size], b"</story>"].concat()
}

/// Sends the call.
pub fn send(client: &Client, step: Step) -> Answer {
    match step {
        Drawer(name) => {
            client.post("/v3/container/drawer", &json!({ "name": name, "folderPath": FOLDER, "capacity": 4 }))
        }
        Story(name, size) => {
            let options = json!({ "name": name, "type": "Story", "folderPath": FOLDER });
            client.upload("/v3/object/create", &options, Some((name, "text/xml", &bytes(size))))
        }
        Add(drawer, story) => {
            client.post(&format!("/v3/container/drawer/{}/item/{}", path(drawer), path(story)), &json!({}))
        }
        Move(from, story, to) => client
            .put(&format!("/v3/container/drawer/{}/item/{}/move/{}", path(from), path(story), path(to)), &json!({})),
        Discard(story) => client.delete(&format!("/v3/object/{}/discard", path(story))),
        Destroy(story) => client.delete(&format!("/v3/object/{}/destroy", path(story))),
        Clear(drawer) => client.put(&format!("/v3/container/drawer/{}/item/clear", path(drawer)), &json!({})),
    }
}

/// What the server shows.
fn look(client: &Client) -> State {
    let mut state = State::default();
    for name in ["one", "two", "three", "four", "again", "after"] {
        let answer = client.get(&format!("/v3/object/{}/content/binary", path(name)));
        if answer.status == 404 {
            continue;
        }
        assert_eq!(answer.status, 200, "{name}: {}", String::from_utf8_lossy(&answer.body));
        let size = answer.body.len() - bytes(0).len();
        assert!(answer.body == bytes(size), "{name} has other bytes");
        state.stories.insert(name.to_owned(), size);
    }
    for name in ["a", "b"] {
        let answer = client.get(&format!("/v3/container/drawer/{}?showItems=true", path(name)));
        if answer.status == 404 {
            continue;
        }
        let reply = answer.ok();
        let items = reply["items"].as_array().expect("a drawer has items").iter();
        let names = items.map(|item| item["object"]["name"].as_str().expect("it has a name").to_owned());
        state.drawers.insert(name.to_owned(), names.collect());
    }
    state
}

/// The states that are possible.
#[derive(Debug)]
pub struct Possible(BTreeSet<State>);

impl Possible {
    /// Nothing has been made yet.
    pub fn new() -> Possible {
        Possible(BTreeSet::from([State::default()]))
    }

    /// Sends a call and notes what its answer leaves possible. `down`: whether the machine has gone down meanwhile, after which
    /// no answer but a success tells anything.
    pub fn send(&mut self, client: &Client, step: Step, down: impl Fn() -> bool) -> Answer {
        let answer = send(client, step);
        let with: BTreeSet<State> = self.0.iter().filter_map(|state| state.after(step)).collect();
        let unknown = answer.status == 500 && answer.json()["result"]["details"]["outcome"] == "unknown";
        if answer.status == 200 {
            assert!(!with.is_empty(), "{step:?} was acknowledged, but can't have been carried out in {self:?}");
            self.0 = with;
        } else if unknown || down() {
            self.0.extend(with);
        } else {
            // Refused by the disk, or because an earlier call was.
            let codes = [(500, "CMS.RepositoryError"), (507, "CMS.StorageFull"), (404, "CMS.ObjectNotFound")];
            let code = &answer.json()["result"]["code"];
            assert!(
                codes.iter().any(|known| (answer.status, code) == (known.0, &known.1.into())),
                "{step:?}: {answer:?}"
            );
        }
        answer
    }

    /// The server must show one of the states; from now on it is the only one.
    pub fn check(&mut self, client: &Client, when: &str) {
        let seen = look(client);
        assert!(self.0.contains(&seen), "{when}: there is\n{seen:?}\nand possible were\n{:#?}", self.0);
        self.0 = BTreeSet::from([seen]);
    }
}
