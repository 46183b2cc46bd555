//! The workflows: the statuses that an object passes through. The steps between them are checked when the file is read, but not
//! enforced yet.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::object::Text;

use super::document::{ConfigFile, Element};
use super::vocabulary;

/// A status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// As it stands in an object record: `Story/Ready`. No other workflow has it.
    pub name: Text,
    /// The colour that lists show for it, `rgb(r,g,b)` with numbers from 0 to 255.
    pub identifier: Text,
}

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// What object types name it by.
    pub name: Text,
    /// In the order of the file; one at least.
    pub statuses: Vec<Status>,
    /// The steps between them.
    pub transitions: Vec<Transition>,
    /// The status of a new object.
    pub initial_status: Text,
    #[serde(skip)]
    initial: usize,
}

/// A step from one status to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Transition {
    /// A status of the workflow.
    pub from: Text,
    /// Another.
    pub to: Text,
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

impl ConfigFile for Workflows {
    const ROOT: &'static vocabulary::Element = &vocabulary::WORKFLOWS;

    fn read(root: Element<'_>) -> Workflows {
        let mut made = Workflows::default();
        for element in root.all("workflow") {
            let workflow = read(element, &made.statuses);
            let number = made.workflows.len();
            if made.by_name.insert(workflow.name.clone(), number).is_some() {
                element.fault(format!("the workflow `{}` is there a second time", workflow.name));
            }
            let places = workflow.statuses.iter().enumerate();
            made.statuses.extend(places.map(|(place, status)| (status.name.clone(), (number, place))));
            made.workflows.push(workflow);
        }
        made
    }
}

impl Workflows {
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
    pub fn iter(&self) -> impl Iterator<Item = &Workflow> {
        self.workflows.iter()
    }
}

fn read(element: Element<'_>, taken: &HashMap<Text, (usize, usize)>) -> Workflow {
    let name: Text = element.required("name").into();
    let (mut statuses, mut own, mut initial) = (Vec::new(), HashSet::new(), None);
    for child in element.all("status") {
        let status: Text = child.required("name").into();
        // A record names its status without the workflow, so one name can't stand for two.
        if taken.contains_key(&status) || !own.insert(status.clone()) {
            child.fault(format!("the status `{status}` is there a second time"));
        }
        if child.flag("initial") && initial.replace(statuses.len()).is_some() {
            child.fault(format!("the workflow `{name}` has a second initial status, `{status}`"));
        }
        statuses.push(Status { name: status, identifier: child.required("identifier").into() });
    }
    let transition = |child: Element<'_>| {
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
    Workflow { name, initial_status: first, statuses, transitions, initial }
}
