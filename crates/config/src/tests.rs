use std::ffi::OsString;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::*;

const DOCUMENTED: &str = include_str!("../../../config.toml");

/// The configuration from a file's text, variables and the command line.
fn config(file: &str, variables: &[(&str, &str)], overrides: &ConfigOverrides) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let path = directory.path().join("config.toml");
    fs::write(&path, file).expect("it was just made");
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    // How the values were found is none of them.
    Config::layered(Some(&path), variables, overrides).map(|found| Config { origin: ConfigOrigin::default(), ..found })
}

fn from_file(file: &str) -> Result<Config, ConfigError> {
    config(file, &[], &ConfigOverrides::default())
}

fn from_variables(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    config("", variables, &ConfigOverrides::default())
}

fn fault(result: Result<Config, ConfigError>) -> String {
    result.expect_err("the configuration is at fault").to_string()
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn the_documented_file_says_what_the_defaults_are() {
    assert_eq!(from_file(DOCUMENTED), Ok(Config::default()));
}

/// The keys that a value has, dotted; a list's are those of its entries.
fn keys(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Table(values) => {
            for (key, value) in values {
                keys(format!("{at}.{key}").trim_start_matches('.'), value, found);
            }
        }
        Value::Array(entries) if entries.iter().any(Value::is_table) => {
            entries.iter().for_each(|entry| keys(at, entry, found));
        }
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn the_documented_file_has_every_key() {
    let file: Table = DOCUMENTED.parse().expect("the file is TOML");
    let (mut documented, mut known) = (Vec::new(), Vec::new());
    keys("", &Value::from(file), &mut documented);
    keys("", &Value::try_from(Config::default()).expect("it is numbers and texts"), &mut known);
    assert_eq!(documented, known);
}

#[test]
fn every_key_in_the_documented_file_has_a_comment_of_its_own() {
    let lines: Vec<_> = DOCUMENTED.lines().collect();
    for pair in lines.windows(2) {
        let is_key = !pair[1].starts_with('#') && pair[1].contains(" = ");
        assert!(!is_key || pair[0].starts_with("# "), "`{}` has no comment", pair[1]);
    }
}

#[test]
fn settings_rank_defaults_below_file_below_environment_below_command_line() {
    let file = "[server]\nlisten = 'file:1'\nworkers = 2\n[data]\ndirectory = 'file'\n[runtime]\npermits = 7";
    let variables = [("STET_SERVER__LISTEN", "environment:2"), ("STET_DATA__DIRECTORY", "environment")];
    let overrides = ConfigOverrides { data: Some("option".into()), listen: None };
    let config = config(file, &variables, &overrides).expect("all values are well");
    assert_eq!(config.server.listen, "environment:2");
    assert_eq!(config.data.directory, Path::new("option"));
    assert_eq!((config.server.workers, config.runtime.permits), (2, 7));
    assert_eq!(config.server.keep_alive_seconds, ServerConfig::default().keep_alive_seconds);
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let missing = Path::new("/nowhere/stet.toml");
    assert_says(&fault(Config::load(Some(missing), &ConfigOverrides::default())), &["/nowhere/stet.toml"]);
    assert_says(&fault(Config::load(Some(Path::new("/")), &ConfigOverrides::default())), &["directory", "/"]);
    let none = Config::layered(None, std::iter::empty(), &ConfigOverrides::default());
    assert_eq!(none, Ok(Config::default()));
}

#[test]
fn a_misspelt_key_in_the_file_is_named_with_its_section_and_file() {
    let text = fault(from_file("[server]\nlisen = 'x:1'"));
    assert_says(&text, &["`server.lisen`", "in `server` are listen,", "config.toml"]);
    assert_says(&fault(from_file("[sever]\nlisten = 'x:1'")), &["`sever`", "server", "config.toml"]);
    assert_says(&fault(from_file("[[databases]]\nid = 1\nname = 'm'\nsize = 3")), &["`databases.0.size`"]);
    assert_says(&fault(from_file("[runtime]\narbiter = 3")), &["`runtime.arbiter`"]);
}

#[test]
fn a_value_of_the_wrong_type_in_the_file_is_named() {
    assert_says(&fault(from_file("[server]\nworkers = 'many'")), &["`server.workers`", "\"many\"", "config.toml"]);
    assert_says(&fault(from_file("[server]\nworkers = -1")), &["`server.workers`", "a whole number", "-1"]);
    assert_says(&fault(from_file("[data]\ndirectory = 1")), &["`data.directory`", "a text", "1"]);
    assert_says(&fault(from_file("[sample]\nenabled = 'x'")), &["`sample.enabled`", "true or false"]);
    assert_says(&fault(from_file("databases = 'x'")), &["`databases`", "a list"]);
    for (text, key, found) in [
        ("server = 1", "`server`", "is 1."),
        ("[[server]]\nlisten = 'x:1'", "`server`", "is a list."),
        ("[server]\ntls = 'x'", "`server.tls`", "\"x\""),
        ("databases = [1]", "`databases.0`", "is 1."),
    ] {
        let said = fault(from_file(text));
        assert_says(&said, &[key, "a section of keys", found, "config.toml"]);
        assert!(!said.contains("struct") && !said.contains("map"), "{said}");
    }
    assert_says(
        &fault(from_file("[server.listen]\nx = 1")),
        &["`server.listen`", "a text in quotes", "a section of keys"],
    );
    assert_says(&fault(from_file("[log]\nformat = 'xml'")), &["`log.format`", "text, json", "`xml`"]);
    assert_says(&fault(from_file("[store]\ndurability = 'some'")), &["`store.durability`", "journal, none"]);
}

#[test]
fn text_that_is_no_toml_is_reported_with_its_line() {
    assert_says(&fault(from_file("[server]\nlisten = ")), &["line 2", "config.toml"]);
}

#[test]
fn variables_that_nothing_reads_are_told() {
    let given =
        ["STET_SERVER_LISTEN", "STET_SERVER__LISTEN", "STET_ADMIN_PASSWORD", "STET_ADMIN_PASWORD", "STETSON", "PATH"];
    let unread = super::environment::unread_names(given.map(|name| (name.into(), "x".into())).into_iter());
    assert_eq!(unread, ["STET_ADMIN_PASWORD", "STET_SERVER_LISTEN"]);
}

#[test]
fn a_misspelt_variable_is_named() {
    for name in ["STET_SERVER__LISEN", "STET_SEVER__LISTEN", "STET_SERVER__LISTEN__X", "STET_DATABASES__NAME__0"] {
        assert_says(&fault(from_variables(&[(name, "x:1")])), &[name]);
    }
}

#[test]
fn a_bad_value_in_a_variable_is_named_with_the_variable() {
    for (name, value) in [
        ("STET_SERVER__WORKERS", "many"),
        ("STET_SERVER__WORKERS", "-1"),
        ("STET_SERVER__WORKERS", "5000"),
        ("STET_SAMPLE__ENABLED", "perhaps"),
        ("STET_LOG__FORMAT", "xml"),
        ("STET_DRAWER__DEFAULT_CAPACITY", "0"),
        ("STET_DATABASES__0__ID", "70000"),
    ] {
        assert_says(&fault(from_variables(&[(name, value)])), &[name, value]);
    }
}

#[test]
fn variables_without_two_underscores_are_not_ours() {
    let variables = [("STET_ADMIN_PASSWORD", "x"), ("STET_", ""), ("OTHER__KEY", "x"), ("PATH", "/bin")];
    assert_eq!(from_variables(&variables), Ok(Config::default()));
}

#[test]
fn a_part_of_a_section_has_variables_too() {
    let config = from_variables(&[
        ("STET_SERVER__TLS__CERTIFICATE", "c.pem"),
        ("STET_SERVER__TLS__KEY", "k.pem"),
        ("STET_SERVER__TLS__RELOAD_SECONDS", "7"),
    ])
    .expect("all values are well");
    assert_eq!(config.server.tls.certificate, Path::new("c.pem"));
    assert_eq!((config.server.tls.reload_seconds, config.server.max_connections), (7, 10_000));
    assert_says(&fault(from_variables(&[("STET_SERVER__TLS__CERT", "x")])), &["STET_SERVER__TLS__CERT"]);
    assert_says(&fault(from_variables(&[("STET_SERVER__TLS__RELOAD_SECONDS", "x")])), &["a whole number", "`x`"]);
}

#[test]
fn a_variable_is_read_as_what_its_default_is() {
    let config = from_variables(&[
        ("STET_DATA__DIRECTORY", "2024"),
        ("STET_DRAWER__AUTOMATIC_NAME", "true"),
        ("STET_SAMPLE__ENABLED", "0"),
        ("STET_LIMITS__UPLOAD_BYTES", " 2048 "),
        ("STET_CONNECTIONS__0__APPLICATIONS", "Writer, Planner"),
    ])
    .expect("all values are well");
    assert_eq!(config.data.directory, Path::new("2024"));
    assert_eq!(config.drawer.automatic_name, "true");
    assert!(!config.sample.enabled);
    assert_eq!(config.limits.upload_bytes, 2048);
    assert_eq!(config.connections[0].applications, ["Writer", "Planner"]);
}

#[test]
fn variables_change_entries_of_lists_and_add_the_next() {
    let config = from_variables(&[
        ("STET_DATABASES__0__NAME", "first"),
        ("STET_DATABASES__1__ID", "2"),
        ("STET_DATABASES__1__NAME", "archive"),
    ])
    .expect("all values are well");
    let names: Vec<_> = config.databases.iter().map(|database| (database.id, database.name.as_str())).collect();
    assert_eq!(names, [(1, "first"), (2, "archive")]);
    assert_says(&fault(from_variables(&[("STET_DATABASES__5__ID", "2")])), &["STET_DATABASES__5__ID", "count from 0"]);
    assert_says(&fault(from_variables(&[("STET_DATABASES__1__ID", "2")])), &["`name`", "STET_DATABASES__1__ID"]);
}

#[test]
fn variables_add_more_entries_than_ten() {
    // As texts, the tenth comes before the second.
    let names: Vec<_> = (0..23).map(|number| format!("STET_CONNECTIONS__{number}__ID")).collect();
    let ids: Vec<_> = (0..23).map(|number| format!("desk{number}")).collect();
    let titles: Vec<_> = (0..23).map(|number| format!("STET_CONNECTIONS__{number}__NAME")).collect();
    let variables: Vec<_> =
        names.iter().chain(&titles).map(String::as_str).zip(ids.iter().chain(&ids).map(String::as_str)).collect();
    let config = from_variables(&variables).expect("all values are well");
    let found: Vec<_> = config.connections.iter().map(|connection| &connection.id).collect();
    assert_eq!(found, ids.iter().collect::<Vec<_>>());
}

#[test]
fn values_out_of_bounds_are_refused_with_key_and_value() {
    for (file, key, value) in [
        ("[server]\nbase_path = 'api'", "server.base_path", "`api`"),
        ("[server]\nbase_path = '/api/'", "server.base_path", "`/api/`"),
        ("[server]\nbase_path = '/'", "server.base_path", "`/`"),
        ("[compat]\nlogin_path = '/swing/login'", "compat.login_path", "so none if that is empty"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = '/a/b'", "compat.login_path", "`/a/b`"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = '/a/b/login'", "compat.login_path", "`/a/b/login`"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = 'a/login'", "compat.login_path", "`a/login`"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = '/a//login'", "compat.login_path", "`/a//login`"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = '/'", "compat.login_path", "`/`"),
        ("[server]\nbase_path = '/a/b'\n[compat]\nlogin_path = '/metrics'", "compat.login_path", "`/metrics`"),
        ("[server]\nworkers = 513", "server.workers", "between 0 and 512"),
        ("[server]\nlisten = '8080'", "server.listen", "`8080`"),
        ("[server]\nlisten = '::1:80'", "server.listen", "`::1:80`"),
        ("[drawer]\ndefault_capacity = 10001", "drawer.default_capacity", "`10001`"),
        ("[drawer]\nautomatic_folder = '/Shared'", "drawer.automatic_folder", "{user}"),
        ("[liveblog]\ntemplate = 'liveblog.xml'", "liveblog.template", "`liveblog.xml`"),
        ("[liveblog.public]\nfolders = ['Public']", "liveblog.public.folders", "`Public`"),
        ("[liveblog.public]\naddress = 'https://a.example/'", "liveblog.public.address", "`https://a.example/`"),
        ("[liveblog.public]\nposts = 101", "liveblog.public.posts", "between 1 and 100"),
        ("[liveblog.public]\nmax_age_seconds = 0", "liveblog.public.max_age_seconds", "between 1 and 3600"),
        ("[liveblog.public]\nembed_sites = ['a; b']", "liveblog.public.embed_sites", "`a; b`"),
        ("[story]\ntemplate = 'story.xml'", "story.template", "`story.xml`"),
        ("[topic]\ntemplate = 'topic'", "topic.template", "`topic`"),
        ("[topic_plan]\ntemplate = 'plan'", "topic_plan.template", "`plan`"),
        ("[memory]\nlimit_bytes = 1", "memory.limit_bytes", "268435456"),
        ("[memory]\nlimit_bytes = 536870912\ncalls_bytes = 536870912", "memory.limit_bytes", "of its parts"),
        ("[memory]\ncalls_bytes = 1", "memory.calls_bytes", "`1`"),
        ("[memory]\nlargest_change_bytes = 1", "memory.largest_change_bytes", "`1`"),
        ("[memory]\ncontainers_bytes = 33554431", "memory.containers_bytes", "33554432"),
        ("[content]\ncollect_after_seconds = 9000000000000", "content.collect_after_seconds", "9000000000000"),
        ("[content]\nlowres_pixels = 15", "content.lowres_pixels", "`15`"),
        ("[content]\npicture_pixels = 0", "content.picture_pixels", "`0`"),
        ("[content]\npicture_bytes = 1023", "content.picture_bytes", "`1023`"),
        ("[content]\nscaled_at_once = 0", "content.scaled_at_once", "`0`"),
        ("[content]\nscaling_wait_seconds = 301", "content.scaling_wait_seconds", "`301`"),
        ("[folders]\nhome = 'Users/{user}'", "folders.home", "absolute"),
        ("[folders]\nwork = '/Work//x'", "folders.work", "`/Work//x`"),
        ("[log]\nfilter = 'debgu'", "log.filter", "`debgu`"),
        ("[auth]\nsession_absolute_seconds = 60", "auth.session_absolute_seconds", "14400"),
        ("[auth]\npassword_memory_kib = 7", "auth.password_memory_kib", "between 8"),
        // Half of what memory holds beside the tables.
        ("[store]\ncheckpoint_rows = 750001", "store.checkpoint_rows", "between 1 and 750000"),
        ("[store]\ncheckpoint_bytes = 134217729", "store.checkpoint_bytes", "between 65536 and 134217728"),
        ("[auth]\nsession_absolute_seconds = 9000000000000", "auth.session_absolute_seconds", "9000000000000"),
        ("[runtime]\narbiters = 1025", "runtime.arbiters", "`1025`"),
        ("[limits]\nxml_depth = 513", "limits.xml_depth", "512"),
        ("[limits]\nupload_parts = 1", "limits.upload_parts", "`1`"),
        ("[limits]\nupload_progress_bytes = 0", "limits.upload_progress_bytes", "`0`"),
        ("[server]\nslow_reader_seconds = 86401", "server.slow_reader_seconds", "`86401`"),
        ("[limits]\ncalls_per_minute = 6000001", "limits.calls_per_minute", "`6000001`"),
        ("[auth]\nfailure_window_seconds = 0", "auth.failure_window_seconds", "`0`"),
        ("[auth]\nfailures_per_user = 1000001", "auth.failures_per_user", "`1000001`"),
        ("[auth]\nfailures_per_address = 1000001", "auth.failures_per_address", "`1000001`"),
        ("[server]\ntrusted_proxies = ['10.0.0.0/8', 'proxy']", "server.trusted_proxies", "`proxy`"),
        ("[server]\nforwarded_header = 'via'", "server.forwarded_header", "`via`"),
        ("[server.tls]\ncertificate = 'c.pem'", "server.tls.key", "together"),
        ("[server.tls]\nkey = 'k.pem'", "server.tls.key", "`k.pem`"),
        ("[server.tls]\nhandshake_seconds = 0", "server.tls.handshake_seconds", "`0`"),
        ("[server.tls]\nreload_seconds = 0", "server.tls.reload_seconds", "`0`"),
        ("[[databases]]\nid = 2\nname = 'other'", "databases", "id 1"),
        ("databases = []", "databases", "id 1"),
        ("connections = []", "connections", "one entry"),
    ] {
        assert_says(&fault(from_file(file)), &[key, value]);
    }
}

#[test]
fn every_number_has_a_highest_value() {
    let defaults = Table::try_from(Config::default()).expect("it is numbers and texts");
    let mut known = Vec::new();
    keys("", &defaults.clone().into(), &mut known);
    let is_number = |key: &&String| super::layers::find(&defaults, key).is_some_and(Value::is_integer);
    let without: Vec<_> = known
        .iter()
        .filter(is_number)
        .filter(|key| {
            let variable = format!("STET_{}", key.replace('.', "__").to_uppercase());
            let result = from_variables(&[(&variable, &i64::MAX.to_string())]);
            !result.is_err_and(|error| error.to_string().contains(&**key))
        })
        .collect();
    assert!(without.is_empty(), "no bound, and what takes the value may fail: {without:?}");
}

#[test]
fn databases_and_connections_are_told_apart() {
    let two = "[[databases]]\nid = 1\nname = 'a'\n[[databases]]\nid = 1\nname = 'a'";
    assert_says(&fault(from_file(two)), &["databases.id", "databases.name", "different", "config.toml"]);
    for (table, says) in [
        ("[[databases]]\nid = 2\nname = 'a'", "databases"),
        ("[[databases]]\nid = 1\nname = 'a'\n[[databases]]\nid = 2\nname = '1'", "databases.name"),
        ("[[databases]]\nid = 1\nname = '2'\n[[databases]]\nid = 2\nname = 'b'", "databases.name"),
        ("[[databases]]\nid = 1\nname = 'a'\naliases = ['b']\n[[databases]]\nid = 2\nname = 'b'", "databases.name"),
        ("[[databases]]\nid = 1\nname = 'a'\n[[databases]]\nid = 2\nname = 'b'\naliases = ['a']", "databases.aliases"),
        ("[[databases]]\nid = 1\nname = 'a'\naliases = ['']", "databases.aliases"),
        (
            "[[databases]]\nid = 1\nname = 'a'\nmain = true\n[[databases]]\nid = 2\nname = 'b'\nmain = true",
            "databases.main",
        ),
    ] {
        assert_says(&fault(from_file(table)), &[says]);
    }
    let two = "[[connections]]\nid = 'a'\nname = 'x'\n[[connections]]\nid = 'a'\nname = 'y'";
    assert_says(&fault(from_file(two)), &["connections.id", "different"]);
}

#[test]
fn all_values_out_of_bounds_are_reported_at_once() {
    let text = fault(from_file("[drawer]\ndefault_capacity = 0\n[runtime]\narbiters = 1025"));
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_bad_value_on_the_command_line_is_named_with_its_option() {
    let overrides = ConfigOverrides { data: None, listen: Some("nowhere".to_owned()) };
    assert_says(&fault(config("", &[], &overrides)), &["server.listen", "`nowhere`", "--listen"]);
}

#[test]
fn usual_addresses_and_base_paths_are_accepted() {
    for listen in ["127.0.0.1:0", "localhost:8080", "[::1]:8080", "0.0.0.0:65535"] {
        let overrides = ConfigOverrides { data: None, listen: Some(listen.to_owned()) };
        assert!(config("", &[], &overrides).is_ok(), "{listen}");
    }
    for base in ["/swing/api/rest", "/restAPI/rest", ""] {
        assert!(from_variables(&[("STET_SERVER__BASE_PATH", base)]).is_ok(), "{base}");
    }
    for filter in ["debug", "warn,stet=debug", "info,stet_store=trace"] {
        assert!(from_variables(&[("STET_LOG__FILTER", filter)]).is_ok(), "{filter}");
    }
}

const CAS: &str = "[auth.cas]\nserver_url = 'https://cas.example.org'\nservice_url = 'https://stet.example.org/'\n";

#[test]
fn a_cas_server_is_a_safe_url_with_a_service_and_groups_that_add_up() {
    let usual = format!(
        "{CAS}groups = ['all']\ngroup_attribute = 'memberOf'\ngroup_mapping = ['cn=desk,dc=org=editors', 'x = readers ']"
    );
    let config = from_file(&usual).expect("all values are well");
    let mapping: Vec<_> = config.auth.cas.mapping().collect();
    assert_eq!(mapping, [("cn=desk,dc=org", "editors"), ("x", "readers")]);
    for (key, value) in [
        ("server_url", "cas.example.org"),
        ("server_url", "http://cas.example.org"),
        ("server_url", "http://127.0.0.1.example.org"),
        ("server_url", "https://user:secret@cas.example.org"),
        ("server_url", "https://cas.example.org/?x=1"),
        ("server_url", "https://cas.example.org/#x"),
        ("server_url", "ftp://cas.example.org"),
        ("service_url", "stet.example.org"),
        ("service_url", "https://stet.example.org/#x"),
        ("service_url", ""),
    ] {
        let file = CAS.replace(&format!("{key} = '"), &format!("{key} = '{value}' # "));
        assert_says(&fault(from_file(&file)), &[&format!("auth.cas.{key}"), &format!("`{value}`"), "config.toml"]);
    }
    for url in
        ["http://127.0.0.1:8443/cas", "http://localhost", "http://[::1]:80/", "https://cas.example.org:8443/cas/"]
    {
        assert!(from_variables(&[("STET_AUTH__CAS__SERVER_URL", url), ("STET_AUTH__CAS__SERVICE_URL", url)]).is_ok());
    }
    for (lines, key, value) in [
        ("total_seconds = 0", "total_seconds", "`0`"),
        ("total_seconds = 301", "total_seconds", "`301`"),
        ("connect_seconds = 11", "connect_seconds", "`11`"),
        ("answer_bytes = 1023", "answer_bytes", "`1023`"),
        ("at_once = 0", "at_once", "`0`"),
        ("groups = ['a/b']", "groups", "`a/b`"),
        ("full_name_attribute = 'cas:name'", "full_name_attribute", "`cas:name`"),
        ("group_attribute = 'memberOf'", "group_mapping", "``"),
        ("group_mapping = ['a=b']", "group_mapping", "`a=b`"),
        ("group_attribute = 'g'\ngroup_mapping = ['ab']", "group_mapping", "`ab`"),
        ("group_attribute = 'g'\ngroup_mapping = ['=b']", "group_mapping", "`=b`"),
        ("group_attribute = 'g'\ngroup_mapping = ['a=b']\ngroups = ['b']", "group_mapping", "`a=b`"),
    ] {
        assert_says(&fault(from_file(&format!("{CAS}{lines}"))), &[&format!("auth.cas.{key}"), value]);
    }
}

#[test]
fn variables_reach_sections_inside_sections() {
    let config = from_variables(&[("STET_AUTH__CAS__AT_ONCE", "3"), ("STET_AUTH__CAS__GROUPS", "a, b")]);
    let cas = config.expect("all values are well").auth.cas;
    assert_eq!((cas.at_once, &*cas.groups), (3, ["a".to_owned(), "b".to_owned()].as_slice()));
    for name in ["STET_AUTH__CAS__ATONCE", "STET_AUTH__CSA__AT_ONCE", "STET_AUTH__CAS"] {
        assert_says(&fault(from_variables(&[(name, "1")])), &[name]);
    }
}

#[test]
fn the_user_takes_its_place_in_folders_and_names() {
    assert_eq!(for_user("/Users/{user}", "ann"), "/Users/ann");
    assert_eq!(for_user("Clipboard", "ann"), "Clipboard");
    assert_eq!(for_user("/Users/{user}", "mia|b"), "/Users/mia_b", "as the folder is called that such a path makes");
}

#[test]
fn content_files_are_collected_unless_they_must_stay() {
    let after = |text: &str| from_file(text).expect("all values are well").collect_after().map(|after| after.as_secs());
    assert_eq!(after(""), Some(86_400));
    assert_eq!(after("[content]\ncollect_after_seconds = 1"), Some(1));
    assert_eq!(after("[content]\ncollect_after_seconds = 0"), None);
    assert_eq!(after("[store]\ndurability = 'none'"), None);
}

#[test]
fn mail_relays_need_a_sender_and_get_no_password_in_plain_text() {
    let relay = "[smtp]\nhost = 'mail.example.org'\nfrom = 'newsroom@example.org'\n";
    let from_file = |lines: &str| from_file(&format!("{relay}{lines}"));
    let smtp = from_file("").expect("all values are well").smtp;
    assert_eq!((smtp.port, smtp.security), (587, SmtpSecurity::Starttls));
    for lines in ["security = 'none'", "user = 'stet'\npassword_file = '/run/secret'\nsecurity = 'tls'"] {
        assert!(from_file(lines).is_ok(), "{lines}");
    }
    for (lines, key, value) in [
        ("user = 'stet'", "password_file", "``"),
        ("password_file = '/run/secret'", "password_file", "/run/secret"),
        ("user = 'stet'\npassword_file = 'p'\nsecurity = 'none'", "security", "`none`"),
        ("port = 0", "port", "`0`"),
        ("queue = 0", "queue", "`0`"),
    ] {
        assert_says(&fault(from_file(lines)), &[&format!("smtp.{key}"), value]);
    }
    for from in ["", "newsroom", "a b@example.org", "ü@example.org"] {
        let file = format!("[smtp]\nhost = 'mail.example.org'\nfrom = '{from}'\n");
        assert_says(&fault(self::from_file(&file)), &["smtp.from", &format!("`{from}`")]);
    }
}

#[test]
fn main_database_is_the_marked_one_or_number_one() {
    let main = |table: &str| from_file(table).map(|config| config.main_database().0);
    assert_eq!(main(""), Ok(1));
    assert_eq!(main("[[databases]]\nid = 2\nname = 'b'\n[[databases]]\nid = 1\nname = 'a'"), Ok(1));
    let marked =
        "[[databases]]\nid = 33\nname = '33'\nmain = true\naliases = ['33', '1']\n[[databases]]\nid = 2\nname = 'b'";
    assert_eq!(main(marked), Ok(33));
    let config = from_file(marked).expect("all values are well");
    let named = |wanted: &str| config.databases.iter().position(|database| database.is_named(wanted));
    assert_eq!(["33", "1", "2", "b", "a", "3"].map(named), [Some(0), Some(0), Some(1), Some(1), None, None]);
}

#[test]
fn the_place_of_the_backup_is_a_folder_or_a_bucket_and_no_password_is_shown() {
    let config = from_variables(&[
        ("STET_BACKUP__TARGET", "s3://bucket/stet"),
        ("STET_BACKUP__S3_ENDPOINT", "https://s3.example.com"),
        ("STET_BACKUP__S3_CREDENTIALS_FILE", "/etc/stet/s3"),
    ])
    .expect("all values are well");
    assert_eq!((config.backup.is_on(), config.backup.s3_region.as_str()), (true, "us-east-1"));
    for (name, value) in [
        ("STET_BACKUP__TARGET", "/backup/stet"),
        ("STET_BACKUP__S3_ENDPOINT", "s3.example.com"),
        ("STET_BACKUP__S3_REGION", ""),
    ] {
        assert_says(&fault(from_variables(&[(name, value)])), &[name, value]);
    }
    let said = fault(from_variables(&[("STET_BACKUP__S3_ENDPOINT", "https://user:hunter2@s3.example.com")]));
    assert_says(&said, &["STET_BACKUP__S3_ENDPOINT", "s3.example.com"]);
    assert!(!said.contains("hunter2"), "{said}");
}
