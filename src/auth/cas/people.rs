//! The user for a person whom the CAS server names: found, made or refused.

use std::sync::Arc;

use stet_actors::command::Who;
use stet_actors::error::{Error, Result};

use super::answer::Person;
use super::refused;
use crate::auth::change::leaves_no_administrator;
use crate::auth::{Directory, Name, User};
use crate::config::CasConfig;

/// Bytes of the longest full name or e-mail address that is taken over.
const MAX_TEXT: usize = 255;

/// The configuration's say.
///
/// What the CAS server decides is brought up to date at each login: the groups that are named in
/// the mapping, and full name and e-mail address where it sends them. All else is the
/// administrators'.
pub(super) struct Rules {
    create: bool,
    /// Of users who are made.
    groups: Vec<Name>,
    group_attribute: String,
    /// Values of the attribute, and the groups they stand for.
    mapping: Vec<(String, Name)>,
    full_name_attribute: String,
    email_attribute: String,
}

impl Rules {
    pub(super) fn of(config: &CasConfig) -> Rules {
        Rules {
            create: config.create_users,
            groups: config.groups.iter().map(|group| Name::of(group)).collect(),
            group_attribute: config.group_attribute.clone(),
            mapping: config.mapping().map(|(value, group)| (value.to_owned(), Name::of(group))).collect(),
            full_name_attribute: config.full_name_attribute.clone(),
            email_attribute: config.email_attribute.clone(),
        }
    }

    /// The user whom the CAS server names. A user whose row is as it should be costs no write.
    ///
    /// # Errors
    /// `InvalidLogin` for an illegal name, a disabled user, and an unknown one where none are made;
    /// what the store says.
    pub(super) async fn admit(&self, directory: &Directory, person: &Person, address: &str) -> Result<Arc<User>> {
        let name = person.name.as_str();
        // A name that would be changed to make it legal could be another user's: who is `admin` and
        // a no-break space is not `admin`. That it is spelled in another form of Unicode changes
        // nothing of it.
        let whole = name.trim() == name;
        let known = if whole { directory.user(name)? } else { None };
        if known.is_none() && (!whole || Name::for_user(name).is_err()) {
            tracing::warn!("login refused: the CAS server gives a user name that is none");
            return Err(refused("The user name that the CAS server gives can't be one here."));
        }
        if let Some(user) = &known {
            let mut current = User::clone(user);
            self.settle(directory, person, &mut current, false)?;
            if current == **user {
                return Ok(user.clone());
            }
        }
        let who = Who { user: name.into(), session: "".into(), address: Some(address.into()) };
        let changing = directory.by(who);
        // Looked at again in there: since then, somebody may have been disabled.
        let settled = changing.change_or_make_user(name, |user, made| self.settle(directory, person, user, made)).await;
        match settled {
            // The last administrator would be shut out by it for good.
            Err(error) if leaves_no_administrator(&error) => {
                tracing::warn!(user = name, "the groups of the last administrator stay, whatever the CAS server says");
                let keep_groups = |user: &mut User, made| {
                    let groups = user.groups.clone();
                    self.settle(directory, person, user, made)?;
                    user.groups = groups;
                    Ok(())
                };
                changing.change_or_make_user(name, keep_groups).await?;
            }
            settled => settled?,
        }
        let what = if known.is_some() { "user brought up to date" } else { "user made" };
        tracing::info!(user = name, "{what} as the CAS server says");
        directory.user(name)?.filter(|user| !user.disabled).ok_or_else(|| disabled(name))
    }

    /// Makes of a user what configuration and CAS server say, as far as there are such groups.
    fn settle(&self, directory: &Directory, person: &Person, user: &mut User, made: bool) -> Result<()> {
        if made && !self.create {
            tracing::warn!("login refused: the CAS server names someone unknown here");
            return Err(refused(format!("The CAS server vouches for `{}`, who is no user here.", person.name)));
        }
        if user.disabled {
            return Err(disabled(&user.name));
        }
        let is_there = |group: &Name| {
            let found = directory.group(group)?.is_some();
            if !found {
                tracing::warn!(user = person.name, %group, "the configuration names a group for the user that is not there");
            }
            Ok::<_, Error>(found)
        };
        if made {
            user.groups.clear();
            for group in &self.groups {
                if is_there(group)? {
                    user.groups.push(group.clone());
                }
            }
        }
        let values: Vec<&str> = person.values(&self.group_attribute).collect();
        for (_, group) in &self.mapping {
            let belongs = self.mapping.iter().any(|(value, given)| given == group && values.contains(&value.as_str()));
            let is_in = user.groups.contains(group);
            if belongs && !is_in {
                if is_there(group)? {
                    user.groups.push(group.clone());
                }
            } else if !belongs && is_in {
                user.groups.retain(|other| other != group);
            }
        }
        if let Some(name) = text(person, &self.full_name_attribute) {
            user.full_name = name.to_owned();
        }
        if let Some(address) = text(person, &self.email_attribute) {
            user.business_email = Some(address.to_owned());
        }
        Ok(())
    }
}

/// The first value of an attribute, if it is one to be taken over.
fn text<'a>(person: &'a Person, attribute: &'a str) -> Option<&'a str> {
    let well = |value: &&str| value.len() <= MAX_TEXT && !value.chars().any(char::is_control);
    person.values(attribute).next().filter(well)
}

fn disabled(name: &str) -> Error {
    tracing::warn!(user = name, "login refused: the user is disabled");
    refused(format!("The user `{name}` is disabled."))
}
