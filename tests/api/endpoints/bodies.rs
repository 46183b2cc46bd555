//! Bodies that are no bodies (docs/api/README.md, "Bodies").

use serde_json::json;

use super::*;

#[test]
fn a_body_that_can_not_be_read_is_refused_and_nothing_changes() {
    let about = |endpoint: &Endpoint| endpoint.body != "none" && !endpoint.multipart;
    on_each(18, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let entries = || corner.client.call("folder-get", &[&corner.folder]).ok()["items"].clone();
        let before = entries();
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let broken = [
            "{\"sources\":[]} x",
            "{\"sources\":[\u{1}]}",
            "\u{feff}[",
            "{\u{feff}}",
            "{\"name\":\"x\",}",
            "nonsense",
            &deep,
        ];
        for body in ["{\"a\":", "\"text\"", "7", "{} {}", "\u{0}"].into_iter().chain(broken) {
            let bare = Made { body: Body::None, ..made.clone() };
            let answer = bare.call(&corner.client, case.id).bytes("application/json", body).send();
            let json: Value = answer.json();
            let path = json["result"]["details"]["path"].as_str().or(json["details"]["path"].as_str());
            let well = answer.status == 400 && code(&answer) == "InvalidBody" && path.is_some();
            faults.expect(well, || format!("{} {body:.99?}: {:?}", case.id, lasting(&answer)));
        }
        faults.expect(entries() == before, || format!("{}: something changed", case.id));
    });
}

#[test]
fn a_body_in_an_encoding_or_in_parts_is_refused_and_nothing_changes() {
    let mut with = std::sync::atomic::AtomicUsize::new(0);
    on_each(
        70,
        |_| true,
        |faults, case, corner| {
            let made = (case.make)(corner);
            if matches!(made.body, Body::None) {
                return;
            }
            with.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let entries = || corner.client.call("folder-get", &[&corner.folder]).ok()["items"].clone();
            let before = entries();
            for coding in ["gzip", "identity, BR", "utf-8,deflate"] {
                let answer = made.call(&corner.client, case.id).header("content-encoding", coding).send();
                let well = answer.status == 400 && code(&answer) == "InvalidBody";
                faults.expect(well, || format!("{} {coding:?}: {:?}", case.id, lasting(&answer)));
            }
            for range in ["bytes 0-1/20", "bytes 0-1/*", "items 1", ""] {
                let answer = made.call(&corner.client, case.id).header("content-range", range).send();
                let well = answer.status == 400 && code(&answer) == "InvalidParameter";
                faults.expect(well, || format!("{} {range:?}: {:?}", case.id, lasting(&answer)));
            }
            faults.expect(entries() == before, || format!("{}: something changed", case.id));
            // The first is no encoding, the second a charset at a wrong place, which some clients
            // send.
            let coding = if case.id.len() % 2 == 0 { "Identity" } else { "UTF-8" };
            let answer = made.call(&corner.client, case.id).header("content-encoding", coding).send();
            faults.expect(answer.status == 200, || format!("{}: {:?}", case.id, lasting(&answer)));
        },
    );
    assert!(*with.get_mut() >= 27, "{with:?}");
}

#[test]
fn a_required_body_must_be_there() {
    on_each(
        10,
        |endpoint| endpoint.body == "required" && !endpoint.multipart,
        |faults, case, corner| {
            let bare = Made { body: Body::None, ..(case.make)(corner) };
            let call = bare.call(&corner.client, case.id);
            for call in [call.clone(), call.clone().bytes("application/json", ""), call.bytes("application/json", " ")]
            {
                let answer = call.send();
                let well = answer.status == 400 && code(&answer) == "InvalidBody";
                faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
}

#[test]
fn a_body_whose_type_is_not_named_is_read_all_the_same() {
    on_each(
        17,
        // The older login takes a form, too.
        |endpoint| endpoint.body != "none" && !endpoint.multipart && !endpoint.older(),
        |faults, case, corner| {
            let made = (case.make)(corner);
            let Body::Json(body) = &made.body else { return };
            for content_type in ["text/plain", "application/octet-stream"] {
                let made = Made { body: Body::None, ..(case.make)(corner) };
                let body = match (case.make)(corner).body {
                    Body::Json(fresh) => fresh,
                    _ => body.clone(),
                };
                let answer = made.call(&corner.client, case.id).bytes(content_type, body.to_string()).send();
                let well = !(answer.status == 400 && code(&answer) == "InvalidBody");
                faults.expect(well, || format!("{} {content_type}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
}

#[test]
fn a_body_of_a_call_that_goes_well_is_as_the_document_says() {
    let about = |endpoint: &Endpoint| endpoint.body != "none" && !endpoint.multipart;
    on_each(40, about, |faults, case, corner| {
        let Body::Json(body) = (case.make)(corner).body else { return };
        let fault = case.endpoint().fault_of_body(&body);
        faults.expect(fault.is_none(), || format!("{}: {fault:?}", case.id));
    });
}

#[test]
fn the_document_knows_the_bodies_that_are_served_under_two_names() {
    for (id, body, well) in [
        ("drawer-items-delete", json!({ "sources": [66538, "66539", "/a"] }), true),
        ("drawer-items-delete", json!([66538]), true),
        ("drawer-items-delete", json!({ "sources": [true] }), false),
        ("drawer-items-post", json!({ "sources": [66538] }), true),
        ("stet-object-list-post", json!({ "sources": [66538] }), false),
    ] {
        assert_eq!(Endpoint::of(id).fault_of_body(&body).is_none(), well, "{id} {body}");
    }
    for id in ["auth-login-post", "old-auth-login-post"] {
        let login = |field: &str| {
            let mut body = json!({ "connectionId": "c", "applicationId": "a", "username": "u" });
            body[field] = "p".into();
            Endpoint::of(id).fault_of_body(&body).is_none()
        };
        assert_eq!((login("password"), login("pwd"), login("passwd")), (true, true, false), "{id}");
    }
}

/// Writes the whole numbers of a body as texts; attributes and contents stay as they are. Returns
/// their number.
fn write_numbers_as_texts(body: &mut Value) -> usize {
    match body {
        Value::Number(number) if !number.is_f64() => {
            *body = Value::from(number.to_string());
            1
        }
        Value::Array(list) => list.iter_mut().map(write_numbers_as_texts).sum(),
        Value::Object(fields) => {
            let fields = fields.iter_mut().filter(|(name, _)| !name.to_lowercase().ends_with("attributes"));
            fields.map(|(_, value)| write_numbers_as_texts(value)).sum()
        }
        _ => 0,
    }
}

#[test]
fn digits_as_text_count_as_numbers_in_the_body_of_every_endpoint() {
    let numbers = std::sync::atomic::AtomicUsize::new(0);
    on_each(
        70,
        |_| true,
        |faults, case, corner| {
            let mut made = (case.make)(corner);
            let (Body::Json(body) | Body::Form(body, _)) = &mut made.body else { return };
            let count = write_numbers_as_texts(body);
            if count > 0 {
                numbers.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
                let answer = made.call(&corner.client, case.id).send();
                faults.expect(answer.status == 200, || format!("{}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
    assert!(numbers.load(std::sync::atomic::Ordering::Relaxed) >= 2, "{numbers:?}");
}

#[test]
fn digits_as_text_mean_the_number() {
    let corner = Corner::new();
    let client = &corner.client;
    let post = |path: &str, body: Value| client.post(path, &body).ok();
    let drawer = post("/v3/container/drawer", json!({ "name": "d", "folderPath": corner.folder, "capacity": "7" }));
    assert_eq!(drawer["info"]["capacity"], 7);
    let own = client.call("auth-connection-get", &[]).ok()["username"].clone();
    for (priority, shown) in [("1", "high"), ("2", "high"), ("3", "normal"), ("5", "low"), ("low", "low")] {
        let mail = json!({ "subject": "s", "recipients": [own], "priority": priority });
        assert_eq!(client.call("message-sendmail-post", &[]).json(&mail).ok()["priority"], shown, "{priority}");
        assert_eq!(
            client.call("stet-old-message-post", &[]).json(&mail).send().json()["priority"],
            shown,
            "{priority}"
        );
    }
    for wrong in ["0", "6", "-1", "1.0", "", "urgent"] {
        let mail = json!({ "subject": "s", "recipients": [own], "priority": wrong });
        let error = client.call("message-sendmail-post", &[]).json(&mail).fails(400, "InvalidBody");
        assert_eq!(error["details"]["path"], "$.priority", "{error}");
    }
    let topic = post("/v3/container/topic", json!({ "name": "t", "folder": corner.folder }))["info"]["id"].clone();
    let items = format!("/v3/container/topic/{}/topicitem", topic.as_str().expect("a loid"));
    for (name, position) in [("last", "0"), ("first", "0"), ("middle", "1")] {
        post(&items, json!({ "name": name, "position": position, "dueDate": "1700000000", "priority": "2" }));
    }
    let shown = client.get(&format!("/v3/container/topic/{}", topic.as_str().expect("a loid"))).ok();
    let names: Vec<&Value> =
        shown["items"].as_array().expect("it has items").iter().map(|item| &item["info"]["name"]).collect();
    assert_eq!(names, ["first", "middle", "last"]);
    includes(&shown["items"][0]["info"], &json!({ "dueDate": 1_700_000_000, "priority": "2" }));
    let liveblog = client.liveblog(&corner.folder, "l");
    let options = json!({ "title": "p", "timestamp": "1700000000456", "databaseId": "1" });
    let post = client.upload(
        &format!("/v3/container/liveblog/{liveblog}/post"),
        &options,
        Some(("a.xml", "text/xml", b"<p/>")),
    );
    assert_eq!(post.ok()["timestamp"], 1_700_000_000_456_u64);
    let search = json!({ "from": "1700000000456", "to": "1700000000456", "limit": "1", "offset": "0", "since": "0" });
    assert_eq!(
        client.call("liveblog-search-post", &[&liveblog]).json(&search).ok()["items"].as_array().map(Vec::len),
        Some(1)
    );
    let wrong = client.call("liveblog-search-post", &[&liveblog]).json(&json!({ "limit": "many" }));
    let error = wrong.fails(400, "InvalidBody");
    let message = error["message"].as_str().expect("it has one");
    assert!(
        message.contains("`$.limit`") && message.contains("\"many\"") && message.contains("whole number"),
        "{message}"
    );
}
