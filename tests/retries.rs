//! `kill -9` with clients that send each call again until it is answered. Every call under an
//! `Idempotency-Key` is carried out exactly once.
//!
//! Names of created objects give way to existing ones, so that a second creation would show. A call
//! without an answer when the server dies is sent again after its restart. A call with an answer
//! must get the same one.
//!
//! `STET_CRASH_ROUNDS` sets the number of rounds (3).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::*;

const WORKERS: usize = 4;

struct Worker {
    folder: String,
    /// A drawer that everything is added to.
    drawer: String,
    number: usize,
    /// The calls and their answers; the last one may have no answer yet.
    calls: Vec<(Call, Option<Value>)>,
    /// Objects that were surely taken out of the drawer.
    taken: BTreeSet<String>,
}

/// A call, named by the thing that it creates.
#[derive(Clone)]
enum Call {
    Folder(String),
    Drawer(String),
    Upload(String, Vec<u8>),
    /// Adds the object; taking it out in between shows whether it is added once.
    Add(String, String),
}

impl Call {
    fn key(&self) -> String {
        match self {
            Call::Folder(name) | Call::Drawer(name) | Call::Upload(name, _) => format!("make-{name}"),
            Call::Add(name, _) => format!("add-{name}"),
        }
    }
}

impl Worker {
    fn send(&self, client: &Client, call: &Call) -> Result<Answer, String> {
        let key = call.key();
        let json = |path: &str, body: Value| {
            let headers = [("content-type", "application/json"), ("idempotency-key", &*key)];
            client.try_send("POST", path, &headers, body.to_string().as_bytes())
        };
        let mut body = json!({ "folderPath": self.folder, "createMode": "AUTO_RENAME" });
        match call {
            Call::Folder(name) => {
                body["name"] = json!(name);
                json("/v3/folder", body)
            }
            Call::Drawer(name) => {
                body["name"] = json!(name);
                json("/v3/container/drawer", body)
            }
            Call::Upload(name, bytes) => {
                body["name"] = json!(name);
                body["type"] = json!("Story");
                let (key, file) = ([("idempotency-key", &*key)], [("content", "a", "text/xml", &**bytes)]);
                client.try_send_form("POST", "/v3/object/create", &key, &body, &file)
            }
            Call::Add(_, object) => {
                let path = format!("/v3/container/drawer/{}/item", encoded(&self.drawer));
                json(&path, json!({ "sources": [object] }))
            }
        }
    }

    /// Returns the next call: things are created, and uploads are added to the drawer.
    fn next(&self) -> Call {
        if let Some((Call::Upload(name, _), Some(reply))) = self.calls.last() {
            return Call::Add(name.clone(), reply["id"].as_str().expect("an object has an id").to_owned());
        }
        let count = self.calls.len();
        let name = format!("w{}-{count}", self.number);
        match count % 4 {
            0 => Call::Folder(name),
            1 => Call::Drawer(name),
            // Some must lie in files.
            2 => Call::Upload(name, vec![b'a' + (count % 26) as u8; 100_000]),
            _ => Call::Upload(name, vec![b'a' + (count % 26) as u8; 100]),
        }
    }

    /// Sends what has no answer, and on, until the server is gone.
    fn work(&mut self, client: &Client, answered: &AtomicUsize) {
        loop {
            if self.calls.last().is_none_or(|(_, answer)| answer.is_some()) {
                self.calls.push((self.next(), None));
            }
            let (call, _) = self.calls.last().expect("one was just put there").clone();
            let Ok(answer) = self.send(client, &call) else { return };
            let reply = answer.ok();
            if let Call::Add(_, object) = &call {
                // Taken out again; without an answer it may have been.
                let path = format!("/v3/container/drawer/{}/item/{}", encoded(&self.drawer), encoded(object));
                let taken = client.try_send("DELETE", &path, &[], b"");
                self.calls.last_mut().expect("it is there").1 = Some(reply);
                match taken {
                    Ok(answer) => {
                        answer.ok();
                        self.taken.insert(object.clone());
                    }
                    Err(_) => return,
                }
            } else {
                self.calls.last_mut().expect("it is there").1 = Some(reply);
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends the calls of the last round again. Their answers must stay the same.
    fn check(&mut self, client: &Client, from: usize) {
        for index in from..self.calls.len() {
            let (call, before) = self.calls[index].clone();
            let reply = self.send(client, &call).expect("the server is up").ok();
            match before {
                // The reply is repeated from memory, or built anew from the outcome: the object is
                // the same.
                Some(before) => {
                    let id = |reply: &Value| [reply["id"].clone(), reply["info"]["id"].clone()];
                    assert_eq!(id(&reply), id(&before), "{}", call.key());
                }
                None => self.calls[index].1 = Some(reply),
            }
        }
        let again = client.items(&self.drawer).into_iter().find(|object| self.taken.contains(object));
        assert_eq!(again, None, "it was added a second time");
        let listing = client.get(&format!("/v3/folder/{}", encoded(&self.folder))).ok();
        let items = listing["items"].as_array().expect("a folder has items");
        let there: BTreeSet<&str> = items.iter().map(|item| item["name"].as_str().expect("it has a name")).collect();
        let made = self.calls.iter().filter_map(|(call, _)| match call {
            Call::Folder(name) | Call::Drawer(name) | Call::Upload(name, _) => Some(name.as_str()),
            Call::Add(..) => None,
        });
        // A second one would have another name.
        assert_eq!(there, made.chain(["drawer"]).collect::<BTreeSet<_>>());
    }
}

/// Rounds on one data directory; then a new one, since all that is there is read in each round.
const ROUNDS_EACH: u64 = 10;

#[test]
fn calls_sent_again_after_crashes_are_carried_out_once() {
    let (rounds, begun) = (setting("STET_CRASH_ROUNDS").unwrap_or(3), Instant::now());
    let (mut done, mut answered, mut unknown) = (0, 0, 0);
    while done < rounds {
        let now = (rounds - done).min(ROUNDS_EACH);
        let (more_answered, more_unknown) = crash_between_calls(now);
        (done, answered, unknown) = (done + now, answered + more_answered, unknown + more_unknown);
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{done} rounds: {answered} calls answered, {unknown} sent again without an answer, {done} kills and restarts, \
             {seconds:.1} s"
        );
    }
}

/// Runs that number of rounds on a new data directory. Returns the number of answered calls, and of
/// those without an answer when the server died.
fn crash_between_calls(rounds: u64) -> (usize, usize) {
    let (mut total, mut unknown) = (0, 0);
    let mut server = Server::with(&[("STORE__CHECKPOINT_ROWS", "300")]);
    let client = server.login("editor");
    let top = own_folder();
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|number| {
            let folder = format!("{top}/w{number}");
            let drawer = client.drawer(&folder, "drawer", 10_000);
            Worker { folder, drawer, number, calls: Vec::new(), taken: BTreeSet::new() }
        })
        .collect();
    for round in 0..rounds {
        let client = client.to(&server);
        let answered = AtomicUsize::new(0);
        let from: Vec<usize> = workers.iter().map(|worker| worker.calls.len()).collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .map(|worker| {
                    let (client, answered) = (&client, &answered);
                    scope.spawn(move || worker.work(client, answered))
                })
                .collect();
            // Not always at the same point of a call.
            let enough = 20 + 7 * (round as usize % 5);
            wait_until("the clients get on", || {
                answered.load(Ordering::Relaxed) >= enough || threads.iter().any(|thread| thread.is_finished())
            });
            server.kill();
            threads.into_iter().for_each(|thread| thread.join().expect("a client must not fail"));
        });
        total += answered.into_inner();
        unknown +=
            workers.iter().filter(|worker| worker.calls.last().is_some_and(|(_, answer)| answer.is_none())).count();
        server = server.restart();
        let client = client.to(&server);
        std::thread::scope(|scope| {
            for (worker, from) in workers.iter_mut().zip(from) {
                let client = client.afresh();
                scope.spawn(move || worker.check(&client, from));
            }
        });
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
    (total, unknown)
}
