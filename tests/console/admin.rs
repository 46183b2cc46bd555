//! The page of administration: the main path of each section, and refused changes.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::access::is_accessible;
use super::browser::{Browser, sign_in};
use super::*;
use crate::api::webhook::receiver::Receiver;

/// A name that would be markup anywhere else.
const HOSTILE: &str = "<img src=x onerror=alert(1)> “\u{202e}x”";

/// Opens a section as an administrator.
fn opened(server: &Server, section: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, "admin", ADMIN_PASSWORD);
    browser.open(&format!("{}/console/#/admin/{section}", server.base));
    browser.find(".section h2");
    Some(browser)
}

/// Types into a field, in place of what is there.
#[track_caller]
fn fill(browser: &Browser, css: &str, text: &str) {
    browser.click(css);
    browser.press("Control+a");
    browser.press("Delete");
    browser.type_text(text);
}

/// Waits until the page shows a text within an element.
#[track_caller]
fn says(browser: &Browser, css: &str, text: &str) {
    let shown = format!("[...document.querySelectorAll({css:?})].some((one) => one.textContent.includes({text:?}))");
    browser.wait_for(&format!("`{css}` says {text:?}"), &shown);
}

/// A name that no other test uses.
fn own_name(begin: &str) -> String {
    format!("{begin}{}", own_folder().replace('/', "-"))
}

#[test]
fn administration_is_for_those_with_rights_and_others_are_told() {
    let server = Server::shared();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "reporter", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/admin/people", server.base));
    says(&browser, ".refused", "Manage groups");
    let listed = "return document.querySelectorAll('.bar [href=\"#/admin\"]').length;";
    assert_eq!(browser.script(listed, &[]), json!(0));
    drop(browser);
    let Some(browser) = opened(server, "people") else { return };
    browser.find(".bar [href='#/admin']");
}

#[test]
fn people_are_added_changed_and_disabled() {
    // The first view has everybody only where other tests add nobody.
    let server = Server::start();
    let (client, name) = (server.user("admin"), own_name("mia"));
    let Some(browser) = opened(&server, "people") else { return };
    // A refused addition keeps what was typed.
    says(&browser, ".choose", "Tobias Ferrant");
    browser.expect_error("400");
    browser.click(".head .primary");
    fill(&browser, "[name=name]", &name);
    fill(&browser, "[name=password]", "short");
    fill(&browser, "[name=fullName]", HOSTILE);
    browser.click("[name='group:readers']");
    browser.click(".panel .primary");
    says(&browser, ".panel .fault", "too short");
    assert_eq!(browser.script("return document.querySelector('[name=fullName]').value;", &[]), json!(HOSTILE));
    fill(&browser, "[name=password]", "long enough for it");
    browser.click(".panel .primary");
    says(&browser, ".choose [aria-current] b", HOSTILE);
    let user = client.get(&format!("/v3/user/{}", encoded(&name))).ok();
    assert_eq!((&user["fullName"], &user["groups"]), (&json!(HOSTILE), &json!(["readers"])));

    browser.wait_for(
        "the form of the person",
        "document.querySelector('[name=team]')?.form.textContent.includes('Signs in as')",
    );
    fill(&browser, "[name=businessEmail]", "mia@courier.example");
    browser.click("[name='group:reporters']");
    browser.click(".panel .primary");
    let changed = || client.get(&format!("/v3/user/{}", encoded(&name))).ok();
    wait_patiently_until("the change", || changed()["groups"] == json!(["readers", "reporters"]));
    assert_eq!(changed()["businessEmail"], "mia@courier.example");
    browser.click(".panel .risky");
    browser.click("dialog .primary");
    says(&browser, ".choose [aria-current]", "Disabled");
    assert_eq!(changed()["disabled"], true);
    // The search finds full names, too.
    fill(&browser, "[type=search]", "Tobias");
    browser.wait_for("only who was looked for", "document.querySelectorAll('.choose li').length === 1");
}

#[test]
fn the_last_administrator_stays_and_the_form_keeps_its_state() {
    let server = Server::shared();
    let Some(browser) = opened(server, "people/admin") else { return };
    browser.expect_error("403");
    browser.click("[name='group:administrators']");
    browser.click(".panel .primary");
    says(&browser, ".panel .fault", "Nobody would be left");
    let ticked = "return document.querySelector('[name=\"group:administrators\"]').checked;";
    assert_eq!(browser.script(ticked, &[]), json!(false));
}

#[test]
fn a_form_survives_the_end_of_the_session_and_sees_what_others_have_changed() {
    let server = Server::start();
    let client = server.user("admin");
    let Some(browser) = opened(&server, "people/editor") else { return };
    browser.expect_error("401");
    fill(&browser, "[name=team]", "Harbour");
    let sessions = client.get("/v3/session").ok();
    let others = sessions["items"].as_array().expect("a list").iter().filter(|one| one["current"] == false);
    for one in others {
        client.call("stet-session-delete", &[&one["id"].as_str().expect("a session has an id")]).ok();
    }
    browser.click(".panel footer .primary");
    fill(&browser, ".cover [name=username]", "admin");
    fill(&browser, ".cover [name=password]", ADMIN_PASSWORD);
    browser.press("Enter");
    browser.wait_for("the page is free again", "!document.querySelector('.cover')");
    assert_eq!(browser.script("return document.querySelector('[name=team]').value;", &[]), json!("Harbour"));
    let user = || client.get("/v3/user/editor").ok();
    client.call("stet-user-update-put", &[&"editor"]).json(&json!({ "team": "Sport", "description": "Desk" })).ok();
    browser.click(".panel footer .primary");
    says(&browser, ".panel .fault", "Somebody else");
    assert_eq!(user()["team"], "Sport");
    browser.click(".panel footer .primary");
    wait_patiently_until("it is replaced", || user()["team"] == "Harbour");
    assert_eq!(user()["description"], "Desk");
}

/// The rights of a group, as `privilege folder`.
fn rights(client: &Client, group: &str) -> Vec<String> {
    let groups = client.get("/v3/conf/cache/groups/1").ok();
    let found = groups["items"].as_array().expect("a list").iter().find(|one| one["groupName"] == group).cloned();
    let grants = found.unwrap_or_default()["privileges"].as_array().cloned().unwrap_or_default();
    grants.iter().map(|one| format!("{} {}", one["privilege"], one["folder"]).replace('"', "")).collect()
}

#[test]
fn a_group_gets_members_and_rights_everywhere_and_for_a_folder() {
    let server = Server::shared();
    let (client, name) = (server.user("admin"), own_name("<b>desk"));
    let Some(browser) = opened(server, "groups") else { return };
    browser.click(".head .primary");
    fill(&browser, ".panel [name=name]", &name);
    fill(&browser, ".panel [name=member]", "reporter");
    browser.press("Enter");
    says(&browser, ".chips", "Tobias Ferrant");
    browser.click("[data-place=Everywhere] [data-privilege=read]");
    fill(&browser, "grants-table .picker input", "/News/City");
    browser.press("Enter");
    browser.click("[data-place='/News/City'] [data-privilege=write]");
    browser.click(".panel footer .primary");
    says(&browser, ".choose [aria-current] b", &name);
    assert_eq!(rights(&client, &name), ["read null", "write /News/City"]);

    // What another has changed meanwhile is not overwritten unseen.
    client
        .call("group-update-post", &[])
        .json(&json!({
            "groupName": name, "privileges": [{ "privilege": "create" }],
        }))
        .ok();
    browser.click("[data-place='/News/City'] [data-privilege=delete]");
    browser.click(".panel footer .primary");
    says(&browser, ".panel .fault", "meanwhile");
    assert_eq!(rights(&client, &name), ["create null"]);
    browser.click(".panel footer .primary");
    wait_patiently_until("the rights", || rights(&client, &name).len() == 3);
    browser.click(".panel .risky");
    browser.click("dialog .primary");
    browser.wait_for("the group is gone", "!document.querySelector('.panel')");
    let names = client.get("/conf/group/list").json();
    assert!(!names.as_array().expect("a list").contains(&Value::from(name.as_str())), "{names}");
}

#[test]
fn a_key_is_made_its_secret_shown_once_and_it_is_revoked() {
    let server = Server::shared();
    let name = own_name("key");
    let Some(browser) = opened(server, "keys") else { return };
    browser.expect_error("400");
    browser.click(".head .primary");
    fill(&browser, "#key-form [name=name]", &name);
    fill(&browser, "#key-form [name=user]", "editor");
    // Without a right it is refused, and the form stays.
    browser.click(".panel footer .primary");
    browser.wait_for("the refusal", "document.querySelector('.panel .fault')?.textContent");
    browser.click("[data-place=Everywhere] [data-privilege=read]");
    browser.click(".panel footer .primary");
    let token = browser.find(".secret code").text();
    let program = Client::at(&server.base, Some(token));
    assert_eq!(program.get("/v3/folder/root").status, 200);
    says(&browser, ".secret", "only this once");
    browser.click(".secret button:last-of-type");
    browser.wait_for("the secret is hidden", "!document.body.textContent.includes('stk_')");
    let row = format!("[data-key='{name}']");
    says(&browser, &row, "Mara Lindqvist");
    browser.click(&format!("{row} button"));
    browser.click("dialog .primary");
    browser.wait_for("it is no longer listed", &format!("!document.querySelector({row:?})"));
    assert_eq!(program.get("/v3/folder/root").status, 401);
}

#[test]
fn sessions_are_listed_and_ended() {
    let server = Server::start();
    let reporter = server.user("reporter");
    let Some(browser) = opened(&server, "sessions") else { return };
    says(&browser, "[data-session]", "this session");
    fill(&browser, ".head [name=user]", "reporter");
    browser.press("Enter");
    browser.wait_for("those of the reporter", "document.querySelectorAll('[data-session]').length === 1");
    browser.click("[data-session] button");
    browser.click("dialog .primary");
    browser.wait_for("it is ended", "document.querySelectorAll('[data-session]').length === 0");
    assert_eq!(reporter.get("/v3/auth/connection").status, 401);
    // Others see their own, and ending the one in use leads to the form to sign in.
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/admin/sessions", server.base));
    browser.wait_for("their own", "document.querySelectorAll('[data-session]').length === 1");
    browser.click("[data-session] button");
    browser.click("dialog .primary");
    browser.find("[name=username]");
}

/// The path of a configuration file within a URL.
const WORKFLOWS: &str = "%2FSysConfig%2FWorkflows%2Fworkflows.xml";

#[test]
fn a_configuration_file_is_edited_its_faults_are_at_their_lines_and_others_changes_are_seen() {
    let server = Server::start();
    let client = server.user("admin");
    let content = |client: &Client| {
        let reply = client.get(&format!("/v3/object/{WORKFLOWS}/content"));
        String::from_utf8(reply.body).expect("it is text")
    };
    let original = content(&client);
    let Some(browser) = opened(&server, "configuration/Workflows%2Fworkflows.xml") else { return };
    let area = "document.querySelector('.source textarea')";
    browser.wait_for("the source", &format!("{area}?.value.includes('<workflows>')"));
    // A fault is told at its line, and what was in force stays.
    browser.click(".source textarea");
    browser.press("Control+Home");
    browser.type_text("<!-- <script>alert(1)</script> -->\n<faulty");
    browser.click(".panel footer .primary");
    says(&browser, ".faults button", "Line ");
    says(&browser, ".outcome.bad", "stays in force");
    assert!(content(&client).starts_with("<!-- <script>"));
    browser.click(".faults button");
    browser.wait_for("the field has the focus", &format!("document.activeElement === {area}"));
    // Somebody else saves it while more is typed: nothing is lost, and the person decides.
    browser.press("Control+a");
    browser.type_text("mine");
    client
        .send(
            "PUT",
            &format!("/v3/object/{WORKFLOWS}/content?newVersion=true"),
            &[("content-type", "text/xml")],
            original.as_bytes(),
        )
        .ok();
    says(&browser, ".outcome.warn", "Somebody else");
    assert_eq!(browser.script(&format!("return {area}.value;"), &[]), json!("mine"));
    // It is still there after a look at another section.
    browser.click(".sections a");
    browser.find("admin-people");
    browser.open(&format!("{}/console/#/admin/configuration/Workflows%2Fworkflows.xml", server.base));
    browser.wait_for("what was typed", &format!("{area}?.value === 'mine'"));
    browser.click(".outcome.warn button");
    browser.wait_for("theirs", &format!("{area}.value.startsWith('<?xml')"));
    browser.click(".panel footer .primary");
    says(&browser, ".outcome.good", "in force");
    assert_eq!(content(&client), original);
}

#[test]
fn a_file_that_was_saved_meanwhile_is_not_overwritten_unseen() {
    let server = Server::start();
    let client = server.user("admin");
    let Some(browser) = opened(&server, "configuration/Workflows%2Fworkflows.xml") else { return };
    let area = "document.querySelector('.source textarea')";
    browser.wait_for("the source", &format!("{area}?.value.includes('<workflows>')"));
    browser.expect_error("412");
    // The page is kept from hearing of the other change.
    let save = "const area = document.querySelector('.source textarea');
        const other = fetch('../v3/object/' + arguments[0] + '/content?newVersion=true',
            { method: 'PUT', headers: { 'content-type': 'text/xml' }, body: '<theirs/>' });
        area.value = '<mine/>';
        area.dispatchEvent(new Event('input'));
        return other.then((reply) => (document.querySelectorAll('.panel footer button')[1].click(), reply.status));";
    assert_eq!(browser.script(save, &[json!(WORKFLOWS)]), json!(200));
    says(&browser, ".outcome.warn", "Somebody else");
    let stored = || client.get(&format!("/v3/object/{WORKFLOWS}/content")).body;
    assert_eq!(stored(), b"<theirs/>");
    browser.click(".outcome.warn button:last-of-type");
    browser.wait_for("the question is answered", "!document.querySelector('.outcome.warn')");
    browser.click(".panel footer button:nth-of-type(2)");
    wait_patiently_until("it is saved", || stored() == b"<mine/>");
}

#[test]
fn a_webhook_is_made_tested_changed_and_removed() {
    let server = Server::with(&[("WEBHOOKS__NETWORKS", "127.0.0.0/8")]);
    let (client, receiver) = (server.user("admin"), Receiver::start());
    let Some(browser) = opened(&server, "webhooks") else { return };
    browser.expect_error("400");
    browser.click(".head .primary");
    fill(&browser, ".panel [name=url]", "ftp://receiver.example/");
    fill(&browser, ".panel [name=description]", HOSTILE);
    browser.click(".panel footer .primary");
    browser.wait_for("the refusal", "document.querySelector('.panel .fault:not(:empty)')");
    fill(&browser, ".panel [name=url]", &receiver.url);
    fill(&browser, ".panel [name=kinds]", "drawer.*, object.create");
    browser.click(".panel footer .primary");
    says(&browser, ".secret code", "whsec_");
    says(&browser, ".choose [aria-current] b", HOSTILE);
    // A test is sent, and what became of it is told, also if it was not accepted.
    let test = ".panel footer button:nth-of-type(2)";
    browser.click(test);
    says(&browser, ".panel .outcome.good", "accepted (200)");
    receiver.answer(500);
    browser.click(test);
    says(&browser, ".panel .outcome.bad", "500");
    browser.wait_for("both are listed", "document.querySelectorAll('.log li').length === 2");
    browser.click(".panel footer button:nth-of-type(3)");
    says(&browser, ".choose [aria-current]", "Paused");
    // It is limited to a folder, which is shown by its path.
    fill(&browser, ".panel .picker input", "/News/City");
    browser.press("Enter");
    says(&browser, ".panel .chosen", "/News/City");
    browser.click(".panel footer .primary");
    let hooks = || client.get("/v3/webhook").ok()["items"].clone();
    wait_patiently_until("the folder", || !hooks()[0]["below"].is_null());
    assert_eq!(hooks()[0]["kinds"], json!(["drawer.*", "object.create"]));
    browser.click(".panel header button");
    browser.click(".menu .risky");
    browser.click("dialog .primary");
    browser.wait_for("it is removed", "document.querySelector('.rows .nothing')");
    assert_eq!(hooks(), json!([]));
}

#[test]
fn the_audit_trail_is_searched_by_person_and_object_and_paged() {
    let server = Server::start();
    let client = server.user("reporter");
    client.story("/Test/audit", "other.xml");
    let story = client.story("/Test/audit", "<b>story.xml");
    for number in 0..130 {
        client.call("stet-object-rename-post", &[&story]).json(&json!({ "name": format!("{number}.xml") })).ok();
    }
    let Some(browser) = opened(&server, "audit") else { return };
    fill(&browser, ".filters [name=user]", "reporter");
    browser.press("Enter");
    browser.wait_for("a page", "document.querySelectorAll('.trail [data-entry]').length === 100");
    says(&browser, ".trail", "/Test/audit/129.xml");
    says(&browser, ".trail [title='object.rename']", "Object renamed");
    let unknown = "const folder = new URL('.', document.querySelector('script[src]').src);
        return import(new URL('text/actions.js', folder)).then(({ actionInWords }) => actionInWords('object.teleport'));";
    assert_eq!(browser.script(unknown, &[]), json!("object.teleport"));
    browser.click(".section > .more, admin-audit > .more");
    browser.wait_for("the rest", "document.querySelectorAll('.trail [data-entry]').length > 100");
    // Another object, of which the newest page has nothing.
    fill(&browser, ".filters .picker input", "/Test/audit/other.xml");
    browser.press("Enter");
    says(&browser, ".filters .chosen", "/Test/audit/other.xml");
    let about =
        "[...document.querySelectorAll('.trail [data-entry]')].every((row) => row.textContent.includes('other.xml'))";
    browser.wait_for("only that object", about);
    fill(&browser, ".filters [name=user]", "editor");
    browser.press("Enter");
    says(&browser, ".nothing", "No change was found");
}

#[test]
fn the_health_of_the_server_is_drawn() {
    let server = Server::shared();
    let Some(browser) = opened(server, "health") else { return };
    says(&browser, ".outcome", "Ready");
    says(&browser, ".facts-table", "documents");
    browser.wait_for("a line", "document.querySelector('[data-chart=requests] .line')?.getAttribute('d')");
    browser.wait_for("a value", "document.querySelector('[data-chart=memory] b').textContent.includes('MB')");
}

#[test]
fn findings_are_listed_by_how_bad_they_are_and_looked_for_again() {
    // A variable that nothing reads is a warning, and a password that can't be read is a failure.
    let folder = tempfile::TempDir::new().expect("a temporary directory can be made");
    let password = folder.path().join("<img src=x>");
    std::fs::write(&password, "harbour").expect("it can be written");
    let server = Server::with(&[
        ("SMTP_HOST", HOSTILE),
        ("SMTP__HOST", "relay.invalid"),
        ("SMTP__FROM", "news@courier.example"),
        ("SMTP__USER", "news"),
        ("SMTP__PASSWORD_FILE", password.to_str().expect("the path is text")),
    ]);
    std::fs::remove_file(&password).expect("it is there");
    let Some(browser) = opened(&server, "health") else { return };
    says(&browser, ".findings .bad", "/<img src=x> can't be read");
    says(&browser, ".findings .bad code", "smtp.password_file");
    says(&browser, ".findings .bad .advice", "let the server's user read it");
    says(&browser, ".findings .warn", "nothing reads the environment variable STET_SMTP_HOST");
    let levels = "return [...document.querySelectorAll('.findings [data-level]')].map((one) => one.dataset.level);";
    let levels = browser.script(levels, &[]);
    let levels: Vec<&str> = levels.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(levels.is_sorted() && levels[0] == "fail" && levels.contains(&"warn"), "{levels:?}");
    // Those without a finding are one line, which can be opened.
    says(&browser, ".findings summary", "checks without a finding");
    let closed = browser.script("return document.querySelector('.findings details').open;", &[]);
    assert_eq!(closed, json!(false));
    browser.click(".findings summary");
    says(&browser, ".findings dl", "only this machine can reach");
    is_accessible(&browser, "findings");
    // It is looked for again by a button, which keeps the focus and what is open.
    std::fs::set_permissions(server.data(), std::fs::Permissions::from_mode(0o777)).expect("it can be set");
    let entered = "document.querySelector('.findings ul').textContent.includes('every user of the machine')";
    let again = format!("{entered} || void document.querySelector('.findings header button').click()");
    browser.script("document.querySelector('.findings header button').focus();", &[]);
    browser.wait_for("the new finding", &again);
    let kept = "return document.querySelector('.findings details').open
        && document.activeElement === document.querySelector('.findings header button');";
    assert_eq!(browser.script(kept, &[]), json!(true));
}

#[test]
fn the_backup_is_complete_or_says_why_not() {
    let folder = tempfile::TempDir::new().expect("a temporary directory can be made");
    let target = folder.path().join("target");
    let server = Server::with(&[("BACKUP__TARGET", &format!("file://{}", target.display()))]);
    let Some(browser) = opened(&server, "health") else { return };
    says(&browser, "admin-backup .good", "Every change is in the backup");
    says(&browser, "admin-backup dl", target.to_str().expect("the path is text"));
    std::fs::remove_dir_all(&target).expect("it is there");
    server.user("admin").story("/News", "later.xml");
    says(&browser, "admin-backup .bad", "target");
    is_accessible(&browser, "backup");
    let Some(browser) = opened(Server::shared(), "health") else { return };
    says(&browser, "admin-backup .warn", "There is no backup");
}

#[test]
fn findings_are_shown_to_nobody_who_may_not_configure() {
    let server = Server::shared();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "reporter", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/admin/health", server.base));
    browser.find(".facts-table");
    let found = "return document.querySelectorAll('admin-findings, .findings').length
        + performance.getEntriesByType('resource').filter(({ name }) => name.includes('/doctor')).length;";
    assert_eq!(browser.script(found, &[]), json!(0));
}

#[test]
fn metrics_are_read_and_quantiles_follow_from_two_readings() {
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("401");
    browser.open(&format!("{}/", Server::shared().base));
    browser.find("[name=username]");
    let script = r#"
        const folder = new URL('.', document.querySelector('script[src]').src);
        return import(new URL('admin/metrics.js', folder)).then(({ parseMetrics, sum, quantile }) => {
            const of = (low, high, all) => parseMetrics(`# HELP x y\nx_bucket{endpoint="a",le="0.1"} ${low}\nx_bucket{endpoint="a",le="0.3"} ${high}\nx_bucket{endpoint="a",le="+Inf"} ${all}\ny{of="a b"} 2\ny{of="c"} 3.5\n`);
            const [before, now] = [of(10, 10, 10), of(10, 20, 20)];
            return [sum(now, 'y'), sum(now, 'y', 'of="c"'), sum(now, 'none'), quantile(before, now, 'x', 0.5),
                quantile(now, now, 'x', 0.5), quantile(before, of(10, 10, 12), 'x', 0.99)];
        });"#;
    assert_eq!(browser.script(script, &[]), json!([5.5, 3.5, 0, 0.2, null, 0.3]));
}
