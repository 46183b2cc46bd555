//! The next publication date of a product (docs/api/calendar.md).

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::nearest::suggestion;
use stet_base::simple_date_format::SimpleDateFormat;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::place::today;

/// The next day on which a product appears.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextPublicationDate {
    /// Name of the product.
    product: String,
    /// Pattern of both dates.
    simple_date_format: String,
    /// Start date, as in the call.
    from_issue_date: String,
    /// First day after it with an issue; empty if there is none.
    next_publication_date: String,
}

/// `GET /calendar/nextPublicationDate`
pub async fn next_publication_date(call: Call) -> Result<Json<NextPublicationDate>> {
    // The parameters are required or have a default.
    let text = |name: &str| call.query.text(name).unwrap_or_default();
    let (pattern, from, named) = (text("simpleDateFormat"), text("fromIssueDate"), text("product"));
    let format = SimpleDateFormat::parse(pattern).map_err(|why| {
        Error::parameter("simpleDateFormat", pattern, &format!("a pattern of Java's SimpleDateFormat: {why}"))
    })?;
    let site = call.app.sysconfig.site(DatabaseId::main());
    let product = site.product(named).ok_or_else(|| {
        let help = suggestion(named, site.products.iter().map(|product| &*product.name));
        Error::new(Code::ObjectNotFound, format!("There is no product `{named}`.{help}")).with_source(named)
    })?;
    let zone = product.time_zone();
    let day = format
        .read(from, &zone, today(&call, &zone).year())
        .map_err(|why| Error::parameter("fromIssueDate", from, &format!("a day in the pattern `{pattern}`: {why}")))?;
    let next = product.next_issue(day).map(|time| format.write(&time));
    Json::of(&NextPublicationDate {
        product: product.name.to_string(),
        simple_date_format: pattern.to_owned(),
        from_issue_date: from.to_owned(),
        next_publication_date: next.unwrap_or_default(),
    })
}
