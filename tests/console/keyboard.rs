//! A day in the newsroom without a mouse: everything is reached by Tab, and done by keys.

use serde_json::json;

use super::browser::Browser;
use super::*;

/// The largest number of steps to what is wanted.
const MOST_STEPS: usize = 150;

/// Presses Tab until an element has the focus, which must always be visible.
#[track_caller]
fn tab_to(browser: &Browser, css: &str) {
    let script = "const there = document.activeElement;
         const box = there.getBoundingClientRect();
         return [there.matches(arguments[0]), there === document.body || (box.width > 0 && box.height > 0)];";
    for _ in 0..MOST_STEPS {
        browser.press("Tab");
        let state = browser.script(script, &[json!(css)]);
        assert_eq!(state[1], json!(true), "the focus can't be seen on the way to {css}");
        if state[0] == json!(true) {
            return;
        }
    }
    panic!("`{css}` is not reached by Tab");
}

/// Chooses an entry of the menu that is open.
#[track_caller]
fn choose(browser: &Browser, label: &str) {
    browser.wait_for("the menu", "document.activeElement?.getAttribute('role') === 'menuitem'");
    for _ in 0..20 {
        if browser.script("return document.activeElement.textContent;", &[]) == json!(label) {
            browser.press("Enter");
            return;
        }
        browser.press("ArrowDown");
    }
    panic!("the menu has no `{label}`");
}

#[test]
fn a_day_in_the_newsroom_needs_no_mouse() {
    let server = Server::start();
    let client = server.user("editor");
    let folder = own_folder();
    let attributes = json!({ "metadata": { "headline": "Okapi at the quay" } });
    let options = json!({ "name": "okapi.xml", "type": "Story", "folderPath": folder, "attributes": attributes });
    let story = client.upload("/v3/object/create", &options, Some(("okapi.xml", "text/xml", b"<story/>"))).ok();
    let story = story["id"].as_str().expect("it has an id").to_owned();
    let drawer = client.drawer(&folder, "front", 5);
    client.call("drawer-item-post", &[&drawer, &client.story(&folder, "first.xml")]).ok();
    let blog = client.liveblog(&folder, "night");
    client.get("/v3/search?limit=0&waitFor=now").ok();
    let Some(browser) = Browser::start() else { return };
    for part in ["401", "404"] {
        browser.expect_error(part);
    }

    // Signing in.
    browser.open(&format!("{}/console/#/drawers/{drawer}", server.base));
    browser.find("[name=username]");
    tab_to(&browser, "[name=username]");
    browser.type_text("editor");
    tab_to(&browser, "[name=password]");
    browser.type_text(SAMPLE_PASSWORD);
    browser.press("Enter");
    browser.find("[data-object]");

    // A story into the drawer, and to its top.
    tab_to(&browser, "object-picker input");
    browser.type_text("okapi");
    browser.find("[role=option]");
    browser.press("ArrowDown");
    browser.press("Enter");
    let items = || client.items(&drawer);
    wait_patiently_until("it is in the drawer", || items().len() == 2);
    browser.find(&format!("[data-object='{story}']"));
    tab_to(&browser, "[data-object]");
    browser.press("End");
    browser.wait_for("the last has the focus", &format!("document.activeElement.dataset.object === '{story}'"));
    browser.press("Alt+Home");
    wait_patiently_until("it is moved", || items().first() == Some(&story));

    // Its page: an attribute, and the status.
    browser.press("Enter");
    choose(&browser, "Open");
    browser.wait_for("its page", "document.querySelector('.object-head h1')?.textContent === 'Okapi at the quay'");
    tab_to(&browser, ".status-button");
    browser.press("Enter");
    choose(&browser, "Ready for page");
    browser.wait_for("the status", "document.querySelector('.status-button').textContent.trim() === 'Ready'");
    tab_to(&browser, "[data-field=headline] textarea");
    browser.press("Control+a");
    browser.type_text("Okapi comes home");
    browser.press("Control+s");
    browser.wait_for("it is saved", "!document.querySelector('.attributes footer')");
    let record = client.call("object-get", &[&story]).ok();
    assert_eq!(record["attributes"]["metadata"]["headline"], "Okapi comes home");
    assert_eq!(record["statusInfo"]["name"], "Story/Ready");

    // Its source.
    tab_to(&browser, ".skip");
    tab_to(&browser, ".tabs a[href$=source]");
    browser.press("Enter");
    browser.find(".code");
    tab_to(&browser, ".source .primary");
    browser.press("Enter");
    browser.wait_for("it is checked out", "document.activeElement.matches('.code:not([readonly])')");
    browser.press("Control+a");
    browser.type_text("<story><p>It is home.</p></story>");
    browser.press("Shift+Tab");
    browser.press("Shift+Tab");
    tab_to(&browser, ".source .primary");
    browser.press("Enter");
    browser.wait_for("it is checked in", "document.querySelector('.code').readOnly");
    assert_eq!(
        client.get(&format!("/v3/object/{}/content", encoded(&story))).body,
        b"<story><p>It is home.</p></story>"
    );

    // A post in the live blog.
    browser.open(&format!("{}/console/#/liveblog/{blog}", server.base));
    browser.find("post-composer textarea");
    tab_to(&browser, "post-composer [name=title]");
    browser.type_text("Home");
    tab_to(&browser, "post-composer textarea");
    browser.type_text("The okapi is home.");
    browser.press("Control+Enter");
    browser.wait_for("the post", "document.querySelector('[data-post] h2')?.textContent === 'Home'");

    // Found again, and put into the recycle bin.
    browser.press("Control+k");
    browser.wait_for("the box", "document.activeElement.classList.contains('words')");
    browser.type_text("okapi.xml");
    browser.find(&format!("[data-hit='{story}']"));
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.find(".object-head h1");
    tab_to(&browser, ".object-head .actions button:last-of-type");
    browser.press("Enter");
    choose(&browser, "Move to the recycle bin");
    browser.wait_for("it is gone", "document.querySelector('.nothing')");
    assert_eq!(client.get("/v3/recyclebin").ok()["total"], 1);
}
