//! Posts with their contents and attachments, small and large. All work on one liveblog, each on
//! posts of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use stet_domain::liveblog::post_name;

use super::{Worker, all_rounds, short, some_bytes};
use crate::harness::*;

const WORKERS: usize = 4;
/// The timestamps of a worker's posts, milliseconds, are these times its number and more.
const STRETCH: u64 = 1_000_000_000;
/// The four statuses and the calls that set them.
const STATUSES: [(&str, &str); 4] =
    [("approved", "approve"), ("rejected", "reject"), ("pending", "pending"), ("deleted", "delete")];

/// The complete state of a post.
#[derive(Clone, PartialEq)]
struct Post {
    title: String,
    content: Vec<u8>,
    /// Names and bytes, in the order they came.
    attachments: Vec<(String, Vec<u8>)>,
    status: String,
    version: u64,
    /// Entries in its history.
    turns: usize,
}

impl std::fmt::Debug for Post {
    /// Formats the post without the bytes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Post { title, content, attachments, status, version, turns } = self;
        let attached: Vec<_> = attachments.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        write!(
            f,
            "{title}, {status} after {turns} turns, version {version} of {} bytes, with {attached:?}",
            content.len()
        )
    }
}

/// Posts by their timestamp.
type Posts = BTreeMap<u64, Post>;

/// A change; posts are named by their timestamp.
#[derive(Debug, Clone)]
enum Change {
    Create(u64, Post),
    /// A creation under the name of an existing post, which is refused.
    Clash(u64),
    /// A creation that writes over the post of that name, as a new version or in place of the
    /// latest.
    Rewrite {
        at: u64,
        as_new: bool,
        title: String,
        content: Vec<u8>,
    },
    Edit {
        at: u64,
        title: String,
        content: Option<Vec<u8>>,
        attach: Option<(String, Vec<u8>)>,
        detach: Option<String>,
    },
    /// A number in [`STATUSES`].
    Set(u64, usize),
    Remove(u64),
}

/// Returns the posts after a change. A refused change has no effect.
fn after(posts: &Posts, change: &Change) -> Posts {
    let mut next = posts.clone();
    let known = "only known posts are chosen";
    match change {
        Change::Create(at, post) => drop(next.insert(*at, post.clone())),
        Change::Clash(_) => {}
        Change::Rewrite { at, as_new, title, content } => {
            let post = next.get_mut(at).expect(known);
            post.title.clone_from(title);
            post.content.clone_from(content);
            post.version += u64::from(*as_new);
        }
        Change::Edit { at, title, content, attach, detach } => {
            let post = next.get_mut(at).expect(known);
            post.title.clone_from(title);
            if let Some(content) = content {
                post.content.clone_from(content);
                post.version += 1;
            }
            post.attachments.retain(|(name, _)| Some(name) != detach.as_ref());
            post.attachments.extend(attach.clone());
        }
        Change::Set(at, status) => {
            let post = next.get_mut(at).expect(known);
            if post.status != STATUSES[*status].0 {
                post.status = STATUSES[*status].0.to_owned();
                post.turns += 1;
            }
        }
        Change::Remove(at) => drop(next.remove(at)),
    }
    next
}

/// A worker that posts.
struct Poster {
    number: u64,
    liveblog: String,
    dice: Dice,
    posts: Posts,
    /// Ids of attachments, by name; no name comes twice.
    ids: BTreeMap<String, String>,
    /// Numbers given so far, for whatever must not be the same.
    count: u64,
    pending: Option<Change>,
}

impl Poster {
    fn fresh(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}-{}-{}", self.number, self.count)
    }

    fn choose(&mut self) -> Change {
        let there: Vec<u64> = self.posts.keys().copied().collect();
        let title = self.fresh("title");
        let at = match self.dice.pick(&there) {
            Some(at) if self.dice.roll(3) > 0 => *at,
            _ => {
                let files = 0..self.dice.roll(3);
                let attachments = files.map(|_| (self.fresh("file"), some_bytes(&mut self.dice))).collect();
                let (content, waits) = (some_bytes(&mut self.dice), self.dice.roll(3) == 0);
                let status = if waits { "pending" } else { "approved" }.to_owned();
                let post = Post { title, content, attachments, status, version: 1, turns: 1 };
                return Change::Create(self.number * STRETCH + self.count, post);
            }
        };
        match self.dice.roll(12) {
            0 => Change::Clash(at),
            1 | 2 => {
                let as_new = self.dice.roll(2) == 0;
                Change::Rewrite { at, as_new, title, content: some_bytes(&mut self.dice) }
            }
            3..=6 => {
                let content = (self.dice.roll(2) == 0).then(|| some_bytes(&mut self.dice));
                let attach =
                    if self.dice.roll(2) == 0 { Some((self.fresh("file"), some_bytes(&mut self.dice))) } else { None };
                let names: Vec<&String> = self.posts[&at].attachments.iter().map(|(name, _)| name).collect();
                let detach = self.dice.pick(&names).map(|name| (*name).clone());
                let detach = detach.filter(|_| self.dice.roll(2) == 0);
                Change::Edit { at, title, content, attach, detach }
            }
            7..=9 => Change::Set(at, self.dice.roll(STATUSES.len())),
            _ => Change::Remove(at),
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v3/container/liveblog/{}{rest}", encoded(&self.liveblog))
    }

    fn post_path(&self, at: u64, rest: &str) -> String {
        let name = post_name(at).expect("it is a timestamp of this century");
        self.path(&format!("/post/{}{rest}", encoded(&name)))
    }

    fn ask(&self, client: &Client, change: &Change) -> Result<Answer, String> {
        let form = |method: &str, path: &str, options: Value, content: Option<&[u8]>, files: &[(String, Vec<u8>)]| {
            let content = content.map(|bytes| ("content", "post.bin", "image/png", bytes));
            let files = files.iter().map(|(name, bytes)| ("attachments", &**name, "image/png", &bytes[..]));
            client.try_send_form(method, path, &[], &options, &content.into_iter().chain(files).collect::<Vec<_>>())
        };
        match change {
            Change::Create(at, post) => {
                let options = json!({ "timestamp": at, "title": post.title, "moderated": post.status == "pending" });
                form("POST", &self.path("/post"), options, Some(&post.content), &post.attachments)
            }
            Change::Clash(at) => form("POST", &self.path("/post"), json!({ "timestamp": at }), Some(b"x"), &[]),
            Change::Rewrite { at, as_new, title, content } => {
                let mode = if *as_new { "NEW_VERSION" } else { "REPLACE" };
                let options = json!({ "timestamp": at, "title": title, "createMode": mode });
                form("POST", &self.path("/post"), options, Some(content), &[])
            }
            Change::Edit { at, title, content, attach, detach } => {
                let detach: Vec<&String> = detach.iter().map(|name| &self.ids[name]).collect();
                let options = json!({ "title": title, "removeAttachments": detach });
                form("PUT", &self.post_path(*at, ""), options, content.as_deref(), attach.as_slice())
            }
            Change::Set(at, status) => {
                let path = self.post_path(*at, &format!("/{}", STATUSES[*status].1));
                client.try_send("POST", &path, &[], b"")
            }
            Change::Remove(at) => client.try_send("DELETE", &self.post_path(*at, ""), &[], b""),
        }
    }

    /// Takes over the ids of attachments that a post is shown with.
    fn learn(&mut self, post: &Value) {
        for shown in post["attachments"].as_array().into_iter().flatten() {
            let text = |field: &str| shown[field].as_str().expect("it is a text").to_owned();
            self.ids.insert(text("name"), text("id"));
        }
    }

    /// Reads the present posts of this worker.
    fn look(&mut self, client: &Client) -> Posts {
        let listing = client.get(&self.path("")).ok();
        let items = listing["items"].as_array().expect("a liveblog has items");
        for (status, _) in STATUSES {
            let count = items.iter().filter(|post| post["status"] == status).count();
            assert_eq!(listing["info"]["postCounts"][status], count, "{}", listing["info"]);
        }
        let mut posts = Posts::new();
        for item in items {
            let at = item["timestamp"].as_u64().expect("a timestamp is a number");
            if at / STRETCH != self.number {
                continue;
            }
            self.learn(item);
            assert_eq!(client.get(&self.post_path(at, "")).ok()["info"], item["info"], "found by name, too");
            let bytes = |rest: &str| {
                let answer = client.get(&self.post_path(at, rest));
                assert_eq!(answer.status, 200, "{rest} of {at}: {}", String::from_utf8_lossy(&answer.body));
                answer.body
            };
            let files = item["attachments"].as_array().expect("a post has attachments").iter();
            let files = files.map(|file| {
                let text = |field: &str| file[field].as_str().expect("it is a text").to_owned();
                let found = bytes(&format!("/attachment/{}", text("id")));
                assert_eq!(file["size"], found.len());
                (text("name"), found)
            });
            let post = Post {
                title: item["title"].as_str().expect("a post has a title").to_owned(),
                content: bytes("/content"),
                attachments: files.collect(),
                status: item["status"].as_str().expect("a post has a status").to_owned(),
                version: item["info"]["version"].as_u64().expect("a version is a number"),
                turns: item["history"].as_array().expect("a post has a history").len(),
            };
            posts.insert(at, post);
        }
        posts
    }
}

impl Worker for Poster {
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize) {
        loop {
            let change = self.choose();
            let Ok(answer) = self.ask(client, &change) else {
                self.pending = Some(change);
                return;
            };
            if let Change::Clash(_) = change {
                answer.fails(409, "DuplicatedName");
            } else {
                assert_eq!(answer.status, 200, "{}: {}", short(&change), String::from_utf8_lossy(&answer.body));
                self.learn(&answer.ok());
                self.posts = after(&self.posts, &change);
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle(&mut self, client: &Client) {
        let seen = self.look(client);
        let pending = self.pending.take();
        let with = pending.as_ref().map(|change| after(&self.posts, change));
        if seen != self.posts && Some(&seen) != with.as_ref() {
            let differs = |at: &&u64| seen.get(at) != self.posts.get(at);
            let told = seen
                .keys()
                .chain(self.posts.keys())
                .filter(differs)
                .map(|at| format!("{at}: there {:?}, acknowledged {:?}\n", seen.get(at), self.posts.get(at)));
            panic!(
                "poster {}: what is there is neither what was acknowledged nor that with {}.\n{}",
                self.number,
                short(&pending),
                told.collect::<String>()
            );
        }
        self.posts = seen;
    }
}

fn hire(_: &Server, client: &Client, top: &str, dice: &mut Dice) -> Vec<Box<dyn Worker>> {
    let liveblog = client.liveblog(top, "night");
    (1..=WORKERS as u64)
        .map(|number| -> Box<dyn Worker> {
            let dice = Dice::new(dice.roll(usize::MAX) as u64);
            let (posts, ids) = (Posts::new(), BTreeMap::new());
            Box::new(Poster { number, liveblog: liveblog.clone(), dice, posts, ids, count: 0, pending: None })
        })
        .collect()
}

#[test]
fn posts_with_all_their_bytes_survive_a_crash_and_nothing_is_half_done() {
    all_rounds(hire);
}

/// Checks that the planted fault is found (`tests/histories/plants.rs`).
#[cfg(feature = "planted-bugs")]
#[test]
#[should_panic(expected = "what is there is")]
fn a_planted_status_that_never_gets_to_the_disk_is_found() {
    super::look_for("lost-status", hire);
}
