//! The parts of a change that one caller may see.
//!
//! The caller must be allowed to read the container at the moment of sending; otherwise the stream
//! ends. Objects that the caller may not read are left out. So are unapproved posts of a liveblog
//! for callers who do not see all posts ([`Access::sight`]), because an event does not state whose
//! post it names. If nothing is left of a change, a stream of containers reports it by its revision
//! alone, so that the numbers have no gaps.

use std::task::Poll;

use stet_actors::families::{Families, FamilyEntry};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::liveblog::PostSight;
use stet_domain::object::Record;
use stet_domain::store::Event;

use super::stored::{ContainerEvent, EventNotice, EventText, render_named, render_notice};
use crate::Newsroom;
use crate::access::Access;

/// The name of an event of which the caller may see the revision only.
pub const HIDDEN: &str = "hidden";

/// The kind of an event by which posts ceased to be approved, for callers who see approved posts
/// only.
pub const REMOVED: &str = "removed";

/// A change while it is filtered for one caller. Each object that it names is checked, and there
/// may be many.
pub struct EventFilter<'h> {
    happening: &'h ContainerEvent,
    /// The progress; `None` before the beginning.
    progress: Option<EventFilterProgress<'h>>,
}

struct EventFilterProgress<'h> {
    /// Whether the caller sees only what readers of a liveblog see.
    as_a_reader: bool,
    kind: &'h str,
    ids: Vec<&'h str>,
    /// Index of the next id to check.
    next: usize,
    kept: Vec<&'h str>,
    /// An item of a drawer is before its object, and is kept or left out with it.
    items: Vec<&'h str>,
}

/// Number of ids that are checked between two readings of the clock.
const AT_ONCE: usize = 16;

impl<'h> EventFilter<'h> {
    /// Begins to filter a change.
    pub fn of(happening: &'h ContainerEvent) -> EventFilter<'h> {
        EventFilter { happening, progress: None }
    }

    /// Returns the container of the change.
    pub fn container(&self) -> Loid {
        self.happening.container
    }

    /// Continues until the text is complete, or until others should have their turn (`Pending`).
    /// The text is `None` if nothing is left of the change. The caller may read the container with
    /// that record, but may have lost rights since the last call.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn go_on(
        &mut self,
        newsroom: &Newsroom,
        access: Access<'_>,
        container: &Record,
        timer: &YieldTimer,
    ) -> Result<Poll<Option<EventText>>> {
        let (happening, event) = (self.happening, &self.happening.event);
        let family = Families::ALL.get(container.family);
        // Parts of the container, such as posts, are no objects with rights of their own.
        let as_they_are = access.sees_all() || is_of_parts(family, event);
        let as_reader = !sees_all_parts(access, container)?;
        if as_they_are {
            let for_readers = || {
                let (kind, ids) = as_a_reader(family, event);
                render_visible(happening, kind, ids)
            };
            return Ok(Poll::Ready(match as_reader {
                true => happening.for_readers.get_or_init(for_readers).clone(),
                false => Some(happening.whole.clone()),
            }));
        }
        let start = || {
            let (kind, ids) = match as_reader {
                true => as_a_reader(family, event),
                false => (event.kind.as_str(), event.ids.iter().map(String::as_str).collect()),
            };
            EventFilterProgress { as_a_reader: as_reader, kind, ids, next: 0, kept: Vec::new(), items: Vec::new() }
        };
        let mut progress =
            self.progress.take().filter(|progress| progress.as_a_reader == as_reader).unwrap_or_else(start);
        while let Some(id) = progress.ids.get(progress.next) {
            match id.parse::<Loid>() {
                Err(_) => progress.items.push(id),
                Ok(loid) => {
                    if loid.object() == container.loid || may_read(newsroom, access, container, loid)? {
                        progress.kept.append(&mut progress.items);
                        progress.kept.push(id);
                    }
                    progress.items.clear();
                }
            }
            progress.next += 1;
            if progress.next.is_multiple_of(AT_ONCE) && timer.is_due() {
                self.progress = Some(progress);
                return Ok(Poll::Pending);
            }
        }
        Ok(Poll::Ready(render_visible(happening, progress.kind, progress.kept)))
    }
}

/// Reports whether the caller sees all parts of a container. Readers of a liveblog see the approved
/// posts only.
///
/// # Errors
/// Errors of the store.
pub fn sees_all_parts(access: Access<'_>, container: &Record) -> Result<bool> {
    let hides = Families::ALL.get(container.family).is_some_and(FamilyEntry::hides_parts);
    Ok(!hides || access.sight(container)? == PostSight::All)
}

/// Reports whether a change concerns parts of the container only, such as posts.
fn is_of_parts(family: Option<&FamilyEntry>, event: &Event) -> bool {
    family.is_some_and(|family| family.is_of_parts(&event.kind))
}

/// Returns the text of a change with the remaining ids; `None` if none remain.
fn render_visible(happening: &ContainerEvent, kind: &str, ids: Vec<&str>) -> Option<EventText> {
    let event = &happening.event;
    if kind == event.kind && ids.len() == event.ids.len() {
        return Some(happening.whole.clone());
    }
    (!ids.is_empty()).then(|| render_notice(&EventNotice::of(happening.container, event, kind, ids)).into())
}

/// Returns the text of a change of which the caller may see the revision only.
pub fn render_hidden(happening: &ContainerEvent) -> EventText {
    render_named(HIDDEN, &EventNotice::bare(happening.container, happening.revision())).into()
}

/// Returns the kind and ids of a change for callers who see approved posts only. A post that ceases
/// to be approved is reported as removed, whatever was done to it. A post that was not and is not
/// approved is left out, and so is one whose earlier status was not recorded.
pub fn as_a_reader<'e>(family: Option<&FamilyEntry>, event: &'e Event) -> (&'e str, Vec<&'e str>) {
    let (withdrawn, unseen) = match (&event.withdrawn, &event.unseen) {
        (Some(withdrawn), Some(unseen)) => (&withdrawn[..], &unseen[..]),
        _ if is_of_parts(family, event) => return (&event.kind, Vec::new()),
        _ => (&[][..], &[][..]),
    };
    let ids: Vec<&str> = event.ids.iter().filter(|id| !unseen.contains(id)).map(String::as_str).collect();
    let all_removed = !ids.is_empty() && ids.iter().all(|id| withdrawn.iter().any(|gone| gone == id));
    (if all_removed { REMOVED } else { &event.kind }, ids)
}

/// Reports whether an object may be read, also in the recycle bin.
fn may_read(newsroom: &Newsroom, access: Access<'_>, container: &Record, loid: Loid) -> Result<bool> {
    if let Some(cached) = newsroom.records.get(&newsroom.repository, loid.object())? {
        return access.sees(&cached);
    }
    match newsroom.repository.any_record(loid.object())? {
        Some(record) => access.sees(&record),
        // A part of the container, such as an item of a topic. Any other object was destroyed, and
        // has no folder by which rights could be checked.
        None => Ok(newsroom.repository.container_of(loid)? == Some(container.loid)),
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;
    use stet_domain::object::FamilyKind;
    use stet_domain::store::{decode_value, encode_value};

    use super::*;

    const CONTAINER: Loid = Loid::new(DatabaseId::FIRST, 7);

    fn liveblog() -> Option<&'static FamilyEntry> {
        Families::ALL.get(FamilyKind::Liveblog)
    }

    fn happening(ids: &[&str], withdrawn: &[&str], unseen: &[&str]) -> ContainerEvent {
        let texts = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        ContainerEvent::of(
            CONTAINER,
            Event {
                container: Some(CONTAINER),
                revision: 3,
                kind: "liveblog.post.status".to_owned(),
                ids: texts(ids),
                user: "editor".to_owned(),
                at_ms: 5,
                session: String::new(),
                address: String::new(),
                withdrawn: Some(texts(withdrawn)),
                unseen: Some(texts(unseen)),
                status: None,
                before: None,
            },
        )
    }

    #[test]
    fn readers_hear_of_what_they_saw_or_see() {
        const KIND: &str = "liveblog.post.status";
        for (ids, withdrawn, unseen, kind, left) in [
            (vec!["a"], vec![], vec![], KIND, vec!["a"]),
            (vec!["a"], vec!["a"], vec![], REMOVED, vec!["a"]),
            (vec!["a"], vec![], vec!["a"], KIND, vec![]),
            (vec!["a", "b", "c"], vec!["b"], vec!["c"], KIND, vec!["a", "b"]),
            (vec!["a", "b"], vec!["a"], vec!["b"], REMOVED, vec!["a"]),
            (vec![], vec![], vec![], KIND, vec![]),
        ] {
            let happening = happening(&ids, &withdrawn, &unseen);
            assert_eq!(as_a_reader(liveblog(), &happening.event), (kind, left), "{ids:?} {withdrawn:?} {unseen:?}");
        }
    }

    /// Returns an event as it was stored before the readers of its posts were recorded.
    fn from_before(kind: &str) -> Event {
        #[derive(serde::Serialize)]
        struct Before<'a> {
            #[serde(with = "stet_domain::store::loid_key")]
            container: Loid,
            revision: u64,
            kind: &'a str,
            ids: [&'a str; 1],
            user: &'a str,
            at_ms: u64,
        }
        let container = CONTAINER;
        let row = encode_value(1, &Before { container, revision: 3, kind, ids: ["a"], user: "editor", at_ms: 5 });
        decode_value(1, &row).expect("it can be read")
    }

    #[test]
    fn older_post_events_without_visibility_are_hidden_from_readers() {
        for kind in ["liveblog.post.add", "liveblog.post.update", "liveblog.post.status", "liveblog.post.remove"] {
            let happening = ContainerEvent::of(CONTAINER, from_before(kind));
            let (name, ids) = as_a_reader(liveblog(), &happening.event);
            assert_eq!(ids, [""; 0], "{kind}");
            assert!(render_visible(&happening, name, ids).is_none());
            let text = render_hidden(&happening).bytes;
            assert_eq!(&text[..], b"event: hidden\ndata: {\"container\":\"1$1.0.7\",\"revision\":3}\n\n");
        }
        for kind in ["object.lock", "object.content.write"] {
            assert_eq!(as_a_reader(liveblog(), &from_before(kind)), (kind, vec!["a"]), "of the liveblog itself");
        }
    }

    #[test]
    fn fully_visible_events_share_bytes_and_hidden_ones_show_a_revision_only() {
        let full = happening(&["a", "b"], &[], &[]);
        let kind = full.event.kind.as_str();
        let visible = |happening, ids| render_visible(happening, kind, ids).map(|text| text.bytes);
        assert_eq!(visible(&full, vec!["a", "b"]).map(|bytes| bytes.as_ptr()), Some(full.whole.bytes.as_ptr()));
        assert_eq!(visible(&full, Vec::new()), None);
        let hidden = render_hidden(&full).bytes;
        assert_eq!(&hidden[..], b"event: hidden\ndata: {\"container\":\"1$1.0.7\",\"revision\":3}\n\n");
        let part = visible(&full, vec!["b"]).expect("one is left");
        assert!(std::str::from_utf8(&part).unwrap().contains("\"ids\":[\"b\"]"));
        // An event that never named anything has nothing to hide.
        let bare = happening(&[], &[], &[]);
        assert_eq!(visible(&bare, Vec::new()), Some(bare.whole.bytes.clone()));
    }
}
