//! Opening of generic containers (docs/api/bundles.md, "Opening").

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::checkout::{TakeLock, is_held_by};
use stet_actors::error::{Code, Error, Result};
use stet_actors::expect::Tag;
use stet_actors::folder::{MAX_MEMBERS, children};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::object::{FamilyKind, Text};
use stet_actors::store::View;

use super::linked::linked;
use super::object::latest_of;
use super::records::{BulkError, BulkReply, Failures, record_of};
use super::requests::{DatabaseRef, SourceList, database_named};
use crate::auth::{LiveSession, Privilege};
use crate::http::call::Call;
use crate::http::change::OneOfMany;
use crate::http::etag::ETag;
use crate::http::listing::{Items, Listing, Made, Never};
use crate::http::reply::Json;
use crate::json::{Listed, Ready};
use crate::limits::offload::Offload;
use crate::limits::set_changed;
use crate::limits::yielding::YieldTimer;
use crate::records::{Cached, Display, ObjectRecord};

pub mod routes;

/// Body of a call that opens a container.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenRequest {
    /// Loid, uuid or path; only where the path of the call names none.
    source: Option<String>,
    /// Likewise, of several.
    sources: Option<SourceList>,
    /// Of those; the main one without it.
    database_id: Option<DatabaseRef>,
    /// Whether it is only read: then it is not checked out.
    read_only: Option<bool>,
    /// Whether the caller has it checked out at the end.
    check_out: Option<bool>,
}

/// A container, opened.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenDocument {
    /// Its record, with the lock that it has.
    info: Ready<ObjectRecord>,
    /// Its content; null if it has none.
    content: Option<OpenContent>,
    /// Whether this call's session has it checked out.
    checked_out: bool,
    /// What it holds: of a bundle its copies and bundles, of any other what its links and content
    /// name.
    members: Listed<Ready<ObjectRecord>>,
}

/// A content.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenContent {
    /// Media type.
    content_type: Text,
    /// Bytes.
    size: u64,
    /// Number of the version.
    version: u32,
    /// All of it, if it is UTF-8 and no larger than `limits.xml_bytes`; else null, and it is read
    /// as any content.
    #[schemars(with = "Option<String>")]
    text: Option<Ready<Text>>,
}

impl OpenRequest {
    /// Whether the containers are to be checked out.
    fn checks_out(&self) -> Result<bool> {
        let check_out = self.check_out.unwrap_or(false);
        if check_out && self.read_only == Some(true) {
            return Err(Error::parameter("checkOut", "true", "false where `readOnly` is true"));
        }
        Ok(check_out)
    }
}

/// A container that can be opened, checked out if that is asked for.
async fn prepared(one: &OneOfMany<'_>, source: &Source, database: DatabaseId, check_out: bool) -> Result<Loid> {
    let call = one.call();
    let needed = if check_out { Privilege::Write } else { Privilege::Read };
    let record = call.find_for(needed, source, database)?;
    if !matches!(record.family, FamilyKind::Bundle | FamilyKind::WebContainer) {
        let message = format!("`{source}` is of type {}, which is no container that can be opened.", record.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    if let Source::Loid(loid) = source
        && loid.version != 0
    {
        let message = format!("`{loid}` is a version: a container is opened as it is now, by `{}`.", loid.object());
        return Err(Error::new(Code::InvalidType, message).with_source(loid));
    }
    if check_out {
        let lasts_s = call.app.config.auth.lock_idle_seconds;
        one.change(record.loid, TakeLock { object: record.loid, lasts_s }).await?;
    }
    Ok(record.loid)
}

/// A container that is shown, and its members.
struct Opened {
    info: Ready<ObjectRecord>,
    content: Option<OpenContent>,
    checked_out: bool,
    members: Members,
    /// The container as it is shown.
    tag: Tag,
}

impl Opened {
    /// # Errors
    /// `ObjectNotFound` for one that has gone, or may not be read any more; what disk and store
    /// say.
    async fn of(call: &Call, container: Loid, display: &Display) -> Result<Opened> {
        let record = call.find(&Source::Loid(container), container.database)?;
        let content = content_of(call, &record).await?;
        let held = |session: &Arc<LiveSession>| {
            let now = call.app.repository.clock().now_s();
            record.lock_at(now).is_some_and(|lock| is_held_by(lock, session.user(), session.id()))
        };
        Ok(Opened {
            tag: Tag::of(&record),
            info: record_of(&call.app, &record, display).await?,
            content,
            checked_out: call.session.as_ref().is_some_and(held),
            members: Members { loids: members_of(call, &record).await?, next: 0, display: display.clone() },
        })
    }

    /// Bytes of the content and the list of members.
    fn bytes(&self) -> usize {
        let text = self.content.as_ref().and_then(|content| content.text.as_ref());
        self.members.bytes() + text.map_or(0, |text| text.text().len())
    }

    fn document(&self, members: Listed<Ready<ObjectRecord>>) -> OpenDocument {
        OpenDocument { info: self.info.clone(), content: self.content.clone(), checked_out: self.checked_out, members }
    }
}

/// What a container holds, or names.
async fn members_of(call: &Call, container: &Cached) -> Result<Vec<Loid>> {
    if container.family == FamilyKind::Bundle {
        let look = call.app.repository.look();
        let found = children(look, View::Committed, container.loid, None, MAX_MEMBERS).map_err(|error| {
            tracing::error!(%error, "a bundle can't be listed");
            Error::internal()
        })?;
        return Ok(found.0);
    }
    linked(call, container).await
}

async fn content_of(call: &Call, record: &Cached) -> Result<Option<OpenContent>> {
    let Some(content) = &record.content else { return Ok(None) };
    let text = if content.size <= call.app.xml_limits().max_bytes as u64 {
        let reader = latest_of(&call.app, record).await?;
        // To escape megabytes takes as long as to read them. They are read once it is their turn.
        let place = Offload::for_bytes(content.size).await?;
        let bytes = reader.read_all().await?;
        place.work(move || std::str::from_utf8(&bytes).ok().map(|text| Ready::of(&text.into())).transpose()).await??
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

/// The members of a container, as records.
struct Members {
    loids: Vec<Loid>,
    next: usize,
    display: Display,
}

impl Members {
    fn bytes(&self) -> usize {
        self.loids.capacity() * size_of::<Loid>()
    }
}

impl Items for Members {
    type Item = Ready<ObjectRecord>;
    type Inner = Never;
    type Innermost = Never;
    type Failed = Never;
    type Fault = Error;

    async fn make(&mut self, call: &Call, _: bool) -> Result<Made<Ready<ObjectRecord>>> {
        let Some(loid) = self.loids.get(self.next) else { return Ok(Made::End) };
        let Some(member) = call.app.records.get(&call.app.repository, *loid)? else { return Ok(Made::Nothing) };
        let Some(member) = call.as_seen(member)? else { return Ok(Made::Nothing) };
        Ok(Made::Item(record_of(&call.app, &member, &self.display).await?))
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn bytes(&self) -> usize {
        Members::bytes(self)
    }
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
        return Err(Error::new(Code::InvalidBody, "`source` must say which container is to be opened.")
            .with_detail("path", "$.source"));
    };
    let source = Source::parse("source", source)?;
    open(call, request, source).await
}

async fn open(mut call: Call, request: OpenRequest, source: Source) -> Result<Json<OpenDocument>> {
    let (check_out, display) = (request.checks_out()?, call.display_of_body().await?);
    let database = database_named(&call, request.database_id.as_ref())?;
    let container = prepared(&call.each_of(1)?.at(0)?, &source, database, check_out).await?;
    let Opened { info, content, checked_out, members, tag } = Opened::of(&call, container, &display).await?;
    let document = |members, _| OpenDocument { info, content, checked_out, members };
    Ok(Listing::of(&call, members, document).await?.answer(call).with_etag(ETag::new(tag, "open")))
}

/// `POST /v3/container/opendocuments`: what can't be opened is told by its source; others are
/// opened all the same.
pub async fn open_several(mut call: Call) -> Result<Json<BulkReply<OpenDocument>>> {
    let request: OpenRequest = call.json().await?;
    let (check_out, display) = (request.checks_out()?, call.display_of_body().await?);
    let database = database_named(&call, request.database_id.as_ref())?;
    let mut sources = request.sources.unwrap_or_default().read(&call.app)?;
    sources.extend(request.source.filter(|source| !source.is_empty()));
    let (mut outcomes, mut way) = (Vec::with_capacity(sources.len()), YieldTimer::new());
    let failures = Failures::of(&call);
    let mut each = call.each_of(sources.len())?;
    for (place, text) in sources.into_iter().enumerate() {
        way.yield_if_due().await;
        let outcome = async {
            let source = Source::parse("sources", &text)?;
            prepared(&each.at(place)?, &source, database, check_out).await
        };
        let outcome = outcome.await.map_err(|error| Box::new(failures.describe(&text, error)));
        outcomes.push((text, outcome));
    }
    // Whatever became of the last one, others may have been checked out.
    set_changed(check_out);
    let documents = Documents { outcomes, next: 0, open: None, opened: false, display };
    let listing = Listing::of(&call, documents, |items, errors| BulkReply { items, errors }).await?;
    Ok(listing.answer(call))
}

/// Containers that are opened one after the other.
struct Documents {
    /// As the client named them, and what came of it.
    outcomes: Vec<(String, Result<Loid, Box<BulkError>>)>,
    next: usize,
    /// The one whose members are shown.
    open: Option<Opened>,
    /// Whether the step was about that one, and its members come.
    opened: bool,
    display: Display,
}

impl Items for Documents {
    type Item = OpenDocument;
    type Inner = Ready<ObjectRecord>;
    type Innermost = Never;
    type Failed = BulkError;
    type Fault = Error;

    async fn make(&mut self, call: &Call, late: bool) -> Result<Made<OpenDocument, Ready<ObjectRecord>, BulkError>> {
        if let Some(open) = self.open.as_mut().filter(|_| !self.opened) {
            // Behind its last member the list is closed.
            return Ok(match open.members.make(call, late).await? {
                Made::Item(member) => Made::Inner(member),
                Made::End => Made::Close,
                _ => Made::Nothing,
            });
        }
        let Some((text, outcome)) = self.outcomes.get(self.next) else { return Ok(Made::End) };
        let container = match outcome {
            Ok(container) => *container,
            Err(error) => return Ok(Made::Failed(BulkError::clone(error))),
        };
        Ok(match Opened::of(call, container, &self.display).await {
            Ok(open) => {
                let made = Made::open(|members| open.document(members));
                (self.open, self.opened) = (Some(open), true);
                made
            }
            Err(error) => Made::Failed(Failures::of(call).describe(text, error)),
        })
    }

    fn advance(&mut self) {
        match &mut self.open {
            Some(open) if self.opened => {
                self.opened = false;
                // It is written, and may be large: a client that stops reading amid the members
                // holds it no longer.
                open.content = None;
            }
            Some(open) if open.members.next < open.members.loids.len() => open.members.advance(),
            _ => {
                self.open = None;
                self.next += 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        let texts: usize = self.outcomes.iter().map(|(text, _)| 256 + text.capacity()).sum();
        texts + self.open.as_ref().map_or(0, Opened::bytes)
    }
}
