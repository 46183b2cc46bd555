//! Partial changes of attribute texts within a command (docs/api/objects.md, "Changing fields" and
//! "When the object exists").
//!
//! The texts are amended within the command, on their state at that moment. Two callers who
//! increase the same number are therefore both counted. This crate does not interpret the texts;
//! [`TextAmendment`] decides how they are amended. Slow amendments would hold up other callers.
//! They are made before the command (see [`EarlyAmendment`]), and are discarded if the texts have
//! changed since.

use std::fmt::Debug;
use std::sync::Arc;

use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::object::{Attributes, IssueDate, Object, Record, SharedText};

/// A change of attribute texts. It is deterministic: the same texts give the same result.
pub trait TextAmendment: Debug + Send + Sync + 'static {
    /// Returns the amended texts of an object; `None` if the work has to be `quick` but is not.
    ///
    /// # Errors
    /// An error if the change does not fit the texts; then nothing is changed.
    fn amend(&self, record: &Record, attributes: &Attributes, quick: bool) -> Result<Option<AmendedTexts>>;
}

/// The new attribute texts, and the record fields that follow from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmendedTexts {
    /// `attributes`
    pub attributes: Option<SharedText>,
    /// `systemAttributes`
    pub system_attributes: Option<SharedText>,
    /// The record's day, if the texts now state it.
    pub issue_date: Option<Option<IssueDate>>,
    /// The record's work folder, if the texts now state it.
    pub work_folder: Option<Option<SharedText>>,
    /// Whether new posts of a liveblog wait for approval, if the texts now state it.
    pub moderated: Option<bool>,
    /// The workflow status, if the change names it.
    pub status: Option<SharedText>,
}

impl AmendedTexts {
    /// Gives an object these texts, and its record the fields that follow from them.
    ///
    /// # Errors
    /// `InvalidPath` for a work folder that is too long.
    pub fn put_into(self, object: &mut Object, context: &Context<'_>) -> Result<()> {
        let AmendedTexts { attributes, system_attributes, issue_date, work_folder, moderated: _, status } = self;
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

/// Texts that were amended before the command was applied.
#[derive(Debug, Clone)]
pub struct EarlyAmendment {
    /// The texts before the amendment.
    pub from: Attributes,
    /// The texts after the amendment.
    pub to: AmendedTexts,
}

/// An attempt to amend texts within a command.
#[derive(Debug, Clone)]
pub struct AmendmentAttempt {
    /// The change of the texts.
    pub amend: Arc<dyn TextAmendment>,
    /// Whether the texts are amended in the command although that is slow.
    pub here: bool,
    /// The result of a slow amendment that was made before the command.
    pub ahead: Option<EarlyAmendment>,
}

impl AmendmentAttempt {
    /// Returns the new texts of an object; `None` if the work would be slow and was not done before
    /// the command. Then the command must change nothing and report that.
    pub fn of(&self, object: &Object) -> Result<Option<AmendedTexts>> {
        match &self.ahead {
            Some(ahead) if ahead.from == *object.attributes => Ok(Some(ahead.to.clone())),
            _ => self.amend.amend(&object.record, &object.attributes, !self.here),
        }
    }
}

/// Refuses a work folder that is longer than paths may be.
pub fn check_work_folder(path: &str, context: &Context<'_>) -> Result<()> {
    let (bytes, most) = (path.len(), context.path_limits().bytes);
    if bytes <= most {
        return Ok(());
    }
    let message = format!("The `workFolder` `{path}` has {bytes} bytes; at most {most} are allowed.");
    Err(Error::new(Code::InvalidPath, message).with_detail("limit", most))
}
