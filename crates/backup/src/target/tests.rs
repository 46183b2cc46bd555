//! Targets on a real folder, and on an S3 server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::testing::{KEY_ID, S3Server, SECRET_KEY, ServerFault};
use super::*;
use crate::Sha256Hash;

/// A folder in which a target is, and the target.
fn target() -> (TempDir, BackupTarget) {
    let folder = tempfile::tempdir().unwrap();
    let target = create(&address_of(&folder.path().join("target"))).unwrap();
    (folder, target)
}

fn create(address: &str) -> BackupResult<BackupTarget> {
    BackupTarget::create(address, &S3Settings::default())
}

/// A target of either kind, with a folder for files beside it.
struct TestPlace {
    folder: TempDir,
    target: BackupTarget,
    server: Option<S3Server>,
}

impl TestPlace {
    fn of_each_kind() -> [TestPlace; 2] {
        let (folder, target) = target();
        let server = S3Server::start();
        let bucket = server.open("s3://bucket/some/prefix").unwrap();
        let beside = tempfile::tempdir().unwrap();
        [TestPlace { folder, target, server: None }, TestPlace { folder: beside, target: bucket, server: Some(server) }]
    }

    /// Everything that the target has.
    fn objects(&self) -> Vec<String> {
        let Some(server) = &self.server else { return files_in(&self.folder.path().join("target")) };
        assert_eq!(server.uploads(), 0, "no upload stays behind");
        server.keys().iter().map(|key| key.strip_prefix("some/prefix/").unwrap().to_owned()).collect()
    }

    /// All files beside the target.
    fn files(&self) -> Vec<String> {
        files_in(self.folder.path()).into_iter().filter(|file| !file.starts_with("target/")).collect()
    }
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
    for place in TestPlace::of_each_kind() {
        let target = &place.target;
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
}

#[tokio::test]
async fn listings_are_in_the_order_of_names() {
    for place in TestPlace::of_each_kind() {
        let target = &place.target;
        for name in ["x/3", "x/1/z", "x/10", "x/2", "x/1-a", "x/1.a"] {
            target.put(name, Bytes::new()).await.unwrap();
        }
        let names: Vec<_> = target.list("x").await.unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["x/1-a", "x/1.a", "x/1/z", "x/10", "x/2", "x/3"]);
    }
}

#[tokio::test]
async fn of_several_writers_one_creates_an_object() {
    for place in TestPlace::of_each_kind() {
        let target = &place.target;
        let writers = (0..8_u8).map(|writer| {
            let target = target.clone();
            tokio::spawn(async move { target.put_new("lease", Bytes::from(vec![writer])).await.unwrap() })
        });
        let outcomes = futures_util::future::join_all(writers.collect::<Vec<_>>()).await;
        let winners: Vec<_> = (0..8_u8).zip(outcomes).filter(|(_, outcome)| *outcome.as_ref().unwrap()).collect();
        assert_eq!(winners.len(), 1);
        assert_eq!(target.get("lease").await.unwrap(), Some(Bytes::from(vec![winners[0].0])));
        assert_eq!(place.objects(), ["lease"], "nothing stays behind");
    }
}

#[tokio::test]
async fn files_of_any_size_are_stored_and_returned() {
    for place in TestPlace::of_each_kind() {
        let (folder, target) = (&place.folder, &place.target);
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
        assert_eq!(place.files(), ["copy", "source"]);
        assert_eq!(place.objects(), ["contents/ab/file"]);
    }
}

/// Checks that neither side has anything of a file whose bytes are wrong, small or large.
#[tokio::test]
async fn a_file_with_other_bytes_is_damaged_and_not_visible() {
    for place in TestPlace::of_each_kind() {
        let (folder, target) = (&place.folder, &place.target);
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        let wrong = Sha256Hash([1; 32]);
        for size in [10, 9 << 20] {
            fs::write(&source, bytes_of(size)).unwrap();
            let refused = target.put_file("name", &source, Some(&wrong)).await;
            assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
            assert_eq!((place.files(), place.objects()), (vec!["source".to_owned()], Vec::new()));
            target.put_file("name", &source, None).await.unwrap();
            let refused = target.get_to_file("name", &copy, Some(&wrong)).await;
            assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
            assert_eq!(place.files(), ["source"]);
            target.delete("name").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_missing_file_or_object_is_named() {
    for place in TestPlace::of_each_kind() {
        let (folder, target) = (&place.folder, &place.target);
        let missing = folder.path().join("missing");
        let refused = target.put_file("name", &missing, None).await;
        assert!(matches!(&refused, Err(BackupError::LocalFile(text)) if text.contains("missing")), "{refused:?}");
        assert_eq!(target.get_to_file("name", &missing, None).await, Err(BackupError::NotFound("name".to_owned())));
        target.put("name", Bytes::from("x")).await.unwrap();
        let nowhere = target.get_to_file("name", &missing.join("file"), None).await;
        assert!(matches!(nowhere, Err(BackupError::LocalFile(_))), "{nowhere:?}");
    }
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
    for place in TestPlace::of_each_kind() {
        let (folder, target) = (&place.folder, &place.target);
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
        assert_eq!((place.files(), place.objects()), (Vec::new(), Vec::new()));
    }
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
    for place in TestPlace::of_each_kind() {
        let target = &place.target;
        target.put("name", Bytes::from("first")).await.unwrap();
        let path = path_of("name").unwrap();
        let tag = target.store.head(&path).await.unwrap().e_tag;
        assert_eq!(target.get_part("name", &path, 0..2, tag.clone()).await.unwrap(), Bytes::from("fi"));
        target.put("name", Bytes::from("second")).await.unwrap();
        let refused = target.get_part("name", &path, 2..4, tag).await;
        assert!(matches!(refused, Err(BackupError::Unreachable(_))), "{refused:?}");
    }
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
    create(&address_of(&folder.path().join("a/b"))).unwrap();
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    fs::set_permissions(folder.path().join("a/b"), fs::Permissions::from_mode(0o750)).unwrap();
    let target = create(&address_of(&folder.path().join("a/b"))).unwrap();
    assert_eq!(mode("a/b"), 0o750, "the mode of an existing folder is its owner's choice");
    assert_eq!(target.to_string(), target.address());
    create(&address_of(&folder.path().join("with%20space"))).unwrap();
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
        "https://example.com/",
    ] {
        let error = create(address).unwrap_err();
        let BackupError::Refused(text) = &error else { panic!("`{address}`: {error:?}") };
        assert!(text.contains(&format!("`{address}`")) && text.contains("`file:///srv/backup`"), "{text}");
    }
}

#[test]
fn a_file_in_place_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    for path in ["file", "file/below"] {
        let refused = create(&address_of(&folder.path().join(path)));
        assert!(matches!(refused, Err(BackupError::Refused(_))), "{path}: {refused:?}");
    }
}

#[test]
fn a_folder_that_is_missing_is_created_only_on_purpose() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let error = BackupTarget::open(&address_of(&path), &S3Settings::default()).unwrap_err();
    assert!(matches!(error, BackupError::Unreachable(_)), "{error}");
    assert!(!folder.path().join("a").exists());
    create(&address_of(&path)).unwrap();
    BackupTarget::open(&address_of(&path), &S3Settings::default()).unwrap();
}

/// The names and outcomes of a probe.
async fn probed(target: &BackupTarget) -> Vec<(&'static str, ProbeOutcome)> {
    target.probe().await.into_iter().map(|step| (step.name, step.outcome)).collect()
}

#[tokio::test]
async fn a_probe_tries_everything_and_leaves_nothing() {
    for place in TestPlace::of_each_kind() {
        place.target.put("stet-backup.json", Bytes::from("there before")).await.unwrap();
        let steps = probed(&place.target).await;
        assert_eq!(steps.len(), 8);
        assert!(steps.iter().all(|(_, outcome)| *outcome == ProbeOutcome::Works), "{steps:?}");
        assert_eq!(place.objects(), ["stet-backup.json"]);
        let root = place.folder.path().join("target");
        let left = if place.server.is_none() { fs::read_dir(root).unwrap().count() } else { 1 };
        assert_eq!(left, 1, "no empty folder stays");
    }
}

#[tokio::test]
async fn a_probe_names_what_does_not_work() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    server.fail(ServerFault::RefusesConditions(501, "NotImplemented"), u32::MAX);
    let steps = probed(&target).await;
    let missing: Vec<_> = steps.iter().filter(|(_, outcome)| *outcome != ProbeOutcome::Works).collect();
    assert!(matches!(missing[..], [("conditional put", ProbeOutcome::Missing(_))]), "{steps:?}");
    server.fail(ServerFault::Answers(403, "AccessDenied"), u32::MAX);
    let steps = probed(&target).await;
    assert!(steps.iter().all(|(_, outcome)| matches!(outcome, ProbeOutcome::Failed(_))), "{steps:?}");
    assert_eq!((server.keys(), server.uploads()), (vec![], 0));
}

#[tokio::test]
async fn an_object_of_several_parts_is_read_part_by_part() {
    let server = S3Server::start();
    let target = server.open("s3://bucket/p").unwrap();
    let bytes = bytes_of(2 * PART + 5);
    server.put("p/large", bytes.clone());
    assert!(target.get("large").await.unwrap().unwrap() == bytes);
    let reads = server.requests().iter().filter(|request| request.starts_with("GET /bucket/p/large")).count();
    assert_eq!(reads, 4, "the size is known after the first");
}

/// Servers without conditional puts get along without, and none of them overwrites an object.
#[tokio::test]
async fn conditional_puts_have_a_substitute() {
    use ServerFault::{IgnoresConditions, RefusesConditions};
    for fault in [RefusesConditions(501, ""), RefusesConditions(400, "InvalidArgument"), IgnoresConditions] {
        let server = S3Server::start();
        server.fail(fault, u32::MAX);
        let target = server.open("s3://bucket").unwrap();
        server.put("there", b"foreign".to_vec());
        for name in ["one", "two"] {
            assert!(!target.put_new("there", Bytes::from("own")).await.unwrap(), "{fault:?}");
            assert!(target.put_new(name, Bytes::from("own")).await.unwrap(), "{fault:?}");
            assert!(!target.put_new(name, Bytes::from("other")).await.unwrap(), "{fault:?}");
            assert_eq!(server.object(name).unwrap(), b"own");
        }
        assert_eq!(server.object("there").unwrap(), b"foreign");
        // It is known by now: no request has the condition any more.
        server.fail(RefusesConditions(403, "AccessDenied"), u32::MAX);
        assert!(target.put_new("three", Bytes::from("own")).await.unwrap(), "{fault:?}");
    }
}

/// A refusal for another reason is no lack of conditional puts.
#[tokio::test]
async fn a_refused_put_is_not_repeated_without_its_condition() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    for (status, code) in [(403, "AccessDenied"), (400, "ExpiredToken"), (503, "SlowDown")] {
        server.fail(ServerFault::RefusesConditions(status, code), u32::MAX);
        assert!(target.put_new("name", Bytes::from("x")).await.is_err());
        assert_eq!(server.object("name"), None);
    }
    server.recover();
    assert!(target.put_new("name", Bytes::from("x")).await.unwrap());
}

/// The server carries a put out and says that it has failed, so the library repeats it.
#[tokio::test]
async fn a_new_object_that_is_stored_twice_counts_as_new() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    assert!(target.put_new("first", Bytes::from("x")).await.unwrap());
    server.fail(ServerFault::AnswersAfterwards(500, "InternalError"), 1);
    assert!(target.put_new("name", Bytes::from("x")).await.unwrap());
    assert!(!target.put_new("name", Bytes::from("y")).await.unwrap());
    assert_eq!(server.object("name").unwrap(), b"x");
}

#[tokio::test]
async fn faults_that_pass_are_repeated_a_few_times() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    target.put("name", Bytes::from("x")).await.unwrap();
    server.requests();
    for fault in [ServerFault::Answers(503, "SlowDown"), ServerFault::CutsConnections] {
        server.fail(fault, 2);
        target.put("name", Bytes::from("y")).await.unwrap();
        assert_eq!(server.requests().len(), 3);
        server.fail(fault, u32::MAX);
        for outcome in [
            target.put("name", Bytes::new()).await,
            target.put_new("other", Bytes::new()).await.map(drop),
            target.get("name").await.map(drop),
            target.exists("name").await.map(drop),
            target.list("a").await.map(drop),
            target.delete("name").await,
        ] {
            assert!(matches!(outcome, Err(BackupError::Unreachable(_))), "{fault:?}: {outcome:?}");
        }
        assert!(server.requests().len() <= 6 * 3, "{fault:?}");
        assert!(matches!(server.open("s3://bucket"), Err(BackupError::Unreachable(_))));
        server.recover();
        server.requests();
    }
    assert_eq!(target.get("name").await.unwrap(), Some(Bytes::from("y")));
}

/// A server that does not answer costs the time of its limit, and the caller learns why.
#[tokio::test]
async fn a_silent_server_is_unreachable() {
    let server = S3Server::start();
    let target = server.open_patiently("s3://bucket", Duration::from_millis(500)).unwrap();
    server.fail(ServerFault::Silent, u32::MAX);
    let outcome = target.get("name").await;
    assert!(matches!(&outcome, Err(BackupError::Unreachable(text)) if text.contains("too long")), "{outcome:?}");
    let nobody = S3Settings { endpoint: Some("http://127.0.0.1:9".to_owned()), ..server.settings() };
    let outcome = BackupTarget::open("s3://bucket", &nobody);
    assert!(matches!(&outcome, Err(BackupError::Unreachable(text)) if text.contains(":9`")), "{outcome:?}");
}

/// Checks that nothing of a body that is cut off, too short or changed is taken for the object.
#[tokio::test]
async fn bodies_that_are_not_whole_are_noticed() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    let (source, copy) = (server.folder().join("source"), server.folder().join("copy"));
    let bytes = bytes_of(PART + 70_000);
    let hash = Sha256Hash::of(&bytes);
    fs::write(&source, &bytes).unwrap();
    target.put_file("large", &source, Some(&hash)).await.unwrap();
    target.put("small", Bytes::from("abcdefgh")).await.unwrap();
    server.fail(ServerFault::CutsBodies, 1);
    assert_eq!(target.get("small").await.unwrap(), Some(Bytes::from("abcdefgh")), "the rest is asked for");
    for fault in [ServerFault::CutsBodies, ServerFault::ShortensBodies, ServerFault::AltersBodies] {
        server.fail(fault, u32::MAX);
        let refused = target.get_to_file("large", &copy, Some(&hash)).await;
        let is_noticed = match fault {
            ServerFault::AltersBodies => matches!(refused, Err(BackupError::Damaged { .. })),
            _ => matches!(refused, Err(BackupError::Unreachable(_))),
        };
        assert!(is_noticed && !copy.exists(), "{fault:?}: {refused:?}");
    }
    server.fail(ServerFault::CutsBodies, u32::MAX);
    let refused = target.get("small").await;
    assert!(matches!(refused, Err(BackupError::Unreachable(_))), "{refused:?}");
}

/// An upload that fails on the way is aborted, and a lost one says nothing about the file.
#[tokio::test]
async fn a_failed_upload_leaves_nothing_behind() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    let source = server.folder().join("source");
    fs::write(&source, bytes_of(PART + 1)).unwrap();
    let wrong = Sha256Hash([1; 32]);
    assert!(matches!(target.put_file("name", &source, Some(&wrong)).await, Err(BackupError::Damaged { .. })));
    assert_eq!((server.keys(), server.uploads()), (vec![], 0));
    server.fail(ServerFault::Answers(404, "NoSuchUpload"), 1);
    let outcome = target.put_file("name", &source, None).await;
    assert!(matches!(outcome, Err(BackupError::Unreachable(_))), "{outcome:?}");
}

#[tokio::test]
async fn wrong_credentials_and_missing_buckets_are_named_and_no_secret_is() {
    let server = S3Server::start();
    for (address, key_id, wanted) in [
        ("s3://bucket", "key-of-others", "AWS_ACCESS_KEY_ID"),
        ("s3://missing", KEY_ID, "There is no such bucket"),
        ("s3://missing/prefix", KEY_ID, "There is no such bucket"),
    ] {
        let error = server.open_as(address, SECRET_KEY, key_id).unwrap_err();
        let BackupError::Refused(text) = &error else { panic!("{error:?}") };
        assert!(text.contains(wanted) && text.contains("http://127.0.0.1"), "{text}");
        assert!(!text.contains(SECRET_KEY) && !text.contains(key_id), "{text}");
    }
    let target = server.open("s3://bucket/p").unwrap();
    let shown = format!("{target:?} {target}");
    assert!(shown.contains("s3://bucket/p") && !shown.contains(KEY_ID) && !shown.contains(SECRET_KEY), "{shown}");
    // A bucket that is deleted meanwhile is no empty one.
    server.fail(ServerFault::Answers(404, "NoSuchBucket"), u32::MAX);
    assert!(matches!(target.get("name").await, Err(BackupError::Refused(_))));
    server.fail(ServerFault::Answers(400, "ExpiredToken"), u32::MAX);
    assert!(matches!(target.get("name").await, Err(BackupError::Unreachable(_))));
    server.fail(ServerFault::Answers(507, "XMinioStorageFull"), u32::MAX);
    assert!(matches!(target.put("name", Bytes::new()).await, Err(BackupError::Full(_))));
}

/// The service and a base use a target from runtimes that stand still in between.
#[test]
fn a_runtime_that_stands_still_holds_up_no_other() {
    let server = S3Server::start();
    let target = server.open("s3://bucket").unwrap();
    let runtimes = [(); 2].map(|()| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    for round in 0..3 {
        for runtime in &runtimes {
            let name = format!("round-{round}");
            runtime.block_on(target.put(&name, Bytes::from("x"))).unwrap();
            assert!(runtime.block_on(target.exists(&name)).unwrap());
        }
    }
}

#[test]
fn other_addresses_of_buckets_and_servers_are_refused() {
    let server = S3Server::start();
    for address in [
        "s3://",
        "s3://b",
        "s3://Bucket",
        "s3://bucket/",
        "s3://bucket//x",
        "s3://bucket/../x",
        "s3://bucket/a?b",
        "s3://-bucket",
    ] {
        let error = server.open(address).unwrap_err();
        assert!(
            matches!(&error, BackupError::Refused(text) if text.contains("`s3://bucket/stet`")),
            "{address}: {error}"
        );
    }
    for endpoint in ["", "s3.example.com", "ftp://s3", "http://user:hidden@s3", "https://s3?x"] {
        let settings = S3Settings { endpoint: Some(endpoint.to_owned()), ..server.settings() };
        let error = BackupTarget::open("s3://bucket", &settings).unwrap_err();
        assert!(matches!(&error, BackupError::Refused(text) if text.contains("s3_endpoint")), "{endpoint}: {error}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
