//! The lifetime and end of sessions, and their rows on disk.

use super::*;

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
fn a_failed_session_flush_is_made_up_for_by_the_next() {
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
fn idle_time_after_restart_counts_from_recorded_use_plus_flush_interval() {
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
fn logouts_that_the_disk_refuses_hold_and_are_persisted_by_the_sweep() {
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
        server.directory.by(CallerIdentity::operator()).set_password("ada", "battery staple").await.unwrap();
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

        // Rows that were not used since the restart are swept too, over more than one page.
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
