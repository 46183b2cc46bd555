use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::{NewContent, Version};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ChangeSet, Row, RowChange, encode_value};
use tempfile::TempDir;

use super::*;
use crate::UploadBounds;

const SMALL: usize = 100;

/// Contents, and the rows that refer to them.
struct Ground {
    data: TempDir,
    contents: ContentStore,
    store: Arc<MemoryStore>,
}

impl Ground {
    fn new() -> Ground {
        let data = tempfile::tempdir().expect("a directory for temporary files");
        let contents = ContentStore::open(data.path(), SMALL, UploadBounds::NONE).expect("the directory was just made");
        Ground { data, contents, store: Arc::new(MemoryStore::new()) }
    }

    /// A collector that finds every file old.
    fn collector(&self) -> Collector {
        Collector::new(self.contents.clone(), self.store.clone(), Duration::ZERO)
    }

    async fn upload(&self, text: &str) -> NewContent {
        let mut upload = self.contents.upload(&stet_base::limits::Reservation::unaccounted());
        upload.write(text.repeat(SMALL).as_bytes()).await.expect("the disk is well");
        upload.finish("text/plain").await.expect("the disk is well")
    }

    /// Creates an upload that is no longer needed.
    async fn left(&self, text: &str) -> NewContent {
        NewContent { pin: None, ..self.upload(text).await }
    }

    fn is_there(&self, new: &NewContent) -> bool {
        self.contents.is_there(&new.content)
    }

    /// Puts the object's version with that content, or takes it away.
    fn put(&self, object: u64, new: &NewContent, there: bool) {
        let loid = Loid::new(DatabaseId::FIRST, object).at_version(1);
        let version = Version { loid, author: "editor".into(), at: 1, content: new.content.clone() };
        let mut rows = vec![(version.place(), encode_value(1, &version))];
        version.index(&mut rows);
        let changes = rows.into_iter();
        let changes =
            changes.map(|(key, value)| RowChange { table: key.table, key: key.key, value: there.then_some(value) });
        let set = ChangeSet { changes: changes.collect(), ..ChangeSet::fence(self.store.epoch(), |_| ()) };
        self.store.submit(set).expect("it is taken");
    }

    /// Collects all folders once.
    async fn collect(&self) -> CollectionTotal {
        collect_all(&self.collector()).await
    }
}

async fn collect_all(collector: &Collector) -> CollectionTotal {
    let mut total = CollectionTotal::default();
    for number in 0..FOLDERS {
        let found = collector.folder(number, collector.after).await.expect("the folder can be read");
        total = CollectionTotal { files: total.files + found.files, bytes: total.bytes + found.bytes };
    }
    total
}

#[tokio::test]
async fn unreferenced_files_are_collected_and_referenced_ones_kept() {
    let ground = Ground::new();
    let (dead, shared) = (ground.left("dead").await, ground.left("shared").await);
    ground.put(1, &shared, true);
    ground.put(2, &shared, true);
    assert_eq!(ground.collect().await, CollectionTotal { files: 1, bytes: dead.content.size });
    assert!(!ground.is_there(&dead) && ground.is_there(&shared));
    ground.put(1, &shared, false);
    assert_eq!(ground.collect().await.files, 0);
    ground.put(2, &shared, false);
    assert_eq!(ground.collect().await.files, 1);
    let left = fs::read_dir(ground.data.path().join("content/tmp")).expect("it is there").count();
    assert_eq!((ground.is_there(&shared), left), (false, 0));
}

#[tokio::test]
async fn recently_written_files_are_not_collected() {
    let ground = Ground::new();
    let new = ground.left("young").await;
    let collector = Collector { after: Duration::from_secs(3600), ..ground.collector() };
    assert_eq!(collect_all(&collector).await.files, 0);
    let path = ground.contents.places.file(&new.content.sha256);
    let file = fs::File::options().write(true).open(path).expect("it is there");
    let hours_ago = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 3600);
    file.set_modified(hours_ago(2)).expect("the time can be set");
    // The same bytes again make it young again.
    ground.left("young").await;
    assert_eq!(collect_all(&collector).await.files, 0);
    // The clock was set back since.
    file.set_modified(SystemTime::now() + Duration::from_secs(7200)).expect("the time can be set");
    assert_eq!(collect_all(&collector).await.files, 0);
    file.set_modified(hours_ago(2)).expect("the time can be set");
    assert_eq!(collect_all(&collector).await.files, 1);
}

#[tokio::test]
async fn an_upload_is_safe_until_its_change_is_decided() {
    let ground = Ground::new();
    let (one, other) = (ground.upload("same").await, ground.upload("same").await);
    let again = ground.contents.pin(&one.content).expect("it is there");
    drop(one);
    assert_eq!(ground.collect().await.files, 0, "a second upload of the same bytes is safe too");
    let command = other.clone();
    drop(other);
    assert_eq!(ground.collect().await.files, 0, "the command carries it on");
    drop(command);
    assert_eq!(ground.collect().await.files, 0, "it was pinned once more by hash");
    drop(again);
    assert_eq!(ground.collect().await.files, 1);
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_pinned() {
    let ground = Ground::new();
    let new = ground.left("gone").await;
    assert_eq!(ground.collect().await.files, 1);
    assert!(ground.contents.pin(&new.content).is_none());
}

#[tokio::test]
async fn a_row_on_its_way_to_the_disk_keeps_its_file() {
    let ground = Ground::new();
    let new = ground.left("pending").await;
    ground.store.hold();
    ground.put(1, &new, true);
    assert_eq!(ground.collect().await.files, 0);
    ground.store.fail_next();
    ground.store.release_failing();
    assert_eq!(ground.collect().await.files, 1, "the change was refused");
}

/// Collects while the store holds what `pending` submits, and lets go once the collector waits for
/// it; with `fails` the commit fails.
async fn collect_amid(
    ground: &Ground,
    pending: impl FnOnce(),
    fails: bool,
    meanwhile: impl AsyncFnOnce(),
) -> CollectionTotal {
    ground.store.hold();
    pending();
    let sets = ground.store.pending();
    let collector = ground.collector();
    let collecting = tokio::spawn(async move { collect_all(&collector).await });
    // The barrier is one more.
    while ground.store.pending() == sets {
        tokio::task::yield_now().await;
    }
    meanwhile().await;
    if fails {
        ground.store.fail_next();
    }
    ground.store.release_failing();
    collecting.await.expect("it does not panic")
}

#[tokio::test]
async fn a_removal_on_its_way_to_the_disk_is_waited_for() {
    for fails in [false, true] {
        let ground = Ground::new();
        let new = ground.left("removed").await;
        ground.put(1, &new, true);
        let there = async || assert!(ground.is_there(&new));
        let collected = collect_amid(&ground, || ground.put(1, &new, false), fails, there).await;
        assert_eq!((collected.files, ground.is_there(&new)), (u64::from(!fails), fails), "failed: {fails}");
    }
}

#[tokio::test]
async fn a_file_of_a_row_that_is_added_and_removed_stays_until_both_are_durable() {
    // A crash between the two would leave the row.
    let ground = Ground::new();
    let new = ground.left("brief").await;
    let pending = || {
        ground.put(1, &new, true);
        ground.put(1, &new, false);
    };
    let there = async || assert!(ground.is_there(&new));
    assert_eq!(collect_amid(&ground, pending, false, there).await.files, 1);
}

#[tokio::test]
async fn an_upload_that_finds_a_file_while_it_is_considered_keeps_it() {
    for referred_to in [true, false] {
        let ground = Ground::new();
        let (dead, other) = (ground.left("wanted again").await, ground.left("other").await);
        let meanwhile = async || {
            let new = ground.upload("wanted again").await;
            if referred_to {
                ground.put(1, &new, true);
                ground.put(1, &new, false);
                ground.put(2, &new, true);
            }
        };
        // The first folder with a file is checked while the store holds. The other file is an
        // unused one.
        let first = dead.content.sha256[0] < other.content.sha256[0];
        assert!(first, "choose other texts: the hash of the first must come first");
        let collected = collect_amid(&ground, || ground.put(9, &ground_small(), true), false, meanwhile).await;
        assert_eq!((collected.files, ground.is_there(&dead), ground.is_there(&other)), (1, true, false));
    }
}

/// A content in the tables.
fn ground_small() -> NewContent {
    let content = stet_domain::object::Content {
        content_type: "text/plain".into(),
        size: 1,
        sha256: [9; 32],
        stored: stet_domain::object::ContentLocation::Row,
    };
    NewContent { content, small: None, pin: None }
}

#[tokio::test]
async fn bytes_uploaded_repeatedly_during_collection_are_always_present() {
    let ground = Arc::new(Ground::new());
    let over = Arc::new(AtomicBool::new(false));
    let collecting = {
        let (ground, over) = (ground.clone(), over.clone());
        tokio::spawn(async move {
            let mut files = 0;
            while !over.load(Ordering::Relaxed) {
                files += ground.collect().await.files;
            }
            files
        })
    };
    let uploading = (0..3).map(|object| {
        let ground = ground.clone();
        tokio::spawn(async move {
            for _ in 0..150 {
                let new = ground.upload("again").await;
                assert!(ground.is_there(&new), "an upload's file is gone");
                ground.put(object, &new, true);
                drop(new.pin);
                let reader = ground.contents.open_content(&new.content).await.expect("a row's file is there");
                reader.read_all().await.expect("it is whole");
                ground.put(object, &NewContent { pin: None, ..new }, false);
                tokio::task::yield_now().await;
            }
        })
    });
    for upload in uploading.collect::<Vec<_>>() {
        upload.await.expect("no upload fails");
    }
    // All remaining files are unused now.
    over.store(true, Ordering::Relaxed);
    let files = collecting.await.expect("it does not panic") + ground.collect().await.files;
    assert!(files > 0);
}

#[tokio::test]
async fn foreign_files_in_the_content_folder_are_not_collected() {
    let ground = Ground::new();
    let folder = ground.data.path().join("content/ab");
    fs::create_dir_all(&folder).expect("it can be made");
    let capitals = "C".repeat(62);
    for name in ["notes.txt", "cd", &capitals, &format!("{}+f", "c".repeat(60))] {
        fs::write(folder.join(name), "x").expect("it can be written");
    }
    fs::create_dir(folder.join("c".repeat(62))).expect("it can be made");
    assert_eq!(ground.collect().await.files, 0);
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 5);
}

#[tokio::test]
async fn while_it_is_not_known_what_became_of_a_change_nothing_goes() {
    let ground = Ground::new();
    ground.left("dead").await;
    ground.store.set_certain(false);
    assert_eq!(ground.collect().await.files, 0);
    ground.store.set_certain(true);
    assert_eq!(ground.collect().await.files, 1);
}

/// Regression test: a server's directory was moved away, and a backup put in its place. The server
/// went on to collect in the backup by rows that were not its own. It also ended collecting for
/// good when the folder could not be read once.
#[tokio::test(start_paused = true)]
async fn a_replaced_content_folder_is_neither_collected_nor_written() {
    let ground = Ground::new();
    let new = ground.left("dead").await;
    let (own, away) = (ground.data.path().join("content"), ground.data.path().join("old"));
    fs::rename(&own, &away).expect("it can be moved");
    let another = ContentStore::open(ground.data.path(), SMALL, UploadBounds::NONE).expect("another is made");
    let mut upload = another.upload(&stet_base::limits::Reservation::unaccounted());
    upload.write("dead".repeat(SMALL).as_bytes()).await.expect("the disk is well");
    upload.finish("text/plain").await.expect("the other's own go on");
    assert!(ground.is_there(&new), "by its path");
    let collector = ground.collector();
    let number = u16::from(new.content.sha256[0]);
    assert!(collector.folder(number, Duration::ZERO).await.is_err());
    assert!(ground.is_there(&new));
    let (end, ended) = oneshot::channel();
    let mut collecting = pin!(collector.run(ended));
    tokio::select! {
        () = &mut collecting => panic!("it has ended for good"),
        // It looks every second.
        () = tokio::time::sleep(Duration::from_secs(5)) => assert!(ground.is_there(&new)),
    }
    let mut upload = ground.contents.upload(&stet_base::limits::Reservation::unaccounted());
    upload.write("other".repeat(SMALL).as_bytes()).await.expect("it is not refused before its end");
    assert!(upload.finish("text/plain").await.is_err());
    fs::remove_dir_all(&own).expect("it can be removed");
    fs::rename(&away, &own).expect("it can be moved back");
    let gone = async {
        while ground.is_there(&new) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        drop(end);
    };
    futures_util::join!(collecting, gone);
    ground.left("other").await;
}

#[tokio::test]
async fn recent_unused_files_are_collected_when_an_upload_found_no_room() {
    let ground = Ground::new();
    let (dead, alive) = (ground.left("dead").await, ground.left("alive").await);
    ground.put(1, &alive, true);
    let collector = Collector { after: Duration::from_secs(86_400), ..ground.collector() };
    let (end, ended) = oneshot::channel();
    let collecting = tokio::spawn(async move { collector.run(ended).await });
    ground.contents.places.short.notify_one();
    while ground.is_there(&dead) {
        tokio::task::yield_now().await;
    }
    drop(end);
    collecting.await.expect("it does not panic");
    assert!(ground.is_there(&alive));
}
