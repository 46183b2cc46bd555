//! Replies about topic plans.

use std::hash::{DefaultHasher, Hash, Hasher};

use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::planning::Line;
use stet_domain::planning::plan::{PlanState, TopicPlan};
use stet_domain::planning::topic::Topic;
use stet_endpoint::records::{info_of, locker_of, path_if_shown, readable, record_of};
use stet_endpoint::settled::{UnsettledReply, readable_in_view};
use stet_newsroom::caller::SeenView;
use stet_newsroom::records::{Display, ListingPage};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::{EntryStep, Listing, NestedItem};
use stet_web::prefer::PreferredReply;

use super::types::{ChangedPlan, PlanInfo, PlanReply, PlanStructure, PlannedTopic};
use crate::correlates::facts as facts_of_links;
use crate::topic::reply::{
    CommittedView, TopicExtent, correlates, divider_reply, dividers, dividers_among, facts as facts_of_topic,
    list_items, removed_part_reply, structure_line,
};
use crate::topic::{ChangedDivider, LineKind};

/// Maximum number of attempts to render the reply to a change.
const TRIES: usize = 100;

/// A plan in its committed state.
pub(super) type CommittedPlan = CommittedView<TopicPlan>;

impl CommittedPlan {
    /// Returns the lines that the caller may see, in order. The index of a line is its position.
    ///
    /// # Errors
    /// [`UnsettledReply::Changed`] if a topic was removed since the view was published; errors of
    /// the store.
    pub(super) async fn visible_lines(&self, call: &Call) -> Result<Vec<Line<TopicPlan>>, UnsettledReply> {
        lines(&self.0.state, |topic| Ok(readable_in_view(call, topic)?.is_some())).await
    }
}

/// Returns the lines that the reply to a change shows: those of the plan after the change, without
/// the topics that others have removed since.
pub(super) async fn lines_after(call: &Call, plan: &PlanState) -> Result<Vec<Line<TopicPlan>>> {
    lines(plan, |topic| Ok(readable(call, topic)?.is_some())).await
}

async fn lines<E>(plan: &PlanState, sees: impl Fn(Loid) -> Result<bool, E>) -> Result<Vec<Line<TopicPlan>>, E> {
    let mut timer = YieldTimer::start();
    let mut seen = Vec::with_capacity(plan.lineup().count());
    for line in plan.lineup().visible() {
        timer.yield_if_due().await;
        if line.member().map_or(Ok(true), |topic| sees(topic.topic))? {
            seen.push(line.clone());
        }
    }
    Ok(seen)
}

async fn info(app: &App, plan: &PlanState, seen: &[Line<TopicPlan>], display: &Display) -> Result<PlanInfo> {
    let head = plan.head();
    Ok(PlanInfo {
        record: info_of(app, plan, display).await?,
        title: head.title.clone(),
        description: head.description.clone(),
        count: seen.iter().filter(|line| line.member().is_some()).count(),
    })
}

pub(super) fn topics(seen: &[Line<TopicPlan>]) -> Vec<(usize, Loid)> {
    let lines = seen.iter().enumerate();
    lines.filter_map(|(position, line)| line.member().map(|topic| (position, topic.topic))).collect()
}

/// Returns the plan's tag as of the view.
pub(super) fn tag_of(view: &SeenView<TopicPlan>) -> RevisionTag {
    RevisionTag::of(&view.state.object().record)
}

/// Renders a plan with a page of its visible topics.
pub(super) async fn plan_reply(
    call: &Call,
    view: &SeenView<TopicPlan>,
    seen: &[Line<TopicPlan>],
    extent: &TopicExtent,
    page: ListingPage,
) -> Result<Listing<PlanReply>, UnsettledReply> {
    let topics = topics(seen);
    let total = Some(topics.len());
    plan_with(call, view, seen, page.cut(topics), total, extent).await
}

async fn plan_with(
    call: &Call,
    view: &SeenView<TopicPlan>,
    seen: &[Line<TopicPlan>],
    topics: Vec<(usize, Loid)>,
    total: Option<usize>,
    extent: &TopicExtent,
) -> Result<Listing<PlanReply>, UnsettledReply> {
    let info = info(&call.app, &view.state, seen, &extent.display).await?;
    let correlates = correlates(call, view.state.object().record.loid, extent).await?;
    let (dividers, extent) = (dividers_among(seen.iter()).collect(), extent.clone());
    let render = async move |call: &Call, &(position, topic): &(usize, Loid), step: EntryStep| {
        let shown: Result<_> = async {
            let cached = readable(call, topic)?.ok_or_else(|| Error::not_found(topic))?;
            let info = record_of(&call.app, &cached, &extent.display).await?;
            let correlates = self::correlates(call, topic, &extent).await?;
            if !extent.below {
                let (dividers, items) = (Vec::new(), Vec::new().into());
                return Ok(NestedItem::whole(PlannedTopic { info, position, dividers, correlates, items }));
            }
            let open = CommittedView(call.view_of::<Topic>(topic).await?);
            let dividers = self::dividers(Some(open.state().lineup()));
            let items = list_items(&open, &extent, ListingPage::WHOLE);
            Ok(NestedItem::open(items, |items| PlannedTopic { info, position, dividers, correlates, items }))
        }
        .await;
        match shown {
            // The topic was deleted after the plan was read. All positions and counts would differ
            // without it.
            Err(error) if error.code == Code::ObjectNotFound && step.late => Ok(None),
            Err(error) if error.code == Code::ObjectNotFound => Err(UnsettledReply::Changed),
            Err(error) => Err(UnsettledReply::Failed(error)),
            Ok(shown) => Ok(Some(shown)),
        }
    };
    Listing::each(call, topics, render, |items, _| PlanReply { info, dividers, correlates, items, total }).await
}

/// Computes a hash of what a reply about a plan shows of topics and other objects. With the plan's
/// own state it identifies the reply.
pub(super) async fn hash_facts(
    call: &Call,
    plan: &PlanState,
    seen: &[Line<TopicPlan>],
    extent: &TopicExtent,
) -> Result<u64> {
    let (app, mut timer) = (&call.app, YieldTimer::start());
    let mut hasher = DefaultHasher::new();
    let record = &plan.object().record;
    (extent, path_if_shown(app, record, &extent.display)?).hash(&mut hasher);
    if extent.correlates {
        facts_of_links(call, record.loid)?.hash(&mut hasher);
    }
    for (position, topic) in topics(seen) {
        timer.yield_if_due().await;
        (position, topic).hash(&mut hasher);
        let Some(cached) = readable(call, topic)? else { continue };
        (cached.revision, locker_of(app, &cached), path_if_shown(app, &cached, &extent.display)?).hash(&mut hasher);
        if extent.correlates && !extent.below {
            facts_of_links(call, topic)?.hash(&mut hasher);
        }
        if extent.below {
            match call.view_of::<Topic>(topic).await {
                Ok(view) => facts_of_topic(call, &CommittedView(view), extent).await?.hash(&mut hasher),
                Err(error) if error.code == Code::ObjectNotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(hasher.finish())
}

/// Returns a plan with the ids of its topics and dividers.
pub(super) async fn structure(
    call: &Call,
    view: &SeenView<TopicPlan>,
    seen: &[Line<TopicPlan>],
    display: &Display,
    page: ListingPage,
) -> Result<PlanStructure> {
    let line = |line| structure_line(line, LineKind::Topic, Vec::new());
    Ok(PlanStructure {
        info: info(&call.app, &view.state, seen, display).await?,
        items: seen.iter().skip(page.offset).take(page.limit).map(line).collect(),
        total: seen.len(),
    })
}

/// Returns the reply to a change of a plan: its state after the change, with the topic concerned.
pub(super) async fn render_changed_plan(
    call: Call,
    view: &SeenView<TopicPlan>,
    about: Option<Loid>,
    display: Display,
) -> Result<PreferredReply<ChangedPlan>> {
    if let Some(minimal) = call.minimal(view.state.object().record.loid, tag_of(view))? {
        return Ok(minimal);
    }
    let extent = TopicExtent { display, attachments: false, correlates: false, below: false };
    for _ in 0..TRIES {
        let seen = lines_after(&call, &view.state).await?;
        let shown = topics(&seen).into_iter().filter(|(_, topic)| about == Some(*topic)).collect();
        match plan_with(&call, view, &seen, shown, None, &extent).await {
            Ok(reply) => return Ok(reply.answer(call).with_etag(ETag::new(tag_of(view), "change")).shown().into()),
            Err(UnsettledReply::Failed(error)) => return Err(error),
            // The topic was deleted since the plan was read.
            Err(UnsettledReply::Changed) => tokio::task::yield_now().await,
        }
    }
    // The change is committed nevertheless.
    removed_part_reply(view.state.object().record.loid)
}

/// Returns the reply to a change of a divider, with its position as the caller sees it.
pub(super) async fn changed_divider(
    call: &Call,
    view: &SeenView<TopicPlan>,
    id: u64,
) -> Result<PreferredReply<ChangedDivider>> {
    if let Some(minimal) = call.minimal(id, tag_of(view))? {
        return Ok(minimal);
    }
    let seen = lines_after(call, &view.state).await?;
    let info = dividers_among(seen.iter()).find(|divider| divider.id == id.to_string());
    divider_reply(id, info, tag_of(view))
}

#[cfg(test)]
mod tests {
    use stet_domain::lifecycle::{DiscardObject, NewObject};
    use stet_domain::object::Reach;
    use stet_domain::planning::plan::{NewPlan, NewPlanLine};
    use stet_domain::planning::topic::NewTopic;
    use stet_newsroom::testing::by_editor;
    use stet_web::testing::ServerFixture;

    use super::*;

    #[actix_web::test]
    async fn a_view_with_a_topic_that_was_discarded_since_is_not_shown() {
        let fixture = ServerFixture::of(crate::surface).await;
        let topic = fixture.create(NewObject::of::<Topic>("topic", "Topic", NewTopic::default())).await;
        let new = NewPlan { lines: vec![NewPlanLine::Topic(topic)], ..NewPlan::default() };
        let plan = fixture.create(NewObject::of::<TopicPlan>("plan", "TopicPlan", new)).await;
        let view = async || {
            CommittedView(SeenView::of_test(fixture.app.repository.view::<TopicPlan>(plan).await.expect("it is there")))
        };
        let (call, before) = (fixture.call_of("topicplan-get"), view().await);
        // The caller may read nothing.
        assert!(before.visible_lines(&call).await.expect("nothing has changed").is_empty());
        let discard = DiscardObject { object: topic, reach: Reach::All };
        fixture.repository.joint(discard, by_editor()).await.expect("it can be discarded");
        // Without the topic, a state would be shown in which others may have made changes before.
        let seen = before.visible_lines(&call).await;
        assert!(matches!(seen, Err(UnsettledReply::Changed)), "{seen:?}");
        assert!(view().await.visible_lines(&call).await.expect("it is hidden there").is_empty());
        assert!(lines_after(&call, &before.0.state).await.expect("the store reads").is_empty());
    }
}
