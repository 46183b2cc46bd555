//! The audit trail (ours).

pub mod routes;

use std::time::{Duration, Instant};

use stet_auth::Name;
use stet_base::limits::offload;
use stet_domain::error::{Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::store::EventPeriod;
use stet_newsroom::audit::{AuditFilter, AuditPage, EventKey, first_found, page};
use stet_web::call::Call;
use stet_web::reply::{EnvelopedReply, Json};

/// Entries of a page without a `limit`, and the most allowed.
const LIMITS: (i64, i64) = (100, 1000);

/// The longest search of a page without a result. Proxies give up after a minute.
const LONGEST_SEARCH: Duration = Duration::from_secs(20);

/// `GET /v3/audit`: the newest entry first.
pub async fn list(call: Call) -> Result<Json<AuditPage>> {
    let query = &call.query;
    let text = |name: &str| query.text(name).filter(|text| !text.is_empty());
    let limit = query.integer("limit").unwrap_or(LIMITS.0);
    if !(1..=LIMITS.1).contains(&limit) {
        return Err(Error::parameter("limit", limit, &format!("between 1 and {}", LIMITS.1)));
    }
    if let Some(offset) = query.integer("offset").filter(|offset| *offset != 0) {
        return Err(Error::parameter("offset", offset, "omitted (`after` leads to further pages)"));
    }
    if let Some(sort) = text("sortBy") {
        return Err(Error::parameter("sortBy", sort, "omitted (the newest entry is always first)"));
    }
    let filter = AuditFilter {
        object: text("object").map(|object| object_of(&call, object)).transpose()?,
        user: text("user").map(Name::of),
        times: EventPeriod { from_ms: time(&call, "from")?, to_ms: time(&call, "to")? },
    };
    let after = text("after").map(|after| EventKey::parse("after", after)).transpose()?;
    let limit = usize::try_from(limit).unwrap_or(1);
    // Each page may read much, and must not block other calls of this thread.
    let read = async |after| {
        let (app, filter) = (call.app.clone(), filter.clone());
        offload::offload(move || page(app.repository.events(), &filter, after, limit)).await?.map_err(|error| {
            tracing::error!(%error, "the audit trail can't be read");
            Error::internal()
        })
    };
    let found = first_found(after, Instant::now() + LONGEST_SEARCH, read).await?;
    // A page may have a megabyte.
    offload::offload(move || EnvelopedReply::of(&found, found.bytes())).await?.map(Json::from)
}

/// Returns the object that a source names. A destroyed object still has a trail, under its loid.
fn object_of(call: &Call, text: &str) -> Result<Loid> {
    match ObjectSource::parse("object", text)? {
        ObjectSource::Loid(loid) => Ok(loid.object()),
        source => Ok(call.app.repository.resolve_any(&source, call.database()?)?.loid),
    }
}

fn time(call: &Call, name: &str) -> Result<Option<u64>> {
    let Some(number) = call.query.integer(name) else { return Ok(None) };
    let wanted = "a time in epoch milliseconds";
    let time = u64::try_from(number).map_err(|_| Error::parameter(name, number, wanted))?;
    Ok(Some(time))
}
