//! The page of an object.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in};
use super::*;

/// Creates a story with attributes and a content.
fn story(client: &Client, name: &str, attributes: &Value, content: &str) -> String {
    let options = json!({ "name": name, "type": "Story", "folderPath": own_folder(), "attributes": attributes });
    let reply = client.upload("/v3/object/create", &options, Some((name, "text/xml", content.as_bytes()))).ok();
    reply["id"].as_str().expect("a new object has an id").to_owned()
}

/// Opens an object as an editor.
fn opened(server: &Server, object: &str, tab: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/object/{object}/{tab}", server.base));
    browser
        .wait_for("the object", "document.querySelector('.object-head h1') && document.querySelector('[data-field]')");
    Some(browser)
}

fn record(client: &Client, object: &str) -> Value {
    client.call("object-get", &[&object]).ok()
}

fn content(client: &Client, object: &str) -> Vec<u8> {
    client.get(&format!("/v3/object/{}/content?version=-1", encoded(object))).body
}

fn set(client: &Client, object: &str, field: &str, content: &str) {
    let operators = json!([{ "set": { "xpath": format!("/attributes/metadata/{field}"), "content": content } }]);
    let body = json!({ "updateFields": [{ "sourceIds": [object], "operators": operators }] });
    client.post("/v3/object/metadata/change/fields", &body).ok();
}

fn put(client: &Client, object: &str, switches: &str, content: &str) {
    let path = format!("/v3/object/{}/content?{switches}", encoded(object));
    client.send("PUT", &path, &[("content-type", "text/xml")], content.as_bytes()).ok();
}

fn value(browser: &Browser, css: &str) -> Value {
    browser.script("return document.querySelector(arguments[0]).value;", &[json!(css)])
}

/// Replaces what a field has.
fn retype(browser: &Browser, css: &str, text: &str) {
    browser.click(css);
    browser.press("Control+a");
    browser.type_text(text);
}

#[test]
fn attributes_are_changed_by_two_people_and_no_text_is_lost() {
    let server = Server::shared();
    let (client, other) = (server.user("editor"), server.user("admin"));
    let attributes = json!({ "metadata": { "headline": "Ferry", "keywords": ["port", "boat"], "priority": "2", "location": "Quay" } });
    let object = story(&client, "a.xml", &attributes, "<story/>");
    let Some(browser) = opened(server, &object, "preview") else { return };
    retype(&browser, "[data-field=headline] textarea", "Ferry <b>saved</b>");
    // Fields that are not changed here follow the server; the one that is stays, and both texts are shown.
    set(&other, &object, "location", "Outer Basin");
    set(&other, &object, "headline", "Ferry lost");
    browser.wait_for("the question", "document.querySelector('.conflict q')?.textContent === 'Ferry lost'");
    browser.wait_for(
        "the other field",
        "document.querySelector('[data-field=location] textarea').value === 'Outer Basin'",
    );
    assert!(browser.find(".conflict").text().contains("Ada Marsh"));
    assert_eq!(value(&browser, "[data-field=headline] textarea"), "Ferry <b>saved</b>");
    browser.press("Control+s");
    browser.wait_for("it must be decided first", "document.querySelector('.attributes .fault')");
    assert_eq!(record(&client, &object)["attributes"]["metadata"]["headline"], "Ferry lost");
    // What was typed is there when the page is opened again.
    browser.open("about:blank");
    browser.open(&format!("{}/console/#/object/{object}", server.base));
    browser.wait_for("the question again", "document.querySelector('.conflict button:last-of-type')");
    browser.click(".conflict button:last-of-type");
    browser.wait_for("it is decided", "!document.querySelector('.conflict')");
    browser.click("[data-field=keywords] .one:nth-of-type(2) button");
    browser.click("[data-field=keywords] .another");
    browser.wait_for("a further one", "document.activeElement.closest('.one')");
    browser.type_text("harbour");
    browser.script("const list = document.querySelector('[data-field=priority] select'); list.value = '4'; list.dispatchEvent(new Event('change', { bubbles: true }));", &[]);
    browser.click(".attributes .primary");
    browser.wait_for("all is saved", "!document.querySelector('.attributes footer')");
    let metadata = &record(&client, &object)["attributes"]["metadata"];
    let expected = json!({ "headline": "Ferry <b>saved</b>", "keywords": ["port", "harbour"], "priority": "4", "location": "Outer Basin" });
    assert_eq!(metadata, &expected);
    assert_eq!(value(&browser, "[data-field=headline] textarea"), "Ferry <b>saved</b>");
}

#[test]
fn an_object_without_attributes_gets_them_and_taking_theirs_takes_the_text_of_the_server() {
    let server = Server::shared();
    let client = server.user("editor");
    let object = story(&client, "a.xml", &json!({}), "<story/>");
    let Some(browser) = opened(server, &object, "preview") else { return };
    retype(&browser, "[data-field=headline] textarea", "First");
    browser.press("Control+s");
    browser.wait_for("it is saved", "!document.querySelector('.attributes footer')");
    assert_eq!(record(&client, &object)["attributes"], json!({ "metadata": { "headline": "First" } }));
    retype(&browser, "[data-field=headline] textarea", "Mine");
    set(&server.user("admin"), &object, "headline", "Theirs");
    browser.click(".conflict button");
    browser.wait_for("their text", "document.querySelector('[data-field=headline] textarea').value === 'Theirs'");
    assert_eq!(browser.script("return document.querySelectorAll('.attributes footer, .conflict').length;", &[]), 0);
}

#[test]
fn a_source_is_checked_out_drafted_and_checked_in() {
    let server = Server::shared();
    let client = server.user("editor");
    let object = story(&client, "a.xml", &json!({}), "<story><p>One</p></story>");
    let Some(browser) = opened(server, &object, "source") else { return };
    browser.wait_for("the source", "document.querySelector('.code')?.value === '<story><p>One</p></story>'");
    browser.click(".source .primary");
    browser.wait_for("it is checked out", "!document.querySelector('.code').readOnly");
    assert_eq!(record(&client, &object)["locker"]["id"], "editor");
    retype(&browser, ".code", "<story><p>Zwei</p></story>");
    browser.press("Control+s");
    browser.wait_for("the draft", "document.querySelector('.source button:nth-of-type(2)').disabled");
    assert_eq!(content(&client, &object), b"<story><p>One</p></story>");
    browser.click(".source .primary");
    browser.wait_for("it is checked in", "document.querySelector('.code').readOnly");
    assert_eq!(content(&client, &object), "<story><p>Zwei</p></story>".as_bytes());
    let record = record(&client, &object);
    assert_eq!((&record["version"], &record["locker"]), (&json!(2), &Value::Null));
    // What is thrown away leaves no draft and no lock.
    browser.click(".source .primary");
    browser.wait_for("it is checked out again", "!document.querySelector('.code').readOnly");
    retype(&browser, ".code", "nonsense");
    browser.click(".source .plain");
    browser
        .wait_for("the text of the server", "document.querySelector('.code').value === '<story><p>Zwei</p></story>'");
    browser.click(".tabs a[href$=preview]");
    browser.wait_for("the preview", "document.querySelector('.reading p')?.textContent === 'Zwei'");
}

#[test]
fn a_source_that_names_another_encoding_is_not_edited() {
    let server = Server::shared();
    let declared = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><story>plain</story>";
    let object = story(&server.user("editor"), "a.xml", &json!({}), declared);
    let Some(browser) = opened(server, &object, "source") else { return };
    browser.wait_for("no field for the text", "document.querySelector('.source a[download]')");
    assert_eq!(browser.script("return document.querySelector('.code');", &[]), Value::Null);
}

#[test]
fn what_is_typed_outlives_a_broken_lock() {
    let server = Server::shared();
    let (client, other) = (server.user("editor"), server.user("admin"));
    let object = story(&client, "a.xml", &json!({}), "<story>one</story>");
    let Some(browser) = opened(server, &object, "source") else { return };
    browser.expect_error("412");
    browser.click(".source .primary");
    browser.wait_for("it is checked out", "!document.querySelector('.code').readOnly");
    retype(&browser, ".code", "<story>mine</story>");
    let path = format!("/v3/object/{}/unlock", encoded(&object));
    other.post(&path, &json!({ "force": true })).ok();
    put(&other, &object, "newVersion=true", "<story>theirs</story>");
    browser.click(".source .primary");
    browser.wait_for(
        "it is told",
        "document.querySelector('.source .fault')?.textContent.includes('kept in this browser')",
    );
    browser.wait_for("their text", "document.querySelector('.code').value === '<story>theirs</story>'");
    browser.click(".source .primary");
    browser.wait_for("mine is back", "document.querySelector('.code').value === '<story>mine</story>'");
    browser.click(".source .primary");
    wait_patiently_until("mine is a version of its own", || record(&client, &object)["version"] == 3);
    assert_eq!(content(&client, &object), b"<story>mine</story>");
}

#[test]
fn a_lock_of_somebody_else_is_named_and_broken() {
    let server = Server::start();
    let client = server.user("editor");
    let object = story(&client, "a.xml", &json!({}), "<story/>");
    server.user("reporter").post(&format!("/v3/object/{}/lock", encoded(&object)), &json!({})).ok();
    let Some(browser) = opened(&server, &object, "source") else { return };
    browser.wait_for("the lock", "document.querySelector('.locked button')");
    browser.wait_for("no check-out", "document.querySelector('.source .primary')?.disabled");
    browser.click(".locked button");
    browser.click("dialog .primary");
    browser.wait_for(
        "it is free",
        "!document.querySelector('.locked') && !document.querySelector('.source .primary').disabled",
    );
    assert_eq!(record(&client, &object)["locker"], Value::Null);
}

#[test]
fn versions_are_compared_and_brought_back() {
    let server = Server::shared();
    let client = server.user("editor");
    let object = story(&client, "a.xml", &json!({}), "<story><p>The old gate stays open.</p></story>");
    put(&client, &object, "newVersion=true", "<story><p>The new gate stays <b>shut</b>.</p></story>");
    let Some(browser) = opened(server, &object, "versions") else { return };
    browser.click("[data-version='2'] button");
    browser.wait_for("the comparison", "document.querySelector('.marked-up')");
    let texts = |css: &str| {
        browser
            .script("return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent);", &[json!(css)])
    };
    assert_eq!(texts(".marked-up del"), json!(["old", "open"]));
    assert_eq!(texts(".marked-up ins"), json!(["new", "<b>shut</b>"]));
    browser.click("[data-version='1'] button:last-of-type");
    browser.click("dialog .primary");
    browser.wait_for("the third version", "document.querySelector('[data-version=\"3\"]')");
    assert_eq!(content(&client, &object), b"<story><p>The old gate stays open.</p></story>");
}

#[test]
fn differences_put_together_are_the_two_texts() {
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("401");
    browser.open(&format!("{}/", Server::shared().base));
    browser.find("[name=username]");
    let script = "
        let state = arguments[0];
        const roll = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
        const words = ['a', 'b', 'Tür', ' ', '\\n', '<p>', '😀'];
        const text = () => Array.from({ length: roll(14) }, () => words[roll(words.length)]).join('');
        const folder = new URL('.', document.querySelector('script[src]').src);
        return import(new URL('object/differences.js', folder)).then(({ differences }) => {
            for (let round = 0; round < 3000; round++) {
                const [before, after] = [text(), text()];
                const parts = differences(before, after);
                const without = (kind) => parts.filter((part) => part.kind !== kind).map((part) => part.text).join('');
                if (without('added') !== before || without('removed') !== after) return [before, after];
                if (before === after && parts.some(({ kind }) => kind !== 'same')) return [before];
            }
            const [long, other] = [1, 7].map((step) => Array.from({ length: 9000 }, (_, at) => (at * step) % 1009).join(' '));
            return differences(long, other).filter((part) => part.kind !== 'added').map((part) => part.text).join('') === long;
        });";
    let seed = seed("STET_CONSOLE_SEED") % (1 << 31);
    assert_eq!(browser.script(script, &[json!(seed)]), json!(true));
}

#[test]
fn a_status_is_changed_by_the_commands_of_the_workflow() {
    let server = Server::shared();
    let client = server.user("editor");
    let object = story(&client, "a.xml", &json!({}), "<story/>");
    let Some(browser) = opened(server, &object, "preview") else { return };
    let labels = "[...document.querySelectorAll('.menu [role=menuitem]')].map((one) => one.textContent)";
    browser.click(".status-button");
    browser.wait_for("the menu", "document.querySelector('.menu')");
    // Those that may follow `Story/Draft`, by the names of their commands.
    assert_eq!(browser.script(&format!("return {labels};"), &[]), json!(["Send to desk", "Ready for page", "Spike"]));
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.wait_for("the status", "document.querySelector('.status-button').textContent.trim() === 'Ready'");
    assert_eq!(record(&client, &object)["statusInfo"]["name"], "Story/Ready");
    // A command that asks before it acts.
    browser.click(".status-button");
    browser.wait_for("its next ones", &format!("{labels}.includes('Release')"));
    browser.script(
        "[...document.querySelectorAll('.menu [role=menuitem]')].find((one) => one.textContent === 'Release').click();",
        &[],
    );
    browser.find("dialog");
    assert_eq!(record(&client, &object)["statusInfo"]["name"], "Story/Ready");
    browser.click("dialog .primary");
    browser.wait_for("it is released", "document.querySelector('.status-button').textContent.trim() === 'Released'");
}

#[test]
fn uses_and_history_are_listed_and_hostile_texts_stay_texts() {
    let server = Server::shared();
    let client = server.user("editor");
    let hostile = "<img src=x onerror=window.isHit=1>";
    let attributes = json!({ "metadata": { "headline": hostile, "custom": { "inner": hostile } } });
    let content = "<story><p onclick=\"window.isHit=1\">&lt;script&gt;window.isHit=1&lt;/script&gt;</p><script>window.isHit=1</script><media href=\"javascript:window.isHit=1\"/></story>";
    let object = story(&client, "a.xml", &attributes, content);
    let other = story(&client, "b.xml", &json!({}), "<story/>");
    let drawer = client.drawer(&own_folder(), "front", 5);
    client.call("drawer-item-post", &[&drawer, &object]).ok();
    let link = json!({ "sourceLinkName": "background", "targetLinkName": "main", "targetSource": other });
    client.post(&format!("/v3/object/{}/correlate", encoded(&object)), &link).ok();
    let Some(browser) = opened(server, &object, "preview") else { return };
    browser.wait_for(
        "its text",
        "document.querySelector('.reading p')?.textContent === '<script>window.isHit=1</script>'",
    );
    assert_eq!(browser.find(".object-head h1").text(), hostile);
    assert_eq!(value(&browser, "[data-field=custom] textarea"), hostile);
    browser.click(".tabs a[href$=uses]");
    browser.wait_for("its uses", "document.querySelectorAll('.uses li').length === 2");
    browser.find(&format!(".uses a[href='#/drawers/{drawer}']"));
    browser.find(&format!(".uses a[href='#/object/{other}']"));
    browser.expect_error("403");
    browser.click(".tabs a[href$=history]");
    browser.wait_for("its history", "document.querySelector('.history')?.textContent.includes('linked it')");
    assert_eq!(browser.script("return window.isHit ?? null;", &[]), Value::Null);
    // The drawer's page leads back.
    browser.click(".tabs a[href$=uses]");
    browser.click(&format!(".uses a[href='#/drawers/{drawer}']"));
    browser.find(&format!("[data-object='{object}']"));
}
