//! Whether the system lets a process have as many connections as it wants.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connection: the runtimes' own, the report, standard streams.
const BESIDE: u64 = 64;

/// Makes room for so many connections, up to what the system allows.
///
/// # Errors
/// A sentence that names the number and the limit.
pub fn make_room(connections: u64) -> Result<(), String> {
    let wanted = connections + BESIDE;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None is no limit.
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let too_low = |limit: Option<u64>| {
        let limit = limit.map_or("unknown".to_owned(), |limit| limit.to_string());
        format!(
            "`clients` and `followers` want {connections} connections, each an open file, and the limit of open files is {limit}: \
             raise it (ulimit -n {wanted}) or follow with fewer; the server needs as many"
        )
    };
    if maximum.is_some_and(|maximum| maximum < wanted) {
        return Err(too_low(maximum));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_err(|_| too_low(current))
}
