//! Check-out, write and check-in as one step.

use std::sync::Arc;

use super::{check_lock, live_record, lock_of, propagate_content, reuse_content};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{ContentLocation, Draft, DraftBase, NewContent, Record, SmallBody, Version};
use crate::store::StoreError;

/// The actions that accompany a write (docs/api/content.md, "Writing content").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteSwitches {
    /// Check in; else the bytes are saved as the draft.
    pub check_in: bool,
    /// Keep the lock at a check-in, including one taken by this step.
    pub keep_checked_out: bool,
    /// Release the lock at the end, if this is no check-in.
    pub unlock: bool,
    /// Check in as a new version; else the latest is replaced.
    pub new_version: bool,
    /// Take the lock first, and continue from the draft if there is one.
    pub check_out: bool,
    /// Take the lock first, and delete the draft.
    pub check_out_clean: bool,
}

/// Checks out, writes and checks in, as the switches say. Without bytes the draft is checked in; if
/// there is no draft either, nothing is written. Without a lock and a check-out, the lock is taken
/// and released within the step.
///
/// The draft of another user is only deleted by a caller who holds the lock, and so can see it, or
/// who sets [`WriteSwitches::check_out_clean`]. Others can't save over it. A check-in by others
/// leaves it alone. If they keep the lock, they would read the draft in place of their own content.
/// In that case the draft becomes a version of its own, before theirs.
///
/// A draft that is not based on the present content is checked in as a new version, whatever the
/// switches say. Its author did not know what it would replace. For the same reason the latest
/// version stays if it is another user's, and the caller neither held the lock before the call nor
/// names the present state by `If-Match`. A client whose lock has expired saves as if it still had
/// it.
#[derive(Debug, Clone)]
pub struct WriteContent {
    /// The object.
    pub object: Loid,
    /// The bytes.
    pub body: Option<NewContent>,
    /// The actions that accompany the write.
    pub switches: WriteSwitches,
    /// Seconds without use after which the lock ends, if one is kept.
    pub lasts_s: u64,
}

impl JointCommand for WriteContent {
    type Reply = ();
    const NAME: &'static str = "object.content.write";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.write(false, turns, context)
    }
}

impl WriteContent {
    /// Carries out the write. `has_seen` states whether the bytes were made from the present
    /// content.
    pub(super) fn write(
        &self,
        has_seen: bool,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let record = live_record(self.object, turns)?;
        context.expects(&record);
        if !turns.has_content(self.object)? {
            let message = format!("`{}` is a {}, which has no content.", self.object, record.family.name());
            return Err(Error::new(Code::InvalidType, message).with_source(self.object).into());
        }
        check_lock(&record, context)?;
        let to = self.switches;
        let held = record.lock_at(context.now_s());
        let checked_out = held.is_some() || to.check_out || to.check_out_clean;
        if !checked_out && self.body.is_none() {
            let message = format!(
                "`{}` is not checked out, and the call has no content. Check it out first, or send a content.",
                self.object
            );
            return Err(Error::new(Code::ObjectNotCheckedOut, message).with_source(self.object).into());
        }
        let leftover: Option<Draft> = context.look_up(&Draft::key(self.object))?;
        let leftover = leftover.as_ref();
        let unseen = leftover.filter(|draft| !to.check_out_clean && is_unseen(draft, held.is_some(), context));
        let overtaken = !has_seen && latest_is_unseen(&record, held.is_some(), context)?;
        let before = WriteSituation { base: DraftBase::of(&record), checked_out, leftover, unseen, overtaken };
        let mut after = Record::clone(&record);
        let (written, draft_changed) = if to.check_in {
            self.check_in(&before, &mut after, context)?
        } else {
            (None, self.save_draft(before, context)?)
        };
        let keeps = if to.check_in { to.keep_checked_out } else { checked_out && !to.unlock };
        after.lock = keeps.then(|| lock_of(held, self.lasts_s, context));
        if written.is_some() || draft_changed || after.lock != record.lock {
            turns.any(self.object)?.record = Arc::new(after);
            context.is_about(self.object);
        }
        match written {
            Some((new, as_new)) => propagate_content(self.object, &new, as_new, turns, context)?,
            None => context.keep_stamp(),
        }
        Ok(())
    }

    /// Checks in. Returns the written content, if there is any, and whether the draft has changed.
    fn check_in(
        &self,
        before: &WriteSituation<'_>,
        after: &mut Record,
        context: &mut Context<'_>,
    ) -> Result<(Option<WrittenContent>, bool), CommandFault> {
        let to = self.switches;
        let new = self.content_to_check_in(before, context)?;
        // Bytes in place of a draft that the caller has not seen leave that draft where it is.
        // The exception is a caller who keeps the lock, and would read the draft.
        let unseen = before.unseen.filter(|_| self.body.is_some());
        let kept = unseen.filter(|_| to.keep_checked_out);
        if let Some(draft) = kept {
            keep(draft, after, context)?;
        }
        let written = new.map(|(new, as_new)| (new, as_new || kept.is_some()));
        if let Some((new, as_new)) = &written {
            put(after, new, *as_new, context)?;
        }
        // A caller who has the object checked out continues from the draft, or deletes it.
        // Nobody else may delete it.
        let dropped = match unseen {
            Some(_) => kept,
            None => before.leftover.filter(|_| before.checked_out || to.keep_checked_out),
        };
        remove(dropped, context);
        Ok((written, dropped.is_some()))
    }

    /// Returns the content of a check-in: the bytes of the call, or else those of the draft.
    fn content_to_check_in(
        &self,
        before: &WriteSituation<'_>,
        context: &mut Context<'_>,
    ) -> Result<Option<WrittenContent>, CommandFault> {
        let to = self.switches;
        Ok(match (&self.body, before.leftover.filter(|_| !to.check_out_clean)) {
            (Some(body), draft) => {
                // A caller who continues from a draft has seen the content that the draft is based
                // on, and no other.
                let own = draft.filter(|_| before.checked_out && before.unseen.is_none());
                let overtaken = before.overtaken || own.is_some_and(|draft| draft.base != before.base);
                Some((body.clone(), to.new_version || overtaken))
            }
            (None, Some(draft)) => {
                let bytes = reuse_content(&draft.content, Draft::body_loid(self.object), context)?;
                Some((bytes, to.new_version || draft.base != before.base))
            }
            (None, None) => None,
        })
    }

    /// Saves the bytes of the call as the draft, or deletes the draft. Returns whether it has
    /// changed.
    fn save_draft(&self, before: WriteSituation<'_>, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        let clean = self.switches.check_out_clean;
        let Some(body) = &self.body else {
            let deleted = before.leftover.filter(|_| clean);
            remove(deleted, context);
            return Ok(deleted.is_some());
        };
        if let Some(other) = before.unseen {
            return Err(not_yours(other).into());
        }
        let base = match before.leftover {
            Some(draft) if !clean => draft.base.clone(),
            _ if before.overtaken => None,
            _ => before.base,
        };
        save(before.leftover, self.object, body, base, context);
        Ok(true)
    }
}

/// The circumstances of a write, before it changes anything.
struct WriteSituation<'d> {
    /// The present content, as the base of a draft.
    base: Option<DraftBase>,
    /// Whether the caller has the lock, or takes it in this step.
    checked_out: bool,
    /// The present draft.
    leftover: Option<&'d Draft>,
    /// The present draft, if it is another user's and the caller continues without having seen it.
    unseen: Option<&'d Draft>,
    /// Whether the latest version is another user's, and the caller may not have seen it.
    overtaken: bool,
}

/// A content that is checked in, and whether it becomes a new version.
type WrittenContent = (NewContent, bool);

/// Stores the bytes as a new version, or in place of the latest.
pub(super) fn put(
    record: &mut Record,
    new: &NewContent,
    as_new: bool,
    context: &mut Context<'_>,
) -> Result<(), StoreError> {
    let latest = Version::key(record.loid.at_version(record.version));
    let replaced: Option<Version> = if as_new || record.version == 0 { None } else { context.look_up(&latest)? };
    if replaced.is_none() {
        record.version += 1;
    }
    record.content = Some(new.content.clone());
    context.put_version(replaced.as_ref(), record.loid.at_version(record.version), new, context.now_s());
    Ok(())
}

/// Reports whether the latest version is another user's and the caller can't be known to have seen
/// it. A caller has seen it if they held the lock before the call (`held`), or name the present
/// state of the object.
pub fn latest_is_unseen(record: &Record, held: bool, context: &Context<'_>) -> Result<bool, StoreError> {
    if held || record.version == 0 || context.names_present(record) {
        return Ok(false);
    }
    let latest: Option<Version> = context.look_up(&Version::key(record.loid.at_version(record.version)))?;
    Ok(latest.is_some_and(|latest| latest.author != context.who.user))
}

/// Reports whether a draft is another user's and the caller can't have read it. Only the holder of
/// the lock reads drafts; `held` states whether the caller held it before the call.
fn is_unseen(draft: &Draft, held: bool, context: &Context<'_>) -> bool {
    !held && draft.author != context.who.user
}

/// Keeps a draft as a version of its own, under the name of its author.
fn keep(draft: &Draft, record: &mut Record, context: &mut Context<'_>) -> Result<(), CommandFault> {
    let bytes = reuse_content(&draft.content, Draft::body_loid(draft.loid), context)?;
    record.version += 1;
    let (loid, at) = (record.loid.at_version(record.version), context.now_s());
    context.put_version_of(draft.author.clone(), None, loid, &bytes, at);
    Ok(())
}

/// Returns the refusal to save over another user's draft. An object has one draft, which only the
/// holder of the lock sees, so it must not vanish unnoticed.
fn not_yours(draft: &Draft) -> Error {
    let message = format!(
        "`{}` has a draft of `{}`, which this call would overwrite. Check out without a content to continue from the \
         draft, or with `checkOutClean` to discard it.",
        draft.loid, draft.author
    );
    let error = Error::new(Code::ObjectNotCheckedOut, message).with_source(draft.loid);
    error.with_detail("draftOf", &*draft.author)
}

fn save(leftover: Option<&Draft>, object: Loid, body: &NewContent, base: Option<DraftBase>, context: &mut Context<'_>) {
    let (author, at) = (context.who.user.clone(), context.now_s());
    context.put(leftover, &Draft { loid: object, author, at, content: body.content.clone(), base });
    let was_small = leftover.is_some_and(|draft| draft.content.stored == ContentLocation::Row);
    if body.small.is_some() || was_small {
        context.set(SmallBody::key(Draft::body_loid(object)), body.small.clone());
    }
}

fn remove(draft: Option<&Draft>, context: &mut Context<'_>) {
    let Some(draft) = draft else { return };
    context.remove(draft);
    if draft.content.stored == ContentLocation::Row {
        context.set(SmallBody::key(Draft::body_loid(draft.loid)), None);
    }
}

/// Moves the draft out of the way of a content that the caller, who keeps the lock, continues from.
/// `held` states whether they held the lock before. A draft that they have not seen becomes a
/// version. Returns whether there was one.
pub fn set_draft_aside(record: &mut Record, held: bool, context: &mut Context<'_>) -> Result<bool, CommandFault> {
    let draft: Option<Draft> = context.look_up(&Draft::key(record.loid))?;
    let kept = draft.as_ref().filter(|draft| is_unseen(draft, held, context));
    if let Some(draft) = kept {
        keep(draft, record, context)?;
    }
    remove(draft.as_ref(), context);
    Ok(kept.is_some())
}

/// Removes the draft of an object that is destroyed.
pub fn drop_draft(object: Loid, context: &mut Context<'_>) -> Result<(), StoreError> {
    let draft: Option<Draft> = context.look_up(&Draft::key(object))?;
    remove(draft.as_ref(), context);
    Ok(())
}
