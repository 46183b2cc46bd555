//! Replies about drawers, put together from records whose JSON is there already.

use std::fmt::Write;
use std::sync::Arc;

use stet_actors::drawer::{Address, DrawerState, Item, Moved, Placed};
use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::runtime::Published;

use crate::api::records::{info_of, json_of, path_if_shown, quoted, with_path};
use crate::auth::Privilege;
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::etag::ETag;
use crate::http::reply::{Content, Reply, enveloped, to_json};
use crate::records::{Page, Rendered, Seen};

use super::types::MoveRevisions;

/// A drawer as it is on disk.
pub(super) type DrawerView = Arc<Published<DrawerState>>;

/// `info` as JSON: a record, and behind it what a drawer has beside.
fn info(call: &Call, view: &DrawerView, display: &Display) -> Result<String> {
    let (app, state) = (&call.app, &view.state);
    let (count, hidden) = counts(call, view)?;
    let head = state.head();
    let mut json = info_of(app, state, display)?;
    // A record is never the empty object: its last brace makes room for more members.
    json.pop();
    // Writing to a String can't fail.
    let _ = write!(
        json,
        ",\"capacity\":{},\"count\":{},\"hidden\":{},\"automatic\":{},\"title\":{},\"description\":{}}}",
        head.capacity,
        count,
        hidden,
        head.automatic,
        quoted(&head.title),
        quoted(&head.description)
    );
    Ok(json)
}

/// How many items the caller sees, and how many more the drawer has for them. What they may not read is in neither.
fn counts(call: &Call, view: &DrawerView) -> Result<(usize, usize)> {
    if call.access().sees_all() {
        return Ok((view.state.count(), view.state.hidden()));
    }
    Ok((seen(call, view)?.len(), 0))
}

/// The items that the caller sees, with their positions in the whole drawer.
pub(super) fn seen<'v>(call: &Call, view: &'v DrawerView) -> Result<Vec<(usize, &'v Item)>> {
    let mut seen = Vec::new();
    for (position, item) in view.state.visible().enumerate() {
        if sees(call, item)? {
            seen.push((position, item));
        }
    }
    Ok(seen)
}

/// Whether the caller may read an item's object.
pub(super) fn sees(call: &Call, item: &Item) -> Result<bool> {
    let access = call.access();
    if access.sees_all() {
        return Ok(true);
    }
    Ok(match call.app.records.get(&call.app.repository, item.object)? {
        Some(cached) => access.may(Privilege::Read, &cached)?,
        None => false,
    })
}

fn write_items<'i>(
    call: &Call,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
    out: &mut String,
) -> Result<Seen> {
    let app = &call.app;
    let mut seen = Seen::new();
    for (position, item) in items {
        let cached = app.records.get(&app.repository, item.object)?;
        let comma = if seen.is_empty() { "" } else { "," };
        // Writing to a String can't fail.
        let _ = write!(
            out,
            "{comma}{{\"id\":\"{}\",\"position\":{position},\"source\":\"{}\",\"object\":",
            item.shortcut, item.object
        );
        match &cached {
            Some(cached) => {
                let json = json_of(app, cached, display)?;
                match path_if_shown(app, &cached.record, display)? {
                    Some(path) => out.push_str(&with_path(&json, &path)),
                    None => out.push_str(&json),
                }
            }
            // Destroyed since the view was published; the next view is without it.
            None => out.push_str("null"),
        }
        out.push('}');
        seen.push((item.object, cached.map(|cached| cached.copy())));
    }
    Ok(seen)
}

/// A container reply: `info`, and the given items.
pub(super) fn write_reply<'i>(
    call: &Call,
    view: &DrawerView,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
) -> Result<(String, Seen)> {
    let info = info(call, view, display)?;
    let items = items.into_iter();
    // An item's record is about as long as the drawer's own.
    let mut out = String::with_capacity((info.len() + 64) * (1 + items.size_hint().0));
    out.push_str("{\"info\":");
    out.push_str(&info);
    out.push_str(",\"items\":[");
    let seen = write_items(call, items, display, &mut out)?;
    out.push_str("]}");
    Ok((out, seen))
}

/// The reply to a change: the drawer as it is right after, and the items concerned. The display is asked for beforehand: a call
/// whose options are wrong must change nothing.
pub(super) fn changed(call: &Call, view: &DrawerView, items: &Placed, display: &Display) -> Result<Reply> {
    let json = changed_json(call, view, items, display)?;
    Ok(Reply::new(Content::Json(json.into())).with_etag(ETag::new(view.revision(), "change")))
}

/// The reply to a move: the target, and the revisions of both drawers that the move itself led to.
pub(super) fn moved_reply(call: &Call, view: &DrawerView, items: &Placed, moved: &Moved) -> Result<Reply> {
    let mut json = changed_json(call, view, items, &call.display())?;
    let revisions = MoveRevisions { source: moved.source_revision, target: moved.target_revision };
    // The reply is an object: its last brace makes room for one more member.
    json.pop();
    json.push_str(",\"revisions\":");
    json.push_str(&String::from_utf8_lossy(&to_json(&revisions)?));
    json.push('}');
    Ok(Reply::new(Content::Json(json.into())).with_etag(ETag::new(view.revision(), "change")))
}

fn changed_json(call: &Call, view: &DrawerView, items: &Placed, display: &Display) -> Result<String> {
    let mut told = Vec::with_capacity(items.len());
    if call.access().sees_all() {
        told.extend(items.iter().map(|(position, item)| (*position, item)));
    } else {
        // As they count them.
        let seen = seen(call, view)?;
        for (_, item) in items {
            let place = seen.iter().position(|(_, known)| known.shortcut == item.shortcut);
            let taken_out = place.is_none() && view.state.find(Address::Shortcut(item.shortcut)).is_none();
            if place.is_some() || (taken_out && sees(call, item)?) {
                told.push((place.unwrap_or(0), item));
            }
        }
    }
    Ok(write_reply(call, view, told, display)?.0)
}

/// The part of a drawer's items that is asked for, with their positions among those that the caller sees.
pub(super) fn shown<'v>(call: &Call, view: &'v DrawerView, page: Page) -> Result<Vec<(usize, &'v Item)>> {
    let cut =
        |items: &mut dyn Iterator<Item = &'v Item>| items.enumerate().skip(page.offset).take(page.limit).collect();
    if call.access().sees_all() {
        return Ok(cut(&mut view.state.visible()));
    }
    Ok(cut(&mut seen(call, view)?.into_iter().map(|(_, item)| item)))
}

/// The reply to a read: kept from the last one where nothing has changed. Those who do not see everything have replies of their own.
///
/// # Errors
/// What the store says.
pub(super) fn rendered(
    call: &Call,
    drawer: Loid,
    view: DrawerView,
    display: &Display,
    page: Page,
) -> Result<Arc<Rendered<DrawerState>>> {
    let (app, common) = (&call.app, call.access().sees_all());
    let (all, none) = (page.offset == 0 && page.limit == usize::MAX, page.limit == 0);
    let key = (drawer, display.clone(), all);
    let kept = if common && (all || none) { app.drawers.get(&key) } else { None };
    if let Some(kept) = kept
        && kept.is_current(&app.records, &app.repository, &view)?
    {
        return Ok(kept);
    }
    let right_at = app.records.changes();
    let (json, seen) = write_reply(call, &view, shown(call, &view, page)?, display)?;
    let tag = ETag::new(view.revision(), &json);
    let fresh = Arc::new(Rendered::new(right_at, view, seen, enveloped(json.as_bytes()), tag));
    // Paths depend on folders above, which nothing here looks at.
    if common && !display.path && (all || none) {
        app.drawers.put(key, fresh.clone());
    }
    Ok(fresh)
}
