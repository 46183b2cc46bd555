//! `/v3/folder`

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::*;

fn folder(source: &str) -> String {
    format!("/v3/folder/{}", encoded(source))
}

fn create(client: &Client, body: Value) -> Answer {
    client.post("/v3/folder", &body)
}

fn names(reply: &Value) -> Vec<&str> {
    let items = reply["items"].as_array().expect("a folder has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name")).collect()
}

mod creating {
    use super::*;

    #[test]
    fn a_path_is_made_with_all_that_is_missing_on_it() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        let made = create(&client, json!({ "path": format!("{top}/a/b/c") })).ok();
        assert_eq!(made["info"]["path"], format!("{top}/a/b/c"));
        assert_eq!((&made["info"]["type"], &made["info"]["creator"]), (&json!("Folder"), &json!("reporter")));
        for path in [top.clone(), format!("{top}/a"), format!("{top}/a/b"), format!("{top}/a/b/c")] {
            assert_eq!(client.get(&folder(&path)).ok()["info"]["type"], "Folder", "{path}");
        }
        let slash = create(&client, json!({ "path": format!("{top}/a/b/c/") })).ok();
        assert_eq!(slash["info"]["id"], made["info"]["id"], "a slash at the end is forgiven");
    }

    #[test]
    fn a_name_and_a_folder_do_as_well_as_a_path() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        let a = create(&client, json!({ "name": "a", "folderPath": top })).ok()["info"].clone();
        assert_eq!(a["path"], format!("{top}/a"));
        for (name, source) in [("b", &a["id"]), ("c", &a["pstate"]["uuid"]), ("d", &json!(format!("{top}/a")))] {
            let made = create(&client, json!({ "name": name, "folder": source })).ok();
            assert_eq!(made["info"]["path"], format!("{top}/a/{name}"));
        }
        let name = top.replace('/', "-");
        let home = create(&client, json!({ "name": name })).ok();
        assert_eq!(home["info"]["path"], format!("/Users/reporter/{name}"), "the user's home without a folder");
    }

    #[test]
    fn one_that_exists_is_the_answer_itself_unless_the_caller_says_otherwise() {
        let client = Server::shared().login("reporter");
        let path = own_folder();
        create(&client, json!({ "path": path })).ok();
        client.story(&path, "a");
        let first = client.get(&folder(&path)).ok();
        let again = create(&client, json!({ "path": path })).ok();
        for same in ["id", "revision", "modified", "creator"] {
            assert_eq!(again["info"][same], first["info"][same], "{same}");
        }
        create(&client, json!({ "path": path, "createMode": "EXCEPTION" })).fails(409, "DuplicatedName");
        let renamed = create(&client, json!({ "path": path, "options": { "createMode": "AUTO_RENAME" } })).ok();
        assert_eq!(renamed["info"]["path"], format!("{path} (2)"));
        let root = create(&client, json!({ "path": "/" })).ok();
        assert_eq!((&root["info"]["path"], &root["info"]["name"]), (&json!("/"), &json!("")));
    }

    #[test]
    fn sixteen_who_make_the_same_path_at_once_get_one_folder() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        let path = format!("{top}/a/b");
        let barrier = std::sync::Barrier::new(16);
        let ids: HashSet<String> = std::thread::scope(|scope| {
            let make = || {
                barrier.wait();
                create(&client, json!({ "path": path })).ok()["info"]["id"].to_string()
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread must not panic")).collect()
        });
        assert_eq!(ids.len(), 1);
        assert_eq!(names(&client.get(&folder(&top)).ok()), ["a"]);
        assert_eq!(names(&client.get(&folder(&format!("{top}/a"))).ok()), ["b"]);
    }

    #[test]
    fn names_follow_the_rules_for_all_names() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        let made = create(&client, json!({ "path": format!("{top}/a:b|c") })).ok();
        assert_eq!(made["info"]["name"], "a_b_c");
        for name in ["", "a/b", "..", "a\tb", &"x".repeat(256)] {
            create(&client, json!({ "name": name, "folderPath": top })).fails(400, "InvalidName");
        }
        create(&client, json!({})).fails(400, "InvalidName");
        client.send("POST", "/v3/folder", &[], b"").fails(400, "InvalidName");
        for path in ["a/b", "//", "/a//b", "/a/b//", ""] {
            create(&client, json!({ "path": path })).fails(400, "InvalidPath");
        }
        create(&client, json!({ "path": 7 })).fails(400, "InvalidBody");
    }

    #[test]
    fn a_path_through_something_else_is_refused() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        client.story(&top, "story");
        create(&client, json!({ "path": format!("{top}/story/below") })).fails(400, "InvalidType");
        create(&client, json!({ "path": format!("{top}/story") })).fails(409, "DuplicatedName");
        create(&client, json!({ "name": "a", "folder": format!("{top}/story") })).fails(400, "InvalidType");
        assert_eq!(names(&client.get(&folder(&top)).ok()), ["story"]);
    }

    #[test]
    fn an_unknown_database_is_not_found_and_a_reader_may_not_create() {
        let server = Server::shared();
        let client = server.login("reporter");
        create(&client, json!({ "path": own_folder(), "databaseId": 9 })).fails(404, "DatabaseNotFound");
        create(&client, json!({ "path": own_folder(), "databaseId": "main" })).ok();
        create(&server.login("reader"), json!({ "path": own_folder() })).fails(403, "PermissionDenied");
    }

    #[test]
    fn display_options_stand_in_the_body() {
        let client = Server::shared().login("reporter");
        let made =
            create(&client, json!({ "path": own_folder(), "options": { "showXml": true }, "showAttributes": 0 }));
        let info = made.ok()["info"].clone();
        assert!(info["systemAttributesXml"].is_string() && info.get("attributes").is_none(), "{info}");
    }
}

mod listing {
    use super::*;

    /// A folder with objects that differ in every field a listing can be sorted by: names in order of creation.
    fn filled(server: &Server) -> (Client, String, Vec<String>) {
        let top = own_folder();
        let (editor, reporter) = (server.login("editor"), server.login("reporter"));
        for (client, name, kind, date, status) in [
            (&reporter, "c", "Story", "20260103", "Story/Ready"),
            (&editor, "a", "Image", "20260101", "Image/Raw"),
            (&reporter, "b", "Text", "20260102", "Default/Done"),
        ] {
            let options = json!({ "name": name, "folderPath": top, "type": kind, "issueDate": date, "status": status });
            client.upload("/v3/object/create", &options, Some((name, "x/y", b"x"))).ok();
        }
        let again = json!({ "name": "b", "folderPath": top, "createMode": "NEW_VERSION" });
        editor.upload("/v3/object/create", &again, Some(("b", "x/y", b"y"))).ok();
        (editor, top, ["c", "a", "b"].map(str::to_owned).to_vec())
    }

    #[test]
    fn a_folder_is_sorted_by_any_field_either_way() {
        let (client, top, _) = filled(Server::shared());
        let sorted = |by: &str| {
            let reply = client.get(&format!("{}?sortBy={by}", folder(&top))).ok();
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
            let failure = client.get(&format!("{}?sortBy={bad}", folder(&top))).fails(400, "InvalidParameter");
            assert!(failure["message"].as_str().unwrap().contains("sortBy"), "{failure}");
        }
    }

    #[test]
    fn limit_and_offset_cut_a_page_out_of_a_total() {
        let (client, top, _) = filled(Server::shared());
        let page = |query: &str| {
            let reply = client.get(&format!("{}?{query}", folder(&top))).ok();
            assert_eq!(reply["total"], 3, "{query}");
            names(&reply).join("")
        };
        assert_eq!(page("limit=2"), "ab");
        assert_eq!(page("limit=2&offset=2"), "c");
        assert_eq!(page("offset=1"), "bc");
        assert_eq!(page("limit=1&offset=1&sortBy=-name"), "b");
        assert_eq!(page("limit=0"), "");
        assert_eq!(page("offset=99"), "");
        for bad in ["limit=-1", "offset=x", "limit=1.5"] {
            client.get(&format!("{}?{bad}", folder(&top))).fails(400, "InvalidParameter");
        }
    }

    #[test]
    fn paths_are_shown_where_asked_for_and_additional_info_by_default() {
        let (client, top, _) = filled(Server::shared());
        let reply = client.get(&folder(&top)).ok();
        assert!(reply["info"].get("path").is_none() && reply["items"][0].get("path").is_none());
        assert!(reply["info"]["additionalInfo"].is_object() && reply["items"][0]["additionalInfo"].is_object());
        assert_eq!(reply["info"]["virtualAttributes"]["childCount"], 3);
        let reply = client.get(&format!("{}?showPath=true&showAdditionalInfo=false", folder(&top))).ok();
        assert_eq!(reply["info"]["path"], top);
        assert_eq!(reply["items"][0]["path"], format!("{top}/a"));
        assert!(reply["items"][0].get("additionalInfo").is_none());
        let root = client.get("/v3/folder/root?showPath=true").ok();
        assert_eq!(root["info"]["path"], "/");
        let news = root["items"].as_array().unwrap().iter().find(|item| item["name"] == "News");
        assert_eq!(news.expect("the sample has it")["path"], "/News");
    }

    #[test]
    fn a_folder_is_found_by_every_kind_of_source() {
        let client = Server::shared().login("reader");
        let info = client.get(&folder("/News/City")).ok()["info"].clone();
        for source in [info["id"].as_str().unwrap(), info["pstate"]["uuid"].as_str().unwrap(), "/News/City/"] {
            assert_eq!(client.get(&folder(source)).ok()["info"]["id"], info["id"], "{source}");
        }
        client.get(&folder("/nowhere")).fails(404, "ObjectNotFound");
        client.get(&folder("nowhere")).fails(400, "InvalidParameter");
    }

    #[test]
    fn what_is_no_folder_is_of_an_invalid_type() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        let story = client.story(&top, "a");
        let drawer = client.drawer(&top, "b", 5);
        for source in [story, drawer] {
            client.get(&folder(&source)).fails(400, "InvalidType");
            client.get(&format!("{}/subfolders", folder(&source))).fails(400, "InvalidType");
        }
    }

    #[test]
    fn a_listing_is_answered_with_304_until_something_in_it_changes() {
        let (client, top, _) = filled(Server::shared());
        let path = folder(&top);
        let mut tag = client.get(&path).header("etag").expect("there is an ETag").to_owned();
        let fresh = |tag: &str| client.send("GET", &path, &[("if-none-match", tag)], b"").status == 304;
        assert!(fresh(&tag));
        let replace = json!({ "name": "a", "folderPath": top, "createMode": "REPLACE" });
        client.upload("/v3/object/create", &replace, Some(("a", "x/y", b"other"))).ok();
        assert!(!fresh(&tag), "an item has changed");
        tag = client.get(&path).header("etag").unwrap().to_owned();
        let story = client.story(&top, "z");
        assert!(!fresh(&tag), "an item has come");
        tag = client.get(&path).header("etag").unwrap().to_owned();
        client.delete(&format!("/v3/object/{}/discard", encoded(&story))).ok();
        assert!(!fresh(&tag), "an item has gone");
        let revision = || client.get(&path).ok()["info"]["revision"].as_u64().unwrap();
        let before = revision();
        client.post(&format!("/v3/object/{}/restore", encoded(&story)), &json!({})).ok();
        assert_eq!(revision(), before + 1, "what comes and goes changes the folder, too");
    }

    #[test]
    fn subfolders_are_folders_only_and_twenty_unless_asked_for_more() {
        let client = Server::shared().login("reporter");
        let top = own_folder();
        for number in 0..25 {
            create(&client, json!({ "path": format!("{top}/{number:02}") })).ok();
        }
        client.story(&top, "00-story");
        let read = |query: &str| client.get(&format!("{}/subfolders{query}", folder(&top))).ok();
        let reply = read("");
        assert_eq!((names(&reply).len(), &reply["total"]), (20, &json!(25)));
        assert!(names(&reply).iter().all(|name| *name != "00-story"));
        assert_eq!(names(&read("?limit=100")).len(), 25);
        assert_eq!(names(&read("?offset=20")), ["20", "21", "22", "23", "24"]);
        assert_eq!(names(&read("?limit=2&sortBy=-name")), ["24", "23"]);
    }

    #[test]
    fn the_folders_with_names_of_their_own() {
        let server = Server::shared();
        let client = server.login("contributor");
        let path = |which: &str| {
            client.get(&format!("/v3/folder/{which}?showPath=true")).ok()["info"]["path"].as_str().unwrap().to_owned()
        };
        assert_eq!(path("home"), "/Users/contributor");
        assert_eq!(path("work"), "/News/Culture");
        assert_eq!(path("root"), "/");
        let root = client.get("/v3/folder/root?sortBy=-name&limit=1&databaseId=main").ok();
        assert_eq!(names(&root).len(), 1);
        for which in ["home", "work", "root"] {
            client.get(&format!("/v3/folder/{which}?databaseId=9")).fails(404, "DatabaseNotFound");
            client.get(&format!("/v3/folder/{which}?sortBy=colour")).fails(400, "InvalidParameter");
            server.client().get(&format!("/v3/folder/{which}")).fails(401, "InvalidToken");
        }
    }
}
