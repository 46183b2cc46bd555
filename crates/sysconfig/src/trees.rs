//! Tree lists: trees of values to choose metadata from.

use stet_domain::object::SharedText;

use super::document::{ConfigElement, ConfigFile};
use super::vocabulary;

/// The largest size of all paths of a tree, in bytes. Paths repeat the names of the nodes above.
const MOST_BYTES: usize = 8 << 20;

/// A tree, as the paths of its nodes: `/City/Waterfront`.
#[derive(Debug, Clone, Default)]
pub struct ValueTree {
    /// Paths in the order of the file, each node before those below it.
    pub paths: Vec<SharedText>,
    /// Size of all paths in bytes.
    pub bytes: usize,
}

/// A tree list file: nodes within nodes.
#[derive(Debug)]
pub struct TreeList(pub ValueTree);

impl ConfigFile for TreeList {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::TREE_LIST;

    fn read(root: ConfigElement<'_>) -> TreeList {
        let mut tree = ValueTree::default();
        tree.add(root, "");
        if tree.bytes > MOST_BYTES {
            root.fault(format!("the paths of its nodes have more than {MOST_BYTES} bytes"));
        }
        TreeList(tree)
    }
}

/// A web configuration file: the kinds of online presentation, as a tree without branches.
#[derive(Debug)]
pub struct WebConfiguration(pub ValueTree);

impl ConfigFile for WebConfiguration {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::WEB_CONFIGURATION;

    fn read(root: ConfigElement<'_>) -> WebConfiguration {
        let mut tree = ValueTree::default();
        root.all_in("WebTypes", "WebType").for_each(|one| tree.push(format!("/{}", one.text())));
        WebConfiguration(tree)
    }
}

impl ValueTree {
    /// Adds the nodes below a node. The recursion is bounded, because the depth of documents is.
    /// Nodes beyond the size limit are dropped.
    fn add(&mut self, node: ConfigElement<'_>, above: &str) {
        for child in node.all("node") {
            let name = child.required("name");
            if name.contains('/') {
                child.fault(format!("the node `{name}` has a `/` in its name, which is reserved for paths"));
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
    pub fn below<'t>(&'t self, prefix: &'t str) -> impl Iterator<Item = &'t SharedText> {
        let prefix = prefix.trim_matches('/');
        let lies_in = move |path: &&SharedText| {
            let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(prefix));
            prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.paths.iter().filter(lies_in)
    }
}
