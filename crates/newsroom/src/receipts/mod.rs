//! Calls with an `Idempotency-Key` (docs/api/README.md, "Sending a call again"): recognised,
//! replayed, refused, and forgotten after some time.
//!
//! A key belongs to a user, not to a session. [`Receipts::claim`] takes it for a call, or refuses
//! because an earlier call still runs. [`Receipts::identify`] compares the request with the earlier
//! one under the key. It returns the reply to replay, or finds what an attempt did that a crash
//! interrupted. [`Receipts::keep`] stores the reply.
//!
//! # When a key is free again
//!
//! A key is taken until the last command of its call is decided, even if the client disconnects
//! earlier. A client that repeats the call before that gets the error that it still runs. Until the
//! reply is on disk, it is replayed from memory.
//!
//! # What is kept
//!
//! The web layer passes on only successful replies without secrets: a failed call has changed
//! nothing and may be tried again. The reply to a bulk call is not kept either if a source failed
//! for lack of room or time; the repeated call does the rest. Replies above 256 KiB are not kept;
//! they are rendered again from the outcome. [`ReceiptBounds`] limits what is kept per user,
//! outcomes included; beyond them, the oldest keys are removed.
//!
//! # How they are removed
//!
//! One key may have as many receipts as its call has sources. Therefore they are removed in
//! batches, within one key, too. A key is taken during its removal, and a call that claims it waits
//! until all its receipts are gone.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use stet_actors::repository::Repository;
use stet_auth::Rights;
use stet_base::limits::RowPager;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_domain::receipt::{
    CallGuard, EarlierReceipts, Fingerprint, IdempotentCall, KeptReply, Receipt, ReceiptContent,
};
use stet_domain::store::{KeyRange, ReadLevel, Row, RowChange, RowCursor, StoreError, Table, decode_value};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::task::spawn_local;

mod tally;

pub use self::tally::ReceiptBounds;
use self::tally::Tally;

/// The largest body that is kept, in bytes. Replies to changes have a few KB, and lists that a POST
/// reads can be rendered again.
const MAX_BODY: usize = 256 << 10;

/// The number of receipts that one read returns and one commit removes. Larger batches would delay
/// other changes.
const PAGE: usize = 500;

/// A user's name and a key.
type UserIdempotencyKey = (SharedText, SharedText);

/// The state of a key that is taken.
enum KeySlot {
    /// A running call, by the number of its claim.
    Running(u64),
    /// A reply that is not on disk yet.
    Answered(Fingerprint, Arc<KeptReply>),
    /// A removal of the key's receipts; a call that claims the key waits for its end.
    Going(RemovalLock),
}

/// A lock that is held until all receipts of a key are removed.
type RemovalLock = Arc<AsyncMutex<()>>;

/// The state of keys in memory.
struct KeyRegister {
    slots: Mutex<HashMap<UserIdempotencyKey, KeySlot>>,
    tally: Mutex<Tally>,
}

/// The receipts of calls with an `Idempotency-Key`.
pub struct Receipts {
    repository: Repository,
    /// The time for which a receipt is valid, in milliseconds.
    keep_ms: u64,
    books: Arc<KeyRegister>,
    claims: AtomicU64,
}

/// A key that a call has taken.
pub struct Claim {
    name: UserIdempotencyKey,
    /// The fingerprint of the caller's rights.
    rights: u64,
    /// The hash of method, path and query, before the body is added.
    head: Sha256,
    found: ClaimState,
    once: OnceLock<Arc<IdempotentCall>>,
}

enum ClaimState {
    Free(Arc<ClaimGuard>),
    Answered(Fingerprint, Arc<KeptReply>),
}

/// A guard that frees the key after the call, and counts the bytes that its commands have kept.
struct ClaimGuard {
    books: Arc<KeyRegister>,
    name: UserIdempotencyKey,
    number: u64,
    /// The time of the claim.
    at_ms: u64,
    /// The removal of the key's receipts that was running at the claim.
    going: Option<RemovalLock>,
    /// The counter [`IdempotentCall::kept_bytes`]; set once the call is identified.
    kept_bytes: OnceLock<Arc<AtomicU64>>,
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let (user, key) = &self.name;
        let kept = self.kept_bytes.get().map_or(0, |bytes| bytes.load(Ordering::Relaxed));
        if kept > 0 {
            self.books.tally.lock().add(user, key, self.at_ms, kept);
        }
        let mut slots = self.books.slots.lock();
        if matches!(slots.get(&self.name), Some(KeySlot::Running(number)) if *number == self.number) {
            // A removal releases the lock before it removes the slot. If the lock is held, it has
            // yet to remove the slot that is restored here.
            match self.going.take().filter(|going| going.try_lock().is_err()) {
                Some(going) => drop(slots.insert(self.name.clone(), KeySlot::Going(going))),
                None => drop(slots.remove(&self.name)),
            }
        }
    }
}

/// A guard of a key whose receipts are being removed.
struct KeyRemoval {
    books: Arc<KeyRegister>,
    name: UserIdempotencyKey,
    going: RemovalLock,
    /// The guard of `going`; released before the slot is removed.
    turn: Option<OwnedMutexGuard<()>>,
}

impl Drop for KeyRemoval {
    fn drop(&mut self) {
        self.turn = None;
        let mut slots = self.books.slots.lock();
        if matches!(slots.get(&self.name), Some(KeySlot::Going(going)) if Arc::ptr_eq(going, &self.going)) {
            slots.remove(&self.name);
        }
    }
}

impl KeyRegister {
    /// Takes a key in order to remove its receipts. Returns `None` while a call or another removal
    /// has it.
    fn to_remove(self: &Arc<KeyRegister>, name: &UserIdempotencyKey) -> Option<KeyRemoval> {
        let mut slots = self.slots.lock();
        if slots.contains_key(name) {
            return None;
        }
        let going = RemovalLock::default();
        // The lock is new, so it is free.
        let turn = going.clone().try_lock_owned().ok();
        slots.insert(name.clone(), KeySlot::Going(going.clone()));
        Some(KeyRemoval { books: self.clone(), name: name.clone(), going, turn })
    }
}

impl Claim {
    /// Returns the fingerprint of the call: all of the request but its token. `parts` is the body.
    pub fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        let mut hasher = self.head.clone();
        parts.iter().for_each(|part| feed(&mut hasher, part));
        hasher.finalize().into()
    }

    /// Returns the fingerprint of the caller's rights at the claim.
    pub fn rights(&self) -> u64 {
        self.rights
    }

    /// Reports whether the caller's rights are unchanged since the claim.
    pub fn is_with(&self, rights: &Rights) -> bool {
        self.rights == rights.digest()
    }

    /// Returns what the call's commands take along to keep their outcomes; `None` before the call
    /// is identified.
    pub fn once(&self) -> Option<Arc<IdempotentCall>> {
        self.once.get().cloned()
    }
}

fn feed(hasher: &mut Sha256, part: &[u8]) {
    // The length separates the parts: `ab` and `c` differ from `a` and `bc`.
    hasher.update((part.len() as u64).to_be_bytes());
    hasher.update(part);
}

fn mismatch(key: &str) -> Error {
    let message = format!("The `Idempotency-Key` `{key}` was used for another call: another path, query or body.");
    Error::new(Code::IdempotencyMismatch, message)
}

fn still_running(key: &str) -> Error {
    Error::new(Code::IdempotencyRunning, format!("The call with the `Idempotency-Key` `{key}` is still running."))
}

impl Receipts {
    /// Creates receipts that are valid for `keep_seconds`, within bounds per user.
    pub fn new(repository: Repository, keep_seconds: u64, bounds: ReceiptBounds) -> Receipts {
        Receipts {
            repository,
            keep_ms: keep_seconds.saturating_mul(1000),
            books: Arc::new(KeyRegister { slots: Mutex::default(), tally: Mutex::new(Tally::new(bounds)) }),
            claims: AtomicU64::new(0),
        }
    }

    /// Takes a key for a call of `user`. `target` is the call without its body: method, path, and
    /// query without the token.
    ///
    /// # Errors
    /// `IdempotencyRunning`.
    pub fn claim<'t>(
        &self,
        key: SharedText,
        user: &SharedText,
        rights: &Rights,
        target: impl IntoIterator<Item = &'t str>,
    ) -> Result<Arc<Claim>> {
        let mut head = Sha256::new();
        target.into_iter().for_each(|part| feed(&mut head, part.as_bytes()));
        let name = (user.clone(), key);
        let mut slots = self.books.slots.lock();
        let going = match slots.get(&name) {
            Some(KeySlot::Running(_)) => return Err(still_running(&name.1)),
            Some(KeySlot::Answered(fingerprint, reply)) => {
                let found = ClaimState::Answered(*fingerprint, reply.clone());
                return Ok(Arc::new(Claim { name, rights: rights.digest(), head, found, once: OnceLock::new() }));
            }
            Some(KeySlot::Going(going)) => Some(going.clone()),
            None => None,
        };
        let (number, at_ms) = (self.claims.fetch_add(1, Ordering::Relaxed), self.repository.clock().now_ms());
        slots.insert(name.clone(), KeySlot::Running(number));
        let (books, kept_bytes) = (self.books.clone(), OnceLock::new());
        let found =
            ClaimState::Free(Arc::new(ClaimGuard { books, name: name.clone(), number, at_ms, going, kept_bytes }));
        Ok(Arc::new(Claim { name, rights: rights.digest(), head, found, once: OnceLock::new() }))
    }

    /// Returns the reply that the call has already had. If there is none, [`Claim::once`] returns
    /// what its commands take along from now on.
    ///
    /// # Errors
    /// `IdempotencyMismatch`; errors of the store.
    pub async fn identify(
        self: &Arc<Receipts>,
        claim: &Claim,
        fingerprint: Fingerprint,
    ) -> Result<Option<Arc<KeptReply>>> {
        let (user, key) = &claim.name;
        let held = match &claim.found {
            ClaimState::Answered(known, _) if *known != fingerprint => return Err(mismatch(key)),
            ClaimState::Answered(_, reply) if reply.rights == claim.rights => return Ok(Some(reply.clone())),
            // Until the reply is on disk, there are no outcomes to render another one from.
            ClaimState::Answered(..) => return Err(still_running(key)),
            ClaimState::Free(held) => held,
        };
        if let Some(going) = &held.going {
            drop(going.lock().await);
        }
        let due_ms = self.due_ms();
        let cursor = RowCursor::over(Table::Receipts, Receipt::range(user, key));
        let mut pager = RowPager::new(self.repository.look(), cursor);
        let (mut earlier, mut reply, mut is_old, mut is_other) = (EarlierReceipts::default(), None, false, false);
        while let Some((_, value)) = pager.next().await.map_err(|error| log_failure(&error))? {
            let receipt = read(&value)?;
            is_old |= due_ms.is_some_and(|due_ms| receipt.at_ms <= due_ms);
            is_other |= receipt.fingerprint[..] != fingerprint;
            match &receipt.kept {
                // If the caller's rights have changed, the reply is rendered again with what they
                // may see now. The change is not repeated.
                ReceiptContent::Reply(kept) if kept.rights == claim.rights => reply = Some(Arc::new(kept.clone())),
                ReceiptContent::Reply(_) | ReceiptContent::Outcome { .. } | ReceiptContent::Done(_) => {
                    earlier.add(receipt)
                }
            }
        }
        if is_old {
            let mut removal = ReceiptRemoval::by(self);
            removal.take(&claim.name).await?;
            removal.commit().await?;
            (earlier, reply) = (EarlierReceipts::default(), None);
        } else if is_other {
            return Err(mismatch(key));
        }
        if reply.is_some() {
            return Ok(reply);
        }
        if earlier.is_empty() {
            self.count(&claim.name, 0);
        }
        let under_way: CallGuard = held.clone();
        let once = IdempotentCall::new(user.clone(), key.clone(), fingerprint, earlier, &under_way);
        // A handler identifies its call once. On a second time, the first one would count.
        let _ = held.kept_bytes.set(once.kept_bytes());
        let _ = claim.once.set(Arc::new(once));
        Ok(None)
    }

    /// Keeps the reply to an identified call, unless it is too large or a step of the call has
    /// failed temporarily.
    pub fn keep(self: &Arc<Receipts>, claim: &Claim, reply: KeptReply) {
        let Some(once) = claim.once.get().filter(|once| !once.is_unfinished()) else { return };
        if reply.body.len() <= MAX_BODY {
            self.write(claim.name.clone(), once, reply);
        }
    }

    /// Stores a reply without waiting for the commit. After a crash, the outcomes are enough.
    fn write(self: &Arc<Receipts>, name: UserIdempotencyKey, once: &IdempotentCall, reply: KeptReply) {
        let changes = once.reply(reply.clone(), self.repository.clock().now_ms());
        self.count(&name, reply.body.len() as u64);
        let slot = KeySlot::Answered(once.fingerprint(), Arc::new(reply));
        self.books.slots.lock().insert(name.clone(), slot);
        let receipts = self.clone();
        spawn_local(async move {
            if let Err(error) = receipts.repository.commit(|set| set.changes = changes).await {
                tracing::warn!(%error, "cannot store a reply; a retry of its call gets a new one");
            }
            receipts.books.slots.lock().remove(&name);
        });
    }

    /// Counts a key and a reply of `body` bytes under it. Starts the removal of the user's oldest
    /// receipts if there are too many.
    fn count(self: &Arc<Receipts>, name: &UserIdempotencyKey, body: u64) {
        let (user, key) = name;
        let gone = {
            let mut tally = self.books.tally.lock();
            tally.add(user, key, self.repository.clock().now_ms(), body);
            tally.beyond(user)
        };
        if gone.is_empty() {
            return;
        }
        let (receipts, user) = (self.clone(), user.clone());
        spawn_local(async move {
            if let Err(error) = receipts.forget(gone.into_iter().map(|key| (user.clone(), key))).await {
                tracing::warn!(%error, "cannot remove receipts beyond their user's limit");
            }
        });
    }

    /// Removes all receipts under these keys, except those of running calls. Returns the number of
    /// receipts.
    async fn forget(&self, names: impl IntoIterator<Item = UserIdempotencyKey>) -> Result<usize> {
        let (mut removal, mut taken, mut timer) = (ReceiptRemoval::by(self), Vec::new(), YieldTimer::start());
        for name in names {
            let Some(removing) = self.books.to_remove(&name) else { continue };
            taken.push(removing);
            removal.take(&name).await?;
            if taken.len() >= PAGE {
                removal.commit().await?;
                taken.clear();
            }
            timer.yield_if_due().await;
        }
        removal.commit().await?;
        Ok(removal.removed)
    }

    /// Removes expired receipts and those beyond the bounds. Returns the number of receipts. Must
    /// be called periodically, although a receipt expires without it, too.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn sweep(&self) -> Result<usize> {
        let beyond = self.books.tally.lock().all_beyond();
        let mut swept = self.forget(beyond).await?;
        let Some(due_ms) = self.due_ms() else { return Ok(swept) };
        self.books.tally.lock().forget(due_ms);
        let to = Bytes::copy_from_slice(&due_ms.saturating_add(1).to_be_bytes());
        let mut range = KeyRange { from: Bytes::new(), to: Some(to) };
        loop {
            let page = self.scan_times(&range)?;
            let Some((last, _)) = page.last() else { return Ok(swept) };
            let names: BTreeSet<UserIdempotencyKey> =
                page.iter().filter_map(|(entry, _)| Receipt::named(entry)).collect();
            swept += self.forget(names).await?;
            let rest = range.after(last);
            self.remove_strays(&KeyRange { from: range.from, to: Some(rest.from.clone()) }).await?;
            range = rest;
            // Yields to requests on this thread.
            tokio::task::yield_now().await;
        }
    }

    /// Removes index entries without a row from the range that was just swept. Earlier releases
    /// left such an entry when a reply replaced an earlier one.
    async fn remove_strays(&self, range: &KeyRange) -> Result<()> {
        let mut changes = Vec::new();
        for (key, _) in self.scan_times(range)? {
            let Some(row) = Receipt::row_of(&key) else { continue };
            let row = self
                .repository
                .look()
                .get(ReadLevel::Committed, Table::Receipts, row)
                .map_err(|error| log_failure(&error))?;
            let is_spoken_of = match row {
                Some(row) => read(&row)?.has_entry(&key),
                None => false,
            };
            if !is_spoken_of {
                changes.push(RowChange { table: Table::ReceiptTimes, key, value: None });
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.repository.commit(|set| set.changes = changes).await
    }

    /// Returns the time up to which receipts have expired. Returns `None` while the clock is too
    /// young for that, or not trusted.
    fn due_ms(&self) -> Option<u64> {
        self.repository.ends().now()?.ms().checked_sub(self.keep_ms)
    }

    /// Reads a page of index entries.
    fn scan_times(&self, range: &KeyRange) -> Result<Vec<(Bytes, Bytes)>> {
        let look = self.repository.look();
        look.scan(ReadLevel::Committed, Table::ReceiptTimes, range, PAGE, false).map_err(|error| log_failure(&error))
    }
}

/// A removal of receipts over several commits.
struct ReceiptRemoval<'r> {
    receipts: &'r Receipts,
    changes: Vec<RowChange>,
    /// The number of receipts that the next commit removes.
    rows: usize,
    /// The number of receipts removed so far.
    removed: usize,
}

impl ReceiptRemoval<'_> {
    fn by(receipts: &Receipts) -> ReceiptRemoval<'_> {
        ReceiptRemoval { receipts, changes: Vec::new(), rows: 0, removed: 0 }
    }

    /// Removes all receipts of a key, and commits whenever there are enough. The last ones are
    /// removed first: after a crash, the rest looks like a call that was interrupted.
    async fn take(&mut self, (user, key): &UserIdempotencyKey) -> Result<()> {
        let cursor = RowCursor::over(Table::Receipts, Receipt::range(user, key)).backwards();
        let mut pager = RowPager::new(self.receipts.repository.look(), cursor);
        while let Some((_, value)) = pager.next().await.map_err(|error| log_failure(&error))? {
            self.changes.extend(read(&value)?.remove());
            self.rows += 1;
            if self.rows >= PAGE {
                self.commit().await?;
            }
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        let (changes, rows) = (mem::take(&mut self.changes), mem::take(&mut self.rows));
        if rows > 0 {
            self.receipts.repository.commit(|set| set.changes = changes).await?;
        }
        self.removed += rows;
        Ok(())
    }
}

fn read(value: &Bytes) -> Result<Receipt> {
    decode_value(Receipt::FORMAT, value).map_err(|error| log_failure(&error.into()))
}

fn log_failure(error: &StoreError) -> Error {
    tracing::error!(%error, "receipts can't be read");
    Error::internal()
}

#[cfg(test)]
mod tests;
