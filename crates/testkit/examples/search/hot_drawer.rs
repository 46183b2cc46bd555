//! The throughput of one hot drawer, with search and without.

use stet_testkit::Server;

use crate::corpus::hot_resources;
use crate::figures::FigureTable;
use crate::options::BenchOptions;
use crate::servers::{BenchServers, await_index, await_rest, processor};
use crate::wire::{ClassedRequests, UserSession, drive};

/// The positions to which each client moves its item in turn.
const POSITIONS: [usize; 2] = [0, 32];

/// Measures both servers in turn.
pub fn measure(options: &BenchOptions, servers: &BenchServers, table: &mut FigureTable) {
    let (on, off) = (&servers.with_search, &servers.without_search);
    let (requests_on, requests_off) = (requests(on), requests(off));
    let round = |server: &Server, requests: &[ClassedRequests]| {
        let address = server.base.strip_prefix("http://").expect("the server has no TLS");
        let before = processor(server);
        let samples = drive(address, requests.to_vec(), options.length);
        assert_eq!(samples.failures, 0, "each position can be set");
        // Including what is done with the changes later.
        await_rest(server);
        let changes = samples.all().len() as f64;
        DrawerRound { rate: samples.rate(), processor: (processor(server) - before) * 1e6 / changes }
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        without.push(round(off, &requests_off));
        with.push(round(on, &requests_on));
        await_index(on);
    }
    let rates = |rounds: &[DrawerRound]| rounds.iter().map(|round| round.rate).collect::<Vec<_>>();
    let costs = |rounds: &[DrawerRound]| rounds.iter().map(|round| round.processor).collect::<Vec<_>>();
    table.rate("hot drawer, 64 clients, without search, changes/s", &rates(&without), None);
    table.rate("hot drawer, 64 clients, with search, changes/s", &rates(&with), None);
    table.ratio("changes/s with search / without", &ratios(&rates(&with), &rates(&without)), Some(0.97));
    table.ratio("processor time of a change without search, us", &costs(&without), None);
    table.ratio("processor time of a change with search, us", &costs(&with), None);
    table.ratio("processor time with search / without", &ratios(&costs(&with), &costs(&without)), None);
}

/// The result of one round.
struct DrawerRound {
    /// Changes per second.
    rate: f64,
    /// Microseconds of the server's processor time for each change.
    processor: f64,
}

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// Returns requests that move each client's own item between two positions.
fn requests(server: &Server) -> Vec<ClassedRequests> {
    let session = UserSession::of(server, "editor");
    let moves = |resource: &String| {
        let to = |position: &usize| (0, session.request("PUT", &format!("{resource}/{position}")));
        POSITIONS.iter().map(to).collect()
    };
    hot_resources(&server.login("editor")).iter().map(moves).collect()
}
