//! Calls that are sent again under an `Idempotency-Key` (docs/api/README.md, "Sending a call again"): recognised, repeated,
//! refused, and in time forgotten.
//!
//! A key belongs to a user, whatever session it comes from. [`Receipts::claim`] takes it for a call, or refuses because the
//! call still runs; [`Receipts::identify`] compares what is sent with what was sent under it before, and finds the reply to
//! repeat, or what a try that a crash cut off has done; [`Receipts::keep`] keeps the reply once there is one.
//!
//! # When a key is free again
//!
//! It is taken until the last command of its call has been decided, also when the client goes away before: a client that sends the
//! call again meanwhile gets the error that it still runs. Between the reply and its being on disk, it is repeated from memory.
//!
//! # What is kept
//!
//! Only successful replies: a call that failed has changed nothing and may be tried again. A reply that must not be
//! stored (`Cache-Control: no-store`, `Set-Cookie`) and one above 256 KiB are not kept: they are made again from the outcome.
//! And of each user no more than [`Bounds`] say: beyond them the oldest go.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use actix_web::HttpResponse;
use actix_web::http::header::{HeaderMap, HeaderName};
use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_actors::receipt::{Fingerprint, Kept, KeptReply, Once, Receipt, UnderWay};
use stet_actors::repository::Repository;
use stet_actors::store::{Range, Row, StoreError, Table, View, decode_value};
use tokio::sync::RwLock;

use crate::auth::Rights;

mod reply;
mod tally;

pub use self::reply::replay;
pub use self::tally::Bounds;
use self::tally::Tally;

/// The request header.
pub const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Characters of a key at most.
const MAX_KEY: usize = 255;

/// Entries that one commit of [`Receipts::sweep`] takes up, so that others need not wait behind thousands.
const PAGE: usize = 500;

/// User and key.
type Name = (Text, Text);

/// What a key is taken by.
enum Slot {
    /// A call under way, by the number of its claim.
    Running(u64),
    /// A reply that is on its way to the disk.
    Answered(Fingerprint, Arc<KeptReply>),
}

type Slots = Arc<Mutex<HashMap<Name, Slot>>>;

/// See the module's head.
pub struct Receipts {
    repository: Repository,
    /// How long a receipt counts, milliseconds.
    keep_ms: u64,
    slots: Slots,
    claims: AtomicU64,
    tally: Mutex<Tally>,
    /// For reading while receipts are looked up, for writing while old ones are removed.
    turn: RwLock<()>,
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

/// Frees the key when the call is over.
struct Held {
    slots: Slots,
    name: Name,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut slots = self.slots.lock();
        if matches!(slots.get(&self.name), Some(Slot::Running(number)) if *number == self.number) {
            slots.remove(&self.name);
        }
    }
}

impl Claim {
    /// Identifies the call: everything that came with it but its token. `parts` is the body.
    pub fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        let mut hasher = self.head.clone();
        parts.iter().for_each(|part| feed(&mut hasher, part));
        hasher.finalize().into()
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
            slots: Arc::default(),
            claims: AtomicU64::new(0),
            tally: Mutex::new(Tally::new(bounds)),
            turn: RwLock::default(),
        }
    }

    /// Takes the key that the headers name for a call of `user`; `None` where they name none. `target` is what the call is
    /// beside its body: method, path, and query without the token.
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
        let mut slots = self.slots.lock();
        let found = match slots.get(&name) {
            Some(Slot::Running(_)) => {
                return Err(running(&name.1));
            }
            Some(Slot::Answered(fingerprint, reply)) => Found::Answered(*fingerprint, reply.clone()),
            None => {
                let number = self.claims.fetch_add(1, Ordering::Relaxed);
                slots.insert(name.clone(), Slot::Running(number));
                Found::Free(Arc::new(Held { slots: self.slots.clone(), name: name.clone(), number }))
            }
        };
        Ok(Some(Arc::new(Claim { name, rights: rights.digest(), head, found, once: OnceLock::new() })))
    }

    /// The reply that the call has had already. Without one, its commands go with [`Claim::once`] from here on.
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
        let _turn = self.turn.read().await;
        let mut receipts = self.find(&Receipt::range(user, key))?;
        let due_ms = self.due_ms();
        if receipts.iter().any(|receipt| due_ms.is_some_and(|due_ms| receipt.at_ms <= due_ms)) {
            self.remove(&receipts).await?;
            receipts.clear();
        }
        if receipts.iter().any(|receipt| receipt.fingerprint[..] != fingerprint) {
            return Err(mismatch(key));
        }
        let reply = receipts.iter().find_map(|receipt| match &receipt.kept {
            // If the caller's rights have changed, the reply is made again, with what they may see now; the change is not made
            // again.
            Kept::Reply(reply) if reply.rights == claim.rights => Some(Arc::new(reply.clone())),
            Kept::Reply(_) | Kept::Outcome { .. } => None,
        });
        if reply.is_some() {
            return Ok(reply);
        }
        if receipts.is_empty() {
            self.count(&claim.name, 0);
        }
        let under_way: UnderWay = held.clone();
        let once = Once::new(user.clone(), key.clone(), fingerprint, receipts, &under_way);
        // A handler identifies its call once; if it did so again, the first time would count.
        let _ = claim.once.set(Arc::new(once));
        Ok(None)
    }

    /// Keeps the reply to a call that was identified, if it is one to be kept, and gives it back.
    pub fn keep(self: &Arc<Receipts>, claim: &Claim, response: HttpResponse) -> HttpResponse {
        let Some(once) = claim.once.get() else { return response };
        let (response, reply) = reply::taken_down(response, claim.rights);
        if let Some(reply) = reply {
            self.write(claim.name.clone(), once, reply);
        }
        response
    }

    /// Writes a reply down. Nobody waits for it: if a crash comes first, the outcomes are there.
    fn write(self: &Arc<Receipts>, name: Name, once: &Once, reply: KeptReply) {
        let changes = once.reply(reply.clone(), self.repository.clock().now_ms());
        self.count(&name, reply.body.len());
        let slot = Slot::Answered(once.fingerprint(), Arc::new(reply));
        self.slots.lock().insert(name.clone(), slot);
        let receipts = self.clone();
        actix_web::rt::spawn(async move {
            if let Err(error) = receipts.repository.commit(|set| set.changes = changes).await {
                tracing::warn!(%error, "a reply could not be kept; sent again, its call will be told anew what it did");
            }
            receipts.slots.lock().remove(&name);
        });
    }

    /// Counts a key, and a reply of so many bytes under it; removes the user's oldest receipts where there are too many.
    fn count(self: &Arc<Receipts>, name: &Name, body: usize) {
        let (user, key) = name;
        let gone = self.tally.lock().add(user, key, self.repository.clock().now_ms(), body);
        if gone.is_empty() {
            return;
        }
        let (receipts, user) = (self.clone(), user.clone());
        actix_web::rt::spawn(async move {
            for page in gone.chunks(PAGE) {
                if let Err(error) = receipts.drop_oldest(&user, page).await {
                    tracing::warn!(%error, "receipts beyond the bound of their user could not be removed");
                }
            }
        });
    }

    /// Removes receipts under these keys of a user, but for calls under way.
    async fn drop_oldest(&self, user: &Text, keys: &[Text]) -> Result<()> {
        let _turn = self.turn.write().await;
        let mut old = Vec::new();
        for key in keys {
            if !self.slots.lock().contains_key(&(user.clone(), key.clone())) {
                old.extend(self.find(&Receipt::range(user, key))?);
            }
        }
        self.remove(&old).await
    }

    /// Removes receipts that are too old to count. Returns how many rows. To be called now and then; a receipt expires without
    /// it, too.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sweep(&self) -> Result<usize> {
        let Some(due_ms) = self.due_ms() else { return Ok(0) };
        self.tally.lock().forget(due_ms);
        let to = Bytes::copy_from_slice(&due_ms.saturating_add(1).to_be_bytes());
        let mut range = Range { from: Bytes::new(), to: Some(to) };
        let mut swept = 0;
        loop {
            // For each page anew, so that a call need not wait for all of them.
            let turn = self.turn.write().await;
            let page = self.scan(Table::ReceiptTimes, &range, PAGE)?;
            // Time in front, step behind; what is between is the same for all receipts of a key.
            let keys: BTreeSet<Bytes> = page.iter().map(|(key, _)| key.slice(8..key.len().max(10) - 2)).collect();
            let mut old = Vec::new();
            for key in keys {
                let receipts = self.find(&Range::prefix(&key))?;
                let first = receipts.first();
                let taken =
                    first.is_some_and(|first| self.slots.lock().contains_key(&(first.user.clone(), first.key.clone())));
                if !taken {
                    old.extend(receipts);
                }
            }
            swept += old.len();
            self.remove(&old).await?;
            match page.last() {
                Some((key, _)) if page.len() == PAGE => range = range.after(key),
                _ => return Ok(swept),
            }
            drop(turn);
            // Requests on this thread go first.
            tokio::task::yield_now().await;
        }
    }

    /// Receipts of that time and before do not count any more; `None` while the clock is younger than that.
    fn due_ms(&self) -> Option<u64> {
        self.repository.clock().now_ms().checked_sub(self.keep_ms)
    }

    fn find(&self, range: &Range) -> Result<Vec<Receipt>> {
        let rows = self.scan(Table::Receipts, range, usize::MAX)?;
        let read =
            |(_, value): &(Bytes, Bytes)| decode_value(Receipt::FORMAT, value).map_err(|error| failed(&error.into()));
        rows.iter().map(read).collect()
    }

    fn scan(&self, table: Table, range: &Range, limit: usize) -> Result<Vec<(Bytes, Bytes)>> {
        self.repository.look().scan(View::Committed, table, range, limit, false).map_err(|error| failed(&error))
    }

    async fn remove(&self, receipts: &[Receipt]) -> Result<()> {
        if receipts.is_empty() {
            return Ok(());
        }
        let changes = receipts.iter().flat_map(Receipt::remove).collect();
        self.repository.commit(|set| set.changes = changes).await
    }
}

fn failed(error: &StoreError) -> Error {
    tracing::error!(%error, "receipts can't be read");
    Error::internal()
}

#[cfg(test)]
mod tests;
