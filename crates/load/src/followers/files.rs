//! The system's limit for the connections of a process.

/// Open files besides connections: of the runtimes, the report, standard streams.
const BESIDE: u64 = 64;

/// Raises the limit for this number of connections, up to what the system allows.
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
