//! Replies about drawers.

use std::collections::HashMap;
use std::sync::Arc;

use stet_actors::drawer::{Address, Drawer, Item, Moved, Placed};
use stet_actors::error::Result;
use stet_actors::expect::Tag;
use stet_actors::family::State;

use super::types::{DrawerInfo, DrawerItem, DrawerReply, MoveRevisions};
use crate::api::kept::{Rendered, Renderings, Seen};
use crate::api::records::{any_record_of, info_of, path_if_shown, shown as shown_record};
use crate::auth::Privilege;
use crate::http::call::Call;
use crate::http::change::ViewOf;
use crate::http::etag::ETag;
use crate::http::reply::{Enveloped, Json};
use crate::records::Display;
use crate::records::Page;

/// About how long an item's JSON is without its object.
const ITEM_BYTES: usize = 64;

/// A drawer as it is on disk.
pub(super) type DrawerView = ViewOf<Drawer>;

fn info(call: &Call, view: &DrawerView, display: &Display) -> Result<DrawerInfo> {
    let (app, state) = (&call.app, &view.state);
    let (count, hidden) = counts(call, view)?;
    let head = state.head();
    Ok(DrawerInfo {
        record: info_of(app, state, display)?,
        capacity: head.capacity,
        count,
        hidden,
        automatic: head.automatic,
        title: head.title.clone(),
        description: head.description.clone(),
    })
}

/// How many items the caller sees, and how many more the drawer has for them. Items that they may not read are in neither.
fn counts(call: &Call, view: &DrawerView) -> Result<(usize, usize)> {
    if call.access().sees_all() {
        return Ok((view.state.count(), view.state.hidden()));
    }
    Ok((seen(call, view)?.len(), 0))
}

/// The items that the caller sees, with their positions in the whole drawer.
fn seen<'v>(call: &Call, view: &'v DrawerView) -> Result<Vec<(usize, &'v Item)>> {
    let mut seen = Vec::new();
    for (position, item) in view.state.visible().enumerate() {
        if sees(call, item)? {
            seen.push((position, item));
        }
    }
    Ok(seen)
}

/// Whether the caller may read an item's object.
fn sees(call: &Call, item: &Item) -> Result<bool> {
    let access = call.access();
    if access.sees_all() {
        return Ok(true);
    }
    Ok(match call.app.records.get(&call.app.repository, item.object)? {
        Some(cached) => access.may(Privilege::Read, &cached)?,
        None => false,
    })
}

/// Items with the records of their objects, and what these were made of. One whose object was destroyed since the view was
/// published is left out, as it will be of the next view.
fn items_of<'i>(
    call: &Call,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
) -> Result<(Vec<DrawerItem>, Seen)> {
    let app = &call.app;
    let items = items.into_iter();
    let (mut shown, mut seen) = (Vec::with_capacity(items.size_hint().0), Seen::with_capacity(items.size_hint().0));
    for (position, item) in items {
        let cached = app.records.get(&app.repository, item.object)?;
        let object = match &cached {
            Some(cached) => Some(shown_record(app, cached, display, path_if_shown(app, cached, display)?.as_deref())?),
            None => any_record_of(app, item.object, display)?,
        };
        if let Some(object) = object {
            shown.push(DrawerItem { id: item.shortcut, position, source: item.object, object });
        }
        seen.push((item.object, cached.map(|cached| cached.copy())));
    }
    Ok((shown, seen))
}

/// A drawer with the given items, and what it was rendered from.
pub(super) fn reply_of<'i>(
    call: &Call,
    view: &DrawerView,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
) -> Result<(DrawerReply, Seen)> {
    let info = info(call, view, display)?;
    let (items, seen) = items_of(call, items, display)?;
    Ok((DrawerReply { info, items, errors: None, revisions: None }, seen))
}

/// The reply to a change: the drawer as it is right after, and the items concerned. The display is asked for beforehand: a call
/// whose options are wrong must change nothing.
pub(super) fn changed(call: &Call, view: &DrawerView, items: &Placed, display: &Display) -> Result<Json<DrawerReply>> {
    answer(view, &changed_drawer(call, view, items, display)?)
}

/// The reply to a move: the target, and the revisions of both drawers that the move itself led to.
pub(super) fn moved_reply(call: &Call, view: &DrawerView, items: &Placed, moved: &Moved) -> Result<Json<DrawerReply>> {
    let drawer = changed_drawer(call, view, items, &call.display())?;
    let revisions = MoveRevisions { source: moved.source_revision, target: moved.target_revision };
    answer(view, &DrawerReply { revisions: Some(revisions), ..drawer })
}

/// A reply to a change, with its ETag.
pub(super) fn answer(view: &DrawerView, reply: &DrawerReply) -> Result<Json<DrawerReply>> {
    Ok(Json::of(reply)?.with_etag(ETag::new(Tag::of(&view.state.object().record), "change")))
}

fn changed_drawer(call: &Call, view: &DrawerView, items: &Placed, display: &Display) -> Result<DrawerReply> {
    let mut shown = Vec::with_capacity(items.len());
    if call.access().sees_all() {
        shown.extend(items.iter().map(|(position, item)| (*position, item)));
    } else {
        // Positions as the caller counts them.
        let seen = seen(call, view)?;
        let places: HashMap<_, _> = seen.iter().enumerate().map(|(place, (_, item))| (item.shortcut, place)).collect();
        for (_, item) in items {
            let place = places.get(&item.shortcut).copied();
            let taken_out = place.is_none() && view.state.find(Address::Shortcut(item.shortcut)).is_none();
            if place.is_some() || (taken_out && sees(call, item)?) {
                shown.push((place.unwrap_or(0), item));
            }
        }
    }
    Ok(reply_of(call, view, shown, display)?.0)
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

/// Whole drawers, with all of their items or with none.
pub(crate) type RenderedDrawers = Renderings<Drawer, bool, DrawerReply>;

/// The reply to a read. Those who do not see everything have replies of their own, and pages are made anew.
///
/// # Errors
/// What the store says.
pub(super) fn rendered(
    call: &Call,
    view: &DrawerView,
    display: &Display,
    page: Page,
) -> Result<Arc<Rendered<Drawer, DrawerReply>>> {
    let with_items = match page {
        Page { limit: 0, .. } => Some(false),
        Page { offset: 0, limit: usize::MAX } => Some(true),
        _ => None,
    };
    let part = with_items.filter(|_| call.access().sees_all());
    call.app.kept::<RenderedDrawers>().reply(&call.app, view, display, part, || {
        let (drawer, seen) = reply_of(call, view, shown(call, view, page)?, display)?;
        let bytes = drawer.items.iter().map(|item| item.object.text().len() + ITEM_BYTES).sum();
        Ok((Enveloped::of(&drawer, bytes)?, seen))
    })
}
