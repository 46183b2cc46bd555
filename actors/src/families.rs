//! The list of families, for all code that treats them alike: finding containers, indexes of parts,
//! the check of a data directory, events.

use std::sync::Arc;

use tokio::sync::watch;

use crate::runtime::registry::{AnyHandle, Registry};
use stet_domain::bundle::Bundle;
use stet_domain::document::Document;
use stet_domain::drawer::Drawer;
use stet_domain::family::Family;
use stet_domain::folder::Folder;
use stet_domain::id::Loid;
use stet_domain::liveblog::Liveblog;
use stet_domain::object::{FamilyKind, Record};
use stet_domain::part::PartKind;
use stet_domain::planning::plan::TopicPlan;
use stet_domain::planning::topic::Topic;
use stet_domain::proof::Proof;
use stet_domain::store::StoreError;
use stet_domain::web_container::WebContainer;

/// A list of families. A repository is started with one, which must stay the same as long as its
/// rows exist.
#[derive(Debug, Clone, Copy)]
pub struct Families(&'static [FamilyEntry]);

/// The type of [`Registry::start`] for one family.
type ContainerStarter = fn(&Registry, Loid, Option<watch::Receiver<()>>, u64) -> Arc<dyn AnyHandle>;

/// A family's entry in the list.
#[derive(Debug, Clone, Copy)]
pub struct FamilyEntry {
    kind: FamilyKind,
    parts: &'static [PartKind],
    hides_parts: bool,
    part_events: &'static [&'static str],
    prove: fn(&Record, &mut Proof<'_>) -> Result<(), StoreError>,
    start: ContainerStarter,
}

/// The list is a static, so that its functions are compiled in this crate only. A constant would
/// compile them again in each crate that uses it.
static LIST: [FamilyEntry; FamilyKind::ALL.len()] = [
    FamilyEntry::of::<Document>(),
    FamilyEntry::of::<Folder>(),
    FamilyEntry::of::<Drawer>(),
    FamilyEntry::of::<Liveblog>(),
    FamilyEntry::of::<Topic>(),
    FamilyEntry::of::<TopicPlan>(),
    FamilyEntry::of::<Bundle>(),
    FamilyEntry::of::<WebContainer>(),
];

impl Families {
    /// All families.
    pub const ALL: Families = Families::of(&LIST);

    /// Creates a list of these families.
    ///
    /// # Panics
    /// If two of them have the same kind of objects, or the same kind of parts that are rows. For a
    /// constant list the compiler reports it.
    pub const fn of(list: &'static [FamilyEntry]) -> Families {
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

    /// Returns the family of objects of a kind; `None` for a kind that is only a name.
    pub fn get(self, kind: FamilyKind) -> Option<&'static FamilyEntry> {
        self.0.iter().find(|entry| entry.kind == kind)
    }

    /// Returns the kinds of objects.
    pub fn kinds(self) -> impl Iterator<Item = FamilyKind> {
        self.0.iter().map(|entry| entry.kind)
    }

    /// Returns all kinds of parts.
    pub fn parts(self) -> impl Iterator<Item = PartKind> {
        self.0.iter().flat_map(|entry| entry.parts).copied()
    }

    /// Returns the kind of parts with a number.
    pub fn part(self, number: u8) -> Option<PartKind> {
        self.parts().find(|kind| kind.number() == number)
    }
}

impl FamilyEntry {
    /// Creates the entry of a family.
    pub const fn of<F: Family>() -> FamilyEntry {
        FamilyEntry {
            kind: F::KIND,
            parts: F::PARTS,
            hides_parts: F::HIDES_PARTS,
            part_events: F::PART_EVENTS,
            prove: F::prove,
            start: Registry::start::<F>,
        }
    }

    /// Reports whether some readers see only some of the parts ([`Family::HIDES_PARTS`]).
    pub fn hides_parts(&self) -> bool {
        self.hides_parts
    }

    /// Reports whether the events of a command name parts only ([`Family::PART_EVENTS`]).
    pub fn is_of_parts(&self, command: &str) -> bool {
        self.part_events.contains(&command)
    }

    /// Checks the family's own rules for a container's rows ([`Family::prove`]).
    ///
    /// # Errors
    /// Errors of the store.
    pub fn prove(&self, record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        (self.prove)(record, proof)
    }

    /// Starts a container of the family ([`Registry::start`]).
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

/// Reports whether two families share a number for kinds of parts, and one of the kinds has rows.
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
