//! A tap on the commits, for a copy of all changes in another place.

use bytes::Bytes;
use stet_domain::store::Seq;

use super::blob::{self, ChangeSetParts, NumberedChangeSet};

/// Change sets that were committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedRecord {
    /// The last change set before the record's.
    pub previous: Seq,
    /// The last change set of the record.
    pub last: Seq,
    /// The time of the commit, in epoch milliseconds. It may be smaller than that of the record
    /// before, because clocks are set back.
    pub at_ms: u64,
    /// The encoded change sets; see [`CommittedRecord::sets`].
    pub payload: Bytes,
}

impl CommittedRecord {
    /// Encodes change sets as a record.
    pub(super) fn of<'a>(
        (previous, last): (Seq, Seq),
        at_ms: u64,
        sets: impl Iterator<Item = ChangeSetParts<'a>>,
    ) -> CommittedRecord {
        let mut payload = Vec::new();
        blob::encode(sets, &mut payload);
        CommittedRecord { previous, last, at_ms, payload: payload.into() }
    }

    /// Encodes change sets as a payload.
    pub fn encode(sets: &[NumberedChangeSet]) -> Bytes {
        let mut payload = Vec::new();
        blob::encode(sets.iter().map(NumberedChangeSet::parts), &mut payload);
        payload.into()
    }

    /// Decodes the change sets.
    ///
    /// # Errors
    /// A description of the fault in the payload.
    pub fn sets(&self) -> Result<Vec<NumberedChangeSet>, String> {
        CommittedRecord::decode(&self.payload)
    }

    /// Decodes the change sets of a payload.
    ///
    /// # Errors
    /// A description of the fault in it.
    pub fn decode(payload: &Bytes) -> Result<Vec<NumberedChangeSet>, String> {
        blob::decode(payload)
    }
}

/// A receiver of all committed records, in their order.
pub trait CommitTap: Send + Sync {
    /// Called when the store is opened, before any record: the tables have everything up to
    /// `folded`, and the store everything up to `committed`. Records after `folded` follow at once,
    /// among them those that the tap has already. A tap that has later ones than `committed` is not
    /// that of this store, or the store was set back.
    fn opened(&self, folded: Seq, committed: Seq);

    /// Takes the next record, which is on disk. Called by the thread that commits, before the
    /// replies go out: it must not wait for anything.
    fn committed(&self, record: CommittedRecord);

    /// Stores all records up to `last` where a crash leaves them. Called before the store gives up
    /// its own copy of them. If they can't be stored, the tap notes that they are missing.
    fn keep(&self, last: Seq);
}
