//! `stet audit`

use serde_json::Value;

use super::*;

#[test]
fn the_trail_of_a_data_directory_is_printed_oldest_first() {
    let mut server = Server::start();
    let (editor, reporter) = (server.login("editor"), server.login("reporter"));
    let top = own_folder();
    let story = editor.story(&top, "a.xml");
    reporter.delete(&format!("/v3/object/{}/discard", encoded(&story))).ok();
    // A running server is asked for it, and says the same.
    let beside = |more: &[&str]| {
        let ended = run(stet(&[&["audit", "--data", path(server.data()), "--object", &story], more].concat()));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out
    };
    let served = [&[] as &[&str], &["--json"], &["--user", "Reporter"], &["--to", "2020-01-01T00:00:00Z"]];
    let served = served.map(|more| (more, beside(more)));
    // Not in good order: what lies in the journal counts.
    server.kill();
    let audit = |options: &[&str]| {
        let ended = run(stet(&[&["audit", "--data", path(server.data())], options].concat()));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out
    };
    const HEADINGS: &str = "TIME USER ACTION CONTAINER REVISION OBJECTS SESSION ADDRESS STATUS\n";
    let all = audit(&["--object", &story]);
    let rest = all.strip_prefix(HEADINGS).expect("each part of a line has a name above");
    let lines: Vec<Vec<&str>> = rest.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(HEADINGS.split(' ').count(), lines[0].len());
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert!(first[0].starts_with("20") && first[0].ends_with('Z'), "{all}");
    assert_eq!((first[1], first[2], last[1], last[2]), ("editor", "object.create", "reporter", "object.discard"));
    assert!(lines.iter().all(|line| line.len() == 9 && line[7] == "127.0.0.1"), "{all}");
    let json = audit(&["--object", &story, "--user", "reporter", "--json"]);
    for line in json.lines() {
        let entry: Value = serde_json::from_str(line).expect("a line is JSON");
        assert_eq!((&entry["user"], &entry["action"]), (&json!("reporter"), &json!("object.discard")));
        assert_eq!(entry["time"], last[0]);
    }
    assert!(!json.is_empty());
    assert_eq!(audit(&["--object", &story, "--to", first[0]]), HEADINGS);
    assert_eq!(audit(&["--object", &story, "--to", first[0], "--json"]), "");
    assert_eq!(audit(&["--object", &story, "--from", first[0]]), all);
    for (more, out) in served {
        assert_eq!(audit(&[&["--object", &story], more].concat()), out, "{more:?}");
    }
    let sound = run(stet(&["check", "--data", path(server.data())]));
    assert_eq!(sound.code, Some(0), "{}", sound.out);
}

#[test]
fn the_audit_of_a_foreign_directory_fails_and_creates_nothing() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let ended = run(stet(&["audit", "--data", path(home.path())]));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains(path(home.path())), "{}", ended.err);
    assert_eq!(std::fs::read_dir(home.path()).expect("it can be read").count(), 0);
    assert_eq!(run(stet(&["audit", "--from", "yesterday"])).code, Some(2));
}
