//! Objects (docs/api/objects.md, docs/api/content.md).

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::runtime::ResultingObject;
use stet_auth::Privilege;
use stet_base::json::{ChangeAnswer, ReadyJson};
use stet_base::limits::offload::Offload;
use stet_domain::error::Result;
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::Reach;
use stet_endpoint::content::version_named;
use stet_endpoint::records::{
    BulkFailures, BulkReply, FirstMentions, RemovedObject, left_of, path_if_shown, record_of,
};
use stet_endpoint::requests::{BulkSources, ObjectListRequest};
use stet_newsroom::caller::{Caller, check_whole};
use stet_newsroom::records::Display;
use stet_newsroom::records::{CachedRecord, ObjectRecord, render_version};
use stet_web::call::Call;
use stet_web::listing::{EntryStep, Listing, ListingEntries};
use stet_web::prefer::PreferredReply;
use stet_web::reply::{EnvelopedReply, Json, Reply};

mod correlates;
mod creation;
mod family;
mod fields;
mod import;
mod locks;
mod moving;
mod pictures;
mod reading;
mod removal;
pub mod routes;
mod status_change;
mod story;
mod versions;
mod writing;

pub use self::correlates::{CorrelateRequest, correlate, list as correlate_list, uncorrelate};
pub use self::creation::{CreateObject, create, create_from_template};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::creation::{ObjectForm, read_parts};
pub use self::family::family;
pub use self::fields::{ChangeFieldsRequest, change_fields};
pub use self::import::{ImportObject, import};
pub use self::locks::{UnlockRequest, lock, unlock};
pub use self::moving::{MoveRequest, RenameRequest, relocate, rename};
pub use self::pictures::content_as;
pub use self::reading::{content, content_by_loid};
pub(crate) use self::removal::discard_object;
pub use self::removal::{RestoreRequest, destroy, destroy_all, discard, discard_all, restore};
pub use self::status_change::{StatusRequest, StatusesRequest, change_status, change_statuses};
pub use self::story::story;
pub use self::versions::{restore_version, versions};
pub use self::writing::{write_content, write_content_by_loid};

/// A record as the only thing in a reply.
pub type RecordReply = ReadyJson<ObjectRecord>;

/// The reply to a change of an object. If the object was destroyed or moved out of the caller's
/// sight since, the reply only identifies it.
pub type ChangedRecord = ChangeAnswer<RecordReply, RemovedObject>;

/// `GET /v3/object/{source}`: an object, or one of its versions.
pub async fn get(call: Call) -> Result<Json<RecordReply>> {
    let source = call.source("source")?;
    let record = call.find_seen(&source, call.database()?)?;
    let shown = object_or_version(&call, &source, &record, &call.display()).await?;
    let bytes = shown.text().len();
    Json::tagged(shown, bytes, RevisionTag::of(&record)).await
}

/// Renders the object, or the version of it that the source names.
async fn object_or_version(
    call: &Call,
    source: &ObjectSource,
    record: &CachedRecord,
    display: &Display,
) -> Result<RecordReply> {
    let app = &call.app;
    match version_named(app, source, record)? {
        Some(version) => {
            let groups = app.records.groups(&app.repository, record, display).await?;
            let shown = render_version(app, record, groups, &version, display)?;
            ObjectRecord { path: path_if_shown(app, record, display)?, ..shown }.ready().await
        }
        None => record_of(app, record, display).await,
    }
}

/// Returns the live object to change, if the caller has the privilege.
fn target(call: &Call, needed: Privilege, source: &ObjectSource, database: DatabaseId) -> Result<Loid> {
    Ok(call.find_for(needed, source, database)?.loid)
}

/// Returns the live object to change with all that lies in it, and how far the caller's rights
/// reach there.
fn whole_target(
    caller: &Caller,
    needed: Privilege,
    source: &ObjectSource,
    database: DatabaseId,
) -> Result<(Loid, Reach)> {
    let record = caller.find_for(needed, source, database)?;
    Ok((record.loid, caller.access().reach_in(needed, &record)?))
}

/// Returns the object to change, in the recycle bin or not, and how far the caller's rights reach
/// in it.
fn any_target(
    caller: &Caller,
    needed: Privilege,
    source: &ObjectSource,
    database: DatabaseId,
) -> Result<(Loid, Reach)> {
    let record = caller.newsroom().repository.resolve_any(source, database)?;
    caller.access().check(needed, &record, source)?;
    check_whole(source)?;
    Ok((record.loid, caller.access().reach_in(needed, &record)?))
}

/// `POST /v3/object`: the records of all sources, each once, and the sources that were not found.
pub async fn list(call: Call) -> Result<Json<BulkReply<RecordReply>>> {
    let (BulkSources { given: sources, database }, display) =
        (ObjectListRequest::of(&call).await?, call.display_of_body().await?);
    let mut shown = FirstMentions::of(&sources);
    let beside = shown.bytes();
    let render = async move |call: &Call, text: &String, step: EntryStep| -> Result<_> {
        let record = named_record(call, (text, database), (&mut shown, step.index), &display).await;
        Ok(record.map_err(|error| BulkFailures::of(call).describe(text, error)))
    };
    let records = ListingEntries::of(sources, render).beside(beside);
    let listing = Listing::of(&call, records, |items, errors| BulkReply { items, errors }).await?;
    Ok(listing.answer(call))
}

/// Renders the object or version that a source of a list names; `None` if an earlier source named
/// it.
async fn named_record(
    call: &Call,
    (text, database): (&str, DatabaseId),
    (shown, index): (&mut FirstMentions, usize),
    display: &Display,
) -> Result<Option<RecordReply>> {
    let source = ObjectSource::parse("sources", text)?;
    // A loid that was shown before is not read again.
    if let ObjectSource::Loid(loid) = &source
        && shown.was_before(*loid, index)
    {
        return Ok(None);
    }
    let record = call.find_seen(&source, database)?;
    let loid = match &source {
        ObjectSource::Loid(loid) => record.loid.at_version(loid.version),
        _ => record.loid,
    };
    if !shown.note(loid, index) {
        return Ok(None);
    }
    object_or_version(call, &source, &record, display).await.map(Some)
}

/// `GET /v3/object/{source}/lastversionloid`: the loid of the latest version as plain text; the
/// object's own loid if it has no version.
pub async fn last_version_loid(call: Call) -> Result<Reply> {
    let record = call.resolve_seen("source")?;
    Ok(Reply::text(record.loid.at_version(record.version).to_string()))
}

/// Builds the usual reply to a change of an object: its record.
async fn reply_with(
    call: &Call,
    object: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
) -> Result<PreferredReply<ChangedRecord>> {
    reply_after(call, object, left, display, 0, |record| record).await
}

/// Builds the reply to a change with the record as the change has left it, or the present one if
/// that is not known. If another call has destroyed the object since, or moved it out of the
/// caller's sight, the change is still reported as successful. `beside` is the approximate size of
/// the reply without the record.
///
/// # Errors
/// Errors of the store.
pub async fn reply_after<T: Serialize + JsonSchema + 'static>(
    call: &Call,
    object: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
    beside: usize,
    reply: impl FnOnce(ChangedRecord) -> T + Send + 'static,
) -> Result<PreferredReply<T>> {
    let whole = match left_of(call, object, left).await? {
        Some(left) => {
            if let Some(minimal) = call.minimal(object, left.state())? {
                return Ok(minimal);
            }
            let (tag, record) = left.shown(call, display).await?;
            let bytes = record.text().len() + beside;
            let place = Offload::for_bytes(bytes as u64).await?;
            let make = move || {
                let whole = EnvelopedReply::of(&reply(ChangeAnswer::Shown(record)), bytes)?;
                let etag = whole.tag(tag);
                Ok((whole, etag))
            };
            let (whole, etag) = place.work(make).await??;
            Json::from(whole).with_etag(etag)
        }
        None => Json::of(&reply(ChangeAnswer::Gone(RemovedObject { id: object.to_string() })))?,
    };
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::FutureExt;
    use serde_json::json;
    use stet_actors::runtime::ChangeRequest;
    use stet_auth::{Grant, Rights, User};
    use stet_base::limits::offload::{LARGE_TEXT, Offload};
    use stet_base::limits::{Holder, MemoryPurpose, change_mark, on_behalf_of, with_behalf};
    use stet_domain::checkout::TakeLock;
    use stet_domain::command::CallerIdentity;
    use stet_domain::error::Code;
    use stet_domain::lifecycle::NewObject;
    use stet_domain::metadata::ChangeFields;
    use stet_xml::edit::{Edit, Path};
    use tokio::time::timeout;

    use super::*;
    use stet_newsroom::creation::{AmendAttempts, AttributeEdits};
    use stet_web::testing::ServerFixture;

    /// Fills the queue of this task's user with large calls that wait.
    fn full_line() -> Vec<Pin<Box<dyn Future<Output = Result<Offload>>>>> {
        let mut line: Vec<Pin<Box<dyn Future<Output = Result<Offload>>>>> = Vec::new();
        loop {
            let mut next = Box::pin(async {
                let turn = Offload::turn().await?;
                std::future::pending::<()>().await;
                Ok(turn)
            });
            match next.as_mut().now_or_never() {
                None => line.push(next),
                Some(refused) => {
                    assert_eq!(refused.err().map(|error| error.code), Some(Code::Overloaded));
                    return line;
                }
            }
        }
    }

    /// A regression test: calls over a hundred objects with attributes too large for the cache held
    /// copies of all of them, which were not counted.
    #[actix_web::test]
    async fn large_attributes_that_no_cache_keeps_are_paid_for_while_they_are_held() {
        let fixture = ServerFixture::of(crate::surface).await;
        let attributes = |bytes| Some(format!("<a>{}</a>", "x".repeat(bytes)).as_str().into());
        let document =
            |name: &str, bytes| NewObject { attributes: attributes(bytes), ..NewObject::document(name, "Story") };
        let large = fixture.create(document("large.xml", 3 << 20)).await;
        let small = fixture.create(document("small.xml", 1000)).await;
        let (app, memory) = (&fixture.app, &fixture.app.memory);
        let get = async |object| -> Result<_> {
            let cached = app.records.get(&app.repository, object)?.expect("it is there");
            app.records.attributes(&app.repository, &cached).await?;
            Ok(cached)
        };
        let held = get(large).await.expect("there is memory");
        assert!((3 << 20..4 << 20).contains(&memory.reserved()), "{}", memory.reserved());
        let again = get(large).await.expect("there is memory");
        assert!(memory.reserved() >= 6 << 20, "each copy counts");
        drop((held, again, get(small).await.expect("it is read")));
        assert_eq!(memory.reserved(), 0);
        let others = memory.reservation(None, MemoryPurpose::Bodies);
        others.grow_to(memory.limit() - 1000).expect("nothing else is reserved");
        assert_eq!(get(large).await.err().map(|error| error.code), Some(Code::Overloaded));
        get(small).await.expect("it takes less than is reserved");
        with_behalf(async {
            change_mark().set(true);
            get(large).await.expect("a call that has changed something reports that");
        })
        .await;
    }

    /// A regression test: a user with a full queue had made a change and got the error that nothing
    /// was changed. Each retry then made another version.
    #[actix_web::test]
    async fn callers_who_changed_something_are_answered_despite_a_full_queue() {
        let fixture = ServerFixture::of(crate::surface).await;
        let ada = User::new("ada");
        fixture.app.directory.by(CallerIdentity::operator()).put_user(ada.clone()).await.expect("the store is well");
        let begun = fixture.app.sessions.log_in_as("web", "test", &ada, "192.0.2.7").await.expect("the store is well");
        let grants = [Privilege::Read, Privilege::Write].map(|privilege| Grant { privilege, folder: None });
        let rights =
            Arc::new(Rights::sum(&grants, |_| Ok::<_, stet_domain::error::Error>(None)).expect("grants add up"));
        let text = format!("<a>{}</a>", "x".repeat(2 * LARGE_TEXT));
        let object = NewObject { attributes: Some(text.as_str().into()), ..NewObject::document("a.xml", "Story") };
        let story = fixture.create(object).await;
        with_behalf(async {
            on_behalf_of(Holder::User("ada".into()));
            let mut call = fixture.call_of("objects-discard");
            call.sign_in(begun.session, rights);
            let line = full_line();
            let display = Display::with_defaults(false);
            let record = call.find(&story.into(), story.database).expect("it may be read");
            let shown = async || record_of(&call.app, &record, &display).await.map(drop).map_err(|error| error.code);
            assert_eq!(shown().await, Err(Code::Overloaded), "who only reads comes again");
            let limits = call.app.attribute_limits();
            let edit =
                Edit::set(Path::parse("/a").expect("it is a path"), &json!("x"), &limits).expect("it is an edit");
            let fields = AttributeEdits { attributes: vec![edit], system: Vec::new(), limits };
            let amending = AmendAttempts::to(Arc::new(fields)).next_attempt();
            let made = call.change_jointly(ChangeFields { object: story, amending }).await.expect("it may be changed");
            assert!(!made.reply, "it takes long");
            assert_eq!(shown().await, Err(Code::Overloaded), "nothing has been changed yet");
            let lock = || TakeLock { object: story, lasts_s: 60 };
            let first = call.change_jointly(lock()).await.expect("it may be changed");
            let mut line = line.into_iter();
            // The necessary work permits are released one by one, while the user's other calls
            // still wait.
            let mut told = async |left: Option<&ResultingObject>| {
                let mut told = Box::pin(reply_after(&call, story, left, &display, 0, |record| record));
                loop {
                    match timeout(Duration::from_millis(10), &mut told).await {
                        Ok(told) => return told.map(drop),
                        Err(_) => drop(line.next().expect("it comes before those that wait")),
                    }
                }
            };
            assert_eq!(told(first.left.as_ref()).await, Ok(()), "as it is");
            // Others have changed it since.
            let by_ada = ChangeRequest::by(call.identity().expect("it has a caller"));
            fixture.repository.joint(lock(), by_ada).await.expect("the lock is theirs");
            let again = call.find(&story.into(), story.database).expect("it may be read");
            assert_ne!(again.revision, record.revision);
            assert_eq!(told(first.left.as_ref()).await, Ok(()), "as it was left");
            assert!(line.len() > 100, "{} wait", line.len());
        })
        .await;
    }
}
