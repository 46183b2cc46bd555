//! Replies for people: sentences about changes, and plain tables.

use std::time::{Duration, UNIX_EPOCH};

use stet_auth::{Grant, GroupView};
use stet_domain::count::count_with_noun;
use stet_newsroom::administration::{AdminOutcome, AdminReply, AdminRequest};
use stet_newsroom::administration::{KeyView, SessionView, UserView};

/// The kind of a request, which decides the text about its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdminAction {
    /// Lists entries.
    List,
    /// Creates a user.
    AddUser,
    /// Sets a password.
    SetPassword,
    /// Disables a user.
    Disable,
    /// Enables a user again.
    Enable,
    /// Forgets failed logins.
    Unlock,
    /// Creates a group.
    AddGroup,
    /// Changes a group or its members.
    ChangeGroup,
    /// Removes a group.
    RemoveGroup,
    /// Creates a key.
    AddKey,
    /// Revokes a key.
    RevokeKey,
    /// Ends a session.
    EndSession,
}

impl AdminAction {
    pub(super) fn of(request: &AdminRequest) -> AdminAction {
        match request {
            AdminRequest::UserAdd(_) => AdminAction::AddUser,
            AdminRequest::UserPassword { .. } => AdminAction::SetPassword,
            AdminRequest::UserDisabled { disabled: true, .. } => AdminAction::Disable,
            AdminRequest::UserDisabled { disabled: false, .. } => AdminAction::Enable,
            AdminRequest::UserUnlock { .. } => AdminAction::Unlock,
            AdminRequest::GroupAdd(_) => AdminAction::AddGroup,
            AdminRequest::GroupChange(_) => AdminAction::ChangeGroup,
            AdminRequest::GroupRemove { .. } => AdminAction::RemoveGroup,
            AdminRequest::KeyAdd(_) => AdminAction::AddKey,
            AdminRequest::KeyRevoke { .. } => AdminAction::RevokeKey,
            AdminRequest::SessionEnd { .. } => AdminAction::EndSession,
            AdminRequest::UserList
            | AdminRequest::GroupList
            | AdminRequest::KeyList
            | AdminRequest::SessionList { .. }
            | AdminRequest::Audit(_) => AdminAction::List,
        }
    }
}

/// Formats the outcome: sentences, and a table of the affected entries if it shows more. `served`
/// is true if a running server carried out the request.
pub(super) fn describe_outcome(deed: AdminAction, done: &AdminOutcome, served: bool) -> String {
    let mut told = match &done.reply {
        AdminReply::Users(users) => users.first().and_then(|user| told_of_user(deed, user, done, served)),
        AdminReply::Groups(groups) => groups.first().and_then(|group| told_of_group(deed, group)),
        AdminReply::Keys(keys) => keys.first().filter(|_| deed == AdminAction::RevokeKey).map(describe_revoked_key),
        AdminReply::Sessions(sessions) => {
            sessions.first().filter(|_| deed == AdminAction::EndSession).map(describe_ended_session)
        }
        AdminReply::NewKey { .. } | AdminReply::Audit(_) => None,
    }
    .map(|told| control_free(&told) + "\n")
    .unwrap_or_default();
    if matches!(
        deed,
        AdminAction::List
            | AdminAction::AddUser
            | AdminAction::AddGroup
            | AdminAction::ChangeGroup
            | AdminAction::AddKey
    ) {
        told += &table(&done.reply);
    }
    if done.no_administrator {
        told += "No user is left who may manage users and groups. To restore an administrator, use `stet user enable` \
                 or `stet group join`.\n";
    }
    told
}

fn told_of_user(deed: AdminAction, user: &UserView, done: &AdminOutcome, served: bool) -> Option<String> {
    let name = &user.name;
    let sessions = || count(done.sessions_ended.unwrap_or_default(), "session");
    let has_password = user.password_changed.is_some();
    Some(match deed {
        AdminAction::AddUser if has_password => format!("Created user `{name}`."),
        // The user may still log in by single sign-on.
        AdminAction::AddUser => format!("Created user `{name}` without a password: see `stet user passwd`."),
        AdminAction::SetPassword => {
            let but = if user.disabled { " The user is still disabled: see `stet user enable`." } else { "" };
            format!("Set the password of `{name}` and ended {}. Keys stay in force.{but}", sessions())
        }
        AdminAction::Disable => {
            let keys = count(done.keys_ended.unwrap_or_default(), "key");
            format!("Disabled user `{name}`. Ended {} and revoked {keys}.", sessions())
        }
        AdminAction::Enable if has_password => {
            format!("Enabled user `{name}`. Earlier sessions and keys stay ended.")
        }
        AdminAction::Enable => format!("Enabled user `{name}`, who has no password: see `stet user passwd`."),
        AdminAction::Unlock if served => format!("Cleared the failed logins of `{name}`."),
        AdminAction::Unlock => {
            format!("No server is running, and only a running server counts failed logins: `{name}` is not locked out.")
        }
        _ => return None,
    })
}

fn told_of_group(deed: AdminAction, group: &GroupView) -> Option<String> {
    let name = &group.group_name;
    Some(match deed {
        AdminAction::AddGroup => format!("Created group `{name}`."),
        AdminAction::ChangeGroup => format!("Changed group `{name}`:"),
        AdminAction::RemoveGroup => {
            format!("Removed group `{name}`, which had {}.", count(group.members.len(), "user"))
        }
        _ => return None,
    })
}

fn describe_revoked_key(key: &KeyView) -> String {
    let used =
        if key.used { format!("It was last used at {}", time(key.last_used)) } else { "It was never used".to_owned() };
    format!("Revoked key `{}` of `{}`. {used}.", key.name, key.user)
}

fn describe_ended_session(session: &SessionView) -> String {
    format!("Ended session `{}` of `{}`. Its token is no longer valid.", session.id, session.user)
}

/// `no session`, `1 session`, `2 sessions`.
fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}"),
        more => count_with_noun(more, what),
    }
}

/// Formats a reply as a table.
fn table(reply: &AdminReply) -> String {
    match reply {
        AdminReply::Users(users) => rows(&["NAME", "FULL NAME", "GROUPS", "STATE"], users.iter().map(user)),
        AdminReply::Groups(groups) => rows(&["NAME", "MEMBERS", "PRIVILEGES", "DESCRIPTION"], groups.iter().map(group)),
        AdminReply::Keys(keys) => keys_table(keys),
        AdminReply::NewKey { key, token } => {
            format!("{}\nThe token is shown only once:\n{}\n", keys_table(std::slice::from_ref(key)), token.text())
        }
        // `stet audit` prints its lines itself.
        AdminReply::Audit(_) => String::new(),
        AdminReply::Sessions(sessions) => {
            let heads = ["SESSION", "USER", "APPLICATION", "ADDRESS", "BEGAN", "LAST USED", "ENDS"];
            rows(&heads, sessions.iter().map(session))
        }
    }
}

fn user(user: &UserView) -> Vec<String> {
    let state = match (user.disabled, user.password_changed) {
        (true, _) => "disabled",
        (false, None) => "no password",
        (false, Some(_)) => "",
    };
    vec![user.name.clone(), user.full_name.clone(), user.groups.join(","), state.to_owned()]
}

fn group(group: &GroupView) -> Vec<String> {
    vec![group.group_name.clone(), group.members.join(","), grants(&group.privileges), group.description.clone()]
}

/// Formats privileges in the notation of `--privilege`.
fn grants(grants: &[Grant]) -> String {
    let grant = |grant: &Grant| {
        let name = grant.privilege.name();
        grant.folder.as_ref().map_or_else(|| name.to_owned(), |folder| format!("{name}:{folder}"))
    };
    grants.iter().map(grant).collect::<Vec<_>>().join(",")
}

fn keys_table(keys: &[KeyView]) -> String {
    let row = |key: &KeyView| {
        let privileges = grants(&key.privileges);
        let ends = key.expires.map_or_else(|| "never".to_owned(), time);
        let used = if key.used { time(key.last_used) } else { "never".to_owned() };
        vec![key.name.clone(), key.user.clone(), privileges, used, ends]
    };
    rows(&["NAME", "USER", "PRIVILEGES", "LAST USED", "ENDS"], keys.iter().map(row))
}

fn session(session: &SessionView) -> Vec<String> {
    let times = [session.created, session.last_used, session.expires].map(time);
    let mut row =
        vec![session.id.clone(), session.user.clone(), session.application_id.clone(), session.address.clone()];
    row.extend(times);
    row
}

/// Replaces control characters other than line ends, which could move the cursor.
pub(super) fn control_free(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "?")
}

/// Formats epoch seconds as RFC 3339 in UTC. A time outside its range remains a number.
pub(super) fn time(epoch_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if epoch_s > END_OF_YEAR_9999 {
        return epoch_s.to_string();
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(epoch_s)).to_string()
}

/// Formats columns as wide as their widest entry. Control characters, which could move the cursor,
/// are replaced: names of programs come from the clients that log in.
pub(super) fn rows(heads: &[&str], entries: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines = vec![heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()];
    lines.extend(entries);
    for cell in lines.iter_mut().flatten() {
        *cell = cell.replace(char::is_control, "?");
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(padded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_read_them() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(253_402_300_799), "9999-12-31T23:59:59Z");
        assert_eq!(time(253_402_300_800), "253402300800");
        assert_eq!(time(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn columns_stand_below_their_heads_and_no_control_character_gets_out() {
        let entries = [vec!["long \u{1b}[2J".to_owned(), "x".to_owned()], vec!["s".to_owned(), String::new()]];
        assert_eq!(rows(&["A", "B"], entries.into_iter()), "A          B\nlong ?[2J  x\ns\n");
    }
}
