//! Databases beside the main one.

use super::*;

/// Regression test: an export of everything left out every other database without a message.
#[test]
fn another_database_is_told_and_has_an_export_of_its_own() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let (client, files) = (server.user("admin"), tempfile::tempdir().expect("a directory can be made"));
    let out = |name: &str| files.path().join(name);
    let old = json!({ "name": "old.txt", "type": "Text", "folderPath": "/Old", "databaseId": 2 });
    let content = ("content", "old.txt", "text/plain", b"old".as_slice());
    client.call("stet-object-create-post", &[]).form(&old, &[content]).ok();
    let everything = through(&server, &["export", path(&out("main"))]);
    let told = "left out: database `archive`: export it separately, with `--database 2`";
    assert!(everything.err.contains(told), "{}", everything.err);
    let last = done(everything);
    assert!(last.contains(" left out; ") && last.trim_end().ends_with("; without the databases `archive`"), "{last}");
    assert!(!done(through(&server, &["export", path(&out("news")), "--folder", "/News"])).contains("archive"));
    let ended = through(&server, &["export", path(&out("none")), "--database", "nowhere"]);
    assert!(ended.code == Some(1) && ended.err.contains("DatabaseNotFound"), "{}", ended.err);

    for (to, database) in [("1", "archive"), ("2", "2")] {
        let ended = done(through(&server, &["export", path(&out(to)), "--database", database]));
        assert!(ended.starts_with("2 written, 0 already present; ") && !ended.contains("without"), "{ended}");
    }
    same(&out("1"), &out("2"));
    put(&out("1"), "plain/b.txt", "b");
    let other = Server::with(&[("DATABASES__1__ID", "3"), ("DATABASES__1__NAME", "archive")]);
    let import = || done(through(&other, &["import", path(&out("1")), "--database", "archive", "--into", "/In"]));
    assert!(import().starts_with("3 created, 0 already present; "));
    assert!(import().starts_with("0 created, 3 already present; "), "it is safe to repeat");
    let client = other.user("admin");
    for below in ["/In/Old/old.txt", "/In/plain/b.txt"] {
        client.call("object-get", &[&below]).query("databaseId", 3).ok();
        client.call("object-get", &[&below]).fails(404, "ObjectNotFound");
    }
}
