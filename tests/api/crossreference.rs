//! `/v3/crossreference`

use serde_json::{Value, json};

use super::bundle::{Desk, content};
use super::endpoints::cases::{Made, cases};
use crate::harness::*;

const STORY: &str = "<?xml version='1.0'?>\n<!DOCTYPE story SYSTEM 's.dtd'>\n<story><head><headline>One &amp; two</headline></head>\
                     <body><media href='/Pictures/a.jpg'/><p>text<link href='/News/b.xml'/></p><media href='/Pictures/c.jpg' /></body></story>";

fn find<'c>(client: &'c Client, sources: Value, xpath: &str) -> Call<'c> {
    let name = if sources.is_array() { "sources" } else { "source" };
    client.call("crossreference-get-post", &[]).json(&json!({ name: sources, "xpath": xpath }))
}

fn set<'c>(client: &'c Client, source: &str, xpath: &str, index: i64, target: &str) -> Call<'c> {
    let body = json!({ "xpath": xpath, "index": index, "target": target });
    client.call("crossreference-set-post", &[&source]).json(&body)
}

#[test]
fn xpath_results_are_reported_source_by_source() {
    let desk = Desk::of("editor");
    let (first, second, bytes) = (
        desk.make("Story", "1.xml", STORY.as_bytes()),
        desk.make("Story", "2.xml", b"<story/>"),
        desk.make("Story", "3.bin", b"\xff"),
    );
    let reply = find(&desk, json!([first, "/nowhere", second, bytes]), "//media/@href").ok();
    let node = |index: usize, place: usize, value: &str| {
        let path = format!("/story/body/media[{place}]/@href");
        json!({ "index": index, "kind": "attribute", "name": "href", "path": path, "value": value })
    };
    assert_eq!(
        reply["items"],
        json!([
            { "source": first, "id": first, "nodes": [node(0, 1, "/Pictures/a.jpg"), node(1, 2, "/Pictures/c.jpg")] },
            { "source": second, "id": second, "nodes": [] },
        ])
    );
    let codes: Vec<_> =
        reply["errors"].as_array().unwrap().iter().map(|error| (&error["source"], &error["code"])).collect();
    assert_eq!(codes, [(&json!("/nowhere"), &json!("CMS.ObjectNotFound")), (&json!(bytes), &json!("CMS.InvalidType"))]);

    // With a single source, its fault is the answer.
    let one = find(&desk, json!(first), "//headline | //p/text()").ok();
    let values: Vec<_> = one["items"][0]["nodes"].as_array().unwrap().iter().map(|node| &node["value"]).collect();
    assert_eq!(values, ["One & two", "text"]);
    find(&desk, json!("/nowhere"), "//p").fails(404, "ObjectNotFound");
    find(&desk, json!(bytes), "//p").fails(400, "InvalidType");
    for xpath in ["//p[", "", "count(//p)", "$x", "unknown()", "//p[1][", &"(".repeat(100), &"x".repeat(2000)] {
        find(&desk, json!(first), xpath).fails(400, "InvalidXPath");
    }
    let nothing = desk.call("crossreference-get-post", &[]).json(&json!({ "xpath": "//p" })).fails(400, "InvalidBody");
    assert_eq!(nothing["details"]["path"], "$.source");
    desk.call("crossreference-get-post", &[]).json(&json!({ "source": first })).fails(400, "InvalidBody");
}

#[test]
fn a_node_that_is_set_makes_a_new_version_and_leaves_all_else_to_the_byte() {
    let desk = Desk::of("editor");
    let story = desk.make("Story", "1.xml", STORY.as_bytes());
    let reply = set(&desk, &story, "//media/@href", 1, "/Pictures/new.jpg").ok();
    let values = |which: &str| -> Vec<String> {
        let nodes = reply[which].as_array().expect("there are nodes").iter();
        nodes.map(|node| node["value"].as_str().expect("it has a value").to_owned()).collect()
    };
    assert_eq!((values("before")[1].as_str(), values("after")[1].as_str()), ("/Pictures/c.jpg", "/Pictures/new.jpg"));
    assert_eq!((&reply["info"]["version"], &reply["info"]["id"]), (&json!(2), &json!(story)));
    assert_eq!(
        content(&desk, &story),
        STORY.replace("<media href='/Pictures/c.jpg' />", "<media href=\"/Pictures/new.jpg\"/>")
    );
    set(&desk, &story, "//headline", 0, "<&>").ok();
    assert!(content(&desk, &story).contains("<headline>&lt;&amp;&gt;</headline>"));
    assert_eq!(desk.call("object-get", &[&story]).ok()["version"], 3);
    let before = content(&desk, &story);
    for (xpath, index) in [("//media", 2), ("//media", -1), ("//nothing", 0), ("/", 0), ("//p[", 0)] {
        set(&desk, &story, xpath, index, "x").fails(400, "InvalidXPath");
    }
    set(&desk, &story, "//headline", 0, "\u{1}").fails(400, "InvalidXPath");
    assert_eq!(
        (content(&desk, &story), desk.call("object-get", &[&story]).ok()["version"].clone()),
        (before, json!(3))
    );
    set(&Server::shared().user("reader"), &story, "//headline", 0, "x").fails(403, "PermissionDenied");
}

/// Regression test: such a text was written in UTF-8, but sent with the encoding of the upload.
#[test]
fn set_texts_are_written_in_the_contents_declared_encoding() {
    let desk = Desk::of("editor");
    let options = json!({ "name": "latin.xml", "type": "Story", "folderPath": desk.folder });
    let file = ("content", "latin.xml", "text/xml; charset=iso-8859-1", &b"<story><p>Zurich</p></story>"[..]);
    let made = desk.call("stet-object-create-post", &[]).form(&options, &[file]).ok();
    let story = made["id"].as_str().expect("a record has an id").to_owned();
    set(&desk, &story, "//p", 0, "Z\u{fc}rich").fails(400, "InvalidType");
    assert_eq!(content(&desk, &story), "<story><p>Zurich</p></story>");
    set(&desk, &story, "//p", 0, "Basel").ok();
    assert_eq!(content(&desk, &story), "<story><p>Basel</p></story>");
}

#[test]
fn locks_and_working_copies_are_held_to() {
    let desk = Desk::of("editor");
    let story = desk.make("Story", "1.xml", b"<s><a>1</a><b>1</b></s>");
    desk.call("stet-object-lock-post", &[&story]).ok();
    set(&Server::shared().user("reporter"), &story, "//a", 0, "x").fails(403, "ObjectLocked");
    // A user who has it checked out continues from their saved content, and keeps the check-out.
    let save = desk
        .call("stet-object-content-put", &[&story])
        .query("checkIn", false)
        .bytes("text/xml", "<s><a>2</a><b>2</b></s>");
    save.ok();
    set(&desk, &story, "//a", 0, "3").ok();
    assert_eq!(content(&desk, &story), "<s><a>3</a><b>2</b></s>");
    let record = desk.call("object-get", &[&story]).ok();
    assert_eq!((&record["locker"]["id"], &record["version"]), (&json!("editor"), &json!(2)));
    assert_eq!(content(&Server::shared().user("reporter"), &story), "<s><a>3</a><b>2</b></s>", "it is checked in");
}

/// Lets many callers set one node each, and expects all of these changes at the end.
#[test]
fn no_change_of_a_reference_is_lost() {
    let desk = Desk::of("editor");
    let nodes: String = (0..16).map(|node| format!("<n id='n{node}'>0</n>")).collect();
    let story = desk.make("Story", "1.xml", format!("<s>{nodes}</s>").as_bytes());
    std::thread::scope(|scope| {
        for node in 0..16 {
            let (client, story) = (desk.client.afresh(), &story);
            scope.spawn(move || {
                for round in 1..=5 {
                    set(&client, story, &format!("id('n{node}')"), 0, &round.to_string()).ok();
                }
            });
        }
    });
    assert_eq!(content(&desk, &story), format!("<s>{nodes}</s>").replace(">0<", ">5<"));
    assert_eq!(desk.call("object-get", &[&story]).ok()["version"], 81);
}

#[test]
fn an_expression_that_would_take_for_ever_is_refused_and_others_go_on() {
    let desk = Desk::of("editor");
    let many: String = (0..20_000).map(|number| format!("<i n='{number}' m='x'/>")).collect();
    let story = desk.make("Story", "1.xml", format!("<s>{many}</s>").as_bytes());
    for xpath in ["//*[//*[//*[//*]]]", "//i[//@n = //@m]", "//i[count(preceding::*) = count(following::*)]"] {
        let error = find(&desk, json!(story), xpath).fails(400, "InvalidXPath");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("more work")), "{error}");
        set(&desk, &story, xpath, 0, "x").fails(400, "InvalidXPath");
    }
    // What one call may take is for all of its sources.
    let small = desk.make("Story", "2.xml", b"<s><i/></s>");
    let reply = find(&desk, json!([story, small]), "//*[//*[//*]]").ok();
    assert_eq!((reply["items"].as_array().map(Vec::len), reply["errors"].as_array().map(Vec::len)), (Some(0), Some(2)));
    assert_eq!(find(&desk, json!([small, story]), "//i[@n = '77']").ok()["items"][1]["nodes"][0]["path"], "/s/i[78]");
}

#[test]
fn xpath_results_of_each_source_have_their_own_limit() {
    let desk = Desk::of("editor");
    // The text of each element contains that of all elements inside: 150 KB for each level.
    let nested = |levels: usize| {
        format!("<s>{}{}{}</s>", "<a>".repeat(levels), "x\"".repeat(75_000), "</a>".repeat(levels)).into_bytes()
    };
    let stories = ["1.xml", "2.xml"].map(|name| desk.make("Story", name, nested(40)));
    let reply = find(&desk, json!(stories), "//a").ok();
    for item in reply["items"].as_array().expect("there are items") {
        assert_eq!(item["nodes"].as_array().map(Vec::len), Some(40));
        assert_eq!(item["nodes"][39]["value"].as_str().map(str::len), Some(150_000));
    }
    assert_eq!((reply["items"].as_array().map(Vec::len), &reply["errors"]), (Some(2), &json!([])));
    let larger = desk.make("Story", "3.xml", nested(58));
    let refused = find(&desk, json!(larger), "//a").send();
    assert!(refused.status == 400, "{} bytes are shown", refused.body.len());
    says(&refused.fails(400, "InvalidXPath"), "more work");
    // The reply to a change has all texts before and after it, however long.
    let reply = set(&desk, &larger, "//a", 57, "y").ok();
    let last = |which: &str| reply[which][57]["value"].as_str().map(str::len);
    assert_eq!((last("before"), last("after")), (Some(150_000), Some(1)));
}

cases! {
    "crossreference-get-post": |corner| {
        Made::default().json(json!({ "xpath": "/story", "sources": [corner.story().to_string()] }))
    };
    "crossreference-set-post": |corner| {
        Made::on([corner.story()]).json(json!({ "xpath": "/story", "index": 0, "target": "new" }))
    };
}
