//! The other objects that an object's content and links refer to.

use std::collections::BTreeSet;

use bytes::Bytes;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::Correlate;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;

use super::content::ObjectContent;

/// Attributes by which contents refer to objects.
const NAMES: [&str; 5] = ["href", "fileref", "source", "uuid", "loid"];

/// The largest number of objects that an object may refer to; each is looked up.
pub const MOST_LINKED: usize = 1000;

/// The largest number of attributes in a content that may refer to objects; each is tried.
const MOST_NAMES: usize = 10_000;

/// Returns the objects that an object is correlated with, followed by those that its content refers
/// to, each once. Objects that the caller may not read are left out. The result is loids, because a
/// thousand records may have gigabytes of attributes. A content that is no XML, or larger than
/// `limits.xml_bytes`, refers to none.
///
/// # Errors
/// `TooLarge` if there are more than [`MOST_LINKED`]; errors of disk and store.
pub async fn linked_objects(call: &Call, object: &CachedRecord) -> Result<Vec<Loid>> {
    let (app, mut timer) = (&call.app, YieldTimer::start());
    let (mut found, mut known) = (Vec::new(), BTreeSet::from([object.loid]));
    for Correlate { other, .. } in app.repository.correlates(object.loid)? {
        timer.yield_if_due().await;
        // Items of topics have no records of their own, and are no stories.
        add(call, &ObjectSource::Loid(other), object, &mut found, &mut known)?;
    }
    let named = named(call, object).await?;
    if named.len() > MOST_NAMES {
        let message =
            format!("The content of `{}` has more than {MOST_NAMES} attributes that may name objects.", object.loid);
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_NAMES));
    }
    for text in named {
        timer.yield_if_due().await;
        if let Ok(source) = ObjectSource::parse("href", &text) {
            add(call, &source, object, &mut found, &mut known)?;
        }
        if found.len() > MOST_LINKED {
            let message = format!("The content of `{}` names more than {MOST_LINKED} objects.", object.loid);
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_LINKED));
        }
    }
    Ok(found)
}

fn add(
    call: &Call,
    source: &ObjectSource,
    from: &CachedRecord,
    found: &mut Vec<Loid>,
    known: &mut BTreeSet<Loid>,
) -> Result<()> {
    match call.find(source, from.loid.database) {
        Ok(record) => {
            if known.insert(record.loid) {
                found.push(record.loid);
            }
            Ok(())
        }
        Err(error) if matches!(error.code, Code::RepositoryError | Code::Overloaded) => Err(error),
        // The object does not exist, or the caller may not read it.
        Err(_) => Ok(()),
    }
}

/// Returns the texts by which an object's content may refer to other objects.
async fn named(call: &Call, object: &CachedRecord) -> Result<Vec<String>> {
    let limits = call.app.xml_limits();
    let latest = ObjectContent::latest_within(&call.app, object, limits.max_bytes as u64).await?;
    let Some(latest) = latest else { return Ok(Vec::new()) };
    let references = move |bytes: Bytes| {
        let text = std::str::from_utf8(&bytes).ok();
        text.and_then(|text| stet_xml::references(text, &NAMES, &limits).ok()).unwrap_or_default()
    };
    latest.reader.process(references).await
}
