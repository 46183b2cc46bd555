//! Web containers (docs/api/bundles.md, "Web containers").

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::bundle::{ChannelCopyOutcome, CopiedBundle, CopyLinkedBundles};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{FamilyKind, Record};
use stet_endpoint::linked::linked_objects;
use stet_endpoint::records::{BulkError, BulkFailures, BulkReply};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::channel_copy::{ChannelCopyRequest, check_same};

pub mod routes;

/// The copy of a story that is linked to a web container.
#[derive(Serialize, JsonSchema)]
pub struct CopiedStory {
    /// Loid of the bundle.
    #[schemars(with = "Loid")]
    source: String,
    /// Loid of the copy.
    #[schemars(with = "Loid")]
    id: String,
}

/// `POST /v3/container/web/{source}/channelcopy`: copies each bundle that the web container is
/// correlated with, or that its content names directly or by a channel copy.
pub async fn channel_copies(call: Call) -> Result<Json<BulkReply<CopiedStory>>> {
    let request: ChannelCopyRequest = call.json().await?;
    let container = call.resolve("source")?;
    if container.family != FamilyKind::WebContainer {
        let (source, known) = (call.param("source"), &container.type_name);
        let message = format!("`{source}` is of type {known}, not a web container.");
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    check_same(&call, &request, container.loid)?;
    let wanted = request.wanted(&call, container.loid.database)?;
    let (mut copies, mut errors, mut timer) = (BTreeMap::new(), Vec::<BulkError>::new(), YieldTimer::start());
    let failures = BulkFailures::of(&call);
    for object in linked_objects(&call, &container).await? {
        timer.yield_if_due().await;
        let Some(bundle) = bundle_of(&call, object)? else { continue };
        match call.access().check(Privilege::Create, &bundle, &bundle.loid) {
            Ok(_) => drop(copies.insert(bundle.loid, wanted.copy(&call, &bundle)?)),
            Err(error) => errors.push(failures.describe(&bundle.loid.to_string(), error)),
        }
    }
    let bundles: BTreeSet<Loid> = copies.keys().copied().collect();
    let copies = copies.into_values().collect();
    let done = call.change_jointly(CopyLinkedBundles { container: container.loid, copies }).await?;
    let mut items = Vec::new();
    // A retry gets the reply of the first attempt, which may name bundles that are no longer
    // linked.
    for CopiedBundle { bundle, copied } in done.reply.into_iter().filter(|one| bundles.contains(&one.bundle)) {
        match copied {
            ChannelCopyOutcome::New(copy) => {
                items.push(CopiedStory { source: bundle.to_string(), id: copy.to_string() })
            }
            ChannelCopyOutcome::There(copy) => {
                let message = format!("The bundle already has a copy for the channel `{}`: `{copy}`.", wanted.channel);
                let error = Error::duplicated(message, Some(copy));
                errors.push(failures.describe(&bundle.to_string(), error));
            }
        }
    }
    Json::of(&BulkReply { items: items.into(), errors: errors.into() })
}

/// Returns the bundle that an object is or is a copy of.
fn bundle_of(call: &Call, object: Loid) -> Result<Option<Record>> {
    let record = |loid| call.app.records.record(&call.app.repository, loid);
    let Some(object) = record(object)? else { return Ok(None) };
    if object.family == FamilyKind::Bundle {
        return Ok(Some(object));
    }
    match object.folder().filter(|_| object.copy.is_some()) {
        Some(bundle) => record(bundle),
        None => Ok(None),
    }
}
