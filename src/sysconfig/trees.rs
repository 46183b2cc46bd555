//! Tree lists: values that stand in a tree, from which those of metadata are chosen.

use stet_actors::object::Text;

use super::document::{ConfigFile, Element};
use super::vocabulary;

/// Bytes of all paths of a tree, which repeat the names that they lead through.
const MOST_BYTES: usize = 8 << 20;

/// A tree, as the paths of its nodes: `/City/Waterfront`.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// In the order of the file, each node in front of those below it.
    pub paths: Vec<Text>,
    /// Bytes of all of them.
    pub bytes: usize,
}

/// A file of nodes within nodes.
#[derive(Debug)]
pub struct TreeList(pub Tree);

impl ConfigFile for TreeList {
    const ROOT: &'static vocabulary::Element = &vocabulary::TREE_LIST;

    fn read(root: Element<'_>) -> TreeList {
        let mut tree = Tree::default();
        tree.add(root, "");
        if tree.bytes > MOST_BYTES {
            root.fault(format!("the paths of its nodes have more than {MOST_BYTES} bytes"));
        }
        TreeList(tree)
    }
}

/// A file of what stories appear as online: a tree without branches.
#[derive(Debug)]
pub struct WebConfiguration(pub Tree);

impl ConfigFile for WebConfiguration {
    const ROOT: &'static vocabulary::Element = &vocabulary::WEB_CONFIGURATION;

    fn read(root: Element<'_>) -> WebConfiguration {
        let mut tree = Tree::default();
        root.all_in("WebTypes", "WebType").for_each(|one| tree.push(format!("/{}", one.text())));
        WebConfiguration(tree)
    }
}

impl Tree {
    /// The depth of documents is bounded. Of a tree that has too much already, nothing more is
    /// held.
    fn add(&mut self, node: Element<'_>, above: &str) {
        for child in node.all("node") {
            let name = child.required("name");
            if name.contains('/') {
                child.fault(format!(
                    "the node `{name}` has a `/` in its name, which stands between the names of a path"
                ));
            }
            let path = format!("{above}/{name}");
            if self.bytes > MOST_BYTES {
                return;
            }
            self.push(path.clone());
            self.add(child, &path);
        }
    }

    fn push(&mut self, path: String) {
        self.bytes += path.len();
        self.paths.push(path.into());
    }

    /// The paths below a branch, itself included; all without one.
    pub fn below<'t>(&'t self, prefix: &'t str) -> impl Iterator<Item = &'t Text> {
        let prefix = prefix.trim_matches('/');
        let lies_in = move |path: &&Text| {
            let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(prefix));
            prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.paths.iter().filter(lies_in)
    }
}
