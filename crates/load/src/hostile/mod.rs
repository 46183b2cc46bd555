//! Hostile clients beside a load: users who send everything that a server may have to refuse, and
//! strangers without a session.
//!
//! Each kind of client is a separate user and does one thing over and over, on a thread beside
//! those of the load. Its answers are counted by status. A refusal is no fault, an error of the
//! server is. `people` creates the users, `client` is their connection, and the files of `kinds`
//! implement the kinds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::LocalSet;

mod client;
mod kinds;
mod people;
mod picture;

use self::client::HostileClient;
use self::kinds::HostileKind;
use self::people::People;
pub use self::picture::black_picture;
use super::client::ServerTarget;
use super::desk::Desk;

/// The greatest number of hostile clients of one kind.
pub const MOST: u32 = 64;

/// The time that a client waits after a round without an answer, so that an unreachable server is
/// not called in a tight loop.
const BREATH: Duration = Duration::from_millis(50);

/// The nice value of the thread of hostile clients.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Counts of answers, by status and code, or by the reason why there was none.
pub type StatusCounts = BTreeMap<String, u64>;

/// The counted answers of one kind of client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// The number of completed rounds.
    pub rounds: u64,
    /// The number of calls.
    pub calls: u64,
    /// The answers by status.
    pub statuses: StatusCounts,
}

impl Tally {
    /// Returns the number of answers that are errors of the server: a status of 500 or more, except
    /// 503 and 507.
    pub fn faults(&self) -> u64 {
        let is_fault = |status: &str| {
            let number = status.split(' ').next().and_then(|number| number.parse::<u16>().ok());
            number.is_some_and(|number| number >= 500 && number != 503 && number != 507)
        };
        self.statuses.iter().filter(|(status, _)| is_fault(status)).map(|(_, count)| count).sum()
    }
}

/// The tallies of all kinds, by name.
pub type Tallies = Vec<(&'static str, Tally)>;

/// The running hostile clients.
pub struct HostileClients {
    people: People,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
    tallies: Vec<Arc<Mutex<Tally>>>,
}

impl HostileClients {
    /// Creates the users and starts this many clients of each kind, beside `clients` of the load
    /// itself.
    ///
    /// # Errors
    /// A sentence if the user may not create users, or if no thread can be started.
    pub async fn begin(desk: &mut Desk, each: u32, connection: &str, clients: u32) -> Result<HostileClients, String> {
        let people = People::create(desk, connection, each as usize, clients as usize).await?;
        let (target, _) = desk.pass();
        let (stop, stopped) = watch::channel(false);
        let tallies: Vec<Arc<Mutex<Tally>>> = HostileKind::ALL.iter().map(|_| Arc::default()).collect();
        let clients = tallies.iter().zip(HostileKind::ALL).flat_map(|(tally, kind)| {
            let people = &people;
            let target = target.clone();
            (0..each as usize).map(move |number| {
                let client = HostileClient::new(target.clone(), people, *kind, number, tally.clone());
                (*kind, client)
            })
        });
        let clients: Vec<(HostileKind, HostileClient)> = clients.collect();
        let work = move || run(clients, stopped);
        let thread = std::thread::Builder::new().name("hostile".to_owned()).spawn(work);
        let thread = thread.map_err(|error| format!("no thread can be started for hostile clients: {error}"))?;
        Ok(HostileClients { people, stop, thread: Some(thread), tallies })
    }

    /// Returns the token of a client of the load itself, which is a separate user beside hostile
    /// clients.
    pub fn colleague(&self, client: u32) -> Option<Arc<str>> {
        self.people.colleague(client as usize)
    }

    /// Stops the clients, revokes their rights and removes their messages. Returns their tallies.
    ///
    /// # Errors
    /// A sentence that names what remains.
    pub async fn end(mut self, desk: &mut Desk) -> (Tallies, Result<(), String>) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // Joining blocks, so another thread does it.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        let tallies =
            self.tallies.iter().zip(HostileKind::ALL).map(|(tally, kind)| (kind.name(), tally.lock().clone()));
        let tallies = tallies.collect();
        (tallies, self.people.dismiss(desk).await)
    }
}

impl Drop for HostileClients {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Runs all clients until they are stopped.
fn run(clients: Vec<(HostileKind, HostileClient)>, stopped: watch::Receiver<bool>) {
    // On the server's machine they use processor time that would otherwise be that of other
    // machines. A lower priority takes less of it from the newsroom. On Linux the priority is the
    // thread's own, and lowering it is never refused.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    LocalSet::new().block_on(&runtime, async {
        let works = clients.into_iter().map(|(kind, client)| {
            let mut stopped = stopped.clone();
            tokio::task::spawn_local(async move {
                tokio::select! {
                    () = work(kind, client) => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {}
                }
            })
        });
        futures_util::future::join_all(works.collect::<Vec<_>>()).await;
    });
}

/// Repeats the rounds of a kind.
async fn work(kind: HostileKind, mut client: HostileClient) {
    let mut round = 0;
    loop {
        let before = client.answered();
        kind.round(&mut client, round).await;
        client.complete_round();
        round += 1;
        if client.answered() == before {
            tokio::time::sleep(BREATH).await;
        }
    }
}

/// The target of a client, for the parts of this module.
type SharedTarget = Arc<ServerTarget>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_server_are_faults_and_refusals_are_not() {
        let statuses =
            ["200", "400 InvalidBody", "503 Overloaded", "507 StorageFull", "500 RepositoryError", "502", "timeout"];
        let statuses = statuses.into_iter().map(|status| (status.to_owned(), 1)).collect();
        assert_eq!(Tally { rounds: 1, calls: 7, statuses }.faults(), 2);
    }

    #[test]
    fn kinds_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = HostileKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), HostileKind::ALL.len());
        assert!(names.len() > 13, "{names:?}");
    }
}
