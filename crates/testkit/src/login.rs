//! Logins with a name and a password.

use serde_json::{Value, json};

use crate::{Answer, Client, Server};

/// Returns the body of a login of the application `desk`.
pub fn credentials(user: &str, password: &str) -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "desk", "username": user, "password": password })
}

/// Returns an object with the members of `more` added, or replaced by them.
pub fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more} is no object") };
    body.as_object_mut().expect("a body is an object").extend(more);
    body
}

impl Server {
    /// Sends a login. Returns the reply.
    pub fn log_in(&self, user: &str, password: &str) -> Answer {
        self.client().call("auth-login-post", &[]).json(&credentials(user, password)).send()
    }

    /// Creates a client with a token from a reply.
    pub fn client_with(&self, token: &Value) -> Client {
        Client::at(&self.base, Some(token.as_str().expect("a token is a text").to_owned()))
    }
}

impl Client {
    /// Returns the token of the client's session.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("it is logged in")
    }

    /// Asserts that the client's token is valid.
    #[track_caller]
    pub fn lives(&self) {
        self.call("auth-connection-check-get", &[]).ok();
    }

    /// Asserts that the client's token is no longer valid.
    #[track_caller]
    pub fn is_dead(&self) {
        self.call("auth-connection-check-get", &[]).fails(401, "InvalidToken");
    }
}
