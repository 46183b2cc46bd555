//! The edge of the server: accepted requests, their rate and speed, and connections through proxies
//! and TLS.

mod calls;
mod cors;
mod headers;
mod logins;
mod origins;
mod proxies;
mod slow;
pub mod tls;

use serde_json::{Value, json};

use crate::harness::*;

/// Tries to log in, seen from another address than this machine's; the server must trust this
/// machine as a proxy.
fn log_in_from(server: &Server, address: &str, user: &str, password: &str) -> Answer {
    log_in_with(server, &[("x-forwarded-for", address)], user, password)
}

/// Tries to log in, with more headers.
fn log_in_with(server: &Server, headers: &[(&str, &str)], user: &str, password: &str) -> Answer {
    let client = server.client();
    let login = client.call("auth-login-post", &[]).json(&credentials(user, password));
    headers.iter().fold(login, |call, (name, value)| call.header(name, value)).send()
}

/// Tries to log in with the form of the older surface.
fn older_log_in(server: &Server, password: &str) -> Answer {
    let form = format!("connectionId=Editorial&applicationId=desk&username=editor&password={password}");
    server.client().send("POST", "/auth/login", &[], form.as_bytes())
}

fn home(client: &Client) -> Answer {
    client.call("folder-home-get", &[]).send()
}

/// A write that has nothing but a cookie, from a page of `origin`.
fn write_from(server: &Server, token: &str, origin: &str, headers: &[(&str, &str)]) -> Answer {
    let client = server.client();
    let write = client.call("stet-object-list-post", &[]).json(&json!({ "sources": [] }));
    let write = write.header("cookie", format!("MRS_CONNECTION_TOKEN={token}")).header("origin", origin);
    headers.iter().fold(write, |call, (name, value)| call.header(name, value)).send()
}
