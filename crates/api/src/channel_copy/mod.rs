//! Channel copies of a bundle (docs/api/bundles.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::json::ReplyList;
use stet_base::nearest::with_nearest;
use stet_domain::bundle::{CopyInheritance, CopyToChannel};
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{FamilyKind, Record, SharedText};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::record_after;
use stet_endpoint::requests::stays_checked_out;
use stet_newsroom::creation::status_of;
use stet_newsroom::records::usage;
use stet_sysconfig::{Channel, ContentItem};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::bundle::check_bundle;
use super::object::ChangedRecord;

pub mod routes;

/// The value of `inheritFrom` from clients that can't leave it out, in any case of letters.
const NO_CHANNEL: &str = "none";

/// The body of a channel copy; all fields are optional. Display options may stand beside these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ChannelCopyRequest {
    /// Name or id of the channel; without it the site's default one.
    channel: Option<String>,
    /// Name or id of the channel from which the copy inherits; the copy follows that channel.
    /// `none` has the same effect as absence.
    inherit_from: Option<String>,
    /// The bundle, if it is named here, too.
    source: Option<String>,
    /// Name of the workflow status; without it the workflow's first one.
    status: Option<String>,
    /// Whether the copy is checked in at once. Otherwise it stays checked out, unless `unlock`.
    check_in: Option<bool>,
    /// Without a check-in: whether the copy ends up not checked out by the caller.
    unlock: Option<bool>,
    /// With a check-in: whether the copy stays checked out by the caller.
    keep_checked_out: Option<bool>,
}

/// The possible actions on the content items of a copy.
#[derive(Serialize, JsonSchema)]
pub struct ActionsReply {
    /// One for each content item of the site configuration.
    items: ReplyList<ItemActions>,
}

/// A content item with its possible actions in the copy.
#[derive(Hash, Serialize, JsonSchema)]
pub struct ItemActions {
    /// The name that people use.
    name: SharedText,
    /// The type of the content item.
    r#type: SharedText,
    /// The item's place in the content, as an XPath; null if it is not configured.
    xp: Option<SharedText>,
    /// The actions that the channel's configuration lists; none for an item that it does not name.
    actions: Vec<SharedText>,
}

/// The requested copy, with names resolved by the site configuration.
pub(super) struct ChannelCopySpec {
    /// Name of the channel.
    pub channel: SharedText,
    inherit: Option<CopyInheritance>,
    status: Option<String>,
    checked_out: bool,
}

/// Returns the named channel, or else the default one.
fn channel_of(call: &Call, database: DatabaseId, name: Option<&str>) -> Result<Channel> {
    let site = call.app.sysconfig.site(database);
    let channel = match name.filter(|name| !name.is_empty()) {
        Some(name) => site.channel(name).ok_or_else(|| unknown("channel", name, site.channels.list()))?,
        None => site.default_channel().ok_or_else(|| {
            Error::new(
                Code::InvalidBody,
                "`channel` is required, because the site configuration has no default channel.",
            )
            .with_detail("path", "$.channel")
        })?,
    };
    if channel.compound {
        return Ok(channel.clone());
    }
    let wanted = "a channel that bundles hold copies for";
    Err(Error::parameter("channel", &*channel.name, wanted))
}

fn unknown(field: &str, name: &str, channels: &[Channel]) -> Error {
    let names: Vec<&str> = channels.iter().map(|channel| &*channel.name).collect();
    let error = Error::parameter(field, name, &format!("a channel of the site configuration ({})", names.join(", ")));
    with_nearest(error, name, names)
}

/// Returns the channel that a copy is inherited from, if one is named.
///
/// [`NO_CHANNEL`] means none, unless the site has a channel of that name.
fn inherit_of(call: &Call, database: DatabaseId, name: Option<&str>) -> Result<Option<CopyInheritance>> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let site = call.app.sysconfig.site(database);
    match site.channel(name) {
        Some(from) => Ok(Some(CopyInheritance { channel: from.name.clone(), is_neutral: from.is_neutral })),
        None if name.eq_ignore_ascii_case(NO_CHANNEL) => Ok(None),
        None => Err(unknown("inheritFrom", name, site.channels.list())),
    }
}

impl ChannelCopyRequest {
    /// Resolves the request for a bundle in that database.
    ///
    /// # Errors
    /// `InvalidParameter` for an unknown channel, `InvalidBody` if there is none.
    pub(super) fn wanted(&self, call: &Call, database: DatabaseId) -> Result<ChannelCopySpec> {
        let channel = channel_of(call, database, self.channel.as_deref())?.name;
        let inherit = inherit_of(call, database, self.inherit_from.as_deref())?;
        if inherit.as_ref().is_some_and(|inherit| inherit.channel == channel) {
            return Err(Error::parameter("inheritFrom", &*channel, "another channel than that of the copy"));
        }
        let checked_out = stays_checked_out(self.check_in, self.keep_checked_out, self.unlock);
        Ok(ChannelCopySpec { channel, inherit, status: self.status.clone(), checked_out })
    }
}

impl ChannelCopySpec {
    /// Builds the command that copies this bundle. The copy's type follows from its content.
    ///
    /// # Errors
    /// `StatusNotFound`, `InvalidStatus` for a status that the copy can't have.
    pub(super) fn copy(&self, call: &Call, bundle: &Record) -> Result<CopyToChannel> {
        let types = call.app.sysconfig.object_types(bundle.loid.database);
        let content_type = bundle.content.as_ref().map(|content| &*content.content_type);
        let known = types.infer(content_type, &bundle.name).filter(|known| known.family == FamilyKind::Document);
        let workflow = known.and_then(|known| known.workflow.as_deref());
        let (status, first) = status_of(&call.app, bundle.loid.database, self.status.as_deref(), workflow)?;
        Ok(CopyToChannel {
            bundle: bundle.loid,
            channel: self.channel.clone(),
            inherit: self.inherit.clone(),
            type_name: known.map_or_else(|| "Story".into(), |known| known.name.clone()),
            status: status.or(first),
            checked_out_s: self.checked_out.then_some(call.app.config.auth.lock_idle_seconds),
            ticket: usage::add_ticket,
        })
    }
}

/// `POST /v3/container/bundle/{source}/channelcopy`
pub async fn create(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let request: ChannelCopyRequest = call.json().await?;
    let bundle = call.resolve("source")?;
    check_bundle(&bundle, call.param("source"))?;
    check_same(&call, &request, bundle.loid)?;
    let copy = request.wanted(&call, bundle.loid.database)?.copy(&call, &bundle)?;
    let display = call.display_of_change().await?;
    let done = call.change_jointly(copy).await?;
    // The tag is for the bundle's next change.
    let copy = done.reply.loid;
    let state = done.left.map(|bundle| RevisionTag::of(&bundle.object().record));
    if let Some(state) = state
        && let Some(minimal) = call.minimal(copy, state)?
    {
        return Ok(minimal);
    }
    let shown = match record_after(&call, copy, None, &display).await? {
        Some((_, record)) => ChangedRecord::Shown(record),
        None => ChangedRecord::Gone(RemovedObject { id: copy.to_string() }),
    };
    let reply = Json::of(&shown)?;
    Ok(match state {
        Some(state) => reply.with_etag(ETag::new(state, "change")).into(),
        None => reply.into(),
    })
}

/// Refuses a body that names another object than the path.
///
/// # Errors
/// `InvalidParameter`; those of [`Caller::find`](stet_newsroom::caller::Caller::find).
pub(super) fn check_same(call: &Call, request: &ChannelCopyRequest, object: Loid) -> Result<()> {
    let Some(named) = request.source.as_deref().filter(|named| !named.is_empty()) else { return Ok(()) };
    let source = ObjectSource::parse("source", named)?;
    if call.find(&source, object.database)?.loid == object {
        return Ok(());
    }
    Err(Error::parameter("source", named, "the object that the path names"))
}

/// `GET /v3/container/bundle/{source}/channelcopy/actions`
pub async fn actions(call: Call) -> Result<Json<ActionsReply>> {
    let bundle = call.resolve("source")?;
    check_bundle(&bundle, call.param("source"))?;
    let database = bundle.loid.database;
    let channel = channel_of(&call, database, call.query.text("channel"))?;
    inherit_of(&call, database, call.query.text("inheritFrom"))?;
    let items = call.app.sysconfig.content_items(database);
    let items: Vec<ItemActions> = items.0.iter().map(|item| actions_of(item, &channel)).collect();
    let tag = ETag::new(RevisionTag::of(&bundle), &items);
    if call.has(&tag) {
        return Ok(Json::not_modified(tag));
    }
    Ok(Json::of(&ActionsReply { items: items.into() })?.with_etag(tag))
}

fn actions_of(item: &ContentItem, channel: &Channel) -> ItemActions {
    let listed = channel.actions.iter().find(|(kind, _)| *kind == item.kind);
    ItemActions {
        name: item.name.clone(),
        r#type: item.kind.clone(),
        xp: item.xp.clone(),
        actions: listed.map(|(_, actions)| actions.clone()).unwrap_or_default(),
    }
}
