//! Single sign-on with a CAS server (docs/api/auth.md, "CAS").

mod people;
mod server;
mod trouble;

use std::collections::BTreeSet;

use serde_json::json;

use self::server::{CasServer, success};
use crate::harness::*;

/// The service of the tests' tickets. It contains characters that must be escaped in a query.
const SERVICE: &str = "https://stet.example.org/login?a=1&b=%C3%BC+x";

/// The user element of most tickets.
const EDITOR: &str = "<cas:user>editor</cas:user>";

/// A server that asks this CAS server, with more keys of `[auth.cas]`.
fn stet(cas: &CasServer, settings: &[(&str, &str)]) -> Server {
    let url = cas.url();
    let keys: Vec<_> = settings.iter().map(|(key, value)| (format!("AUTH__CAS__{key}"), *value)).collect();
    let keys = keys.iter().map(|(key, value)| (key.as_str(), *value));
    let fixed =
        [("AUTH__CAS__SERVER_URL", url.as_str()), ("AUTH__CAS__SERVICE_URL", SERVICE), ("LOG__FILTER", "trace")];
    Server::with(&fixed.into_iter().chain(keys).collect::<Vec<_>>())
}

/// A login with a ticket.
fn login<'c>(client: &'c Client, ticket: &str) -> Call<'c> {
    let call = client.call("auth-login-get", &[]).query("applicationId", "desk");
    call.query("connectionId", "Editorial").query("ticket", ticket)
}

fn log_in(server: &Server, ticket: &str) -> Answer {
    login(&server.client(), ticket).send()
}

#[test]
fn a_good_ticket_begins_a_session_and_serves_once() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[]);
    cas.issue("ST-1-good", success(EDITOR));
    let answer = log_in(&server, "ST-1-good");
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("HttpOnly")), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let reply = answer.ok();
    let keys: BTreeSet<_> = reply.as_object().expect("a reply is an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["applicationId", "configuration", "connection", "token", "username"].into());
    let token = json!({ "idleSeconds": 4 * 3600 });
    let connection = json!({ "id": "Editorial" });
    includes(
        &reply,
        &json!({ "username": "editor", "applicationId": "desk", "connection": connection, "token": token }),
    );
    let client = server.client_with(&reply["token"]["value"]);
    let token = client.token();
    client.call("auth-connection-get", &[]).gives(&json!({ "username": "editor" }));
    client.call("folder-home-get", &[]).ok();

    let asked = cas.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/cas/p3/serviceValidate");
    assert_eq!((&*asked[0].service, &*asked[0].ticket), (SERVICE, "ST-1-good"));

    let again = log_in(&server, "ST-1-good");
    assert!(again.header("www-authenticate").is_some() && again.header("set-cookie").is_none(), "{again:?}");
    says(&again.fails(401, "InvalidLogin"), "used before");
    assert_eq!(cas.asked().len(), 2, "nothing is remembered of a ticket");
    client.lives();

    let copy = server.client().call("auth-copy-post", &[]).json(&json!({ "token": token })).ok();
    assert_ne!(copy["token"]["value"], token);
    assert_eq!(copy["token"]["expires"], reply["token"]["expires"]);

    server.terminate();
    let log = server.log();
    assert!(log.contains("logged in") && log.contains("refused"), "{log}");
    for secret in ["ST-1-good", token, copy["token"]["value"].as_str().expect("a token is a text")] {
        assert!(!log.contains(secret), "`{secret}` is in the log:\n{log}");
    }
}

#[test]
fn a_call_that_is_not_as_it_should_be_uses_no_ticket_up() {
    let cas = CasServer::start();
    let server = stet(&cas, &[]);
    let client = server.client();
    let full = [("applicationId", "desk"), ("connectionId", "Editorial"), ("ticket", "ST-1")];
    let with = |full: [(&str, &str); 3]| {
        full.iter().fold(client.call("auth-login-get", &[]), |call, (name, value)| call.query(name, value))
    };
    for (missing, _) in full {
        let others = full.map(|(name, value)| if name == missing { ("other", value) } else { (name, value) });
        says(&with(others).fails(400, "InvalidParameter"), missing);
    }
    for ticket in ["", "ST 1", "ST-ü", "ST-\n", &"x".repeat(4097)] {
        let error = login(&client, ticket).send().fails_on(ticket, 400, "InvalidParameter");
        says(&error, "`ticket`");
        assert!(ticket.is_empty() || !error.to_string().contains(ticket.trim_end()), "{error}");
    }
    let elsewhere = with([full[0], ("connectionId", "Nowhere"), full[2]]);
    says(&elsewhere.fails(401, "InvalidLogin"), "Nowhere");
    let login = || login(&client, "ST-1");
    says(&login().query("loadConfig", "perhaps").fails(400, "InvalidParameter"), "loadConfig");
    assert!(cas.asked().is_empty());
    // Only callers with a valid ticket learn which databases exist.
    login().query("databaseId", "nowhere").fails(401, "InvalidLogin");
    cas.issue("ST-1", success(EDITOR));
    let error = login().query("databaseId", "nowhere").send();
    assert_eq!(error.header("set-cookie"), None);
    says(&error.fails(404, "DatabaseNotFound"), "nowhere");
    assert_eq!(cas.asked().len(), 2);
    // What could make two parameters of one does not.
    log_in(&server, "ST-1&ticket=x#%").fails(401, "InvalidLogin");
    assert_eq!(cas.asked()[2].ticket, "ST-1&ticket=x#%");
}

#[test]
fn without_a_cas_server_the_answer_says_so() {
    let answer = log_in(Server::shared(), "ST-1");
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
        cas.issue(&ticket, success(EDITOR));
        let client = server.client();
        let query = options.as_object().expect("options are an object").iter();
        let mut by_ticket = query.fold(login(&client, &ticket), |call, (name, value)| call.query(name, value)).ok();
        let body = with(credentials("editor", SAMPLE_PASSWORD), json!({ "options": options }));
        let mut by_password = client.call("auth-login-post", &[]).json(&body).ok();
        by_ticket["token"].take();
        by_password["token"].take();
        assert_eq!(by_ticket, by_password, "{options}");
        assert_eq!(by_ticket.get("configuration").is_some(), options["loadConfig"] != json!(false));
    }
}

#[test]
fn tickets_at_a_listed_address_are_validated_for_it_with_the_query() {
    const LISTED: &str = "https://news.example.org/v3/auth/login";
    let cas = CasServer::start();
    let proxy = ("SERVER__TRUSTED_PROXIES", "127.0.0.1");
    let url = cas.url();
    let with = |fixed: &str| {
        let services = ("AUTH__CAS__SERVICES", LISTED);
        let cas = [("AUTH__CAS__SERVER_URL", url.as_str()), ("AUTH__CAS__SERVICE_URL", fixed), services];
        Server::with(&[&cas[..], &[proxy, ("LOG__FILTER", "trace")]].concat())
    };
    // As a browser comes that the CAS server has sent here: it adds the ticket to the address that
    // it was given.
    let query = "connectionId=Editorial&applicationId=desk&showUserInfo=true&next=%2FNews+%C3%BC";
    let come = |server: &Server, host: &str, ticket: &str| {
        let path = format!("/v3/auth/login?{query}&ticket={ticket}");
        let headers = [("x-forwarded-host", host), ("x-forwarded-proto", "https")];
        server.client().send("GET", &path, &headers, b"")
    };
    let mut server = with(SERVICE);
    for (number, (host, service)) in [
        ("news.example.org", format!("{LISTED}?{query}")),
        ("NEWS.example.org:443", format!("{LISTED}?{query}")),
        ("evil.example.org", SERVICE.to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let ticket = format!("ST-secret-{number}");
        cas.issue(&ticket, success(EDITOR));
        assert_eq!(come(&server, host, &ticket).ok()["username"], "editor");
        let asked = cas.asked();
        assert_eq!((&asked[number].service, &asked[number].ticket), (&service, &ticket), "{host}");
    }
    cas.issue("ST-secret-3", server::failure("INVALID_SERVICE", "another service"));
    come(&server, "evil.example.org", "ST-secret-3").fails(401, "InvalidLogin");
    server.terminate();
    let log = server.log();
    let came_to = format!("https://evil.example.org/v3/auth/login?{query}");
    assert!(log.contains(&came_to) && log.contains(SERVICE) && !log.contains("ST-secret"), "{log}");

    // Without a fixed service no other address takes tickets, and none is used up.
    let mut server = with("");
    let asked = cas.asked().len();
    says(&come(&server, "evil.example.org", "ST-secret-4").fails(401, "InvalidLogin"), "auth.cas.services");
    assert_eq!(cas.asked().len(), asked);
    cas.issue("ST-secret-5", success(EDITOR));
    come(&server, "news.example.org", "ST-secret-5").ok();
    server.terminate();
    let log = server.log();
    assert!(log.contains(&came_to) && log.contains(LISTED) && !log.contains("ST-secret"), "{log}");
}
