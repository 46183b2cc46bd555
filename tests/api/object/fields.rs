//! `POST /v3/object/metadata/change/fields`

use super::*;

fn change<'c>(client: &'c Client, sources: &[&str], operators: Value) -> Call<'c> {
    let body = json!({ "updateFields": [{ "sourceIds": sources, "operators": operators }] });
    client.call("stet-object-metadata-change-fields-post", &[]).json(&body)
}

/// Changes one object, which must go well.
#[track_caller]
fn changed(client: &Client, source: &str, operators: Value) {
    let reply = change(client, &[source], operators).ok();
    assert_eq!(reply["errors"], json!([]), "{reply}");
}

/// The code of what one object's change fails with.
#[track_caller]
fn refused(client: &Client, source: &str, operators: Value) -> String {
    let reply = change(client, &[source], operators).ok();
    assert_eq!(reply["items"], json!([]), "{reply}");
    reply["errors"][0]["code"].as_str().expect("an error has a code").trim_start_matches("CMS.").to_owned()
}

fn at(client: &Client, source: &str, pointer: &str) -> Value {
    read(client, source).pointer(pointer).cloned().unwrap_or_default()
}

#[test]
fn each_operator_does_its_own() {
    let desk = Desk::of("editor");
    let given = json!({ "story": { "headline": "a", "hits": "1.10", "keyword": ["x", "y", "z"], "byline": { "@role": "author", "#text": "b" } } });
    let story = id(&desk.create("a.xml", b"<a/>", json!({ "attributes": given })).ok());
    changed(
        &desk,
        &story,
        json!([
            { "set": { "xpath": "/attributes/story/headline", "content": "A & B" } },
            { "set": { "xpath": "/attributes/story/byline/@role", "content": "editor" } },
            { "set": { "xpath": "/attributes/story/place", "content": { "@code": 7, "name": "Bern" } } },
            { "set": { "xpath": "/attributes/story/tag", "content": [1, true, null] } },
            { "inc": { "xpath": "/attributes/story/hits", "content": 0.05 } },
            { "inc": { "xpath": "/attributes/story/reads" } },
            { "push": { "xpath": "/attributes/story/keyword", "content": "w", "length": 3 } },
            { "pullFirst": { "xpath": "/attributes/story/keyword", "content": "z" } },
            { "unset": { "xpath": "/attributes/story/byline/text()" } },
            { "set": { "xpath": "/sysattributes/props/team", "content": "Sport" } },
        ]),
    );
    let wanted = json!({ "story": {
        "headline": "A & B", "hits": "1.15", "keyword": ["y", "w"],
        "place": { "@code": "7", "name": "Bern" }, "tag": ["1", "true", ""], "reads": "1",
    } });
    shows(&read(&desk, &story), json!({ "attributes": wanted, "systemAttributes": { "props": { "team": "Sport" } } }));
    changed(&desk, &story, json!([{ "pullLast": { "xpath": "/attributes/story/tag", "length": 2 } }]));
    assert_eq!(at(&desk, &story, "/attributes/story/tag"), "1");
    let pushes = json!([{ "push": { "xpath": "/attributes/story/keyword", "content": "v" } }]);
    let body = json!({ "updateFields": [{ "sourceIds": [story], "operators": pushes, "length": 2 }] });
    desk.call("stet-object-metadata-change-fields-post", &[]).json(&body).ok();
    assert_eq!(at(&desk, &story, "/attributes/story/keyword"), json!(["w", "v"]), "the length may be said for all");
    let revision = at(&desk, &story, "/revision");
    changed(&desk, &story, json!([{ "set": { "xpath": "/attributes/story/tag", "content": 1 } }]));
    assert_eq!(at(&desk, &story, "/revision"), revision, "it is the same already");
    changed(&desk, &story, json!([{ "unset": { "xpath": "/attributes/story" } }]));
    assert_eq!(at(&desk, &story, "/attributes"), json!({}));
}

#[test]
fn a_text_of_megabytes_is_set_and_counts_as_a_change() {
    let desk = Desk::of("editor");
    let story = id(&desk.create("a.xml", b"<a/>", json!({})).ok());
    for bytes in [500_000, 2_000_000, 3_900_000] {
        let before = at(&desk, &story, "/revision").as_u64();
        let text = "abcd ".repeat(bytes / 5);
        changed(&desk, &story, json!([{ "set": { "xpath": "/attributes/story/headline", "content": text } }]));
        assert_eq!(at(&desk, &story, "/revision").as_u64(), before.map(|revision| revision + 1));
        let stored = at(&desk, &story, "/attributes/story/headline");
        assert_eq!(stored.as_str().map(str::trim_end), Some(text.trim_end()), "{bytes} bytes");
    }
}

#[test]
fn attributes_not_named_by_a_change_keep_every_byte() {
    let desk = Desk::of("editor");
    let text =
        "<?xml version='1.0'?>\n<!DOCTYPE m [ <!ENTITY e \"x\"> ]>\n<m  a='1' ><!-- kept --><b></b><c >1</c ></m>";
    let story = id(&desk.create("a.xml", b"<a/>", json!({ "attributes": text })).ok());
    changed(&desk, &story, json!([{ "inc": { "xpath": "/attributes/m/c", "content": "41" } }]));
    let shown = with(desk.call("object-get", &[&story]), "showXml&useUnparsedXml").ok();
    assert_eq!(shown["attributesXml"], text.replace("<c >1", "<c >42"));
}

#[test]
fn each_object_is_changed_whole_or_not_at_all_and_told_of_by_its_source() {
    let desk = Desk::of("editor");
    let number = |name: &str, text: &str| {
        let given = json!({ "attributes": { "s": { "n": text } } });
        id(&desk.create(name, b"<a/>", given).ok())
    };
    let (first, word, last) = (number("1.xml", "1"), number("2.xml", "one"), number("3.xml", "3"));
    let operators = json!([
        { "set": { "xpath": "/attributes/s/m", "content": "x" } },
        { "inc": { "xpath": "/attributes/s/n" } },
    ]);
    let path = format!("{}/3.xml", desk.folder);
    let reply = change(&desk, &[&first, &word, "/nowhere", &path, "?"], operators).ok();
    assert_eq!(reply["items"], json!([{ "source": first, "id": first }, { "source": path, "id": last }]));
    let errors: Vec<(&Value, &Value)> =
        reply["errors"].as_array().unwrap().iter().map(|error| (&error["source"], &error["code"])).collect();
    let codes = [
        (&word, "InvalidAttributes"),
        (&"/nowhere".to_owned(), "ObjectNotFound"),
        (&"?".to_owned(), "InvalidParameter"),
    ]
    .map(|(source, code)| (json!(source), json!(format!("CMS.{code}"))));
    assert_eq!(errors, codes.iter().map(|(source, code)| (source, code)).collect::<Vec<_>>());
    assert_eq!(at(&desk, &word, "/attributes"), json!({ "s": { "n": "one" } }));
    assert_eq!(at(&desk, &first, "/attributes"), json!({ "s": { "n": "2", "m": "x" } }));

    // Entries follow one another.
    let entry =
        |source: &str, xpath: &str| json!({ "sourceIds": [source], "operators": [{ "inc": { "xpath": xpath } }] });
    let body = json!({ "updateFields": [entry(&first, "/attributes/s/n"), entry(&last, "/attributes/s/n"), entry(&first, "/attributes/s/n")] });
    let reply = desk.call("stet-object-metadata-change-fields-post", &[]).json(&body).ok();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(at(&desk, &first, "/attributes/s/n"), "4");
}

#[test]
fn field_changes_that_fit_no_object_are_refused_as_a_whole() {
    let desk = Desk::of("editor");
    let story = desk.story(&desk.folder, "a.xml");
    let before = read(&desk, &story);
    let well = json!({ "set": { "xpath": "/attributes/s/n", "content": 1 } });
    let operators = |bad: Value| json!([well.clone(), bad]);
    for xpath in [
        "//n",
        "/attributes",
        "/attributes//n",
        "/sysattributes/other",
        "/s/n",
        "count(/attributes/s)",
        "/attributes/s[1=1]",
        "",
    ] {
        let error =
            change(&desk, &[&story], operators(json!({ "unset": { "xpath": xpath } }))).fails(400, "InvalidXPath");
        assert_eq!(error["details"]["path"], "$.updateFields[0].operators[1].unset.xpath", "{error}");
    }
    for (operator, content) in [
        ("set", json!({ "a b": 1 })),
        ("inc", json!("many")),
        ("push", json!([["x"]])),
        ("pullFirst", json!({ "a": 1 })),
        ("set", json!("\u{1}")),
    ] {
        let bad = json!({ operator: { "xpath": "/attributes/s/n", "content": content } });
        let error = change(&desk, &[&story], operators(bad)).fails(400, "InvalidBody");
        assert_eq!(error["details"]["path"], format!("$.updateFields[0].operators[1].{operator}.content"), "{error}");
    }
    for bad in [
        json!({}),
        json!({ "rename": { "xpath": "/attributes/a" } }),
        json!({ "set": { "xpath": "/attributes/a" } }),
        json!([]),
    ] {
        change(&desk, &[&story], operators(bad)).fails(400, "InvalidBody");
    }
    change(&desk, &[&story], json!(vec![well.clone(); 101])).fails(413, "TooLarge");
    let sources: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    let many: Vec<&str> = sources.iter().map(String::as_str).collect();
    change(&desk, &many, json!([well])).fails(413, "TooLarge");
    let entry = |many: &[&str]| json!({ "sourceIds": many, "operators": [] });
    let body = json!({ "updateFields": [entry(&many[..6000]), entry(&many[..6000])] });
    desk.call("stet-object-metadata-change-fields-post", &[]).json(&body).fails(413, "TooLarge");
    assert_eq!(read(&desk, &story), before);
    // What does not fit the object at hand is an error of that object.
    changed(&desk, &story, json!([well]));
    assert_eq!(
        refused(&desk, &story, json!([{ "set": { "xpath": "/attributes/t", "content": "x" } }])),
        "InvalidXPath"
    );
}

#[test]
fn locks_rights_and_tags_hold_as_for_any_change() {
    let (editor, reader) = (Desk::of("editor"), Server::shared().user("reader"));
    let story = editor.story(&editor.folder, "a.xml");
    let set = || json!([{ "set": { "xpath": "/attributes/s/n", "content": own_folder() } }]);
    change(&reader, &[&story], set()).fails(403, "PermissionDenied");
    lock(&editor, &story).ok();
    assert_eq!(refused(&Server::shared().user("reporter"), &story, set()), "ObjectLocked");
    changed(&editor, &story, set());
    unlock(&editor, &story, false).ok();
    let tag = tag(&editor.call("object-get", &[&story]).send());
    changed(&editor, &story, set());
    let reply = change(&editor, &[&story], set()).header("if-match", &tag).ok();
    assert_eq!(reply["errors"][0]["code"], "CMS.PreconditionFailed", "{reply}");
    assert_eq!(refused(&editor, &version(&story, 1), set()), "InvalidType");
    // What its own earlier entry has changed does not stand in a call's way, and what others have
    // changed does.
    let entry = || json!({ "sourceIds": [story], "operators": [{ "inc": { "xpath": "/attributes/s/count" } }] });
    let twice = json!({ "updateFields": [entry(), entry()] });
    let twice = |tag: &str| {
        editor.call("stet-object-metadata-change-fields-post", &[]).json(&twice).header("if-match", tag).ok()
    };
    let tag = self::tag(&editor.call("object-get", &[&story]).send());
    assert_eq!(twice(&tag)["errors"], json!([]));
    assert_eq!(at(&editor, &story, "/attributes/s/count"), "2");
    assert_eq!(twice(&tag)["errors"].as_array().map(Vec::len), Some(2));
    discard(&editor, &story).ok();
    assert_eq!(refused(&editor, &story, set()), "ObjectNotFound");
}

#[test]
fn a_call_sent_again_adds_once() {
    let desk = Desk::of("editor");
    let story = desk.story(&desk.folder, "a.xml");
    let inc = json!([{ "inc": { "xpath": "/attributes/s/n" } }]);
    let key = own_folder();
    for _ in 0..3 {
        change(&desk, &[&story], inc.clone()).header("idempotency-key", &key).ok();
    }
    assert_eq!(at(&desk, &story, "/attributes/s/n"), "1");
}

#[test]
fn a_call_made_anew_does_what_is_left_and_nothing_twice() {
    let server = Server::start();
    let editor = server.user("editor");
    let stories = ["a.xml", "b.xml", "c.xml"].map(|name| editor.story("/News/City", name));
    let [a, b, c] = stories.each_ref();
    let inc = json!([{ "inc": { "xpath": "/attributes/s/n" } }]);
    let call = change(&editor, &[a, b, c], inc).header("idempotency-key", "k");
    discard(&editor, a).ok();
    let ids = |answer: &Answer| {
        let items = answer.ok()["items"].as_array().expect("there are items").clone();
        items.iter().map(|item| item["id"].as_str().expect("an item has an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&call.send()), [b.as_str(), c]);
    // Now the first has something to be done, and the second is not found.
    restore(&editor, a, json!({})).ok();
    discard(&editor, b).ok();
    // The reply that was kept is for who has other rights.
    let desk = json!({ "groupName": "desk", "members": ["editor"], "privileges": [{ "privilege": "read", "folder": "/News" }] });
    server.user("admin").call("group-create-post", &[]).json(&desk).ok();
    let again = call.send();
    assert_eq!(again.header("idempotency-replayed"), None);
    assert_eq!(ids(&again), stories);
    restore(&editor, b, json!({})).ok();
    for story in &stories {
        assert_eq!(at(&editor, story, "/attributes/s/n"), "1");
    }
}

#[test]
fn values_shown_from_system_attributes_follow_their_changes() {
    let desk = Desk::of("editor");
    let story = desk.story(&desk.folder, "a.xml");
    let date = |content: Value| json!([{ "set": { "xpath": "/sysattributes/props/productInfo/issueDate", "content": content } }]);
    changed(&desk, &story, date(json!("20261201")));
    assert_eq!(at(&desk, &story, "/issueDate"), "20261201");
    assert_eq!(refused(&desk, &story, date(json!("20261301"))), "InvalidParameter");
    changed(&desk, &story, json!([{ "unset": { "xpath": "/sysattributes/props/productInfo" } }]));
    assert_eq!(at(&desk, &story, "/issueDate"), Value::Null);

    let folder = |path: &str| json!([{ "set": { "xpath": "/sysattributes/props/workFolder", "content": path } }]);
    changed(&desk, &story, folder("/Product/World"));
    assert_eq!(at(&desk, &story, "/workFolder"), "/Product/World");
    assert_eq!(refused(&desk, &story, folder(&"/x".repeat(9000))), "InvalidPath");
    changed(&desk, &story, folder(""));
    assert_eq!(at(&desk, &story, "/workFolder"), Value::Null);

    let liveblog = desk.liveblog(&desk.folder, "blog");
    let info = |name: &str| desk.call("liveblog-get", &[&liveblog]).ok()["info"][name].clone();
    let moderated =
        |content: Value| json!([{ "set": { "xpath": "/sysattributes/props/moderated", "content": content } }]);
    assert_eq!(info("moderated"), false);
    changed(&desk, &liveblog, moderated(json!(true)));
    assert_eq!(info("moderated"), true);
    let post =
        desk.call("liveblog-post-create", &[&liveblog]).form(&json!({}), &[("content", "a", "text/plain", b"x")]).ok();
    assert_eq!(post["status"], "pending");
    assert_eq!(refused(&desk, &liveblog, moderated(json!("perhaps"))), "InvalidAttributes");
    changed(&desk, &liveblog, json!([{ "set": { "xpath": "/sysattributes/props/team", "content": "Sport" } }]));
    assert_eq!(info("moderated"), true, "nothing was said of it");
    changed(&desk, &liveblog, json!([{ "unset": { "xpath": "/sysattributes/props/moderated" } }]));
    assert_eq!(info("moderated"), false);
}

#[test]
fn values_set_at_creation_follow_field_changes_that_name_them() {
    let desk = Desk::of("editor");
    let set = |at: &str, content: Value| json!([{ "set": { "xpath": format!("/sysattributes/props{at}"), "content": content } }]);
    let unset = |at: &str| json!([{ "unset": { "xpath": format!("/sysattributes/props{at}") } }]);
    // The texts have these values already, or none.
    let both = json!({ "workFolder": "/News/City", "issueDate": "20261201", "systemAttributes": {
        "props": { "workFolder": "/News/Sport", "productInfo": { "issueDate": "20261202" } },
    } });
    let story = id(&desk.create("a.xml", b"1", both).ok());
    changed(&desk, &story, set("/team", json!("City")));
    shows(&read(&desk, &story), json!({ "workFolder": "/News/City", "issueDate": "20261201" }));
    changed(&desk, &story, set("/workFolder", json!("/News/Sport")));
    changed(&desk, &story, set("/productInfo", json!({ "issueDate": "20261202" })));
    shows(&read(&desk, &story), json!({ "workFolder": "/News/Sport", "issueDate": "20261202" }));
    let bare = id(&desk.create("b.xml", b"1", json!({ "workFolder": "/News/City" })).ok());
    changed(&desk, &bare, set("", json!({ "team": "City" })));
    assert_eq!(at(&desk, &bare, "/workFolder"), "/News/City", "nothing was said of it");
    changed(&desk, &bare, unset("/workFolder"));
    assert_eq!(at(&desk, &bare, "/workFolder"), Value::Null);

    let make = |name: &str, extra: Value| {
        let mut body = json!({ "name": name, "folderPath": desk.folder });
        body.as_object_mut().expect("it is one").extend(extra.as_object().expect("it is one").clone());
        desk.call("liveblog-from-default-template-post", &[]).json(&body)
    };
    let moderated = |liveblog: &str| desk.call("liveblog-get", &[&liveblog]).ok()["info"]["moderated"].clone();
    let liveblog = id(&make("said", json!({ "moderated": true })).ok()["info"]);
    changed(&desk, &liveblog, set("/team", json!("City")));
    assert_eq!(moderated(&liveblog), true);
    changed(&desk, &liveblog, unset("/moderated"));
    assert_eq!(moderated(&liveblog), false);
    let system = |value: &str| json!({ "systemAttributes": { "props": { "moderated": value } } });
    let liveblog = id(&make("text", system("true")).ok()["info"]);
    assert_eq!(moderated(&liveblog), true);
    let said = json!({ "createMode": "REPLACE", "moderated": false });
    make("text", said).gives(&json!({ "info": { "moderated": false } }));
    changed(&desk, &liveblog, set("/moderated", json!("true")));
    assert_eq!(moderated(&liveblog), true);
    make("other", system("perhaps")).fails(400, "InvalidAttributes");
}

/// Checks that 64 clients that add to one number reach the sum, and lose nothing that they push to
/// a list. The text may be short, or so long that it is amended ahead.
#[test]
fn no_increment_is_lost() {
    let server = Server::start();
    let client = server.user("editor");
    let filler = "x".repeat(100_000);
    for (name, attributes) in
        [("short", json!({ "s": { "n": 0 } })), ("long", json!({ "s": { "n": 0, "text": filler } }))]
    {
        let options = json!({ "name": name, "type": "Story", "folderPath": "/Sums", "attributes": attributes });
        let story = id(&client.call("stet-object-create-post", &[]).form(&options, &[]).ok());
        let operators = |client: usize| {
            json!([
                { "inc": { "xpath": "/attributes/s/n", "content": client } },
                { "push": { "xpath": "/attributes/s/by", "content": client } },
            ])
        };
        std::thread::scope(|scope| {
            for number in 0..64 {
                let (client, story, operators) = (client.afresh(), &story, &operators);
                scope.spawn(move || (0..4).for_each(|_| changed(&client, story, operators(number))));
            }
        });
        let total: usize = (0..64).sum::<usize>() * 4;
        let seen = || {
            let story = read(&client, &story);
            let mut by: Vec<usize> = story["attributes"]["s"]["by"]
                .as_array()
                .expect("it is a list")
                .iter()
                .map(|by| by.as_str().and_then(|by| by.parse().ok()).expect("it is a number"))
                .collect();
            by.sort_unstable();
            (story["attributes"]["s"]["n"].clone(), by)
        };
        let wanted = (json!(total.to_string()), (0..64).flat_map(|number| [number; 4]).collect::<Vec<_>>());
        assert_eq!(seen(), wanted, "{name}");
    }
    ends_sound(server);
}

#[test]
fn oversized_attribute_changes_are_refused_and_change_nothing() {
    let server = Server::with(&[("LIMITS__XML_BYTES", "65536")]);
    let client = server.user("editor");
    let story = client.story("/Large", "a.xml");
    let push = json!([{ "push": { "xpath": "/attributes/s/k", "content": "x".repeat(30_000) } }]);
    changed(&client, &story, push.clone());
    changed(&client, &story, push.clone());
    let before = read(&client, &story);
    assert_eq!(refused(&client, &story, push), "InvalidAttributes");
    // Little that is put in many places.
    changed(&client, &story, json!([{ "set": { "xpath": "/attributes/s", "content": { "k": vec!["a"; 2000] } } }]));
    let set = json!([{ "set": { "xpath": "/attributes/s/k", "content": "x".repeat(100) } }]);
    assert_eq!(refused(&client, &story, set), "InvalidAttributes");
    assert_ne!(read(&client, &story), before);
}
