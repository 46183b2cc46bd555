//! Web containers (docs/api/bundles.md, "Web containers").

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::bundle::{Copied, CopiedBundle, CopyLinked};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::FamilyKind;

use super::channel_copy::{ChannelCopyRequest, check_same};
use super::linked::linked;
use super::records::{BulkError, BulkReply, Failures};
use crate::auth::Privilege;
use crate::http::call::Call;
use crate::http::reply::Json;
use crate::records::Cached;

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

/// `POST /v3/container/web/{source}/channelcopy`: a copy of each bundle that the web container is correlated with, or that its content
/// names, also by a channel copy.
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
    let (mut bundles, mut errors): (BTreeMap<Loid, Arc<Cached>>, Vec<BulkError>) = (BTreeMap::new(), Vec::new());
    let failures = Failures::of(&call);
    for object in linked(&call, &container).await? {
        let Some(bundle) = bundle_of(&call, object)? else { continue };
        match call.access().check(Privilege::Create, &bundle, &bundle.loid) {
            Ok(_) => drop(bundles.insert(bundle.loid, bundle)),
            Err(error) => errors.push(failures.describe(&bundle.loid.to_string(), error)),
        }
    }
    let copies = bundles.values().map(|bundle| wanted.copy(&call, bundle)).collect::<Result<_>>()?;
    let done = call.change_all(CopyLinked { container: container.loid, copies }).await?;
    let mut items = Vec::new();
    // The reply to a call that is sent again is that of what there was to be copied then.
    for CopiedBundle { bundle, copied } in done.reply.into_iter().filter(|one| bundles.contains_key(&one.bundle)) {
        match copied {
            Copied::New(copy) => items.push(CopiedStory { source: bundle.to_string(), id: copy.to_string() }),
            Copied::There(copy) => {
                let message = format!("The bundle has a copy for the channel `{}`, `{copy}`.", wanted.channel);
                let error = Error::duplicated(message, Some(copy));
                errors.push(failures.describe(&bundle.to_string(), error));
            }
        }
    }
    Json::of(&BulkReply { items: items.into(), errors: errors.into() })
}

/// The bundle that an object is, or is a copy of.
fn bundle_of(call: &Call, object: Arc<Cached>) -> Result<Option<Arc<Cached>>> {
    if object.family == FamilyKind::Bundle {
        return Ok(Some(object));
    }
    match object.folder().filter(|_| object.copy.is_some()) {
        Some(bundle) => call.app.records.get(&call.app.repository, bundle),
        None => Ok(None),
    }
}
