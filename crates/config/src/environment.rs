//! Values from environment variables.
//!
//! A value has the type of its default, so that a folder named `2024` stays text and needs no
//! quotes.

use std::ffi::OsString;

use toml::{Table, Value};

use super::ConfigError;
use super::layers::{find, nest_value};

const PREFIX: &str = "STET_";
/// Separates the section from the key, whose own name may have single underscores.
const SEPARATOR: &str = "__";

/// The variables that are no keys of the configuration.
const OTHERS: [&str; 5] =
    ["STET_ADMIN_PASSWORD", "STET_SAMPLE_PASSWORD", "STET_LOAD_PASSWORD", "STET_PASSWORD", "STET_PLANTED_BUG"];

/// Returns the sorted names of the variables with this program's prefix that nothing reads.
/// Variables with unknown keys are not among them: those are faults of the configuration.
pub(super) fn unread_names(environment: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let ours = environment.filter_map(|(name, _)| name.into_string().ok()).filter(|name| name.starts_with(PREFIX));
    let mut unread: Vec<_> =
        ours.filter(|name| !name[PREFIX.len()..].contains(SEPARATOR) && !OTHERS.contains(&name.as_str())).collect();
    unread.sort();
    unread
}

/// One variable `STET_SECTION__KEY`, or `STET_SECTION__INNER__KEY` for a section inside a section.
pub(super) struct ConfigVariable {
    name: String,
    /// Section and key; between them the number of the entry, if the section is a list.
    path: Vec<String>,
    value: String,
}

/// Returns the variables for the configuration, sorted by path. Entries of a list are sorted by
/// number, since only the next one can be added. Variables without two underscores
/// (`STET_ADMIN_PASSWORD`) are left out.
pub(super) fn variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<ConfigVariable>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str() else { continue };
        let Some(path) = name.strip_prefix(PREFIX).filter(|rest| rest.contains(SEPARATOR)) else { continue };
        let value = value.into_string().map_err(|_| {
            ConfigError::one(format!("The value of the environment variable {name} is not Unicode text."))
        })?;
        let path = path.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
        found.push(ConfigVariable { name: name.to_owned(), path, value });
    }
    found.sort_by(|one, other| one.place().cmp(other.place()).then_with(|| one.name.cmp(&other.name)));
    Ok(found)
}

/// Returns a section inside a section.
fn section_in<'a>(defaults: &'a Table, section: &str, inner: &str) -> Option<&'a Table> {
    defaults.get(section)?.as_table()?.get(inner)?.as_table()
}

impl ConfigVariable {
    /// Returns the path for comparison. Numbers are compared as numbers, because as texts the tenth
    /// is before the second.
    fn place(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        self.path.iter().map(|part| (part.parse().ok(), part.as_str()))
    }

    /// Returns the variable's value inside its sections, to be laid over `below`.
    pub(super) fn values(&self, defaults: &Table, below: &Table) -> Result<Table, ConfigError> {
        match self.path.as_slice() {
            [section, key] => {
                let key = format!("{section}.{key}");
                let value = self.read_like(find(defaults, &key).ok_or_else(|| self.unknown())?)?;
                Ok(nest_value(&key, value))
            }
            [section, inner, key] if section_in(defaults, section, inner).is_some() => {
                let key = format!("{section}.{inner}.{key}");
                let value = self.read_like(find(defaults, &key).ok_or_else(|| self.unknown())?)?;
                Ok(nest_value(&key, value))
            }
            [list, number, key] => {
                let like = defaults.get(list).and_then(|list| list.as_array()?.first()?.as_table()?.get(key));
                let value = self.read_like(like.ok_or_else(|| self.unknown())?)?;
                let number = number.parse().map_err(|_| self.unknown())?;
                self.entry(list, number, key, value, below)
            }
            _ => Err(self.unknown()),
        }
    }

    /// Returns the list in `below` with one key of one entry set. The result is the whole list,
    /// because lists are replaced as a whole.
    fn entry(&self, list: &str, number: usize, key: &str, value: Value, below: &Table) -> Result<Table, ConfigError> {
        let mut entries = match below.get(list) {
            Some(Value::Array(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        if number == entries.len() {
            entries.push(Table::new().into());
        }
        let count = entries.len();
        let Some(Value::Table(entry)) = entries.get_mut(number) else {
            let fault = format!(
                "The environment variable {} sets entry {number} of `{list}`, which has {count}; they count from 0, \
                 and only the next one can be added.",
                self.name
            );
            return Err(ConfigError::one(fault));
        };
        entry.insert(key.to_owned(), value);
        Ok(nest_value(list, entries.into()))
    }

    fn read_like(&self, like: &Value) -> Result<Value, ConfigError> {
        let text = self.value.trim();
        let wanted = match like {
            Value::Boolean(_) => match text.to_ascii_lowercase().as_str() {
                "true" | "1" => return Ok(true.into()),
                "false" | "0" => return Ok(false.into()),
                _ => "true or false",
            },
            Value::Integer(_) => match text.parse::<i64>() {
                Ok(number) => return Ok(number.into()),
                Err(_) => "a whole number",
            },
            Value::Array(_) => {
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

    /// Returns the source of the value, for messages.
    pub(super) fn source(&self) -> String {
        format!("the environment variable {}", self.name)
    }
}
