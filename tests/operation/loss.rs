//! Directories that have lost acknowledged changes. A start reports the loss, and accepts it only
//! on request.

use std::collections::BTreeMap;

use super::*;

type Files = BTreeMap<&'static str, Vec<u8>>;

const PAGE: usize = 4096;

/// The files of a server killed right after some changes, none of which a checkpoint has folded,
/// and those of another such server.
struct Killed {
    data: TempDir,
    files: Files,
    other: Files,
}

fn killed() -> Killed {
    let killed = || {
        let mut server = Server::with(&[("STORE__CHECKPOINT_SECONDS", "3600")]);
        let client = server.login("editor");
        let folder = own_folder();
        for number in 0..8 {
            client.story(&folder, &format!("{number}.xml"));
        }
        server.kill();
        let data = TempDir::new().expect("a temporary directory can be made");
        Filled::of(server.data()).lay_out(data.path());
        data
    };
    let files = |data: &TempDir| {
        let read = |name| (name, std::fs::read(data.path().join(name)).expect("the file can be read"));
        ["journal.wal", "journal.mark", "state.redb"].map(read).into()
    };
    let (data, other) = (killed(), killed());
    Killed { files: files(&data), other: files(&other), data }
}

/// Returns the offsets of the journal's records, oldest first.
fn records(files: &Files) -> Vec<usize> {
    let journal = &files["journal.wal"];
    let salt = &journal[16..32];
    let begins = (PAGE..journal.len()).step_by(PAGE).filter(|at| journal[*at..].starts_with(salt));
    let last = |at: usize| u64::from_le_bytes(journal[at + 24..at + 32].try_into().expect("eight bytes"));
    let mut records: Vec<_> = begins.map(|at| (last(at), at)).collect();
    records.sort_unstable();
    records.into_iter().map(|(_, at)| at).collect()
}

fn journal(files: &mut Files) -> &mut Vec<u8> {
    files.get_mut("journal.wal").expect("it is there")
}

fn spoil(files: &mut Files, last: usize, byte: u8) {
    let records = records(files);
    for at in &records[records.len() - last..] {
        journal(files)[*at + 40..*at + PAGE].fill(byte);
    }
}

fn cut(files: &mut Files, last: usize) {
    let records = records(files);
    let at = records[records.len() - last];
    journal(files).truncate(at);
}

type Damage = (&'static str, fn(&mut Files, &Files), &'static str);

const NEWEST: &str = "the newest records of journal.wal are missing or damaged";
const MISSING: &str = "journal.wal is missing or empty";

const DAMAGES: &[Damage] = &[
    ("two damaged", |files, _| spoil(files, 2, 0xAA), NEWEST),
    ("six damaged", |files, _| spoil(files, 6, 0xAA), NEWEST),
    ("two of zeros", |files, _| spoil(files, 2, 0), NEWEST),
    ("cut by one", |files, _| cut(files, 1), NEWEST),
    ("cut by three", |files, _| cut(files, 3), NEWEST),
    ("emptied", |files, _| journal(files).clear(), MISSING),
    ("deleted", |files, _| drop(files.remove("journal.wal")), MISSING),
    (
        "another directory's",
        |files, other| *journal(files) = other["journal.wal"].clone(),
        "journal.wal belongs to another data directory",
    ),
];

fn serve(data: &Path) -> Run {
    run(stet(&["--data", path(data), "--listen", "127.0.0.1:0"]))
}

fn recover(data: &Path, more: &[&str]) -> Run {
    run(stet(&[&["recover", "--data", path(data)], more].concat()))
}

/// Writes these files into a directory, and removes all others.
fn lay_out(data: &Path, files: &Files) {
    for name in ["journal.wal", "journal.mark", "state.redb"] {
        match files.get(name) {
            Some(bytes) => std::fs::write(data.join(name), bytes).expect("the file can be written"),
            None if data.join(name).exists() => std::fs::remove_file(data.join(name)).expect("the file can be removed"),
            None => {}
        }
    }
}

fn is_as(data: &Path, files: &Files) -> bool {
    ["journal.wal", "journal.mark", "state.redb"]
        .iter()
        .all(|name| std::fs::read(data.join(name)).ok().as_ref() == files.get(name))
}

#[test]
fn lost_changes_are_told_at_start_and_given_up_only_when_told_to() {
    let Killed { data, files, other } = killed();
    for (what, damage, why) in DAMAGES {
        let copy = TempDir::new().expect("a temporary directory can be made");
        let data = {
            Filled::of(data.path()).lay_out(copy.path());
            copy.path()
        };
        let mut damaged = files.clone();
        damage(&mut damaged, &other);
        lay_out(data, &damaged);
        for ended in [serve(data), check(data)] {
            assert_eq!(ended.code, Some(3), "{what}: {}", ended.err);
            for part in [why, "missing", "change", "backup", "stet recover", "--accept-loss"] {
                assert!(ended.err.contains(part), "{what}: no `{part}` in {}", ended.err);
            }
        }

        lay_out(data, &damaged);
        let ended = recover(data, &[]);
        assert_eq!(ended.code, Some(3), "{what}: {}{}", ended.out, ended.err);
        assert!(ended.out.contains(why) && ended.err.contains("nothing was changed"), "{what}: {}", ended.out);
        assert!(is_as(data, &damaged), "{what}: it was changed");
        let ended = recover(data, &["--accept-loss"]);
        assert_eq!(ended.code, Some(0), "{what}: {}{}", ended.out, ended.err);
        assert!(ended.out.contains(why), "{what}: {}", ended.out);
        let aside = data.join("journal.wal.lost-1");
        assert_eq!(std::fs::read(aside).ok().as_ref(), damaged.get("journal.wal"), "{what}");

        assert_eq!(Serving::in_directory(data).end().0, Some(0), "{what}");
        let ended = check(data);
        assert_eq!(ended.code, Some(0), "{what}: {}{}", ended.out, ended.err);
        let ended = recover(data, &[]);
        assert_eq!((ended.code, ended.out.contains("no change is missing")), (Some(0), true), "{what}: {}", ended.out);
    }
}

#[test]
fn a_journal_deleted_after_a_clean_stop_is_told_and_nothing_is_lost() {
    let data = used_directory();
    std::fs::remove_file(data.path().join("journal.wal")).expect("the file can be removed");
    let ended = serve(data.path());
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("none is known to be missing"), "{}", ended.err);
    assert!(!data.path().join("journal.wal").exists(), "it was made anew");
    assert_eq!(recover(data.path(), &["--accept-loss"]).code, Some(0));
    assert_eq!(check(data.path()).code, Some(0));
}

#[test]
fn the_journal_read_at_start_is_logged() {
    let Killed { data, .. } = killed();
    let ended = check(data.path());
    let line = ended.err.lines().find(|line| line.contains("read journal.wal")).unwrap_or_default();
    for part in ["folded", "records", "first", "last"] {
        assert!(line.contains(part), "no `{part}` in `{line}`");
    }
}

#[test]
fn recover_of_what_is_no_data_directory_makes_none() {
    let home = TempDir::new().expect("a temporary directory can be made");
    for data in [home.path().join("nowhere"), home.path().to_owned()] {
        let ended = recover(&data, &["--accept-loss"]);
        assert_eq!(ended.code, Some(3), "{}", ended.err);
    }
    assert_eq!(std::fs::read_dir(home.path()).expect("it can be read").count(), 0);
}

#[test]
fn a_byte_changed_in_a_page_of_the_tables_is_told_by_check() {
    let data = used_directory();
    let state = data.path().join("state.redb");
    let sound = std::fs::read(&state).expect("the file can be read");
    // In the middle of a stored text, where only a checksum can detect it.
    let text = b"Freelance";
    let at = sound.windows(text.len()).rposition(|bytes| bytes == text).expect("the sample has it");
    let mut damaged = sound.clone();
    damaged[at] ^= 1;
    std::fs::write(&state, &damaged).expect("the file can be written");
    let ended = check(data.path());
    assert_eq!(ended.code, Some(3), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("state.redb"), "{}", ended.err);
}

#[test]
fn output_that_cannot_be_written_changes_no_exit_code_but_that_of_success() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("there is one");
    let code = |arguments: &[&str], data: &Path, out: Stdio, err: Stdio| {
        let mut command = stet(&[arguments, &["--data", path(data)]].concat());
        command.stdout(out).stderr(err).status().expect("the binary can be started").code()
    };
    let whole = used_directory();
    assert_eq!(code(&["check"], whole.path(), full().into(), Stdio::null()), Some(1));
    assert_eq!(code(&["recover"], whole.path(), full().into(), Stdio::null()), Some(1));
    let damaged = used_directory();
    for name in ["journal.wal", "state.redb"] {
        std::fs::write(damaged.path().join(name), b"nonsense").expect("it can be written");
    }
    for arguments in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["check"], &["recover"], &["recover", "--accept-loss"]]
    {
        assert_eq!(code(arguments, damaged.path(), full().into(), full().into()), Some(3), "{arguments:?}");
    }
    let killed = killed();
    std::fs::write(killed.data.path().join("journal.wal"), b"").expect("it can be emptied");
    assert_eq!(code(&["recover"], killed.data.path(), full().into(), full().into()), Some(3));
    let mut command = stet(&["recover", "--accept-loss", "--data", path(killed.data.path())]);
    command.stdout(full()).stderr(Stdio::piped());
    let output = command.spawn().and_then(|child| child.wait_with_output()).expect("it runs");
    let err = String::from_utf8(output.stderr).expect("output is text");
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("gave up the missing changes; the directory can be opened"), "{err}");
    assert_eq!(check(killed.data.path()).code, Some(0));
}
