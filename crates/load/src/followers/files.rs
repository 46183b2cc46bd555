//! Whether the system lets a process have as many connections as it wants.

/// Open files that are not connections: the runtimes' own, the report, standard streams.
const BESIDE: u64 = 64;

/// Makes room for so many connections, up to what the system allows.
///
/// # Errors
/// A sentence that names the number and the limit.
pub fn make_room(connections: u64) -> Result<(), String> {
    let wanted = connections + BESIDE;
    match rlimit::increase_nofile_limit(wanted) {
        Ok(limit) if limit < wanted => Err(format!(
            "`clients` and `followers` want {connections} connections, each an open file, and the limit of open files is {limit}: \
             raise it (ulimit -n {wanted}) or follow with fewer; the server needs as many"
        )),
        _ => Ok(()),
    }
}
