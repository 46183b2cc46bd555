//! Removal of page plans (docs/api/page-plans.md).

use stet_auth::Privilege;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_endpoint::records::RemovedObject;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::metadata::check_session;
use super::place::optional_parameter;
use crate::object::discard_object;

/// `DELETE /containers/pagePlan`: moves a page plan to the recycle bin.
pub async fn remove(call: Call) -> Result<Json<RemovedObject>> {
    check_session(&call)?;
    let named = optional_parameter(&call, "source");
    let named = named.ok_or_else(|| Error::new(Code::InvalidParameter, "`source` is required."))?;
    let source = ObjectSource::parse("source", named)?;
    let plan = call.find_for(Privilege::Delete, &source, DatabaseId::main())?;
    let types = &call.app.config.compat.page_plan_types;
    if !types.iter().any(|kind| **kind == *plan.type_name) {
        let message = format!("`{named}` is of type {}, not a page plan ({}).", plan.type_name, types.join(", "));
        return Err(Error::new(Code::InvalidType, message).with_source(named));
    }
    // By loid, because its path may lead to another object of another type by now.
    discard_object(&call, &plan.loid.into(), DatabaseId::main()).await
}
