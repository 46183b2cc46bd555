//! The shared fixture of these tests: the parts of a server that matter here, over a store that a
//! test can make fail.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_actors::runtime::RuntimeOptions;
use stet_domain::clock::{Clock, ManualClock};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::DatabaseId;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ChangeSet, KeyRange, ReadLevel, RowReader, Store, Table, decode_value, encode_value};

use super::password::MAX_PASSWORD_BYTES;
use super::token::{Token, TokenHash};
use super::*;
use crate::Privilege;

mod administrators;
mod directory;
mod keys;
mod limits;
mod locks;
mod secrets;
mod sessions;
mod settled;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
const PASSWORD: &str = "correct horse";

/// The least that Argon2 does.
const CHEAP: PasswordOptions = PasswordOptions { memory_kib: 8, iterations: 1, lanes: 1 };

const RULES: PasswordRules = PasswordRules { min_length: 8 };

/// The outcome of what waits for nothing but a store that commits at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it waits for something else"),
    }
}

/// The parts of a server that matter here. A second one over the same store shows the state after a
/// restart.
struct Server {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
    directory: Arc<Directory>,
    sessions: Arc<Sessions>,
}

impl Server {
    async fn start(store: &Arc<MemoryStore>, clock: &ManualClock, passwords: PasswordOptions) -> Server {
        let options = SessionOptions { per_user: 0, ..SessionOptions::default() };
        Server::start_with(store, clock, passwords, options).await
    }

    async fn start_with(
        store: &Arc<MemoryStore>,
        clock: &ManualClock,
        passwords: PasswordOptions,
        options: SessionOptions,
    ) -> Server {
        let repository =
            Repository::start(store.clone(), Arc::new(clock.clone()), RuntimeOptions::default()).await.unwrap();
        let directory = Arc::new(Directory::new(repository.clone(), Passwords::new(passwords, RULES).unwrap(), false));
        let sessions = Arc::new(Sessions::new(repository.clone(), directory.clone(), options));
        Server { store: store.clone(), clock: clock.clone(), repository, directory, sessions }
    }

    /// Starts a server with the user `ada`, who can log in.
    async fn new() -> Server {
        Server::with(CHEAP).await
    }

    async fn with(passwords: PasswordOptions) -> Server {
        let server = Server::start(&Arc::default(), &ManualClock::at(1_700_000_000_000), passwords).await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("ada")).await.unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("ada", PASSWORD).await.unwrap();
        server
    }

    async fn restart(&self) -> Server {
        Server::start(&self.store, &self.clock, CHEAP).await
    }

    async fn log_in(&self) -> NewSession {
        self.sessions.log_in("web", "swing", "ada", PASSWORD, "192.0.2.7").await.unwrap()
    }

    async fn refused(&self, user: &str, password: &str) -> Error {
        self.sessions.log_in("web", "swing", user, password, "").await.unwrap_err()
    }

    fn is_good(&self, new: &NewSession) -> bool {
        match self.sessions.find(new.token.text()) {
            Ok(found) => {
                assert_eq!(found.id(), new.session.id());
                true
            }
            Err(error) => {
                assert_eq!(error.code, Code::InvalidToken);
                assert!(!format!("{error:?}").contains(new.token.text()));
                false
            }
        }
    }

    /// Returns the changes of keys that the audit trail has: kind and key.
    fn told_of_keys(&self) -> Vec<(String, String)> {
        let of_keys = self.store.events().into_iter().filter(|event| event.kind.starts_with("key."));
        of_keys.map(|event| (event.kind, event.ids.join(" "))).collect()
    }

    fn rows(&self) -> Vec<Session> {
        let rows =
            self.store.scan(ReadLevel::Committed, Table::Sessions, &KeyRange::prefix(&[]), usize::MAX, false).unwrap();
        rows.iter().map(|(_, row)| decode_value(1, row).unwrap()).collect()
    }

    fn privileges(&self) -> Vec<Privilege> {
        self.directory.rights_of("ada").unwrap().everywhere().iter().collect()
    }

    async fn put_group(&self, name: &str, privileges: &[(Privilege, Option<&str>)]) {
        let grant = |(privilege, folder): &(Privilege, Option<&str>)| Grant {
            privilege: *privilege,
            folder: folder.map(str::to_owned),
        };
        let privileges = privileges.iter().map(grant).collect();
        let group = UserGroup { name: name.into(), description: String::new(), privileges };
        self.directory.by(CallerIdentity::operator()).put_group(group).await.unwrap();
    }
}

/// Containers run on arbiters, so a repository needs an actix system.
fn run<T>(test: impl Future<Output = T>) -> T {
    actix::System::new().block_on(test)
}
