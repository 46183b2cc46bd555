//! The commands of the documents, run as a reader pastes them: the tour of `README.md` and
//! `docs/COOKBOOK.md` against real servers, with the output that the documents promise.
//!
//! A fenced block `bash` is run; a block `text` behind it is its output. In that, `…` stands for
//! any text, a line `…` for any number of lines, and loids and numbers of nine digits or more for
//! any others.

mod examples;
mod kinds;
mod script;

use std::path::Path;

use self::script::Script;
use crate::harness::{ADMIN_PASSWORD, SAMPLE_PASSWORD, Server, binary};

fn document(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_tour_prints_what_the_readme_shows() {
    let readme = document("README.md");
    let start = readme.find("## A tour").expect("the README has a tour");
    let end = readme[start..].find("\n## Durability").expect("the tour ends") + start;
    let tour = readme[..end][start..].replace("target/release/stet", &binary().display().to_string());
    Script::of(&tour).run("", &[]);
}

#[test]
fn the_cookbook_prints_what_it_shows() {
    let server = Server::start();
    let cookbook = document("docs/COOKBOOK.md")
        .replace("harbour-sample", SAMPLE_PASSWORD)
        .replace("harbour-admin", ADMIN_PASSWORD);
    Script::of(&cookbook).run("set -e", &[("B", &server.client().base)]);
}
