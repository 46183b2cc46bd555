//! Parts of containers as JSON, rendered once for each change and display.

use std::hash::Hash;

use quick_cache::Weighter;
use stet_base::json::ReadyJson;
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_domain::id::Loid;
use stet_newsroom::records::Display;

/// The cache key of a container's part as it stands in replies. A change results in another key, so
/// nothing cached is ever stale.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShownPart<P> {
    /// The container of the part.
    pub container: Loid,
    /// The identifier of the part in its container.
    pub part: P,
    /// The revision of the part's last change.
    pub revision: u64,
    /// The display options.
    pub display: Display,
    /// The path that is shown.
    pub path: Option<String>,
    /// `SysConfig::changes` before it was rendered: the
    /// configuration decides how statuses and types are shown.
    pub configuration: u64,
}

#[derive(Clone)]
struct ShownPartWeighter;

impl<P, T> Weighter<ShownPart<P>, ReadyJson<T>> for ShownPartWeighter {
    fn weight(&self, shown: &ShownPart<P>, json: &ReadyJson<T>) -> u64 {
        (bounded_cache::ENTRY + shown.path.as_ref().map_or(0, String::capacity) + json.text().len()) as u64
    }
}

/// A cache of recently used parts, each identified by a `P` and shown as a `T`, bounded in bytes.
pub struct KeptParts<P, T>(BoundedCache<ShownPart<P>, ReadyJson<T>, ShownPartWeighter>);

impl<P: Eq + Hash + Send + Sync + 'static, T: 'static> KeptParts<P, T> {
    /// Creates a cache of at most `most` bytes.
    pub fn new(most: u64) -> Self {
        // A part has about 2 KiB.
        KeptParts(BoundedCache::new("parts", most, 2 << 10, 1, ShownPartWeighter))
    }

    /// Returns a part as JSON, from the cache or from `make`. The rows that `make` reads beside the
    /// part's own must be of the part's revision ([`read_beside`](crate::settled::read_beside)),
    /// because the result is cached under it.
    ///
    /// # Errors
    /// Errors of `make`.
    pub async fn json<E>(
        &self,
        shown: ShownPart<P>,
        make: impl AsyncFnOnce(&ShownPart<P>) -> Result<ReadyJson<T>, E>,
    ) -> Result<ReadyJson<T>, E> {
        if let Some(kept) = self.0.get(&shown) {
            return Ok(kept);
        }
        let made = make(&shown).await?;
        self.0.insert(shown, made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use stet_domain::id::DatabaseId;

    use super::*;

    const ROOM: u64 = 100 * bounded_cache::ENTRY as u64;

    type Kept = KeptParts<u64, String>;

    fn part(part: u64) -> ShownPart<u64> {
        let container = Loid::new(DatabaseId::FIRST, 1);
        ShownPart { container, part, revision: 1, display: Display::with_defaults(false), path: None, configuration: 0 }
    }

    fn put(kept: &Kept, shown: ShownPart<u64>, bytes: usize) {
        let made = kept.json::<()>(shown, async |_| Ok(ReadyJson::of_length(bytes)));
        made.now_or_never().expect("nothing waits").expect("it is made");
    }

    /// Returns the length of a cached part; `None` if it is not cached.
    fn length(kept: &Kept, number: u64) -> Option<usize> {
        kept.json(part(number), async |_| Err(())).now_or_never()?.ok().map(|json| json.text().len())
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for_and_what_is_asked_for_stays() {
        let kept = Kept::new(ROOM);
        for number in 0..1000 {
            put(&kept, part(number), bounded_cache::ENTRY);
            assert!(kept.0.weight() <= ROOM);
            assert_eq!(length(&kept, 0), Some(bounded_cache::ENTRY), "{number}");
        }
        assert_eq!(kept.0.len(), 50);
        let weight = kept.0.weight();
        put(&kept, part(0), bounded_cache::ENTRY);
        assert_eq!(kept.0.weight(), weight, "the same again takes no more room");
    }

    #[test]
    fn parts_too_large_for_the_cache_are_not_kept() {
        let kept = Kept::new(ROOM);
        put(&kept, part(1), 10);
        put(&kept, part(2), ROOM as usize / 8);
        assert_eq!((length(&kept, 2), length(&kept, 1)), (None, Some(10)));
        let none = Kept::new(0);
        put(&none, part(1), 2);
        assert_eq!(length(&none, 1), None);
    }

    #[test]
    fn another_revision_display_or_container_is_made_anew() {
        let kept = Kept::new(ROOM);
        put(&kept, part(1), 10);
        let others = [
            ShownPart { revision: 2, ..part(1) },
            ShownPart { display: Display::with_defaults(true), ..part(1) },
            ShownPart { container: Loid::new(DatabaseId::FIRST, 2), ..part(1) },
            ShownPart { path: Some("/a".to_owned()), ..part(1) },
        ];
        for other in others {
            let made = kept.json(other.clone(), async |_| Err(())).now_or_never();
            assert!(made.is_some_and(|made| made.is_err()), "{other:?}");
        }
        assert_eq!(length(&kept, 1), Some(10));
    }
}
