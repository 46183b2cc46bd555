//! The user who prepares a load: logs in, creates the objects, reads them afterwards, and cleans
//! up.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::client::{Call, CallAnswer, Connection, FormFile, ServerTarget};

/// The number of messages that one call reads: the size of a mailbox.
const MOST_MESSAGES: usize = 1000;

/// The error for a reply that cannot be understood.
pub const ODD: &str = "a reply does not have the documented form";

/// All characters but those that RFC 3986 leaves unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a text for a path segment or a query value.
pub fn encode_segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// The session that prepares a load, reads its results and cleans up.
pub struct Desk {
    target: Arc<ServerTarget>,
    connection: Connection,
    token: Arc<str>,
    /// The login call.
    entry: Call,
    /// The path of this run's own folder.
    pub folder: String,
    folder_id: Option<String>,
    /// `true` if messages have been sent. Their subjects begin with the folder's path.
    sends: bool,
}

impl Desk {
    /// Logs in. Creates nothing yet.
    ///
    /// # Errors
    /// A sentence for the operator, without the password.
    pub async fn log_in(
        target: Arc<ServerTarget>,
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
            return Err(format!("the server refuses the login of `{user}`: {}", answer.message()));
        }
        let reply = result(&answer).map_err(|why| format!("`{user}` can't log in: {why}"))?;
        let token = reply["token"]["value"]
            .as_str()
            .ok_or("the login returned no token. The URL may not be the base address")?;
        let token: Arc<str> = encode_segment(token).into();
        // A clock set before 1970 reads as 1970. The process id distinguishes runs of one
        // millisecond.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let folder = format!("{}/{now}-{}", folder.trim_end_matches('/'), std::process::id());
        let connection = Connection::new(target.clone(), Some(token.clone()));
        Ok(Desk { target, connection, token, entry, folder, folder_id: None, sends: false })
    }

    /// Returns a connection for another client of the same session.
    pub fn connection(&self) -> Connection {
        Connection::new(self.target.clone(), Some(self.token.clone()))
    }

    /// Returns the server and the encoded token of the session, for connections of another kind.
    pub fn pass(&self) -> (Arc<ServerTarget>, Arc<str>) {
        (self.target.clone(), self.token.clone())
    }

    /// Returns the login call, to be sent again.
    pub fn entry(&self) -> &Call {
        &self.entry
    }

    /// Sends a call that must succeed, whatever the body of its answer.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn raw(&mut self, call: &Call) -> Result<CallAnswer, String> {
        let answer = self.connection.send(call).await.map_err(|trouble| trouble.to_string())?;
        if answer.is_success() { Ok(answer) } else { Err(answer.message()) }
    }

    /// Sends a call that must succeed with bare JSON, the format of older resources.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn bare(&mut self, call: &Call) -> Result<Value, String> {
        let answer = self.raw(call).await?;
        serde_json::from_slice(&answer.body).map_err(|error| format!("the answer is not JSON: {error}"))
    }

    /// Sends a call that must succeed.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn call(&mut self, call: &Call) -> Result<(Value, CallAnswer), String> {
        send(&mut self.connection, call).await
    }

    /// Notes that messages will be sent, which lie in no folder. Their subjects begin with
    /// [`Desk::subject`].
    pub fn sends_messages(&mut self) {
        self.sends = true;
    }

    /// Returns the beginning of the subjects of this run's messages.
    pub fn subject(&self) -> String {
        format!("{} ", self.folder)
    }

    /// Reads all entries of a listing, each once, and maps them with `entry`.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn pages<T>(&mut self, path: &str, mut entry: impl FnMut(&Value) -> Option<T>) -> Result<Vec<T>, String> {
        const PAGE: usize = 500;
        let (mut all, mut known, mut offset) = (Vec::new(), HashSet::new(), 0);
        loop {
            let page = format!("{path}?limit={PAGE}&offset={offset}");
            let (reply, _) = self.call(&Call::new(Method::GET, page)).await?;
            let items = reply["items"].as_array().ok_or(ODD)?;
            // A server may have smaller pages than requested.
            if items.is_empty() {
                return Ok(all);
            }
            offset += items.len();
            let before = known.len();
            let new = items.iter().filter(|item| known.insert(item["id"].as_str().unwrap_or_default().to_owned()));
            all.extend(new.filter_map(&mut entry));
            // The page repeats known entries only: the listing ends here, whatever the offset.
            if known.len() == before {
                return Ok(all);
            }
        }
    }

    /// Reads the messages of a mailbox, at most one page, and maps them with `message`.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn messages<T>(
        &mut self,
        side: &str,
        message: impl FnMut(&Value) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let path = format!("/v3/message/{side}?limit={MOST_MESSAGES}");
        let (reply, _) = self.call(&Call::new(Method::GET, path)).await?;
        Ok(reply["items"].as_array().ok_or(ODD)?.iter().filter_map(message).collect())
    }

    /// Removes this run's messages from the user's mailboxes.
    async fn remove_messages(&mut self) -> Result<(), String> {
        let subject = self.subject();
        for side in ["inbox", "outbox"] {
            let own = |message: &Value| {
                let is_own = message["subject"].as_str().is_some_and(|text| text.starts_with(&subject));
                message["id"].as_str().filter(|_| is_own).map(str::to_owned)
            };
            for id in self.messages(side, own).await? {
                let removed = Call::new(Method::DELETE, format!("/v3/message/{}", encode_segment(&id)));
                let answer = self.connection.send(&removed).await.map_err(|trouble| trouble.to_string())?;
                // Another client may have deleted it.
                if !answer.is_success() && answer.status != 404 {
                    return Err(answer.message());
                }
            }
        }
        Ok(())
    }

    /// Creates the run's own folder.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn make_folder(&mut self) -> Result<(), String> {
        let call = Call::json(Method::POST, "/v3/folder", &json!({ "path": self.folder }));
        let made = self.call(&call).await;
        let (reply, _) = made.map_err(|why| format!("the folder {} can't be created: {why}", self.folder))?;
        self.folder_id = reply["info"]["id"].as_str().map(str::to_owned);
        Ok(())
    }

    /// Creates small stories in the run's folder, several at a time. Returns their loids in order.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn make_stories(&mut self, count: usize) -> Result<Vec<String>, String> {
        const AT_ONCE: usize = 8;
        let makers = (0..AT_ONCE.min(count)).map(|maker| {
            let (mut connection, folder) = (self.connection(), &self.folder);
            async move {
                let mut made = Vec::new();
                for number in (maker..count).step_by(AT_ONCE) {
                    let (reply, _) = send(&mut connection, &story(folder, number)).await?;
                    made.push((number, created_id(&reply, "story")?));
                }
                Ok::<_, String>(made)
            }
        });
        let mut made = futures_util::future::try_join_all(makers)
            .await
            .map_err(|why| format!("a story can't be created in {}: {why}", self.folder))?
            .concat();
        made.sort_unstable();
        Ok(made.into_iter().map(|(_, id)| id).collect())
    }

    /// Discards the created objects, and destroys them if the user may.
    ///
    /// # Errors
    /// A sentence that names what remains.
    pub async fn clean_up(&mut self) -> Result<(), String> {
        let messages = if std::mem::take(&mut self.sends) { self.remove_messages().await } else { Ok(()) };
        self.remove_folder().await?;
        messages.map_err(|why| format!("messages are left in the boxes: {why}"))
    }

    async fn remove_folder(&mut self) -> Result<(), String> {
        let Some(folder) = self.folder_id.take() else { return Ok(()) };
        let path = |what: &str| format!("/v3/object/{}/{what}", encode_segment(&folder));
        let left = |why: String| format!("{} is left behind: {why}", self.folder);
        send(&mut self.connection, &Call::new(Method::DELETE, path("discard"))).await.map_err(left)?;
        let bin = |why: String| format!("{} is left in the recycle bin: {why}", self.folder);
        send(&mut self.connection, &Call::new(Method::DELETE, path("destroy"))).await.map_err(bin)?;
        Ok(())
    }

    /// Ends the session.
    pub async fn log_out(&mut self) {
        // A failure does no harm: the session soon expires.
        let _ = self.connection.send(&Call::new(Method::GET, "/v3/auth/logout".to_owned())).await;
    }
}

/// Returns the id in the reply to a creation of an object or container.
///
/// # Errors
/// A sentence if there is none.
pub fn created_id(reply: &Value, what: &str) -> Result<String, String> {
    let id = reply["info"]["id"].as_str().or_else(|| reply["id"].as_str());
    Ok(id.ok_or_else(|| format!("a new {what} has no `id` in the reply"))?.to_owned())
}

/// Returns the call that creates an object with a text.
pub fn object(folder: &str, name: &str, kind: &str, text: &str) -> Call {
    let options = json!({ "name": name, "type": kind, "folderPath": folder });
    let content = FormFile { part: "content", name: "story.xml", media_type: "text/xml", text };
    Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[content])
}

fn story(folder: &str, number: usize) -> Call {
    object(folder, &format!("story-{number}.xml"), "Story", &format!("<story>{number}</story>"))
}

async fn send(connection: &mut Connection, call: &Call) -> Result<(Value, CallAnswer), String> {
    let answer = connection.send(call).await.map_err(|trouble| trouble.to_string())?;
    Ok((result(&answer)?, answer))
}

/// Returns the `result` of a success.
fn result(answer: &CallAnswer) -> Result<Value, String> {
    if !answer.is_success() {
        return Err(answer.message());
    }
    let mut reply: Value =
        serde_json::from_slice(&answer.body).map_err(|error| format!("the answer is not JSON: {error}"))?;
    Ok(reply["result"].take())
}
