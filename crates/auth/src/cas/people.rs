//! Finds or creates the user for a person whom the CAS server names, or refuses the login.

use std::sync::Arc;

use stet_config::CasConfig;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Error, Result};

use super::answer::CasPerson;
use super::login_refused_error;
use crate::change::leaves_no_administrator;
use crate::{Directory, Name, User};

/// Maximum length in bytes of a full name or e-mail address that is taken over.
const MAX_TEXT: usize = 255;

/// The configured rules for users of the CAS server.
///
/// Each login updates what the CAS server decides: the groups that are named in the mapping, and
/// full name and e-mail address if it sends them. All else is left to administrators.
pub(super) struct CasUserRules {
    create: bool,
    /// The groups of new users.
    groups: Vec<Name>,
    group_attribute: String,
    /// Values of the attribute, and the groups that they stand for.
    mapping: Vec<(String, Name)>,
    full_name_attribute: String,
    email_attribute: String,
}

impl CasUserRules {
    pub(super) fn of(config: &CasConfig) -> CasUserRules {
        CasUserRules {
            create: config.create_users,
            groups: config.groups.iter().map(|group| Name::of(group)).collect(),
            group_attribute: config.group_attribute.clone(),
            mapping: config.mapping().map(|(value, group)| (value.to_owned(), Name::of(group))).collect(),
            full_name_attribute: config.full_name_attribute.clone(),
            email_attribute: config.email_attribute.clone(),
        }
    }

    /// Returns the user whom the CAS server names. Nothing is written if the user's row is up to
    /// date.
    ///
    /// # Errors
    /// `InvalidLogin` for an illegal name, for a disabled user, and for an unknown one unless users
    /// are created; errors of the store.
    pub(super) async fn admit(&self, directory: &Directory, person: &CasPerson, address: &str) -> Result<Arc<User>> {
        let name = person.name.as_str();
        // A name that must be changed to be legal could be another user's: `admin` and a no-break
        // space is not `admin`. Another Unicode form of a name is the same name.
        let whole = name.trim() == name;
        let known = if whole { directory.user(name)? } else { None };
        if known.is_none() && (!whole || Name::for_user(name).is_err()) {
            tracing::warn!("login refused: the CAS server returned an invalid user name");
            return Err(login_refused_error("The CAS server returned a user name that is not valid here."));
        }
        if let Some(user) = &known {
            let mut current = User::clone(user);
            self.settle(directory, person, &mut current, false)?;
            if current == **user {
                return Ok(user.clone());
            }
        }
        let who = CallerIdentity { user: name.into(), session: "".into(), address: Some(address.into()) };
        let changing = directory.by(who);
        // Checked again within the change, since the user may have been disabled in between.
        let settled = changing.change_or_make_user(name, |user, made| self.settle(directory, person, user, made)).await;
        match settled {
            // The change would shut out the last administrator for good.
            Err(error) if leaves_no_administrator(&error) => {
                tracing::warn!(user = name, "kept the groups of the last administrator despite the CAS server");
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
        let what = if known.is_some() { "user updated" } else { "user created" };
        tracing::info!(user = name, "{what} from the data of the CAS server");
        directory.user(name)?.filter(|user| !user.disabled).ok_or_else(|| disabled_user_error(name))
    }

    /// Updates a user as configuration and CAS server require, as far as the groups exist.
    fn settle(&self, directory: &Directory, person: &CasPerson, user: &mut User, made: bool) -> Result<()> {
        if made && !self.create {
            tracing::warn!("login refused: the CAS server returned an unknown user");
            return Err(login_refused_error(format!(
                "The CAS server accepted the ticket for `{}`, but no such user exists here.",
                person.name
            )));
        }
        if user.disabled {
            return Err(disabled_user_error(&user.name));
        }
        let is_there = |group: &Name| {
            let found = directory.group(group)?.is_some();
            if !found {
                tracing::warn!(
                    user = person.name, %group,
                    "the configuration gives the user a group that does not exist"
                );
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
        if let Some(name) = usable_text(person, &self.full_name_attribute) {
            user.full_name = name.to_owned();
        }
        if let Some(address) = usable_text(person, &self.email_attribute) {
            user.business_email = Some(address.to_owned());
        }
        Ok(())
    }
}

/// Returns the first value of an attribute, if it may be taken over.
fn usable_text<'a>(person: &'a CasPerson, attribute: &'a str) -> Option<&'a str> {
    let well = |value: &&str| value.len() <= MAX_TEXT && !value.chars().any(char::is_control);
    person.values(attribute).next().filter(well)
}

fn disabled_user_error(name: &str) -> Error {
    tracing::warn!(user = name, "login refused: the user is disabled");
    login_refused_error(format!("The user `{name}` is disabled."))
}
