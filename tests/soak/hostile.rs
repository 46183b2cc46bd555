//! Attacks on a server by one user, or without any login.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::*;

/// A hostile user.
pub struct Hostile<'s> {
    server: &'s Server,
    client: Client,
    folder: String,
    /// An object with some 700 KB of attributes.
    large: String,
    /// A drawer with that object in it, and others.
    drawer: String,
    liveblog: String,
    posts: Vec<String>,
    /// Attacks begun.
    begun: AtomicUsize,
}

/// One attack.
type Attack = fn(&Hostile<'_>);

/// All attacks, by name.
pub const ATTACKS: &[(&str, Attack)] = &[
    ("one source thousands of times", one_source_thousands_of_times),
    ("large replies that nobody reads", large_replies_that_nobody_reads),
    ("a path of thousands of folders", a_path_of_thousands_of_folders),
    ("the deepest path there may be", the_deepest_path_there_may_be),
    ("a stale condition on a bulk call", a_stale_condition_on_a_bulk_call),
    ("a wide folder to the recycle bin and back", a_wide_folder_to_the_bin_and_back),
    ("bodies of logins that never end", bodies_of_logins_that_never_end),
    ("a search sorted by thousands of fields", a_search_sorted_by_thousands_of_fields),
    ("one drawer under many displays", one_drawer_under_many_displays),
    ("a login from a foreign page", a_login_from_a_foreign_page),
    ("logins of nobody", logins_of_nobody),
    ("hundreds of keys", hundreds_of_keys),
    ("a content type of many KB", a_content_type_of_many_kilobytes),
    ("followers who leave", followers_who_leave),
    ("a large picture in a small file", a_large_picture_in_a_small_file),
    ("heads too large", heads_too_large),
    ("bodies too deep", bodies_too_deep),
    ("requests that never end on one connection", requests_that_never_end_on_one_connection),
    ("metrics in a row", metrics_in_a_row),
    ("hundreds of thousands of values", hundreds_of_thousands_of_values),
    ("events that nobody reads", events_that_nobody_reads),
    ("large attributes in all forms", large_attributes_in_all_forms),
    ("a document type of many declarations", a_document_type_of_many_declarations),
    ("rubbish", rubbish),
    ("a hang-up", a_hang_up),
];

impl<'s> Hostile<'s> {
    /// An editor, with something to work on.
    pub fn new(server: &'s Server) -> Hostile<'s> {
        let client = server.login("editor");
        let folder = own_folder();
        let text = "All the news that fits. ".repeat(30_000);
        let options = json!({ "name": "large.xml", "type": "Story", "folderPath": folder, "attributes": { "a": { "text": text } } });
        let made = client.call("stet-object-create-post", &[]).form(&options, &[]).ok();
        let large = made["id"].as_str().expect("a new object has an id").to_owned();
        let drawer = client.drawer(&folder, "drawer", 100);
        let mut sources: Vec<_> = (0..30).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
        sources.push(large.clone());
        client.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": sources })).ok();
        let liveblog = client.liveblog(&folder, "liveblog");
        let post = |number: usize| {
            let options =
                json!({ "title": format!("Post {number}"), "timestamp": 1_700_000_000_000_u64 + number as u64 });
            let made = client
                .call("liveblog-post-create", &[&liveblog])
                .form(&options, &[("content", "p.xml", "text/xml", b"<p>It goes on.</p>")]);
            made.ok()["info"]["id"].as_str().expect("a new post has an id").to_owned()
        };
        let posts = (0..20).map(post).collect();
        Hostile { server, client, folder, large, drawer, liveblog, posts, begun: AtomicUsize::new(0) }
    }

    /// Runs one attack after the other until `over`, each at least once. Returns their number.
    /// `first` selects the beginning.
    pub fn attack(&self, first: usize, over: &AtomicBool) -> usize {
        for (done, (name, attack)) in ATTACKS.iter().cycle().skip(first * ATTACKS.len() / 2).enumerate() {
            if done >= ATTACKS.len() && over.load(Ordering::Relaxed) {
                return done;
            }
            self.begun.fetch_add(1, Ordering::Relaxed);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| attack(self))).is_err() {
                panic!("found by: {name}");
            }
        }
        unreachable!("a cycle has no end")
    }

    /// A number that no other attack has.
    fn number(&self) -> usize {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }

    fn connect(&self) -> TcpStream {
        let address = self.server.base.strip_prefix("http://").expect("the address is known");
        let stream = TcpStream::connect(address).expect("the server takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time can be set");
        stream
    }

    fn token(&self) -> &str {
        self.client.token.as_deref().expect("it has logged in")
    }
}

/// Asserts that a server keeps its head: whatever is asked, the answer is no fault of its own but
/// too much to do.
#[track_caller]
fn refused_or_done(answer: &Answer) {
    let overloaded = answer.status == 503 && answer.header("retry-after").is_some();
    assert!(answer.status < 500 || overloaded, "{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
}

fn one_source_thousands_of_times(hostile: &Hostile<'_>) {
    let sources = vec![hostile.large.as_str(); 10_000];
    let answer = hostile
        .client
        .call("stet-object-list-post", &[])
        .query("showAttributes", true)
        .json(&json!({ "sources": sources }))
        .send();
    refused_or_done(&answer);
    assert!(answer.body.len() < 16 << 20, "{} bytes of one object", answer.body.len());
    let sources = vec![hostile.posts[0].as_str(); 1000];
    refused_or_done(&hostile.client.call("liveblog-posts-post", &[]).json(&json!({ "sources": sources })).send());
}

fn large_replies_that_nobody_reads(hostile: &Hostile<'_>) {
    let path = format!(
        "/v3/container/drawer/{}?showItems=true&showAttributes=true&token={}",
        encoded(&hostile.drawer),
        hostile.token()
    );
    let mut streams: Vec<_> = (0..30).map(|_| hostile.connect()).collect();
    for stream in &mut streams {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).expect("a request can be sent");
    }
    for stream in &mut streams {
        stream.read_exact(&mut [0; 9]).expect("an answer begins");
    }
}

fn a_path_of_thousands_of_folders(hostile: &Hostile<'_>) {
    for folders in [1000, 50_000, 1_500_000] {
        let path = "/a".repeat(folders);
        let answer = hostile.client.call("folder-post", &[]).json(&json!({ "path": path })).send();
        assert!((400..500).contains(&answer.status), "{folders} folders: {}", answer.status);
        assert!(answer.body.len() < 64 << 10, "{} bytes about a refusal", answer.body.len());
    }
}

fn the_deepest_path_there_may_be(hostile: &Hostile<'_>) {
    let refused = |folders: usize| {
        let path = format!("{}/{}", hostile.folder, vec!["a"; folders].join("/"));
        hostile.client.call("folder-post", &[]).json(&json!({ "path": path })).send().status != 200
    };
    let (mut can, mut cannot) = (1, 1000);
    while cannot - can > 1 {
        let middle = (can + cannot) / 2;
        if refused(middle) { cannot = middle } else { can = middle }
    }
    let path = format!("{}{}", hostile.folder, "/a".repeat(can));
    hostile.client.call("object-get", &[&path]).query("showPath", true).gives(&json!({ "path": path }));
}

fn a_stale_condition_on_a_bulk_call(hostile: &Hostile<'_>) {
    let story = hostile.client.story(&hostile.folder, &format!("stale-{}.xml", hostile.number()));
    let read = hostile.client.call("object-get", &[&story]);
    let tag = read.send().header("etag").expect("a record has a tag").to_owned();
    hostile.client.call("stet-object-lock-post", &[&story]).ok();
    hostile.client.call("stet-object-unlock-post", &[&story]).ok();
    for bulk in ["objects-discard", "objects-destroy"] {
        hostile.client.call(bulk, &[]).header("if-match", &tag).json(&json!([story])).send();
        read.ok();
    }
    hostile.client.call("objects-discard", &[]).json(&json!([story])).ok();
}

fn a_wide_folder_to_the_bin_and_back(hostile: &Hostile<'_>) {
    let client = &hostile.client;
    let folder = format!("{}/wide-{}", hostile.folder, hostile.number());
    let made = client.call("folder-post", &[]).json(&json!({ "path": folder })).ok();
    for number in 0..30 {
        client.story(&format!("{folder}/{number}"), "story.xml");
    }
    let loid = made["info"]["id"].as_str().expect("a folder has an id");
    let steps = [("objects-discard", json!([loid])), ("objects-destroy", json!([loid]))];
    client.call(steps[0].0, &[]).json(&steps[0].1).ok();
    client.call("object-get", &[&loid]).fails(404, "ObjectNotFound");
    client.call("stet-object-restore-post", &[&loid]).ok();
    client.call("object-get", &[&format!("{folder}/7/story.xml")]).ok();
    for (id, body) in steps {
        client.call(id, &[]).json(&body).ok();
    }
}

fn bodies_of_logins_that_never_end(hostile: &Hostile<'_>) {
    let part = vec![b' '; 1 << 20];
    let mut streams: Vec<_> = (0..40).map(|_| hostile.connect()).collect();
    for stream in &mut streams {
        let head = "POST /v3/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4000000\r\n\r\n";
        // It may be refused at once.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&part));
    }
}

fn a_search_sorted_by_thousands_of_fields(hostile: &Hostile<'_>) {
    let search = hostile.client.call("liveblog-search-post", &[&hostile.liveblog]);
    for sorted in ["title,".repeat(500_000), "-title,status,".repeat(1000)] {
        refused_or_done(&search.clone().json(&json!({ "sortBy": sorted })).send());
    }
    let terms = vec!["goes"; 200_000];
    refused_or_done(&search.json(&json!({ "filters": { "text": terms, "title": terms } })).send());
}

fn one_drawer_under_many_displays(hostile: &Hostile<'_>) {
    let switches =
        ["showAttributes", "showSystemAttributes", "showPath", "showXml", "showUsageTickets", "showVirtualAttributes"];
    for number in 0..1 << switches.len() {
        let call = hostile.client.call("drawer-get", &[&hostile.drawer]).query("showItems", true);
        let call =
            switches.iter().enumerate().fold(call, |call, (at, switch)| call.query(switch, number >> at & 1 == 1));
        refused_or_done(&call.send());
    }
}

fn a_login_from_a_foreign_page(hostile: &Hostile<'_>) {
    let anybody = hostile.server.client();
    let body = credentials("reporter", SAMPLE_PASSWORD).to_string();
    let call =
        anybody.call("auth-login-post", &[]).header("origin", "https://elsewhere.example").bytes("text/plain", body);
    let answer = call.send();
    assert_eq!(answer.header("set-cookie"), None, "{}", answer.status);
}

fn logins_of_nobody(hostile: &Hostile<'_>) {
    let anybody = hostile.server.client();
    for _ in 0..20 {
        let body = credentials(&format!("nobody-{}", hostile.number()), "a guess");
        refused_or_done(&anybody.call("auth-login-post", &[]).json(&body).send());
    }
}

fn hundreds_of_keys(hostile: &Hostile<'_>) {
    for _ in 0..300 {
        let key = format!("key-{}-{}", hostile.folder, hostile.number());
        let call = hostile.client.call("drawer-item-post", &[&hostile.drawer, &hostile.large]);
        refused_or_done(&call.header("idempotency-key", key).json(&json!({})).send());
    }
}

fn a_content_type_of_many_kilobytes(hostile: &Hostile<'_>) {
    let long = format!("text/{}", "x".repeat(30_000));
    let call = hostile.client.call("stet-object-content-put", &[&hostile.large]).bytes(&long, "<story/>");
    assert!((400..500).contains(&call.send().status));
}

fn followers_who_leave(hostile: &Hostile<'_>) {
    for _ in 0..50 {
        hostile.client.follow(&hostile.liveblog, None);
    }
}

fn a_large_picture_in_a_small_file(hostile: &Hostile<'_>) {
    let mut bytes = Vec::new();
    let picture = image::ImageBuffer::<image::Rgba<u16>, _>::from_pixel(1500, 1500, image::Rgba([7, 8, 9, u16::MAX]));
    let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
    picture.write_with_encoder(encoder).expect("a picture can be encoded");
    let options =
        json!({ "name": "large.png", "type": "Image", "folderPath": hostile.folder, "createMode": "REPLACE" });
    let files: [File<'_>; 1] = [("content", "large.png", "image/png", &bytes)];
    let made: Value = hostile.client.call("stet-object-create-post", &[]).form(&options, &files).ok();
    let loid = made["id"].as_str().expect("a new object has an id");
    refused_or_done(&hostile.client.call("stet-object-content-format-get", &[&loid, &"lowres"]).send());
}

fn heads_too_large(hostile: &Hostile<'_>) {
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(65_600));
    let many = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n", "x: y\r\n".repeat(200));
    for head in [long, many] {
        let mut stream = hostile.connect();
        // It may be closed before all of it is sent.
        let _ = stream.write_all(head.as_bytes());
        let mut begun = [0; 12];
        if stream.read_exact(&mut begun).is_ok() {
            assert!(begun.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&begun));
        }
    }
}

fn bodies_too_deep(hostile: &Hostile<'_>) {
    for body in ["[".repeat(2_000_000), "{\"a\":".repeat(500_000)] {
        let answer = hostile.client.call("stet-object-list-post", &[]).bytes("application/json", body).send();
        assert_eq!(answer.status, 400);
    }
}

fn requests_that_never_end_on_one_connection(hostile: &Hostile<'_>) {
    let heads = "GET /v3/auth/connection/check HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000);
    let mut streams: Vec<_> = (0..20).map(|_| hostile.connect()).collect();
    for stream in &mut streams {
        stream.set_nonblocking(true).expect("it can be set");
        // Until the server takes no more.
        for _ in 0..100 {
            if stream.write(heads.as_bytes()).is_err() {
                break;
            }
        }
    }
}

fn metrics_in_a_row(hostile: &Hostile<'_>) {
    let asked = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(50);
    let mut streams: Vec<_> = (0..10).map(|_| hostile.connect()).collect();
    for stream in &mut streams {
        let _ = stream.write_all(asked.as_bytes());
    }
    for stream in &mut streams {
        stream.read_exact(&mut [0; 9]).expect("an answer begins");
    }
}

fn hundreds_of_thousands_of_values(hostile: &Hostile<'_>) {
    for value in ["{}", "0", "{\"c\":0}", "[]"] {
        let values = vec![value; 300_000].join(",");
        let body = format!(
            "{{\"name\":\"v\",\"folderPath\":\"{}\",\"attributes\":{{\"a\":{{\"b\":[{values}]}}}}}}",
            hostile.folder
        );
        let answer = hostile.client.call("drawer-post", &[]).bytes("application/json", body).send();
        assert!([400, 413, 503].contains(&answer.status), "{value}: {}", answer.status);
    }
}

fn events_that_nobody_reads(hostile: &Hostile<'_>) {
    let mut streams: Vec<_> = (0..60).map(|_| hostile.connect()).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        let path = format!("/v3/container/{}/events?wait={}", encoded(&hostile.drawer), number % 2 == 0);
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\nlast-event-id: 1\r\n\r\n", hostile.token());
        stream.write_all(head.as_bytes()).expect("a request can be sent");
    }
    for stream in &mut streams {
        stream.read_exact(&mut [0; 9]).expect("an answer begins");
    }
}

fn large_attributes_in_all_forms(hostile: &Hostile<'_>) {
    std::thread::scope(|scope| {
        for query in ["showXml", "useUnparsedXml", "showPath", "showVirtualAttributes"] {
            scope.spawn(move || {
                for on in [true, false] {
                    let call = hostile.client.call("object-get", &[&hostile.large]).query("showAttributes", true);
                    refused_or_done(&call.query("showXml", true).query(query, on).send());
                }
            });
        }
    });
}

fn a_document_type_of_many_declarations(hostile: &Hostile<'_>) {
    let declarations: String = (0..40_000).map(|number| format!("<!ENTITY e{number} \"v\">")).collect();
    let document = format!("<!DOCTYPE a SYSTEM \"{}/many.dtd\"><a/>", hostile.folder);
    let files = [("many.dtd", "application/xml-dtd", declarations), ("many.xml", "application/xml", document)];
    let made = files.map(|(name, media_type, bytes)| {
        let options = json!({ "name": name, "folderPath": hostile.folder, "createMode": "REPLACE" });
        let file: [File<'_>; 1] = [("content", name, media_type, bytes.as_bytes())];
        hostile.client.call("stet-object-create-post", &[]).form(&options, &file).send()
    });
    made.iter().for_each(refused_or_done);
    let path = format!("{}/many.xml", hostile.folder);
    refused_or_done(&hostile.client.call("stet-object-content-get", &[&path]).query("showDtd", true).send());
}

fn rubbish(hostile: &Hostile<'_>) {
    let mut dice = Dice::new(hostile.number() as u64);
    for _ in 0..20 {
        let bytes: Vec<u8> = (0..dice.roll(4000)).map(|_| dice.roll(256) as u8).collect();
        let mut stream = hostile.connect();
        let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        // Whatever it says, or nothing.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

fn a_hang_up(hostile: &Hostile<'_>) {
    let sent = Command::new("kill").args(["-HUP", &hostile.server.pid().to_string()]).status();
    assert!(sent.expect("`kill` can be run").success());
}
