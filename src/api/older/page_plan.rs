//! Removal of page plans (docs/api/page-plans.md).

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};

use super::metadata::check_session;
use super::place::named;
use crate::api::object::{Removed, discarded};
use crate::auth::Privilege;
use crate::http::call::Call;
use crate::http::reply::Json;

/// `DELETE /containers/pagePlan`: moves a page plan to the recycle bin.
pub async fn remove(call: Call) -> Result<Json<Removed>> {
    check_session(&call)?;
    let named = named(&call, "source");
    let named = named.ok_or_else(|| Error::new(Code::InvalidParameter, "`source` is required."))?;
    let source = Source::parse("source", named)?;
    let plan = call.find_for(Privilege::Delete, &source, DatabaseId::main())?;
    let types = &call.app.config.compat.page_plan_types;
    if !types.iter().any(|kind| **kind == *plan.type_name) {
        let message = format!("`{named}` is of type {}, not a page plan ({}).", plan.type_name, types.join(", "));
        return Err(Error::new(Code::InvalidType, message).with_source(named));
    }
    // By loid, because its path may lead to another object of another type by now.
    discarded(&call, &plan.loid.into(), DatabaseId::main()).await
}
