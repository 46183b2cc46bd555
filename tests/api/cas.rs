//! Single sign-on with a CAS server (interface 4.2; decisions 4).

mod server;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use self::server::{CasServer, Script, failure, success};
use crate::harness::*;

/// What the tests' tickets are for; it has what must be escaped in a query.
const SERVICE: &str = "https://stet.example.org/login?a=1&b=%C3%BC+x";

/// A server that asks this CAS server, with more keys of `[auth.cas]`.
fn stet(cas: &CasServer, settings: &[(&str, &str)]) -> Server {
    let url = cas.url();
    let keys: Vec<_> = settings.iter().map(|(key, value)| (format!("AUTH__CAS__{key}"), *value)).collect();
    let keys = keys.iter().map(|(key, value)| (key.as_str(), *value));
    let fixed =
        [("AUTH__CAS__SERVER_URL", url.as_str()), ("AUTH__CAS__SERVICE_URL", SERVICE), ("LOG__FILTER", "trace")];
    Server::with(&fixed.into_iter().chain(keys).collect::<Vec<_>>())
}

fn path(ticket: &str) -> String {
    format!("/v3/auth/login?applicationId=desk&connectionId=Editorial&ticket={ticket}")
}

fn log_in(server: &Server, ticket: &str, options: &str) -> Answer {
    server.client().get(&format!("{}{options}", path(ticket)))
}

/// Logs in as whom the CAS server describes; gives the user and the groups, sorted.
fn comes(cas: &CasServer, server: &Server, ticket: &str, inside: &str) -> (Value, BTreeSet<String>) {
    cas.issue(ticket, success(inside));
    let reply = log_in(server, ticket, "&showUserInfo=true").ok();
    let groups = reply["groups"].as_array().expect("groups are a list").iter();
    (reply["user"].clone(), groups.map(|name| name.as_str().expect("a group has a name").to_owned()).collect())
}

fn groups<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

fn says(error: &Value, part: &str) {
    assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "`{part}` is missing in {error}");
}

/// The CAS server could not be asked: it may be tried again.
fn unavailable(answer: Answer, what: &str) {
    assert!(answer.header("retry-after").is_some() && answer.header("set-cookie").is_none(), "{what}: {answer:?}");
    says(&answer.fails_on(what, 503, "Overloaded"), "CAS");
}

#[test]
fn a_good_ticket_begins_a_session_and_serves_once() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[]);
    cas.issue("ST-1-good", success("<cas:user>editor</cas:user>"));
    let answer = log_in(&server, "ST-1-good", "");
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("HttpOnly")), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let reply = answer.ok();
    let keys: BTreeSet<_> = reply.as_object().expect("a reply is an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["applicationId", "configuration", "connection", "token", "username"].into());
    assert_eq!((&reply["username"], &reply["applicationId"]), (&json!("editor"), &json!("desk")));
    assert_eq!(reply["connection"]["id"], "Editorial");
    assert_eq!(reply["token"]["idleSeconds"], 4 * 3600);
    let token = reply["token"]["value"].as_str().expect("a token is a text").to_owned();
    let mut client = server.client();
    client.token = Some(token.clone());
    assert_eq!(client.get("/v3/auth/connection").ok()["username"], "editor");
    client.get("/v3/folder/home").ok();

    let asked = cas.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/cas/p3/serviceValidate");
    assert_eq!((&*asked[0].service, &*asked[0].ticket), (SERVICE, "ST-1-good"));

    let again = log_in(&server, "ST-1-good", "");
    assert!(again.header("www-authenticate").is_some() && again.header("set-cookie").is_none(), "{again:?}");
    says(&again.fails(401, "InvalidLogin"), "used before");
    assert_eq!(cas.asked().len(), 2, "nothing is remembered of a ticket");
    client.get("/v3/auth/connection/check").ok();

    let copy = server.client().post("/v3/auth/copy", &json!({ "token": token })).ok();
    assert_ne!(copy["token"]["value"], token.as_str());
    assert_eq!(copy["token"]["expires"], reply["token"]["expires"]);

    server.terminate();
    let log = server.log();
    assert!(log.contains("logged in") && log.contains("refused"), "{log}");
    for secret in ["ST-1-good", &token, copy["token"]["value"].as_str().expect("a token is a text")] {
        assert!(!log.contains(secret), "`{secret}` is in the log:\n{log}");
    }
}

#[test]
fn what_the_cas_server_refuses_is_refused_and_what_it_fails_over_is_not() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[]);
    for (number, (code, part)) in [
        ("INVALID_TICKET", "expired"),
        ("INVALID_TICKET_SPEC", "expired"),
        ("INVALID_SERVICE", "another service"),
        ("UNAUTHORIZED_SERVICE", "this service"),
        ("INVALID_REQUEST", "this service"),
        ("SOMETHING_NEW", "refuses"),
    ]
    .into_iter()
    .enumerate()
    {
        let ticket = format!("ST-secret-{number}");
        cas.issue(&ticket, failure(code, &format!("Ticket {ticket} &lt;b&gt; is not recognized")));
        let answer = log_in(&server, &ticket, "");
        assert!(answer.header("set-cookie").is_none(), "{answer:?}");
        let error = answer.fails_on(code, 401, "InvalidLogin");
        says(&error, part);
        assert!(!error.to_string().contains("ST-secret") && !error.to_string().contains("recognized"), "{error}");
    }
    cas.issue("ST-secret-internal", failure("INTERNAL_ERROR", "it is me"));
    unavailable(log_in(&server, "ST-secret-internal", ""), "INTERNAL_ERROR");
    log_in(&server, "ST-secret-unknown", "").fails(401, "InvalidLogin");
    server.terminate();
    assert!(!server.log().contains("ST-secret"), "{}", server.log());
}

#[test]
fn an_answer_that_is_none_is_no_refusal_and_lets_nobody_in() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[("ANSWER_BYTES", "4096")]);
    let good = "<cas:user>editor</cas:user>";
    let xml = |text: &str| Script::Answer("200 OK", text.to_owned());
    let answers = [
        ("empty", xml("")),
        ("text", xml("yes\neditor\n")),
        ("html", xml("<html><body>editor</body></html>")),
        ("cut off", xml("<cas:serviceResponse xmlns:cas='http://www.yale.edu/tp/cas'><cas:authenticationSuccess>")),
        ("no user", success("")),
        ("two users", success("<cas:user>editor</cas:user><cas:user>admin</cas:user>")),
        (
            "another namespace",
            xml(
                "<a:serviceResponse xmlns:a='urn:a'><a:authenticationSuccess><a:user>editor</a:user></a:authenticationSuccess></a:serviceResponse>",
            ),
        ),
        (
            "success and failure",
            xml(
                "<serviceResponse xmlns='http://www.yale.edu/tp/cas'><authenticationSuccess><user>editor</user></authenticationSuccess><authenticationFailure code='INVALID_TICKET'/></serviceResponse>",
            ),
        ),
        ("an error's page", Script::Answer("500 Internal Server Error", body_of(&success(good)))),
        ("nothing found", Script::Answer("404 Not Found", body_of(&success(good)))),
        ("no HTTP", Script::Raw(b"editor\r\n\r\n".to_vec())),
        ("closed", Script::Raw(Vec::new())),
        ("half", Script::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n<cas".to_vec())),
        ("no UTF-8", Script::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe".to_vec())),
        ("oversized", success(&format!("{good}{}", " ".repeat(4096)))),
        ("endless head", Script::Raw([b"HTTP/1.1 200 OK\r\n".to_vec(), b"x: y\r\n".repeat(100_000)].concat())),
        (
            "entity bomb",
            xml(&format!(
                "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]>{}",
                body_of(&success("<cas:user>&c;</cas:user>"))
            )),
        ),
        (
            "external entity",
            xml(&format!(
                "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/hostname'>]>{}",
                body_of(&success("<cas:user>&f;</cas:user>"))
            )),
        ),
        ("deep", success(&format!("{good}{}{}", "<a>".repeat(500), "</a>".repeat(500)))),
    ];
    for (number, (what, script)) in answers.into_iter().enumerate() {
        let ticket = format!("ST-secret-{number}");
        cas.issue(&ticket, script);
        unavailable(log_in(&server, &ticket, ""), what);
    }
    // Nor is another server asked: neither who somebody is nor where to send the ticket is for it to say.
    let other = CasServer::start();
    other.issue("ST-secret-moved", success(good));
    let location = format!("{}/p3/serviceValidate?service=x&ticket=ST-secret-moved", other.url());
    cas.issue(
        "ST-secret-moved",
        Script::Raw(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()),
    );
    unavailable(log_in(&server, "ST-secret-moved", ""), "moved");
    assert!(other.asked().is_empty());

    cas.issue("ST-secret-good", success(good));
    log_in(&server, "ST-secret-good", "").ok();
    cas.stop();
    unavailable(log_in(&server, "ST-secret-late", ""), "down");
    server.login("editor").get("/v3/folder/home").ok();
    server.terminate();
    let log = server.log();
    assert!(!log.contains("ST-secret"), "{log}");
    // Each for a reason of its own, which the operator is told.
    for reason in [
        "NotOneRoot",
        "TagMismatch",
        "the root is no `serviceResponse`",
        "not one `user`",
        "not one success or one failure",
        "the status 500",
        "the status 404",
        "the status 302",
        "not as HTTP has it",
        "not in UTF-8",
        "more than 4096 bytes",
        "UnknownEntity",
        "TooDeep",
        "connection refused",
    ] {
        assert!(log.contains(reason), "`{reason}` is missing in:\n{log}");
    }
}

fn body_of(script: &Script) -> String {
    match script {
        Script::Answer(_, body) => body.clone(),
        _ => String::new(),
    }
}

#[test]
fn a_cas_server_is_believed_only_if_its_certificate_is_good() {
    let (cas, certificate) = CasServer::start_with_tls();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let trusted = directory.path().join("trusted.pem");
    std::fs::write(&trusted, certificate).expect("it was just made");
    let trusted = trusted.to_str().expect("its name is a text");
    let with = |host: &str, more: &[(&str, &str)]| {
        let url = cas.safe_url(host);
        let fixed = [("AUTH__CAS__SERVER_URL", url.as_str()), ("AUTH__CAS__SERVICE_URL", SERVICE)];
        Server::with(&[&fixed, more].concat())
    };
    for (number, (host, more)) in
        [("localhost", [].as_slice()), ("127.0.0.1", &[("SSL_CERT_FILE", trusted)])].into_iter().enumerate()
    {
        let ticket = format!("ST-{number}");
        cas.issue(&ticket, success("<cas:user>editor</cas:user>"));
        let server = with(host, more);
        unavailable(log_in(&server, &ticket, ""), host);
        assert!(server.log().contains("no safe connection could be made"), "{}", server.log());
    }
    assert!(cas.asked().is_empty(), "no ticket goes to a server that is not the one");
    assert_eq!(log_in(&with("localhost", &[("SSL_CERT_FILE", trusted)]), "ST-0", "").ok()["username"], "editor");
}

#[test]
fn a_slow_cas_server_is_not_waited_for() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("TOTAL_SECONDS", "1"), ("CONNECT_SECONDS", "1")]);
    cas.issue("ST-slow", Script::Hold);
    unavailable(log_in(&server, "ST-slow", ""), "slow");
    // One that says something now and then is no faster.
    cas.issue("ST-dripping", Script::Drip);
    unavailable(log_in(&server, "ST-dripping", ""), "dripping");
}

#[test]
fn so_many_tickets_are_validated_at_a_time_and_the_rest_may_try_again() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("AT_ONCE", "1"), ("TOTAL_SECONDS", "60")]);
    cas.issue("ST-first", Script::Hold);
    cas.issue("ST-second", success("<cas:user>editor</cas:user>"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| log_in(&server, "ST-first", ""));
        wait_until("the first ticket is asked about", || cas.asked().len() == 1);
        let refused = log_in(&server, "ST-second", "");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        says(&refused.fails(503, "Overloaded"), "Too many");
        assert_eq!(cas.asked().len(), 1);
        cas.let_go();
        unavailable(first.join().expect("it got an answer"), "let go");
    });
    log_in(&server, "ST-second", "").ok();
}

#[test]
fn a_user_who_is_not_known_here_stays_out_where_none_are_made() {
    let cas = CasServer::start();
    let server = stet(&cas, &[]);
    for ticket in ["ST-1", "ST-2"] {
        cas.issue(ticket, success("<cas:user>newcomer</cas:user>"));
        says(&log_in(&server, ticket, "").fails(401, "InvalidLogin"), "newcomer");
    }
    // Without a mapping nobody's groups are the CAS server's to say.
    let (user, held) = comes(
        &cas,
        &server,
        "ST-3",
        "<cas:user>reporter</cas:user><cas:attributes><cas:memberOf>editors</cas:memberOf></cas:attributes>",
    );
    assert_eq!((&user["fullName"], held), (&json!("Tobias Ferrant"), groups(["reporters"])));
}

#[test]
fn a_user_is_made_with_the_configured_groups_and_no_password() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true"), ("GROUPS", "readers, contributors")]);
    let (user, held) = comes(
        &cas,
        &server,
        "ST-1",
        "<cas:user>newcomer</cas:user><cas:attributes><cas:displayName>Zoë &amp; Co</cas:displayName>
         <cas:mail>zoe@example.org</cas:mail></cas:attributes>",
    );
    assert_eq!(held, groups(["contributors", "readers"]));
    assert_eq!((&user["name"], &user["fullName"]), (&json!("newcomer"), &json!("Zoë & Co")));
    assert_eq!((&user["businessEmail"], &user["home"]), (&json!("zoe@example.org"), &json!("/Users/newcomer")));
    for password in ["", "newcomer", SAMPLE_PASSWORD] {
        let body =
            json!({ "connectionId": "Editorial", "applicationId": "x", "username": "newcomer", "password": password });
        server.client().post("/v3/auth/login", &body).fails_on(password, 401, "InvalidLogin");
    }
    // What is sent is taken over, what is not stays, and what can't be is left alone.
    let (user, _) = comes(
        &cas,
        &server,
        "ST-2",
        &format!(
            "<cas:user>newcomer</cas:user><cas:attributes><cas:displayName>Zoë</cas:displayName>
             <cas:mail>{}</cas:mail></cas:attributes>",
            "x".repeat(300)
        ),
    );
    assert_eq!((&user["fullName"], &user["businessEmail"]), (&json!("Zoë"), &json!("zoe@example.org")));
    let server = server.restart();
    let (user, held) = comes(&cas, &server, "ST-3", "<cas:user>newcomer</cas:user>");
    assert_eq!((&user["fullName"], held), (&json!("Zoë"), groups(["contributors", "readers"])));
}

#[test]
fn many_first_logins_at_once_make_one_user_and_all_their_sessions_live() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true"), ("GROUPS", "readers")]);
    let tickets: Vec<_> = (0..8).map(|number| format!("ST-{number}")).collect();
    let tokens: Vec<_> = std::thread::scope(|scope| {
        let logins: Vec<_> = tickets
            .iter()
            .map(|ticket| {
                cas.issue(ticket, success("<cas:user>newcomer</cas:user>"));
                scope.spawn(|| log_in(&server, ticket, "").ok()["token"]["value"].take())
            })
            .collect();
        logins.into_iter().map(|login| login.join().expect("it got an answer")).collect()
    });
    for token in tokens {
        let mut client = server.client();
        client.token = token.as_str().map(str::to_owned);
        assert_eq!(client.get("/v3/auth/connection").ok()["username"], "newcomer");
    }
}

#[test]
fn the_groups_of_the_mapping_are_as_the_cas_server_says_at_each_login() {
    let cas = CasServer::start();
    let mapping = "desk=editors, night=editors, wire=contributors";
    let settings =
        [("CREATE_USERS", "1"), ("GROUPS", "readers"), ("GROUP_ATTRIBUTE", "memberOf"), ("GROUP_MAPPING", mapping)];
    let server = stet(&cas, &settings);
    let of = |user: &str, values: &[&str]| {
        let values: String = values.iter().map(|value| format!("<cas:memberOf>{value}</cas:memberOf>")).collect();
        format!("<cas:user>{user}</cas:user><cas:attributes>{values}</cas:attributes>")
    };
    let cases = [
        ("newcomer", vec!["desk", "unknown"], groups(["editors", "readers"])),
        ("newcomer", vec!["night", "wire"], groups(["contributors", "editors", "readers"])),
        ("newcomer", vec!["readers", "administrators", "DESK"], groups(["readers"])),
        // What is not in the mapping stays as it is here.
        ("reporter", vec!["desk"], groups(["editors", "reporters"])),
        ("reporter", vec![], groups(["reporters"])),
        ("editor", vec![], groups([])),
    ];
    for (number, (user, values, expected)) in cases.into_iter().enumerate() {
        let (_, held) = comes(&cas, &server, &format!("ST-{number}"), &of(user, &values));
        assert_eq!(held, expected, "{user} {values:?}");
    }
    // They hold at once, for sessions that were there before too.
    cas.issue("ST-a", success(&of("newcomer", &["desk"])));
    let privileges = log_in(&server, "ST-a", "&showPrivileges=true").ok();
    assert!(privileges["privileges"].to_string().contains("moderate"), "{privileges}");
    cas.issue("ST-b", success(&of("newcomer", &[])));
    let privileges = log_in(&server, "ST-b", "&showPrivileges=true").ok();
    assert_eq!(privileges["privileges"], json!(["read"]));
}

#[test]
fn a_disabled_user_stays_out_whoever_vouches() {
    let cas = CasServer::start();
    // Without a password for them, the sample's users are disabled.
    let url = cas.url();
    let server = Server::with(&[
        ("AUTH__CAS__SERVER_URL", &url),
        ("AUTH__CAS__SERVICE_URL", SERVICE),
        ("AUTH__CAS__CREATE_USERS", "true"),
        ("SAMPLE_PASSWORD", ""),
    ]);
    for ticket in ["ST-1", "ST-2"] {
        cas.issue(
            ticket,
            success("<cas:user>editor</cas:user><cas:attributes><cas:mail>x@y</cas:mail></cas:attributes>"),
        );
        says(&log_in(&server, ticket, "").fails(401, "InvalidLogin"), "disabled");
    }
    cas.issue("ST-3", success("<cas:user>admin</cas:user>"));
    log_in(&server, "ST-3", "").ok();
}

#[test]
fn a_name_that_can_not_be_one_here_is_refused() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true")]);
    let long = "x".repeat(256);
    for (number, name) in ["a/b", "../editor", ".", "..", "a:b", "a|b", "a\"b", "a&#9;b", &long].into_iter().enumerate()
    {
        let ticket = format!("ST-{number}");
        cas.issue(&ticket, success(&format!("<cas:user>{name}</cas:user>")));
        says(&log_in(&server, &ticket, "").fails_on(name, 401, "InvalidLogin"), "name");
    }
    // A legal one is taken as it is, and shown as JSON has it.
    for (ticket, written, name) in [("ST-a", "O&apos;Neil, &lt;Zoë&gt;", "O'Neil, <Zoë>"), ("ST-b", "EDITOR", "EDITOR")]
    {
        let (user, held) = comes(&cas, &server, ticket, &format!("<cas:user>{written}</cas:user>"));
        assert_eq!((&user["name"], held), (&json!(name), groups([])));
    }
}

#[test]
fn a_call_that_is_not_as_it_should_be_uses_no_ticket_up() {
    let cas = CasServer::start();
    let server = stet(&cas, &[]);
    let client = server.client();
    let full = [("applicationId", "desk"), ("connectionId", "Editorial"), ("ticket", "ST-1")];
    for (missing, _) in full {
        let query: Vec<_> = full.iter().filter(|(name, _)| *name != missing).map(|(n, v)| format!("{n}={v}")).collect();
        let answer = client.get(&format!("/v3/auth/login?{}", query.join("&")));
        says(&answer.fails_on(missing, 400, "InvalidParameter"), missing);
    }
    for ticket in ["", "ST%201", "ST-%C3%BC", "ST-%0A", &"x".repeat(4097)] {
        let error = log_in(&server, ticket, "").fails_on(ticket, 400, "InvalidParameter");
        says(&error, "`ticket`");
        assert!(ticket.is_empty() || !error.to_string().contains(ticket), "{error}");
    }
    let elsewhere = path("ST-1").replace("Editorial", "Nowhere");
    says(&client.get(&elsewhere).fails(401, "InvalidLogin"), "Nowhere");
    says(&log_in(&server, "ST-1", "&loadConfig=perhaps").fails(400, "InvalidParameter"), "loadConfig");
    says(&log_in(&server, "ST-1", "&databaseId=nowhere").fails(404, "DatabaseNotFound"), "nowhere");
    assert!(cas.asked().is_empty());
    // What could make two parameters of one does not.
    log_in(&server, "ST-1%26ticket%3Dx%23%25", "").fails(401, "InvalidLogin");
    assert_eq!(cas.asked()[0].ticket, "ST-1&ticket=x#%");
}

#[test]
fn without_a_cas_server_the_answer_says_so() {
    let answer = Server::shared().client().get(&path("ST-1"));
    assert!(answer.header("www-authenticate").is_some(), "{answer:?}");
    says(&answer.fails(401, "InvalidLogin"), "no CAS server is configured");
}

#[test]
fn both_logins_show_the_same_under_the_same_options() {
    let cas = CasServer::start();
    let server = stet(&cas, &[]);
    let options = [
        json!({}),
        json!({ "loadConfig": false }),
        json!({ "showUserInfo": true, "showPrivileges": true, "showAvailableConnections": true }),
        json!({ "showUserInfo": true, "showGroups": false, "showAttributes": false, "showXml": true }),
        json!({ "showAdditionalInfo": true, "showJson": false, "showUniquenessString": true, "databaseId": 1 }),
    ];
    for (number, options) in options.into_iter().enumerate() {
        let ticket = format!("ST-{number}");
        cas.issue(&ticket, success("<cas:user>editor</cas:user>"));
        let query: String = options
            .as_object()
            .expect("options are an object")
            .iter()
            .map(|(name, value)| format!("&{name}={value}"))
            .collect();
        let mut by_ticket = log_in(&server, &ticket, &query).ok();
        let body = json!({
            "connectionId": "Editorial", "applicationId": "desk", "username": "editor", "password": SAMPLE_PASSWORD,
            "options": options,
        });
        let mut by_password = server.client().post("/v3/auth/login", &body).ok();
        by_ticket["token"].take();
        by_password["token"].take();
        assert_eq!(by_ticket, by_password, "{options}");
        assert_eq!(by_ticket.get("configuration").is_some(), options["loadConfig"] != json!(false));
    }
}
