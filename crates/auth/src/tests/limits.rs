//! The limit of sessions per user, the list of sessions, and ending a session from outside.

use super::*;

async fn limited(per_user: usize) -> Server {
    let server = Server::new().await;
    limited_again(&server, per_user).await
}

/// Restarts the server over the same data with another limit.
async fn limited_again(server: &Server, per_user: usize) -> Server {
    let options = SessionOptions { per_user, ..SessionOptions::default() };
    Server::start_with(&server.store, &server.clock, CHEAP, options).await
}

#[test]
fn a_login_beyond_the_limit_ends_the_session_that_was_least_recently_used() {
    run(async {
        let server = limited(3).await;
        let mut logins = Vec::new();
        for _ in 0..3 {
            logins.push(server.log_in().await);
            server.clock.advance(MINUTE);
        }
        assert!(server.is_good(&logins[0]), "the oldest, but in use");
        server.clock.advance(MINUTE);
        let fourth = server.log_in().await;
        assert!(!server.is_good(&logins[1]));
        assert!(server.is_good(&logins[0]) && server.is_good(&logins[2]) && server.is_good(&fourth));
        assert_eq!(server.rows().len(), 3);
        // Nor does a flush write it back, or a restart bring it.
        server.clock.advance(MINUTE);
        server.sessions.flush().await.unwrap();
        let server = limited_again(&server, 3).await;
        assert!(!server.is_good(&logins[1]));
        assert!(server.is_good(&fourth));
    });
}

#[test]
fn the_session_limit_counts_uses_since_the_last_flush_and_after_a_restart() {
    run(async {
        let server = limited(2).await;
        let (old, new) = (server.log_in().await, server.log_in().await);
        server.clock.advance(HOUR);
        assert!(server.is_good(&old));
        server.sessions.flush().await.unwrap();
        let server = limited_again(&server, 2).await;
        let third = server.log_in().await;
        assert!(server.is_good(&old) && server.is_good(&third) && !server.is_good(&new));
    });
}

#[test]
fn one_users_sessions_make_no_room_for_anothers_and_ended_ones_take_none() {
    run(async {
        let server = limited(1).await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("bob")).await.unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("bob", PASSWORD).await.unwrap();
        let ada = server.log_in().await;
        let bob = server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        assert!(server.is_good(&ada) && server.is_good(&bob));
        server.sessions.end(ada.token.text()).await.unwrap();
        server.clock.advance(5 * HOUR);
        // Bob's has idled out, but its row is there still.
        assert_eq!(server.rows().len(), 1);
        server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        assert_eq!(server.rows().len(), 2, "only a session that stands is ended for a new one");
    });
}

#[test]
fn a_copy_counts_as_a_login() {
    run(async {
        let server = limited(2).await;
        let unused = server.log_in().await;
        server.clock.advance(SECOND);
        let original = server.log_in().await;
        server.clock.advance(SECOND);
        let copy = server.sessions.copy(original.token.text(), "192.0.2.8").await.unwrap();
        assert_eq!(copy.session.session().address, "192.0.2.8");
        assert!(server.is_good(&original) && server.is_good(&copy) && !server.is_good(&unused));
    });
}

#[test]
fn a_limit_that_was_lowered_holds_from_the_next_login_on() {
    run(async {
        let server = limited(0).await;
        for _ in 0..5 {
            server.log_in().await;
        }
        assert_eq!(server.rows().len(), 5);
        let server = limited_again(&server, 2).await;
        assert_eq!(server.sessions.list(None).await.unwrap().len(), 5);
        server.log_in().await;
        assert_eq!(server.rows().len(), 2);
    });
}

#[test]
fn logins_at_once_do_not_get_past_the_limit() {
    run(async {
        let server = limited(2).await;
        let logins = (0..6).map(|_| server.log_in());
        let logins = futures_util::future::join_all(logins).await;
        assert_eq!(server.rows().len(), 2);
        assert_eq!(logins.iter().filter(|new| server.is_good(new)).count(), 2);
    });
}

#[test]
fn a_login_that_the_disk_refuses_ends_nothing() {
    run(async {
        let server = limited(1).await;
        let first = server.log_in().await;
        server.store.fail_next();
        assert!(server.sessions.log_in("web", "swing", "ada", PASSWORD, "").await.is_err());
        assert!(server.is_good(&first));
        assert_eq!(server.rows().len(), 1);
    });
}

#[test]
fn the_list_has_what_stands_and_nothing_else() {
    run(async {
        let server = limited(0).await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("bob")).await.unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("bob", PASSWORD).await.unwrap();
        let idle = server.log_in().await;
        server.clock.advance(2 * HOUR);
        let first = server.log_in().await;
        server.clock.advance(2 * HOUR);
        let bob = server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        let ids = |sessions: Vec<Arc<LiveSession>>| sessions.iter().map(|live| live.id().clone()).collect::<Vec<_>>();
        let list = async |user: Option<&str>| ids(server.sessions.list(user).await.unwrap());
        assert_eq!(list(Some("ada")).await, [first.session.id().clone()]);
        assert_eq!(list(None).await, [first.session.id().clone(), bob.session.id().clone()]);
        assert!(list(Some("nobody")).await.is_empty());
        assert!(!server.is_good(&idle));
        assert_eq!(server.sessions.list(Some("ada")).await.unwrap()[0].session().address, "192.0.2.7");
        server.directory.by(CallerIdentity::operator()).set_password("bob", "battery staple").await.unwrap();
        assert_eq!(list(None).await, [first.session.id().clone()]);
    });
}

#[test]
fn a_session_is_ended_by_its_reference_whoever_has_the_token() {
    run(async {
        let server = limited(0).await;
        let (new, other) = (server.log_in().await, server.log_in().await);
        // Not in memory.
        let server = limited_again(&server, 0).await;
        let missing = server.sessions.end_by_id(new.session.id(), Some("bob")).await.unwrap_err();
        assert_eq!(missing.code, Code::ObjectNotFound);
        let ended = server.sessions.end_by_id(new.session.id(), Some("ada")).await.unwrap();
        assert_eq!(ended.id(), new.session.id());
        assert!(!server.is_good(&new) && server.is_good(&other));
        let again = server.sessions.end_by_id(new.session.id(), None).await.unwrap_err();
        assert_eq!(again.code, Code::ObjectNotFound);
        assert_eq!(server.rows().len(), 1);
        server.sessions.end_by_id(other.session.id(), None).await.unwrap();
        assert!(server.rows().is_empty());
    });
}

#[test]
fn an_end_that_the_disk_refuses_holds_and_is_made_to_last_by_the_sweep() {
    run(async {
        let server = limited(0).await;
        let new = server.log_in().await;
        let server = limited_again(&server, 0).await;
        server.store.fail_next();
        assert!(server.sessions.end_by_id(new.session.id(), None).await.is_err());
        assert!(!server.is_good(&new));
        assert_eq!(server.sessions.sweep().await.unwrap(), 1);
        assert!(server.rows().is_empty());
    });
}

#[test]
fn a_row_from_before_there_were_addresses_and_keys_is_read() {
    #[derive(serde::Serialize)]
    struct Old<'a>(TokenHash, &'a str, &'a str, &'a str, &'a str, u64, u64, u64, u64);
    run(async {
        let server = limited(0).await;
        let new = server.log_in().await;
        let row = new.session.session();
        let old = Old(
            row.token_hash,
            &row.id,
            &row.user,
            "web",
            "swing",
            row.created_ms,
            row.expires_ms,
            row.last_seen_ms,
            row.generation,
        );
        let read: Session = decode_value(1, &encode_value(1, &old)).unwrap();
        assert_eq!(read, Session { address: String::new(), ..row.clone() });
    });
}
