//! The page of a live blog.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in, two_browsers};
use super::*;

/// Opens a live blog as a user.
fn show(server: &Server, browser: &Browser, user: &str, blog: &str) {
    sign_in(&server.base, browser, user, SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/liveblog/{blog}", server.base));
    browser.find("post-composer textarea");
}

/// The posts of a live blog with a status, as the server has them.
fn posts(client: &Client, blog: &str, status: &str) -> Vec<Value> {
    let body = json!({ "filters": { "status": [status] } });
    let reply = client.call("liveblog-search-post", &[&blog]).json(&body).ok();
    reply["items"].as_array().expect("it has posts").clone()
}

fn write(browser: &Browser, title: &str, text: &str) {
    browser.click("post-composer [name=title]");
    browser.type_text(title);
    browser.click("post-composer textarea");
    browser.type_text(text);
}

fn value(browser: &Browser, css: &str) -> Value {
    browser.script("return document.querySelector(arguments[0]).value;", &[json!(css)])
}

#[test]
fn a_post_is_drafted_published_edited_and_seen_as_readers_see_it() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &blog);
    write(&browser, "Lights out", "The chamber is <b>dark</b> & quiet.");
    // A page that is left and opened again has what was typed.
    browser.open("about:blank");
    browser.open(&format!("{}/console/#/liveblog/{blog}", server.base));
    browser.find("post-composer textarea");
    browser.wait_for("the draft", "document.querySelector('post-composer textarea').value.endsWith('quiet.')");
    browser.click("post-composer textarea");
    browser.press("Control+Enter");
    browser.wait_for("the post", "document.querySelector('[data-post] h2')?.textContent === 'Lights out'");
    let post = &posts(&client, &blog, "approved")[0];
    assert_eq!(post["content"], "<post><p>The chamber is &lt;b&gt;dark&lt;/b&gt; &amp; quiet.</p></post>");
    assert_eq!(value(&browser, "post-composer textarea"), "");
    assert_eq!(
        browser.script("return localStorage.getItem(`stet.draft.editor.${arguments[0]}`);", &[json!(blog)]),
        Value::Null
    );
    browser.click("[data-post] .deeds button:not(.primary)");
    browser.wait_for("the post is taken", "document.querySelector('post-composer textarea').value.includes('dark')");
    browser.type_text(" More soon.");
    browser.press("Control+Enter");
    browser.wait_for(
        "what becomes of it",
        "document.querySelector('.notice')?.textContent.includes('Readers see your edit')",
    );
    browser.click(".tabs button:last-of-type");
    browser.wait_for("as readers see it", "document.querySelector('.readers')?.textContent.includes('More soon.')");
}

#[test]
fn a_reporters_post_waits_until_an_editor_approves_it() {
    let server = Server::start();
    let client = server.user("editor");
    let blog = client.liveblog("/LiveBlogs", "night");
    let Some((reporter, editor)) = two_browsers() else { return };
    show(&server, &reporter, "reporter", &blog);
    show(&server, &editor, "editor", &blog);
    write(&reporter, "A rumour", "They say so.");
    reporter.press("Control+Enter");
    reporter.wait_for("what becomes of it", "document.querySelector('.notice')?.textContent.includes('waits')");
    editor.wait_for("the queue has one", "document.querySelector('.tabs button b')?.textContent === '1'");
    editor.click(".tabs button");
    editor.wait_for("the post", "document.querySelector('[data-post] h2')?.textContent === 'A rumour'");
    editor.click("[data-post] .deeds .primary");
    wait_patiently_until("it is approved", || posts(&client, &blog, "approved").len() == 1);
    reporter.wait_for("the reporter sees it", "document.querySelector('[data-post] h2')?.textContent === 'A rumour'");
    // Taken back.
    editor.click(".notice button");
    wait_patiently_until("it waits again", || posts(&client, &blog, "pending").len() == 1);
}

#[test]
fn several_posts_are_changed_at_once_and_one_is_moved_by_key() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    for (minute, title) in ["first", "second", "third"].iter().enumerate() {
        let options = json!({ "title": title, "timestamp": 1_795_000_000_000_u64 + minute as u64 * 60_000 });
        let content = Some(("post.xml", "text/xml", b"<post><p>x</p></post>".as_slice()));
        client.upload(&format!("/v3/container/liveblog/{}/post", encoded(&blog)), &options, content).ok();
    }
    let titles = |status: &str| -> Vec<String> {
        posts(&client, &blog, status).iter().map(|post| post["title"].as_str().expect("a title").to_owned()).collect()
    };
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &blog);
    browser.wait_for("the posts", "document.querySelectorAll('[data-post]').length === 3");
    browser.script("document.querySelector('[data-post]').focus();", &[]);
    browser.press("Alt+ArrowDown");
    wait_patiently_until("it moved down", || titles("approved") == ["second", "third", "first"]);
    browser.wait_for("the page shows it", "document.querySelector('[data-post] h2').textContent === 'second'");
    for which in [1, 3] {
        browser.click(&format!("[data-post]:nth-of-type({which}) input"));
    }
    browser.click(".bulk button:nth-of-type(2)");
    wait_patiently_until("they are rejected", || titles("rejected").len() == 2);
    assert_eq!(titles("approved"), ["third"]);
}

#[test]
fn anothers_edit_of_the_same_post_is_shown_and_either_is_kept() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &blog);
    write(&browser, "Count", "One");
    browser.press("Control+Enter");
    browser.click("[data-post] .deeds button:not(.primary)");
    browser.type_text(" and mine");
    let post = posts(&client, &blog, "approved")[0]["info"]["id"].as_str().expect("it has an id").to_owned();
    let path = format!("/v3/container/liveblog/{}/post/{}", encoded(&blog), encoded(&post));
    let content = [("content", "post.xml", "text/xml", b"<post><p>Two</p></post>".as_slice())];
    server.user("admin").send_form("PUT", &path, &[], &json!({}), &content).ok();
    browser.wait_for("it is told", "document.querySelector('.conflict')?.textContent.includes('Ada Marsh')");
    assert_eq!(value(&browser, "post-composer textarea"), "One and mine");
    browser.click(".conflict button:last-of-type");
    browser.wait_for("the question is gone", "!document.querySelector('.conflict')");
    browser.click("post-composer .primary");
    wait_patiently_until("mine is kept", || {
        posts(&client, &blog, "approved")[0]["content"] == "<post><p>One and mine</p></post>"
    });
}

#[test]
fn pictures_are_sent_with_what_they_show() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &blog);
    // A picture of one point, as if it were pasted.
    browser.script(
        "const bytes = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (one) => one.charCodeAt(0));
         const data = new DataTransfer();
         data.items.add(new File([bytes], 'ferry.png', { type: 'image/png' }));
         const area = document.querySelector('post-composer textarea');
         area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));",
        &[],
    );
    browser.click(".pictures input");
    browser.type_text("The last boat");
    // An edit of another post in between loses neither.
    let content = Some(("post.xml", "text/xml", b"<post><p>x</p></post>".as_slice()));
    client
        .upload(&format!("/v3/container/liveblog/{}/post", encoded(&blog)), &json!({ "title": "other" }), content)
        .ok();
    browser.click("[data-post] .deeds button:not(.primary)");
    browser
        .wait_for("the other post", "document.querySelector('.editing') && !document.querySelector('.pictures img')");
    browser.click(".editing button");
    browser.wait_for("the picture", "document.querySelector('.pictures input')?.value === 'The last boat'");
    browser.click("post-composer .primary");
    browser.wait_for("the picture is shown", "document.querySelector('[data-post] img')?.naturalWidth === 1");
    assert_eq!(browser.find("[data-post] img").attribute("alt").as_deref(), Some("The last boat"));
    let posts = posts(&client, &blog, "approved");
    let post = posts.iter().find(|post| post["title"] == "").expect("it is published");
    let content = post["content"].as_str().expect("it has content");
    assert!(content.contains("alt=\"The last boat\"") && content.contains("ferry.png"), "{content}");
    assert_eq!(post["attachments"][0]["contentType"], "image/png");
}

#[test]
fn a_draft_stays_with_its_live_blog_when_another_is_opened() {
    let server = Server::shared();
    let client = server.user("editor");
    let (one, two) = (client.liveblog(&own_folder(), "one"), client.liveblog(&own_folder(), "two"));
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "editor", &one);
    browser.click("post-composer textarea");
    browser.type_text("For the first one.");
    browser.script("location.hash = `#/liveblog/${arguments[0]}`;", &[json!(two)]);
    browser.wait_for("the box of the other is empty", "document.querySelector('post-composer textarea').value === ''");
    browser.script("location.hash = `#/liveblog/${arguments[0]}`;", &[json!(one)]);
    browser.wait_for("the draft", "document.querySelector('post-composer textarea').value === 'For the first one.'");
    browser.click("post-composer .primary");
    wait_patiently_until("it is published where it was written", || posts(&client, &one, "approved").len() == 1);
    assert!(posts(&client, &two, "approved").is_empty());
}

#[test]
fn an_edit_of_a_post_that_has_more_than_paragraphs_loses_nothing_of_it() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    let path = format!("/v3/container/liveblog/{}/post", encoded(&blog));
    let Some(browser) = Browser::start() else { return };
    let contents = [
        ("text/xml", "<!DOCTYPE post><post><p>x</p></post>"),
        ("text/xml", "<post><p>x</p><img src=\"a\" alt=\"b\"/><p>x</p></post>"),
        ("text/xml", "<post><p>x</p><!-- note --></post>"),
        ("text/plain", "x\n\n\nx < y"),
    ];
    for (kind, content) in contents {
        client.upload(&path, &json!({ "title": "t" }), Some(("post", kind, content.as_bytes()))).ok();
        show(server, &browser, "editor", &blog);
        browser.click("[data-post] .deeds button:not(.primary)");
        browser.wait_for("the post is taken", "document.querySelector('post-composer textarea').value.includes('x')");
        browser.script(
            "const area = document.querySelector('post-composer textarea');
             area.value = area.value.replace('x', 'y');
             area.dispatchEvent(new Event('input', { bubbles: true }));",
            &[],
        );
        browser.click("post-composer .primary");
        let expected = content.replacen('x', "y", 1);
        wait_patiently_until("it is saved", || posts(&client, &blog, "approved")[0]["content"] == json!(expected));
    }
}
