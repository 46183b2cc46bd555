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
use stet_actors::error::{Code, Error, Result};
use stet_actors::expect::Tag;
use stet_actors::family::State;
use stet_actors::id::{DatabaseId, Loid};
use stet_actors::object::Text;
use stet_actors::topic::{Lineup, Topic, TopicItem};

use self::calendar::Components;
use self::zone::Zone;
use super::reply::{Extent, Open, attached, facts};
use crate::api::records::readable;
use crate::api::whole::disposition;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::Reply;
use crate::http::steps::{Steps, file};
use crate::limits::yielding::YieldTimer;
use crate::nearest::with_nearest;
use crate::records::Display;
use crate::sysconfig::Product;

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::api) enum Format {
    /// iCalendar (RFC 5545), with these components.
    Calendar(Components),
    /// Comma-separated values (RFC 4180).
    Table,
}

impl Format {
    /// Returns the format that the path names. A calendar has the components that the query names.
    ///
    /// # Errors
    /// `InvalidParameter`, which lists the formats.
    pub(in crate::api) fn of(call: &Call) -> Result<Format> {
        match call.param("format") {
            "ics" => components(call).map(Format::Calendar),
            "csv" => Ok(Format::Table),
            other => Err(with_nearest(Error::parameter("format", other, "`ics` or `csv`"), other, ["ics", "csv"])),
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            Format::Calendar(_) => "text/calendar; charset=utf-8",
            Format::Table => "text/csv; charset=utf-8; header=present",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Format::Calendar(_) => "ics",
            Format::Table => "csv",
        }
    }

    /// Writes the beginning of a file; `title` is that of the container.
    fn begin(self, title: &str, zone: &Zone, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Format::Calendar(_) => calendar::begin(title, zone, out),
            Format::Table => table::begin(out),
        }
    }

    fn line(self, line: &Line<'_>, zone: &Zone, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Format::Calendar(components) => calendar::line(line, zone, components, out),
            Format::Table => table::line(line, out),
        }
    }

    /// Writes the end of a file.
    fn end(self, out: &mut Vec<u8>) {
        match self {
            Format::Calendar(_) => calendar::end(out),
            Format::Table => {}
        }
    }
}

/// Returns the components that the query names.
fn components(call: &Call) -> Result<Components> {
    let mut components = Components { todos: false, events: false };
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
fn zone_of(app: &App, database: DatabaseId) -> Zone {
    let content = app.sysconfig.site_content(database);
    let product = content.site.default_product().or(content.site.products.first());
    Zone::of(product.map_or(TimeZone::UTC, Product::time_zone))
}

/// The data of an item or subitem in a file.
struct Line<'a> {
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
pub(in crate::api) fn extent() -> Extent {
    Extent { display: Display::with_defaults(false), attachments: false, correlates: false, below: true }
}

/// `GET /v3/container/topic/{topic}/export/{format}`
pub async fn topic(call: Call) -> Result<Reply> {
    let format = Format::of(&call)?;
    let open = Open(call.view(&super::topic(&call)?).await?);
    let facts = facts(&call, &open, &extent()).await?;
    let tag = open.tag();
    let first = OpenTopic::of(&call, open).await?;
    let (name, title) = (first.name.clone(), first.title.clone());
    let export = Export::of(&call, format, first.topic.database, (name, title), Vec::new());
    answer(call, tag, facts, Export { open: Some(Box::new(first)), ..export }).await
}

/// Builds the file about topics. Topics that the caller may not read when they are written are left
/// out. `of` and `facts` are the file's part of the ETag.
pub(in crate::api) async fn answer(call: Call, of: Tag, facts: impl Hash, export: Export) -> Result<Reply> {
    let format = export.format;
    let titles = (&export.title, call.app.facts_of_titles(export.database));
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
pub(in crate::api) struct Export {
    format: Format,
    database: DatabaseId,
    zone: Zone,
    /// The name of the container that is exported.
    name: Text,
    /// The title of the container.
    title: Text,
    begun: bool,
    /// The topics that have not begun, the next one last.
    topics: Vec<Loid>,
    /// The current topic.
    open: Option<Box<OpenTopic>>,
    over: bool,
}

impl Export {
    /// Begins the export of these topics, in that order, from a container with that name and title.
    pub(in crate::api) fn of(
        call: &Call,
        format: Format,
        database: DatabaseId,
        (name, title): (Text, Text),
        mut topics: Vec<Loid>,
    ) -> Export {
        topics.reverse();
        let zone = zone_of(&call.app, database);
        Export { format, database, zone, name, title, begun: false, topics, open: None, over: false }
    }
}

/// A topic whose items are being written.
pub(in crate::api) struct OpenTopic {
    topic: Loid,
    name: Text,
    title: Text,
    /// The view when the topic began. `None` once the file is being sent, which may take minutes:
    /// then each item is written in its current state.
    view: Option<Open>,
    /// The items, each before its subitems.
    items: Vec<Loid>,
    next: usize,
}

impl OpenTopic {
    async fn of(call: &Call, open: Open) -> Result<OpenTopic> {
        let (state, mut way) = (open.state(), YieldTimer::new());
        let title = call.app.shown_title(state.object(), &state.head().title).await?;
        let mut items = Vec::with_capacity(state.lines());
        for item in state.lineup().members() {
            way.yield_if_due().await;
            items.push(item.loid());
            items.extend(state.below(item.loid()).into_iter().flat_map(Lineup::members).map(|item| item.loid()));
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
        (format, zone): (Format, &Zone),
        late: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let view = match &self.view {
            Some(view) if !late => view.clone(),
            _ => {
                self.view = None;
                readable(call, self.topic)?.ok_or_else(|| Error::not_found(self.topic))?;
                Open(call.view_of::<Topic>(self.topic).await?)
            }
        };
        let state = view.state();
        // The item may have been removed since.
        let Some((position, item)) = self.items.get(self.next).and_then(|item| state.place_of(*item).ok()) else {
            return Ok(());
        };
        let attachment = match &item.attachment {
            Some(hanging) => attached(call, hanging)?.map(|cached| cached.loid),
            None => None,
        };
        let parent = item.under().and_then(|parent| state.place_of(parent).ok()).map(|(_, parent)| &**parent);
        let (topic, topic_name, topic_title) = (self.topic, &*self.name, &*self.title);
        format.line(&Line { topic, topic_name, topic_title, item, parent, position, attachment }, zone, out)
    }
}

/// The result of a step of an export.
pub(in crate::api) enum Then {
    Begun,
    /// The next topic is open; `None` if it can't be read.
    Opened(Option<Box<OpenTopic>>),
    Item,
    /// The topic has no more items.
    Closed,
    Over,
}

impl Steps for Export {
    type Then = Then;
    type Fault = Error;

    async fn make(&mut self, call: &Call, late: bool, out: &mut Vec<u8>) -> Result<Then> {
        if !self.begun {
            self.format.begin(&self.title, &self.zone, out)?;
            return Ok(Then::Begun);
        }
        let gone = |error: &Error| error.code == Code::ObjectNotFound;
        if let Some(open) = &mut self.open {
            if open.next == open.items.len() {
                return Ok(Then::Closed);
            }
            return match open.line(call, (self.format, &self.zone), late, out).await {
                Ok(()) => Ok(Then::Item),
                Err(error) if gone(&error) => Ok(Then::Closed),
                Err(error) => Err(error),
            };
        }
        let Some(topic) = self.topics.last().copied() else {
            self.format.end(out);
            return Ok(Then::Over);
        };
        if readable(call, topic)?.is_none() {
            return Ok(Then::Opened(None));
        }
        match call.view_of::<Topic>(topic).await {
            Ok(view) => Ok(Then::Opened(Some(Box::new(OpenTopic::of(call, Open(view)).await?)))),
            Err(error) if gone(&error) => Ok(Then::Opened(None)),
            Err(error) => Err(error),
        }
    }

    fn go_on(&mut self, then: Then) {
        match then {
            Then::Begun => self.begun = true,
            Then::Opened(open) => {
                self.topics.pop();
                self.open = open;
            }
            Then::Item => self.open.iter_mut().for_each(|open| open.next += 1),
            Then::Closed => self.open = None,
            Then::Over => self.over = true,
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
