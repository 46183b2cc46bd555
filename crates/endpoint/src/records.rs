//! Records as replies show them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use stet_actors::runtime::ResultingObject;
use stet_auth::Privilege;
use stet_base::json::{ReadyJson, ReplyList};
use stet_base::limits::offload::{Offload, offload_if_large};
use stet_domain::error::{Error, MAX_SOURCE_BYTES, Result, shorten_text};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, Object, Record};
use stet_domain::receipt::IdempotentCall;
use stet_newsroom::records::Display;
use stet_newsroom::records::{Basis, CachedRecord, Groups, ObjectRecord, is_large, render};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::reply::{EnvelopedReply, Json};

use crate::requests::text_bytes_of;

/// Returns an object's record, if it is not in the recycle bin and the caller may read it.
pub fn readable(call: &Call, object: Loid) -> Result<Option<Arc<CachedRecord>>> {
    let Some(cached) = call.app.records.get(&call.app.repository, object)? else { return Ok(None) };
    Ok(call.access().may(Privilege::Read, &cached)?.then_some(cached))
}

/// An object that was discarded, destroyed or hidden.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedObject {
    /// The object's loid.
    #[schemars(with = "Loid")]
    pub id: String,
}

/// The reply to a bulk call: the results and the failures.
#[derive(Serialize, JsonSchema)]
pub struct BulkReply<T> {
    /// Results in the order of the request.
    pub items: ReplyList<T>,
    /// One error for each source that failed, in the order of the request.
    pub errors: ReplyList<BulkError>,
}

/// The result of a bulk call for an object.
#[derive(Serialize, JsonSchema)]
pub struct BulkItem {
    /// Source, as the client gave it.
    pub source: String,
    /// The object's loid.
    #[schemars(with = "Loid")]
    pub id: String,
}

/// A source of a bulk call that failed.
#[derive(Clone, Serialize, JsonSchema)]
pub struct BulkError {
    /// Source, as the client gave it.
    pub source: String,
    /// Error code with its prefix.
    pub code: String,
    /// Description of the error in full sentences.
    pub message: String,
    /// Further facts, as in an error reply of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Map<String, Value>>>,
}

/// The failures of one bulk call.
#[derive(Clone)]
pub struct BulkFailures {
    app: Arc<App>,
    once: Option<Arc<IdempotentCall>>,
}

impl BulkFailures {
    /// Returns the failures of a call whose body has been read.
    pub fn of(call: &Call) -> BulkFailures {
        BulkFailures { app: call.app.clone(), once: call.once() }
    }

    /// Describes the failure of a source. Depending on the error, the reply is then not kept for
    /// retries ([`IdempotentCall::note_failure`]).
    pub fn describe(&self, source: &str, error: Error) -> BulkError {
        if let Some(once) = &self.once {
            once.note_failure(error.code);
        }
        let code = format!("{}{}", self.app.config.compat.code_prefix, error.code.name());
        let source = shorten_text(source.to_owned(), MAX_SOURCE_BYTES);
        BulkError { source, code, message: error.message, details: error.details }
    }
}

impl BulkError {
    /// Returns the approximate size of its JSON, and of itself in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let detail = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(16, str::len);
        let details: usize = self.details.iter().flat_map(|details| details.iter()).map(detail).sum();
        64 + self.source.len() + self.code.len() + self.message.len() + details
    }
}

/// The objects that the sources of a bulk read name, each with the index of the source that it is
/// shown for. Other sources may name it differently.
pub struct FirstMentions {
    objects: HashMap<Loid, usize>,
    /// Bytes of the sources.
    text_bytes: usize,
}

impl FirstMentions {
    /// Creates a collection with room for the objects that the sources name.
    pub fn of(sources: &[String]) -> FirstMentions {
        FirstMentions { objects: HashMap::with_capacity(sources.len()), text_bytes: text_bytes_of(sources) }
    }

    /// Reports whether an earlier source than that at `index` named the object.
    pub fn was_before(&self, object: Loid, index: usize) -> bool {
        self.objects.get(&object).is_some_and(|first| *first != index)
    }

    /// Notes that the source at `index` names the object. Returns whether it is the first.
    pub fn note(&mut self, object: Loid, index: usize) -> bool {
        *self.objects.entry(object).or_insert(index) == index
    }

    /// Returns the memory of the collection and the texts of the sources, in bytes.
    pub fn bytes(&self) -> usize {
        self.text_bytes + self.objects.capacity() * size_of::<(Loid, usize)>()
    }
}

/// The results of a bulk call, each list in the order of the request.
pub struct BulkParts<T> {
    /// The results.
    pub items: Vec<T>,
    /// One error for each source that failed.
    pub errors: Vec<BulkError>,
}

/// A bulk reply that is being built. Both lists have the order of the request, in whichever order
/// the sources are processed.
pub struct BulkBuilder<'c, T> {
    failures: BulkFailures,
    sources: &'c [String],
    items: Vec<(usize, T)>,
    errors: Vec<(usize, BulkError)>,
    /// The approximate size of the reply in bytes, if an item has little more than its source.
    bytes: usize,
}

impl<'c, T> BulkBuilder<'c, T> {
    /// Begins the reply to a call with these sources.
    pub fn of(call: &Call, sources: &'c [String]) -> BulkBuilder<'c, T> {
        BulkBuilder { failures: BulkFailures::of(call), sources, items: Vec::new(), errors: Vec::new(), bytes: 0 }
    }

    /// Records the outcome for the source at that place in the request.
    pub fn note(&mut self, place: usize, outcome: Result<T>) {
        let error = match outcome {
            Ok(item) => {
                self.bytes += 64 + self.sources[place].len();
                return self.items.push((place, item));
            }
            Err(error) => self.failures.describe(&self.sources[place], error),
        };
        self.bytes += error.bytes();
        self.errors.push((place, error));
    }

    /// Builds the reply, on another thread if it is long.
    ///
    /// # Errors
    /// The errors of [`Json::of`]; `RepositoryError` while the server shuts down.
    pub async fn answer(self) -> Result<Json<BulkReply<T>>>
    where
        T: Serialize + Send + 'static,
    {
        let (bytes, place) = (self.bytes, Offload::for_bytes(self.bytes as u64).await?);
        let BulkParts { items, errors } = self.parts();
        let reply = BulkReply { items: items.into(), errors: errors.into() };
        place.work(move || EnvelopedReply::of(&reply, bytes)).await?.map(Json::from)
    }

    /// Returns both lists in the order of the request.
    pub fn parts(self) -> BulkParts<T> {
        fn in_order<T>(mut noted: Vec<(usize, T)>) -> Vec<T> {
            noted.sort_by_key(|(place, _)| *place);
            noted.into_iter().map(|(_, noted)| noted).collect()
        }
        BulkParts { items: in_order(self.items), errors: in_order(self.errors) }
    }
}

/// Returns the record of an object, live or in the recycle bin, with its path if asked for. `None`
/// for one that was destroyed, or that the caller may not read.
///
/// # Errors
/// Errors of the store.
pub async fn any_record_of(call: &Call, loid: Loid, display: &Display) -> Result<Option<ReadyJson<ObjectRecord>>> {
    Ok(record_after(call, loid, None, display).await?.map(|(_, record)| record))
}

/// Returns the record of an object as a change has left it, with its path if asked for, and its
/// state; the present one if that is not known. `None` for an object that was destroyed, or that
/// the caller may no longer read.
///
/// # Errors
/// Errors of the store.
pub async fn record_after(
    call: &Call,
    loid: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
) -> Result<Option<(RevisionTag, ReadyJson<ObjectRecord>)>> {
    match left_of(call, loid, left).await? {
        Some(left) => left.shown(call, display).await.map(Some),
        None => Ok(None),
    }
}

/// An object as a change has left it, if the caller may read it.
pub enum LeftRecord {
    /// The present record, whose rendering may be cached.
    AsItIs(Arc<CachedRecord>),
    /// The record after the change. The object was changed since, or lies in the recycle bin.
    AsItWas(Object),
}

/// Returns the object as a change has left it, or the present one if that is not known. `None` for
/// one that was destroyed, or that the caller may no longer read.
///
/// # Errors
/// Errors of the store.
pub async fn left_of(call: &Call, loid: Loid, left: Option<&ResultingObject>) -> Result<Option<LeftRecord>> {
    let (app, access) = (&call.app, call.access());
    if let Some(cached) = app.records.get(&app.repository, loid)? {
        if !access.may(Privilege::Read, &cached)? {
            return Ok(None);
        }
        if left.is_none_or(|left| left.object().record.revision == cached.revision) {
            return Ok(Some(LeftRecord::AsItIs(cached)));
        }
    } else {
        let present = app.repository.any_record(loid)?;
        let readable = present.map(|record| access.may(Privilege::Read, &record)).transpose()?;
        if readable != Some(true) {
            return Ok(None);
        }
    }
    Ok(Some(LeftRecord::AsItWas(match left {
        Some(left) => left.object().clone(),
        None => {
            let Some(record) = app.repository.any_record(loid)? else { return Ok(None) };
            // An upper bound: the parts of a container are counted there, too.
            let (repository, bytes) = (app.repository.clone(), record.container_bytes as usize);
            let attributes = offload_if_large(bytes, move || repository.attributes(loid)).await??;
            Object { record: Arc::new(record), attributes: Arc::new(attributes) }
        }
    })))
}

impl LeftRecord {
    /// Returns the state of the object.
    pub fn state(&self) -> RevisionTag {
        match self {
            LeftRecord::AsItIs(cached) => RevisionTag::of(cached),
            LeftRecord::AsItWas(object) => RevisionTag::of(&object.record),
        }
    }

    /// Returns the record, with its path if asked for, and its state.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn shown(&self, call: &Call, display: &Display) -> Result<(RevisionTag, ReadyJson<ObjectRecord>)> {
        let shown = match self {
            LeftRecord::AsItIs(cached) => record_of(&call.app, cached, display).await?,
            LeftRecord::AsItWas(Object { record, attributes }) => {
                let groups = Groups::of(attributes, display).await?;
                let mut shown = render(&call.app, record, groups, display)?;
                shown.path = path_if_shown(&call.app, record, display)?;
                shown.ready().await?
            }
        };
        Ok((self.state(), shown))
    }
}

/// Returns a record as it is shown, with its path if asked for. An outline shows only what it
/// contains.
///
/// # Errors
/// Errors of the store.
pub async fn record_of(app: &App, cached: &CachedRecord, display: &Display) -> Result<ReadyJson<ObjectRecord>> {
    let path = path_if_shown(app, cached, display)?;
    record_with_path(app, cached, display, path.as_deref()).await
}

/// Returns a record with that path, rendered once per change.
///
/// # Errors
/// Errors of the store.
pub async fn record_with_path(
    app: &App,
    cached: &CachedRecord,
    display: &Display,
    path: Option<&str>,
) -> Result<ReadyJson<ObjectRecord>> {
    let basis = Basis::now(app);
    if let Some(shown) = app.records.shown(cached, display, path, basis) {
        return Ok(shown);
    }
    let shown = rendered(app, cached, display, path).await?.ready().await?;
    app.records.keep_shown(cached, display, path, basis, shown.clone());
    Ok(shown)
}

async fn rendered(app: &App, cached: &CachedRecord, display: &Display, path: Option<&str>) -> Result<ObjectRecord> {
    let path = path.map(str::to_owned);
    if !cached.is_outline() {
        let groups = app.records.groups(&app.repository, cached, display).await?;
        return Ok(ObjectRecord { path, ..render(app, &cached.record, groups, display)? });
    }
    // Computed attributes would also reveal something about the object.
    let (attributes, virtual_attributes) = (false, false);
    let display = Display {
        attributes,
        system_attributes: attributes,
        usage_tickets: attributes,
        virtual_attributes,
        ..display.clone()
    };
    let record = render(app, &cached.record, Groups::default(), &display)?;
    let mut hasher = DefaultHasher::new();
    (&cached.name, &cached.type_name, cached.folder()).hash(&mut hasher);
    let uniqueness_string = display.uniqueness_string.then(|| format!("{}:{:016x}", cached.uuid, hasher.finish()));
    Ok(ObjectRecord { path, uniqueness_string, ..record })
}

/// Returns a container's own record, in the state that a reply shows.
///
/// # Errors
/// Errors of the store.
pub async fn info_of(app: &App, state: &impl State, display: &Display) -> Result<ObjectRecord> {
    let object = state.object();
    let (record, attributes) = (&object.record, &object.attributes);
    let groups = match cached_with(app, record.loid, attributes).await? {
        Some(cached) => app.records.groups(&app.repository, &cached, display).await?,
        None => Groups::of(attributes, display).await?,
    };
    Ok(ObjectRecord { path: path_if_shown(app, record, display)?, ..render(app, record, groups, display)? })
}

/// Returns the cached record if these attributes are large and it has the same, so that they are
/// not rendered anew for each reply. For a container that changes all the time it rarely helps.
async fn cached_with(app: &App, loid: Loid, attributes: &Attributes) -> Result<Option<Arc<CachedRecord>>> {
    if !is_large(attributes) {
        return Ok(None);
    }
    let Some(cached) = app.records.get(&app.repository, loid)? else { return Ok(None) };
    let has_these = app.records.attributes(&app.repository, &cached).await? == attributes;
    Ok(has_these.then_some(cached))
}

/// Returns the path of a record, if the display asks for it.
///
/// # Errors
/// Errors of the store.
pub fn path_if_shown(app: &App, record: &Record, display: &Display) -> Result<Option<String>> {
    if display.path { app.path_of(record) } else { Ok(None) }
}

/// Returns the full name of the lock's owner, which a record shows in addition to its own data.
pub fn locker_of(app: &App, record: &Record) -> Option<String> {
    record.lock.as_ref().map(|lock| app.directory.full_name(&lock.user))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use stet_web::listing::NoItem;
    use stet_web::route::words::base;
    use stet_web::route::{Route, Verb};

    use super::*;
    use stet_web::testing::ServerFixture;

    static ROUTE: Route = base(Verb::Post, Privilege::Read, "");

    #[actix_web::test]
    async fn many_errors_of_a_bulk_call_are_written_down_on_another_thread() {
        let fixture = ServerFixture::new().await;
        let call = fixture.call(&ROUTE, "");
        for (count, at_once) in [(3, true), (2_000, false)] {
            let sources: Vec<String> = (0..count).map(|number| format!("/{}{number}", "x".repeat(400))).collect();
            let mut bulk = BulkBuilder::<NoItem>::of(&call, &sources);
            for (place, source) in sources.iter().enumerate().rev() {
                bulk.note(place, Err(Error::not_found(source)));
            }
            let about = bulk.bytes;
            let mut answer = Box::pin(bulk.answer());
            let here = answer.as_mut().now_or_never();
            assert_eq!(here.is_some(), at_once, "{count}");
            let answer = match here {
                Some(answer) => answer,
                None => answer.await,
            };
            let result = answer.expect("it can be answered").result();
            let errors = result["errors"].as_array().expect("there are errors");
            assert!(errors.iter().map(|error| &error["source"]).eq(&sources), "in the order of the request");
            let bytes = result.to_string().len();
            assert!(about.abs_diff(bytes) < bytes / 5 + 100, "{bytes} bytes, not {about}");
        }
    }
}
