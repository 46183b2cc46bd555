//! The history of a container on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::json::as_text;
use stet_domain::id::{Loid, ShortcutId};
use stet_domain::object::SharedText;

/// The changes of a container, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryPage {
    /// The changes.
    pub items: Vec<HistoryEntry>,
    /// The `before` of the next page; null on the last one.
    pub next: Option<u64>,
}

/// A change of a container.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HistoryEntry {
    /// The revision that the change led to.
    pub revision: u64,
    /// The time of the change, epoch milliseconds; null for a change of which the caller may see
    /// nothing else.
    pub at: Option<u64>,
    /// The name of the user.
    pub user: Option<String>,
    /// The kind of the change, as in the [events](events.md#events).
    pub kind: Option<String>,
    /// The objects and items concerned, at most 100.
    #[schemars(with = "Vec<String>")]
    pub ids: Vec<String>,
    /// The status before, in a change of a status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The status after, in a change of a status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The changed items and fields, in the history of a drawer and where they are known.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub changes: Option<DrawerChanges>,
}

/// The items and fields of a drawer that a change has altered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DrawerChanges {
    /// The items that were added, removed or moved, at most 100.
    pub items: Vec<ItemChange>,
    /// The number of further items.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The changed fields of the drawer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// A change of an item of a drawer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemChange {
    /// The shortcut id of the item.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "ShortcutId")]
    pub id: ShortcutId,
    /// The object's loid.
    pub source: Loid,
    /// The present name of the object; null if it was destroyed.
    pub name: Option<SharedText>,
    /// The position before the change, counted from 0 among the items that the caller sees; null if
    /// the item was not there, or its object was in the recycle bin.
    pub from: Option<usize>,
    /// The position after the change, likewise.
    pub to: Option<usize>,
}

/// The change of a field.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FieldChange {
    /// The name of the field: `title`, `description` or `capacity`.
    pub name: &'static str,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Body of the return to an earlier revision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertRequest {
    /// The revision to return to.
    pub revision: u64,
}

/// Body of the undoing of a change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoRequest {
    /// The revision that the change led to; the caller's latest change by default.
    pub revision: Option<u64>,
}
