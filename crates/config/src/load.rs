//! The sources of the values, and their precedence.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_path_to_error::Segment;
use toml::Table;

use super::layers::ConfigLayers;
use super::value::{ConfigValue, ValueError};
use super::{Config, ConfigError, environment};

/// The file that is read if none is named.
const FILE: &str = "config.toml";

/// The values that the command line sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigOverrides {
    /// `--data`
    pub data: Option<PathBuf>,
    /// `--listen`
    pub listen: Option<String>,
}

/// The sources of the configuration, for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigOrigin {
    /// The file that was read, if one was.
    pub file: Option<PathBuf>,
    /// The source of the data directory: an option, a variable or the file; `None` for the default.
    pub directory: Option<String>,
}

impl Config {
    /// Loads the configuration from the file `named` (or `./config.toml`, if it exists), this
    /// process's environment and the command line.
    ///
    /// # Errors
    /// The named file does not exist, or a value is invalid.
    pub fn load(named: Option<&Path>, overrides: &ConfigOverrides) -> Result<Config, ConfigError> {
        Config::layered(Config::file(named)?, std::env::vars_os(), overrides)
    }

    /// Returns the file to read: the one that is `named`, or else that of the working directory, if
    /// it exists.
    ///
    /// # Errors
    /// The named file does not exist.
    pub fn file(named: Option<&Path>) -> Result<Option<&Path>, ConfigError> {
        match named {
            Some(path) if !path.exists() => {
                Err(ConfigError::one(format!("The configuration file {} does not exist.", path.display())))
            }
            Some(path) => Ok(Some(path)),
            None => Ok(Some(Path::new(FILE)).filter(|path| path.exists())),
        }
    }

    /// Returns the environment variables with this program's prefix that it does not read: keys
    /// with one underscore instead of two, and names that are no longer known.
    pub fn unread_variables() -> Vec<String> {
        environment::unread_names(std::env::vars_os())
    }

    /// Loads the configuration from an existing file, or none, and a given environment.
    pub(super) fn layered(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigError> {
        let defaults = defaults()?;
        let mut layers = ConfigLayers::over(defaults.clone());
        if let Some(file) = file {
            layers.lay(read(file)?, &file.display().to_string());
            // Faults of the file are reported before the environment is laid over it.
            config(&layers)?;
        }
        for variable in environment::variables(environment)? {
            let values = variable.values(&defaults, layers.values())?;
            layers.lay(values, &variable.source());
        }
        let mut config = config(&layers)?;
        overrides.apply(&mut config);
        let source = |key: &str| overrides.option(key).or_else(|| layers.source(key));
        config.origin =
            ConfigOrigin { file: file.map(Path::to_owned), directory: source("data.directory").map(ToOwned::to_owned) };
        let faults = config.faults();
        if faults.is_empty() {
            return Ok(config);
        }
        let explained = faults.into_iter().map(|fault| set_by(fault.sentence, source(&fault.key)));
        Err(ConfigError { faults: explained.collect() })
    }
}

impl ConfigOverrides {
    fn apply(&self, config: &mut Config) {
        if let Some(directory) = &self.data {
            config.data.directory.clone_from(directory);
        }
        if let Some(listen) = &self.listen {
            config.server.listen.clone_from(listen);
        }
    }

    /// Returns the option that set a key.
    fn option(&self, key: &str) -> Option<&'static str> {
        match key {
            "data.directory" => self.data.as_ref().map(|_| "--data"),
            "server.listen" => self.listen.as_ref().map(|_| "--listen"),
            _ => None,
        }
    }
}

/// Returns the defaults as values.
fn defaults() -> Result<Table, ConfigError> {
    // Names, texts and numbers, all of which TOML can represent.
    Table::try_from(Config::default()).map_err(|error| ConfigError::one(error.to_string()))
}

/// Reads the values of a file.
fn read(file: &Path) -> Result<Table, ConfigError> {
    let unread =
        |why: String| ConfigError::one(format!("The configuration file {} can't be read: {why}.", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| unread(error.to_string()))?;
    text.parse().map_err(|error: toml::de::Error| {
        let whole = error.to_string();
        // The first line has the position; the others quote the text there.
        let place = whole.lines().next().unwrap_or_default();
        unread(format!("{place}: {}", error.message().trim_end()))
    })
}

/// Reads the layers as the configuration; the error names the key and where it was set.
fn config(layers: &ConfigLayers) -> Result<Config, ConfigError> {
    let values = ConfigValue(layers.values().clone().into());
    serde_path_to_error::deserialize(values).map_err(|error| {
        let path: Vec<_> = error.path().iter().map(name).collect();
        let key = path.join(".");
        ConfigError::one(set_by(explain(&key, &path, error.inner()), layers.source(&key)))
    })
}

/// Returns a part of a dotted key.
fn name(part: &Segment) -> String {
    match part {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key } => key.clone(),
        Segment::Enum { variant } => variant.clone(),
        // A key that is no text, which TOML does not have.
        Segment::Unknown => String::new(),
    }
}

/// Returns one sentence that names the key.
fn explain(key: &str, path: &[String], fault: &ValueError) -> String {
    match fault {
        ValueError::UnknownKey(known) => {
            let within = match path {
                [] | [_] => String::new(),
                [sections @ .., _] => format!(" in `{}`", sections.join(".")),
            };
            format!("There is no key `{key}`; known{within} are {}.", known.join(", "))
        }
        ValueError::UnknownText(found, known) => {
            format!("`{key}` must be one of {}, but is `{found}`.", known.join(", "))
        }
        ValueError::Unfit(found, wanted) if wanted.starts_with("struct ") => {
            format!("`{key}` must be a section of keys, as below a line [{key}], but is {}.", found_name(found))
        }
        ValueError::Unfit(found, wanted) => {
            format!("`{key}` must be {}, but is {}.", type_name(wanted), found_name(found))
        }
        ValueError::Missing(name) => format!("The key `{name}` is missing in `{key}`."),
        ValueError::Other(fault) => format!("`{key}` can't be read: {fault}."),
    }
}

fn set_by(sentence: String, source: Option<&str>) -> String {
    match source {
        Some(source) => format!("{sentence} (Set by {source}.)"),
        None => sentence,
    }
}

/// Returns the type of the value found, in the words of [`type_name`].
fn found_name(found: &str) -> &str {
    match found {
        "map" => "a section of keys",
        "sequence" => "a list",
        other => other,
    }
}

/// Returns the name of a type for people who don't write Rust.
fn type_name(wanted: &str) -> &str {
    match wanted {
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "a string" | "path string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other => other,
    }
}
