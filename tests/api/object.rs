//! `/v3/object`

mod checkout;
mod collecting;
mod locks;
mod pictures;
mod ranges;
mod versions;

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::*;

const CREATE: &str = "/v3/object/create";

/// The type of the parts that make up a form, one by one.
struct Part<'a> {
    head: &'a str,
    body: &'a [u8],
}

const BOUNDARY: &str = "----stet-object-test";

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {}\r\n\r\n", part.head).bytes());
        body.extend_from_slice(part.body);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

fn send_form(client: &Client, body: &[u8]) -> Answer {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    client.send("POST", CREATE, &[("content-type", &content_type)], body)
}

/// Creates a story with these bytes.
fn upload(client: &Client, folder: &str, name: &str, bytes: &[u8], extra: Value) -> Answer {
    let mut options = json!({ "name": name, "folderPath": folder });
    for (key, value) in extra.as_object().expect("extra options are an object") {
        options[key] = value.clone();
    }
    client.upload(CREATE, &options, Some((name, "text/xml", bytes)))
}

fn object(source: &str) -> String {
    format!("/v3/object/{}", encoded(source))
}

fn id(reply: &Value) -> String {
    reply["id"].as_str().expect("a record has an id").to_owned()
}

/// How many objects a folder holds; none when it is not there.
fn count_in(client: &Client, folder: &str) -> u64 {
    let answer = client.get(&format!("/v3/folder/{}", encoded(folder)));
    if answer.status == 404 { 0 } else { answer.ok()["total"].as_u64().expect("a listing has a total") }
}

fn names_in(client: &Client, folder: &str) -> Vec<String> {
    let reply = client.get(&format!("/v3/folder/{}?sortBy=name", encoded(folder))).ok();
    let items = reply["items"].as_array().expect("a folder has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

fn bytes_of(client: &Client, source: &str) -> Vec<u8> {
    let answer = client.get(&format!("{}/content", object(source)));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer.body
}

/// Bytes that no codec could make shorter or guess.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Runs the same in 16 threads that begin together.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = std::sync::Barrier::new(16);
    let (barrier, work) = (&barrier, &work);
    std::thread::scope(|scope| {
        let begin = |number| {
            scope.spawn(move || {
                barrier.wait();
                work(number)
            })
        };
        let threads: Vec<_> = (0..16).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread must not panic")).collect()
    })
}

mod creating {
    use super::*;

    #[test]
    fn every_option_is_found_again_in_the_record() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let options = json!({
            "name": "a.xml",
            "type": "Story",
            "application": "test",
            "databaseId": "main",
            "folderPath": folder,
            "workFolder": "/News/Sport",
            "status": "Story/Ready",
            "product": "HarbourCourier",
            "edition": "Late",
            "issueDate": "20261121",
            "team": "City",
            "suid": "family-1",
            "attributes": "<metadata><headline>Ferry</headline></metadata>",
            "usageTickets": { "tl": { "t": { "@channel": "Web" } } },
            "options": { "createMode": "EXCEPTION", "checkIn": true },
            "unknown": 1,
        });
        let made = client.upload(CREATE, &options, Some(("x", "text/xml", b"<story/>"))).ok();
        assert_eq!(made["path"], format!("{folder}/a.xml"));
        let read = client.get(&object(&id(&made))).ok();
        assert_eq!(read["name"], "a.xml");
        assert_eq!(read["type"], "Story");
        assert_eq!(read["databaseId"], 1);
        assert_eq!(read["workFolder"], "/News/Sport");
        assert_eq!(read["statusInfo"], json!({ "name": "Story/Ready", "identifier": "rgb(76,145,65)" }));
        assert_eq!(read["issueDate"], "20261121");
        assert_eq!(read["suid"], "family-1");
        assert_eq!((&read["creator"], &read["lastModifier"]), (&json!("reporter"), &json!("reporter")));
        assert_eq!((&read["version"], &read["revision"]), (&json!(1), &json!(1)));
        assert_eq!((&read["locked"], &read["locker"]), (&Value::Null, &Value::Null));
        assert_eq!(read["created"], read["modified"]);
        assert!(
            read["created"].as_u64().unwrap() > 1_700_000_000 && read["created"].as_u64().unwrap() < 100_000_000_000
        );
        assert_eq!(read["attributes"], json!({ "metadata": { "headline": "Ferry" } }));
        let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261121" });
        assert_eq!(read["systemAttributes"], json!({ "props": { "productInfo": product, "team": "City" } }));
        assert_eq!(read["usageTickets"], json!({ "tl": { "t": { "@channel": "Web" } } }));
        assert_eq!(read["virtualAttributes"], json!({ "size": 8, "contentType": "text/xml", "versionCount": 1 }));
        for (of, name) in [("id", "id"), ("name", "name"), ("path", "path"), ("workFolder", "workFolder")] {
            assert!(made[of].is_string(), "a creation answers with {name}: {made}");
        }
        assert!(made["pstate"]["uuid"].is_string());
    }

    #[test]
    fn what_is_said_of_the_product_goes_beside_system_attributes_that_say_nothing_of_it() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let create = |name: &str, system: Value| {
            let extra = json!({ "product": "Courier", "team": "City", "systemAttributes": system });
            upload(&client, &folder, name, b"<a/>", extra).ok()["systemAttributes"]["props"].clone()
        };
        let product = json!({ "name": "Courier" });
        let expected = json!({ "notes": "x", "productInfo": product, "team": "City" });
        assert_eq!(create("a", json!("<props><notes>x</notes></props>")), expected);
        assert_eq!(create("b", json!({ "props": { "notes": "x" } })), expected);
        assert_eq!(create("c", json!("<props/>")), json!({ "productInfo": product, "team": "City" }));
        let own = json!({ "productInfo": { "name": "Post" }, "team": "Web" });
        assert_eq!(create("d", json!({ "props": own })), own, "what stands there already is kept");
    }

    #[test]
    fn a_missing_type_follows_from_the_content_type_and_then_from_the_extension() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        for (name, content_type, kind) in [
            ("a.dat", "text/xml", "Story"),
            ("b.dat", "application/xml; charset=utf-8", "Story"),
            ("c.dat", "image/jpeg", "Image"),
            ("d.dat", "text/plain", "Text"),
            ("e.xml", "application/octet-stream", "Story"),
            ("f.JPG", "application/octet-stream", "Image"),
            ("g.json", "application/x-unknown", "WireItem"),
            ("h.unknown", "application/x-unknown", "Binary"),
            ("i", "application/octet-stream", "Binary"),
        ] {
            let options = json!({ "name": name, "folderPath": folder });
            let made = client.upload(CREATE, &options, Some((name, content_type, b"x"))).ok();
            assert_eq!(made["type"], kind, "{name} {content_type}");
            assert_eq!(made["virtualAttributes"]["contentType"], content_type);
        }
        let options = json!({ "name": "j.xml", "folderPath": folder });
        let made = client.upload(CREATE, &options, None).ok();
        assert_eq!((&made["type"], &made["version"]), (&json!("Story"), &json!(0)), "without content");
    }

    #[test]
    fn a_type_may_have_a_products_prefix_and_any_case() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        for (name, kind) in [("a", "EOM::Story"), ("b", "story"), ("c", "Story")] {
            assert_eq!(upload(&client, &folder, name, b"<a/>", json!({ "type": kind })).ok()["type"], "Story");
        }
    }

    #[test]
    fn an_unknown_type_or_status_is_not_found_and_creates_nothing() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        upload(&client, &folder, "a", b"<a/>", json!({ "type": "Sonnet" })).fails(404, "TypeNotFound");
        upload(&client, &folder, "a", b"<a/>", json!({ "status": "Story/Nowhere" })).fails(404, "StatusNotFound");
        upload(&client, &folder, "a", b"<a/>", json!({ "type": "Story", "status": "Image/Release" }))
            .fails(400, "InvalidStatus");
        assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404, "not even the folder");
    }

    #[test]
    fn without_a_status_it_gets_the_first_of_its_types_workflow() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let status = |name: &str, kind: &str| {
            upload(&client, &folder, name, b"x", json!({ "type": kind })).ok()["statusInfo"]["name"].clone()
        };
        assert_eq!(status("a", "Story"), "Story/Draft");
        assert_eq!(status("b", "Image"), "Image/Raw");
        assert_eq!(status("c", "Binary"), "Default/New");
        let made = upload(&client, &folder, "d", b"x", json!({ "type": "EOM::Image", "status": "Image/Release" })).ok();
        assert_eq!(made["statusInfo"]["name"], "Image/Release");
    }

    #[test]
    fn containers_are_not_made_this_way() {
        let client = Server::shared().login("editor");
        for kind in ["Folder", "Drawer", "LiveBlog", "CompoundStory", "Topic"] {
            upload(&client, &own_folder(), "a", b"x", json!({ "type": kind })).fails(400, "InvalidType");
        }
    }

    #[test]
    fn an_issue_date_is_eight_digits() {
        let client = Server::shared().login("editor");
        for date in ["2026-11-21", "2026112", "tomorrow"] {
            let failure = upload(&client, &own_folder(), "a", b"x", json!({ "issueDate": date }));
            let message = failure.fails(400, "InvalidParameter")["message"].to_string();
            assert!(message.contains("issueDate") && message.contains(date), "{message}");
        }
    }

    #[test]
    fn without_a_folder_it_goes_to_the_users_home() {
        let server = Server::shared();
        let client = server.login("contributor");
        let name = own_folder().replace('/', "-");
        let made = client.upload(CREATE, &json!({ "name": name }), Some(("a", "text/xml", b"<a/>"))).ok();
        assert_eq!(made["path"], format!("/Users/contributor/{name}"));
        // The same call leads to the same folder.
        let again = json!({ "name": name, "options": { "createMode": "NEW_VERSION" } });
        let again = client.upload(CREATE, &again, Some(("a", "text/xml", b"<b/>"))).ok();
        assert_eq!((&again["id"], &again["version"]), (&made["id"], &json!(2)));
    }

    #[test]
    fn a_missing_folder_is_made_with_its_parents() {
        let client = Server::shared().login("reporter");
        let folder = format!("{}/deep/er/est", own_folder());
        let made = upload(&client, &folder, "a.xml", b"<a/>", json!({})).ok();
        assert_eq!(made["path"], format!("{folder}/a.xml"));
        let found = client.get(&format!("/v3/folder/{}?showPath=true", encoded(&folder))).ok();
        assert_eq!(found["info"]["path"], folder);
        assert_eq!(found["info"]["type"], "Folder");
        // By loid and by uuid too.
        for source in [&found["info"]["id"], &found["info"]["pstate"]["uuid"]] {
            let options = json!({ "name": format!("{}.xml", source.as_str().unwrap()), "folder": source });
            let made = client.upload(CREATE, &options, None).ok();
            assert!(made["path"].as_str().unwrap().starts_with(&folder), "{made}");
        }
        assert_eq!(count_in(&client, &folder), 3);
    }

    #[test]
    fn what_can_be_no_folder_is_refused() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let story = client.story(&folder, "a.xml");
        let in_folder = |folder: Value| client.upload(CREATE, &json!({ "name": "b", "folder": folder }), None);
        in_folder(json!(story)).fails(400, "InvalidType");
        in_folder(json!(format!("{folder}/a.xml/below"))).fails(400, "InvalidType");
        in_folder(json!("1$1.0.999999999")).fails(404, "ObjectNotFound");
        in_folder(json!("relative/path")).fails(400, "InvalidPath");
        in_folder(json!("/a//b")).fails(400, "InvalidPath");
        in_folder(json!(7)).fails(400, "InvalidBody");
        in_folder(json!(format!("{folder}/new\nline"))).fails(400, "InvalidName");
        assert_eq!(count_in(&client, &folder), 1);
    }

    #[test]
    fn a_database_is_named_by_number_or_name_and_an_unknown_one_is_not_found() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        for (name, database) in [("a", json!(1)), ("b", json!("1")), ("c", json!("main")), ("d", Value::Null)] {
            assert_eq!(upload(&client, &folder, name, b"x", json!({ "databaseId": database })).ok()["databaseId"], 1);
        }
        for database in [json!(2), json!("2"), json!("archive"), json!(70_000)] {
            let failure = upload(&client, &folder, "e", b"x", json!({ "databaseId": database }));
            failure.fails(404, "DatabaseNotFound");
        }
        assert_eq!(count_in(&client, &folder), 4);
    }

    #[test]
    fn a_reader_may_not_create() {
        let client = Server::shared().login("reader");
        upload(&client, "/Users/reader", "a", b"x", json!({})).fails(403, "PermissionDenied");
    }
}

mod attributes {
    use super::*;

    /// A text with all that the mapping speaks of.
    const XML: &str = "<m xmlns:x=\"urn:x\" x:a=\"1 &amp; 2\"><k>a</k><k>b</k><x:only/><mixed>one<b>two</b></mixed>\
                       <umlaut>\u{e4}\u{1f600}</umlaut><raw><![CDATA[<&>]]></raw></m>";

    fn view() -> Value {
        json!({ "m": {
            "@xmlns:x": "urn:x", "@x:a": "1 & 2",
            "k": ["a", "b"], "x:only": "", "mixed": { "#text": "one", "b": "two" },
            "umlaut": "\u{e4}\u{1f600}", "raw": "<&>",
        }})
    }

    #[test]
    fn attributes_given_as_xml_or_as_json_come_out_equal_as_either() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let from_xml = id(&upload(&client, &folder, "a", b"x", json!({ "attributes": XML })).ok());
        let from_json = id(&upload(&client, &folder, "b", b"x", json!({ "attributes": view() })).ok());
        let read = |id: &str| client.get(&format!("{}?showXml=true", object(id))).ok();
        let (a, b) = (read(&from_xml), read(&from_json));
        assert_eq!(a["attributes"], view());
        assert_eq!(b["attributes"], view());
        // The XML of each gives the same object again.
        for (name, xml) in [("c", &a["attributesXml"]), ("d", &b["attributesXml"])] {
            let made = upload(&client, &folder, name, b"x", json!({ "attributes": xml })).ok();
            assert_eq!(made["attributes"], view(), "{xml}");
        }
    }

    #[test]
    fn xml_is_shown_as_it_is_stored_only_where_that_is_asked_for() {
        let client = Server::shared().login("reporter");
        let text = "<?xml version='1.0'?>\n<!DOCTYPE m [ <!ENTITY e \"x\"> ]>\n<m  a='1' ><!-- kept --><b></b></m>";
        let made = upload(&client, &own_folder(), "a", b"x", json!({ "attributes": text })).ok();
        let read = |query: &str| client.get(&format!("{}?{query}", object(&id(&made)))).ok();
        assert_eq!(read("showXml=1&useUnparsedXml=1")["attributesXml"], text);
        let parsed = read("showXml=1")["attributesXml"].as_str().unwrap().to_owned();
        assert_ne!(parsed, text);
        assert!(parsed.contains("<!DOCTYPE m [ <!ENTITY e \"x\"> ]>"), "a DOCTYPE is kept: {parsed}");
        assert!(parsed.contains("<m a=\"1\"><!-- kept --><b/></m>"), "{parsed}");
        assert_eq!(read("useUnparsedXml=1")["attributesXml"], Value::Null, "not without showXml");
    }

    #[test]
    fn showxml_and_showjson_choose_the_forms_of_all_four_groups() {
        let client = Server::shared().login("reporter");
        let extra =
            json!({ "attributes": "<m>1</m>", "systemAttributes": "<props>2</props>", "usageTickets": "<tl>3</tl>" });
        let made = upload(&client, &own_folder(), "a", b"x", extra).ok();
        let read = |query: &str| client.get(&format!("{}?{query}", object(&id(&made)))).ok();
        let forms = |record: &Value| {
            let groups = ["systemAttributes", "attributes", "usageTickets", "virtualAttributes"];
            let has = |key: String| record.get(&key).is_some();
            (groups.map(|group| has(group.to_owned())), groups.map(|group| has(format!("{group}Xml"))))
        };
        assert_eq!(forms(&read("")), ([true; 4], [false; 4]));
        assert_eq!(forms(&read("showXml=true")), ([true; 4], [true; 4]));
        assert_eq!(forms(&read("showXml=true&showJson=false")), ([false; 4], [true; 4]));
        assert_eq!(forms(&read("showJson=false")), ([false; 4], [false; 4]));
        let both = read("showXml=TRUE");
        assert_eq!((&both["attributes"], &both["attributesXml"]), (&json!({ "m": "1" }), &json!("<m>1</m>")));
        assert_eq!(both["systemAttributesXml"], "<props>2</props>");
        assert_eq!(both["usageTicketsXml"], "<tl>3</tl>");
        let computed = both["virtualAttributesXml"].as_str().unwrap();
        assert!(
            computed.contains("<size>1</size>") && computed.contains("<versionCount>1</versionCount>"),
            "{computed}"
        );
        for (group, place) in [("System", 0), ("", 1), ("Virtual", 3)] {
            let name = if group.is_empty() { "showAttributes".to_owned() } else { format!("show{group}Attributes") };
            let mut expected = [true; 4];
            expected[place] = false;
            assert_eq!(forms(&read(&format!("{name}=0&showXml=1"))), (expected, expected), "{name}");
        }
        assert_eq!(forms(&read("showUsageTickets=0")).0, [true, true, false, true]);
        assert_eq!(forms(&read("showSystemAttribute=0")).0, [false, true, true, true], "the clients' spelling");
    }

    #[test]
    fn an_object_without_attributes_shows_empty_groups_that_can_be_sent_back() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let made = upload(&client, &folder, "a", b"x", json!({})).ok();
        assert_eq!(made["attributes"], json!({}));
        assert_eq!(made["systemAttributes"], json!({ "props": {} }));
        assert_eq!(made["usageTickets"], json!({ "tl": {} }));
        for (name, attributes) in [("b", json!({})), ("c", Value::Null), ("d", json!(""))] {
            let extra = json!({ "attributes": attributes, "systemAttributes": made["systemAttributes"] });
            let again = upload(&client, &folder, name, b"x", extra).ok();
            assert_eq!(again["attributes"], json!({}), "{attributes}");
        }
    }

    #[test]
    fn hostile_xml_is_refused_by_the_name_of_its_field_and_creates_nothing() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        let bomb = "<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
        let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>";
        for bad in [
            "<a>",
            "text",
            "<a/><b/>",
            "<a b=1/>",
            "<a>&unknown;</a>",
            "<a>\u{1}</a>",
            "<a><b></a></b>",
            &deep,
            bomb,
            outside,
        ] {
            for field in ["attributes", "systemAttributes", "usageTickets"] {
                let failure =
                    upload(&client, &folder, "a", b"x", json!({ field: bad })).fails(400, "InvalidAttributes");
                assert!(failure["message"].as_str().unwrap().contains(&format!("`{field}`")), "{bad}: {failure}");
                assert_eq!(failure["details"]["field"], field);
            }
        }
        assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404, "nothing was made");
    }

    #[test]
    fn json_that_no_xml_can_be_made_of_is_refused() {
        let client = Server::shared().login("reporter");
        for bad in [
            json!([]),
            json!(7),
            json!({ "a": 1, "b": 2 }),
            json!({ "no name": "" }),
            json!({ "a": [["b"]] }),
            json!({ "a": { "@b": {} } }),
            json!({ "a": "\u{1}" }),
        ] {
            let failure = upload(&client, &own_folder(), "a", b"x", json!({ "attributes": bad }));
            failure.fails(400, "InvalidAttributes");
        }
    }

    #[test]
    fn system_attributes_and_tickets_must_have_their_root() {
        let client = Server::shared().login("reporter");
        for (field, bad) in [
            ("systemAttributes", json!("<other/>")),
            ("systemAttributes", json!({ "other": "" })),
            ("usageTickets", json!("<props/>")),
        ] {
            let failure = upload(&client, &own_folder(), "a", b"x", json!({ field: bad }));
            let failure = failure.fails(400, "InvalidAttributes");
            assert_eq!(failure["details"]["field"], field);
        }
    }
}

mod names {
    use super::*;

    fn create(client: &Client, folder: &str, name: &str) -> Answer {
        client.upload(CREATE, &json!({ "name": name, "folderPath": folder, "type": "Story" }), None)
    }

    #[test]
    fn what_file_systems_dislike_becomes_an_underscore() {
        let client = Server::shared().login("reporter");
        let made = create(&client, &own_folder(), "a:b\"c|d.xml").ok();
        assert_eq!(made["name"], "a_b_c_d.xml");
        assert!(made["path"].as_str().unwrap().ends_with("/a_b_c_d.xml"));
    }

    #[test]
    fn a_name_that_is_none_is_refused() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        for name in ["", " ", "a/b", "a\nb", "a\u{0}b", "a\u{7f}", ".", "..", &"x".repeat(256), &"\u{e9}".repeat(128)] {
            create(&client, &folder, name).fails(400, "InvalidName");
        }
        assert_eq!(count_in(&client, &folder), 0);
        let longest = "\u{e9}".repeat(127) + "x";
        assert_eq!(create(&client, &folder, &longest).ok()["name"], longest);
    }

    #[test]
    fn names_in_another_normal_form_are_the_same_name() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let made = create(&client, &folder, "Caf\u{e9}").ok();
        let failure = create(&client, &folder, "Cafe\u{301}").fails(409, "DuplicatedName");
        assert_eq!(failure["details"]["existing"], made["id"]);
        create(&client, &folder, "cafe\u{301}").ok();
        let found = client.get(&object(&format!("{folder}/Cafe\u{301}"))).ok();
        assert_eq!((&found["id"], &found["name"]), (&made["id"], &json!("Caf\u{e9}")));
    }

    #[test]
    fn without_a_name_the_files_name_counts_and_without_either_there_is_none() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let options = json!({ "folderPath": folder });
        let made = client.upload(CREATE, &options, Some(("photo:1.jpg", "image/jpeg", b"x"))).ok();
        assert_eq!((&made["name"], &made["type"]), (&json!("photo_1.jpg"), &json!("Image")));
        client.upload(CREATE, &options, None).fails(400, "InvalidName");
        assert_eq!(names_in(&client, &folder), ["photo_1.jpg"]);
    }

    #[test]
    fn of_sixteen_who_create_the_same_name_at_once_one_wins() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let answers = at_once(|number| {
            create(&client, &folder, &format!("a{}", if number % 2 == 0 { "\u{e9}" } else { "e\u{301}" }))
        });
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1);
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            lost.fails(409, "DuplicatedName");
        }
        assert_eq!(count_in(&client, &folder), 1);
    }

    #[test]
    fn of_sixteen_who_let_it_be_renamed_all_win_with_names_of_their_own() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let made = at_once(|_| {
            upload(&client, &folder, "a.xml", b"x", json!({ "options": { "createMode": "AUTO_RENAME" } })).ok()
        });
        let names: HashSet<&str> = made.iter().map(|record| record["name"].as_str().unwrap()).collect();
        let ids: HashSet<&str> = made.iter().map(|record| record["id"].as_str().unwrap()).collect();
        assert_eq!((names.len(), ids.len()), (16, 16));
        assert!(names.contains("a.xml") && names.contains("a (16).xml"), "{names:?}");
        assert_eq!(count_in(&client, &folder), 16);
    }

    #[test]
    fn sixteen_new_versions_at_once_are_sixteen_versions() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let mode = json!({ "options": { "createMode": "NEW_VERSION" } });
        let made =
            at_once(|number| upload(&client, &folder, "a.xml", number.to_string().as_bytes(), mode.clone()).ok());
        let ids: HashSet<&str> = made.iter().map(|record| record["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 1);
        let loid = id(&made[0]);
        assert_eq!(client.get(&object(&loid)).ok()["version"], 16);
        let mut contents: Vec<u32> = (1..=16)
            .map(|version| {
                let answer = client.get(&format!("{}/content?version={version}", object(&loid)));
                String::from_utf8(answer.body).unwrap().parse().unwrap()
            })
            .collect();
        contents.sort_unstable();
        assert_eq!(contents, (0..16).collect::<Vec<_>>());
    }
}

mod create_mode {
    use super::*;

    #[test]
    fn exception_is_the_default_and_refuses_a_taken_name() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let first = upload(&client, &folder, "a.xml", b"1", json!({})).ok();
        for extra in
            [json!({}), json!({ "createMode": "EXCEPTION" }), json!({ "options": { "createMode": "EXCEPTION" } })]
        {
            upload(&client, &folder, "a.xml", b"2", extra).fails(409, "DuplicatedName");
        }
        assert_eq!(bytes_of(&client, &id(&first)), b"1");
        assert_eq!(names_in(&client, &folder), ["a.xml"]);
    }

    #[test]
    fn auto_rename_finds_the_next_free_name() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let create = |extra| upload(&client, &folder, "a.xml", b"x", extra).ok()["name"].clone();
        assert_eq!(create(json!({ "createMode": "AUTO_RENAME" })), "a.xml", "free as it is");
        assert_eq!(create(json!({ "createMode": "AUTO_RENAME" })), "a (2).xml");
        assert_eq!(create(json!({ "options": { "createMode": "AUTO_RENAME" } })), "a (3).xml");
    }

    #[test]
    fn the_inner_mode_counts_for_more_than_the_one_on_top() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        upload(&client, &folder, "a.xml", b"x", json!({})).ok();
        let both = json!({ "createMode": "AUTO_RENAME", "options": { "createMode": "EXCEPTION" } });
        upload(&client, &folder, "a.xml", b"x", both).fails(409, "DuplicatedName");
        let both = json!({ "createMode": "EXCEPTION", "options": { "createMode": "AUTO_RENAME" } });
        assert_eq!(upload(&client, &folder, "a.xml", b"x", both).ok()["name"], "a (2).xml");
    }

    #[test]
    fn an_unknown_mode_is_refused_with_its_place() {
        let client = Server::shared().login("reporter");
        let failure = upload(&client, &own_folder(), "a", b"x", json!({ "options": { "createMode": "MERGE" } }));
        assert_eq!(failure.fails(400, "InvalidBody")["details"]["path"], "$.options.createMode");
    }

    #[test]
    fn replace_puts_another_content_into_the_current_version() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let first = upload(&client, &folder, "a.xml", b"1", json!({ "attributes": "<m>1</m>" })).ok();
        let mode = json!({ "createMode": "REPLACE", "usageTickets": "<tl>2</tl>" });
        let second = upload(&client, &folder, "a.xml", b"22", mode).ok();
        assert_eq!((&second["id"], &second["pstate"]), (&first["id"], &first["pstate"]));
        assert_eq!((&second["version"], &second["revision"]), (&json!(1), &json!(2)));
        assert_eq!(second["virtualAttributes"]["size"], 2);
        assert_eq!(second["attributes"], json!({ "m": "1" }), "what is not given stays");
        assert_eq!(second["usageTickets"], json!({ "tl": "2" }));
        assert_eq!(bytes_of(&client, &id(&second)), b"22");
        // From the tables to a file and back.
        let large = noise(300_000);
        upload(&client, &folder, "a.xml", &large, json!({ "createMode": "REPLACE" })).ok();
        assert!(bytes_of(&client, &id(&first)) == large);
        upload(&client, &folder, "a.xml", b"333", json!({ "createMode": "REPLACE" })).ok();
        assert_eq!(bytes_of(&client, &id(&first)), b"333");
    }

    #[test]
    fn a_new_version_has_a_loid_of_its_own_by_which_it_is_read() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let first = upload(&client, &folder, "a.xml", b"one", json!({ "attributes": "<m>1</m>" })).ok();
        let loid = id(&first);
        let last = |loid: &str| client.get(&format!("{}/lastversionloid", object(loid)));
        let version_1 = String::from_utf8(last(&loid).body).unwrap();
        let editor = Server::shared().login("editor");
        let second =
            upload(&editor, &folder, "a.xml", b"second", json!({ "options": { "createMode": "NEW_VERSION" } })).ok();
        assert_eq!((&second["id"], &second["version"]), (&first["id"], &json!(2)));
        let answer = last(&loid);
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
        let version_2 = String::from_utf8(answer.body).unwrap();
        assert!(version_1 != version_2 && version_1 != loid && version_2 != loid);
        // Records.
        let old = client.get(&object(&version_1)).ok();
        assert_eq!((&old["id"], &old["version"]), (&json!(version_1), &json!(1)));
        assert_eq!((&old["name"], &old["lastModifier"]), (&json!("a.xml"), &json!("reporter")));
        assert_eq!(old["virtualAttributes"]["size"], 3);
        let new = client.get(&format!("{}?showPath=true", object(&version_2))).ok();
        assert_eq!((&new["id"], &new["version"]), (&json!(version_2), &json!(2)));
        assert_eq!((&new["lastModifier"], &new["path"]), (&json!("editor"), &json!(format!("{folder}/a.xml"))));
        // Contents.
        assert_eq!(bytes_of(&client, &version_1), b"one");
        assert_eq!(bytes_of(&client, &version_2), b"second");
        assert_eq!(bytes_of(&client, &loid), b"second");
        for (version, bytes) in [("1", "one"), ("2", "second"), ("-1", "second")] {
            let answer = client.get(&format!("{}/content?version={version}", object(&loid)));
            assert_eq!(answer.body, bytes.as_bytes(), "version {version}");
        }
        // Without its database part, and in a list.
        assert_eq!(client.get(&object(version_1.trim_start_matches("1$"))).ok()["id"], version_1);
        let list = client.post("/v3/object", &json!([version_1, loid])).ok();
        assert_eq!((&list["items"][0]["id"], &list["items"][0]["version"]), (&json!(version_1), &json!(1)));
        assert_eq!((&list["items"][1]["id"], &list["items"][1]["version"]), (&json!(loid), &json!(2)));
    }

    #[test]
    fn a_version_that_is_not_there_is_not_found() {
        let client = Server::shared().login("reporter");
        let loid = client.story(&own_folder(), "a.xml");
        let missing = loid.replace("$1.0.", "$1.7.");
        assert_ne!(missing, loid);
        for path in ["", "/content", "/lastversionloid"] {
            client.get(&format!("{}{path}", object(&missing))).fails(404, "ObjectNotFound");
        }
        for (version, status, code) in
            [("7", 404, "ObjectNotFound"), ("0", 400, "InvalidParameter"), ("-2", 400, "InvalidParameter")]
        {
            client.get(&format!("{}/content?version={version}", object(&loid))).fails(status, code);
        }
    }

    #[test]
    fn a_version_cannot_be_changed_by_its_own_loid() {
        let client = Server::shared().login("editor");
        let loid = client.story(&own_folder(), "a.xml");
        let version = String::from_utf8(client.get(&format!("{}/lastversionloid", object(&loid))).body).unwrap();
        client.delete(&format!("{}/discard", object(&version))).fails(400, "InvalidType");
        client.delete(&format!("{}/destroy", object(&version))).fails(400, "InvalidType");
        client.post(&format!("{}/restore", object(&version)), &json!({})).fails(400, "InvalidType");
        for what in ["discard", "destroy"] {
            let reply = client.delete_with(&format!("/v3/object/{what}"), &json!([version])).ok();
            assert_eq!(reply["errors"][0]["code"], "CMS.InvalidType");
        }
        assert_eq!(client.get(&object(&loid)).status, 200);
    }

    #[test]
    fn an_object_without_content_has_no_version_and_gets_its_first() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let options = json!({ "name": "a.xml", "folderPath": folder, "createMode": "NEW_VERSION" });
        let made = client.upload(CREATE, &options, None).ok();
        assert_eq!(made["version"], 0);
        let loid = id(&made);
        let last = client.get(&format!("{}/lastversionloid", object(&loid)));
        assert_eq!(String::from_utf8(last.body).unwrap(), loid);
        client.get(&format!("{}/content", object(&loid))).fails(404, "ObjectNotFound");
        let filled = client.upload(CREATE, &options, Some(("a.xml", "text/xml", b"<a/>"))).ok();
        assert_eq!((&filled["id"], &filled["version"]), (&json!(loid), &json!(1)));
        // No content, no new version.
        assert_eq!(client.upload(CREATE, &options, None).ok()["version"], 1);
    }

    #[test]
    fn a_new_version_leaves_status_and_type_alone_that_nobody_named() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let extra = json!({ "type": "Template", "status": "Default/Done", "workFolder": "/News/City", "issueDate": "20261121" });
        upload(&client, &folder, "a.xml", b"1", extra).ok();
        for mode in ["NEW_VERSION", "REPLACE"] {
            let again = upload(&client, &folder, "a.xml", b"2", json!({ "createMode": mode })).ok();
            assert_eq!(again["type"], "Template", "{mode}");
            assert_eq!(again["statusInfo"]["name"], "Default/Done", "{mode}");
            assert_eq!((&again["workFolder"], &again["issueDate"]), (&json!("/News/City"), &json!("20261121")));
        }
        // Another type has another workflow.
        let other = upload(&client, &folder, "a.xml", b"3", json!({ "createMode": "REPLACE", "type": "Story" })).ok();
        assert_eq!((&other["type"], &other["statusInfo"]["name"]), (&json!("Story"), &json!("Story/Draft")));
        let named = json!({ "createMode": "REPLACE", "status": "Story/Ready" });
        assert_eq!(upload(&client, &folder, "a.xml", b"3", named).ok()["statusInfo"]["name"], "Story/Ready");
    }

    #[test]
    fn no_mode_puts_a_document_in_the_place_of_a_folder() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        client.post("/v3/folder", &json!({ "path": format!("{folder}/a") })).ok();
        for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
            upload(&client, &folder, "a", b"x", json!({ "createMode": mode })).fails(409, "DuplicatedName");
        }
        assert_eq!(upload(&client, &folder, "a", b"x", json!({ "createMode": "AUTO_RENAME" })).ok()["name"], "a (2)");
    }
}

mod forms {
    use super::*;

    const OPTIONS: &str = "name=\"options\"\r\ncontent-type: application/json";
    const CONTENT: &str = "name=\"content\"; filename=\"a.xml\"\r\ncontent-type: text/xml";

    fn options(folder: &str) -> Vec<u8> {
        json!({ "name": "a.xml", "folderPath": folder }).to_string().into_bytes()
    }

    #[test]
    fn parts_may_come_in_any_order_and_unknown_ones_are_passed_over() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let body = form(&[
            Part { head: "name=\"comment\"", body: b"nobody reads this" },
            Part { head: CONTENT, body: b"<a/>" },
            Part { head: "name=\"comment\"", body: b"twice" },
            Part { head: OPTIONS, body: &options(&folder) },
        ]);
        let made = send_form(&client, &body).ok();
        assert_eq!(made["path"], format!("{folder}/a.xml"));
        assert_eq!(bytes_of(&client, &id(&made)), b"<a/>");
    }

    #[test]
    fn a_part_that_comes_twice_is_refused() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let options = options(&folder);
        let (o, c) = (|| Part { head: OPTIONS, body: &options }, || Part { head: CONTENT, body: b"<a/>" });
        for (body, name) in [(form(&[o(), c(), o()]), "options"), (form(&[o(), c(), c()]), "content")] {
            let message = send_form(&client, &body).fails(400, "InvalidBody")["message"].to_string();
            assert!(message.contains(name), "{message}");
        }
        assert_eq!(count_in(&client, &folder), 0);
    }

    #[test]
    fn options_that_are_no_json_object_are_refused() {
        let client = Server::shared().login("reporter");
        let bad: [&[u8]; 7] = [
            b"{",
            b"[]",
            b"7",
            b"{\"name\": 7}",
            b"{\"name\":\"a\"} x",
            b"\xff\xfe",
            b"{\"attributes\":[[[[[[[[[[[[[[[[[",
        ];
        for bad in bad {
            let body = form(&[Part { head: OPTIONS, body: bad }, Part { head: CONTENT, body: b"<a/>" }]);
            send_form(&client, &body).fails(400, "InvalidBody");
        }
        let named = form(&[Part { head: OPTIONS, body: b"{\"issueDate\": {}}" }]);
        assert_eq!(send_form(&client, &named).fails(400, "InvalidBody")["details"]["path"], "$.issueDate");
    }

    #[test]
    fn options_may_be_left_out_where_the_file_says_enough() {
        let client = Server::shared().login("reporter");
        let name = own_folder().replace('/', "-");
        let head = format!("name=\"content\"; filename=\"{name}.xml\"\r\ncontent-type: text/xml");
        let made = send_form(&client, &form(&[Part { head: &head, body: b"<a/>" }])).ok();
        assert_eq!(made["path"], format!("/Users/reporter/{name}.xml"));
        send_form(&client, &form(&[])).fails(400, "InvalidName");
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let client = Server::shared().login("reporter");
        client.post(CREATE, &json!({ "name": "a" })).fails(400, "InvalidBody");
        client.send("POST", CREATE, &[], b"").fails(400, "InvalidBody");
        client.send("POST", CREATE, &[("content-type", "multipart/form-data")], b"x").fails(400, "InvalidBody");
        send_form(&client, b"this has no boundary at all").fails(400, "InvalidBody");
        send_form(&client, b"").fails(400, "InvalidBody");
    }

    #[test]
    fn a_form_whose_end_is_missing_creates_nothing() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let whole =
            form(&[Part { head: OPTIONS, body: &options(&folder) }, Part { head: CONTENT, body: &noise(100_000) }]);
        for cut in [whole.len() - 3, whole.len() - 60, whole.len() / 2, 200, 20] {
            send_form(&client, &whole[..cut]).fails(400, "InvalidBody");
        }
        assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404);
    }

    #[test]
    fn a_connection_cut_off_midway_leaves_nothing_behind() {
        let server = Server::start();
        let client = server.login("reporter");
        let folder = own_folder();
        let whole =
            form(&[Part { head: OPTIONS, body: &options(&folder) }, Part { head: CONTENT, body: &noise(2_000_000) }]);
        let unfinished = || {
            let folder = server.data().join("content/tmp");
            std::fs::read_dir(folder).map(|entries| entries.count()).unwrap_or_default()
        };
        let mut stream = TcpStream::connect(server.base.trim_start_matches("http://")).expect("it listens");
        let token = client.token.as_deref().expect("it is logged in");
        let head = format!(
            "POST {CREATE}?token={token} HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary={BOUNDARY}\r\n\
             content-length: {}\r\n\r\n",
            whole.len()
        );
        stream.write_all(head.as_bytes()).expect("it is read");
        stream.write_all(&whole[..1_500_000]).expect("it is read");
        wait_until("the upload has begun", || unfinished() == 1);
        drop(stream);
        wait_until("the upload is gone", || unfinished() == 0);
        assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404);
    }

    #[test]
    fn what_is_too_large_is_refused_and_leaves_nothing_behind() {
        let limits = [("LIMITS__UPLOAD_PART_OPTIONS_BYTES", "1024"), ("LIMITS__UPLOAD_BYTES", "300000")];
        let mut server = Server::with(&limits);
        let client = server.login("reporter");
        let folder = own_folder();
        let filled = |len: usize| json!({ "name": "a.xml", "folderPath": folder, "team": "x".repeat(len) }).to_string();
        let content = noise(300_001);
        let create = |options: &str, content: &[u8], other: &[u8]| {
            let parts = [
                Part { head: "name=\"other\"", body: other },
                Part { head: OPTIONS, body: options.as_bytes() },
                Part { head: CONTENT, body: content },
            ];
            send_form(&client, &form(&parts))
        };
        let failure = create(&filled(1024), b"x", b"").fails(413, "TooLarge");
        assert_eq!(failure["details"]["limit"], 1024);
        assert!(failure["message"].as_str().unwrap().contains("`options`"));
        assert_eq!(create(&filled(10), &content, b"").fails(413, "TooLarge")["details"]["limit"], 300_000);
        create(&filled(10), b"x", &[b'x'; 1025]).fails(413, "TooLarge");
        assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404);
        let left: Vec<_> = std::fs::read_dir(server.data().join("content/tmp")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        let made = create(&filled(10), &content[..300_000], b"").ok();
        assert!(bytes_of(&client, &id(&made)) == content[..300_000]);
        assert_eq!(server.terminate(), Some(0));
        let (code, output) = server.check();
        assert_eq!(code, Some(0), "{output}");
    }
}

mod content {
    use super::*;

    #[test]
    fn large_content_lies_in_a_file_and_small_in_a_row_and_both_come_back_byte_for_byte() {
        let mut server = Server::start();
        let client = server.login("reporter");
        let folder = own_folder();
        let large = noise(1_000_000);
        let small = noise(1000);
        let files = |server: &Server| {
            let mut sizes = Vec::new();
            let mut folders = vec![server.data().join("content")];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let entry = entry.unwrap();
                    match entry.metadata().unwrap() {
                        meta if meta.is_dir() => folders.push(entry.path()),
                        meta => sizes.push(meta.len()),
                    }
                }
            }
            sizes
        };
        let before = files(&server).len();
        let kept = id(&upload(&client, &folder, "small.bin", &small, json!({})).ok());
        assert_eq!(files(&server).len(), before, "a small one needs no file");
        let made = id(&upload(&client, &folder, "large.bin", &large, json!({})).ok());
        let sizes = files(&server);
        assert_eq!(sizes.len(), before + 1);
        assert!(sizes.contains(&1_000_000));
        // The same bytes again take no further file.
        let twin = id(&upload(&client, &folder, "twin.bin", &large, json!({})).ok());
        assert_eq!(files(&server).len(), before + 1);
        server.kill();
        let mut server = server.restart();
        let client = client.to(&server);
        for (loid, bytes) in [(&made, &large), (&twin, &large), (&kept, &small)] {
            assert!(bytes_of(&client, loid) == *bytes);
            assert!(client.get(&format!("{}/content/binary", object(loid))).body == *bytes);
            let record = client.get(&format!("{}?showAdditionalInfo=1", object(loid))).ok();
            assert_eq!(record["virtualAttributes"]["size"], bytes.len());
        }
        assert_eq!(server.terminate(), Some(0));
        let (code, output) = server.check();
        assert_eq!(code, Some(0), "{output}");
    }

    #[test]
    fn a_content_says_what_it_is_and_is_never_shown_as_a_page_of_ours() {
        let client = Server::shared().login("reporter");
        let options = json!({ "name": "Caf\u{e9} \\ 1.html", "folderPath": own_folder() });
        let made = client.upload(CREATE, &options, Some(("x", "text/html; charset=utf-8", b"<script>"))).ok();
        let answer = client.get(&format!("{}/content", object(&id(&made))));
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.header("content-length"), Some("8"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let disposition = answer.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; filename=\"Caf_ _ 1.html\"; filename*=UTF-8''"), "{disposition}");
        assert!(disposition.ends_with("Caf%C3%A9%20%5C%201%2Ehtml"), "{disposition}");
    }

    #[test]
    fn an_etag_is_answered_with_304_until_the_object_changes() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let loid = client.story(&folder, "a.xml");
        for path in [object(&loid), format!("{}/content", object(&loid))] {
            let tag = client.get(&path).header("etag").expect("there is an ETag").to_owned();
            assert!(tag.starts_with('"'), "it is strong: {tag}");
            let again = client.send("GET", &path, &[("if-none-match", &tag)], b"");
            assert_eq!((again.status, again.body.len()), (304, 0));
            assert_eq!(again.header("etag"), Some(tag.as_str()));
            upload(&client, &folder, "a.xml", b"<other/>", json!({ "createMode": "REPLACE" })).ok();
            let changed = client.send("GET", &path, &[("if-none-match", &tag)], b"");
            assert_eq!(changed.status, 200);
            assert_ne!(changed.header("etag"), Some(tag.as_str()));
        }
        let version = String::from_utf8(client.get(&format!("{}/lastversionloid", object(&loid))).body).unwrap();
        assert!(client.get(&object(&version)).header("etag").is_some(), "a version's record has one too");
    }

    #[test]
    fn maxsize_cuts_after_so_many_megabytes() {
        let client = Server::shared().login("reporter");
        let bytes = noise(1_300_000);
        let made = id(&upload(&client, &own_folder(), "a.bin", &bytes, json!({})).ok());
        let read = |most: &str| client.get(&format!("{}/content?maxSize={most}", object(&made)));
        assert!(read("1").body == bytes[..1_000_000]);
        assert!(read("2").body == bytes);
        assert_eq!(read("0").body.len(), 0);
        assert_ne!(read("1").header("etag"), read("2").header("etag"));
        read("-1").fails(400, "InvalidParameter");
        read("x").fails(400, "InvalidParameter");
    }

    #[test]
    fn a_folder_has_no_content() {
        let client = Server::shared().login("reporter");
        client.get(&format!("{}/content", object("/News"))).fails(404, "ObjectNotFound");
        client.get(&format!("{}/content", object("/nowhere"))).fails(404, "ObjectNotFound");
    }

    #[test]
    fn an_empty_content_is_a_content() {
        let client = Server::shared().login("reporter");
        let made = upload(&client, &own_folder(), "a.xml", b"", json!({})).ok();
        assert_eq!((&made["version"], &made["virtualAttributes"]["size"]), (&json!(1), &json!(0)));
        assert_eq!(bytes_of(&client, &id(&made)), b"");
    }
}

mod reading {
    use super::*;

    #[test]
    fn an_object_is_found_by_every_kind_of_source() {
        let client = Server::shared().login("reader");
        let found = client.get(&object("/News/City/harbour-ferry.xml")).ok();
        let loid = id(&found);
        let uuid = found["pstate"]["uuid"].as_str().unwrap();
        let bare = loid.strip_prefix("1$").expect("a loid has its database");
        let simple = uuid.replace('-', "");
        let mut paths: Vec<String> =
            [&loid, bare, uuid, &uuid.to_uppercase(), &simple, &format!("urn:uuid:{uuid}")].map(object).to_vec();
        paths.push(format!("/v3/object/{loid}"));
        paths.push(object(&format!("/News/City/harbour-ferry.xml?uuid={uuid}")));
        paths.push(object(&format!("/nowhere?uuid={uuid}")));
        for path in paths {
            assert_eq!(client.get(&path).ok()["id"], loid, "{path}");
        }
    }

    #[test]
    fn a_source_that_fits_nothing_is_invalid_and_one_that_names_nothing_is_not_found() {
        let client = Server::shared().login("reader");
        for source in ["harbour", "1.2", "1$1.0.x", "not-a-uuid"] {
            client.get(&object(source)).fails(400, "InvalidParameter");
        }
        let uuid = "019aa1c7-0000-7000-8000-000000000000";
        for source in ["1$1.0.999999999", "9$1.0.1", "1$7.0.1", uuid, "/nowhere", "/News/City/harbour-ferry.xml/below"]
        {
            client.get(&object(source)).fails(404, "ObjectNotFound");
        }
    }

    #[test]
    fn the_default_set_and_every_option_beside_it() {
        let client = Server::shared().login("reader");
        let path = object("/News/City/harbour-ferry.xml");
        let record = client.get(&path).ok();
        for shown in ["systemAttributes", "attributes", "usageTickets", "virtualAttributes", "locked", "locker", "suid"]
        {
            assert!(record.get(shown).is_some(), "{shown}");
        }
        for hidden in ["path", "additionalInfo", "uniquenessString", "webType", "attributesXml"] {
            assert!(record.get(hidden).is_none(), "{hidden}");
        }
        let read = |query: &str| client.get(&format!("{path}?{query}")).ok();
        assert_eq!(read("showPath=true")["path"], "/News/City/harbour-ferry.xml");
        let info = read("showAdditionalInfo=true")["additionalInfo"].clone();
        assert_eq!((&info["family"], &info["workflow"]), (&json!("document"), &json!("Story")));
        let folder = client.get(&object("/News/City")).ok();
        assert_eq!(info["folderId"], folder["id"]);
        assert!(read("showUniquenessString=1")["uniquenessString"].is_string());
        assert!(read("showWebType=1").get("webType").is_some());
        client.get(&format!("{path}?showPath=perhaps")).fails(400, "InvalidParameter");
        // Display options of a GET change nothing for the next.
        assert_eq!(client.get(&path).ok(), record);
    }

    #[test]
    fn the_uniqueness_string_differs_between_objects_and_states() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
        let unique = |source: &str| {
            let record = client.get(&format!("{}?showUniquenessString=true", object(source))).ok();
            record["uniquenessString"].as_str().unwrap().to_owned()
        };
        let before = unique(&a);
        assert_eq!(before, unique(&a));
        assert_ne!(before, unique(&b));
        upload(&client, &folder, "a", b"<other/>", json!({ "createMode": "REPLACE" })).ok();
        assert_ne!(before, unique(&a));
    }

    #[test]
    fn the_number_of_objects_in_a_folder_is_never_an_old_one() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        let children = || client.get(&object(&folder)).ok()["virtualAttributes"]["childCount"].clone();
        let story = client.story(&folder, "a");
        assert_eq!(children(), 1);
        client.story(&folder, "b");
        assert_eq!(children(), 2);
        client.delete(&format!("{}/discard", object(&story))).ok();
        assert_eq!(children(), 1);
    }

    #[test]
    fn a_list_gives_what_is_found_in_order_and_an_error_for_each_that_is_not() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
        let missing = "1$1.0.999999999";
        let sources = json!([b, "nonsense", format!("{folder}/a"), missing, b]);
        for body in [json!({ "sources": sources }), sources] {
            let reply = client.post("/v3/object", &body).ok();
            let found: Vec<&str> =
                reply["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!(found, [&b, &a, &b]);
            let errors = reply["errors"].as_array().unwrap();
            assert_eq!(errors.len(), 2);
            assert_eq!(
                (&errors[0]["source"], &errors[0]["code"]),
                (&json!("nonsense"), &json!("CMS.InvalidParameter"))
            );
            assert_eq!((&errors[1]["source"], &errors[1]["code"]), (&json!(missing), &json!("CMS.ObjectNotFound")));
            assert!(errors[1]["message"].as_str().unwrap().contains(missing));
        }
    }

    #[test]
    fn display_options_of_a_list_stand_in_its_body_at_the_top_or_under_options() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let a = client.story(&folder, "a");
        let read = |body: Value| client.post("/v3/object", &body).ok()["items"][0].clone();
        assert_eq!(read(json!({ "sources": [a] })).get("path"), None);
        let path = format!("{folder}/a");
        assert_eq!(read(json!({ "sources": [a], "options": { "showPath": true } }))["path"], path);
        let top = read(json!({ "sources": [a], "showPath": "1", "showAttributes": false, "showXml": 1 }));
        assert_eq!((&top["path"], top.get("attributes")), (&json!(path), None));
        assert!(top["systemAttributesXml"].is_string());
    }

    #[test]
    fn a_list_without_sources_is_refused_with_the_place_of_the_fault() {
        let client = Server::shared().login("reporter");
        for body in [json!({}), json!({ "sources": "a" }), json!(7), json!("x"), json!({ "sources": [{}] })] {
            client.post("/v3/object", &body).fails(400, "InvalidBody");
        }
        client.send("POST", "/v3/object", &[], b"").fails(400, "InvalidBody");
        let empty = client.post("/v3/object", &json!([])).ok();
        assert_eq!(empty, json!({ "items": [], "errors": [] }));
        let many = vec!["/nowhere"; 10_001];
        client.post("/v3/object", &json!(many)).fails(413, "TooLarge");
    }
}

mod the_end {
    use super::*;

    fn discard(client: &Client, source: &str) -> Answer {
        client.delete(&format!("{}/discard", object(source)))
    }

    fn destroy(client: &Client, source: &str) -> Answer {
        client.delete(&format!("{}/destroy", object(source)))
    }

    fn restore(client: &Client, source: &str, body: Value) -> Answer {
        client.post(&format!("{}/restore", object(source)), &body)
    }

    #[test]
    fn a_discarded_object_is_gone_by_every_source_and_frees_its_name() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let loid = client.story(&folder, "a.xml");
        let record = client.get(&object(&loid)).ok();
        assert_eq!(discard(&client, &loid).ok(), json!({ "id": loid }));
        let uuid = record["pstate"]["uuid"].as_str().unwrap();
        for source in [&loid, uuid, &format!("{folder}/a.xml"), &loid.replace("$1.0.", "$1.1.")] {
            client.get(&object(source)).fails(404, "ObjectNotFound");
            client.get(&format!("{}/content", object(source))).fails(404, "ObjectNotFound");
        }
        discard(&client, &loid).fails(404, "ObjectNotFound");
        assert_eq!(count_in(&client, &folder), 0);
        assert_ne!(client.story(&folder, "a.xml"), loid, "the name is free");
    }

    #[test]
    fn a_discarded_object_comes_back_as_it_was() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let extra = json!({ "attributes": "<m>1</m>", "status": "Story/Ready", "suid": "s" });
        let made = upload(&client, &folder, "a.xml", b"one", extra).ok();
        upload(&client, &folder, "a.xml", b"two", json!({ "createMode": "NEW_VERSION" })).ok();
        let loid = id(&made);
        let before = client.get(&object(&loid)).ok();
        discard(&client, &loid).ok();
        let back = restore(&client, &loid, json!({})).ok();
        assert_eq!((&back["id"], &back["path"]), (&json!(loid), &json!(format!("{folder}/a.xml"))));
        let after = client.get(&object(&format!("{folder}/a.xml"))).ok();
        for same in ["id", "name", "pstate", "version", "suid", "statusInfo", "attributes", "created", "creator"] {
            assert_eq!(after[same], before[same], "{same}");
        }
        assert_eq!(bytes_of(&client, &loid), b"two");
        assert_eq!(bytes_of(&client, &loid.replace("$1.0.", "$1.1.")), b"one");
        restore(&client, &loid, json!({})).fails(404, "ObjectNotFound");
    }

    #[test]
    fn a_name_taken_meanwhile_is_refused_unless_it_may_be_another() {
        let client = Server::shared().login("reporter");
        let folder = own_folder();
        let loid = client.story(&folder, "a.xml");
        discard(&client, &loid).ok();
        client.story(&folder, "a.xml");
        restore(&client, &loid, json!({})).fails(409, "DuplicatedName");
        restore(&client, &loid, json!({ "createMode": "EXCEPTION" })).fails(409, "DuplicatedName");
        for mode in ["REPLACE", "NEW_VERSION"] {
            let failure = restore(&client, &loid, json!({ "createMode": mode })).fails(400, "InvalidParameter");
            assert!(failure["message"].as_str().unwrap().contains(&format!("`{mode}`")), "{failure}");
        }
        let back = restore(&client, &loid, json!({ "options": { "createMode": "AUTO_RENAME" } })).ok();
        assert_eq!((&back["id"], &back["name"]), (&json!(loid), &json!("a (2).xml")));
        assert_eq!(names_in(&client, &folder), ["a (2).xml", "a.xml"]);
    }

    #[test]
    fn an_object_comes_back_to_another_folder() {
        let client = Server::shared().login("reporter");
        let (folder, other) = (own_folder(), own_folder());
        let loid = client.story(&folder, "a.xml");
        let taken = client.story(&other, "taken.xml");
        discard(&client, &loid).ok();
        restore(&client, &loid, json!({ "folder": taken })).fails(400, "InvalidType");
        restore(&client, &loid, json!({ "folder": "1$1.0.999999999" })).fails(404, "ObjectNotFound");
        restore(&client, &loid, json!({ "folder": "nowhere" })).fails(400, "InvalidPath");
        let back = restore(&client, &loid, json!({ "folderPath": other })).ok();
        assert_eq!(back["path"], format!("{other}/a.xml"));
        assert_eq!((count_in(&client, &folder), count_in(&client, &other)), (0, 2));
    }

    #[test]
    fn what_is_not_in_the_bin_is_not_restored() {
        let client = Server::shared().login("reporter");
        let loid = client.story(&own_folder(), "a.xml");
        restore(&client, &loid, json!({})).fails(404, "ObjectNotFound");
        restore(&client, "1$1.0.999999999", json!({})).fails(404, "ObjectNotFound");
    }

    #[test]
    fn a_folder_takes_its_children_along_as_one_entry_and_brings_all_back() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        let (inner, deep) = (format!("{folder}/a"), format!("{folder}/a/b"));
        let child = client.story(&deep, "child.xml");
        let drawer = client.drawer(&inner, "drawer", 5);
        let outside = client.drawer(&folder, "outside", 5);
        let add = |drawer: &str, object: &str| {
            client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(drawer), encoded(object)), &json!({})).ok()
        };
        let stays = client.story(&folder, "stays.xml");
        add(&drawer, &stays);
        add(&outside, &child);
        add(&outside, &stays);
        let top = id(&client.get(&object(&inner)).ok());
        let earlier = client.story(&deep, "earlier.xml");
        discard(&client, &earlier).ok();

        discard(&client, &inner).ok();
        for source in [&inner, &deep, &format!("{deep}/child.xml"), &child, &drawer, &top] {
            client.get(&object(source)).fails(404, "ObjectNotFound");
        }
        assert_eq!(client.items(&outside), std::slice::from_ref(&stays), "it is hidden in drawers");
        client.get(&format!("/v3/container/drawer/{}", encoded(&drawer))).fails(404, "ObjectNotFound");
        // A child is not an entry of its own.
        restore(&client, &child, json!({})).fails(409, "InvalidForContainer");
        destroy(&client, &child).fails(409, "InvalidForContainer");
        // One that had gone before is, but its folder is not there.
        restore(&client, &earlier, json!({})).fails(404, "ObjectNotFound");

        let back = restore(&client, &top, json!({})).ok();
        assert_eq!(back["path"], inner);
        for source in [&inner, &deep, &format!("{deep}/child.xml"), &child, &drawer, &top] {
            assert_eq!(client.get(&object(source)).status, 200, "{source}");
        }
        assert_eq!(client.items(&outside), [child.clone(), stays.clone()]);
        assert_eq!(client.items(&drawer), [stays]);
        client.get(&object(&format!("{deep}/earlier.xml"))).fails(404, "ObjectNotFound");
        restore(&client, &earlier, json!({})).ok();
        assert_eq!(names_in(&client, &deep), ["child.xml", "earlier.xml"]);
    }

    #[test]
    fn what_is_destroyed_is_gone_for_good() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        let (live, binned) = (client.story(&folder, "a.xml"), client.story(&folder, "b.xml"));
        let drawer = client.drawer(&folder, "drawer", 5);
        for item in [&live, &binned] {
            client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(item)), &json!({})).ok();
        }
        discard(&client, &binned).ok();
        for loid in [&live, &binned] {
            assert_eq!(destroy(&client, loid).ok(), json!({ "id": loid }));
            client.get(&object(loid)).fails(404, "ObjectNotFound");
            client.get(&object(&loid.replace("$1.0.", "$1.1."))).fails(404, "ObjectNotFound");
            destroy(&client, loid).fails(404, "ObjectNotFound");
            discard(&client, loid).fails(404, "ObjectNotFound");
            restore(&client, loid, json!({})).fails(404, "ObjectNotFound");
        }
        let info = client.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(&drawer))).ok();
        assert_eq!((&info["info"]["count"], &info["info"]["hidden"]), (&json!(0), &json!(0)));
        assert_eq!(count_in(&client, &folder), 1);
        let again = client.story(&folder, "a.xml");
        assert!(again != live && again != binned, "a number is never given twice");
    }

    #[test]
    fn a_destroyed_folder_takes_all_below_it_live_or_from_the_bin() {
        let mut server = Server::start();
        let client = server.login("editor");
        for discard_first in [false, true] {
            let folder = own_folder();
            let child = client.story(&format!("{folder}/a/b"), "child.xml");
            let drawer = client.drawer(&format!("{folder}/a"), "drawer", 5);
            let path = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&child));
            client.post(&path, &json!({})).ok();
            let earlier = client.story(&format!("{folder}/a"), "earlier.xml");
            discard(&client, &earlier).ok();
            let top = id(&client.get(&object(&format!("{folder}/a"))).ok());
            if discard_first {
                discard(&client, &top).ok();
            }
            destroy(&client, &top).ok();
            for source in [&top, &child, &drawer, &format!("{folder}/a")] {
                client.get(&object(source)).fails(404, "ObjectNotFound");
                restore(&client, source, json!({})).fails(404, "ObjectNotFound");
            }
            assert_eq!(count_in(&client, &folder), 0);
            // What had been discarded before was no part of it.
            restore(&client, &earlier, json!({})).fails(404, "ObjectNotFound");
            assert_eq!(
                restore(&client, &earlier, json!({ "folder": folder })).ok()["path"],
                format!("{folder}/earlier.xml")
            );
        }
        assert_eq!(server.terminate(), Some(0));
        let (code, output) = server.check();
        assert_eq!(code, Some(0), "{output}");
    }

    #[test]
    fn the_root_can_be_neither_discarded_nor_destroyed() {
        let client = Server::shared().login("admin");
        discard(&client, "/").fails(409, "InvalidForContainer");
        destroy(&client, "/").fails(409, "InvalidForContainer");
        let reply = client.delete_with("/v3/object/discard", &json!(["/"])).ok();
        assert_eq!(reply["errors"][0]["code"], "CMS.InvalidForContainer");
        client.get("/v3/folder/root").ok();
    }

    #[test]
    fn bulk_calls_do_what_they_can_and_tell_of_the_rest() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        for (what, bare) in [("discard", true), ("discard", false), ("destroy", true), ("destroy", false)] {
            let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
            let sources = json!([a, "nonsense", format!("{folder}/b"), "/nowhere", a]);
            let body = if bare { sources } else { json!({ "sources": sources }) };
            let reply = client.delete_with(&format!("/v3/object/{what}"), &body).ok();
            let expected = json!([{ "source": a, "id": a }, { "source": format!("{folder}/b"), "id": b }]);
            assert_eq!(reply["items"], expected, "{what}");
            let errors = reply["errors"].as_array().unwrap();
            let told: Vec<_> = errors.iter().map(|error| (error["source"].as_str(), error["code"].as_str())).collect();
            let not_found = Some("CMS.ObjectNotFound");
            let expected = [
                (Some("nonsense"), Some("CMS.InvalidParameter")),
                (Some("/nowhere"), not_found),
                (Some(a.as_str()), not_found),
            ];
            assert_eq!(told, expected, "{what}");
            assert!(errors.iter().all(|error| error["message"].as_str().is_some_and(|text| text.ends_with('.'))));
            assert_eq!(count_in(&client, &folder), 0);
        }
        client.send("DELETE", "/v3/object/discard", &[], b"").fails(400, "InvalidBody");
        client.delete_with("/v3/object/destroy", &json!({})).fails(400, "InvalidBody");
    }

    #[test]
    fn privileges_are_asked_for() {
        let server = Server::shared();
        let folder = own_folder();
        let loid = server.login("reporter").story(&folder, "a");
        let contributor = server.login("contributor");
        discard(&contributor, &loid).fails(403, "PermissionDenied");
        destroy(&server.login("reporter"), &loid).fails(403, "PermissionDenied");
        contributor.get(&object(&loid)).ok();
    }

    #[test]
    fn a_discard_for_an_old_state_is_refused_with_the_present_one() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        let loid = client.story(&folder, "a.xml");
        let path = |what: &str| format!("{}/{what}", object(&loid));
        let old = client.get(&object(&loid)).header("etag").unwrap().to_owned();
        upload(&client, &folder, "a.xml", b"<b/>", json!({ "createMode": "REPLACE" })).ok();
        for tag in [old.as_str(), "\"999-0\"", "nonsense", &format!("W/{old}")] {
            for what in ["discard", "destroy"] {
                let failure = client.send("DELETE", &path(what), &[("if-match", tag)], b"");
                let failure = failure.fails(412, "PreconditionFailed");
                let current = &failure["details"]["current"];
                assert_eq!((&current["id"], &current["revision"]), (&json!(loid), &json!(2)));
            }
        }
        // The ETag of any representation serves, and so does a star.
        let new = client.get(&path("content")).header("etag").unwrap().to_owned();
        client.send("DELETE", &path("discard"), &[("if-match", &format!("\"x\", {new}"))], b"").ok();
        restore(&client, &loid, json!({})).ok();
        client.send("DELETE", &path("destroy"), &[("if-match", "*")], b"").ok();
    }

    #[test]
    fn discards_and_restores_at_once_leave_it_in_one_place() {
        let client = Server::shared().login("editor");
        let folder = own_folder();
        let loid = client.story(&folder, "a.xml");
        let done = at_once(|number| {
            let answer = if number % 2 == 0 { discard(&client, &loid) } else { restore(&client, &loid, json!({})) };
            (number % 2 == 0, answer.status)
        });
        let count =
            |discards| done.iter().filter(|(discarded, status)| *discarded == discards && *status == 200).count();
        assert!(done.iter().all(|(_, status)| matches!(status, 200 | 404)), "{done:?}");
        let there = client.get(&object(&loid)).status == 200;
        assert_eq!(count(true) - count(false), usize::from(!there), "{done:?}");
        assert_eq!(count_in(&client, &folder), u64::from(there));
    }
}
