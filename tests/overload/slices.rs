//! Calls that take long go on in their user's turn.

use super::*;

const SLICES: &str = "stet_http_time_slices_total";

#[test]
fn long_calls_go_on_in_turns_and_short_ones_need_none() {
    let _turn = turn();
    let server = Server::start();
    let (editor, reporter) = (server.login("editor"), server.login("reporter"));
    let story = reporter.story("/Users/reporter", "one.xml");
    for _ in 0..20 {
        reporter.get(&format!("/v3/object/{story}")).ok();
    }
    assert_eq!(editor.count(SLICES), 0, "short calls took turns");
    // 10,000 objects that do not exist, each of which is looked up and reported: some hundred
    // milliseconds.
    let missing: Vec<_> = (0..10_000).map(|number| format!("/nowhere/{number}")).collect();
    let body = json!({ "sources": missing });
    std::thread::scope(|scope| {
        let long = || {
            let result = server.login("editor").post("/v3/object", &body).ok();
            assert_eq!(result["errors"].as_array().map(Vec::len), Some(10_000));
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(long)).collect();
        assert_serves(&server);
        for client in clients {
            client.join().expect("it ended well");
        }
    });
    // Of each call, 20 ms are free, and a slice is 2 ms.
    let taken = editor.count(SLICES);
    assert!(taken >= 10 * CLIENTS as u64, "{taken}");
    for _ in 0..20 {
        reporter.get(&format!("/v3/object/{story}")).ok();
    }
    assert_eq!(editor.count(SLICES), taken, "short calls took turns");
}

const CLIENTS: usize = 6;
