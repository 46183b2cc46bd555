//! Changes of fields in an object's attribute texts (docs/api/objects.md, "Changing fields").

use crate::amend::AmendmentAttempt;
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::liveblog::Liveblog;
use crate::object::FamilyKind;

/// Changes fields of an object's attribute texts.
///
/// The reply is whether they were changed. Texts that are slow to amend have to be amended before
/// the command (see [`EarlyAmendment`](crate::amend::EarlyAmendment)).
#[derive(Debug, Clone)]
pub struct ChangeFields {
    /// The object.
    pub object: Loid,
    /// The change of the texts.
    pub amending: AmendmentAttempt,
}

impl JointCommand for ChangeFields {
    type Reply = bool;
    const NAME: &'static str = "object.change_fields";

    fn about(&self, _: &bool) -> Option<Loid> {
        Some(self.object)
    }

    fn was_made(made: &bool) -> bool {
        *made
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        let object = turns.any(self.object)?;
        let record = object.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        check_lock(&record, context)?;
        let Some(amended) = self.amending.of(object)? else { return Ok(false) };
        let moderated = amended.moderated;
        amended.put_into(object, context)?;
        if let Some(moderated) = moderated
            && record.family == FamilyKind::Liveblog
        {
            turns.get::<Liveblog>(self.object)?.moderate(moderated, context);
        }
        Ok(true)
    }
}
