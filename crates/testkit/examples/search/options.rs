//! The options of the command line.

use std::path::PathBuf;
use std::time::Duration;

/// The usage, printed for an option that does not exist.
const USAGE: &str = "usage: scripts/search-bench [--objects N] [--posts N] [--seconds S] [--rounds N] [--rate N] \
[--data DIRECTORY] [drawer] [searches] [delay] [scan] [rebuild]";

/// The options of a run.
pub struct BenchOptions {
    /// The number of stories.
    pub objects: usize,
    /// The number of posts.
    pub posts: usize,
    /// The length of each measurement.
    pub length: Duration,
    /// The number of rounds in which both servers take turns.
    pub rounds: usize,
    /// The wanted changes per second.
    pub rate: usize,
    /// The directory whose data is used if it has any, and kept; a temporary one without it.
    pub data: Option<PathBuf>,
    /// The parts that are measured; all if there are none.
    parts: Vec<String>,
}

impl BenchOptions {
    /// Reads the options of the command line. Ends the process after an unknown one.
    pub fn from_arguments() -> BenchOptions {
        let mut options = BenchOptions {
            objects: 100_000,
            posts: 100_000,
            length: Duration::from_secs(10),
            rounds: 3,
            rate: 5000,
            data: None,
            parts: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                options.parts.push(argument);
                continue;
            }
            let value = arguments.next().unwrap_or_default();
            match argument.as_str() {
                "--objects" => options.objects = number(&value),
                "--posts" => options.posts = number(&value),
                "--seconds" => options.length = Duration::from_secs(number(&value) as u64),
                "--rounds" => options.rounds = number(&value),
                "--rate" => options.rate = number(&value),
                "--data" => options.data = Some(PathBuf::from(value)),
                _ => end(&argument),
            }
        }
        options
    }

    /// Reports whether a part is measured.
    pub fn measures(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

/// Returns the positive number that a value states.
fn number(value: &str) -> usize {
    value.parse().ok().filter(|number| *number > 0).unwrap_or_else(|| end(value))
}

fn end(argument: &str) -> ! {
    eprintln!("`{argument}` is no option or no number.\n{USAGE}");
    std::process::exit(2)
}
