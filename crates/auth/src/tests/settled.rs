//! Callers who go away, and disks that refuse, between the beginning of a commit and its end.

use std::pin::pin;

use stet_domain::store::RowChange;
use stet_domain::store::memory::run_until_waiting;

use super::keys::{key, make};
use super::*;

/// Regression test: both keys were created. Only one could be revoked, and that was the one whose
/// token nobody had.
#[test]
fn creating_a_key_twice_while_the_first_is_pending_is_a_duplicate() {
    run(async {
        let server = Server::new().await;
        server.store.hold();
        server.store.abandoned(server.sessions.make_key(CallerIdentity::operator(), key("wire", None))).await;
        let again = server.store.behind(server.sessions.make_key(CallerIdentity::operator(), key("wire", None))).await;
        assert_eq!(again.unwrap_err().code, Code::DuplicatedName);
        assert_eq!(server.sessions.keys().await.unwrap().len(), 1);
    });
}

#[test]
fn a_key_that_is_revoked_while_it_is_on_its_way_to_the_disk_does_not_stay() {
    run(async {
        let server = Server::new().await;
        server.store.hold();
        server.store.abandoned(server.sessions.make_key(CallerIdentity::operator(), key("wire", None))).await;
        server.store.behind(server.sessions.revoke(CallerIdentity::operator(), "wire")).await.unwrap();
        assert!(server.rows().is_empty());
    });
}

#[test]
fn revoking_a_key_name_revokes_both_keys_of_that_name() {
    run(async {
        let server = Server::new().await;
        let (first, other) = (make(&server, "wire", None).await, make(&server, "photos", None).await);
        // As versions before could leave it.
        let token = Token::generate_key().unwrap();
        let twin = Session { token_hash: token.hash(), id: "twin".into(), ..first.session.session().clone() };
        let mut set = ChangeSet::fence(server.store.epoch(), |_| ());
        set.changes.push(RowChange::put(&twin));
        server.store.submit(set).expect("it is taken");
        assert!(server.sessions.find(token.text()).is_ok());
        server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap();
        assert!(server.sessions.find(token.text()).is_err());
        assert!(!server.is_good(&first) && server.is_good(&other));
        assert_eq!(server.rows().len(), 1);
    });
}

/// Regression test: such a key could no longer be found, but was valid again after a restart.
#[test]
fn a_key_whose_revocation_the_disk_refuses_is_there_until_it_takes_it() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        for _ in 0..2 {
            server.store.fail_next();
            let refused = server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap_err();
            assert_ne!(refused.code, Code::ObjectNotFound);
            assert!(!server.is_good(&new), "in memory it is dead at once");
            assert_eq!(server.sessions.keys().await.unwrap().len(), 1);
            let taken = server.sessions.make_key(CallerIdentity::operator(), key("wire", None)).await.unwrap_err();
            assert_eq!(taken.code, Code::DuplicatedName, "a start would find both");
        }
        server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap();
        assert!(server.sessions.keys().await.unwrap().is_empty());
        assert_eq!(
            server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap_err().code,
            Code::ObjectNotFound
        );
        assert!(!server.restart().await.is_good(&new));
        let told = [("key.create".to_owned(), "wire".to_owned()), ("key.revoke".to_owned(), "wire".to_owned())];
        assert_eq!(server.told_of_keys(), told);
    });
}

#[test]
fn a_logout_that_the_disk_refuses_is_made_by_the_same_call_again() {
    run(async {
        let server = Server::new().await;
        let (new, other) = (server.log_in().await, server.log_in().await);
        for _ in 0..2 {
            server.store.fail_next();
            assert_ne!(server.sessions.end(new.token.text()).await.unwrap_err().code, Code::InvalidToken);
            assert!(!server.is_good(&new));
        }
        server.sessions.end(new.token.text()).await.unwrap();
        assert_eq!(server.sessions.end(new.token.text()).await.unwrap_err().code, Code::InvalidToken);
        server.store.fail_next();
        assert!(server.sessions.end_by_id(other.session.id(), Some("ada")).await.is_err());
        assert_eq!(server.sessions.list(Some("ada")).await.unwrap().len(), 1, "a start would find it");
        server.sessions.end_by_id(other.session.id(), Some("ada")).await.unwrap();
        let again = server.sessions.end_by_id(other.session.id(), Some("ada")).await.unwrap_err();
        assert_eq!(again.code, Code::ObjectNotFound);
        let server = server.restart().await;
        assert!(!server.is_good(&new) && !server.is_good(&other));
    });
}

#[test]
fn concurrent_session_ends_end_it_once_and_the_other_waits_for_the_commit() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        server.store.hold();
        server.store.abandoned(server.sessions.revoke(CallerIdentity::operator(), "wire")).await;
        let again = server.store.behind(server.sessions.revoke(CallerIdentity::operator(), "wire")).await;
        assert_eq!(again.unwrap_err().code, Code::ObjectNotFound);
        assert!(!server.is_good(&new) && server.rows().is_empty());
        assert_eq!(server.told_of_keys().len(), 2, "one making, one revocation");
    });
}

/// Regression test: a flush in between wrote it back.
#[test]
fn a_session_evicted_by_an_abandoned_login_stays_ended() {
    run(async {
        let server = Server::new().await;
        let options = SessionOptions { per_user: 1, ..SessionOptions::default() };
        let server = Server::start_with(&server.store, &server.clock, CHEAP, options).await;
        let first = server.log_in().await;
        server.clock.advance(MINUTE);
        assert!(server.is_good(&first), "so a flush has something to write");
        server.store.hold();
        server.store.abandoned(server.log_in()).await;
        server.store.behind(server.sessions.flush()).await.unwrap();
        assert!(!server.is_good(&first));
        assert_eq!(server.rows().len(), 1);
    });
}

#[test]
fn the_last_place_is_taken_once_though_nobody_waits_for_the_login() {
    run(async {
        let server = Server::new().await;
        let options = SessionOptions { per_user: 1, ..SessionOptions::default() };
        let server = Server::start_with(&server.store, &server.clock, CHEAP, options).await;
        let ada = server.directory.user("ada").unwrap().expect("she is there");
        // Without the password, which is checked on another thread in its own time.
        let log_in = || server.sessions.log_in_as("web", "swing", &ada, "");
        server.store.hold();
        server.store.abandoned(log_in()).await;
        let second = server.store.behind(log_in()).await.unwrap();
        assert_eq!(server.rows().len(), 1);
        assert!(server.is_good(&second));
    });
}

/// Regression test: the sweep removed it, so the audit trail did not show who had revoked it.
#[test]
fn a_revocation_completed_by_the_sweep_is_logged_under_its_user() {
    run(async {
        let server = Server::new().await;
        let (gone, refused) = (make(&server, "gone", None).await, make(&server, "refused", None).await);
        server.clock.advance(MINUTE);
        assert!(server.is_good(&gone));
        let ada = CallerIdentity { user: "ada".into(), session: "s".into(), address: None };
        server.store.fail_next();
        assert!(server.sessions.revoke(ada.clone(), "refused").await.is_err());
        server.store.hold();
        let mut flush = pin!(server.sessions.flush());
        run_until_waiting(flush.as_mut()).await;
        {
            let mut revocation = pin!(server.sessions.revoke(ada, "gone"));
            run_until_waiting(revocation.as_mut()).await;
            assert_eq!(server.store.pending(), 1, "it waits for the flush, and its caller goes away");
        }
        server.store.release();
        flush.await.unwrap();
        assert!(!server.is_good(&gone) && !server.is_good(&refused));
        assert_eq!(server.sessions.sweep().await.unwrap(), 2);
        let revoked: Vec<_> = server.store.events().into_iter().filter(|event| event.kind == "key.revoke").collect();
        let mut names: Vec<_> = revoked.iter().map(|event| (&*event.user, event.ids.join(" "))).collect();
        names.sort();
        assert_eq!(names, [("ada", "gone".to_owned()), ("ada", "refused".to_owned())]);
    });
}
