//! The limits on what a caller may use (docs/LIMITS.md):
//!
//! - Memory: [`MemoryBudget`], buffers that grow within it ([`GrowingBuffer`]), and caches of a
//!   bounded size ([`bounded_cache`]).
//! - Time on shared threads: [`CallTask`], loops that yield ([`yielding`], [`RowPager`]), and work
//!   on threads of its own ([`offload`]).
//! - Turns for work of which only a few pieces run at a time: [`FairQueue`], [`SharedWork`],
//!   [`LargeChangeQueue`].
//! - Uses in a period: [`Quota`], [`Quotas`].
//!
//! A quota's whole state is one number, the time at which it will be full again (the generic cell
//! rate algorithm). The current time is an input. So nothing runs in the background, and the rules
//! are tested without waiting.

pub mod bounded_cache;
mod call_task;
mod fair_queue;
mod growing_buffer;
mod large_changes;
mod memory;
pub mod offload;
mod quota;
mod quotas;
mod reserve_shares;
mod row_pager;
mod shared_work;
mod turn_clock;
pub mod yielding;

use std::net::{IpAddr, Ipv6Addr};

#[cfg(any(test, feature = "testing"))]
pub use self::call_task::with_behalf;
pub use self::call_task::{
    CallTask, ChangeMark, SLICE, TimeSlices, as_server, begin_call, behalf, change_mark, give_way, may_be_refused,
    on_behalf_of,
};
pub use self::fair_queue::{FairQueue, WorkPermit};
pub use self::growing_buffer::GrowingBuffer;
pub use self::large_changes::LargeChangeQueue;
pub use self::memory::{Holder, MemoryBudget, MemoryPurpose, PIECE, Reservation, SharedReservation};
pub use self::quota::{Quota, QuotaBalance};
pub use self::quotas::Quotas;
pub use self::row_pager::RowPager;
pub use self::shared_work::{SharedOutcome, SharedWork};
pub use self::turn_clock::turn_processor_time;

/// The largest number of balances kept for one purpose: some 5 MB if all are in use.
pub const MOST_QUOTAS: usize = 65_536;

/// Returns the address under which a client is counted: its own, or for IPv6 its network of 64
/// bits, because all addresses of that belong to one customer.
pub fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(whole) => {
            let [a, b, c, d, ..] = whole.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_and_a_mapped_address_as_what_it_maps() {
        let counted = |text: &str| counted_as(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("192.0.2.7"), "192.0.2.7");
    }
}
