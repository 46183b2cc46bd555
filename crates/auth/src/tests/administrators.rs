//! The rule that at least one user can always manage users and groups, and the audit trail of such
//! changes.

use proptest::prelude::*;

use super::*;
use crate::GroupChange;

/// A change to one of two users or two groups.
#[derive(Debug, Clone, Copy)]
enum Deed {
    /// Keep a user out, or let them in.
    Disable(usize, bool),
    /// Put a user into exactly these groups.
    Place(usize, [bool; 2]),
    /// Make a group of these members.
    Members(usize, [bool; 2]),
    /// Let a group manage or not.
    Manage(usize, bool),
    /// Let a group manage below a folder, which does not make its members administrators.
    ManageBelow(usize),
    /// Remove a group.
    Remove(usize),
    /// Set a user's password. Users without one can't log in.
    Password(usize),
}

const USERS: [&str; 2] = ["ada", "bob"];
const GROUPS: [&str; 2] = ["one", "two"];

/// The rule in its simplest form.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    disabled: [bool; 2],
    has_password: [bool; 2],
    is_in: [[bool; 2]; 2],
    manages: [bool; 2],
}

impl Model {
    fn has_administrator(&self) -> bool {
        let logs_in = |user: usize| !self.disabled[user] && self.has_password[user];
        let manages = |user: usize| (0..2).any(|group| self.is_in[user][group] && self.manages[group]);
        (0..2).any(|user| logs_in(user) && manages(user))
    }

    fn after(&self, deed: Deed) -> Model {
        let mut after = self.clone();
        match deed {
            Deed::Disable(user, disabled) => after.disabled[user] = disabled,
            Deed::Place(user, groups) => after.is_in[user] = groups,
            Deed::Members(group, members) => (0..2).for_each(|user| after.is_in[user][group] = members[user]),
            Deed::Manage(group, manages) => after.manages[group] = manages,
            Deed::ManageBelow(group) => after.manages[group] = false,
            Deed::Remove(group) => {
                after.manages[group] = false;
                (0..2).for_each(|user| after.is_in[user][group] = false);
            }
            Deed::Password(user) => after.has_password[user] = true,
        }
        after
    }
}

async fn carry_out(server: &Server, deed: Deed) -> Result<(), Error> {
    let changing = server.directory.by(CallerIdentity::operator());
    let chosen = |names: [&'static str; 2], which: [bool; 2]| {
        names.into_iter().zip(which).filter(|(_, is)| *is).map(|(name, _)| name)
    };
    let grant = |folder: Option<String>| Grant { privilege: Privilege::ManageGroups, folder };
    let change = |privileges| GroupChange { privileges: Some(privileges), ..GroupChange::default() };
    let put = async |group: usize, change: GroupChange| match server.directory.group(GROUPS[group])? {
        Some(_) => changing.change_group(GROUPS[group], change).await,
        None => changing.create_group(GROUPS[group], change).await,
    };
    match deed {
        Deed::Disable(user, disabled) => {
            let disable = |user: &mut User| {
                user.disabled = disabled;
                Ok(())
            };
            changing.edit_user(USERS[user], None, disable).await
        }
        Deed::Place(user, groups) => {
            for group in (0..2).filter(|group| groups[*group]) {
                if server.directory.group(GROUPS[group])?.is_none() {
                    put(group, GroupChange::default()).await?;
                }
            }
            let place = |user: &mut User, _| {
                user.groups = chosen(GROUPS, groups).map(Name::from).collect();
                Ok(())
            };
            changing.change_or_make_user(USERS[user], place).await
        }
        Deed::Members(group, members) => {
            let members = Some(chosen(USERS, members).map(str::to_owned).collect());
            put(group, GroupChange { members, ..GroupChange::default() }).await
        }
        Deed::Manage(group, manages) => put(group, change(manages.then(|| grant(None)).into_iter().collect())).await,
        Deed::ManageBelow(group) => put(group, change(vec![grant(Some("/".to_owned()))])).await,
        Deed::Remove(group) => match server.directory.group(GROUPS[group])? {
            Some(_) => changing.remove_group(GROUPS[group]).await.map(drop),
            // Members by name lose their membership.
            None => {
                put(group, GroupChange::default()).await?;
                changing.remove_group(GROUPS[group]).await.map(drop)
            }
        },
        Deed::Password(user) => changing.set_password(USERS[user], PASSWORD).await,
    }
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let both = || [any::<bool>(), any::<bool>()];
    let deed = prop_oneof![
        (0..2_usize, any::<bool>()).prop_map(|(user, disabled)| Deed::Disable(user, disabled)),
        (0..2_usize, both()).prop_map(|(user, groups)| Deed::Place(user, groups)),
        (0..2_usize, both()).prop_map(|(group, members)| Deed::Members(group, members)),
        (0..2_usize, any::<bool>()).prop_map(|(group, manages)| Deed::Manage(group, manages)),
        (0..2_usize).prop_map(Deed::ManageBelow),
        (0..2_usize).prop_map(Deed::Remove),
        (0..2_usize).prop_map(Deed::Password),
    ];
    proptest::collection::vec(deed, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_the_last_administrator_stays(deeds in deeds()) {
        run(async {
            let server = Server::new().await;
            server.repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
            server.directory.by(CallerIdentity::operator()).put_user(User::new("bob")).await.unwrap();
            let (disabled, has_password) = ([false; 2], [true, false]);
            let mut model = Model { disabled, has_password, is_in: [[false; 2]; 2], manages: [false; 2] };
            for deed in deeds {
                let after = model.after(deed);
                let refused = model.has_administrator() && !after.has_administrator();
                match carry_out(&server, deed).await {
                    Ok(()) => {
                        assert!(!refused, "{deed:?} of {model:?}");
                        model = after;
                    }
                    Err(error) => {
                        assert_eq!((refused, error.code), (true, Code::PermissionDenied), "{deed:?} of {model:?}: {error}");
                    }
                }
                for (user, is_in) in USERS.iter().zip(model.is_in) {
                    let found = server.directory.user(user).unwrap().unwrap();
                    let groups = GROUPS.map(|group| found.groups.contains(&group.into()));
                    assert_eq!(groups, is_in, "{deed:?}: {user}");
                }
            }
        });
    }
}

/// Covers a group deleted while the new user's password is hashed, after the check of the groups.
/// Otherwise the user would join a later group of the same name.
#[test]
fn users_cannot_be_added_to_a_group_that_was_deleted_meanwhile() {
    run(async {
        let server = Server::new().await;
        let changing = server.directory.by(CallerIdentity::operator());
        let join = |user: &mut User| {
            user.groups.push("desk".into());
            Ok(())
        };
        let error = changing.edit_user("ada", None, join).await.unwrap_err();
        assert_eq!(error.code, Code::ObjectNotFound, "{error}");
        let new = User { groups: vec!["desk".into()], ..User::new("new") };
        assert_eq!(changing.make_user(new, None).await.unwrap_err().code, Code::ObjectNotFound);
        changing.create_group("desk", GroupChange::default()).await.unwrap();
        changing.edit_user("ada", None, join).await.unwrap();
        changing.remove_group("desk").await.unwrap();
        assert_eq!(server.directory.user("ada").unwrap().unwrap().groups, []);
    });
}

#[test]
fn forced_operator_changes_may_leave_no_administrator() {
    run(async {
        let server = Server::new().await;
        let manage = || Some(vec![Grant { privilege: Privilege::ManageGroups, folder: None }]);
        let boss = |privileges| GroupChange { privileges, join: vec!["ada".to_owned()], ..GroupChange::default() };
        let changing = server.directory.by(CallerIdentity::operator());
        changing.create_group("boss", boss(manage())).await.unwrap();
        assert!(server.directory.has_administrator().await.unwrap());
        let leave = || GroupChange { leave: vec!["ada".to_owned()], ..GroupChange::default() };
        let lose = || GroupChange { privileges: Some(Vec::new()), ..GroupChange::default() };
        let disabled = |disabled| {
            move |user: &mut User| {
                user.disabled = disabled;
                Ok(())
            }
        };
        let forced = || server.directory.by(CallerIdentity::operator()).forced();
        for way in 0..4 {
            let refused = match way {
                0 => changing.change_group("boss", leave()).await,
                1 => changing.change_group("boss", lose()).await,
                2 => changing.edit_user("ada", None, disabled(true)).await,
                _ => changing.remove_group("boss").await.map(drop),
            };
            assert!(leaves_no_administrator(&refused.unwrap_err()), "{way}");
            assert!(server.directory.has_administrator().await.unwrap(), "{way}");
            match way {
                0 => forced().change_group("boss", leave()).await.unwrap(),
                1 => forced().change_group("boss", lose()).await.unwrap(),
                2 => forced().edit_user("ada", None, disabled(true)).await.unwrap(),
                _ => drop(forced().remove_group("boss").await.unwrap()),
            }
            assert!(!server.directory.has_administrator().await.unwrap(), "{way}");
            // The operator on the machine makes someone an administrator again.
            match way {
                2 => changing.edit_user("ada", None, disabled(false)).await.unwrap(),
                3 => changing.create_group("boss", boss(manage())).await.unwrap(),
                _ => changing.change_group("boss", boss(manage())).await.unwrap(),
            }
            assert!(server.directory.has_administrator().await.unwrap(), "{way}");
        }
    });
}

#[test]
fn the_trail_tells_who_did_what_and_nothing_of_what_was_no_change() {
    run(async {
        let server = Server::new().await;
        let before = server.store.events().len();
        let who = CallerIdentity { user: "root".into(), session: "s1".into(), address: Some("192.0.2.7".into()) };
        let changing = server.directory.by(who.clone());
        let members = |members: &[&str]| Some(members.iter().map(|name| (*name).to_owned()).collect());
        changing.make_user(User::new("bob"), None).await.unwrap();
        let desk = GroupChange { members: members(&["ada", "bob"]), ..GroupChange::default() };
        changing.create_group("desk", desk.clone()).await.unwrap();
        changing.change_group("desk", desk).await.unwrap();
        let described = GroupChange {
            description: Some("The desk".to_owned()),
            leave: vec!["ada".to_owned()],
            privileges: Some(vec![Grant { privilege: Privilege::Read, folder: None }]),
            ..GroupChange::default()
        };
        changing.change_group("desk", described).await.unwrap();
        let join = GroupChange { join: vec!["ada".to_owned()], ..GroupChange::default() };
        changing.change_group("desk", join).await.unwrap();
        let disable = |user: &mut User| {
            user.disabled = true;
            user.full_name = "Bob".to_owned();
            Ok(())
        };
        changing.edit_user("bob", Some(PASSWORD), disable).await.unwrap();
        changing.edit_user("nobody", None, |_| Ok(())).await.unwrap_err();
        changing.remove_group("desk").await.unwrap();
        let key = super::keys::key("wire", None);
        server.sessions.make_key(who.clone(), key).await.unwrap();
        server.sessions.revoke(who, "wire").await.unwrap();
        let trail = server.store.events().split_off(before);
        assert!(trail.iter().all(|event| event.container.is_none() && event.user == "root" && event.session == "s1"));
        assert!(trail.iter().all(|event| event.address == "192.0.2.7"));
        let told: Vec<String> = trail.iter().map(|event| format!("{} {}", event.kind, event.ids.join(" "))).collect();
        let wanted = [
            "user.create bob",
            "group.create desk",
            "group.join desk ada bob",
            "group.privileges desk",
            "group.change desk",
            "group.leave desk ada",
            "group.join desk ada",
            "user.disable bob",
            "user.password bob",
            "user.change bob",
            "group.delete desk",
            "group.leave desk ada bob",
            "key.create wire",
            "key.revoke wire",
        ];
        assert_eq!(told, wanted);
        let text = format!("{trail:?}");
        assert!(!text.contains("argon2") && !text.contains(PASSWORD), "{text}");
    });
}
