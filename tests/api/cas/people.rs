//! Users that the CAS server names: their creation, groups and homes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::server::{CasServer, success};
use super::{SERVICE, log_in, login, stet};
use crate::harness::*;

/// Logs in as the user that the CAS server describes. Returns the user and the groups, sorted.
fn comes(cas: &CasServer, server: &Server, ticket: &str, inside: &str) -> (Value, BTreeSet<String>) {
    cas.issue(ticket, success(inside));
    let reply = login(&server.client(), ticket).query("showUserInfo", true).ok();
    let groups = reply["groups"].as_array().expect("groups are a list").iter();
    (reply["user"].clone(), groups.map(|name| name.as_str().expect("a group has a name").to_owned()).collect())
}

fn groups<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn a_user_who_is_not_known_here_stays_out_where_none_are_made() {
    let cas = CasServer::start();
    let server = stet(&cas, &[]);
    for ticket in ["ST-1", "ST-2"] {
        cas.issue(ticket, success("<cas:user>newcomer</cas:user>"));
        says(&log_in(&server, ticket).fails(401, "InvalidLogin"), "newcomer");
    }
    // Without a mapping the CAS server does not determine groups.
    let (user, held) = comes(
        &cas,
        &server,
        "ST-3",
        "<cas:user>reporter</cas:user><cas:attributes><cas:memberOf>editors</cas:memberOf></cas:attributes>",
    );
    assert_eq!((&user["fullName"], held), (&json!("Tobias Ferrant"), groups(["reporters"])));
}

#[test]
fn a_user_is_made_with_the_configured_groups_and_no_password() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true"), ("GROUPS", "readers, contributors")]);
    let (user, held) = comes(
        &cas,
        &server,
        "ST-1",
        "<cas:user>newcomer</cas:user><cas:attributes><cas:displayName>Zoë &amp; Co</cas:displayName>
         <cas:mail>zoe@example.org</cas:mail></cas:attributes>",
    );
    assert_eq!(held, groups(["contributors", "readers"]));
    assert_eq!((&user["name"], &user["fullName"]), (&json!("newcomer"), &json!("Zoë & Co")));
    assert_eq!((&user["businessEmail"], &user["home"]), (&json!("zoe@example.org"), &json!("/Users/newcomer")));
    for password in ["", "newcomer", SAMPLE_PASSWORD] {
        server.log_in("newcomer", password).fails_on(password, 401, "InvalidLogin");
    }
    // Sent attributes are stored, others stay, and invalid ones are ignored.
    let (user, _) = comes(
        &cas,
        &server,
        "ST-2",
        &format!(
            "<cas:user>newcomer</cas:user><cas:attributes><cas:displayName>Zoë</cas:displayName>
             <cas:mail>{}</cas:mail></cas:attributes>",
            "x".repeat(300)
        ),
    );
    assert_eq!((&user["fullName"], &user["businessEmail"]), (&json!("Zoë"), &json!("zoe@example.org")));
    let server = server.restart();
    let (user, held) = comes(&cas, &server, "ST-3", "<cas:user>newcomer</cas:user>");
    assert_eq!((&user["fullName"], held), (&json!("Zoë"), groups(["contributors", "readers"])));
}

#[test]
fn many_first_logins_at_once_make_one_user_and_all_their_sessions_live() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true"), ("GROUPS", "readers")]);
    let tickets: Vec<_> = (0..8).map(|number| format!("ST-{number}")).collect();
    let tokens: Vec<_> = std::thread::scope(|scope| {
        let logins: Vec<_> = tickets
            .iter()
            .map(|ticket| {
                cas.issue(ticket, success("<cas:user>newcomer</cas:user>"));
                scope.spawn(|| log_in(&server, ticket).ok()["token"]["value"].take())
            })
            .collect();
        logins.into_iter().map(|login| login.join().expect("it got an answer")).collect()
    });
    for token in tokens {
        server.client_with(&token).call("auth-connection-get", &[]).gives(&json!({ "username": "newcomer" }));
    }
}

#[test]
fn the_groups_of_the_mapping_are_as_the_cas_server_says_at_each_login() {
    let cas = CasServer::start();
    let mapping = "desk=editors, night=editors, wire=contributors";
    let settings =
        [("CREATE_USERS", "1"), ("GROUPS", "readers"), ("GROUP_ATTRIBUTE", "memberOf"), ("GROUP_MAPPING", mapping)];
    let server = stet(&cas, &settings);
    let of = |user: &str, values: &[&str]| {
        let values: String = values.iter().map(|value| format!("<cas:memberOf>{value}</cas:memberOf>")).collect();
        format!("<cas:user>{user}</cas:user><cas:attributes>{values}</cas:attributes>")
    };
    let cases = [
        ("newcomer", vec!["desk", "unknown"], groups(["editors", "readers"])),
        ("newcomer", vec!["night", "wire"], groups(["contributors", "editors", "readers"])),
        ("newcomer", vec!["readers", "administrators", "DESK"], groups(["readers"])),
        // Groups outside the mapping stay as they are here.
        ("reporter", vec!["desk"], groups(["editors", "reporters"])),
        ("reporter", vec![], groups(["reporters"])),
        ("editor", vec![], groups([])),
    ];
    for (number, (user, values, expected)) in cases.into_iter().enumerate() {
        let (_, held) = comes(&cas, &server, &format!("ST-{number}"), &of(user, &values));
        assert_eq!(held, expected, "{user} {values:?}");
    }
    // They hold at once, for sessions that were there before too.
    let privileges = |ticket: &str, values: &[&str]| {
        cas.issue(ticket, success(&of("newcomer", values)));
        login(&server.client(), ticket).query("showPrivileges", true).ok()["privileges"].clone()
    };
    assert!(privileges("ST-a", &["desk"]).to_string().contains("moderate"));
    assert_eq!(privileges("ST-b", &[]), json!(["read"]));
}

#[test]
fn the_last_administrator_stays_one_whatever_the_cas_server_says() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("GROUP_ATTRIBUTE", "memberOf"), ("GROUP_MAPPING", "root=administrators")]);
    let mail = "<cas:user>admin</cas:user><cas:attributes><cas:displayName>The last</cas:displayName></cas:attributes>";
    let (_, held) = comes(&cas, &server, "ST-1", mail);
    assert_eq!(held, groups(["administrators"]));
    wait_until("it is in the log", || server.log().contains("the last administrator"));
    // With another administrator, the membership is removed.
    server.user("admin").call("stet-user-update-put", &[&"editor"]).json(&json!({ "groups": ["administrators"] })).ok();
    let (_, held) = comes(&cas, &server, "ST-2", mail);
    assert_eq!(held, groups([]));
}

#[test]
fn a_disabled_user_stays_out_whoever_vouches() {
    let cas = CasServer::start();
    // Without a password for them, the sample's users are disabled.
    let url = cas.url();
    let server = Server::with(&[
        ("AUTH__CAS__SERVER_URL", &url),
        ("AUTH__CAS__SERVICE_URL", SERVICE),
        ("AUTH__CAS__CREATE_USERS", "true"),
        ("SAMPLE_PASSWORD", ""),
    ]);
    for ticket in ["ST-1", "ST-2"] {
        cas.issue(
            ticket,
            success("<cas:user>editor</cas:user><cas:attributes><cas:mail>x@y</cas:mail></cas:attributes>"),
        );
        says(&log_in(&server, ticket).fails(401, "InvalidLogin"), "disabled");
    }
    cas.issue("ST-3", success("<cas:user>admin</cas:user>"));
    log_in(&server, "ST-3").ok();
}

#[test]
fn a_name_that_can_not_be_one_here_is_refused() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("CREATE_USERS", "true")]);
    let long = "x".repeat(256);
    for (number, name) in ["a/b", "../editor", ".", "..", "a:b", "a|b", "a\"b", "a&#9;b", &long].into_iter().enumerate()
    {
        let ticket = format!("ST-{number}");
        cas.issue(&ticket, success(&format!("<cas:user>{name}</cas:user>")));
        says(&log_in(&server, &ticket).fails_on(name, 401, "InvalidLogin"), "name");
    }
    // A legal one is taken as it is, and shown as JSON has it.
    for (ticket, written, name) in [("ST-a", "O&apos;Neil, &lt;Zoë&gt;", "O'Neil, <Zoë>"), ("ST-b", "EDITOR", "EDITOR")]
    {
        let (user, held) = comes(&cas, &server, ticket, &format!("<cas:user>{written}</cas:user>"));
        assert_eq!((&user["name"], held), (&json!(name), groups([])));
    }
}

#[test]
fn records_in_the_configuration_are_for_those_who_may_read() {
    let cas = CasServer::start();
    let url = cas.url();
    let server = Server::with(&[
        ("AUTH__CAS__SERVER_URL", &url),
        ("AUTH__CAS__SERVICE_URL", SERVICE),
        ("AUTH__CAS__CREATE_USERS", "true"),
        ("AUTH__CAS__GROUP_ATTRIBUTE", "role"),
        ("AUTH__CAS__GROUP_MAPPING", "reads=readers"),
        ("FOLDERS__WORK", "/News/City"),
    ]);
    for (ticket, role, expected) in [("ST-1", "none", Value::Null), ("ST-2", "reads", json!("City"))] {
        let attributes = format!("<cas:attributes><cas:role>{role}</cas:role></cas:attributes>");
        cas.issue(ticket, success(&format!("<cas:user>newcomer</cas:user>{attributes}")));
        let configuration = log_in(&server, ticket).ok()["configuration"].take();
        assert_eq!(configuration["workFolder"], "/News/City");
        assert_eq!(configuration["workFolderRecord"]["name"], expected, "{role}");
        assert_eq!(configuration["homeRecord"], Value::Null, "nothing is in that home yet");
    }
}

/// Regression test: a user must not become a member of a missing group by name. Otherwise they
/// would get the rights of a later group of that name without anyone's decision.
#[test]
fn a_group_of_the_configuration_that_is_not_there_is_nobodys() {
    let cas = CasServer::start();
    let server = stet(
        &cas,
        &[
            ("CREATE_USERS", "true"),
            ("GROUPS", "readers,absent"),
            ("GROUP_ATTRIBUTE", "role"),
            ("GROUP_MAPPING", "sports=desk"),
        ],
    );
    let person = "<cas:user>mia</cas:user><cas:attributes><cas:role>sports</cas:role></cas:attributes>";
    assert_eq!(comes(&cas, &server, "ST-1", person).1, groups(["readers"]));
    server.user("admin").call("group-create-post", &[]).json(&json!({ "groupName": "desk" })).ok();
    assert_eq!(comes(&cas, &server, "ST-2", person).1, groups(["desk", "readers"]));
}

#[test]
fn equivalent_cas_names_are_one_user_and_names_unfit_for_folders_fail() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[("CREATE_USERS", "true"), ("GROUPS", "reda\u{301}ction")]);
    server.user("admin").call("group-create-post", &[]).json(&json!({ "groupName": "red\u{e1}ction" })).ok();
    for (ticket, name) in [("ST-1", "ren\u{e9}"), ("ST-2", "rene\u{301}"), ("ST-3", "ren\u{e9}")] {
        let (user, held) = comes(&cas, &server, ticket, &format!("<cas:user>{name}</cas:user>"));
        assert_eq!((&user["name"], held), (&json!("ren\u{e9}"), groups(["red\u{e1}ction"])));
    }
    let names = ["mia|b", "zoe:b", "a/b", ".."];
    for (number, name) in names.iter().enumerate() {
        let ticket = format!("ST-x{number}");
        cas.issue(&ticket, success(&format!("<cas:user>{name}</cas:user>")));
        says(&log_in(&server, &ticket).fails_on(name, 401, "InvalidLogin"), "not valid here");
    }
    assert_eq!(server.user("admin").call("stet-user-list-get", &[]).ok()["total"], 6);
    server.terminate();
    let refused = server.log().lines().filter(|line| line.contains("an invalid user name")).count();
    assert_eq!(refused, names.len());
}
