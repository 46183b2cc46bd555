//! Whether everybody can use the pages: axe-core finds no violation, in both themes and at two
//! widths.

use serde_json::json;

use super::browser::{Browser, sign_in};
use super::*;

/// Checks what is shown, in both themes at two widths.
#[track_caller]
pub(super) fn is_accessible(browser: &Browser, what: &str) {
    for theme in ["light", "dark"] {
        browser.script("document.documentElement.style.colorScheme = arguments[0];", &[json!(theme)]);
        for width in [1280, 390] {
            browser.set_window(width, 800);
            let Some(violations) = browser.axe() else { return };
            assert_eq!(violations, [""; 0], "{what}, {theme}, {width}");
        }
    }
    browser.set_window(1280, 800);
}

/// A story of the sample newsroom with attributes and a picture.
fn barrier(server: &Server) -> String {
    let record = server.user("editor").call("object-get", &[&"/News/City/storm-barrier.xml"]).ok();
    record["id"].as_str().expect("it has an id").to_owned()
}

#[test]
fn every_page_is_accessible_in_both_themes_and_at_two_widths() {
    let server = Server::start();
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("401");
    browser.open(&format!("{}/console/", server.base));
    browser.find("[name=username]");
    is_accessible(&browser, "signing in");
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.find("[data-object]");
    browser.wait_for("hits", "document.querySelector('[data-hit]')");
    is_accessible(&browser, "drawers");
    browser.click("[data-object] .item-menu");
    is_accessible(&browser, "the menu of an item");
    browser.press("Escape");
    browser.click(".toolbar button");
    browser.find("dialog input");
    is_accessible(&browser, "a dialog");
    browser.press("Escape");
    browser.open(&format!("{}/console/#/liveblog", server.base));
    browser.find("[data-post]");
    is_accessible(&browser, "a live blog");
    browser.click("[data-post] .deeds button");
    is_accessible(&browser, "a post that is edited");
    browser.click(".tabs button:last-of-type");
    browser.find(".readers");
    is_accessible(&browser, "as readers see it");
    browser.open(&format!("{}/console/#/find/harbour/type=Story", server.base));
    browser.find("[data-hit] mark");
    is_accessible(&browser, "finding");
    browser.open(&format!("{}/console/#/files", server.base));
    browser.find("[data-entry]");
    is_accessible(&browser, "a folder");
    browser.open(&format!("{}/console/#/object/{}", server.base, barrier(&server)));
    browser.find(".reading h2");
    is_accessible(&browser, "an object");
    // Editors may not read the audit trail; the page shows the events then.
    browser.expect_error("403");
    for tab in ["source", "versions", "uses", "history"] {
        browser.click(&format!(".tabs a[href$={tab}]"));
        browser.find(&format!("object-{tab} > *"));
        is_accessible(&browser, tab);
    }
    browser.open(&format!("{}/console/#/files", server.base));
    let client = server.user("editor");
    let story = client.story("/Test", "discarded.xml");
    client.call("object-discard", &[&story]).ok();
    browser.click("a[href='#/bin']");
    browser.find(".bin li");
    is_accessible(&browser, "the recycle bin");
}

#[test]
fn planning_is_accessible_with_its_forms() {
    let server = Server::start();
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("403");
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/planning", server.base));
    browser.click("plan-board .topic h3");
    browser.find("topic-pane .item");
    is_accessible(&browser, "a plan and a topic");
    browser.script("document.querySelector('topic-pane .item').focus();", &[]);
    browser.press("Enter");
    browser.click("fields-form summary");
    is_accessible(&browser, "the form of an item");
    browser.press("Escape");
    browser.click("topic-pane .heading button:last-child");
    browser.click(".views button:last-child");
    browser.find(".day");
    is_accessible(&browser, "the days of a plan");
    browser.click(".toolbar > button:last-child");
    browser.click(".menu button:nth-of-type(2)");
    browser.click("dialog .primary");
    browser.find("dialog input");
    is_accessible(&browser, "the address of a calendar");
    browser.press("Escape");
}

#[test]
fn messages_are_accessible() {
    let server = Server::start();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/messages/outbox", server.base));
    browser.find(".half .nothing");
    is_accessible(&browser, "an empty box");
    let client = server.user("admin");
    let message = json!({ "subject": "Page one", "body": "See https://example.org.", "recipients": ["editor", "editors"],
        "priority": "high", "attachments": ["/News/City/harbour-ferry.xml"] });
    client.post("/v3/message/sendmail", &message).ok();
    browser.click(".boxes a");
    browser.find(".letter-line.unread");
    is_accessible(&browser, "an inbox");
    browser.click(".letter-line");
    browser.find("article .attachments a");
    is_accessible(&browser, "a message");
    browser.click("article footer .primary");
    browser.find("message-letter .chip");
    is_accessible(&browser, "an answer");
}

/// Checks sections of administration, each when it shows an element.
#[track_caller]
fn sections_are_accessible(server: &Server, browser: &Browser, sections: &[(&str, &str)]) {
    for (address, shown) in sections {
        browser.open(&format!("{}/console/#/admin/{address}", server.base));
        browser.find(shown);
        is_accessible(browser, address);
    }
}

#[test]
fn people_and_their_rights_are_accessible_in_both_themes_and_at_two_widths() {
    let server = Server::start();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "admin", ADMIN_PASSWORD);
    let key =
        json!({ "name": "calendar", "user": "editor", "privileges": [{ "privilege": "read", "folder": "/Planning" }] });
    server.user("admin").call("stet-key-create-post", &[]).json(&key).ok();
    sections_are_accessible(
        &server,
        &browser,
        &[
            ("people/editor", "person-form fieldset"),
            ("groups/editors", "grants-table td input"),
            ("keys", "[data-key]"),
            ("sessions", "[data-session]"),
        ],
    );
    browser.open(&format!("{}/console/#/admin/keys", server.base));
    browser.click(".head .primary");
    browser.find("#key-form");
    is_accessible(&browser, "a new key");
}

#[test]
fn configuration_and_health_are_accessible_in_both_themes_and_at_two_widths() {
    let server = Server::start();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "admin", ADMIN_PASSWORD);
    let webhook = json!({ "url": "https://webhook.invalid/", "paused": true });
    let made = server.user("admin").call("stet-webhook-create-post", &[]).json(&webhook).ok();
    let id = made["webhook"]["id"].as_str().expect("a webhook has an id");
    sections_are_accessible(
        &server,
        &browser,
        &[
            ("configuration/Workflows%2Fworkflows.xml", ".source textarea"),
            (&format!("webhooks/{id}"), "webhook-form h4"),
            ("audit", ".trail [data-entry]"),
            ("health", ".facts-table"),
        ],
    );
}

#[test]
fn the_interface_is_accessible_in_both_themes_and_at_two_widths() {
    let server = Server::shared();
    let Some(browser) = Browser::start() else { return };
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/api", server.base));
    browser.find("[data-operation]");
    is_accessible(&browser, "all operations");
    browser.open(&format!("{}/console/#/api/folder-root-get", server.base));
    browser.click(".try footer .primary");
    browser.find(".reply pre");
    is_accessible(&browser, "an operation with its reply");
}
