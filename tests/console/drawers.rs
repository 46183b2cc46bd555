//! The page of drawers.

use serde_json::json;

use super::browser::{Browser, sign_in, two_browsers};
use super::front::Front;
use super::*;

/// A drawer with stories of these names.
fn filled(client: &Client, name: &str, capacity: u32, stories: &[&str]) -> String {
    let folder = own_folder();
    let drawer = client.drawer(&folder, name, capacity);
    for story in stories {
        let story = client.story(&folder, story);
        client.call("drawer-item-post", &[&drawer, &story]).ok();
    }
    drawer
}

/// Shows drawers in a browser that is signed in.
fn show(browser: &Browser, base: &str, drawers: &[&str]) {
    browser.open(&format!("{base}/console/#/drawers/{}", drawers.join(",")));
    let script = "return document.querySelectorAll('[data-drawer][aria-busy=false]').length;";
    wait_patiently_until("the drawers are shown", || browser.script(script, &[]) == json!(drawers.len()));
}

/// Opens drawers as a user.
fn opened(server: &Server, user: &str, drawers: &[&str]) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, user, password_of(user));
    show(&browser, &server.base, drawers);
    Some(browser)
}

fn password_of(user: &str) -> &'static str {
    if user == "admin" { ADMIN_PASSWORD } else { SAMPLE_PASSWORD }
}

/// The objects of a drawer as a page shows them.
fn shown(browser: &Browser, drawer: &str) -> Vec<String> {
    let script = "const column = document.querySelector(`[data-drawer='${arguments[0]}']`);
        return [...column.querySelectorAll('[data-object]')].map((card) => card.dataset.object);";
    let objects = browser.script(script, &[json!(drawer)]);
    objects.as_array().expect("it is a list").iter().map(|one| one.as_str().expect("a loid").to_owned()).collect()
}

/// Waits until a page shows the drawer as it is on the server, and returns that.
#[track_caller]
fn agrees(browser: &Browser, client: &Client, drawer: &str) -> Vec<String> {
    wait_patiently_until("the page shows the drawer", || shown(browser, drawer) == client.items(drawer));
    client.items(drawer)
}

fn focus(browser: &Browser, object: &str) {
    browser.script("document.querySelector(`[data-object='${arguments[0]}']`).focus();", &[json!(object)]);
}

fn card(object: &str) -> String {
    format!("[data-object='{object}']")
}

#[test]
fn somebody_signs_in_by_the_form_and_out_by_the_menu() {
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("401");
    browser.open(&format!("{}/", Server::shared().base));
    browser.click("[name=username]");
    browser.type_text("editor");
    browser.click("[name=password]");
    browser.type_text("wrong");
    browser.press("Enter");
    browser.wait_for("the fault", "document.querySelector('.fault').textContent.includes('wrong')");
    assert_eq!(browser.script("return document.querySelector('[name=username]').value;", &[]), json!("editor"));
    browser.click("[name=password]");
    browser.press("Control+a");
    browser.type_text(SAMPLE_PASSWORD);
    browser.press("Enter");
    browser.wait_for("the page of drawers", "document.querySelector('[data-drawer]')");
    assert!(browser.find(".account").text().contains("Mara Lindqvist"));
    // As if the configuration had two connections.
    browser.script(
        "const real = window.fetch;
         const two = { status: 'success', result: { items: [{ id: 'Day', name: 'Day desk' }, { id: 'Editorial', name: 'All' }] } };
         window.fetch = (url, init) => String(url).endsWith('v3/conf/connections')
             ? Promise.resolve(new Response(JSON.stringify(two))) : real(url, init);",
        &[],
    );
    browser.click(".account");
    browser.press("End");
    browser.press("Enter");
    browser.wait_for("the connections", "document.querySelectorAll('[name=connection] option').length === 2");
    browser.script("document.querySelector('[name=connection]').value = 'Editorial';", &[]);
    browser.click("[name=username]");
    browser.type_text("editor");
    browser.click("[name=password]");
    browser.type_text(SAMPLE_PASSWORD);
    browser.press("Enter");
    browser.wait_for("the page of drawers", "document.querySelector('[data-drawer]')");
}

#[test]
fn items_move_by_key_within_a_drawer_and_to_the_next() {
    let server = Server::shared();
    let client = server.user("editor");
    let (one, two) = (filled(&client, "one", 10, &["a", "b", "c"]), filled(&client, "two", 10, &["d"]));
    let before = client.items(&one);
    let Some(browser) = opened(server, "editor", &[&one, &two]) else { return };
    focus(&browser, &before[0]);
    browser.press("Alt+ArrowDown");
    let expected = [&before[1], &before[0], &before[2]].map(String::clone);
    wait_patiently_until("it moved down", || client.items(&one) == expected);
    let focused = "document.activeElement.dataset.object";
    browser.wait_for("the focus stays with it", &format!("{focused} === '{}'", before[0]));
    browser.press("ArrowDown");
    browser.wait_for("the focus goes on", &format!("{focused} === '{}'", before[2]));
    browser.press("Alt+Home");
    wait_patiently_until("it moved to the top", || client.items(&one)[0] == before[2]);
    browser.press("Alt+ArrowRight");
    wait_patiently_until("it moved to the other drawer", || client.items(&two)[0] == before[2]);
    assert_eq!(agrees(&browser, &client, &one).len(), 2);
    assert_eq!(agrees(&browser, &client, &two).len(), 2);
    browser.wait_for("the focus moved with it", &format!("{focused} === '{}'", before[2]));
}

#[test]
fn items_move_by_pointer_and_by_menu() {
    let server = Server::shared();
    let client = server.user("editor");
    let (one, two) = (filled(&client, "one", 10, &["a", "b", "c"]), filled(&client, "two", 10, &["d", "e"]));
    let (first, second) = (client.items(&one), client.items(&two));
    let Some(browser) = opened(server, "editor", &[&one, &two]) else { return };
    // Below the middle of the last one.
    browser.drag(&format!("{} h3", card(&first[0])), (0, 260));
    wait_patiently_until("it moved to the end", || client.items(&one)[2] == first[0]);
    browser.drag(&format!("{} h3", card(&first[1])), card(&second[1]).as_str());
    wait_patiently_until("it moved to the other drawer", || client.items(&two).contains(&first[1]));
    assert_eq!(client.items(&two)[0], second[0], "it was dropped below the first one");
    agrees(&browser, &client, &one);
    agrees(&browser, &client, &two);
    // The first entry of the menu moves to the top.
    let last = agrees(&browser, &client, &two)[2].clone();
    browser.click(&format!("{} .item-menu", card(&last)));
    browser.press("Enter");
    wait_patiently_until("it moved to the top", || client.items(&two)[0] == last);
}

#[test]
fn an_item_is_added_by_address_removed_and_brought_back() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 3, &["a", "b"]);
    let story = client.story(&own_folder(), "pasted.xml");
    let before = client.items(&drawer);
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    browser.click("object-picker input");
    browser.type_text(&story);
    browser.press("Enter");
    wait_patiently_until("it was added", || client.items(&drawer).last() == Some(&story));
    browser.wait_for("the box is empty", "document.querySelector('object-picker input').value === ''");
    // The drawer is full now: the refusal says so, and what was typed stays.
    browser.expect_error("409");
    let another = client.story(&own_folder(), "too-much.xml");
    browser.type_text(&another);
    browser.press("Enter");
    browser.wait_for("the refusal", "document.querySelector('.notice.fault')?.textContent.includes('full')");
    assert_eq!(browser.script("return document.querySelector('object-picker input').value;", &[]), json!(another));
    focus(&browser, &before[0]);
    browser.press("Delete");
    wait_patiently_until("it was removed", || client.items(&drawer) == [before[1].clone(), story.clone()]);
    browser.wait_for("the offer", "document.querySelector('.notice:not(.fault) button')");
    browser.click(".notice:not(.fault) button");
    wait_patiently_until("it is back in its place", || client.items(&drawer)[0] == before[0]);
    agrees(&browser, &client, &drawer);
}

#[test]
fn something_found_is_dragged_into_a_drawer() {
    let server = Server::start();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a"]);
    let Some(browser) = opened(&server, "editor", &[&drawer]) else { return };
    browser.click("find-panel input");
    browser.type_text("ferry cross");
    browser.wait_for("hits", "document.querySelector('find-panel mark')");
    browser.drag("find-panel [data-hit] h3", "[data-drawer] [data-object]");
    wait_patiently_until("it was added", || client.items(&drawer).len() == 2);
    agrees(&browser, &client, &drawer);
}

#[test]
fn two_people_in_one_drawer_see_each_other_and_a_killed_server_loses_nothing() {
    let mut server = Server::start();
    let client = server.user("editor");
    let drawer = filled(&client, "shared", 30, &["a", "b", "c", "d", "e", "f"]);
    let Some((one, two)) = two_browsers() else { return };
    let front = Front::of(&server);
    for (browser, user) in [(&one, "editor"), (&two, "admin")] {
        // Requests that fail while the server is away.
        browser.expect_error("Failed to load resource");
        browser.expect_error("net::ERR");
        sign_in(&front.base, browser, user, password_of(user));
        show(browser, &front.base, &[&drawer]);
    }
    one.wait_for("the other is seen", "document.querySelector('.people .person')?.title === 'Ada Marsh'");
    let mut dice = Dice::of(&[seed("STET_CONSOLE_SEED")]);
    for round in 0..12 {
        let browser = if dice.roll(2) == 0 { &one } else { &two };
        let objects = shown(browser, &drawer);
        let object = &objects[dice.roll(objects.len())];
        focus(browser, object);
        browser.press(["Alt+ArrowDown", "Alt+ArrowUp", "Alt+Home", "Alt+End"][dice.roll(4)]);
        if round % 4 == 3 {
            server.kill();
            let browser = if dice.roll(2) == 0 { &one } else { &two };
            focus(browser, &shown(browser, &drawer)[0]);
            browser.press("Alt+ArrowDown");
            server = server.restart();
            front.moved_to(&server);
        }
    }
    let client = server.user("editor");
    for browser in [&one, &two] {
        browser.wait_for("the connection is back", "!document.querySelector('.lost')");
        let last = agrees(browser, &client, &drawer);
        assert_eq!(last.len(), 6, "{last:?}");
    }
    // Another's move is marked with their name.
    let first = client.items(&drawer)[0].clone();
    focus(&two, &first);
    two.press("Alt+ArrowDown");
    one.wait_for("the mark", "document.querySelector('.card.marked .hand')?.textContent.includes('Ada Marsh')");
}

#[test]
fn a_session_that_ends_keeps_the_screen_until_somebody_signs_in_again() {
    let server = Server::start();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a", "b"]);
    let Some(browser) = opened(&server, "editor", &[&drawer]) else { return };
    browser.expect_error("401");
    browser.click("object-picker input");
    browser.type_text("half a tho");
    browser.script("return fetch('../v3/auth/logout').then(() => true);", &[]);
    let before = client.items(&drawer);
    focus(&browser, &before[0]);
    browser.press("Alt+ArrowDown");
    browser.find(".cover [name=username]");
    browser.click(".cover [name=username]");
    browser.type_text("editor");
    browser.click(".cover [name=password]");
    browser.type_text(SAMPLE_PASSWORD);
    browser.press("Enter");
    browser.wait_for("the form is gone", "!document.querySelector('.cover')");
    assert_eq!(agrees(&browser, &client, &drawer), before, "the refused move is taken back");
    assert_eq!(browser.script("return document.querySelector('object-picker input').value;", &[]), json!("half a tho"));
    // Events arrive again.
    client.call("drawer-item-delete", &[&drawer, &before[0]]).ok();
    agrees(&browser, &client, &drawer);
}

#[test]
fn names_are_shown_as_text_whatever_they_contain() {
    let server = Server::shared();
    let client = server.user("editor");
    let long = "ü".repeat(125);
    let names = ["<script>alert(1)</script>".replace('/', "∕"), "<img src=x onerror=alert(1)>".to_owned(), long];
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.extend(["شريط الأخبار", "${7*7}", "{{7*7}}", "a\u{202e}b", "🗞️"]);
    let drawer = filled(&client, "<b>bold</b>".replace('/', "∕").as_str(), 20, &names);
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    let titles =
        browser.script("return [...document.querySelectorAll('[data-object] h3')].map((one) => one.textContent);", &[]);
    let expected: Vec<String> = names.iter().map(|name| name.replace([':', '"', '|'], "_")).collect();
    assert_eq!(titles, json!(expected));
    assert_eq!(
        browser.script("return document.querySelectorAll('.columns script, .columns b:not(.nothing b)').length;", &[]),
        json!(0)
    );
}

#[test]
fn others_changes_wait_while_an_item_is_held() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a", "b", "c"]);
    let before = client.items(&drawer);
    let Some((browser, other)) = two_browsers() else { return };
    for (browser, user) in [(&browser, "editor"), (&other, "admin")] {
        sign_in(&server.base, browser, user, password_of(user));
        show(browser, &server.base, &[&drawer]);
    }
    browser.hold(&format!("{} h3", card(&before[2])), (0, -20));
    other.wait_for("the hand is seen", "document.querySelector('.hand')?.textContent.includes('Mara Lindqvist')");
    client.call("drawer-item-delete", &[&drawer, &before[0]]).ok();
    browser.wait_for("the change waits", "document.querySelector('.waiting')");
    assert_eq!(shown(&browser, &drawer), before);
    browser.press("Escape");
    browser.release();
    assert_eq!(agrees(&browser, &client, &drawer), before[1..]);
    browser.wait_for("nothing waits", "!document.querySelector('.waiting')");
    other.wait_for("the hand is gone", "!document.querySelector('.hand')");
}

#[test]
fn open_drawers_are_still_there_after_a_visit_to_another_page() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a"]);
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    browser.click("a[href='#/liveblog']");
    browser.find("liveblog-page .tabs");
    browser.click("a[href='#/drawers']");
    browser.wait_for("the drawer", &format!("document.querySelector(\"[data-drawer='{drawer}'] [data-object]\")"));
    let address = browser.script("return location.hash;", &[]);
    assert_eq!(address, json!(format!("#/drawers/{drawer}")));
}

#[test]
fn everything_works_without_tls_on_another_machine() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a", "b"]);
    let before = client.items(&drawer);
    let Some(browser) = Browser::start() else { return };
    // Which browsers obey only where nobody on the way can change it.
    browser.expect_error("Cross-Origin-Opener-Policy");
    let base = server.base.replace("127.0.0.1", "newsroom.test");
    sign_in(&base, &browser, "editor", SAMPLE_PASSWORD);
    show(&browser, &base, &[&drawer]);
    assert_eq!(browser.script("return isSecureContext;", &[]), json!(false));
    focus(&browser, &before[0]);
    browser.press("Delete");
    wait_patiently_until("it was removed", || client.items(&drawer) == before[1..]);
    // A POST, which needs a key.
    browser.click("object-picker input");
    browser.type_text(&before[0]);
    browser.press("Enter");
    wait_patiently_until("it was added", || client.items(&drawer).len() == 2);
    browser.click(&format!("{} .item-menu", card(&before[0])));
    browser.press("End");
    browser.press("ArrowUp");
    browser.press("Enter");
    browser.wait_for("the address was copied", "document.querySelector('.notices').textContent.includes('copied')");
}

#[test]
fn a_drawer_that_is_gone_keeps_none_of_the_others_from_being_followed() {
    let server = Server::shared();
    let client = server.user("editor");
    let (gone, drawer) = (filled(&client, "gone", 10, &["a"]), filled(&client, "there", 10, &["b", "c"]));
    client.call("object-discard", &[&gone]).ok();
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("404");
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/drawers/{gone},{drawer}", server.base));
    browser.wait_for("the one is gone", "document.querySelector('.column.gone')");
    agrees(&browser, &client, &drawer);
    browser.wait_for("the other is followed", "!document.querySelector('[data-drawer][aria-busy=true]')");
    let first = client.items(&drawer)[0].clone();
    client.call("drawer-item-delete", &[&drawer, &first]).ok();
    agrees(&browser, &client, &drawer);
}

#[test]
fn the_page_of_drawers_takes_few_files_and_bytes() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "one", 10, &["a"]);
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    let script = "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
        .filter((entry) => entry.name.includes('/console/'))
        .map((entry) => entry.encodedBodySize);";
    let sizes = browser.script(script, &[]);
    let sizes: Vec<u64> = sizes.as_array().expect("a list").iter().map(|size| size.as_u64().expect("a size")).collect();
    // The page does not see the file of the shared worker.
    assert!(sizes.len() < 25, "{} files", sizes.len());
    assert!(sizes.iter().all(|size| *size > 0) && sizes.iter().sum::<u64>() <= 60 << 10, "{sizes:?}");
}

#[test]
fn a_headline_of_any_length_is_a_title_of_some() {
    let server = Server::shared();
    let client = server.user("editor");
    let (folder, drawer) = (own_folder(), filled(&client, "one", 10, &[]));
    let attributes = json!({ "metadata": { "headline": "long ".repeat(20_000) } });
    let options = json!({ "name": "long.xml", "type": "Document", "folderPath": folder, "attributes": attributes });
    let reply = client.upload("/v3/object/create", &options, Some(("long.xml", "text/xml", b"<story/>"))).ok();
    client.call("drawer-item-post", &[&drawer, &reply["id"].as_str().expect("it has an id")]).ok();
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    browser.wait_for("its card", "document.querySelector('[data-object] h3')?.textContent.length === 300");
}

#[test]
fn a_page_for_which_the_stream_has_no_room_is_told_to_read_by_itself() {
    let server = Server::shared();
    let client = server.user("editor");
    let folder = own_folder();
    let drawers: Vec<_> = (0..65).map(|number| client.drawer(&folder, &format!("{number}"), 5)).collect();
    let Some(browser) = opened(server, "editor", &[&drawers[0]]) else { return };
    browser.expect_error("413");
    browser.expect_error("400");
    browser.script(
        "const folder = new URL('.', document.querySelector('script[src]').src);
         window.told = [];
         return import(new URL('api/stream.js', folder)).then(({ Stream }) => {
             window.stream = new Stream(new URL('..', document.baseURI));
             window.page = ({ kind }) => window.told.push(kind);
             window.stream.show(window.page, arguments[0]);
         });",
        &[json!(drawers)],
    );
    browser.wait_for("there is no room", "told.includes('crowded')");
    assert_eq!(browser.script("return told.includes('following');", &[]), json!(false));
    browser.script("stream.show(page, arguments[0]);", &[json!(drawers[1..])]);
    browser.wait_for("there is room", "told.includes('following')");
    client.call("drawer-item-post", &[&drawers[64], &client.story(&folder, "late.xml")]).ok();
    browser.wait_for("its events come", "told.includes('drawer.item.add')");
}

#[test]
fn a_history_names_changes_which_are_undone_and_earlier_states_which_are_brought_back() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, "past", 10, &["one.xml", "two.xml", "three.xml"]);
    let before = client.items(&drawer);
    let Some(browser) = opened(server, "editor", &[&drawer]) else { return };
    agrees(&browser, &client, &drawer);
    focus(&browser, &before[0]);
    browser.press("Alt+End");
    wait_patiently_until("the item is moved", || client.items(&drawer)[2] == before[0]);
    let by_admin = server.user("admin");
    by_admin.call("drawer-item-delete", &[&drawer, &before[1]]).ok();
    agrees(&browser, &client, &drawer);
    browser.click("[data-drawer] header [aria-haspopup=menu]");
    choose(&browser, "History");
    let entries =
        "[...document.querySelectorAll('drawer-history li')].map((one) => one.textContent.replace(/\\s+/g, ' '))";
    browser.wait_for("the removal is named", &format!("{entries}[0]?.includes('“two.xml” out, was at 1')"));
    browser.wait_for("the move is named", &format!("{entries}[1]?.includes('“one.xml” from 1 to 3')"));
    assert!(browser.axe().is_none_or(|faults| faults.is_empty()));
    // Changes of others are not undone.
    browser.wait_for(
        "one change of one's own",
        "!document.querySelector('drawer-history li:first-child [aria-label^=Undo]')",
    );
    browser.click("drawer-history li:nth-child(2) [aria-label^=Undo]");
    wait_patiently_until("it is undone", || client.items(&drawer) == [before[0].clone(), before[2].clone()]);
    agrees(&browser, &client, &drawer);
    // The drawer as it was before the removal, brought back.
    browser.wait_for("the undoing is named", &format!("{entries}[0]?.includes('undid')"));
    browser.click("drawer-history li:nth-child(3) [aria-label^='As it was']");
    browser
        .wait_for("what is away is marked", "document.querySelector('dialog .away')?.textContent.includes('two.xml')");
    browser.click("dialog .primary");
    let then = [&before[1], &before[2], &before[0]];
    wait_patiently_until("it is so again", || client.items(&drawer).iter().eq(then));
    agrees(&browser, &client, &drawer);
    // By the keyboard, too.
    focus(&browser, &before[0]);
    browser.press("Control+z");
    wait_patiently_until("that is undone", || client.items(&drawer) == [before[0].clone(), before[2].clone()]);
}

/// Chooses an entry of the menu that is open.
fn choose(browser: &Browser, label: &str) {
    let script = "const entry = [...document.querySelectorAll('[role=menuitem]')].find((one) => one.textContent === arguments[0]);
        entry?.click();
        return Boolean(entry);";
    wait_patiently_until("the menu has the entry", || browser.script(script, &[json!(label)]) == json!(true));
}
