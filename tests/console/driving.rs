//! The harness itself: what pages log is seen, keys and the pointer reach them, and two browsers are
//! two users.

use serde_json::json;

use super::browser::{Browser, sign_in, two_browsers};
use super::*;

/// Opens a page of the shared server: `/` leads to the console, `/docs/` has no script.
fn opened(path: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    browser.open(&format!("{}{path}", Server::shared().base));
    Some(browser)
}

#[test]
fn the_modules_of_the_page_run_under_its_policy() {
    let Some(browser) = opened("/") else { return };
    browser.wait_for("the modules", "document.querySelector('stet-frame:defined')?.innerHTML");
    let address = browser.script("return location.pathname;", &[]);
    assert_eq!(address, json!("/console/"));
    assert_eq!(browser.console_errors(), [""; 0]);
}

#[test]
fn a_violation_of_the_policy_and_an_error_are_seen() {
    let Some(browser) = opened("/") else { return };
    browser.script(
        "const script = document.createElement('script');
         try { script.src = 'main.js'; } catch {}
         try { document.body.innerHTML = '<b>x</b>'; } catch {}
         new Image().src = 'https://elsewhere.invalid/x.png';
         setTimeout(() => { throw new Error('thrown by the test'); });",
        &[],
    );
    let parts = ["TrustedScriptURL", "TrustedHTML", "elsewhere.invalid", "thrown by the test"];
    parts.iter().for_each(|part| browser.expect_error(part));
    let seen = |part: &str| browser.console_errors().iter().any(|error| error.contains(part));
    wait_patiently_until("the errors", || parts.iter().all(|part| seen(part)));
}

#[test]
fn keys_and_pointer_reach_the_page() {
    let Some(browser) = opened("/docs/") else { return };
    browser.set_window(1000, 700);
    browser.script(
        "document.body.replaceChildren();
         document.documentElement.lang = 'en';
         window.seen = [];
         const add = (name, id) => {
             const element = document.body.appendChild(document.createElement(name));
             element.id = id;
             element.ariaLabel = id;
             return element;
         };
         add('input', 'field').addEventListener('keydown', (event) =>
             window.seen.push((event.ctrlKey ? 'Control+' : '') + event.key));
         for (const [id, left] of [['from', 50], ['to', 400]]) {
             Object.assign(add('div', id).style, { position: 'absolute', left: left + 'px', top: '200px',
                 width: '100px', height: '100px' });
         }
         // Otherwise the browser drags what an earlier drag has selected.
         document.addEventListener('mousedown', (event) => event.target.id === 'field' || event.preventDefault());
         window.path = [];
         document.addEventListener('pointerdown', (event) => window.path = [event.target.id]);
         document.addEventListener('pointermove', (event) => event.buttons && window.path.push(event.clientX));
         document.addEventListener('pointerup', (event) => window.path.push(event.target.id));",
        &[],
    );
    browser.click("#field");
    browser.type_text("Grüße");
    browser.press("Control+a");
    browser.press("Delete");
    browser.type_text("x");
    browser.press("Enter");
    assert_eq!(browser.script("return field.value;", &[]), json!("x"));
    assert_eq!(browser.find("#field").attribute("aria-label").as_deref(), Some("field"));
    let seen = browser.script("return seen;", &[]);
    for key in ["ü", "Control+a", "Delete", "Enter"] {
        assert!(seen.as_array().expect("it is a list").contains(&json!(key)), "{key}: {seen}");
    }

    let dragged = || browser.script("return path;", &[]).as_array().expect("it is a list").clone();
    browser.drag("#from", "#to");
    let path = dragged();
    assert_eq!((&path[0], path.last()), (&json!("from"), Some(&json!("to"))), "{path:?}");
    assert!(path.len() > 6, "the way has several steps: {path:?}");
    browser.drag("#from", (0, 10));
    assert_eq!(dragged().last(), Some(&json!("from")));

    let picture = tempfile::Builder::new().suffix(".png").tempfile().expect("a file can be made");
    browser.screenshot(picture.path());
    assert!(std::fs::read(picture.path()).expect("it can be read").starts_with(b"\x89PNG"));
}

#[test]
fn two_browsers_are_two_users() {
    let server = Server::shared();
    let Some((one, two)) = two_browsers() else { return };
    sign_in(&server.base, &one, "editor", SAMPLE_PASSWORD);
    sign_in(&server.base, &two, "admin", ADMIN_PASSWORD);
    let name = "return fetch('../v3/auth/connection').then((reply) => reply.text());";
    let (first, second) = (one.script(name, &[]).to_string(), two.script(name, &[]).to_string());
    assert!(first.contains("editor") && second.contains("admin"), "{first} {second}");
}

#[test]
fn what_keeps_people_out_is_found() {
    let Some(browser) = opened("/docs/") else { return };
    browser.script("document.body.append(document.createElement('button'));", &[]);
    let Some(violations) = browser.axe() else { return };
    assert!(violations.iter().any(|violation| violation.contains("button-name")), "{violations:?}");
    assert_eq!(browser.find("h1").text(), "stet");
}
