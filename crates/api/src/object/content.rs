//! The bytes of an object (docs/api/content.md, "Reading content").

use std::fmt::Display;

use stet_actors::repository::Reader;
use stet_content::ContentReader;
use stet_content::download::{self, LocatedContent};
use stet_domain::checkout::is_held_by;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::ObjectSource;
use stet_domain::object::{Draft, Record, SmallBody};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

use super::{version, version_named};
use crate::dtd;
use crate::whole::{BodyPiece, ByteReply, known_time, with_replaced};

/// `GET /v3/object/{source}/content` and `/content/binary`: streams the bytes. A plain object
/// resolves to its stored bytes, so `raw` changes nothing here.
pub async fn content(call: Call) -> Result<Reply> {
    let source = call.source("source")?;
    content_of(&call, &source).await
}

/// `GET /v3/object/loid/content?loid=`
pub async fn content_by_loid(call: Call) -> Result<Reply> {
    let source = loid_in_query(&call)?;
    content_of(&call, &source).await
}

/// Returns the source in the parameter `loid`.
pub(super) fn loid_in_query(call: &Call) -> Result<ObjectSource> {
    // The parameter is required, so it has a value.
    ObjectSource::parse("loid", call.query.text("loid").unwrap_or_default())
}

pub(super) async fn content_of(call: &Call, source: &ObjectSource) -> Result<Reply> {
    let record = call.find(source, call.database()?)?;
    let (found, reader) = open_content_of(call, source, &record).await?;
    stored_reply(call, source, &record, &found, reader).await
}

/// Builds the reply with the stored content; with `showDtd`, its DTD is inserted.
///
/// # Errors
/// `RangeNotSatisfiable`; `InvalidParameter` for `maxSize`; errors of disk and store.
pub(crate) async fn stored_reply(
    call: &Call,
    source: &ObjectSource,
    record: &Record,
    found: &LocatedContent,
    reader: ContentReader,
) -> Result<Reply> {
    let LocatedContent { content, at, .. } = found;
    let dtd = dtd::inserted_doctype(call, record.loid.database, &reader).await?;
    let identity = (content.sha256, call.query.integer("maxSize"));
    let tag = match &dtd {
        None => ETag::new(RevisionTag::of(record), identity),
        Some(dtd) => ETag::new(RevisionTag::of(record), (identity, dtd.sha256)),
    };
    // The time does not cover a DTD that is inserted.
    let modified = known_time(call, *at).filter(|_| dtd.is_none());
    let replaced = dtd.map(|dtd| (dtd.place, vec![BodyPiece::text(dtd.doctype)])).into_iter().collect();
    let parts = with_replaced(&reader, replaced);
    let whole = ByteReply { of: record.loid, media_type: content.content_type.to_string(), parts, tag, modified };
    whole.reply(call, &source.to_string(), &record.name)
}

/// Opens the content of an object that a call asks for.
///
/// # Errors
/// `ObjectNotFound`, `InvalidParameter` for `version`; errors of disk and store.
pub(crate) async fn open_content_of(
    call: &Call,
    source: &ObjectSource,
    record: &Record,
) -> Result<(LocatedContent, ContentReader)> {
    let app = &call.app;
    download::open_consistently(&app.repository, &app.content, source, || found(call, source, record)).await
}

/// Finds the version that the source or `version` names; without either, the caller's working copy
/// or the latest version.
fn found(call: &Call, source: &ObjectSource, record: &Record) -> Result<LocatedContent> {
    let app = &call.app;
    let asked = version_asked(call);
    let named = match version_named(app, source, record)? {
        Some(version) => Some(version),
        None => match asked {
            None | Some(-1) => None,
            Some(number) => {
                let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
                let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
                Some(version(app, record, wanted)?)
            }
        },
    };
    if named.is_none()
        && asked.is_none()
        && let Some(copy) = working_copy(call, record)?
    {
        return Ok(copy);
    }
    named.map_or_else(|| latest(app, record, source), |version| Ok(version.into()))
}

/// Returns the parameter `version`, if the caller gives it. For the owner of the lock, its absence
/// does not mean the default of -1.
fn version_asked(call: &Call) -> Option<i64> {
    if call.query.has("version") { call.query.integer("version") } else { None }
}

/// Finds the latest version.
fn latest(app: &App, record: &Record, source: &impl Display) -> Result<LocatedContent> {
    if record.version == 0 {
        let message = format!("`{source}` has no content.");
        return Err(Error::new(Code::ObjectNotFound, message).with_source(source));
    }
    Ok(version(app, record, record.version)?.into())
}

/// Finds the caller's draft of an object that is checked out in this session.
fn working_copy(call: &Call, record: &Record) -> Result<Option<LocatedContent>> {
    let Some(session) = call.session() else { return Ok(None) };
    draft_for(&call.app.repository, record, session.user(), session.id())
}

/// Finds the draft of an object, if this session of the user holds the lock. The record may be
/// outdated.
fn draft_for(repository: &Reader, record: &Record, user: &str, session: &str) -> Result<Option<LocatedContent>> {
    let holds = |record: &Record| {
        record.lock_at(repository.clock().now_s()).is_some_and(|lock| is_held_by(lock, user, session))
    };
    if !holds(record) {
        return Ok(None);
    }
    let key = Draft::key(record.loid);
    let Some(draft) = repository.row::<Draft>(key.table, &key.key)? else { return Ok(None) };
    // Checked after reading the draft: if the lock was lost since the record was read, the draft
    // may be the next owner's.
    if !repository.record(record.loid)?.is_some_and(|now| holds(&now)) {
        return Ok(None);
    }
    let small = SmallBody::key(Draft::body_loid(record.loid));
    Ok(Some(LocatedContent { small, content: draft.content, at: draft.at }))
}

/// Opens an object's latest version.
///
/// # Errors
/// `ObjectNotFound` if it has none; errors of disk and store.
pub(crate) async fn latest_of(app: &App, record: &Record) -> Result<ContentReader> {
    let found = || latest(app, record, &record.loid);
    Ok(download::open_consistently(&app.repository, &app.content, record.loid, found).await?.1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stet_actors::repository::Repository;
    use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
    use stet_domain::checkout::{TakeLock, UnlockObject, WriteContent, WriteSwitches};
    use stet_domain::clock::SystemClock;
    use stet_domain::command::CallerIdentity;
    use stet_domain::folder::root;
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::lifecycle::{CreateInFolder, NewObject};
    use stet_domain::object::{Content, ContentLocation, NewContent};
    use stet_domain::store::memory::MemoryStore;

    use super::*;

    /// Returns a request of a user whose session has the same name.
    fn by(user: &str) -> ChangeRequest {
        ChangeRequest::by(CallerIdentity { user: user.into(), session: user.into(), address: None })
    }

    /// Saves a draft of `bytes` bytes under a new lock.
    async fn save(repository: &Repository, object: Loid, user: &str, bytes: u8) {
        let content = Content {
            content_type: "text/xml".into(),
            size: bytes.into(),
            sha256: [bytes; 32],
            stored: ContentLocation::Row,
        };
        let body = Some(NewContent { content, small: Some(vec![b'x'; bytes.into()].into()), pin: None });
        let switches = WriteSwitches {
            check_in: false,
            keep_checked_out: false,
            unlock: false,
            new_version: false,
            check_out: true,
            check_out_clean: false,
        };
        let write = WriteContent { object, body, switches, lasts_s: 100 };
        repository.joint(write, by(user)).await.expect("it is saved");
    }

    #[actix_web::test]
    async fn a_caller_who_just_lost_the_lock_never_sees_the_next_owners_draft() {
        let started =
            Repository::start(Arc::new(MemoryStore::new()), Arc::new(SystemClock), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots are made");
        let object = NewObject::document("a.xml", "Story");
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        let object = repository.joint(create, by("ada")).await.expect("it is made").loid;
        let record = || repository.record(object).expect("it can be read").expect("it is there");
        let size = |record: &Record, user: &str| {
            let found = draft_for(&repository, record, user, user).expect("it can be read");
            found.map(|found| found.content.size)
        };
        save(&repository, object, "ada", 3).await;
        let adas = record();
        assert_eq!((size(&adas, "ada"), size(&adas, "bob")), (Some(3), None));
        let break_it = UnlockObject { object, force: true, may_break: true };
        repository.joint(break_it, by("bob")).await.expect("it is broken");
        assert_eq!(size(&adas, "ada"), None);
        // A user who has the object checked out may overwrite a draft that another user left.
        repository.joint(TakeLock { object, lasts_s: 100 }, by("bob")).await.expect("it is locked");
        save(&repository, object, "bob", 5).await;
        assert_eq!((size(&adas, "ada"), size(&record(), "bob")), (None, Some(5)));
    }
}
