//! Locks after the end of their session or their expiry, where some rows can't be read.

use bytes::Bytes;
use stet_actors::runtime::ChangeRequest;
use stet_domain::checkout::TakeLock;
use stet_domain::command::CallerIdentity;
use stet_domain::id::Loid;
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::store::{Row, RowChange, RowPlace};

use super::*;

const LASTS_S: u64 = 100;

fn by(session: &NewSession) -> ChangeRequest {
    let live = &session.session;
    ChangeRequest::by(CallerIdentity { user: live.user().clone(), session: live.id().clone(), address: None })
}

impl Server {
    /// Objects that the session has locked.
    async fn locked<const N: usize>(&self, session: &NewSession) -> [Loid; N] {
        self.repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let mut loids = Vec::new();
        for _ in 0..N {
            let mut object = NewObject::document("a.xml", "Story");
            object.mode = stet_domain::object::CreateMode::AutoRename;
            let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
            let object = self.repository.joint(create, by(session)).await.unwrap().loid;
            self.repository.joint(TakeLock { object, lasts_s: LASTS_S }, by(session)).await.unwrap();
            loids.push(object);
        }
        loids.try_into().expect("there are so many")
    }

    fn put_row(&self, key: RowPlace, value: &'static [u8]) {
        let mut set = ChangeSet::fence(self.store.epoch(), |_| ());
        set.changes.push(RowChange { table: key.table, key: key.key, value: Some(Bytes::from_static(value)) });
        self.store.submit(set).expect("it is taken");
    }

    fn spoil(&self, object: Loid) {
        let key = Bytes::copy_from_slice(&object.to_key());
        self.put_row(RowPlace { table: Table::Objects, key }, b"\xffnonsense");
    }

    fn is_locked(&self, object: Loid) -> bool {
        self.repository.record(object).unwrap().unwrap().lock.is_some()
    }
}

#[test]
fn a_lock_that_can_not_be_given_back_at_the_logout_keeps_no_other() {
    run(async {
        let server = Server::new().await;
        let session = server.log_in().await;
        let [first, damaged, last] = server.locked(&session).await;
        server.spoil(damaged);
        server.sessions.end(session.token.text()).await.unwrap();
        assert!(!server.is_locked(first) && !server.is_locked(last));
    });
}

#[test]
fn releasing_the_locks_of_evicted_sessions_blocks_no_flush_and_no_login() {
    run(async {
        let server = Server::new().await;
        let one = SessionOptions { per_user: 1, ..SessionOptions::default() };
        let server = Server::start_with(&server.store, &server.clock, CHEAP, one).await;
        let crowded = server.log_in().await;
        let [object] = server.locked(&crowded).await;
        server.sessions.flush().await.unwrap();
        let log_in = || {
            let sessions = server.sessions.clone();
            tokio::task::spawn_local(async move { sessions.log_in("web", "swing", "ada", PASSWORD, "").await })
        };
        let waiting = async |sets: usize| {
            let reached = async {
                while server.store.pending() < sets {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(MINUTE, reached).await.expect("it comes to its commit");
        };
        server.store.hold();
        let first = log_in();
        waiting(1).await;
        server.store.step();
        // Now the lock's.
        waiting(1).await;
        assert!(server.is_locked(object) && !first.is_finished());
        assert_eq!(at_once(server.sessions.flush()), Ok(0), "neither a flush waits for that");
        let second = log_in();
        // Nor the user's next login.
        waiting(2).await;
        server.store.release();
        first.await.unwrap().unwrap();
        let second = second.await.unwrap().unwrap();
        assert!(!server.is_locked(object) && server.is_good(&second));
        assert_eq!(server.rows().len(), 1);
    });
}

/// Locks are read by the thousand: the others stayed until they were swept.
#[test]
fn a_session_that_ends_gives_back_all_its_locks_however_many() {
    run(async {
        let server = Server::new().await;
        let session = server.log_in().await;
        let locked: [Loid; 1001] = server.locked(&session).await;
        server.sessions.end(session.token.text()).await.unwrap();
        assert_eq!(locked.iter().filter(|object| server.is_locked(**object)).count(), 0);
    });
}

/// Regression test: a clock that was wrong for a moment ended all sessions, keys and locks for
/// good.
#[test]
fn a_leaping_clock_ends_no_session_or_lock_until_it_is_trusted() {
    run(async {
        let server = Server::new().await;
        let session = server.log_in().await;
        let [object] = server.locked(&session).await;
        assert_eq!((server.sessions.sweep().await, server.sessions.release_locks().await), (Ok(0), Ok(0)));
        let then = server.clock.now_ms();
        server.clock.set(then + 100 * 24 * 60 * 60 * 1000);
        assert!(!server.is_good(&session), "who may do what goes by the clock as it is");
        assert_eq!((server.sessions.sweep().await, server.sessions.release_locks().await), (Ok(0), Ok(0)));
        server.clock.set(then);
        assert!(server.is_good(&session) && server.is_locked(object));
        server.clock.set(then + 100 * 24 * 60 * 60 * 1000);
        assert_eq!(server.sessions.sweep().await, Ok(0));
        server.clock.advance(60 * 60 * SECOND);
        assert_eq!((server.sessions.sweep().await, server.sessions.release_locks().await), (Ok(1), Ok(1)));
        assert!(!server.is_locked(object));
    });
}

#[test]
fn an_object_that_can_not_be_read_keeps_no_other_lock_from_ending() {
    run(async {
        let server = Server::new().await;
        let session = server.log_in().await;
        let [first, damaged, last] = server.locked(&session).await;
        server.spoil(damaged);
        server.clock.advance(LASTS_S as u32 * SECOND);
        assert_eq!(server.sessions.release_locks().await, Ok(2));
        assert!(!server.is_locked(first) && !server.is_locked(last));
    });
}

#[test]
fn a_user_who_can_not_be_read_keeps_no_lock_but_their_own_sessions() {
    run(async {
        let server = Server::new().await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("bob")).await.unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("bob", PASSWORD).await.unwrap();
        let bobs = server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        let gone = server.log_in().await;
        let ([held], [left]) = (server.locked(&bobs).await, server.locked(&gone).await);
        server.put_row(User::new("bob").place(), b"\xffnonsense");
        // As a crash leaves it behind: the session has ended, and its lock is there.
        let key = gone.session.session().place();
        let mut set = ChangeSet::fence(server.store.epoch(), |_| ());
        set.changes.push(RowChange { table: key.table, key: key.key, value: None });
        server.store.submit(set).expect("it is taken");
        let server = server.restart().await;
        assert_eq!(server.sessions.release_locks().await, Ok(1));
        assert!(server.is_locked(held), "whether their session stands can't be told");
        assert!(!server.is_locked(left));
    });
}
