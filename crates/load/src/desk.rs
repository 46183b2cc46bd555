//! The one who logs in, makes what a load works on, looks at it afterwards, and cleans up.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::client::{Answer, Call, Connection, File, Target};

/// All but what RFC 3986 leaves alone.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as it stands in a path segment or a query value.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// See the module's head.
pub struct Desk {
    target: Arc<Target>,
    connection: Connection,
    token: Arc<str>,
    /// The call that logged in.
    entry: Call,
    /// Path of the folder that is this run's own.
    pub folder: String,
    folder_id: Option<String>,
}

impl Desk {
    /// Logs in. Nothing is made yet.
    ///
    /// # Errors
    /// A sentence for the operator, without the password.
    pub async fn log_in(
        target: Arc<Target>,
        user: &str,
        password: &str,
        connection: &str,
        folder: &str,
    ) -> Result<Desk, String> {
        let body = json!({ "connectionId": connection, "applicationId": "stet load", "username": user,
            "password": password });
        let mut plain = Connection::new(target.clone(), None);
        let entry = Call::json(Method::POST, "/v3/auth/login", &body);
        let answer = plain.send(&entry).await;
        let answer = answer.map_err(|trouble| format!("{} can't be reached: {trouble}", target.authority()))?;
        if answer.status == 401 {
            return Err(format!("the server does not let `{user}` in: {}", answer.message()));
        }
        let reply = result(&answer).map_err(|why| format!("`{user}` can't log in: {why}"))?;
        let token = reply["token"]["value"].as_str().ok_or("the login gave no token: is this the base address?")?;
        let token: Arc<str> = encoded(token).into();
        // A clock set before 1970 reads as 1970; the process tells runs of one millisecond apart.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let folder = format!("{}/{now}-{}", folder.trim_end_matches('/'), std::process::id());
        let connection = Connection::new(target.clone(), Some(token.clone()));
        Ok(Desk { target, connection, token, entry, folder, folder_id: None })
    }

    /// A connection for another client of the same session.
    pub fn connection(&self) -> Connection {
        Connection::new(self.target.clone(), Some(self.token.clone()))
    }

    /// The server, and the token of the session as it stands in a query: for whoever makes connections of another kind.
    pub fn pass(&self) -> (Arc<Target>, Arc<str>) {
        (self.target.clone(), self.token.clone())
    }

    /// The call that logs in once more.
    pub fn entry(&self) -> &Call {
        &self.entry
    }

    /// Sends a call that has to succeed, whatever its answer is made of.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn raw(&mut self, call: &Call) -> Result<Answer, String> {
        let answer = self.connection.send(call).await.map_err(|trouble| trouble.to_string())?;
        if answer.is_success() { Ok(answer) } else { Err(answer.message()) }
    }

    /// Sends a call that has to succeed with bare JSON, as the older resources answer.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn bare(&mut self, call: &Call) -> Result<Value, String> {
        let answer = self.raw(call).await?;
        serde_json::from_slice(&answer.body).map_err(|error| format!("the answer is no JSON: {error}"))
    }

    /// Sends a call that has to succeed.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn call(&mut self, call: &Call) -> Result<(Value, Answer), String> {
        send(&mut self.connection, call).await
    }

    /// Makes the run's own folder.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn make_folder(&mut self) -> Result<(), String> {
        let call = Call::json(Method::POST, "/v3/folder", &json!({ "path": self.folder }));
        let made = self.call(&call).await;
        let (reply, _) = made.map_err(|why| format!("the folder {} can't be made: {why}", self.folder))?;
        self.folder_id = reply["info"]["id"].as_str().map(str::to_owned);
        Ok(())
    }

    /// Makes small stories in the run's folder, several at a time; gives their loids in order.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn make_stories(&mut self, count: usize) -> Result<Vec<String>, String> {
        const AT_ONCE: usize = 8;
        let makers = (0..AT_ONCE.min(count)).map(|maker| {
            let (mut connection, folder) = (self.connection(), &self.folder);
            async move {
                let mut made = Vec::new();
                for number in (maker..count).step_by(AT_ONCE) {
                    let (reply, _) = send(&mut connection, &story(folder, number)).await?;
                    let id = reply["id"].as_str().ok_or("a new story has no `id` in the reply")?;
                    made.push((number, id.to_owned()));
                }
                Ok::<_, String>(made)
            }
        });
        let mut made = futures_util::future::try_join_all(makers)
            .await
            .map_err(|why| format!("a story can't be made in {}: {why}", self.folder))?
            .concat();
        made.sort_unstable();
        Ok(made.into_iter().map(|(_, id)| id).collect())
    }

    /// Takes away what was made, for good where the user may.
    ///
    /// # Errors
    /// A sentence that says what is left.
    pub async fn clean_up(&mut self) -> Result<(), String> {
        let Some(folder) = self.folder_id.take() else { return Ok(()) };
        let path = |what: &str| format!("/v3/object/{}/{what}", encoded(&folder));
        let left = |why: String| format!("{} is left behind: {why}", self.folder);
        send(&mut self.connection, &Call::new(Method::DELETE, path("discard"))).await.map_err(left)?;
        let bin = |why: String| format!("{} is left in the recycle bin: {why}", self.folder);
        send(&mut self.connection, &Call::new(Method::DELETE, path("destroy"))).await.map_err(bin)?;
        Ok(())
    }

    /// Ends the session.
    pub async fn log_out(&mut self) {
        // It ends by itself soon enough.
        let _ = self.connection.send(&Call::new(Method::GET, "/v3/auth/logout".to_owned())).await;
    }
}

/// The call that makes an object with a text.
pub fn object(folder: &str, name: &str, kind: &str, text: &str) -> Call {
    let options = json!({ "name": name, "type": kind, "folderPath": folder });
    let content = File { part: "content", name: "story.xml", media_type: "text/xml", text };
    Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[content])
}

fn story(folder: &str, number: usize) -> Call {
    object(folder, &format!("story-{number}.xml"), "Story", &format!("<story>{number}</story>"))
}

async fn send(connection: &mut Connection, call: &Call) -> Result<(Value, Answer), String> {
    let answer = connection.send(call).await.map_err(|trouble| trouble.to_string())?;
    Ok((result(&answer)?, answer))
}

/// The `result` of a success.
fn result(answer: &Answer) -> Result<Value, String> {
    if !answer.is_success() {
        return Err(answer.message());
    }
    let mut reply: Value =
        serde_json::from_slice(&answer.body).map_err(|error| format!("the answer is no JSON: {error}"))?;
    Ok(reply["result"].take())
}
