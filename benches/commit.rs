//! The cost of a durable change when changes share commits: change sets in flight against changes
//! per second. Runs through the real store on the disk of the build. With one set in flight, the
//! cost is that of a sync.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use stet_domain::store::{ChangeSet, RowChange, Store, Table};
use stet_store::{Durability, RedbStore, StoreOptions};
use tokio::sync::mpsc;

/// Submits `count` change sets, at most `in_flight` at a time. Returns the time until the last was
/// on disk.
fn submit(store: &Arc<RedbStore>, count: u64, in_flight: u64, next: &mut u64) -> Duration {
    let (done, mut answers) = mpsc::unbounded_channel();
    let begun = Instant::now();
    let (mut sent, mut answered) = (0, 0);
    while answered < count {
        while sent < count && sent - answered < in_flight {
            let done = done.clone();
            *next += 1;
            let mut set = ChangeSet::fence(store.epoch(), move |outcome| {
                // Received below.
                let _ = done.send(outcome);
            });
            set.changes = (0..4u64)
                .map(|row| RowChange {
                    table: Table::Parts,
                    key: Bytes::copy_from_slice(&[(*next % 5000).to_be_bytes(), row.to_be_bytes()].concat()),
                    value: Some(Bytes::from_static(&[7; 200])),
                })
                .collect();
            store.submit(set).expect("the store takes it");
            sent += 1;
        }
        let outcome = answers.blocking_recv().expect("every change set is answered");
        outcome.expect("the disk takes it");
        answered += 1;
    }
    begun.elapsed()
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("group commit");
    group.sample_size(10).throughput(Throughput::Elements(1));
    for (name, durability) in [("durable", Durability::Journal), ("no persistence", Durability::None)] {
        let data = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let options = StoreOptions { durability, ..StoreOptions::new(data.path()) };
        let store = Arc::new(RedbStore::open(options).expect("a new store can be opened"));
        let mut next = 0;
        for in_flight in [1, 4, 16, 64, 256, 1024] {
            group.bench_function(BenchmarkId::new(name, in_flight), |bencher| {
                bencher.iter_custom(|count| submit(&store, count, in_flight, &mut next));
            });
        }
        store.close();
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
