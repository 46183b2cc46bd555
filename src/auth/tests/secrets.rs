//! Passwords and tokens: what is told of a wrong one, and where they never are.

use super::*;

#[test]
fn every_wrong_login_is_answered_alike() {
    run(async {
        let server = Server::new().await;
        server.directory.by(Who::operator()).put_user(User::new("new")).await.unwrap();
        server.directory.by(Who::operator()).put_user(User { disabled: true, ..User::new("gone") }).await.unwrap();
        server.directory.by(Who::operator()).set_password("gone", PASSWORD).await.unwrap();
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
fn every_wrong_login_costs_one_check_of_the_same_cost() {
    run(async {
        let options = PasswordOptions { memory_kib: 64, iterations: 2, lanes: 1 };
        let server = Server::with(options).await;
        server.directory.by(Who::operator()).put_user(User::new("new")).await.unwrap();
        server.directory.by(Who::operator()).put_user(User { disabled: true, ..User::new("gone") }).await.unwrap();
        server.directory.by(Who::operator()).set_password("gone", PASSWORD).await.unwrap();
        let long = "x".repeat(MAX_PASSWORD_BYTES);
        let longer = "x".repeat(MAX_PASSWORD_BYTES + 1);
        let checked = || std::mem::take(&mut *server.directory.passwords.checked.lock());
        checked();
        for (user, password, bytes) in [
            ("ada", "wrong", 5),
            ("nobody", "wrong", 5),
            ("new", "wrong", 5),
            ("gone", PASSWORD, PASSWORD.len()),
            ("ada", &long, MAX_PASSWORD_BYTES),
            ("ada", &longer, MAX_PASSWORD_BYTES),
            ("nobody", &longer, MAX_PASSWORD_BYTES),
        ] {
            server.refused(user, password).await;
            assert_eq!(checked(), [format!("m=64,t=2,p=1: {bytes} bytes")], "{user} {password}");
        }
    });
}

#[test]
fn a_password_that_nobody_could_log_in_with_can_not_be_set() {
    run(async {
        let server = Server::new().await;
        let long = "secret".repeat(MAX_PASSWORD_BYTES);
        for password in ["", &long] {
            let error = server.directory.by(Who::operator()).set_password("ada", password).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(!error.message.contains("secret"));
        }
        let longest = "é".repeat(MAX_PASSWORD_BYTES / 2);
        server.directory.by(Who::operator()).set_password("ada", &longest).await.unwrap();
        server.sessions.log_in("web", "swing", "ada", &longest, "").await.unwrap();
        let error = server.directory.by(Who::operator()).set_password("nobody", PASSWORD).await.unwrap_err();
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
