//! The choice of segments that are merged.

use std::collections::HashSet;

use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

/// The share of deleted documents above which a segment is written anew, in percent.
const MAX_DELETED_PERCENT: u64 = 20;

/// The fewest segments of similar size that are merged.
///
/// Each segment has a dictionary of its own: fewer segments take less space and time.
const MIN_MERGED_SEGMENTS: usize = 4;

/// Merges segments of similar size, and purges segments with many deleted documents.
#[derive(Debug)]
pub(super) struct PurgingMergePolicy {
    sizes: LogMergePolicy,
}

impl Default for PurgingMergePolicy {
    fn default() -> Self {
        let mut sizes = LogMergePolicy::default();
        sizes.set_min_num_segments(MIN_MERGED_SEGMENTS);
        Self { sizes }
    }
}

/// Reports whether a segment has enough deleted documents to be rewritten.
fn needs_purge(deleted: u32, all: u32) -> bool {
    u64::from(deleted) * 100 > u64::from(all) * MAX_DELETED_PERCENT
}

impl MergePolicy for PurgingMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut candidates = self.sizes.compute_merge_candidates(segments);
        let merged: HashSet<SegmentId> = candidates.iter().flat_map(|candidate| candidate.0.iter().copied()).collect();
        let purged = segments
            .iter()
            .filter(|segment| !merged.contains(&segment.id()))
            .filter(|segment| needs_purge(segment.num_deleted_docs(), segment.max_doc()))
            .map(|segment| MergeCandidate(vec![segment.id()]));
        candidates.extend(purged);
        candidates
    }
}
