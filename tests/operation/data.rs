//! Data directories: in use, damaged, from a newer stet, and what `stet check` says of them.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use super::*;

#[test]
fn a_data_directory_in_use_is_refused_to_server_and_check() {
    let server = Server::start();
    let data = path(server.data());
    for command in [stet(&["--data", data, "--listen", "127.0.0.1:0"]), stet(&["check", "--data", data])] {
        let ended = run(command);
        // Unlike faults that would remain at another start: a service manager may retry.
        assert_eq!(ended.code, Some(6), "{}", ended.err);
        assert!(ended.err.contains(data) && ended.err.contains("in use"), "{}", ended.err);
    }
    let ended = check(server.data());
    for instead in ["snapshot", "stet doctor", "/readyz"] {
        assert!(ended.err.contains(instead), "it says what to do instead: {}", ended.err);
    }
    // It has taken no harm.
    server.login("editor").get("/v3/folder/home").ok();
}

#[test]
fn a_data_directory_that_cannot_be_made_is_refused() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let file = home.path().join("file");
    std::fs::write(&file, "").expect("a file can be written");
    for data in [file.clone(), file.join("below")] {
        let ended = run(stet(&["--data", path(&data), "--listen", "127.0.0.1:0"]));
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains(path(&data)), "{}", ended.err);
    }
    // Some said "Not a directory (os error 20)", with another code.
    for command in [
        &["serve"] as &[&str],
        &["check"],
        &["recover"],
        &["audit"],
        &["user", "list"],
        &["group", "list"],
        &["key", "list"],
        &["session", "list"],
        &["export", "/tmp/none"],
        &["import", "/tmp"],
        &["config", "check"],
        &["config", "apply", "/tmp"],
    ] {
        let ended = run(stet(&[command, &["--data", path(&file)]].concat()));
        assert_eq!(ended.code, Some(3), "{command:?}: {}", ended.err);
        assert!(ended.err.contains("is a file, and must be a directory"), "{command:?}: {}", ended.err);
        let below = run(stet(&[command, &["--data", path(&file.join("below"))]].concat()));
        assert_eq!(below.code, Some(3), "{command:?}: {}", below.err);
    }
}

/// Regression test: a user who may not enter a directory was told that it is no stet directory.
/// They searched for a lost newsroom.
#[test]
fn unreadable_data_directories_are_reported_with_the_user_to_run_as() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let server = Server::start();
    // The rights that a directory has outside tests.
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(server.data(), closed).expect("rights can be set");
    for command in ["check", "audit"] {
        let mut stranger = stet(&[command, "--data", path(server.data())]);
        stranger.uid(65_534).gid(65_534);
        let ended = run(stranger);
        assert_eq!(ended.code, Some(3), "{command}: {}", ended.err);
        assert!(ended.err.contains("run this as the server's user"), "{command}: {}", ended.err);
    }
}

/// The command, with the rights of files held against it though the tests be run by root.
fn without_power(command: &Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        return started_by(Command::new("env"), command);
    }
    let mut setpriv = Command::new("setpriv");
    setpriv.arg("--bounding-set=-dac_override,-dac_read_search");
    started_by(setpriv, command)
}

#[test]
fn a_data_directory_without_rights_is_refused_with_what_is_missing() {
    let set = |path: &Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("rights can be set");
    };
    let home = TempDir::new().expect("a temporary directory can be made");
    let used = used_directory();
    let new = home.path().join("new");
    std::fs::create_dir(&new).expect("a directory can be made");
    for (data, at_fault, mode) in [
        (new.clone(), new.clone(), 0o500),
        (new.join("below"), new.clone(), 0o500),
        (used.path().to_owned(), used.path().to_owned(), 0),
        (used.path().to_owned(), used.path().join("state.redb"), 0o400),
        (used.path().to_owned(), used.path().join("journal.wal"), 0),
    ] {
        set(&at_fault, mode);
        let ended = run(without_power(&stet(&["--data", path(&data), "--listen", "127.0.0.1:0"])));
        set(&at_fault, 0o700);
        assert_eq!(ended.code, Some(3), "{}: {}", at_fault.display(), ended.err);
        let last = ended.err.lines().last().unwrap_or_default();
        assert!(
            last.contains(path(&data)) && last.contains("Permission denied"),
            "{}: {}",
            at_fault.display(),
            ended.err
        );
    }
    assert_eq!(std::fs::read_dir(&new).expect("it can be read").count(), 0, "nothing was made");
    assert_eq!(check(used.path()).code, Some(0));
}

#[test]
fn check_finds_nothing_wrong_with_a_sound_directory_and_can_be_repeated() {
    let data = used_directory();
    let first = check(data.path());
    assert_eq!(first.code, Some(0), "{}{}", first.out, first.err);
    assert!(first.out.ends_with("\n0 faults\n"), "{}", first.out);
    let objects = first.out.lines().find(|line| line.starts_with("objects/")).expect("it tells of the objects");
    let count = objects.split_whitespace().last().and_then(|count| count.parse::<u64>().ok());
    assert!(count.is_some_and(|count| count > 100), "the sample is there: {objects}");
    let again = check(data.path());
    assert_eq!((again.code, again.out), (Some(0), first.out));
}

#[test]
fn check_of_what_is_no_data_directory_makes_none() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let nowhere = home.path().join("nowhere");
    for data in [&nowhere, &home.path().to_owned()] {
        let ended = check(data);
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains(path(data)), "{}", ended.err);
    }
    assert_eq!(std::fs::read_dir(home.path()).expect("it can be read").count(), 0);
}

#[test]
fn a_directory_after_a_crash_is_sound() {
    let mut server = Server::filling(&[]);
    let client = server.login("editor");
    let folder = own_folder();
    client.drawer(&folder, "a", 3);
    client.story(&folder, "b.xml");
    server.kill();
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

fn files(data: &Path) -> [PathBuf; 2] {
    ["state.redb", "journal.wal"].map(|name| data.join(name))
}

#[test]
fn a_damaged_file_is_refused_with_its_directory_named() {
    let data = used_directory();
    for file in files(data.path()) {
        let sound = std::fs::read(&file).expect("the file can be read");
        let mut headless = sound.clone();
        headless[..64].fill(0xAA);
        for damaged in [headless, sound[..sound.len() / 2].to_vec(), b"this is no database".to_vec()] {
            std::fs::write(&file, &damaged).expect("the file can be written");
            for command in [
                stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]),
                stet(&["check", "--data", path(data.path())]),
            ] {
                let ended = run(command);
                assert_eq!(
                    ended.code,
                    Some(3),
                    "{} of {} bytes: {}{}",
                    file.display(),
                    damaged.len(),
                    ended.out,
                    ended.err
                );
                let said = ended.err.lines().any(|line| line.starts_with("stet: ") && line.contains(path(data.path())));
                assert!(said && !ended.err.contains("panicked"), "{}", ended.err);
            }
            assert!(std::fs::read(&file).expect("the file can be read") == damaged, "it was changed");
        }
        std::fs::write(&file, &sound).expect("the file can be written");
    }
    assert_eq!(check(data.path()).code, Some(0), "the sound files are taken again");
}

#[test]
fn damage_inside_a_file_is_told_and_not_a_crash() {
    let data = used_directory();
    let [state, _] = files(data.path());
    let sound = std::fs::read(&state).expect("the file can be read");
    for from in [4096, 8192, sound.len() / 2, sound.len() - 8192] {
        let mut damaged = sound.clone();
        damaged[from..].fill(0xAA);
        std::fs::write(&state, &damaged).expect("the file can be written");
        let ended = check(data.path());
        // The check fails or finds a fault, unless the damaged place was empty.
        let told = matches!(ended.code, Some(3 | 4)) && ended.err.lines().any(|line| line.starts_with("stet: "));
        assert!(told || (from > 8192 && ended.code == Some(0)), "from {from}: {:?} {}", ended.code, ended.err);
    }
}

#[test]
fn a_file_of_a_newer_stet_is_refused() {
    let data = used_directory();
    for file in files(data.path()) {
        let sound = std::fs::read(&file).expect("the file can be read");
        if file.extension().is_some_and(|extension| extension == "wal") {
            // The head: a magic of eight bytes, the format, sixteen bytes of salt, and a checksum
            // of it all.
            let mut newer = sound.clone();
            newer[8..16].copy_from_slice(&999u64.to_le_bytes());
            let sum = crc32fast::hash(&newer[..32]);
            newer[32..36].copy_from_slice(&sum.to_le_bytes());
            std::fs::write(&file, &newer).expect("the file can be written");
        } else {
            let database = redb::Database::open(&file).expect("the file is a database");
            let transaction = database.begin_write().expect("it can be written");
            let meta: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta/1");
            transaction.open_table(meta).expect("the table is there").insert("format", 999).expect("it can be set");
            transaction.commit().expect("it can be committed");
        }
        for arguments in
            [&["--data", path(data.path()), "--listen", "127.0.0.1:0"][..], &["check", "--data", path(data.path())]]
        {
            let ended = run(stet(arguments));
            assert_eq!(ended.code, Some(3), "{}", ended.err);
            let name = file.file_name().and_then(|name| name.to_str()).expect("the file has a name");
            assert!(["999", "newer", name].iter().all(|word| ended.err.contains(word)), "{}", ended.err);
        }
        std::fs::write(&file, &sound).expect("the file can be written");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let (old, new) = (used_directory(), TempDir::new().expect("a temporary directory can be made"));
    // The journal of the used directory fits no other tables.
    std::fs::copy(&files(old.path())[1], &files(new.path())[1]).expect("the file can be copied");
    let ended = run(stet(&["--data", path(new.path()), "--listen", "127.0.0.1:0"]));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("restored"), "{}", ended.err);
}

#[test]
fn an_unfilled_directory_is_refused_except_by_a_start_that_refills_it() {
    let data = used_directory();
    let whole = check(data.path());
    std::fs::write(data.path().join("filling"), "as a first start leaves it that was killed")
        .expect("it can be written");
    for command in [
        &["check"][..],
        &["recover"],
        &["audit"],
        &["user", "list"],
        &["user", "add", "ann", "--no-password"],
        &["key", "list"],
    ] {
        let ended = run(stet(&[command, &["--data", path(data.path())]].concat()));
        assert_eq!(ended.code, Some(3), "{command:?}: {}", ended.err);
        assert!(ended.err.contains(path(data.path())) && ended.err.contains("not completely filled"), "{}", ended.err);
    }
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", "another-one");
    let log = data.path().join("log");
    let serving = Serving::logging(command, std::fs::File::create(&log).expect("the log can be made"));
    assert_eq!((serving.login("admin", "another-one"), serving.login("admin", ADMIN_PASSWORD)), (200, 401));
    let told = std::fs::read_to_string(&log).expect("the log can be read");
    assert!(told.contains("the first start was interrupted"), "{told}");
    assert_eq!(serving.end().0, Some(0));
    assert!(!data.path().join("filling").exists());
    // But for the session.
    let rows = |run: &Run| run.out.lines().filter(|line| !line.contains("sessions/")).collect::<Vec<_>>().join("\n");
    let again = check(data.path());
    assert_eq!((again.code, rows(&again)), (Some(0), rows(&whole)));
}

#[test]
fn used_directories_are_never_cleared_and_orphaned_contents_are_refused() {
    let data = used_directory();
    // As a start leaves it that came to a directory just when another had filled it, and was
    // killed.
    std::fs::write(data.path().join("filling"), "").expect("it can be written");
    let serving = Serving::in_directory(data.path());
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200, "nothing was removed");
    assert_eq!(serving.end().0, Some(0));
    assert!(!data.path().join("filling").exists());
    for file in files(data.path()) {
        std::fs::remove_file(file).expect("it can be removed");
    }
    let contents = || std::fs::read_dir(data.path().join("content")).expect("it can be listed").count();
    let before = contents();
    let ended = run(stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("restore"), "{}", ended.err);
    assert_eq!(contents(), before);
}

/// Regression test: if the disk of the contents was not mounted, uploads were acknowledged and
/// stored below the mount point. They were lost once it was mounted.
#[test]
fn contents_that_are_not_there_are_told_and_no_start_goes_on_without_them() {
    let data = used_directory();
    let (contents, mounted) = (data.path().join("content"), data.path().join("elsewhere"));
    let refused = |why: &str| {
        let looked = run(stet(&["doctor", "--data", path(data.path())]));
        assert_eq!(looked.code, Some(4), "{}", looked.out);
        assert!(looked.out.lines().any(|line| line.starts_with("fail") && line.contains(why)), "{}", looked.out);
        let checked = check(data.path());
        assert_eq!(checked.code, Some(4), "{}", checked.err);
        assert!(checked.out.contains(&format!("fault: {why}")), "{}", checked.out);
        let ended = run(stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]));
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains(why) && ended.err.contains("mount the disk"), "{}", ended.err);
    };
    std::fs::rename(&contents, &mounted).expect("it can be moved");
    refused("the contents are not in");
    std::fs::remove_dir_all(&contents).expect("what the check has made can be removed");
    std::fs::create_dir(&contents).expect("a place to mount it can be made");
    refused("the contents are not in");
    std::fs::write(contents.join("identity"), "0123456789abcdef0123456789abcdef\n").expect("it can be written");
    refused("the contents in ");
    std::fs::remove_dir_all(&contents).expect("it can be removed");
    std::fs::rename(&mounted, &contents).expect("it can be moved back");
    assert_eq!(check(data.path()).code, Some(0));
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD);
    assert_eq!(Serving::start(command).end().0, Some(0));
}

#[test]
fn a_directory_whose_filling_an_older_release_has_left_is_told_as_that() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let store = stet_store::RedbStore::open(stet_store::StoreOptions::new(data.path())).expect("it opens");
    store.close();
    let ended = run(stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("not filled completely"), "{}", ended.err);
}

#[test]
fn without_durability_too_a_directory_is_filled_for_good() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD).env("STET_STORE__DURABILITY", "none");
    let mut serving = Serving::start(command);
    serving.child.kill().expect("it can be killed");
    serving.child.wait().expect("it can be waited for");
    let serving = Serving::in_directory(data.path());
    assert_eq!((serving.lines.len(), serving.login("admin", ADMIN_PASSWORD)), (1, 200));
    assert_eq!(serving.end().0, Some(0));
    assert_eq!(check(data.path()).code, Some(0));
}
