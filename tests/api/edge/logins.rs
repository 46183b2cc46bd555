//! How often a login may fail.

use super::*;

/// Seconds that a refusal tells to wait, the same in its header and in its body.
fn retry_seconds(refusal: &Answer) -> u64 {
    let error = refusal.fails(429, "TooManyRequests");
    let seconds = refusal.header("retry-after").expect("a refusal says when to try again");
    assert_eq!(error["details"]["retryAfter"].to_string(), seconds);
    assert!(error["message"].as_str().is_some_and(|message| message.contains(seconds)), "{error}");
    seconds.parse().expect("it is a number of seconds")
}

#[test]
fn after_too_many_failures_a_user_is_refused_with_the_right_password_too() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "3"), ("AUTH__FAILURE_WINDOW_SECONDS", "3600")]);
    for _ in 0..3 {
        log_in(&server, "editor", "wrong").fails(401, "InvalidLogin");
    }
    let seconds = retry_seconds(&log_in(&server, "editor", SAMPLE_PASSWORD));
    assert!((1100..=1200).contains(&seconds), "{seconds}");
    let form = format!("connectionId=Editorial&applicationId=desk&username=editor&password={SAMPLE_PASSWORD}");
    let older = server.client().send("POST", "/auth/login", &[], form.as_bytes());
    assert_eq!((older.status, older.json()["code"].as_str()), (429, Some("CMS.TooManyRequests")));
    assert!(older.header("retry-after").is_some());
    // Nobody else is concerned.
    log_in(&server, "admin", ADMIN_PASSWORD).ok();
}

#[test]
fn failures_of_the_older_login_count_too() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "2")]);
    for _ in 0..2 {
        let form = "connectionId=Editorial&applicationId=desk&username=editor&pwd=wrong";
        assert_eq!(server.client().send("POST", "/auth/login", &[], form.as_bytes()).status, 401);
    }
    retry_seconds(&log_in(&server, "editor", SAMPLE_PASSWORD));
}

#[test]
fn a_user_who_waits_as_long_as_told_is_let_in() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "1"), ("AUTH__FAILURE_WINDOW_SECONDS", "1")]);
    log_in(&server, "editor", "wrong").fails(401, "InvalidLogin");
    wait_until("the failure is forgiven", || log_in(&server, "editor", SAMPLE_PASSWORD).status == 200);
}

#[test]
fn a_success_forgives_the_users_failures() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "3"), ("AUTH__FAILURE_WINDOW_SECONDS", "3600")]);
    for _ in 0..4 {
        for _ in 0..2 {
            log_in(&server, "editor", "wrong").fails(401, "InvalidLogin");
        }
        log_in(&server, "editor", SAMPLE_PASSWORD).ok();
    }
}

#[test]
fn an_address_is_refused_whatever_names_it_tries_and_its_own_successes_do_not_help() {
    let server = Server::with(&[
        ("AUTH__FAILURES_PER_ADDRESS", "3"),
        ("AUTH__FAILURE_WINDOW_SECONDS", "3600"),
        ("SERVER__TRUSTED_PROXIES", "127.0.0.1"),
    ]);
    for guess in 0..3 {
        log_in_from(&server, "198.51.100.1", &format!("nobody{guess}"), "x").fails(401, "InvalidLogin");
        if guess < 2 {
            log_in_from(&server, "198.51.100.1", "editor", SAMPLE_PASSWORD).ok();
        }
    }
    retry_seconds(&log_in_from(&server, "198.51.100.1", "editor", SAMPLE_PASSWORD));
    log_in_from(&server, "198.51.100.2", "editor", SAMPLE_PASSWORD).ok();
}

#[test]
fn logins_that_succeed_are_not_limited() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "2"), ("AUTH__FAILURES_PER_ADDRESS", "2")]);
    for _ in 0..10 {
        log_in(&server, "editor", SAMPLE_PASSWORD).ok();
    }
}

/// An answer without what differs from one to the next by design.
fn comparable(answer: &Answer) -> (u16, Value, Vec<String>) {
    let mut json = answer.json();
    json["result"]["requestId"].take();
    let mut names: Vec<_> = answer.headers.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    (answer.status, json, names)
}

#[test]
fn nothing_tells_a_known_user_from_an_unknown_one_before_and_behind_the_limit() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "3"), ("AUTH__FAILURE_WINDOW_SECONDS", "86400")]);
    for attempt in 0..5 {
        let (known, unknown) = (log_in(&server, "editor", "wrong"), log_in(&server, "nobody", "wrong"));
        assert_eq!(known.status, if attempt < 3 { 401 } else { 429 });
        let (mut known, mut unknown) = (comparable(&known), comparable(&unknown));
        // The seconds may differ by one: time goes on between the two.
        if attempt >= 3 {
            for answer in [&mut known, &mut unknown] {
                let seconds = answer.1["result"]["details"]["retryAfter"].take().to_string();
                let message = answer.1["result"]["message"].as_str().expect("a message is a text");
                answer.1["result"]["message"] = message.replace(&seconds, "N").into();
            }
        }
        assert_eq!(known, unknown);
    }
}
