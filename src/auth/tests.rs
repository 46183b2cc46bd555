use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use stet_actors::clock::{Clock, ManualClock};
use stet_actors::error::{Code, Error};
use stet_actors::folder::root;
use stet_actors::id::DatabaseId;
use stet_actors::repository::Repository;
use stet_actors::runtime::RuntimeOptions;
use stet_actors::store::memory::MemoryStore;
use stet_actors::store::{
    ChangeSet, Epoch, Health, Look, Range, Refusal, Seq, Store, StoreError, Table, View, decode_value, encode_value,
};

use super::*;
use crate::http::route::Privilege;

mod keys;
mod limits;
mod locks;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
const PASSWORD: &str = "correct horse";

/// The least that Argon2 does.
const CHEAP: PasswordOptions = PasswordOptions { memory_kib: 8, iterations: 1, lanes: 1 };

type Step = Box<dyn FnOnce() + Send>;

/// A store in memory that lets a test step in between the reading of a row and what is done with it.
#[derive(Default)]
struct TestStore {
    memory: MemoryStore,
    after_read: Mutex<Option<(Table, Step)>>,
}

impl TestStore {
    fn after_next_read_of(&self, table: Table, run: impl FnOnce() + Send + 'static) {
        *self.after_read.lock() = Some((table, Box::new(run)));
    }
}

impl std::ops::Deref for TestStore {
    type Target = MemoryStore;

    fn deref(&self) -> &MemoryStore {
        &self.memory
    }
}

impl Look for TestStore {
    fn get(&self, view: View, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value = self.memory.get(view, table, key);
        let run = self.after_read.lock().take_if(|(wanted, _)| *wanted == table);
        if let Some((_, run)) = run {
            run();
        }
        value
    }

    fn scan(
        &self,
        view: View,
        table: Table,
        range: &Range,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.memory.scan(view, table, range, limit, backwards)
    }
}

impl Store for TestStore {
    fn submit(&self, set: ChangeSet) -> Result<Seq, Box<Refusal>> {
        self.memory.submit(set)
    }

    fn epoch(&self) -> Epoch {
        self.memory.epoch()
    }

    fn committed(&self) -> Seq {
        self.memory.committed()
    }

    fn health(&self) -> Health {
        self.memory.health()
    }
}

/// The outcome of what waits for nothing but a store that commits at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it waits for something else"),
    }
}

/// A server as far as it matters here; another one over the same store is what is there after a restart.
struct Server {
    store: Arc<TestStore>,
    clock: ManualClock,
    repository: Repository,
    directory: Arc<Directory>,
    sessions: Arc<Sessions>,
}

impl Server {
    async fn start(store: &Arc<TestStore>, clock: &ManualClock, passwords: PasswordOptions) -> Server {
        let options = SessionOptions { per_user: 0, ..SessionOptions::default() };
        Server::start_with(store, clock, passwords, options).await
    }

    async fn start_with(
        store: &Arc<TestStore>,
        clock: &ManualClock,
        passwords: PasswordOptions,
        options: SessionOptions,
    ) -> Server {
        let repository =
            Repository::start(store.clone(), Arc::new(clock.clone()), RuntimeOptions::default()).await.unwrap();
        let directory = Arc::new(Directory::new(repository.clone(), Passwords::new(passwords).unwrap()));
        let sessions = Arc::new(Sessions::new(repository.clone(), directory.clone(), options));
        Server { store: store.clone(), clock: clock.clone(), repository, directory, sessions }
    }

    /// With the user `ada`, who can log in.
    async fn new() -> Server {
        Server::with(CHEAP).await
    }

    async fn with(passwords: PasswordOptions) -> Server {
        let server = Server::start(&Arc::default(), &ManualClock::at(1_700_000_000_000), passwords).await;
        server.directory.put_user(User::new("ada")).await.unwrap();
        server.directory.set_password("ada", PASSWORD).await.unwrap();
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

    fn rows(&self) -> Vec<Session> {
        let rows = self.store.scan(View::Committed, Table::Sessions, &Range::prefix(&[]), usize::MAX, false).unwrap();
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
        let group = Group { name: name.into(), description: String::new(), privileges };
        self.directory.put_group(group).await.unwrap();
    }
}

/// Containers run on arbiters, so a repository needs an actix system.
fn run<T>(test: impl Future<Output = T>) -> T {
    actix::System::new().block_on(test)
}

#[test]
fn a_session_ends_when_idle_and_each_use_puts_that_off() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        for _ in 0..3 {
            server.clock.advance(4 * HOUR - SECOND);
            assert!(server.is_good(&new));
        }
        server.clock.advance(4 * HOUR);
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&new), "asking is no use");
    });
}

#[test]
fn a_session_ends_at_the_absolute_limit_however_much_it_is_used() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        assert_eq!(new.session.session().expires_ms, server.clock.now_ms() + 24 * 3_600_000);
        for _ in 0..23 {
            server.clock.advance(HOUR);
            assert!(server.is_good(&new));
        }
        server.clock.advance(HOUR - SECOND);
        assert!(server.is_good(&new));
        server.clock.advance(SECOND);
        assert!(!server.is_good(&new));
    });
}

#[test]
fn using_a_session_writes_nothing_until_the_flush() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let unused = server.log_in().await;
        let before = server.store.rows();
        server.clock.advance(HOUR);
        for _ in 0..100 {
            assert!(server.is_good(&new));
        }
        assert_eq!(server.store.rows(), before);
        assert_eq!(server.sessions.flush().await.unwrap(), 1);
        let seen_ms =
            |of: &NewSession| server.rows().iter().find(|row| row.id == *of.session.id()).unwrap().last_seen_ms;
        assert_eq!(seen_ms(&new), server.clock.now_ms());
        assert_eq!(seen_ms(&unused), unused.session.session().created_ms);
        assert_eq!(server.sessions.flush().await.unwrap(), 0);
    });
}

#[test]
fn what_one_flush_could_not_write_the_next_one_does() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.clock.advance(HOUR);
        assert!(server.is_good(&new));
        server.store.fail_next();
        assert!(server.sessions.flush().await.is_err());
        assert_eq!(server.sessions.flush().await.unwrap(), 1);
        assert_eq!(server.rows()[0].last_seen_ms, server.clock.now_ms());
    });
}

#[test]
fn a_token_is_good_after_a_restart() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let server = server.restart().await;
        assert_eq!(server.sessions.in_memory(), 0);
        assert!(server.is_good(&new));
        let found = server.sessions.find(new.token.text()).unwrap();
        assert_eq!(found.session(), new.session.session());
        assert_eq!(server.sessions.in_memory(), 1);
    });
}

#[test]
fn after_a_restart_the_idle_time_counts_from_the_last_recorded_use_and_the_flush_interval() {
    run(async {
        let server = Server::new().await;
        let (new, other) = (server.log_in().await, server.log_in().await);
        server.clock.advance(HOUR);
        assert!(server.is_good(&new) && server.is_good(&other));
        server.sessions.flush().await.unwrap();
        // Not recorded before the crash: what the grace is for.
        server.clock.advance(MINUTE);
        assert!(server.is_good(&new));
        server.clock.advance(HOUR);

        let server = server.restart().await;
        server.clock.advance(3 * HOUR - SECOND);
        assert!(server.is_good(&new), "a minute past the idle time since the recorded use, less a second");
        server.clock.advance(SECOND);
        assert!(!server.is_good(&other));
        assert!(server.is_good(&new), "from here on as ever");
    });
}

#[test]
fn the_grace_after_a_restart_reaches_no_further_than_the_restart() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.clock.advance(SECOND);
        let server = server.restart().await;
        server.clock.advance(4 * HOUR);
        assert!(!server.is_good(&new));
    });
}

#[test]
fn a_session_that_has_expired_does_not_come_back_from_its_row() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.clock.advance(4 * HOUR - SECOND);
        assert!(server.is_good(&new));
        server.sessions.flush().await.unwrap();
        server.clock.advance(4 * HOUR);
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.sweep().await.unwrap(), 1);
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.in_memory(), 0);
    });
}

#[test]
fn a_token_is_no_good_after_its_logout_nor_after_a_restart() {
    run(async {
        let server = Server::new().await;
        let (new, other) = (server.log_in().await, server.log_in().await);
        server.sessions.end(new.token.text()).await.unwrap();
        assert!(!server.is_good(&new));
        assert!(server.is_good(&other));
        let again = server.sessions.end(new.token.text()).await.unwrap_err();
        assert_eq!(again.code, Code::InvalidToken);
        assert_eq!(server.rows().len(), 1);
        assert_eq!(server.sessions.in_memory(), 1);
        assert!(!server.restart().await.is_good(&new));
    });
}

#[test]
fn a_logout_works_for_a_session_that_is_not_in_memory() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let server = server.restart().await;
        server.sessions.end(new.token.text()).await.unwrap();
        assert!(!server.is_good(&new));
        assert!(server.rows().is_empty());
    });
}

#[test]
fn a_logout_that_the_disk_refuses_holds_all_the_same_and_is_made_to_last_by_the_sweep() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.clock.advance(SECOND);
        server.store.fail_next();
        assert!(server.sessions.end(new.token.text()).await.is_err());
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.flush().await.unwrap(), 0, "nor is it written back");
        assert_eq!(server.sessions.sweep().await.unwrap(), 1);
        assert!(server.rows().is_empty());
    });
}

#[test]
fn a_token_is_dead_while_its_logout_is_on_its_way_to_the_disk() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.store.hold();
        let sessions = server.sessions.clone();
        let token = new.token.clone();
        let logout = actix::spawn(async move { sessions.end(token.text()).await });
        while server.store.pending() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(!server.is_good(&new));
        server.store.release();
        logout.await.unwrap().unwrap();
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.in_memory(), 0);
    });
}

#[test]
fn a_session_read_while_it_is_ended_does_not_come_back() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let server = server.restart().await;
        let (sessions, token) = (server.sessions.clone(), new.token.clone());
        server.store.after_next_read_of(Table::Sessions, move || at_once(sessions.end(token.text())).unwrap());
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.in_memory(), 0);
    });
}

#[test]
fn a_password_change_ends_all_sessions_of_the_user_and_no_others() {
    run(async {
        let server = Server::new().await;
        server.directory.put_user(User::new("bob")).await.unwrap();
        server.directory.set_password("bob", PASSWORD).await.unwrap();
        let bob = server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        let (new, unread) = (server.log_in().await, server.log_in().await);
        let server = server.restart().await;
        assert!(server.is_good(&new));
        server.directory.set_password("ada", "battery staple").await.unwrap();
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&unread), "not in memory when it happened");
        assert!(server.is_good(&bob));
        assert_eq!(server.refused("ada", PASSWORD).await.code, Code::InvalidLogin);
        let after = server.sessions.log_in("web", "swing", "ada", "battery staple", "").await.unwrap();
        assert!(server.is_good(&after));

        let server = server.restart().await;
        assert!(!server.is_good(&new));
        assert!(server.is_good(&after));
        assert_eq!(server.sessions.sweep().await.unwrap(), 2);
        assert_eq!(server.rows().len(), 2);
    });
}

#[test]
fn disabling_a_user_ends_the_sessions_for_good() {
    run(async {
        let server = Server::new().await;
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        let (new, unread) = (server.log_in().await, server.log_in().await);
        let server = server.restart().await;
        assert!(server.is_good(&new));
        let disable = |user: &mut User| {
            user.disabled = true;
            user.groups = vec!["readers".to_owned()];
            Ok(())
        };
        server.directory.change_user("ada", disable).await.unwrap();
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&unread));
        assert_eq!(server.refused("ada", PASSWORD).await.code, Code::InvalidLogin);
        assert_eq!(server.privileges(), []);
        server
            .directory
            .change_user("ada", |user| {
                user.disabled = false;
                Ok(())
            })
            .await
            .unwrap();
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&unread));
        let after = server.log_in().await;
        assert!(server.is_good(&after));
        assert_eq!(server.privileges(), [Privilege::Read]);
        server.directory.put_user(User { disabled: true, ..User::new("ada") }).await.unwrap();
        server.directory.put_user(User::new("ada")).await.unwrap();
        assert!(!server.is_good(&after), "replacing the whole user is no different");
    });
}

#[test]
fn other_changes_of_a_user_leave_password_and_sessions_alone() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.directory.put_user(User { full_name: "Ada Marsh".to_owned(), ..User::new("ada") }).await.unwrap();
        let attempt = |user: &mut User| {
            *user = User { description: "Systems editor".to_owned(), ..User::new("eve") };
            Ok(())
        };
        server.directory.change_user("ada", attempt).await.unwrap();
        assert!(server.is_good(&new));
        assert!(server.directory.user("eve").unwrap().is_none());
        let ada = server.directory.user("ada").unwrap().unwrap();
        assert!(ada.has_password());
        assert_eq!(ada.password_changed_ms(), server.clock.now_ms());
        assert_eq!(ada.description, "Systems editor");
        server.log_in().await;
    });
}

#[test]
fn every_wrong_login_is_answered_alike() {
    run(async {
        let server = Server::new().await;
        server.directory.put_user(User::new("new")).await.unwrap();
        server.directory.put_user(User { disabled: true, ..User::new("gone") }).await.unwrap();
        server.directory.set_password("gone", PASSWORD).await.unwrap();
        let wrong = server.refused("ada", "wrong").await;
        assert_eq!(wrong.code, Code::InvalidLogin);
        let long = "x".repeat(MAX_PASSWORD_BYTES + 1);
        for (user, password) in [
            ("ada", ""),
            ("ada", &long),
            ("nobody", PASSWORD),
            ("", ""),
            (&long, PASSWORD),
            ("new", ""),
            ("new", PASSWORD),
            ("gone", PASSWORD),
            ("gone", "wrong"),
        ] {
            assert_eq!(server.refused(user, password).await, wrong, "{user} {password}");
        }
        assert!(server.rows().is_empty());
    });
}

#[test]
fn every_wrong_login_takes_as_long() {
    run(async {
        // Costly enough to outweigh everything else by far.
        let server = Server::with(PasswordOptions { memory_kib: 1024, iterations: 2, lanes: 1 }).await;
        server.directory.put_user(User::new("new")).await.unwrap();
        let long = "x".repeat(MAX_PASSWORD_BYTES + 1);
        let mut fastest = Vec::new();
        for (user, password) in [("ada", "wrong"), ("nobody", "wrong"), ("new", "wrong"), ("ada", &long)] {
            // The least of several: that of all others is what else the machine did.
            let mut least = Duration::MAX;
            for _ in 0..5 {
                let from = Instant::now();
                server.refused(user, password).await;
                least = least.min(from.elapsed());
            }
            fastest.push(least);
        }
        let (least, most) = (fastest.iter().min().unwrap(), fastest.iter().max().unwrap());
        assert!(*least * 4 > *most, "{fastest:?}");
    });
}

#[test]
fn a_password_that_nobody_could_log_in_with_can_not_be_set() {
    run(async {
        let server = Server::new().await;
        let long = "secret".repeat(MAX_PASSWORD_BYTES);
        for password in ["", &long] {
            let error = server.directory.set_password("ada", password).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(!error.message.contains("secret"));
        }
        let longest = "é".repeat(MAX_PASSWORD_BYTES / 2);
        server.directory.set_password("ada", &longest).await.unwrap();
        server.sessions.log_in("web", "swing", "ada", &longest, "").await.unwrap();
        let error = server.directory.set_password("nobody", PASSWORD).await.unwrap_err();
        assert_eq!(error.code, Code::ObjectNotFound);
    });
}

#[test]
fn a_hash_made_at_another_cost_is_still_good() {
    run(async {
        let server = Server::with(PasswordOptions { memory_kib: 64, iterations: 2, lanes: 2 }).await;
        let server = server.restart().await;
        server.log_in().await;
        assert_eq!(server.refused("ada", "wrong").await.code, Code::InvalidLogin);
        assert!(Passwords::new(PasswordOptions { memory_kib: 1, ..CHEAP }).is_err());
    });
}

#[test]
fn neither_tokens_nor_passwords_are_stored() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let copy = server.sessions.copy(new.token.text(), "").await.unwrap();
        server.clock.advance(SECOND);
        assert!(server.is_good(&new));
        server.sessions.flush().await.unwrap();
        assert_eq!(server.rows().len(), 2);
        for ((table, key), value) in server.store.rows() {
            for secret in [new.token.text(), copy.token.text(), PASSWORD] {
                let within = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!within(&key) && !within(&value), "{table:?}");
            }
        }
    });
}

#[test]
fn nothing_that_is_printed_has_a_token_or_a_password_or_a_hash() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let user = server.directory.user("ada").unwrap().unwrap();
        let printed =
            format!("{new:?} {user:?} {:?} {:?}", new.session.session(), server.refused("ada", "secret").await);
        assert!(printed.contains("Token(…)") && printed.contains("PasswordHash(…)"), "{printed}");
        let hash = new.session.session().token_hash;
        let hash_text = format!("{:?}", hash.bytes());
        for secret in [new.token.text(), hash_text.trim_matches(['[', ']']), "$argon2id", PASSWORD, "secret"] {
            assert!(!printed.contains(secret), "{printed}");
        }
    });
}

#[test]
fn tokens_are_url_safe_and_references_lead_nowhere() {
    run(async {
        let server = Server::new().await;
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let new = server.log_in().await;
            assert_eq!(new.token.text().len(), Token::LEN);
            assert!(new.token.text().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
            assert_eq!(new.session.id().len(), 12);
            assert!(!new.token.text().contains(&**new.session.id()));
            assert!(seen.insert(new.token.text().to_owned()) && seen.insert(new.session.id().to_string()));
        }
    });
}

#[test]
fn a_flood_of_bad_tokens_leaves_nothing_behind() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        let before = server.store.rows();
        for number in 0..20_000 {
            let error = server.sessions.find(&format!("{number:032}")).unwrap_err();
            assert_eq!(error.code, Code::InvalidToken);
        }
        for odd in ["", "x", &"x".repeat(100_000), "ÄÖÜäöüÄÖÜäöüÄÖ!"] {
            assert_eq!(server.sessions.find(odd).unwrap_err().code, Code::InvalidToken);
            assert_eq!(server.sessions.end(odd).await.unwrap_err().code, Code::InvalidToken);
            assert_eq!(server.sessions.copy(odd, "").await.unwrap_err().code, Code::InvalidToken);
        }
        assert_eq!(server.sessions.in_memory(), 1);
        assert_eq!(server.store.rows(), before);
        assert!(server.is_good(&new));
    });
}

#[test]
fn a_copy_is_on_its_own_but_ends_no_later_than_its_original_was_to() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.clock.advance(HOUR);
        let copy = server.sessions.copy(new.token.text(), "").await.unwrap();
        assert_ne!(copy.token, new.token);
        assert_ne!(copy.session.id(), new.session.id());
        assert_eq!(copy.session.user(), new.session.user());
        assert_eq!(copy.session.session().connection_id, new.session.session().connection_id);
        assert_eq!(copy.session.session().application_id, new.session.session().application_id);
        assert_eq!(copy.session.session().created_ms, server.clock.now_ms());
        assert_eq!(copy.session.session().expires_ms, new.session.session().expires_ms);
        server.sessions.end(new.token.text()).await.unwrap();
        assert!(!server.is_good(&new));
        assert!(server.is_good(&copy));
        let third = server.sessions.copy(copy.token.text(), "").await.unwrap();
        server.sessions.end(copy.token.text()).await.unwrap();
        assert!(server.is_good(&third));
        assert_eq!(server.sessions.copy(new.token.text(), "").await.unwrap_err().code, Code::InvalidToken);
        server.directory.set_password("ada", "battery staple").await.unwrap();
        assert!(!server.is_good(&third));
    });
}

#[test]
fn a_sweep_removes_what_has_ended_and_nothing_else() {
    run(async {
        let server = Server::new().await;
        let (idle, used) = (server.log_in().await, server.log_in().await);
        server.clock.advance(3 * HOUR);
        assert!(server.is_good(&used));
        assert_eq!(server.sessions.sweep().await.unwrap(), 0);
        server.clock.advance(2 * HOUR);
        assert_eq!(server.sessions.sweep().await.unwrap(), 1, "that `used` was used is known in memory only");
        assert!(server.is_good(&used));
        assert!(!server.is_good(&idle));
        assert_eq!(server.rows().len(), 1);
        assert_eq!(server.sessions.in_memory(), 1);

        // Rows that nobody asked for since the restart are swept too, over more than one page.
        for _ in 0..1100 {
            server.sessions.copy(used.token.text(), "").await.unwrap();
        }
        let server = server.restart().await;
        server.clock.advance(5 * HOUR);
        assert_eq!(server.sessions.sweep().await.unwrap(), 1101);
        assert!(server.rows().is_empty());
        assert_eq!(server.sessions.in_memory(), 0);
    });
}

#[test]
fn rights_are_the_union_over_the_groups_with_folders_named_by_loid() {
    run(async {
        let server = Server::new().await;
        server.directory.repository.make_roots(&[DatabaseId::MAIN]).await.unwrap();
        let root = root(DatabaseId::MAIN);
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        let writes = [(Privilege::Read, None), (Privilege::Write, None), (Privilege::Delete, Some("/"))];
        server.put_group("writers", &writes).await;
        server.put_group("others", &[(Privilege::Configure, None)]).await;
        let groups = ["readers", "writers", "no such group"].map(str::to_owned).to_vec();
        server.directory.put_user(User { groups, ..User::new("ada") }).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read, Privilege::Write]);
        assert_eq!(server.directory.rights_of("ada").unwrap().below(), [(root, Privilege::Delete.into())]);
        assert_eq!(*server.directory.rights_of("nobody").unwrap(), Rights::default());
        let writers = server.directory.group("writers").unwrap().unwrap();
        assert_eq!(writers.privileges[2].folder, Some(root.to_string()));
        let nowhere = Group {
            name: "lost".into(),
            description: String::new(),
            privileges: vec![Grant { privilege: Privilege::Read, folder: Some("/nowhere".to_owned()) }],
        };
        assert_eq!(server.directory.put_group(nowhere).await.unwrap_err().code, Code::ObjectNotFound);
        assert_eq!(server.directory.group("lost").unwrap(), None);
    });
}

#[test]
fn a_change_of_the_directory_holds_at_once() {
    run(async {
        let server = Server::new().await;
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        assert_eq!(server.privileges(), []);
        let join = |user: &mut User| {
            user.groups = vec!["readers".to_owned()];
            user.full_name = "Ada Marsh".to_owned();
            Ok(())
        };
        server.directory.change_user("ada", join).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read]);
        assert_eq!(server.directory.full_name("ada"), "Ada Marsh");
        assert_eq!(server.directory.full_name("nobody"), "nobody");
        let grant = |privilege| Grant { privilege, folder: None };
        let more = vec![grant(Privilege::Read), grant(Privilege::Moderate)];
        let change = GroupChange { privileges: Some(more), ..GroupChange::default() };
        server.directory.change_group("readers", change).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read, Privilege::Moderate]);
        server.put_group("readers", &[]).await;
        assert_eq!(server.privileges(), []);
    });
}

#[test]
fn what_can_not_be_changed_stays_as_it_is() {
    run(async {
        let server = Server::new().await;
        let refuse = || Err(Error::new(Code::PermissionDenied, "no"));
        let before = server.store.rows();
        assert_eq!(server.directory.put_user(User::new("a/b")).await.unwrap_err().code, Code::InvalidName);
        assert_eq!(server.directory.put_user(User::new("")).await.unwrap_err().code, Code::InvalidName);
        let missing = server.directory.change_user("nobody", |_| Ok(())).await.unwrap_err();
        assert_eq!(missing.code, Code::ObjectNotFound);
        let missing = server.directory.change_group("nobody", GroupChange::default()).await.unwrap_err();
        assert_eq!(missing.code, Code::ObjectNotFound);
        let refused = server.directory.change_user("ada", |_| refuse()).await.unwrap_err();
        assert_eq!(refused.code, Code::PermissionDenied);
        server.store.fail_next();
        assert!(server.directory.set_password("ada", "battery staple").await.is_err());
        assert_eq!(server.store.rows(), before);
        server.log_in().await;
    });
}

#[test]
fn a_user_read_while_being_changed_is_not_kept_as_it_was() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        let change = |groups: &'static [&'static str]| {
            let directory = server.directory.clone();
            move || {
                let change = directory.change_user("ada", |user| {
                    user.groups = groups.iter().map(|name| (*name).to_owned()).collect();
                    Ok(())
                });
                at_once(change).unwrap();
            }
        };
        server.store.after_next_read_of(Table::Users, change(&["readers"]));
        assert!(server.directory.user("ada").unwrap().unwrap().groups.is_empty());
        assert_eq!(server.directory.user("ada").unwrap().unwrap().groups, ["readers"]);
        server.store.after_next_read_of(Table::Groups, change(&[]));
        assert_eq!(server.privileges(), [Privilege::Read]);
        assert_eq!(server.privileges(), []);

        let directory = server.directory.clone();
        change(&["readers"])();
        let change = move || {
            let disable = |user: &mut User| {
                user.disabled = true;
                Ok(())
            };
            at_once(directory.change_user("ada", disable)).unwrap();
        };
        server.store.after_next_read_of(Table::Users, change);
        // Asked when the user still stood: the one call may pass, but none after it.
        assert!(server.is_good(&new));
        assert!(!server.is_good(&new));
    });
}

#[test]
fn a_change_whose_caller_has_gone_is_not_lost_to_the_next_one() {
    run(async {
        let server = Server::new().await;
        server.store.hold();
        let mut gone = Box::pin(server.directory.change_user("ada", |user| {
            user.description = "first".to_owned();
            Ok(())
        }));
        assert!(gone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(gone);
        assert_eq!(server.store.pending(), 1);
        let directory = server.directory.clone();
        let next = actix::spawn(async move {
            directory
                .change_user("ada", |user| {
                    user.full_name = "second".to_owned();
                    Ok(())
                })
                .await
        });
        tokio::task::yield_now().await;
        assert_eq!(server.store.pending(), 1, "the next one waits");
        server.store.release();
        next.await.unwrap().unwrap();
        let ada = server.directory.user("ada").unwrap().unwrap();
        assert_eq!((&*ada.description, &*ada.full_name), ("first", "second"));
    });
}

#[test]
fn rows_are_arrays_so_that_fields_can_be_added_at_the_end() {
    let array = |row: &[u8]| matches!(row, [1, 0x90..=0x9f | 0xdc, ..]);
    let user = User::new("ada");
    let group = Group {
        name: "readers".into(),
        description: String::new(),
        privileges: vec![Grant { privilege: Privilege::Read, folder: None }],
    };
    let (user_row, group_row) = (encode_value(1, &user), encode_value(1, &group));
    assert!(array(&user_row) && array(&group_row));
    assert_eq!(decode_value::<User>(1, &user_row).unwrap(), user);
    assert_eq!(decode_value::<Group>(1, &group_row).unwrap(), group);
}
