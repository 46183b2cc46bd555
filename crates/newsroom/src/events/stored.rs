//! Events as the store keeps them, and their text on the wire (server-sent events, in the HTML
//! standard).

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;
use stet_base::limits::{PIECE, SharedReservation};
use stet_domain::id::Loid;
use stet_domain::store::{BatchRoom, Event, EventLog, ResumeRequest, StatusStep, StoreError};

/// Bytes of text that are read at a time. An event with more, because it names many objects, is
/// read alone.
pub const MOST_BYTES: usize = PIECE;

/// The text of an event on the wire. Clones share the bytes.
#[derive(Debug, Clone)]
pub struct EventText {
    /// The text.
    pub bytes: Bytes,
    /// The memory shared by all receivers of the same bytes.
    pub share: SharedReservation,
}

impl EventText {
    /// Returns the name of an event that [`render_named`] has rendered, and its data.
    pub fn named_data(&self) -> Option<(&str, &str)> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        text.strip_prefix("event: ")?.trim_end().split_once("\ndata: ")
    }
}

impl From<Bytes> for EventText {
    fn from(bytes: Bytes) -> EventText {
        EventText { bytes, share: SharedReservation::default() }
    }
}

/// A change of a container, with its text for callers who may see all of it.
#[derive(Debug)]
pub struct ContainerEvent {
    /// The container.
    pub container: Loid,
    /// The event as stored.
    pub event: Event,
    /// The text for callers who may see all of it, rendered once.
    pub whole: EventText,
    /// The text for readers of a liveblog, rendered once for all of them; `None` if they see
    /// nothing of it.
    pub for_readers: OnceLock<Option<EventText>>,
}

impl ContainerEvent {
    /// Renders the text of a change of a container.
    pub fn of(container: Loid, event: Event) -> ContainerEvent {
        let ids = event.ids.iter().map(String::as_str).collect();
        let whole = render_notice(&EventNotice::of(container, &event, &event.kind, ids)).into();
        // Followers get no former rows.
        let event = Event { before: None, ..event };
        ContainerEvent { container, event, whole, for_readers: OnceLock::new() }
    }

    /// Returns the container's revision after the change.
    pub fn revision(&self) -> u64 {
        self.event.revision
    }

    /// Returns the approximate bytes of memory that it takes, including the text for readers.
    pub fn bytes(&self) -> usize {
        let Event { ids, withdrawn, unseen, .. } = &self.event;
        let names = [Some(ids), withdrawn.as_ref(), unseen.as_ref()].into_iter().flatten().flatten();
        let names: usize = names.map(|name| size_of::<String>() + name.len().next_multiple_of(16) + 16).sum();
        size_of::<ContainerEvent>() + 256 + names + 2 * self.whole.bytes.len()
    }
}

/// The JSON in the `data:` line of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventNotice<'a> {
    /// Loid of the container.
    pub container: String,
    /// The container's revision after the change.
    pub revision: u64,
    /// Name of the command, as in the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'a str>,
    /// The objects, items and posts concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<&'a str>>,
    /// Name of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
    /// Time of the change, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The status before and after a change of status.
    #[serde(flatten)]
    pub status: Option<StatusStep>,
}

impl<'a> EventNotice<'a> {
    /// Returns a notice that has the container's revision and nothing else.
    pub fn bare(container: Loid, revision: u64) -> EventNotice<'a> {
        EventNotice {
            container: container.to_string(),
            revision,
            kind: None,
            ids: None,
            user: None,
            at: None,
            status: None,
        }
    }

    /// Returns the notice of a change with the given ids.
    pub fn of(container: Loid, event: &'a Event, kind: &'a str, ids: Vec<&'a str>) -> EventNotice<'a> {
        EventNotice {
            kind: Some(kind),
            ids: Some(ids),
            user: Some(&event.user),
            at: Some(event.at_ms),
            status: event.status.clone(),
            ..EventNotice::bare(container, event.revision)
        }
    }
}

/// Returns an event of that name on the wire, without the line of its id, which depends on the
/// stream.
pub fn render_named(name: &str, notice: &EventNotice<'_>) -> Bytes {
    // Numbers and texts can't fail to serialise. JSON has no line ends, which would break an event.
    let data = serde_json::to_string(notice).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Returns an event on the wire, named as its kind.
pub fn render_notice(notice: &EventNotice<'_>) -> Bytes {
    render_named(notice.kind.unwrap_or("message"), notice)
}

/// Returns the first `most` events of a container after a revision, oldest first, as they are on
/// disk, and whether there may be more. There are fewer if their texts reach [`MOST_BYTES`]; if
/// there are none, there are no more.
///
/// # Errors
/// Errors of the store, or a row that can't be decoded.
pub fn read(
    log: &dyn EventLog,
    container: Loid,
    after: u64,
    most: usize,
) -> Result<(Vec<ContainerEvent>, bool), StoreError> {
    let (events, more) = log.events_of(&ResumeRequest { container, after, room: BatchRoom::of(most, MOST_BYTES) })?;
    // The texts may be longer than the stored events.
    let mut room = BatchRoom::of(most, MOST_BYTES);
    let count = events.len();
    let happenings = events.into_iter().map(|event| ContainerEvent::of(container, event));
    let found: Vec<ContainerEvent> =
        happenings.take_while(|happening| room.takes(happening.whole.bytes.len())).collect();
    let more = more || found.len() < count;
    Ok((found, more))
}

/// Returns the revision of the first event after `after` that is kept on disk.
///
/// # Errors
/// Errors of the store.
pub fn next_kept(log: &dyn EventLog, container: Loid, after: u64) -> Result<Option<u64>, StoreError> {
    let (events, _) = log.events_of(&ResumeRequest { container, after, room: BatchRoom::of(1, MOST_BYTES) })?;
    Ok(events.first().map(|event| event.revision))
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Store};

    use super::*;

    const CONTAINER: Loid = Loid::new(DatabaseId::FIRST, 7);

    fn event(container: Loid, revision: u64) -> Event {
        Event {
            container: Some(container),
            revision,
            kind: "drawer.item.add".to_owned(),
            ids: vec!["9".to_owned(), "1$1.0.8".to_owned()],
            user: "a\nb\u{2028}".to_owned(),
            at_ms: 5,
            session: "s1".to_owned(),
            address: "::1".to_owned(),
            withdrawn: None,
            unseen: None,
            status: None,
            before: None,
        }
    }

    #[test]
    fn event_texts_have_two_lines_and_omit_session_and_address() {
        let happening = ContainerEvent::of(CONTAINER, event(CONTAINER, 3));
        let text = std::str::from_utf8(&happening.whole.bytes).expect("it is text");
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!(lines[0], "event: drawer.item.add");
        assert_eq!(lines[2..], ["", ""]);
        let data: serde_json::Value = serde_json::from_str(lines[1].strip_prefix("data: ").unwrap()).unwrap();
        let expected = serde_json::json!({ "container": "1$1.0.7", "revision": 3, "kind": "drawer.item.add",
            "ids": ["9", "1$1.0.8"], "user": "a\nb\u{2028}", "at": 5 });
        assert_eq!(data, expected);
    }

    #[test]
    fn a_notice_without_more_tells_the_revision_alone() {
        let text = render_named("hello", &EventNotice::bare(CONTAINER, 4));
        assert_eq!(&text[..], b"event: hello\ndata: {\"container\":\"1$1.0.7\",\"revision\":4}\n\n");
    }

    fn store(events: impl IntoIterator<Item = Event>) -> MemoryStore {
        let store = MemoryStore::new();
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        set.events.extend(events);
        store.submit(set).expect("it is taken");
        store
    }

    /// Returns the revisions of the events that are read, and whether there may be more.
    fn revisions(store: &MemoryStore, after: u64, most: usize) -> (Vec<u64>, bool) {
        let (found, more) = read(store, CONTAINER, after, most).expect("it can be read");
        (found.iter().map(ContainerEvent::revision).collect(), more)
    }

    #[test]
    fn events_are_read_after_a_revision_and_of_one_container_only() {
        let neighbour = Loid::new(DatabaseId::FIRST, 8);
        let events = [(CONTAINER, 2u64), (neighbour, 1), (CONTAINER, 3), (neighbour, 9), (CONTAINER, 300)];
        let store = store(events.map(|(container, revision)| event(container, revision)));
        assert_eq!(revisions(&store, 0, 10), (vec![2, 3, 300], false));
        assert_eq!(revisions(&store, 2, 10), (vec![3, 300], false));
        assert_eq!(revisions(&store, 1, 2), (vec![2, 3], true));
        assert_eq!(revisions(&store, 300, 10), (vec![], false));
        assert_eq!(revisions(&store, u64::MAX, 10), (vec![], false));
    }

    #[test]
    fn stored_event_pages_are_bounded_by_bytes_and_a_heavy_event_is_alone() {
        let of_weight = |revision, bytes: usize| Event { user: "u".repeat(bytes), ..event(CONTAINER, revision) };
        let weights = [MOST_BYTES / 3, MOST_BYTES / 3, MOST_BYTES / 2, 2 * MOST_BYTES, 1, 1];
        let store = store((1..).zip(weights).map(|(revision, bytes)| of_weight(revision, bytes)));
        assert_eq!(revisions(&store, 0, 10), (vec![1, 2], true));
        assert_eq!(revisions(&store, 2, 10), (vec![3], true));
        assert_eq!(revisions(&store, 3, 10), (vec![4], true));
        assert_eq!(revisions(&store, 4, 10), (vec![5, 6], false));
    }

    #[test]
    fn the_next_kept_event_is_the_first_after_a_revision() {
        let store = store([2, 3, 5].map(|revision| event(CONTAINER, revision)));
        let next = |after| next_kept(&store, CONTAINER, after).expect("it can be read");
        let found: Vec<Option<u64>> = (0..7).map(next).collect();
        assert_eq!(found, [Some(2), Some(2), Some(3), Some(5), Some(5), None, None]);
    }
}
