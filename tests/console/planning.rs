//! The page of planning: a plan, its topics, and one topic beside it.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in, two_browsers};
use super::*;

/// Creates a plan with a divider and two topics. Returns the loids of the plan and of the topics.
fn plan(client: &Client) -> (String, [String; 2]) {
    let folder = own_folder();
    let create = |what: &str, name: &str| {
        let body = json!({ "name": name, "title": name, "folderPath": folder });
        let reply = client.post(&format!("/v3/container/{what}"), &body).ok();
        reply["info"]["id"].as_str().expect("it has an id").to_owned()
    };
    let (plan, topics) = (create("topicplan", "week"), [create("topic", "Ferry"), create("topic", "Storm")]);
    client.post(&format!("/v3/container/topicplan/{}/divider", encoded(&plan)), &json!({ "title": "City" })).ok();
    for topic in &topics {
        client.put(&format!("/v3/container/topicplan/{}/add/{}", encoded(&plan), encoded(topic)), &json!({})).ok();
    }
    (plan, topics)
}

/// Adds an item to a topic. Returns its loid.
fn add_item(client: &Client, topic: &str, fields: &Value) -> String {
    let reply = client.post(&format!("/v3/container/topic/{}/topicitem", encoded(topic)), fields).ok();
    reply["info"]["id"].as_str().expect("it has an id").to_owned()
}

/// Opens a plan, and a topic beside it unless that is empty.
fn show(server: &Server, browser: &Browser, user: &str, plan: &str, topic: &str) {
    let password = if user == "admin" { ADMIN_PASSWORD } else { SAMPLE_PASSWORD };
    sign_in(&server.base, browser, user, password);
    browser.open(&format!("{}/console/#/planning/{plan},{topic}", server.base));
    browser.wait_for("the plan", "document.querySelectorAll('plan-board .topic h3').length === 2");
    if !topic.is_empty() {
        browser.wait_for("the topic", "document.querySelector('topic-pane h2')?.textContent");
    }
}

/// The ids of all lines of a container, each followed by those below it, as the server has them.
fn lines(client: &Client, kind: &str, loid: &str) -> Vec<String> {
    fn below(items: &Value, ids: &mut Vec<String>) {
        for item in items.as_array().into_iter().flatten() {
            ids.push(item["id"].as_str().expect("a line has an id").to_owned());
            below(&item["items"], ids);
        }
    }
    let mut ids = Vec::new();
    below(&client.get(&format!("/v3/container/{kind}/{}/structure", encoded(loid))).ok()["items"], &mut ids);
    ids
}

/// Waits until a page shows the lines of a container as the server has them.
#[track_caller]
fn shows_lines(browser: &Browser, within: &str, client: &Client, kind: &str, loid: &str) {
    let script = "return [...document.querySelectorAll(arguments[0])].map((line) => line.dataset.object);";
    let shown = || browser.script(script, &[json!(format!("{within} [data-object]"))]);
    wait_patiently_until("the page shows the lines of the server", || shown() == json!(lines(client, kind, loid)));
}

/// The fields of an item.
fn item(client: &Client, topic: &str, id: &str) -> Value {
    let reply = client.get(&format!("/v3/container/topic/{}", encoded(topic))).ok();
    let items = reply["items"].as_array().expect("a topic has items").iter();
    items.map(|item| item["info"].clone()).find(|info| info["id"] == id).expect("the item is there")
}

fn focus(browser: &Browser, id: &str) {
    browser.script("document.querySelector(`[data-object='${arguments[0]}']`).focus();", &[json!(id)]);
}

#[test]
fn a_topic_is_made_filled_and_ordered_by_keys() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [ferry, storm]) = plan(&client);
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &plan, "");
    browser.click("plan-board .adding button");
    browser.find("dialog [name=title]");
    browser.type_text("Budget");
    browser.press("Enter");
    browser.wait_for("the topic is open", "document.querySelector('topic-pane h2')?.textContent === 'Budget'");
    browser.click("topic-pane .adding input");
    for name in ["Interview", "Photo"] {
        browser.type_text(name);
        browser.press("Enter");
        browser.wait_for("it is added", "document.querySelector('topic-pane .adding input').value === ''");
    }
    let topic = lines(&client, "topicplan", &plan).pop().expect("the plan has the topic");
    shows_lines(&browser, "topic-pane", &client, "topic", &topic);
    let [interview, photo] = <[String; 2]>::try_from(lines(&client, "topic", &topic)).expect("there are two");
    focus(&browser, &interview);
    browser.press("Alt+ArrowDown");
    wait_patiently_until("it moved", || lines(&client, "topic", &topic) == [photo.clone(), interview.clone()]);
    // The focus is still on it; its form is filled in.
    browser.press("Enter");
    browser.find("fields-form [name=name]");
    browser.click("fields-form .names input");
    browser.type_text("tobias ferrant");
    browser.press("Enter");
    browser.script(
        "const due = document.querySelector('fields-form [name=dueDate]');
         due.value = '2026-12-01T12:00';
         due.dispatchEvent(new Event('input', { bubbles: true }));",
        &[],
    );
    browser.press("Control+Enter");
    wait_patiently_until("it is saved", || item(&client, &topic, &interview)["assignees"] == json!(["reporter"]));
    assert!(item(&client, &topic, &interview)["dueDate"].is_i64());
    browser.click(".views button:last-child");
    browser.wait_for("it is on its day", "document.querySelector('.day .task-name')?.textContent === 'Interview'");
    browser.click(".views button:first-child");
    browser.click("topic-pane .heading button:last-child");
    browser.wait_for("the topic is closed", "!document.querySelector('topic-pane')");
    // A topic is taken out of the plan, and put back.
    focus(&browser, &ferry);
    browser.press("Delete");
    wait_patiently_until("it is out", || !lines(&client, "topicplan", &plan).contains(&ferry));
    browser.click(".notice button:first-of-type");
    wait_patiently_until("it is back", || lines(&client, "topicplan", &plan)[1] == ferry);
    shows_lines(&browser, "plan-board", &client, "topicplan", &plan);
    // One that gets into the recycle bin is hidden, although the plan itself has no event for that.
    browser.expect_error("404");
    client.call("object-discard", &[&storm]).ok();
    browser.wait_for("it is hidden", "document.querySelectorAll('plan-board .topic').length === 2");
}

#[test]
fn subitems_dividers_statuses_and_attachments_are_changed_by_menu() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [topic, _]) = plan(&client);
    let vote = add_item(&client, &topic, &json!({ "name": "Vote" }));
    let story = client.story(&own_folder(), "vote.xml");
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &plan, &topic);
    let choose = |label: &str| {
        browser.find(&format!("[data-object='{vote}']"));
        focus(&browser, &vote);
        browser.press("Shift+F10");
        browser.find(".menu button");
        let script = "[...document.querySelectorAll('.menu button')].find((one) => one.textContent.startsWith(arguments[0])).click();";
        browser.script(script, &[json!(label)]);
    };
    choose("New subitem");
    browser.find("fields-form [name=name]");
    browser.click("fields-form [name=name]");
    browser.type_text("Box");
    browser.press("Enter");
    browser.wait_for("the new one has the focus", "document.activeElement?.getAttribute('aria-label') === 'Box'");
    browser.press("Alt+ArrowLeft");
    browser.wait_for("it is an item", "document.querySelectorAll('.items > .lines > .item').length === 2");
    browser.wait_for("it has the focus", "document.activeElement?.getAttribute('aria-label') === 'Box'");
    choose("New divider");
    browser.find("dialog [name=title]");
    browser.type_text("Later");
    browser.press("Enter");
    browser.wait_for("the divider", "document.querySelector('.item .divider h3')?.textContent === 'Later'");
    choose("Status");
    browser.wait_for("the statuses", "document.querySelectorAll('.menu button').length === 2");
    browser.click(".menu button");
    wait_patiently_until("it is accepted", || item(&client, &topic, &vote)["statusInfo"]["name"] == "Topic/Accepted");
    choose("Attach");
    browser.find("dialog .picker input");
    browser.click("dialog .picker input");
    browser.type_text(&story);
    browser.press("Enter");
    browser.wait_for("it is attached", "document.querySelector('.attached')?.textContent.includes('vote.xml')");
    assert_eq!(browser.find(".attached").attribute("href"), Some(format!("#/object/{story}")));
    choose("Remove");
    browser.click("dialog .primary");
    browser.wait_for("it is removed", "document.querySelectorAll('topic-pane [data-object]').length === 1");
    shows_lines(&browser, "topic-pane", &client, "topic", &topic);
}

#[test]
fn two_browsers_and_a_program_on_one_plan_and_topic_end_equal() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [topic, storm]) = plan(&client);
    let items: Vec<_> =
        ["a", "b", "c"].iter().map(|name| add_item(&client, &topic, &json!({ "name": name }))).collect();
    let Some((one, two)) = two_browsers() else { return };
    show(server, &one, "editor", &plan, &topic);
    show(server, &two, "reporter", &plan, &topic);
    for browser in [&one, &two] {
        shows_lines(browser, "topic-pane", &client, "topic", &topic);
    }
    let grip = |id: &str| format!("[data-object='{id}'] .grip");
    one.hold(&grip(&items[0]), (0, 30));
    // While one person holds an item, the other moves another, and a program adds a third.
    focus(&two, &items[2]);
    two.press("Alt+ArrowUp");
    add_item(&client, &topic, &json!({ "name": "d", "position": 0 }));
    one.wait_for("the changes wait", "document.querySelector('.waiting')");
    one.release();
    focus(&two, &storm);
    two.press("Alt+Home");
    one.drag("plan-board .divider .grip", "plan-board li:last-child");
    let divider = || lines(&client, "topicplan", &plan).iter().position(|id| !id.contains('$'));
    wait_patiently_until("both are moved", || {
        lines(&client, "topicplan", &plan)[0] == storm && divider().is_some_and(|at| at > 0)
    });
    for browser in [&one, &two] {
        shows_lines(browser, "topic-pane", &client, "topic", &topic);
        shows_lines(browser, "plan-board", &client, "topicplan", &plan);
    }
    assert_eq!(lines(&client, "topic", &topic).len(), 4);
}

#[test]
fn anothers_change_is_shown_in_a_form_and_not_forced() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [topic, _]) = plan(&client);
    let vote = add_item(&client, &topic, &json!({ "name": "Vote", "comment": "old", "edition": "Late" }));
    let path = format!("/v3/container/topic/{}/topicitem/{}", encoded(&topic), encoded(&vote));
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &plan, &topic);
    browser.find(&format!("[data-object='{vote}']"));
    focus(&browser, &vote);
    browser.press("F2");
    browser.find("fields-form [name=name]");
    browser.click("fields-form [name=name]");
    browser.press("Control+a");
    browser.type_text("Mine");
    // A field that is not touched here is not overwritten, and what is typed stays.
    server.user("admin").put(&path, &json!({ "name": "Theirs", "comment": "new" })).ok();
    browser
        .wait_for("it is told", "document.querySelector('fields-form .conflict')?.textContent.includes('Ada Marsh')");
    browser.wait_for("mine stays", "document.querySelector('fields-form [name=name]').value === 'Mine'");
    browser.click("fields-form .primary");
    browser.wait_for("the form is closed", "!document.querySelector('dialog')");
    let now = item(&client, &topic, &vote);
    assert_eq!((&now["name"], &now["comment"], &now["edition"]), (&json!("Mine"), &json!("new"), &json!("Late")));
    // Theirs is taken.
    browser.press("F2");
    browser.find("fields-form [name=name]");
    browser.click("fields-form textarea");
    browser.type_text(" and mine");
    server.user("admin").put(&path, &json!({ "comment": "newest" })).ok();
    browser.click("fields-form .conflict button");
    browser.wait_for("theirs", "document.querySelector('fields-form textarea').value === 'newest'");
    // What is typed outlives the page.
    browser.click("fields-form textarea");
    browser.press("End");
    browser.type_text("!");
    browser.open("about:blank");
    show(server, &browser, "editor", &plan, &topic);
    browser.find(&format!("[data-object='{vote}']"));
    focus(&browser, &vote);
    browser.press("F2");
    browser.wait_for("the draft", "document.querySelector('fields-form textarea')?.value.includes('!')");
}

#[test]
fn a_closed_topic_refuses_and_keeps_the_input_and_hostile_names_are_text() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [topic, _]) = plan(&client);
    let hostile = "<img src=x onerror=alert(1)> \u{202e}gnp.exe ${1} --><script>";
    let fields = json!({ "name": hostile, "comment": hostile, "assignees": [hostile], "product": hostile });
    let vote = add_item(&client, &topic, &fields);
    client.put(&format!("/v3/container/topic/{}", encoded(&topic)), &json!({ "title": hostile })).ok();
    client.post(&format!("/v3/container/topic/{}/divider", encoded(&topic)), &json!({ "title": hostile })).ok();
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &plan, &topic);
    browser.find(&format!("[data-object='{vote}']"));
    let shown =
        "return ['topic-pane h2', '.item .name', '.item .comment', '.items .divider h3', 'plan-board .topic h3']
        .map((css) => document.querySelector(css).textContent);";
    wait_patiently_until("they are shown as they are", || browser.script(shown, &[]) == json!(vec![hostile; 5]));
    assert_eq!(browser.script("return document.querySelectorAll('main img, main script').length;", &[]), json!(0));
    client.post(&format!("/v3/object/{}/status", encoded(&topic)), &json!({ "status": "Topic/Done" })).ok();
    browser.wait_for("it is closed", "document.querySelector('.status-button').textContent.includes('Done')");
    browser.expect_error("409");
    browser.click("topic-pane .adding input");
    browser.type_text("Too late");
    browser.press("Enter");
    browser.wait_for("it is explained", "document.querySelector('.notice.fault')?.textContent.includes('closed')");
    browser.wait_for("it stays", "document.querySelector('topic-pane .adding input').value === 'Too late'");
    focus(&browser, &vote);
    browser.press("Enter");
    browser.click("fields-form textarea");
    browser.type_text("Kept");
    browser.click("fields-form .primary");
    browser.wait_for("it is explained", "document.querySelector('fields-form .fault')?.textContent.includes('closed')");
    browser.wait_for("it stays", "document.querySelector('fields-form textarea').value.includes('Kept')");
    assert_eq!(item(&client, &topic, &vote)["comment"], hostile);
}

#[test]
fn a_calendar_program_gets_an_address_with_a_key_that_only_administrators_can_make() {
    let server = Server::shared();
    let client = server.user("editor");
    let (plan, [topic, _]) = plan(&client);
    add_item(&client, &topic, &json!({ "name": "Vote" }));
    let Some((editor, admin)) = two_browsers() else { return };
    editor.expect_error("403");
    for (browser, user) in [(&editor, "editor"), (&admin, "admin")] {
        show(server, browser, user, &plan, "");
        browser.click(".toolbar > button:last-child");
        browser.click(".menu button:nth-of-type(2)");
        browser.click("dialog .primary");
        browser.find("dialog input");
    }
    let shown = |browser: &Browser| browser.script("return document.querySelector('dialog input').value;", &[]);
    assert!(editor.find("dialog .hint").text().contains("administrators"));
    assert!(shown(&editor).as_str().expect("it is an address").ends_with("?key="));
    let address = shown(&admin);
    let path = address.as_str().and_then(|address| address.strip_prefix(&server.base)).expect("it is here");
    let reply = server.client().get(path);
    let calendar = String::from_utf8(reply.body).expect("it is text");
    assert!(reply.status == 200 && calendar.contains("SUMMARY:Vote"), "{}: {calendar}", reply.status);
}
