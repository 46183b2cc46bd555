//! The DTD that is inserted into a document (`showDtd`). It comes from the repository, and only if
//! the caller may read it there; nothing is ever fetched from elsewhere. If the DTD does not exist,
//! can't stand in a document, or is longer than an attribute text may be, the document is returned
//! as stored.

use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_content::ContentReader;
use stet_domain::error::{Code, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_web::call::Call;

use super::content::ObjectContent;

/// The number of first bytes of a document that are searched for its DOCTYPE.
const LOOKED_AT: u64 = 64 << 10;

/// A DOCTYPE with the DTD in it.
pub struct DoctypeReplacement {
    /// The byte range of the document's DOCTYPE.
    pub place: Range<u64>,
    /// The present text at that place.
    pub doctype: String,
    /// The hash of the DTD.
    pub sha256: [u8; 32],
}

/// Returns the text at the beginning of `head`. A character may be cut in two at its end.
fn text_of(head: &[u8]) -> &str {
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Returns the document's DOCTYPE with its DTD inserted, if the call asks for it and the DTD can be
/// used. A DTD that is named by a path is looked up in `database`.
///
/// # Errors
/// Errors of disk and store.
pub async fn inserted_doctype(
    call: &Call,
    database: DatabaseId,
    document: &ContentReader,
) -> Result<Option<DoctypeReplacement>> {
    if !call.query.boolean("showDtd") {
        return Ok(None);
    }
    let head = document.clone().range(0, LOOKED_AT).read_all().await?;
    let Some(found) = stet_xml::doctype_of(text_of(&head)) else { return Ok(None) };
    let Ok(source) = found.system.parse::<ObjectSource>() else { return Ok(None) };
    let record = match call.find_configured(&source, database) {
        Ok(record) => record,
        Err(error) if error.code == Code::RepositoryError => return Err(error),
        Err(_) => return Ok(None),
    };
    let most = call.app.config.limits.xml_bytes as u64;
    let Some(dtd) = ObjectContent::latest_within(&call.app, &record, most).await? else { return Ok(None) };
    let replacement = move |dtd: Bytes| {
        let (found, dtd_text) = (stet_xml::doctype_of(text_of(&head))?, std::str::from_utf8(&dtd).ok()?);
        let place = found.place.start as u64..found.place.end as u64;
        found.with(dtd_text).map(|doctype| DoctypeReplacement { place, doctype, sha256: Sha256::digest(&dtd).into() })
    };
    dtd.reader.process(replacement).await
}

#[cfg(test)]
mod tests {
    use stet_domain::lifecycle::NewObject;
    use stet_domain::object::CreateMode;

    use super::*;
    use stet_web::testing::ServerFixture;

    #[actix_web::test]
    async fn a_dtd_that_has_become_too_long_since_it_was_found_is_not_read() {
        const MOST: usize = 20;
        let fixture = ServerFixture::new().await;
        let put = async |bytes: &[u8]| {
            let mut object = NewObject::document("a.dtd", "Any");
            object.mode = CreateMode::Replace;
            object.content = Some(fixture.stored("application/xml-dtd", bytes).await);
            fixture.create(object).await
        };
        let loid = put(&[b'x'; MOST]).await;
        let record = fixture.app.repository.resolve(&ObjectSource::Loid(loid), DatabaseId::FIRST).expect("it is there");
        let opened = async || ObjectContent::latest_within(&fixture.app, &record, MOST as u64).await;
        let remaining = async || opened().await.expect("the disk is well").map(|dtd| dtd.reader.remaining());
        assert_eq!(remaining().await, Some(MOST as u64));
        assert_eq!(put(&[b'x'; MOST + 1]).await, loid);
        assert_eq!(remaining().await, None);
    }
}
