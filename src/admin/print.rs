//! Replies for people: plain tables.

use std::time::{Duration, UNIX_EPOCH};

use super::operations::AdminReply;
use super::views::{KeyView, SessionView, UserView};
use crate::auth::{Grant, GroupView};

/// A reply as lines of columns. Times are epoch seconds, as in the JSON.
pub(super) fn table(reply: &AdminReply) -> String {
    match reply {
        AdminReply::Users(users) => rows(&["NAME", "FULL NAME", "GROUPS", "STATE"], users.iter().map(user)),
        AdminReply::Groups(groups) => rows(&["NAME", "MEMBERS", "PRIVILEGES", "DESCRIPTION"], groups.iter().map(group)),
        AdminReply::Keys(keys) => keys_table(keys),
        AdminReply::NewKey { key, token } => {
            format!("{}\nThe token is shown this once:\n{}\n", keys_table(std::slice::from_ref(key)), token.text())
        }
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

/// As they are given to `--privilege`.
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
        vec![key.name.clone(), key.user.clone(), privileges, time(key.last_used), ends]
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

/// Epoch seconds as people read them: RFC 3339, in UTC. A time outside its range stays a number.
fn time(epoch_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if epoch_s > END_OF_YEAR_9999 {
        return epoch_s.to_string();
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(epoch_s)).to_string()
}

/// Columns as wide as their widest entry. What could move the cursor is not printed: names of programs come from whoever logs in.
fn rows(heads: &[&str], entries: impl Iterator<Item = Vec<String>>) -> String {
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
