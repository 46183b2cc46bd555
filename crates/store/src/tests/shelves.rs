//! A family that the store knows nothing of keeps the promise as all do: its life is cut off at
//! every sync that there is.

use stet_actors::repository::Repository;
use stet_actors::rows::index_of;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::SystemClock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::Result;
use stet_domain::folder::root;
use stet_domain::lifecycle::{CreateInFolder, DestroyObject, DiscardObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, FolderKey, NameCounts, Record};
use stet_domain::proof::Proof;
use stet_domain::store::{KeyRange, Row, decode_value};
use stet_testkit::shelf::{CarrySlot, FAMILIES, NewShelf, PutOnShelf, Shelf, SlotContent, TakeFromShelf};

use super::*;
use crate::fault::{DiskFault, FaultPlan};

const MAIN: Loid = root(DatabaseId::FIRST);
const STEPS: usize = 12;

fn by() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "s".into(), address: None })
}

/// Two shelves and two stories, those of them that exist so far.
#[derive(Default)]
struct Life {
    shelves: Vec<Loid>,
    stories: Vec<Loid>,
    slots: Vec<u64>,
}

impl Life {
    async fn create(repository: &Repository, object: NewObject) -> Result<Loid> {
        Ok(repository.joint(CreateInFolder { folder: MAIN, below: Vec::new(), object }, by()).await?.loid)
    }

    async fn put(&mut self, shelf: usize, stands: SlotContent, repository: &Repository) -> Result<()> {
        let put = PutOnShelf { board: "top".into(), stands, position: 0 };
        self.slots.push(repository.execute(self.shelves[shelf], put, by()).await?.reply);
        Ok(())
    }

    async fn step(&mut self, number: usize, repository: &Repository) -> Result<()> {
        let held = |life: &Life, story: usize| SlotContent::Object(FolderKey(life.stories[story]));
        match number {
            0 | 1 => {
                let new = NewShelf { boards: vec!["top".into()] };
                let shelf = NewObject::of::<Shelf>(&format!("shelf-{number}"), "Shelf", new);
                self.shelves.push(Life::create(repository, shelf).await?);
            }
            2 | 3 => {
                let story = NewObject::document(&format!("story-{number}"), "Story");
                self.stories.push(Life::create(repository, story).await?);
            }
            4 | 5 => self.put(0, held(self, 0), repository).await?,
            6 => self.put(0, SlotContent::Divider("d".into()), repository).await?,
            7 => self.put(1, held(self, 1), repository).await?,
            8 => {
                let carry = CarrySlot { slot: self.slots[0], from: self.shelves[0], to: self.shelves[1], position: 1 };
                repository.joint(carry, by()).await?;
            }
            9 => {
                repository
                    .joint(DiscardObject { object: self.stories[0], reach: stet_domain::object::Reach::All }, by())
                    .await?
            }
            10 => {
                let restore = RestoreObject {
                    object: self.stories[0],
                    folder: None,
                    mode: CreateMode::Exception,
                    reach: stet_domain::object::Reach::All,
                };
                repository.joint(restore, by()).await?;
            }
            11 => repository.joint(DestroyObject { object: self.stories[0] }, by()).await?,
            _ => {
                repository.execute(self.shelves[0], TakeFromShelf { slot: self.slots[2] }, by()).await?;
            }
        }
        Ok(())
    }
}

/// Returns all slots of the shelves in the root folder, visible or not: shelf, slot, and whether it
/// is hidden.
async fn shown(repository: &Repository) -> Vec<(Loid, u64, bool)> {
    let mut shown = Vec::new();
    for record in repository.rows::<Record>(Table::Objects).expect("readable") {
        if record.family == <Shelf as stet_domain::family::Family>::KIND {
            let view = repository.view::<Shelf>(record.loid).await.expect("it is there");
            shown.extend(view.state.slots().iter().map(|slot| (record.loid, slot.id, slot.hidden)));
        }
    }
    shown
}

/// Asserts that every index entry follows from a row, and that every container fits its family.
fn assert_proved(store: &RedbStore, when: &str) {
    let all =
        |table| store.scan(ReadLevel::Committed, table, &KeyRange::prefix(&[]), usize::MAX, false).expect("readable");
    let (mut wanted, mut there) = (Vec::new(), Vec::new());
    let mut counts = NameCounts::default();
    all(Table::Names).iter().for_each(|(key, _)| counts.add(key));
    wanted.extend(counts.entries().map(|(key, count)| (Table::NameCounts, key.into(), count.to_vec().into())));
    for table in Table::ALL {
        for (key, value) in all(*table) {
            if table.is_index() {
                there.push((*table, key, value));
                continue;
            }
            let entries = index_of(FAMILIES, *table, &key, &value).expect("a row is understood");
            wanted.extend(entries.into_iter().map(|(key, value)| (key.table, key.key, value)));
            if matches!(table, Table::Objects | Table::Recycled) {
                let record: Record = decode_value(Record::FORMAT, &value).expect("a record can be read");
                let mut report = |fault| panic!("{when}: {fault}");
                let mut proof = Proof::new(store, &|_, _| None, &mut report);
                FAMILIES.get(record.family).expect("it is listed").prove(&record, &mut proof).expect("readable");
            }
        }
    }
    wanted.sort();
    there.sort();
    assert_eq!(there, wanted, "{when}");
}

/// Resolves when the machine has gone down.
async fn down(disk: &SimulatedDisk) {
    while disk.boots() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs until the machine goes down at that sync, and once more. Returns the number of syncs, and
/// the shown slots after each step.
async fn live(at: Option<u64>, whole: &[Vec<(Loid, u64, bool)>]) -> (u64, Vec<Vec<(Loid, u64, bool)>>) {
    let disk = SimulatedDisk::new();
    let start = async |store: &Arc<RedbStore>| {
        let options = RuntimeOptions::default();
        let repository = Repository::start_with(FAMILIES, store.clone(), Arc::new(SystemClock), options).await?;
        repository.make_roots(&[DatabaseId::FIRST]).await.map_err(|_| StoreError::Closed)?;
        Ok::<_, StoreError>(repository)
    };
    let mut seen = Vec::new();
    let store = Arc::new(open(&disk));
    let begun = disk.syncs();
    if let Some(at) = at {
        disk.plan(FaultPlan { at: begun + at, times: 1, fault: DiskFault::Crash });
    }
    let started = tokio::select! {
        started = start(&store) => started.ok(),
        () = down(&disk) => None,
    };
    if let Some(repository) = started {
        let mut life = Life::default();
        for number in 0..=STEPS {
            // The store would try for some time to get at a machine that is down.
            let done = tokio::select! {
                done = life.step(number, &repository) => done.is_ok(),
                () = down(&disk) => false,
            };
            if !done {
                assert!(disk.boots() > 0, "step {number} can be taken");
                break;
            }
            seen.push(shown(&repository).await);
        }
        if disk.boots() == 0 {
            repository.shut_down().await;
        }
    }
    let syncs = disk.syncs() - begun;
    disk.crash(at.unwrap_or_default());
    drop(store);
    let store = Arc::new(open(&disk));
    let when = format!("down at sync {at:?}, after {} steps", seen.len());
    assert_proved(&store, &when);
    let repository = start(&store).await.expect("it starts again");
    let there = shown(&repository).await;
    let steps = if at.is_some() { whole } else { &seen };
    let last = seen.len().checked_sub(1).map_or(&[][..], |last| &steps[last]);
    assert!(there == last || steps.get(seen.len()) == Some(&there), "{when}: {there:?}");
    repository.shut_down().await;
    (syncs, seen)
}

#[test]
fn a_crash_at_any_sync_of_the_life_of_a_family_leaves_it_whole() {
    actix::System::new().block_on(async {
        let (syncs, whole) = live(None, &[]).await;
        assert!(whole.len() > STEPS && syncs as usize > STEPS, "{syncs} syncs");
        for at in 1..=syncs {
            live(Some(at), &whole).await;
        }
    });
}
