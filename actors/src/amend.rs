//! Attribute texts that a command changes only here and there (docs/api/objects.md, "Changing
//! fields" and "When the object exists").
//!
//! Who changes a field changes what is there then, so that two who increase the same number have
//! both their part in it: the texts are amended within the command. What they are is none of this
//! crate's business, so how they are amended is up to [`Amend`]. And what takes long would hold up
//! others: it is amended [`Ahead`] of the command, which is of no use once the texts have changed.

use std::fmt::Debug;
use std::sync::Arc;

use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::object::{Attributes, IssueDate, Object, Record, Text};

/// A change of attribute texts: the same texts give the same.
pub trait Amend: Debug + Send + Sync + 'static {
    /// The texts of an object as they are to be; `None` if that has to be `quick`, and is not.
    ///
    /// # Errors
    /// Whatever does not fit; then nothing is changed.
    fn amend(&self, record: &Record, attributes: &Attributes, quick: bool) -> Result<Option<Amended>>;
}

/// What attribute texts are to be, and what else goes with that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amended {
    /// `attributes`
    pub attributes: Option<Text>,
    /// `systemAttributes`
    pub system_attributes: Option<Text>,
    /// The record's day, where the texts say it now.
    pub issue_date: Option<Option<IssueDate>>,
    /// The record's work folder, where the texts say it now.
    pub work_folder: Option<Option<Text>>,
    /// Whether new posts of a liveblog wait for approval, where the texts say it now.
    pub moderated: Option<bool>,
    /// The workflow status, where the change names it.
    pub status: Option<Text>,
}

impl Amended {
    /// Gives an object these texts, and its record what goes with them.
    ///
    /// # Errors
    /// `InvalidPath` for a work folder that is too long.
    pub(crate) fn put_into(self, object: &mut Object, context: &Context<'_>) -> Result<()> {
        let Amended { attributes, system_attributes, issue_date, work_folder, moderated: _, status } = self;
        if let Some(Some(path)) = &work_folder {
            check_work_folder(path, context)?;
        }
        if (&attributes, &system_attributes) != (&object.attributes.attributes, &object.attributes.system_attributes) {
            let texts = Arc::make_mut(&mut object.attributes);
            (texts.attributes, texts.system_attributes) = (attributes, system_attributes);
        }
        if let Some(date) = issue_date {
            let date = date.map(|date| date.text().clone());
            if object.record.issue_date != date {
                Arc::make_mut(&mut object.record).issue_date = date;
            }
        }
        if let Some(path) = work_folder
            && object.record.work_folder != path
        {
            Arc::make_mut(&mut object.record).work_folder = path;
        }
        if status.is_some() && object.record.status != status {
            Arc::make_mut(&mut object.record).status = status;
        }
        Ok(())
    }
}

/// Texts that were amended before their turn came.
#[derive(Debug, Clone)]
pub struct Ahead {
    /// What they were.
    pub from: Attributes,
    /// What they became.
    pub to: Amended,
}

/// An attempt to amend texts within a command.
#[derive(Debug, Clone)]
pub struct Amending {
    /// What becomes of them.
    pub amend: Arc<dyn Amend>,
    /// Whether they are amended in the command though that takes long.
    pub here: bool,
    /// What takes long.
    pub ahead: Option<Ahead>,
}

impl Amending {
    /// What an object's texts are to be; `None` if it would take long and is not [`Ahead`]: then
    /// the command is to change nothing and to say so.
    pub(crate) fn of(&self, object: &Object) -> Result<Option<Amended>> {
        match &self.ahead {
            Some(ahead) if ahead.from == *object.attributes => Ok(Some(ahead.to.clone())),
            _ => self.amend.amend(&object.record, &object.attributes, !self.here),
        }
    }
}

/// Refuses a work folder that is longer than paths may be.
pub(crate) fn check_work_folder(path: &str, context: &Context<'_>) -> Result<()> {
    let (bytes, most) = (path.len(), context.path_limits().bytes);
    if bytes <= most {
        return Ok(());
    }
    let message = format!("The `workFolder` `{path}` has {bytes} bytes; at most {most} are allowed.");
    Err(Error::new(Code::InvalidPath, message).with_detail("limit", most))
}
