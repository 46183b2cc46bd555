//! Topic plans (docs/api/topic-plans.md).

use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::State;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::NewParts;
use stet_domain::object::SharedText;
use stet_domain::planning::plan::{
    AddPlanTopic, MovePlanTopics, NewPlan, NewPlanLine, PlannedTopicResult, RemovePlanTopic, TopicPlan,
};
use stet_domain::planning::{AddDivider, DividerResult, Line, RemoveDivider, UpdateDivider};
use stet_endpoint::records::{info_of, path_if_shown};
use stet_endpoint::requests::BulkSources;
use stet_endpoint::settled::{OpenContainer, build_settled};
use stet_newsroom::caller::NamedContainer;
use stet_newsroom::creation::Template;
use stet_newsroom::titles::choose_title;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::prefer::PreferredReply;
use stet_web::reply::{Json, Reply};

use self::reply::{
    CommittedPlan, changed_divider, hash_facts, lines_after, plan_reply, render_changed_plan,
    structure as structure_of, tag_of, topics,
};
use super::topic::export::{ExportFormat, TopicExport, answer, extent};
use super::topic::reply::{TopicExtent, removed_part_reply};
use super::topic::{
    ChangedDivider, CreateTopic, MoveResponse, MoveRevision, MovedLine, MovedReply, divider_of, divider_said, new_topic,
};

mod reply;
pub mod routes;
mod types;

pub use self::types::{ChangedPlan, PlanReply, PlanStructure};

/// Name of the type of plans in the objecttypes family.
const TYPE_NAME: &str = "TopicPlan";

/// Returns the plan that the path names.
fn plan(call: &Call) -> Result<NamedContainer<TopicPlan>> {
    call.container("topicPlan")
}

/// Opens the plan that the path names.
async fn open(call: &Call) -> Result<CommittedPlan> {
    CommittedPlan::of(call, call.view(&plan(call)?).await?)
}

/// Body of the addition of a topic to a plan.
#[derive(Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddBody {
    /// Position counted from 0 among the visible topics and the dividers; −1 is the end. A new
    /// topic without it is appended.
    position: Option<i64>,
}

/// `PUT /v3/container/topicplan/{topicPlan}/add/{topic}`
pub async fn add_topic(call: Call) -> Result<PreferredReply<ChangedPlan>> {
    let AddBody { position } = call.json().await?;
    let topic = call.resolve("topic")?.loid;
    change(call, AddPlanTopic { topic, position }).await
}

/// `DELETE /v3/container/topicplan/{topicPlan}/delete/{topic}`: the topic itself is kept.
pub async fn remove_topic(call: Call) -> Result<PreferredReply<ChangedPlan>> {
    let topic = call.resolve("topic")?.loid;
    change(call, RemovePlanTopic { topic }).await
}

async fn change<C: Command<Family = TopicPlan, Reply = PlannedTopicResult>>(
    call: Call,
    command: C,
) -> Result<PreferredReply<ChangedPlan>> {
    let (plan, display) = (plan(&call)?, call.display_of_body().await?);
    let done = call.change(&plan, command).await?;
    // Boxed, so that the memory of this large future is not occupied during the change.
    Box::pin(render_changed_plan(call, &done.view, Some(done.reply.topic), display)).await
}

/// `POST /v3/container/topicplan/{topicPlan}/divider`
pub async fn add_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let divider = divider_said(&call).await?;
    divide(&call, AddDivider::<TopicPlan> { under: (), divider }).await
}

/// `PUT /v3/container/topicplan/{topicPlan}/divider/{divider}`
pub async fn update_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let (divider, id) = (divider_said(&call).await?, divider_of(&call)?);
    divide(&call, UpdateDivider::<TopicPlan> { under: (), id, divider }).await
}

/// `DELETE /v3/container/topicplan/{topicPlan}/divider/{divider}`
pub async fn remove_divider(call: Call) -> Result<PreferredReply<ChangedDivider>> {
    let id = divider_of(&call)?;
    divide(&call, RemoveDivider::<TopicPlan> { under: (), id }).await
}

async fn divide<C: Command<Family = TopicPlan, Reply = DividerResult>>(
    call: &Call,
    command: C,
) -> Result<PreferredReply<ChangedDivider>> {
    let done = call.change(&plan(call)?, command).await?;
    changed_divider(call, &done.view, done.reply.divider).await
}

/// `GET /v3/container/topicplan/{topicPlan}`
pub async fn get(call: Call) -> Result<Json<PlanReply>> {
    let (extent, page) = (TopicExtent::of_query(&call), call.query.page());
    let (listing, tag) = build_settled(&call, open(&call).await?, async |plan| {
        let (view, seen) = (plan.view(), plan.visible_lines(&call).await?);
        let tag = ETag::new(tag_of(view), (page, hash_facts(&call, &view.state, &seen, &extent).await?));
        if call.has(&tag) {
            return Ok((None, tag));
        }
        Ok((Some(plan_reply(&call, view, &seen, &extent, page).await?), tag))
    })
    .await?;
    Ok(match listing {
        Some(listing) => listing.answer(call).with_etag(tag),
        None => Json::not_modified(tag),
    })
}

/// `GET /v3/container/topicplan/{topicPlan}/structure`
pub async fn structure(call: Call) -> Result<Json<PlanStructure>> {
    let (display, page) = (call.display(), call.query.page());
    build_settled(&call, open(&call).await?, async |plan| {
        let (view, seen) = (plan.view(), plan.visible_lines(&call).await?);
        let shown: Vec<u128> = seen.iter().map(Line::id).collect();
        let path = path_if_shown(&call.app, &view.state.object().record, &display)?;
        let tag = ETag::new(tag_of(view), ("structure", &display, page, path, shown));
        if call.has(&tag) {
            return Ok(Json::not_modified(tag));
        }
        Ok(Json::of(&structure_of(&call, view, &seen, &display, page).await?)?.with_etag(tag))
    })
    .await
}

/// `GET /v3/container/topicplan/{topicPlan}/export/{format}`: the items of the topics that the
/// caller may read, in the plan's order.
pub async fn export(call: Call) -> Result<Reply> {
    let format = ExportFormat::of(&call)?;
    let (view, seen) = build_settled(&call, open(&call).await?, async |plan| {
        Ok((plan.view().clone(), plan.visible_lines(&call).await?))
    })
    .await?;
    let facts = hash_facts(&call, &view.state, &seen, &extent()).await?;
    let topics = topics(&seen).into_iter().map(|(_, topic)| topic).collect();
    let object = view.state.object();
    let title = choose_title(&call.app, object, &view.state.head().title).await?;
    let named = (object.record.name.clone(), title);
    let export = TopicExport::of(&call, format, object.record.loid.database, named, topics);
    answer(call, tag_of(&view), facts, export).await
}

/// `POST /v3/container/topicplan`: creates an empty plan.
pub async fn create(call: Call) -> Result<PreferredReply<ChangedPlan>> {
    make(call, NewPlan::default(), None).await
}

/// `POST /v3/container/topicplan/from/template`
pub async fn create_from_default(call: Call) -> Result<PreferredReply<ChangedPlan>> {
    let template = ObjectSource::Path(call.app.config.topic_plan.template.clone());
    from_template(call, template, DatabaseId::main()).await
}

/// `POST /v3/container/topicplan/from/template/{source}`
pub async fn create_from_template(call: Call) -> Result<PreferredReply<ChangedPlan>> {
    let (template, database) = (call.source("source")?, call.database()?);
    from_template(call, template, database).await
}

/// Creates a plan with the title, description and dividers of a template. The template's topics are
/// not taken over, because topics belong to one day.
async fn from_template(
    call: Call,
    template: ObjectSource,
    database: DatabaseId,
) -> Result<PreferredReply<ChangedPlan>> {
    let (template, view) = Template::find_container::<TopicPlan>(&call, &template, database).await?;
    let head = view.state.head();
    let dividers = view.state.lineup().visible().filter_map(|line| line.divider());
    let lines = dividers.map(|divider| NewPlanLine::Divider(divider.title.clone())).collect();
    let begins_with = (head.title.clone(), head.description.clone());
    let new = NewPlan { begins_with, lines, ..NewPlan::default() };
    make(call, new, Some(template)).await
}

async fn make(call: Call, new: NewPlan, template: Option<Template>) -> Result<PreferredReply<ChangedPlan>> {
    let request: CreateTopic = call.json().await?;
    let display = call.display_of_body().await?;
    let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
    let new = NewPlan { title: text(&request.title), description: text(&request.description), ..new };
    let creation = new_topic(&call, TYPE_NAME, request, NewParts::of::<TopicPlan>(new), template)?;
    let created = call.create(creation).await?;
    let loid = created.reply.loid;
    match call.view_after::<TopicPlan>(loid, created.left.as_ref()).await? {
        Some(view) => Box::pin(render_changed_plan(call, &view, None, display)).await,
        None => removed_part_reply(loid),
    }
}

/// Returns a clearer error if `source` is an item of a topic that the caller may read: it exists,
/// but a plan can't hold it.
fn no_topic(call: &Call, error: Error, source: &ObjectSource) -> Error {
    if error.code != Code::ObjectNotFound {
        return error;
    }
    let topic = call.app.item(source).and_then(|(topic, _)| call.access().check(Privilege::Read, &topic, source));
    if topic.is_err() {
        return error;
    }
    let message = format!("A plan holds only topics, but `{source}` is an item of a topic.");
    Error::new(Code::InvalidForContainer, message).with_source(source)
}

/// Moves topics into a plan, out of the other plans that hold them. The caller must have the right
/// to change those.
pub(super) async fn move_topics(
    call: &Call,
    target: Loid,
    sources: &BulkSources,
    position: Option<i64>,
) -> Result<PreferredReply<MoveResponse>> {
    let display = call.display_of_body().await?;
    let mut topics = Vec::with_capacity(sources.given.len());
    let mut timer = YieldTimer::start();
    for text in &sources.given {
        timer.yield_if_due().await;
        let source = ObjectSource::parse("sources", text)?;
        let found = call.find(&source, sources.database).map_err(|error| no_topic(call, error, &source))?;
        topics.push(found.loid);
    }
    let moving = MovePlanTopics { topics, target, position, changeable: call.access().changeable()? };
    let done = call.change_jointly(moving).await?;
    let Some(view) = call.view_after::<TopicPlan>(target, done.left.as_ref()).await? else {
        return removed_part_reply(target);
    };
    if let Some(minimal) = call.minimal(target, tag_of(&view))? {
        return Ok(minimal);
    }
    let seen = lines_after(call, &view.state).await?;
    let places: std::collections::HashMap<u128, usize> =
        seen.iter().enumerate().map(|(place, line)| (line.id(), place)).collect();
    let found = done.reply.lines.iter().filter_map(|done| {
        let position = *places.get(&done.topic.to_number())?;
        Some(MovedLine { id: done.topic, position })
    });
    let info = info_of(&call.app, &view.state, &display).await?;
    let revisions = done.reply.revisions.iter().copied().map(MoveRevision::from).collect();
    let reply = MovedReply { info, items: found.collect(), revisions };
    Ok(Json::of(&reply)?.with_etag(ETag::new(tag_of(&view), "change")).shown().into())
}
