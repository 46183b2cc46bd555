//! `/v3/folder`

mod filter;
mod filters;
mod views;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::endpoints::cases::{Corner, Kind, Made, Part, cases, new_in, word};
use crate::harness::*;

fn create<'c>(client: &'c Client, body: &Value) -> Call<'c> {
    client.call("folder-post", &[]).json(body)
}

fn folder<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call("folder-get", &[&source])
}

fn reporter() -> Client {
    Server::shared().user("reporter")
}

fn names(reply: &Value) -> Vec<&str> {
    let items = reply["items"].as_array().expect("a folder has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name")).collect()
}

mod creating {
    use super::*;

    #[test]
    fn a_path_is_made_with_all_that_is_missing_on_it() {
        let client = reporter();
        let top = own_folder();
        let made = create(&client, &json!({ "path": format!("{top}/a/b/c") })).ok();
        assert_eq!(made["info"]["path"], format!("{top}/a/b/c"));
        assert_eq!((&made["info"]["type"], &made["info"]["creator"]), (&json!("Folder"), &json!("reporter")));
        for path in [top.clone(), format!("{top}/a"), format!("{top}/a/b"), format!("{top}/a/b/c")] {
            assert_eq!(folder(&client, &path).ok()["info"]["type"], "Folder", "{path}");
        }
        let slash = create(&client, &json!({ "path": format!("{top}/a/b/c/") })).ok();
        assert_eq!(slash["info"]["id"], made["info"]["id"], "a slash at the end is forgiven");
    }

    #[test]
    fn a_name_and_a_folder_do_as_well_as_a_path() {
        let client = reporter();
        let top = own_folder();
        let a = create(&client, &json!({ "name": "a", "folderPath": top })).ok()["info"].clone();
        assert_eq!(a["path"], format!("{top}/a"));
        for (name, source) in [("b", &a["id"]), ("c", &a["pstate"]["uuid"]), ("d", &json!(format!("{top}/a")))] {
            let made = create(&client, &json!({ "name": name, "folder": source })).ok();
            assert_eq!(made["info"]["path"], format!("{top}/a/{name}"));
        }
        let name = top.replace('/', "-");
        let home = create(&client, &json!({ "name": name })).ok();
        assert_eq!(home["info"]["path"], format!("/Users/reporter/{name}"), "the user's home without a folder");
    }

    #[test]
    fn one_that_exists_is_the_answer_itself_unless_the_caller_says_otherwise() {
        let client = reporter();
        let path = own_folder();
        create(&client, &json!({ "path": path })).ok();
        client.story(&path, "a");
        let first = folder(&client, &path).ok();
        let again = create(&client, &json!({ "path": path })).ok();
        for same in ["id", "revision", "modified", "creator"] {
            assert_eq!(again["info"][same], first["info"][same], "{same}");
        }
        create(&client, &json!({ "path": path, "createMode": "EXCEPTION" })).fails(409, "DuplicatedName");
        let renamed = create(&client, &json!({ "path": path, "options": { "createMode": "AUTO_RENAME" } })).ok();
        assert_eq!(renamed["info"]["path"], format!("{path} (2)"));
        let root = create(&client, &json!({ "path": "/" })).ok();
        assert_eq!((&root["info"]["path"], &root["info"]["name"]), (&json!("/"), &json!("")));
    }

    #[test]
    fn sixteen_who_make_the_same_path_at_once_get_one_folder() {
        let client = reporter();
        let top = own_folder();
        let path = format!("{top}/a/b");
        let barrier = std::sync::Barrier::new(16);
        let ids: HashSet<String> = std::thread::scope(|scope| {
            let make = || {
                barrier.wait();
                create(&client, &json!({ "path": path })).ok()["info"]["id"].to_string()
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread must not panic")).collect()
        });
        assert_eq!(ids.len(), 1);
        assert_eq!(names(&folder(&client, &top).ok()), ["a"]);
        assert_eq!(names(&folder(&client, &format!("{top}/a")).ok()), ["b"]);
    }

    #[test]
    fn names_follow_the_rules_for_all_names() {
        let client = reporter();
        let top = own_folder();
        let made = create(&client, &json!({ "path": format!("{top}/a:b|c") })).ok();
        assert_eq!(made["info"]["name"], "a_b_c");
        for name in ["", "a/b", "..", "a\tb", &"x".repeat(256)] {
            create(&client, &json!({ "name": name, "folderPath": top })).fails(400, "InvalidName");
        }
        create(&client, &json!({})).fails(400, "InvalidName");
        client.call("folder-post", &[]).fails(400, "InvalidName");
        for path in ["a/b", "//", "/a//b", "/a/b//", ""] {
            create(&client, &json!({ "path": path })).fails(400, "InvalidPath");
        }
        create(&client, &json!({ "path": 7 })).fails(400, "InvalidBody");
    }

    #[test]
    fn a_path_through_something_else_is_refused() {
        let client = reporter();
        let top = own_folder();
        client.story(&top, "story");
        create(&client, &json!({ "path": format!("{top}/story/below") })).fails(400, "InvalidType");
        create(&client, &json!({ "path": format!("{top}/story") })).fails(409, "DuplicatedName");
        create(&client, &json!({ "name": "a", "folder": format!("{top}/story") })).fails(400, "InvalidType");
        assert_eq!(names(&folder(&client, &top).ok()), ["story"]);
    }

    #[test]
    fn the_body_may_name_the_database() {
        let client = reporter();
        let in_database = |id: Value| create(&client, &json!({ "path": own_folder(), "databaseId": id }));
        in_database(json!(9)).fails(404, "DatabaseNotFound");
        in_database(json!("main")).ok();
    }

    #[test]
    fn display_options_stand_in_the_body() {
        let client = reporter();
        let made =
            create(&client, &json!({ "path": own_folder(), "options": { "showXml": true }, "showAttributes": 0 }));
        let info = made.ok()["info"].clone();
        assert!(info["systemAttributesXml"].is_string() && info.get("attributes").is_none(), "{info}");
    }
}

mod listing {
    use super::*;

    fn upload(client: &Client, options: &Value, content: &[u8]) {
        client.call("stet-object-create-post", &[]).form(options, &[("content", "x", "x/y", content)]).ok();
    }

    /// A folder with the objects `c`, `a` and `b`, which differ in every field a listing can be
    /// sorted by.
    fn filled() -> (Client, String) {
        let server = Server::shared();
        let top = own_folder();
        let (editor, reporter) = (server.user("editor"), server.user("reporter"));
        for (client, name, kind, date, status) in [
            (&reporter, "c", "Story", "20260103", "Story/Ready"),
            (&editor, "a", "Image", "20260101", "Image/Raw"),
            (&reporter, "b", "Text", "20260102", "Default/Done"),
        ] {
            let options = json!({ "name": name, "folderPath": top, "type": kind, "issueDate": date, "status": status });
            upload(client, &options, b"x");
        }
        let again = json!({ "name": "b", "folderPath": top, "createMode": "NEW_VERSION" });
        upload(&editor, &again, b"y");
        (editor, top)
    }

    /// Regression test: sorted by bytes, a name in decomposed form had another place than in the
    /// folder's own order.
    #[test]
    fn names_are_sorted_as_they_are_compared() {
        let (client, top) = (Server::shared().user("editor"), own_folder());
        for name in ["A", "Z", "a\u{308}", "A\u{308}b", "\u{c4}c"] {
            upload(&client, &json!({ "name": name, "folderPath": top, "type": "Text" }), b"x");
        }
        let sorted = |by: &str| names(&folder(&client, &top).query("sortBy", by).ok()).concat();
        assert_eq!(sorted("name"), sorted(""));
        assert_eq!(sorted("name"), "AZA\u{308}b\u{c4}ca\u{308}");
    }

    #[test]
    fn a_folder_is_sorted_by_any_field_either_way() {
        let (client, top) = filled();
        let sorted = |by: &str| {
            let reply = folder(&client, &top).query("sortBy", by).ok();
            names(&reply).join("")
        };
        assert_eq!(sorted(""), "abc", "by name without a wish");
        for (field, expected) in
            [("name", "abc"), ("id", "cab"), ("type", "acb"), ("issueDate", "abc"), ("status", "bac")]
        {
            let backwards: String = expected.chars().rev().collect();
            assert_eq!(sorted(field), expected, "{field}");
            assert_eq!(sorted(&format!("{field}:asc")), expected, "{field}:asc");
            assert_eq!(sorted(&format!("-{field}")), backwards, "-{field}");
            assert_eq!(sorted(&format!("{field}:desc")), backwards, "{field}:desc");
        }
        // Where some are equal the next field decides, and without one the names.
        assert_eq!(sorted("version"), "acb");
        assert_eq!(sorted("-version,-name"), "bca");
        assert_eq!(sorted("creator"), "abc");
        assert_eq!(sorted("creator:desc,name:desc"), "cba");
        assert_eq!(sorted("lastModifier,-name"), "bac");
        for field in ["created", "modified"] {
            assert_eq!(sorted(&format!("{field},name")).len(), 3, "{field}");
        }
        for bad in ["colour", "-", "name:up", "-name:asc", "name,colour"] {
            let failure = folder(&client, &top).query("sortBy", bad).fails(400, "InvalidParameter");
            assert!(failure["message"].as_str().is_some_and(|message| message.contains("sortBy")), "{failure}");
        }
    }

    #[test]
    fn limit_and_offset_cut_a_page_out_of_a_total() {
        let (client, top) = filled();
        for (limit, offset, order, page) in [
            ("2", "", "", "ab"),
            ("2", "2", "", "c"),
            ("", "1", "", "bc"),
            ("1", "1", "-name", "b"),
            ("0", "", "", ""),
            ("", "99", "", ""),
        ] {
            let given = [("limit", limit), ("offset", offset), ("sortBy", order)];
            let given = given.into_iter().filter(|(_, value)| !value.is_empty());
            let call = given.fold(folder(&client, &top), |call, (name, value)| call.query(name, value));
            let reply = call.gives(&json!({ "total": 3 }));
            assert_eq!(names(&reply).join(""), page, "{limit} {offset} {order}");
        }
        for (name, bad) in [("limit", "-1"), ("offset", "x"), ("limit", "1.5")] {
            folder(&client, &top).query(name, bad).fails(400, "InvalidParameter");
        }
    }

    #[test]
    fn paths_are_shown_where_asked_for_and_additional_info_by_default() {
        let (client, top) = filled();
        let reply = folder(&client, &top).ok();
        assert!(reply["info"].get("path").is_none() && reply["items"][0].get("path").is_none());
        assert!(reply["info"]["additionalInfo"].is_object() && reply["items"][0]["additionalInfo"].is_object());
        assert_eq!(reply["info"]["virtualAttributes"]["childCount"], 3);
        let reply = folder(&client, &top).query("showPath", true).query("showAdditionalInfo", false).ok();
        assert_eq!(reply["info"]["path"], top);
        assert_eq!(reply["items"][0]["path"], format!("{top}/a"));
        assert!(reply["items"][0].get("additionalInfo").is_none());
        let root = client.call("folder-root-get", &[]).query("showPath", true).ok();
        assert_eq!(root["info"]["path"], "/");
        let news = root["items"].as_array().expect("a folder has items").iter().find(|item| item["name"] == "News");
        assert_eq!(news.expect("the sample has it")["path"], "/News");
    }

    #[test]
    fn a_folder_is_found_by_its_path_with_a_slash_at_the_end() {
        let client = Server::shared().user("reader");
        assert_eq!(folder(&client, "/News/City/").ok()["info"]["id"], folder(&client, "/News/City").ok()["info"]["id"]);
    }

    #[test]
    fn a_listing_is_answered_with_304_until_something_in_it_changes() {
        let (client, top) = filled();
        let call = folder(&client, &top);
        let tag = || call.send().header("etag").expect("there is an ETag").to_owned();
        let fresh = |tag: &str| call.clone().header("if-none-match", tag).send().status == 304;
        let first = tag();
        assert!(fresh(&first));
        upload(&client, &json!({ "name": "a", "folderPath": top, "createMode": "REPLACE" }), b"other");
        assert!(!fresh(&first), "an item has changed");
        let second = tag();
        let story = client.story(&top, "z");
        assert!(!fresh(&second), "an item has come");
        let third = tag();
        client.call("object-discard", &[&story]).ok();
        assert!(!fresh(&third), "an item has gone");
        let revision = || call.ok()["info"]["revision"].as_u64().expect("a folder has a revision");
        let before = revision();
        client.call("stet-object-restore-post", &[&story]).ok();
        assert_eq!(revision(), before + 1, "what comes and goes changes the folder, too");
    }

    #[test]
    fn subfolders_are_folders_only_and_twenty_unless_asked_for_more() {
        let client = reporter();
        let top = own_folder();
        for number in 0..25 {
            create(&client, &json!({ "path": format!("{top}/{number:02}") })).ok();
        }
        client.story(&top, "00-story");
        let call = client.call("folder-subfolders-get", &[&top]);
        let reply = call.gives(&json!({ "total": 25 }));
        assert_eq!(names(&reply).len(), 20);
        assert!(names(&reply).iter().all(|name| *name != "00-story"));
        assert_eq!(names(&call.clone().query("limit", 100).ok()).len(), 25);
        assert_eq!(names(&call.clone().query("offset", 20).ok()), ["20", "21", "22", "23", "24"]);
        assert_eq!(names(&call.query("limit", 2).query("sortBy", "-name").ok()), ["24", "23"]);
    }

    #[test]
    fn the_folders_with_names_of_their_own() {
        let client = Server::shared().user("contributor");
        for (id, path) in
            [("folder-home-get", "/Users/contributor"), ("folder-work-get", "/News/Culture"), ("folder-root-get", "/")]
        {
            client.call(id, &[]).query("showPath", true).gives(&json!({ "info": { "path": path } }));
            client.call(id, &[]).query("sortBy", "colour").fails(400, "InvalidParameter");
            // It may not be there yet, which is no reason to take any database.
            client.call(id, &[]).query("databaseId", 9).fails(404, "DatabaseNotFound");
        }
        let root =
            client.call("folder-root-get", &[]).query("sortBy", "-name").query("limit", 1).query("databaseId", "main");
        assert_eq!(names(&root.ok()).len(), 1);
    }
}

cases! {
    "folder-post": |corner| Made::default().json(new_in(corner));
    "folder-get": |corner| Made::on([filled_folder(corner)]);
    "folder-subfolders-get": |corner| {
        corner.folder();
        Made::on([Part::Object(id_of(corner, &corner.folder), Kind::Only("folder"))])
    };
    "folder-filter-get": |corner| Made::on([filled_folder(corner)]);
    "folder-view-get": |corner| Made::on([filled_folder(corner)]);
    "folder-view-post": |corner| Made::on([filled_folder(corner)]);
    "folder-view-named-get": |corner| Made::on([filled_folder(corner), word("compact")]);
    "folder-view-named-post": |corner| Made::on([filled_folder(corner), word("compact")]);
    "folder-home-get": |corner| home_made(corner);
    "folder-home-view-get": |corner| home_made(corner);
    "folder-home-view-post": |corner| home_made(corner);
    "folder-home-view-named-get": |corner| Made { path: vec![word("compact")], ..home_made(corner) };
    "folder-home-view-named-post": |corner| Made { path: vec![word("compact")], ..home_made(corner) };
    "folder-work-get": |corner| work_folder_made(corner);
    "folder-work-view-get": |corner| work_folder_made(corner);
    "folder-work-view-post": |corner| work_folder_made(corner);
    "folder-work-view-named-get": |corner| Made { path: vec![word("compact")], ..work_folder_made(corner) };
    "folder-work-view-named-post": |corner| Made { path: vec![word("compact")], ..work_folder_made(corner) };
    "folder-root-view-get": |_| Made::default();
    "folder-root-view-post": |_| Made::default();
    "folder-root-view-named-get": |_| Made::on([word("compact")]);
    "folder-root-view-named-post": |_| Made::on([word("compact")]);
    "folder-root-get": |_| Made::default();
}

/// The corner's folder, with a story in it.
fn filled_folder(corner: &Corner) -> Part {
    corner.story();
    Part::Object(id_of(corner, &corner.folder), Kind::Only("folder"))
}

/// Returns the call after the home was created by the first object in it.
fn home_made(corner: &Corner) -> Made {
    corner.client.call("folder-post", &[]).json(&json!({ "name": "in my home" })).ok();
    Made::default()
}

fn work_folder_made(corner: &Corner) -> Made {
    let login = corner.client.call("auth-login-post", &[]).json(&json!({
        "connectionId": "Editorial", "applicationId": "test", "username": "admin", "password": ADMIN_PASSWORD,
        "showUserInfo": true
    }));
    let path = login.ok()["user"]["workFolder"].clone();
    corner.client.call("folder-post", &[]).json(&json!({ "path": path })).ok();
    Made::default()
}

fn id_of(corner: &Corner, path: &str) -> String {
    let record = corner.client.call("object-get", &[&path]).ok();
    record["id"].as_str().expect("a record has an id").to_owned()
}
