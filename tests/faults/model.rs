//! A scenario, its acknowledged steps, and the states that are therefore possible.
//!
//! Every acknowledged step must have its effect, and no refused one. A step with an unknown outcome
//! may or may not have its effect. So a set of states is possible, and the server must show one of
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use stet_domain::liveblog::post_name;

use super::*;

const FOLDER: &str = "/Faults";
/// The base of the posts' timestamps, in milliseconds.
const POSTED: u64 = 1_763_733_784_005;
/// A size at which the content is a file, and not in the tables.
const LARGE: usize = 50_000;

/// A call.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Drawer(&'static str),
    Story(&'static str, usize),
    Add(&'static str, &'static str),
    Move(&'static str, &'static str, &'static str),
    Discard(&'static str),
    Destroy(&'static str),
    Clear(&'static str),
    /// A new version of a story, of that size.
    Write(&'static str, usize),
    /// A lock by the session that makes all calls.
    Lock(&'static str),
    Blog(&'static str),
    /// A post in a liveblog: its number, and the size of its content and of an attachment.
    Post(&'static str, u64, usize),
    /// The rejection of a post.
    Reject(&'static str, u64),
}

use Step::*;

/// Steps before the checkpoint.
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
    Blog("live"),
    Post("live", 1, 10),
];

/// Steps between the checkpoint and the restart.
pub const SECOND: &[Step] = &[
    Discard("two"),
    Move("b", "one", "a"),
    Story("four", 10),
    Write("one", LARGE + 1),
    Lock("one"),
    Post("live", 2, LARGE + 2),
    Reject("live", 1),
];

/// Steps after the restart.
pub const THIRD: &[Step] =
    &[Add("b", "four"), Destroy("three"), Clear("a"), Add("b", "one"), Write("four", 20), Post("live", 3, 30)];

/// A state by name: sizes of stories' versions, locked stories, items of drawers, and posts with
/// their size and whether they are rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    stories: BTreeMap<String, Vec<usize>>,
    locked: BTreeSet<String>,
    drawers: BTreeMap<String, Vec<String>>,
    posts: BTreeMap<String, BTreeMap<u64, (usize, bool)>>,
}

impl State {
    /// Returns the state after a call; `None` if it would be refused.
    fn after(&self, step: Step) -> Option<State> {
        let mut next = self.clone();
        match step {
            Drawer(name) => {
                next.drawers.insert(name.to_owned(), Vec::new()).is_none().then_some(())?;
            }
            Story(name, size) => next.stories.insert(name.to_owned(), vec![size]).is_none().then_some(())?,
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
                next.locked.remove(story);
                next.drawers.values_mut().for_each(|items| items.retain(|item| item != story));
            }
            Clear(drawer) => next.drawers.get_mut(drawer)?.clear(),
            Write(story, size) => next.stories.get_mut(story)?.push(size),
            Lock(story) => {
                next.stories.get(story)?;
                next.locked.insert(story.to_owned());
            }
            Blog(name) => next.posts.insert(name.to_owned(), BTreeMap::new()).is_none().then_some(())?,
            Post(blog, number, size) => {
                next.posts.get_mut(blog)?.insert(number, (size, false)).is_none().then_some(())?;
            }
            Reject(blog, number) => next.posts.get_mut(blog)?.get_mut(&number)?.1 = true,
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
        Write(story, size) => {
            client.send("PUT", &format!("/v3/object/{}/content?newVersion=true", path(story)), &[], &bytes(size))
        }
        Lock(story) => client.post(&format!("/v3/object/{}/lock", path(story)), &json!({})),
        Blog(name) => {
            client.post("/v3/container/liveblog/from/template", &json!({ "name": name, "folderPath": FOLDER }))
        }
        Post(blog, number, size) => {
            let (options, bytes) = (json!({ "timestamp": POSTED + number }), bytes(size));
            let files = ["content", "attachments"].map(|part| (part, "a.xml", "text/xml", &bytes[..]));
            client.send_form("POST", &format!("/v3/container/liveblog/{}/post", path(blog)), &[], &options, &files)
        }
        Reject(blog, number) => client.post(&format!("{}/reject", post_path(blog, number)), &json!({})),
    }
}

fn post_path(blog: &str, number: u64) -> String {
    let name = post_name(POSTED + number).expect("it is a timestamp of this century");
    format!("/v3/container/liveblog/{}/post/{}", path(blog), encoded(&name))
}

/// The size of bytes as these calls send them.
fn size_of(client: &Client, path: &str) -> usize {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    let size = answer.body.len() - bytes(0).len();
    assert!(answer.body == bytes(size), "{path} has other bytes");
    size
}

/// The posts of a liveblog.
fn look_at_posts(client: &Client, blog: &str, listing: &Value) -> BTreeMap<u64, (usize, bool)> {
    let items = listing["items"].as_array().expect("a liveblog has items").iter();
    let posts = items.map(|post| {
        let number = post["timestamp"].as_u64().expect("a timestamp is a number") - POSTED;
        let size = size_of(client, &format!("{}/content", post_path(blog, number)));
        let attached = post["attachments"][0]["id"].as_str().expect("each has an attachment");
        assert_eq!(size_of(client, &format!("{}/attachment/{attached}", post_path(blog, number))), size);
        (number, (size, post["status"] == "rejected"))
    });
    posts.collect()
}

/// Returns the state that the server shows.
fn look(client: &Client) -> State {
    let mut state = State::default();
    for name in ["one", "two", "three", "four", "again", "after"] {
        let answer = client.get(&format!("/v3/object/{}", path(name)));
        if answer.status == 404 {
            continue;
        }
        let record = answer.ok();
        let content = |version: u64| size_of(client, &format!("/v3/object/{}/content?version={version}", path(name)));
        let versions = 1..=record["version"].as_u64().expect("a version is a number");
        state.stories.insert(name.to_owned(), versions.map(content).collect());
        if record["locker"]["id"] == "admin" {
            state.locked.insert(name.to_owned());
        }
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
    let answer = client.get(&format!("/v3/container/liveblog/{}", path("live")));
    if answer.status != 404 {
        state.posts.insert("live".to_owned(), look_at_posts(client, "live", &answer.ok()));
    }
    state
}

/// The states that are possible.
#[derive(Debug)]
pub struct Possible(BTreeSet<State>);

impl Possible {
    /// Starts with one state, in which nothing has been created yet.
    pub fn new() -> Possible {
        Possible(BTreeSet::from([State::default()]))
    }

    /// Sends a call, and notes the states that its answer leaves possible. `down` reports whether
    /// the machine has gone down during it. After that only a success is meaningful.
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
            // Refused by the disk, or because an earlier call was. Also refused just when the disk
            // works again, while the numbers that had no room are being reserved.
            let codes = [
                (500, "CMS.RepositoryError"),
                (507, "CMS.StorageFull"),
                (404, "CMS.ObjectNotFound"),
                (503, "CMS.Overloaded"),
            ];
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
