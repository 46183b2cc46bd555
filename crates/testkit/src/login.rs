//! Logging in with a name and a password.

use serde_json::{Value, json};

use crate::{Answer, Client, Server};

/// The body of a login of the application `desk`.
pub fn credentials(user: &str, password: &str) -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "desk", "username": user, "password": password })
}

/// An object with the members of another besides its own, or in place of them.
pub fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more} is no object") };
    body.as_object_mut().expect("a body is an object").extend(more);
    body
}

impl Server {
    /// Tries to log in.
    pub fn log_in(&self, user: &str, password: &str) -> Answer {
        self.client().call("auth-login-post", &[]).json(&credentials(user, password)).send()
    }

    /// A client with a token that a reply has given.
    pub fn client_with(&self, token: &Value) -> Client {
        Client::at(&self.base, Some(token.as_str().expect("a token is a text").to_owned()))
    }
}

impl Client {
    /// The token of its session.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("it is logged in")
    }

    /// Asserts that its token is good.
    #[track_caller]
    pub fn lives(&self) {
        self.call("auth-connection-check-get", &[]).ok();
    }

    /// Asserts that its token is good no more.
    #[track_caller]
    pub fn is_dead(&self) {
        self.call("auth-connection-check-get", &[]).fails(401, "InvalidToken");
    }
}
