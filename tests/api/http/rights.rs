//! Endpoints that nobody serves yet, for a caller with rights below folders: they are refused or hidden already. Those that are served
//! are tried by calls that go well, in `endpoints::rights`.

use serde_json::json;

use super::*;

/// Folders that a desk may work in, may read, and may not see.
const OWN: &str = "/Desks/Own";
const FOREIGN: &str = "/Desks/Foreign";
const HIDDEN: &str = "/Hidden";

/// A server whose `reporter` is in a group that has nothing but rights below folders.
fn newsroom() -> (Server, Client, Client) {
    let server = Server::start();
    let admin = server.login("admin");
    for path in [OWN, FOREIGN, HIDDEN] {
        admin.post("/v3/folder", &json!({ "path": path })).ok();
    }
    let mut privileges = vec![json!({ "privilege": "read", "folder": FOREIGN })];
    for privilege in ["read", "create", "write", "delete", "destroy", "moderate", "forceUnlock"] {
        privileges.push(json!({ "privilege": privilege, "folder": OWN }));
    }
    // No privilege for the server as a whole comes of a folder.
    for privilege in ["manageGroups", "configure"] {
        privileges.push(json!({ "privilege": privilege, "folder": OWN }));
    }
    let desk = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    admin.post("/v3/group/create", &desk).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    (server, admin, reporter)
}

/// An object of the kind that an endpoint is about, in that folder.
fn target(admin: &Client, endpoint: &Endpoint, folder: &str, name: &str) -> String {
    match endpoint.path.as_str() {
        path if path.starts_with("/v3/folder/") => {
            let made = admin.post("/v3/folder", &json!({ "path": format!("{folder}/{name}") })).ok();
            made["info"]["id"].as_str().expect("a folder has an id").to_owned()
        }
        path if path.starts_with("/v3/container/drawer/") && !path.contains("/object/") => {
            admin.drawer(folder, name, 10)
        }
        path if path.starts_with("/v3/container/liveblog/{source}") => {
            let liveblog = admin.liveblog(folder, name);
            let path = format!("/v3/container/liveblog/{}/post", encoded(&liveblog));
            let content: &[u8] = b"<post/>";
            let files = [("content", "post.xml", "text/xml", content)];
            let post = admin.send_form("POST", &path, &[], &json!({ "timestamp": 0 }), &files).ok();
            assert_eq!(post["info"]["name"], POST);
            liveblog
        }
        _ => admin.story(folder, &format!("{name}.xml")),
    }
}

/// An answer without what differs from call to call.
fn said(answer: &Answer, source: &str) -> (u16, String) {
    let mut json = answer.json();
    for error in ["", "/result"] {
        if let Some(error) = json.pointer_mut(error).and_then(Value::as_object_mut) {
            error.remove("requestId");
        }
    }
    (answer.status, json.to_string().replace(source, "*"))
}

#[test]
fn each_endpoint_is_refused_hidden_or_allowed_as_the_folder_of_its_object_says() {
    let (server, admin, reporter) = newsroom();
    let all = endpoints(&server);
    let mut faults = Faults::default();
    let mut asked = 0;
    for (number, endpoint) in all.iter().enumerate() {
        let Some(privilege) = endpoint.privilege.as_deref().filter(|_| !endpoint.implemented) else { continue };
        let (name, older) = (format!("e{number}"), endpoint.older());
        let refusal = if older { 401 } else { 403 };
        let denied =
            |answer: &Answer| answer.status == refusal && error_of(answer, older)["code"] == "CMS.PermissionDenied";
        let told = |what: &str, answer: &Answer| {
            let body = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
            format!("{what}: {} {} {}: {} {body}", endpoint.id, endpoint.method, endpoint.path, answer.status)
        };
        match endpoint.scope.as_str() {
            "server" => {
                let answer = endpoint.send(&reporter, &endpoint.call());
                faults.expect(denied(&answer), || told("for the server", &answer));
            }
            "path" => {
                let hidden = target(&admin, endpoint, HIDDEN, &name);
                let foreign = target(&admin, endpoint, FOREIGN, &name);
                let before = [&hidden, &foreign].map(|loid| admin.get(&format!("/v3/object/{loid}")).ok());
                let missing = endpoint.send(&reporter, &endpoint.call());
                let answer = endpoint.send(&reporter, &endpoint.call_with(&hidden));
                let same = said(&answer, &hidden) == said(&missing, NOWHERE);
                faults.expect(answer.status == 404 && same, || told("hidden", &answer));
                faults.expect(answer.header("etag").is_none(), || told("hidden, and yet an ETag", &answer));
                let answer = endpoint.send(&reporter, &endpoint.call_with(&foreign));
                // Templates are read: what is created lies elsewhere.
                let reads = privilege == "read" || endpoint.path.contains("/template/");
                let well = if reads { !matches!(answer.status, 401 | 403 | 404) } else { denied(&answer) };
                faults.expect(well, || told("foreign", &answer));
                let after = [&hidden, &foreign].map(|loid| admin.get(&format!("/v3/object/{loid}")).ok());
                faults.expect(reads || before == after, || format!("{}: something changed", endpoint.id));
                let own = target(&admin, endpoint, OWN, &name);
                let answer = endpoint.send(&reporter, &endpoint.call_with(&own));
                faults.expect(!denied(&answer), || told("own", &answer));
            }
            _ => {
                // Each object that the body names is asked; nothing is named here.
                let answer = endpoint.send(&reporter, &endpoint.call());
                faults.expect(!denied(&answer) || privilege == "create", || told("named", &answer));
            }
        }
        asked += 1;
    }
    println!("{asked} endpoints");
    faults.none();
}
