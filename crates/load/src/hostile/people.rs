//! The users of hostile clients, and those of the load's own clients beside them. They are created
//! before the load and disabled after it.

use std::sync::Arc;

use hyper::Method;
use serde_json::{Value, json};

use super::kinds::HostileKind;
use crate::client::{Call, Connection};
use crate::desk::{Desk, created_id, encode_segment};

/// The group that gives hostile clients their rights.
const GROUP: &str = "load-hostile";

/// The group that gives the load's own clients their rights.
const COLLEAGUES: &str = "load-newsroom";

/// The greatest number of users for the load's own clients.
const MOST_COLLEAGUES: usize = 64;

/// The users and their sessions.
pub struct People {
    /// The encoded token of a session, by kind and number; `None` for a stranger.
    tokens: Vec<Vec<Option<Arc<str>>>>,
    names: Vec<String>,
    /// The names and tokens of the users for the load's own clients.
    colleagues: Vec<(String, Arc<str>)>,
    /// The path of the folder in which they may do everything.
    pub folder: String,
    folder_id: String,
    /// The user of the load, who also receives their messages.
    pub victim: String,
    /// The beginning of the subjects of their messages.
    pub subject: String,
}

impl People {
    /// Creates users and logs them in: this many of each kind, and one for each of the load's own
    /// clients. A whole newsroom must not share the resources that a server grants to each user.
    ///
    /// # Errors
    /// A sentence with the server's error.
    pub async fn create(desk: &mut Desk, connection: &str, each: usize, clients: usize) -> Result<People, String> {
        // Not within the folder of the load, whose content is verified.
        let folder = format!("{}-hostile", desk.folder);
        let failed = |why: String| format!("hostile clients can't be created (the user needs `manageGroups`): {why}");
        let made =
            desk.call(&Call::json(Method::POST, "/v3/folder", &json!({ "path": folder }))).await.map_err(failed)?;
        let folder_id = created_id(&made.0, "folder").map_err(failed)?;
        let whoami = Call::new(Method::GET, "/v3/auth/connection".to_owned());
        let (session, _) = desk.call(&whoami).await.map_err(failed)?;
        let victim = session["username"].as_str().unwrap_or_default().to_owned();
        let subject = format!("hostile {}", desk.folder);
        let (tokens, names, colleagues) = (Vec::new(), Vec::new(), Vec::new());
        let mut people = People { tokens, names, colleagues, folder, folder_id, victim, subject };
        // A random password, known to this process only.
        let password = format!("hostile {:032x}", rand::random::<u128>());
        for kind in HostileKind::ALL {
            let mut tokens = Vec::new();
            for number in 0..each {
                if kind.is_stranger() {
                    tokens.push(None);
                    continue;
                }
                let name = format!("load-{}-{number}", kind.name());
                people.user(desk, &name, &password).await.map_err(failed)?;
                tokens.push(Some(log_in(desk, &name, &password, connection).await.map_err(failed)?));
                people.names.push(name);
            }
            people.tokens.push(tokens);
        }
        people.group(desk).await.map_err(failed)?;
        for number in 0..clients.min(MOST_COLLEAGUES) {
            let name = format!("{COLLEAGUES}-{number}");
            people.user(desk, &name, &password).await.map_err(failed)?;
            let token = log_in(desk, &name, &password, connection).await.map_err(failed)?;
            people.colleagues.push((name, token));
        }
        people.group_of_colleagues(desk).await.map_err(failed)?;
        Ok(people)
    }

    /// Returns the token of a client.
    pub fn token(&self, kind: HostileKind, number: usize) -> Option<Arc<str>> {
        self.tokens.get(kind as usize)?.get(number)?.clone()
    }

    /// Returns the token of a client of the load itself.
    pub fn colleague(&self, client: usize) -> Option<Arc<str>> {
        let number = client.checked_rem(self.colleagues.len())?;
        Some(self.colleagues[number].1.clone())
    }

    /// Returns the recipients of their messages: the hostile users and the user of the load.
    pub fn recipients(&self) -> Value {
        json!([GROUP, self.victim])
    }

    /// Creates a user, or takes over the one that an earlier load has left.
    async fn user(&self, desk: &mut Desk, name: &str, password: &str) -> Result<(), String> {
        let mut body = json!({ "name": name, "password": password, "disabled": false });
        if desk.call(&Call::json(Method::POST, "/v3/user", &body)).await.is_ok() {
            return Ok(());
        }
        body.as_object_mut().expect("it is an object").remove("name");
        desk.call(&Call::json(Method::PUT, &format!("/v3/user/{}", encode_segment(name)), &body)).await.map(drop)
    }

    /// Grants them to read and create everywhere, as reporters may, and all rights in their own
    /// folder.
    async fn group(&self, desk: &mut Desk) -> Result<(), String> {
        let everywhere = ["read", "create"].map(|privilege| json!({ "privilege": privilege }));
        let own = ["write", "delete", "destroy", "moderate"];
        let own = own.map(|privilege| json!({ "privilege": privilege, "folder": self.folder }));
        let privileges: Vec<_> = everywhere.into_iter().chain(own).collect();
        create_group(desk, &json!({ "groupName": GROUP, "members": self.names, "privileges": privileges })).await
    }

    /// Grants the load's own clients all rights in the folder of the load, and to read and create
    /// everywhere.
    async fn group_of_colleagues(&self, desk: &mut Desk) -> Result<(), String> {
        let everywhere = ["read", "create"].map(|privilege| json!({ "privilege": privilege }));
        let own = ["write", "delete", "destroy", "moderate", "forceUnlock"];
        let own = own.map(|privilege| json!({ "privilege": privilege, "folder": desk.folder }));
        let privileges: Vec<_> = everywhere.into_iter().chain(own).collect();
        let names: Vec<_> = self.colleagues.iter().map(|(name, _)| name).collect();
        create_group(desk, &json!({ "groupName": COLLEAGUES, "members": names, "privileges": privileges })).await
    }

    /// Disables the users, removes their groups and folder, and removes the messages that they have
    /// sent to the user of the load.
    ///
    /// # Errors
    /// A sentence that names what remains.
    pub async fn dismiss(&self, desk: &mut Desk) -> Result<(), String> {
        let mut left = Vec::new();
        for name in self.names.iter().chain(self.colleagues.iter().map(|(name, _)| name)) {
            let path = format!("/v3/user/{}", encode_segment(name));
            if let Err(why) = desk.call(&Call::json(Method::PUT, &path, &json!({ "disabled": true }))).await {
                left.push(format!("the user {name}: {why}"));
            }
        }
        for name in [GROUP, COLLEAGUES] {
            let group = Call::new(Method::DELETE, format!("/v3/group/delete?groupName={name}"));
            if let Err(why) = desk.call(&group).await {
                left.push(format!("the group {name}: {why}"));
            }
        }
        for what in ["discard", "destroy"] {
            let path = format!("/v3/object/{}/{what}", encode_segment(&self.folder_id));
            if let Err(why) = desk.raw(&Call::new(Method::DELETE, path)).await {
                left.push(format!("the folder {}: {why}", self.folder));
                break;
            }
        }
        let own = |message: &Value| {
            let is_own = message["subject"].as_str().is_some_and(|text| text.starts_with(&self.subject));
            message["id"].as_str().filter(|_| is_own).map(str::to_owned)
        };
        match desk.messages("inbox", own).await {
            Ok(messages) => {
                for message in messages {
                    // A message that no longer exists needs no removal.
                    let removal = Call::new(Method::DELETE, format!("/v3/message/{}", encode_segment(&message)));
                    let _ = desk.raw(&removal).await;
                }
            }
            Err(why) => left.push(format!("messages: {why}")),
        }
        if left.is_empty() { Ok(()) } else { Err(format!("of hostile clients is left {}", left.join("; "))) }
    }
}

/// Creates a group, or updates the one that an earlier load has left.
async fn create_group(desk: &mut Desk, group: &Value) -> Result<(), String> {
    if desk.call(&Call::json(Method::POST, "/v3/group/create", group)).await.is_ok() {
        return Ok(());
    }
    desk.call(&Call::json(Method::POST, "/v3/group/update", group)).await.map(drop)
}

/// Logs a user in. Returns the encoded token.
async fn log_in(desk: &Desk, name: &str, password: &str, connection: &str) -> Result<Arc<str>, String> {
    let body = json!({
        "connectionId": connection, "applicationId": "stet load", "username": name, "password": password,
    });
    let (target, _) = desk.pass();
    let mut stranger = Connection::new(target, None);
    let answer = stranger.send(&Call::json(Method::POST, "/v3/auth/login", &body)).await;
    let answer = answer.map_err(|trouble| trouble.to_string())?;
    let reply: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let token = reply["result"]["token"]["value"].as_str().ok_or_else(|| answer.message())?;
    Ok(encode_segment(token).into())
}
