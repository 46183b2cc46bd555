//! The multipart form of uploads, whole, odd and broken.

use std::io::Write;
use std::net::TcpStream;

use super::*;

const BOUNDARY: &str = "----stet-object-test";
const CREATE: &str = "stet-object-create-post";

/// Headers of the parts of a form.
const OPTIONS: &str = "name=\"options\"\r\ncontent-type: application/json";
const CONTENT: &str = "name=\"content\"; filename=\"a.xml\"\r\ncontent-type: text/xml";
const COMMENT: &str = "name=\"comment\"";

/// The header of a part of a form, and its bytes.
type Part<'a> = (&'a str, &'a [u8]);

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, bytes) in parts {
        body.extend(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {head}\r\n\r\n").bytes());
        body.extend([*bytes, b"\r\n"].concat());
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

impl Desk {
    fn send_form(&self, body: &[u8]) -> Call<'_> {
        self.call(CREATE, &[]).bytes(&content_type(), body)
    }

    fn options(&self) -> Vec<u8> {
        json!({ "name": "a.xml", "folderPath": self.folder }).to_string().into_bytes()
    }
}

#[test]
fn a_part_that_nobody_would_read_is_refused_by_name() {
    let desk = Desk::of("reporter");
    let options = desk.options();
    let long = format!("name=\"{}\"; filename=\"a.jpg\"", "x".repeat(9000));
    let (attachment, attachments) =
        ("name=\"attachment\"; filename=\"a.jpg\"", "name=\"attachments\"; filename=\"a.jpg\"");
    for (head, name) in [
        (COMMENT, "comment"),
        (attachment, "attachment"),
        (attachments, "attachments"),
        ("name=\"Content\"; filename=\"a.jpg\"", "Content"),
        ("name=\"\"", ""),
        (&long, &"x".repeat(40)),
    ] {
        let parts: [Part<'_>; 3] = [(OPTIONS, &options), (head, b"a picture"), (CONTENT, b"<a/>")];
        for turned in 0..3 {
            let mut parts = parts;
            parts.rotate_left(turned);
            let error = desk.send_form(&form(&parts)).fails(400, "InvalidBody");
            assert_eq!(error["details"]["part"], *name);
            let message = error["message"].as_str().expect("it says so");
            assert!(message.contains(&format!("`{name}`")) && message.contains("`options`, `content`"), "{message}");
            assert!(message.len() < 200, "{message}");
        }
    }
    is_gone(&desk, &desk.folder);
}

#[test]
fn parts_may_come_in_any_order() {
    let desk = Desk::of("reporter");
    let parts: [Part<'_>; 2] = [(CONTENT, b"<a/>"), (OPTIONS, &desk.options())];
    let made = desk.send_form(&form(&parts)).gives(&json!({ "path": format!("{}/a.xml", desk.folder) }));
    assert_eq!(bytes_of(&desk, &id(&made)), b"<a/>");
}

#[test]
fn a_part_that_comes_twice_is_refused() {
    let desk = Desk::of("reporter");
    let options = desk.options();
    let [o, c]: [Part<'_>; 2] = [(OPTIONS, &options), (CONTENT, b"<a/>")];
    for (parts, name) in [([o, c, o], "options"), ([o, c, c], "content")] {
        let message = desk.send_form(&form(&parts)).fails(400, "InvalidBody")["message"].to_string();
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(desk.count(), 0);
}

#[test]
fn options_that_are_no_json_object_are_refused() {
    let desk = Desk::of("reporter");
    let bad: [&[u8]; 7] =
        [b"{", b"[]", b"7", b"{\"name\": 7}", b"{\"name\":\"a\"} x", b"\xff\xfe", b"{\"attributes\":[[[[[[[[[[[[[[[[["];
    for bad in bad {
        desk.send_form(&form(&[(OPTIONS, bad), (CONTENT, b"<a/>")])).fails(400, "InvalidBody");
    }
    let named = desk.send_form(&form(&[(OPTIONS, b"{\"issueDate\": {}}")]));
    assert_eq!(named.fails(400, "InvalidBody")["details"]["path"], "$.issueDate");
}

#[test]
fn options_may_be_left_out_where_the_file_says_enough() {
    let desk = Desk::of("reporter");
    let name = desk.folder.replace('/', "-");
    let head = format!("name=\"content\"; filename=\"{name}.xml\"\r\ncontent-type: text/xml");
    let made = desk.send_form(&form(&[(&head, b"<a/>")]));
    made.gives(&json!({ "path": format!("/Users/reporter/{name}.xml") }));
    desk.send_form(&form(&[])).fails(400, "InvalidName");
}

#[test]
fn what_is_no_form_is_refused() {
    let desk = Desk::of("reporter");
    let call = || desk.call(CREATE, &[]);
    for none in [
        call().json(&json!({ "name": "a" })),
        call(),
        call().bytes("multipart/form-data", "x"),
        desk.send_form(b"this has no boundary at all"),
        desk.send_form(b""),
    ] {
        none.fails(400, "InvalidBody");
    }
}

#[test]
fn a_form_whose_end_is_missing_creates_nothing() {
    let desk = Desk::of("reporter");
    let whole = form(&[(OPTIONS, &desk.options()), (CONTENT, &noise(100_000))]);
    for cut in [whole.len() - 3, whole.len() - 60, whole.len() / 2, 200, 20] {
        desk.send_form(&whole[..cut]).fails(400, "InvalidBody");
    }
    is_gone(&desk, &desk.folder);
}

#[test]
fn a_connection_cut_off_midway_leaves_nothing_behind() {
    let server = Server::start();
    let desk = Desk::at(server.user("reporter"));
    let whole = form(&[(OPTIONS, &desk.options()), (CONTENT, &noise(2_000_000))]);
    let unfinished = || {
        let folder = server.data().join("content/tmp");
        std::fs::read_dir(folder).map(|entries| entries.count()).unwrap_or_default()
    };
    let mut stream = TcpStream::connect(server.base.trim_start_matches("http://")).expect("it listens");
    let token = desk.token.as_deref().expect("it is logged in");
    let head = format!(
        "POST {}?token={token} HTTP/1.1\r\nhost: x\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
        Endpoint::of(CREATE).path,
        content_type(),
        whole.len()
    );
    stream.write_all(head.as_bytes()).expect("it is read");
    stream.write_all(&whole[..1_500_000]).expect("it is read");
    wait_until("the upload has begun", || unfinished() == 1);
    drop(stream);
    wait_until("the upload is gone", || unfinished() == 0);
    is_gone(&desk, &desk.folder);
}

#[test]
fn oversized_upload_forms_are_refused_and_leave_nothing_behind() {
    let limits = [("LIMITS__UPLOAD_PART_OPTIONS_BYTES", "1024"), ("LIMITS__UPLOAD_BYTES", "300000")];
    let server = Server::with(&limits);
    let desk = Desk::at(server.user("reporter"));
    let content = noise(300_001);
    let create = |team: usize, content: &[u8]| {
        let options = json!({ "name": "a.xml", "folderPath": desk.folder, "team": "x".repeat(team) }).to_string();
        desk.send_form(&form(&[(OPTIONS, options.as_bytes()), (CONTENT, content)]))
    };
    let failure = create(1024, b"x").fails(413, "TooLarge");
    assert_eq!(failure["details"]["limit"], 1024);
    assert!(failure["message"].as_str().unwrap().contains("`options`"));
    assert_eq!(create(10, &content).fails(413, "TooLarge")["details"]["limit"], 300_000);
    is_gone(&desk, &desk.folder);
    let left: Vec<_> = std::fs::read_dir(server.data().join("content/tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let made = create(10, &content[..300_000]).ok();
    assert!(bytes_of(&desk, &id(&made)) == content[..300_000]);
    ends_sound(server);
}
