//! The audit trail: which user did what to which object, when, from which session and address. It
//! consists of the events that each change stores in its own change set. So it has every change and
//! nothing else, and is kept as long as the events are (`store.events_keep_days`).
//!
//! Events are in the order of their commits. A search by time reads only the stretches of the log
//! that have events of that time. There is no index of users and objects: such a search reads
//! events one after the other. A page ends after little more than [`MOST_READ`] events, or once its
//! entries have [`MOST_BYTES`], since one entry may name thousands of objects. A page states where
//! the next one starts.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Name;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::store::{Event, EventId, EventLog, EventPeriod, LogDirection, StoreError};

/// Maximum number of events that one page reads: some tens of milliseconds.
const MOST_READ: usize = 20_000;

/// Number of names in events after which a page reads no further events. Each name is converted to
/// a text, and compared in a search by object.
const MOST_NAMES: usize = 500_000;

/// Approximate number of bytes of entries on the wire after which a page ends. The last entry may
/// exceed it.
const MOST_BYTES: usize = 1 << 20;

/// Maximum number of stretches of the log that one page skips because of their times.
const MOST_PASSED: usize = 10;

/// One change of one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Position in the trail, for `after`.
    pub id: String,
    /// Time of the change, epoch milliseconds.
    pub at: u64,
    /// Name of the user.
    pub user: String,
    /// Reference of the session; the token can't be derived from it.
    pub session: String,
    /// Network address of the caller.
    pub address: String,
    /// The action, e.g. `drawer.item.add`.
    pub action: String,
    /// The container or object that changed; null for users, groups, keys and the configuration.
    #[schemars(with = "Option<Loid>")]
    pub container: Option<String>,
    /// The container's revision after the change; null without one.
    pub revision: Option<u64>,
    /// The objects and items concerned. For other changes, names: of users and a group, of a key,
    /// or of a cache and its database.
    pub objects: Vec<String>,
    /// The previous status in a change of status; null for an object that had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Option<String>>,
    /// The new status in a change of status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Option<String>>,
}

impl AuditEntry {
    fn of(key: EventKey, event: Event) -> AuditEntry {
        let (from, to) = event.status.map(|status| (status.from, status.to)).unzip();
        AuditEntry {
            id: key.to_string(),
            at: event.at_ms,
            user: event.user,
            session: event.session,
            address: event.address,
            action: event.kind,
            revision: event.container.map(|_| event.revision),
            container: event.container.map(|container| container.to_string()),
            objects: event.ids,
            from,
            to,
        }
    }

    /// Returns the approximate size of the entry's JSON in bytes.
    fn bytes(&self) -> usize {
        // The size common to all entries: names of the fields, and numbers.
        const BESIDE: usize = 200;
        let AuditEntry { user, session, address, action, objects, from, to, .. } = self;
        // Plus quotation marks and a comma.
        let objects: usize = objects.iter().map(|object| object.len() + 3).sum();
        let statuses: usize =
            [from, to].into_iter().flatten().map(|status| 10 + status.as_deref().map_or(4, str::len)).sum();
        BESIDE + user.len() + session.len() + address.len() + action.len() + objects + statuses
    }
}

impl AuditEntry {
    /// The headings of the columns that [`AuditEntry::write_line`] writes.
    pub const HEADINGS: &'static str = "TIME USER ACTION CONTAINER REVISION OBJECTS SESSION ADDRESS STATUS";

    /// Writes a line for people: time, user, action, the container and its revision, the objects
    /// concerned, session, address, and the statuses before and after. Unknown values are dashes.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.escape_debug().to_string() };
        let (user, session, address) = (or_dash(&self.user), or_dash(&self.session), or_dash(&self.address));
        let objects = or_dash(&self.objects.join(","));
        let AuditEntry { action, .. } = self;
        let container = self.container.as_deref().unwrap_or("-");
        let revision = self.revision.map_or_else(|| "-".to_owned(), |revision| revision.to_string());
        let name = |status: &Option<Option<String>>| or_dash(status.iter().flatten().next().map_or("", String::as_str));
        let status =
            if self.to.is_some() { format!("{}>{}", name(&self.from), name(&self.to)) } else { "-".to_owned() };
        writeln!(out, "{} {user} {action} {container} {revision} {objects} {session} {address} {status}", self.time())
    }

    /// Writes a line for programs: the entry as in the API, with its `time` in RFC 3339.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct AuditJsonLine<'a> {
            #[serde(flatten)]
            entry: &'a AuditEntry,
            time: String,
        }
        serde_json::to_writer(&mut *out, &AuditJsonLine { entry: self, time: self.time() })?;
        writeln!(out)
    }

    /// Returns the time in RFC 3339, in UTC, with milliseconds.
    fn time(&self) -> String {
        // Later times can't be formatted.
        const END_OF_9999_MS: u64 = 253_402_300_799_999;
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(self.at.min(END_OF_9999_MS));
        humantime::format_rfc3339_millis(at).to_string()
    }
}

/// A page of the trail, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The entries found.
    pub items: Vec<AuditEntry>,
    /// Position of the next page, for `after`; null at the end. A page may have fewer items than
    /// requested although more follow.
    pub next: Option<String>,
}

impl AuditPage {
    /// Returns the approximate size of the page's JSON in bytes.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(AuditEntry::bytes).sum()
    }
}

/// The position of an event in the trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKey(EventId);

impl EventKey {
    /// Parses an [`AuditEntry::id`].
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub fn parse(parameter: &str, text: &str) -> Result<EventKey> {
        let id = EventId::parse(text).map(EventKey);
        id.ok_or_else(|| Error::parameter(parameter, text, "the `next` of another page"))
    }
}

impl std::fmt::Display for EventKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The conditions of a search; an event must meet all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The object, as the container that changed or among those concerned.
    pub object: Option<Loid>,
    /// Name of the user.
    pub user: Option<Name>,
    /// The period of the search.
    pub times: EventPeriod,
}

impl AuditFilter {
    fn fits(&self, event: &Event) -> bool {
        // Old events may name users in a form from before names were normalised.
        self.user.as_ref().is_none_or(|user| **user == *event.user || *user == Name::of(&event.user))
            && self.object.is_none_or(|object| {
                event.container == Some(object) || event.ids.iter().any(|id| id.parse() == Ok(object))
            })
    }
}

/// A search of the trail from its oldest entry on. A command sends it to a running server page by
/// page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrailRequest {
    /// Loid of the object.
    object: Option<String>,
    /// Name of the user.
    user: Option<String>,
    /// Epoch milliseconds.
    from_ms: Option<u64>,
    /// Epoch milliseconds.
    to_ms: Option<u64>,
    /// `next` of the previous page.
    behind: Option<String>,
}

impl TrailRequest {
    /// Creates the request for the page after `behind`, the `next` of the previous page; without
    /// it, for the first page.
    pub fn of(filter: &AuditFilter, behind: Option<String>) -> TrailRequest {
        TrailRequest {
            object: filter.object.map(|object| object.to_string()),
            user: filter.user.as_ref().map(|user| user.to_string()),
            from_ms: filter.times.from_ms,
            to_ms: filter.times.to_ms,
            behind,
        }
    }

    /// Returns the requested page, oldest entry first. A page may be empty and still have a `next`.
    ///
    /// # Errors
    /// `InvalidParameter`; `RepositoryError` when the store can't be read.
    pub fn answer(&self, log: &dyn EventLog) -> Result<AuditPage> {
        let object = self
            .object
            .as_deref()
            .map(|object| object.parse::<Loid>().map_err(|_| Error::parameter("object", object, "a loid")));
        let filter = AuditFilter {
            object: object.transpose()?,
            user: self.user.as_deref().map(Name::of),
            times: EventPeriod { from_ms: self.from_ms, to_ms: self.to_ms },
        };
        let behind = self.behind.as_deref().map(|behind| EventKey::parse("behind", behind)).transpose()?;
        stretch(log, &filter, behind, MOST_ENTRIES, LogDirection::Forth).map_err(|error| {
            tracing::error!(%error, "the audit trail can't be read");
            Error::internal()
        })
    }
}

/// Number of entries of one page that a command requests.
const MOST_ENTRIES: usize = 1000;

/// Returns the newest `limit` matching events before `after`. The page is shorter if it reaches
/// [`MOST_BYTES`], or the limit of what one page may read.
///
/// # Errors
/// Errors of the store.
pub fn page(
    log: &dyn EventLog,
    filter: &AuditFilter,
    after: Option<EventKey>,
    limit: usize,
) -> Result<AuditPage, StoreError> {
    stretch(log, filter, after, limit, LogDirection::Back)
}

/// Returns the next matching events from a position on in one direction, within the limits of a
/// page.
fn stretch(
    log: &dyn EventLog,
    filter: &AuditFilter,
    from: Option<EventKey>,
    limit: usize,
    way: fn(Option<EventId>) -> LogDirection,
) -> Result<AuditPage, StoreError> {
    let (mut items, mut bytes) = (Vec::new(), 0);
    let (mut read, mut names, mut passed) = (0, 0, 0);
    let mut at = from.map(|EventKey(id)| id);
    loop {
        let passage = log.events(way(at), &filter.times)?;
        read += passage.read;
        passed += usize::from(passage.read == 0);
        for (id, event) in passage.events {
            names += event.ids.len();
            if filter.fits(&event) {
                let entry = AuditEntry::of(EventKey(id), event);
                bytes += entry.bytes();
                items.push(entry);
                if items.len() >= limit || bytes >= MOST_BYTES {
                    return Ok(AuditPage { items, next: Some(id.to_string()) });
                }
            }
        }
        at = passage.next;
        if at.is_none() || read >= MOST_READ || names >= MOST_NAMES || passed >= MOST_PASSED {
            return Ok(AuditPage { items, next: at.map(|id| id.to_string()) });
        }
    }
}

/// Reads pages with `read` until one has entries, the trail ends, or `deadline` has passed.
///
/// # Errors
/// Errors of `read`.
pub async fn first_found(
    after: Option<EventKey>,
    deadline: Instant,
    mut read: impl AsyncFnMut(Option<EventKey>) -> Result<AuditPage>,
) -> Result<AuditPage> {
    let mut after = after;
    loop {
        let page = read(after).await?;
        match &page.next {
            Some(next) if page.items.is_empty() && Instant::now() < deadline => {
                after = Some(EventKey::parse("after", next)?);
            }
            _ => return Ok(page),
        }
    }
}

/// Passes each matching event to `each`, oldest first, until `each` breaks.
///
/// # Errors
/// Errors of the store.
pub fn walk(
    log: &dyn EventLog,
    filter: &AuditFilter,
    mut each: impl FnMut(AuditEntry) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut behind = None;
    loop {
        let passage = log.events(LogDirection::Forth(behind), &filter.times)?;
        for (id, event) in passage.events {
            if filter.fits(&event) && each(AuditEntry::of(EventKey(id), event)).is_break() {
                return Ok(());
            }
        }
        behind = passage.next;
        if behind.is_none() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use stet_domain::id::DatabaseId;
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Store, decode_value, encode_value};

    use super::*;

    const HOUR: u64 = 60 * 60 * 1000;

    fn loid(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    /// Creates a store with one event per tuple: container, object concerned, user, time.
    fn store(events: impl IntoIterator<Item = (u64, u64, &'static str, u64)>) -> MemoryStore {
        let store = MemoryStore::new();
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        for (container, object, user, at_ms) in events {
            set.events.push(event(container, vec![loid(object).to_string(), "77".to_owned()], user, at_ms));
        }
        store.submit(set).expect("it is taken");
        store
    }

    fn times(page: &AuditPage) -> Vec<u64> {
        page.items.iter().map(|entry| entry.at).collect()
    }

    #[test]
    fn the_newest_comes_first_and_pages_go_on_where_the_last_one_ended() {
        let store = store((0..5).map(|at| (1, 2, "editor", at)));
        let first = page(&store, &AuditFilter::default(), None, 3).unwrap();
        assert_eq!(times(&first), [4, 3, 2]);
        let next = first.next.expect("there is more");
        assert_eq!(first.items[2].id, next);
        let rest = page(&store, &AuditFilter::default(), Some(EventKey::parse("after", &next).unwrap()), 3).unwrap();
        assert_eq!((times(&rest), rest.next), (vec![1, 0], None));
    }

    #[test]
    fn audit_entries_must_match_all_given_filters() {
        let store = store([(1, 2, "ada", 10), (1, 3, "ben", 20), (4, 2, "ada", 30), (2, 5, "ben", 40)]);
        let found = |filter: AuditFilter| times(&page(&store, &filter, None, 100).unwrap());
        assert_eq!(found(AuditFilter { object: Some(loid(2)), ..AuditFilter::default() }), [40, 30, 10]);
        assert_eq!(found(AuditFilter { user: Some("ada".into()), ..AuditFilter::default() }), [30, 10]);
        assert_eq!(
            found(AuditFilter { times: EventPeriod { from_ms: Some(20), to_ms: Some(40) }, ..AuditFilter::default() }),
            [30, 20]
        );
        let both = AuditFilter { object: Some(loid(2)), user: Some("ben".into()), ..AuditFilter::default() };
        assert_eq!(found(both), [40]);
        assert_eq!(found(AuditFilter { object: Some(loid(77)), ..AuditFilter::default() }), Vec::<u64>::new());
    }

    #[test]
    fn a_page_reads_a_bounded_number_and_says_where_to_go_on() {
        let store = store((0..MOST_READ as u64 + 10).map(|at| (1, 2, if at == 3 { "ada" } else { "ben" }, at)));
        let filter = AuditFilter { user: Some("ada".into()), ..AuditFilter::default() };
        let first = page(&store, &filter, None, 1).unwrap();
        assert_eq!(times(&first), Vec::<u64>::new());
        let next = EventKey::parse("after", &first.next.expect("there is more")).unwrap();
        assert_eq!(times(&page(&store, &filter, Some(next), 1).unwrap()), [3]);
    }

    /// Regression test: a client that stopped at the first empty page missed the entry.
    #[actix::test]
    async fn audit_searches_continue_past_empty_pages_until_a_match_or_the_deadline() {
        let store = store((0..3 * MOST_READ as u64).map(|at| (1, 2, if at == 3 { "ada" } else { "ben" }, at)));
        let filter = AuditFilter { user: Some("ada".into()), ..AuditFilter::default() };
        let mut reads = 0;
        let mut found = async |deadline: Instant| {
            let read = async |after| {
                reads += 1;
                Ok(page(&store, &filter, after, 1).unwrap())
            };
            first_found(None, deadline, read).await.unwrap()
        };
        assert_eq!(times(&found(Instant::now() + Duration::from_secs(600)).await), [3]);
        let late = found(Instant::now()).await;
        assert!(late.items.is_empty() && late.next.is_some());
        assert_eq!(reads, 4);
    }

    #[test]
    fn a_command_reads_the_trail_page_by_page_oldest_first() {
        let store = store((0..MOST_ENTRIES as u64 + 5).map(|at| (1, at % 7, "ada", at)));
        let filter = AuditFilter {
            object: Some(loid(1)),
            user: Some("ada".into()),
            times: EventPeriod { from_ms: Some(2), to_ms: None },
        };
        let (mut found, mut behind) = (Vec::new(), None);
        loop {
            let request = serde_json::to_string(&TrailRequest::of(&filter, behind)).expect("it can be written");
            let request: TrailRequest = serde_json::from_str(&request).expect("it can be read");
            let page = request.answer(&store).expect("it is understood");
            found.extend(times(&page));
            behind = page.next;
            if behind.is_none() {
                break;
            }
        }
        assert_eq!(found, (2..MOST_ENTRIES as u64 + 5).collect::<Vec<_>>());
    }

    fn event(container: u64, ids: Vec<String>, user: &str, at_ms: u64) -> Event {
        Event {
            container: Some(loid(container)),
            revision: 1,
            kind: "object.create".to_owned(),
            ids,
            user: user.to_owned(),
            at_ms,
            session: "s".to_owned(),
            address: "::1".to_owned(),
            withdrawn: None,
            unseen: None,
            status: None,
            before: None,
        }
    }

    /// Creates a store with a number of events, each of which names a number of objects.
    fn naming(events: u64, objects: usize) -> MemoryStore {
        let store = MemoryStore::new();
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        let ids = || vec![loid(123_456).to_string(); objects];
        set.events.extend((0..events).map(|at_ms| event(1, ids(), "editor", at_ms)));
        store.submit(set).expect("it is taken");
        store
    }

    #[test]
    fn a_page_ends_once_its_entries_are_large_and_all_pages_are_the_trail() {
        for (events, objects, a_page) in [(12, 20_000, 4), (3, 200_000, 1)] {
            let store = naming(events, objects);
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = page(&store, &AuditFilter::default(), after, 1000).unwrap();
                assert!(page.items.len() <= a_page, "{} entries of {objects} objects", page.items.len());
                let json = serde_json::to_vec(&page).unwrap().len();
                assert!(json.abs_diff(page.bytes()) <= json / 100 + 100, "{json} bytes, not {}", page.bytes());
                found.extend(times(&page));
                let Some(next) = page.next else { break };
                after = Some(EventKey::parse("after", &next).unwrap());
            }
            assert_eq!(found, (0..events).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_search_ends_its_page_after_so_many_names_and_says_where_to_go_on() {
        let store = naming(60, 20_000);
        let filter = AuditFilter { object: Some(loid(2)), ..AuditFilter::default() };
        let (mut pages, mut after) = (0, None);
        loop {
            let page = page(&store, &filter, after, 1000).unwrap();
            assert_eq!(times(&page), Vec::<u64>::new());
            pages += 1;
            let Some(next) = page.next else { break };
            after = Some(EventKey::parse("after", &next).unwrap());
        }
        assert_eq!(pages, 3);
    }

    #[test]
    fn times_out_of_order_hide_nothing() {
        let store = store([
            (1, 2, "ada", 10 * HOUR),
            (1, 2, "ada", 4 * HOUR),
            (1, 2, "ada", 9 * HOUR),
            (1, 2, "ada", 10 * HOUR),
        ]);
        let times = EventPeriod { from_ms: Some(10 * HOUR), to_ms: None };
        let mut found = Vec::new();
        let filter = AuditFilter { times, ..AuditFilter::default() };
        let mut after = None;
        loop {
            let page = page(&store, &filter, after, 9).unwrap();
            found.extend(page.items.into_iter().map(|entry| entry.at));
            let Some(next) = page.next else { break };
            after = Some(EventKey::parse("after", &next).unwrap());
        }
        assert_eq!(found, [10 * HOUR, 10 * HOUR]);
    }

    #[test]
    fn a_line_shows_utc_and_can_not_be_broken_by_what_it_shows() {
        let store = store([(1, 2, "a\nb", 1_700_000_000_123), (1, 2, "ada", u64::MAX)]);
        let page = page(&store, &AuditFilter::default(), None, 9).unwrap();
        let mut out = Vec::new();
        page.items[1].write_line(&mut out).unwrap();
        let line = "2023-11-14T22:13:20.123Z a\\nb object.create 1$1.0.1 1 1$1.0.2,77 s ::1 -\n";
        assert_eq!(String::from_utf8(out).unwrap(), line);
        let mut out = Vec::new();
        page.items[0].write_json(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&json["time"], &json["user"]), (&"9999-12-31T23:59:59.999Z".into(), &"ada".into()));
    }

    #[test]
    fn an_event_from_before_sessions_and_addresses_were_noted_can_be_read() {
        let (container, ids) = (Bytes::copy_from_slice(&loid(1).to_key()), vec!["7".to_owned()]);
        let old = encode_value(1, &(container, 3u64, "drawer.clear", ids, "ada", 9u64));
        let event: Event = decode_value(1, &old).unwrap();
        assert_eq!((event.user.as_str(), event.session.as_str(), event.address.as_str()), ("ada", "", ""));
    }

    #[test]
    fn only_event_keys_are_accepted() {
        for text in ["", "1", "-", "1-", "-1", "1-2-3", "+1-2", "1-5000000000", "x-1"] {
            assert!(EventKey::parse("after", text).is_err(), "{text}");
        }
    }
}
