//! Writing a content that was made of the present one, and of no other.

use super::{Joint, Turns, WriteContent, is_held_by, live};
use crate::command::{Context, Fault};
use crate::id::Loid;
use crate::object::Draft;

/// Writes a content over the one that it was made of: the working copy, if the caller has the
/// object checked out and has saved one, else the latest version. It replies whether it did; if
/// another content is there, nothing has changed.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// What is written.
    pub write: WriteContent,
    /// SHA-256 of the content that it was made of.
    pub from: [u8; 32],
}

impl Joint for Rewrite {
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

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<bool, Fault> {
        let record = live(self.write.object, turns)?;
        let held = record.lock_at(context.now_s());
        let held = held.is_some_and(|lock| is_held_by(lock, &context.who.user, &context.who.session));
        let draft: Option<Draft> = if held { context.look_up(&Draft::key(self.write.object))? } else { None };
        let present = draft.map(|draft| draft.content).or_else(|| record.content.clone());
        if present.is_none_or(|present| present.sha256 != self.from) {
            context.expects(&record);
            return Ok(false);
        }
        let write = WriteContent {
            // Whoever has it checked out goes on with it.
            switches: super::Switches { keep_checked_out: held, ..self.write.switches },
            ..self.write.clone()
        };
        write.write(true, turns, context)?;
        Ok(true)
    }
}
