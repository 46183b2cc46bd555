//! The limit of failed logins.

use super::*;

/// A server with these keys of `[auth]`, which forgets no failure meanwhile.
fn limited(settings: &[(&str, &str)]) -> Server {
    let named: Vec<_> = settings.iter().map(|(key, value)| (format!("AUTH__{key}"), *value)).collect();
    let window = [("AUTH__FAILURE_WINDOW_SECONDS", "86400"), ("SERVER__TRUSTED_PROXIES", "127.0.0.1")];
    let settings = window.into_iter().chain(named.iter().map(|(key, value)| (key.as_str(), *value)));
    Server::with(&settings.collect::<Vec<_>>())
}

/// Returns the seconds to wait that a refusal states, equal in its header and its body.
fn retry_seconds(refusal: &Answer) -> u64 {
    let error = refusal.fails(429, "TooManyRequests");
    let seconds = refusal.header("retry-after").expect("a refusal says when to try again");
    assert_eq!(error["details"]["retryAfter"].to_string(), seconds);
    says(&error, seconds);
    seconds.parse().expect("it is a number of seconds")
}

#[test]
fn after_too_many_failures_a_user_is_refused_with_the_right_password_too() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "3"), ("AUTH__FAILURE_WINDOW_SECONDS", "3600")]);
    for _ in 0..3 {
        server.log_in("editor", "wrong").fails(401, "InvalidLogin");
    }
    let seconds = retry_seconds(&server.log_in("editor", SAMPLE_PASSWORD));
    assert!((1100..=1200).contains(&seconds), "{seconds}");
    let older = older_log_in(&server, SAMPLE_PASSWORD);
    assert_eq!((older.status, older.json()["code"].as_str()), (429, Some("CMS.TooManyRequests")));
    assert!(older.header("retry-after").is_some());
    // Other users are not affected.
    server.log_in("admin", ADMIN_PASSWORD).ok();
}

#[test]
fn failures_of_the_older_login_count_too() {
    let server = limited(&[("FAILURES_PER_USER", "2")]);
    for _ in 0..2 {
        assert_eq!(older_log_in(&server, "wrong").status, 401);
    }
    retry_seconds(&server.log_in("editor", SAMPLE_PASSWORD));
}

#[test]
fn a_user_who_waits_as_long_as_told_is_let_in() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "1"), ("AUTH__FAILURE_WINDOW_SECONDS", "1")]);
    server.log_in("editor", "wrong").fails(401, "InvalidLogin");
    wait_until("the failure is forgiven", || server.log_in("editor", SAMPLE_PASSWORD).status == 200);
}

#[test]
fn a_success_forgives_the_users_failures() {
    let server = limited(&[("FAILURES_PER_USER", "3")]);
    for _ in 0..4 {
        for _ in 0..2 {
            server.log_in("editor", "wrong").fails(401, "InvalidLogin");
        }
        server.log_in("editor", SAMPLE_PASSWORD).ok();
    }
}

#[test]
fn a_blocked_address_admits_only_users_who_are_known_there() {
    let server = limited(&[("FAILURES_PER_ADDRESS", "3")]);
    let log_in = |address: &str, user: &str| log_in_from(&server, address, user, SAMPLE_PASSWORD);
    for guess in 0..3 {
        log_in_from(&server, "198.51.100.1", &format!("nobody{guess}"), "x").fails(401, "InvalidLogin");
        // Successes do not restore the budget of the address.
        if guess < 2 {
            log_in("198.51.100.1", "editor").ok();
        }
    }
    retry_seconds(&log_in("198.51.100.1", "reporter"));
    log_in("198.51.100.1", "editor").ok();
    log_in("198.51.100.2", "reporter").ok();
}

#[test]
fn a_user_guessed_at_elsewhere_can_log_in_from_known_addresses() {
    let server = limited(&[("FAILURES_PER_USER", "3"), ("FAILURES_PER_USER_ANYWHERE", "6")]);
    const HOME: &str = "192.0.2.7";
    log_in_from(&server, HOME, "editor", SAMPLE_PASSWORD).ok();
    let guess = |server: &Server| {
        let from = |number: usize| log_in_from(server, &format!("198.51.100.{number}"), "editor", "wrong").status;
        (0..9).map(from).collect::<Vec<_>>()
    };
    assert_eq!(guess(&server), [401, 401, 401, 401, 401, 401, 429, 429, 429]);
    retry_seconds(&log_in_from(&server, "192.0.2.8", "editor", SAMPLE_PASSWORD));
    log_in_from(&server, HOME, "editor", SAMPLE_PASSWORD).ok();
    // A name has no more tries there than elsewhere.
    for _ in 0..3 {
        log_in_from(&server, HOME, "editor", "wrong").fails(401, "InvalidLogin");
    }
    retry_seconds(&log_in_from(&server, HOME, "editor", SAMPLE_PASSWORD));
    let server = server.restart();
    // The session of the login before is there.
    assert_eq!(guess(&server)[5..], [401, 429, 429, 429]);
    wait_until("they are known", || log_in_from(&server, HOME, "editor", SAMPLE_PASSWORD).status == 200);
}

#[test]
fn logins_that_succeed_are_not_limited() {
    let server = limited(&[("FAILURES_PER_USER", "2"), ("FAILURES_PER_ADDRESS", "2")]);
    for _ in 0..10 {
        server.log_in("editor", SAMPLE_PASSWORD).ok();
    }
}

/// Status of forty logins of `editor` at once.
fn log_in_at_once(server: &Server, password: &str) -> Vec<u16> {
    std::thread::scope(|scope| {
        let login = || server.log_in("editor", password).status;
        let threads: Vec<_> = (0..40).map(|_| scope.spawn(login)).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer came")).collect()
    })
}

#[test]
fn many_logins_at_once_are_not_refused_when_none_of_them_fails() {
    // They take a while, and so all of them are there before the first ends.
    let slow = ("PASSWORD_MEMORY_KIB", "8192");
    let server = limited(&[("FAILURES_PER_USER", "3"), ("FAILURES_PER_ADDRESS", "3"), slow]);
    assert_eq!(log_in_at_once(&server, SAMPLE_PASSWORD), [200; 40]);
}

#[test]
fn concurrent_wrong_logins_are_checked_no_more_often_than_the_limit() {
    let server = limited(&[("FAILURES_PER_USER", "3")]);
    let statuses = log_in_at_once(&server, "wrong");
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(401), count(429)), (3, 37), "{statuses:?}");
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
fn known_and_unknown_names_get_equal_answers_before_and_after_the_limit() {
    let server = limited(&[("FAILURES_PER_USER", "3")]);
    for attempt in 0..5 {
        let (known, unknown) = (server.log_in("editor", "wrong"), server.log_in("nobody", "wrong"));
        assert_eq!(known.status, if attempt < 3 { 401 } else { 429 });
        let (mut known, mut unknown) = (comparable(&known), comparable(&unknown));
        // The seconds may differ by one, since time passes between the two.
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

#[test]
fn misplaced_values_in_bodies_with_secrets_are_never_shown_or_logged() {
    const SECRET: &str = "90817263544";
    let server = Server::start();
    let (admin, anyone) = (server.user("admin"), server.client());
    let text = format!("\"{SECRET}\"");
    let login = |name: &str, value: &str| {
        let mut body = credentials("editor", "x");
        body[name] = "there".into();
        body.to_string().replace("\"there\"", value)
    };
    let mut cases = vec![
        (&anyone, "/v3/auth/login", login("password", SECRET), "$.password"),
        (&anyone, "/v3/auth/login", login("options", &text), "$.options"),
        (&anyone, "/auth/login", login("password", SECRET), "$.password"),
        (&anyone, "/auth/login", login("options", &text), "$.options"),
        (&anyone, "/v3/auth/copy", format!("{{\"token\": {SECRET}}}"), "$.token"),
        (&anyone, "/v3/auth/copy", format!("{{\"token\": {{\"value\": {text}}}}}"), "$.token"),
        (&admin, "/v3/user", format!("{{\"name\": \"new\", \"password\": {SECRET}}}"), "$.password"),
        (&admin, "/v3/user", format!("{{\"name\": \"new\", \"groups\": {text}}}"), "$.groups"),
        (&admin, "/v3/user/password", format!("{{\"old\": {SECRET}, \"new\": \"x\"}}"), "$.old"),
        (&admin, "/v3/user/password", format!("{{\"old\": \"x\", \"new\": {SECRET}}}"), "$.new"),
    ];
    for path in ["/v3/auth/login", "/auth/login", "/v3/auth/copy"] {
        cases.extend([(&anyone, path, text.clone(), "$"), (&anyone, path, SECRET.to_owned(), "$")]);
    }
    for path in ["/v3/user", "/v3/user/password"] {
        cases.extend([(&admin, path, text.clone(), "$"), (&admin, path, SECRET.to_owned(), "$")]);
    }
    let check = |what: &str, answer: &Answer, path: &str| {
        let said = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 400, "{what}: {said}");
        assert!(said.contains("CMS.InvalidBody") && said.contains(&format!("`{path}`")), "{what}: {said}");
        assert!(!said.contains(SECRET), "{what}: {said}");
    };
    for (client, path, body, fault) in &cases {
        let answer = client.send("POST", path, &[("content-type", "application/json")], body.as_bytes());
        check(&format!("{path} {body}"), &answer, fault);
    }
    let form = format!("connectionId=Editorial&applicationId=desk&username=editor&password=x&options={SECRET}");
    check("a form", &anyone.send("POST", "/auth/login", &[], form.as_bytes()), "$.options");
    let parts = [("content-type", "multipart/form-data; boundary=b")];
    let body = format!("--b\r\ncontent-disposition: form-data; name=\"pwd\"\r\n\r\n{SECRET}\r\n--b--\r\n");
    let in_parts = anyone.send("POST", "/auth/login", &parts, body.as_bytes());
    check("a form in parts", &in_parts, "application/x-www-form-urlencoded");
    assert!(!server.log().contains(SECRET), "{}", server.log());
}

#[test]
fn a_session_does_not_serve_to_guess_its_users_password() {
    let server = limited(&[("FAILURES_PER_USER", "2")]);
    let editor = server.login("editor");
    let change = |old: &str| {
        let body = json!({ "old": old, "new": "another one" });
        editor.call("stet-user-password-post", &[]).json(&body).send()
    };
    for _ in 0..2 {
        change("wrong").fails(403, "PermissionDenied");
    }
    retry_seconds(&change(SAMPLE_PASSWORD));
    // The session is none the worse for it.
    editor.lives();
    retry_seconds(&server.log_in("editor", SAMPLE_PASSWORD));
}
