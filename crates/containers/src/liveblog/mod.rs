//! Liveblogs (docs/api/liveblogs.md).
//!
//! [`Access::sight`] and [`Access::reach`](stet_newsroom::access::Access::reach) decide which posts
//! a caller sees and may change. A post outside the caller's sight does not exist for them: it is
//! in no listing, no number and no search.
//!
//! [`Access::sight`]: stet_newsroom::access::Access::sight

use std::sync::Arc;

use stet_actors::repository::Reader;
use stet_domain::error::Result;
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::DiscardObject;
use stet_domain::liveblog::{Liveblog, Post, PostAddress, PostSight};
use stet_domain::object::{Reach, parent_path};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::path_if_shown;
use stet_endpoint::settled::{OpenContainer, UnsettledReply, build_settled, read_beside};
use stet_newsroom::caller::{Caller, NamedContainer, SeenView, check_whole};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Json;

mod bulk;
mod content;
mod creation;
mod feed;
mod files;
mod named;
mod piece;
pub mod post;
pub mod public;
mod reply;
mod resolved;
pub mod routes;
mod search;
#[cfg(test)]
mod tests;
mod types;

pub use self::bulk::{approve_posts, mark_posts_deleted, reject_posts, remove_posts, set_posts_pending, update_posts};
pub use self::content::{content, write_content};
pub use self::creation::{create_from_default, create_from_template};
pub use self::feed::feed;
pub use self::files::{attachment, post_content};
pub use self::named::posts;
pub use self::post::{approve, create_post, get_post, mark_deleted, reject, remove_post, set_pending, update_post};
pub use self::reply::KeptPosts;
use self::reply::liveblog_reply;
pub use self::resolved::ResolvedLengths;
use self::search::PostSelection;
pub use self::search::search;
pub use self::types::{ChangePosts, CreateLiveblog, LiveblogReply, PostListing, PostOptions, SearchRequest};

/// A liveblog in its committed state, with the caller's rights in it.
#[derive(Clone)]
struct OpenLiveblog {
    liveblog: NamedContainer<Liveblog>,
    view: SeenView<Liveblog>,
    /// The posts that the caller sees.
    sight: PostSight,
    /// The posts that the caller may change. A caller who reaches all of them may also approve and
    /// reject posts.
    reach: Reach,
}

impl OpenContainer for OpenLiveblog {
    type Family = Liveblog;

    const PART_NOUN: &'static str = "post";

    fn of(call: &Call, view: SeenView<Liveblog>) -> Result<OpenLiveblog> {
        OpenLiveblog::of_caller(call, view)
    }

    fn view(&self) -> &SeenView<Liveblog> {
        &self.view
    }
}

impl OpenLiveblog {
    fn of_caller(caller: &Caller, view: SeenView<Liveblog>) -> Result<OpenLiveblog> {
        let liveblog = NamedContainer::of(&view);
        let (access, record) = (caller.access(), &view.state.object().record);
        let (sight, reach) = (access.sight(record)?, access.reach(record)?);
        Ok(OpenLiveblog { liveblog, view, sight, reach })
    }

    fn loid(&self) -> Loid {
        self.liveblog.loid()
    }

    /// Returns the state of the liveblog that the view shows.
    fn tag(&self) -> RevisionTag {
        RevisionTag::of(&self.view.state.object().record)
    }

    /// Returns the liveblog after a change, for the same caller.
    fn after(self, view: SeenView<Liveblog>) -> OpenLiveblog {
        OpenLiveblog { view, ..self }
    }

    /// Returns a post that the caller sees.
    fn seen(&self, address: &PostAddress) -> Result<&Arc<Post>> {
        let post = self.view.state.read(address)?;
        if self.view.state.sees(&self.sight, post) { Ok(post) } else { Err(self.view.state.not_held(address)) }
    }

    /// Returns a post that is to be changed, if the caller sees it. It is to be addressed by its
    /// loid, so that a command changes this very post.
    fn to_change(&self, address: &PostAddress) -> Result<Loid> {
        if let PostAddress::Loid(loid) = *address {
            check_whole(&loid.into())?;
        }
        Ok(self.seen(address)?.loid())
    }
}

/// Returns what `read` finds in rows beside the post, if they belong to this state of it
/// ([`read_beside`]).
fn of_post<T>(repository: &Reader, post: &Post, read: impl FnOnce() -> Result<T>) -> Result<T, UnsettledReply> {
    read_beside(repository, post, |post| post.record.revision, read)
}

/// Opens the liveblog that is named in the call's path.
async fn open(call: &Call) -> Result<OpenLiveblog> {
    OpenLiveblog::of(call, call.view(&call.container::<Liveblog>("source")?).await?)
}

/// Parses a post's name: loid, uuid, name, or path, which consists of the liveblog's path and the
/// name. The loid of a version is for reading only, and refused where a post is to be changed.
fn address(call: &Call, liveblog: Loid, text: &str) -> Result<PostAddress> {
    address_in(call, call.database()?, liveblog, text)
}

/// Parses a post's name as [`address`] does; `database` is that of a path.
fn address_in(caller: &Caller, database: DatabaseId, liveblog: Loid, text: &str) -> Result<PostAddress> {
    Ok(match text.parse::<ObjectSource>() {
        Ok(ObjectSource::Loid(loid)) => PostAddress::Loid(loid),
        Ok(ObjectSource::Uuid(uuid)) => PostAddress::Uuid(uuid),
        Ok(ObjectSource::Path(path)) => {
            let found = parent_path(&path).map(|(of, name)| (ObjectSource::Path(of.to_owned()), name));
            match found {
                Some((of, name)) if caller.newsroom().repository.loid_of(&of, database)? == Some(liveblog) => {
                    PostAddress::Name(name.to_owned())
                }
                _ => PostAddress::Name(path),
            }
        }
        Err(_) => PostAddress::Name(text.to_owned()),
    })
}

/// `GET /v3/container/liveblog/{source}`
pub async fn get(call: Call) -> Result<Json<LiveblogReply>> {
    let (open, display) = (open(&call).await?, call.display());
    let wanted = PostSelection::of_query(&call)?;
    let (listing, tag) = build_settled(&call, open, async |open| {
        let path = path_if_shown(&call.app, &open.view.state.object().record, &display)?;
        // These determine the content of a reply.
        let part = (wanted.page.offset, wanted.page.limit, call.query.text("sortBy"));
        let tag = ETag::new(open.tag(), (&open.sight, &display, part, path));
        if call.has(&tag) {
            return Ok((None, tag));
        }
        let list = wanted.find(open).await;
        Ok((Some(liveblog_reply(&call, open, &list, &display, |reply| reply).await?), tag))
    })
    .await?;
    Ok(match listing {
        Some(listing) => listing.answer(call).with_etag(tag),
        None => Json::not_modified(tag),
    })
}

/// `DELETE /v3/container/liveblog/{source}`: to the recycle bin.
pub async fn discard(call: Call) -> Result<Json<RemovedObject>> {
    let object = call.container::<Liveblog>("source")?.loid();
    // A liveblog contains no objects.
    call.change_jointly(DiscardObject { object, reach: Reach::All }).await?;
    Json::of(&RemovedObject { id: object.to_string() })
}
