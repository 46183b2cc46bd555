//! Drawers on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::id::{Loid, ShortcutId};
use stet_actors::object::Text;

use crate::api::attributes::Given;
use crate::api::object::Removed;
use crate::api::records::BulkError;
use crate::api::requests::{CreateOptions, DatabaseRef, SourceList, WireCreateMode};
use crate::http::body::Object;
use crate::json::{Changed, Listed, Ready, as_text};
use crate::records::ObjectRecord;

/// `info` of a drawer: its record, and what a drawer has beside.
#[derive(Serialize, JsonSchema)]
pub struct DrawerInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// How many items fit.
    pub capacity: u32,
    /// How many items can be seen.
    pub count: usize,
    /// How many are hidden because their objects lie in the recycle bin.
    pub hidden: usize,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub description: Text,
}

/// An item of a drawer.
#[derive(Serialize, JsonSchema)]
pub struct DrawerItem {
    /// The shortcut.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "ShortcutId")]
    pub id: ShortcutId,
    /// Counted from 0 among the items that can be seen.
    pub position: usize,
    /// The object's loid.
    pub source: Loid,
    /// The object's record.
    pub object: Ready<ObjectRecord>,
}

/// A drawer. A read has all items with `showItems` and none without; a change has those it
/// concerned.
#[derive(Serialize, JsonSchema)]
pub struct DrawerReply {
    /// The drawer.
    pub info: DrawerInfo,
    /// Its items, first to last.
    pub items: Listed<DrawerItem>,
    /// Of a bulk removal only: the sources that were not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Listed<BulkError>>,
    /// Of a move only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<MoveRevisions>,
}

/// The answer to a change of a drawer; of one that others have destroyed since, or moved out of the
/// caller's sight, no more than which it was.
pub type ChangedDrawer = Changed<DrawerReply, RemovedDrawer>;

/// A drawer that others have destroyed or hidden.
#[derive(Serialize, JsonSchema)]
pub struct RemovedDrawer {
    /// Which it was.
    pub info: Removed,
    /// None.
    #[schemars(with = "Vec<DrawerItem>", length(max = 0))]
    pub items: [DrawerItem; 0],
}

/// The revisions that a move led to, as the ETags of the two drawers have them.
#[derive(Serialize, JsonSchema)]
pub struct MoveRevisions {
    /// Of the drawer that the item left.
    pub source: u64,
    /// Of the drawer that it went to; as it was before if the item was there already.
    pub target: u64,
}

/// The drawers that hold an object, those made first before the others.
#[derive(Serialize, JsonSchema)]
pub struct DrawerListing {
    /// One reply for each drawer of the page asked for.
    pub items: Listed<DrawerReply>,
    /// How many there are in all.
    pub total: usize,
}

/// Body of the creation of a drawer; all optional.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateDrawer {
    /// Generated without it.
    pub(super) name: Option<String>,
    /// Loid, uuid or path of the folder; the user's home without it.
    pub(super) folder: Option<String>,
    /// Path of the folder.
    pub(super) folder_path: Option<String>,
    /// 1 to 10,000; the default comes from configuration.
    pub(super) capacity: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// XML text or JSON.
    pub(super) attributes: Option<Given>,
    /// Name of the workflow status; the workflow's first without it.
    pub(super) status: Option<String>,
    /// Objects to begin with.
    pub(super) sources: Option<SourceList>,
    /// The main one without it.
    pub(super) database_id: Option<DatabaseRef>,
    pub(super) create_mode: Option<WireCreateMode>,
    pub(super) options: Option<Object<CreateOptions>>,
}

/// Body of the update of a drawer: what is named changes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateRequest {
    pub(super) name: Option<String>,
    /// Not below the present count.
    pub(super) capacity: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// XML text or JSON.
    pub(super) attributes: Option<Given>,
    /// Name of the workflow status.
    pub(super) status: Option<String>,
}
