//! Exports of topic items to files for other programs (docs/api/topics.md, "Export"): a calendar or
//! a table.
//!
//! A file is written item by item, and streamed if it is large: a plan may hold thousands of topics
//! with thousands of items each.

mod calendar;
mod table;
mod zone;

use std::hash::Hash;

use actix_web::http::header::CONTENT_DISPOSITION;
use jiff::tz::TimeZone;
use stet_base::limits::yielding::YieldTimer;
use stet_base::nearest::with_nearest;
use stet_base::rope::TextRope;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::SharedText;
use stet_domain::planning::LineupEntry;
use stet_domain::planning::topic::{Topic, TopicItem, TopicLineup};
use stet_endpoint::records::readable;
use stet_endpoint::whole::disposition;
use stet_newsroom::records::Display;
use stet_newsroom::titles::choose_title;
use stet_newsroom::titles::facts_of_titles;
use stet_sysconfig::Product;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;
use stet_web::steps::{ReplySteps, file};

use self::calendar::CalendarComponents;
use self::zone::CalendarZone;
use super::reply::{CommittedTopic, CommittedView, TopicExtent, facts, visible_attachment};

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ExportFormat {
    /// iCalendar (RFC 5545), with these components.
    Calendar(CalendarComponents),
    /// Comma-separated values (RFC 4180).
    Table,
}

impl ExportFormat {
    /// Returns the format that the path names. A calendar has the components that the query names.
    ///
    /// # Errors
    /// `InvalidParameter`, which lists the formats.
    pub(crate) fn of(call: &Call) -> Result<ExportFormat> {
        match call.param("format") {
            "ics" => components(call).map(ExportFormat::Calendar),
            "csv" => Ok(ExportFormat::Table),
            other => Err(with_nearest(Error::parameter("format", other, "`ics` or `csv`"), other, ["ics", "csv"])),
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            ExportFormat::Calendar(_) => "text/calendar; charset=utf-8",
            ExportFormat::Table => "text/csv; charset=utf-8; header=present",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            ExportFormat::Calendar(_) => "ics",
            ExportFormat::Table => "csv",
        }
    }

    /// Writes the beginning of a file; `title` is that of the container.
    fn begin(self, title: &str, zone: &CalendarZone, out: &mut Vec<u8>) -> Result<()> {
        match self {
            ExportFormat::Calendar(_) => calendar::begin(title, zone, out),
            ExportFormat::Table => table::begin(out),
        }
    }

    fn line(self, line: &ExportLine<'_>, zone: &CalendarZone, out: &mut Vec<u8>) -> Result<()> {
        match self {
            ExportFormat::Calendar(components) => calendar::line(line, zone, components, out),
            ExportFormat::Table => table::line(line, out),
        }
    }

    /// Writes the end of a file.
    fn end(self, out: &mut Vec<u8>) {
        match self {
            ExportFormat::Calendar(_) => calendar::end(out),
            ExportFormat::Table => {}
        }
    }
}

/// Returns the components that the query names.
fn components(call: &Call) -> Result<CalendarComponents> {
    let mut components = CalendarComponents { todos: false, events: false };
    for name in call.query.list("as") {
        match name.as_str() {
            "todos" => components.todos = true,
            "events" => components.events = true,
            other => return Err(Error::parameter("as", other, "`todos`, `events` or both")),
        }
    }
    if !components.events {
        components.todos = true;
    }
    Ok(components)
}

/// Returns the time zone of the newsroom: that of the default product of the site configuration,
/// else of its first product.
fn zone_of(app: &App, database: DatabaseId) -> CalendarZone {
    let content = app.sysconfig.site_content(database);
    let product = content.site.default_product().or(content.site.products.first());
    CalendarZone::of(product.map_or(TimeZone::UTC, Product::time_zone))
}

/// The data of an item or subitem in a file.
struct ExportLine<'a> {
    topic: Loid,
    topic_name: &'a str,
    topic_title: &'a str,
    item: &'a TopicItem,
    /// The item of a subitem.
    parent: Option<&'a TopicItem>,
    /// The position among the visible items and dividers of its lineup.
    position: usize,
    /// The attached object, if the caller may read it.
    attachment: Option<Loid>,
}

/// Returns the extent of an export: the data of other objects on which a file depends.
pub(crate) fn extent() -> TopicExtent {
    TopicExtent { display: Display::with_defaults(false), attachments: false, correlates: false, below: true }
}

/// `GET /v3/container/topic/{topic}/export/{format}`
pub async fn topic(call: Call) -> Result<Reply> {
    let format = ExportFormat::of(&call)?;
    let open = CommittedView(call.view(&super::topic(&call)?).await?);
    let facts = facts(&call, &open, &extent()).await?;
    let tag = open.tag();
    let first = OpenTopic::of(&call, open).await?;
    let (name, title) = (first.name.clone(), first.title.clone());
    let export = TopicExport::of(&call, format, first.topic.database, (name, title), Vec::new());
    answer(call, tag, facts, TopicExport { open: Some(Box::new(first)), ..export }).await
}

/// Builds the file about topics. Topics that the caller may not read when they are written are left
/// out. `of` and `facts` are the file's part of the ETag.
pub(crate) async fn answer(call: Call, of: RevisionTag, facts: impl Hash, export: TopicExport) -> Result<Reply> {
    let format = export.format;
    let titles = (&export.title, facts_of_titles(&call.app, export.database));
    let tag = ETag::new(of, ("export", format, facts, titles, export.zone.name()));
    if call.has(&tag) {
        return Ok(Reply::not_modified(tag));
    }
    let disposition = disposition(&format!("{}.{}", export.name, format.extension()));
    let reply = file(call, format.media_type(), export).await?.with_etag(tag);
    Ok(match disposition {
        Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
        None => reply,
    })
}

/// The streamed items of one topic after another.
pub(crate) struct TopicExport {
    format: ExportFormat,
    database: DatabaseId,
    zone: CalendarZone,
    /// The name of the container that is exported.
    name: SharedText,
    /// The title of the container.
    title: SharedText,
    begun: bool,
    /// The topics that have not begun, the next one last.
    topics: Vec<Loid>,
    /// The current topic.
    open: Option<Box<OpenTopic>>,
    over: bool,
}

impl TopicExport {
    /// Begins the export of these topics, in that order, from a container with that name and title.
    pub(crate) fn of(
        call: &Call,
        format: ExportFormat,
        database: DatabaseId,
        (name, title): (SharedText, SharedText),
        mut topics: Vec<Loid>,
    ) -> TopicExport {
        topics.reverse();
        let zone = zone_of(&call.app, database);
        TopicExport { format, database, zone, name, title, begun: false, topics, open: None, over: false }
    }
}

/// A topic whose items are being written.
pub(crate) struct OpenTopic {
    topic: Loid,
    name: SharedText,
    title: SharedText,
    /// The view when the topic began. `None` once the file is being sent, which may take minutes:
    /// then each item is written in its current state.
    view: Option<CommittedTopic>,
    /// The items, each before its subitems.
    items: Vec<Loid>,
    next: usize,
}

impl OpenTopic {
    async fn of(call: &Call, open: CommittedTopic) -> Result<OpenTopic> {
        let (state, mut timer) = (open.state(), YieldTimer::start());
        let title = choose_title(&call.app, state.object(), &state.head().title).await?;
        let mut items = Vec::with_capacity(state.lines());
        for item in state.lineup().members() {
            timer.yield_if_due().await;
            items.push(item.loid());
            items.extend(state.below(item.loid()).into_iter().flat_map(TopicLineup::members).map(|item| item.loid()));
        }
        let record = &state.object().record;
        let (topic, name) = (record.loid, record.name.clone());
        Ok(OpenTopic { topic, name, title, view: Some(open), items, next: 0 })
    }

    /// Writes the current item.
    ///
    /// # Errors
    /// `ObjectNotFound` for a topic that was removed since, or that the caller may no longer read;
    /// errors of the store.
    async fn line(
        &mut self,
        call: &Call,
        (format, zone): (ExportFormat, &CalendarZone),
        late: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let view = match &self.view {
            Some(view) if !late => view.clone(),
            _ => {
                self.view = None;
                readable(call, self.topic)?.ok_or_else(|| Error::not_found(self.topic))?;
                CommittedView(call.view_of::<Topic>(self.topic).await?)
            }
        };
        let state = view.state();
        // The item may have been removed since.
        let Some((position, item)) = self.items.get(self.next).and_then(|item| state.place_of(*item).ok()) else {
            return Ok(());
        };
        let attachment = match &item.attachment {
            Some(hanging) => visible_attachment(call, hanging)?.map(|cached| cached.loid),
            None => None,
        };
        let parent = item.under().and_then(|parent| state.place_of(parent).ok()).map(|(_, parent)| &**parent);
        let (topic, topic_name, topic_title) = (self.topic, &*self.name, &*self.title);
        format.line(&ExportLine { topic, topic_name, topic_title, item, parent, position, attachment }, zone, out)
    }
}

/// The result of a step of an export.
pub(crate) enum ExportStep {
    Begun,
    /// The next topic is open; `None` if it can't be read.
    Opened(Option<Box<OpenTopic>>),
    Item,
    /// The topic has no more items.
    Closed,
    Over,
}

impl ReplySteps for TopicExport {
    type Then = ExportStep;
    type Fault = Error;

    async fn make(&mut self, call: &Call, late: bool, out: &mut TextRope) -> Result<ExportStep> {
        let out = out.tail();
        if !self.begun {
            self.format.begin(&self.title, &self.zone, out)?;
            return Ok(ExportStep::Begun);
        }
        let gone = |error: &Error| error.code == Code::ObjectNotFound;
        if let Some(open) = &mut self.open {
            if open.next == open.items.len() {
                return Ok(ExportStep::Closed);
            }
            return match open.line(call, (self.format, &self.zone), late, out).await {
                Ok(()) => Ok(ExportStep::Item),
                Err(error) if gone(&error) => Ok(ExportStep::Closed),
                Err(error) => Err(error),
            };
        }
        let Some(topic) = self.topics.last().copied() else {
            self.format.end(out);
            return Ok(ExportStep::Over);
        };
        if readable(call, topic)?.is_none() {
            return Ok(ExportStep::Opened(None));
        }
        match call.view_of::<Topic>(topic).await {
            Ok(view) => Ok(ExportStep::Opened(Some(Box::new(OpenTopic::of(call, CommittedView(view)).await?)))),
            Err(error) if gone(&error) => Ok(ExportStep::Opened(None)),
            Err(error) => Err(error),
        }
    }

    fn go_on(&mut self, then: ExportStep) {
        match then {
            ExportStep::Begun => self.begun = true,
            ExportStep::Opened(open) => {
                self.topics.pop();
                self.open = open;
            }
            ExportStep::Item => self.open.iter_mut().for_each(|open| open.next += 1),
            ExportStep::Closed => self.open = None,
            ExportStep::Over => self.over = true,
        }
    }

    fn are_over(&self) -> bool {
        self.over
    }

    fn bytes(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |open| open.items.capacity());
        (self.topics.capacity() + open) * size_of::<Loid>()
    }
}
