//! Bulk calls as large as they may be.

use super::*;

const CLIENTS: usize = 6;

#[test]
fn bulk_calls_at_their_limit_are_answered_and_others_served_meanwhile() {
    let _turn = turn();
    let server = Server::start();
    let editor = server.login("editor");
    let story = editor.story(&own_folder(), "one.xml");
    let list = |sources: usize| {
        // One source in ten is the story, which the reply has once. The others are missing, and
        // each is reported.
        let source =
            |number: usize| if number.is_multiple_of(10) { story.clone() } else { format!("/nowhere/{number}") };
        json!({ "sources": (0..sources).map(source).collect::<Vec<_>>() })
    };
    let body = list(10_000);
    let before = peak(&server);
    std::thread::scope(|scope| {
        let bulk = || {
            let result = server.login("editor").post("/v3/object", &body).ok();
            let count = |name: &str| result[name].as_array().map(Vec::len);
            assert_eq!((count("items"), count("errors")), (Some(1), Some(9000)));
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(bulk)).collect();
        assert_serves(&server);
        for client in clients {
            client.join().expect("it ended well");
        }
    });
    assert_peak(&server, before, 160 * MIB);
    let refusal = editor.post("/v3/object", &list(10_001)).fails(413, "TooLarge");
    assert!(refusal["message"].as_str().is_some_and(|message| message.contains("10001")), "{refusal}");
}

#[test]
fn bulk_changes_at_their_limit_all_succeed_while_others_are_served() {
    let _turn = turn();
    const STORIES: usize = 120;
    let server = Server::with(&[("LIMITS__LIST_SOURCES", "120")]);
    let before = peak(&server);
    std::thread::scope(|scope| {
        let bulk = || {
            let client = server.login("editor");
            let folder = own_folder();
            let mut stories: Vec<String> = (0..STORIES).map(|n| client.story(&folder, &format!("{n}.xml"))).collect();
            let result = client.delete_with("/v3/object/discard", &json!({ "sources": stories })).ok();
            assert_eq!(result["items"].as_array().map(Vec::len), Some(STORIES), "{result}");
            for story in &stories {
                client.get(&format!("/v3/object/{}", encoded(story))).fails(404, "ObjectNotFound");
            }
            stories.push("/one/too/many".to_owned());
            client.delete_with("/v3/object/discard", &json!({ "sources": stories })).fails(413, "TooLarge");
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(bulk)).collect();
        assert_serves(&server);
        for client in clients {
            client.join().expect("it ended well");
        }
    });
    assert_peak(&server, before, 128 * MIB);
}
