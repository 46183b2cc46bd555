//! Replies compressed for who asks for it (docs/api/README.md, "Compression").

use serde_json::json;

use super::*;

const CODINGS: [(&str, &str); 3] = [("gzip", ".gz\""), ("br", ".br\""), ("zstd", ".zst\"")];

fn accepting(client: &Client, accept: &str, path: &str) -> Answer {
    client.send("GET", path, &[("accept-encoding", accept)], b"")
}

/// Creates a drawer with `stories` stories, so that its list is long.
fn filled(client: &Client, stories: usize) -> String {
    let folder = own_folder();
    let drawer = client.drawer(&folder, "long", 10_000);
    let made: Vec<String> = (0..stories).map(|number| client.story(&folder, &format!("story-{number}"))).collect();
    client.post(&format!("/v3/container/drawer/{drawer}/item"), &json!({ "sources": made })).ok();
    drawer
}

fn long_story() -> Vec<u8> {
    format!("<story>{}</story>", "<p>What was said before is said again.</p>".repeat(500)).into_bytes()
}

#[test]
fn a_reply_is_compressed_as_the_client_asks_and_is_the_same() {
    let client = Server::shared().user("editor");
    let drawer = filled(&client, 40);
    let path = format!("/v3/container/drawer/{drawer}?showItems=true");
    let plain = client.get(&path);
    assert!(plain.body.len() > 4096 && plain.header("content-encoding").is_none(), "{} bytes", plain.body.len());
    assert_eq!(plain.header("vary").map(str::to_ascii_lowercase), Some("accept-encoding".to_owned()));
    let tag = plain.header("etag").expect("it has one").to_owned();
    for (coding, suffix) in CODINGS {
        let reply = accepting(&client, coding, &path);
        assert_eq!((reply.status, reply.header("content-encoding")), (200, Some(coding)));
        assert_eq!(reply.header("vary").map(str::to_ascii_lowercase), Some("accept-encoding".to_owned()));
        assert!(reply.body.len() * 2 < plain.body.len(), "{coding}: {} bytes", reply.body.len());
        assert!(reply.decoded().body == plain.body, "{coding} gives something else");
        let coded = reply.header("etag").expect("it has one").to_owned();
        assert_eq!(coded, format!("{}{suffix}", tag.trim_end_matches('"')));
        // It is known again, in whatever coding the next reply would be.
        for accept in [coding, "identity", "gzip"] {
            let headers = [("accept-encoding", accept), ("if-none-match", coded.as_str())];
            assert_eq!(client.send("GET", &path, &headers, b"").status, 304, "{coding} {accept}");
        }
    }
}

#[test]
fn a_tag_of_a_compressed_reply_serves_for_a_change() {
    let client = Server::shared().user("editor");
    let drawer = filled(&client, 30);
    let path = format!("/v3/container/drawer/{drawer}?showItems=true");
    let tag = accepting(&client, "br", &path).header("etag").expect("it has one").to_owned();
    let story = client.items(&drawer)[3].clone();
    let put = |tag: &str, position| {
        let path = format!("/v3/container/drawer/{drawer}/item/{story}/position/{position}");
        client.send("PUT", &path, &[("if-match", tag)], b"")
    };
    assert_eq!(put(&tag, 0).status, 200);
    put(&tag, 1).fails(412, "PreconditionFailed");
}

#[test]
fn a_list_that_is_made_while_it_goes_out_is_compressed_too() {
    let client = Server::shared().user("editor");
    let drawer = filled(&client, 900);
    let path = format!("/v3/container/drawer/{drawer}?showItems=true");
    let plain = client.get(&path);
    assert!(plain.body.len() > 256 << 10, "{} bytes", plain.body.len());
    for (coding, _) in CODINGS {
        let reply = accepting(&client, coding, &path);
        assert_eq!(reply.header("content-encoding"), Some(coding));
        assert!(reply.decoded().body == plain.body, "{coding} gives something else");
    }
}

#[test]
fn replies_without_gain_or_permission_are_not_compressed() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, 30);
    let path = format!("/v3/container/drawer/{drawer}?showItems=true");
    let plain = |reply: Answer, what: &str| {
        assert!(matches!(reply.status, 200 | 206), "{what}: {}", reply.status);
        assert_eq!(reply.header("content-encoding"), None, "{what}");
    };
    for accept in ["identity", "gzip;q=0", "deflate, compress", "identity, gzip;q=0.5", "", "nonsense;q=x"] {
        plain(accepting(&client, accept, &path), accept);
    }
    plain(accepting(&client, "gzip", &format!("/v3/object/{drawer}")), "a short reply");
    plain(client.send("HEAD", &path, &[("accept-encoding", "gzip")], b""), "of a HEAD");
    // A login has a token: who can have something of their own in the same reply might guess it by
    // the length.
    let padded = json!({ "connectionId": "Editorial", "applicationId": "t".repeat(200), "username": "editor", "password": SAMPLE_PASSWORD });
    let headers = [("accept-encoding", "gzip"), ("content-type", "application/json")];
    let login = server.client().send("POST", "/v3/auth/login", &headers, padded.to_string().as_bytes());
    assert_eq!((login.status, login.header("content-encoding"), login.header("vary")), (200, None, None));
    // Bytes that are compressed by nature, and a part of a text: its bytes are counted in what the
    // whole is.
    let noise: Vec<u8> = (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let folder = own_folder();
    let stored = |name: &str, kind: &str, media_type: &str, bytes: &[u8]| {
        let options = json!({ "name": name, "type": kind, "folderPath": folder });
        let made = client.upload("/v3/object/create", &options, Some((name, media_type, bytes))).ok();
        format!("/v3/object/{}/content", made["id"].as_str().expect("it has an id"))
    };
    let (picture, text) =
        (stored("noise.jpg", "Image", "image/jpeg", &noise), stored("long.xml", "Story", "text/xml", &long_story()));
    plain(accepting(&client, "gzip", &picture), "a picture");
    let part = client.send("GET", &text, &[("accept-encoding", "gzip"), ("range", "bytes=0-9999")], b"");
    assert_eq!((part.status, part.body.len()), (206, 10_000));
    plain(part, "a part");
    let whole = accepting(&client, "gzip", &text);
    assert_eq!(whole.header("content-encoding"), Some("gzip"));
    assert!(whole.decoded().body == long_story());
}

#[test]
fn the_preferred_one_of_several_content_codings_is_used() {
    let client = Server::shared().user("editor");
    let drawer = filled(&client, 30);
    let path = format!("/v3/container/drawer/{drawer}?showItems=true");
    for (accept, coding) in
        [("gzip;q=0.5, br;q=0.9, zstd;q=0.7", "br"), ("identity;q=0.1, zstd", "zstd"), ("GZIP", "gzip")]
    {
        assert_eq!(accepting(&client, accept, &path).header("content-encoding"), Some(coding), "{accept}");
    }
}

#[test]
fn compression_can_be_left_to_a_proxy() {
    let server = Server::with(&[("SERVER__COMPRESS_BYTES", "0")]);
    let client = server.login("editor");
    let drawer = filled(&client, 30);
    let reply = accepting(&client, "gzip", &format!("/v3/container/drawer/{drawer}?showItems=true"));
    assert_eq!((reply.header("content-encoding"), reply.header("vary")), (None, None));
    for path in ["/openapi.json", "/metrics"] {
        let reply = accepting(&client, "gzip", path);
        assert_eq!((reply.status, reply.header("content-encoding"), reply.header("vary")), (200, None, None), "{path}");
    }
}

/// Status, tag and `Vary` of a read by a client that accepts `accept` and has what `known` names.
fn conditional(client: &Client, accept: &str, known: &str, path: &str) -> (u16, String, Option<String>) {
    let reply = client.send("GET", path, &[("accept-encoding", accept), ("if-none-match", known)], b"");
    let header = |name: &str| reply.header(name).map(str::to_owned);
    assert_eq!(header("content-encoding").filter(|_| reply.status == 304), None);
    (reply.status, header("etag").expect("it has a tag"), header("vary").map(|vary| vary.to_ascii_lowercase()))
}

#[test]
fn a_304_has_the_tag_and_vary_of_the_reply_that_it_stands_for() {
    let client = Server::shared().user("editor");
    let folder = own_folder();
    let options = json!({ "name": "long.xml", "type": "Story", "folderPath": folder });
    let made = client.upload("/v3/object/create", &options, Some(("long.xml", "text/xml", &long_story()))).ok();
    let (story, drawer) = (made["id"].as_str().expect("it has an id"), filled(&client, 30));
    let blog = client.liveblog(&folder, "long");
    for number in 0..8 {
        let (options, text) = (json!({ "title": "t".repeat(500) }), format!("<p>{number}</p>"));
        client
            .call("liveblog-post-create", &[&blog])
            .form(&options, &[("content", "", "text/html", text.as_bytes())])
            .ok();
    }
    for path in [
        format!("/v3/container/drawer/{drawer}?showItems=true"),
        format!("/v3/object/{story}/content"),
        format!("/v3/container/liveblog/{blog}"),
        format!("/v3/container/liveblog/{blog}/feed/atom"),
        format!("/v3/folder/{}", encoded(&folder)),
        "/v3/conf/cache/objecttypes".to_owned(),
    ] {
        let forms = ["identity", "gzip", "br", "zstd"].map(|accept| {
            let reply = accepting(&client, accept, &path);
            (accept, reply.header("etag").expect("it has a tag").to_owned(), reply.header("vary").is_some())
        });
        for (accept, tag, varies) in &forms {
            let expected = (304, tag.clone(), varies.then(|| "accept-encoding".to_owned()));
            for (_, known, _) in &forms {
                assert_eq!(conditional(&client, accept, known, &path), expected, "{path} {accept} {known}");
                let both = format!("\"other\", W/{known}");
                assert_eq!(conditional(&client, accept, &both, &path), expected, "{path} {accept} {both}");
            }
            assert_eq!(conditional(&client, accept, "*", &path), expected, "{path} {accept} *");
        }
    }
}

#[test]
fn a_304_of_a_short_text_has_the_plain_tag() {
    let client = Server::shared().user("editor");
    let drawer = client.drawer(&own_folder(), "short", 10);
    let path = format!("/v3/container/drawer/{drawer}");
    let tag = accepting(&client, "gzip", &path).header("etag").expect("it has one").to_owned();
    assert!(!tag.ends_with(".gz\""), "{tag}");
    assert_eq!(conditional(&client, "gzip", &tag, &path), (304, tag, None));
}

#[test]
fn the_document_and_the_metrics_are_compressed_as_other_replies_are() {
    let client = Server::shared().client();
    for path in ["/openapi.json", "/metrics"] {
        for (coding, _) in CODINGS {
            let reply = accepting(&client, coding, path);
            assert_eq!((reply.status, reply.header("content-encoding")), (200, Some(coding)), "{path}");
            assert_eq!(reply.header("vary").map(str::to_ascii_lowercase).as_deref(), Some("accept-encoding"), "{path}");
            let text = reply.decoded().body;
            assert!(text.len() > 2 * reply.body.len(), "{path}: {} of {}", reply.body.len(), text.len());
            let begin = if path == "/metrics" { &b"# "[..] } else { b"{\"openapi\"" };
            assert!(text.starts_with(begin), "{path}");
        }
        for accept in ["identity", "deflate", "gzip;q=0", ""] {
            let reply = accepting(&client, accept, path);
            assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{path} {accept}");
            assert_eq!(reply.header("vary").map(str::to_ascii_lowercase).as_deref(), Some("accept-encoding"), "{path}");
        }
    }
}
