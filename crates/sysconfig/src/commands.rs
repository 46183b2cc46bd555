//! Client commands, and jobs that run them on a schedule. The server stores them for clients and
//! runs none. A command that sets a status also determines the privilege for that change.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_domain::object::SharedText;

use super::document::{ConfigElement, ConfigFile, UniqueNames};
use super::object_types::ObjectTypes;
use super::vocabulary;

/// An action that clients offer for an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCommand {
    /// Name, by which jobs refer to the command.
    pub name: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Menu of the command.
    pub group: Option<SharedText>,
    /// Keyboard shortcut.
    pub shortcut: Option<SharedText>,
    /// Privilege that a user needs on the object.
    pub privilege: Option<SharedText>,
    /// Whether the client asks for confirmation.
    pub confirm: bool,
    /// Object types that the command is for; all types if empty.
    pub applies_to: Vec<SharedText>,
    /// Status that the command sets.
    pub status: Option<SharedText>,
    /// Parameters with their values.
    pub parameters: Vec<CommandParameter>,
    /// Call that carries out a command that sets a status; null for other commands.
    pub request: Option<CommandRequest>,
}

/// The call that carries out a command on an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandRequest {
    /// HTTP method.
    pub method: &'static str,
    /// Path below the base path, in which `{source}` stands for the object.
    pub path: &'static str,
    /// The JSON body.
    pub body: StatusBody,
}

/// The body of a call that sets a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusBody {
    /// Name of the status.
    pub status: SharedText,
}

impl CommandRequest {
    /// Returns the call that gives an object this status.
    fn set(status: SharedText) -> CommandRequest {
        CommandRequest { method: "POST", path: "/v3/object/{source}/status", body: StatusBody { status } }
    }
}

/// A parameter of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandParameter {
    /// Name of the parameter.
    pub name: SharedText,
    /// Value of the parameter.
    pub value: SharedText,
}

/// A command that clients run on a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledCommand {
    /// Name of the job.
    pub name: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Purpose of the job.
    pub description: Option<SharedText>,
    /// Name of the command.
    pub command: SharedText,
    /// Schedule as in cron: minute, hour, day of the month, month and day of the week.
    pub schedule: SharedText,
    /// Whether the job is enabled.
    pub enabled: bool,
    /// Parameters for the command.
    pub parameters: Vec<CommandParameter>,
    /// Selections of objects to run the command on.
    pub select: Vec<Select>,
}

/// A selection of objects by their properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Select {
    /// Object type.
    pub r#type: Option<SharedText>,
    /// Workflow status.
    pub status: Option<SharedText>,
    /// Folder in or below which the objects are.
    pub folder: Option<SharedText>,
    /// Days since their last change.
    pub unchanged_days: Option<u32>,
}

/// All commands, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct Commands(pub Vec<ClientCommand>);

impl Commands {
    /// Returns the privileges, each of which allows setting this status on an object of this type.
    /// They are those of the commands that set it. `write` stands in for a command without a
    /// privilege, and for a missing command.
    pub fn privileges_for(&self, types: &ObjectTypes, type_name: &str, status: &str) -> BTreeSet<Privilege> {
        let is_of =
            |name: &SharedText| **name == *type_name || types.get(name).is_some_and(|of| *of.name == *type_name);
        let fits = |command: &&ClientCommand| {
            let applies = command.applies_to.is_empty() || command.applies_to.iter().any(is_of);
            applies && command.status.as_deref() == Some(status)
        };
        let found: BTreeSet<Privilege> = self.0.iter().filter(fits).map(ClientCommand::needed).collect();
        if found.is_empty() { BTreeSet::from([Privilege::Write]) } else { found }
    }

    /// Returns the privileges that changes of status may require: `write`, and those of commands
    /// that set a status.
    pub fn privileges_of_statuses(&self) -> BTreeSet<Privilege> {
        let named = self.0.iter().filter(|command| command.status.is_some()).map(ClientCommand::needed);
        named.chain([Privilege::Write]).collect()
    }
}

impl ClientCommand {
    fn needed(&self) -> Privilege {
        let named = |known: &Privilege| self.privilege.as_deref() == Some(known.name());
        Privilege::ALL.into_iter().find(named).unwrap_or(Privilege::Write)
    }
}

/// All jobs, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct Jobs(pub Vec<ScheduledCommand>);

impl ConfigFile for Commands {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::COMMANDS;

    fn read(root: ConfigElement<'_>) -> Commands {
        let mut names = UniqueNames::default();
        let command = |element: ConfigElement<'_>| {
            let name = element.required("name");
            names.check(element, "command", name);
            let text = |attribute: &str| element.attribute(attribute).map(SharedText::from);
            let status: Option<SharedText> = element.all("set").map(|set| set.required("status").into()).next();
            ClientCommand {
                name: name.into(),
                label: element.attribute("label").unwrap_or(name).into(),
                group: text("group"),
                shortcut: text("shortcut"),
                privilege: text("privilege"),
                confirm: element.flag("confirm"),
                applies_to: element.all("appliesTo").map(|kind| kind.text().into()).collect(),
                request: status.clone().map(CommandRequest::set),
                status,
                parameters: parameters(element),
            }
        };
        Commands(root.all("command").map(command).collect())
    }
}

impl ConfigFile for Jobs {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::JOBS;

    fn read(root: ConfigElement<'_>) -> Jobs {
        let mut names = UniqueNames::default();
        let job = |element: ConfigElement<'_>| {
            let (name, schedule) = (element.required("name"), element.required("schedule"));
            names.check(element, "job", name);
            if !is_schedule(schedule) {
                let wanted = "minute, hour, day of the month, month and day of the week";
                element.fault(format!("`schedule` of `{name}` must be {wanted}, as in cron, but is `{schedule}`"));
            }
            ScheduledCommand {
                name: name.into(),
                label: element.attribute("label").unwrap_or(name).into(),
                description: element.all("description").map(|description| description.text().into()).next(),
                command: element.required("command").into(),
                schedule: schedule.into(),
                enabled: element.attribute("enabled").is_none() || element.flag("enabled"),
                parameters: parameters(element),
                select: element.all("select").map(select).collect(),
            }
        };
        Jobs(root.all("job").map(job).collect())
    }
}

fn parameters(element: ConfigElement<'_>) -> Vec<CommandParameter> {
    let parameter =
        |found: ConfigElement<'_>| CommandParameter { name: found.required("name").into(), value: found.text().into() };
    element.all("parameter").map(parameter).collect()
}

fn select(element: ConfigElement<'_>) -> Select {
    let text = |attribute: &str| element.attribute(attribute).map(SharedText::from);
    Select {
        r#type: text("type"),
        status: text("status"),
        folder: text("folder"),
        unchanged_days: element.number("unchangedDays"),
    }
}

/// The ranges of the five fields of a schedule.
const FIELDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];

/// Reports whether a text is a schedule of lists, ranges and steps of numbers.
fn is_schedule(text: &str) -> bool {
    let fields: Vec<&str> = text.split_whitespace().collect();
    fields.len() == FIELDS.len() && fields.iter().zip(FIELDS).all(|(field, bounds)| is_field(field, bounds))
}

fn is_field(field: &str, (least, most): (u32, u32)) -> bool {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
    field.split(',').all(|part| {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let steps = step.is_none_or(|step| step.parse::<u32>().is_ok_and(|step| (1..=most).contains(&step)));
        let ranges = match range.split_once('-') {
            Some((from, to)) => matches!((number(from), number(to)), (Some(from), Some(to)) if from <= to),
            None => range == "*" || number(range).is_some(),
        };
        steps && ranges
    })
}
