//! Measures the search: what it costs other calls, how long searches take, how far the index is
//! behind, and how long it takes to build. Run it with `scripts/search-bench`.
//!
//! The module `texts` writes articles in four languages, and `corpus` stores them on a server.
//! `hot_drawer`, `searches`, `delay` and `rebuild` measure, `changes` keeps the server busy
//! meanwhile, and `scan` reads all texts without an index. `figures` prints the table.

mod changes;
mod corpus;
mod delay;
mod figures;
mod hot_drawer;
mod options;
mod queries;
mod rebuild;
mod scan;
mod searches;
mod servers;
mod texts;
mod vocabulary;
mod wire;

use self::corpus::Corpus;
use self::figures::FigureTable;
use self::options::BenchOptions;
use self::servers::{BenchServers, allocated};

fn main() {
    let options = BenchOptions::from_arguments();
    let corpus = Corpus::of(&options);
    let mut table = FigureTable::default();
    let servers = BenchServers::start(&options, &corpus, &mut table);
    let measures = |part: &str| options.measures(part);
    if measures("drawer") {
        hot_drawer::measure(&options, &servers, &mut table);
        let (with, without) = (allocated(&servers.with_search), allocated(&servers.without_search));
        table.megabytes("memory with search, after that", with, None);
        table.megabytes("memory without search, after that", without, None);
    }
    let mut server = servers.keep_with_search();
    if measures("searches") {
        searches::alone(&options, &corpus, &server, &mut table);
        searches::beside_changes(&options, &corpus, &server, &mut table);
        table.megabytes("memory after these searches", allocated(&server), None);
    }
    if measures("delay") {
        delay::measure(&options, &corpus, &server, &mut table);
    }
    if measures("rebuild") {
        server = rebuild::measure(server, &corpus, &mut table);
    }
    if measures("scan") {
        scan::measure(&corpus, &server, &mut table);
    }
    println!("{}", table.text());
    drop(server);
}
