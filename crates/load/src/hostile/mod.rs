//! Hostile clients beside a load: users who ask for all that a server may have to refuse, and
//! strangers without a session.
//!
//! Each kind of client is a user of its own and does one thing over and over, on a thread beside
//! those of the load. What it is answered is counted by status; a refusal is no fault, an error of
//! the server is. `people` creates the users, `client` is what each of them works with, and the
//! files of `kinds` say what each kind does.

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
use self::kinds::Kind;
use self::people::People;
pub use self::picture::black_picture;
use super::client::Target;
use super::desk::Desk;

/// The most hostile clients of one kind.
pub const MOST: u32 = 64;

/// Time that a client waits after a round in which nothing was answered, so that a server that is
/// away is not asked as fast as the processor can.
const BREATH: Duration = Duration::from_millis(50);

/// The nice value of the thread of hostile clients.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Answers by status and code, or by what was answered instead.
pub type Statuses = BTreeMap<String, u64>;

/// The answers that the clients of one kind have had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Rounds that were completed.
    pub rounds: u64,
    /// Calls that were sent.
    pub calls: u64,
    /// Their answers.
    pub statuses: Statuses,
}

impl Tally {
    /// The number of answers that are an error of the server: a status of 500 or more, but for 503
    /// and 507.
    pub fn faults(&self) -> u64 {
        let is_fault = |status: &str| {
            let number = status.split(' ').next().and_then(|number| number.parse::<u16>().ok());
            number.is_some_and(|number| number >= 500 && number != 503 && number != 507)
        };
        self.statuses.iter().filter(|(status, _)| is_fault(status)).map(|(_, count)| count).sum()
    }
}

/// The answers of all kinds, by name.
pub type Tallies = Vec<(&'static str, Tally)>;

/// Hostile clients that are at work.
pub struct Hostile {
    people: People,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
    tallies: Vec<Arc<Mutex<Tally>>>,
}

impl Hostile {
    /// Creates the users and begins, with this many clients of each kind beside `clients` of the
    /// load itself.
    ///
    /// # Errors
    /// A sentence: the user may not create users, or no thread can be had.
    pub async fn begin(desk: &mut Desk, each: u32, connection: &str, clients: u32) -> Result<Hostile, String> {
        let people = People::create(desk, connection, each as usize, clients as usize).await?;
        let (target, _) = desk.pass();
        let (stop, stopped) = watch::channel(false);
        let tallies: Vec<Arc<Mutex<Tally>>> = Kind::ALL.iter().map(|_| Arc::default()).collect();
        let clients = tallies.iter().zip(Kind::ALL).flat_map(|(tally, kind)| {
            let people = &people;
            let target = target.clone();
            (0..each as usize).map(move |number| {
                let client = HostileClient::new(target.clone(), people, *kind, number, tally.clone());
                (*kind, client)
            })
        });
        let clients: Vec<(Kind, HostileClient)> = clients.collect();
        let work = move || run(clients, stopped);
        let thread = std::thread::Builder::new().name("hostile".to_owned()).spawn(work);
        let thread = thread.map_err(|error| format!("no thread can be started for hostile clients: {error}"))?;
        Ok(Hostile { people, stop, thread: Some(thread), tallies })
    }

    /// The token of a client of the load itself, which is a user of its own beside hostile clients.
    pub fn colleague(&self, client: u32) -> Option<Arc<str>> {
        self.people.colleague(client as usize)
    }

    /// Stops the clients, takes their rights away and removes their messages; returns what they
    /// were answered.
    ///
    /// # Errors
    /// A sentence that says what is left behind.
    pub async fn end(mut self, desk: &mut Desk) -> (Tallies, Result<(), String>) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A blocking call, which another thread makes so that this one can go on.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        let tallies = self.tallies.iter().zip(Kind::ALL).map(|(tally, kind)| (kind.name(), tally.lock().clone()));
        let tallies = tallies.collect();
        (tallies, self.people.dismiss(desk).await)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Runs all clients until they are stopped.
fn run(clients: Vec<(Kind, HostileClient)>, stopped: watch::Receiver<bool>) {
    // On the machine of the server they take processor time that in earnest would be other
    // machines': less of it is that of the newsroom. On Linux the priority is the thread's own, and
    // lowering it is never refused.
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

/// Does what a kind does, over and over.
async fn work(kind: Kind, mut client: HostileClient) {
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
type Server = Arc<Target>;

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
        let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        assert!(names.len() > 13, "{names:?}");
    }
}
