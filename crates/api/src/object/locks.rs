//! Locks and unlocks of objects (docs/api/content.md, "Locks").

use schemars::JsonSchema;
use serde::Deserialize;
use stet_auth::Privilege;
use stet_domain::checkout::{TakeLock, UnlockObject};
use stet_domain::error::Result;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::{ChangedRecord, reply_with, target};

/// Body of an unlock.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UnlockRequest {
    /// Whether to break a lock of another session or user. Breaking another user's lock takes the
    /// privilege `forceUnlock`.
    force: Option<bool>,
}

/// `POST /v3/object/{source}/lock`: from the session that holds the lock, it extends the lock.
pub async fn lock(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let display = call.display_of_change().await?;
    let object = target(&call, Privilege::Write, &call.source("source")?, call.database()?)?;
    let take = TakeLock { object, lasts_s: call.app.config.auth.lock_idle_seconds };
    let done = call.change_jointly(take).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}

/// `POST /v3/object/{source}/unlock`
pub async fn unlock(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let (request, display): (UnlockRequest, _) = (call.json().await?, call.display_of_change().await?);
    let source = call.source("source")?;
    let record = call.find_for(Privilege::Write, &source, call.database()?)?;
    let object = record.loid;
    let may_break = call.access().may(Privilege::ForceUnlock, &record)?;
    // The record's attributes need not stay in memory while the change waits.
    drop(record);
    let unlock = UnlockObject { object, force: request.force.unwrap_or_default(), may_break };
    let done = call.change_jointly(unlock).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}
