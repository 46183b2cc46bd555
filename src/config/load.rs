//! Where the values come from, and which wins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use figment::error::{Actual, Kind};
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

use super::{Config, ConfigError, environment};

/// The file that is read when none is named.
const FILE: &str = "config.toml";

/// What the command line sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--data`
    pub data: Option<PathBuf>,
    /// `--listen`
    pub listen: Option<String>,
}

impl Config {
    /// The configuration from the file `named` (or `./config.toml`, if it is there), this process's environment and
    /// the command line.
    ///
    /// # Errors
    /// The named file is not there, or a value is not as it must be.
    pub fn load(named: Option<&Path>, overrides: &Overrides) -> Result<Config, ConfigError> {
        let file = match named {
            Some(path) if !path.exists() => {
                return Err(ConfigError::one(format!("The configuration file {} is not there.", path.display())));
            }
            Some(path) => Some(path),
            None => Some(Path::new(FILE)).filter(|path| path.exists()),
        };
        Config::layered(file, std::env::vars_os(), overrides)
    }

    /// [`Config::load`] with a file that is there, or none, and a given environment.
    pub(super) fn layered(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        overrides: &Overrides,
    ) -> Result<Config, ConfigError> {
        let defaults = Config::default();
        let mut figment = Figment::from(Serialized::defaults(&defaults));
        if let Some(file) = file {
            // Exactly this one: the plain `Toml::file` would look for it in the parent directories too.
            figment = figment.merge(Toml::file_exact(file));
        }
        // What is wrong in the file is said before the environment is laid over it.
        figment.extract::<Config>().map_err(|error| explain(&error))?;
        for variable in environment::variables(environment)? {
            let layer = variable.layer(&defaults, &figment)?;
            figment = figment.merge(layer);
        }
        let mut config: Config = figment.extract().map_err(|error| explain(&error))?;
        overrides.apply(&mut config);
        let faults = config.faults();
        if faults.is_empty() {
            return Ok(config);
        }
        let explained = faults.into_iter().map(|fault| {
            let source = figment.find_metadata(&fault.key).or_else(|| {
                // The key of a list's entries: one source sets the whole list.
                figment.find_metadata(fault.key.split('.').next()?)
            });
            let source = source.and_then(place);
            let source = overrides.option(&fault.key).map(str::to_owned).or(source);
            set_by(fault.sentence, source)
        });
        Err(ConfigError { faults: explained.collect() })
    }
}

impl Overrides {
    fn apply(&self, config: &mut Config) {
        if let Some(directory) = &self.data {
            config.data.directory.clone_from(directory);
        }
        if let Some(listen) = &self.listen {
            config.server.listen.clone_from(listen);
        }
    }

    /// The option that set a key.
    fn option(&self, key: &str) -> Option<&'static str> {
        match key {
            "data.directory" => self.data.as_ref().map(|_| "--data"),
            "server.listen" => self.listen.as_ref().map(|_| "--listen"),
            _ => None,
        }
    }
}

/// One value laid over the others.
pub(super) struct Layer {
    /// What set it, for messages.
    pub(super) source: String,
    /// The value inside its sections.
    pub(super) dict: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.dict.clone()))
    }
}

/// `value` under the dotted key.
pub(super) fn nested(key: &str, value: Value) -> Dict {
    match key.split_once('.') {
        Some((section, rest)) => Dict::from([(section.to_owned(), nested(rest, value).into())]),
        None => Dict::from([(key.to_owned(), value)]),
    }
}

/// One sentence that names the key and where it was set.
fn explain(error: &Error) -> ConfigError {
    let key = error.path.join(".");
    let within = match error.path.as_slice() {
        [] | [_] => String::new(),
        [sections @ .., _] => format!(" in `{}`", sections.join(".")),
    };
    let sentence = match &error.kind {
        Kind::UnknownField(_, known) => format!("There is no key `{key}`; known{within} are {}.", known.join(", ")),
        Kind::UnknownVariant(found, known) => {
            format!("`{key}` must be one of {}, but is `{found}`.", known.join(", "))
        }
        Kind::InvalidType(found, wanted) | Kind::InvalidValue(found, wanted) => {
            format!("`{key}` must be {}, but is {}.", type_name(wanted), plain(found))
        }
        Kind::MissingField(field) => format!("The key `{field}` is missing in `{key}`."),
        // The reader's own text, which has line and column.
        other => format!("The configuration can't be read: {}", other.to_string().trim_end()),
    };
    ConfigError::one(set_by(sentence, error.metadata.as_ref().and_then(place)))
}

fn set_by(sentence: String, source: Option<String>) -> String {
    match source {
        Some(source) => format!("{sentence} (Set by {source}.)"),
        None => sentence,
    }
}

/// A type in the words of people who don't write Rust.
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

fn plain(found: &Actual) -> String {
    match found {
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Bool(value) => value.to_string(),
        Actual::Str(text) => format!("the text {text:?}"),
        other => other.to_string(),
    }
}

/// What set a value; nothing for the defaults, whose source is a line of code.
fn place(source: &Metadata) -> Option<String> {
    match &source.source {
        Some(figment::Source::File(path)) => Some(path.display().to_string()),
        Some(_) => None,
        None => Some(source.name.to_string()),
    }
}
