//! Layers of values, with the source of each value.

use std::collections::BTreeMap;
use std::iter;

use toml::{Table, Value};

/// The values so far, sections within sections.
pub(super) struct ConfigLayers {
    values: Table,
    /// The source of each key that was set, for messages; defaults have none.
    sources: BTreeMap<String, String>,
}

impl ConfigLayers {
    /// Creates layers with the defaults alone.
    pub(super) fn over(defaults: Table) -> ConfigLayers {
        ConfigLayers { values: defaults, sources: BTreeMap::new() }
    }

    /// Lays values over the present ones: sections are merged, and all else is replaced, lists as a
    /// whole.
    pub(super) fn lay(&mut self, above: Table, source: &str) {
        merge(&mut self.values, above, "", &mut |key| {
            self.sources.insert(key, source.to_owned());
        });
    }

    /// Returns all values.
    pub(super) fn values(&self) -> &Table {
        &self.values
    }

    /// Returns the source of the value under a dotted key, or of the list that contains it.
    pub(super) fn source(&self, key: &str) -> Option<&str> {
        let mut above = iter::successors(Some(key), |key| key.rsplit_once('.').map(|(above, _)| above)).skip(1);
        let found = self.sources.get(key).or_else(|| {
            let list = above.find(|key| find(&self.values, key).is_some_and(Value::is_array))?;
            self.sources.get(list)
        });
        found.map(String::as_str)
    }
}

/// Returns the value under a dotted key.
pub(super) fn find<'v>(values: &'v Table, key: &str) -> Option<&'v Value> {
    match key.split_once('.') {
        Some((section, rest)) => find(values.get(section)?.as_table()?, rest),
        None => values.get(key),
    }
}

/// Returns a table with `value` under the dotted key.
pub(super) fn nest_value(key: &str, value: Value) -> Table {
    match key.split_once('.') {
        Some((section, rest)) => Table::from_iter([(section.to_owned(), nest_value(rest, value).into())]),
        None => Table::from_iter([(key.to_owned(), value)]),
    }
}

/// Merges `above` into `below`, and calls `set` for each key that is set, sections included.
fn merge(below: &mut Table, above: Table, section: &str, set: &mut impl FnMut(String)) {
    for (name, value) in above {
        let key = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        match (below.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above, &key, set),
            (_, value) => {
                below.insert(name, value);
            }
        }
        set(key);
    }
}
