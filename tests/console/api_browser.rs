//! The page on which the interface is tried: every operation has a form, calls are sent with the
//! session of the page, and replies are shown.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in};
use super::*;

/// Opens an operation as an administrator.
fn opened(server: &Server, operation: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, "admin", ADMIN_PASSWORD);
    browser.open(&format!("{}/console/#/api/{operation}", server.base));
    browser.find("[data-operation]");
    Some(browser)
}

/// Puts a text into a field, in place of what is there.
#[track_caller]
fn fill(browser: &Browser, field: &str, text: &str) {
    let css = format!("[name='{field}']");
    browser.find(&css);
    let script = "const field = document.querySelector(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event('input', { bubbles: true }));";
    browser.script(script, &[json!(css), json!(text)]);
}

/// Sends the call, and returns the status and the body that the page shows.
#[track_caller]
fn sent(browser: &Browser) -> (String, String) {
    browser.click(".try footer .primary");
    browser.find(".reply .badge");
    shown(browser)
}

fn shown(browser: &Browser) -> (String, String) {
    let script = "return [document.querySelector('.reply .badge').textContent, document.querySelector('.reply > pre')?.textContent ?? ''];";
    let shown = browser.script(script, &[]);
    let part = |at: usize| shown[at].as_str().expect("a text").to_owned();
    (part(0), part(1))
}

fn curl(browser: &Browser) -> String {
    browser.script("return document.querySelector('.curl pre').textContent;", &[]).as_str().expect("a text").to_owned()
}

#[test]
fn an_operation_is_found_by_words_and_tried_and_shown_as_curl() {
    let server = Server::shared();
    let client = server.user("admin");
    let (folder, name) = (own_folder(), "it's <b>.xml");
    let story = client.story(&folder, "story.xml");
    let Some(browser) = opened(server, "") else { return };
    browser.click(".operations input");
    browser.type_text("rename POST object");
    browser.wait_for("one operation", "document.querySelectorAll('[data-operation]').length === 1");
    browser.click("[data-operation]");
    fill(&browser, "path:source", &story);
    fill(&browser, "body", &json!({ "name": name }).to_string());
    let (status, body) = sent(&browser);
    let reply: Value = serde_json::from_str(&body).expect("the reply is JSON");
    assert_eq!((status.as_str(), &reply["result"]["name"]), ("200", &json!(name)));
    assert_eq!(client.get(&format!("/v3/object/{}", encoded(&story))).ok()["name"], name);
    let command = curl(&browser);
    assert!(command.contains("-H \"token: $TOKEN\"") && command.contains("it'\\''s <b>.xml"), "{command}");
    // What the reply has beside its body, and what a refusal says; what was typed stays.
    browser.wait_for("headers", "document.querySelector('.reply .schema').textContent.includes('x-request-id')");
    browser.expect_error("404");
    fill(&browser, "path:source", "1$1.0.999999999");
    browser.click(".try footer .primary");
    browser.wait_for("the refusal", "document.querySelector('.reply .badge.bad')?.textContent === '404'");
    assert!(shown(&browser).1.contains("ObjectNotFound"));
    let kept = browser.script("return document.querySelector('[name=body]').value;", &[]);
    assert_eq!(kept, json!(json!({ "name": name }).to_string()));
}

#[test]
fn what_takes_something_away_is_asked_first_and_secrets_are_in_no_command() {
    let server = Server::shared();
    let client = server.user("admin");
    let name = own_folder().replace('/', "-");
    let key = json!({ "name": name, "user": "editor", "privileges": [{ "privilege": "read" }] });
    client.call("stet-key-create-post", &[]).json(&key).ok();
    let Some(browser) = opened(server, "stet-key-delete") else { return };
    fill(&browser, "path:name", &name);
    browser.click(".try footer .primary");
    browser.click("dialog .plain");
    browser.wait_for("the question is gone", "!document.querySelector('dialog')");
    let is_there = || client.get("/v3/key").ok()["items"].to_string().contains(&name);
    assert!(is_there());
    browser.click(".try footer .primary");
    browser.click("dialog .primary");
    browser.wait_for("the reply", "document.querySelector('.reply .badge')?.textContent === '200'");
    assert!(!is_there());
    // A login that is refused ends nothing, and its password is not in the command.
    browser.expect_error("401");
    browser.open(&format!("{}/console/#/api/auth-login-post", server.base));
    let login =
        json!({ "connectionId": "Editorial", "applicationId": "x", "username": "editor", "password": "wrong-harbour" });
    fill(&browser, "body", &login.to_string());
    assert_eq!(sent(&browser).0, "401");
    assert!(!curl(&browser).contains("harbour"), "{}", curl(&browser));
    assert_eq!(browser.script("return document.querySelectorAll('.cover').length;", &[]), json!(0));
}

#[test]
fn files_are_sent_and_large_and_hostile_contents_are_shown_as_text() {
    let server = Server::shared();
    let client = server.user("admin");
    let folder = own_folder();
    let Some(browser) = opened(server, "stet-object-create-post") else { return };
    fill(&browser, "part:options", &json!({ "folderPath": folder, "name": "page.html" }).to_string());
    let choose = "const data = new DataTransfer();
        data.items.add(new File(['<script>alert(1)</script>' + 'x'.repeat(300000)], 'page.html', { type: 'text/html' }));
        const field = document.querySelector(\"[name='file:content']\");
        field.files = data.files;
        field.dispatchEvent(new Event('input', { bubbles: true }));";
    browser.script(choose, &[]);
    let (status, body) = sent(&browser);
    assert_eq!(status, "200", "{body}");
    assert!(curl(&browser).contains("-F 'content=@page.html'"), "{}", curl(&browser));
    let path = format!("{folder}/page.html");
    assert_eq!(client.get(&format!("/v3/object/{}/content", encoded(&path))).body.len(), 300_025);
    browser.open(&format!("{}/console/#/api/stet-object-content-get", server.base));
    fill(&browser, "path:source", &path);
    let (status, body) = sent(&browser);
    assert_eq!((status.as_str(), body.len()), ("200", 200_000));
    assert!(body.starts_with("<script>alert(1)</script>"));
    browser.wait_for("the rest is told", "document.querySelector('.reply').textContent.includes('300,025')");
}

#[test]
fn on_a_narrow_screen_the_page_is_reached_by_the_menu_of_the_account() {
    let server = Server::shared();
    let Some(browser) = Browser::start() else { return };
    browser.set_window(390, 800);
    sign_in(&server.base, &browser, "reporter", SAMPLE_PASSWORD);
    browser.click(".account");
    let entry = "const entries = [...document.querySelectorAll('.menu [role=menuitem]')];
        entries.find((entry) => entry.textContent === arguments[0])?.click();
        return entries.length;";
    let narrow = browser.script(entry, &[json!("Try it")]).as_u64().expect("a number");
    browser.find("[data-operation]");
    // In the bar of a wide screen there are links.
    browser.set_window(1280, 800);
    browser.click(".account");
    browser.find(".menu [role=menuitem]");
    assert_eq!(browser.script(entry, &[json!("Try it")]), json!(narrow - 2));
    browser.press("Escape");
    browser.click(".bar .docs[href='#/api']");
}

/// Shows the form of each operation, without the address: browsers slow down pages that change it
/// so often.
#[test]
fn every_operation_has_a_form_whose_examples_are_json() {
    let server = Server::shared();
    let Some(browser) = opened(server, "") else { return };
    let look = r#"
        const folder = new URL('.', document.querySelector('script[src]').src);
        return import(new URL('api-browser/document.js', folder)).then(async ({ readInterface }) => {
            const { operations } = await readInterface();
            const box = document.body.appendChild(document.createElement('div'));
            const faults = [];
            for (const operation of operations) {
                const shown = document.createElement('api-operation');
                shown.operation = operation;
                box.replaceChildren(shown);
                await new Promise((resolve) => setTimeout(resolve));
                const parts = operation.path.match(/\{\w+\}/g) ?? [];
                const fields = shown.querySelectorAll('[name^="path:"]').length;
                if (fields !== parts.length) faults.push(`${operation.id}: ${fields} of ${parts.length} parts`);
                for (const button of shown.querySelectorAll('fieldset button')) button.click();
                for (const { value } of shown.querySelectorAll('textarea')) {
                    try { if (value) JSON.parse(value); } catch { faults.push(`${operation.id}: ${value}`); }
                }
            }
            return [operations.length, faults];
        });"#;
    let found = browser.script(look, &[]);
    assert!(found[0].as_u64().is_some_and(|count| count > 200), "{found}");
    assert_eq!(found[1], json!([]));
}
