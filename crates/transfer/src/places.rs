//! Where in a tree of files each object lies, so that a record of it elsewhere is known for an
//! older one.
//!
//! A newsroom has millions of objects. Of each an export keeps 28 bytes, which come to 100 at most
//! with the room that the table has to grow.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use parking_lot::Mutex;
use uuid::Uuid;

/// The place of each object: of several, that of the highest `O`.
pub struct Places<O> {
    /// Places are hashed with keys of this run: two that can't be told from each other now are told
    /// by another run.
    keys: RandomState,
    places: Mutex<HashMap<Uuid, Place<O>>>,
}

struct Place<O> {
    order: O,
    path: u32,
    file: u32,
}

impl<O: Ord> Default for Places<O> {
    fn default() -> Places<O> {
        Places { keys: RandomState::new(), places: Mutex::default() }
    }
}

impl<O: Ord> Places<O> {
    /// An object has its record in that file.
    pub fn note(&self, uuid: Uuid, order: O, record: &Path, file: &Metadata) {
        let place = Place { order, path: self.hash(record), file: self.hash((file.dev(), file.ino())) };
        let mut places = self.places.lock();
        if places.get(&uuid).is_none_or(|known| known.order <= place.order) {
            places.insert(uuid, place);
        }
    }

    /// Whether an object is known to lie elsewhere than in that file. Some file systems give a file
    /// another name than it was written under, in case or in how letters are composed: so it is the
    /// file that counts as well.
    pub fn is_elsewhere(&self, uuid: Uuid, record: &Path) -> bool {
        let places = self.places.lock();
        let Some(place) = places.get(&uuid).filter(|place| place.path != self.hash(record)) else { return false };
        std::fs::metadata(record).is_ok_and(|file| place.file != self.hash((file.dev(), file.ino())))
    }

    // Half of it is hash enough: what is taken for the same stays as it is.
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
        let (places, uuid) = (Places::default(), Uuid::from_u128(7));
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
        assert_eq!(size_of::<(Uuid, Place<u32>)>(), 28);
    }
}
