//! Propagation of content to channel copies. A copy that follows its source gets each content that
//! is checked in there, in the same change (docs/api/bundles.md, "Following").

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::reuse_content;
use super::write::put;
use crate::command::{CommandFault, Context};
use crate::folder::{MAX_MEMBERS, children};
use crate::id::Loid;
use crate::joint::ContainerTurns;
use crate::object::{ChannelCopy, FamilyKind, FolderKey, NewContent, Record};
use crate::store::ReadLevel;

/// Propagates the content that an object, whose turn has been taken, has just got as a new version
/// or in place of the latest. If the object is a channel copy, it stops following its source.
/// Copies that follow the object get the content too, and so do their own followers. A copy that
/// somebody has checked out keeps its content.
pub fn propagate_content(
    object: Loid,
    content: &NewContent,
    as_new: bool,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let record = &mut turns.any(object)?.record;
    let bundle = match (&record.copy, record.family) {
        (Some(copy), _) => {
            if copy.follows
                && let Some(copy) = &mut Arc::make_mut(record).copy
            {
                copy.follows = false;
            }
            record.folder()
        }
        (None, FamilyKind::Bundle) => Some(object),
        (None, _) => None,
    };
    match bundle {
        Some(bundle) => spread_in(bundle, object, content, as_new, turns, context),
        None => Ok(()),
    }
}

/// Gives a copy that is restored from the recycle bin the content of its source, if that has
/// changed meanwhile. It becomes a new version, since readers have seen the copy's own.
pub fn catch_up(copy: Loid, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
    let mut record = Record::clone(&turns.any(copy)?.record);
    let Some(ChannelCopy { follows: true, inherited_from: Some(FolderKey(from)), .. }) = record.copy else {
        return Ok(());
    };
    turns.need([from])?;
    let Ok(followed) = turns.any(from) else { return Ok(()) };
    let followed = followed.record.clone();
    let hash = |record: &Record| record.content.as_ref().map(|content| content.sha256);
    let Some(content) = followed.content.as_ref().filter(|content| Some(content.sha256) != hash(&record)) else {
        return Ok(());
    };
    if followed.is_discarded() || record.lock_at(context.now_s()).is_some() {
        return Ok(());
    }
    let content = reuse_content(content, followed.loid.at_version(followed.version), context)?;
    put(&mut record, &content, true, context)?;
    if let Some(copy) = &mut record.copy {
        copy.version = followed.version;
    }
    let bundle = record.folder();
    turns.any(copy)?.record = Arc::new(record);
    match bundle {
        Some(bundle) => spread_in(bundle, copy, &content, true, turns, context),
        None => Ok(()),
    }
}

/// Gives a new content of an object in a bundle to the copies there that follow it.
fn spread_in(
    bundle: Loid,
    object: Loid,
    content: &NewContent,
    as_new: bool,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let followers = followers(object, bundle, context)?;
    turns.need(followers.iter().map(|(follower, _)| *follower))?;
    for (follower, from) in followers {
        let version = turns.any(from)?.record.version;
        let mut record = Record::clone(&turns.any(follower)?.record);
        if record.lock_at(context.now_s()).is_some() {
            continue;
        }
        put(&mut record, content, as_new, context)?;
        if let Some(copy) = &mut record.copy {
            copy.version = version;
        }
        turns.any(follower)?.record = Arc::new(record);
        context.concerns(object, follower);
        context.concerns(follower, follower);
    }
    Ok(())
}

/// Returns the copies that follow an object of a bundle, directly or not, each with its source. A
/// source precedes its followers.
fn followers(object: Loid, bundle: Loid, context: &Context<'_>) -> Result<Vec<(Loid, Loid)>, CommandFault> {
    let (there, _) = children(context.look(), ReadLevel::Latest, bundle, MAX_MEMBERS)?;
    let mut following = Vec::new();
    for loid in there {
        let Some(record) = context.look_up::<Record>(&Record::live_key(loid))? else { continue };
        let locked = record.lock_at(context.now_s()).is_some();
        if let Some(copy) = record.copy.filter(|copy| copy.follows && !locked)
            && let Some(FolderKey(from)) = copy.inherited_from
        {
            following.push((loid, from));
        }
    }
    let (mut found, mut known, mut open) = (Vec::new(), BTreeSet::from([object]), VecDeque::from([object]));
    while let Some(from) = open.pop_front() {
        for (follower, _) in following.iter().filter(|(_, followed)| *followed == from) {
            if known.insert(*follower) {
                found.push((*follower, from));
                open.push_back(*follower);
            }
        }
    }
    Ok(found)
}
