//! The structure that `docs/ARCHITECTURE.md` describes, held by the code itself: dependencies run
//! one way, and no ring of files that all need each other grows beyond what one person can hold in
//! mind.

mod files;
mod names;
mod promises;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

use self::files::Tree;

/// No ring may have more files.
const RING: usize = 10;

/// What may not be used from where: modules of the server by their first names.
const ONE_WAY: &[(&[&str], &[&str])] = &[
    // The web layer is given its endpoints, and does not know who answers them.
    (&["http"], &["api", "server", "cli", "sample"]),
    // What the newsroom is knows nothing of HTTP, nor of who serves or administers it.
    (
        &[
            "access",
            "audit",
            "auth",
            "check",
            "config",
            "content",
            "events",
            "limits",
            "newsroom",
            "receipts",
            "records",
            "sysconfig",
        ],
        &["http", "api", "server", "cli", "admin", "sample"],
    ),
    (&["api"], &["server", "cli", "sample"]),
    (&["admin", "sample"], &["http", "api"]),
];

/// The same of the domain.
const ONE_WAY_IN_THE_DOMAIN: &[(&[&str], &[&str])] = &[
    (&["id", "error", "clock"], &["store", "object", "command", "family", "runtime", "repository"]),
    (
        &["store", "object"],
        &[
            "command",
            "family",
            "drawer",
            "liveblog",
            "topic",
            "topic_plan",
            "bundle",
            "web_container",
            "folder",
            "document",
            "runtime",
            "repository",
        ],
    ),
    (
        &["sequence", "lineup"],
        &["drawer", "liveblog", "topic", "topic_plan", "checkout", "lifecycle", "runtime", "repository"],
    ),
    (
        &["drawer", "liveblog", "topic", "topic_plan", "bundle", "web_container", "folder", "document"],
        &["runtime", "repository"],
    ),
    (&["checkout", "lifecycle"], &["runtime", "repository"]),
    // Families plug in: what is the same for all of them knows none of them.
    (
        &["command", "family", "joint", "part", "proof", "checkout", "lifecycle"],
        &["drawer", "liveblog", "topic", "topic_plan", "bundle", "web_container", "families"],
    ),
    (&["runtime"], &["repository"]),
];

fn tree(folder: &str) -> Tree {
    Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

fn wrong_ways(tree: &Tree, rules: &[(&[&str], &[&str])]) -> Vec<String> {
    let arrows = tree.arrows();
    let forbidden = |(from, to): &(&str, &str)| {
        let (from, to) = (tree.top_of(from), tree.top_of(to));
        rules.iter().any(|(users, used)| users.contains(&from) && used.contains(&to))
    };
    arrows
        .iter()
        .map(|(from, to)| (from.as_str(), to.as_str()))
        .filter(forbidden)
        .map(|(a, b)| format!("{a} uses {b}"))
        .collect()
}

#[test]
fn dependencies_of_the_server_run_one_way() {
    let wrong = wrong_ways(&tree("src"), ONE_WAY);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn dependencies_of_the_domain_run_one_way() {
    let wrong = wrong_ways(&tree("actors/src"), ONE_WAY_IN_THE_DOMAIN);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_module_that_the_rules_name_is_there() {
    for (folder, rules) in [("src", ONE_WAY), ("actors/src", ONE_WAY_IN_THE_DOMAIN)] {
        let tree = tree(folder);
        let tops: BTreeSet<&str> = tree.files().map(|file| tree.top_of(file)).collect();
        for name in rules.iter().flat_map(|(users, used)| users.iter().chain(*used)) {
            assert!(tops.contains(name), "{folder} has no module `{name}`: the rules are out of date");
        }
    }
}

#[test]
fn no_ring_of_files_is_large() {
    for folder in ["src", "actors/src", "crates/load/src", "crates/store/src", "crates/xml/src"] {
        let tree = tree(folder);
        assert!(tree.arrows().len() > 10, "{folder}: the arrows between files are not seen");
        let large = tree.rings().into_iter().find(|ring| ring.len() > RING);
        let story = large.map(|ring| format!("{} files all need each other:\n{}", ring.len(), tree.story_of(&ring)));
        assert_eq!(story, None, "a ring of more than {RING} files in {folder}");
    }
}

/// The code is made in one place, which takes what has the name: a client learns from it what is
/// there.
#[test]
fn a_taken_name_is_refused_in_one_way() {
    for (folder, users) in [("src", &["http/error.rs"][..]), ("actors/src", &["error.rs"])] {
        let tree = tree(folder);
        assert_eq!(
            tree.files_naming(&["Code", "DuplicatedName"]),
            BTreeSet::from_iter(users.iter().copied()),
            "{folder}"
        );
    }
}
