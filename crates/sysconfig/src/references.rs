//! References between configuration files: names of workflows, statuses and object types. A refresh
//! accepts a file with an unresolved name, because the other file may be refreshed later. A check
//! of all files together reports such names as faults: a command with a misspelt status would not
//! guard the intended one.

use stet_base::nearest::nearest_name;

use super::content::SITE_PATH;
use super::fault::ConfigurationFault;
use super::site::{BaseFolder, WorkFolder};
use super::{Commands, ObjectTypes, Site, Workflows};

/// The contents of the files that were read; `None` for a missing or faulty file. References into
/// such a file are not checked.
pub(super) struct ReferenceSources<'s> {
    pub(super) types: Option<&'s ObjectTypes>,
    pub(super) workflows: Option<&'s Workflows>,
    pub(super) commands: Option<&'s Commands>,
    pub(super) site: Option<&'s Site>,
}

impl ReferenceSources<'_> {
    /// Returns a fault for each unresolved name.
    pub(super) fn faults(&self) -> Vec<ConfigurationFault> {
        let mut found = Vec::new();
        for kind in self.types.into_iter().flat_map(ObjectTypes::iter) {
            if let (Some(workflows), Some(workflow)) = (self.workflows, &kind.workflow)
                && workflows.get(workflow).is_none()
            {
                let known = workflows.iter().map(|workflow| &*workflow.name);
                let what = format!("the object type `{}` names the workflow", kind.name);
                found.push(fault(ObjectTypes::PATH, &what, workflow, known));
            }
        }
        for command in self.commands.into_iter().flat_map(|Commands(commands)| commands) {
            let of = |member: &str| format!("{member} of the command `{}` names", command.name);
            for name in &command.applies_to {
                found.extend(self.unknown_type(
                    Commands::PATH,
                    &format!("{} the object type", of("`appliesTo`")),
                    name,
                ));
            }
            if let Some(status) = &command.status {
                found.extend(self.unknown_status(Commands::PATH, &format!("{} the status", of("`set`")), status));
            }
        }
        if let Some(site) = self.site {
            self.check_base_folders(site.base_folders(), &mut found);
            self.check_work_folders(&site.work_folders, &mut found);
        }
        found
    }

    fn check_work_folders(&self, folders: &[WorkFolder], found: &mut Vec<ConfigurationFault>) {
        for folder in folders {
            self.check_base_folders(&folder.base_folders, found);
            self.check_work_folders(&folder.children, found);
        }
    }

    fn check_base_folders(&self, folders: &[BaseFolder], found: &mut Vec<ConfigurationFault>) {
        for folder in folders {
            let of = format!("the base folder `{}` names", folder.work_path);
            found.extend(self.unknown_type(SITE_PATH, &format!("{of} the object type"), &folder.content));
            if let Some(status) = &folder.work_status {
                found.extend(self.unknown_status(SITE_PATH, &format!("{of} the status"), status));
            }
        }
    }

    fn unknown_type(&self, path: &str, what: &str, name: &str) -> Option<ConfigurationFault> {
        let types = self.types.filter(|types| types.get(name).is_none())?;
        Some(fault(path, what, name, types.iter().map(|kind| &*kind.name)))
    }

    fn unknown_status(&self, path: &str, what: &str, name: &str) -> Option<ConfigurationFault> {
        let workflows = self.workflows.filter(|workflows| workflows.status(name).is_none())?;
        let known = workflows.iter().flat_map(|workflow| &workflow.statuses).map(|status| &*status.name);
        Some(fault(path, what, name, known))
    }
}

fn fault<'n>(path: &str, what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> ConfigurationFault {
    let hint = nearest_name(name, known).map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    ConfigurationFault::of_file(path, format!("{what} `{name}`, which is not defined{hint}")).cut()
}

#[cfg(test)]
mod tests {
    use crate::check_with;

    const TYPES: &str = "<objectTypes><objectType name='Obit' family='document' workflow='Obti' label='Obit'/>\
        <objectType name='Story' family='document' workflow='Story' label='Story'/></objectTypes>";
    const WORKFLOWS: &str = "<workflows><workflow name='Story'>\
        <status name='Story/Draft' identifier='rgb(76,145,65)'/></workflow></workflows>";
    const COMMANDS: &str = "<commands><command name='freeze' label='Freeze'><appliesTo>Obitury</appliesTo>\
        <set status='Story/Darft'/></command></commands>";
    const SITE: &str = "<siteConfig><baseFolders><baseFolder content='Stori' workPath='/News' workStatus='Story/Draft'/>\
        </baseFolders></siteConfig>";

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| path.ends_with(name));
            Ok::<_, ()>(found.map(|(_, text)| text.as_bytes().to_vec()))
        };
        let checked = check_with(&mut { read }).expect("all can be read");
        assert_eq!(checked.unknown, [], "{files:?}");
        checked.faults.iter().map(|fault| fault.fault.clone()).collect()
    }

    /// A regression test: such a type silently had no status, and the privilege of such a command
    /// was not enforced.
    #[test]
    fn names_that_are_in_no_file_are_reported_with_the_nearest() {
        let (types, workflows) = (("objecttypes.xml", TYPES), ("workflows.xml", WORKFLOWS));
        let (commands, site) = (("commands.xml", COMMANDS), ("siteconfig.xml", SITE));
        let wanted = [
            "the object type `Obit` names the workflow `Obti`, which is not defined",
            "`appliesTo` of the command `freeze` names the object type `Obitury`, which is not defined",
            "`set` of the command `freeze` names the status `Story/Darft`, which is not defined; did you mean `Story/Draft`?",
            "the base folder `/News` names the object type `Stori`, which is not defined; did you mean `Story`?",
        ];
        assert_eq!(faults(&[types, workflows, commands, site]), wanted);
        // References into missing files are not checked.
        assert_eq!(faults(&[commands, site]), [""; 0]);
        assert_eq!(faults(&[workflows, commands]), wanted[2..3]);
    }
}
