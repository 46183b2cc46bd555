//! Reads of posts of any liveblogs, named one by one.

use stet_base::json::ReadyJson;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::liveblog::{Liveblog, PostAddress};
use stet_domain::object::{FamilyKind, parent_path};
use stet_endpoint::records::{BulkFailures, FirstMentions};
use stet_endpoint::requests::{BulkSources, ObjectListRequest};
use stet_endpoint::settled::{OpenContainer, build_settled};
use stet_newsroom::records::Display;
use stet_web::call::Call;
use stet_web::listing::{EntryStep, Listing, ListingEntries};
use stet_web::reply::Json;

use super::reply::post_shown;
use super::types::Post;
use super::{OpenLiveblog, PostListing};

/// `POST /v3/container/liveblog/posts`: posts of any liveblogs, by loid, uuid or path, each once.
pub async fn posts(call: Call) -> Result<Json<PostListing>> {
    let (BulkSources { given: sources, database }, display) =
        (ObjectListRequest::of(&call).await?, call.display_of_body().await?);
    let mut named = NamedPosts { database, shown: FirstMentions::of(&sources), display, open: None };
    let beside = named.shown.bytes();
    let render = async move |call: &Call, text: &String, step: EntryStep| -> Result<_> {
        let post = named.post(call, text, step).await;
        Ok(post.map_err(|error| BulkFailures::of(call).describe(text, hide_existence(error, text))))
    };
    let posts = ListingEntries::of(sources, render).beside(beside);
    let listing = Listing::of(&call, posts, |items, errors| PostListing { items, errors }).await?;
    Ok(listing.answer(call))
}

/// The posts that a list names.
struct NamedPosts {
    database: DatabaseId,
    shown: FirstMentions,
    display: Display,
    /// The liveblog of the previous post, which is often that of the next one too.
    open: Option<OpenLiveblog>,
}

impl NamedPosts {
    /// Renders the post that a source names; `None` if an earlier source named it.
    async fn post(
        &mut self,
        call: &Call,
        source: &str,
        EntryStep { index, late }: EntryStep,
    ) -> Result<Option<ReadyJson<Post>>> {
        let (liveblog, address) = place_of(call, source, self.database)?;
        // The caller's rights may have changed. A liveblog would also stay in memory for as long as
        // the client does not read.
        if late || self.open.as_ref().is_some_and(|open| open.loid() != liveblog) {
            self.open = None;
        }
        let open = match &self.open {
            Some(open) => open.clone(),
            None => {
                // In a liveblog that the caller may not read, no post exists.
                if call.find(&ObjectSource::Loid(liveblog), liveblog.database)?.family != FamilyKind::Liveblog {
                    return Err(Error::not_found(source));
                }
                OpenLiveblog::of(call, call.view_of::<Liveblog>(liveblog).await?)?
            }
        };
        if !late {
            self.open = Some(open.clone());
        }
        let post = open.seen(&address)?.loid();
        if !self.shown.note(post, index) {
            return Ok(None);
        }
        build_settled(call, open, async |open| post_shown(&call.app, open.seen(&address)?, &self.display, None).await)
            .await
            .map(Some)
    }
}

/// Returns one error for everything that does not exist, so that it doesn't reveal which liveblogs
/// exist.
fn hide_existence(error: Error, source: &str) -> Error {
    if error.code == Code::ObjectNotFound { Error::not_found(source) } else { error }
}

/// Returns the liveblog and the post that a source names.
fn place_of(call: &Call, text: &str, database: DatabaseId) -> Result<(Loid, PostAddress)> {
    let repository = &call.app.repository;
    let source = ObjectSource::parse("sources", text)?;
    if let ObjectSource::Path(path) = &source {
        let (of, name) = parent_path(path).ok_or_else(|| Error::not_found(text))?;
        let liveblog = repository.loid_of(&ObjectSource::Path(of.to_owned()), database)?;
        return Ok((liveblog.ok_or_else(|| Error::not_found(text))?, PostAddress::Name(name.to_owned())));
    }
    let post = repository.loid_of(&source, database)?.ok_or_else(|| Error::not_found(text))?;
    let liveblog = repository.container_of(post)?.ok_or_else(|| Error::not_found(text))?;
    Ok((liveblog, PostAddress::Loid(post)))
}
