//! `kill -9` during the first start: the next start begins anew, and has the result of an
//! undisturbed one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// The content of a filled directory, times aside: the number of rows of each kind, and the
/// contents.
#[derive(Debug, PartialEq)]
struct Shape {
    rows: String,
    contents: BTreeSet<String>,
}

fn contents(folder: &Path) -> BTreeSet<String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder can be listed").map(|entry| entry.expect("an entry is read").path());
    entries.flat_map(|path| if path.is_dir() { contents(&path) } else { [path.display().to_string()].into() }).collect()
}

/// Exit code and output of `stet check`.
fn check(data: &Path) -> (Option<i32>, String) {
    let output = Command::new(binary()).current_dir("/").args(["check", "--data"]).arg(data).output();
    let output = output.expect("the binary can be started");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// The shape of a directory that a server, just started, has filled; it ends the server.
fn shape(server: &mut Server) -> Shape {
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    assert!(!server.data().join("filling").exists());
    let (code, rows) = server.check();
    assert_eq!(code, Some(0), "{rows}");
    let folder = server.data().join("content");
    let own = |path: String| path.trim_start_matches(&*folder.display().to_string()).to_owned();
    // The log is not of it.
    let rows = rows.lines().filter(|line| !line.contains(" INFO ")).collect::<Vec<_>>().join("\n");
    Shape { rows, contents: contents(&folder).into_iter().map(own).collect() }
}

#[test]
fn a_first_start_that_is_killed_at_any_moment_is_begun_anew() {
    let rounds = setting("STET_CRASH_ROUNDS").unwrap_or(3);
    let mut dice = Dice::new(seed("STET_CRASH_SEED"));
    let begun = Instant::now();
    let mut undisturbed = Server::filling(&[]);
    let whole = begun.elapsed().as_micros() as usize;
    let wanted = shape(&mut undisturbed);
    let (mut kills, mut cut) = (0, 0);
    for round in 0..rounds {
        let home = TempDir::new().expect("a temporary directory can be made");
        let data = home.path().join("data");
        // The last kill of a round comes when there is something to be begun anew.
        for _ in 0..=dice.roll(4) {
            Server::crash_on(&data, Duration::from_micros(dice.roll(whole) as u64));
            kills += 1;
            if dice.roll(2) == 0 && data.exists() {
                let (code, told) = check(&data);
                let unfilled =
                    ["is not completely filled", "is not a data directory"].iter().any(|part| told.contains(part));
                assert!(code == Some(0) || (code == Some(3) && unfilled), "round {round}: {told}");
            }
        }
        cut += usize::from(data.join("filling").exists());
        let mut server = Server::on(&data, &[]);
        assert_eq!(shape(&mut server), wanted, "round {round}");
        let server = server.restart();
        for user in ["admin", "editor"] {
            server.login(user).lives();
        }
    }
    println!("{rounds} rounds, {kills} kills, {cut} directories begun anew");
    // Otherwise it has shown nothing.
    assert!(rounds < 10 || cut > 0);
}
