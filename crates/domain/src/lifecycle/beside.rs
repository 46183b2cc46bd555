//! Creating two objects in one folder as one change.

use serde::{Deserialize, Serialize};

use super::create::{CreateInFolder, CreateResult, CreationRole, NewObject};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::name_for;

/// Creates an object, or writes over one, together with another one in the same folder: both or
/// neither.
///
/// The command is about the first object. Preconditions of the caller and the events of changes
/// refer to that one only.
#[derive(Debug, Clone)]
pub struct CreateObjectPair {
    /// The object that the command is about.
    pub main: CreateInFolder,
    /// The second object, under another name.
    pub beside: NewObject,
}

/// The reply of [`CreateObjectPair`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ObjectPairResult {
    /// The object that the command is about.
    pub main: CreateResult,
    /// The second object.
    pub beside: CreateResult,
}

impl JointCommand for CreateObjectPair {
    type Reply = ObjectPairResult;
    const NAME: &'static str = "object.create-beside";

    fn was_made(created: &ObjectPairResult) -> bool {
        CreateInFolder::was_made(&created.main)
    }

    fn wants(&self) -> Vec<Loid> {
        self.main.wants()
    }

    fn about(&self, created: &ObjectPairResult) -> Option<Loid> {
        Some(created.main.loid)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<ObjectPairResult, CommandFault> {
        self.main.object.check(context)?;
        self.beside.check(context)?;
        let name = |object: &NewObject| name_for(object.parts.family(), &object.name);
        // Neither command would find the other's object in the folder.
        if name(&self.main.object)? == name(&self.beside)? {
            let message = format!("Two objects in one folder can't have the same name, `{}`.", self.beside.name);
            return Err(Error::new(Code::InvalidName, message).into());
        }
        let place = self.main.make_folders(turns, context)?;
        let second = CreateInFolder { folder: place.0, below: Vec::new(), object: self.beside.clone() };
        // The main object is made last, since the caller gets the newest one with the reply.
        let beside = second.put_in(place, CreationRole::Beside, turns, context)?;
        let main = self.main.put_in(place, CreationRole::Main, turns, context)?;
        Ok(ObjectPairResult { main, beside })
    }
}
