//! Reads of an object's bytes as they are stored (docs/api/content.md, "Reading content").

use stet_domain::error::Result;
use stet_domain::id::ObjectSource;
use stet_endpoint::content::ObjectContent;
use stet_web::call::Call;
use stet_web::reply::Reply;

/// `GET /v3/object/{source}/content`: streams the bytes. A plain object resolves to its stored
/// bytes, so `raw` changes nothing here.
pub async fn content(call: Call) -> Result<Reply> {
    ObjectContent::of(&call, &call.source("source")?).await?.reply(&call).await
}

/// `GET /v3/object/loid/content?loid=`
pub async fn content_by_loid(call: Call) -> Result<Reply> {
    ObjectContent::of(&call, &loid_in_query(&call)?).await?.reply(&call).await
}

/// Returns the source in the parameter `loid`.
pub(super) fn loid_in_query(call: &Call) -> Result<ObjectSource> {
    // The parameter is required, so it has a value.
    ObjectSource::parse("loid", call.query.text("loid").unwrap_or_default())
}
