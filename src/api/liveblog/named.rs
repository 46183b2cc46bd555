//! Reading posts of any liveblogs, named one by one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::liveblog::{Liveblog, PostAddress};
use stet_actors::object::{FamilyKind, parent_path};
use stet_actors::store::{Table, View};

use super::reply::post_shown;
use super::{Open, PostListing};
use crate::api::records::{Bulk, BulkReply};
use crate::api::requests::{ObjectListRequest, Sources};
use crate::api::settled::{Opened, settled};
use crate::give_way::GiveWay;
use crate::http::call::Call;
use crate::http::reply::Json;

/// `POST /v3/container/liveblog/posts`: posts of any liveblogs, by loid, uuid or path.
pub async fn posts(call: Call) -> Result<Json<PostListing>> {
    let Sources { given, database } = ObjectListRequest::of(&call).await?;
    let display = call.display_of_body().await?;
    let mut liveblogs: HashMap<Loid, Open> = HashMap::new();
    let mut bulk = Bulk::of(&call, &given);
    let mut way = GiveWay::new();
    for (place, source) in given.iter().enumerate() {
        way.now_and_then().await;
        let one = async {
            let (liveblog, address) = place_of(&call, source, database)?;
            let open = match liveblogs.entry(liveblog) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(room) => {
                    // Of one that may not be read, no post is there.
                    if call.find(&Source::Loid(liveblog), liveblog.database)?.family != FamilyKind::Liveblog {
                        return Err(Error::not_found(source));
                    }
                    let view = call.app.repository.view::<Liveblog>(liveblog).await?;
                    room.insert(Open::of(&call, view)?)
                }
            };
            settled(&call, open.clone(), async |open| post_shown(&call.app, open.seen(&address)?, &display)).await
        };
        bulk.note(place, one.await.map_err(|error| hidden(error, source)));
    }
    let BulkReply { items, errors } = bulk.reply();
    Json::of(&PostListing { items, errors })
}

/// The same error for whatever does not exist, so that it doesn't reveal which liveblogs exist.
fn hidden(error: Error, source: &str) -> Error {
    if error.code == Code::ObjectNotFound { Error::not_found(source) } else { error }
}

/// The liveblog that a source's post is in, and the post.
fn place_of(call: &Call, text: &str, database: DatabaseId) -> Result<(Loid, PostAddress)> {
    let repository = &call.app.repository;
    let source = Source::parse("sources", text)?;
    if let Source::Path(path) = &source {
        let (of, name) = parent_path(path).ok_or_else(|| Error::not_found(text))?;
        let liveblog = repository.loid_of(&Source::Path(of.to_owned()), database)?;
        return Ok((liveblog.ok_or_else(|| Error::not_found(text))?, PostAddress::Name(name.to_owned())));
    }
    let post = repository.loid_of(&source, database)?.ok_or_else(|| Error::not_found(text))?.object();
    let entry = repository.look().get(View::Committed, Table::PartOf, &post.to_key()).map_err(|error| {
        tracing::error!(%error, "the liveblog of a post can't be looked up");
        Error::internal()
    })?;
    let liveblog = entry.and_then(|entry| Loid::from_key(&entry)).ok_or_else(|| Error::not_found(text))?;
    Ok((liveblog, PostAddress::Loid(post)))
}
