//! Large replies of every kind. Their memory does not grow with their length, nor with a slow
//! reader, and it is counted.

use super::*;

/// Stories of half a MiB: more than the system's own buffers take for a connection.
const STORIES: usize = 24;

/// Returns the bytes of a GET request.
fn get(client: &Client, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", token(client)).into_bytes()
}

/// Creates a folder with large stories, and a drawer with them. Returns the stories, and requests
/// whose replies have 12 MiB and that no other test sends.
fn large_replies(client: &Client) -> (Vec<String>, Vec<Vec<u8>>) {
    let folder = own_folder();
    let stories = large_stories(client, &folder, STORIES);
    let drawer = client.drawer(&own_folder(), "large", 100);
    client.post(&format!("/v3/container/drawer/{}/item", encoded(&drawer)), &json!({ "sources": stories })).ok();
    let path = format!("/v3/container/drawer/{}", encoded(&drawer));
    let requests = vec![
        post(client, "/v3/object", &json!({ "sources": stories })),
        get(client, &format!("/v3/folder/{}", encoded(&folder))),
        get(client, &format!("/v3/folder/{}?sortBy=-name", encoded(&folder))),
        get(client, &format!("{path}?showItems=true")),
        get(client, &format!("{path}?showItems=true&showPath=true")),
        get(client, &format!("{path}?showItems=true&limit={STORIES}")),
        get(client, &format!("/v3/container/drawer/object/{}?showItems=true", encoded(&stories[0]))),
    ];
    (stories, requests)
}

/// A connection on which an answer has begun to come, and is not read.
fn begun(server: &Server, request: &[u8]) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(request).expect("a request can be sent");
    stream.read_exact(&mut [0; 8]).expect("an answer begins");
    stream
}

/// Reads the whole reply.
fn answer(server: &Server, request: &[u8]) -> (u16, Value) {
    let (status, body) = next_answer(&mut begun(server, request)).expect("all of it comes");
    (status, serde_json::from_slice(&body).expect("it is JSON"))
}

/// Loids of the records in a reply's list, or in the list of its only item.
fn shown(reply: &Value) -> Vec<String> {
    let mut items = &reply["result"]["items"];
    if items[0]["items"].is_array() {
        items = &items[0]["items"];
    }
    let loid = |item: &Value| item["object"]["id"].as_str().or(item["id"].as_str()).map(str::to_owned);
    items.as_array().expect("there is a list").iter().map(|item| loid(item).expect("it has a loid")).collect()
}

#[test]
fn a_large_reply_takes_the_memory_of_an_item_and_all_of_it_comes() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let (stories, requests) = large_replies(&client);
    for (number, request) in requests.iter().enumerate() {
        let (status, reply) = answer(&server, request);
        let mut ids = shown(&reply);
        // By name, or by name from behind.
        ids.sort();
        let mut expected = stories.clone();
        expected.sort();
        assert!(status == 200 && ids == expected, "{number}: {ids:?}");
    }
    let before = peak(&server);
    let readers: Vec<TcpStream> = (0..6).flat_map(|_| &requests).map(|request| begun(&server, request)).collect();
    assert_serves(&server);
    // With all that was asked for it would be some 500 MiB.
    assert_peak(&server, before, 100 * MIB);
    drop(readers);
}

#[test]
fn the_same_source_again_and_again_is_one_item() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let story = large_stories(&client, &folder, 1).remove(0);
    let blog = client.liveblog(&folder, "blog");
    let content = "x".repeat(30 << 10);
    let path = format!("/v3/container/liveblog/{}/post", encoded(&blog));
    let made = client.upload(&path, &json!({}), Some(("post.txt", "text/plain", content.as_bytes()))).ok();
    let record = made.get("info").unwrap_or(&made);
    let post_id = record["id"].as_str().expect("a new post has an id").to_owned();
    let post_path = format!("{folder}/blog/{}", record["name"].as_str().expect("it has a name"));
    let story_path = format!("{folder}/0.xml");
    let before = peak(&server);
    for (to, names) in [("/v3/object", [story, story_path]), ("/v3/container/liveblog/posts", [post_id, post_path])] {
        let sources: Vec<&String> = names.iter().cycle().take(10_000).collect();
        let reply = client.post(to, &json!({ "sources": sources })).ok();
        let count = |name: &str| reply[name].as_array().map(Vec::len);
        assert_eq!((count("items"), count("errors")), (Some(1), Some(0)), "{to}: {}", reply["errors"]);
    }
    // One object ten thousand times would be 5 GiB, and one post 300 MiB.
    assert_peak(&server, before, 100 * MIB);
}

#[test]
fn replies_that_nobody_takes_leave_no_room_for_more_and_others_are_served() {
    let _turn = turn();
    let server = Server::with(&[("MEMORY__CALLS_BYTES", "33554432")]);
    let client = server.login("editor");
    let (stories, requests) = large_replies(&client);
    let whole = json!({ "sources": stories }).to_string().into_bytes();
    let mut readers = Vec::new();
    let mut next = requests.iter().cycle();
    let (refused, answer) = loop {
        let mut stream = begun(&server, next.next().expect("they come again and again"));
        let mut status = [0; 4];
        stream.read_exact(&mut status).expect("an answer has a status");
        match &status {
            b" 200" => readers.push(stream),
            // Some take more than others, and those whose items are still being made give some of
            // theirs back.
            _ => match client.try_send("POST", "/v3/object", &[("content-type", "application/json")], &whole) {
                Ok(answer) if answer.status == 503 => break (status, answer),
                Ok(answer) => drop(answer.ok()),
                // It found room to begin and none to go on.
                Err(broken_off) => println!("{broken_off}"),
            },
        }
        assert!(readers.len() < 200, "more is under way than there is room for");
    };
    assert_eq!(&refused, b" 503");
    assert_overloaded(&answer);
    assert!(client.metric("stet_overloaded_total{what=\"replies\"}") >= 2.0);
    let held = client.metric("stet_budget_bytes{of=\"replies\"}");
    assert!((1.0..=8_388_608.0).contains(&held), "{held} bytes");
    // Others have their part.
    server.login("reporter").post("/v3/object", &json!({ "sources": stories })).ok();
    // Small replies need no room, and each change is answered.
    assert_serves(&server);
    client.post("/v3/object", &json!({ "sources": [client.story(&own_folder(), "small.xml")] })).ok();
    let body = json!({ "name": "filled", "folderPath": own_folder(), "sources": stories });
    client.post("/v3/container/drawer", &body).ok();
    drop(readers);
    wait_patiently_until("there is room again", || {
        client.post("/v3/object", &json!({ "sources": stories })).status == 200
    });
    wait_patiently_until("all of it has come back", || client.metric("stet_budget_bytes{of=\"replies\"}") == 0.0);
}

#[test]
fn objects_discarded_during_a_reply_are_reported_after_its_items() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let (stories, requests) = large_replies(&client);
    let last = stories.last().expect("there are some");
    let mut readers = [&requests[0], &requests[1], &requests[4]].map(|request| begun(&server, request));
    client.delete(&format!("/v3/object/{}/discard", encoded(last))).ok();
    let replies = readers.each_mut().map(|stream| {
        let (_, body) = next_answer(stream).expect("all of it comes");
        serde_json::from_slice::<Value>(&body).expect("it is JSON")
    });
    for reply in &replies {
        let gone = shown(reply);
        assert!(gone.len() == STORIES - 1 && !gone.contains(last), "{gone:?}");
    }
    let errors = &replies[0]["result"]["errors"];
    assert_eq!(errors.as_array().map(Vec::len), Some(1));
    assert_eq!((&errors[0]["source"], &errors[0]["code"]), (&json!(last), &json!("CMS.ObjectNotFound")));
}

#[test]
fn a_reply_under_way_is_aborted_when_its_caller_logs_out() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let (_, requests) = large_replies(&client);
    let mut reader = begun(&server, &requests[0]);
    client.get("/v3/auth/logout").ok();
    assert!(next_answer(&mut reader).is_none(), "it came to its end");
}

#[test]
fn a_large_reply_has_a_tag_that_changes_with_what_it_shows() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let stories = large_stories(&client, &folder, 8);
    let body = json!({ "name": "large", "folderPath": own_folder(), "sources": stories });
    let drawer = client.post("/v3/container/drawer", &body).ok();
    let drawer = encoded(drawer["info"]["id"].as_str().expect("a new drawer has an id"));
    for path in [
        format!("/v3/folder/{}", encoded(&folder)),
        format!("/v3/container/drawer/{drawer}?showItems=true"),
        format!("/v3/container/drawer/{drawer}?showItems=true&showPath=true"),
    ] {
        let tag = || client.get(&path).header("etag").expect("it has one").to_owned();
        let first = tag();
        let again = client.send("GET", &path, &[("if-none-match", &first)], b"");
        assert_eq!((again.status, first == tag()), (304, true), "{path}");
        let head = client.send("HEAD", &path, &[], b"");
        assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(&*first), 0), "{path}");
        client.post(&format!("/v3/object/{}/lock", encoded(&stories[0])), &json!({})).ok();
        assert_ne!(tag(), first, "{path}");
        client.post(&format!("/v3/object/{}/unlock", encoded(&stories[0])), &json!({})).ok();
    }
}

#[test]
fn large_replies_are_not_stored_and_free_their_key_before_they_are_read() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let stories = large_stories(&client, &folder, STORIES);
    let body = json!({ "name": "large", "folderPath": folder, "sources": stories }).to_string();
    let (token, length) = (token(&client), body.len());
    let head = format!("POST /v3/container/drawer HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\nidempotency-key: once");
    let request = format!("{head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    let mut first = begun(&server, request.as_bytes());
    let (status, again) = answer(&server, request.as_bytes());
    assert_eq!(status, 200, "{again}");
    let (_, first) = next_answer(&mut first).expect("all of it comes");
    let first: Value = serde_json::from_slice(&first).expect("it is JSON");
    assert_eq!((&first["result"]["info"]["id"], shown(&first)), (&again["result"]["info"]["id"], stories));
    assert_eq!(first, again);
}
