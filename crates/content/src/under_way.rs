//! The limit on uploads that are being written to the disk. Each has a file open and takes room
//! there until it is done, however long its client takes. So their number is limited, and no single
//! user has most of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use stet_base::limits::Holder;
use stet_domain::error::{Code, Error, Result};

/// Divisor for the places that one user may have: a quarter, and at least one.
const HOLDER_DIVISOR: usize = 4;

/// The limit on uploads that are being written to the disk.
#[derive(Debug)]
pub(super) struct UploadLimit {
    most: usize,
    places: Mutex<UploadCounts>,
}

#[derive(Debug, Default)]
struct UploadCounts {
    count: usize,
    /// Number of places of each holder.
    by: HashMap<Holder, usize>,
}

impl UploadLimit {
    /// Creates a limit of `most` uploads at a time.
    pub(super) fn new(most: usize) -> Arc<UploadLimit> {
        Arc::new(UploadLimit { most, places: Mutex::default() })
    }

    /// Takes a place, until the result is dropped. The server's own uploads, which have no holder,
    /// need none.
    ///
    /// # Errors
    /// `Overloaded` if all places are taken, or all that one holder may have.
    pub(super) fn begin(self: &Arc<UploadLimit>, holder: Option<&Holder>) -> Result<UploadSlot> {
        let Some(holder) = holder else { return Ok(UploadSlot { of: None }) };
        let mut places = self.places.lock();
        let own = places.by.get(holder).copied().unwrap_or(0);
        let all = places.count >= self.most;
        if all || own >= (self.most / HOLDER_DIVISOR).max(1) {
            drop(places);
            metrics::counter!("stet_overloaded_total", "what" => "uploads").increment(1);
            let whose = if all { "All callers together" } else { "You" };
            let message = format!("{whose} have too many uploads under way; nothing was changed, try again.");
            return Err(Error::new(Code::Overloaded, message));
        }
        places.count += 1;
        places.by.insert(holder.clone(), own + 1);
        drop(places);
        metrics::gauge!("stet_uploads").increment(1.0);
        Ok(UploadSlot { of: Some((self.clone(), holder.clone())) })
    }
}

/// The place of an upload.
#[derive(Debug)]
pub(super) struct UploadSlot {
    of: Option<(Arc<UploadLimit>, Holder)>,
}

impl UploadSlot {
    /// Reports whether the upload is a caller's, and not the server's own.
    pub(super) fn is_a_callers(&self) -> bool {
        self.of.is_some()
    }
}

impl Drop for UploadSlot {
    fn drop(&mut self) {
        let Some((under_way, holder)) = &self.of else { return };
        let mut places = under_way.places.lock();
        places.count -= 1;
        if let Some(own) = places.by.get_mut(holder) {
            *own -= 1;
            if *own == 0 {
                places.by.remove(holder);
            }
        }
        drop(places);
        metrics::gauge!("stet_uploads").decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Holder {
        Holder::User(name.into())
    }

    #[test]
    fn one_user_has_a_quarter_all_have_what_there_is_and_what_ends_makes_room() {
        let under_way = UploadLimit::new(8);
        let begin = |name: &str| under_way.begin(Some(&user(name)));
        let mut held: Vec<UploadSlot> = (0..2).map(|_| begin("ann").unwrap()).collect();
        let refused = begin("ann").unwrap_err();
        assert!(refused.code == Code::Overloaded && refused.message.starts_with("You"), "{refused}");
        for name in ["bob", "cleo", "dan"] {
            held.extend((0..2).map(|_| begin(name).unwrap()));
        }
        assert!(begin("eve").unwrap_err().message.starts_with("All callers"));
        // The server's own uploads always have room.
        let own = under_way.begin(None).unwrap();
        held.pop();
        held.push(begin("eve").unwrap());
        assert!(begin("eve").is_err());
        drop((held, own));
        let places = under_way.places.lock();
        assert!(places.count == 0 && places.by.is_empty());
    }

    #[test]
    fn with_few_places_each_user_has_one() {
        let under_way = UploadLimit::new(2);
        let (_ann, _bob) = (under_way.begin(Some(&user("ann"))).unwrap(), under_way.begin(Some(&user("bob"))).unwrap());
        assert!(under_way.begin(Some(&user("ann"))).is_err());
    }
}
