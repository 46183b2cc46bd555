//! `stet completions` and `stet man`, generated from the definition of the command line, so that
//! they always agree with it.

use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::Cli;
use crate::exit::{self, Exit, Failure};

/// Prints the completion script for a shell.
///
/// # Errors
/// An error if it can't be printed.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut <Cli as CommandFactory>::command(), "stet", &mut script);
    exit::print(&String::from_utf8_lossy(&script))
}

/// Prints the man page of a command, or of stet itself if none is named. With a directory, writes
/// the pages of all commands there.
///
/// # Errors
/// [`Exit::Usage`] for an unknown command; [`Exit::Failed`] if a page can't be written.
pub fn man(words: &[String], folder: Option<&Path>) -> Result<(), Failure> {
    let pages = pages();
    let Some(folder) = folder else {
        let wanted = [&["stet".to_owned()], words].concat().join("-");
        let page = pages.iter().find(|page| page.name == wanted);
        let page =
            page.ok_or_else(|| Failure::new(Exit::Usage, format!("there is no command `{}`", words.join(" "))))?;
        return exit::print(&page.text().map_err(|error| Failure::new(Exit::Failed, error))?);
    };
    let unwritten = |path: &Path, error: io::Error| {
        Failure::new(Exit::Failed, format!("{} can't be written: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
    for page in pages {
        let path = folder.join(format!("{}.1", page.name));
        let written = page.text().and_then(|text| std::fs::write(&path, text));
        written.map_err(|error| unwritten(&path, error))?;
    }
    Ok(())
}

/// A page of the manual.
struct ManualPage {
    /// The name of the command with its parents: `stet-user-add`.
    name: String,
    command: Command,
}

/// Returns the pages of stet and all its commands.
fn pages() -> Vec<ManualPage> {
    fn add(command: &Command, pages: &mut Vec<ManualPage>) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        pages.push(ManualPage { name, command: command.clone() });
        command.get_subcommands().for_each(|command| add(command, pages));
    }
    let mut command = <Cli as CommandFactory>::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
}

impl ManualPage {
    fn text(&self) -> io::Result<String> {
        let man = Man::new(self.command.clone())
            .title(&self.name)
            .source(format!("stet {}", env!("CARGO_PKG_VERSION")))
            .manual("stet");
        let mut text = Vec::new();
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(&mut text)?;
        }
        self.further_sections(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Writes the text after the options in the help: each heading becomes a section, and its lines
    /// are kept as they are.
    fn further_sections(&self, out: &mut dyn Write) -> io::Result<()> {
        let help = self.command.get_after_long_help().or_else(|| self.command.get_after_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let mut roff = Roff::new();
        let mut within = false;
        for line in help.lines() {
            match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
                Some(heading) => {
                    if within {
                        roff.control("fi", []);
                    }
                    roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
                    within = true;
                }
                None if within => drop(roff.text([roman(line)])),
                None if line.is_empty() => {}
                // Sentences before the first heading.
                None => drop(roff.control("PP", []).text([roman(line)])),
            }
        }
        if within {
            roff.control("fi", []);
        }
        roff.to_writer(out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns all commands, each with the names of its parents.
    fn commands() -> BTreeSet<Vec<String>> {
        fn add(command: &Command, above: &[String], found: &mut BTreeSet<Vec<String>>) {
            for command in command.get_subcommands() {
                let names = [above, &[command.get_name().to_owned()]].concat();
                found.insert(names.clone());
                add(command, &names, found);
            }
        }
        let mut found = BTreeSet::new();
        add(&<Cli as CommandFactory>::command(), &[], &mut found);
        assert!(found.len() > 30, "{found:?}");
        found
    }

    #[test]
    fn every_command_has_a_page_that_says_all_that_its_help_does() {
        let pages = pages();
        let names: BTreeSet<String> = pages.iter().map(|page| page.name.clone()).collect();
        let wanted = commands().into_iter().map(|names| format!("stet-{}", names.join("-")));
        assert_eq!(names, wanted.chain(["stet".to_owned()]).collect());
        for page in pages {
            // The text as it is read: hyphens and spaces are escaped in a page.
            let text = page.text().unwrap().replace("\\-", "-").replace("\\ ", " ");
            assert!(text.contains(".SH NAME\n") && text.contains(".SH OPTIONS\n"), "{}: {text}", page.name);
            for argument in page.command.get_arguments() {
                let help =
                    argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
                let first = help.split(['`', '\'', '"', '\n']).next().unwrap_or_default();
                assert!(text.contains(first), "{}: `{first}` is missing in:\n{text}", page.name);
            }
            for command in page.command.get_subcommands() {
                assert!(text.contains(&format!("{}-{}(1)", page.name, command.get_name())), "{}: {text}", page.name);
            }
        }
    }

    #[test]
    fn examples_stand_line_by_line_in_a_page() {
        let pages = pages();
        let text = |name: &str| pages.iter().find(|page| page.name == name).map(|page| page.text().unwrap()).unwrap();
        let group = text("stet-group").replace("\\-", "-");
        let examples = group.split_once(".SH EXAMPLES\n.nf\n").expect("it has examples").1;
        assert!(examples.contains("\n  stet group leave night ben\n"), "{group}");
        let stet = text("stet");
        for heading in ["EXAMPLES", "ENVIRONMENT", "\"EXIT CODES\""] {
            assert!(stet.contains(&format!(".SH {heading}\n")), "{heading}: {stet}");
        }
        assert_eq!(stet.matches(".nf\n").count(), stet.matches(".fi\n").count());
    }

    #[test]
    fn every_command_says_what_it_does_and_what_each_of_its_options_is() {
        fn look(command: &Command, names: &str) {
            assert!(command.get_about().is_some_and(|about| !about.to_string().is_empty()), "{names} says nothing");
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                let said = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!said.is_empty(), "{names}: {id} says nothing");
            }
            for command in command.get_subcommands() {
                look(command, &format!("{names} {}", command.get_name()));
            }
        }
        look(&<Cli as CommandFactory>::command(), "stet");
        let help = <Cli as CommandFactory>::command().render_long_help().to_string();
        for names in commands().into_iter().filter(|names| names.len() == 1) {
            // Once in the list of commands, and once in an example.
            assert!(help.contains(&format!("\n  {}", names[0])), "{names:?} is missing in:\n{help}");
            assert!(help.contains(&format!("  stet {}", names[0])), "there is no example of {names:?} in:\n{help}");
        }
    }
}
