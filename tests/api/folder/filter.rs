//! `/v3/folder/{source}/filter`

use super::*;
use crate::api::liveblog::reporter_below;

/// A folder with objects, a hidden one among them, and folders below it.
fn desk() -> (Client, String) {
    let (client, top) = (reporter(), own_folder());
    for path in ["b.xml", "a.txt", "ab.xml", ".hidden.xml", "Sub/c.xml", "Sub/.deep/d.xml", "Sub/Äpfel.xml"] {
        let (folder, name) = path.rsplit_once('/').map_or((top.clone(), path), |(f, n)| (format!("{top}/{f}"), n));
        client.story(&folder, name);
    }
    (client, top)
}

fn filter<'c>(client: &'c Client, top: &str) -> Call<'c> {
    client.call("folder-filter-get", &[&top])
}

#[test]
fn names_must_match_one_of_the_patterns_and_hidden_objects_are_omitted() {
    let (client, top) = desk();
    let found = |patterns: &[&str]| {
        let call = patterns.iter().fold(filter(&client, &top), |call, pattern| call.query("patternSequence", *pattern));
        let reply = call.ok();
        assert_eq!(reply["total"], names(&reply).len(), "{reply}");
        names(&reply).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), ["Sub", "a.txt", "ab.xml", "b.xml"]);
    for (patterns, wanted) in [
        (&["*.xml"][..], &["ab.xml", "b.xml"][..]),
        (&["?.*"], &["a.txt", "b.xml"]),
        (&["*.txt", "S*"], &["Sub", "a.txt"]),
        (&["*.txt,b.xml"], &["a.txt", "b.xml"]),
        (&["a"], &[]),
        (&["a*b*"], &["ab.xml"]),
        (&["sub"], &[]),
        (&["[ab].xml"], &[]),
    ] {
        assert_eq!(found(patterns), wanted, "{patterns:?}");
    }
}

#[test]
fn folders_below_hidden_objects_and_how_many_are_up_to_the_caller() {
    let (client, top) = desk();
    let found = |options: &[(&str, &str)]| {
        let call = options.iter().fold(filter(&client, &top), |call, (name, value)| call.query(name, *value));
        names(&call.ok()).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&[("excludeFolders", "true")]), ["a.txt", "ab.xml", "b.xml"]);
    assert_eq!(found(&[("showHidden", "true")]), [".hidden.xml", "Sub", "a.txt", "ab.xml", "b.xml"]);
    let deep = [("recursive", "true"), ("excludeFolders", "true")];
    assert_eq!(
        found(&deep),
        ["c.xml", "Äpfel.xml", "a.txt", "ab.xml", "b.xml"],
        "what lies in a folder stands behind it"
    );
    let all = [("recursive", "true"), ("showHidden", "true")];
    assert_eq!(found(&all), [".hidden.xml", "Sub", ".deep", "d.xml", "c.xml", "Äpfel.xml", "a.txt", "ab.xml", "b.xml"]);
    // Composed or not, it is the same name.
    assert_eq!(found(&[("recursive", "1"), ("patternSequence", "A\u{308}pfel*")]), ["Äpfel.xml"]);
    assert_eq!(found(&[("howMany", "2")]), ["Sub", "a.txt"]);
    assert_eq!(found(&[("howMany", "3"), ("offset", "1"), ("limit", "1")]), ["a.txt"]);
    // In another order, that of all that was found.
    assert_eq!(found(&[("sortBy", "-name")]), ["b.xml", "ab.xml", "a.txt", "Sub"]);
    assert_eq!(found(&[("sortBy", "-name"), ("howMany", "3"), ("offset", "1"), ("limit", "5")]), ["ab.xml", "a.txt"]);
    assert_eq!(filter(&client, &top).query("sortBy", "-name").query("howMany", 3).ok()["total"], 3);
    let paths =
        filter(&client, &top).query("recursive", true).query("patternSequence", "c.*").query("showPath", true).ok();
    assert_eq!(paths["items"][0]["path"], format!("{top}/Sub/c.xml"));
}

#[test]
fn invalid_filters_are_refused_by_name() {
    let (client, top) = (reporter(), own_folder());
    create(&client, &json!({ "path": top })).ok();
    for (name, value, says) in [
        ("howMany", "-1".to_owned(), "howMany"),
        ("patternSequence", vec!["a"; 101].join(","), "100 values"),
        ("patternSequence", "x".repeat(256), "255 bytes"),
        ("recursive", "maybe".to_owned(), "recursive"),
        ("sortBy", "nope".to_owned(), "nope"),
    ] {
        let refused = filter(&client, &top).query(name, &value).fails(400, "InvalidParameter");
        assert!(refused["message"].as_str().is_some_and(|message| message.contains(says)), "{refused}");
    }
    let story = client.story(&top, "a.xml");
    filter(&client, &story).fails(400, "InvalidType");
}

#[test]
fn folder_filters_omit_objects_that_the_caller_may_not_read() {
    let server = Server::start();
    let admin = server.user("admin");
    let reporter = reporter_below(&server, "/Top/Open", &["read"]);
    for folder in ["/Top/Open", "/Top/Closed", "/Top"] {
        admin.story(folder, "a.xml");
    }
    let found = |client: &Client| {
        let reply = filter(client, "/Top").query("recursive", true).query("showPath", true).ok();
        let items = reply["items"].as_array().expect("there is a list").iter();
        items.map(|item| item["path"].as_str().expect("it has a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&admin), ["/Top/Closed", "/Top/Closed/a.xml", "/Top/Open", "/Top/Open/a.xml", "/Top/a.xml"]);
    assert_eq!(found(&reporter), ["/Top/Open", "/Top/Open/a.xml"]);
    filter(&reporter, "/Top/Closed").fails(404, "ObjectNotFound");
}
