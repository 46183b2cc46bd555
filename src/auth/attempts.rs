//! How often a login may fail (decisions 4: logins are rate-limited per user and address).
//!
//! Each attempt takes one from the budgets of its address and of its user name before the password is looked at, so that
//! many at once get no further than many in a row. A failure leaves them taken. A success makes the user's budget whole
//! and gives the address back the one that it took, no more: who has a password of their own can't use it to guess on.
//!
//! Names are counted as they come, known or not, so that a refusal tells nothing of whether there is such a user. Kept
//! of a name is a hash under a random key: eight bytes, however long it is.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use stet_actors::error::{Code, Error, Result};

use crate::limits::{Budgets, MOST_BUDGETS, Quota, Standing, counted_as};

/// How often a login may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptOptions {
    /// Failures of one user name in the window; 0 is no limit.
    pub per_user: u32,
    /// Failures from one address in the window; 0 is no limit.
    pub per_address: u32,
    /// Seconds over which a budget comes back.
    pub window_seconds: u64,
}

/// See the module's head.
pub struct Attempts {
    users: Option<Budgets<u64>>,
    addresses: Option<Budgets<IpAddr>>,
    names: RandomState,
}

/// A login that was let through to the password check. Dropped, it counts as one that failed.
#[must_use]
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    user: u64,
    address: IpAddr,
}

impl Attempts {
    /// Nobody has failed yet.
    pub fn new(options: AttemptOptions) -> Attempts {
        let quota = |limit: u32| (limit > 0).then(|| Quota::new(limit, options.window_seconds));
        Attempts {
            users: quota(options.per_user).map(|quota| Budgets::new(quota, MOST_BUDGETS)),
            addresses: quota(options.per_address).map(|quota| Budgets::new(quota, MOST_BUDGETS)),
            names: RandomState::new(),
        }
    }

    /// Lets a login through, or not.
    ///
    /// # Errors
    /// `TooManyRequests`, also with the right password: an answer that tells it from a wrong one would go on with the
    /// guessing.
    pub fn begin(&self, user: &str, address: IpAddr, now_ms: u64) -> Result<Attempt<'_>> {
        let (user, address) = (self.names.hash_one(user), counted_as(address));
        // The address first: who may not try at all must not use up others' names.
        if let Some(addresses) = &self.addresses {
            refuse_unless(addresses.take(address, now_ms), address, "from this address")?;
        }
        if let Some(users) = &self.users {
            refuse_unless(users.take(user, now_ms), address, "for this user")?;
        }
        Ok(Attempt { attempts: self, user, address })
    }
}

fn refuse_unless((taken, standing): (bool, Standing), address: IpAddr, whose: &str) -> Result<()> {
    if taken {
        return Ok(());
    }
    tracing::warn!(%address, "login refused: too many have failed {whose}");
    let seconds = standing.retry_seconds;
    let message = format!("Too many logins have failed {whose}; try again in {seconds} seconds.");
    Err(Error::new(Code::TooManyRequests, message).with_detail("retryAfter", seconds))
}

impl Attempt<'_> {
    /// The password was right.
    pub fn succeeded(self) {
        if let Some(users) = &self.attempts.users {
            users.fill(&self.user);
        }
        self.give_back_address();
    }

    /// Whether the password was right could not be found out.
    pub fn withdrawn(self) {
        if let Some(users) = &self.attempts.users {
            users.give_back(&self.user);
        }
        self.give_back_address();
    }

    fn give_back_address(&self) {
        if let Some(addresses) = &self.attempts.addresses {
            addresses.give_back(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn attempts(per_user: u32, per_address: u32) -> Attempts {
        Attempts::new(AttemptOptions { per_user, per_address, window_seconds: 60 })
    }

    /// How many attempts are let through, all of which fail.
    fn failing(attempts: &Attempts, user: &str, address: IpAddr) -> usize {
        (0..100).take_while(|_| attempts.begin(user, address, NOW).is_ok()).count()
    }

    #[test]
    fn failures_block_the_name_from_everywhere_and_no_other() {
        let attempts = attempts(3, 50);
        assert_eq!(failing(&attempts, "ann", HERE), 3);
        assert_eq!(failing(&attempts, "ann", THERE), 0);
        assert_eq!(failing(&attempts, "bob", HERE), 3);
        let error = attempts.begin("ann", HERE, NOW).err().unwrap();
        assert_eq!((error.code, error.details.unwrap()["retryAfter"].as_u64()), (Code::TooManyRequests, Some(20)));
        assert!(attempts.begin("ann", HERE, NOW + 19_999).is_err());
        assert!(attempts.begin("ann", HERE, NOW + 20_000).is_ok());
    }

    #[test]
    fn an_address_is_blocked_whatever_names_it_tries_and_uses_up_no_name_then() {
        let attempts = attempts(3, 5);
        let tried = (0..100).take_while(|n| attempts.begin(&format!("user{n}"), HERE, NOW).is_ok()).count();
        assert_eq!(tried, 5);
        assert_eq!(failing(&attempts, "ann", HERE), 0);
        assert_eq!(failing(&attempts, "ann", THERE), 3);
    }

    #[test]
    fn a_success_makes_the_name_whole_and_gives_the_address_no_more_than_it_took() {
        let attempts = attempts(3, 5);
        for _ in 0..20 {
            attempts.begin("own", HERE, NOW).unwrap().succeeded();
        }
        for _ in 0..5 {
            drop(attempts.begin("ann", HERE, NOW));
            if let Ok(own) = attempts.begin("own", HERE, NOW) {
                own.succeeded();
            }
        }
        // Three of `ann`, and two that met her name blocked: they came from the address all the same.
        assert_eq!(failing(&attempts, "bob", HERE), 0);
        drop(attempts.begin("cleo", THERE, NOW));
        attempts.begin("cleo", THERE, NOW).unwrap().succeeded();
        assert_eq!(failing(&attempts, "cleo", THERE), 3);
    }

    #[test]
    fn one_that_could_not_be_checked_counts_for_nothing() {
        let attempts = attempts(3, 5);
        for _ in 0..20 {
            attempts.begin("ann", HERE, NOW).unwrap().withdrawn();
        }
        assert_eq!(failing(&attempts, "ann", HERE), 3);
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(failing(&attempts(0, 0), "ann", HERE), 100);
        assert_eq!(failing(&attempts(2, 0), "ann", HERE), 2);
    }
}
