//! Calls that are sent again under an `Idempotency-Key` (docs/api/README.md, "Sending a call
//! again"): recognised, repeated, refused, and in time forgotten.
//!
//! A key belongs to a user, whatever session it comes from. [`Receipts::claim`] takes it for a
//! call, or refuses because the call still runs; [`Receipts::identify`] compares what is sent with
//! what was sent under it before, and finds the reply to repeat, or what a try that a crash cut off
//! has done; [`Receipts::keep`] keeps the reply once there is one.
//!
//! # When a key is free again
//!
//! It is taken until the last command of its call has been decided, also when the client goes away
//! before: a client that sends the call again meanwhile gets the error that it still runs. Between
//! the reply and its being on disk, it is repeated from memory.
//!
//! # What is kept
//!
//! Only successful replies: a call that failed has changed nothing and may be tried again. Nor is
//! the reply to a bulk call kept of which a source has failed for want of room or time: sent again,
//! the call does what is missing. A reply that must not be stored (`Cache-Control: no-store`,
//! `Set-Cookie`) and one above 256 KiB are not kept: they are made again from the outcome. And of
//! each user no more than [`Bounds`] say, outcomes included: beyond them the oldest go.
//!
//! # How they are removed
//!
//! One key may have as many receipts as a call has sources. So they are removed some at a time,
//! within a key too; and while a key's are, it is taken, and whoever takes it over waits until all
//! of them are gone.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use actix_web::HttpResponse;
use actix_web::http::header::{HeaderMap, HeaderName};
use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_actors::receipt::{Earlier, Fingerprint, Kept, KeptReply, Once, Receipt, UnderWay};
use stet_actors::repository::Repository;
use stet_actors::store::{Change, Range, Row, StoreError, Table, View, decode_value};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::auth::Rights;
use crate::limits::yielding::YieldTimer;

mod reply;
mod tally;

pub use self::reply::replay;
pub use self::tally::Bounds;
use self::tally::Tally;

/// The request header.
pub const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Characters of a key at most.
const MAX_KEY: usize = 255;

/// Receipts that are read at a time, and that one commit removes, so that others need not wait
/// behind thousands.
const PAGE: usize = 500;

/// User and key.
type Name = (Text, Text);

/// What a key is taken by.
enum Slot {
    /// A call under way, by the number of its claim.
    Running(u64),
    /// A reply that is on its way to the disk.
    Answered(Fingerprint, Arc<KeptReply>),
    /// Its receipts are being removed: whoever takes it waits for that.
    Going(Going),
}

/// Locked until all receipts of a key are gone.
type Going = Arc<AsyncMutex<()>>;

/// What is in memory about keys.
struct Books {
    slots: Mutex<HashMap<Name, Slot>>,
    tally: Mutex<Tally>,
}

/// See the module's head.
pub struct Receipts {
    repository: Repository,
    /// How long a receipt counts, milliseconds.
    keep_ms: u64,
    books: Arc<Books>,
    claims: AtomicU64,
}

/// A key that a call has taken.
pub struct Claim {
    name: Name,
    /// A fingerprint of the caller's rights.
    rights: u64,
    /// Fed with the method, the path and the query.
    head: Sha256,
    found: Found,
    once: OnceLock<Arc<Once>>,
}

enum Found {
    Free(Arc<Held>),
    Answered(Fingerprint, Arc<KeptReply>),
}

/// Frees the key when the call is over, and counts what its commands have kept.
struct Held {
    books: Arc<Books>,
    name: Name,
    number: u64,
    /// When it was taken.
    at_ms: u64,
    /// Where the key's receipts were being removed when it was taken.
    going: Option<Going>,
    /// See [`Once::kept_bytes`]; there once the call has been identified.
    kept_bytes: OnceLock<Arc<AtomicU64>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let (user, key) = &self.name;
        let kept = self.kept_bytes.get().map_or(0, |bytes| bytes.load(Ordering::Relaxed));
        if kept > 0 {
            self.books.tally.lock().add(user, key, self.at_ms, kept);
        }
        let mut slots = self.books.slots.lock();
        if matches!(slots.get(&self.name), Some(Slot::Running(number)) if *number == self.number) {
            // Whoever removes gives the lock back before the slot: it is still to come for this
            // one.
            match self.going.take().filter(|going| going.try_lock().is_err()) {
                Some(going) => drop(slots.insert(self.name.clone(), Slot::Going(going))),
                None => drop(slots.remove(&self.name)),
            }
        }
    }
}

/// A key that is taken because its receipts are being removed.
struct Removing {
    books: Arc<Books>,
    name: Name,
    going: Going,
    /// Given back first.
    turn: Option<OwnedMutexGuard<()>>,
}

impl Drop for Removing {
    fn drop(&mut self) {
        self.turn = None;
        let mut slots = self.books.slots.lock();
        if matches!(slots.get(&self.name), Some(Slot::Going(going)) if Arc::ptr_eq(going, &self.going)) {
            slots.remove(&self.name);
        }
    }
}

impl Books {
    /// Takes a key in order to remove its receipts; `None` while a call has it, or somebody else
    /// who removes them.
    fn to_remove(self: &Arc<Books>, name: &Name) -> Option<Removing> {
        let mut slots = self.slots.lock();
        if slots.contains_key(name) {
            return None;
        }
        let going = Going::default();
        // Nobody else knows of it.
        let turn = going.clone().try_lock_owned().ok();
        slots.insert(name.clone(), Slot::Going(going.clone()));
        Some(Removing { books: self.clone(), name: name.clone(), going, turn })
    }
}

impl Claim {
    /// Identifies the call: everything that came with it but its token. `parts` is the body.
    pub fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        let mut hasher = self.head.clone();
        parts.iter().for_each(|part| feed(&mut hasher, part));
        hasher.finalize().into()
    }

    /// Whether the caller's rights are those that they had when the key was taken.
    pub fn is_with(&self, rights: &Rights) -> bool {
        self.rights == rights.digest()
    }

    /// What the call's commands go with, once it has been identified.
    pub fn once(&self) -> Option<Arc<Once>> {
        self.once.get().cloned()
    }
}

fn feed(hasher: &mut Sha256, part: &[u8]) {
    // The length keeps two parts from being taken for two others.
    hasher.update((part.len() as u64).to_be_bytes());
    hasher.update(part);
}

fn mismatch(key: &str) -> Error {
    let message = format!("The `Idempotency-Key` `{key}` was used for another call: another path, query or body.");
    Error::new(Code::IdempotencyMismatch, message)
}

fn running(key: &str) -> Error {
    Error::new(Code::IdempotencyRunning, format!("The call with the `Idempotency-Key` `{key}` still runs."))
}

/// The key of a request.
fn key_of(headers: &HeaderMap) -> Result<Option<Text>> {
    let mut values = headers.get_all(&KEY);
    let Some(value) = values.next() else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    let wanted = format!("1 to {MAX_KEY} visible ASCII characters, given once");
    let well = (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !well || values.next().is_some() {
        let shown: String = text.chars().take(MAX_KEY).collect();
        return Err(Error::parameter("Idempotency-Key", shown, &wanted));
    }
    Ok(Some((&*text).into()))
}

impl Receipts {
    /// Receipts that count for so many seconds, so many of each user.
    pub fn new(repository: Repository, keep_seconds: u64, bounds: Bounds) -> Receipts {
        Receipts {
            repository,
            keep_ms: keep_seconds.saturating_mul(1000),
            books: Arc::new(Books { slots: Mutex::default(), tally: Mutex::new(Tally::new(bounds)) }),
            claims: AtomicU64::new(0),
        }
    }

    /// Takes the key that the headers name for a call of `user`; `None` where they name none.
    /// `target` is what the call is beside its body: method, path, and query without the token.
    ///
    /// # Errors
    /// `InvalidParameter` for a key that can't be one; `IdempotencyRunning`.
    pub fn claim<'t>(
        &self,
        headers: &HeaderMap,
        user: &Text,
        rights: &Rights,
        target: impl IntoIterator<Item = &'t str>,
    ) -> Result<Option<Arc<Claim>>> {
        let Some(key) = key_of(headers)? else { return Ok(None) };
        let mut head = Sha256::new();
        target.into_iter().for_each(|part| feed(&mut head, part.as_bytes()));
        let name = (user.clone(), key);
        let mut slots = self.books.slots.lock();
        let going = match slots.get(&name) {
            Some(Slot::Running(_)) => return Err(running(&name.1)),
            Some(Slot::Answered(fingerprint, reply)) => {
                let found = Found::Answered(*fingerprint, reply.clone());
                return Ok(Some(Arc::new(Claim { name, rights: rights.digest(), head, found, once: OnceLock::new() })));
            }
            Some(Slot::Going(going)) => Some(going.clone()),
            None => None,
        };
        let (number, at_ms) = (self.claims.fetch_add(1, Ordering::Relaxed), self.repository.clock().now_ms());
        slots.insert(name.clone(), Slot::Running(number));
        let (books, kept_bytes) = (self.books.clone(), OnceLock::new());
        let found = Found::Free(Arc::new(Held { books, name: name.clone(), number, at_ms, going, kept_bytes }));
        Ok(Some(Arc::new(Claim { name, rights: rights.digest(), head, found, once: OnceLock::new() })))
    }

    /// The reply that the call has had already. Without one, its commands go with [`Claim::once`]
    /// from here on.
    ///
    /// # Errors
    /// `IdempotencyMismatch`; what the store says.
    pub async fn identify(
        self: &Arc<Receipts>,
        claim: &Claim,
        fingerprint: Fingerprint,
    ) -> Result<Option<Arc<KeptReply>>> {
        let (user, key) = &claim.name;
        let held = match &claim.found {
            Found::Answered(known, _) if *known != fingerprint => return Err(mismatch(key)),
            Found::Answered(_, reply) if reply.rights == claim.rights => return Ok(Some(reply.clone())),
            // Until it is on disk there is nothing else to answer from.
            Found::Answered(..) => return Err(running(key)),
            Found::Free(held) => held,
        };
        if let Some(going) = &held.going {
            drop(going.lock().await);
        }
        let due_ms = self.due_ms();
        let (mut range, mut way) = (Receipt::range(user, key), YieldTimer::new());
        let (mut earlier, mut reply, mut is_old, mut is_other) = (Earlier::default(), None, false, false);
        loop {
            let page = self.scan(Table::Receipts, &range, false)?;
            for (_, value) in &page {
                let receipt = read(value)?;
                is_old |= due_ms.is_some_and(|due_ms| receipt.at_ms <= due_ms);
                is_other |= receipt.fingerprint[..] != fingerprint;
                match &receipt.kept {
                    // If the caller's rights have changed, the reply is made again, with what they
                    // may see now; the change is not made again.
                    Kept::Reply(kept) if kept.rights == claim.rights => reply = Some(Arc::new(kept.clone())),
                    Kept::Reply(_) | Kept::Outcome { .. } | Kept::Done(_) => earlier.add(receipt),
                }
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => range = range.after(last),
                _ => break,
            }
            way.yield_if_due().await;
        }
        if is_old {
            let mut removal = Removal::by(self);
            removal.take(&claim.name).await?;
            removal.commit().await?;
            (earlier, reply) = (Earlier::default(), None);
        } else if is_other {
            return Err(mismatch(key));
        }
        if reply.is_some() {
            return Ok(reply);
        }
        if earlier.is_empty() {
            self.count(&claim.name, 0);
        }
        let under_way: UnderWay = held.clone();
        let once = Once::new(user.clone(), key.clone(), fingerprint, earlier, &under_way);
        // A handler identifies its call once; if it did so again, the first time would count.
        let _ = held.kept_bytes.set(once.kept_bytes());
        let _ = claim.once.set(Arc::new(once));
        Ok(None)
    }

    /// Keeps the reply to a call that was identified, if it is one to be kept, and gives it back.
    pub fn keep(self: &Arc<Receipts>, claim: &Claim, response: HttpResponse) -> HttpResponse {
        let Some(once) = claim.once.get().filter(|once| !once.is_unfinished()) else { return response };
        let (response, reply) = reply::taken_down(response, claim.rights);
        if let Some(reply) = reply {
            self.write(claim.name.clone(), once, reply);
        }
        response
    }

    /// Writes a reply down. Nobody waits for it: if a crash comes first, the outcomes are there.
    fn write(self: &Arc<Receipts>, name: Name, once: &Once, reply: KeptReply) {
        let changes = once.reply(reply.clone(), self.repository.clock().now_ms());
        self.count(&name, reply.body.len() as u64);
        let slot = Slot::Answered(once.fingerprint(), Arc::new(reply));
        self.books.slots.lock().insert(name.clone(), slot);
        let receipts = self.clone();
        actix_web::rt::spawn(async move {
            if let Err(error) = receipts.repository.commit(|set| set.changes = changes).await {
                tracing::warn!(%error, "a reply could not be kept; sent again, its call will be told anew what it did");
            }
            receipts.books.slots.lock().remove(&name);
        });
    }

    /// Counts a key, and a reply of so many bytes under it; removes the user's oldest receipts
    /// where there are too many.
    fn count(self: &Arc<Receipts>, name: &Name, body: u64) {
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
        actix_web::rt::spawn(async move {
            if let Err(error) = receipts.forget(gone.into_iter().map(|key| (user.clone(), key))).await {
                tracing::warn!(%error, "receipts beyond the bound of their user could not be removed");
            }
        });
    }

    /// Removes all receipts under these keys, but for calls under way. Returns how many.
    async fn forget(&self, names: impl IntoIterator<Item = Name>) -> Result<usize> {
        let (mut removal, mut taken, mut way) = (Removal::by(self), Vec::new(), YieldTimer::new());
        for name in names {
            let Some(removing) = self.books.to_remove(&name) else { continue };
            taken.push(removing);
            removal.take(&name).await?;
            if taken.len() >= PAGE {
                removal.commit().await?;
                taken.clear();
            }
            way.yield_if_due().await;
        }
        removal.commit().await?;
        Ok(removal.removed)
    }

    /// Removes receipts that are too old to count, and those beyond the bounds. Returns how many.
    /// To be called now and then; a receipt expires without it, too.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sweep(&self) -> Result<usize> {
        let beyond = self.books.tally.lock().all_beyond();
        let mut swept = self.forget(beyond).await?;
        let Some(due_ms) = self.due_ms() else { return Ok(swept) };
        self.books.tally.lock().forget(due_ms);
        let to = Bytes::copy_from_slice(&due_ms.saturating_add(1).to_be_bytes());
        let mut range = Range { from: Bytes::new(), to: Some(to) };
        loop {
            let page = self.scan(Table::ReceiptTimes, &range, false)?;
            let Some((last, _)) = page.last() else { return Ok(swept) };
            let names: BTreeSet<Name> = page.iter().filter_map(|(entry, _)| Receipt::named(entry)).collect();
            swept += self.forget(names).await?;
            let rest = range.after(last);
            self.remove_strays(&Range { from: range.from, to: Some(rest.from.clone()) }).await?;
            range = rest;
            // Requests on this thread go first.
            tokio::task::yield_now().await;
        }
    }

    /// Removes the entries of a part of the index that has just been swept which speak of no row.
    /// Versions before left one where they kept a reply in place of an earlier one.
    async fn remove_strays(&self, range: &Range) -> Result<()> {
        let mut changes = Vec::new();
        for (key, _) in self.scan(Table::ReceiptTimes, range, false)? {
            let Some(row) = Receipt::row_of(&key) else { continue };
            let row =
                self.repository.look().get(View::Committed, Table::Receipts, row).map_err(|error| failed(&error))?;
            let is_spoken_of = match row {
                Some(row) => read(&row)?.has_entry(&key),
                None => false,
            };
            if !is_spoken_of {
                changes.push(Change { table: Table::ReceiptTimes, key, value: None });
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.repository.commit(|set| set.changes = changes).await
    }

    /// Receipts of that time and before do not count any more; `None` while the clock is younger
    /// than that, or may be wrong.
    fn due_ms(&self) -> Option<u64> {
        self.repository.ends().now()?.ms().checked_sub(self.keep_ms)
    }

    /// A page of a range.
    fn scan(&self, table: Table, range: &Range, backwards: bool) -> Result<Vec<(Bytes, Bytes)>> {
        self.repository.look().scan(View::Committed, table, range, PAGE, backwards).map_err(|error| failed(&error))
    }
}

/// Receipts that are being removed, some in each commit.
struct Removal<'r> {
    receipts: &'r Receipts,
    changes: Vec<Change>,
    /// How many the next commit removes.
    rows: usize,
    /// How many were removed.
    removed: usize,
}

impl Removal<'_> {
    fn by(receipts: &Receipts) -> Removal<'_> {
        Removal { receipts, changes: Vec::new(), rows: 0, removed: 0 }
    }

    /// Takes in all receipts of a key, and commits when there are enough. The last come first: if a
    /// crash comes between, what is left looks as if it had cut off the call.
    async fn take(&mut self, (user, key): &Name) -> Result<()> {
        let mut range = Receipt::range(user, key);
        loop {
            let page = self.receipts.scan(Table::Receipts, &range, true)?;
            for (_, value) in &page {
                self.changes.extend(read(value)?.remove());
            }
            self.rows += page.len();
            if self.rows >= PAGE {
                self.commit().await?;
                // Requests on this thread go first.
                tokio::task::yield_now().await;
            }
            match page.last() {
                Some((first, _)) if page.len() == PAGE => range.to = Some(first.clone()),
                _ => return Ok(()),
            }
        }
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
    decode_value(Receipt::FORMAT, value).map_err(|error| failed(&error.into()))
}

fn failed(error: &StoreError) -> Error {
    tracing::error!(%error, "receipts can't be read");
    Error::internal()
}

#[cfg(test)]
mod tests;
