//! Attribute texts that are changed here and there, in the command or ahead of it
//! (`stet_actors::amend`).

use std::sync::Arc;

use stet_actors::amend::{Ahead, Amend, Amended, Amending};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::{Attributes, FamilyKind, Record, Text};
use stet_xml::edit::{Edit, EditError, edited};
use stet_xml::{Limits, XmlErrorKind};

use super::system::{Shown, status_path};
use crate::http::app::App;
use crate::limits::offload::{self, LARGE_TEXT};

/// Bytes of texts, and of what they become, that are amended in the command: that takes a
/// millisecond or two.
const QUICK: usize = LARGE_TEXT;

/// How often texts are amended ahead before they are amended in the command, where others wait for
/// it.
const ATTEMPTS: usize = 8;

/// The attempts of a call to amend an object's texts: in the command if that is quick, else ahead
/// of it, and again if they have changed meanwhile.
pub(in crate::api) struct Attempts {
    amend: Arc<dyn Amend>,
    begun: usize,
    ahead: Option<Ahead>,
}

impl Attempts {
    pub fn to(amend: Arc<dyn Amend>) -> Attempts {
        Attempts { amend, begun: 0, ahead: None }
    }

    /// What the command is to do now. The last of so many does it whatever it takes.
    pub fn next(&mut self) -> Amending {
        self.begun += 1;
        Amending { amend: self.amend.clone(), here: self.begun >= ATTEMPTS, ahead: self.ahead.take() }
    }

    /// Amends the texts of the object, where the command has found that it takes long.
    ///
    /// # Errors
    /// What does not fit; `Overloaded`; what the store says.
    pub async fn go_ahead(&mut self, app: &App, object: Loid) -> Result<()> {
        let Some(known) = app.records.get(&app.repository, object)? else { return Ok(()) };
        let amend = self.amend.clone();
        let ahead = move || {
            // It may take as long as it takes.
            let to = amend.amend(&known.record, &known.attributes, false)?.ok_or_else(Error::internal)?;
            Ok::<_, Error>(Ahead { from: known.attributes.clone(), to })
        };
        self.ahead = Some(offload::offload(ahead).await??);
        Ok(())
    }
}

/// The edits of an object's texts.
#[derive(Debug)]
pub(super) struct Fields {
    pub attributes: Vec<Edit>,
    pub system: Vec<Edit>,
    pub limits: Limits,
}

impl Fields {
    fn bytes(&self) -> usize {
        self.attributes.iter().chain(&self.system).map(Edit::bytes).sum()
    }

    /// A text as the edits make it; `None` in front of it if that has to be `quick`, and is not.
    fn edited(&self, field: &str, text: Option<&Text>, edits: &[Edit], quick: bool) -> Result<Option<Option<Text>>> {
        if edits.is_empty() {
            return Ok(Some(text.cloned()));
        }
        let max_bytes = if quick { self.limits.max_bytes.min(QUICK) } else { self.limits.max_bytes };
        let limits = Limits { max_bytes, ..self.limits };
        let new = match edited(text.map(|text| &**text), edits, &limits) {
            Ok(new) => new,
            // Within its own limits it may be well.
            Err(EditError::Document(error)) if quick && error.kind() == XmlErrorKind::TooLarge => return Ok(None),
            Err(error) => return Err(refused(field, &error)),
        };
        Ok(Some(new.map(|new| text.filter(|old| ***old == *new).cloned().unwrap_or_else(|| new.into()))))
    }

    /// The system attributes as the edits make them, but for the status: that is the object's own,
    /// and is not kept among them.
    fn without_status(&self, old: Option<&Text>) -> Result<Option<Text>> {
        let others: Vec<Edit> = self.system.iter().filter(|edit| !edit.is_at(status_path())).cloned().collect();
        let text = self.edited("systemAttributes", old, &others, false)?.flatten();
        if Shown::of(text.as_ref(), &self.limits)?.status().is_err() {
            return Ok(text);
        }
        let unset = [Edit::unset(status_path().clone())];
        self.edited("systemAttributes", text.as_ref(), &unset, false).map(Option::flatten)
    }

    /// The system attributes of an object that has none yet.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    pub fn new_system(&self) -> Result<Option<Text>> {
        self.edited("systemAttributes", None, &self.system, false).map(Option::flatten)
    }
}

impl Amend for Fields {
    fn amend(&self, record: &Record, old: &Attributes, quick: bool) -> Result<Option<Amended>> {
        // Each edit looks for its place in the whole text.
        let edits = self.attributes.len() + self.system.len();
        if quick && old.text_bytes().saturating_mul(edits) + self.bytes() > QUICK {
            return Ok(None);
        }
        let attributes = self.edited("attributes", old.attributes.as_ref(), &self.attributes, quick)?;
        let system = self.edited("systemAttributes", old.system_attributes.as_ref(), &self.system, quick)?;
        let (Some(attributes), Some(system_attributes)) = (attributes, system) else { return Ok(None) };
        let mut amended = Amended {
            attributes,
            system_attributes,
            issue_date: None,
            work_folder: None,
            moderated: None,
            status: None,
        };
        if self.system.is_empty() {
            return Ok(Some(amended));
        }
        let before = Shown::of(old.system_attributes.as_ref(), &self.limits)?;
        let after = Shown::of(amended.system_attributes.as_ref(), &self.limits)?;
        let [moderated, issue_date, work_folder, status] = after.decided_by(&self.system, &before);
        if moderated && record.family == FamilyKind::Liveblog {
            amended.moderated = Some(after.moderated()?.unwrap_or(false));
        }
        if issue_date {
            amended.issue_date = Some(after.issue_date()?);
        }
        if work_folder {
            amended.work_folder = Some(after.work_folder());
        }
        if status {
            amended.status = Some(after.status()?);
            amended.system_attributes = self.without_status(old.system_attributes.as_ref())?;
        }
        Ok(Some(amended))
    }
}

/// Fields that an object's texts do not let be changed.
pub(super) fn refused(field: &str, error: &EditError) -> Error {
    let code = match error {
        EditError::Path(_) => Code::InvalidXPath,
        EditError::Content(_) | EditError::Value(_) | EditError::Document(_) => Code::InvalidAttributes,
    };
    Error::new(code, format!("`{field}` can't be changed: {error}")).with_detail("field", field)
}
