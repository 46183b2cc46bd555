//! The workflows: the statuses that an object passes through, and the transitions between them.

use std::collections::HashSet;

use foldhash::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stet_base::nearest::{quoted, suggestion};
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;

use super::document::{ConfigElement, ConfigFile};
use super::vocabulary;

/// A status of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Name in object records, such as `Story/Ready`; unique among all workflows.
    pub name: SharedText,
    /// Colour for lists: `rgb(r,g,b)` with numbers from 0 to 255.
    pub identifier: SharedText,
    /// Whether containers with this status refuse changes of their contents.
    pub closed: bool,
}

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// Name, by which object types refer to the workflow.
    pub name: SharedText,
    /// Statuses in the order of the file, at least one.
    pub statuses: Vec<Status>,
    /// Transitions between the statuses.
    pub transitions: Vec<Transition>,
    /// The status of a new object.
    pub initial_status: SharedText,
    /// Whether only the listed transitions are allowed.
    pub enforce: bool,
    #[serde(skip)]
    initial: usize,
}

/// A transition from one status to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Transition {
    /// Name of a status of the workflow.
    pub from: SharedText,
    /// Name of the status that may follow.
    pub to: SharedText,
}

impl Workflow {
    /// Returns the status of a new object: the one marked as initial, else the first.
    pub fn initial(&self) -> &Status {
        &self.statuses[self.initial]
    }

    /// Reports whether the workflow has a status of this name.
    pub fn has(&self, status: &str) -> bool {
        self.statuses.iter().any(|known| *known.name == *status)
    }

    /// Returns the statuses that may follow the present one, in the order of the file. All of them
    /// may follow if the object has no status, or one of another workflow, or if transitions are
    /// not enforced.
    pub fn reachable(&self, from: Option<&str>) -> Vec<&str> {
        let from = from.filter(|from| self.enforce && self.has(from));
        let allowed = |to: &&str| match from {
            Some(from) => self.transitions.iter().any(|step| *step.from == *from && *step.to == **to),
            None => true,
        };
        self.statuses.iter().map(|status| &*status.name).filter(allowed).collect()
    }
}

/// All workflows; none by default.
#[derive(Debug, Clone, Default)]
pub struct Workflows {
    workflows: Vec<Workflow>,
    by_name: HashMap<SharedText, usize>,
    /// Index of the workflow, and of the status in it.
    statuses: HashMap<SharedText, (usize, usize)>,
}

impl ConfigFile for Workflows {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::WORKFLOWS;

    fn read(root: ConfigElement<'_>) -> Workflows {
        let mut made = Workflows::default();
        for element in root.all("workflow") {
            let workflow = read(element, &made.statuses);
            let number = made.workflows.len();
            if made.by_name.insert(workflow.name.clone(), number).is_some() {
                element.fault(format!("the workflow `{}` is defined twice", workflow.name));
            }
            let places = workflow.statuses.iter().enumerate();
            made.statuses.extend(places.map(|(place, status)| (status.name.clone(), (number, place))));
            made.workflows.push(workflow);
        }
        made
    }
}

impl Workflows {
    /// Returns the workflow of this name.
    pub fn get(&self, name: &str) -> Option<&Workflow> {
        self.workflows.get(*self.by_name.get(name)?)
    }

    /// Returns the status of this name, in any workflow.
    pub fn status(&self, name: &str) -> Option<&Status> {
        let (workflow, place) = self.statuses.get(name)?;
        self.workflows.get(*workflow)?.statuses.get(*place)
    }

    /// Returns the status of a new object of this workflow.
    pub fn initial(&self, workflow: &str) -> Option<&Status> {
        self.get(workflow).map(Workflow::initial)
    }

    /// Refuses a status that no object of the workflow can have. Types without a workflow are given
    /// as `None`; their objects have no status.
    ///
    /// # Errors
    /// `StatusNotFound`, or `InvalidStatus` for a status of another workflow, both with the
    /// workflow's statuses; `InvalidType` for any known status without a workflow.
    pub fn check_status(&self, workflow: Option<&str>, wanted: &str) -> Result<()> {
        let workflow = workflow.and_then(|name| self.get(name));
        let of_workflow = workflow.map(|workflow| workflow.statuses.iter().map(|status| &*status.name));
        let known: Vec<&str> = match of_workflow {
            Some(statuses) => statuses.collect(),
            None => self.iter().flat_map(|workflow| &workflow.statuses).map(|status| &*status.name).collect(),
        };
        if known.contains(&wanted) {
            let message = "Objects of this type have no workflow, and therefore no status.";
            return workflow.map(|_| ()).ok_or_else(|| Error::new(Code::InvalidType, message).with_source(wanted));
        }
        let (code, message) = match (self.status(wanted), workflow) {
            (Some(_), Some(workflow)) => {
                let name = &workflow.name;
                (Code::InvalidStatus, format!("The status `{wanted}` does not belong to the workflow `{name}`."))
            }
            _ => (Code::StatusNotFound, format!("There is no workflow status `{wanted}`.")),
        };
        let help = suggestion(wanted, known.iter().copied());
        Err(Error::new(code, format!("{message}{help}")).with_source(wanted).with_detail("allowed", known))
    }

    /// Refuses a change of status that a workflow does not allow.
    ///
    /// # Errors
    /// The errors of [`Workflows::check_status`]; `InvalidStatus` for a status that may not follow
    /// the present one, with those that may.
    pub fn check_step(&self, workflow: &str, from: Option<&str>, to: &str) -> Result<()> {
        let Some(known) = self.get(workflow) else { return Ok(()) };
        let allowed = known.reachable(from);
        if allowed.contains(&to) {
            return Ok(());
        }
        self.check_status(Some(workflow), to).map_err(|error| match error.code {
            // For a status of another workflow, the reply lists only the statuses that may follow.
            Code::InvalidStatus => error.with_detail("allowed", allowed.clone()),
            _ => error,
        })?;
        let from = from.unwrap_or_default();
        let next = match allowed.is_empty() {
            true => "no other status".to_owned(),
            false => quoted(&allowed),
        };
        let message = format!("The status `{to}` can't follow `{from}`: the workflow `{workflow}` allows {next}.");
        Err(Error::new(Code::InvalidStatus, message).with_source(to).with_detail("allowed", allowed))
    }

    /// Returns all workflows, in the order of their file.
    pub fn iter(&self) -> impl Iterator<Item = &Workflow> {
        self.workflows.iter()
    }
}

fn read(element: ConfigElement<'_>, taken: &HashMap<SharedText, (usize, usize)>) -> Workflow {
    let name: SharedText = element.required("name").into();
    let (mut statuses, mut own, mut initial) = (Vec::new(), HashSet::new(), None);
    for child in element.all("status") {
        let status: SharedText = child.required("name").into();
        // A record states its status without the workflow, so the name must be unique.
        if taken.contains_key(&status) || !own.insert(status.clone()) {
            child.fault(format!("the status `{status}` is defined twice"));
        }
        if child.flag("initial") && initial.replace(statuses.len()).is_some() {
            child.fault(format!("the workflow `{name}` has a second initial status, `{status}`"));
        }
        let closed = child.flag("closed");
        statuses.push(Status { name: status, identifier: child.required("identifier").into(), closed });
    }
    let transition = |child: ConfigElement<'_>| {
        let [from, to] = ["from", "to"].map(|end| child.required(end));
        for status in [from, to] {
            if !own.contains(status) {
                child.fault(format!("the workflow `{name}` has a transition but no status `{status}`"));
            }
        }
        Transition { from: from.into(), to: to.into() }
    };
    let transitions = element.all("transition").map(transition).collect();
    let initial = initial.unwrap_or(0);
    let first = statuses.get(initial).map_or_else(|| "".into(), |status: &Status| status.name.clone());
    let enforce = element.attribute("enforce").is_none() || element.flag("enforce");
    Workflow { name, initial_status: first, statuses, transitions, enforce, initial }
}
