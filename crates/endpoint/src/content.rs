//! The content of an object for reading (docs/api/content.md, "Reading content"). Every read goes
//! through [`ObjectContent`], which finds the version or draft and opens it with its own bytes.

use std::fmt::Display;

use stet_actors::repository::Reader;
use stet_content::ContentReader;
use stet_content::download::{LocatedContent, OpenedContent};
use stet_domain::checkout::is_held_by;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::{Content, Draft, Record, SharedText, SmallBody, Version};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

use crate::dtd;
use crate::whole::{BodyPiece, ByteReply, known_time, with_replaced};

/// The content of an object, opened for reading. It stays as it is, whatever happens to the object.
pub struct ObjectContent {
    /// The object.
    pub object: Loid,
    /// The object's name.
    pub name: SharedText,
    /// The object as the caller named it.
    pub source: String,
    /// The object's state, for ETags.
    pub revision: RevisionTag,
    /// The media type, size and hash.
    pub content: Content,
    /// The reader of the bytes.
    pub reader: ContentReader,
    /// Time at which the bytes were written, epoch seconds.
    at: u64,
}

impl ObjectContent {
    /// Opens the content that a call asks for, of the object that `source` names.
    ///
    /// # Errors
    /// `ObjectNotFound`, `PermissionDenied`, `InvalidParameter` for `version`; errors of disk and
    /// store.
    pub async fn of(call: &Call, source: &ObjectSource) -> Result<ObjectContent> {
        let record = call.find(source, call.database()?)?;
        ObjectContent::of_record(call, source, &record).await
    }

    /// Opens the content that a call asks for, of an object that the caller may read. `source` is
    /// its name in the call.
    ///
    /// # Errors
    /// The errors of [`ObjectContent::of`].
    pub async fn of_record(call: &Call, source: &ObjectSource, record: &Record) -> Result<ObjectContent> {
        ObjectContent::open(&call.app, record, source, || locate(call, source, record)).await
    }

    async fn open(
        app: &App,
        record: &Record,
        named: &impl Display,
        locate: impl Fn() -> Result<LocatedContent>,
    ) -> Result<ObjectContent> {
        let OpenedContent { content, at, reader } =
            OpenedContent::open(&app.repository, &app.content, named, locate).await?;
        Ok(ObjectContent {
            object: record.loid,
            name: record.name.clone(),
            source: named.to_string(),
            revision: RevisionTag::of(record),
            content,
            reader,
            at,
        })
    }

    /// Builds the reply with the stored bytes; with `showDtd`, the DTD is inserted.
    ///
    /// # Errors
    /// `RangeNotSatisfiable`; `InvalidParameter` for `maxSize`; errors of disk and store.
    pub async fn reply(self, call: &Call) -> Result<Reply> {
        let dtd = dtd::inserted_doctype(call, self.object.database, &self.reader).await?;
        let identity = (self.content.sha256, call.query.integer("maxSize"));
        let tag = match &dtd {
            None => ETag::new(self.revision, identity),
            Some(dtd) => ETag::new(self.revision, (identity, dtd.sha256)),
        };
        // The time does not cover a DTD that is inserted.
        let modified = self.modified(call).filter(|_| dtd.is_none());
        let replaced = dtd.map(|dtd| (dtd.place, vec![BodyPiece::text(dtd.doctype)])).into_iter().collect();
        let parts = with_replaced(&self.reader, replaced);
        let media_type = self.content.content_type.to_string();
        let whole = ByteReply { of: self.object, media_type, parts, tag, modified };
        whole.reply(call, &self.source, &self.name)
    }

    /// Returns the value of `Last-Modified` for the bytes, if known.
    pub fn modified(&self, call: &Call) -> Option<u64> {
        known_time(call, self.at)
    }

    /// Opens an object's latest version.
    ///
    /// # Errors
    /// `ObjectNotFound` if it has none; errors of disk and store.
    pub async fn latest(app: &App, record: &Record) -> Result<ObjectContent> {
        ObjectContent::open(app, record, &record.loid, || locate_latest(app, record, &record.loid)).await
    }

    /// Opens an object's latest version; `None` if it has none, or more than `most` bytes.
    ///
    /// # Errors
    /// Errors of disk and store.
    pub async fn latest_within(app: &App, record: &Record, most: u64) -> Result<Option<ObjectContent>> {
        if record.content.as_ref().is_none_or(|content| content.size > most) {
            return Ok(None);
        }
        match ObjectContent::latest(app, record).await {
            // A longer content may have replaced that of the record.
            Ok(latest) => Ok(Some(latest).filter(|latest| latest.reader.remaining() <= most)),
            // The object was deleted since it was found.
            Err(error) if error.code == Code::ObjectNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Locates the content that a call asks for: the version that the source or else `version` names.
/// Without either it is the draft, if the caller's session holds the lock, or else the latest
/// version.
fn locate(call: &Call, source: &ObjectSource, record: &Record) -> Result<LocatedContent> {
    let app = &call.app;
    if let Some(version) = version_named(app, source, record)? {
        return Ok(version.into());
    }
    // For the owner of the lock, the absence of `version` does not mean the default of -1.
    let asked = if call.query.has("version") { call.query.integer("version") } else { None };
    if let Some(number) = asked.filter(|number| *number != -1) {
        let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
        let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
        return Ok(version(app, record, wanted)?.into());
    }
    if asked.is_none()
        && let Some(session) = call.session()
        && let Some(draft) = draft_for(&app.repository, record, session.user(), session.id())?
    {
        return Ok(draft);
    }
    locate_latest(app, record, source)
}

/// Returns the version that the source names, if it names one.
///
/// # Errors
/// `ObjectNotFound` if it does not exist; errors of the store.
pub fn version_named(app: &App, source: &ObjectSource, record: &Record) -> Result<Option<Version>> {
    match source {
        ObjectSource::Loid(loid) if loid.version != 0 => version(app, record, loid.version).map(Some),
        _ => Ok(None),
    }
}

fn version(app: &App, record: &Record, number: u32) -> Result<Version> {
    let loid = record.loid.at_version(number);
    // An outline has no versions.
    if number > record.version {
        return Err(Error::not_found(loid));
    }
    let key = Version::key(loid);
    app.repository.row(key.table, &key.key)?.ok_or_else(|| Error::not_found(loid))
}

fn locate_latest(app: &App, record: &Record, source: &impl Display) -> Result<LocatedContent> {
    if record.version == 0 {
        let message = format!("`{source}` has no content.");
        return Err(Error::new(Code::ObjectNotFound, message).with_source(source));
    }
    Ok(version(app, record, record.version)?.into())
}

/// Locates the draft of an object, if this session of the user holds the lock. The record may be
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
