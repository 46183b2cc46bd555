//! Measures the most expensive request of each endpoint and writes `docs/COSTS.md`; run it with
//! `scripts/costs`.
//!
//! The module `dearest` defines the requests and `fixture` builds their objects. `measure` sends
//! each request while `probes` work beside it, and `table` writes the document. The endpoints are
//! those of the OpenAPI document.

mod dearest;
mod fixture;
mod measure;
mod probes;
mod process;
mod table;
mod texts;
mod wire;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stet_testkit::{Endpoint, Server};

use self::fixture::Fixture;
use self::measure::{baseline, measure};
use self::table::{HEAD, Row, document};

/// The memory limit of rows, unless the environment sets another.
const MEMORY: u64 = 512 << 20;

fn main() {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    let limit = std::env::var("STET_COSTS_MEMORY").map_or(MEMORY, |limit| limit.parse().expect("bytes of memory"));
    // Password hashes cost as much as by default; tests make them cheaper.
    let settings = [
        ("AUTH__PASSWORD_MEMORY_KIB", "19456"),
        ("AUTH__PASSWORD_ITERATIONS", "2"),
        ("MEMORY__LIMIT_BYTES", &limit.to_string()),
    ];
    let fixture = Fixture::new(Server::filling(&settings));
    let baseline = baseline(&fixture);
    println!("{HEAD}");
    let fits =
        |endpoint: &&Endpoint| filters.is_empty() || filters.iter().any(|part| endpoint.id.contains(part.as_str()));
    let mut rows = Vec::new();
    for endpoint in Endpoint::all().iter().filter(fits) {
        let found = catch_unwind(AssertUnwindSafe(|| dearest::dearest(endpoint, &fixture)));
        let Ok(all) = found else {
            eprintln!("{}: its request can't be prepared", endpoint.id);
            continue;
        };
        for dearest in all {
            let measured = catch_unwind(AssertUnwindSafe(|| measure(&fixture, &dearest, &baseline)));
            let Ok(figures) = measured else {
                eprintln!("{}: can't be measured", endpoint.id);
                continue;
            };
            let row = Row::new(endpoint, &dearest, figures);
            println!("{}", row.line(limit));
            std::io::stdout().flush().expect("standard output can be written");
            rows.push(row);
        }
    }
    if let Some(path) = std::env::var_os("STET_COSTS_DOCUMENT") {
        std::fs::write(path, document(&rows, &baseline, limit)).expect("the document can be written");
    }
}
