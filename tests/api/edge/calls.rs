//! The rate limit of calls per client.

use super::*;

fn number(answer: &Answer, name: &str) -> u64 {
    answer.header(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}: {answer:?}"))
}

#[test]
fn a_session_has_its_calls_and_each_answer_says_how_many_are_left() {
    let server = Server::with(&[("LIMITS__CALLS_PER_MINUTE", "5")]);
    let (one, other) = (server.login("editor"), server.login("editor"));
    let first = home(&one);
    first.ok();
    assert_eq!((number(&first, "ratelimit-limit"), number(&first, "ratelimit-remaining")), (5, 4));
    assert!((1..=12).contains(&number(&first, "ratelimit-reset")));
    // What fails counts as well, and says so too.
    let failed = one.call("object-get", &[&"1$1.0.999999999"]).send();
    failed.fails(404, "ObjectNotFound");
    assert_eq!(number(&failed, "ratelimit-remaining"), 3);
    // So does one that is refused by the length of its address, before it is known whose it is: the
    // address of the client's.
    let long = one.get(&format!("/v3/folder?x={}", "x".repeat(20_000)));
    long.fails(413, "TooLarge");
    assert!(number(&long, "ratelimit-limit") >= 5);
    let refused = (0..100).map(|_| home(&one)).find(|answer| answer.status != 200);
    let refused = refused.expect("a hundred calls take longer than the minute");
    let error = refused.fails(429, "TooManyRequests");
    assert_eq!(number(&refused, "ratelimit-remaining"), 0);
    let seconds = number(&refused, "retry-after");
    assert!((1..=12).contains(&seconds) && error["details"]["retryAfter"] == seconds, "{error}");
    home(&other).ok();
    wait_until("a call has come back", || home(&one).status == 200);
}

#[test]
fn copies_of_a_session_share_its_calls() {
    let server = Server::with(&[("LIMITS__CALLS_PER_MINUTE", "20")]);
    let copy_of = |client: &Client| {
        // The copying itself counts for the address.
        let reply = server.client().call("auth-copy-post", &[]).json(&json!({ "token": client.token() })).ok();
        server.client_with(&reply["token"]["value"])
    };
    let one = server.login("editor");
    let other = server.login("editor");
    home(&one).ok();
    let copy = copy_of(&one);
    let copy_of_copy = copy_of(&copy);
    // One comes back in three seconds. With a budget of its own, none of them would have fewer than
    // 15 left.
    let left = |client: &Client| number(&home(client), "ratelimit-remaining");
    for client in [&one, &copy, &copy_of_copy].into_iter().cycle().take(9) {
        left(client);
    }
    let of_all = [&one, &copy, &copy_of_copy].map(left);
    assert!(of_all.iter().all(|left| *left < 15), "{of_all:?}");
    assert_eq!(left(&other), 19);
}

#[test]
fn a_fresh_copy_says_how_it_stands_too() {
    let server = Server::with(&[("LIMITS__CALLS_PER_MINUTE", "1000")]);
    let client = server.login("editor");
    let first = home(&client);
    let tag = first.header("etag").expect("a folder has an ETag").to_owned();
    let again = client.call("folder-home-get", &[]).header("if-none-match", tag).send();
    assert_eq!((again.status, number(&again, "ratelimit-limit")), (304, 1000));
}

#[test]
fn calls_without_a_valid_token_count_for_their_address_on_every_path() {
    let server = Server::with(&[("LIMITS__CALLS_PER_MINUTE", "4"), ("SERVER__TRUSTED_PROXIES", "127.0.0.1")]);
    let ask =
        |address: &str, path: &str| server.client().send("GET", path, &[("x-forwarded-for", address)], b"").status;
    let of_one = ["/v3/folder/home", "/nowhere", "/v3/folder/home?token=made-up", "/v3/auth/connection/check"];
    assert_eq!(of_one.map(|path| ask("198.51.100.1", path)), [401, 404, 401, 401]);
    let refused = (0..100).map(|n| ask("198.51.100.1", &format!("/v3/folder/home?token={n}"))).find(|s| *s != 401);
    assert_eq!(refused, Some(429));
    assert_eq!(ask("198.51.100.2", "/v3/folder/home"), 401);
    // Those who look after the server are not limited.
    assert_eq!(ask("198.51.100.1", "/healthz"), 200);
}

#[test]
fn without_a_limit_nothing_is_said_of_one() {
    let answer = home(&Server::shared().user("editor"));
    answer.ok();
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("ratelimit")), "{:?}", answer.headers);
}
