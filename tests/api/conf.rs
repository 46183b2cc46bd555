//! `/v3/conf`: the site configuration, and files of the configuration.

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

const SITE: &str = "/SysConfig/Site/siteconfig.xml";

/// The text of a configuration file, as it is saved.
pub fn content_of(client: &Client, path: &str) -> String {
    String::from_utf8(client.call("stet-object-content-get", &[&path]).send().body).expect("it is a text")
}

/// Saves a configuration file, a new one with its folders.
pub fn save(client: &Client, path: &str, database: u16, text: impl AsRef<[u8]>) {
    let (folder, name) = path.rsplit_once('/').expect("a path has a folder");
    let options = json!({ "name": name, "type": "Config", "folderPath": folder, "databaseId": database, "createMode": "NEW_VERSION" });
    let answer = client.upload("/v3/object/create", &options, Some((name, "text/xml", text.as_ref())));
    if answer.status == 404 && answer.said()["code"] == "CMS.TypeNotFound" {
        // Where there is no such type, any that takes bytes will do.
        let options = with(options, json!({ "type": "Binary" }));
        client.upload("/v3/object/create", &options, Some((name, "text/xml", text.as_ref()))).ok();
    } else {
        answer.ok();
    }
}

fn text(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.header("content-type"), Some("application/xml;charset=utf-8"));
    String::from_utf8(answer.body.clone()).expect("it is a text")
}

fn xml_file(client: &Client, path: &str, resolved: bool) -> Answer {
    client.call("conf-xmlfile-get", &[]).query("path", path).query("resolveHrefEntity", resolved).send()
}

#[test]
fn the_site_is_read_by_everyone_and_refreshed_by_few() {
    let server = Server::start();
    let (admin, nobody) = (server.user("admin"), server.client());
    let before = text(&nobody.get("/v3/conf/siteconfigxml"));
    assert!(before.contains("<siteConfig name=\"HarbourCourier\""));
    for flag in ["refresh", "forceRefresh"] {
        nobody.get(&format!("/v3/conf/siteconfigxml?{flag}=true")).fails(401, "InvalidToken");
        server.user("editor").get(&format!("/v3/conf/siteconfigxml?{flag}=true")).fails(403, "PermissionDenied");
    }
    let radio = "<channel id=\"radio\" name=\"Radio\" type=\"web\" compound=\"true\"/></channels>";
    save(&admin, SITE, 1, before.replace("</channels>", radio));
    assert_eq!(text(&nobody.get("/v3/conf/siteconfigxml")), before, "it is saved, and not in force");
    let copy = json!({ "channel": "Radio" });
    admin
        .call("container-bundle-channelcopy-post", &[&"/Web/City/harbour-ferry.xml"])
        .json(&copy)
        .fails(400, "InvalidParameter");
    assert!(text(&admin.get("/v3/conf/siteconfigxml?refresh=true")).contains("\"Radio\""));
    assert!(text(&nobody.get("/v3/conf/siteconfigxml")).contains("\"Radio\""));
    admin.call("container-bundle-channelcopy-post", &[&"/Web/City/harbour-ferry.xml"]).json(&copy).ok();
    let tagged = nobody.get("/v3/conf/siteconfigxml");
    let tag = tagged.header("etag").expect("it has one").to_owned();
    assert_eq!(nobody.call("conf-siteconfigxml-get", &[]).header("if-none-match", &tag).send().status, 304);
    admin.get("/v3/conf/siteconfigxml?databaseId=9").fails(404, "DatabaseNotFound");
}

#[test]
fn a_site_is_taken_over_whole_or_not_at_all_and_all_faults_are_told() {
    let server = Server::start();
    let admin = server.user("admin");
    let before = text(&admin.get("/v3/conf/siteconfigxml"));
    let start = before.find("<channels>").expect("the sample has channels");
    let end = before.find("</channels>").expect("they end") + "</channels>".len();
    let root = before.find("<siteConfig").expect("it has a root");
    let split = format!(
        "{}<!DOCTYPE siteConfig [<!ENTITY channels SYSTEM \"channels.xml\">]>\n{}&channels;{}",
        &before[..root],
        &before[root..start],
        &before[end..]
    );
    save(&admin, SITE, 1, &split);
    save(
        &admin,
        "/SysConfig/Site/channels.xml",
        1,
        "<channels>\n<channel id='web' name='Web'\n compound='maybe'/></channels>",
    );
    save(
        &admin,
        "/SysConfig/Collage/collage.xml",
        1,
        "<collageConfig>\n\n<collage channel='Web' width='wide' height='1'/></collageConfig>",
    );
    let error = admin.get("/v3/conf/siteconfigxml?refresh=true").fails(400, "InvalidBody");
    let errors = error["details"]["errors"].as_array().expect("they are told").clone();
    let told = |path: &str, line: u64, part: &str| {
        errors.iter().any(|error| {
            error["path"] == path
                && error["line"] == line
                && error["message"].as_str().is_some_and(|text| text.contains(part))
        })
    };
    assert!(told("/SysConfig/Site/channels.xml", 2, "`maybe`"), "{errors:?}");
    assert!(told("/SysConfig/Collage/collage.xml", 3, "`wide`"), "{errors:?}");
    assert_eq!(text(&admin.get("/v3/conf/siteconfigxml")), before);
    save(&admin, "/SysConfig/Site/channels.xml", 1, &before[start..end]);
    // The collage is still at fault, so nothing is taken over.
    admin.get("/v3/conf/siteconfigxml?forceRefresh=true").fails(400, "InvalidBody");
    assert_eq!(text(&admin.get("/v3/conf/siteconfigxml")), before);
    save(&admin, "/SysConfig/Collage/collage.xml", 1, "<collageConfig/>");
    let after = text(&admin.get("/v3/conf/siteconfigxml?refresh=true"));
    assert!(after.contains("<channel id=\"web\"") && !after.contains("&channels;"), "what it takes in is put in");
    assert_eq!(admin.call("conf-collage-get", &[]).ok()["items"], json!([]));
    // Of several files, the one that has changed is seen.
    save(&admin, "/SysConfig/Site/channels.xml", 1, before[start..end].replace("\"News pages\"", "\"All pages\""));
    assert!(text(&admin.get("/v3/conf/siteconfigxml?refresh=true")).contains("\"All pages\""));
}

#[test]
fn xml_files_come_only_from_sysconfig_and_are_cached_until_cleared() {
    let server = Server::start();
    let (admin, nobody) = (server.user("admin"), server.client());
    let list = "/SysConfig/TreeLists/subjects.xml";
    let before = text(&xml_file(&nobody, list, false));
    assert!(before.contains("<treeList name=\"subjects\">"));
    save(&admin, list, 1, before.replace("Ferries", "Ships"));
    assert_eq!(text(&xml_file(&nobody, list, false)), before, "it is kept");
    nobody.call("conf-xmlfiles-clearcache-post", &[]).fails(401, "InvalidToken");
    let cleared = admin.call("conf-xmlfiles-clearcache-post", &[]).ok();
    assert_eq!((&cleared["items"][0]["cache"], &cleared["errors"]), (&json!("site"), &json!([])));
    assert!(text(&xml_file(&nobody, list, false)).contains("Ships"));
    let loid = admin.call("object-get", &[&list]).ok();
    for named in [loid["id"].as_str().unwrap(), loid["pstate"]["uuid"].as_str().unwrap()] {
        assert!(text(&xml_file(&nobody, named, false)).contains("Ships"));
    }
    let story = admin.call("object-get", &[&"/News/City/harbour-ferry.xml"]).ok()["id"].as_str().unwrap().to_owned();
    for client in [&admin, &nobody] {
        xml_file(client, "/News/City/harbour-ferry.xml", false).fails(403, "PermissionDenied");
        xml_file(client, "/SysConfig/../News/City/harbour-ferry.xml", true).fails(403, "PermissionDenied");
        xml_file(client, &story, false).fails(404, "ObjectNotFound");
        xml_file(client, "/SysConfig/nowhere.xml", false).fails(404, "ObjectNotFound");
        xml_file(client, "/SysConfig/Site", false).fails(400, "InvalidBody");
        client.call("conf-xmlfile-get", &[]).fails(400, "InvalidParameter");
    }
}

#[test]
fn external_entities_are_resolved_and_hostile_files_refused() {
    let server = Server::start();
    let (admin, nobody) = (server.user("admin"), server.client());
    let web = "/SysConfig/PageAccessories/web.xml";
    says(&xml_file(&nobody, web, false).fails(400, "InvalidParameter"), "resolveHrefEntity");
    let whole = text(&xml_file(&nobody, web, true));
    assert!(
        whole.contains("<accessoryGroup name=\"Common\">") && !whole.contains("&common;") && !whole.contains("ENTITY")
    );
    let file = "/SysConfig/Hostile/a.xml";
    let entity = |system: &str| format!("<!DOCTYPE a [<!ENTITY e SYSTEM \"{system}\">]><a>&e;</a>");
    let laughs: String =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let bomb = format!("<!DOCTYPE a [<!ENTITY l0 \"ha\">{laughs}]><a>&l9;</a>");
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>".to_vec();
    let declared = "<?xml version='1.0' encoding='ISO-8859-1'?><a>\u{e9}</a>".as_bytes().to_vec();
    let utf16: Vec<u8> = "\u{feff}<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!("{}{}", "<a>".repeat(1000), "</a>".repeat(1000));
    for (bytes, resolved, part) in [
        (entity(file).into_bytes(), true, "includes itself"),
        (entity("/News/City/harbour-ferry.xml").into_bytes(), true, "is not in"),
        (entity("../../News/City/harbour-ferry.xml").into_bytes(), true, "is not in"),
        (entity("file:///etc/passwd").into_bytes(), true, "does not exist"),
        (entity("http://127.0.0.1:1/a.xml").into_bytes(), true, "does not exist"),
        (bomb.clone().into_bytes(), true, "l9"),
        (latin, false, "UTF-8"),
        (declared, false, "ISO-8859-1"),
        (utf16, false, "UTF-8"),
        (deep.into_bytes(), false, "levels"),
        (vec![b' '; 100_000_000], false, "100000000 bytes"),
        (b"<a>".to_vec(), false, "closed"),
        (Vec::new(), false, "no root element"),
    ] {
        save(&admin, file, 1, &bytes);
        admin.call("conf-xmlfiles-clearcache-post", &[]).ok();
        let answer = xml_file(&nobody, file, resolved);
        says(&answer.fails_on(part, 400, "InvalidBody"), part);
    }
    // Without resolving, references to other files are left as they stand.
    save(&admin, file, 1, entity("/SysConfig/TreeLists/subjects.xml"));
    admin.call("conf-xmlfiles-clearcache-post", &[]).ok();
    assert!(text(&xml_file(&nobody, file, false)).contains("&e;"));
    assert!(text(&xml_file(&nobody, file, true)).contains("<treeList"));
    // The same faulty files replace those in force: the configuration stays.
    let types = "/SysConfig/ObjectTypes/objecttypes.xml";
    for bytes in [bomb.into_bytes(), vec![b' '; 5_000_000], b"\xFF\xFE<".to_vec()] {
        save(&admin, types, 1, &bytes);
        let refreshed = admin.get("/v3/conf/cache/objecttypes/refresh/1").ok();
        assert_eq!(refreshed["errors"].as_array().map(Vec::len), Some(1), "{refreshed}");
        assert!(
            admin.get("/v3/conf/cache/objecttypes/1").ok()["items"].as_array().is_some_and(|types| types.len() > 20)
        );
    }
}

#[test]
fn catalogs_are_those_of_the_callers_groups() {
    let server = Server::start();
    let names = |client: &Client, query: &str| -> Vec<String> {
        let reply = client.get(&format!("/v3/conf/catalogs?{query}")).ok();
        reply["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let (nobody, editor) = (server.client(), server.user("editor"));
    let (default, own) = (names(&nobody, ""), names(&editor, ""));
    assert!(own.len() > default.len() && default.iter().all(|name| own.contains(name)), "{default:?} {own:?}");
    assert!(names(&nobody, "type=drawer").len() < default.len());
    let first = nobody.get("/v3/conf/catalogs").ok()["items"][0].clone();
    assert_eq!(
        (&first["name"], &first["type"], &first["isDefault"]),
        (&json!("Newsroom"), &json!("ALL"), &json!(true))
    );
    assert_eq!(
        first["views"][0]["columns"][0],
        json!({ "id": "name", "title": "Name", "width": 240.0, "widthUnit": "PIXEL", "path": "name" })
    );
    nobody.get("/v3/conf/catalogs?type=SHELF").fails(400, "InvalidParameter");
    nobody.get("/v3/conf/catalogs?file=..%2Fa").fails(400, "InvalidParameter");
    nobody.get("/v3/conf/catalogs?file=other.cfg").fails(404, "ObjectNotFound");
    let admin = server.user("admin");
    let other = "<columnCatalogs><catalog name='Other' groups='editors'><view name='v'><column id='c' width='1' path='name'/></view></catalog></columnCatalogs>";
    save(&admin, "/SysConfig/Columns/other.cfg", 1, other);
    assert_eq!(names(&editor, "file=other.cfg"), ["Other"]);
    assert!(names(&nobody, "file=other.cfg").is_empty());
    save(&admin, "/SysConfig/Columns/wrong.cfg", 1, "<jobs/>");
    says(&nobody.get("/v3/conf/catalogs?file=wrong.cfg").fails(400, "InvalidParameter"), "columnCatalogs");
}

fn at_desk(client: &Client, work_folder: &str, more: Value) -> String {
    let options =
        with(json!({ "name": "a.xml", "type": "Story", "workFolder": work_folder, "createMode": "AUTO_RENAME" }), more);
    let made = client.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<story/>"))).ok();
    made["id"].as_str().expect("it has an id").to_owned()
}

#[test]
fn page_accessories_and_shapes_are_those_for_the_story() {
    let server = Server::start();
    let editor = server.user("editor");
    let story = at_desk(&editor, "/News/Sport/Rowing", json!({}));
    let ids = |page: &Value| -> Vec<String> {
        page["accessories"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let ask = |body: Value| editor.call("conf-pageaccessories-post", &[&story]).json(&body).send();
    let reply = ask(json!({ "channel": "web" })).ok();
    assert_eq!((&reply["channel"], &reply["section"]), (&json!("Web"), &json!("Sport")));
    let article = ids(&reply["items"][0]);
    assert!(article.contains(&"corrections".to_owned()) && article.contains(&"live-scores".to_owned()), "{article:?}");
    assert!(!article.contains(&"ferry-status".to_owned()), "that is for other sections: {article:?}");
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(2));
    let one = ask(json!({ "channel": "Tabloid", "pageId": "sport" })).ok();
    assert_eq!(one["items"].as_array().map(Vec::len), Some(1));
    assert!(ids(&one["items"][0]).contains(&"league-table".to_owned()));
    assert_eq!(ask(json!({})).ok()["channel"], "Web", "it is the site's default one");
    assert_eq!(ask(json!({ "channel": "Neutral" })).ok()["items"], json!([]), "it has none");
    ask(json!({ "channel": "Radio" })).fails(400, "InvalidParameter");
    ask(json!({ "channel": "Web", "pageId": "nowhere" })).fails(400, "InvalidParameter");
    editor.call("conf-pageaccessories-post", &[&story]).fails(400, "InvalidBody");
    editor.call("conf-pageaccessories-post", &[&"1$1.0.999999"]).json(&json!({})).fails(404, "ObjectNotFound");
    let shapes = |reply: &Value| -> Vec<String> {
        reply["items"].as_array().unwrap().iter().map(|shape| shape["id"].as_str().unwrap().to_owned()).collect()
    };
    let list = |body: Value| shapes(&editor.call("conf-shapetemplates-list-post", &[]).json(&body).ok());
    assert_eq!(list(json!({ "channel": "Web" })), ["article", "card-large", "card-small", "review"]);
    assert_eq!(list(json!({ "channel": "Web", "workFolder": "/News/Culture/Stage" })).len(), 4);
    assert_eq!(
        list(json!({ "channel": "Web", "workFolder": "/News/City/Waterfront" })),
        ["article", "card-large", "card-small"]
    );
    for unknown in ["nope", "/News/Cultures", "/News"] {
        let body = json!({ "channel": "Web", "workFolder": unknown });
        for call in [
            editor.call("conf-shapetemplates-list-post", &[]),
            editor.call("conf-shapetemplates-source-list-post", &[&story]),
        ] {
            says(&call.json(&body).fails(400, "InvalidParameter"), &format!("`{unknown}`"));
        }
    }
    let own = shapes(&editor.call("conf-shapetemplates-source-list-post", &[&story]).ok());
    assert_eq!(own, ["article", "card-large", "card-small"]);
    editor.call("conf-shapetemplates-source-list-post", &[&"1$1.0.999999"]).fails(404, "ObjectNotFound");
}

#[test]
fn an_objects_path_follows_from_the_site() {
    let server = Server::start();
    let editor = server.user("editor");
    let more = json!({ "folderPath": "/News/World", "edition": "Late", "team": "Sport", "issueDate": "20261124" });
    let story = at_desk(&editor, "/News/Sport/Rowing", more);
    let resolved = editor.call("conf-resolvepath-get", &[&story]).ok();
    assert_eq!(
        resolved,
        json!({ "path": "/News/Sport/Rowing", "contentType": "Story", "edition": "Late", "insert": "",
        "issueDate": "20261124", "team": "Sport", "workStatus": "Story/Draft", "workfolder": "/News/Sport/Rowing",
        "workfolderDir": "/News/Sport/Rowing" })
    );
    let nowhere = editor.story("/News/World", "nowhere.xml");
    says(&editor.call("conf-resolvepath-get", &[&nowhere]).fails(404, "ObjectNotFound"), "Story");
}

#[test]
fn collages_indexes_and_connections() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let (editor, nobody) = (server.user("editor"), server.client());
    let collages = |query: &str| editor.get(&format!("/v3/conf/collage?{query}")).ok()["items"].clone();
    assert_eq!(collages("").as_array().map(Vec::len), Some(3));
    let web = collages("channel=web");
    assert_eq!(
        (&web[0]["channel"], &web[0]["width"], &web[0]["layouts"][1]["cells"][0]["width"]),
        (&json!("Web"), &json!(1600.0), &json!(66.0))
    );
    assert_eq!(collages("channel=Neutral"), json!([]));
    editor.get("/v3/conf/collage?channel=Radio").fails(400, "InvalidParameter");
    nobody.get("/v3/conf/collage").fails(401, "InvalidToken");
    let indexes = nobody.get("/v3/conf/indexes").ok()["items"].clone();
    assert_eq!(indexes.as_array().map(Vec::len), Some(3));
    assert_eq!(
        indexes[0]["fields"][0],
        json!({ "name": "name", "type": "string", "source": "record", "path": "name", "sortable": true })
    );
    assert_eq!(nobody.get("/v3/conf/indexes?databaseId=archive").ok()["items"], json!([]), "they are for the main one");
    let plain = nobody.get("/v3/conf/connections").ok();
    assert!(plain["items"].as_array().is_some_and(|all| all.iter().any(|one| one["id"] == "Editorial")), "{plain}");
    assert!(plain.get("repositories").is_none());
    let with = nobody.get("/v3/conf/connections?showRepositories=true").ok();
    assert_eq!(with["repositories"], json!([{ "id": 1, "name": "main" }, { "id": 2, "name": "archive" }]));
    assert_eq!(with["defaultRepository"], 1);
}

/// A newsroom made of nothing: nothing of the sample is in the code.
#[test]
fn a_second_newsroom_behaves_by_its_own_configuration() {
    let server =
        Server::filling(&[("SAMPLE__ENABLED", "false"), ("STORY__TEMPLATE", "/SysConfig/Vorlagen/meldung.xml")]);
    let admin = server.user("admin");
    save(&admin, "/SysConfig/ObjectTypes/objecttypes.xml", 1, "<objectTypes>
        <objectType name='Ordner' family='folder'/><objectType name='Folder' family='folder'/>
        <objectType name='Meldung' family='document' workflow='Ablauf' label='Meldung'><contentType>text/xml</contentType><extension>xml</extension></objectType>
        <objectType name='Mappe' family='bundle' workflow='Ablauf'/>
        <objectType name='Datei' family='document'><contentType>application/octet-stream</contentType></objectType></objectTypes>");
    save(&admin, "/SysConfig/Workflows/workflows.xml", 1, "<workflows><workflow name='Ablauf'>
        <status name='neu' identifier='rgb(1,1,1)'/><status name='gedruckt' identifier='rgb(2,2,2)' initial='true'/></workflow></workflows>");
    save(
        &admin,
        "/SysConfig/Columns/columnCfgCatalogs.cfg",
        1,
        "<columnCatalogs><catalog name='Alle'><view name='Liste' isDefault='true'>
        <column id='n' title='Name' width='10' widthUnit='MILLIMETER' path='name'/></view></catalog></columnCatalogs>",
    );
    save(&admin, SITE, 1, "<siteConfig defaultProduct='Blatt' defaultChannel='Papier'>
        <products><product name='Blatt'><calendar name='w'><publishes day='SA'/></calendar></product></products>
        <channels><channel id='p' name='Papier' type='print' compound='true'/><channel id='n' name='Netz' compound='true' isTemplateChannel='true'/></channels>
        <workFolders><workFolder label='Ort' path='/Ort'/></workFolders>
        <baseFolders><baseFolder content='Meldung' workPath='{dir}/{yyyy}' workStatus='neu'/></baseFolders></siteConfig>");
    assert_eq!(admin.get("/v3/conf/cache/refresh").ok()["errors"], json!([]));
    assert!(text(&admin.get("/v3/conf/siteconfigxml?refresh=true")).contains("Papier"));
    let options = json!({ "name": "a.xml", "workFolder": "/Ort", "issueDate": "20261128", "showPath": true });
    let made = admin.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<m/>"))).ok();
    assert_eq!(made["type"], "Meldung");
    let record = admin.call("object-get", &[&made["id"].as_str().unwrap()]).query("showPath", true).ok();
    assert_eq!((&record["path"], &record["statusInfo"]["name"]), (&json!("/Ort/2026/a.xml"), &json!("gedruckt")));
    let options = json!({ "name": "m", "type": "Mappe", "folderPath": "/Ort" });
    let bundle = admin.upload("/v3/object/create", &options, Some(("m", "text/xml", b"<m/>"))).ok();
    let bundle = bundle["id"].as_str().unwrap();
    let copy = admin.call("container-bundle-channelcopy-post", &[&bundle]).json(&json!({})).ok();
    assert_eq!((&copy["name"], &copy["type"]), (&json!("Papier"), &json!("Meldung")), "it is for the default channel");
    let view = admin.call("folder-view-get", &[&"/Ort"]).query("widthUnit", "MILLIMETER").ok();
    assert_eq!((&view["view"]["name"], &view["view"]["columns"][0]["width"]), (&json!("Liste"), &json!(10.0)));
    for foreign in ["Story", "Image", "CompoundStory"] {
        let options = json!({ "name": "b", "type": foreign, "folderPath": "/Ort" });
        admin.upload("/v3/object/create", &options, Some(("b", "text/plain", b"b"))).fails(404, "TypeNotFound");
    }
    assert_eq!(admin.get("/v3/conf/cache/commands/1").ok()["items"], json!([]));
}

cases! {
    "conf-xmlfiles-clearcache-post": |_| Made::default();
    "conf-collage-get": |_| Made::default().query("channel", word("web"));
    "conf-catalogs-get": |_| Made::default();
    "conf-xmlfile-get": |_| Made::default().query("path", word("/SysConfig/Site/siteconfig.xml"));
    "conf-connections-get": |_| Made::default().query("showRepositories", word("true"));
    "conf-indexes-get": |_| Made::default();
    "conf-pageaccessories-post": |corner| Made::on([corner.story()]).json(json!({ "channel": "Web" }));
    "conf-shapetemplates-list-post": |_| Made::default().json(json!({ "channel": "Tabloid" }));
    "conf-shapetemplates-source-list-post": |corner| Made::on([corner.story()]).json(json!({}));
    "stet-shape-story-get": |corner| Made::on([corner.story()]);
    "conf-siteconfigxml-get": |_| Made::default().query("refresh", word("true"));
    "conf-resolvepath-get": |corner| Made::on([corner.at_desk()]);
}
