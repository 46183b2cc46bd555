//! Users, as clients of the older surface see them (docs/api/people.md).

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::{Privilege, User};
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_content::words::FoldedText;
use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::SharedText;
use stet_sysconfig::Site;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::place::{current_issue, optional_parameter, own_work_folder, team};

/// A user.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserEntry {
    /// Login name.
    id: String,
    /// Number of the user's sessions.
    ucount: usize,
    /// Login name.
    name: String,
    /// Full name of the user.
    full_name: String,
    /// Description of the user's work.
    description: String,
    /// Whether the user is disabled.
    disabled: bool,
    /// Team of the user, if any.
    teams: Vec<String>,
    /// Relevance for the `query`, 1 to 100; 0 without one.
    relevance: u8,
    /// With `showExtraInfo`: home address. Empty for other users, unless the caller manages users.
    #[serde(skip_serializing_if = "Option::is_none")]
    home_email: Option<String>,
    /// With `showExtraInfo`: business address.
    #[serde(skip_serializing_if = "Option::is_none")]
    business_email: Option<String>,
    /// With `showExtraInfo`: names of the calendars that the team's channels follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    calendars: Option<Vec<SharedText>>,
}

/// The caller's place in the organisation.
#[derive(Serialize, JsonSchema)]
pub struct UserData {
    /// Name of the team; empty without one.
    team: String,
    /// System attributes of the caller's new objects.
    system_attributes: UserAttributes,
}

/// System attributes of a user's new objects.
#[derive(Serialize, JsonSchema)]
pub struct UserAttributes {
    /// Path of the work folder.
    workfolder: String,
    #[serde(rename = "productInfo")]
    product_info: UserProduct,
}

/// Product information of a user's new objects.
#[derive(Serialize, JsonSchema)]
pub struct UserProduct {
    /// Current issue, `yyyyMMdd`: the next one of the default product; empty if there is none.
    #[serde(rename = "issueDate")]
    issue_date: String,
}

/// Returns how well a user matches a query, 1 to 100; 0 for no match.
fn relevance(user: &User, wanted: &FoldedText<'_>) -> u8 {
    let wanted = &**wanted;
    let of = |text: &str, weight: u8| {
        let text = &*FoldedText::of(text);
        let ends_word = |before: &str| before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let begins_word = || text.match_indices(wanted).any(|(at, _)| ends_word(&text[..at]));
        let part = if text == wanted {
            100
        } else if text.starts_with(wanted) {
            80
        } else if begins_word() {
            60
        } else if text.contains(wanted) {
            40
        } else {
            0
        };
        (u16::from(part as u8) * u16::from(weight) / 100) as u8
    };
    of(&user.name, 100).max(of(&user.full_name, 90)).max(of(&user.description, 50))
}

/// Returns the names of the calendars that the channels of a team follow.
fn calendars(site: &Site, team: Option<&str>) -> Vec<SharedText> {
    let Some(team) = team.and_then(|name| site.team(name)) else { return Vec::new() };
    let mut names: Vec<SharedText> = Vec::new();
    for calendar in team.channels.iter().filter_map(|named| site.channel(&named.name)?.calendar.clone()) {
        if !names.contains(&calendar) {
            names.push(calendar);
        }
    }
    names
}

/// `GET /conf/user/list`
pub async fn users(call: Call) -> Result<Json<Vec<UserEntry>>> {
    // Users are those of the whole server, whichever database is named.
    let site = call.app.sysconfig.site(call.database()?);
    let wanted = optional_parameter(&call, "query").map(FoldedText::of);
    let extra = call.query.boolean("showExtraInfo");
    let manages = call.access().has_everywhere(Privilege::ManageGroups);
    let (caller, directory) = (call.user()?.clone(), call.app.directory.clone());
    let mut sessions: HashMap<SharedText, usize> = HashMap::new();
    let mut timer = YieldTimer::start();
    for session in call.app.sessions.list(None).await? {
        timer.yield_if_due().await;
        *sessions.entry(session.user().clone()).or_default() += 1;
    }
    // The number of users is not bounded.
    let list = move || -> Result<Vec<UserEntry>> {
        let entry = |user: User| {
            let relevance = wanted.as_ref().map_or(0, |wanted| relevance(&user, wanted));
            if wanted.is_some() && relevance == 0 {
                return None;
            }
            let home = user.home_email.filter(|_| manages || *user.name == *caller);
            Some(UserEntry {
                id: user.name.to_string(),
                ucount: sessions.get(user.name.text()).copied().unwrap_or_default(),
                name: user.name.to_string(),
                full_name: user.full_name,
                description: user.description,
                disabled: user.disabled,
                relevance,
                home_email: extra.then(|| home.unwrap_or_default()),
                business_email: extra.then(|| user.business_email.unwrap_or_default()),
                calendars: extra.then(|| calendars(&site, user.team.as_deref())),
                teams: user.team.into_iter().collect(),
            })
        };
        let mut entries: Vec<UserEntry> = directory.users()?.into_iter().filter_map(entry).collect();
        // Users are read by name, and a stable sort keeps that order among equal relevance.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.relevance));
        Ok(entries)
    };
    Json::made(offload::LARGE_TEXT, list).await
}

/// `GET /conf/userdata`
pub async fn user_data(call: Call) -> Result<Json<UserData>> {
    let site = call.app.sysconfig.site(DatabaseId::main());
    let team = team(&call, &site)?;
    let workfolder = own_work_folder(&call, &site, team)?;
    if call.query.boolean("checkWorkfolder") {
        let dir = site.work_folder(&workfolder).map_or(&*workfolder, |(known, _)| &*known.dir);
        call.find_seen(&ObjectSource::Path(dir.to_owned()), DatabaseId::main())?;
    }
    let user = call.app.directory.user(call.user()?)?;
    Json::of(&UserData {
        team: user.and_then(|user| user.team.clone()).unwrap_or_default(),
        system_attributes: UserAttributes {
            workfolder,
            product_info: UserProduct { issue_date: current_issue(&call, &site) },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_of_user_names_rank_above_matches_of_descriptions() {
        let mut user = User::new("mara.holm");
        user.full_name = "Mara Holm".to_owned();
        user.description = "Harbour and ferries".to_owned();
        for (wanted, fits) in [
            ("mara.holm", 100),
            ("mara", 80),
            ("holm", 60),
            ("ara", 40),
            ("mara holm", 90),
            ("ferries", 30),
            ("err", 20),
            ("bob", 0),
            ("and ferries", 30),
        ] {
            assert_eq!(relevance(&user, &FoldedText::of(wanted)), fits, "{wanted}");
        }
    }

    #[test]
    fn a_name_is_found_in_whatever_form_it_is_written() {
        let mut user = User::new("Zo\u{eb}");
        user.full_name = "Zoe\u{308} Kru\u{308}ger".to_owned();
        for wanted in ["Zo\u{eb}", "ZOE\u{308}"] {
            assert_eq!(relevance(&user, &FoldedText::of(wanted)), 100, "{wanted}");
        }
        assert_eq!(relevance(&user, &FoldedText::of("Kr\u{fc}ger")), 54);
    }
}
