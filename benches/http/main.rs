//! The server over HTTP, beside references for the machine: a bare actix-web handler, the same
//! server without persistence, and a bare append with fdatasync. Ratios are comparable, rates are
//! not.
//!
//! `cargo bench --bench http` runs all; `cargo bench --bench http -- hot read` the named scenarios.
//! They are: hot, many, size, single, read, caches, rights, start, redis, trailbase, liveblog,
//! followers, streams, topic, folder, history, disk, threads. The environment sets `ROUNDS`
//! (default 5) and `SECONDS` per measurement (default 2). `STET_BINARY` names another server to
//! measure in place of the one built with this, such as the version before.

mod bare;
mod client;
mod disk;
mod folder;
mod follow;
mod history;
mod liveblog;
mod redis;
mod stet;
mod threads;
mod topic;
mod trailbase;

use std::io::Write;
use std::time::{Duration, Instant};

use client::{Load, Target, drive};
use redis::Redis;
use stet::{End, Stet};

/// The requests that each client sends in turn, over and over.
type Requests = Vec<Vec<Vec<u8>>>;

struct Plan {
    rounds: usize,
    length: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if std::env::args().any(|argument| argument == bare::FLAG) {
        return bare::serve();
    }
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default);
    let plan = Plan { rounds: number("ROUNDS", 5) as usize, length: Duration::from_secs(number("SECONDS", 2)) };
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    if wanted("hot") {
        for clients in [1, 16, 64, 256] {
            changes(&plan, "one hot drawer", clients, 1);
        }
    }
    if wanted("many") {
        for (what, drawers) in [("100 drawers", 100), ("1,000 drawers", 1000), ("10,000 drawers", 10_000)] {
            changes(&plan, what, 64, drawers);
        }
    }
    if wanted("size") {
        sizes(&plan);
    }
    if wanted("single") {
        single(&plan);
    }
    if wanted("read") {
        reads(&plan);
    }
    if wanted("caches") {
        caches(&plan);
    }
    if wanted("rights") {
        rights(&plan);
    }
    if wanted("redis") {
        for (what, drawers) in [("one hot drawer", 1), ("1,000 drawers", 1000)] {
            beside_redis(&plan, what, 64, drawers);
        }
    }
    if wanted("trailbase") {
        trailbase::beside(&plan);
    }
    if wanted("liveblog") {
        liveblog::sizes(&plan);
    }
    if wanted("followers") {
        liveblog::followers(&plan);
    }
    if wanted("streams") {
        liveblog::streams(&plan);
    }
    if wanted("topic") {
        topic::sizes(&plan);
        topic::structure(&plan);
    }
    if wanted("folder") {
        folder::sizes(&plan);
    }
    if wanted("history") {
        history::depths(&plan);
    }
    if wanted("start") {
        starts(&plan);
    }
    if wanted("disk") {
        disk::growth(&plan);
    }
    if wanted("threads") {
        threads::costs(&plan);
    }
}

/// Adds and deletes in turn, each a durable change: with persistence, without, and a bare handler
/// given the same requests.
fn changes(plan: &Plan, what: &str, clients: usize, drawers: usize) {
    let durable = Stet::start("journal");
    let volatile = Stet::start("none");
    let bare = bare::Bare::start(b"{\"status\":\"success\",\"result\":{}}", None);
    let asked: Vec<Requests> = [&durable, &volatile].iter().map(|server| server.changes_in(clients, drawers)).collect();
    let mut rows: Vec<[Load; 3]> = Vec::new();
    for _ in 0..plan.rounds {
        rows.push([
            drive(&Target::new(&durable.address), &asked[0], plan.length),
            drive(&Target::new(&volatile.address), &asked[1], plan.length),
            drive(&Target::new(&bare.address), &asked[0], plan.length),
        ]);
    }
    let columns = ["durable", "no persistence", "bare handler"];
    println!("\n{what}, {clients} clients, changes:");
    report(&columns, &rows);
    ratio("durable / no persistence", &rows, |row| row[0].rate / row[1].rate);
    ratio("durable / bare handler", &rows, |row| row[0].rate / row[2].rate);
}

/// Measures adds and deletes in drawers beside pushes to lists of a Redis with `appendfsync
/// always`. As many clients send them, none of which sends ahead. A bare handler that answers the
/// same requests without any work is measured, too.
fn beside_redis(plan: &Plan, what: &str, clients: usize, drawers: usize) {
    let Some(redis) = Redis::start() else {
        return println!("\nno redis-server here: scripts/bench-redis installs one");
    };
    let server = Stet::start("journal");
    let bare = bare::Bare::start(b"{\"status\":\"success\",\"result\":{}}", None);
    let (asked, pushes) = (server.changes_in(clients, drawers), redis.pushes_in(clients, drawers));
    // Drawers and stories of its own.
    let other = Stet::start("journal");
    let short = other.changes_with(clients, drawers, &[("prefer", "return=minimal")]);
    let mut rows: Vec<[Load; 4]> = Vec::new();
    for _ in 0..plan.rounds {
        rows.push([
            drive(&Target::new(&server.address), &asked, plan.length),
            drive(&Target::new(&other.address), &short, plan.length),
            drive(&Target::redis(&redis.address), &pushes, plan.length),
            drive(&Target::new(&bare.address), &asked, plan.length),
        ]);
    }
    println!("\n{what}, {clients} clients, {} s each:", plan.length.as_secs());
    report(&["stet", "short replies", "Redis", "bare handler"], &rows);
    ratio("stet / Redis", &rows, |row| row[0].rate / row[2].rate);
    ratio("stet with short replies / Redis", &rows, |row| row[1].rate / row[2].rate);
    ratio("bare handler / Redis", &rows, |row| row[3].rate / row[2].rate);
    ratio("p99 / p50 of stet", &rows, |row| row[0].p99.as_secs_f64() / row[0].p50.as_secs_f64());
}

/// Positioned adds, moves and deletes in a drawer of 10 items and in one of nearly 10,000.
fn sizes(plan: &Plan) {
    let server = Stet::start("journal");
    for clients in [1, 64] {
        let asked = [10, 9_900].map(|items| server.positions_in(clients, items));
        let mut rows: Vec<[Load; 2]> = Vec::new();
        for _ in 0..plan.rounds {
            rows.push([0, 1].map(|size| drive(&Target::new(&server.address), &asked[size], plan.length)));
        }
        println!("\npositioned adds, moves and deletes, {clients} clients:");
        report(&["10 items", "9,900 items"], &rows);
        ratio("cost at 9,900 items / at 10", &rows, |row| row[0].rate / row[1].rate);
    }
}

/// The latency of one client beside an append of 4 KiB with fdatasync to the same disk.
fn single(plan: &Plan) {
    let server = Stet::start("journal");
    let asked = server.changes_in(1, 1);
    let mut ratios = Vec::new();
    println!("\none client, one drawer, median latency beside a 4 KiB append with fdatasync:");
    for _ in 0..plan.rounds {
        let append = append_median(server.data(), plan.length / 2);
        let load = drive(&Target::new(&server.address), &asked, plan.length);
        println!("  change {:>8.0?}   append {append:>8.0?}", load.p50);
        ratios.push(load.p50.as_secs_f64() / append.as_secs_f64());
    }
    println!("  {:<40} {:.2}", "change / append", median(&mut ratios));
}

fn append_median(directory: &std::path::Path, length: Duration) -> Duration {
    let mut file = tempfile::tempfile_in(directory).expect("the data directory can be written to");
    let block = [7u8; 4096];
    let begun = Instant::now();
    let mut took = Vec::new();
    while begun.elapsed() < length {
        let one = Instant::now();
        file.write_all(&block).and_then(|()| file.sync_data()).expect("the disk takes it");
        took.push(one.elapsed());
    }
    took.sort_unstable();
    took[took.len() / 2]
}

/// A drawer of 50 items read whole, and asked for with its ETag, beside a bare handler that answers
/// the same bytes.
fn reads(plan: &Plan) {
    let server = Stet::start("journal");
    let (path, etag) = server.drawer_of(50);
    beside_bare(plan, &server, "a drawer of 50 items", &path, &etag);
}

/// Caches of the configuration: one of a database, and all of a family.
fn caches(plan: &Plan) {
    let server = Stet::start("journal");
    for (what, path) in [
        ("the object types of a database", "/v3/conf/cache/objecttypes/1"),
        ("the workflows of all databases", "/v3/conf/cache/workflows"),
        ("the site configuration", "/v3/conf/siteconfigxml"),
    ] {
        beside_bare(plan, &server, what, path, &server.etag_of(path));
    }
}

/// Reads of what has not changed, with all of it and without a body, beside a bare handler that
/// answers the same bytes.
fn beside_bare(plan: &Plan, server: &Stet, what: &str, path: &str, etag: &str) {
    let whole = server.request("GET", path, &[]);
    let fresh = server.request("GET", path, &[("if-none-match", etag)]);
    let body = server.body_of(&whole);
    let bare = bare::Bare::start(&body, Some(etag));
    for clients in [16, 64] {
        for (what, request) in [(what, &whole), ("the same, not modified (304)", &fresh)] {
            let asked: Requests = vec![vec![request.clone()]; clients];
            let mut rows: Vec<[Load; 2]> = Vec::new();
            for _ in 0..plan.rounds {
                rows.push([
                    drive(&Target::new(&server.address), &asked, plan.length),
                    drive(&Target::new(&bare.address), &asked, plan.length),
                ]);
            }
            println!("\n{what} ({} bytes), {clients} clients, reads:", body.len());
            report(&["stet", "bare handler"], &rows);
            ratio("stet / bare handler", &rows, |row| row[0].rate / row[1].rate);
        }
    }
}

/// An object's record, cached, read with a privilege that holds everywhere, and with one below the
/// object's folder.
fn rights(plan: &Plan) {
    let server = Stet::start("journal");
    let [everywhere, below] = server.reads_by_rights();
    for clients in [16, 64] {
        let mut rows: Vec<[Load; 2]> = Vec::new();
        for _ in 0..plan.rounds {
            rows.push([&everywhere, &below].map(|request| {
                let asked: Requests = vec![vec![request.clone()]; clients];
                drive(&Target::new(&server.address), &asked, plan.length)
            }));
        }
        println!("\na cached record, {clients} clients, reads:");
        report(&["everywhere", "below a folder"], &rows);
        ratio("below a folder / everywhere", &rows, |row| row[1].rate / row[0].rate);
    }
}

/// Measures the time from the start of the process to the first 200. The directory is new, with the
/// sample newsroom, or has 100,000 objects.
fn starts(plan: &Plan) {
    let mut new: Vec<f64> = (0..plan.rounds).map(|_| Stet::start("journal").started.as_secs_f64()).collect();
    println!("\nstart to first 200, new data directory with the sample: {:.3} s", median(&mut new));
    let mut server = Stet::start("journal");
    let made = server.make_objects(100_000);
    let mut ends = Vec::new();
    for how in [End::Term, End::Kill] {
        for _ in 0..plan.rounds {
            server = server.restart(how);
            ends.push(server.started.as_secs_f64());
        }
        println!("start to first 200, {made} objects, after {how:?}: {:.3} s", median(&mut ends));
        ends.clear();
    }
}

fn report<const N: usize>(columns: &[&str; N], rows: &[[Load; N]]) {
    for (index, column) in columns.iter().enumerate() {
        let mut rates: Vec<f64> = rows.iter().map(|row| row[index].rate).collect();
        let mut p50: Vec<f64> = rows.iter().map(|row| row[index].p50.as_secs_f64() * 1e3).collect();
        let mut p99: Vec<f64> = rows.iter().map(|row| row[index].p99.as_secs_f64() * 1e3).collect();
        let errors: usize = rows.iter().map(|row| row[index].errors).sum();
        println!(
            "  {column:<16} {:>9.0}/s   p50 {:>7.2} ms   p99 {:>7.2} ms   errors {errors}",
            median(&mut rates),
            median(&mut p50),
            median(&mut p99)
        );
    }
}

fn ratio<T>(name: &str, rows: &[T], of: impl Fn(&T) -> f64) {
    let mut ratios: Vec<f64> = rows.iter().map(of).collect();
    let middle = median(&mut ratios);
    println!("  {name:<40} {middle:.2}   ({:.2} to {:.2})", ratios[0], ratios[ratios.len() - 1]);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
