//! How fast the console is: `scripts/console-bench` runs this on the release server and prints the
//! figures. Beside the other tests it runs in a short form, so that it stays right.
//!
//! `STET_CONSOLE_DRAGS` is the number of drags (2), `STET_CONSOLE_SECONDS` the time with changes (1),
//! `STET_CONSOLE_ITEMS` the number of items in the drawer meanwhile (50), `STET_CONSOLE_SLOWDOWN` how
//! much slower than this machine the processor seems to pages (1).

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::browser::{Browser, sign_in, two_browsers};
use super::*;

/// The number of changes per second while tasks are watched.
const RATE: u32 = 49;

/// A drawer with stories.
fn filled(client: &Client, count: u64) -> String {
    let folder = own_folder();
    let drawer = client.drawer(&folder, "pace", count as u32);
    for number in 0..count {
        let story = client.story(&folder, &format!("{number}.xml"));
        client.call("drawer-item-post", &[&drawer, &story]).ok();
    }
    drawer
}

/// Opens a drawer.
fn show(server: &Server, browser: &Browser, user: &str, drawer: &str) {
    sign_in(&server.base, browser, user, if user == "admin" { ADMIN_PASSWORD } else { SAMPLE_PASSWORD });
    browser.open(&format!("{}/console/#/drawers/{drawer}", server.base));
    browser.wait_for("the drawer", "document.querySelector('[data-drawer][aria-busy=false] [data-object]')");
}

/// Prints the middle, the 99th of a hundred and the largest of some times in milliseconds.
fn print(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    println!("{what}: {:.0} ms, p99 {:.0} ms, most {:.0} ms of {}", at(0.5), at(0.99), at(1.0), times.len());
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_hand_and_a_move_are_seen_by_others() {
    let server = Server::shared();
    let drawer = filled(&server.user("editor"), 5);
    let Some((one, two)) = two_browsers() else { return };
    show(server, &one, "editor", &drawer);
    show(server, &two, "admin", &drawer);
    one.script(
        "for (const kind of ['pointerdown', 'pointerup']) document.addEventListener(kind, () => (window[kind] = Date.now()), true);",
        &[],
    );
    two.script(
        "const order = () => [...document.querySelectorAll('[data-object]')].map((card) => card.dataset.object).join();
         const look = () => {
             if (document.querySelector('.hand') && !window.handAt) window.handAt = Date.now();
             if (order() !== window.before && !window.movedAt) window.movedAt = Date.now();
         };
         window.begin = () => ([window.handAt, window.movedAt, window.before] = [0, 0, order()]);
         new MutationObserver(look).observe(document.querySelector('[data-drawer]'), { subtree: true, childList: true, attributes: true });",
        &[],
    );
    let (mut hands, mut moves) = (Vec::new(), Vec::new());
    for _ in 0..setting("STET_CONSOLE_DRAGS").unwrap_or(2) {
        // Marks of the last change are gone after some seconds.
        two.wait_for("no hand", "!document.querySelector('.hand')");
        two.script("begin();", &[]);
        one.hold("[data-object] h3", (0, 160));
        two.wait_for("the hand", "handAt");
        one.release();
        two.wait_for("the move", "movedAt");
        let began = one.script("return [pointerdown, pointerup];", &[]);
        let seen = two.script("return [handAt, movedAt];", &[]);
        hands.push(number(&seen[0]) - number(&began[0]));
        moves.push(number(&seen[1]) - number(&began[1]));
    }
    print("another's hand is seen after", hands);
    print("another's move is seen after", moves);
}

#[test]
fn a_drawer_that_changes_all_the_time_leaves_the_page_usable() {
    let server = Server::shared();
    let client = server.user("editor");
    let drawer = filled(&client, setting("STET_CONSOLE_ITEMS").unwrap_or(50));
    let Some(browser) = Browser::start() else { return };
    let slowdown = setting("STET_CONSOLE_SLOWDOWN").unwrap_or(1);
    browser.slow_down(slowdown);
    show(server, &browser, "editor", &drawer);
    // Loaded once more, now with the files in the cache of the browser, and then from nothing.
    browser.script("location.reload();", &[]);
    browser.wait_for("the drawer", "document.querySelector('[data-drawer][aria-busy=false] [data-object]')");
    let usable = number(&browser.script("return performance.now();", &[]));
    println!("a drawer is there after {usable:.0} ms, on a processor {slowdown} times slower");
    browser.script(
        "window.tasks = [];
         new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });",
        &[],
    );
    let heap = || number(&browser.script("window.gc?.(); return performance.memory.usedJSHeapSize;", &[])) / 1e6;
    let before = heap();
    let seconds = setting("STET_CONSOLE_SECONDS").unwrap_or(1);
    let changes = change_all_the_time(&client, &drawer, Duration::from_secs(seconds));
    let script = "return [...document.querySelectorAll('[data-object]')].map((card) => card.dataset.object);";
    wait_patiently_until("the page shows the drawer", || browser.script(script, &[]) == json!(client.items(&drawer)));
    let tasks = browser.script("return tasks;", &[]);
    let tasks: Vec<f64> = tasks.as_array().expect("a list").iter().map(number).collect();
    let longest = tasks.iter().copied().fold(0.0, f64::max);
    println!(
        "{changes} changes in {seconds} s: {} tasks above 50 ms, the longest {longest:.0} ms; heap {before:.1} MB before, {:.1} MB after",
        tasks.len(),
        heap()
    );
}

/// Moves items of a drawer at a steady rate, and returns how many were moved.
fn change_all_the_time(client: &Client, drawer: &str, time: Duration) -> u32 {
    let begun = Instant::now();
    let mut changes = 0;
    let items = client.items(drawer);
    while begun.elapsed() < time {
        let item = &items[changes as usize * 7 % items.len()];
        client.call("drawer-item-position-put", &[&drawer, item, &0]).ok();
        changes += 1;
        thread::sleep((Duration::from_secs(1) * changes / RATE).saturating_sub(begun.elapsed()));
    }
    changes
}
