//! Requests of published clients of such servers, call by call in their order. They use a base
//! path, the other product's codes, and a cookie in place of a token. Their requests are written
//! out here as these clients send them.

use serde_json::{Value, json};

use crate::harness::*;

const BASE: &str = "/swing/api/rest";
const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/story.xml";

/// A client that keeps its cookie, and sends a JSON content type with everything.
struct Desk {
    client: Client,
    cookie: String,
}

impl Desk {
    fn at(server: &Server) -> Desk {
        let (client, user) = (server.client(), "editor");
        let login = json!({
            "applicationId": "deskApp", "connectionId": "Editorial", "username": user, "password": SAMPLE_PASSWORD,
            "options": { "showJSON": false, "showUserInfo": false },
        });
        // The cookie of a session that there never was is sent along.
        let headers = [("content-type", "application/json"), ("cookie", "MRS_CONNECTION_TOKEN=")];
        let answer = client.send("POST", &format!("{BASE}/v3/auth/login"), &headers, login.to_string().as_bytes());
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.expect("a cookie is set").to_owned();
        let token = answer.ok()["token"]["value"].as_str().expect("a token is told").to_owned();
        assert_eq!(cookie, format!("MRS_CONNECTION_TOKEN={token}"));
        Desk { client, cookie }
    }

    fn send(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> Answer {
        let headers = [("content-type", content_type), ("cookie", self.cookie.as_str())];
        self.client.send(method, &format!("{BASE}{path}"), &headers, body)
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.send(method, path, "application/json", body.as_bytes());
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        answer.json()
    }
}

#[test]
fn a_client_that_was_written_for_another_server_does_a_days_work() {
    let server = Server::with(&[("SERVER__BASE_PATH", BASE), ("COMPAT__CODE_PREFIX", "EOM.")]);
    let desk = Desk::at(&server);

    // A story from a template; the same call again is the same story.
    let story = json!({
        "name": "neon_4711.xml", "workFolder": "/Product/World", "issueDate": "20261124", "attributes": null, "type": "EOM::CompoundStory",
        "application": "deskApp", "databaseId": "1", "edition": "", "product": "",
        "options": {
            "showSystemAttribute": true, "showPath": true, "createMode": "NEW_VERSION", "useDefaultProduct": false,
            "issueDateDefaultStrategy": "CALENDAR", "timeSuffix": false, "checkinAction": true, "unlock": true, "keepCheckedOut": false,
        },
    });
    let create = format!("/v3/object/create/from/template/path?path={}", TEMPLATE.replace('/', "%2F"));
    let made = desk.json("POST", &create, &story);
    assert_eq!(made["status"], "success");
    let loid = made["result"]["id"].as_str().expect("a story has an id").to_owned();
    assert_eq!(
        desk.json("POST", &format!("/v3/object/create/from/template/path?path={TEMPLATE}"), &story)["result"]["id"],
        loid
    );

    // Its content, by the literal word and as bytes of no type.
    let content =
        format!("<?xml version=\"1.0\"?><!DOCTYPE story SYSTEM \"/SysConfig/Dtd/story.dtd\"><story id=\"{loid}\"/>");
    let switches = "checkIn=true&checkOut=true&keepCheckedOut=false&checkOutClean=false";
    let path = format!("/v3/object/loid/content?loid={loid}&{switches}");
    assert_eq!(desk.send("PUT", &path, "application/octet-stream", content.as_bytes()).status, 200);
    let read = desk.send("GET", &format!("/v3/object/loid/content?loid={loid}"), "application/json", b"");
    assert_eq!(String::from_utf8_lossy(&read.body), content);

    // Its record, with everything.
    let shown = json!({
        "sources": [loid],
        "options": {
            "showAdditionalInfo": true, "showSystemAttributes": true, "showAttributes": true, "showUsageTickets": true,
            "showVirtualAttributes": true, "showXml": true, "showJson": true, "showUniquenessString": true, "showPath": true,
        },
    });
    let record = || desk.json("POST", "/v3/object", &shown)["result"]["items"][0].clone();
    assert_eq!((&record()["id"], &record()["workFolder"]), (&json!(loid), &json!("/Product/World")));
    assert!(record()["attributesXml"].is_string() && record()["pstate"]["uuid"].is_string());

    // Fields.
    let changes = json!({ "updateFields": [{ "sourceIds": [loid], "operators": [
        { "set": { "xpath": "/attributes/metadata/AutoLayout/LayoutPrio", "content": "A" } },
        { "unset": { "xpath": "/attributes/metadata/AutoLayout/BoostPriority" } },
        { "inc": { "xpath": "/attributes/metadata/edits", "content": "1" } },
        { "set": { "xpath": "/sysattributes/props/productInfo/issueDate", "content": "20261201" } },
        { "set": { "xpath": "/sysattributes/props/workFolder", "content": "/Product/City" } },
    ] }] });
    let changed = desk.json("POST", "/v3/object/metadata/change/fields", &changes);
    assert_eq!(changed["result"]["errors"], json!([]), "{changed}");
    let now = record();
    assert_eq!((&now["issueDate"], &now["workFolder"]), (&json!("20261201"), &json!("/Product/City")));
    assert_eq!(now["attributes"]["metadata"]["AutoLayout"]["LayoutPrio"], "A");

    // A picture whose options state what it is.
    let form = b"--b\r\ncontent-disposition: form-data; name=\"options\"\r\ncontent-type: application/json\r\n\r\n\
                 {\"name\":\"a.jpg\",\"type\":\"Image\",\"workFolder\":\"/Product/World\",\"options\":{\"createMode\":\"AUTO_RENAME\"}}\r\n\
                 --b\r\ncontent-disposition: form-data; name=\"content\"; filename=\"a.jpg\"\r\ncontent-type: application/octet-stream\r\n\r\n\
                 \xff\xd8\xff\xe0\r\n--b--\r\n";
    let picture = desk.send("POST", "/v3/object/create", "multipart/form-data; boundary=b", form).json();
    let picture = picture["result"]["id"].as_str().expect("a picture has an id").to_owned();

    // A page that the story is linked to; a copy for the channel; the links of both.
    let page = json!({ "name": "page", "type": "PRP", "workFolder": "/Product/World", "issueDate": "20261124" });
    let form = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{page}\r\n--b--\r\n");
    let page = desk.send("POST", "/v3/object/create", "multipart/form-data; boundary=b", form.as_bytes()).json();
    let page = page["result"]["id"].as_str().expect("a page has an id").to_owned();
    let link = |source: &str, target: &str, names: (&str, &str)| {
        let body = json!({ "sourceLinkName": names.0, "targetLinkName": names.1, "targetSource": target });
        desk.json("POST", &format!("/v3/object/{source}/correlate"), &body)
    };
    link(&loid, &page, ("EOM::PrintPageLinked", "story"));
    link(&loid, &picture, ("picture", "story"));
    let copy = json!({
        "showAdditionalInfo": true, "showPath": true, "showSystemAttributes": true, "showAttributes": true, "showUsageTickets": true,
        "showVirtualAttributes": true, "showXml": true, "showUniquenessString": true, "checkIn": true, "unlock": true,
        "channel": "Tabloid", "inheritFrom": "Neutral", "source": loid, "keepCheckedOut": false,
    });
    let copied = desk.json("POST", &format!("/v3/container/bundle/{loid}/channelcopy"), &copy)["result"].clone();
    let copied = copied["id"].as_str().expect("a copy has an id").to_owned();
    link(&page, &copied, ("story", "EOM::PrintPageLinked"));
    let linked = desk.json("GET", &format!("/object/linked?id={loid}&roleType=EOM%3A%3APrintPageLinked"), &Value::Null);
    assert_eq!(linked["count"], 2, "{linked}");
    let roles = linked["roles"].as_array().expect("there are roles");
    let role = |role: &Value| [role["object"]["id"].clone(), role["bundleChildChannel"].clone(), role["name"].clone()];
    assert_eq!(role(&roles[0]), [json!(page), Value::Null, json!("story")]);
    assert_eq!(role(&roles[1]), [json!(page), json!("Tabloid"), json!("story")]);
    assert!(roles[1]["object"]["path"].is_string() && roles[1]["object"]["system_attributes"].is_object(), "{linked}");
    assert_eq!(desk.json("GET", &format!("/object/linked?id={loid}"), &Value::Null)["count"], 3);

    // Errors have the other product's prefix, in both surfaces.
    let again = desk.send(
        "POST",
        &format!("/v3/container/bundle/{loid}/channelcopy"),
        "application/json",
        copy.to_string().as_bytes(),
    );
    assert_eq!((again.status, &again.json()["result"]["code"]), (409, &json!("EOM.DuplicatedName")));
    let missing = desk.send("GET", "/object/linked?id=1$1.0.99999999", "application/json", b"");
    assert_eq!((missing.status, &missing.json()["code"]), (404, &json!("EOM.ObjectNotFound")));
    desk.json("GET", "/v3/auth/logout", &Value::Null);
    assert_eq!(desk.send("GET", "/v3/auth/connection/check", "application/json", b"").status, 401);
}
