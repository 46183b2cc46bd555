//! The times of searches, alone and beside changes.

use std::time::Duration;

use stet_testkit::Server;

use crate::changes::{ChangeMix, beside};
use crate::corpus::Corpus;
use crate::figures::FigureTable;
use crate::options::BenchOptions;
use crate::queries::{AS_YOU_TYPE, CLASSES, queries};
use crate::servers::{await_index, await_rest};
use crate::wire::{CallSamples, UserSession, drive};

/// The number of clients that search.
const CLIENTS: usize = 16;
/// The targets in milliseconds.
const TARGET_P99: f64 = 20.0;
const TARGET_TYPING: f64 = 10.0;

/// Measures searches while nothing else happens: by one client, and by several.
pub fn alone(options: &BenchOptions, corpus: &Corpus, server: &Server, table: &mut FigureTable) {
    let single = search(corpus, server, 1, options.length);
    add(table, "alone, 1 client", &single);
    let several = search(corpus, server, CLIENTS, options.length);
    add(table, &format!("alone, {CLIENTS} clients"), &several);
    for (class, name) in CLASSES.iter().enumerate() {
        let target = (class == AS_YOU_TYPE).then_some(TARGET_TYPING);
        table.times(&format!("{name}, alone, 1 client, ms"), single.of(class), [target, None]);
        table.times(&format!("{name}, alone, {CLIENTS} clients, ms"), several.of(class), [target, None]);
    }
}

/// Measures searches while changes go on.
pub fn beside_changes(options: &BenchOptions, corpus: &Corpus, server: &Server, table: &mut FigureTable) {
    for clients in [1, CLIENTS] {
        let mix = ChangeMix::of(corpus, server);
        let measure = || search(corpus, server, clients, options.length);
        let (searches, changes) = beside(mix, options.rate, measure);
        let name = if clients == 1 {
            "beside changes, 1 client".to_owned()
        } else {
            format!("beside changes, {clients} clients")
        };
        add(table, &name, &searches);
        table.rate("changes/s meanwhile", &[changes.rate()], None);
        table.times("a change meanwhile, ms", &changes.all(), [None, None]);
        table.count("changes that failed", changes.failures);
        await_index(server);
        await_rest(server);
    }
}

fn add(table: &mut FigureTable, name: &str, samples: &CallSamples) {
    table.times(&format!("searches {name}, ms"), &samples.all(), [None, Some(TARGET_P99)]);
    table.times(&format!("as you type {name}, ms"), samples.of(AS_YOU_TYPE), [Some(TARGET_TYPING), None]);
    table.rate("searches/s", &[samples.rate()], None);
    table.count("searches that failed", samples.failures);
}

/// Sends searches of all classes; the clients are of several users.
fn search(corpus: &Corpus, server: &Server, clients: usize, length: Duration) -> CallSamples {
    let sessions = UserSession::all(server);
    let classes: Vec<usize> = (0..CLASSES.len()).collect();
    let requests = (0..clients)
        .map(|client| {
            let mut requests = queries(corpus, &sessions[client % sessions.len()], client, &classes);
            // Not all of one class at the same time.
            let offset = client % requests.len();
            requests.rotate_left(offset);
            requests
        })
        .collect();
    drive(&sessions[0].address, requests, length)
}
