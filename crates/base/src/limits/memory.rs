//! The memory that calls take: request bodies, replies, lists that are gathered, pictures that are
//! scaled. It is reserved in one budget before it is allocated, except for one [`PIECE`] of each
//! reply.
//!
//! One holder has a quarter of the budget at most, or one reservation of any size that fits.
//! Callers without a session have an eighth together, and one address a quarter of that.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use foldhash::HashMap;
use metrics::{Counter, Gauge};
use parking_lot::Mutex;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use tokio::sync::Notify;

/// The divisor of the budget for the part of one holder: a quarter.
const HOLDER_DIVISOR: u64 = 4;

/// The divisor for the part of all callers without a session together: an eighth.
const STRANGERS_DIVISOR: u64 = 8;

/// The size of a piece of a reply, in bytes: somewhat more than a connection gathers before it
/// writes. Memory up to one piece is not reserved: the number of connections limits it.
pub const PIECE: usize = 64 << 10;

/// The caller to whom memory or time is charged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A user, in any session.
    User(SharedText),
    /// The address of a caller without a session; see [`super::counted_as`].
    Address(IpAddr),
}

/// The purpose of a reservation; the label of its metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPurpose {
    /// Bodies of requests, with the values parsed from them.
    Bodies,
    /// Replies that clients have not taken yet, and lists that are gathered for them.
    Replies,
    /// Pictures that are scaled.
    Pictures,
}

impl MemoryPurpose {
    const ALL: [MemoryPurpose; 3] = [MemoryPurpose::Bodies, MemoryPurpose::Replies, MemoryPurpose::Pictures];

    /// Returns the label in metrics.
    fn label(self) -> &'static str {
        match self {
            MemoryPurpose::Bodies => "bodies",
            MemoryPurpose::Replies => "replies",
            MemoryPurpose::Pictures => "pictures",
        }
    }

    /// Returns the plural noun in messages.
    fn noun(self) -> &'static str {
        match self {
            MemoryPurpose::Bodies => "request bodies",
            MemoryPurpose::Replies => "replies",
            MemoryPurpose::Pictures => "pictures",
        }
    }
}

/// The budget of the memory that calls take. A clone shares the budget.
#[derive(Clone)]
pub struct MemoryBudget(Arc<Inner>);

struct Inner {
    limit: u64,
    held: Mutex<HeldBytes>,
    /// True while the process as a whole takes too much memory: see [`MemoryBudget::set_tight`].
    is_tight: AtomicBool,
    /// Notified whenever bytes are given back.
    freed: Notify,
    meters: [(Gauge, Counter); 3],
}

#[derive(Default)]
struct HeldBytes {
    bytes: u64,
    /// The bytes of callers without a session, which `bytes` contains.
    strangers: u64,
    /// The bytes by holder. Holders without any have no entry.
    by: HashMap<Holder, u64>,
}

impl HeldBytes {
    fn grow(&mut self, holder: Option<&Holder>, more: u64) {
        self.bytes = self.bytes.saturating_add(more);
        let Some(holder) = holder else { return };
        if let Holder::Address(_) = holder {
            self.strangers = self.strangers.saturating_add(more);
        }
        match self.by.get_mut(holder) {
            Some(own) => *own = own.saturating_add(more),
            None => drop(self.by.insert(holder.clone(), more)),
        }
    }

    fn shrink(&mut self, holder: Option<&Holder>, less: u64) {
        self.bytes = self.bytes.saturating_sub(less);
        let Some(holder) = holder else { return };
        if let Holder::Address(_) = holder {
            self.strangers = self.strangers.saturating_sub(less);
        }
        if let Some(own) = self.by.get_mut(holder) {
            *own = own.saturating_sub(less);
            if *own == 0 {
                self.by.remove(holder);
            }
        }
    }
}

/// The reason why bytes can't be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetShortage {
    /// The holder has used its part.
    Holder,
    /// All holders together have used the budget, or all callers without a session their part of
    /// it.
    All,
}

impl MemoryBudget {
    /// Creates a budget of that many bytes.
    pub fn new(limit: u64) -> MemoryBudget {
        let meters = MemoryPurpose::ALL.map(|purpose| {
            let name = purpose.label();
            (
                metrics::gauge!("stet_budget_bytes", "of" => name),
                metrics::counter!("stet_overloaded_total", "what" => name),
            )
        });
        let (held, freed) = (Mutex::default(), Notify::new());
        MemoryBudget(Arc::new(Inner { limit, held, is_tight: AtomicBool::new(false), freed, meters }))
    }

    /// Creates an empty reservation; `None` is the server itself, which has no part of its own.
    pub fn reservation(&self, holder: Option<Holder>, purpose: MemoryPurpose) -> Reservation {
        let account = ReservationAccount { budget: self.clone(), holder, purpose };
        Reservation { of: Some(Box::new(account)), bytes: AtomicU64::new(0) }
    }

    /// Returns the size of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of bytes that are reserved now.
    pub fn reserved(&self) -> u64 {
        self.0.held.lock().bytes
    }

    /// States whether the process takes more memory than it should. While it does, reservations
    /// don't grow above a piece, except for data that is in memory already.
    pub fn set_tight(&self, is_tight: bool) {
        self.0.is_tight.store(is_tight, Ordering::Relaxed);
        if !is_tight {
            self.0.freed.notify_waiters();
        }
    }

    fn check(&self, held: &HeldBytes, holder: Option<&Holder>, mine: u64, more: u64) -> Result<(), BudgetShortage> {
        let limit = self.0.limit;
        let is_tight = self.0.is_tight.load(Ordering::Relaxed) && mine.saturating_add(more) > PIECE as u64;
        if is_tight || held.bytes.saturating_add(more) > limit {
            return Err(BudgetShortage::All);
        }
        let Some(holder) = holder else { return Ok(()) };
        let own = held.by.get(holder).copied().unwrap_or(0);
        let part = match holder {
            Holder::User(_) => limit / HOLDER_DIVISOR,
            Holder::Address(_) if held.strangers.saturating_add(more) > limit / STRANGERS_DIVISOR => {
                return Err(BudgetShortage::All);
            }
            Holder::Address(_) => limit / STRANGERS_DIVISOR / HOLDER_DIVISOR,
        };
        if own.saturating_add(more) <= part || own == mine { Ok(()) } else { Err(BudgetShortage::Holder) }
    }
}

/// The account that a reservation is charged to.
struct ReservationAccount {
    budget: MemoryBudget,
    holder: Option<Holder>,
    purpose: MemoryPurpose,
}

impl ReservationAccount {
    fn meters(&self) -> &(Gauge, Counter) {
        &self.budget.0.meters[self.purpose as usize]
    }

    fn overloaded(&self, why: BudgetShortage) -> Error {
        self.meters().1.increment(1);
        let (noun, whose) =
            (self.purpose.noun(), if why == BudgetShortage::All { "All callers together" } else { "You" });
        let message = format!("{whose} have too many {noun} under way; nothing was changed, try again.");
        Error::new(Code::Overloaded, message)
    }
}

/// Reserved memory, which is returned when this is dropped. All parts of one call may share it.
pub struct Reservation {
    /// The account; `None` if the reservation is not counted. Boxed, because the future of every
    /// waiting call contains a reservation.
    of: Option<Box<ReservationAccount>>,
    /// Changed only under the budget's lock.
    bytes: AtomicU64,
}

impl Reservation {
    /// Creates a reservation that is not counted, for bytes of the server itself.
    pub fn unaccounted() -> Arc<Reservation> {
        Arc::new(Reservation { of: None, bytes: AtomicU64::new(0) })
    }

    /// Returns the holder; `None` for the server itself.
    pub fn holder(&self) -> Option<&Holder> {
        self.of.as_ref()?.holder.as_ref()
    }

    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Reserves that many more bytes.
    ///
    /// # Errors
    /// `Overloaded`; then nothing is reserved.
    pub fn add(&self, more: usize) -> Result<()> {
        self.change(|bytes| bytes.saturating_add(more as u64), false)
    }

    /// Returns that many bytes to the budget.
    pub fn give_back(&self, less: usize) {
        // A reduction is never refused.
        let _ = self.change(|bytes| bytes.saturating_sub(less as u64), true);
    }

    /// Extends the reservation to that many bytes.
    ///
    /// # Errors
    /// `Overloaded`; then nothing more is reserved.
    pub fn grow_to(&self, bytes: u64) -> Result<()> {
        self.change(|now| now.max(bytes), false)
    }

    /// Extends the reservation to that many bytes. Returns whether that was possible.
    #[must_use]
    pub fn try_grow_to(&self, bytes: u64) -> bool {
        self.try_change(|now| now.max(bytes), false).is_ok()
    }

    /// Extends the reservation to that many bytes, available or not. For data that is in memory
    /// already and can't be refused. Other reservations are refused for it.
    pub fn force_to(&self, bytes: u64) {
        // A forced extension is never refused.
        let _ = self.change(|now| now.max(bytes), true);
    }

    /// Reduces the reservation to that many bytes.
    pub fn shrink_to(&self, bytes: u64) {
        // A reduction is never refused.
        let _ = self.change(|now| now.min(bytes), true);
    }

    /// Waits until that many bytes are available, at most the whole budget, and extends the
    /// reservation to them. Others may be waiting for the bytes that this reservation has already,
    /// so callers must limit the time.
    pub async fn wait_to(&self, bytes: u64) {
        let Some(account) = &self.of else { return };
        let inner = &account.budget.0;
        let bytes = bytes.min(inner.limit);
        loop {
            let mut freed = std::pin::pin!(inner.freed.notified());
            // Bytes that are returned from now on are not missed.
            freed.as_mut().enable();
            if self.try_change(|now| now.max(bytes), false).is_ok() {
                return;
            }
            freed.await;
        }
    }

    fn change(&self, to: impl FnOnce(u64) -> u64, by_force: bool) -> Result<()> {
        self.try_change(to, by_force).map_err(|(account, why)| account.overloaded(why))
    }

    fn try_change(
        &self,
        to: impl FnOnce(u64) -> u64,
        by_force: bool,
    ) -> Result<(), (&ReservationAccount, BudgetShortage)> {
        let Some(account) = self.of.as_deref() else { return Ok(()) };
        let ReservationAccount { budget, holder, .. } = account;
        let mut held = budget.0.held.lock();
        let before = self.bytes.load(Ordering::Relaxed);
        let after = to(before);
        if after > before {
            let more = after - before;
            if !by_force {
                budget.check(&held, holder.as_ref(), before, more).map_err(|why| (account, why))?;
            }
            held.grow(holder.as_ref(), more);
            account.meters().0.increment(more as f64);
        } else if after < before {
            let less = before - after;
            held.shrink(holder.as_ref(), less);
            account.meters().0.decrement(less as f64);
        }
        self.bytes.store(after, Ordering::Relaxed);
        drop(held);
        if after < before {
            budget.0.freed.notify_waiters();
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if *self.bytes.get_mut() > 0 {
            self.shrink_to(0);
        }
    }
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reservation").field("holder", &self.holder()).field("bytes", &self.bytes()).finish()
    }
}

/// Bytes in memory that may be sent to several clients at a time, and are reserved once. Clones
/// stand for the same bytes.
#[derive(Debug, Clone, Default)]
pub struct SharedReservation(Arc<Mutex<Weak<Reservation>>>);

impl SharedReservation {
    /// Returns the reservation for the bytes, which lives as long as any client has it. The first
    /// client provides `own`, which is extended to the bytes, by force unless it `may_fail`.
    /// Returns `None` if they can't be reserved.
    pub fn reserve(&self, bytes: u64, own: Reservation, may_fail: bool) -> Option<Arc<Reservation>> {
        let mut known = self.0.lock();
        if let Some(reservation) = known.upgrade() {
            return Some(reservation);
        }
        if !may_fail {
            own.force_to(bytes);
        } else if !own.try_grow_to(bytes) {
            return None;
        }
        let reservation = Arc::new(own);
        *known = Arc::downgrade(&reservation);
        Some(reservation)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn of(budget: &MemoryBudget, name: &str) -> Reservation {
        budget.reservation(Some(Holder::User(name.into())), MemoryPurpose::Bodies)
    }

    fn stranger(budget: &MemoryBudget, number: u8) -> Reservation {
        budget.reservation(Some(Holder::Address([192, 0, 2, number].into())), MemoryPurpose::Bodies)
    }

    fn is_empty(budget: &MemoryBudget) -> bool {
        let held = budget.0.held.lock();
        held.bytes == 0 && held.strangers == 0 && held.by.is_empty()
    }

    #[test]
    fn all_together_reserve_no_more_than_there_is_and_none_more_than_its_part() {
        let budget = MemoryBudget::new(100);
        let all: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| of(&budget, name)).into();
        let second = of(&budget, "a");
        all[0].add(20).unwrap();
        assert_eq!(second.add(6).unwrap_err().code, Code::Overloaded);
        second.add(5).unwrap();
        assert!(
            all[0].add(1).unwrap_err().message.starts_with("You have too many request bodies"),
            "its part is taken"
        );
        for one in &all[1..4] {
            one.add(25).unwrap();
        }
        assert_eq!(budget.reserved(), 100);
        assert!(all[4].add(1).unwrap_err().message.starts_with("All callers together"));
        second.give_back(3);
        all[4].add(3).unwrap();
        drop(all);
        assert_eq!((budget.reserved(), second.bytes()), (2, 2));
        drop(second);
        assert!(is_empty(&budget));
    }

    #[test]
    fn a_reservation_may_take_all_free_memory_but_then_blocks_its_holder() {
        let budget = MemoryBudget::new(100);
        let large = of(&budget, "a");
        large.grow_to(80).unwrap();
        large.grow_to(90).unwrap();
        assert!(of(&budget, "a").add(1).is_err() && of(&budget, "b").add(10).is_ok());
        large.shrink_to(10);
        assert_eq!(budget.reserved(), 10);
    }

    #[test]
    fn strangers_have_a_small_part_together_and_each_a_part_of_that() {
        let budget = MemoryBudget::new(3200);
        let first = [stranger(&budget, 1), stranger(&budget, 1)];
        first[0].add(60).unwrap();
        assert!(first[1].add(41).is_err() && first[1].add(40).is_ok());
        let others: Vec<_> = (2..5).map(|number| stranger(&budget, number)).collect();
        others.iter().for_each(|other| other.add(100).unwrap());
        assert!(stranger(&budget, 9).add(1).unwrap_err().message.starts_with("All callers together"));
        of(&budget, "a").add(800).unwrap();
        drop((first, others));
        assert!(is_empty(&budget));
    }

    #[test]
    fn forced_reservations_exceed_the_budget_and_others_are_refused() {
        let budget = MemoryBudget::new(100);
        let forced = of(&budget, "a");
        forced.force_to(200);
        assert!(budget.reserved() == 200 && of(&budget, "b").add(1).is_err());
        let reservation = Reservation::unaccounted();
        reservation.add(1 << 40).unwrap();
    }

    #[test]
    fn nothing_large_is_reserved_while_the_process_takes_too_much() {
        let budget = MemoryBudget::new(1 << 30);
        budget.set_tight(true);
        let one = of(&budget, "a");
        assert!(one.add(PIECE).is_ok() && one.add(1).is_err());
        one.force_to(1 << 20);
        budget.set_tight(false);
        one.grow_to(2 << 20).unwrap();
    }

    #[test]
    fn waiting_reservations_get_returned_memory_up_to_the_budget() {
        let budget = MemoryBudget::new(100);
        let all = of(&budget, "a");
        all.wait_to(1000).now_or_never().expect("nothing is reserved");
        assert_eq!(all.bytes(), 100);
        let ten = of(&budget, "b");
        let mut waiting = Box::pin(ten.wait_to(10));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(all);
        waiting.now_or_never().expect("it has come back");
        assert_eq!((ten.bytes(), budget.reserved()), (10, 10));
    }

    #[test]
    fn bytes_that_go_to_several_clients_are_reserved_once() {
        let budget = MemoryBudget::new(100);
        let shared = SharedReservation::default();
        let first = shared.reserve(60, of(&budget, "a"), true).unwrap();
        let second = shared.reserve(60, of(&budget, "b"), true).unwrap();
        assert_eq!(budget.reserved(), 60);
        drop(first);
        assert_eq!(budget.reserved(), 60);
        drop(second);
        assert!(SharedReservation::default().reserve(101, of(&budget, "a"), true).is_none());
        assert!(is_empty(&budget));
    }
}
