//! The history of containers, and taking changes of drawers back (docs/api/history.md).

pub mod routes;
mod types;

use std::collections::{HashMap, HashSet};
use std::task::Poll;

use stet_actors::repository::PastMoment;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::CommandFault;
use stet_domain::drawer::{
    Drawer, DrawerHead, DrawerPast, DrawerStep, HEAD, ITEM, RevertDrawer, UndoDrawerChange, changed_since,
};
use stet_domain::error::{Code, Error, Result};
use stet_domain::history::{FormerRow, former_rows};
use stet_domain::id::Loid;
use stet_domain::object::FamilyKind;
use stet_domain::store::{DecodeError, Event};
use stet_newsroom::caller::{NamedContainer, PastTurn};
use stet_newsroom::events::sight::EventFilter;
use stet_newsroom::events::stored::{ContainerEvent, EventText};
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use self::types::{DrawerChanges, FieldChange, HistoryEntry, HistoryPage, ItemChange};
pub use self::types::{RevertRequest, UndoRequest};
use crate::drawer::{DrawerReply, changed_reply};

/// Changes of a page: those without a `limit`, and the most allowed.
const LIMITS: (i64, i64) = (50, 200);

/// The number of objects and items that an entry names at most, and all entries of a page.
const MOST_NAMED: usize = 100;
const MOST_NAMED_OF_PAGE: usize = 2_000;

/// The bytes of former rows for which a page shows what was changed. Beyond them, the oldest
/// entries do not show it.
const MOST_FORMER_BYTES: usize = 8 << 20;

/// The number of changes among which the caller's latest is looked for.
const MOST_LOOKED_AT: u64 = 1_000;

/// Reads the moment in the parameter `at`: a revision, or a time.
///
/// # Errors
/// `InvalidParameter`.
pub fn past_moment(call: &Call) -> Result<Option<PastMoment>> {
    /// Larger numbers are times in epoch milliseconds: this one is in March 1973.
    const FIRST_TIME: u64 = 100_000_000_000;
    let Some(text) = call.query.text("at").filter(|text| !text.is_empty()) else { return Ok(None) };
    let wanted = "a revision, a time in epoch milliseconds, or a time like 2026-01-31T08:00:00Z";
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse::<u64>() {
            Ok(revision @ 1..FIRST_TIME) => Ok(Some(PastMoment::Revision(revision))),
            Ok(at_ms @ FIRST_TIME..) => Ok(Some(PastMoment::Time(at_ms))),
            _ => Err(Error::parameter("at", text, wanted)),
        };
    }
    let time: jiff::Timestamp = text.parse().map_err(|_| Error::parameter("at", text, wanted))?;
    let at_ms = u64::try_from(time.as_millisecond()).map_err(|_| Error::parameter("at", text, wanted))?;
    Ok(Some(PastMoment::Time(at_ms)))
}

/// `GET /v3/container/{source}/history`
pub async fn list(call: Call) -> Result<Json<HistoryPage>> {
    let limit = call.query.integer("limit").unwrap_or(LIMITS.0);
    if !(1..=LIMITS.1).contains(&limit) {
        return Err(Error::parameter("limit", limit, &format!("between 1 and {}", LIMITS.1)));
    }
    // In range: checked.
    let limit = u64::try_from(limit).unwrap_or(1);
    let (turn, record) = (PastTurn::wait().await?, call.resolve("source")?);
    let before = match call.query.integer("before") {
        Some(before) => {
            u64::try_from(before).map_err(|_| Error::parameter("before", before, "a revision of the container"))?
        }
        None => u64::MAX,
    };
    let end = before.min(record.revision.saturating_add(1));
    let begin = end.saturating_sub(limit + 1);
    let events = read_events(&call, &turn, record.loid, begin, end).await?;
    let next = events.first().map(|event| event.revision).filter(|first| *first > 2 && *first == begin + 1);
    let mut changes = match record.family {
        FamilyKind::Drawer => drawer_changes(&call, &turn, &events).await?,
        _ => HashMap::new(),
    };
    let (mut items, mut left) = (Vec::with_capacity(events.len()), MOST_NAMED_OF_PAGE);
    for event in events.into_iter().rev() {
        let mut entry = visible(&call, record.loid, event).await?;
        entry.ids.truncate(MOST_NAMED.min(left));
        left -= entry.ids.len();
        // Of a change of which the caller sees nothing, they see nothing here either.
        entry.changes = changes.remove(&entry.revision).filter(|_| entry.kind.is_some());
        items.push(entry);
    }
    Json::of(&HistoryPage { items, next })
}

/// Reads the events with revisions after `begin` and before `end`, oldest first. Those for whose
/// former rows there is no room have none.
async fn read_events(call: &Call, turn: &PastTurn, container: Loid, begin: u64, end: u64) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::new();
    let (mut after, mut bytes, mut emptied) = (begin, 0, 0);
    while after + 1 < end {
        // At most 200: a page.
        let room = usize::try_from(end - 1 - after).unwrap_or(usize::MAX);
        let batch = call.events_after(turn, container, after, room).await?;
        let Some(last) = batch.last() else { break };
        after = last.revision;
        for event in batch.into_iter().take_while(|event| event.revision < end) {
            bytes += event.before.as_ref().map_or(0, bytes::Bytes::len);
            events.push(event);
            while bytes > MOST_FORMER_BYTES && emptied < events.len() {
                bytes -= events[emptied].before.take().map_or(0, |before| before.len());
                emptied += 1;
            }
        }
    }
    Ok(events)
}

/// Returns what the caller may see of a change.
async fn visible(call: &Call, container: Loid, event: Event) -> Result<HistoryEntry> {
    let revision = event.revision;
    let Some(record) = call.app.repository.any_record(container)? else { return Err(Error::not_found(container)) };
    let happening = ContainerEvent::of(container, event);
    let (mut filter, mut timer) = (EventFilter::of(&happening), YieldTimer::start());
    let text = loop {
        match filter.go_on(&call.app.newsroom, call.access(), &record, &timer)? {
            Poll::Ready(text) => break text,
            Poll::Pending => timer.yield_if_due().await,
        }
    };
    let data = text.as_ref().and_then(EventText::named_data).map(|(_, data)| data);
    let mut entry: HistoryEntry = data.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    entry.revision = revision;
    Ok(entry)
}

/// Returns what the changes of a drawer have done, by revision, as far as it is known.
async fn drawer_changes(call: &Call, turn: &PastTurn, events: &[Event]) -> Result<HashMap<u64, DrawerChanges>> {
    let mut shown = HashMap::new();
    let Some(newest) = events.last() else { return Ok(shown) };
    let drawer = call.container::<Drawer>("source")?;
    let view = match call.view_at(turn, &drawer, PastMoment::Revision(newest.revision)).await {
        Ok(view) => view,
        // A later change is too large to be taken back.
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::TooLarge) => return Ok(shown),
        Err(error) => return Err(error),
    };
    let mut objects = ObjectNames { call, known: HashMap::new(), left: MOST_NAMED_OF_PAGE };
    let mut timer = YieldTimer::start();
    for item in view.state.all() {
        timer.yield_if_due().await;
        objects.sees(item.object)?;
    }
    let mut past = DrawerPast::of(&view.state, |object| objects.sees(object))?;
    let mut expected = newest.revision;
    for event in events.iter().rev() {
        timer.yield_if_due().await;
        let former = former_rows(event).map_err(unreadable)?.filter(|_| event.revision == expected);
        let Some(former) = former else { break };
        let step = past.take_back(&former, |object| objects.sees(object)).map_err(fault)?;
        shown.insert(event.revision, objects.describe(step)?);
        expected -= 1;
    }
    Ok(shown)
}

/// The objects that a history names, as far as the caller may read them.
struct ObjectNames<'c> {
    call: &'c Call,
    known: HashMap<Loid, bool>,
    /// The number of items that may still be named.
    left: usize,
}

impl ObjectNames<'_> {
    fn sees(&mut self, object: Loid) -> Result<bool> {
        if self.call.access().sees_all() {
            return Ok(true);
        }
        if let Some(known) = self.known.get(&object) {
            return Ok(*known);
        }
        let record = self.call.app.repository.any_record(object)?;
        let sees = record.map_or(Ok(false), |record| self.call.access().may(Privilege::Read, &record))?;
        self.known.insert(object, sees);
        Ok(sees)
    }

    fn describe(&mut self, step: DrawerStep) -> Result<DrawerChanges> {
        let named = step.items.len().min(MOST_NAMED).min(self.left);
        let more = step.items.len() - named;
        self.left -= named;
        let repository = &self.call.app.repository;
        let items = step.items.into_iter().take(named).map(|step| {
            let name = repository.any_record(step.item.object)?.map(|record| record.name);
            Ok(ItemChange { id: step.item.shortcut, source: step.item.object, name, from: step.from, to: step.to })
        });
        let items = items.collect::<Result<_>>()?;
        let fields = step.head.map_or_else(Vec::new, |(before, after)| changed_fields(&before, &after));
        Ok(DrawerChanges { items, more, fields })
    }
}

fn changed_fields(before: &DrawerHead, after: &DrawerHead) -> Vec<FieldChange> {
    let texts = |head: &DrawerHead| {
        [
            ("title", head.title.to_string()),
            ("description", head.description.to_string()),
            ("capacity", head.capacity.to_string()),
        ]
    };
    let both = texts(before).into_iter().zip(texts(after)).filter(|((_, from), (_, to))| from != to);
    both.map(|((name, from), (_, to))| FieldChange { name, from, to }).collect()
}

fn unreadable(error: DecodeError) -> Error {
    tracing::error!(%error, "the history of a container can't be read");
    Error::internal()
}

fn fault(fault: CommandFault) -> Error {
    match fault {
        CommandFault::Refused(error) => error,
        fault => {
            tracing::error!(?fault, "the history of a drawer can't be read");
            Error::internal()
        }
    }
}

/// `POST /v3/container/{source}/revert`
pub async fn revert(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let RevertRequest { revision } = call.json().await?;
    let (drawer, display) = (call.container::<Drawer>("source")?, call.display_of_body().await?);
    let present = call.view(&drawer).await?.revision();
    if !(1..=present).contains(&revision) {
        return Err(Error::parameter("revision", revision, &format!("between 1 and the present one, {present}")));
    }
    let turn = PastTurn::wait().await?;
    let past = call.view_at(&turn, &drawer, PastMoment::Revision(revision)).await?;
    // A change may wait for the disk, and others must not wait for that.
    drop(turn);
    let done = call.change(&drawer, RevertDrawer::to(&past.state)).await?;
    changed_reply(call, &done.view, &done.reply, &display).await
}

/// `POST /v3/container/{source}/undo`
pub async fn undo(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let UndoRequest { revision } = call.json().await?;
    let (drawer, display) = (call.container::<Drawer>("source")?, call.display_of_body().await?);
    let turn = PastTurn::wait().await?;
    // Read before the events: these have every change that the view has.
    let view = call.view(&drawer).await?;
    let event = match revision {
        Some(revision) => own_change(&call, &turn, &drawer, revision, view.revision()).await?,
        None => latest_own_change(&call, &turn, &drawer, view.revision()).await?,
    };
    let loid = drawer.loid();
    let former = former_rows(&event).map_err(unreadable)?;
    let is_undoable = event.kind.starts_with("drawer.") && event.kind != "drawer.item.move";
    let command = match former.filter(|_| is_undoable) {
        Some(former) => {
            check_untouched(&call, &turn, loid, event.revision, &former).await?;
            UndoDrawerChange::of(&view.state, event.revision, &former).map_err(unreadable)?
        }
        None => None,
    };
    drop(turn);
    let Some(command) = command else {
        let message = format!(
            "Change {} of `{loid}` (`{}`) can't be undone: only changes of a drawer's items, title, description and \
             capacity can.",
            event.revision, event.kind
        );
        return Err(Error::new(Code::InvalidForContainer, message).with_source(loid));
    };
    let done = call.change(&drawer, command).await?;
    changed_reply(call, &done.view, &done.reply, &display).await
}

/// Returns the event of a change by the caller.
async fn own_change(
    call: &Call,
    turn: &PastTurn,
    drawer: &NamedContainer<Drawer>,
    revision: u64,
    present: u64,
) -> Result<Event> {
    if !(1..=present).contains(&revision) {
        return Err(Error::parameter("revision", revision, &format!("between 1 and the present one, {present}")));
    }
    let loid = drawer.loid();
    let events = call.events_after(turn, loid, revision - 1, 1).await?;
    let Some(event) = events.into_iter().next().filter(|event| event.revision == revision) else {
        let message = format!("Nothing is known any more of change {revision} of `{loid}`.");
        return Err(Error::new(Code::ObjectNotFound, message).with_source(loid));
    };
    if event.user != **call.user()? {
        let message = format!("Change {revision} of `{loid}` was made by another user.");
        return Err(Error::new(Code::PermissionDenied, message).with_source(loid));
    }
    Ok(event)
}

/// Returns the event of the caller's latest change of the drawer itself.
async fn latest_own_change(
    call: &Call,
    turn: &PastTurn,
    drawer: &NamedContainer<Drawer>,
    present: u64,
) -> Result<Event> {
    let (loid, user) = (drawer.loid(), call.user()?);
    let mut end = present + 1;
    while end > 1 && present + 1 - end < MOST_LOOKED_AT {
        let begin = end.saturating_sub(201);
        let events = read_events(call, turn, loid, begin, end).await?;
        let is_own = |event: &&Event| event.user == **user && event.kind.starts_with("drawer.");
        if let Some(event) = events.iter().rev().find(is_own) {
            return own_change(call, turn, drawer, event.revision, present).await;
        }
        end = begin + 1;
    }
    let message = format!("None of the last {MOST_LOOKED_AT} changes of `{loid}` is one of yours.");
    Err(Error::new(Code::ObjectNotFound, message).with_source(loid))
}

/// Checks that no change after `revision` has touched one of the rows.
async fn check_untouched(call: &Call, turn: &PastTurn, drawer: Loid, revision: u64, rows: &[FormerRow]) -> Result<()> {
    let keys = |row: &FormerRow| [HEAD, ITEM].map(|kind| row.part_key(kind.number()).map(<[u8]>::to_vec));
    let touched: HashSet<_> = rows.iter().map(keys).collect();
    let mut after = revision;
    loop {
        let events = call.events_after(turn, drawer, after, 1_000).await?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.revision;
        for event in &events {
            let Some(later) = former_rows(event).map_err(unreadable)? else {
                return Err(changed_since(drawer, revision));
            };
            if later.iter().any(|row| touched.contains(&keys(row))) {
                return Err(changed_since(drawer, revision));
            }
        }
        if after - revision > stet_actors::repository::MOST_CHANGES_BACK {
            return Err(changed_since(drawer, revision));
        }
    }
}
