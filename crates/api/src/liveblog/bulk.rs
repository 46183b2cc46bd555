//! Changes of several posts of one liveblog (docs/api/posts.md, "Changing several posts").
//!
//! Each post is changed by the command of the call for a single post, in a change set of its own.

use serde::Serialize;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::Command;
use stet_domain::error::{Code, Result};
use stet_domain::family::State;
use stet_domain::liveblog::{Liveblog, PostAddress, PostResult, PostStatus, SetPostStatus};
use stet_domain::object::Reach;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::types::ChangedListedPost;
use super::{OpenLiveblog, address_in};
use crate::records::{BulkBuilder, BulkReply};
use crate::requests::{BulkSources, ObjectListRequest};

/// `POST /v3/container/liveblog/{source}/posts/approve`
pub async fn approve_posts(call: Call) -> Result<Json<BulkReply<ChangedListedPost>>> {
    set_statuses(call, Privilege::Moderate, PostStatus::Approved).await
}

async fn set_statuses(call: Call, privilege: Privilege, to: PostStatus) -> Result<Json<BulkReply<ChangedListedPost>>> {
    let sources = ObjectListRequest::of(&call).await?;
    change_posts(call, sources, privilege, |post, reach| SetPostStatus { post, to, reach }, ChangedListedPost::of).await
}

/// Changes each listed post, if the caller still holds the privilege by then.
async fn change_posts<C: Command<Family = Liveblog, Reply = PostResult>, T: Serialize + Send + 'static>(
    mut call: Call,
    BulkSources { given, database }: BulkSources,
    privilege: Privilege,
    command: impl Fn(PostAddress, Reach) -> C,
    item: impl Fn(&str, &PostResult) -> T,
) -> Result<Json<BulkReply<T>>> {
    let liveblog = call.container::<Liveblog>("source")?;
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &given), call.each_of(given.len())?);
    let (mut timer, mut has_changed) = (YieldTimer::start(), false);
    for (place, source) in given.iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async {
            let one = each.at(place)?;
            let (post, reach) = match one.done_before() {
                // The command only returns its earlier outcome.
                Some(post) => (post, Reach::Nothing),
                None => {
                    let caller = one.caller();
                    let open = OpenLiveblog::of_caller(caller, caller.view(&liveblog).await?)?;
                    caller.access().check(privilege, &open.view.state.object().record, &open.loid())?;
                    let address = address_in(caller, database, open.loid(), source)?;
                    (open.to_change(&address)?, open.reach)
                }
            };
            let done = one.change_in(&liveblog, post, command(PostAddress::Loid(post), reach)).await?;
            Ok(item(source, &done))
        };
        let outcome: Result<T> = outcome.await;
        match outcome {
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
