//! The workflows: the statuses that an object passes through. The steps between them are checked when the file is read, but not
//! enforced yet.

use std::collections::{HashMap, HashSet};

use stet_actors::object::Text;

use super::document::{Document, Element, ParseError};

/// A status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// As it stands in an object record: `Story/Ready`. No other workflow has it.
    pub name: Text,
    /// The colour that lists show for it, `rgb(r,g,b)` with numbers from 0 to 255.
    pub identifier: Text,
    /// The workflow that it belongs to.
    pub workflow: Text,
}

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// What object types name it by.
    pub name: Text,
    /// In the order of the file; one at least.
    pub statuses: Vec<Status>,
    initial: usize,
}

impl Workflow {
    /// The status of a new object: the one that is marked, else the first.
    pub fn initial(&self) -> &Status {
        &self.statuses[self.initial]
    }
}

/// All workflows. By default there are none.
#[derive(Debug, Clone, Default)]
pub struct Workflows {
    workflows: Vec<Workflow>,
    by_name: HashMap<Text, usize>,
    /// Workflow and place in it.
    statuses: HashMap<Text, (usize, usize)>,
}

impl Workflows {
    /// Reads the text of the file. Elements and attributes that are not known are passed over.
    ///
    /// # Errors
    /// The text is not well-formed, or a workflow is not as it must be.
    pub fn parse(text: &str) -> Result<Workflows, ParseError> {
        let document = Document::parse(text, "workflows")?;
        let mut made = Workflows::default();
        for element in document.root().all("workflow") {
            let workflow = read(element, &made.statuses)?;
            let number = made.workflows.len();
            if made.by_name.insert(workflow.name.clone(), number).is_some() {
                let fault = format!("the workflow `{}` is there a second time", workflow.name);
                return Err(element.error(fault));
            }
            let places = workflow.statuses.iter().enumerate();
            made.statuses.extend(places.map(|(place, status)| (status.name.clone(), (number, place))));
            made.workflows.push(workflow);
        }
        Ok(made)
    }

    /// The workflow of that name.
    pub fn get(&self, name: &str) -> Option<&Workflow> {
        self.workflows.get(*self.by_name.get(name)?)
    }

    /// The status of that name, whatever its workflow.
    pub fn status(&self, name: &str) -> Option<&Status> {
        let (workflow, place) = self.statuses.get(name)?;
        self.workflows.get(*workflow)?.statuses.get(*place)
    }

    /// The status of a new object of that workflow.
    pub fn initial(&self, workflow: &str) -> Option<&Status> {
        self.get(workflow).map(Workflow::initial)
    }

    /// All workflows, in the order of their file.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Workflow> {
        self.workflows.iter()
    }
}

fn read(element: Element<'_>, taken: &HashMap<Text, (usize, usize)>) -> Result<Workflow, ParseError> {
    let name: Text = element.required("name")?.into();
    let (mut statuses, mut own, mut initial) = (Vec::new(), HashSet::new(), None);
    for child in element.all("status") {
        let status: Text = child.required("name")?.into();
        // A record names its status without the workflow, so one name can't stand for two.
        if taken.contains_key(&status) || !own.insert(status.clone()) {
            return Err(child.error(format!("the status `{status}` is there a second time")));
        }
        let identifier = child.required("identifier")?;
        if !is_colour(identifier) {
            let fault = format!("the identifier of `{status}` must be like `rgb(76,145,65)`, but is `{identifier}`");
            return Err(child.error(fault));
        }
        if child.flag("initial")? && initial.replace(statuses.len()).is_some() {
            return Err(child.error(format!("the workflow `{name}` has a second initial status, `{status}`")));
        }
        statuses.push(Status { name: status, identifier: identifier.into(), workflow: name.clone() });
    }
    if statuses.is_empty() {
        return Err(element.error(format!("the workflow `{name}` has no status")));
    }
    for child in element.all("transition") {
        for end in ["from", "to"] {
            let status = child.required(end)?;
            if !own.contains(status) {
                return Err(child.error(format!("the workflow `{name}` has a transition but no status `{status}`")));
            }
        }
    }
    Ok(Workflow { name, statuses, initial: initial.unwrap_or(0) })
}

/// `rgb(r,g,b)` with numbers from 0 to 255.
fn is_colour(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<_> = inner.split(',').map(str::trim).collect();
    let is_byte = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok();
    parts.len() == 3 && parts.iter().all(is_byte)
}
