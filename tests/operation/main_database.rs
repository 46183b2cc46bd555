//! The choice of a data directory's main database.

use super::*;

const MAIN: [(&str, &str); 2] = [("STET_DATABASES__0__ID", "33"), ("STET_DATABASES__0__NAME", "news")];

fn with_main(arguments: &[&str]) -> Command {
    let mut command = stet(arguments);
    command.envs(MAIN);
    command
}

/// Starts a server on a directory, with an empty repository or the sample's, and ends it.
fn start(data: &Path, mut command: Command, sample: &str) {
    command.env("STET_SAMPLE__ENABLED", sample).env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD);
    command.args(["--listen", "127.0.0.1:0", "--data", path(data)]);
    let (code, said) = Serving::start(command).end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn main_database_of_a_directory_with_objects_stays() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let (data, copy) = (home.path().join("data"), home.path().join("copy"));
    start(&data, with_main(&[]), "true");
    let refused = run(stet(&["--data", path(&data), "--listen", "127.0.0.1:0"]));
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    for said in [path(&data), "main database is number 33", "number 1 the main one", "main = true"] {
        assert!(refused.err.contains(said), "{said}: {}", refused.err);
    }
    let doctor = run(stet(&["doctor", "--data", path(&data)]));
    assert!(doctor.out.contains("fail  main database"), "{}", doctor.out);
    let doctor = run(with_main(&["doctor", "--data", path(&data)]));
    assert!(!doctor.out.contains("main database"), "{}", doctor.out);
    // Commands that need no configuration find it in the directory.
    let checked = check(&data);
    assert!(checked.code == Some(0) && checked.out.contains("0 faults"), "{}{}", checked.out, checked.err);
    let users = run(stet(&["user", "list", "--data", path(&data)]));
    assert_eq!(users.code, Some(0), "{}", users.err);
    // A copy is imported into a repository whose main database has another number.
    let exported = run(with_main(&["export", path(&copy), "--data", path(&data)]));
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let other = home.path().join("other");
    start(&other, stet(&[]), "false");
    let imported = run(stet(&["import", path(&copy), "--data", path(&other)]));
    assert_eq!(imported.code, Some(0), "{}{}", imported.out, imported.err);
    start(&data, with_main(&[]), "true");
}

#[test]
fn main_database_of_a_directory_without_objects_may_change() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("data");
    start(&data, stet(&[]), "false");
    start(&data, with_main(&[]), "false");
    start(&data, stet(&[]), "false");
    // The sample was not asked for at the first start, and comes at no later one.
    start(&data, with_main(&[]), "true");
}

#[test]
fn main_database_of_a_directory_of_before_is_number_one() {
    let used = used_directory();
    let refused = run(with_main(&["--data", path(used.path()), "--listen", "127.0.0.1:0"]));
    assert!(refused.code == Some(3) && refused.err.contains("main database is number 1"), "{}", refused.err);
}
