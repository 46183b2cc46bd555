//! Changing fields of an object's attribute texts (docs/api/objects.md, "Changing fields").
//!
//! Who changes a field changes what is there then, so that two who increase the same number have both their part in it: the texts are
//! amended within the command. What they are is none of this crate's business, so how they are amended is up to [`Amend`].

use std::fmt::Debug;
use std::sync::Arc;

use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::{Error, Result};
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::lifecycle::check_work_folder;
use crate::liveblog::Liveblog;
use crate::object::{Attributes, FamilyKind, IssueDate, Record, Text};

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
    /// The record's day, where the texts say another now.
    pub issue_date: Option<Option<IssueDate>>,
    /// The record's work folder, where the texts say another now.
    pub work_folder: Option<Option<Text>>,
    /// Whether new posts of a liveblog wait for approval, where the texts say something else now.
    pub moderated: Option<bool>,
}

/// Texts that were amended before their turn came.
#[derive(Debug, Clone)]
pub struct Ahead {
    /// What they were.
    pub from: Attributes,
    /// What they became.
    pub to: Amended,
}

/// Changes fields of an object's attribute texts.
///
/// It replies whether it did: what takes long would hold up others, so that is to be amended [`Ahead`], and is of no use once the texts
/// have changed.
#[derive(Debug, Clone)]
pub struct ChangeFields {
    /// The object.
    pub object: Loid,
    /// What becomes of its texts.
    pub amend: Arc<dyn Amend>,
    /// Whether they are amended in the command though that takes long.
    pub here: bool,
    /// What takes long.
    pub ahead: Option<Ahead>,
}

impl Joint for ChangeFields {
    type Reply = bool;
    const NAME: &'static str = "object.change_fields";

    fn about(&self, _: &bool) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<bool, Fault> {
        let object = turns.any(self.object)?;
        let record = object.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        check_lock(&record, context)?;
        let amended = match &self.ahead {
            Some(ahead) if ahead.from == *object.attributes => ahead.to.clone(),
            _ => match self.amend.amend(&record, &object.attributes, !self.here)? {
                Some(amended) => amended,
                None => return Ok(false),
            },
        };
        let Amended { attributes, system_attributes, issue_date, work_folder, moderated } = amended;
        if let Some(Some(path)) = &work_folder {
            check_work_folder(path, context)?;
        }
        if (&attributes, &system_attributes) != (&object.attributes.attributes, &object.attributes.system_attributes) {
            let texts = Arc::make_mut(&mut object.attributes);
            (texts.attributes, texts.system_attributes) = (attributes, system_attributes);
        }
        if let Some(date) = issue_date {
            let date = date.map(|date| date.text().clone());
            if record.issue_date != date {
                Arc::make_mut(&mut object.record).issue_date = date;
            }
        }
        if let Some(path) = work_folder
            && record.work_folder != path
        {
            Arc::make_mut(&mut object.record).work_folder = path;
        }
        if let Some(moderated) = moderated
            && record.family == FamilyKind::Liveblog
        {
            turns.get::<Liveblog>(self.object)?.moderate(moderated, context);
        }
        Ok(true)
    }
}
