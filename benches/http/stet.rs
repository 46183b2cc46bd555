//! A server of ours, filled with what the scenarios need.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::client::{Target, ask, drive};

pub struct Stet {
    child: Child,
    data: TempDir,
    durability: String,
    pub address: String,
    token: String,
    /// The time from the start of the process to the first 200.
    pub started: Duration,
}

/// The server that is measured: the one built with this, or the one at `STET_BINARY`, e.g. of the
/// version before.
fn binary() -> OsString {
    std::env::var_os("STET_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_stet").into())
}

/// A way to end a server.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// SIGTERM: it drains and folds.
    Term,
    /// SIGKILL, as a crash.
    Kill,
}

impl Stet {
    /// Starts one on a new data directory on the disk of the build, not in memory.
    pub fn start(durability: &str) -> Stet {
        let data = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        Stet::start_on(data, durability)
    }

    fn start_on(data: TempDir, durability: &str) -> Stet {
        let begun = Instant::now();
        let mut child = Command::new(binary())
            .current_dir(data.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--data", "data"])
            .env("STET_ADMIN_PASSWORD", "bench-secret")
            .env("STET_STORE__DURABILITY", durability)
            // All followers are one user.
            .env("STET_EVENTS__CONTAINERS_PER_USER", "100000")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary can be started");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        output.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("it listens").to_owned();
        let durability = durability.to_owned();
        let mut stet = Stet { child, data, durability, address, token: String::new(), started: Duration::ZERO };
        stet.body_of(&stet.request("GET", "/readyz", &[]));
        stet.started = begun.elapsed();
        let login = json!({ "connectionId": "Editorial", "applicationId": "bench", "username": "admin", "password": "bench-secret" });
        let reply = stet.call("POST", "/v3/auth/login", &login);
        stet.token = reply["token"]["value"].as_str().expect("a login gives a token").to_owned();
        stet
    }

    /// Ends it and starts another on the same data directory.
    pub fn restart(mut self, how: End) -> Stet {
        let pid = self.child.id().to_string();
        let signal = if matches!(how, End::Term) { "-TERM" } else { "-KILL" };
        Command::new("kill").args([signal, &pid]).status().expect("`kill` can be run");
        self.child.wait().expect("it can be waited for");
        let elsewhere = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let data = std::mem::replace(&mut self.data, elsewhere);
        Stet::start_on(data, &self.durability.clone())
    }

    /// Creates at least `count` stories, 64 at a time, 1,000 in a folder.
    pub fn make_objects(&self, count: usize) -> usize {
        const CLIENTS: usize = 64;
        let each = count.div_ceil(CLIENTS);
        let asked: Vec<Vec<Vec<u8>>> = (0..CLIENTS)
            .map(|client| {
                (0..each).map(|n| self.create(&format!("/Many/{client}-{}", n / 1000), &format!("{n}.xml"))).collect()
            })
            .collect();
        // A load runs each client's requests to their end at least once, however short it is to be.
        let load = drive(&Target::new(&self.address), &asked, Duration::from_nanos(1));
        assert_eq!(load.errors, 0);
        each * CLIENTS
    }

    /// Creates `count` stories in a folder, 50 at a time.
    pub fn fill(&self, folder: &str, count: usize) {
        const CLIENTS: usize = 50;
        let each = count / CLIENTS;
        let of = |client: usize| (0..each).map(|n| self.create(folder, &format!("{client:02}-{n:05}.xml"))).collect();
        let asked: Vec<Vec<Vec<u8>>> = (0..CLIENTS).map(of).collect();
        let load = drive(&Target::new(&self.address), &asked, Duration::from_nanos(1));
        assert_eq!(load.errors, 0);
    }

    pub fn create(&self, folder: &str, name: &str) -> Vec<u8> {
        let form = format!(
            "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{}\r\n--b--\r\n",
            json!({ "name": name, "type": "Story", "folderPath": folder })
        );
        self.raw("POST", "/v3/object/create", &[("content-type", "multipart/form-data; boundary=b")], form.as_bytes())
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Length of the file with the tables.
    pub fn table_bytes(&self) -> u64 {
        std::fs::metadata(self.data().join("data/state.redb")).expect("there are tables").len()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the bytes of a request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        self.raw(method, path, headers, b"")
    }

    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        self.raw_as(&self.token, method, path, headers, body)
    }

    fn raw_as(&self, token: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ntoken: {}\r\ncontent-length: {}\r\n{more}\r\n",
            self.address,
            token,
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    /// The body of the answer to a request.
    pub fn body_of(&self, request: &[u8]) -> Vec<u8> {
        ask(&self.address, request)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = self.raw(method, path, &[("content-type", "application/json")], body.to_string().as_bytes());
        let mut reply: Value = serde_json::from_slice(&self.body_of(&request)).expect("an answer is JSON");
        reply["result"].take()
    }

    fn story(&self, name: &str) -> String {
        let body = self.body_of(&self.create("/Bench", name));
        let reply: Value = serde_json::from_slice(&body).expect("an answer is JSON");
        reply["result"]["id"].as_str().expect("an object has an id").to_owned()
    }

    pub fn drawer(&self, name: &str, sources: &[String]) -> String {
        let body = json!({ "name": name, "folderPath": "/Bench", "capacity": 10_000, "sources": sources });
        let reply = self.call("POST", "/v3/container/drawer", &body);
        reply["info"]["id"].as_str().expect("a drawer has an id").to_owned()
    }

    /// Returns requests that add the client's own story to drawers, each followed by its delete.
    pub fn changes_in(&self, clients: usize, drawers: usize) -> Vec<Vec<Vec<u8>>> {
        self.changes_with(clients, drawers, &[])
    }

    /// Returns the requests of [`Stet::changes_in`] with additional headers.
    pub fn changes_with(&self, clients: usize, drawers: usize, headers: &[(&str, &str)]) -> Vec<Vec<Vec<u8>>> {
        let drawers: Vec<String> = (0..drawers).map(|n| self.drawer(&format!("drawer-{n}"), &[])).collect();
        let each = (drawers.len() / clients).clamp(1, 256);
        (0..clients)
            .map(|client| {
                let story = self.story(&format!("story-{client}.xml"));
                let own = (0..each).map(|n| &drawers[(client * each + n) % drawers.len()]);
                let paths = own.map(|drawer| format!("/v3/container/drawer/{drawer}/item/{story}"));
                paths.flat_map(|path| ["POST", "DELETE"].map(|method| self.request(method, &path, headers))).collect()
            })
            .collect()
    }

    /// Returns requests that put the client's own story near the middle of a drawer of `items`
    /// items, move it, and remove it.
    pub fn positions_in(&self, clients: usize, items: usize) -> Vec<Vec<Vec<u8>>> {
        let folder = format!("/Positions/{clients}-{items}");
        let fill: Vec<Vec<Vec<u8>>> = (0..items.div_ceil(1000))
            .map(|part| {
                let numbers = part * 1000..items.min((part + 1) * 1000);
                numbers.map(|n| self.create(&format!("{folder}/{part}"), &format!("{n}.xml"))).collect()
            })
            .collect();
        assert_eq!(drive(&Target::new(&self.address), &fill, Duration::from_nanos(1)).errors, 0);
        let drawer = self.drawer(&format!("positions-{clients}-{items}"), &[]);
        let sources: Vec<String> = (0..items).map(|n| format!("{folder}/{}/{n}.xml", n / 1000)).collect();
        for some in sources.chunks(1000) {
            self.call("POST", &format!("/v3/container/drawer/{drawer}/item"), &json!({ "sources": some }));
        }
        (0..clients)
            .map(|client| {
                let story = self.story(&format!("positions-{items}-{clients}-{client}.xml"));
                let item = format!("/v3/container/drawer/{drawer}/item/{story}");
                let places = [items / 2, items / 3].map(|place| format!("{item}/position/{place}"));
                let calls = [("PUT", &places[0]), ("PUT", &places[1]), ("DELETE", &item)];
                calls.into_iter().map(|(method, path)| self.request(method, path, &[])).collect()
            })
            .collect()
    }

    /// Returns one read as sent by two callers. The first may read everything, the second only the
    /// object's folder.
    pub fn reads_by_rights(&self) -> [Vec<u8>; 2] {
        let path = format!("/v3/object/{}", self.story("rights.xml"));
        let key =
            json!({ "name": "limited", "user": "admin", "privileges": [{ "privilege": "read", "folder": "/Bench" }] });
        let key = self.call("POST", "/v3/key", &key);
        let limited = key["token"].as_str().expect("a new key has a token").to_owned();
        [&self.token, &limited].map(|token| self.raw_as(token, "GET", &path, &[], b""))
    }

    /// Returns a request for the record of the client's own story.
    pub fn reads_in(&self, clients: usize) -> Vec<Vec<Vec<u8>>> {
        let story = |client: usize| self.story(&format!("read-{client}.xml"));
        (0..clients).map(|client| vec![self.request("GET", &format!("/v3/object/{}", story(client)), &[])]).collect()
    }

    /// Returns requests that move the client's own item of a drawer of `items` items to and from
    /// its middle, with these headers.
    pub fn moves_in(&self, clients: usize, items: usize, headers: &[(&str, &str)]) -> Vec<Vec<Vec<u8>>> {
        let stories: Vec<String> = (0..items).map(|n| self.story(&format!("move-{n}.xml"))).collect();
        let drawer = self.drawer("moves", &stories);
        let own = stories.iter().take(clients);
        own.map(|story| {
            let item = format!("/v3/container/drawer/{drawer}/item/{story}");
            let places = [items / 2, items / 3].map(|place| format!("{item}/position/{place}"));
            places.map(|path| self.request("PUT", &path, headers)).to_vec()
        })
        .collect()
    }

    /// Returns the path of a drawer of `items` items, with its items, and the ETag of that.
    pub fn drawer_of(&self, items: usize) -> (String, String) {
        let stories: Vec<String> = (0..items).map(|n| self.story(&format!("read-{n}.xml"))).collect();
        let drawer = self.drawer(&format!("drawer-of-{items}"), &stories);
        let path = format!("/v3/container/drawer/{drawer}?showItems=true");
        let etag = self.etag_of(&path);
        (path, etag)
    }

    /// The ETag that a GET answers with.
    pub fn etag_of(&self, path: &str) -> String {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        runtime.block_on(async {
            let mut stream = TcpStream::connect(&self.address).await.expect("the server listens");
            stream.write_all(&self.request("GET", path, &[])).await.expect("the server reads");
            let mut head = vec![0; 4096];
            let read = tokio::io::AsyncReadExt::read(&mut stream, &mut head).await.expect("the server answers");
            let text = String::from_utf8_lossy(&head[..read]).into_owned();
            let etag = text.split("etag: ").nth(1).and_then(|rest| rest.split('\r').next());
            etag.expect("it has an ETag").to_owned()
        })
    }

    /// Creates a topic of `items` items. Returns the loids of some of them as well, evenly spread.
    pub fn topic_of(&self, name: &str, items: usize, some: usize) -> (String, Vec<String>) {
        let body = json!({ "name": name, "folderPath": "/Bench" });
        let reply = self.call("POST", "/v3/container/topic", &body);
        let topic = reply["info"]["id"].as_str().expect("a topic has an id").to_owned();
        let item =
            |n: usize| self.add_item(&topic, &json!({ "name": format!("item {n}"), "comment": "From the quay." }));
        let clients = items.min(64);
        let asked: Vec<Vec<Vec<u8>>> =
            (0..clients).map(|client| (client..items).step_by(clients).map(item).collect()).collect();
        assert_eq!(drive(&Target::new(&self.address), &asked, Duration::from_nanos(1)).errors, 0);
        let reply = self.call("GET", &format!("/v3/container/topic/{topic}/structure"), &Value::Null);
        let lines = reply["items"].as_array().expect("a structure has items");
        let every = (items / some.max(1)).max(1);
        let loids = lines.iter().step_by(every).map(|line| line["id"].as_str().expect("an item has an id").to_owned());
        (topic.clone(), loids.take(some).collect())
    }

    fn add_item(&self, topic: &str, item: &Value) -> Vec<u8> {
        self.json("POST", &format!("/v3/container/topic/{topic}/topicitem"), item)
    }

    /// Returns the bytes of a request with a JSON body.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> Vec<u8> {
        self.raw(method, path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// Creates a liveblog of `posts` approved posts, a second apart.
    pub fn liveblog_of(&self, posts: usize) -> String {
        let body = json!({ "name": format!("blog-{posts}"), "folderPath": "/Bench" });
        let reply = self.call("POST", "/v3/container/liveblog/from/template", &body);
        let blog = reply["info"]["id"].as_str().expect("a liveblog has an id").to_owned();
        let clients = posts.min(64);
        let asked: Vec<Vec<Vec<u8>>> = (0..clients)
            .map(|client| (client..posts).step_by(clients).map(|n| self.post(&blog, Some(n as u64 * 1000))).collect())
            .collect();
        if posts > 0 {
            assert_eq!(drive(&Target::new(&self.address), &asked, Duration::from_nanos(1)).errors, 0);
        }
        blog
    }

    /// Returns the bytes of a request for a new post, dated this time in epoch milliseconds, or
    /// now.
    pub fn post(&self, blog: &str, timestamp: Option<u64>) -> Vec<u8> {
        let mut options = json!({ "title": "Goal", "createMode": "AUTO_RENAME", "tags": ["match"] });
        if let Some(timestamp) = timestamp {
            options["timestamp"] = json!(timestamp);
        }
        let form = format!(
            "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n--b\r\ncontent-disposition: form-data; \
             name=\"content\"; filename=\"post.xml\"\r\ncontent-type: text/xml\r\n\r\n<post><p>A goal in the last minute of \
             the match, from far outside.</p></post>\r\n--b--\r\n"
        );
        let path = format!("/v3/container/liveblog/{blog}/post");
        self.raw("POST", &path, &[("content-type", "multipart/form-data; boundary=b")], form.as_bytes())
    }

    /// Returns requests that create a post newer than all others, at a time of the client's own,
    /// and remove it.
    pub fn posts_in(&self, clients: usize, blog: &str) -> Vec<Vec<Vec<u8>>> {
        const LATE: u64 = 1_000_000_000_000;
        (0..clients as u64)
            .map(|client| {
                // The post is named by its time: 2001-09-09 01:46:40 and that number of
                // milliseconds.
                let path = format!("/v3/container/liveblog/{blog}/post/20010909-014640-{client:03}");
                vec![self.post(blog, Some(LATE + client)), self.request("DELETE", &path, &[])]
            })
            .collect()
    }

    /// Returns the bytes of a search.
    pub fn search(&self, blog: &str, body: &Value) -> Vec<u8> {
        let path = format!("/v3/container/liveblog/{blog}");
        self.raw("POST", &path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// The revision of a liveblog, for polls.
    pub fn revision_of(&self, blog: &str) -> u64 {
        let reply = self.call("GET", &format!("/v3/container/liveblog/{blog}?limit=1"), &Value::Null);
        reply["revision"].as_u64().expect("a liveblog has a revision")
    }
}

impl Drop for Stet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
