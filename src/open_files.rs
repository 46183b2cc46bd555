//! How many files a process may have open. Each connection is one, and the limit that a process begins with is often 1,024, for the
//! sake of programs of old.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to `wanted`, or as far as the system allows. Gives what it is then; `None` is no limit.
pub fn raise(wanted: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let most = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = current.is_some_and(|current| current < most)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum }).is_ok();
    if raised { Some(most) } else { current }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_wanted_and_as_it_goes() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let most = maximum.unwrap_or(100_000);
        // Enough for the tests beside this one.
        let lower = most - most / 4;
        setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum }).expect("it may be lowered");
        assert_eq!(raise(lower - 1), Some(lower), "it is never lowered");
        assert_eq!(raise(lower + 1), Some(lower + 1));
        assert_eq!(getrlimit(Resource::Nofile).current, Some(lower + 1));
        assert_eq!(raise(most), Some(most));
        assert_eq!(raise(u64::MAX), maximum.or(Some(u64::MAX)));
    }
}
