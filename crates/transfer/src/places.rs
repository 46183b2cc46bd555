//! The place of each object's record in a tree of files, by which an older record at another place
//! is recognised.
//!
//! A newsroom has millions of objects. An export keeps 28 bytes for each, and at most 100 with the
//! table's spare room.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use parking_lot::Mutex;
use uuid::Uuid;

/// The place of each object's record; of several, the one with the highest `O` counts.
pub struct PlaceIndex<O> {
    /// The keys for the hashes of places. They are random, so that a collision in this run does not
    /// occur in the next.
    keys: RandomState,
    places: Mutex<HashMap<Uuid, RecordPlace<O>>>,
}

struct RecordPlace<O> {
    order: O,
    path: u32,
    file: u32,
}

impl<O: Ord> Default for PlaceIndex<O> {
    fn default() -> PlaceIndex<O> {
        PlaceIndex { keys: RandomState::new(), places: Mutex::default() }
    }
}

impl<O: Ord> PlaceIndex<O> {
    /// Notes that an object has its record in that file.
    pub fn note(&self, uuid: Uuid, order: O, record: &Path, file: &Metadata) {
        let place = RecordPlace { order, path: self.hash(record), file: self.hash((file.dev(), file.ino())) };
        let mut places = self.places.lock();
        if places.get(&uuid).is_none_or(|known| known.order <= place.order) {
            places.insert(uuid, place);
        }
    }

    /// Reports whether an object is known to have its record elsewhere than in that file. Some file
    /// systems return a name in another case or Unicode form than it was written in, so the file's
    /// identity counts as well.
    pub fn is_elsewhere(&self, uuid: Uuid, record: &Path) -> bool {
        let places = self.places.lock();
        let Some(place) = places.get(&uuid).filter(|place| place.path != self.hash(record)) else { return false };
        std::fs::metadata(record).is_ok_and(|file| place.file != self.hash((file.dev(), file.ino())))
    }

    // Half of the hash is enough: after a collision, a file merely stays.
    #[allow(clippy::cast_possible_truncation)]
    fn hash(&self, what: impl std::hash::Hash) -> u32 {
        self.keys.hash_one(what) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_elsewhere_than_where_it_was_last() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let at = |name: &str| directory.path().join(name);
        for name in ["old", "new"] {
            std::fs::write(at(name), "{}").expect("it can be written");
        }
        std::fs::hard_link(at("new"), at("NEW")).expect("it can be made");
        let (places, uuid) = (PlaceIndex::default(), Uuid::from_u128(7));
        assert!(!places.is_elsewhere(uuid, &at("old")), "nothing is known of it");
        for (name, order) in [("old", 1), ("new", 2), ("old", 1)] {
            places.note(uuid, order, &at(name), &std::fs::metadata(at(name)).expect("it is there"));
        }
        let elsewhere = |name: &str| places.is_elsewhere(uuid, &at(name));
        assert!(elsewhere("old") && !elsewhere("new"));
        assert!(!elsewhere("NEW"), "it is the same file, under the name that the file system gives it");
        assert!(!places.is_elsewhere(Uuid::from_u128(8), &at("old")));
    }

    #[test]
    fn an_export_of_millions_of_objects_has_room_for_their_places() {
        assert_eq!(size_of::<(Uuid, RecordPlace<u32>)>(), 28);
    }
}
