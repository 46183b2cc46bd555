//! The list of families. Everything that treats all of them alike uses it: finding containers,
//! indexes that follow from parts, the check of a data directory, events.

use std::sync::Arc;

use tokio::sync::watch;

use crate::bundle::Bundle;
use crate::document::Document;
use crate::drawer::Drawer;
use crate::family::Family;
use crate::folder::Folder;
use crate::id::Loid;
use crate::liveblog::Liveblog;
use crate::object::{FamilyKind, Record};
use crate::part::PartKind;
use crate::proof::Proof;
use crate::runtime::registry::{AnyHandle, Registry};
use crate::store::StoreError;
use crate::topic::Topic;
use crate::topic_plan::TopicPlan;
use crate::web_container::WebContainer;

/// A list of families. What a repository is started with; the same for as long as its rows are
/// there.
#[derive(Debug, Clone, Copy)]
pub struct Families(&'static [Entry]);

/// See [`Registry::start`].
type Start = fn(&Registry, Loid, Option<watch::Receiver<()>>, u64) -> Arc<dyn AnyHandle>;

/// A family in a list.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    kind: FamilyKind,
    parts: &'static [PartKind],
    hides_parts: bool,
    part_events: &'static [&'static str],
    prove: fn(&Record, &mut Proof<'_>) -> Result<(), StoreError>,
    start: Start,
}

/// A static, so that its functions are made in this crate alone; a constant would bring them into
/// each crate that names it.
static LIST: [Entry; 8] = [
    Entry::of::<Document>(),
    Entry::of::<Folder>(),
    Entry::of::<Drawer>(),
    Entry::of::<Liveblog>(),
    Entry::of::<Topic>(),
    Entry::of::<TopicPlan>(),
    Entry::of::<Bundle>(),
    Entry::of::<WebContainer>(),
];

impl Families {
    /// All families.
    pub const ALL: Families = Families::of(&LIST);

    /// A list of these.
    ///
    /// # Panics
    /// Two of them have the same kind of objects, or a kind of parts that are rows; where the list
    /// is a constant, the compiler says so.
    pub const fn of(list: &'static [Entry]) -> Families {
        let mut one = 0;
        while one < list.len() {
            let mut other = one + 1;
            while other < list.len() {
                assert!(list[one].kind as u8 != list[other].kind as u8, "two families have the same kind of objects");
                assert!(!share_parts(list[one].parts, list[other].parts), "two families have the same kind of parts");
                other += 1;
            }
            one += 1;
        }
        Families(list)
    }

    /// The family of objects of that kind; `None`: it is a name only.
    pub fn get(self, kind: FamilyKind) -> Option<&'static Entry> {
        self.0.iter().find(|entry| entry.kind == kind)
    }

    /// The kinds of their objects.
    pub fn kinds(self) -> impl Iterator<Item = FamilyKind> {
        self.0.iter().map(|entry| entry.kind)
    }

    /// All kinds of parts.
    pub fn parts(self) -> impl Iterator<Item = PartKind> {
        self.0.iter().flat_map(|entry| entry.parts).copied()
    }

    /// The kind of parts of that number.
    pub fn part(self, number: u8) -> Option<PartKind> {
        self.parts().find(|kind| kind.number() == number)
    }
}

impl Entry {
    /// The family in a list.
    pub const fn of<F: Family>() -> Entry {
        Entry {
            kind: F::KIND,
            parts: F::PARTS,
            hides_parts: F::HIDES_PARTS,
            part_events: F::PART_EVENTS,
            prove: F::prove,
            start: Registry::start::<F>,
        }
    }

    /// See [`Family::HIDES_PARTS`].
    pub fn hides_parts(&self) -> bool {
        self.hides_parts
    }

    /// Whether events of the command of that name name parts only: see [`Family::PART_EVENTS`].
    pub fn is_of_parts(&self, command: &str) -> bool {
        self.part_events.contains(&command)
    }

    /// See [`Family::prove`].
    ///
    /// # Errors
    /// What the store says.
    pub fn prove(&self, record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        (self.prove)(record, proof)
    }

    /// Starts a container of the family: see [`Registry::start`].
    pub(crate) fn start(
        &self,
        registry: &Registry,
        loid: Loid,
        predecessor: Option<watch::Receiver<()>>,
        now_ms: u64,
    ) -> Arc<dyn AnyHandle> {
        (self.start)(registry, loid, predecessor, now_ms)
    }
}

/// Whether a number stands in both for parts of which one would have to be read as the other.
const fn share_parts(some: &[PartKind], others: &[PartKind]) -> bool {
    let mut one = 0;
    while one < some.len() {
        let mut other = 0;
        while other < others.len() {
            let rows = some[one].has_rows() || others[other].has_rows();
            if some[one].number() == others[other].number() && rows {
                return true;
            }
            other += 1;
        }
        one += 1;
    }
    false
}
