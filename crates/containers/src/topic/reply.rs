//! Replies about topics and their items.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::runtime::ResultingObject;
use stet_base::json::{ChangeAnswer, ReadyJson};
use stet_base::limits::offload::{self, LARGE_TEXT};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::planning::topic::{ItemAddress, Topic, TopicAttachment, TopicItem, TopicLineup, TopicState};
use stet_domain::planning::{Divider, Line, LineupEntry, Planning};
use stet_endpoint::kept::{KeptParts, RecordCopies, Renderings, ReplyLookup, ShownPart};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::{info_of, locker_of, path_if_shown, readable, record_of};
use stet_endpoint::settled::{OpenContainer, UnsettledReply, build_settled, read_beside, readable_in_view};
use stet_newsroom::caller::SeenView;
use stet_newsroom::caller::check_whole;
use stet_newsroom::records::{CachedRecord, Display, Groups, ListingPage, ObjectRecord, is_large, render};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::{EntryStep, Listing, ListingEntries, ListingSource, NestedItem, NoItem};
use stet_web::prefer::PreferredReply;
use stet_web::reply::{EnvelopedReply, Json};

use super::types::{
    AttachedId, AttachedObject, ChangedDivider, ChangedItem, ChangedTopic, DividerId, DividerInfo, DividerReply,
    HiddenObject, LineKind, RemovedContainer, RemovedDivider, StructureLine, TopicInfo, TopicItem as WireItem,
    TopicItemAlone, TopicItemInfo, TopicReply, TopicStructure,
};
use crate::correlates::{CorrelateView, correlates as correlates_of, facts as facts_of_links};

/// The cache of items as JSON.
pub type KeptItems = KeptParts<Loid, TopicItemInfo>;

/// A topic or plan in its committed state.
pub(crate) struct CommittedView<F: Planning>(pub SeenView<F>);

/// A topic in its committed state.
pub(crate) type CommittedTopic = CommittedView<Topic>;

impl<F: Planning> Clone for CommittedView<F> {
    fn clone(&self) -> Self {
        CommittedView(self.0.clone())
    }
}

impl<F: Planning> OpenContainer for CommittedView<F> {
    type Family = F;

    const PART_NOUN: &'static str = F::ENTRY_NOUN;

    fn of(_: &Call, view: SeenView<F>) -> Result<Self> {
        Ok(CommittedView(view))
    }

    fn view(&self) -> &SeenView<F> {
        &self.0
    }
}

impl CommittedTopic {
    pub(crate) fn state(&self) -> &TopicState {
        &self.0.state
    }

    /// Returns the state of the topic that the view shows.
    pub(super) fn tag(&self) -> RevisionTag {
        RevisionTag::of(&self.state().object().record)
    }
}

/// The amount of a topic's data that a reply shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicExtent {
    /// The display options for records.
    pub display: Display,
    /// Whether records of attached objects are shown.
    pub attachments: bool,
    /// Whether links of the topic and the items are shown.
    pub correlates: bool,
    /// Whether lines below items are shown.
    pub below: bool,
}

impl TopicExtent {
    /// Returns the extent that the query of a read of a topic or plan asks for.
    pub(crate) fn of_query(call: &Call) -> TopicExtent {
        TopicExtent {
            display: call.display(),
            attachments: call.query.boolean("showAttachment"),
            correlates: call.query.boolean("showCorrelates"),
            below: !call.query.boolean("limitToChildren"),
        }
    }
}

pub(super) async fn info(app: &App, state: &TopicState, display: &Display) -> Result<TopicInfo> {
    let head = state.head();
    Ok(TopicInfo {
        record: info_of(app, state, display).await?,
        title: head.title.clone(),
        description: head.description.clone(),
        count: state.lineup().members().count(),
    })
}

/// Returns the dividers of a lineup.
pub(crate) fn dividers(lineup: Option<&TopicLineup>) -> Vec<DividerInfo> {
    lineup.into_iter().flat_map(|lineup| dividers_among(lineup.visible())).collect()
}

/// Returns the dividers among lines, with the positions of the lines.
pub(crate) fn dividers_among<'l, F: Planning>(
    lines: impl Iterator<Item = &'l Line<F>>,
) -> impl Iterator<Item = DividerInfo> {
    lines.enumerate().filter_map(|(position, line)| Some(divider_info(position, line.divider()?)))
}

fn divider_info<F>(position: usize, divider: &Divider<F>) -> DividerInfo {
    DividerInfo { id: divider.id.to_string(), title: divider.title.clone(), position }
}

/// Returns an item's info, rendered once for each of its changes.
///
/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
async fn item_info(app: &App, item: &TopicItem, display: &Display) -> Result<ReadyJson<TopicItemInfo>, UnsettledReply> {
    let part = ShownPart {
        container: item.topic,
        part: item.loid(),
        revision: item.record.revision,
        display: display.clone(),
        path: path_if_shown(app, &item.record, display)?,
        configuration: app.sysconfig.changes(),
    };
    let make = async |part: &ShownPart<Loid>| {
        let read = || app.repository.attributes(item.loid());
        let attributes = read_beside(&app.repository, item, |item| item.record.revision, read)?;
        let groups = Groups::of(&attributes, display).await?;
        let size = if is_large(&attributes) { LARGE_TEXT } else { 0 };
        let shown = TopicItemInfo {
            record: ObjectRecord { path: part.path.clone(), ..render(app, &item.record, groups, display)? },
            content_type: item.content_type.to_string(),
            comment: item.comment.to_string(),
            occupation: item.occupation.to_string(),
            priority: (&item.priority).into(),
            custom_priority: (&item.custom_priority).into(),
            product: item.product.to_string(),
            edition: item.edition.to_string(),
            assignees: item.assignees.iter().map(ToString::to_string).collect(),
            due_date: item.due,
        };
        Ok(offload::offload_if_large(size, move || ReadyJson::of(&shown)).await??)
    };
    app.kept::<KeptItems>().json(part, make).await
}

/// Returns the attached object, if the caller may see it.
pub(super) fn visible_attachment(call: &Call, attached: &TopicAttachment) -> Result<Option<Arc<CachedRecord>>> {
    if attached.hidden { Ok(None) } else { readable(call, attached.object) }
}

/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
async fn attachment(
    call: &Call,
    item: &TopicItem,
    extent: &TopicExtent,
) -> Result<Option<AttachedObject>, UnsettledReply> {
    let Some(hanging) = &item.attachment else { return Ok(None) };
    let object = if hanging.hidden { None } else { readable_in_view(call, hanging.object)? };
    Ok(Some(match object {
        None => AttachedObject::Hidden(HiddenObject { hidden: true }),
        Some(cached) if extent.attachments => {
            AttachedObject::Shown(record_of(&call.app, &cached, &extent.display).await?)
        }
        Some(_) => AttachedObject::Named(AttachedId { id: hanging.object }),
    }))
}

/// Returns an item or subitem without the lines below it.
///
/// # Errors
/// [`UnsettledReply::Changed`]; `ObjectNotFound`; errors of the store.
async fn alone(
    call: &Call,
    open: &CommittedTopic,
    item: Loid,
    extent: &TopicExtent,
) -> Result<TopicItemAlone, UnsettledReply> {
    let (position, item) = open.state().place_of(item)?;
    Ok(TopicItemAlone {
        info: item_info(&call.app, item, &extent.display).await?,
        position,
        attachment: attachment(call, item, extent).await?,
        correlates: correlates(call, item.loid(), extent).await?,
    })
}

/// Returns the record of an item for a reply about another topic or an object.
///
/// # Errors
/// `ObjectNotFound`; errors of the store.
pub async fn record_of_item(
    call: &Call,
    topic: SeenView<Topic>,
    item: Loid,
    display: &Display,
) -> Result<ReadyJson<TopicItemInfo>> {
    let shown = async |open: &CommittedTopic| item_info(&call.app, open.state().place_of(item)?.1, display).await;
    build_settled(call, CommittedView(topic), shown).await
}

/// Returns the links of a topic or item, if the reply shows them.
pub(crate) async fn correlates(call: &Call, of: Loid, extent: &TopicExtent) -> Result<Option<Vec<CorrelateView>>> {
    Ok(if extent.correlates { Some(correlates_of(call, of).await?) } else { None })
}

/// Builds the reply about a topic with a page of its items in order.
///
/// # Errors
/// [`UnsettledReply::Changed`]; errors of the store.
pub(super) async fn topic_reply(
    call: &Call,
    open: &CommittedTopic,
    extent: &TopicExtent,
    page: ListingPage,
) -> Result<Listing<TopicReply>, UnsettledReply> {
    let (info, state) = (info(&call.app, open.state(), &extent.display).await?, open.state());
    let (dividers, items) = (dividers(Some(state.lineup())), list_items(open, extent, page));
    let total = Some(info.count);
    let correlates = correlates(call, state.object().record.loid, extent).await?;
    Listing::of(call, items, |items, _| TopicReply { info, dividers, correlates, items, total }).await
}

/// Returns a hash of all that a reply about a topic shows of other objects. Together with the
/// topic's own state it makes up the ETag.
pub(crate) async fn facts(call: &Call, open: &CommittedTopic, extent: &TopicExtent) -> Result<u64> {
    let (state, app, mut timer) = (open.state(), &call.app, YieldTimer::start());
    let mut hasher = DefaultHasher::new();
    let topic = &state.object().record;
    (extent, path_if_shown(app, topic, &extent.display)?).hash(&mut hasher);
    if extent.correlates {
        facts_of_links(call, topic.loid)?.hash(&mut hasher);
    }
    for item in state.lineup().members() {
        let below = extent.below.then(|| state.below(item.loid())).flatten();
        for item in std::iter::once(item).chain(below.into_iter().flat_map(TopicLineup::members)) {
            timer.yield_if_due().await;
            if extent.correlates {
                facts_of_links(call, item.loid())?.hash(&mut hasher);
            }
            let Some(hanging) = &item.attachment else { continue };
            let seen = visible_attachment(call, hanging)?;
            seen.is_some().hash(&mut hasher);
            if let Some(cached) = seen.filter(|_| extent.attachments) {
                (cached.revision, locker_of(app, &cached)).hash(&mut hasher);
                path_if_shown(app, &cached, &extent.display)?.hash(&mut hasher);
            }
        }
    }
    Ok(hasher.finish())
}

/// A topic while its items are rendered.
struct TopicOfReply {
    /// The topic as the reply shows it. `None` once the reply is being sent, which may take
    /// minutes: then each item is shown in its current state.
    open: RefCell<Option<CommittedTopic>>,
    topic: Loid,
    extent: TopicExtent,
}

impl TopicOfReply {
    /// Renders an item; `None` for one that was removed since the reply began to be sent. Also
    /// returns the topic in which the item was found.
    async fn item(
        &self,
        call: &Call,
        item: Loid,
        late: bool,
    ) -> Result<Option<(TopicItemAlone, CommittedTopic)>, UnsettledReply> {
        match self.present_item(call, item, late).await {
            Err(UnsettledReply::Failed(error)) if late && error.code == Code::ObjectNotFound => Ok(None),
            shown => shown.map(Some),
        }
    }

    async fn present_item(
        &self,
        call: &Call,
        item: Loid,
        late: bool,
    ) -> Result<(TopicItemAlone, CommittedTopic), UnsettledReply> {
        if late {
            self.open.take();
        }
        let kept = self.open.borrow().clone();
        if let Some(open) = kept {
            return Ok((alone(call, &open, item, &self.extent).await?, open));
        }
        let open = CommittedView(call.view_of::<Topic>(self.topic).await?);
        let shown = async |open: &CommittedTopic| alone(call, open, item, &self.extent).await;
        Ok((build_settled(call, open.clone(), shown).await?, open))
    }
}

/// Lists a page of the items of a topic, each with its subitems.
pub(crate) fn list_items(
    open: &CommittedTopic,
    extent: &TopicExtent,
    page: ListingPage,
) -> impl ListingSource<Item = WireItem, Failed = NoItem, Fault = UnsettledReply> + use<> {
    let loids = |lineup: &TopicLineup| lineup.members().map(|item| item.loid()).collect::<Vec<Loid>>();
    let items = page.cut(loids(open.state().lineup()));
    let topic = open.state().object().record.loid;
    let topic = Rc::new(TopicOfReply { open: RefCell::new(Some(open.clone())), topic, extent: extent.clone() });
    ListingEntries::of(items, async move |call: &Call, item: &Loid, step: EntryStep| -> Result<_, UnsettledReply> {
        let Some((shown, open)) = topic.item(call, *item, step.late).await? else { return Ok(None) };
        let TopicItemAlone { info, position, attachment, correlates } = shown;
        let lineup = open.state().below(*item).filter(|_| topic.extent.below);
        let (dividers, below) = (dividers(lineup), lineup.map(loids).unwrap_or_default());
        if below.is_empty() {
            let items = Vec::new().into();
            let item = WireItem { info, position, dividers, items, attachment, correlates };
            return Ok(Some(NestedItem::whole(item)));
        }
        let topic = Rc::clone(&topic);
        let below = ListingEntries::of(
            below,
            async move |call: &Call, item: &Loid, step: EntryStep| -> Result<_, UnsettledReply> {
                Ok(topic.item(call, *item, step.late).await?.map(|(shown, _)| shown))
            },
        );
        let whole = |items| WireItem { info, position, dividers, items, attachment, correlates };
        Ok(Some(NestedItem::open(below, whole)))
    })
}

/// The cache of topic structures. They show only the topic itself, and are the same for all who may
/// read it.
pub type KeptStructures = Renderings<Topic, (), ReadyJson<TopicStructure>>;

/// Builds the reply with the ids of the lines of a topic.
pub(super) async fn structure(
    call: &Call,
    open: &CommittedTopic,
    display: &Display,
) -> Result<Json<ReadyJson<TopicStructure>>> {
    let (kept, page) = (call.app.kept::<KeptStructures>(), call.query.page());
    // The structure of a page is not cached.
    let whole = (page == ListingPage::WHOLE).then_some(());
    let asked = match kept.ask(&call.app, &open.0, display, whole)? {
        ReplyLookup::Kept(kept) => return Ok(kept.answer(call)),
        ReplyLookup::Missing(missing) => missing,
    };
    let structure = structure_made(call, open, display, page).await?;
    let whole = EnvelopedReply::of(&structure, structure.text().len())?;
    Ok(kept.keep(asked, &open.0, whole, RecordCopies::new()).answer(call))
}

async fn structure_made(
    call: &Call,
    open: &CommittedTopic,
    display: &Display,
    page: ListingPage,
) -> Result<ReadyJson<TopicStructure>> {
    let (state, mut timer) = (open.state(), YieldTimer::start());
    let info = info(&call.app, state, display).await?;
    let total = state.lineup().visible().count();
    let mut items = Vec::with_capacity(total.min(page.limit));
    for line in state.lineup().visible().skip(page.offset).take(page.limit) {
        let mut below = Vec::new();
        for line in line.member().and_then(|item| state.below(item.loid())).into_iter().flat_map(TopicLineup::visible) {
            timer.yield_if_due().await;
            below.push(structure_line(line, LineKind::Item, Vec::new()));
        }
        timer.yield_if_due().await;
        items.push(structure_line(line, LineKind::Item, below));
    }
    let structure = TopicStructure { info, items, total };
    // About 64 bytes for each id.
    offload::offload_if_large(state.lines() * 64, move || ReadyJson::of(&structure)).await?
}

/// Returns a line of a structure; `kind` is that of entries.
pub(crate) fn structure_line<F: Planning>(line: &Line<F>, kind: LineKind, items: Vec<StructureLine>) -> StructureLine {
    match line {
        Line::Member(entry) => StructureLine { id: entry.loid().to_string(), kind, items },
        Line::Divider(divider) => StructureLine { id: divider.id.to_string(), kind: LineKind::Divider, items },
    }
}

/// Builds the reply to a change of a topic: its state after the change, without items. Another call
/// may have destroyed it since, or moved it out of the caller's sight.
pub(super) async fn changed_topic(
    call: &Call,
    topic: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
) -> Result<PreferredReply<ChangedTopic>> {
    let Some(view) = call.view_after::<Topic>(topic, left).await? else { return removed_part_reply(topic) };
    let open = CommittedView(view);
    if let Some(minimal) = call.minimal(topic, open.tag())? {
        return Ok(minimal);
    }
    let info = info(&call.app, open.state(), display).await?;
    let dividers = dividers(Some(open.state().lineup()));
    let reply = TopicReply { info, dividers, correlates: None, items: Vec::new().into(), total: None };
    Ok(Json::of(&reply)?.with_etag(ETag::new(open.tag(), "change")).shown().into())
}

/// Builds the reply to a change of something that no longer exists, or that the caller no longer
/// sees.
pub(crate) fn removed_part_reply<T: Serialize + JsonSchema>(
    which: Loid,
) -> Result<PreferredReply<ChangeAnswer<T, RemovedContainer>>> {
    Json::of(&ChangeAnswer::Gone(RemovedContainer { info: RemovedObject { id: which.to_string() } }))
        .map(PreferredReply::from)
}

/// Builds the reply to a change of an item: its state after the change.
pub(super) async fn changed_item(
    call: &Call,
    view: SeenView<Topic>,
    item: Loid,
    extent: &TopicExtent,
) -> Result<PreferredReply<ChangedItem>> {
    let open = CommittedView(view);
    if open.state().place_of(item).is_ok()
        && let Some(minimal) = call.minimal(item, open.tag())?
    {
        return Ok(minimal);
    }
    let reply = build_settled(call, open, async |open| {
        let shown = alone(call, open, item, extent).await?;
        Ok(Json::of(&shown)?.with_etag(ETag::new(open.tag(), "change")))
    });
    match reply.await {
        // The change was made, now or in an earlier attempt. Others have removed the item since, or
        // change the topic continually.
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::Overloaded) => removed_part_reply(item),
        shown => shown.map(|shown| shown.shown().into()),
    }
}

/// Builds the reply to a change of a divider.
pub(super) fn changed_divider(call: &Call, view: SeenView<Topic>, id: u64) -> Result<PreferredReply<ChangedDivider>> {
    let open = CommittedView(view);
    if let Some(minimal) = call.minimal(id, open.tag())? {
        return Ok(minimal);
    }
    let found = open.state().find(id.into());
    let info = found.and_then(|(position, line)| Some(divider_info(position, line.divider()?)));
    divider_reply(id, info, open.tag())
}

/// Builds the reply to the change of a divider from its present state; `None` if it no longer
/// exists. `tag` is the present state of its container.
pub(crate) fn divider_reply(
    id: u64,
    info: Option<DividerInfo>,
    tag: RevisionTag,
) -> Result<PreferredReply<ChangedDivider>> {
    let tag = ETag::new(tag, "change");
    if let Some(info) = info {
        return Ok(Json::of(&DividerReply { info })?.with_etag(tag).shown().into());
    }
    let reply = ChangeAnswer::<DividerReply, _>::Gone(RemovedDivider { info: DividerId { id: id.to_string() } });
    Ok(Json::of(&reply)?.with_etag(tag).into())
}

/// Parses the name of an item that is to be changed or moved.
///
/// # Errors
/// `InvalidParameter` for a text that is no source; `ObjectNotFound` for a path, which no item has;
/// `InvalidType` for the loid of a version.
pub(super) fn address(parameter: &str, text: &str) -> Result<ItemAddress> {
    match ObjectSource::parse(parameter, text)? {
        ObjectSource::Loid(loid) => {
            check_whole(&loid.into())?;
            Ok(ItemAddress::Loid(loid))
        }
        ObjectSource::Uuid(uuid) => Ok(ItemAddress::Uuid(uuid)),
        ObjectSource::Path(_) => Err(Error::not_found(text)),
    }
}
