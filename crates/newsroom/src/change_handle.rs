//! The handle by which callers change objects.

use std::sync::Arc;

use stet_actors::repository::Repository;
use stet_actors::runtime::LargeChangeAdmission;
use stet_base::limits::LargeChangeQueue;
use stet_config::Config;

/// The handle by which callers change objects. The newsroom has one, which only
/// [`crate::caller`] uses.
pub(crate) struct ChangeHandle {
    /// The objects, for changes.
    pub repository: Repository,
    /// The admission of large changes.
    pub large: Arc<dyn LargeChangeAdmission>,
}

impl ChangeHandle {
    /// Creates the handle for this repository, within the limits of the configuration.
    pub fn to(repository: Repository, config: &Config) -> ChangeHandle {
        let (data, reserve_bytes) = (config.data.directory.clone(), config.store.reserve_bytes);
        let large = Arc::new(LargeChangeQueue::of(repository.store().clone(), data, reserve_bytes));
        ChangeHandle { repository, large }
    }
}
