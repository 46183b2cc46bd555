//! `GET /object/linked`: what an object and its channel copies are linked with, as clients of the
//! older surface read it (docs/api/objects.md, "Correlates").

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::error::{Error, Result};
use stet_actors::folder::{MAX_MEMBERS, children};
use stet_actors::id::{Loid, Source};
use stet_actors::object::{FamilyKind, Link, Text};
use stet_actors::store::View;

use super::page_channel;
use crate::api::records::readable;
use crate::http::call::Call;
use crate::http::reply::Json;
use crate::limits::yielding::YieldTimer;
use crate::records::Cached;

/// The links of an object and its channel copies.
#[derive(Serialize, JsonSchema)]
pub struct LinkedReply {
    /// How many there are.
    count: usize,
    /// Those of the object first, then those of its copies, each by their names.
    roles: Vec<Role>,
}

/// A link.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// What it is called on the other side.
    name: Text,
    /// What it is called at the object or copy.
    role_type: Text,
    /// What is on the other side.
    object: LinkedObject,
    /// The channel of the copy that is linked, or that a page takes of the bundle; null for other
    /// links of the object itself.
    channel: Option<Text>,
    /// The same, under the name that some clients read.
    bundle_child_channel: Option<Text>,
}

/// An object that is linked.
#[derive(Serialize, JsonSchema)]
pub struct LinkedObject {
    #[schemars(with = "Loid")]
    id: String,
    name: Text,
    r#type: Text,
    /// Null for what lies deeper than any configuration allows.
    path: Option<String>,
    system_attributes: LinkedAttributes,
}

/// What is told of it.
#[derive(Serialize, JsonSchema)]
pub struct LinkedAttributes {
    /// Path of the work folder.
    workfolder: Option<Text>,
    #[serde(rename = "productInfo")]
    product_info: LinkedProduct,
}

/// What it is made for.
#[derive(Serialize, JsonSchema)]
pub struct LinkedProduct {
    /// `yyyyMMdd`
    #[serde(rename = "issueDate")]
    issue_date: Option<Text>,
}

/// `GET /object/linked`
pub async fn linked(call: Call) -> Result<Json<LinkedReply>> {
    // It is required, so there is one.
    let source = Source::parse("id", call.query.text("id").unwrap_or_default())?;
    let object = call.find(&source, call.database()?)?;
    let wanted = call.query.text("roleType").filter(|wanted| !wanted.is_empty());
    let (mut roles, mut way) = (Vec::new(), YieldTimer::new());
    for (at, channel) in ends(&call, &object)? {
        let mut links = call.app.repository.links(at)?;
        links.sort_by(|a, b| {
            (&a.source_name, &a.target_name, a.target).cmp(&(&b.source_name, &b.target_name, b.target))
        });
        for Link { source_name, target_name, target, .. } in links {
            way.yield_if_due().await;
            if wanted.is_none_or(|wanted| *source_name == *wanted)
                && let Some(linked) = readable(&call, target)?
            {
                let channel = match &channel {
                    None => page_channel::between(&call, &object, &linked).await?,
                    known => known.clone(),
                };
                roles.push(Role {
                    name: target_name,
                    role_type: source_name,
                    object: shown(&call, &linked)?,
                    channel: channel.clone(),
                    bundle_child_channel: channel,
                });
            }
        }
    }
    Json::of(&LinkedReply { count: roles.len(), roles })
}

/// The object, and the channel copies that lie in it, with their channels.
fn ends(call: &Call, object: &Cached) -> Result<Vec<(Loid, Option<Text>)>> {
    let mut ends = vec![(object.loid, object.copy.as_ref().map(|copy| copy.channel.clone()))];
    if object.family != FamilyKind::Bundle {
        return Ok(ends);
    }
    ends.extend(copies(call, object.loid)?.into_iter().map(|(copy, channel)| (copy, Some(channel))));
    Ok(ends)
}

/// Returns the channel copies in a bundle that the caller may read, with their channels.
pub(super) fn copies(call: &Call, bundle: Loid) -> Result<Vec<(Loid, Text)>> {
    let held = children(call.app.repository.look(), View::Committed, bundle, None, MAX_MEMBERS);
    let (held, _) = held.map_err(|error| {
        tracing::error!(%error, "a bundle can't be listed");
        Error::internal()
    })?;
    let mut copies = Vec::new();
    for loid in held {
        let copy = readable(call, loid)?.and_then(|copy| copy.copy.as_ref().map(|copy| copy.channel.clone()));
        copies.extend(copy.map(|channel| (loid, channel)));
    }
    Ok(copies)
}

fn shown(call: &Call, record: &Cached) -> Result<LinkedObject> {
    Ok(LinkedObject {
        id: record.loid.to_string(),
        name: record.name.clone(),
        r#type: record.type_name.clone(),
        path: call.app.path_of(record)?,
        system_attributes: LinkedAttributes {
            workfolder: record.work_folder.clone(),
            product_info: LinkedProduct { issue_date: record.issue_date.clone() },
        },
    })
}
