//! The structure that `docs/ARCHITECTURE.md` describes, checked on the code. Dependencies run one
//! way. No ring of files that need each other grows beyond what one person can keep in mind.

mod files;
mod names;
mod promises;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::files::Tree;
use self::names::words_in;
use self::promises::sources;

/// The largest permitted number of files in a ring.
const RING: usize = 10;

/// The modules of the domain that may not use others. The borders between crates are kept by Cargo.
const ONE_WAY_IN_THE_DOMAIN: &[(&[&str], &[&str])] = &[
    (&["id", "error", "clock"], &["store", "object", "command", "family"]),
    (&["store", "object"], &["command", "family", "folder", "document"]),
    (&["sequence"], &["checkout", "lifecycle"]),
];

/// The modules of the domain that use no others than these. Families are plug-ins: the code common
/// to all of them knows only folders and documents.
const COMMON_IN_THE_DOMAIN: &[&str] = &[
    "amend",
    "checkout",
    "clock",
    "command",
    "count",
    "document",
    "ends",
    "error",
    "expect",
    "family",
    "folder",
    "history",
    "id",
    "joint",
    "layered",
    "lifecycle",
    "object",
    "part",
    "proof",
    "readable",
    "receipt",
    "rules",
    "sequence",
    "store",
    "trace",
    "usage",
    "workflow",
];

/// Files of the product that name web containers, the family with the least code, beside its own.
const FILES_NAMING_A_FAMILY: usize = 6;

/// The folders with the sources of the product's crates.
fn product_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).expect("the folder can be read");
    let crates = crates
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.is_dir() && !path.ends_with("testkit"));
    let mut folders: Vec<_> =
        crates.chain([root.join("actors"), root.to_owned()]).map(|path| path.join("src")).collect();
    folders.sort();
    folders
}

fn tree(folder: &str) -> Tree {
    Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

#[test]
fn dependencies_of_the_domain_run_one_way() {
    let tree = tree("crates/domain/src");
    let forbidden = |from: &str, to: &str| {
        let common = |module| COMMON_IN_THE_DOMAIN.contains(&module);
        ONE_WAY_IN_THE_DOMAIN.iter().any(|(users, used)| users.contains(&from) && used.contains(&to))
            || (common(from) && !common(to))
    };
    let arrows = tree.arrows();
    let wrong: Vec<_> = arrows.iter().filter(|(from, to)| forbidden(tree.top_of(from), tree.top_of(to))).collect();
    assert!(wrong.is_empty(), "these files use those beside them: {wrong:#?}");
}

#[test]
fn every_module_that_the_rules_name_is_there() {
    let tree = tree("crates/domain/src");
    let tops: BTreeSet<&str> = tree.files().map(|file| tree.top_of(file)).collect();
    let ruled = ONE_WAY_IN_THE_DOMAIN.iter().flat_map(|(users, used)| users.iter().chain(*used));
    for name in ruled.chain(COMMON_IN_THE_DOMAIN) {
        assert!(tops.contains(name), "there is no module `{name}`: the rules are out of date");
    }
}

#[test]
fn no_ring_of_files_is_large() {
    let mut arrows = 0;
    for folder in product_folders() {
        let tree = Tree::read(&folder);
        arrows += tree.arrows().len();
        let folder = folder.display();
        let large = tree.rings().into_iter().find(|ring| ring.len() > RING);
        let story = large.map(|ring| format!("{} files all need each other:\n{}", ring.len(), tree.story_of(&ring)));
        assert_eq!(story, None, "a ring of more than {RING} files in {folder}");
    }
    assert!(arrows > 1000, "the arrows between files are not seen");
}

/// Checks that the files that a new family would have to change remain few. The number may only
/// fall.
#[test]
fn few_files_name_the_smallest_family() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    product_folders().iter().for_each(|folder| sources(folder, &mut files));
    files.retain(|file| {
        let path = file.strip_prefix(root).expect("a source lies below the root");
        let own = ["crates/domain/src/web_container", "crates/api/src/web"].iter().any(|own| path.starts_with(own));
        let text = std::fs::read_to_string(file).expect("a source can be read");
        let mut words = text.lines().filter_map(|line| line.split("//").next()).flat_map(words_in);
        !own && !path.iter().any(|part| part == "tests" || part == "tests.rs")
            && words.any(|word| ["WebContainer", "web_container", "webcontainer"].contains(&word))
    });
    assert!(files.len() <= FILES_NAMING_A_FAMILY, "docs/CHANGING.md lists what a family changes: {files:#?}");
}

/// Checks that `DuplicatedName` is created in one place only. That place takes the existing object,
/// so the client learns from the error what exists.
#[test]
fn a_taken_name_is_refused_in_one_way() {
    let crates = ["auth", "api", "config", "containers", "content", "endpoint", "newsroom", "sysconfig", "web"];
    let folders = crates.iter().map(|name| format!("crates/{name}/src")).chain(["crates/domain/src".to_owned()]);
    for folder in folders {
        let knows_the_code = folder == "crates/web/src" || folder == "crates/domain/src";
        let users: &[&str] = if knows_the_code { &["error.rs"] } else { &[] };
        let tree = tree(&folder);
        assert_eq!(
            tree.files_naming(&["Code", "DuplicatedName"]),
            BTreeSet::from_iter(users.iter().copied()),
            "{folder}"
        );
    }
}
