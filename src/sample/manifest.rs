//! What `newsroom.json` says.

use serde::Deserialize;

use crate::auth::Privilege;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    pub groups: Vec<SampleGroup>,
    pub users: Vec<SampleUser>,
    /// Those that would otherwise be empty.
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
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its members may do.
    pub privileges: Vec<SampleGrant>,
}

/// A privilege of a group.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleGrant {
    /// Which.
    pub privilege: Privilege,
    /// Only below this folder.
    pub folder: Option<String>,
}

/// A user of the sample.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SampleUser {
    /// The name to log in with.
    pub name: String,
    /// The name that people read.
    pub full_name: String,
    /// What the user does.
    pub description: String,
    /// Groups.
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
    /// Cannot log in.
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
    /// How long before the first start it was made.
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
    /// What it is inherited from, and follows.
    pub inherit_from: Option<String>,
}

impl SampleObject {
    /// A file that the manifest says nothing of.
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
    /// Path of the object whose content it begins with.
    pub template: String,
    pub status: Option<String>,
    pub creator: Option<String>,
    pub attributes: Option<String>,
    pub system_attributes: Option<String>,
    /// Whether every post waits for approval.
    pub moderated: bool,
    pub posts: Vec<SamplePost>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SamplePost {
    /// How long before the first start it was written.
    pub age_seconds: u64,
    pub creator: Option<String>,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// One paragraph.
    pub text: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub pinned: bool,
    /// Whether readers see it.
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
    /// Its title.
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
    /// How long after the first start it is to be done.
    pub due_in_seconds: Option<u64>,
    pub status: Option<String>,
    /// Path of an object.
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
    /// Its title.
    Divider(String),
    /// Path of the topic.
    Topic(String),
}
