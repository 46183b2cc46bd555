//! The cost of a drawer's rules alone: `apply` on a state in memory, at several sizes. A positioned
//! add must cost the same whatever the drawer holds.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use stet_domain::command::{CallerIdentity, Command, Context, NumberSource};
use stet_domain::drawer::{
    AddDrawerItems, DrawerHead, DrawerItemAddress, DrawerState, Item, PlaceDrawerItem, ShiftDrawerItem,
};
use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, Loid, ShortcutId};
use stet_domain::object::{Attributes, FamilyKind, Object, Record};
use stet_domain::store::{KeyRange, ReadLevel, RowReader, StoreError, Table};

/// The server's own allocator, so that the figures are comparable.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Every object is alive.
struct Everything;

impl RowReader for Everything {
    fn get(&self, _: ReadLevel, _: Table, _: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(Some(Bytes::new()))
    }

    fn scan(&self, _: ReadLevel, _: Table, _: &KeyRange, _: usize, _: bool) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        Ok(Vec::new())
    }
}

struct OneNumber;

impl NumberSource for OneNumber {
    fn next(&self) -> Result<u64> {
        Ok(u64::MAX)
    }
}

fn object(number: u64) -> Loid {
    Loid::new(DatabaseId::FIRST, number)
}

fn drawer(items: u64) -> DrawerState {
    let loid = object(1);
    let record = Record::new(loid, "bench", "Drawer", FamilyKind::Drawer, &"bench".into(), 0);
    let head = DrawerHead { loid, capacity: 10_000, automatic: false, title: "".into(), description: "".into() };
    let object_part = Object { record: Arc::new(record), attributes: Arc::new(Attributes::none(loid)) };
    let item = |n| Item::new(loid, ShortcutId(n), object(100 + n), u128::from(n + 1) << 96, false);
    DrawerState::new(object_part, head, (0..items).map(item).collect())
}

fn apply<C: Command<Family = stet_domain::drawer::Drawer>>(drawer: &mut DrawerState, command: &C) {
    let who = CallerIdentity::system();
    let mut context = Context::new(0, &who, &Everything, &OneNumber);
    let reply = command.apply(drawer, &mut context);
    assert!(black_box(reply).is_ok());
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("drawer apply");
    for size in [10, 100, 1000, 9999] {
        let full = drawer(size);
        let fresh = DrawerItemAddress::Object(object(50));
        let last = DrawerItemAddress::Object(object(100 + size - 1));
        let mut bench = |name: &str, run: &dyn Fn(&mut DrawerState)| {
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                // Dropping the copy is part of the cost: the server drops the old view when the new
                // one exists.
                bencher.iter(|| {
                    let mut state = full.clone();
                    run(&mut state);
                    state
                });
            });
        };
        bench("add", &|state| apply(state, &AddDrawerItems { items: vec![fresh] }));
        bench("positioned add", &|state| apply(state, &PlaceDrawerItem { item: fresh, position: 3 }));
        bench("shortcut move", &|state| apply(state, &ShiftDrawerItem { item: last, position: 3 }));
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
