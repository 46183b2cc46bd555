//! Limits for failed logins (docs/api/auth.md, "Failed logins").
//!
//! Each attempt takes one unit from three budgets before the password is checked, so that parallel
//! attempts get no further than sequential ones. The budgets are that of the address, that of the
//! user name at this address, and that of the user name anywhere. A failure leaves the units taken.
//! A success refills the second budget, but returns only its own unit to the others: a caller with
//! a valid password can't use it to go on guessing.
//!
//! The first and third budgets bound guessing of many names and from many addresses, but let
//! anybody exhaust them. So neither refuses a user who is *known*: at an address from which they
//! have logged in since the server started, or have an older session. There the second budget alone
//! refuses; if it is switched off, the first does. A known user's failures still count at the
//! address. A user who is locked out at a new address can be admitted by an operator
//! ([`LoginLimiter::forgive`]).
//!
//! A budget may be empty although nothing has failed, because attempts in progress have taken it.
//! The next caller waits until one of them ends, and checks again. A caller is refused only if a
//! budget is empty and no attempt in progress may refill it.
//!
//! Names are counted as given, whether or not such a user exists, so that a refusal does not reveal
//! that. Only a hash of a name under a random key is kept: eight bytes, whatever the name's length.

use std::hash::{BuildHasher, Hash, RandomState};
use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use parking_lot::Mutex;
use stet_base::limits::{MOST_QUOTAS, Quota, QuotaBalance, Quotas, counted_as};
use stet_domain::clock::Clock;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use tokio::sync::Notify;

/// The limits for failed logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptOptions {
    /// Permitted failures of one user name from one address in the window; 0 is no limit.
    pub per_user: u32,
    /// Permitted failures of one user name, from all addresses where the user is not known, in the
    /// window; 0 is no limit.
    pub per_user_anywhere: u32,
    /// Permitted failures from one address in the window; 0 is no limit.
    pub per_address: u32,
    /// Seconds in which a budget is restored.
    pub window_seconds: u64,
}

/// The rate limiter for failed logins.
pub struct LoginLimiter {
    users: Option<AttemptQuotas<UserAtAddress>>,
    anywhere: Option<AttemptQuotas<u64>>,
    addresses: Option<AttemptQuotas<IpAddr>>,
    /// The addresses at which users are known.
    known: Mutex<KnownAddresses>,
    names: RandomState,
}

/// A user name, as its hash, at an address.
type UserAtAddress = (u64, IpAddr);

/// The addresses from which users have logged in, in two generations. Beyond [`MOST_QUOTAS`] the
/// oldest are dropped.
#[derive(Default)]
struct KnownAddresses {
    young: HashSet<UserAtAddress>,
    old: HashSet<UserAtAddress>,
}

impl KnownAddresses {
    fn add(&mut self, at: UserAtAddress) {
        if self.young.len() >= MOST_QUOTAS / 2 && !self.young.contains(&at) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(at);
    }

    fn has(&self, at: &UserAtAddress) -> bool {
        self.young.contains(at) || self.old.contains(at)
    }
}

/// A login that was admitted to the password check. It counts as failed when it is dropped.
#[must_use]
pub struct LoginAttempt<'a> {
    of: &'a LoginLimiter,
    /// The user name and address; `None` for a login whose user is not known before the check.
    at: Option<UserAtAddress>,
    user: Option<AttemptUnit<'a, UserAtAddress>>,
    /// `None` if the user is known at the address, as the next.
    anywhere: Option<AttemptUnit<'a, u64>>,
    address: Option<AttemptUnit<'a, IpAddr>>,
    /// The outcome that is counted on drop.
    outcome: LoginOutcome,
}

/// The outcome of a login; the label `outcome` of `stet_logins_total`.
#[derive(Debug, Clone, Copy)]
enum LoginOutcome {
    Succeeded,
    Failed,
    /// Too many logins have failed.
    Refused,
    /// The check could not be completed.
    Withdrawn,
}

/// The kind of credential; the label `by`.
#[derive(Debug, Clone, Copy)]
enum CredentialKind {
    Password,
    Ticket,
}

impl LoginOutcome {
    fn count(self, by: CredentialKind) {
        let by = match by {
            CredentialKind::Password => "password",
            CredentialKind::Ticket => "ticket",
        };
        let outcome = match self {
            LoginOutcome::Succeeded => "succeeded",
            LoginOutcome::Failed => "failed",
            LoginOutcome::Refused => "refused",
            LoginOutcome::Withdrawn => "withdrawn",
        };
        metrics::counter!("stet_logins_total", "by" => by, "outcome" => outcome).increment(1);
    }
}

/// Quotas with the attempts in progress that have taken from them.
struct AttemptQuotas<K: Hash + Eq + Copy> {
    budgets: Quotas<K>,
    /// Only keys with attempts in progress, so there are at most as many as concurrent calls.
    under_way: Mutex<HashMap<K, PendingAttempts>>,
}

/// The attempts in progress of one name, or from one address.
#[derive(Default)]
struct PendingAttempts {
    count: usize,
    /// Notified whenever one of them ends.
    ended: Arc<Notify>,
}

/// One unit that an attempt has taken from a budget. When it is dropped, the attempt is no longer
/// in progress, and the unit stays taken.
struct AttemptUnit<'a, K: Hash + Eq + Copy> {
    of: &'a AttemptQuotas<K>,
    key: K,
}

impl<K: Hash + Eq + Copy> AttemptQuotas<K> {
    fn new(quota: Quota) -> AttemptQuotas<K> {
        AttemptQuotas { budgets: Quotas::new(quota, MOST_QUOTAS), under_way: Mutex::default() }
    }

    /// Takes one unit, waiting as long as attempts in progress may return one. Returns the state of
    /// the budget if it is empty.
    async fn take(&self, key: K, clock: &dyn Clock) -> std::result::Result<AttemptUnit<'_, K>, QuotaBalance> {
        loop {
            let ended = {
                let mut under_way = self.under_way.lock();
                let (taken, standing) = self.budgets.take(key, clock.steady_ms());
                if taken {
                    under_way.entry(key).or_default().count += 1;
                    return Ok(AttemptUnit { of: self, key });
                }
                let Some(others) = under_way.get(&key) else { return Err(standing) };
                // Created before the lock is released, so that no later end is missed.
                others.ended.clone().notified_owned()
            };
            ended.await;
        }
    }
}

impl<K: Hash + Eq + Copy> Drop for AttemptUnit<'_, K> {
    fn drop(&mut self) {
        let mut under_way = self.of.under_way.lock();
        let Some(attempts) = under_way.get_mut(&self.key) else { return };
        attempts.count -= 1;
        attempts.ended.notify_waiters();
        if attempts.count == 0 {
            under_way.remove(&self.key);
        }
    }
}

impl LoginLimiter {
    /// Creates a limiter without failures.
    pub fn new(options: AttemptOptions) -> LoginLimiter {
        let quota = |limit: u32| (limit > 0).then(|| Quota::new(limit, options.window_seconds));
        LoginLimiter {
            users: quota(options.per_user).map(AttemptQuotas::new),
            anywhere: quota(options.per_user_anywhere).map(AttemptQuotas::new),
            addresses: quota(options.per_address).map(AttemptQuotas::new),
            known: Mutex::default(),
            names: RandomState::new(),
        }
    }

    /// Admits a login or refuses it; waits as long as that depends on attempts in progress.
    ///
    /// # Errors
    /// `TooManyRequests`, even with the right password: a different answer would allow further
    /// guessing.
    pub async fn begin(&self, user: &str, address: IpAddr, clock: &dyn Clock) -> Result<LoginAttempt<'_>> {
        self.of_user(user, address, clock).await.inspect_err(|_| LoginOutcome::Refused.count(CredentialKind::Password))
    }

    fn is_known(&self, at: &UserAtAddress) -> bool {
        self.known.lock().has(at)
    }

    async fn of_user(&self, user: &str, address: IpAddr, clock: &dyn Clock) -> Result<LoginAttempt<'_>> {
        let at @ (name, counted) = (self.names.hash_one(user), counted_as(address));
        // The address first: a blocked address must not exhaust the budgets of names. All attempts
        // take units in this order, so they can't block each other.
        let address = match self.take_of_address(counted, clock).await {
            Ok(unit) => unit,
            // The failures of a known user count at the address, but those of others there do not
            // keep the user out.
            Err(_) if self.users.is_some() && self.is_known(&at) => None,
            Err(balance) => return Err(login_refusal(balance, counted, "from this address")),
        };
        let user = match &self.users {
            Some(users) => {
                let taken = users.take(at, clock).await;
                Some(taken.map_err(|standing| login_refusal(standing, counted, "for this user from this address"))?)
            }
            None => None,
        };
        // Last of the three, for the same reason.
        let anywhere = match &self.anywhere {
            // Another login of the user may have succeeded while this one waited.
            Some(anywhere) if !self.is_known(&at) => {
                let taken = anywhere.take(name, clock).await;
                Some(taken.map_err(|standing| {
                    // The password was not checked, so this is no failure at the address, neither
                    // of the user nor of others there.
                    if let Some(user) = &user {
                        user.of.budgets.give_back(&user.key);
                    }
                    if let Some(address) = &address {
                        address.of.budgets.give_back(&address.key);
                    }
                    login_refusal(standing, counted, "for this user")
                })?)
            }
            _ => None,
        };
        Ok(LoginAttempt { of: self, at: Some(at), user, anywhere, address, outcome: LoginOutcome::Failed })
    }

    /// Records that a user is known at an address, because of a session from there.
    pub fn know(&self, user: &str, address: IpAddr) {
        self.known.lock().add((self.names.hash_one(user), counted_as(address)));
    }

    /// Resets all failures of a user, at all addresses.
    pub fn forgive(&self, user: &str) {
        let name = self.names.hash_one(user);
        if let Some(anywhere) = &self.anywhere {
            anywhere.budgets.fill(&name);
        }
        if let Some(users) = &self.users {
            users.budgets.fill_all(|(of, _)| *of == name);
        }
    }

    /// Admits a login whose user is not known before the check, as with a ticket; otherwise like
    /// [`LoginLimiter::begin`].
    ///
    /// # Errors
    /// The errors of [`LoginLimiter::begin`].
    pub async fn begin_nameless(&self, address: IpAddr, clock: &dyn Clock) -> Result<LoginAttempt<'_>> {
        let counted = counted_as(address);
        let address = self.take_of_address(counted, clock).await.map_err(|balance| {
            LoginOutcome::Refused.count(CredentialKind::Ticket);
            login_refusal(balance, counted, "from this address")
        })?;
        Ok(LoginAttempt { of: self, at: None, user: None, anywhere: None, address, outcome: LoginOutcome::Failed })
    }

    async fn take_of_address(
        &self,
        counted: IpAddr,
        clock: &dyn Clock,
    ) -> std::result::Result<Option<AttemptUnit<'_, IpAddr>>, QuotaBalance> {
        let Some(addresses) = &self.addresses else { return Ok(None) };
        addresses.take(counted, clock).await.map(Some)
    }
}

fn login_refusal(standing: QuotaBalance, address: IpAddr, whose: &str) -> Error {
    tracing::warn!(%address, "login refused: too many failed logins {whose}");
    let seconds = standing.retry_seconds;
    let message = format!("Too many logins have failed {whose}; try again in {}.", count_with_noun(seconds, "second"));
    Error::new(Code::TooManyRequests, message).with_detail("retryAfter", seconds)
}

impl LoginAttempt<'_> {
    /// Records that the password was right.
    pub fn succeeded(mut self) {
        self.outcome = LoginOutcome::Succeeded;
        if let Some(user) = &self.user {
            user.of.budgets.fill(&user.key);
        }
        if let Some(at) = self.at {
            self.of.known.lock().add(at);
        }
        self.give_back_others();
    }

    /// Records that the check could not be completed.
    pub fn withdrawn(mut self) {
        self.outcome = LoginOutcome::Withdrawn;
        if let Some(user) = &self.user {
            user.of.budgets.give_back(&user.key);
        }
        self.give_back_others();
    }

    fn give_back_others(&self) {
        if let Some(anywhere) = &self.anywhere {
            anywhere.of.budgets.give_back(&anywhere.key);
        }
        if let Some(address) = &self.address {
            address.of.budgets.give_back(&address.key);
        }
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        // Without a name it was a ticket, which names its user only once it has been checked.
        self.outcome.count(if self.at.is_some() { CredentialKind::Password } else { CredentialKind::Ticket });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use stet_domain::clock::ManualClock;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn attempts(per_user: u32, per_address: u32) -> LoginLimiter {
        LoginLimiter::new(AttemptOptions { per_user, per_user_anywhere: 0, per_address, window_seconds: 60 })
    }

    fn clock() -> ManualClock {
        ManualClock::at(1_700_000_000_000)
    }

    /// Begins an attempt that must not have to wait.
    fn begin<'a>(
        attempts: &'a LoginLimiter,
        user: &str,
        address: IpAddr,
        clock: &ManualClock,
    ) -> Result<LoginAttempt<'a>> {
        attempts.begin(user, address, clock).now_or_never().expect("nobody else is under way")
    }

    /// Returns the number of admitted attempts, all of which fail.
    fn failing(attempts: &LoginLimiter, user: &str, address: IpAddr, clock: &ManualClock) -> usize {
        (0..100).take_while(|_| begin(attempts, user, address, clock).is_ok()).count()
    }

    fn assert_nobody_is_under_way(attempts: &LoginLimiter) {
        assert!(attempts.users.as_ref().is_none_or(|users| users.under_way.lock().is_empty()));
        assert!(attempts.addresses.as_ref().is_none_or(|addresses| addresses.under_way.lock().is_empty()));
    }

    #[test]
    fn failures_block_the_name_at_its_address_and_nothing_else() {
        let (attempts, clock) = (attempts(3, 50), clock());
        assert_eq!(failing(&attempts, "ann", HERE, &clock), 3);
        assert_eq!(failing(&attempts, "ann", THERE, &clock), 3);
        assert_eq!(failing(&attempts, "bob", HERE, &clock), 3);
        let error = begin(&attempts, "ann", HERE, &clock).err().unwrap();
        assert_eq!((error.code, error.details.unwrap()["retryAfter"].as_u64()), (Code::TooManyRequests, Some(20)));
        clock.advance(Duration::from_millis(19_999));
        assert!(begin(&attempts, "ann", HERE, &clock).is_err());
        clock.advance(Duration::from_millis(1));
        assert!(begin(&attempts, "ann", HERE, &clock).is_ok());
        assert_nobody_is_under_way(&attempts);
    }

    fn anywhere(per_user: u32, per_user_anywhere: u32) -> LoginLimiter {
        LoginLimiter::new(AttemptOptions { per_user, per_user_anywhere, per_address: 0, window_seconds: 60 })
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, number))
    }

    #[test]
    fn guesses_from_many_addresses_are_limited_without_locking_out_known_ones() {
        let (attempts, clock) = (anywhere(3, 10), clock());
        begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        attempts.know("ann", address(200));
        let failed: usize = (0..100).map(|number| failing(&attempts, "ann", address(number), &clock)).sum();
        assert_eq!(failed, 10);
        assert_eq!(begin(&attempts, "ann", THERE, &clock).err().unwrap().code, Code::TooManyRequests);
        // A success at a known address allows no further guessing elsewhere.
        begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        assert!(begin(&attempts, "ann", THERE, &clock).is_err());
        // Failures count there, too.
        assert_eq!(failing(&attempts, "ann", HERE, &clock), 3);
        assert_eq!(failing(&attempts, "ann", address(200), &clock), 3);
        assert_eq!(failing(&attempts, "bob", THERE, &clock), 3);
        attempts.forgive("ann");
        begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        assert_eq!(failing(&attempts, "ann", THERE, &clock), 3);
        assert_eq!(failing(&attempts, "bob", THERE, &clock), 0, "of another nothing is forgotten");
        assert_nobody_is_under_way(&attempts);
    }

    #[test]
    fn refusals_due_to_guesses_elsewhere_do_not_count_for_the_address() {
        let options = AttemptOptions { per_user: 3, per_user_anywhere: 5, per_address: 4, window_seconds: 60 };
        let (attempts, clock) = (LoginLimiter::new(options), clock());
        let failed: usize = (0..20).map(|number| failing(&attempts, "ann", address(number), &clock)).sum();
        assert_eq!(failed, 5);
        for _ in 0..50 {
            assert!(begin(&attempts, "ann", HERE, &clock).is_err());
        }
        let tried = |n: &i32| begin(&attempts, &format!("user{n}"), HERE, &clock).is_ok();
        assert_eq!((0..100).take_while(tried).count(), 4);
        assert_nobody_is_under_way(&attempts);
    }

    #[test]
    fn a_success_at_a_new_address_takes_nothing_from_the_others() {
        let (attempts, clock) = (anywhere(3, 5), clock());
        for number in 0..50 {
            begin(&attempts, "ann", address(number), &clock).unwrap().succeeded();
        }
        let failed: usize = (100..150).map(|number| failing(&attempts, "ann", address(number), &clock)).sum();
        assert_eq!(failed, 5);
    }

    #[test]
    fn a_clock_that_is_set_changes_nothing() {
        let (attempts, clock) = (attempts(3, 50), clock());
        clock.advance(Duration::from_secs(3600));
        for set in [-600_000i64, 600_000, 86_400_000] {
            assert_eq!(failing(&attempts, "ann", HERE, &clock), 3);
            clock.set((clock.now_ms() as i64 + set) as u64);
            let error = begin(&attempts, "ann", HERE, &clock).err().expect("no time has passed");
            assert_eq!(error.details.unwrap()["retryAfter"].as_u64(), Some(20));
            clock.advance(Duration::from_secs(20));
            begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        }
    }

    #[test]
    fn an_address_is_blocked_whatever_names_it_tries_and_uses_up_no_name_then() {
        let (attempts, clock) = (attempts(3, 5), clock());
        let tried = |n: &i32| begin(&attempts, &format!("user{n}"), HERE, &clock).is_ok();
        assert_eq!((0..100).take_while(tried).count(), 5);
        assert_eq!(failing(&attempts, "ann", HERE, &clock), 0);
        assert_eq!(failing(&attempts, "ann", THERE, &clock), 3);
    }

    #[test]
    fn a_known_user_logs_in_from_an_address_that_is_blocked() {
        let (attempts, clock) = (attempts(3, 5), clock());
        begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        // Three of the first name, its refused attempt, which the address counts, and one of the
        // next.
        assert_eq!((0..9).map(|n| failing(&attempts, &format!("user{n}"), HERE, &clock)).sum::<usize>(), 4);
        begin(&attempts, "ann", HERE, &clock).unwrap().succeeded();
        assert!(begin(&attempts, "bob", HERE, &clock).is_err(), "not known there");
        assert_eq!(failing(&attempts, "ann", HERE, &clock), 3, "her own failures count");
        let fresh = self::attempts(3, 5);
        begin(&fresh, "ann", HERE, &clock).unwrap().succeeded();
        assert_eq!(failing(&fresh, "ann", HERE, &clock), 3);
        let others: usize = (0..9).map(|n| failing(&fresh, &format!("user{n}"), HERE, &clock)).sum();
        assert!(others < 3, "a known user's failures count at the address: {others}");
        assert_nobody_is_under_way(&attempts);
    }

    #[test]
    fn successful_logins_reset_the_name_and_refund_the_address_only_their_own() {
        let (attempts, clock) = (attempts(3, 5), clock());
        for _ in 0..20 {
            begin(&attempts, "own", HERE, &clock).unwrap().succeeded();
        }
        for _ in 0..5 {
            drop(begin(&attempts, "ann", HERE, &clock));
            if let Ok(own) = begin(&attempts, "own", HERE, &clock) {
                own.succeeded();
            }
        }
        // Three of `ann`, and two that found her name blocked but still came from the address.
        assert_eq!(failing(&attempts, "bob", HERE, &clock), 0);
        drop(begin(&attempts, "cleo", THERE, &clock));
        begin(&attempts, "cleo", THERE, &clock).unwrap().succeeded();
        assert_eq!(failing(&attempts, "cleo", THERE, &clock), 3);
    }

    #[test]
    fn one_that_could_not_be_checked_counts_for_nothing() {
        let (attempts, clock) = (attempts(3, 5), clock());
        for _ in 0..20 {
            begin(&attempts, "ann", HERE, &clock).unwrap().withdrawn();
        }
        assert_eq!(failing(&attempts, "ann", HERE, &clock), 3);
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(failing(&attempts(0, 0), "ann", HERE, &clock()), 100);
        assert_eq!(failing(&attempts(2, 0), "ann", HERE, &clock()), 2);
    }

    /// Begins forty attempts at once, and ends each with `end` some time after it was admitted.
    /// Returns the number admitted.
    async fn at_once(attempts: &LoginLimiter, clock: &ManualClock, end: impl Fn(LoginAttempt<'_>)) -> usize {
        let each = (0..40).map(|_| async {
            match attempts.begin("ann", HERE, clock).await {
                Ok(attempt) => {
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                    end(attempt);
                    true
                }
                Err(error) => {
                    assert_eq!(error.code, Code::TooManyRequests);
                    false
                }
            }
        });
        let passed = join_all(each).await.into_iter().filter(|passed| *passed).count();
        assert_nobody_is_under_way(attempts);
        passed
    }

    #[tokio::test]
    async fn concurrent_logins_all_succeed_if_right_and_fail_up_to_the_limit() {
        for (per_user, per_address) in [(3, 0), (0, 3), (3, 3), (1, 1)] {
            let (attempts, clock) = (attempts(per_user, per_address), clock());
            assert_eq!(at_once(&attempts, &clock, |attempt| attempt.succeeded()).await, 40);
            assert_eq!(at_once(&attempts, &clock, |attempt| attempt.withdrawn()).await, 40);
            let limit = per_user.max(per_address) as usize;
            assert_eq!(at_once(&attempts, &clock, |attempt| drop(attempt)).await, limit);
            assert_eq!(at_once(&attempts, &clock, |attempt| attempt.succeeded()).await, 0);
        }
    }

    #[test]
    fn waiting_logins_check_again_each_time_an_attempt_ends() {
        let (attempts, clock) = (attempts(2, 0), clock());
        let both = [(); 2].map(|()| begin(&attempts, "ann", HERE, &clock).unwrap());
        let [first, second] = both;
        let mut waiting = pin!(attempts.begin("ann", HERE, &clock));
        assert!(waiting.as_mut().now_or_never().is_none());
        // Another name does not have to wait.
        drop(begin(&attempts, "bob", HERE, &clock).unwrap());
        drop(first);
        assert!(waiting.as_mut().now_or_never().is_none(), "the second may still give back what it took");
        drop(second);
        assert!(waiting.as_mut().now_or_never().expect("both have ended").is_err());
        assert_nobody_is_under_way(&attempts);
    }

    #[test]
    fn waiting_logins_may_use_attempts_restored_in_the_meantime() {
        let (attempts, clock) = (attempts(2, 0), clock());
        let both = [(); 2].map(|()| begin(&attempts, "ann", HERE, &clock).unwrap());
        let mut waiting = pin!(attempts.begin("ann", HERE, &clock));
        assert!(waiting.as_mut().now_or_never().is_none());
        clock.advance(Duration::from_secs(30));
        let [first, _second] = both;
        drop(first);
        assert!(waiting.as_mut().now_or_never().expect("one has come back").is_ok());
    }

    #[test]
    fn a_success_lets_in_who_waits() {
        let (attempts, clock) = (attempts(1, 0), clock());
        let first = begin(&attempts, "ann", HERE, &clock).unwrap();
        let mut waiting = pin!(attempts.begin("ann", HERE, &clock));
        assert!(waiting.as_mut().now_or_never().is_none());
        first.succeeded();
        assert!(waiting.as_mut().now_or_never().expect("nobody is under way").is_ok());
    }
}
