//! The format of `newsroom.json`.

use serde::Deserialize;
use stet_auth::Privilege;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    pub groups: Vec<SampleGroup>,
    pub users: Vec<SampleUser>,
    /// Paths of folders that would otherwise not exist, because nothing lies in them.
    pub folders: Vec<String>,
    pub objects: Vec<SampleObject>,
    pub drawers: Vec<SampleDrawer>,
    pub liveblogs: Vec<SampleLiveblog>,
    pub topics: Vec<SampleTopic>,
    pub topic_plans: Vec<SamplePlan>,
}

/// A group of the sample.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleGroup {
    /// Name of the group.
    pub name: String,
    /// Purpose of the group.
    pub description: String,
    /// Grants of its members.
    pub privileges: Vec<SampleGrant>,
}

/// A grant of a group.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleGrant {
    /// Privilege.
    pub privilege: Privilege,
    /// Path of the folder below which the grant holds; everywhere without one.
    pub folder: Option<String>,
}

/// A user of the sample.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SampleUser {
    /// The name to log in with.
    pub name: String,
    /// Full name.
    pub full_name: String,
    /// Job of the user.
    pub description: String,
    /// Names of groups.
    pub groups: Vec<String>,
    /// Path of the home folder.
    pub home: Option<String>,
    /// Path of the work folder.
    pub work: Option<String>,
    /// Team.
    pub team: Option<String>,
    /// Mail address at home.
    pub home_email: Option<String>,
    /// Mail address at work.
    pub business_email: Option<String>,
    /// Whether the user is disabled.
    #[serde(default)]
    pub disabled: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SampleObject {
    pub path: String,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub status: Option<String>,
    pub issue_date: Option<String>,
    pub work_folder: Option<String>,
    pub creator: Option<String>,
    /// Age in seconds at the first start.
    #[serde(default)]
    pub age_seconds: u64,
    pub suid: Option<String>,
    pub attributes: Option<String>,
    pub system_attributes: Option<String>,
    pub usage_tickets: Option<String>,
    /// The channel copies of a bundle.
    #[serde(default)]
    pub copies: Vec<SampleCopy>,
}

/// A channel copy.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SampleCopy {
    pub channel: String,
    /// Channel of the copy that this one inherits from and follows.
    pub inherit_from: Option<String>,
}

impl SampleObject {
    /// Returns an object for a file that the manifest does not mention.
    pub fn at(path: &str) -> SampleObject {
        SampleObject {
            path: path.to_owned(),
            type_name: None,
            status: None,
            issue_date: None,
            work_folder: None,
            creator: None,
            age_seconds: 0,
            suid: None,
            attributes: None,
            system_attributes: None,
            usage_tickets: None,
            copies: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SampleDrawer {
    pub path: String,
    pub title: String,
    pub description: String,
    pub capacity: u32,
    pub creator: Option<String>,
    pub items: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SampleLiveblog {
    pub path: String,
    /// Path of the object whose content is the initial one.
    pub template: String,
    pub status: Option<String>,
    pub creator: Option<String>,
    pub attributes: Option<String>,
    pub system_attributes: Option<String>,
    /// Whether every post needs an approval.
    pub moderated: bool,
    pub posts: Vec<SamplePost>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SamplePost {
    /// Age in seconds at the first start.
    pub age_seconds: u64,
    pub creator: Option<String>,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Text of the only paragraph.
    pub text: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub pinned: bool,
    /// Whether the post is approved, so that readers see it.
    #[serde(default = "yes")]
    pub approved: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SampleTopic {
    pub path: String,
    pub title: String,
    pub description: String,
    pub creator: Option<String>,
    pub status: Option<String>,
    pub lines: Vec<SampleLine>,
}

/// A divider or an item of a topic.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum SampleLine {
    /// Title of a divider.
    Divider(String),
    Item(Box<SampleItem>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct SampleItem {
    pub name: String,
    pub content_type: String,
    pub comment: String,
    pub occupation: String,
    pub priority: i64,
    pub product: String,
    pub edition: String,
    pub assignees: Vec<String>,
    /// Seconds from the first start to the deadline.
    pub due_in_seconds: Option<u64>,
    pub status: Option<String>,
    /// Path of the attached object.
    pub attachment: Option<String>,
    pub lines: Vec<SampleLine>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SamplePlan {
    pub path: String,
    pub title: String,
    pub description: String,
    pub creator: Option<String>,
    pub lines: Vec<SamplePlanLine>,
}

/// A divider or a topic of a plan.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum SamplePlanLine {
    /// Title of a divider.
    Divider(String),
    /// Path of the topic.
    Topic(String),
}
