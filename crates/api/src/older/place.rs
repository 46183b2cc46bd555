//! The folders of the site configuration for objects of a type, with defaults for the values that a
//! call leaves out.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use stet_base::nearest::with_nearest;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_domain::object::{IssueDate, SharedText};
use stet_sysconfig::{Destination, DestinationQuery, Site, Team, day_at};
use stet_web::call::Call;

use crate::conf::channel_id;

/// Returns the present day in a time zone.
pub(super) fn today(call: &Call, zone: &TimeZone) -> Date {
    day_at(call.app.repository.clock().now_ms(), zone)
}

/// Returns the current issue: the next one of the default product after today, `yyyyMMdd`; empty if
/// the site has none.
pub(super) fn current_issue(call: &Call, site: &Site) -> String {
    let now_ms = call.app.repository.clock().now_ms();
    site.default_product().and_then(|product| product.current_issue(now_ms)).unwrap_or_default()
}

/// Returns the team that a parameter names, or else the caller's own; `None` if the caller has none
/// that the site knows.
///
/// # Errors
/// `InvalidParameter` for an unknown team; errors of the store.
pub(super) fn team<'s>(call: &Call, site: &'s Site) -> Result<Option<&'s Team>> {
    if let Some(name) = optional_parameter(call, "team") {
        let names = || site.teams.iter().take(20).map(|team| &*team.name).collect::<Vec<_>>().join(", ");
        let team = site.team(name);
        return team.map(Some).ok_or_else(|| {
            let error = Error::parameter("team", name, &format!("a team of the site configuration ({})", names()));
            with_nearest(error, name, site.teams.iter().map(|team| &*team.name))
        });
    }
    let user = call.app.directory.user(call.user()?)?;
    Ok(user.and_then(|user| site.team(user.team.as_deref()?)))
}

/// Returns the value of a parameter, if the call takes it and it is not empty.
pub(super) fn optional_parameter<'c>(call: &'c Call, parameter: &str) -> Option<&'c str> {
    let value = if call.query.lists(parameter) { call.query.text(parameter) } else { None };
    value.filter(|value| !value.is_empty())
}

/// Returns the path of the work folder for a call that names none: the caller's own, or the default
/// one of the caller's team, or of all teams.
///
/// # Errors
/// Errors of the store.
pub(super) fn own_work_folder(call: &Call, site: &Site, team: Option<&Team>) -> Result<String> {
    let user = call.user()?;
    let is_set = call.app.directory.user(user)?.is_some_and(|user| user.work.is_some());
    let of_site = if is_set { None } else { site.default_work_folder(team) };
    // Where the site has none, the work folder is that of the newer surface.
    of_site.map_or_else(|| call.app.work_folder_of(user), |folder| Ok(folder.path.to_string()))
}

/// The values that determine the folder of an object, from a call, completed by defaults.
pub(super) struct FolderCriteria {
    pub content: SharedText,
    pub work_folder: String,
    channel: Option<String>,
    pub issue_date: String,
    pub edition: String,
    pub insert: String,
    pub team: String,
}

impl FolderCriteria {
    /// Reads the values from a call. `parameter` is the name of the parameter with the object type.
    ///
    /// # Errors
    /// `TypeNotFound`; `InvalidParameter` for values that the site does not know; errors of the
    /// store.
    pub fn of(call: &Call, site: &Site, database: DatabaseId, parameter: &str) -> Result<FolderCriteria> {
        // The parameter is required.
        let kind = call.query.text(parameter).unwrap_or_default();
        let types = call.app.sysconfig.object_types(database);
        let content = types.named(kind)?.name.clone();
        let channel = optional_parameter(call, "channel").map(|name| channel_id(site, name)).transpose()?;
        let channel = channel.and_then(|id| site.channel(&id)).map(|channel| channel.name.to_string());
        let team = team(call, site)?;
        let work_folder =
            match optional_parameter(call, "workfolder").or_else(|| optional_parameter(call, "sectionPath")) {
                Some(path) => path.to_owned(),
                None => own_work_folder(call, site, team)?,
            };
        let issue_date = match IssueDate::given(optional_parameter(call, "issueDate"))? {
            Some(date) => date.text().to_string(),
            None => current_issue(call, site),
        };
        let product = site.default_product();
        let edition = || product?.editions.iter().find(|edition| edition.is_default).map(|it| it.name.to_string());
        let insert = || product?.inserts.iter().find(|insert| insert.is_default).map(|it| it.name.to_string());
        let or_else = |parameter: &str, default: &dyn Fn() -> Option<String>| {
            optional_parameter(call, parameter).map(str::to_owned).or_else(default).unwrap_or_default()
        };
        Ok(FolderCriteria {
            content,
            work_folder,
            channel,
            issue_date,
            edition: or_else("edition", &edition),
            insert: or_else("insert", &insert),
            team: team.map(|team| team.name.to_string()).unwrap_or_default(),
        })
    }

    /// Returns the destination of such objects, and the path of that folder.
    ///
    /// # Errors
    /// `ObjectNotFound` if the site has no folder for them, or one that depends on unknown values.
    pub fn destination<'s>(&self, site: &'s Site) -> Result<(Destination<'s>, String)> {
        fn some(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        let wanted = DestinationQuery {
            content: &self.content,
            work_folder: &self.work_folder,
            channel: self.channel.as_deref(),
            issue_date: some(&self.issue_date),
            product: None,
            edition: some(&self.edition),
            insert: some(&self.insert),
            team: some(&self.team),
        };
        let found = site.destination(&wanted);
        found.and_then(|found| Some((found, site.filled(&found, &wanted)?))).ok_or_else(|| {
            let (content, folder) = (&self.content, &self.work_folder);
            let message =
                format!("The site configuration has no folder for a {content} of the work folder `{folder}`.");
            Error::new(Code::ObjectNotFound, message).with_source(folder)
        })
    }
}
