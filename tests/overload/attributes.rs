//! Objects with large attributes: no display of them delays other callers.

use super::*;

/// Processor time of a server's threads in nanoseconds. On a busy machine a call may take any time,
/// and the processor time remains what its work costs.
#[derive(Default)]
struct ProcessorTime {
    /// The time of the threads that serve requests.
    requests: u64,
    /// The time of all threads.
    all: u64,
}

impl ProcessorTime {
    fn of(server: &Server) -> ProcessorTime {
        let mut time = ProcessorTime::default();
        for thread in std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("the server runs") {
            let thread = thread.expect("a thread").path();
            // A thread may end in the meantime.
            let read = |file| std::fs::read_to_string(thread.join(file)).unwrap_or_default();
            let taken = read("schedstat").split(' ').next().and_then(|taken| taken.parse().ok()).unwrap_or(0);
            time.all += taken;
            if read("comm").starts_with("stet-http") {
                time.requests += taken;
            }
        }
        time
    }

    /// Adds the time since `begun`.
    fn add_since(&mut self, begun: &ProcessorTime, server: &Server) {
        let now = ProcessorTime::of(server);
        self.requests += now.requests.saturating_sub(begun.requests);
        self.all += now.all.saturating_sub(begun.all);
    }
}

#[test]
fn large_attributes_are_shown_without_occupying_a_request_thread() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let xml = format!("<a>{}</a>", "<b>a few words of text</b>".repeat(4_000));
    let made = client.send(
        "POST",
        "/v3/container/drawer",
        &[],
        json!({ "name": "heavy", "folderPath": "/Users/editor", "attributes": xml }).to_string().as_bytes(),
    );
    let loid = made.ok()["info"]["id"].as_str().expect("it has one").to_owned();
    // Beside each there is one that asks for next to nothing: it shows what any call costs.
    let small = client.drawer("/Users/editor", "light", 10);
    let (mut heavy, mut light) = (ProcessorTime::default(), ProcessorTime::default());
    let timed = |time: &mut ProcessorTime, call: &dyn Fn() -> Answer| {
        let begun = ProcessorTime::of(&server);
        let answer = call();
        time.add_since(&begun, &server);
        answer
    };
    let flags = ["showUniquenessString", "showWebType", "showAdditionalInfo", "showXml"];
    for display in 0..16 {
        let query = flags.iter().enumerate().map(|(bit, flag)| format!("{flag}={}", display >> bit & 1));
        let query = query.collect::<Vec<_>>().join("&");
        for kind in ["/v3/object", "/v3/container/drawer"] {
            let path = format!("{kind}/{loid}?{query}");
            let answer = timed(&mut heavy, &|| client.get(&path));
            timed(&mut light, &|| client.get(&format!("{kind}/{small}?{query}"))).ok();
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.body.len() > xml.len() / 2, "the attributes are there");
        }
        let change = |loid: &str| {
            let path = format!("/v3/container/drawer/{loid}");
            client.send("PUT", &path, &[("if-match", "\"1-1\"")], br#"{"title": "x"}"#)
        };
        let stale = timed(&mut heavy, &|| change(&loid));
        timed(&mut light, &|| change(&small)).fails(412, "PreconditionFailed");
        let current = &stale.fails(412, "PreconditionFailed")["details"]["current"];
        assert!(current["id"] == loid.as_str() && current.get("attributes").is_none(), "{current}");
    }
    // Made on the threads of requests, the displays would cost these threads nearly all of that time.
    let [requests, all] = [heavy.requests.saturating_sub(light.requests), heavy.all.saturating_sub(light.all)];
    assert!(requests < all / 3 * 2, "{requests} of {all} ns");
}
