//! The requests on drawers.

use serde_json::json;

use super::{Dearest, compressed, shown};
use crate::fixture::{By, FOLDER, Fixture, LARGE_TEXT};
use crate::texts::attributes;
use crate::wire::Request;

/// The number of items of the largest drawer.
const MOST: usize = 10_000;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let on_drawer = |id: &str| Request::new(id, &[&fixture.drawer()]);
    let first = || &fixture.small()[0];
    let new = || {
        json!({
            "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME", "capacity": MOST,
            "sources": &fixture.small()[..MOST],
        })
    };
    let sources = || json!({ "sources": &fixture.small()[..MOST] });
    let dearest = match id {
        "drawer-get" => {
            Dearest::repeated("drawer of 10,000 items, br", compressed(shown(on_drawer(id).query("showItems", true))))
        }
        "drawer-by-object-get" => {
            fixture.drawer();
            let request = Request::new(id, &[first()]).query("showItems", true);
            Dearest::repeated("drawer of 10,000 items, br", compressed(shown(request)))
        }
        "drawer-post" => Dearest::repeated("drawer of 10,000 items", Request::new(id, &[]).json(&new())),
        "drawer-automatic-post" => Dearest::repeated("drawer with 10,000 sources", Request::new(id, &[]).json(&new())),
        "drawer-put" => {
            let texts = [1, 2].map(|seed| on_drawer(id).json(&json!({ "attributes": attributes(LARGE_TEXT, seed) })));
            Dearest::in_turn("nearly 4 MB of attributes of a drawer of 10,000 items", texts.into())
        }
        "drawer-item-post" => Dearest::repeated(
            "item of a drawer of 10,000 items",
            Request::new(id, &[&fixture.drawer(), first()]).json(&json!({ "position": 5000 })),
        ),
        "drawer-items-post" => {
            let drawer = fixture.filled_drawer(0);
            Dearest::once("10,000 items into an empty drawer", Request::new(id, &[&drawer]).json(&sources()))
        }
        "drawer-items-delete" => {
            let drawer = fixture.filled_drawer(MOST);
            Dearest::once("10,000 items out of a drawer", Request::new(id, &[&drawer]).json(&sources()))
        }
        "drawer-item-clear-put" => {
            Dearest::once("drawer of 10,000 items", Request::new(id, &[&fixture.filled_drawer(MOST)]))
        }
        "drawer-item-position-put" => {
            let places = [0, MOST - 1].map(|place| Request::new(id, &[&fixture.drawer(), first(), &place]));
            Dearest::in_turn("first item of 10,000 to the end", places.into())
        }
        "drawer-shortcut-position-put" => {
            let reply =
                fixture.result(By::Reporter, &on_drawer("drawer-get").query("showItems", true).query("limit", 1));
            let shortcut = &reply["items"][0]["id"];
            let shortcut = shortcut.as_str().map_or_else(|| shortcut.to_string(), str::to_owned);
            let places = [0, MOST - 1].map(|place| Request::new(id, &[&fixture.drawer(), &shortcut, &place]));
            Dearest::in_turn("first item of 10,000 to the end", places.into())
        }
        "drawer-item-move-put" => {
            let (from, to) = (fixture.filled_drawer(MOST), fixture.filled_drawer(MOST - 1));
            let item = &fixture.small()[MOST - 1];
            Dearest::once("item between two drawers of 10,000 items", Request::new(id, &[&from, item, &to]))
        }
        "drawer-item-delete" => {
            let drawer = fixture.filled_drawer(MOST);
            Dearest::once("item of a drawer of 10,000 items", Request::new(id, &[&drawer, first()]))
        }
        _ => return None,
    };
    Some(vec![dearest])
}
