//! Restoring an old version.

use std::sync::Arc;

use super::{check_lock, live_record, propagate_content, reuse_content};
use crate::command::{CommandFault, Context};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::Version;

/// Makes a new version with the bytes of an old one. A draft stays.
#[derive(Debug, Clone, Copy)]
pub struct RestoreVersion {
    /// The object.
    pub object: Loid,
    /// The number of the old version.
    pub version: u32,
}

impl JointCommand for RestoreVersion {
    /// The number of the new version.
    type Reply = u32;
    const NAME: &'static str = "object.version.restore";

    fn about(&self, _: &u32) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<u32, CommandFault> {
        let record = live_record(self.object, turns)?;
        context.expects(&record);
        check_lock(&record, context)?;
        let from = self.object.at_version(self.version);
        let old: Version = context.look_up(&Version::key(from))?.ok_or_else(|| Error::not_found(from))?;
        let new = reuse_content(&old.content, from, context)?;
        let number = record.version + 1;
        let changed = Arc::make_mut(&mut turns.any(self.object)?.record);
        changed.version = number;
        changed.content = Some(new.content.clone());
        context.put_version(None, self.object.at_version(number), &new, context.now_s());
        context.is_about(self.object.at_version(number));
        propagate_content(self.object, &new, true, turns, context)?;
        Ok(number)
    }
}
