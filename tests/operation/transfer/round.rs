//! Round trips: an export that is imported again yields the same objects.

use serde_json::Value;

use super::*;

fn id(reply: &Value) -> String {
    reply["id"].as_str().expect("it has an id").to_owned()
}

/// Creates an object, and returns its loid.
fn make(client: &Client, options: Value, content: Option<&[u8]>) -> String {
    let name = options["name"].as_str().expect("it has a name").to_owned();
    let file = content.map(|bytes| ("content", name.as_str(), "", bytes));
    let file = file.map(|(part, name, _, bytes)| (part, name, "text/xml", bytes));
    id(&client.call("stet-object-create-post", &[]).form(&options, file.as_slice()).ok())
}

fn link(client: &Client, source: &str, target: &str, names: [&str; 2]) {
    let body = json!({ "sourceLinkName": names[0], "targetLinkName": names[1], "targetSource": target });
    client.call("stet-object-correlate-post", &[&source]).json(&body).ok();
}

fn copy(client: &Client, bundle: &str, channel: &str, from: Option<&str>) -> String {
    let body = json!({ "channel": channel, "inheritFrom": from });
    id(&client.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).ok())
}

#[test]
fn a_newsroom_of_all_kinds_comes_out_as_it_went_in() {
    let (first, second) = (Server::shared(), Server::start());
    let (client, folder) = (first.user("admin"), own_folder());
    let at = |below: &str| format!("{folder}{below}");
    client.call("folder-post", &[]).json(&json!({ "path": at("/empty") })).ok();
    let story = json!({
        "name": "a.xml", "type": "Story", "folderPath": at("/News/City"), "workFolder": "/News/City", "issueDate": "20240229",
        "suid": "s-7", "status": "Story/Ready", "attributes": "<m>\n <h a='1'/></m>", "systemAttributes": "<props><x/></props>",
        "usageTickets": "<tl><t page='3'/></tl>",
    });
    let story = make(&client, story, Some(b"<!-- as it is --><a/>"));
    let picture = make(
        &client,
        json!({ "name": "p.bin", "type": "Binary", "folderPath": at("/Pictures") }),
        Some(&[0, 255, 13, 10, 0]),
    );
    make(&client, json!({ "name": "nothing.xml", "type": "Story", "folderPath": at("/News") }), None);
    make(&client, json!({ "name": "empty.txt", "type": "Text", "folderPath": at("/News") }), Some(b""));
    let large = vec![b'x'; 3 << 20];
    make(&client, json!({ "name": "large.bin", "type": "Binary", "folderPath": at("/News") }), Some(&large));
    for name in [
        "x.record.json",
        "x.copies",
        "X",
        "x",
        "ä",
        "\u{1f6a2}",
        "..x",
        ".hidden",
        "a\\b",
        "100 %.xml",
        &"l".repeat(255),
    ] {
        make(&client, json!({ "name": name, "type": "Story", "folderPath": at("/odd names") }), Some(name.as_bytes()));
    }
    link(&client, &story, &picture, ["picture", "story"]);
    link(&client, &picture, &story, ["x", "y"]);
    let bundle = make(
        &client,
        json!({ "name": "b.xml", "type": "EOM::CompoundStory", "folderPath": at("/Web") }),
        Some(b"<b>1</b>"),
    );
    copy(&client, &bundle, "Web", Some("Neutral"));
    let own = copy(&client, &bundle, "Tabloid", Some("Web"));
    client.call("stet-object-content-put", &[&own]).bytes("text/xml", "<b>own</b>").ok();
    let inner = json!({ "name": "inner.xml", "type": "EOM::CompoundStory", "folderPath": at("/Web/b.xml") });
    let inner = make(&client, inner, Some(b"<i/>"));
    copy(&client, &inner, "Tabloid", None);
    let page =
        make(&client, json!({ "name": "page.xml", "type": "WebContainer", "folderPath": at("/Web") }), Some(b"<p/>"));
    link(&client, &page, &bundle, ["story", "page"]);
    client.drawer(&folder, "drawer", 9);

    let files = tempfile::tempdir().expect("a directory can be made");
    let out = |name: &str| files.path().join(name);
    let export = |server: &Server, name: &str| through(server, &["export", path(&out(name)), "--folder", &folder]);
    let exported = export(first, "1");
    assert!(exported.err.contains(&format!("left out: {folder}/drawer: a drawer is not exported")), "{}", exported.err);
    assert!(done(exported).starts_with("28 written, 0 already present, 1 left out; "));
    assert!(
        done(export(first, "1")).starts_with("0 written, 28 already present, 1 left out; "),
        "it is safe to repeat"
    );
    let import = || done(through(&second, &["import", path(&out("1")), "--into", &folder]));
    assert!(import().starts_with("28 created, 0 already present; "));
    assert!(import().starts_with("0 created, 28 already present; "), "it is safe to repeat");
    done(export(&second, "2"));
    same(&out("1"), &out("2"));

    // The objects are equal in every respect, not only in their display.
    let client = second.user("admin");
    let of = |path: &str| client.get(&format!("/v3/object/{}", encoded(&at(path)))).ok();
    let bundle = id(&of("/Web/b.xml"));
    client.call("stet-object-content-put", &[&bundle]).bytes("text/xml", "<b>2</b>").ok();
    let text = |path: &str| client.get(&format!("/v3/object/{}/content", encoded(&at(path)))).body;
    assert_eq!(text("/Web/b.xml/Web"), b"<b>2</b>", "it follows");
    assert_eq!(text("/Web/b.xml/Tabloid"), b"<b>own</b>", "it is on its own");
    let chain = client.call("bundle-chain-get", &[&id(&of("/Web/b.xml/Tabloid"))]).ok();
    assert_eq!(chain["items"].as_array().map(Vec::len), Some(3), "{chain}");
    let odd: Vec<Value> = client.get(&format!("/v3/folder/{}", encoded(&at("/odd names")))).ok()["items"]
        .as_array()
        .cloned()
        .expect("a list");
    assert_eq!(odd.len(), 11);
    for item in &odd {
        let answer = client.get(&format!("/v3/object/{}/content", encoded(&id(item))));
        assert_eq!(answer.body, item["name"].as_str().expect("a name").as_bytes());
    }
    let mut second = second;
    assert_eq!(second.terminate(), Some(0));
    let (code, output) = second.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_data_directory_without_a_server_is_as_good() {
    let data = used_directory();
    let files = tempfile::tempdir().expect("a directory can be made");
    put(files.path(), "in/News/Wire/a.xml", "<a/>");
    put(files.path(), "in/b.txt", "b");
    let on = |what: &[&str]| run(stet(&[what, &["--data", path(data.path())]].concat()));
    let source = files.path().join("in");
    let made = on(&["import", path(&source)]);
    assert!(done(made).starts_with("2 created, 0 already present; "));
    let out = files.path().join("out");
    done(on(&["export", path(&out), "--folder", "/News/Wire"]));
    let found = tree(&out);
    assert_eq!(found.keys().map(|name| path(name)).collect::<Vec<_>>(), ["a.xml", "a.xml.record.json"]);
    let keys = on(&["key", "list"]);
    assert!(!done(keys).contains("transfer"), "its key has ended");

    let serving = Serving::in_directory(data.path());
    let refused = on(&["export", path(&out)]);
    assert_eq!(refused.code, Some(6), "{}", refused.err);
    assert!(refused.err.contains("--url"), "{}", refused.err);
    assert_eq!(serving.end().0, Some(0));
    let refused = run(stet(&["import", path(&source), "--data", path(&files.path().join("none"))]));
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(!files.path().join("none").exists());
}

/// Sends agency items, related and copied, to another repository and back.
#[test]
fn wire_items_make_the_whole_way() {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/wire");
    if !wire.is_dir() {
        println!("skipped: there are no wire items at {}", wire.display());
        return;
    }
    let (first, second) = (Server::shared(), Server::start());
    let (client, folder) = (first.user("admin"), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let out = |name: &str| files.path().join(name);
    let count = tree(&wire).len() + 2;
    let import = |server: &Server, from: &Path| through(server, &["import", path(from), "--into", &folder]);
    let made = done(import(first, &wire));
    assert!(made.starts_with(&format!("{} created", count - 2)), "{made}");
    let items: Vec<Value> = client
        .call("folder-filter-get", &[&folder])
        .query("recursive", true)
        .query("excludeFolders", true)
        .ok()["items"]
        .as_array()
        .cloned()
        .expect("they are listed");
    assert_eq!(items.len(), count - 2);
    let named = |part: &str| {
        let item = items.iter().find(|item| item["name"].as_str().is_some_and(|name| name.contains(part)));
        id(item.unwrap_or_else(|| panic!("there is a {part}")))
    };

    // Recognised.
    let attributes = |part: &str| client.call("object-get", &[&named(part)]).ok()["attributes"]["metadata"].clone();
    let photo = attributes("LISTING_3_Photo");
    assert_eq!(photo["headline"], "Variety Of Recessionary Forces Leave Las Vegas Economy Scarred");
    assert_eq!(
        (&photo["versionCreated"], &photo["media"][0]["@width"]),
        (&json!("2018-10-12T06:42:04Z"), &json!("1500"))
    );
    let picture = attributes("3.0-ap_image");
    assert_eq!(
        (&picture["headline"], &picture["slug"]),
        (&json!("Turkey Islamic State"), &json!("Turkey Islamic State"))
    );
    assert_eq!(picture["media"][0]["@contentType"], "image/jpeg");

    // Cross-referenced, related, copied for channels, and opened.
    let package = named("LISTING_6_Simple");
    let references = json!({ "source": package, "xpath": "//itemRef/@residref" });
    let found = client.call("crossreference-get-post", &[]).json(&references).ok();
    assert!(found["items"][0]["nodes"].as_array().is_some_and(|nodes| nodes.len() > 1), "{found}");
    let set = json!({ "xpath": "//itemRef/@residref", "index": 0, "target": named("LISTING_3_Photo") });
    client.call("crossreference-set-post", &[&package]).json(&set).ok();
    link(&client, &package, &named("LISTING_3_Photo"), ["picture", "package"]);
    let text = client.call("stet-object-content-get", &[&named("LISTING_2_")]).send().body;
    let story = json!({ "name": "story.xml", "type": "EOM::CompoundStory", "folderPath": format!("{folder}/ninjs") });
    let story = make(&client, story, Some(&text));
    copy(&client, &story, "Web", Some("Neutral"));
    link(&client, &story, &package, ["package", "story"]);
    let opened = |client: &Client, story: &str| {
        client.call("opendocument-source-post", &[&story]).json(&json!({ "readOnly": true })).ok()
    };
    let before = opened(&client, &story);

    let export = |server: &Server, name: &str| through(server, &["export", path(&out(name)), "--folder", &folder]);
    let exported = done(export(first, "1"));
    assert!(exported.starts_with(&format!("{} written, 0 already present; ", count + 2)), "{exported}");
    let made = done(import(&second, &out("1")));
    assert!(made.starts_with(&format!("{} created, 0 already present; ", count + 2)), "{made}");
    done(export(&second, "2"));
    same(&out("1"), &out("2"));
    let client = second.user("admin");
    let uuid = before["info"]["pstate"]["uuid"].as_str().expect("it has one");
    let after = opened(&client, uuid);
    assert_eq!(after["content"], before["content"]);
    let channels = |opened: &Value| {
        opened["members"].as_array().expect("a list").iter().map(|member| member["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(channels(&after), channels(&before));
}
