//! The templates and signals of `console/lib`, in a browser.

use serde_json::{Value, json};

use super::browser::Browser;
use super::*;

/// Opens the page and returns what a script returns that has the modules `html` and `view`.
fn run(body: &str, arguments: &[Value]) -> Option<Value> {
    let browser = Browser::start()?;
    browser.expect_error("401");
    browser.open(&format!("{}/", Server::shared().base));
    browser.find("[name=username]");
    let script = format!(
        "const folder = new URL('.', document.querySelector('script[src]').src);
         const load = (name) => import(new URL(`lib/${{name}}.js`, folder));
         return Promise.all([load('html'), load('view')]).then(async ([{{ html, keyed, render, longestRise }}, {{ Signal, effect }}]) => {{
             const given = [{}];
             {body}
         }});",
        arguments.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
    );
    Some(browser.script(&script, &[]))
}

#[test]
fn lists_by_key_keep_their_nodes_in_every_order() {
    // Each round has another list: its nodes are in its order, and those of known keys are the same as before.
    let body = "
        const [seed, rounds] = given;
        let state = seed;
        const roll = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
        const box = document.body.appendChild(document.createElement('ol'));
        const nodes = new Map();
        for (let round = 0; round < rounds; round++) {
            const keys = [...Array(12).keys()].filter(() => roll(4) > 0).sort(() => roll(3) - 1);
            render(html`<li>head</li>${keyed(keys, (key) => key, (key) => html`<li data-key=${key}>${key}: ${round}</li>`)}<li>foot</li>`, box);
            const shown = [...box.querySelectorAll('[data-key]')];
            if (shown.map((node) => Number(node.dataset.key)).join() !== keys.join()) return `order ${keys}`;
            if (shown.some((node) => node.textContent !== `${node.dataset.key}: ${round}`)) return `text ${box.textContent}`;
            for (const node of shown) {
                const before = nodes.get(node.dataset.key);
                if (before && before.round === round - 1 && before.node !== node) return 'another node';
                nodes.set(node.dataset.key, { node, round });
            }
            if (box.firstElementChild.textContent !== 'head' || box.lastElementChild.textContent !== 'foot') return 'neighbours';
        }
        return 'right';";
    let seed = seed("STET_CONSOLE_SEED") % (1 << 31);
    let Some(outcome) = run(body, &[json!(seed), json!(300)]) else { return };
    assert_eq!(outcome, json!("right"));
}

#[test]
fn the_longest_rise_is_rising_and_the_longest() {
    let body = "
        const lists = [[], [0], [3, 1, 2], [0, 1, 2], [2, 1, 0], [1, -1, 2, 0, 3], [-1, -1], [4, 0, 1, 5, 2, 3]];
        return lists.map((list) => [...longestRise(list)].sort((one, other) => one - other).map((at) => list[at]));";
    let Some(outcome) = run(body, &[]) else { return };
    let lengths: Vec<usize> =
        outcome.as_array().expect("lists").iter().map(|one| one.as_array().expect("a list").len()).collect();
    assert_eq!(lengths, [0, 1, 2, 3, 1, 3, 0, 4]);
    for rise in outcome.as_array().expect("lists") {
        let numbers: Vec<i64> =
            rise.as_array().expect("a list").iter().map(|one| one.as_i64().expect("a number")).collect();
        assert!(numbers.is_sorted() && numbers.iter().all(|one| *one >= 0), "{numbers:?}");
    }
}

#[test]
fn values_are_text_and_attributes_properties_and_listeners_are_set() {
    let body = "
        const box = document.body.appendChild(document.createElement('div'));
        let clicks = 0;
        const show = (text, flag, name) => render(html`<p class=${name} ?hidden=${flag} .lang=${'de'} @click=${() => clicks++}>${text}</p>`, box);
        show('<b onclick=x>&amp;</b>', false, null);
        const p = box.querySelector('p');
        p.click();
        const first = [p.textContent, p.className, p.hidden, p.lang, box.querySelectorAll('b').length];
        show(['a', html`<i>${'b'}</i>`, null, undefined, false, 0], true, '\"><img src=x>');
        return [first, p === box.querySelector('p'), p.textContent, p.hidden, p.className, clicks];";
    let Some(outcome) = run(body, &[]) else { return };
    let first = json!(["<b onclick=x>&amp;</b>", "", false, "de", 0]);
    assert_eq!(outcome, json!([first, true, "ab0", true, "\"><img src=x>", 1]));
}

#[test]
fn an_effect_runs_once_for_all_changes_of_a_task_and_never_after_its_end() {
    let body = "
        const [one, two] = [new Signal(1), new Signal(2)];
        const seen = [];
        const stop = effect(() => seen.push(one.value === 1 ? one.value + two.value : one.value));
        const turn = () => new Promise((resolve) => setTimeout(resolve));
        one.value = 1; two.value = 3; two.value = 4;
        await turn();
        one.value = 7;
        await turn();
        // It no longer depends on the second one.
        two.value = 9;
        await turn();
        stop();
        one.value = 8;
        await turn();
        return seen;";
    let Some(outcome) = run(body, &[]) else { return };
    assert_eq!(outcome, json!([3, 5, 7]));
}
