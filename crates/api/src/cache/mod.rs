//! Configuration caches (docs/api/caches.md). Each family is defined once, and one set of handlers
//! serves all of them.

pub mod routes;

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::cache::{CacheOrigin, RefreshExtent};
use stet_auth::GroupView;
use stet_base::json::ReadyJson;
use stet_domain::error::{Code, Result};
use stet_domain::id::DatabaseId;
use stet_sysconfig::caches::{
    AnyCache, CachedUser, EntryList, FileOrigin, GroupsOrigin, PerDatabase, RefreshFailure, UsersOrigin,
};
use stet_sysconfig::{
    ClientCommand, Commands, Jobs, ObjectType, ObjectTypes, ScheduledCommand, SysConfig, Workflow, Workflows,
};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::{EnvelopedReply, Json};

/// A family of caches, one for each database.
pub trait CacheFamily: 'static {
    /// The type of an entry.
    type Item: Serialize + JsonSchema + 'static;
    /// The source from which the entries are read.
    type Origin: CacheOrigin<Fault = RefreshFailure, Value: EntryList<Self::Item>>;

    /// Returns the caches.
    fn caches(configuration: &SysConfig) -> &PerDatabase<Self::Origin>;
}

/// Defines families, each by its name, its entry, its source, and the field with its caches.
macro_rules! families {
    ($($(#[$about:meta])* $family:ident, $item:ty, $origin:ty, $field:ident;)+) => { $(
        $(#[$about])*
        pub struct $family;

        impl CacheFamily for $family {
            type Item = $item;
            type Origin = $origin;

            fn caches(configuration: &SysConfig) -> &PerDatabase<$origin> {
                &configuration.$field
            }
        }
    )+ };
}

families! {
    /// The commands that clients offer for objects.
    CommandCache, ClientCommand, FileOrigin<Commands>, commands;
    /// Groups.
    GroupCache, GroupView, GroupsOrigin, groups;
    /// The commands that clients run on a schedule.
    JobCache, ScheduledCommand, FileOrigin<Jobs>, jobs;
    /// Object types.
    ObjectTypeCache, ObjectType, FileOrigin<ObjectTypes>, types;
    /// Users.
    UserCache, CachedUser, UsersOrigin, users;
    /// Workflows.
    WorkflowCache, Workflow, FileOrigin<Workflows>, flows;
}

/// The entries in force of one family in one database.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheContent<I> {
    /// The database.
    database_id: u16,
    /// The family: `commands`.
    cache: &'static str,
    /// Time at which they were read, in epoch milliseconds.
    timestamp: u64,
    /// The entries, in the order of their file; users and groups by name.
    items: ReadyJson<Vec<I>>,
}

/// The entries in force of one family in all databases.
#[derive(Serialize, JsonSchema)]
pub struct CacheContents<I> {
    /// One for each database, the main one first.
    items: Vec<CacheContent<I>>,
}

/// The time at which a cache was read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheTimestamp {
    /// The database.
    database_id: u16,
    /// The family: `commands`.
    cache: &'static str,
    /// Time at which the cache was read, in epoch milliseconds: by the last successful refresh, or
    /// at the start of the server.
    timestamp: u64,
}

/// The times at which several caches were read.
#[derive(Serialize, JsonSchema)]
pub struct CacheTimestamps {
    /// One for each cache.
    items: Vec<CacheTimestamp>,
}

/// The outcome of a refresh.
#[derive(Serialize, JsonSchema)]
pub struct RefreshReply {
    /// The requested caches in their present state: refreshed, or unchanged if they have errors.
    items: Vec<CacheTimestamp>,
    /// The reasons why caches were not refreshed.
    errors: Vec<RefreshError>,
}

/// A fault in a configuration file, because of which the former entries stay in force.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshError {
    /// The database.
    database_id: u16,
    /// The cache that was not refreshed.
    cache: &'static str,
    /// The error code.
    code: String,
    /// A sentence about the fault.
    message: String,
    /// Path of the file; null if the fault is not about one.
    path: Option<String>,
    /// Line of the fault, counted from 1; null if it is about the whole file.
    line: Option<usize>,
    /// Column of the fault in characters, counted from 1.
    column: Option<usize>,
}

/// Returns the database in the path.
fn database(call: &Call) -> Result<DatabaseId> {
    call.app.database(Some(call.param("databaseId")))
}

async fn content<F: CacheFamily>(call: &Call, database: DatabaseId) -> CacheContent<F::Item> {
    let cache = F::caches(&call.app.sysconfig).of(database);
    let in_force = cache.current().await;
    CacheContent {
        database_id: database.0,
        cache: cache.name(),
        timestamp: in_force.at_ms,
        items: in_force.value.items(call.access().sees_all()).clone(),
    }
}

/// Replies with the entity tag, and without the body if the client has it already.
fn tagged<T: Serialize>(call: &Call, tag: ETag, bytes: usize, reply: &T) -> Result<Json<T>> {
    if call.has(&tag) {
        return Ok(Json::not_modified(tag));
    }
    Ok(Json::from(EnvelopedReply::of(reply, bytes)?).with_etag(tag))
}

/// `GET /v3/conf/cache/{family}`
pub async fn read_all<F: CacheFamily>(call: Call) -> Result<Json<CacheContents<F::Item>>> {
    let mut items = Vec::new();
    for (database, _) in F::caches(&call.app.sysconfig).all() {
        items.push(content::<F>(&call, database).await);
    }
    let tag = ETag::of_bytes((items.iter().map(CacheContent::mark).collect::<Vec<_>>(), call.access().sees_all()));
    let bytes = items.iter().map(|item| item.items.text().len() + 64).sum();
    tagged(&call, tag, bytes, &CacheContents { items })
}

/// `GET /v3/conf/cache/{family}/{databaseId}`
pub async fn read<F: CacheFamily>(call: Call) -> Result<Json<CacheContent<F::Item>>> {
    let content = content::<F>(&call, database(&call)?).await;
    let tag = ETag::of_bytes((content.mark(), call.access().sees_all()));
    tagged(&call, tag, content.items.text().len(), &content)
}

/// `GET /v3/conf/cache/{family}/timestamp`
pub async fn timestamp_all<F: CacheFamily>(call: Call) -> Result<Json<CacheTimestamps>> {
    let mut items = Vec::new();
    for (database, cache) in F::caches(&call.app.sysconfig).all() {
        items.push(CacheTimestamp::of(database, cache).await);
    }
    Json::of(&CacheTimestamps { items })
}

/// `GET /v3/conf/cache/{family}/timestamp/{databaseId}`
pub async fn timestamp<F: CacheFamily>(call: Call) -> Result<Json<CacheTimestamp>> {
    let database = database(&call)?;
    Json::of(&CacheTimestamp::of(database, F::caches(&call.app.sysconfig).of(database)).await)
}

/// `GET /v3/conf/cache/{family}/refresh`
pub async fn refresh_all<F: CacheFamily>(call: Call) -> Result<Json<RefreshReply>> {
    let caches = F::caches(&call.app.sysconfig).all().map(|(database, cache)| (database, cache as &dyn AnyCache));
    refreshed(&call, caches.collect(), RefreshExtent::Changed).await
}

/// `GET /v3/conf/cache/{family}/refresh/{databaseId}`
pub async fn refresh<F: CacheFamily>(call: Call) -> Result<Json<RefreshReply>> {
    let database = database(&call)?;
    refreshed(&call, vec![(database, F::caches(&call.app.sysconfig).of(database))], RefreshExtent::Changed).await
}

/// `GET /v3/conf/cache/refresh`
pub async fn refresh_every(call: Call) -> Result<Json<RefreshReply>> {
    refreshed(&call, call.app.sysconfig.families(None), RefreshExtent::Changed).await
}

/// `GET /v3/conf/cache/refresh/{databaseId}`
pub async fn refresh_every_of(call: Call) -> Result<Json<RefreshReply>> {
    refreshed(&call, call.app.sysconfig.families(Some(database(&call)?)), RefreshExtent::Changed).await
}

/// `GET /v3/conf/cache/timestamp`
pub async fn timestamp_every(call: Call) -> Result<Json<CacheTimestamps>> {
    timestamps(call.app.sysconfig.families(None)).await
}

/// `GET /v3/conf/cache/timestamp/{databaseId}`
pub async fn timestamp_every_of(call: Call) -> Result<Json<CacheTimestamps>> {
    timestamps(call.app.sysconfig.families(Some(database(&call)?))).await
}

async fn timestamps(caches: Vec<(DatabaseId, &dyn AnyCache)>) -> Result<Json<CacheTimestamps>> {
    let mut items = Vec::new();
    for (database, cache) in caches {
        items.push(CacheTimestamp::of(database, cache).await);
    }
    Json::of(&CacheTimestamps { items })
}

/// Refreshes caches concurrently, and reports the outcome.
pub(crate) async fn refreshed(
    call: &Call,
    caches: Vec<(DatabaseId, &dyn AnyCache)>,
    extent: RefreshExtent,
) -> Result<Json<RefreshReply>> {
    let (app, by) = (&call.app, call.identity()?);
    let refresh = |(database, cache): (DatabaseId, &dyn AnyCache)| {
        let name = cache.name();
        let refreshing = cache.refresh_any(extent, by.clone());
        // If the refresh fails, the entries in force are looked up afterwards.
        async move { (database, name, refreshing.await) }
    };
    let outcomes = join_all(caches.iter().copied().map(refresh)).await;
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for ((database, name, outcome), (_, cache)) in outcomes.into_iter().zip(caches) {
        let timestamp = match outcome {
            Ok(at_ms) => at_ms,
            Err(refused) => {
                errors.extend(RefreshError::of(app, database, name, refused));
                cache.at_ms()
            }
        };
        items.push(CacheTimestamp { database_id: database.0, cache: name, timestamp });
    }
    Json::of(&RefreshReply { items, errors })
}

impl<I> CacheContent<I> {
    /// Returns the data that changes whenever the entries in force do.
    fn mark(&self) -> (&'static str, u16, u64) {
        (self.cache, self.database_id, self.timestamp)
    }
}

impl CacheTimestamp {
    async fn of(database: DatabaseId, cache: &dyn AnyCache) -> CacheTimestamp {
        CacheTimestamp { database_id: database.0, cache: cache.name(), timestamp: cache.current_at_ms().await }
    }
}

impl RefreshError {
    /// Builds the errors of one cache, one for each fault.
    pub(crate) fn of(
        app: &App,
        database: DatabaseId,
        cache: &'static str,
        refused: RefreshFailure,
    ) -> Vec<RefreshError> {
        let blank = |code: &Code, message: String| RefreshError {
            database_id: database.0,
            cache,
            code: format!("{}{}", app.config.compat.code_prefix, code.name()),
            message,
            path: None,
            line: None,
            column: None,
        };
        match refused {
            RefreshFailure::Failed(error) => vec![blank(&error.code, error.message)],
            RefreshFailure::Faulty(faults) => {
                let of_fault = |fault: &stet_sysconfig::ConfigurationFault| RefreshError {
                    path: Some(fault.path.clone()).filter(|path| !path.is_empty()),
                    line: Some(fault.line).filter(|line| *line > 0),
                    column: Some(fault.column).filter(|column| *column > 0),
                    ..blank(&Code::InvalidBody, fault.fault.clone())
                };
                faults.iter().map(of_fault).collect()
            }
        }
    }
}
