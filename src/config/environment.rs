//! Values from environment variables.
//!
//! A value is read as what its default is, so that a folder named `2024` stays text and needs no quotes.

use std::ffi::OsString;

use figment::Figment;
use figment::value::{Dict, Num, Value};

use super::load::{Layer, nested};
use super::{Config, ConfigError};

const PREFIX: &str = "STET_";
/// Tells the section from the key, whose own name may have single underscores.
const SEPARATOR: &str = "__";

/// One variable `STET_SECTION__KEY`.
pub(super) struct Variable {
    name: String,
    /// Section and key; between them the number of the entry, where the section is a list.
    path: Vec<String>,
    value: String,
}

/// The variables that are meant for the configuration, in the order of their names. Those without two underscores
/// (`STET_ADMIN_PASSWORD`) are not.
pub(super) fn variables(environment: impl Iterator<Item = (OsString, OsString)>) -> Result<Vec<Variable>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str() else { continue };
        let Some(path) = name.strip_prefix(PREFIX).filter(|rest| rest.contains(SEPARATOR)) else { continue };
        let value = value.into_string().map_err(|_| {
            ConfigError::one(format!("The value of the environment variable {name} is no Unicode text."))
        })?;
        let path = path.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
        found.push(Variable { name: name.to_owned(), path, value });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

impl Variable {
    /// The variable's value as a layer over `below`.
    pub(super) fn layer(&self, defaults: &Config, below: &Figment) -> Result<Layer, ConfigError> {
        let defaults = Value::serialize(defaults).map_err(|error| ConfigError::one(error.to_string()))?;
        let dict = match self.path.as_slice() {
            [section, key] => {
                let like = defaults.find_ref(section).and_then(|section| section.as_dict()?.get(key));
                let value = self.read_like(like.ok_or_else(|| self.unknown())?)?;
                nested(&format!("{section}.{key}"), value)
            }
            [section, part, key] if is_section(&defaults, section, part) => {
                let part_of = defaults.find_ref(section).and_then(|section| section.as_dict()?.get(part));
                let like = part_of.and_then(|part| part.as_dict()?.get(key));
                let value = self.read_like(like.ok_or_else(|| self.unknown())?)?;
                nested(&format!("{section}.{part}.{key}"), value)
            }
            [list, number, key] => {
                let like = defaults.find_ref(list).and_then(|list| list.as_array()?.first()?.as_dict()?.get(key));
                let value = self.read_like(like.ok_or_else(|| self.unknown())?)?;
                let number = number.parse().map_err(|_| self.unknown())?;
                self.entry(list, number, key, value, below)?
            }
            _ => return Err(self.unknown()),
        };
        Ok(Layer { source: self.source(), dict })
    }

    /// A list with one key of one entry set. A list is merged as a whole, so it is the list below with the change.
    fn entry(&self, list: &str, number: usize, key: &str, value: Value, below: &Figment) -> Result<Dict, ConfigError> {
        let mut entries = match below.find_value(list) {
            Ok(Value::Array(_, entries)) => entries,
            _ => Vec::new(),
        };
        if number == entries.len() {
            entries.push(Dict::new().into());
        }
        let count = entries.len();
        let Some(Value::Dict(_, entry)) = entries.get_mut(number) else {
            let fault = format!(
                "The environment variable {} sets entry {number} of `{list}`, which has {count}; they count from 0, \
                 and only the next one can be added.",
                self.name
            );
            return Err(ConfigError::one(fault));
        };
        entry.insert(key.to_owned(), value);
        Ok(nested(list, entries.into()))
    }

    fn read_like(&self, like: &Value) -> Result<Value, ConfigError> {
        let text = self.value.trim();
        let wanted = match like {
            Value::Bool(..) => match text.to_ascii_lowercase().as_str() {
                "true" | "1" => return Ok(true.into()),
                "false" | "0" => return Ok(false.into()),
                _ => "true or false",
            },
            Value::Num(..) => match text.parse::<i64>() {
                Ok(number) => return Ok(Num::from(number).into()),
                Err(_) => "a whole number",
            },
            Value::Array(..) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                return Ok(items.map(Value::from).collect::<Vec<_>>().into());
            }
            _ => return Ok(self.value.as_str().into()),
        };
        Err(ConfigError::one(format!(
            "The environment variable {} must be {wanted}, but is `{}`.",
            self.name, self.value
        )))
    }

    fn unknown(&self) -> ConfigError {
        let key = self.path.join(".");
        ConfigError::one(format!("The environment variable {} names no key: there is no `{key}`.", self.name))
    }

    fn source(&self) -> String {
        format!("the environment variable {}", self.name)
    }
}

/// Whether a section has a part with keys of its own, like `[server.tls]`.
fn is_section(defaults: &Value, section: &str, part: &str) -> bool {
    let part = defaults.find_ref(section).and_then(|section| section.as_dict()?.get(part));
    part.is_some_and(|part| part.as_dict().is_some())
}
