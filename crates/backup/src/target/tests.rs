//! The target on a real folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::Sha256Hash;

/// A folder in which a target is, and the target.
fn target() -> (TempDir, BackupTarget) {
    let folder = tempfile::tempdir().unwrap();
    let target = BackupTarget::create(&address_of(&folder.path().join("target"))).unwrap();
    (folder, target)
}

fn address_of(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// All files below a folder, whatever they are called.
fn files_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Bytes that differ from place to place, so that parts in the wrong order are noticed.
fn bytes_of(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
}

#[tokio::test]
async fn objects_are_stored_listed_and_deleted() {
    let (_folder, target) = target();
    assert_eq!(target.get("a/b").await.unwrap(), None);
    assert_eq!(target.list("a").await.unwrap(), []);
    target.put("a/b", Bytes::from("one")).await.unwrap();
    target.put("a/b", Bytes::from("other")).await.unwrap();
    target.put("a/c/d", Bytes::new()).await.unwrap();
    target.put("a/b2", Bytes::from("x")).await.unwrap();
    target.put("ab", Bytes::from("beside")).await.unwrap();
    assert_eq!(target.get("a/b").await.unwrap(), Some(Bytes::from("other")));
    assert_eq!(target.get("a/c/d").await.unwrap(), Some(Bytes::new()));
    assert_eq!(target.get("a").await.unwrap(), None, "a folder is no object");
    assert!(target.exists("a/b").await.unwrap() && !target.exists("a/x").await.unwrap());
    let (b, b2, d) = (("a/b".to_owned(), 5), ("a/b2".to_owned(), 1), ("a/c/d".to_owned(), 0));
    assert_eq!(target.list("a").await.unwrap(), [b.clone(), b2.clone(), d.clone()]);
    assert_eq!(target.list_after("a", "a/b").await.unwrap(), [b2, d.clone()]);
    assert_eq!(target.list_after("a", "a/b3").await.unwrap(), [d], "one that does not exist");
    target.delete("a/b").await.unwrap();
    target.delete("a/b").await.unwrap();
    assert!(!target.exists("a/b").await.unwrap());
}

#[tokio::test]
async fn listings_are_in_the_order_of_names() {
    let (_folder, target) = target();
    for name in ["x/3", "x/1/z", "x/10", "x/2", "x/1-a", "x/1.a"] {
        target.put(name, Bytes::new()).await.unwrap();
    }
    let names: Vec<_> = target.list("x").await.unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["x/1-a", "x/1.a", "x/1/z", "x/10", "x/2", "x/3"]);
}

#[tokio::test]
async fn of_several_writers_one_creates_an_object() {
    let (folder, target) = target();
    let writers = (0..8_u8).map(|writer| {
        let target = target.clone();
        tokio::spawn(async move { target.put_new("lease", Bytes::from(vec![writer])).await.unwrap() })
    });
    let outcomes = futures_util::future::join_all(writers.collect::<Vec<_>>()).await;
    let winners: Vec<_> = (0..8_u8).zip(outcomes).filter(|(_, outcome)| *outcome.as_ref().unwrap()).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(target.get("lease").await.unwrap(), Some(Bytes::from(vec![winners[0].0])));
    assert_eq!(files_in(&folder.path().join("target")), ["lease"], "nothing stays behind");
}

#[tokio::test]
async fn files_of_any_size_are_stored_and_returned() {
    let (folder, target) = target();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let part = 8 << 20;
    let longest = bytes_of(2 * part + 70_000);
    for size in [0, 1, part - 1, part, part + 1, longest.len()] {
        let bytes = &longest[..size];
        let hash = Sha256Hash::of(bytes);
        let expected = Some(&hash).filter(|_| size != 1);
        fs::write(&source, bytes).unwrap();
        assert_eq!(target.put_file("contents/ab/file", &source, expected).await.unwrap(), size as u64);
        assert!(target.get("contents/ab/file").await.unwrap().unwrap() == bytes, "{size} bytes in the target");
        assert_eq!(target.get_to_file("contents/ab/file", &copy, expected).await.unwrap(), size as u64);
        assert!(fs::read(&copy).unwrap() == bytes, "{size} bytes in the copy");
    }
    assert_eq!(files_in(folder.path()), ["copy", "source", "target/contents/ab/file"]);
}

/// Checks that neither side has anything of a file whose bytes are wrong, small or large.
#[tokio::test]
async fn a_file_with_other_bytes_is_damaged_and_not_visible() {
    let (folder, target) = target();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let wrong = Sha256Hash([1; 32]);
    for size in [10, 9 << 20] {
        fs::write(&source, bytes_of(size)).unwrap();
        let refused = target.put_file("name", &source, Some(&wrong)).await;
        assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
        assert_eq!(files_in(folder.path()), ["source"]);
        target.put_file("name", &source, None).await.unwrap();
        let refused = target.get_to_file("name", &copy, Some(&wrong)).await;
        assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
        assert_eq!(files_in(folder.path()), ["source", "target/name"]);
        target.delete("name").await.unwrap();
    }
}

#[tokio::test]
async fn a_missing_file_or_object_is_named() {
    let (folder, target) = target();
    let missing = folder.path().join("missing");
    let refused = target.put_file("name", &missing, None).await;
    assert!(matches!(&refused, Err(BackupError::LocalFile(text)) if text.contains("missing")), "{refused:?}");
    assert_eq!(target.get_to_file("name", &missing, None).await, Err(BackupError::NotFound("name".to_owned())));
    target.put("name", Bytes::from("x")).await.unwrap();
    let nowhere = target.get_to_file("name", &missing.join("file"), None).await;
    assert!(matches!(nowhere, Err(BackupError::LocalFile(_))), "{nowhere:?}");
}

/// Leaves a file like that of a killed writer.
#[tokio::test]
async fn unfinished_objects_are_not_visible_and_can_be_removed() {
    let (folder, target) = target();
    let root = folder.path().join("target");
    target.put("contents/ab/file", Bytes::from("whole")).await.unwrap();
    fs::create_dir_all(root.join("foreign")).unwrap();
    for name in ["contents/ab/file#1", "contents/ab/other#12", "stet-backup.json#1", "foreign/file#1", "contents/x#y"] {
        fs::write(root.join(name), "half").unwrap();
    }
    assert_eq!(target.get("contents/ab/file").await.unwrap(), Some(Bytes::from("whole")));
    assert!(!target.exists("contents/ab/other").await.unwrap());
    assert_eq!(target.list("contents/ab").await.unwrap(), [("contents/ab/file".to_owned(), 5)]);
    target.put("contents/ab/other", Bytes::from("x")).await.unwrap();
    assert_eq!(target.remove_unfinished().await.unwrap(), 3);
    assert_eq!(files_in(&root), ["contents/ab/file", "contents/ab/other", "contents/x#y", "foreign/file#1"]);
}

#[tokio::test]
async fn names_of_other_forms_are_refused() {
    let (folder, target) = target();
    let long = "a".repeat(MAX_NAME + 1);
    for name in ["", "/a", "a/", "a//b", "../a", "a/../b", ".", "A", "a#1", "a b", "a%20", "ä", "a\0", &long] {
        for outcome in [
            target.put(name, Bytes::new()).await,
            target.get(name).await.map(drop),
            target.list(name).await.map(drop),
            target.delete(name).await,
            target.get_to_file(name, &folder.path().join("file"), None).await.map(drop),
        ] {
            assert!(matches!(outcome, Err(BackupError::Refused(_))), "`{name}`: {outcome:?}");
        }
    }
    assert_eq!(files_in(folder.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_folder_in_place_of_an_object_is_refused() {
    let (_folder, target) = target();
    target.put("a/b", Bytes::new()).await.unwrap();
    let refused = target.put("a", Bytes::new()).await;
    assert!(matches!(refused, Err(BackupError::Refused(_))), "{refused:?}");
    let refused = target.put("a/b/c", Bytes::new()).await;
    assert!(matches!(refused, Err(BackupError::Refused(_))), "{refused:?}");
}

/// Checks that an object that would fill the memory is not read, and that none is written that
/// could not be read. The bytes are zeros that no memory is used for.
#[tokio::test]
async fn an_object_beyond_the_bound_is_neither_read_nor_written() {
    let (folder, target) = target();
    let file = fs::File::create(folder.path().join("target/large")).unwrap();
    file.set_len(MAX_OBJECT_BYTES + 1).unwrap();
    let refused = target.get("large").await;
    assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
    let bytes = Bytes::from(vec![0; MAX_OBJECT_BYTES as usize + 1]);
    for refused in [target.put("other", bytes.clone()).await, target.put_new("other", bytes).await.map(drop)] {
        assert!(matches!(refused, Err(BackupError::Refused(_))), "{refused:?}");
    }
    assert!(!target.exists("other").await.unwrap());
}

/// Checks that a file can't be put together from parts of two objects.
#[tokio::test]
async fn an_object_that_was_replaced_between_two_parts_is_noticed() {
    let (_folder, target) = target();
    target.put("name", Bytes::from("first")).await.unwrap();
    let path = path_of("name").unwrap();
    let tag = target.store.head(&path).await.unwrap().e_tag;
    assert_eq!(target.get_part("name", &path, 0..2, tag.clone()).await.unwrap(), Bytes::from("fi"));
    target.put("name", Bytes::from("second")).await.unwrap();
    let refused = target.get_part("name", &path, 2..4, tag).await;
    assert!(matches!(refused, Err(BackupError::Unreachable(_))), "{refused:?}");
}

/// Puts another folder in place of the target, as when a disk is unmounted, and takes it away.
#[tokio::test]
async fn a_target_that_was_replaced_is_unreachable() {
    let (folder, target) = target();
    target.put("name", Bytes::from("x")).await.unwrap();
    let (root, aside) = (folder.path().join("target"), folder.path().join("aside"));
    fs::rename(&root, &aside).unwrap();
    for replaced in [false, true] {
        if replaced {
            fs::create_dir(&root).unwrap();
        }
        for outcome in [
            target.put("other", Bytes::new()).await,
            target.put_new("other", Bytes::new()).await.map(drop),
            target.get("name").await.map(drop),
            target.exists("name").await.map(drop),
            target.list("name").await.map(drop),
            target.list_after("name", "name").await.map(drop),
            target.delete("name").await,
            target.put_file("other", &aside.join("name"), None).await.map(drop),
            target.get_to_file("name", &folder.path().join("copy"), None).await.map(drop),
            target.remove_unfinished().await.map(drop),
        ] {
            assert!(matches!(outcome, Err(BackupError::Unreachable(_))), "{outcome:?}");
        }
    }
    assert_eq!(files_in(folder.path()), ["aside/name"]);
    fs::remove_dir(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    assert!(target.exists("name").await.unwrap(), "the right folder is back");
}

#[test]
fn a_missing_folder_is_created_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    BackupTarget::create(&address_of(&folder.path().join("a/b"))).unwrap();
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    fs::set_permissions(folder.path().join("a/b"), fs::Permissions::from_mode(0o750)).unwrap();
    let target = BackupTarget::create(&address_of(&folder.path().join("a/b"))).unwrap();
    assert_eq!(mode("a/b"), 0o750, "the mode of an existing folder is its owner's choice");
    assert_eq!(target.to_string(), target.address());
    BackupTarget::create(&address_of(&folder.path().join("with%20space"))).unwrap();
    assert_eq!(mode("with space"), 0o700);
}

#[test]
fn other_addresses_are_refused_with_the_allowed_form() {
    for address in [
        "",
        "/srv/backup",
        "srv/backup",
        "file:/srv/backup",
        "file://srv/backup",
        "file://",
        "file:///",
        "file:///srv/backup?x",
        "file:///srv/backup#x",
        "s3://bucket/prefix",
        "https://example.com/",
    ] {
        let error = BackupTarget::create(address).unwrap_err();
        let BackupError::Refused(text) = &error else { panic!("`{address}`: {error:?}") };
        assert!(text.contains(&format!("`{address}`")) && text.contains("`file:///srv/backup`"), "{text}");
    }
}

#[test]
fn a_file_in_place_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    for path in ["file", "file/below"] {
        let refused = BackupTarget::create(&address_of(&folder.path().join(path)));
        assert!(matches!(refused, Err(BackupError::Refused(_))), "{path}: {refused:?}");
    }
}

#[test]
fn a_folder_that_is_missing_is_created_only_on_purpose() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let error = BackupTarget::open(&address_of(&path)).unwrap_err();
    assert!(matches!(error, BackupError::Unreachable(_)), "{error}");
    assert!(!folder.path().join("a").exists());
    BackupTarget::create(&address_of(&path)).unwrap();
    BackupTarget::open(&address_of(&path)).unwrap();
}
