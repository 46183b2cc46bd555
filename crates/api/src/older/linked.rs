//! `GET /object/linked`: the links of an object and its channel copies, as clients of the older
//! surface read them (docs/api/objects.md, "Correlates").

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::folder::{MAX_MEMBERS, children};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::{FamilyKind, Link, SharedText};
use stet_domain::store::ReadLevel;
use stet_endpoint::records::readable;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::page_channel;

/// The links of an object and its channel copies.
#[derive(Serialize, JsonSchema)]
pub struct LinkedReply {
    /// Number of links.
    count: usize,
    /// Links of the object, followed by those of its copies, each in the order of their names.
    roles: Vec<LinkRole>,
}

/// A link.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkRole {
    /// Name of the link on the other side.
    name: SharedText,
    /// Name of the link at the object or copy.
    role_type: SharedText,
    /// Object on the other side.
    object: LinkedObject,
    /// Channel of the linked copy, or the channel that a page takes of the bundle; null for other
    /// links of the object itself.
    channel: Option<SharedText>,
    /// Same value as `channel`, under the name that some clients read.
    bundle_child_channel: Option<SharedText>,
}

/// An object that is linked.
#[derive(Serialize, JsonSchema)]
pub struct LinkedObject {
    #[schemars(with = "Loid")]
    id: String,
    name: SharedText,
    r#type: SharedText,
    /// Path; null for an object that lies deeper than any configuration allows.
    path: Option<String>,
    system_attributes: LinkedAttributes,
}

/// System attributes of a linked object.
#[derive(Serialize, JsonSchema)]
pub struct LinkedAttributes {
    /// Path of the work folder.
    workfolder: Option<SharedText>,
    #[serde(rename = "productInfo")]
    product_info: LinkedProduct,
}

/// Product information of a linked object.
#[derive(Serialize, JsonSchema)]
pub struct LinkedProduct {
    /// Issue date: `yyyyMMdd`
    #[serde(rename = "issueDate")]
    issue_date: Option<SharedText>,
}

/// `GET /object/linked`
pub async fn linked(call: Call) -> Result<Json<LinkedReply>> {
    // The parameter is required, so it has a value.
    let source = ObjectSource::parse("id", call.query.text("id").unwrap_or_default())?;
    let object = call.find(&source, call.database()?)?;
    let wanted = call.query.text("roleType").filter(|wanted| !wanted.is_empty());
    let (mut roles, mut timer) = (Vec::new(), YieldTimer::start());
    for (at, channel) in ends(&call, &object)? {
        let mut links = call.app.repository.links(at)?;
        links.sort_by(|a, b| {
            (&a.source_name, &a.target_name, a.target).cmp(&(&b.source_name, &b.target_name, b.target))
        });
        for Link { source_name, target_name, target, .. } in links {
            timer.yield_if_due().await;
            if wanted.is_none_or(|wanted| *source_name == *wanted)
                && let Some(linked) = readable(&call, target)?
            {
                let channel = match &channel {
                    None => page_channel::channel_between(&call, &object, &linked).await?,
                    known => known.clone(),
                };
                roles.push(LinkRole {
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

/// Returns the object and the channel copies in it, each with its channel.
fn ends(call: &Call, object: &CachedRecord) -> Result<Vec<(Loid, Option<SharedText>)>> {
    let mut ends = vec![(object.loid, object.copy.as_ref().map(|copy| copy.channel.clone()))];
    if object.family != FamilyKind::Bundle {
        return Ok(ends);
    }
    ends.extend(copies(call, object.loid)?.into_iter().map(|(copy, channel)| (copy, Some(channel))));
    Ok(ends)
}

/// Returns the channel copies in a bundle that the caller may read, with their channels.
pub(super) fn copies(call: &Call, bundle: Loid) -> Result<Vec<(Loid, SharedText)>> {
    let held = children(call.app.repository.look(), ReadLevel::Committed, bundle, MAX_MEMBERS);
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

fn shown(call: &Call, record: &CachedRecord) -> Result<LinkedObject> {
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
