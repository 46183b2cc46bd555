//! The one who logs in, makes what a load works on, looks at it afterwards, and cleans up.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::client::{Answer, Call, Connection, File, Target};

/// Messages that one call reads: as many as a box has.
const MOST_MESSAGES: usize = 1000;

/// Of a reply that can't be read.
pub const ODD: &str = "a reply has another shape than the interface says";

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
    /// Whether messages have been sent, each with a subject that begins with the folder.
    sends: bool,
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
        Ok(Desk { target, connection, token, entry, folder, folder_id: None, sends: false })
    }

    /// A connection for another client of the same session.
    pub fn connection(&self) -> Connection {
        Connection::new(self.target.clone(), Some(self.token.clone()))
    }

    /// The server, and the token of the session as it stands in a query: for whoever makes
    /// connections of another kind.
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

    /// Notes that messages are going to be sent, which lie in no folder: [`Desk::subject`] begins
    /// their subjects.
    pub fn sends_messages(&mut self) {
        self.sends = true;
    }

    /// What the subjects of this run's messages begin with.
    pub fn subject(&self) -> String {
        format!("{} ", self.folder)
    }

    /// All entries of a listing, each once, as what is made of them.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn pages<T>(&mut self, path: &str, mut entry: impl FnMut(&Value) -> Option<T>) -> Result<Vec<T>, String> {
        const PAGE: usize = 500;
        let (mut all, mut known, mut offset) = (Vec::new(), HashSet::new(), 0);
        loop {
            let page = format!("{path}?limit={PAGE}&offset={offset}");
            let (reply, _) = self.call(&Call::new(Method::GET, page)).await?;
            let items = reply["items"].as_array().ok_or(ODD)?;
            // A server may have smaller pages than it is asked for.
            if items.is_empty() {
                return Ok(all);
            }
            offset += items.len();
            let before = known.len();
            let new = items.iter().filter(|item| known.insert(item["id"].as_str().unwrap_or_default().to_owned()));
            all.extend(new.filter_map(&mut entry));
            // Nothing but what it has shown already: it is over, whatever the place that was asked
            // for.
            if known.len() == before {
                return Ok(all);
            }
        }
    }

    /// The messages of a box, as what is made of each; there is no more than one page of them.
    ///
    /// # Errors
    /// A sentence with what the server said.
    pub async fn messages<T>(
        &mut self,
        side: &str,
        message: impl FnMut(&Value) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let path = format!("/v3/message/{side}?limit={MOST_MESSAGES}");
        let (reply, _) = self.call(&Call::new(Method::GET, path)).await?;
        Ok(reply["items"].as_array().ok_or(ODD)?.iter().filter_map(message).collect())
    }

    /// Removes this run's messages from the user's boxes.
    async fn remove_messages(&mut self) -> Result<(), String> {
        let subject = self.subject();
        for side in ["inbox", "outbox"] {
            let own = |message: &Value| {
                let is_own = message["subject"].as_str().is_some_and(|text| text.starts_with(&subject));
                message["id"].as_str().filter(|_| is_own).map(str::to_owned)
            };
            for id in self.messages(side, own).await? {
                let removed = Call::new(Method::DELETE, format!("/v3/message/{}", encoded(&id)));
                let answer = self.connection.send(&removed).await.map_err(|trouble| trouble.to_string())?;
                // It may be gone by now.
                if !answer.is_success() && answer.status != 404 {
                    return Err(answer.message());
                }
            }
        }
        Ok(())
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
                    made.push((number, id(&reply, "story")?));
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
        let messages = if std::mem::take(&mut self.sends) { self.remove_messages().await } else { Ok(()) };
        self.remove_folder().await?;
        messages.map_err(|why| format!("messages are left in the boxes: {why}"))
    }

    async fn remove_folder(&mut self) -> Result<(), String> {
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

/// The id in the reply to a creation, of an object or of a container.
///
/// # Errors
/// A sentence: there is none.
pub fn id(reply: &Value, what: &str) -> Result<String, String> {
    let id = reply["info"]["id"].as_str().or_else(|| reply["id"].as_str());
    Ok(id.ok_or_else(|| format!("a new {what} has no `id` in the reply"))?.to_owned())
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
