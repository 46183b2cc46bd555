//! Writing a content that replaces exactly the content it was made from.

use super::{ContainerTurns, JointCommand, WriteContent, is_held_by, live_record};
use crate::command::{CommandFault, Context};
use crate::id::Loid;
use crate::object::Draft;

/// Writes a content over the one that it was made from. That is the working copy if the caller has
/// the object checked out and has saved one, else the latest version. The reply is whether it was
/// written; if another content is present, nothing changes.
#[derive(Debug, Clone)]
pub struct RewriteContent {
    /// The content and the switches of the write.
    pub write: WriteContent,
    /// SHA-256 of the content that the new one was made from.
    pub from: [u8; 32],
}

impl JointCommand for RewriteContent {
    type Reply = bool;
    const NAME: &'static str = "object.content.rewrite";

    fn about(&self, _: &bool) -> Option<Loid> {
        Some(self.write.object)
    }

    fn was_made(made: &bool) -> bool {
        *made
    }

    fn wants(&self) -> Vec<Loid> {
        self.write.wants()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        let record = live_record(self.write.object, turns)?;
        let held = record.lock_at(context.now_s());
        let held = held.is_some_and(|lock| is_held_by(lock, &context.who.user, &context.who.session));
        let draft: Option<Draft> = if held { context.look_up(&Draft::key(self.write.object))? } else { None };
        let present = draft.map(|draft| draft.content).or_else(|| record.content.clone());
        if present.is_none_or(|present| present.sha256 != self.from) {
            context.expects(&record);
            return Ok(false);
        }
        let write = WriteContent {
            // A caller who has the object checked out keeps the lock.
            switches: super::WriteSwitches { keep_checked_out: held, ..self.write.switches },
            ..self.write.clone()
        };
        write.write(true, turns, context)?;
        Ok(true)
    }
}
