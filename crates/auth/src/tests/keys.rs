//! Keys: sessions of machines.

use super::*;

pub(super) async fn make(server: &Server, name: &str, expires_s: Option<u64>) -> NewSession {
    server.sessions.make_key(CallerIdentity::operator(), key(name, expires_s)).await.unwrap()
}

pub(super) fn key(name: &str, expires_s: Option<u64>) -> NewKey {
    let grants = vec![Grant { privilege: Privilege::Write, folder: None }];
    NewKey { name: name.to_owned(), user: "ada".to_owned(), grants, expires_s }
}

async fn disabled(server: &Server, disabled: bool) {
    let change = move |user: &mut User, _| {
        user.disabled = disabled;
        Ok(())
    };
    server.directory.by(CallerIdentity::operator()).change_or_make_user("ada", change).await.unwrap();
}

#[test]
fn a_key_neither_idles_out_nor_ends_at_the_absolute_limit() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        assert_eq!(new.session.session().expires_s(), None);
        server.clock.advance(1000 * 24 * HOUR);
        assert_eq!(server.sessions.sweep().await.unwrap(), 0);
        assert!(server.is_good(&new));
        let server = server.restart().await;
        server.clock.advance(1000 * 24 * HOUR);
        assert!(server.is_good(&new));
    });
}

#[test]
fn a_key_with_an_end_is_good_until_then() {
    run(async {
        let server = Server::new().await;
        let end = server.clock.now_s() + 48 * 3600;
        let new = make(&server, "wire", Some(end)).await;
        assert_eq!(new.session.session().expires_s(), Some(end));
        server.clock.advance(48 * HOUR - SECOND);
        assert!(server.is_good(&new));
        server.clock.advance(SECOND);
        assert!(!server.is_good(&new));
        assert!(server.sessions.keys().await.unwrap().is_empty());
        // Its name is free again, swept or not.
        let again = make(&server, "wire", None).await;
        assert_eq!(server.sessions.sweep().await.unwrap(), 1);
        assert!(server.is_good(&again));
    });
}

#[test]
fn a_key_has_its_own_grants_and_a_session_has_none() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        let found = server.sessions.find(new.token.text()).unwrap();
        assert_eq!(found.grants(), Some(&[Grant { privilege: Privilege::Write, folder: None }][..]));
        assert_eq!(&**found.user(), "ada");
        assert_eq!(server.log_in().await.session.grants(), None);
    });
}

#[test]
fn a_token_of_a_key_is_recognisable_and_stored_nowhere() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        let text = new.token.text();
        assert!(text.starts_with(Token::KEY_PREFIX) && text.len() == Token::KEY_PREFIX.len() + Token::LEN, "{text}");
        for ((table, key), value) in server.store.rows() {
            for secret in [text, &text[4..]] {
                let within = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!within(&key) && !within(&value), "{table:?}");
            }
        }
        // Neither half of it is a token.
        for part in [&text[4..], &text[..32], &format!("stk_{text}")] {
            assert_eq!(server.sessions.find(part).unwrap_err().code, Code::InvalidToken);
        }
    });
}

#[test]
fn a_key_survives_a_change_of_the_password_and_no_disabling() {
    run(async {
        let server = Server::new().await;
        let (new, session) = (make(&server, "wire", None).await, server.log_in().await);
        server.directory.by(CallerIdentity::operator()).set_password("ada", "battery staple").await.unwrap();
        assert!(server.is_good(&new) && !server.is_good(&session));
        disabled(&server, true).await;
        assert!(!server.is_good(&new));
        disabled(&server, false).await;
        assert!(!server.is_good(&new), "for good");
        let after = make(&server, "wire", None).await;
        let server = server.restart().await;
        assert!(server.is_good(&after) && !server.is_good(&new));
        assert_eq!(server.sessions.sweep().await.unwrap(), 2, "the session that is dead, and the key");
    });
}

#[test]
fn a_revoked_key_is_dead_and_its_name_free() {
    run(async {
        let server = Server::new().await;
        let (new, other) = (make(&server, "wire", None).await, make(&server, "photos", None).await);
        let server = server.restart().await;
        server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap();
        assert!(!server.is_good(&new) && server.is_good(&other));
        assert_eq!(
            server.sessions.revoke(CallerIdentity::operator(), "wire").await.unwrap_err().code,
            Code::ObjectNotFound
        );
        assert!(!server.is_good(&new));
        let again = make(&server, "wire", None).await;
        let server = server.restart().await;
        assert!(server.is_good(&again) && !server.is_good(&new));
    });
}

#[test]
fn a_key_is_no_session_to_be_copied_logged_out_listed_or_ended() {
    run(async {
        let server = Server::new().await;
        let new = make(&server, "wire", None).await;
        let token = new.token.text();
        for refused in [server.sessions.copy(token, "").await.map(drop), server.sessions.end(token).await] {
            let error = refused.unwrap_err();
            assert_eq!(error.code, Code::PermissionDenied);
            assert!(error.message.contains("wire") && !error.message.contains(token), "{error}");
        }
        assert!(server.sessions.list(None).await.unwrap().is_empty());
        let error = server.sessions.end_by_id(new.session.id(), None).await.unwrap_err();
        assert_eq!(error.code, Code::ObjectNotFound);
        assert!(server.is_good(&new));
        assert_eq!(server.sessions.keys().await.unwrap().len(), 1);
    });
}

#[test]
fn a_key_does_not_count_against_the_limit_and_is_not_ended_for_a_login() {
    run(async {
        let server = Server::new().await;
        let options = SessionOptions { per_user: 1, ..SessionOptions::default() };
        let server = Server::start_with(&server.store, &server.clock, CHEAP, options).await;
        let (session, new) = (server.log_in().await, make(&server, "wire", None).await);
        assert!(server.is_good(&session));
        server.clock.advance(SECOND);
        let second = server.log_in().await;
        assert!(server.is_good(&new) && server.is_good(&second) && !server.is_good(&session));
    });
}

#[test]
fn a_key_that_can_not_be_is_refused_and_leaves_nothing() {
    run(async {
        let server = Server::new().await;
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { disabled: true, ..User::new("gone") })
            .await
            .unwrap();
        make(&server, "wire", None).await;
        let before = server.store.rows();
        let now_s = server.clock.now_s();
        let below = |folder: &str| vec![Grant { privilege: Privilege::Read, folder: Some(folder.to_owned()) }];
        for (new, code, part) in [
            (key("wire", None), Code::DuplicatedName, "wire"),
            (key("", None), Code::InvalidName, "empty"),
            (key("a/b", None), Code::InvalidName, "a/b"),
            (key("new", Some(now_s)), Code::InvalidParameter, "expires"),
            (NewKey { user: "nobody".to_owned(), ..key("new", None) }, Code::ObjectNotFound, "nobody"),
            (NewKey { user: "gone".to_owned(), ..key("new", None) }, Code::InvalidParameter, "gone"),
            (NewKey { grants: Vec::new(), ..key("new", None) }, Code::InvalidParameter, "privileges"),
            (NewKey { grants: below("News"), ..key("new", None) }, Code::InvalidParameter, "News"),
        ] {
            let error = server.sessions.make_key(CallerIdentity::operator(), new).await.unwrap_err();
            assert_eq!(error.code, code);
            assert!(error.message.contains(part), "{error}");
        }
        assert_eq!(server.store.rows(), before);
        make(&server, "far", Some(u64::MAX)).await;
    });
}

#[test]
fn two_keys_of_one_name_at_once_are_one_key() {
    run(async {
        let server = Server::new().await;
        let both = futures_util::future::join_all(
            (0..2).map(|_| server.sessions.make_key(CallerIdentity::operator(), key("wire", None))),
        )
        .await;
        assert_eq!(both.iter().filter(|made| made.is_ok()).count(), 1);
        assert_eq!(server.sessions.keys().await.unwrap().len(), 1);
    });
}
