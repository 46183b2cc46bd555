//! Tree lists: trees of values to choose metadata from.

use stet_actors::object::Text;

use super::document::{ConfigFile, Element};
use super::vocabulary;

/// The largest size of all paths of a tree, in bytes. Paths repeat the names of the nodes above.
const MOST_BYTES: usize = 8 << 20;

/// A tree, as the paths of its nodes: `/City/Waterfront`.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Paths in the order of the file, each node before those below it.
    pub paths: Vec<Text>,
    /// Size of all paths in bytes.
    pub bytes: usize,
}

/// A tree list file: nodes within nodes.
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

/// A web configuration file: the kinds of online presentation, as a tree without branches.
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
    /// Adds the nodes below a node. The recursion is bounded, because the depth of documents is.
    /// Nodes beyond the size limit are dropped.
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

    /// Returns the paths of a branch and all below it; all paths for an empty prefix.
    pub fn below<'t>(&'t self, prefix: &'t str) -> impl Iterator<Item = &'t Text> {
        let prefix = prefix.trim_matches('/');
        let lies_in = move |path: &&Text| {
            let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(prefix));
            prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.paths.iter().filter(lies_in)
    }
}
