//! The seeds of the fuzz targets as requests. Each is refused or accepted, but never causes a
//! failure of the server's own.

use std::path::PathBuf;

use super::*;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let entries =
        std::fs::read_dir(folder).expect("there are seeds").map(|entry| entry.expect("it can be listed").path());
    let read = |path: PathBuf| (format!("{target}/{}", path.display()), std::fs::read(&path).expect("it can be read"));
    entries.map(read).collect()
}

/// An answer of ours, and no failure.
fn assert_well(what: &str, answer: &Answer) {
    let text = String::from_utf8_lossy(&answer.body);
    assert!(answer.status < 500, "{what}: {} {text}", answer.status);
    if answer.status >= 400 {
        assert!(answer.json()["result"]["code"].is_string(), "{what}: {text}");
    }
}

/// Sends a head of any bytes, and asserts that the answer, if any, is no failure.
fn ask(server: &Server, what: &str, target: &[u8], headers: &[u8]) {
    let mut stream = connect(server);
    let head = [b"GET ", target, b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n", headers, b"\r\n\r\n"].concat();
    let _ = stream.write_all(&head);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    // A head that is none may end with a reset.
    let _ = stream.read_to_end(&mut answer);
    let status = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok());
    assert!(status.is_none_or(|status| status < "500"), "{what}: {}", String::from_utf8_lossy(&answer));
}

#[test]
fn whatever_is_sent_is_refused_or_taken() {
    let _turn = turn();
    let mut server = Server::with(&[
        ("SERVER__TRUSTED_PROXIES", "127.0.0.0/8"),
        ("AUTH__FAILURES_PER_USER", "0"),
        ("AUTH__FAILURES_PER_ADDRESS", "0"),
    ]);
    let client = server.login("admin");
    let folder = own_folder();
    let drawer = encoded(&client.drawer(&folder, "desk", 100));
    let json = [("content-type", "application/json")];
    for (what, seed) in seeds("json_body") {
        let calls = [
            ("POST", "/v3/object"),
            ("POST", "/v3/container/drawer"),
            ("POST", "/v3/folder"),
            ("POST", "/v3/auth/login"),
            ("POST", "/v3/auth/copy"),
            ("POST", "/v3/group"),
            ("POST", "/v3/user"),
            ("PUT", &format!("/v3/container/drawer/{drawer}")),
            ("DELETE", &format!("/v3/container/drawer/{drawer}/item")),
        ];
        for (method, path) in calls {
            assert_well(&format!("{method} {path} {what}"), &client.send(method, path, &json, &seed[1..]));
        }
    }
    for (what, seed) in seeds("multipart") {
        let form = [("content-type", "multipart/form-data; boundary=b")];
        assert_well(&what, &client.send("POST", "/v3/object/create", &form, &seed[1..]));
    }
    for (number, (what, seed)) in seeds("xml").into_iter().chain(seeds("attributes")).enumerate() {
        let Ok(text) = String::from_utf8(seed) else { continue };
        let attributes = serde_json::from_str(&text).unwrap_or(Value::from(text));
        let options = json!({ "name": format!("{number}.xml"), "type": "Story", "folderPath": folder,
            "attributes": attributes, "systemAttributes": attributes, "usageTickets": attributes });
        assert_well(&what, &client.upload("/v3/object/create", &options, None));
        let options = json!({ "name": format!("{number}.xml"), "type": "Story", "folderPath": folder,
            "attributes": attributes });
        let answer = client.upload("/v3/object/create", &options, None);
        assert_well(&what, &answer);
        if answer.status == 200 {
            // An accepted object can be shown in every form.
            let loid = encoded(answer.ok()["id"].as_str().expect("a new object has an id"));
            client.get(&format!("/v3/object/{loid}?showXml=true&showJson=true&useUnparsedXml=true")).ok();
            client.get(&format!("/v3/object/{loid}?showXml=true")).ok();
        }
    }
    for (what, seed) in seeds("source") {
        let segment = percent_encoding::percent_encode(&seed, percent_encoding::NON_ALPHANUMERIC).to_string();
        for path in ["/v3/object/", "/v3/folder/", "/v3/container/drawer/"] {
            assert_well(&what, &client.get(&format!("{path}{segment}")));
        }
        assert_well(&what, &client.post(&format!("/v3/container/drawer/{drawer}/item/{segment}"), &json!({})));
        ask(&server, &what, &seed, b"x: y");
    }
    for (what, seed) in seeds("query") {
        let target = [b"/v3/folder/home?token=", token(&client).as_bytes(), b"&", &seed[2..]].concat();
        ask(&server, &what, &target, b"x: y");
    }
    for (what, seed) in seeds("headers") {
        let names = ["x-forwarded-for", "forwarded", "cookie", "authorization", "if-none-match", "range", "accept"];
        let lines = names.map(|name| [name.as_bytes(), b": ", &seed].concat()).join(&b"\r\n"[..]);
        ask(&server, &what, b"/v3/folder/home", &lines);
        let token = [b"\r\ntoken: ", token(&client).as_bytes()].concat();
        ask(&server, &what, b"/v3/folder/home", &[lines, token].concat());
    }
    assert_serves(&server);
    assert!(!server.log().contains("panicked"), "something panicked");
    assert_eq!(server.terminate(), Some(0));
    let (code, text) = server.check();
    assert_eq!(code, Some(0), "{text}");
}
