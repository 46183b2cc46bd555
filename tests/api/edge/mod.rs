//! The edge of the server: what it takes from whom, how often, how slowly, and by which way.

mod calls;
mod cors;
mod headers;
mod logins;
mod proxies;
mod slow;
mod tls;

use serde_json::{Value, json};

use crate::harness::*;

fn credentials(user: &str, password: &str) -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "desk", "username": user, "password": password })
}

/// Tries to log in, seen from another address than this machine's; the server must trust this machine as a proxy.
fn log_in_from(server: &Server, address: &str, user: &str, password: &str) -> Answer {
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    server.client().send("POST", "/v3/auth/login", &headers, credentials(user, password).to_string().as_bytes())
}

fn log_in(server: &Server, user: &str, password: &str) -> Answer {
    server.client().post("/v3/auth/login", &credentials(user, password))
}
