//! Opening of generic containers (docs/api/bundles.md, "Opening").

use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::{LiveSession, Privilege};
use stet_base::json::{ReadyJson, ReplyList};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::checkout::{TakeLock, is_held_by};
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::folder::{MAX_MEMBERS, children};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{FamilyKind, SharedText};
use stet_domain::store::ReadLevel;
use stet_endpoint::content::ObjectContent;
use stet_endpoint::linked::linked_objects;
use stet_endpoint::records::{BulkError, BulkFailures, BulkReply, record_of};
use stet_endpoint::requests::{DatabaseRef, SourceList, database_named};
use stet_newsroom::caller::BulkChange;
use stet_newsroom::records::{CachedRecord, Display, ObjectRecord};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::{Listing, ListingEntries, ListingSource, NestedItem, NoItem};
use stet_web::reply::Json;

pub mod routes;

/// Body of a call that opens a container.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenRequest {
    /// Loid, uuid or path of the container; only if the path of the call names none.
    source: Option<String>,
    /// Loids, uuids or paths of several containers.
    sources: Option<SourceList>,
    /// Database of `source` and `sources`; the main one by default.
    database_id: Option<DatabaseRef>,
    /// Whether it is opened for reading only, without a check-out.
    read_only: Option<bool>,
    /// Whether to check it out.
    check_out: Option<bool>,
}

/// An opened container.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenDocument {
    /// Record of the container, with its lock.
    info: ReadyJson<ObjectRecord>,
    /// Content of the container; null if it has none.
    content: Option<OpenContent>,
    /// Whether the session of this call has it checked out.
    checked_out: bool,
    /// Members: the copies and bundles in a bundle; for other containers, the objects that links
    /// and content refer to.
    members: ReplyList<ReadyJson<ObjectRecord>>,
}

/// The content of a container.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenContent {
    /// Media type.
    content_type: SharedText,
    /// Size in bytes.
    size: u64,
    /// Number of the version.
    version: u32,
    /// Whole text, if it is UTF-8 and no larger than `limits.xml_bytes`. Otherwise null, and the
    /// content is read by a call of its own.
    #[schemars(with = "Option<String>")]
    text: Option<ReadyJson<SharedText>>,
}

impl OpenRequest {
    /// Returns whether to check out the containers.
    fn checks_out(&self) -> Result<bool> {
        let check_out = self.check_out.unwrap_or(false);
        if check_out && self.read_only == Some(true) {
            return Err(Error::parameter("checkOut", "true", "false where `readOnly` is true"));
        }
        Ok(check_out)
    }
}

/// Returns a container that can be opened, and checks it out on request.
async fn prepare_container(
    one: &BulkChange<'_>,
    source: &ObjectSource,
    database: DatabaseId,
    check_out: bool,
) -> Result<Loid> {
    let caller = one.caller();
    let needed = if check_out { Privilege::Write } else { Privilege::Read };
    let record = caller.find_for(needed, source, database)?;
    if !matches!(record.family, FamilyKind::Bundle | FamilyKind::WebContainer) {
        let message = format!("`{source}` is of type {}, which can't be opened as a container.", record.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    if let ObjectSource::Loid(loid) = source
        && loid.version != 0
    {
        let message = format!(
            "`{loid}` is a version. Only the current state of a container can be opened, as `{}`.",
            loid.object()
        );
        return Err(Error::new(Code::InvalidType, message).with_source(loid));
    }
    if check_out {
        let lasts_s = caller.newsroom().config.auth.lock_idle_seconds;
        one.change(record.loid, TakeLock { object: record.loid, lasts_s }).await?;
    }
    Ok(record.loid)
}

/// A container that is shown, and the loids of its members.
struct ShownDocument {
    info: ReadyJson<ObjectRecord>,
    content: Option<OpenContent>,
    checked_out: bool,
    members: Vec<Loid>,
    /// The state of the container that is shown.
    tag: RevisionTag,
}

impl ShownDocument {
    /// # Errors
    /// `ObjectNotFound` if it was removed, or the caller may no longer read it; errors of disk and
    /// store.
    async fn of(call: &Call, container: Loid, display: &Display) -> Result<ShownDocument> {
        let record = call.find(&ObjectSource::Loid(container), container.database)?;
        let content = content_of(call, &record).await?;
        let held = |session: &Arc<LiveSession>| {
            let now = call.app.repository.clock().now_s();
            record.lock_at(now).is_some_and(|lock| is_held_by(lock, session.user(), session.id()))
        };
        Ok(ShownDocument {
            tag: RevisionTag::of(&record),
            info: record_of(&call.app, &record, display).await?,
            content,
            checked_out: call.session().is_some_and(held),
            members: members_of(call, &record).await?,
        })
    }
}

/// Returns the objects that a container holds, or that it refers to.
async fn members_of(call: &Call, container: &CachedRecord) -> Result<Vec<Loid>> {
    if container.family == FamilyKind::Bundle {
        let look = call.app.repository.look();
        let found = children(look, ReadLevel::Committed, container.loid, MAX_MEMBERS).map_err(|error| {
            tracing::error!(%error, "a bundle can't be listed");
            Error::internal()
        })?;
        return Ok(found.0);
    }
    linked_objects(call, container).await
}

async fn content_of(call: &Call, record: &CachedRecord) -> Result<Option<OpenContent>> {
    let Some(content) = &record.content else { return Ok(None) };
    let text = if content.size <= call.app.xml_limits().max_bytes as u64 {
        // Escaping megabytes takes as long as reading them.
        let escape =
            |bytes: Bytes| std::str::from_utf8(&bytes).ok().map(|text| ReadyJson::of(&text.into())).transpose();
        ObjectContent::latest(&call.app, record).await?.reader.process(escape).await??
    } else {
        None
    };
    Ok(Some(OpenContent {
        content_type: content.content_type.clone(),
        size: content.size,
        version: record.version,
        text,
    }))
}

/// Lists the members of a container as records.
fn list_members(
    members: Vec<Loid>,
    display: Display,
) -> impl ListingSource<Item = ReadyJson<ObjectRecord>, Failed = NoItem, Fault = Error> {
    ListingEntries::of(members, async move |call: &Call, loid: &Loid, _| -> Result<_> {
        let Some(member) = call.app.records.get(&call.app.repository, *loid)? else { return Ok(None) };
        let Some(member) = call.as_seen(member)? else { return Ok(None) };
        record_of(&call.app, &member, &display).await.map(Some)
    })
}

/// `POST /v3/container/{source}/opendocument`
pub async fn open_named(call: Call) -> Result<Json<OpenDocument>> {
    let request: OpenRequest = call.json().await?;
    let source = call.source("source")?;
    open(call, request, source).await
}

/// `POST /v3/container/opendocument`
pub async fn open_one(call: Call) -> Result<Json<OpenDocument>> {
    let request: OpenRequest = call.json().await?;
    let Some(source) = request.source.as_deref().filter(|source| !source.is_empty()) else {
        return Err(
            Error::new(Code::InvalidBody, "`source` must name the container to open.").with_detail("path", "$.source")
        );
    };
    let source = ObjectSource::parse("source", source)?;
    open(call, request, source).await
}

async fn open(mut call: Call, request: OpenRequest, source: ObjectSource) -> Result<Json<OpenDocument>> {
    let (check_out, display) = (request.checks_out()?, call.display_of_body().await?);
    let database = database_named(&call, request.database_id.as_ref())?;
    let container = prepare_container(&call.each_of(1)?.at(0)?, &source, database, check_out).await?;
    let ShownDocument { info, content, checked_out, members, tag } =
        ShownDocument::of(&call, container, &display).await?;
    let document = |members, _| OpenDocument { info, content, checked_out, members };
    let listing = Listing::of(&call, list_members(members, display), document).await?;
    Ok(listing.answer(call).with_etag(ETag::new(tag, "open")))
}

/// `POST /v3/container/opendocuments`: containers that can't be opened are reported by their
/// sources. The others are opened nevertheless.
pub async fn open_several(mut call: Call) -> Result<Json<BulkReply<OpenDocument>>> {
    let request: OpenRequest = call.json().await?;
    let (check_out, display) = (request.checks_out()?, call.display_of_body().await?);
    let database = database_named(&call, request.database_id.as_ref())?;
    let mut sources = request.sources.unwrap_or_default().read(&call.app)?;
    sources.extend(request.source.filter(|source| !source.is_empty()));
    let (mut outcomes, mut timer) = (Vec::with_capacity(sources.len()), YieldTimer::start());
    let failures = BulkFailures::of(&call);
    let mut each = call.each_of(sources.len())?;
    for (place, text) in sources.into_iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async {
            let source = ObjectSource::parse("sources", &text)?;
            prepare_container(&each.at(place)?, &source, database, check_out).await
        };
        let outcome = outcome.await.map_err(|error| Box::new(failures.describe(&text, error)));
        outcomes.push((text, outcome));
    }
    let beside = outcomes.iter().map(|(text, _)| 256 + text.capacity()).sum();
    let render = async move |call: &Call, (text, outcome): &(String, Result<Loid, Box<BulkError>>), _| -> Result<_> {
        let container = match outcome {
            Ok(container) => *container,
            Err(error) => return Ok(Err(BulkError::clone(error))),
        };
        let shown = ShownDocument::of(call, container, &display).await;
        let document = |ShownDocument { info, content, checked_out, members, tag: _ }| {
            let document = |members| OpenDocument { info, content, checked_out, members };
            Some(NestedItem::open(list_members(members, display.clone()), document))
        };
        Ok(shown.map(document).map_err(|error| BulkFailures::of(call).describe(text, error)))
    };
    let documents = ListingEntries::of(outcomes, render).beside(beside);
    let listing = Listing::of(&call, documents, |items, errors| BulkReply { items, errors }).await?;
    Ok(listing.answer(call))
}
