//! Users, groups and what follows from a change of them.

use stet_domain::store::{Row, RowChange, RowPlace};

use super::*;

#[test]
fn a_password_change_ends_all_sessions_of_the_user_and_no_others() {
    run(async {
        let server = Server::new().await;
        server.directory.by(CallerIdentity::operator()).put_user(User::new("bob")).await.unwrap();
        server.directory.by(CallerIdentity::operator()).set_password("bob", PASSWORD).await.unwrap();
        let bob = server.sessions.log_in("web", "swing", "bob", PASSWORD, "").await.unwrap();
        let (new, unread) = (server.log_in().await, server.log_in().await);
        let server = server.restart().await;
        assert!(server.is_good(&new));
        server.directory.by(CallerIdentity::operator()).set_password("ada", "battery staple").await.unwrap();
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
        let disable = |user: &mut User, _| {
            user.disabled = true;
            user.groups = vec!["readers".into()];
            Ok(())
        };
        server.directory.by(CallerIdentity::operator()).change_or_make_user("ada", disable).await.unwrap();
        assert!(!server.is_good(&new));
        assert!(!server.is_good(&unread));
        assert_eq!(server.refused("ada", PASSWORD).await.code, Code::InvalidLogin);
        assert_eq!(server.privileges(), []);
        server
            .directory
            .by(CallerIdentity::operator())
            .change_or_make_user("ada", |user, _| {
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
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { disabled: true, ..User::new("ada") })
            .await
            .unwrap();
        server.directory.by(CallerIdentity::operator()).put_user(User::new("ada")).await.unwrap();
        assert!(!server.is_good(&after), "replacing the whole user is no different");
    });
}

#[test]
fn other_changes_of_a_user_leave_password_and_sessions_alone() {
    run(async {
        let server = Server::new().await;
        let new = server.log_in().await;
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { full_name: "Ada Marsh".to_owned(), ..User::new("ada") })
            .await
            .unwrap();
        let attempt = |user: &mut User, _| {
            *user = User { description: "Systems editor".to_owned(), ..User::new("eve") };
            Ok(())
        };
        server.directory.by(CallerIdentity::operator()).change_or_make_user("ada", attempt).await.unwrap();
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
fn rights_are_the_union_over_the_groups_with_folders_named_by_loid() {
    run(async {
        let server = Server::new().await;
        server.directory.repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let root = root(DatabaseId::FIRST);
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        let writes = [(Privilege::Read, None), (Privilege::Write, None), (Privilege::Delete, Some("/"))];
        server.put_group("writers", &writes).await;
        server.put_group("others", &[(Privilege::Configure, None)]).await;
        let groups = ["readers", "writers"].map(Name::of).to_vec();
        server.directory.by(CallerIdentity::operator()).put_user(User { groups, ..User::new("ada") }).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read, Privilege::Write]);
        assert_eq!(server.directory.rights_of("ada").unwrap().below(), [(root, Privilege::Delete.into())]);
        assert_eq!(*server.directory.rights_of("nobody").unwrap(), Rights::default());
        let writers = server.directory.group("writers").unwrap().unwrap();
        assert_eq!(writers.privileges[2].folder, Some(root.to_string()));
        let nowhere = UserGroup {
            name: "lost".into(),
            description: String::new(),
            privileges: vec![Grant { privilege: Privilege::Read, folder: Some("/nowhere".to_owned()) }],
        };
        assert_eq!(
            server.directory.by(CallerIdentity::operator()).put_group(nowhere).await.unwrap_err().code,
            Code::ObjectNotFound
        );
        assert_eq!(server.directory.group("lost").unwrap(), None);
    });
}

#[test]
fn a_change_of_the_directory_holds_at_once() {
    run(async {
        let server = Server::new().await;
        server.put_group("readers", &[(Privilege::Read, None)]).await;
        assert_eq!(server.privileges(), []);
        let join = |user: &mut User, _| {
            user.groups = vec!["readers".into()];
            user.full_name = "Ada Marsh".to_owned();
            Ok(())
        };
        server.directory.by(CallerIdentity::operator()).change_or_make_user("ada", join).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read]);
        assert_eq!(server.directory.full_name("ada"), "Ada Marsh");
        assert_eq!(server.directory.full_name("nobody"), "nobody");
        let grant = |privilege| Grant { privilege, folder: None };
        let more = vec![grant(Privilege::Read), grant(Privilege::Moderate)];
        let change = GroupChange { privileges: Some(more), ..GroupChange::default() };
        server.directory.by(CallerIdentity::operator()).change_group("readers", change).await.unwrap();
        assert_eq!(server.privileges(), [Privilege::Read, Privilege::Moderate]);
        server.put_group("readers", &[]).await;
        assert_eq!(server.privileges(), []);
    });
}

#[test]
fn refused_or_failed_user_changes_change_nothing() {
    run(async {
        let server = Server::new().await;
        let refuse = || Err(Error::new(Code::PermissionDenied, "no"));
        let before = server.store.rows();
        assert_eq!(
            server.directory.by(CallerIdentity::operator()).put_user(User::new("a/b")).await.unwrap_err().code,
            Code::InvalidName
        );
        assert_eq!(
            server.directory.by(CallerIdentity::operator()).put_user(User::new("")).await.unwrap_err().code,
            Code::InvalidName
        );
        let missing =
            server.directory.by(CallerIdentity::operator()).set_password("nobody", PASSWORD).await.unwrap_err();
        assert_eq!(missing.code, Code::ObjectNotFound);
        let missing = server
            .directory
            .by(CallerIdentity::operator())
            .change_group("nobody", GroupChange::default())
            .await
            .unwrap_err();
        assert_eq!(missing.code, Code::ObjectNotFound);
        let refused = server
            .directory
            .by(CallerIdentity::operator())
            .change_or_make_user("ada", |_, _| refuse())
            .await
            .unwrap_err();
        assert_eq!(refused.code, Code::PermissionDenied);
        server.store.fail_next();
        assert!(server.directory.by(CallerIdentity::operator()).set_password("ada", "battery staple").await.is_err());
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
                let changing = directory.by(CallerIdentity::operator());
                let change = changing.change_or_make_user("ada", |user, _| {
                    user.groups = groups.iter().map(|name| (*name).into()).collect();
                    Ok(())
                });
                at_once(change).unwrap();
            }
        };
        server.store.after_next_read_of(Table::Users, change(&["readers"]));
        assert!(server.directory.user("ada").unwrap().unwrap().groups.is_empty());
        assert_eq!(server.directory.user("ada").unwrap().unwrap().groups, [Name::of("readers")]);
        server.store.after_next_read_of(Table::Groups, change(&[]));
        assert_eq!(server.privileges(), [Privilege::Read]);
        assert_eq!(server.privileges(), []);

        let directory = server.directory.clone();
        change(&["readers"])();
        let change = move || {
            let disable = |user: &mut User, _| {
                user.disabled = true;
                Ok(())
            };
            at_once(directory.by(CallerIdentity::operator()).change_or_make_user("ada", disable)).unwrap();
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
        let changing = server.directory.by(CallerIdentity::operator());
        let mut gone = Box::pin(changing.change_or_make_user("ada", |user, _| {
            user.description = "first".to_owned();
            Ok(())
        }));
        assert!(gone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(gone);
        assert_eq!(server.store.pending(), 1);
        let directory = server.directory.clone();
        let next = actix::spawn(async move {
            directory
                .by(CallerIdentity::operator())
                .change_or_make_user("ada", |user, _| {
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
    let group = UserGroup {
        name: "readers".into(),
        description: String::new(),
        privileges: vec![Grant { privilege: Privilege::Read, folder: None }],
    };
    let (user_row, group_row) = (encode_value(1, &user), encode_value(1, &group));
    assert!(array(&user_row) && array(&group_row));
    assert_eq!(decode_value::<User>(1, &user_row).unwrap(), user);
    assert_eq!(decode_value::<UserGroup>(1, &group_row).unwrap(), group);
}

/// Puts a row beside all rules.
fn put<R: Row>(server: &Server, row: &R) {
    let RowPlace { table, key } = row.place();
    let mut set = ChangeSet::fence(server.store.epoch(), |_| ());
    set.changes.push(RowChange { table, key, value: Some(encode_value(R::FORMAT, row)) });
    server.store.submit(set).expect("it is taken");
}

/// A name as rows have it that were made before names had one form.
fn as_stored(text: &str) -> Name {
    serde_json::from_value(text.into()).unwrap()
}

#[test]
fn texts_that_read_the_same_name_the_same_user_group_and_key() {
    run(async {
        let server = Server::new().await;
        let (one, other) = ("ren\u{e9}", "rene\u{301}");
        server.directory.by(CallerIdentity::operator()).make_user(User::new(other), Some(PASSWORD)).await.unwrap();
        for text in [one, other, " ren\u{e9}\t"] {
            let taken = server
                .directory
                .by(CallerIdentity::operator())
                .make_user(User::new(text), Some("other password"))
                .await
                .unwrap_err();
            assert_eq!(taken.code, Code::DuplicatedName, "{text:?}");
            let new = server.sessions.log_in("web", "swing", text, PASSWORD, "").await.unwrap();
            assert_eq!(&**new.session.user(), one);
        }
        assert_eq!(server.sessions.list(Some(one)).await.unwrap().len(), 3);
        server
            .directory
            .by(CallerIdentity::operator())
            .put_user(User { full_name: "René".to_owned(), ..User::new(other) })
            .await
            .unwrap();
        server.directory.by(CallerIdentity::operator()).set_password(other, "battery staple").await.unwrap();
        assert_eq!(server.directory.users().unwrap().iter().map(|user| &*user.name).collect::<Vec<_>>(), ["ada", one]);

        server.put_group(other, &[(Privilege::Read, None)]).await;
        let taken = server
            .directory
            .by(CallerIdentity::operator())
            .create_group(one, GroupChange::default())
            .await
            .unwrap_err();
        assert_eq!(taken.code, Code::DuplicatedName);
        let members = Some(vec![other.to_owned()]);
        server
            .directory
            .by(CallerIdentity::operator())
            .change_group(one, GroupChange { members, ..GroupChange::default() })
            .await
            .unwrap();
        assert_eq!(server.directory.user(one).unwrap().unwrap().groups, [Name::of(one)]);
        assert_eq!(server.directory.group_view(other).await.unwrap().members, [one]);

        let key = |name: &str| {
            let grants = vec![Grant { privilege: Privilege::Read, folder: None }];
            server.sessions.make_key(
                CallerIdentity::operator(),
                NewKey { name: name.to_owned(), user: other.to_owned(), grants, expires_s: None },
            )
        };
        assert_eq!(&**key(other).await.unwrap().session.user(), one);
        assert_eq!(key(one).await.unwrap_err().code, Code::DuplicatedName);
        server.sessions.revoke(CallerIdentity::operator(), one).await.unwrap();
        assert_eq!(&*server.directory.by(CallerIdentity::operator()).remove_group(other).await.unwrap(), one);
        assert_eq!(server.directory.user(one).unwrap().unwrap().groups, []);
    });
}

#[test]
fn older_users_and_groups_are_found_by_exact_and_by_equivalent_names() {
    run(async {
        let server = Server::new().await;
        let before = |text: &str| User { full_name: text.to_owned(), ..User::new("") };
        for text in ["rene\u{301}", " zoe", "zoe", "mia|b"] {
            let user = User { name: as_stored(text), ..before(text) };
            put(&server, &user);
        }
        let group = UserGroup { name: as_stored("re\u{301}daction"), description: String::new(), privileges: vec![] };
        put(&server, &group);
        let server = server.restart().await;
        let found = |text: &str| server.directory.user(text).unwrap().map(|user| user.full_name.clone());
        for (text, row) in [
            ("rene\u{301}", "rene\u{301}"),
            ("ren\u{e9}", "rene\u{301}"),
            ("ren\u{e9} ", "rene\u{301}"),
            (" zoe", " zoe"),
            ("zoe", "zoe"),
            ("zoe ", "zoe"),
            ("mia|b", "mia|b"),
        ] {
            assert_eq!(found(text).as_deref(), Some(row), "{text:?}");
        }
        assert_eq!((found("mia_b"), found("zo")), (None, None));
        // Such users can be changed, and no other user gets their name or home.
        server.directory.by(CallerIdentity::operator()).set_password("ren\u{e9}", PASSWORD).await.unwrap();
        let new = server.sessions.log_in("web", "swing", "ren\u{e9}", PASSWORD, "").await.unwrap();
        assert_eq!(&**new.session.user(), "rene\u{301}");
        for name in ["ren\u{e9}", "mia_b", " zoe"] {
            let taken = server.directory.by(CallerIdentity::operator()).make_user(User::new(name), None).await;
            assert_eq!(taken.unwrap_err().code, Code::DuplicatedName, "{name:?}");
        }
        let made = |_: &mut User, made: bool| if made { Err(Error::internal()) } else { Ok(()) };
        server.directory.by(CallerIdentity::operator()).change_or_make_user("ren\u{e9}", made).await.unwrap();
        assert_eq!(server.directory.users().unwrap().len(), 5);
        let members = Some(vec!["ren\u{e9}".to_owned()]);
        let change = GroupChange { members, ..GroupChange::default() };
        server.directory.by(CallerIdentity::operator()).change_group("r\u{e9}daction", change).await.unwrap();
        assert_eq!(server.directory.group_view(&group.name).await.unwrap().members, ["rene\u{301}"]);
        let taken = server
            .directory
            .by(CallerIdentity::operator())
            .create_group("r\u{e9}daction", GroupChange::default())
            .await
            .unwrap_err();
        assert_eq!(taken.code, Code::DuplicatedName);
    });
}
