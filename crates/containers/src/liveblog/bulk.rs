//! Changes of several posts of one liveblog (docs/api/posts.md, "Changing several posts").
//!
//! Each post is changed by the command of the call for a single post, in a change set of its own.

use serde::Serialize;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::State;
use stet_domain::id::DatabaseId;
use stet_domain::liveblog::{
    Liveblog, PostAddress, PostFields, PostResult, PostStatus, RemovePost, SetPostStatus, UpdatePost,
};
use stet_domain::object::Reach;
use stet_newsroom::caller::{BulkChange, NamedContainer};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::post::tag_changes;
use super::types::{ChangePosts, ChangedListedPost};
use super::{OpenLiveblog, address_in};
use stet_endpoint::records::BulkItem;
use stet_endpoint::records::{BulkBuilder, BulkReply};
use stet_endpoint::requests::{BulkSources, ObjectListRequest, database_named};

/// `POST /v3/container/liveblog/{source}/posts/approve`
pub async fn approve_posts(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    set_statuses(call, Privilege::Moderate, PostStatus::Approved).await
}

/// `POST /v3/container/liveblog/{source}/posts/reject`
pub async fn reject_posts(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    set_statuses(call, Privilege::Moderate, PostStatus::Rejected).await
}

/// `POST /v3/container/liveblog/{source}/posts/pending`
pub async fn set_posts_pending(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    set_statuses(call, Privilege::Create, PostStatus::Pending).await
}

/// `POST /v3/container/liveblog/{source}/posts/delete`: the posts stay in the liveblog.
pub async fn mark_posts_deleted(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    set_statuses(call, Privilege::Create, PostStatus::Deleted).await
}

async fn set_statuses(call: Call, privilege: Privilege, to: PostStatus) -> Result<Json<BulkReply<ChangedListedPost>>> {
    let sources = ObjectListRequest::of(&call).await?;
    change_posts(call, sources, privilege, |post, reach| SetPostStatus { post, to, reach }, ChangedListedPost::of).await
}

/// `PUT /v3/container/liveblog/{source}/posts`: pins and tags.
pub async fn update_posts(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    let request: ChangePosts = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let fields =
        PostFields { pinned: request.pinned, ..tag_changes(request.tags, request.remove_tags, request.add_tags) };
    if fields.pinned.is_none() && fields.tags.is_none() && fields.remove_tags.is_empty() && fields.add_tags.is_empty() {
        let message = "The body needs at least one of `pinned`, `tags`, `addTags` and `removeTags`.";
        return Err(Error::new(Code::InvalidBody, message));
    }
    fields.check_tags()?;
    let sources = BulkSources { given: request.sources.read(&call.app)?, database };
    let update = |post, reach| UpdatePost {
        post,
        fields: fields.clone(),
        body: None,
        attachments: Vec::new(),
        remove_attachments: Vec::new(),
        reach,
    };
    change_posts(call, sources, Privilege::Create, update, ChangedListedPost::of).await
}

/// `DELETE /v3/container/liveblog/{source}/posts`: removes the posts permanently, whatever their
/// status.
pub async fn remove_posts(call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    let sources = ObjectListRequest::of(&call).await?;
    let item = |source: &str, done: &PostResult| BulkItem { source: source.to_owned(), id: done.post.to_string() };
    change_posts(call, sources, Privilege::Create, |post, reach| RemovePost { post, reach }, item).await
}

/// Changes each listed post, if the caller still holds the privilege by then.
async fn change_posts<C: Command<Family = Liveblog, Reply = PostResult>, T: Serialize + Send + 'static>(
    mut call: Call,
    BulkSources { given, database }: BulkSources,
    privilege: Privilege,
    command: impl Fn(PostAddress, Reach) -> C,
    item: impl Fn(&str, &PostResult) -> T,
) -> Result<Json<BulkReply<T>>> {
    let target = ListTarget { liveblog: call.container("source")?, database, privilege };
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &given), call.each_of(given.len())?);
    let (mut timer, mut has_changed) = (YieldTimer::start(), false);
    for (place, source) in given.iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async { Box::pin(change_post(&each.at(place)?, &target, source, &command)).await };
        match outcome.await.map(|done| item(source, &done)) {
            // Nothing has been changed, so the call is refused like that for a single post.
            Err(error) if !has_changed && error.code == Code::PreconditionFailed => return Err(error),
            outcome => {
                has_changed |= outcome.is_ok();
                bulk.note(place, outcome);
            }
        }
    }
    bulk.answer().await
}

/// The common properties of the posts of a list.
struct ListTarget {
    liveblog: NamedContainer<Liveblog>,
    /// The database of paths.
    database: DatabaseId,
    /// The privilege that each change needs.
    privilege: Privilege,
}

/// Changes one of the listed posts.
async fn change_post<C: Command<Family = Liveblog, Reply = PostResult>>(
    one: &BulkChange<'_>,
    ListTarget { liveblog, database, privilege }: &ListTarget,
    source: &str,
    command: &impl Fn(PostAddress, Reach) -> C,
) -> Result<PostResult> {
    let (post, reach) = match one.done_before() {
        // The command only returns its earlier outcome.
        Some(post) => (post, Reach::Nothing),
        None => {
            let caller = one.caller();
            let open = OpenLiveblog::of_caller(caller, caller.view(liveblog).await?)?;
            caller.access().check(*privilege, &open.view.state.object().record, &open.loid())?;
            let address = address_in(caller, *database, open.loid(), source)?;
            (open.to_change(&address)?, open.reach)
        }
    };
    one.change_in(liveblog, post, command(PostAddress::Loid(post), reach)).await
}
