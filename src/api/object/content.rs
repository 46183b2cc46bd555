//! The bytes of an object (decisions 6).

use std::fmt::Display;

use bytes::Bytes;
use stet_actors::checkout::is_held_by;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Source;
use stet_actors::object::{Draft, Record, SmallBody};

use super::{version, version_named};
use crate::api::download::{self, Found};
use crate::api::dtd;
use crate::api::whole::{Part, Whole, told_time, with_replaced};
use crate::app::App;
use crate::content::ContentReader;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::Reply;

/// `GET /v3/object/{source}/content` and `/content/binary`: the bytes, streamed. What is stored is what a plain object resolves to,
/// so `raw` changes nothing here.
pub async fn content(call: Call) -> Result<Reply> {
    let source = call.source("source")?;
    content_of(&call, &source).await
}

/// `GET /v3/object/loid/content?loid=`
pub async fn content_by_loid(call: Call) -> Result<Reply> {
    let source = loid_in_query(&call)?;
    content_of(&call, &source).await
}

/// The source in the parameter `loid`.
pub(super) fn loid_in_query(call: &Call) -> Result<Source> {
    // It is required, so there is one.
    Source::parse("loid", call.query.text("loid").unwrap_or_default())
}

pub(super) async fn content_of(call: &Call, source: &Source) -> Result<Reply> {
    let record = call.find(source, call.database()?)?;
    let (found, reader) = opened(call, source, &record).await?;
    stored(call, source, &record, &found, reader).await
}

/// What was found, as it is stored; with `showDtd` its DTD in it.
///
/// # Errors
/// `RangeNotSatisfiable`; `InvalidParameter` for `maxSize`; what disk and store say.
pub(in crate::api) async fn stored(
    call: &Call,
    source: &Source,
    record: &Record,
    found: &Found,
    reader: ContentReader,
) -> Result<Reply> {
    let Found { content, at, .. } = found;
    let dtd = dtd::of(call, record.loid.database, &reader).await?;
    let told = (content.sha256, call.query.integer("maxSize"));
    let tag = match &dtd {
        None => ETag::new(record.revision, told),
        Some(dtd) => ETag::new(record.revision, (told, dtd.sha256)),
    };
    // Of a DTD it says nothing.
    let modified = told_time(call, *at).filter(|_| dtd.is_none());
    let replaced = dtd.map(|dtd| (dtd.place, vec![Part::text(dtd.doctype)])).into_iter().collect();
    let parts = with_replaced(&reader, replaced);
    let whole = Whole { media_type: content.content_type.to_string(), parts, tag, modified };
    whole.reply(call, &source.to_string(), &record.name)
}

/// What a call asks for of an object, and its bytes.
///
/// # Errors
/// `ObjectNotFound`, `InvalidParameter` for `version`; what disk and store say.
pub(in crate::api) async fn opened(call: &Call, source: &Source, record: &Record) -> Result<(Found, ContentReader)> {
    let app = &call.app;
    download::opened(&app.repository, &app.content, source, || found(call, source, record)).await
}

/// The version that the source or `version` names; without, the caller's working copy or the latest.
fn found(call: &Call, source: &Source, record: &Record) -> Result<Found> {
    let app = &call.app;
    let named = match version_named(app, source, record)? {
        Some(version) => Some(version),
        None => match call.query.integer("version").unwrap_or(-1) {
            -1 => None,
            number => {
                let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
                let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
                Some(version(app, record, wanted)?)
            }
        },
    };
    if named.is_none()
        && let Some(copy) = working_copy(call, record)?
    {
        return Ok(copy);
    }
    named.map_or_else(|| latest(app, record, source), |version| Ok(version.into()))
}

/// The latest version.
fn latest(app: &App, record: &Record, source: &impl Display) -> Result<Found> {
    if record.version == 0 {
        let message = format!("`{source}` has no content.");
        return Err(Error::new(Code::ObjectNotFound, message).with_source(source));
    }
    Ok(version(app, record, record.version)?.into())
}

/// What the caller has saved of an object that is checked out in this session.
fn working_copy(call: &Call, record: &Record) -> Result<Option<Found>> {
    let lock = record.lock_at(call.app.repository.clock().now_s());
    let (Some(lock), Some(session)) = (lock, &call.session) else { return Ok(None) };
    if !is_held_by(lock, session.user(), session.id()) {
        return Ok(None);
    }
    let key = Draft::key(record.loid);
    let draft: Option<Draft> = call.app.repository.row(key.table, &key.key)?;
    let small = SmallBody::key(Draft::body_loid(record.loid));
    Ok(draft.map(|draft| Found { small, content: draft.content, at: draft.at }))
}

/// All bytes of an object's latest version.
///
/// # Errors
/// `ObjectNotFound` when it has none; what disk and store say.
pub async fn bytes_of(app: &App, record: &Record) -> Result<Bytes> {
    latest_of(app, record).await?.read_all().await
}

/// An object's latest version, to be read.
///
/// # Errors
/// As [`bytes_of`].
pub(in crate::api) async fn latest_of(app: &App, record: &Record) -> Result<ContentReader> {
    let found = || latest(app, record, &record.loid);
    Ok(download::opened(&app.repository, &app.content, record.loid, found).await?.1)
}
