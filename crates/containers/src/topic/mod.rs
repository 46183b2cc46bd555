//! Topics, their items and dividers (docs/api/topics.md).

use stet_auth::Privilege;
use stet_base::json::ReadyJson;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::NewParts;
use stet_domain::object::{FamilyKind, IssueDate, SharedText};
use stet_domain::planning::topic::{
    AddTopicItem, AttachToItem, ITEM_TYPE, ItemAddress, ItemFields, MoveTopicItems, NewTopic, NewTopicItem,
    NewTopicLine, RemoveTopicItem, SUBITEM_TYPE, Topic, TopicItemPath, TopicItemResult, TopicState, UpdateTopic,
    UpdateTopicItem,
};
use stet_domain::planning::{
    AddDivider, DividerResult, Line, LineupEntry, MAX_NEW_LINES, NewDivider, RemoveDivider, UpdateDivider,
};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::info_of;
use stet_endpoint::requests::{BulkSources, CreateOptions, database_named, folder_source};
use stet_endpoint::settled::{OpenContainer, build_settled};
use stet_newsroom::attribute_input::{attribute_text, rooted_text};
use stet_newsroom::caller::NamedContainer;
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace, SystemValues, Template, status_of};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use self::reply::{
    CommittedTopic, TopicExtent, address, changed_divider, changed_item, changed_topic, facts, removed_part_reply,
    structure as structure_of, topic_reply,
};

mod bulk;
pub(crate) mod export;
pub(crate) mod reply;
pub mod routes;
mod types;

pub use self::bulk::remove_items;
pub use self::reply::{KeptItems, KeptStructures, record_of_item};
pub use self::types::{
    AttachBody, ChangedDivider, ChangedItem, ChangedTopic, CreateTopic, DividerBody, DividerInfo, DividerReply,
    HiddenObject, ItemBody, LineKind, MoveBody, MoveResponse, MoveRevision, MovedLine, MovedReply, RemovedContainer,
    ReplyOptions, StructureLine, TopicItem, TopicItemAlone, TopicItemInfo, TopicReply, TopicStructure,
    UpdateTopic as UpdateBody,
};

/// The object type of topics.
const TYPE_NAME: &str = "Topic";

/// Returns the topic in the call's path.
fn topic(call: &Call) -> Result<NamedContainer<Topic>> {
    call.container("topic")
}

/// Returns the item in the call's path; `None` if there is none.
fn item_of(call: &Call) -> Result<Option<ItemAddress>> {
    let text = call.param("topicItem");
    if text.is_empty() { Ok(None) } else { address("topicItem", text).map(Some) }
}

/// Returns the item or subitem in the call's path.
fn which(call: &Call) -> Result<TopicItemPath> {
    let item = address("topicItem", call.param("topicItem"))?;
    let subitem = call.param("topicSubItem");
    let subitem = if subitem.is_empty() { None } else { Some(address("topicSubItem", subitem)?) };
    Ok(TopicItemPath { item, subitem })
}

/// Returns the divider in the call's path.
pub(crate) fn divider_of(call: &Call) -> Result<u64> {
    let text = call.param("divider");
    text.parse().map_err(|_| Error::not_found(text))
}

/// Reads the body of a call about a divider.
pub(crate) async fn divider_said(call: &Call) -> Result<NewDivider> {
    let DividerBody { title, position } = call.json().await?;
    Ok(NewDivider { title: title.map(SharedText::from), position })
}

/// Returns the extent of an item's data in the reply to a change.
async fn extent_of(call: &Call, options: Option<&ReplyOptions>) -> Result<TopicExtent> {
    let attachments = options.and_then(|options| options.show_attachment).unwrap_or_default();
    Ok(TopicExtent { display: call.display_of_body().await?, attachments, correlates: false, below: false })
}

/// Returns the object type of items or of subitems.
fn type_of(is_subitem: bool) -> &'static str {
    if is_subitem { SUBITEM_TYPE } else { ITEM_TYPE }
}

/// Reads an item's fields from a body, and the object to attach. A new item without a status gets
/// its workflow's first.
async fn read_item_body(
    call: &Call,
    topic: Loid,
    body: &mut ItemBody,
    (type_name, is_new): (&str, bool),
) -> Result<(ItemFields, Option<Option<Loid>>)> {
    let app = &call.app;
    let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
    let types = app.sysconfig.object_types(topic.database);
    let workflow = types.get(type_name).and_then(|known| known.workflow.as_deref());
    let (status, first) = status_of(app, topic.database, body.status.as_deref(), workflow)?;
    let status = status.or(first.filter(|_| is_new));
    let system_attributes = rooted_text(app, "systemAttributes", body.system_attributes.take(), "props").await?;
    let shown = SystemValues::read(app, system_attributes.as_ref()).await?;
    let given = IssueDate::given(body.issue_date.as_deref())?;
    let work_folder = text(&body.work_folder).filter(|path| !path.is_empty());
    let fields = ItemFields {
        name: text(&body.name),
        content_type: text(&body.content_type),
        comment: text(&body.comment),
        occupation: text(&body.occupation),
        priority: body.priority.take().map(Into::into),
        custom_priority: body.custom_priority.take().map(Into::into),
        product: text(&body.product),
        edition: text(&body.edition),
        assignees: body
            .assignees
            .as_ref()
            .map(|names| names.iter().map(|name| SharedText::from(name.as_str())).collect()),
        due: body.due_date,
        status,
        attributes: attribute_text(app, "attributes", body.attributes.take()).await?,
        system_attributes,
        issue_date: match given {
            Some(day) => Some(day),
            None => shown.issue_date()?,
        },
        work_folder: work_folder.or_else(|| shown.work_folder()),
    };
    let database = database_named(call, body.database_id.as_ref())?;
    let attachment = match &body.attachment {
        None => None,
        Some(None) => Some(None),
        Some(Some(source)) => Some(Some(call.find(&ObjectSource::parse("attachment", source)?, database)?.loid)),
    };
    Ok((fields, attachment))
}

/// Adds an item to the topic of the path, or a subitem to the item of the path.
async fn add(call: &Call) -> Result<PreferredReply<ChangedItem>> {
    let mut body: ItemBody = call.json().await?;
    let (topic, under) = (topic(call)?, item_of(call)?);
    let extent = extent_of(call, body.options.as_ref().map(|options| &options.0)).await?;
    let (fields, attachment) = read_item_body(call, topic.loid(), &mut body, (type_of(under.is_some()), true)).await?;
    let add = AddTopicItem { under, fields, attachment: attachment.flatten(), position: body.position };
    change(call, &topic, add, &extent).await
}

/// `POST /v3/container/topic/{topic}/topicitem`
pub async fn add_item(call: Call) -> Result<PreferredReply<ChangedItem>> {
    add(&call).await
}

/// `POST /v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem`
pub async fn add_subitem(call: Call) -> Result<PreferredReply<ChangedItem>> {
    add(&call).await
}

/// `PUT /v3/container/topic/{topic}/topicitem/{topicItem}`, and its counterpart for a subitem.
pub async fn update_item(call: Call) -> Result<PreferredReply<ChangedItem>> {
    let mut body: ItemBody = call.json().await?;
    let (topic, which) = (topic(&call)?, which(&call)?);
    let extent = extent_of(&call, body.options.as_ref().map(|options| &options.0)).await?;
    let (fields, attachment) =
        read_item_body(&call, topic.loid(), &mut body, (type_of(which.subitem.is_some()), false)).await?;
    change(&call, &topic, UpdateTopicItem { which, fields, attachment, position: body.position }, &extent).await
}

/// `PUT /v3/container/topic/{topic}/topicitem/{topicItem}/attach/{attachment}`, and its counterpart
/// for a subitem.
pub async fn attach(call: Call) -> Result<PreferredReply<ChangedItem>> {
    let body: AttachBody = call.json().await?;
    let (topic, which) = (topic(&call)?, which(&call)?);
    let extent = extent_of(&call, body.options.as_ref().map(|options| &options.0)).await?;
    let object = call.resolve("attachment")?.loid;
    change(&call, &topic, AttachToItem { which, object }, &extent).await
}

/// `DELETE /v3/container/topic/{topic}/topicitem/{topicItem}`, and its counterpart for a subitem.
pub async fn remove_item(call: Call) -> Result<Json<RemovedContainer>> {
    let (topic, which) = (topic(&call)?, which(&call)?);
    let done = call.change(&topic, RemoveTopicItem { which }).await?;
    let reply = RemovedContainer { info: RemovedObject { id: done.reply.item.to_string() } };
    Ok(Json::of(&reply)?.with_etag(ETag::new(RevisionTag::of(&done.view.state.object().record), "change")))
}

/// Changes an item, and replies with the item as it is directly afterwards.
async fn change<C: Command<Family = Topic, Reply = TopicItemResult>>(
    call: &Call,
    topic: &NamedContainer<Topic>,
    command: C,
    extent: &TopicExtent,
) -> Result<PreferredReply<ChangedItem>> {
    let done = call.change(topic, command).await?;
    changed_item(call, done.view, done.reply.item, extent).await
}

/// `POST /v3/container/topic/{topic}/divider`, and its counterpart for an item.
pub async fn add_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let divider = divider_said(&call).await?;
    let (topic, under) = (topic(&call)?, item_of(&call)?);
    divide(&call, &topic, AddDivider::<Topic> { under, divider }).await
}

/// `PUT /v3/container/topic/{topic}/divider/{divider}`, and its counterpart for an item.
pub async fn update_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let divider = divider_said(&call).await?;
    let (topic, under, id) = (topic(&call)?, item_of(&call)?, divider_of(&call)?);
    divide(&call, &topic, UpdateDivider::<Topic> { under, id, divider }).await
}

/// `DELETE /v3/container/topic/{topic}/divider/{divider}`, and its counterpart for an item.
pub async fn remove_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let (topic, under, id) = (topic(&call)?, item_of(&call)?, divider_of(&call)?);
    divide(&call, &topic, RemoveDivider::<Topic> { under, id }).await
}

async fn divide<C: Command<Family = Topic, Reply = DividerResult>>(
    call: &Call,
    topic: &NamedContainer<Topic>,
    command: C,
) -> Result<PreferredReply<ChangedDivider>> {
    let done = call.change(topic, command).await?;
    changed_divider(call, done.view, done.reply.divider)
}

/// `GET /v3/container/topic/{topic}`
pub async fn get(call: Call) -> Result<Json<TopicReply>> {
    let open = CommittedTopic::of(&call, call.view(&topic(&call)?).await?)?;
    let (extent, page) = (TopicExtent::of_query(&call), call.query.page());
    let (listing, tag) = build_settled(&call, open, async |open| {
        let tag = ETag::new(open.tag(), (page, facts(&call, open, &extent).await?));
        if call.has(&tag) {
            return Ok((None, tag));
        }
        Ok((Some(topic_reply(&call, open, &extent, page).await?), tag))
    })
    .await?;
    Ok(match listing {
        Some(listing) => listing.answer(call).with_etag(tag),
        None => Json::not_modified(tag),
    })
}

/// `GET /v3/container/topic/{topic}/structure`
pub async fn structure(call: Call) -> Result<Json<ReadyJson<TopicStructure>>> {
    let open = CommittedTopic::of(&call, call.view(&topic(&call)?).await?)?;
    structure_of(&call, &open, &call.display()).await
}

/// `PUT /v3/container/topic/{topic}`
pub async fn update(call: Call) -> Result<PreferredReply<ChangedTopic>> {
    let mut request: UpdateBody = call.json().await?;
    let (topic, display) = (topic(&call)?.loid(), call.display_of_body().await?);
    let command = UpdateTopic {
        topic,
        title: request.title.map(SharedText::from),
        description: request.description.map(SharedText::from),
        name: request.name,
        attributes: attribute_text(&call.app, "attributes", request.attributes.take()).await?,
        status: request.status.filter(|status| !status.is_empty()).map(SharedText::from),
    };
    let done = call.change_jointly(command).await?;
    changed_topic(&call, topic, done.left.as_ref(), &display).await
}

/// `POST /v3/container/topic`: an empty topic.
pub async fn create(call: Call) -> Result<PreferredReply<ChangedTopic>> {
    let request: CreateTopic = call.json().await?;
    make(&call, request, NewTopic::default(), None).await
}

/// `POST /v3/container/topic/from/template`
pub async fn create_from_default(call: Call) -> Result<PreferredReply<ChangedTopic>> {
    let template = ObjectSource::Path(call.app.config.topic.template.clone());
    from_template(&call, &template, DatabaseId::main()).await
}

/// `POST /v3/container/topic/from/template/{source}`
pub async fn create_from_template(call: Call) -> Result<PreferredReply<ChangedTopic>> {
    let template = call.source("source")?;
    from_template(&call, &template, call.database()?).await
}

async fn from_template(
    call: &Call,
    template: &ObjectSource,
    database: DatabaseId,
) -> Result<PreferredReply<ChangedTopic>> {
    let request: CreateTopic = call.json().await?;
    let (template, view) = Template::find_container::<Topic>(call, template, database).await?;
    let lines = lines_of(&call.app, &view.state).await?;
    let head = view.state.head();
    let begins_with = (head.title.clone(), head.description.clone());
    let new = NewTopic { begins_with, lines, ..NewTopic::default() };
    make(call, request, new, Some(template)).await
}

/// The largest size of attributes that a new topic may get from its template, in bytes. All are in
/// memory until the topic is on disk.
const TEMPLATE_BYTES: usize = 8 << 20;

/// Returns the initial lines of a topic created from this one: its dividers and items with their
/// fields, without attachments.
async fn lines_of(app: &App, template: &TopicState) -> Result<Vec<NewTopicLine>> {
    if template.lines() > MAX_NEW_LINES {
        return Err(too_large(&format!("{} items and dividers", template.lines()), MAX_NEW_LINES));
    }
    let (mut lines, mut bytes, mut timer) = (Vec::new(), 0, YieldTimer::start());
    for line in template.lineup().visible() {
        timer.yield_if_due().await;
        let mut new = new_line(app, line, &mut bytes)?;
        if let (NewTopicLine::Item(item), Some(member)) = (&mut new, line.member()) {
            for line in template.below(member.loid()).into_iter().flat_map(|lineup| lineup.visible()) {
                timer.yield_if_due().await;
                item.lines.push(new_line(app, line, &mut bytes)?);
            }
        }
        lines.push(new);
    }
    Ok(lines)
}

/// Returns the error for a template with too much to copy.
fn too_large(what: &str, limit: usize) -> Error {
    let message = format!("The template has {what}; a new topic can have at most {limit}.");
    Error::new(Code::TooLarge, message).with_detail("limit", limit)
}

/// Copies a line, without the lines below it, and adds the size of its attributes to `bytes`.
///
/// # Errors
/// `TooLarge` as soon as there are too many, so that no more is read; errors of the store.
fn new_line(app: &App, line: &Line<Topic>, bytes: &mut usize) -> Result<NewTopicLine> {
    let item = match line {
        Line::Divider(divider) => return Ok(NewTopicLine::Divider(divider.title.clone())),
        Line::Member(item) => item,
    };
    let attributes = app.repository.attributes(item.loid())?;
    *bytes += attributes.text_bytes();
    if *bytes > TEMPLATE_BYTES {
        return Err(too_large("more bytes of attributes", TEMPLATE_BYTES));
    }
    let fields = ItemFields {
        name: Some(item.record.name.clone()),
        content_type: Some(item.content_type.clone()),
        comment: Some(item.comment.clone()),
        occupation: Some(item.occupation.clone()),
        priority: Some(item.priority.clone()),
        custom_priority: Some(item.custom_priority.clone()),
        product: Some(item.product.clone()),
        edition: Some(item.edition.clone()),
        assignees: Some(item.assignees.clone()),
        due: Some(item.due),
        status: item.record.status.clone(),
        attributes: attributes.attributes,
        system_attributes: attributes.system_attributes,
        // They are those of the new topic.
        issue_date: None,
        work_folder: None,
    };
    Ok(NewTopicLine::Item(Box::new(NewTopicItem { fields, attachment: None, lines: Vec::new() })))
}

/// Builds a new topic or plan from a request's body. The settings of the container are `parts`.
///
/// # Errors
/// `DatabaseNotFound`, `InvalidPath`.
pub(crate) fn new_topic(
    call: &Call,
    type_name: &str,
    request: CreateTopic,
    parts: NewParts,
    template: Option<Template>,
) -> Result<Creation> {
    let database = database_named(call, request.database_id.as_ref())?;
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    let (name, mode) = CreateOptions::name_and_mode(request.name, type_name, request.options, request.create_mode);
    Ok(Creation {
        mode,
        database,
        place: CreationPlace::SiteFolder(folder),
        status: request.status,
        work_folder: request.work_folder,
        issue_date: request.issue_date,
        attributes: request.attributes,
        system_attributes: request.system_attributes,
        template,
        ..Creation::of(CreationKind::Container { type_name: type_name.into(), parts }, name)
    })
}

async fn make(
    call: &Call,
    request: CreateTopic,
    new: NewTopic,
    template: Option<Template>,
) -> Result<PreferredReply<ChangedTopic>> {
    let display = call.display_of_body().await?;
    let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
    let new = NewTopic { title: text(&request.title), description: text(&request.description), ..new };
    let creation = new_topic(call, TYPE_NAME, request, NewParts::of::<Topic>(new), template)?;
    let created = call.create(creation).await?;
    changed_topic(call, created.reply.loid, created.left.as_ref(), &display).await
}

/// `PUT /v3/container/topic/move`: items into a topic, or topics into a plan.
pub async fn move_into(call: Call) -> Result<PreferredReply<MoveResponse>> {
    let body: MoveBody = call.json().await?;
    let database = database_named(&call, body.database_id.as_ref())?;
    let target = call.find_for(Privilege::Write, &ObjectSource::parse("target", &body.target)?, database)?;
    let sources = BulkSources { given: body.sources.read(&call.app)?, database };
    match target.family {
        FamilyKind::Topic => move_items(&call, target.loid, &sources, body.position).await,
        FamilyKind::TopicPlan => super::topicplan::move_topics(&call, target.loid, &sources, body.position).await,
        _ => {
            let message = format!("`{}` is of type {}, neither a topic nor a plan.", body.target, target.type_name);
            Err(Error::new(Code::InvalidType, message).with_source(&body.target))
        }
    }
}

/// Replaces `ObjectNotFound` if the source is an object that the caller may read: then the object
/// exists, but a topic can't hold it.
fn no_item(call: &Call, error: Error, database: DatabaseId) -> Error {
    if error.code != Code::ObjectNotFound {
        return error;
    }
    let source = error.source.as_deref().unwrap_or_default();
    let Some(object) = source.parse().ok().and_then(|named| call.find(&named, database).ok()) else { return error };
    let message = format!("A topic holds only items, but `{source}` is of type {}.", object.type_name);
    Error::new(Code::InvalidForContainer, message).with_source(source)
}

async fn move_items(
    call: &Call,
    target: Loid,
    sources: &BulkSources,
    position: Option<i64>,
) -> Result<PreferredReply<MoveResponse>> {
    let display = call.display_of_body().await?;
    let moving = async || {
        let items = sources.given.iter().map(|text| address("sources", text)).collect::<Result<_>>()?;
        let changeable = call.access().changeable()?;
        call.change_jointly(MoveTopicItems { items, target, position, changeable }).await
    };
    let done = moving().await.map_err(|error| no_item(call, error, sources.database))?;
    let Some(view) = call.view_after::<Topic>(target, done.left.as_ref()).await? else {
        return removed_part_reply(target);
    };
    let state = RevisionTag::of(&view.state.object().record);
    if let Some(minimal) = call.minimal(target, state)? {
        return Ok(minimal);
    }
    let found = done.reply.lines.iter().filter_map(|done| view.state.place_of(done.item).ok());
    let items = found.map(|(position, item)| MovedLine { id: item.loid(), position }).collect();
    let info = info_of(&call.app, &view.state, &display).await?;
    let revisions = done.reply.revisions.iter().copied().map(MoveRevision::from).collect();
    Ok(Json::of(&MovedReply { info, items, revisions })?.with_etag(ETag::new(state, "change")).shown().into())
}
