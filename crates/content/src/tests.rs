use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose};
use stet_domain::object::NewContent;
use tempfile::TempDir;

use super::*;

const SMALL: usize = 1000;

fn store() -> (TempDir, ContentStore) {
    let data = tempfile::tempdir().expect("a directory for temporary files");
    let store = ContentStore::open(data.path(), SMALL, UploadBounds::NONE).expect("the directory was just made");
    (data, store)
}

/// The files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            found.insert(name);
        }
    }
    found
}

fn stored(data: &TempDir) -> BTreeSet<String> {
    files(&data.path().join(FOLDER))
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place * 31 % 251) as u8).collect()
}

async fn upload(store: &ContentStore, bytes: &[u8], chunk: usize) -> NewContent {
    let mut upload = store.upload(&stet_base::limits::Reservation::unaccounted());
    for chunk in bytes.chunks(chunk) {
        upload.write(chunk).await.expect("the disk is well");
    }
    assert_eq!(upload.size(), bytes.len() as u64);
    upload.finish("image/png").await.expect("the disk is well")
}

#[tokio::test]
async fn a_content_comes_out_as_it_went_in_with_its_hash_and_size() {
    let (_data, store) = store();
    for (len, chunk) in [(SMALL + 1, 7), (70_000, 65_536), (1 << 20, 10_000), (600_000, 600_000)] {
        let bytes = bytes(len);
        let new = upload(&store, &bytes, chunk).await;
        assert_eq!((new.content.size, new.content.stored, new.small), (len as u64, ContentLocation::File, None));
        assert_eq!(new.content.sha256, <[u8; 32]>::from(Sha256::digest(&bytes)));
        assert_eq!(&*new.content.content_type, "image/png");
        let reader = store.open_content(&new.content).await.expect("it was just written");
        assert!(reader.read_all().await.expect("the disk is well") == bytes, "{len} bytes in chunks of {chunk}");
    }
}

#[tokio::test]
async fn a_content_of_the_bound_is_small_and_one_byte_more_is_a_file() {
    let (data, store) = store();
    for len in [0, 1, SMALL] {
        let bytes = bytes(len);
        let new = upload(&store, &bytes, 99).await;
        assert_eq!((new.content.size, new.content.stored), (len as u64, ContentLocation::Row));
        assert_eq!(new.content.sha256, <[u8; 32]>::from(Sha256::digest(&bytes)));
        assert_eq!(new.small, Some(Bytes::from(bytes)));
    }
    assert_eq!(stored(&data), BTreeSet::new());
    let new = upload(&store, &bytes(SMALL + 1), 99).await;
    assert_eq!((new.content.stored, new.small), (ContentLocation::File, None));
    let name = hex(&new.content.sha256);
    assert_eq!(stored(&data), BTreeSet::from([format!("{}/{}", &name[..2], &name[2..])]));
}

#[tokio::test]
async fn the_same_bytes_are_kept_once() {
    let (data, store) = store();
    let (one, other) = (upload(&store, &bytes(5000), 5000).await, upload(&store, &bytes(5000), 100).await);
    assert_eq!(one.content, other.content);
    assert_eq!(stored(&data).len(), 1);
    upload(&store, &bytes(5001), 5001).await;
    assert_eq!(stored(&data).len(), 2);
}

#[tokio::test]
async fn the_same_bytes_at_once_are_kept_once() {
    let (data, store) = store();
    let uploads = (0..16).map(|chunk| {
        let store = store.clone();
        tokio::spawn(async move { upload(&store, &bytes(400_000), 50_000 + chunk).await })
    });
    let uploads: Vec<_> = uploads.collect();
    let mut hashes = BTreeSet::new();
    for upload in uploads {
        hashes.insert(upload.await.expect("no upload fails").content.sha256);
    }
    assert_eq!((hashes.len(), stored(&data).len()), (1, 1));
}

#[tokio::test]
async fn an_upload_that_is_dropped_leaves_nothing() {
    let (data, store) = store();
    let mut upload = store.upload(&stet_base::limits::Reservation::unaccounted());
    upload.write(&bytes(700_000)).await.expect("the disk is well");
    assert_eq!(stored(&data).len(), 1);
    drop(upload);
    assert_eq!(stored(&data), BTreeSet::new());
}

#[test]
fn an_upload_whose_write_was_cut_off_is_refused_and_leaves_nothing() {
    // One thread for the disk, and it is busy: the write is under way for as long as that.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().expect("a runtime starts");
    runtime.block_on(async {
        let (data, store) = store();
        let mut upload = store.upload(&stet_base::limits::Reservation::unaccounted());
        let (free, busy) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || busy.recv());
        {
            let bytes = bytes(700_000);
            let mut write = std::pin::pin!(upload.write(&bytes));
            // Polled once, so that it is begun, and dropped.
            let begun = std::future::poll_fn(|context| std::task::Poll::Ready(write.as_mut().poll(context))).await;
            assert!(begun.is_pending());
        }
        free.send(()).expect("the disk's thread waits");
        let result = upload.finish("text/plain").await;
        assert_eq!(result.map(|_| ()).map_err(|error| error.code), Err(Code::RepositoryError));
        for _ in 0..500 {
            if stored(&data).is_empty() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{:?} is left", stored(&data));
    });
}

#[tokio::test]
async fn unfinished_uploads_of_the_last_run_are_removed_at_start() {
    let (data, store) = store();
    let kept = upload(&store, &bytes(5000), 5000).await;
    let leftover = data.path().join(FOLDER).join(UNFINISHED).join("upload-x");
    fs::write(&leftover, "half of it").expect("the folder is there");
    let store = ContentStore::open(data.path(), SMALL, UploadBounds::NONE).expect("the directory is well");
    assert!(!leftover.exists());
    assert!(store.open_content(&kept.content).await.is_ok());
}

#[tokio::test]
async fn missing_or_damaged_files_are_internal_errors_and_uploads_restore_them() {
    let (data, store) = store();
    let bytes = bytes(5000);
    let new = upload(&store, &bytes, 5000).await;
    let path = store.places.file(&new.content.sha256);
    for damage in ["", "cut"] {
        if damage.is_empty() {
            fs::remove_file(&path).expect("it is there");
        } else {
            fs::write(&path, damage).expect("it is there");
        }
        let error = store.open_content(&new.content).await.expect_err("it is damaged");
        assert_eq!(error.code, Code::RepositoryError);
        assert!(!error.message.contains(&*data.path().to_string_lossy()));
        upload(&store, &bytes, 5000).await;
        assert!(store.open_content(&new.content).await.is_ok());
    }
}

#[tokio::test]
async fn damaged_content_files_are_replaced_by_the_next_upload() {
    let (data, store) = store();
    let elsewhere = data.path().join("elsewhere");
    let bytes = bytes(200_000);
    let mut wrong = bytes.clone();
    wrong[150_000] ^= 1;
    let new = upload(&store, &bytes, 5000).await;
    let path = store.places.file(&new.content.sha256);
    for damage in [
        "a byte",
        "longer",
        "a link to other bytes",
        "a link to the same",
        "a link to nothing",
        "a folder",
        "full folder",
    ] {
        match damage {
            "a byte" => fs::write(&path, &wrong),
            "longer" => fs::write(&path, [&bytes[..], b"!"].concat()),
            _ => fs::remove_file(&path),
        }
        .expect("it is there");
        match damage {
            "a link to other bytes" => fs::write(&elsewhere, &wrong),
            "a link to the same" => fs::write(&elsewhere, &bytes),
            "a link to nothing" => fs::remove_file(&elsewhere),
            "a folder" | "full folder" => fs::create_dir(&path),
            _ => Ok(()),
        }
        .expect("the disk is well");
        match damage {
            "full folder" => fs::write(path.join("inside"), "kept").expect("the disk is well"),
            _ if damage.starts_with("a link") => {
                std::os::unix::fs::symlink(&elsewhere, &path).expect("the place is free")
            }
            _ => {}
        }
        assert!(damage == "a byte" || !store.is_there(&new.content), "{damage}");
        assert!(store.damage_of(&new.content.sha256).is_some(), "{damage}");
        if damage != "a byte" {
            assert!(store.open_content(&new.content).await.is_err(), "{damage}");
        }
        let again = upload(&store, &bytes, 5000).await;
        assert_eq!(again.content, new.content, "{damage}");
        assert_eq!(store.damage_of(&again.content.sha256), None, "{damage}");
        let read = store.open_content(&again.content).await.expect("it was just written").read_all().await;
        assert!(read.expect("the disk is well") == bytes, "{damage}");
    }
    assert_eq!(fs::read(path.with_extension("aside").join("inside")).expect("kept"), b"kept");
}

#[tokio::test]
async fn a_content_in_the_tables_is_not_looked_for_among_the_files() {
    let (_data, store) = store();
    let new = upload(&store, b"small", 5).await;
    assert!(store.open_content(&new.content).await.is_err());
}

async fn chunks(mut reader: ContentReader) -> Vec<Bytes> {
    let mut found = Vec::new();
    while let Some(chunk) = reader.next_chunk().await.expect("the disk is well") {
        found.push(chunk);
    }
    assert_eq!(reader.remaining(), 0);
    found
}

#[tokio::test]
async fn contents_are_read_in_chunks_whole_or_by_range_from_file_and_memory() {
    let (_data, store) = store();
    let bytes = bytes(200_000);
    let new = upload(&store, &bytes, 5000).await;
    for (offset, len) in [(0, u64::MAX), (1, 65_536), (65_535, 2), (199_999, 10), (200_000, 1), (u64::MAX, 1), (5, 0)] {
        let from = offset.min(200_000) as usize;
        let wanted = &bytes[from..from + len.min(200_000 - from as u64) as usize];
        let file = store.open_content(&new.content).await.expect("it was just written");
        let memory = ContentReader::of(Bytes::from(bytes.clone()));
        for reader in [file, memory] {
            let reader = reader.range(offset, len);
            assert_eq!(reader.remaining(), wanted.len() as u64);
            let chunks = chunks(reader).await;
            assert!(chunks.iter().all(|chunk| (1..=65_536).contains(&chunk.len())));
            assert!(chunks.concat() == wanted, "{len} bytes from {offset}");
        }
    }
}

#[tokio::test]
async fn a_range_of_a_range_counts_from_its_beginning() {
    let reader = ContentReader::of(Bytes::from_static(b"0123456789")).range(2, 6).range(1, 100);
    assert_eq!(reader.read_all().await, Ok(Bytes::from_static(b"34567")));
}

#[tokio::test]
async fn a_full_disk_is_told_from_other_failures() {
    let path = Path::new("content");
    let full = failure("written", path, &io::ErrorKind::StorageFull.into());
    for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
        assert_eq!(failure("opened", path, &errno.into()).code, Code::Overloaded);
    }
    let other = failure("written", path, &io::ErrorKind::PermissionDenied.into());
    assert_eq!((full.code, other.code), (Code::StorageFull, Code::RepositoryError));
}

#[tokio::test]
async fn uploads_of_callers_leave_the_reserve_and_are_so_many_at_a_time() {
    let data = tempfile::tempdir().expect("a directory for temporary files");
    let holder = |name: &str| Holder::User(name.into());
    let budget = MemoryBudget::new(1 << 30);
    let room = |name: &str| Arc::new(budget.reservation(Some(holder(name)), MemoryPurpose::Bodies));
    let (ann, bob) = (room("ann"), room("bob"));
    let spilled = bytes(1 << 20);
    let bounds = UploadBounds { reserve_bytes: 0, at_once: 4 };
    let store = ContentStore::open(data.path(), SMALL, bounds).expect("the directory was just made");
    let mut first = store.upload(&ann);
    first.write(&spilled).await.expect("there is a place");
    let mut second = store.upload(&ann);
    assert_eq!(second.write(&spilled).await.expect_err("a quarter is taken").code, Code::Overloaded);
    assert_eq!(second.write(&spilled).await.expect_err("it is lost").code, Code::RepositoryError);
    // Small ones lie in the tables, and take none.
    let mut small = store.upload(&ann);
    small.write(&bytes(SMALL)).await.expect("it is in memory");
    small.finish("image/png").await.expect("it is in memory");
    store.upload(&bob).write(&spilled).await.expect("another has a place");
    first.finish("image/png").await.expect("the disk is well");
    store.upload(&ann).write(&spilled).await.expect("the place is free again");

    let bounds = UploadBounds { reserve_bytes: u64::MAX, at_once: 4 };
    let store = ContentStore::open(data.path(), SMALL, bounds).expect("the directory is well");
    let mut refused = store.upload(&ann);
    assert_eq!(refused.write(&spilled).await.expect_err("all is reserved").code, Code::StorageFull);
    drop(refused);
    // The server's own are none of a caller's.
    let own = upload(&store, &spilled, 1 << 16).await;
    assert!(store.is_there(&own.content));
    assert!(stored(&data).iter().all(|path| !path.starts_with(UNFINISHED)), "something was left");
}
