//! Edits of attribute texts, applied in the command or before it (`stet_domain::amend`).

use std::sync::Arc;

use stet_base::limits::offload::{self, LARGE_TEXT};
use stet_domain::amend::{AmendedTexts, AmendmentAttempt, EarlyAmendment, TextAmendment};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, FamilyKind, Record, SharedText};
use stet_xml::edit::{Edit, EditError, apply_edits};
use stet_xml::{Limits, XmlErrorKind};

use super::system::{SystemValues, status_path};
use crate::Newsroom;

/// The largest size of texts and their results that are amended in the command, in bytes. That
/// takes one or two milliseconds.
const QUICK: usize = LARGE_TEXT;

/// The number of attempts to amend texts before the command. The last attempt amends them in the
/// command, where others wait for it.
const ATTEMPTS: usize = 8;

/// The attempts of a call to amend an object's texts. They are amended in the command if that is
/// quick, else before it, and again if they have changed since.
pub struct AmendAttempts {
    amend: Arc<dyn TextAmendment>,
    begun: usize,
    ahead: Option<EarlyAmendment>,
}

impl AmendAttempts {
    /// Creates the attempts of an amendment.
    pub fn to(amend: Arc<dyn TextAmendment>) -> AmendAttempts {
        AmendAttempts { amend, begun: 0, ahead: None }
    }

    /// Returns the instructions for the next command. The last attempt amends the texts in the
    /// command, whatever it costs.
    pub fn next_attempt(&mut self) -> AmendmentAttempt {
        self.begun += 1;
        AmendmentAttempt { amend: self.amend.clone(), here: self.begun >= ATTEMPTS, ahead: self.ahead.take() }
    }

    /// Amends the texts of the object before the command, which has found that it takes long.
    ///
    /// # Errors
    /// Edits that do not fit the texts; `Overloaded`; errors of the store.
    pub async fn go_ahead(&mut self, newsroom: &Newsroom, object: Loid) -> Result<()> {
        let Some(known) = newsroom.records.get(&newsroom.repository, object)? else { return Ok(()) };
        let from = newsroom.records.attributes(&newsroom.repository, &known).await?.clone();
        let amend = self.amend.clone();
        let ahead = move || {
            // No time limit applies here.
            let to = amend.amend(&known.record, &from, false)?.ok_or_else(Error::internal)?;
            Ok::<_, Error>(EarlyAmendment { from, to })
        };
        self.ahead = Some(offload::offload(ahead).await??);
        Ok(())
    }
}

/// The edits of an object's attribute texts.
#[derive(Debug)]
pub struct AttributeEdits {
    /// The edits of the attributes.
    pub attributes: Vec<Edit>,
    /// The edits of the system attributes.
    pub system: Vec<Edit>,
    /// The limits of the texts.
    pub limits: Limits,
}

impl AttributeEdits {
    fn bytes(&self) -> usize {
        self.attributes.iter().chain(&self.system).map(Edit::bytes).sum()
    }

    /// Returns a text after the edits. The outer `None` means that it must be `quick` and is not.
    fn edited(
        &self,
        field: &str,
        text: Option<&SharedText>,
        edits: &[Edit],
        quick: bool,
    ) -> Result<Option<Option<SharedText>>> {
        if edits.is_empty() {
            return Ok(Some(text.cloned()));
        }
        let max_bytes = if quick { self.limits.max_bytes.min(QUICK) } else { self.limits.max_bytes };
        let limits = Limits { max_bytes, ..self.limits };
        let new = match apply_edits(text.map(|text| &**text), edits, &limits) {
            Ok(new) => new,
            // The text may still be within its own limits.
            Err(EditError::Document(error)) if quick && error.kind() == XmlErrorKind::TooLarge => return Ok(None),
            Err(error) => return Err(edit_refusal(field, &error)),
        };
        Ok(Some(new.map(|new| text.filter(|old| ***old == *new).cloned().unwrap_or_else(|| new.into()))))
    }

    /// Returns the system attributes after the edits, but without the status, which is stored in
    /// the record and not in them.
    fn without_status(&self, old: Option<&SharedText>) -> Result<Option<SharedText>> {
        let others: Vec<Edit> = self.system.iter().filter(|edit| !edit.is_at(status_path())).cloned().collect();
        let text = self.edited("systemAttributes", old, &others, false)?.flatten();
        if SystemValues::of(text.as_ref(), &self.limits)?.status().is_err() {
            return Ok(text);
        }
        let unset = [Edit::unset(status_path().clone())];
        self.edited("systemAttributes", text.as_ref(), &unset, false).map(Option::flatten)
    }

    /// Returns the system attributes of an object that has none yet.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    pub(super) fn new_system(&self) -> Result<Option<SharedText>> {
        self.edited("systemAttributes", None, &self.system, false).map(Option::flatten)
    }
}

impl TextAmendment for AttributeEdits {
    fn amend(&self, record: &Record, old: &Attributes, quick: bool) -> Result<Option<AmendedTexts>> {
        // Each edit searches the whole text for its place.
        let edits = self.attributes.len() + self.system.len();
        if quick && old.text_bytes().saturating_mul(edits) + self.bytes() > QUICK {
            return Ok(None);
        }
        let attributes = self.edited("attributes", old.attributes.as_ref(), &self.attributes, quick)?;
        let system = self.edited("systemAttributes", old.system_attributes.as_ref(), &self.system, quick)?;
        let (Some(attributes), Some(system_attributes)) = (attributes, system) else { return Ok(None) };
        let mut amended = AmendedTexts {
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
        let before = SystemValues::of(old.system_attributes.as_ref(), &self.limits)?;
        let after = SystemValues::of(amended.system_attributes.as_ref(), &self.limits)?;
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

/// Returns the error for an edit that does not fit the object's texts.
pub fn edit_refusal(field: &str, error: &EditError) -> Error {
    let code = match error {
        EditError::Path(_) => Code::InvalidXPath,
        EditError::Content(_) | EditError::Value(_) | EditError::Document(_) => Code::InvalidAttributes,
    };
    Error::new(code, format!("`{field}` can't be changed: {error}")).with_detail("field", field)
}
