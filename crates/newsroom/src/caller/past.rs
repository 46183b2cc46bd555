//! Reads of the past, which go back change by change and so may take long.

use std::sync::{Arc, LazyLock};

use stet_actors::repository::PastMoment;
use stet_base::limits::{FairQueue, WorkPermit};
use stet_domain::error::Result;
use stet_domain::family::Family;
use stet_domain::id::Loid;
use stet_domain::store::Event;

use super::Caller;
use super::view::{NamedContainer, SeenView};

/// The number of reads of the past at the same time. Users take turns, and none has all of them.
const AT_ONCE: usize = 2;

/// The number of reads of one user that may wait for a turn.
const WAITING: usize = 64;

static QUEUE: LazyLock<FairQueue> = LazyLock::new(|| FairQueue::new("past", "reads of the past", AT_ONCE, WAITING));

/// The turn of a call to read the past, without which nothing of it is read. A call holds it until
/// it has rendered what it has read.
pub struct PastTurn {
    _permit: WorkPermit,
}

impl PastTurn {
    /// Waits for the turn.
    ///
    /// # Errors
    /// `Overloaded` if too many reads of the same user wait.
    pub async fn wait() -> Result<PastTurn> {
        QUEUE.turn().await.map(|permit| PastTurn { _permit: permit })
    }
}

impl Caller {
    /// Returns a container as it was at a moment, to a caller who may read it today.
    ///
    /// # Errors
    /// The errors of [`Caller::view_of`] and [`stet_actors::repository::Reader::view_at`].
    pub async fn view_at<F: Family>(
        &self,
        _: &PastTurn,
        container: &NamedContainer<F>,
        moment: PastMoment,
    ) -> Result<SeenView<F>> {
        self.view(container).await?;
        let past = self.newsroom.repository.view_at::<F>(container.loid(), moment).await?;
        Ok(SeenView::of_past(past.view, Arc::clone(&past.room)))
    }

    /// Returns at most `limit` of a container's events after a revision, oldest first. The caller
    /// may read the container, but perhaps not all that the events name.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn events_after(&self, _: &PastTurn, container: Loid, after: u64, limit: usize) -> Result<Vec<Event>> {
        self.newsroom.repository.events_after(container, after, limit).await
    }
}
