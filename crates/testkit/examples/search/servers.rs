//! Two servers with the same data, of which only one has an index.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use stet_testkit::{Client, Server, wait_patiently_until};
use tempfile::TempDir;

use crate::corpus::Corpus;
use crate::figures::FigureTable;
use crate::options::BenchOptions;

/// The settings of both servers: what they log.
const SETTINGS: [(&str, &str); 1] = [("LOG__FILTER", "warn,stet_search=info")];
/// The name of the folder of the index in a data directory.
pub const INDEX_FOLDER: &str = "search";

/// Both servers.
pub struct BenchServers {
    pub with_search: Server,
    pub without_search: Server,
    directory: BenchDirectory,
}

/// The server with an index, and the directory that must outlive it.
pub struct SearchServer {
    pub server: Server,
    _directory: BenchDirectory,
}

impl std::ops::Deref for SearchServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl SearchServer {
    /// Returns the server after a change such as a restart.
    pub fn replaced(self, replace: impl FnOnce(Server) -> Server) -> SearchServer {
        SearchServer { server: replace(self.server), _directory: self._directory }
    }
}

/// The directory of both servers' data.
struct BenchDirectory {
    path: PathBuf,
    _temporary: Option<TempDir>,
}

impl BenchDirectory {
    fn of(options: &BenchOptions) -> BenchDirectory {
        if let Some(path) = &options.data {
            std::fs::create_dir_all(path).expect("the directory can be created");
            let path = path.canonicalize().expect("a directory has a path");
            return BenchDirectory { path, _temporary: None };
        }
        let temporary = TempDir::new().expect("a temporary directory can be created");
        BenchDirectory { path: temporary.path().to_owned(), _temporary: Some(temporary) }
    }
}

impl BenchServers {
    /// Stores the corpus on one server, and starts both on the data.
    pub fn start(options: &BenchOptions, corpus: &Corpus, table: &mut FigureTable) -> BenchServers {
        let directory = BenchDirectory::of(options);
        let (with, without) = (directory.path.join("with"), directory.path.join("without"));
        if !with.exists() {
            let mut server = Server::on(&with, &SETTINGS);
            eprintln!("storing {} objects and {} posts", corpus.objects, corpus.posts);
            table.rate("objects and posts created a second, 48 clients", &[corpus.store(&server)], None);
            let begun = Instant::now();
            await_index(&server);
            let behind = begun.elapsed().as_secs_f64();
            table.seconds("until all of them are found after that", behind, None);
            let _ = server.terminate();
        }
        let _ = std::fs::remove_dir_all(&without);
        copy(&with, &without);
        std::fs::remove_dir_all(without.join(INDEX_FOLDER)).expect("the server has made an index");
        let begun = Instant::now();
        let with_search = Server::on(&with, &SETTINGS);
        await_index(&with_search);
        let compared = begun.elapsed().as_secs_f64();
        table.seconds("start with a complete index, until `complete`", compared, None);
        let off = [SETTINGS[0], ("SEARCH__ENABLED", "false")];
        let without_search = Server::on(&without, &off);
        BenchServers { with_search, without_search, directory }
    }

    /// Ends the server without an index. Returns the other one.
    pub fn keep_with_search(self) -> SearchServer {
        SearchServer { server: self.with_search, _directory: self.directory }
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("`cp` can be run");
    assert!(copied.success(), "the data can't be copied");
}

/// Waits until the index is complete, and everything has been indexed.
pub fn await_index(server: &Server) {
    let client = server.login("editor");
    let begun = Instant::now();
    // Longer than the patience of tests.
    while begun.elapsed().as_secs() < 600 && !is_indexed(&client) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(is_indexed(&client), "the index does not become complete:\n{}", server.log());
}

fn is_indexed(client: &Client) -> bool {
    client.get("/v3/search?limit=0&waitFor=now").ok()["complete"] == true
        && client.metric("stet_search_behind_seconds") == 0.0
}

/// Waits until a server has folded its changes, so that it does nothing while the other one is
/// measured.
pub fn await_rest(server: &Server) {
    let client = server.client();
    wait_patiently_until("the changes are folded", || client.metric("stet_store_unfolded_bytes") < 1e6);
}

/// Returns the bytes of memory that a server's process has allocated, without mapped files.
pub fn allocated(server: &Server) -> u64 {
    memory(server, "RssAnon:")
}

/// Returns the bytes of mapped files in memory, such as the index. The system may drop them.
pub fn mapped(server: &Server) -> u64 {
    memory(server, "RssFile:")
}

/// Returns the seconds of processor time that a server's process has taken.
pub fn processor(server: &Server) -> f64 {
    // Linux fixes the ticks at 100 a second on all common machines.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap_or_default();
    // The program's name, in brackets, may contain spaces.
    let fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
}

fn memory(server: &Server, key: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or_default() << 10
}
