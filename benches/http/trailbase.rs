//! A TrailBase, whose records are rows of SQLite, beside ours. The compared calls do the same for
//! an editor.
//!
//! The servers give different guarantees. TrailBase syncs no change before it answers (SQLite with
//! `synchronous = NORMAL`), stet each. TrailBase's rows are independent: it keeps neither order nor
//! uniqueness, and requires no token.

use std::ffi::OsString;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Load, Target, ask, drive};
use super::stet::Stet;
use super::threads::{Costs, settle};
use super::{Plan, Requests, ratio, report};

const CLIENTS: usize = 64;

/// The number of items in the list that is read, or in which items are moved.
const ITEMS: usize = 100;

/// The program that is measured, as `scripts/bench-trailbase` builds it.
const BINARY: &str = "TRAILBASE_BINARY";

const CONFIG: &str = r#"
email {}
server { application_name: "bench" }
auth {}
jobs {}
record_apis: [
  { name: "items" table_name: "items" acl_world: [CREATE, READ, UPDATE, DELETE] },
  { name: "posts" table_name: "posts" acl_world: [CREATE, READ, UPDATE, DELETE] }
]
"#;

const TABLES: &str = "
CREATE TABLE items (
  id INTEGER PRIMARY KEY, list INTEGER NOT NULL, position INTEGER NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL
) STRICT;
CREATE INDEX items_by_list ON items (list, position);
CREATE TABLE posts (
  id INTEGER PRIMARY KEY, blog INTEGER NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL, content TEXT NOT NULL
) STRICT;
CREATE INDEX posts_by_blog ON posts (blog);
";

/// A comparison: its title, and the requests of each client to either server.
type Work = (&'static str, fn(&Stet) -> Requests, fn(&TrailBase) -> Requests);

const SHORT: (&str, &str) = ("prefer", "return=minimal");

const WORK: [Work; 7] = [
    ("an item added to one list and removed", |ours| ours.changes_in(CLIENTS, 1), TrailBase::adds),
    ("the same, stet with short replies", |ours| ours.changes_with(CLIENTS, 1, &[SHORT]), TrailBase::adds),
    ("an item of a list of 100 put elsewhere", |ours| ours.moves_in(CLIENTS, ITEMS, &[]), TrailBase::moves),
    ("the same, stet with short replies", |ours| ours.moves_in(CLIENTS, ITEMS, &[SHORT]), TrailBase::moves),
    ("one record read", |ours| ours.reads_in(CLIENTS), TrailBase::reads),
    (
        "a list of 100 items read",
        |ours| {
            let (path, _) = ours.drawer_of(ITEMS);
            vec![vec![ours.request("GET", &path, &[])]; CLIENTS]
        },
        TrailBase::lists,
    ),
    (
        "a post of a liveblog, by form",
        |ours| {
            let blog = ours.liveblog_of(0);
            vec![vec![ours.post(&blog, None)]; CLIENTS]
        },
        TrailBase::posts,
    ),
];

/// Runs all comparisons, each with new servers: rates in alternation, and processor time per
/// answer. The latter is meaningful on a busy machine as well.
pub fn beside(plan: &Plan) {
    let Some(binary) = std::env::var_os(BINARY) else {
        return println!("\nno TrailBase here (`{BINARY}`): scripts/bench-trailbase builds one");
    };
    for (what, ours, theirs) in WORK {
        let (stet, trailbase) = (Stet::start("journal"), TrailBase::start(&binary));
        let asked = [ours(&stet), theirs(&trailbase)];
        let mut costs = [Costs::default(), Costs::default()];
        let mut rows: Vec<[Load; 2]> = Vec::new();
        println!("\n{what}, {CLIENTS} clients, {} s each:", plan.length.as_secs());
        if asked[0][0][0].starts_with(b"GET ") {
            let [stet, trailbase] = [(&stet.address, &asked[0]), (&trailbase.address, &asked[1])]
                .map(|(at, asked)| ask(at, &asked[0][0]).len());
            println!("  {:<16} {stet} bytes, of TrailBase {trailbase}", "the reply");
        }
        for _ in 0..plan.rounds {
            let [first, second] = &mut costs;
            rows.push([
                in_turn(first, stet.pid(), &stet.address, &asked[0], plan.length),
                in_turn(second, trailbase.child.id(), &trailbase.address, &asked[1], plan.length),
            ]);
        }
        report(&["stet", "TrailBase"], &rows);
        ratio("stet / TrailBase", &rows, |row| row[0].rate / row[1].rate);
        for (name, costs) in ["stet", "TrailBase"].iter().zip(&costs) {
            println!("  processor time of {name}, microseconds each, in the program and in the kernel:");
            costs.print();
        }
    }
}

/// Measures one side. Its deferred work, such as TrailBase's log of requests, is done and counted
/// before the other side begins.
fn in_turn(costs: &mut Costs, pid: u32, address: &str, asked: &Requests, length: Duration) -> Load {
    costs.during(pid, || {
        let load = drive(&Target::new(address), asked, length);
        settle(pid);
        load
    })
}

struct TrailBase {
    child: Child,
    _data: TempDir,
    address: String,
}

impl TrailBase {
    /// Starts it on a new directory on the disk of the build, with two tables that anybody may read
    /// and change.
    fn start(binary: &OsString) -> TrailBase {
        let data = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let migrations = data.path().join("migrations");
        fs::create_dir(&migrations).expect("a directory can be made");
        fs::write(data.path().join("config.textproto"), CONFIG).expect("a file can be written");
        // The name has the number of the migration, and must be after those of TrailBase itself.
        fs::write(migrations.join("U1000__bench.sql"), TABLES).expect("a file can be written");
        // Taken from the system and given back: TrailBase doesn't say which one it has chosen.
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let address = format!("127.0.0.1:{port}");
        let child = Command::new(binary)
            .arg(data.path())
            .arg(&address)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("`{BINARY}`, {}: {error}", binary.display()));
        let mut trailbase = TrailBase { child, _data: data, address };
        let begun = Instant::now();
        while std::net::TcpStream::connect(&trailbase.address).is_err() {
            let end = trailbase.child.try_wait().expect("it can be asked for");
            assert!(end.is_none(), "TrailBase ended at its start: {end:?}");
            assert!(begun.elapsed() < Duration::from_secs(30), "TrailBase does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        trailbase
    }

    fn raw(&self, method: &str, path: &str, kind: &str, body: &str) -> Vec<u8> {
        let kind = if body.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        format!(
            "{method} /api/records/v1/{path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n{kind}\r\n{body}",
            self.address,
            body.len()
        )
        .into_bytes()
    }

    fn request(&self, method: &str, path: &str) -> Vec<u8> {
        self.raw(method, path, "", "")
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> Vec<u8> {
        self.raw(method, path, "application/json", &body.to_string())
    }

    /// Creates a list of `items` items, with ids from 1 on.
    fn fill(&self, items: usize) {
        let rows: Value = (0..items).map(|n| item(n + 1, n)).collect();
        ask(&self.address, &self.json("POST", "items", &rows));
    }

    /// Returns requests that create the client's own row in one list, and remove it.
    fn adds(&self) -> Requests {
        (1..=CLIENTS)
            .map(|id| vec![self.json("POST", "items", &item(id, id)), self.request("DELETE", &format!("items/{id}"))])
            .collect()
    }

    /// Returns requests that give the client's own row one position and then another.
    fn moves(&self) -> Requests {
        self.fill(ITEMS);
        (1..=CLIENTS)
            .map(|id| {
                let places = [ITEMS / 2, ITEMS / 3];
                places.map(|place| self.json("PATCH", &format!("items/{id}"), &json!({ "position": place }))).to_vec()
            })
            .collect()
    }

    /// Returns a request for the client's own record.
    fn reads(&self) -> Requests {
        self.fill(CLIENTS);
        (1..=CLIENTS).map(|id| vec![self.request("GET", &format!("items/{id}"))]).collect()
    }

    fn lists(&self) -> Requests {
        self.fill(ITEMS);
        let path = format!("items?filter%5Blist%5D=1&order=position&limit={ITEMS}");
        vec![vec![self.request("GET", &path)]; CLIENTS]
    }

    /// The texts of the post that stet is sent.
    fn posts(&self) -> Requests {
        let parts = [
            ("blog", "1"),
            ("title", "Goal"),
            ("tags", "match"),
            ("content", "<post><p>A goal in the last minute of the match, from far outside.</p></post>"),
        ];
        let part = |(name, text)| format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
        let form: String = parts.map(part).concat() + "--b--\r\n";
        vec![vec![self.raw("POST", "posts", "multipart/form-data; boundary=b", &form)]; CLIENTS]
    }
}

/// Returns the fields of an item's row.
fn item(id: usize, position: usize) -> Value {
    json!({
        "id": id, "list": 1, "position": position, "source": format!("1$1.0.{}", 65_536 + id), "name": format!("read-{id}.xml"),
        "type": "Story"
    })
}

impl Drop for TrailBase {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
