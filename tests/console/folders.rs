//! The pages of folders and of the recycle bin.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in};
use super::*;

/// Opens a folder as an editor.
fn opened(server: &Server, folder: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/files/{}", server.base, encoded(folder)));
    browser.wait_for("the folder", "document.querySelector('.crumbs [aria-current]')");
    Some(browser)
}

/// The names that the page shows.
fn names(browser: &Browser) -> Value {
    browser.script(
        "return [...document.querySelectorAll('.named > span:last-child > :first-child')].map((one) => one.textContent);",
        &[],
    )
}

#[track_caller]
fn shows(browser: &Browser, expected: &[&str]) {
    wait_patiently_until(&format!("the page shows {expected:?}"), || names(browser) == json!(expected));
}

fn focus(browser: &Browser, name: &str) {
    let script =
        "[...document.querySelectorAll('[data-entry]')].find((row) => row.textContent.includes(arguments[0])).focus();";
    browser.script(script, &[json!(name)]);
}

#[test]
fn a_folder_is_sorted_filtered_and_follows_the_changes_of_others() {
    let server = Server::shared();
    let (client, folder) = (server.user("editor"), own_folder());
    for name in ["b.xml", "a.xml", "c.xml"] {
        client.story(&folder, name);
    }
    client.call("folder-post", &[]).json(&json!({ "path": format!("{folder}/inner") })).ok();
    let Some(browser) = opened(server, &folder) else { return };
    shows(&browser, &["a.xml", "b.xml", "c.xml", "inner"]);
    browser.click("th button");
    shows(&browser, &["inner", "c.xml", "b.xml", "a.xml"]);
    browser.click(".filter");
    browser.type_text(".xm");
    shows(&browser, &["c.xml", "b.xml", "a.xml"]);
    browser.press("Control+a");
    browser.press("Delete");
    client.story(&folder, "d.xml");
    shows(&browser, &["inner", "d.xml", "c.xml", "b.xml", "a.xml"]);
    focus(&browser, "inner");
    browser.press("Enter");
    browser.wait_for("the folder below", "document.querySelector('.crumbs a:last-of-type').textContent === 'inner'");
    shows(&browser, &[]);
    browser.click(".crumbs a:nth-last-of-type(2)");
    browser.wait_for("the folder above", "document.querySelectorAll('[data-entry]').length === 5");
}

#[test]
fn objects_are_renamed_moved_discarded_and_brought_back() {
    let server = Server::start();
    let client = server.user("editor");
    for name in ["a.xml", "b.xml", "c.xml"] {
        client.story("/Test/one", name);
    }
    client.call("folder-post", &[]).json(&json!({ "path": "/Test/two" })).ok();
    let Some(browser) = opened(&server, "/Test/one") else { return };
    shows(&browser, &["a.xml", "b.xml", "c.xml"]);
    // A name that is taken is refused, and what was typed stays.
    browser.expect_error("409");
    focus(&browser, "a.xml");
    browser.press("F2");
    browser.find("dialog input");
    browser.press("Control+a");
    browser.type_text("b.xml");
    browser.press("Enter");
    browser.wait_for("the refusal", "document.querySelector('dialog .fault')?.textContent.includes('name')");
    browser.press("Control+a");
    browser.type_text("z.xml");
    browser.press("Enter");
    shows(&browser, &["b.xml", "c.xml", "z.xml"]);
    focus(&browser, "c.xml");
    browser.press("Shift+F10");
    browser.press("ArrowDown");
    browser.press("ArrowDown");
    browser.press("Enter");
    // A folder is chosen by its name, or by walking to it.
    browser.click("dialog object-picker input");
    browser.type_text("/Test");
    browser.press("Enter");
    browser.wait_for("the folders", "document.querySelector('dialog .place b')?.textContent === '/Test'");
    browser.script(
        "[...document.querySelectorAll('.folders button')].find((one) => one.textContent.trim() === 'two').click();",
        &[],
    );
    browser.wait_for("the folder", "document.querySelector('dialog .place b').textContent === '/Test/two'");
    browser.click("dialog .primary");
    shows(&browser, &["b.xml", "z.xml"]);
    wait_patiently_until("it was moved", || client.get("/v3/object/%2FTest%2Ftwo%2Fc.xml").status == 200);
    focus(&browser, "b.xml");
    browser.press("Delete");
    shows(&browser, &["z.xml"]);
    browser.click("a[href='#/bin']");
    browser.wait_for("it is in the bin", "document.querySelector('.bin b')?.textContent === 'b.xml'");
    browser.click(".bin button");
    browser.wait_for("the bin is empty", "document.querySelector('.nothing')");
    client.get("/v3/object/%2FTest%2Fone%2Fb.xml").ok();
    // What is destroyed is gone for good, once that is confirmed.
    let story = client.story("/Test/one", "d.xml");
    client.call("object-discard", &[&story]).ok();
    browser.click("a[href='#/files']");
    browser.find("[data-entry]");
    browser.click("a[href='#/bin']");
    browser.click(".bin button:last-of-type");
    browser.click("dialog .primary");
    browser.wait_for("the bin is empty", "document.querySelector('.nothing')");
    assert_eq!(client.get("/v3/recyclebin").ok()["total"], 0);
}

#[test]
fn files_are_dropped_and_one_that_fails_keeps_none_of_the_others() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "100000")]);
    let client = server.user("editor");
    client.call("folder-post", &[]).json(&json!({ "path": "/Test/drop" })).ok();
    let Some(browser) = opened(&server, "/Test/drop") else { return };
    browser.expect_error("413");
    browser.expect_error("net::ERR");
    browser.script(
        "const data = new DataTransfer();
         for (let number = 0; number < 6; number++) data.items.add(new File(['text ' + number], `note-${number}.txt`, { type: 'text/plain' }));
         data.items.add(new File(['x'.repeat(200000)], 'large.txt', { type: 'text/plain' }));
         document.querySelector('.files').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));",
        &[],
    );
    let expected: Vec<String> = (0..6).map(|number| format!("note-{number}.txt")).collect();
    shows(&browser, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    browser.wait_for("the one is told", "document.querySelectorAll('.uploads .failed').length === 1");
    browser.wait_for("the others are there", "document.querySelectorAll('.uploads .done').length === 6");
    assert_eq!(client.get("/v3/object/%2FTest%2Fdrop%2Fnote-3.txt/content").body, b"text 3");
}
