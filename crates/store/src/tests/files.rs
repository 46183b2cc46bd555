//! The opening of a store: the content of the files, and files that do not match.

use std::sync::atomic::{AtomicU64, Ordering};

use redb::{Builder, StorageBackend, WriteTransaction};
use stet_domain::store::{ReadLevel, Table};

use super::*;
use crate::journal::FORMAT as JOURNAL_FORMAT;
use crate::migrate::{MIGRATIONS, Migration, present};
use crate::record::FileHead;
use crate::tables::{FOLDED, FORMAT, META, RedbError, failure, rows};
use crate::{Backends, Durability, OpenError, StoreFile};

/// Sets a number in the head of a file of a closed store.
fn set_meta(disk: &SimulatedDisk, file: StoreFile, name: &str, number: u64) {
    #[derive(Debug)]
    struct Boxed(Box<dyn StorageBackend>);
    impl StorageBackend for Boxed {
        fn len(&self) -> std::io::Result<u64> {
            self.0.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
            self.0.read(offset, out)
        }
        fn set_len(&self, len: u64) -> std::io::Result<()> {
            self.0.set_len(len)
        }
        fn sync_data(&self) -> std::io::Result<()> {
            self.0.sync_data()
        }
        fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
            self.0.write(offset, data)
        }
    }
    let backend = Boxed(disk.open(file).expect("the file opens"));
    let db = Builder::new().create_with_backend(backend).expect("the database opens");
    let transaction = db.begin_write().expect("a transaction");
    transaction.open_table(META).expect("the table").insert(name, number).expect("inserted");
    transaction.commit().expect("committed");
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let disk = SimulatedDisk::new();
    commit(&open(&disk), vec![put(Table::Marks, "m", "1")]);
    let journal = disk.bytes(StoreFile::Journal);
    let salt = FileHead::read(&journal).expect("a head").salt;
    let set = |file, present| match file {
        StoreFile::State => set_meta(&disk, file, FORMAT, present),
        StoreFile::Journal | StoreFile::Mark => {
            let page = FileHead { format: present, salt }.page();
            disk.open(file).and_then(|file| file.write(0, &page)).expect("written");
        }
    };
    let files =
        [(StoreFile::State, "state.redb", present(MIGRATIONS)), (StoreFile::Journal, "journal.wal", JOURNAL_FORMAT)];
    for (file, name, present) in files {
        set(file, 99);
        match try_open(&disk) {
            Err(error @ OpenError::Newer { found: 99, known, .. }) if known == present => {
                let text = error.to_string();
                assert!(text.contains(name) && text.contains("newer stet"), "{text}");
            }
            other => panic!("{other:?}"),
        }
        set(file, present);
        assert_eq!(get(&open(&disk), ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("1"));
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let disk = SimulatedDisk::new();
    let seq = commit(&open(&disk), vec![put(Table::Marks, "m", "1")]);
    set_meta(&disk, StoreFile::State, FOLDED, 0);
    assert!(matches!(try_open(&disk), Err(OpenError::Lost(loss)) if (loss.kept, loss.last) == (0, Some(seq))));
}

#[test]
fn two_stores_cannot_open_one_directory() {
    let data = tempfile::tempdir().expect("a directory");
    let store = RedbStore::open(StoreOptions::new(data.path())).expect("the store opens");
    let error = RedbStore::open(StoreOptions::new(data.path())).expect_err("the second is refused");
    assert!(matches!(&error, OpenError::InUse(path) if path == data.path()), "{error}");
    drop(store);
    RedbStore::open(StoreOptions::new(data.path())).expect("the directory is free again");
}

#[test]
fn files_on_a_real_disk_keep_what_was_committed() {
    let data = tempfile::tempdir().expect("a directory");
    let data = data.path().join("made/on/demand");
    let store = RedbStore::open(StoreOptions::new(&data)).expect("the store opens");
    commit(&store, vec![put(Table::Marks, "m", "1")]);
    drop(store);
    let store = RedbStore::open(StoreOptions::new(&data)).expect("the store opens again");
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("1"));
}

#[test]
fn without_a_journal_a_clean_close_saves_and_a_crash_does_not_harm() {
    let disk = SimulatedDisk::new();
    let without = || {
        let mut options = busy_options(&disk);
        options.durability = Durability::None;
        RedbStore::open(options).expect("the store opens")
    };
    let store = without();
    commit(&store, vec![put(Table::Marks, "m", "1")]);
    store.close();
    let store = without();
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("1"));
    commit(&store, vec![put(Table::Marks, "m", "2")]);
    disk.crash(7);
    drop(store);
    assert!(get(&without(), ReadLevel::Committed, Table::Marks, "m").is_some());
}

#[test]
fn a_journal_is_replayed_once_by_a_store_opened_without_a_journal() {
    let disk = SimulatedDisk::new();
    let open = |durability| {
        let mut options = options(&disk);
        options.durability = durability;
        RedbStore::open(options).expect("the store opens")
    };
    let store = open(Durability::Journal);
    for number in ["1", "2", "3"] {
        commit(&store, vec![put(Table::Marks, "m", number)]);
    }
    disk.crash(7);
    drop(store);
    let store = open(Durability::None);
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("3"));
    commit(&store, vec![put(Table::Marks, "m", "4")]);
    store.close();
    let store = open(Durability::Journal);
    assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, "m").as_deref(), Some("4"));
}

static RUNS: AtomicU64 = AtomicU64::new(0);

fn rename_rows(transaction: &WriteTransaction) -> Result<u64, RedbError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    let mut marks = transaction.open_table(rows(Table::Marks)).map_err(failure)?;
    let mut moved = 0;
    for key in ["folded", "waiting"] {
        let value = marks.remove(key.as_bytes()).map_err(failure)?.map(|value| value.value().to_vec());
        if let Some(value) = value {
            marks.insert(format!("{key}, moved").as_bytes(), value.as_slice()).map_err(failure)?;
            moved += 1;
        }
    }
    Ok(moved)
}

fn fail(_: &WriteTransaction) -> Result<u64, RedbError> {
    Err(Box::new(redb::Error::Corrupted("a row that nobody understands".to_owned())))
}

#[test]
fn a_migration_runs_once_and_sees_rows_that_wait_in_the_journal() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    commit(&store, vec![put(Table::Marks, "folded", "1")]);
    store.close();
    let store = open(&disk);
    commit(&store, vec![put(Table::Marks, "waiting", "2")]);
    disk.crash(3);
    drop(store);

    let known = present(MIGRATIONS);
    let first = || Migration { number: known + 1, what: "moves two rows", run: rename_rows };
    for _ in 0..2 {
        let store = RedbStore::open_with(options(&disk), &[first()]).expect("the store opens");
        for (key, value) in [("folded, moved", Some("1")), ("waiting, moved", Some("2")), ("waiting", None)] {
            assert_eq!(get(&store, ReadLevel::Committed, Table::Marks, key).as_deref(), value);
        }
        assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    }
    let second = Migration { number: known + 2, what: "fails", run: fail };
    let error = RedbStore::open_with(options(&disk), &[first(), second]).expect_err("refused");
    assert!(matches!(error, OpenError::Migration(number, _) if number == known + 2), "{error}");
    RedbStore::open_with(options(&disk), &[first()]).expect("the failed step has left the file as it was");
    let refused = try_open(&disk).expect_err("it is newer");
    assert!(matches!(refused, OpenError::Newer { file: "state.redb", found, .. } if found == known + 1), "{refused}");
}

#[test]
fn stored_files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::TempDir::new().unwrap();
    let data = parent.path().join("data");
    let store = RedbStore::open(StoreOptions::new(&data)).unwrap();
    store.close();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in std::fs::read_dir(&data).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}
