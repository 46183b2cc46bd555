//! The multipart form of uploads, whole, odd and broken.

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
    let bad: [&[u8]; 7] =
        [b"{", b"[]", b"7", b"{\"name\": 7}", b"{\"name\":\"a\"} x", b"\xff\xfe", b"{\"attributes\":[[[[[[[[[[[[[[[[["];
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
    let whole = form(&[Part { head: OPTIONS, body: &options(&folder) }, Part { head: CONTENT, body: &noise(100_000) }]);
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
