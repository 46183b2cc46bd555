//! What one caller may learn of a change.
//!
//! The caller must be allowed to read the container at the moment of sending; else the stream ends.
//! Objects that may not be read are left out, and posts of a liveblog that are not approved for all
//! who do not see all posts ([`Access::sight`]): an event does not know whose post it names. A
//! change of which nothing is left is reported by its revision alone, so that the numbers stay
//! without gaps.

use stet_actors::error::Result;
use stet_actors::families::{Entry, Families};
use stet_actors::id::Loid;
use stet_actors::liveblog::Sight;
use stet_actors::object::Record;
use stet_actors::store::Event;

use super::stored::{Happening, Notice, Written, named, text};
use crate::access::Access;
use crate::limits::yielding::YieldTimer;
use crate::newsroom::Newsroom;

/// The name of an event of which the caller may know nothing but that it was.
pub const HIDDEN: &str = "hidden";

/// The kind of an event by which posts ceased to be approved, for those who see no others.
pub const REMOVED: &str = "removed";

/// A change on its way to becoming a text for one caller: each object that it names is looked at,
/// and they may be many.
pub struct Sifting<'h> {
    happening: &'h Happening,
    /// How far it is; nothing for one that has not begun.
    begun: Option<Sifted<'h>>,
}

struct Sifted<'h> {
    /// Whether the caller sees what readers of a liveblog see.
    as_a_reader: bool,
    kind: &'h str,
    ids: Vec<&'h str>,
    /// Which of the ids is looked at next.
    next: usize,
    kept: Vec<&'h str>,
    /// An item of a drawer stands before its object, and goes with it.
    items: Vec<&'h str>,
}

/// Ids that are looked at between two looks at the clock.
const AT_ONCE: usize = 16;

impl<'h> Sifting<'h> {
    /// Of a change.
    pub fn of(happening: &'h Happening) -> Sifting<'h> {
        Sifting { happening, begun: None }
    }

    /// Goes on until there is the text, or until others should have their turn (`None`). The caller
    /// may read the container with that record; they may have lost rights since it went on the last
    /// time.
    ///
    /// # Errors
    /// What the store says.
    pub fn go_on(
        &mut self,
        newsroom: &Newsroom,
        access: Access<'_>,
        container: &Record,
        way: &YieldTimer,
    ) -> Result<Option<Written>> {
        let (happening, event) = (self.happening, &self.happening.event);
        let family = Families::ALL.get(container.family);
        // Parts of the container, such as posts, are no objects whose rights could be looked at.
        let as_they_are = access.sees_all() || is_of_parts(family, event);
        let as_reader = family.is_some_and(Entry::hides_parts) && access.sight(container)? != Sight::All;
        if as_they_are {
            let for_readers = || {
                let (kind, ids) = as_a_reader(family, event);
                written(happening, kind, ids)
            };
            let text = if as_reader { happening.for_readers.get_or_init(for_readers) } else { &happening.whole };
            return Ok(Some(text.clone()));
        }
        let fresh = || {
            let (kind, ids) = match as_reader {
                true => as_a_reader(family, event),
                false => (event.kind.as_str(), event.ids.iter().map(String::as_str).collect()),
            };
            Sifted { as_a_reader: as_reader, kind, ids, next: 0, kept: Vec::new(), items: Vec::new() }
        };
        let mut sifted = self.begun.take().filter(|begun| begun.as_a_reader == as_reader).unwrap_or_else(fresh);
        while let Some(id) = sifted.ids.get(sifted.next) {
            match id.parse::<Loid>() {
                Err(_) => sifted.items.push(id),
                Ok(loid) => {
                    if loid.object() == container.loid || may_read(newsroom, access, container, loid)? {
                        sifted.kept.append(&mut sifted.items);
                        sifted.kept.push(id);
                    }
                    sifted.items.clear();
                }
            }
            sifted.next += 1;
            if sifted.next.is_multiple_of(AT_ONCE) && way.is_due() {
                self.begun = Some(sifted);
                return Ok(None);
            }
        }
        Ok(Some(written(happening, sifted.kind, sifted.kept)))
    }
}

/// Whether a change is one of the container's parts, such as posts, and names nothing else.
fn is_of_parts(family: Option<&Entry>, event: &Event) -> bool {
    family.is_some_and(|family| family.is_of_parts(&event.kind))
}

/// The text of a change with what is left of it.
fn written(happening: &Happening, kind: &str, ids: Vec<&str>) -> Written {
    let event = &happening.event;
    if kind == event.kind && ids.len() == event.ids.len() {
        return happening.whole.clone();
    }
    if ids.is_empty() {
        return named(HIDDEN, &Notice::bare(happening.container, event.revision)).into();
    }
    text(&Notice::of(happening.container, event, kind, ids)).into()
}

/// Kind and ids of a change for those who see approved posts only. A post that ceases to be
/// approved is reported as removed, whatever became of it; one that was not and is not approved is
/// left out, and so is one of which that was not noted.
pub fn as_a_reader<'e>(family: Option<&Entry>, event: &'e Event) -> (&'e str, Vec<&'e str>) {
    let (withdrawn, unseen) = match (&event.withdrawn, &event.unseen) {
        (Some(withdrawn), Some(unseen)) => (&withdrawn[..], &unseen[..]),
        _ if is_of_parts(family, event) => return (&event.kind, Vec::new()),
        _ => (&[][..], &[][..]),
    };
    let ids: Vec<&str> = event.ids.iter().filter(|id| !unseen.contains(id)).map(String::as_str).collect();
    let all_removed = !ids.is_empty() && ids.iter().all(|id| withdrawn.iter().any(|gone| gone == id));
    (if all_removed { REMOVED } else { &event.kind }, ids)
}

/// Whether an object may be read, in the recycle bin too.
fn may_read(newsroom: &Newsroom, access: Access<'_>, container: &Record, loid: Loid) -> Result<bool> {
    if let Some(cached) = newsroom.records.get(&newsroom.repository, loid.object())? {
        return access.sees(&cached);
    }
    match newsroom.repository.any_record(loid.object())? {
        Some(record) => access.sees(&record),
        // A part of the container, such as an item of a topic; any other is gone for good, and has
        // no folder to go by.
        None => Ok(newsroom.repository.container_of(loid)? == Some(container.loid)),
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;
    use stet_actors::object::FamilyKind;
    use stet_actors::store::{decode_value, encode_value};

    use super::*;

    const CONTAINER: Loid = Loid::new(DatabaseId::FIRST, 7);

    fn liveblog() -> Option<&'static Entry> {
        Families::ALL.get(FamilyKind::Liveblog)
    }

    fn happening(ids: &[&str], withdrawn: &[&str], unseen: &[&str]) -> Happening {
        let texts = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        Happening::of(
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

    /// An event as it was stored before it was noted who sees the posts that it names.
    fn from_before(kind: &str) -> Event {
        #[derive(serde::Serialize)]
        struct Before<'a> {
            #[serde(with = "stet_actors::store::loid_key")]
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
    fn of_a_post_of_which_it_was_not_noted_who_saw_it_readers_hear_nothing() {
        for kind in ["liveblog.post.add", "liveblog.post.update", "liveblog.post.status", "liveblog.post.remove"] {
            let happening = Happening::of(CONTAINER, from_before(kind));
            let (name, ids) = as_a_reader(liveblog(), &happening.event);
            assert_eq!(ids, [""; 0], "{kind}");
            let text = written(&happening, name, ids).bytes;
            assert_eq!(&text[..], b"id: 3\nevent: hidden\ndata: {\"container\":\"1$1.0.7\",\"revision\":3}\n\n");
        }
        for kind in ["object.lock", "object.content.write"] {
            assert_eq!(as_a_reader(liveblog(), &from_before(kind)), (kind, vec!["a"]), "of the liveblog itself");
        }
    }

    #[test]
    fn what_is_whole_is_shared_and_what_has_nothing_left_tells_its_revision_alone() {
        let full = happening(&["a", "b"], &[], &[]);
        let kind = full.event.kind.as_str();
        assert_eq!(written(&full, kind, vec!["a", "b"]).bytes.as_ptr(), full.whole.bytes.as_ptr());
        let hidden = written(&full, kind, Vec::new()).bytes;
        assert_eq!(&hidden[..], b"id: 3\nevent: hidden\ndata: {\"container\":\"1$1.0.7\",\"revision\":3}\n\n");
        let part = written(&full, kind, vec!["b"]).bytes;
        assert!(std::str::from_utf8(&part).unwrap().contains("\"ids\":[\"b\"]"));
        // One that never named anything has nothing to hide.
        let bare = happening(&[], &[], &[]);
        assert_eq!(written(&bare, kind, Vec::new()).bytes, bare.whole.bytes);
    }
}
