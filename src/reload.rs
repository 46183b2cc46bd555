//! Settings that a running server applies at SIGHUP without interrupting anything: the log filter
//! here, the certificate in `server`.
//!
//! All other settings take effect at the next start. The names of those that have changed are
//! logged.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;
use stet_config::{Config, ConfigError};
use stet_observe::telemetry;
use tokio::signal::unix::{SignalKind, signal};

use crate::service_manager;

/// Applies the configuration that `read` returns at each SIGHUP from this call on, while the future
/// is polled. Must be called inside the runtime.
pub fn at_hang_up(
    mut in_force: Config,
    read: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static,
) -> impl Future<Output = ()> + 'static {
    let hang_ups = signal(SignalKind::hangup());
    let read = Arc::new(read);
    async move {
        let Ok(mut hang_ups) = hang_ups else {
            tracing::error!("cannot receive SIGHUP: it ends this process");
            return;
        };
        while hang_ups.recv().await.is_some() {
            service_manager::reloading();
            let read = read.clone();
            match tokio::task::spawn_blocking(move || read()).await {
                Ok(Ok(new)) => take_over(&mut in_force, &new),
                Ok(Err(error)) => {
                    tracing::error!(%error, "SIGHUP: the configuration can't be read; the old one stays in force");
                }
                Err(error) => {
                    tracing::error!(
                        %error,
                        "SIGHUP: reading the configuration was interrupted; the old one stays in force"
                    )
                }
            }
            service_manager::reloaded();
        }
    }
}

fn take_over(in_force: &mut Config, new: &Config) {
    let waiting: Vec<String> = changed_keys(in_force, new).into_iter().filter(|key| key != "log.filter").collect();
    if !waiting.is_empty() {
        tracing::warn!(changed = waiting.join(", "), "SIGHUP: these settings take effect at the next start");
    }
    if new.log.filter == in_force.log.filter {
        tracing::info!("SIGHUP: read the configuration; the log filter is unchanged");
        return;
    }
    // Logged before the change, because the new filter may suppress it.
    tracing::info!(filter = new.log.filter, "SIGHUP: changing the log filter");
    match telemetry::set_filter(&new.log) {
        Ok(()) => in_force.log.filter.clone_from(&new.log.filter),
        Err(error) => tracing::error!(%error, "SIGHUP: cannot change the log filter"),
    }
}

/// Returns the keys that differ, without their values.
fn changed_keys(old: &Config, new: &Config) -> Vec<String> {
    let sections = |config: &Config| match serde_json::to_value(config) {
        Ok(Value::Object(sections)) => sections,
        // A configuration always serialises to a table of sections.
        _ => serde_json::Map::new(),
    };
    let (old, new) = (sections(old), sections(new));
    let mut keys = Vec::new();
    for (section, value) in &new {
        match (old.get(section), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let differ = new.iter().filter(|(key, value)| old.get(*key) != Some(*value));
                keys.extend(differ.map(|(key, _)| format!("{section}.{key}")));
            }
            (old, value) if old != Some(value) => keys.push(section.clone()),
            _ => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_that_differ_are_named_and_their_values_are_not() {
        let (old, mut new) = (Config::default(), Config::default());
        assert_eq!(changed_keys(&old, &new), Vec::<String>::new());
        new.server.keep_alive_seconds += 1;
        new.log.filter = "debug".to_owned();
        new.databases[0].name = "other".to_owned();
        let mut keys = changed_keys(&old, &new);
        keys.sort();
        assert_eq!(keys, ["databases", "log.filter", "server.keep_alive_seconds"]);
    }
}
