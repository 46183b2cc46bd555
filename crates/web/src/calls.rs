//! The limit on the number of calls of a client. A call counts for its session if it has one,
//! otherwise for its address.
//!
//! A call with an invalid token has no session, so calls with made-up tokens count for their
//! address. A session's balance is stored in the session itself: it needs no look-up, and there are
//! at most as many balances as sessions.

use std::net::IpAddr;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use stet_auth::LiveSession;
use stet_base::limits::{MOST_QUOTAS, Quota, QuotaBalance, Quotas, counted_as};
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};

/// The period of the limit, in seconds.
const WINDOW_SECONDS: u64 = 60;

// The three fields that clients know, from the drafts of "RateLimit fields for HTTP" up to the
// sixth. Later drafts use structured fields instead, which hardly any client reads yet.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The rate limit for calls.
pub struct CallLimit {
    quota: Quota,
    addresses: Quotas<IpAddr>,
}

impl CallLimit {
    /// Creates a limit of that number of calls a minute; `None` for 0.
    pub fn new(calls_per_minute: u32) -> Option<CallLimit> {
        let quota = (calls_per_minute > 0).then(|| Quota::new(calls_per_minute, WINDOW_SECONDS))?;
        Some(CallLimit { quota, addresses: Quotas::new(quota, MOST_QUOTAS) })
    }

    /// Counts a call. Returns the state of its quota in any case.
    ///
    /// # Errors
    /// `TooManyRequests`.
    pub fn count(&self, session: Option<&LiveSession>, address: IpAddr, now_ms: u64) -> (Result<()>, QuotaBalance) {
        let (taken, standing) = match session {
            Some(session) => self.quota.take_shared(session.calls(), now_ms),
            None => self.addresses.take(counted_as(address), now_ms),
        };
        let outcome = if taken { Ok(()) } else { Err(refusal(&standing)) };
        (outcome, standing)
    }
}

fn refusal(standing: &QuotaBalance) -> Error {
    let QuotaBalance { limit, retry_seconds, .. } = standing;
    let message = format!(
        "More than {} in a minute; try again in {}.",
        count_with_noun(*limit, "call"),
        count_with_noun(*retry_seconds, "second")
    );
    Error::new(Code::TooManyRequests, message).with_detail("retryAfter", *retry_seconds)
}

/// Reports the state of the quota to the client, in headers.
pub fn report(standing: &QuotaBalance, headers: &mut HeaderMap) {
    headers.insert(LIMIT, HeaderValue::from(standing.limit));
    headers.insert(REMAINING, HeaderValue::from(standing.remaining));
    headers.insert(RESET, HeaderValue::from(standing.reset_seconds));
}
