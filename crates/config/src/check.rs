//! The checks of values beyond their types.

use std::collections::HashSet;
use std::fmt::Display;
use std::net::IpAddr;

use http::Uri;
use stet_domain::object::{MAX_NAME_BYTES, PathLimits};
use stet_store::LimitOptions;

use super::edge::{is_origin, network};
use super::public;
use super::repository::USER;
use super::{Config, LimitsConfig, MemoryConfig, SEARCH_LANGUAGES, ServerConfig, SmtpSecurity};

/// Maximum value of `auth.password_min_length`, in characters: that many fit into the longest
/// password of 1,024 bytes in any script.
const MAX_PASSWORD_MIN_LENGTH: u64 = 128;

/// Maximum value of a key in seconds: ten years. Beyond it a sum with the present could overflow.
const MAX_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// Maximum value of a limit on the bytes held in memory.
const MAX_BYTES: u64 = 1 << 40;

/// A value that can't be used.
pub(super) struct BadValue {
    pub(super) key: String,
    pub(super) sentence: String,
}

#[derive(Default)]
struct ConfigFaults(Vec<BadValue>);

impl ConfigFaults {
    fn unless(&mut self, well: bool, key: &str, wanted: &str, is: impl Display) {
        if !well {
            let sentence = format!("`{key}` must be {wanted}, but is `{is}`.");
            self.0.push(BadValue { key: key.to_owned(), sentence });
        }
    }

    /// Requires that `value` lies between `least` and `most`, both included.
    fn within(&mut self, key: &str, value: impl TryInto<u64> + Display + Copy, least: u64, most: u64) {
        let well = value.try_into().is_ok_and(|value| (least..=most).contains(&value));
        self.unless(well, key, &format!("between {least} and {most}"), value);
    }

    fn seconds(&mut self, key: &str, value: u64, least: u64) {
        self.within(key, value, least, MAX_SECONDS);
    }

    /// Requires the absolute path of a folder or object of the repository, with valid names.
    fn folder(&mut self, key: &str, path: &str) {
        let well = path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_name));
        self.unless(well, key, "an absolute path like `/Users` that does not end in `/`", path);
    }

    fn names_user(&mut self, key: &str, pattern: &str) {
        let wanted = "a text that has `{user}`, or all users would share it";
        self.unless(pattern.contains(USER), key, wanted, pattern);
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(|c: char| c == '/' || c.is_control())
}

impl Config {
    /// Returns all faults of the values.
    pub(super) fn faults(&self) -> Vec<BadValue> {
        let mut faults = ConfigFaults::default();
        self.check_service(&mut faults);
        self.check_memory(&mut faults);
        self.check_limits(&mut faults);
        self.check_auth(&mut faults);
        self.check_cas(&mut faults);
        self.check_runtime(&mut faults);
        self.check_events(&mut faults);
        self.check_messages(&mut faults);
        self.check_webhooks(&mut faults);
        self.check_search(&mut faults);
        self.check_backup(&mut faults);
        self.check_store(&mut faults);
        self.check_content(&mut faults);
        self.check_lists(&mut faults);
        self.check_folders(&mut faults);
        faults.0
    }

    fn check_service(&self, faults: &mut ConfigFaults) {
        let server = &self.server;
        let address = server.listen.rsplit_once(':');
        // An IPv6 address needs brackets; without them its last part would be taken for the port.
        let well = address.is_some_and(|(host, port)| {
            let bracketed = host.starts_with('[') && host.ends_with(']');
            !host.is_empty() && (bracketed || !host.contains(':')) && port.parse::<u16>().is_ok()
        });
        faults.unless(well, "server.listen", "`host:port`, like `127.0.0.1:8080` or `[::1]:8080`", &server.listen);
        let base = &server.base_path;
        let well = base.is_empty() || base.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_segment));
        let wanted = "empty, or begin with `/`, not end with one, and have only characters that need no escape";
        faults.unless(well, "server.base_path", wanted, base);
        faults.within("server.workers", server.workers, 0, ServerConfig::MAX_WORKERS as u64);
        faults.seconds("server.drain_seconds", server.drain_seconds, 0);
        faults.seconds("server.shutdown_seconds", server.shutdown_seconds, 0);
        faults.seconds("server.keep_alive_seconds", server.keep_alive_seconds, 0);
        faults.seconds("server.slow_request_seconds", server.slow_request_seconds, 0);
        // The system counts milliseconds in 32 bits.
        faults.within("server.slow_reader_seconds", server.slow_reader_seconds, 0, 86_400);
        faults.within("server.compress_bytes", server.compress_bytes, 0, MAX_BYTES);
        faults.within("server.max_connections", server.max_connections, 1, 1_000_000);
        for proxy in &server.trusted_proxies {
            let wanted = "a list of addresses and networks like `10.0.0.0/8`";
            faults.unless(network(proxy).is_some(), "server.trusted_proxies", wanted, proxy);
        }
        for origin in &server.cors_origins {
            let wanted = "a list of origins as browsers send them, like `https://desk.example.org`: scheme, host in small \
                          letters, and the port unless it is the scheme's own";
            faults.unless(is_origin(origin), "server.cors_origins", wanted, origin);
        }
        let traces = &self.traces;
        let well = traces.endpoint.is_empty() || is_url(&traces.endpoint);
        let wanted = "empty, or an `http` or `https` URL like `http://127.0.0.1:4318/v1/traces`";
        faults.unless(well, "traces.endpoint", wanted, &traces.endpoint);
        faults.unless(!traces.service_name.is_empty(), "traces.service_name", "a name", &traces.service_name);
        faults.within("traces.sample_one_in", traces.sample_one_in, 1, 1_000_000);
        let tls = &server.tls;
        let paired = tls.is_on() != tls.key.as_os_str().is_empty();
        let wanted = "given together with `server.tls.certificate`, or not at all";
        faults.unless(paired, "server.tls.key", wanted, tls.key.display());
        faults.seconds("server.tls.reload_seconds", tls.reload_seconds, 1);
        faults.within("server.tls.handshake_seconds", tls.handshake_seconds, 1, 3600);
        faults.seconds("server.tls.strict_transport_seconds", tls.strict_transport_seconds, 0);

        let directory = &self.data.directory;
        faults.unless(!directory.as_os_str().is_empty(), "data.directory", "the name of a directory", "");
        let filter = &self.log.filter;
        let wanted = "a level (off, error, warn, info, debug, trace), or several parts like `info,stet_store=debug`";
        faults.unless(is_filter(filter), "log.filter", wanted, filter);
        let prefix = &self.compat.code_prefix;
        let well = prefix.chars().all(|c| c.is_ascii_graphic());
        faults.unless(well, "compat.code_prefix", "visible ASCII characters only", prefix);
        let wanted = "empty, or an absolute path like `/swing/login` outside `server.base_path` (so none if that is empty) \
                      and not one of the server's own pages, with only characters that need no escape";
        faults.unless(self.has_login_path(), "compat.login_path", wanted, &self.compat.login_path);
    }

    /// Reports whether `compat.login_path` is a path that nothing else answers.
    fn has_login_path(&self) -> bool {
        let (path, base) = (&self.compat.login_path, &self.server.base_path);
        let Some(rest) = path.strip_prefix('/') else { return path.is_empty() };
        let first = rest.split('/').next().unwrap_or_default();
        let below_base = path.strip_prefix(base.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        rest.split('/').all(is_segment) && !ServerConfig::OWN_PATHS.contains(&first) && !below_base
    }

    fn check_memory(&self, faults: &mut ConfigFaults) {
        const MOST: u64 = 1 << 50;
        let (memory, limits) = (&self.memory, &self.limits);
        if memory.limit_bytes > 0 {
            faults.within("memory.limit_bytes", memory.limit_bytes, MemoryConfig::LEAST, MOST);
        }
        // A growing body is in memory twice for a moment, and then beside the values read from it.
        let largest = limits.json_bytes.max(limits.upload_part_options_bytes).max(limits.xml_bytes) as u64;
        let values = (limits.json_values as u64).saturating_mul(LimitsConfig::VALUE_BYTES);
        let enough = largest.saturating_mul(3).saturating_add(values).clamp(1 << 20, MOST);
        faults.within("memory.calls_bytes", memory.calls(), enough, MOST);
        faults.within("memory.pages_bytes", memory.pages() as u64, 1 << 20, MOST);
        let largest = memory.largest_container();
        faults.within("memory.largest_container_bytes", largest, 1 << 20, 1 << 30);
        faults.within("memory.containers_bytes", memory.containers(), largest, MOST);
        // A change of an object's attributes holds several forms of them.
        let enough = (limits.xml_bytes as u64).saturating_mul(4).max(1 << 20);
        faults.within("memory.largest_change_bytes", memory.largest_change_bytes, enough, 128 << 20);
        faults.within("memory.caches_bytes", memory.caches_bytes, 0, MOST);
        let parts = memory.parts();
        let fit = format!("at least the {parts} bytes of its parts");
        faults.unless(parts <= memory.limit(), "memory.limit_bytes", &fit, memory.limit());
    }

    fn check_limits(&self, faults: &mut ConfigFaults) {
        let limits = &self.limits;
        faults.within("limits.json_bytes", limits.json_bytes, 1024, MAX_BYTES);
        // The JSON reader itself stops at 128 levels.
        faults.within("limits.json_depth", limits.json_depth, 1, 127);
        let most = MAX_BYTES / LimitsConfig::VALUE_BYTES;
        faults.within("limits.json_values", limits.json_values, limits.list_sources.max(1000) as u64, most);
        faults.within("limits.short_body_bytes", limits.short_body_bytes, 1024, MAX_BYTES);
        faults.within("limits.upload_bytes", limits.upload_bytes, 1024, MAX_BYTES);
        faults.within("limits.upload_part_options_bytes", limits.upload_part_options_bytes, 1024, MAX_BYTES);
        faults.seconds("limits.body_seconds", limits.body_seconds, 0);
        faults.within("limits.upload_progress_bytes", limits.upload_progress_bytes, 1, MAX_BYTES);
        faults.seconds("limits.upload_progress_seconds", limits.upload_progress_seconds, 0);
        faults.within("limits.upload_parts", limits.upload_parts, 2, 10_000);
        faults.within("limits.uploads_at_once", limits.uploads_at_once, 1, 1 << 16);
        // URLs can't be longer.
        faults.within("limits.url_bytes", limits.url_bytes, 256, 65_534);
        let (widest, depth) = (PathLimits::WIDEST, limits.path_depth);
        faults.within("limits.path_depth", depth, 4, widest.depth as u64);
        // Every object that can be created can be named by its path.
        let least = depth.saturating_mul(MAX_NAME_BYTES + 1).min(widest.bytes);
        faults.within("limits.path_bytes", limits.path_bytes, least as u64, widest.bytes as u64);
        faults.within("limits.xml_bytes", limits.xml_bytes, 1024, MAX_BYTES);
        // Deeper trees could exhaust a thread's stack.
        faults.within("limits.xml_depth", limits.xml_depth, 1, 512);
        faults.within("limits.list_sources", limits.list_sources, 1, 1_000_000);
        faults.seconds("limits.idempotency_seconds", limits.idempotency_seconds, 1);
        let keys = limits.idempotency_keys_per_user;
        faults.within("limits.idempotency_keys_per_user", keys, 100, 10_000_000);
        let bytes = limits.idempotency_bytes_per_user;
        faults.within("limits.idempotency_bytes_per_user", bytes, 1 << 20, MAX_BYTES);
        // Quotas count in microseconds.
        faults.within("limits.calls_per_minute", limits.calls_per_minute, 0, 6_000_000);
    }

    fn check_auth(&self, faults: &mut ConfigFaults) {
        let auth = &self.auth;
        faults.seconds("auth.session_idle_seconds", auth.session_idle_seconds, 1);
        let absolute = auth.session_absolute_seconds;
        faults.within("auth.session_absolute_seconds", absolute, auth.session_idle_seconds, MAX_SECONDS);
        faults.within("auth.sessions_per_user", auth.sessions_per_user, 0, 1_000_000);
        faults.seconds("auth.lock_idle_seconds", auth.lock_idle_seconds, 1);
        // With a longer interval a session in use would look idle after a restart.
        faults.within("auth.flush_seconds", auth.flush_seconds, 1, auth.session_idle_seconds);
        faults.within("auth.password_lanes", auth.password_lanes, 1, 64);
        // Argon2 needs eight blocks of 1 KiB in each lane.
        let least = 8 * u64::from(auth.password_lanes);
        faults.within("auth.password_memory_kib", auth.password_memory_kib, least, 4 << 20);
        faults.within("auth.password_iterations", auth.password_iterations, 1, 1000);
        faults.within("auth.password_min_length", auth.password_min_length, 1, MAX_PASSWORD_MIN_LENGTH);
        faults.within("auth.failures_per_user", auth.failures_per_user, 0, 1_000_000);
        faults.within("auth.failures_per_user_anywhere", auth.failures_per_user_anywhere, 0, 1_000_000);
        faults.within("auth.failures_per_address", auth.failures_per_address, 0, 1_000_000);
        faults.within("auth.failure_window_seconds", auth.failure_window_seconds, 1, 86_400);
    }

    fn check_cas(&self, faults: &mut ConfigFaults) {
        let cas = &self.auth.cas;
        let off = cas.server_url.is_empty();
        // Anyone who can change the traffic could log in as any user.
        let wanted = "empty, or a URL like `https://login.example.org/cas` without a query, and `https` unless the \
                      server is on this machine";
        faults.unless(off || is_cas_server(&cas.server_url), "auth.cas.server_url", wanted, &cas.server_url);
        let wanted = "an `http` or `https` URL when `auth.cas.server_url` is set and `auth.cas.services` is empty";
        let has_service = is_url(&cas.service_url) || cas.service_url.is_empty() && !cas.services.is_empty();
        faults.unless(off || has_service, "auth.cas.service_url", wanted, &cas.service_url);
        for service in &cas.services {
            let well = is_url(service) && !service.contains(['?', '#', '*']);
            faults.unless(well, "auth.cas.services", "`http` or `https` URLs without a query", service);
        }
        faults.within("auth.cas.total_seconds", cas.total_seconds, 1, 300);
        faults.within("auth.cas.connect_seconds", cas.connect_seconds, 1, cas.total_seconds);
        faults.within("auth.cas.answer_bytes", cas.answer_bytes, 1024, 1 << 20);
        faults.within("auth.cas.at_once", cas.at_once, 1, 256);
        for group in &cas.groups {
            faults.unless(is_name(group), "auth.cas.groups", "names of groups", group);
        }
        let attributes = [
            ("auth.cas.group_attribute", &cas.group_attribute),
            ("auth.cas.full_name_attribute", &cas.full_name_attribute),
            ("auth.cas.email_attribute", &cas.email_attribute),
        ];
        for (key, attribute) in attributes {
            let well = !attribute.contains(|c: char| c.is_whitespace() || c.is_control() || c == ':');
            faults.unless(well, key, "empty, or the name of an attribute without its prefix", attribute);
        }
        let together = cas.group_attribute.is_empty() == cas.group_mapping.is_empty();
        let wanted = "empty when `auth.cas.group_attribute` is, and only then";
        faults.unless(together, "auth.cas.group_mapping", wanted, cas.group_mapping.join(", "));
        for entry in &cas.group_mapping {
            let parts = entry.rsplit_once('=').map(|(value, group)| (value.trim(), group.trim()));
            let well = parts.is_some_and(|(value, group)| !value.is_empty() && is_name(group));
            faults.unless(well, "auth.cas.group_mapping", "a list of `value=group`", entry);
            // A group would be given at the first login and removed at the next, if the CAS server
            // does not name it.
            let own = parts.is_none_or(|(_, group)| !cas.groups.iter().any(|given| given == group));
            faults.unless(own, "auth.cas.group_mapping", "without groups of `auth.cas.groups`", entry);
        }
    }

    fn check_runtime(&self, faults: &mut ConfigFaults) {
        let runtime = &self.runtime;
        faults.within("runtime.arbiters", runtime.arbiters, 0, 1024);
        faults.within("runtime.permits_per_container", runtime.permits_per_container, 1, 1 << 30);
        faults.within("runtime.permits", runtime.permits, 1, 1 << 30);
        faults.seconds("runtime.idle_seconds", runtime.idle_seconds, 1);
        faults.within("runtime.containers", runtime.containers, 100, 1 << 30);
        faults.seconds("runtime.sweep_seconds", runtime.sweep_seconds, 1);
        faults.within("runtime.failures_allowed", runtime.failures_allowed, 1, 1_000_000);
        faults.seconds("runtime.failure_window_seconds", runtime.failure_window_seconds, 1);
        let first = runtime.restart_backoff_milliseconds;
        faults.within("runtime.restart_backoff_milliseconds", first, 0, 3_600_000);
        let longest = runtime.restart_backoff_max_milliseconds;
        faults.within("runtime.restart_backoff_max_milliseconds", longest, first, 3_600_000);
        faults.seconds("runtime.quarantine_seconds", runtime.quarantine_seconds, 0);
        faults.within("runtime.objects_per_step", runtime.objects_per_step, 1, 10_000);
    }

    fn check_messages(&self, faults: &mut ConfigFaults) {
        let messages = &self.messages;
        faults.within("messages.keep_days", messages.keep_days, 1, 36_500);
        faults.within("messages.per_box", messages.per_box, 10, 10_000);
        faults.within("messages.recipients", messages.recipients, 1, 50_000);
        faults.within("messages.body_bytes", messages.body_bytes, 1024, 1 << 20);
        faults.within("messages.attachments", messages.attachments, 0, 1000);
        let smtp = &self.smtp;
        let off = smtp.host.is_empty();
        let is_address = smtp.from.is_ascii() && smtp.from.parse::<lettre::Address>().is_ok();
        faults.unless(off || is_address, "smtp.from", "an e-mail address when `smtp.host` is set", &smtp.from);
        let together = smtp.user.is_empty() == smtp.password_file.as_os_str().is_empty();
        let wanted = "empty when `smtp.user` is, and only then";
        faults.unless(together, "smtp.password_file", wanted, smtp.password_file.display());
        let safe = smtp.user.is_empty() || smtp.security != SmtpSecurity::None || is_this_machine(&smtp.host);
        faults.unless(
            safe,
            "smtp.security",
            "`tls` or `starttls`, because a password would be sent unencrypted otherwise",
            "none",
        );
        faults.within("smtp.port", smtp.port, 1, 65_535);
        faults.within("smtp.timeout_seconds", smtp.timeout_seconds, 1, 600);
        faults.within("smtp.retry_seconds", smtp.retry_seconds, 1, 3600);
        faults.within("smtp.give_up_hours", smtp.give_up_hours, 1, 720);
        faults.within("smtp.queue", smtp.queue, 1, 1_000_000);
    }

    fn check_webhooks(&self, faults: &mut ConfigFaults) {
        let webhooks = &self.webhooks;
        faults.within("webhooks.most", webhooks.most, 0, 1000);
        for place in &webhooks.networks {
            let wanted = "a list of addresses and networks like `10.0.0.0/8`";
            faults.unless(network(place).is_some(), "webhooks.networks", wanted, place);
        }
        faults.within("webhooks.timeout_seconds", webhooks.timeout_seconds, 1, 50);
        faults.within("webhooks.retry_seconds", webhooks.retry_seconds, 1, 900);
        faults.within("webhooks.give_up_hours", webhooks.give_up_hours, 1, 720);
    }

    fn check_backup(&self, faults: &mut ConfigFaults) {
        let backup = &self.backup;
        let is_address = ["file:///", "s3://"].iter().any(|scheme| backup.target.starts_with(scheme));
        let wanted = "an address such as file:///backup/stet or s3://bucket/stet, or empty";
        faults.unless(is_address || backup.target.is_empty(), "backup.target", wanted, &backup.target);
        let is_server = ["http://", "https://"].iter().any(|scheme| backup.s3_endpoint.starts_with(scheme))
            && !backup.s3_endpoint.contains('@');
        // What is before an `@` may be a password.
        let shown = backup.s3_endpoint.rsplit('@').next().unwrap_or_default();
        let wanted = "an address such as https://s3.example.com without a user, or empty";
        faults.unless(is_server || backup.s3_endpoint.is_empty(), "backup.s3_endpoint", wanted, shown);
        faults.unless(!backup.s3_region.is_empty(), "backup.s3_region", "a region such as us-east-1", "");
        faults.within("backup.spool_bytes", backup.spool_bytes, 1 << 20, 1 << 40);
        faults.within("backup.base_hours", backup.base_hours, 1, 720);
        faults.within("backup.base_bytes_per_second", backup.base_bytes_per_second, 1 << 20, 1 << 32);
        faults.within("backup.keep_days", backup.keep_days, 1, 3650);
        faults.within("backup.drill_days", backup.drill_days, 0, 365);
        let journal = !backup.is_on() || self.store.durability == super::Durability::Journal;
        let wanted = "\"journal\" with a backup: without a journal no change has a record";
        faults.unless(journal, "store.durability", wanted, "none");
    }

    fn check_search(&self, faults: &mut ConfigFaults) {
        let search = &self.search;
        faults.within("search.languages", search.languages.len(), 1, 8);
        for language in &search.languages {
            let wanted = format!("codes of known languages: {}", SEARCH_LANGUAGES.join(", "));
            faults.unless(SEARCH_LANGUAGES.contains(&language.as_str()), "search.languages", &wanted, language);
        }
        faults.within("search.content_bytes", search.content_bytes, 0, 16 << 20);
    }

    fn check_events(&self, faults: &mut ConfigFaults) {
        let events = &self.events;
        faults.within("events.followers", events.followers, 1, 1_000_000);
        faults.within("events.followers_per_container", events.followers_per_container, 1, 1_000_000);
        faults.within("events.followers_per_user", events.followers_per_user, 1, 1_000_000);
        faults.within("events.containers_per_user", events.containers_per_user, 1, 1_000_000);
        // Below this, followers on another thread could lose a mere burst.
        faults.within("events.queue_events", events.queue_events, 64, 1 << 20);
        faults.within("events.keep_alive_seconds", events.keep_alive_seconds, 1, 3600);
    }

    fn check_store(&self, faults: &mut ConfigFaults) {
        let store = &self.store;
        // Larger values would have no effect: the memory for rows that are not in the tables yet is
        // limited.
        let (most_bytes, most_rows) = LimitOptions::default().most_gathered();
        faults.within("store.checkpoint_bytes", store.checkpoint_bytes, 1 << 16, most_bytes as u64);
        faults.within("store.checkpoint_rows", store.checkpoint_rows, 1, most_rows as u64);
        faults.seconds("store.checkpoint_seconds", store.checkpoint_seconds, 1);
        faults.within("store.events_keep_days", store.events_keep_days, 0, 36_500);
        faults.within("store.linger_microseconds", store.linger_microseconds, 0, 10_000);
        faults.within("store.queue_change_sets", store.queue_change_sets, 1, 1 << 30);
        faults.within("store.reserve_bytes", store.reserve_bytes, 0, MAX_BYTES);
        // These contents are hashed and held in memory on the threads that read requests.
        faults.within("store.small_body_bytes", store.small_body_bytes, 0, 1 << 20);
    }

    fn check_content(&self, faults: &mut ConfigFaults) {
        let content = &self.content;
        faults.seconds("content.collect_after_seconds", content.collect_after_seconds, 0);
        faults.within("content.lowres_pixels", content.lowres_pixels, 16, 4096);
        // Decoders need a multiple of a picture's size in memory.
        faults.within("content.picture_pixels", content.picture_pixels, 1, 1 << 30);
        faults.within("content.picture_memory_bytes", content.picture_memory_bytes, 1 << 20, MAX_BYTES);
        faults.within("content.picture_bytes", content.picture_bytes, 1024, 1 << 30);
        faults.within("content.scaled_at_once", content.scaled_at_once, 1, 64);
        faults.within("content.scaling_wait_seconds", content.scaling_wait_seconds, 1, 300);
    }

    fn check_lists(&self, faults: &mut ConfigFaults) {
        self.check_databases(faults);
        faults.unless(!self.connections.is_empty(), "connections", "a list with one entry at least", "");
        let mut ids = HashSet::new();
        for connection in &self.connections {
            faults.unless(is_name(&connection.id), "connections.id", "a name", &connection.id);
            let wanted = "different for each connection";
            faults.unless(ids.insert(&connection.id), "connections.id", wanted, &connection.id);
        }
    }

    fn check_databases(&self, faults: &mut ConfigFaults) {
        let mut ids = HashSet::new();
        for database in &self.databases {
            faults.unless(database.id >= 1, "databases.id", "1 or more", database.id);
            faults.unless(ids.insert(database.id), "databases.id", "different for each database", database.id);
        }
        // A call may name a database by number, name or alias, so each must be unique.
        for (at, database) in self.databases.iter().enumerate() {
            let (before, behind) = (&self.databases[..at], &self.databases[at + 1..]);
            let is_alone = |name: &String| {
                let is_number_behind = behind.iter().any(|other| name.parse() == Ok(other.id));
                !is_number_behind && !before.iter().any(|other| other.is_named(name))
            };
            let aliases = database.aliases.iter().map(|alias| ("databases.aliases", alias));
            for (key, name) in [("databases.name", &database.name)].into_iter().chain(aliases) {
                faults.unless(is_name(name), key, "a name", name);
                faults.unless(is_alone(name), key, "different for each database, and not the number of another", name);
            }
        }
        let main: Vec<String> =
            self.databases.iter().filter(|database| database.main).map(|main| main.id.to_string()).collect();
        faults.unless(main.len() <= 1, "databases.main", "true for one database at most", main.join(", "));
        let listed = self.databases.iter().map(|database| database.id.to_string()).collect::<Vec<_>>().join(", ");
        let wanted = "a list with the main database: an entry with `main = true`, or the id 1";
        faults.unless(!main.is_empty() || ids.contains(&1), "databases", wanted, listed);
    }

    fn check_folders(&self, faults: &mut ConfigFaults) {
        let (drawer, folders) = (&self.drawer, &self.folders);
        faults.within("drawer.default_capacity", drawer.default_capacity, 1, 10_000);
        faults.folder("drawer.automatic_folder", &drawer.automatic_folder);
        faults.unless(is_name(&drawer.automatic_name), "drawer.automatic_name", "a name", &drawer.automatic_name);
        if !drawer.automatic_name.contains(USER) {
            faults.names_user("drawer.automatic_folder", &drawer.automatic_folder);
        }
        faults.folder("liveblog.template", &self.liveblog.template);
        self.check_public(faults);
        faults.folder("story.template", &self.story.template);
        faults.folder("topic.template", &self.topic.template);
        faults.folder("topic_plan.template", &self.topic_plan.template);
        faults.folder("folders.users", &folders.users);
        faults.folder("folders.home", &folders.home);
        faults.names_user("folders.home", &folders.home);
        faults.folder("folders.work", &folders.work);
        faults.within("recycle_bin.purge_after_days", self.recycle_bin.purge_after_days, 0, 36_500);
    }

    fn check_public(&self, faults: &mut ConfigFaults) {
        let public = &self.liveblog.public;
        let most = public::MOST_FOLDERS;
        let number = public.folders.len();
        faults.unless(number <= most, "liveblog.public.folders", &format!("at most {most} paths"), number);
        for folder in &public.folders {
            faults.folder("liveblog.public.folders", folder);
        }
        let address = &public.address;
        let wanted = "empty, or an address like `https://live.example.org` that does not end in `/`";
        faults.unless(address.is_empty() || public::is_address(address), "liveblog.public.address", wanted, address);
        faults.within("liveblog.public.posts", public.posts, 1, 100);
        faults.within("liveblog.public.max_age_seconds", public.max_age_seconds, 1, 3600);
        for site in &public.embed_sites {
            let wanted = "a list of `*` or sites like `https://www.example.org`, `*.example.org`";
            faults.unless(public::is_site(site), "liveblog.public.embed_sites", wanted, site);
        }
    }
}

/// Reports whether a text is an absolute URL of HTTP without user or fragment.
fn is_url(text: &str) -> bool {
    let parsed = text.parse::<Uri>().ok().filter(|_| !text.contains('#'));
    parsed.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    })
}

/// Reports whether a text is a valid `auth.cas.server_url`.
fn is_cas_server(text: &str) -> bool {
    let Some(uri) = text.parse::<Uri>().ok().filter(|_| is_url(text)) else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    uri.query().is_none() && (uri.scheme_str() == Some("https") || is_this_machine(host))
}

/// Reports whether a host is this machine, independently of any resolver.
fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_segment(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Reports whether a text is a log filter. A misspelt level must not be taken for the name of a
/// module.
fn is_filter(filter: &str) -> bool {
    let level = |text: &str| text.parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    let well = |part: &str| part.contains('=') || part.contains("::") || part.contains('[') || level(part);
    !filter.trim().is_empty()
        && filter.split(',').all(|part| well(part.trim()))
        && tracing_subscriber::EnvFilter::try_new(filter).is_ok()
}
