//! Clients that are configured for database 33 alone, which is the main one.

use super::*;

const MAIN: [(&str, &str); 3] =
    [("DATABASES__0__ID", "33"), ("DATABASES__0__NAME", "33"), ("DATABASES__0__ALIASES", "editorial, 1")];

fn is_in_main(id: &str) -> bool {
    id.starts_with("33$1.0.")
}

#[test]
fn clients_of_database_33_work_unchanged() {
    let mut server = server_with(&MAIN);
    let login = json!({
        "connectionId": "Editorial", "applicationId": "deskApp", "username": "reporter", "password": SAMPLE_PASSWORD,
        "options": { "databaseId": 33, "showUserInfo": true, "showAvailableConnections": true, "loadConfig": true, "showPath": true },
    });
    let reply = result(server.client().post(&format!("{ROOT}/v3/auth/login"), &login));
    assert_eq!(reply["configuration"]["databases"], json!([{ "id": 33, "name": "33" }]));
    assert_eq!(reply["availableConnections"][0]["id"], "Editorial");
    assert!(is_in_main(&id_of(&reply["configuration"]["workFolderRecord"])), "{reply}");
    let desk = desk(&server, "reporter");

    // Stories, by each name of the database.
    for database in [json!(33), json!("33"), json!("editorial"), json!("1"), json!(1)] {
        let made = result(create(&desk, &story("neon.xml", database)));
        assert!(is_in_main(&id_of(&made)), "{made}");
    }
    let id = id_of(&result(create(&desk, &story("a.xml", json!(33)))));
    let written = desk.send("POST", &format!("/object/story?id={id}&newVersion=true"), &[], b"<story/>");
    assert_eq!(written.json(), json!({ "result": "ok" }));
    // A loid without its database is one of the main database.
    let short = id.trim_start_matches("33$");
    assert_eq!(id_of(&result(desk.get(&format!("/v3/object/{short}")))), id);
    assert_eq!(refusal(&desk.get(&format!("/v3/object/1${short}"))), refused(404, "ObjectNotFound"));
    assert_eq!(refusal(&desk.get("/v3/folder/root?databaseId=34")), refused(404, "DatabaseNotFound"));

    // The configuration, its caches, homes and paths.
    let template = TEMPLATE.replace('/', "%2F");
    for path in [
        format!("/v3/conf/{id}/resolvepath"),
        "/v3/conf/cache/objecttypes/33".to_owned(),
        "/v3/conf/cache/users/33".to_owned(),
        "/v3/conf/cache/workflows/timestamp/33".to_owned(),
        "/v3/folder/home?databaseId=33".to_owned(),
        "/v3/folder/work?databaseId=33".to_owned(),
        format!("/v3/object/{template}?databaseId=33"),
        "/v3/conf/xmlfile?path=/SysConfig/Site/siteconfig.xml&databaseId=33".to_owned(),
        "/v3/conf/xmlfile?path=/SysConfig/Site/siteconfig.xml".to_owned(),
        "/conf/userdata?checkWorkfolder=true".to_owned(),
        "/conf/resolve/path?contentType=Story&databaseId=33".to_owned(),
        "/conf/workfolder/list?databaseId=33".to_owned(),
        "/conf/metadata/dtd?type=Story".to_owned(),
        "/calendar/nextPublicationDate?product=HarbourCourier&fromIssueDate=20261124".to_owned(),
    ] {
        let answer = desk.get(&path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    let refreshed = admin(&server).get("/v3/conf/cache/refresh/33");
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    let shown = result(desk.get("/v3/conf/connections?showRepositories=true"));
    assert_eq!((&shown["defaultRepository"], &shown["repositories"][0]["id"]), (&json!(33), &json!(33)));

    // Objects without a folder are created in the home, and templates of containers are found.
    let drawer = result(desk.post("/v3/container/drawer", &json!({ "name": "mine" })));
    let blog = result(desk.post("/v3/container/liveblog/from/template", &json!({ "name": "live" })));
    for made in [&drawer, &blog] {
        assert!(is_in_main(&id_of(&made["info"])), "{made}");
    }

    assert_eq!(server.terminate(), Some(0));
    let (code, said) = server.check();
    assert_eq!((code, said.contains("\n0 faults")), (Some(0), true), "{said}");
}

#[test]
fn rights_below_folders_are_those_of_the_main_database() {
    let archive = [("DATABASES__1__ID", "1"), ("DATABASES__1__NAME", "archive")];
    let server = server_with(&[&MAIN[..2], &archive[..]].concat());
    let admin = admin(&server);
    let create =
        |path: &str, database: u16| result(admin.post("/v3/folder", &json!({ "path": path, "databaseId": database })));
    let (own, other) = (create("/Own", 33), create("/Own", 1));
    let privileges = json!([{ "privilege": "read", "folder": "/Own" }, { "privilege": "create", "folder": "/Own" }]);
    result(
        admin.post("/v3/group/create", &json!({ "groupName": "few", "members": ["reader"], "privileges": privileges })),
    );
    result(admin.post("/v3/group/update", &json!({ "groupName": "readers", "members": [] })));
    let reader = desk(&server, "reader");
    let (own, other) = (id_of(&own["info"]), id_of(&other["info"]));
    assert!(is_in_main(&own) && other.starts_with("1$"), "{own} {other}");
    assert_eq!(reader.get(&format!("/v3/object/{own}")).status, 200);
    assert_eq!(reader.get(&format!("/v3/object/{other}")).status, 404);
    let made = |folder: &str| reader.post("/v3/folder", &json!({ "name": "new", "folder": folder })).status;
    assert_eq!((made(&own), made(&other)), (200, 404));
}
