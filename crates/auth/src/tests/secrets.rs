//! Passwords and tokens: the errors about wrong ones, and the places where they must not appear.

use stet_domain::store::Row;

use super::*;

#[test]
fn every_wrong_login_is_answered_alike() {
    run(async {
        let server = Server::new().await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("new")).await.unwrap();
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { disabled: true, ..User::new("gone") })
            .await
            .unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("gone", PASSWORD).await.unwrap();
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
        server.directory.by(CallerIdentity::operator()).put_user(User::new("new")).await.unwrap();
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { disabled: true, ..User::new("gone") })
            .await
            .unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("gone", PASSWORD).await.unwrap();
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
        // A password in another form than that of hashes is tried as it is, too, for every user
        // name.
        for user in ["ada", "nobody", "new", "gone"] {
            server.refused(user, "wro\u{308}ng").await;
            assert_eq!(checked(), [7, 6].map(|bytes| format!("m=64,t=2,p=1: {bytes} bytes")), "{user}");
        }
    });
}

/// A password as keyboards and systems write it, in several forms.
const FORMS: [&str; 4] =
    ["F\u{e4}hre im Hafen", "Fa\u{308}hre im Hafen", "F\u{e4}hre\u{a0}im\u{3000}Hafen", "Fa\u{308}hre\u{2009}im Hafen"];

#[test]
fn a_password_is_the_same_in_every_form_of_unicode() {
    run(async {
        let server = Server::new().await;
        for set in FORMS {
            server.directory.by(CallerIdentity::operator()).set_password("ada", set).await.unwrap();
            for typed in FORMS {
                server.sessions.log_in("web", "swing", "ada", typed, "").await.unwrap();
            }
            server.refused("ada", "Fahre im Hafen").await;
            server.refused("ada", "F\u{e4}hre imHafen").await;
        }
        // It is measured in the form in which it is kept.
        let error = server
            .directory
            .by(CallerIdentity::operator())
            .set_password("ada", &"a\u{308}".repeat(7))
            .await
            .unwrap_err();
        assert!(error.message.ends_with("and has 7."), "{error}");
    });
}

#[test]
fn a_hash_of_a_password_in_another_form_stays_good_and_is_made_anew() {
    run(async {
        let server = Server::new().await;
        let changing = server.directory.by(CallerIdentity::operator());
        for typed in &FORMS[1..] {
            let hash = server.directory.passwords.hash_of((*typed).to_owned()).await.unwrap();
            let before = server.directory.user("ada").unwrap().unwrap();
            let older = |old: Option<User>, _| Ok(User { password: Some(hash), ..old.unwrap() });
            changing.write(before.place(), older).await.unwrap();
            server.refused("ada", FORMS[0]).await;
            let session = server.sessions.log_in("web", "swing", "ada", typed, "").await.unwrap();
            // From now on every form is accepted, and the session continues.
            for form in FORMS {
                server.directory.check_password("ada", form).await.unwrap();
            }
            assert!(server.is_good(&session), "a renewed hash ends no session");
            let after = server.directory.user("ada").unwrap().unwrap();
            assert_eq!(after.password_changed_ms(), before.password_changed_ms());
        }
        let known = server.directory.check_password("ada", FORMS[1]).await.unwrap();
        changing.change_password(&known, PASSWORD).await.unwrap();
    });
}

/// Regression test: a change of one's own password could override one that an administrator had
/// just set. It was decided by the password at the time of the call, but made after the new one was
/// hashed.
#[test]
fn ones_own_password_change_never_overrides_an_administrators_change() {
    run(async {
        let server = Server::new().await;
        let changing = server.directory.by(CallerIdentity::operator());
        let known = server.directory.check_password("ada", PASSWORD).await.unwrap();
        changing.set_password("ada", "reset by somebody").await.unwrap();
        let error = changing.change_password(&known, PASSWORD).await.unwrap_err();
        assert_eq!(error.code, Code::PermissionDenied, "{error}");
        let known = server.directory.check_password("ada", "reset by somebody").await.unwrap();
        let disable = |is: bool| {
            move |user: &mut User| {
                user.disabled = is;
                Ok(())
            }
        };
        let forced = server.directory.by(CallerIdentity::operator()).forced();
        forced.edit_user("ada", None, disable(true)).await.unwrap();
        assert_eq!(changing.change_password(&known, PASSWORD).await.unwrap_err().code, Code::PermissionDenied);
        forced.edit_user("ada", None, disable(false)).await.unwrap();
        changing.change_password(&known, "battery staple").await.unwrap();
        server.directory.check_password("ada", "battery staple").await.unwrap();
    });
}

#[test]
fn a_password_that_nobody_could_log_in_with_can_not_be_set() {
    run(async {
        let server = Server::new().await;
        let long = "secret".repeat(MAX_PASSWORD_BYTES);
        for password in ["", &long] {
            let error =
                server.directory.by(CallerIdentity::operator()).set_password("ada", password).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(!error.message.contains("secret"));
        }
        for (short, length) in
            [("1234567", 7), ("pässwör", 7), ("e\u{301}e\u{301}1234", 6), ("\u{1f469}\u{200d}\u{1f4bb}abcdef", 7)]
        {
            let error = server.directory.by(CallerIdentity::operator()).set_password("ada", short).await.unwrap_err();
            let details = error.details.expect("it says why");
            assert_eq!((&details["reason"], &details["minLength"]), (&"passwordTooShort".into(), &8.into()), "{short}");
            assert!(
                error.message.ends_with(&format!("and has {length}.")) && !error.message.contains(short),
                "{}",
                error.message
            );
        }
        let longest = "é".repeat(MAX_PASSWORD_BYTES / 2);
        server.directory.by(CallerIdentity::operator()).set_password("ada", &longest).await.unwrap();
        server.sessions.log_in("web", "swing", "ada", &longest, "").await.unwrap();
        let error = server.directory.by(CallerIdentity::operator()).set_password("nobody", PASSWORD).await.unwrap_err();
        assert_eq!(error.code, Code::ObjectNotFound);
    });
}

#[test]
fn a_password_is_not_its_users_name_in_whatever_form_and_case() {
    let rules = PasswordRules { min_length: 1 };
    for (user, password) in [
        ("ada", "ada"),
        ("ada", "ADA"),
        ("Ada", " aDa\t"),
        ("ren\u{e9}", "RENE\u{301}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{3c3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}", "\u{3a3}\u{38a}\u{3a3}\u{3a5}\u{3a6}\u{39f}\u{3a3}"),
    ] {
        let error = rules.accept(user, password).unwrap_err();
        assert_eq!(error.details.expect("it says why")["reason"], "passwordIsName", "{user} {password}");
    }
    for (user, password) in [("ada", "ada1"), ("ada", "bob"), ("ada", "a da")] {
        rules.accept(user, password).unwrap();
    }
    // The directory has it from the row, whatever form a call names the user in.
    run(async {
        let server = Server::new().await;
        let changing = server.directory.by(CallerIdentity::operator());
        changing.make_user(User::new("theodora"), None).await.unwrap();
        let named = |error: Error| error.details.expect("it says why")["reason"] == "passwordIsName";
        assert!(named(changing.set_password(" theodora ", "Theodora").await.unwrap_err()));
        assert!(named(changing.edit_user("theodora", Some("THEODORA"), |_| Ok(())).await.unwrap_err()));
        assert!(named(changing.make_user(User::new("rosalind"), Some("Rosalind")).await.unwrap_err()));
        assert!(server.directory.user("rosalind").unwrap().is_none());
        assert!(!server.directory.user("theodora").unwrap().unwrap().has_password());
    });
}

#[test]
fn older_passwords_shorter_than_the_minimum_still_log_in() {
    run(async {
        let server = Server::new().await;
        let before = Passwords::new(CHEAP, PasswordRules { min_length: 1 }).unwrap();
        let directory = Directory::new(server.repository.clone(), before, false);
        directory.by(CallerIdentity::operator()).set_password("ada", "x").await.unwrap();
        let server = server.restart().await;
        server.sessions.log_in("web", "swing", "ada", "x", "").await.unwrap();
    });
}

#[test]
fn a_hash_made_at_another_cost_is_still_good() {
    run(async {
        let server = Server::with(PasswordOptions { memory_kib: 64, iterations: 2, lanes: 2 }).await;
        let server = server.restart().await;
        server.log_in().await;
        assert_eq!(server.refused("ada", "wrong").await.code, Code::InvalidLogin);
        assert!(Passwords::new(PasswordOptions { memory_kib: 1, ..CHEAP }, RULES).is_err());
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
