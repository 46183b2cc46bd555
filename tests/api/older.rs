//! The older, unversioned resources, checked against the pages that document them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::conf::{content_of, save};
use super::endpoints::cases::{Kind, Made, cases, link_to, message, new_in, word};
use crate::harness::*;

const SITE: &str = "/SysConfig/Site/siteconfig.xml";

/// The pages that have examples, which are the answers of a server with the sample:
/// `UPDATE_GOLDEN=1` writes them anew.
const PAGES: [&str; 8] =
    ["calendar", "channels", "content-items", "metadata", "paths", "people", "teams", "work-folders"];

fn bare(client: &Client, path: &str) -> Value {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

#[track_caller]
fn fails(client: &Client, path: &str, status: u16, code: &str, part: &str) {
    let answer = client.get(path);
    let error = answer.json();
    let said = error["message"].as_str().unwrap_or_default();
    let well = answer.status == status && error["code"] == format!("CMS.{code}") && said.contains(part);
    assert!(well, "{path}: {} {error}", answer.status);
}

/// Members whose values differ from day to day, as one sees them in the page.
fn settled(value: &mut Value, changing: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| settled(item, changing)),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::Number(_) if changing.contains(&name.as_str()) => *member = json!(1),
                    Value::String(_) if changing.contains(&name.as_str()) => *member = json!("20261125"),
                    _ => settled(member, changing),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_examples_of_the_documents_are_what_a_server_answers() {
    let server = Server::start();
    let client = server.user("reporter");
    let mut outdated = Vec::new();
    for page in PAGES {
        let file = format!("{}/docs/api/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).expect("the page can be read");
        let (mut made, mut rest) = (String::new(), text.as_str());
        while let Some((before, behind)) = rest.split_once("<!-- example: GET ") {
            let (head, block) = behind.split_once(" -->\n```").expect("an example has a block behind it");
            let (kind, block) = block.split_once('\n').expect("a block has lines");
            let (_, after) = block.split_once("```\n").expect("a block ends");
            let (path, changing) = head.split_once(" changing ").unwrap_or((head, ""));
            let answer = client.get(path);
            assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
            let shown = if kind == "json" {
                // In the order of the answer, and with members that change settled.
                let changing: Vec<&str> = changing.split(',').collect();
                let mut value: Value = serde_json::from_slice(&answer.body).expect("it is JSON");
                settled(&mut value, &changing);
                serde_json::to_string_pretty(&value).expect("it is JSON") + "\n"
            } else {
                String::from_utf8(answer.body).expect("it is a text")
            };
            made += &format!("{before}<!-- example: GET {head} -->\n```{kind}\n{shown}```\n");
            rest = after;
        }
        assert!(rest.len() < text.len(), "{page} has no examples");
        made += rest;
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &made).expect("it can be written");
        }
        outdated.extend((made != text).then_some(page));
    }
    assert!(outdated.is_empty(), "{outdated:?} do not show what a server answers: UPDATE_GOLDEN=1 writes them anew");
}

#[test]
fn the_next_day_of_a_product_follows_from_its_calendars() {
    let server = Server::start();
    let client = server.user("reader");
    let next = |query: &str| bare(&client, &format!("/calendar/nextPublicationDate?{query}"));
    assert_eq!(
        next("product=HarbourCourier&fromIssueDate=20261224"),
        json!({ "product": "HarbourCourier", "simpleDateFormat": "yyyyMMdd", "fromIssueDate": "20261224",
            "nextPublicationDate": "20261226" })
    );
    assert_eq!(next("product=BayMagazine&fromIssueDate=20261219")["nextPublicationDate"], "20261224");
    let pattern = "simpleDateFormat=EEE%20d%20MMM%20yyyy%20HH:mm%20z&product=HarbourCourier";
    let summer = next(&format!("{pattern}&fromIssueDate=Sat%2027%20Mar%202027%2012:00%20UTC"));
    assert_eq!(summer["nextPublicationDate"], "Mon 29 Mar 2027 00:00 BST");
    // 23:30 UTC is the next day already in the summer of the calendar.
    let zoned = "simpleDateFormat=yyyy-MM-dd'T'HH:mmX&product=HarbourCourier&fromIssueDate=";
    assert_eq!(next(&format!("{zoned}2026-07-01T23:30Z"))["nextPublicationDate"], "2026-07-03T00:00+01");
    for (query, status, code, part) in [
        ("product=Nothing&fromIssueDate=20260101", 404, "ObjectNotFound", "Nothing"),
        ("product=BayMagazine&fromIssueDate=20260230", 400, "InvalidParameter", "no such day"),
        ("product=BayMagazine&fromIssueDate=2026", 400, "InvalidParameter", "fromIssueDate"),
        ("product=BayMagazine&fromIssueDate=20260101&simpleDateFormat=bb", 400, "InvalidParameter", "`b`"),
        ("product=BayMagazine", 400, "InvalidParameter", "fromIssueDate"),
        ("fromIssueDate=20260101", 400, "InvalidParameter", "product"),
    ] {
        fails(&client, &format!("/calendar/nextPublicationDate?{query}"), status, code, part);
    }
    // A product without a further day; and midnight that there is not.
    let admin = server.user("admin");
    let products = "<products><product name='Dated'><calendar name='c'><exception date='20260501' publishes='true'/></calendar></product>\
        <product name='None'/><product name='Both'><calendar name='a'><publishes day='WE'/></calendar>\
        <calendar name='b'><publishes day='TU'/></calendar></product>\
        <product name='Chile'><calendar name='s' timeZone='America/Santiago'><publishes day='SU'/></calendar></product>\
        <product name='Samoa'><calendar name='s' timeZone='Pacific/Apia'><publishes day='FR'/></calendar></product></products>";
    save(&admin, SITE, 1, format!("<siteConfig>{products}</siteConfig>"));
    assert_eq!(admin.get("/v3/conf/siteconfigxml?refresh=true").status, 200);
    assert_eq!(next("product=Dated&fromIssueDate=20260430")["nextPublicationDate"], "20260501");
    assert_eq!(next("product=Dated&fromIssueDate=20260501")["nextPublicationDate"], "");
    assert_eq!(next("product=None&fromIssueDate=20260501")["nextPublicationDate"], "");
    assert_eq!(next("product=Both&fromIssueDate=20261123")["nextPublicationDate"], "20261124");
    let chile = next("product=Chile&fromIssueDate=2026-09-01&simpleDateFormat=yyyy-MM-dd");
    assert_eq!(chile["nextPublicationDate"], "2026-09-06");
    let at = next("product=Chile&fromIssueDate=2026-09-01%2000:00&simpleDateFormat=yyyy-MM-dd%20HH:mm");
    assert_eq!(at["nextPublicationDate"], "2026-09-06 01:00", "there clocks are put forward at midnight");
    let samoa = next("product=Samoa&fromIssueDate=20111229");
    assert_eq!(samoa["nextPublicationDate"], "20120106", "there was no 30th of December");
    let calendars: String = (0..21).map(|n| format!("<calendar name='{n}'><publishes day='FR'/></calendar>")).collect();
    let many = format!("<siteConfig><products><product name='Many'>{calendars}</product></products></siteConfig>");
    save(&admin, SITE, 1, many);
    let refused = admin.get("/v3/conf/siteconfigxml?refresh=true").said().to_string();
    assert!(refused.contains("more than 20 elements `calendar`"), "{refused}");
}

fn names<'v>(list: &'v Value, member: &str) -> Vec<&'v str> {
    list.as_array().expect("it is a list").iter().map(|item| item[member].as_str().expect("it is a text")).collect()
}

fn members(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("it is an object").keys().map(String::as_str).collect()
}

#[test]
fn channels_are_those_for_the_objects_with_what_is_asked_for() {
    let server = Server::start();
    let client = server.user("reporter");
    let list = |query: &str| bare(&client, &format!("/conf/channel/list?{query}"));
    let all = list("loidsSource=/");
    assert_eq!(names(&all, "name"), ["Web", "Tabloid", "Neutral", "Tablet"]);
    assert_eq!(members(&all[0]), ["editions", "id", "name", "stylesGroup", "type"].into());
    assert_eq!(members(&all[2]), ["id", "name", "stylesGroup", "type"].into(), "it has no editions");
    assert_eq!(all[1]["editions"], json!([{ "name": "Morning" }, { "name": "Late" }]));
    let sheet = &all[1]["stylesGroup"][1]["stylesheets"][0];
    assert_eq!(members(sheet), ["href", "isDefault", "label"].into());
    assert!(all[0]["stylesGroup"][0]["templates"].as_array().is_some_and(|list| list.len() == 3));
    assert!(list("loidsSource=/&showTemplates=false")[0]["stylesGroup"][0].get("templates").is_none());
    for (switch, member, wanted) in [
        ("showCalendar", "calendar", json!("daily")),
        ("showCompound", "compound", json!(true)),
        ("showInserts", "inserts", json!([])),
        ("showTemplateChannels", "templateChannel", json!("Neutral")),
        ("showWorkfolders", "workfolders", json!(11)),
    ] {
        assert!(all[0].get(member).is_none(), "{member}");
        let shown = &list(&format!("loidsSource=/&{switch}=1"))[0][member];
        let count = shown.as_array().map(|list| json!(list.len()));
        let shown = shown.get("name").cloned().unwrap_or_else(|| shown.clone());
        assert!(shown == wanted || count == Some(wanted.clone()), "{switch}: {shown}");
    }
    // The work folder of sport serves three of them.
    let at = |folder: &str| {
        let options = json!({ "name": "a.xml", "type": "Story", "workFolder": folder, "createMode": "AUTO_RENAME" });
        client.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<story/>"))).ok()["id"].clone()
    };
    let (sport, city) = (at("/News/Sport"), at("/News/City"));
    let (sport, city) = (sport.as_str().expect("an id"), city.as_str().expect("an id"));
    assert_eq!(names(&list(&format!("loidsSource={sport}")), "name"), ["Web", "Tabloid", "Tablet"]);
    assert_eq!(list(&format!("loidsSource={city}")).as_array().map(Vec::len), Some(4));
    assert_eq!(list(&format!("loidsSource={city},{sport}")).as_array().map(Vec::len), Some(3));
    assert_eq!(list(&format!("loidsSource={city}&loidsSource={sport}")).as_array().map(Vec::len), Some(3));
    fails(&client, "/conf/channel/list", 400, "InvalidParameter", "loidsSource");
    fails(&client, "/conf/channel/list?loidsSource=1$1.0.999999999", 404, "ObjectNotFound", "999999999");
    fails(&client, "/conf/channel/list?loidsSource=/&databaseId=9", 404, "DatabaseNotFound", "9");
}

#[test]
fn content_items_are_listed_and_mapped_and_those_of_no_use_left_out() {
    let server = Server::start();
    let (admin, client) = (server.user("admin"), server.user("reader"));
    let list = bare(&client, "/conf/contentItems/list");
    assert_eq!(names(&list, "type"), ["headline", "byline", "dateline", "body", "media", "quote", "related"]);
    let media = json!({ "name": "Picture", "type": "media", "xp": "/story/body/media", "cssSelector": "article figure",
        "resLimits": "min=600x400;max=6000x4000",
        "sources": [{ "element": "media", "type": "Image", "xp": "/attributes/metadata/caption" },
            { "element": "media", "type": "Graphic", "xp": "/attributes/metadata/caption" }],
        "items": [{ "xp": "@href" }, { "xp": "@caption" }] });
    assert_eq!(list[4], media);
    assert_eq!(members(&list[2]), ["cssSelector", "name", "type", "xp"].into());
    let map = bare(&client, "/conf/contentItems/map");
    assert_eq!((map["media"].clone(), map.as_object().map(serde_json::Map::len)), (media, Some(7)));
    let items = "<contentItems><contentItem type='good' xp='/a[1]'/><contentItem type='path' xp='/a[['/>\
        <contentItem type='source'><sources><source element='e' type='Nothing' xp='/a'/></sources></contentItem></contentItems>";
    save(&admin, "/SysConfig/ContentItems/contentItems.xml", 1, items);
    admin.call("conf-xmlfiles-clearcache-post", &[]).ok();
    assert_eq!(bare(&client, "/conf/contentItems/list"), json!([{ "name": "good", "type": "good", "xp": "/a[1]" }]));
    assert_eq!(names(&bare(&client, "/conf/contentItems/list?validate=false"), "type"), ["good", "path", "source"]);
    assert_eq!(bare(&client, "/conf/contentItems/map?validate=0").as_object().map(serde_json::Map::len), Some(3));
}

#[test]
fn metadata_definitions_are_found_by_object_or_type_with_all_fields() {
    let server = Server::start();
    let client = server.user("reporter");
    let dtd = |query: &str| bare(&client, &format!("/conf/metadata/dtd?{query}"));
    let story = dtd("");
    assert_eq!((&story["docType"], members(&story)), (&json!("metadata"), ["docType", "elements"].into()));
    let fields = [
        "cardinality",
        "dataSourceResultTemplate",
        "dataSourceUrl",
        "defaultContent",
        "distinct",
        "expandMode",
        "fileName",
        "filter",
        "listName",
        "listValues",
        "prefix",
        "result",
        "shortTitle",
        "showPartPage",
        "template",
        "title",
        "type",
        "validity",
        "visibility",
    ];
    for (name, element) in story["elements"].as_object().expect("it is an object") {
        assert_eq!(members(element), fields.into(), "{name}");
        let texts = element.as_object().expect("it is an object").iter().filter(|(_, value)| value.is_string()).count();
        assert_eq!(texts, fields.len() - 2, "{name}: all but the values and the cardinality are texts");
    }
    let priority = &story["elements"]["priority"];
    assert_eq!((&priority["type"], &priority["listValues"]), (&json!("list"), &json!(["1", "2", "3", "4", "5"])));
    let root = &story["elements"]["metadata"]["cardinality"];
    assert_eq!((&root["headline"], &root["slug"], &root["subject"]), (&json!(""), &json!("?"), &json!("*")));
    let image = dtd("type=EOM::Image");
    assert_eq!(image["elements"]["metadata"]["cardinality"]["keywords"], "+");
    assert_eq!(dtd("type=Graphic"), image);
    assert_eq!(dtd("type=Image&defaultMetadata=true"), story);
    assert_eq!(dtd("type=Audio"), story, "it has none of its own");
    let picture = client.call("folder-get", &[&"/Pictures/Sport"]).ok()["items"][0].clone();
    for (name, value) in [("id", &picture["id"]), ("path", &picture["pstate"]["uuid"])] {
        assert_eq!(dtd(&format!("{name}={}", value.as_str().expect("a text"))), image, "{name}");
    }
    assert_eq!(dtd("path=/News/City/harbour-ferry.xml&type=Image"), story, "the object comes first");
    let session = client.call("auth-connection-get", &[]).ok()["session"].clone();
    for own in [session.as_str().expect("a reference"), client.token()] {
        assert_eq!(dtd(&format!("path=/News/City/harbour-ferry.xml&sessionId={own}")), story);
    }
    fails(&client, "/conf/metadata/dtd?sessionId=other", 401, "InvalidToken", "sessionId");
    fails(&client, "/conf/metadata/dtd?type=Nothing", 404, "TypeNotFound", "Nothing");
    fails(&client, "/conf/metadata/dtd?path=/nowhere", 404, "ObjectNotFound", "/nowhere");
    fails(&client, "/conf/metadata/dtd?id=nonsense", 400, "InvalidParameter", "nonsense");
}

#[test]
fn a_definition_may_leave_all_to_its_dtd_and_what_disagrees_is_told() {
    let server = Server::start();
    let (admin, client) = (server.user("admin"), server.user("reader"));
    let definitions = |list: &str| {
        let before = content_of(&admin, SITE);
        let (head, rest) = before.split_once("<metadata>").expect("the sample has it");
        let (_, tail) = rest.split_once("</metadata>").expect("it ends");
        save(&admin, SITE, 1, format!("{head}<metadata>{list}</metadata>{tail}"));
    };
    let dtd = "<!ENTITY % texts 'head | text'>\n<!ELEMENT wire (head, (%texts;)*, (source | byline), code+, note?)>\n\
        <!ELEMENT head (#PCDATA)><!ELEMENT text (#PCDATA)><!ELEMENT source EMPTY><!ELEMENT byline EMPTY><!ELEMENT code (#PCDATA)>\
        <!ELEMENT note ANY><!ATTLIST code type CDATA #FIXED 'list' listValues (a|b) #IMPLIED title CDATA 'Code' distinct (true|false) 'true'\
        \x20visibility CDATA 'ReadOnly' defaultContent CDATA 'a' unknown CDATA 'x'>";
    save(&admin, "/SysConfig/Dtd/wire.dtd", 1, dtd);
    let definition = |inner: &str| {
        let text = format!(
            "<metadataDefinition docType='wire' dtd='/SysConfig/Dtd/wire.dtd'><appliesTo workFolder='/News/World'/>\
            <appliesTo type='Story' workFolder='/News/World/Far'/>{inner}</metadataDefinition>"
        );
        save(&admin, "/SysConfig/Dtd/wire.xml", 1, text);
    };
    definition("<element name='code' title='The code'/>");
    definitions("<definition path='/SysConfig/Dtd/metadata.xml'/><definition path='/SysConfig/Dtd/wire.xml'/>");
    let refresh = || admin.get("/v3/conf/siteconfigxml?refresh=true");
    let well = refresh();
    assert_eq!(well.status, 200, "{}", String::from_utf8_lossy(&well.body));
    let wire = bare(&client, "/conf/metadata/dtd?workFolder=/News/World/Near");
    assert_eq!(wire["docType"], "wire");
    assert_eq!(
        wire["elements"]["wire"]["cardinality"],
        json!({ "head": "+", "text": "*", "source": "?", "byline": "?", "code": "+", "note": "?" })
    );
    let code = &wire["elements"]["code"];
    let said =
        ["title", "type", "distinct", "visibility", "defaultContent"].map(|name| code[name].as_str().expect("a text"));
    assert_eq!(said, ["The code", "list", "true", "ReadOnly", "a"]);
    assert_eq!((&code["listValues"], &wire["elements"]["note"]["type"]), (&json!(["a", "b"]), &json!("string")));
    for (query, root) in [
        ("type=Story&workFolder=/News/World/Far/East", "wire"),
        ("type=Story&workFolder=/News/Worlds", "metadata"),
        ("type=Story", "metadata"),
        ("workFolder=/News/City", "metadata"),
    ] {
        assert_eq!(bare(&client, &format!("/conf/metadata/dtd?{query}"))["docType"], root, "{query}");
    }
    let story = json!({ "name": "far.xml", "type": "Story", "folderPath": "/News/World", "workFolder": "/News/World" });
    let story = admin.upload("/v3/object/create", &story, Some(("far.xml", "text/xml", b"<s/>"))).ok()["id"].clone();
    let story = story.as_str().expect("an id");
    assert_eq!(bare(&admin, &format!("/conf/metadata/dtd?id={story}"))["docType"], "wire");
    // Faults are reported, and the configuration in force stays.
    let told = |part: &str| {
        let answer = refresh().fails(400, "InvalidBody");
        let errors = answer["details"]["errors"].to_string();
        assert!(errors.contains(part), "{part}: {errors}");
        assert_eq!(bare(&client, "/conf/metadata/dtd?workFolder=/News/World")["docType"], "wire");
    };
    definition("<element name='other'/>");
    told("no element `other`");
    definition("<element name='wire'><child name='head' occurs=''/></element>");
    told("children of `wire`");
    definition("");
    save(&admin, "/SysConfig/Dtd/wire.dtd", 1, "<!ELEMENT wire (head)>\n<!ELEMENT head (a>");
    told("\"line\":2");
    save(&admin, "/SysConfig/Dtd/wire.dtd", 1, "<!ELEMENT wire (#PCDATA)><!ATTLIST wire visibility CDATA 'Hidden'>");
    told("Hidden");
    save(&admin, "/SysConfig/Dtd/wire.dtd", 1, "<!ENTITY % f SYSTEM 'file:///etc/passwd'>%f;<!ELEMENT wire (#PCDATA)>");
    told("which is never read");
    save(&admin, "/SysConfig/Dtd/wire.dtd", 1, "<!ELEMENT wire (#PCDATA)>");
    assert_eq!(refresh().status, 200);
    definitions("<definition path='/News/City/harbour-ferry.xml'/>");
    told("is not in");
}

#[test]
fn the_values_of_an_element_are_the_paths_of_its_tree() {
    let server = Server::start();
    let (admin, client) = (server.user("admin"), server.user("reader"));
    let tree = |query: &str| bare(&client, &format!("/conf/metadata/dtd/treedb?{query}"));
    let sections = tree("node=section");
    let sections: Vec<&str> = sections.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(
        sections[..6],
        [
            "/City",
            "/City/Waterfront",
            "/City/Transport",
            "/City/Schools",
            "/City/Districts",
            "/City/Districts/Eastquay"
        ]
    );
    assert!(tree("node=subject").as_array().is_some_and(|paths| paths.contains(&json!("/Transport/Ferries"))));
    assert_eq!(tree("node=webType")[0], "/Article");
    let stories = tree("node=background");
    let stories: Vec<&str> = stories.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(stories.contains(&"/News/City/harbour-ferry.xml") && stories.iter().all(|path| path.ends_with(".xml")));
    let xml = |node: &str| {
        let answer = client.get(&format!("/conf/metadata/dtd/treedbxml?node={node}"));
        assert_eq!(answer.header("content-type"), Some("application/xml;charset=utf-8"));
        String::from_utf8(answer.body).expect("a text")
    };
    assert!(xml("webType").contains("<WebConfiguration><WebTypes><WebType>Article</WebType><WebType>Brief</WebType>"));
    assert!(xml("section").contains("<WebType>Eastquay</WebType>"), "only the leaf is a value");
    assert!(xml("subject").contains("<WebType>/Transport/Ferries</WebType>"));
    // An object with a name that XML does not carry.
    let odd = json!({ "name": "odd\u{ffff}.xml", "type": "Story", "folderPath": "/News/City" });
    admin.upload("/v3/object/create", &odd, None).ok();
    assert!(xml("background").contains("/News/City/odd"));
    for kind in ["treedb", "treedbxml"] {
        fails(&client, &format!("/conf/metadata/dtd/{kind}?node=headline"), 400, "InvalidParameter", "tree");
        fails(&client, &format!("/conf/metadata/dtd/{kind}?node=nothing"), 400, "InvalidParameter", "nothing");
        fails(&client, &format!("/conf/metadata/dtd/{kind}"), 400, "InvalidParameter", "node");
    }
    // A branch, a filter, and objects that a caller may not read.
    let definition = content_of(&admin, "/SysConfig/Dtd/metadata.xml");
    let definition = definition
        .replace(
            "fileName=\"/SysConfig/TreeLists/sections.xml\"",
            "fileName=\"/SysConfig/TreeLists/sections.xml\" prefix=\"/City/Districts\" filter=\"*ate*\"",
        )
        .replace("prefix=\"/News\" filter=\"*.xml\"", "prefix=\"/News/Sport\"");
    save(&admin, "/SysConfig/Dtd/metadata.xml", 1, definition);
    admin.call("conf-xmlfiles-clearcache-post", &[]).ok();
    assert_eq!(tree("node=section"), json!(["/City/Districts/Northgate"]));
    assert!(tree("node=background").as_array().is_some_and(|paths| paths.contains(&json!("/News/Sport/regatta.xml"))));
    let grants = json!([{ "privilege": "read", "folder": "/News/City" }]);
    admin.call("group-create-post", &[]).json(&json!({ "groupName": "city", "privileges": grants })).ok();
    admin.call("stet-user-update-put", &[&"contributor"]).json(&json!({ "groups": ["city"] })).ok();
    let city = server.login("contributor");
    assert_eq!(bare(&city, "/conf/metadata/dtd/treedb?node=background"), json!([]));
    // A tree that is none.
    save(&admin, "/SysConfig/TreeLists/subjects.xml", 1, "<treeList><node name='a/b'/></treeList>");
    let refused = admin.get("/v3/conf/siteconfigxml?refresh=true").fails(400, "InvalidBody");
    assert!(refused["details"]["errors"].to_string().contains("`a/b`"), "{refused}");
}

/// Ten thousand objects may lie there, and each has a path of up to 16 KB: a call took all of them
/// into memory.
#[test]
fn the_values_in_a_folder_have_a_bound_in_bytes_as_well() {
    let server = Server::start();
    let admin = server.user("admin");
    let path = format!("/News{}", format!("/{}", "x".repeat(250)).repeat(60));
    let folder = admin.call("folder-post", &[]).json(&json!({ "path": path })).ok()["info"]["id"].clone();
    for number in 0..560 {
        let story = json!({ "name": format!("{number}.xml"), "type": "Story", "folder": folder });
        admin.upload("/v3/object/create", &story, None).ok();
    }
    for kind in ["treedb", "treedbxml"] {
        fails(&admin, &format!("/conf/metadata/dtd/{kind}?node=background"), 413, "TooLarge", "bytes");
    }
}

#[test]
fn paths_follow_from_what_is_said_and_else_from_the_caller() {
    let server = Server::start();
    let (admin, client) = (server.user("admin"), server.login("reporter"));
    admin.call("stet-user-update-put", &[&"reporter"]).json(&json!({ "team": "Sport", "workFolder": "" })).ok();
    let resolve = |query: &str| bare(&client, &format!("/conf/resolve/path?{query}"));
    assert_eq!(
        resolve("contentType=EOM::Story&workfolder=/News/City&issueDate=261205&team=City&siteName=HarbourCourier"),
        json!({ "contentType": "Story", "edition": "Morning", "insert": "Main", "issueDate": "20261205", "team": "City",
            "workStatus": "Story/Draft", "workfolder": "/News/City", "workfolderDir": "/News/City" })
    );
    let page = "contentType=PRP&sectionPath=/News/City&issueDate=20261205&edition=Late";
    assert_eq!(resolve(page)["workfolderDir"], "/Pages/20261205");
    assert_eq!(resolve(&format!("{page}&channel=tabloid"))["workfolderDir"], "/Pages/20261205/Late");
    // The value is a name, and does not lead to another folder.
    for edition in ["..", ".", "a/b", "%00"] {
        let path =
            format!("/conf/resolve/path?{page}&channel=tabloid").replace("edition=Late", &format!("edition={edition}"));
        assert_eq!(client.get(&path).status, 404, "{path}");
    }
    let own = resolve("contentType=Image");
    assert_eq!((&own["team"], &own["workfolder"]), (&json!("Sport"), &json!("/News/Sport")));
    assert_eq!(own["workfolderDir"], "/Pictures/Sport");
    let data = bare(&client, "/conf/userdata?checkWorkfolder=true");
    let issue = data["system_attributes"]["productInfo"]["issueDate"].as_str().expect("a text").to_owned();
    assert_eq!(
        data,
        json!({ "team": "Sport", "system_attributes": { "workfolder": "/News/Sport", "productInfo": { "issueDate": issue } } })
    );
    assert!(issue.len() == 8 && issue.bytes().all(|byte| byte.is_ascii_digit()), "{issue}");
    assert_eq!(own["issueDate"], issue);
    let base = |query: &str| bare(&client, &format!("/conf/siteconfig?{query}"));
    assert_eq!(base("type=Image&workfolder=/News/Sport"), json!({ "type": "Image", "basefolder": "/Pictures/Sport" }));
    for (query, status, code, part) in [
        ("resolve/path?contentType=Nothing", 404, "TypeNotFound", "Nothing"),
        ("resolve/path?contentType=Story&workfolder=/Nowhere", 404, "ObjectNotFound", "/Nowhere"),
        ("resolve/path?contentType=Story&channel=Radio", 400, "InvalidParameter", "Radio"),
        ("resolve/path?contentType=Story&team=Nobody", 400, "InvalidParameter", "Nobody"),
        ("resolve/path?contentType=Story&siteName=Other", 400, "InvalidParameter", "Other"),
        ("resolve/path?contentType=Story&issueDate=20261399", 400, "InvalidParameter", "20261399"),
        ("resolve/path", 400, "InvalidParameter", "contentType"),
        ("siteconfig?type=Video&workfolder=/News/City&check=true", 404, "ObjectNotFound", "/Media/Video"),
        ("siteconfig?type=Story&workfolder=/News/City&fileName=a%2Fb", 400, "InvalidName", "a/b"),
        (
            "siteconfig?type=Story&workfolder=/News/City&check=true&fileName=harbour-ferry.xml",
            409,
            "DuplicatedName",
            "harbour-ferry.xml",
        ),
    ] {
        fails(&client, &format!("/conf/{query}"), status, code, part);
    }
    let free = base("type=Story&workfolder=/News/City&check=true&fileName=free.xml");
    assert_eq!(free["basefolder"], "/News/City");
    // A folder is created on request, by a user who may, and not for a page of another site.
    let video = "/conf/siteconfig?type=Video&workfolder=/News/City&autocreate=true&check=true";
    let cookie = format!("MRS_CONNECTION_TOKEN={}", admin.token());
    let link = server.client().send("GET", video, &[("cookie", &cookie), ("sec-fetch-site", "cross-site")], b"");
    assert_eq!(link.json()["code"], "CMS.OriginRefused");
    fails(&server.user("reader"), video, 401, "PermissionDenied", "create");
    let path = bare(&admin, video)["basefolder"].as_str().expect("a path").to_owned();
    assert_eq!(admin.call("object-get", &[&path]).ok()["type"], "Folder");
    assert_eq!(bare(&admin, video)["basefolder"], path, "it is there");
    assert_eq!(base("type=Video&workfolder=/News/City&check=1")["basefolder"], path);
}

#[test]
fn teams_and_work_folders_are_listed_as_far_as_they_are_asked_for() {
    let server = Server::start();
    let client = server.user("reader");
    let teams = bare(&client, "/conf/team/list");
    assert_eq!(teams[0], json!({ "name": "City", "isDefault": true, "channels": [] }));
    let teams = bare(&client, "/conf/team/list?showChannels=true");
    assert_eq!(teams[1]["channels"][0], json!({ "name": "Tabloid", "isDefault": true }));
    let list = |query: &str| bare(&client, &format!("/conf/workfolder/list?{query}"));
    let top = list("");
    assert_eq!(names(&top, "label"), ["City", "Politics", "Business", "World", "Sport", "Culture", "Opinion"]);
    assert_eq!(
        top[0],
        json!({ "id": "city", "label": "City", "path": "/News/City", "type": "section", "dir": "/News/City",
            "isDefault": true, "childCount": 2, "baseFolders": [] })
    );
    assert_eq!(names(&list("depth=2"), "label")[..3], ["City", "Waterfront", "Districts"]);
    assert_eq!(list("depth=0"), list("depth=2"), "there are no more levels");
    assert_eq!(names(&list("parent=/News/Sport"), "label"), ["Football", "Rowing"]);
    assert_eq!(names(&list("team=Sport"), "label"), ["Sport"]);
    assert!(!names(&list("channel=neutral&depth=0"), "label").contains(&"Sport"));
    assert_eq!(list("team=Web")[0]["childCount"], 0, "those in it are for another team");
    let culture = list("contentType=Audio&showBasefolders=true");
    let culture =
        culture.as_array().expect("a list").iter().find(|folder| folder["label"] == "Culture").expect("it is there");
    assert_eq!(
        culture["baseFolders"],
        json!([{ "content": "Audio", "name": "Recordings", "workPath": "/News/Culture/Recordings" }])
    );
    let city = &list("contentType=Audio&showBasefolders=true")[0]["baseFolders"];
    assert_eq!(*city, json!([{ "content": "Audio", "name": "Audio" }]), "it depends on the issue");
    for (query, status, code, part) in [
        ("parent=/Nowhere", 404, "ObjectNotFound", "/Nowhere"),
        ("channel=Radio", 400, "InvalidParameter", "Radio"),
        ("team=Nobody", 400, "InvalidParameter", "Nobody"),
        ("contentType=Nothing", 404, "TypeNotFound", "Nothing"),
        ("depth=many", 400, "InvalidParameter", "depth"),
    ] {
        fails(&client, &format!("/conf/workfolder/list?{query}"), status, code, part);
    }
}

#[test]
fn users_are_found_by_what_is_known_of_them() {
    let server = Server::start();
    let admin = server.user("admin");
    let body = json!({ "name": "mara", "fullName": "Mara Holm", "description": "Ferries", "team": "Sport",
        "homeEmail": "mara@example.net", "businessEmail": "holm@example.org", "password": "a long secret" });
    admin.call("stet-user-create-post", &[]).json(&body).ok();
    let editor = server.login("editor");
    let list = |client: &Client, query: &str| bare(client, &format!("/conf/user/list?{query}"));
    let all = list(&editor, "");
    assert!(names(&all, "id").windows(2).all(|pair| pair[0] < pair[1]), "by name");
    let found = list(&editor, "query=HOLM");
    assert_eq!(
        found,
        json!([{ "id": "mara", "ucount": 0, "name": "mara", "fullName": "Mara Holm", "description": "Ferries",
            "disabled": false, "teams": ["Sport"], "relevance": 54 }])
    );
    let extra = &list(&editor, "query=mara&showExtraInfo=true")[0];
    assert_eq!(
        (&extra["homeEmail"], &extra["businessEmail"], &extra["calendars"]),
        (&json!(""), &json!("holm@example.org"), &json!(["daily"]))
    );
    assert_eq!(list(&admin, "query=mara&showExtraInfo=true")[0]["homeEmail"], "mara@example.net");
    let own = list(&editor, "query=editor&showExtraInfo=true")[0].clone();
    assert!(own["relevance"] == 100 && own["ucount"].as_u64().is_some_and(|count| count > 0), "{own}");
    assert_eq!(list(&editor, "query=nobody-has-this"), json!([]));
    fails(&server.client(), "/conf/user/list", 401, "InvalidToken", "token");
}

#[test]
fn page_plans_and_nothing_else_are_removed_as_such() {
    let server = Server::start();
    let editor = server.user("editor");
    let make = |kind: &str, name: &str| {
        let options = json!({ "name": name, "type": kind, "folderPath": "/News/City" });
        editor.upload("/v3/object/create", &options, None).ok()["id"].as_str().expect("an id").to_owned()
    };
    let (plan, story) = (make("PagePlan", "plan"), make("Story", "no-plan.xml"));
    let remove =
        |client: &Client, query: &str| client.send("DELETE", &format!("/containers/pagePlan?{query}"), &[], b"");
    let fails = |answer: Answer, status: u16, code: &str| {
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{:?}", answer.json());
    };
    fails(remove(&editor, ""), 400, "CMS.InvalidParameter");
    fails(remove(&editor, &format!("source={story}")), 400, "CMS.InvalidType");
    fails(remove(&editor, "source=1$1.0.999999999"), 404, "CMS.ObjectNotFound");
    fails(remove(&editor, &format!("source={plan}&sessionId=other")), 401, "CMS.InvalidToken");
    fails(remove(&server.user("reader"), &format!("source={plan}")), 401, "CMS.PermissionDenied");
    editor.call("stet-object-lock-post", &[&plan]).ok();
    fails(remove(&server.user("admin"), &format!("source={plan}")), 400, "CMS.ObjectLocked");
    let stale =
        editor.send("DELETE", &format!("/containers/pagePlan?source={plan}"), &[("if-match", "\"1-x-y\"")], b"");
    fails(stale, 412, "CMS.PreconditionFailed");
    assert_eq!(remove(&editor, &format!("source={plan}")).json(), json!({ "id": plan }));
    fails(remove(&editor, &format!("source={plan}")), 404, "CMS.ObjectNotFound");
    editor.call("stet-object-restore-post", &[&plan]).ok();
}

/// A newsroom without a site, and one of another making: the shapes are the same.
#[test]
fn without_a_site_there_is_nothing_and_nothing_fails() {
    let server = Server::filling(&[("SAMPLE__ENABLED", "false")]);
    let admin = server.user("admin");
    for (path, wanted) in [
        ("/conf/channel/list?loidsSource=/", json!([])),
        ("/conf/contentItems/list", json!([])),
        ("/conf/contentItems/map", json!({})),
        ("/conf/team/list?showChannels=1", json!([])),
        ("/conf/workfolder/list?depth=0", json!([])),
    ] {
        assert_eq!(bare(&admin, path), wanted, "{path}");
    }
    assert_eq!(bare(&admin, "/conf/userdata")["system_attributes"]["productInfo"]["issueDate"], "");
    assert_eq!(names(&bare(&admin, "/conf/user/list"), "id"), ["admin"]);
    fails(&admin, "/conf/metadata/dtd", 404, "ObjectNotFound", "no metadata definition");
    fails(&admin, "/conf/resolve/path?contentType=Folder", 404, "ObjectNotFound", "Folder");
    fails(&admin, "/calendar/nextPublicationDate?product=P&fromIssueDate=20260101", 404, "ObjectNotFound", "P");
    // Another site: other channels, teams, work folders and calendars.
    save(
        &admin,
        SITE,
        1,
        "<siteConfig name='Blatt' defaultProduct='Blatt'><products><product name='Blatt'>\
        <editions><edition name='Nord' isDefault='1'/></editions><calendar name='w' timeZone='Asia/Tokyo'><publishes day='SU'/>\
        <holiday day='0229'/></calendar></product></products>\
        <channels><channel id='p' name='Papier' type='print' product='Blatt' calendar='w'/></channels>\
        <teams><team name='Ort' isDefault='true'><channel name='p'/></team></teams>\
        <workFolders><workFolder label='Ort' path='/Ort' type='Ressort'/></workFolders>\
        <baseFolders><baseFolder content='Folder' workPath='{dir}/{edition}' workStatus='neu'/></baseFolders></siteConfig>",
    );
    assert_eq!(admin.get("/v3/conf/siteconfigxml?refresh=true").status, 200);
    let channel = json!({ "id": "p", "name": "Papier", "type": "print", "stylesGroup": [], "calendar": { "name": "w",
        "product": "Blatt", "timeZone": "Asia/Tokyo", "dateFormat": null, "publishes": ["SU"] } });
    assert_eq!(bare(&admin, "/conf/channel/list?loidsSource=/&showCalendar=true"), json!([channel]));
    assert_eq!(
        bare(&admin, "/conf/team/list?showChannels=1")[0]["channels"],
        json!([{ "name": "p", "isDefault": false }])
    );
    assert_eq!(
        bare(&admin, "/conf/workfolder/list?showBasefolders=1"),
        json!([{ "id": "/Ort", "label": "Ort", "path": "/Ort", "type": "Ressort", "dir": "/Ort", "isDefault": false,
            "childCount": 0, "baseFolders": [{ "content": "Folder", "name": "Folder" }] }])
    );
    admin.call("stet-user-update-put", &[&"admin"]).json(&json!({ "workFolder": "" })).ok();
    let resolved = bare(&admin, "/conf/resolve/path?contentType=Folder");
    assert_eq!((&resolved["workfolderDir"], &resolved["workStatus"]), (&json!("/Ort/Nord"), &json!("neu")));
    // The 29th of February of 2032 is a Sunday.
    let next = bare(&admin, "/calendar/nextPublicationDate?product=Blatt&fromIssueDate=20320222");
    assert_eq!(next["nextPublicationDate"], "20320307");
}

cases! {
    "old-group-list-get": |_| Made::default();
    "stet-old-message-get": |corner| {
        // An empty inbox shows no record.
        message(corner);
        Made::default()
    };
    "stet-old-message-post": |corner| {
        Made::default().json(json!({ "subject": "s", "recipients": [corner.user()] }))
    };
    "old-calendar-nextpublicationdate-get": |_| {
        let made = Made::default().query("product", word("HarbourCourier"));
        made.query("fromIssueDate", word("20261124"))
    };
    "old-channel-list-get": |corner| Made::default().query("loidsSource", corner.story());
    "old-contentitems-list-get": |_| Made::default();
    "old-contentitems-map-get": |_| Made::default();
    "old-metadata-dtd-get": |corner| Made::default().query("id", corner.story());
    "old-metadata-treedb-get": |corner| {
        Made::default().query("id", corner.story()).query("node", word("subject"))
    };
    "old-metadata-treedbxml-get": |corner| {
        Made::default().query("id", corner.story()).query("node", word("section"))
    };
    "old-resolve-path-get": |_| Made::default().query("contentType", word("Story"));
    "old-siteconfig-get": |_| Made::default().query("type", word("Story"));
    "old-team-list-get": |_| Made::default().query("showChannels", word("true"));
    "old-user-list-get": |_| Made::default().query("query", word("editor"));
    "old-userdata-get": |_| Made::default();
    "old-workfolder-list-get": |_| Made::default().query("showBasefolders", word("true"));
    "old-pageplan-delete": |corner| {
        let options = json!({ "name": corner.name(), "type": "PagePlan", "folderPath": corner.folder });
        let made = corner.client.upload("/v3/object/create", &options, None).ok();
        Made::default().query("source", word(made["id"].as_str().expect("it has an id")).with_kind(Kind::Only("page plan"))).once()
    };
    "stet-old-object-story-post": |corner| Made::default().form(new_in(corner));
    "stet-old-object-linked-get": |corner| {
        let (story, item) = (corner.story().with_kind(Kind::Any), corner.story());
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made { query: vec![("id", word(story))], ..Made::default() }
    };
}
