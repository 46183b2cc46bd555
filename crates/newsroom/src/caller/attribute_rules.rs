//! The check of attribute texts against their metadata definitions (docs/api/metadata.md,
//! "Validation"), for one change of a call. Commands ask [`DefinedAttributes`] about every text
//! that they store. Nothing else decides what is refused or reported.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::Newsroom;
use parking_lot::Mutex;
use serde_json::json;
use stet_base::limits::offload::{LARGE_TEXT, offload};
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{Record, SharedText};
use stet_domain::rules::{AttributeRules, RuleCheck};
use stet_sysconfig::{AttributeFinding, MetadataDefinition, SiteContent};
use stet_xml::Limits;

/// The number of checks of one change that may be postponed. Later ones run within the command.
const MOST_PUT_OFF: usize = 8;

/// The number of findings of a change that are reported.
const MOST_REPORTED: usize = 100;

/// The metadata definitions in force, and their findings in the texts of one change.
pub(super) struct DefinedAttributes {
    newsroom: Arc<Newsroom>,
    state: Mutex<AttributeCheckState>,
}

#[derive(Default)]
struct AttributeCheckState {
    /// Large texts that were checked outside of the command.
    known: Vec<(AttributeCheckSubject, Arc<[AttributeFinding]>)>,
    put_off: Option<AttributeCheckSubject>,
    times_put_off: usize,
    reported: Vec<AttributeFinding>,
}

/// A text and the definition that applies to it.
#[derive(Clone)]
struct AttributeCheckSubject {
    content: Arc<SiteContent>,
    definition: Arc<MetadataDefinition>,
    text: SharedText,
}

impl AttributeCheckSubject {
    fn findings(&self, limits: &Limits) -> Arc<[AttributeFinding]> {
        self.content.findings(&self.definition, &self.text, limits).into()
    }

    fn is(&self, other: &AttributeCheckSubject) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition)
            && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl DefinedAttributes {
    /// Creates the rules for one change.
    pub fn of(newsroom: Arc<Newsroom>) -> DefinedAttributes {
        DefinedAttributes { newsroom, state: Mutex::default() }
    }

    /// Removes and returns the findings that did not cause a refusal.
    pub fn take_reported(&self) -> Vec<AttributeFinding> {
        std::mem::take(&mut self.state.lock().reported)
    }

    /// Returns the findings of a text; `None` if it is to be checked outside of the command.
    fn findings(&self, subject: AttributeCheckSubject) -> Option<Arc<[AttributeFinding]>> {
        if subject.text.len() >= LARGE_TEXT {
            let mut state = self.state.lock();
            if let Some((_, findings)) = state.known.iter().find(|(known, _)| known.is(&subject)) {
                return Some(findings.clone());
            }
            // A text may change each time. After several attempts the command has to wait for the
            // check.
            if state.times_put_off < MOST_PUT_OFF {
                state.times_put_off += 1;
                state.put_off = Some(subject);
                return None;
            }
        }
        Some(subject.findings(&self.newsroom.attribute_limits()))
    }
}

impl AttributeRules for DefinedAttributes {
    fn check(&self, record: &Record, text: &SharedText, imported: bool) -> Result<RuleCheck> {
        let content = self.newsroom.sysconfig.site_content(record.loid.database);
        let definition = content.rules_for(&record.type_name, record.work_folder.as_deref()).cloned();
        let Some(definition) = definition else { return Ok(RuleCheck::Now) };
        let Some(findings) = self.findings(AttributeCheckSubject { content, definition, text: text.clone() }) else {
            return Ok(RuleCheck::Later);
        };
        if !imported && findings.iter().any(|finding| finding.is_strict) {
            return Err(refusal(&findings));
        }
        let mut state = self.state.lock();
        for finding in &*findings {
            if state.reported.len() < MOST_REPORTED && !state.reported.contains(finding) {
                state.reported.push(finding.clone());
            }
        }
        Ok(RuleCheck::Now)
    }

    fn catch_up(&self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        let (put_off, limits) = (self.state.lock().put_off.take(), self.newsroom.attribute_limits());
        Box::pin(async move {
            let Some(subject) = put_off else { return Ok(()) };
            let checked = offload(move || (subject.findings(&limits), subject)).await;
            let (findings, subject) = checked?;
            self.state.lock().known.push((subject, findings));
            Ok(())
        })
    }
}

/// Builds the error for refused attributes. The message names the first element at fault, and
/// `details.faults` lists all findings.
fn refusal(findings: &[AttributeFinding]) -> Error {
    let strict: Vec<&AttributeFinding> = findings.iter().filter(|finding| finding.is_strict).collect();
    let faults: Vec<_> =
        strict.iter().map(|finding| json!({ "path": finding.path, "message": finding.message })).collect();
    let (path, message) = strict.first().map_or(("", ""), |first| (first.path.as_str(), first.message.as_str()));
    Error::new(Code::InvalidAttributes, format!("`attributes` is invalid at `{path}`: {message}"))
        .with_detail("field", "attributes")
        .with_detail("path", path)
        .with_detail("faults", faults)
}

impl fmt::Debug for DefinedAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DefinedAttributes")
    }
}
