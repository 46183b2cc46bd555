//! Configuration files in their original form.

use stet_actors::cache::RefreshExtent;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::ObjectSource;
use stet_sysconfig::caches::AnyCache;
use stet_sysconfig::files::{FOLDER, is_configuration};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::{Json, Reply};

use crate::cache::{RefreshReply, refreshed};

/// The root element of files that clients can't use without their included files.
const PAGE_ACCESSORIES: &str = "pageAccessories";

/// `GET /v3/conf/xmlfile`
pub async fn xml_file(call: Call) -> Result<Reply> {
    let named = call.query.text("path").filter(|path| !path.is_empty());
    let named = named.ok_or_else(|| Error::new(Code::InvalidParameter, "`path` is required."))?;
    let database = call.database()?;
    let path = match ObjectSource::parse("path", named)? {
        ObjectSource::Path(path) => path,
        // A caller without a token must not learn anything about other objects.
        source => {
            let record = call.app.resolve(&source, database).ok();
            let path = record.map(|record| call.app.path_of(&record)).transpose()?.flatten();
            path.filter(|path| is_configuration(path)).ok_or_else(|| Error::not_found(&source))?
        }
    };
    if !is_configuration(&path) {
        let message = format!("This call reads only files in {FOLDER}, and `{path}` is not in it.");
        return Err(Error::new(Code::PermissionDenied, message).with_source(&path));
    }
    let resolved = call.query.boolean("resolveHrefEntity");
    let file = call.app.sysconfig.xml_files.get(database, &path, resolved).await?;
    if !resolved && file.root == PAGE_ACCESSORIES {
        let wanted = "true for a file of page accessories, which is incomplete without the files that it includes";
        return Err(Error::parameter("resolveHrefEntity", "false", wanted));
    }
    let tag = ETag::of_bytes(file.sha256);
    if call.has(&tag) {
        return Ok(Reply::not_modified(tag));
    }
    Ok(Reply::xml(file.text.clone()).with_etag(tag))
}

/// `POST /v3/conf/xmlfiles/clearcache`
pub async fn clear_cache(call: Call) -> Result<Json<RefreshReply>> {
    call.app.sysconfig.xml_files.clear();
    let sites = call.app.sysconfig.sites.all();
    let sites = sites.map(|(database, cache)| (database, cache as &dyn AnyCache)).collect();
    refreshed(&call, sites, RefreshExtent::Everything).await
}
