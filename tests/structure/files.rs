//! Uses between the files of a crate: the paths in its code, resolved through modules, imports and
//! re-exports.
//!
//! Tests are left out. A `pub use` does not count as a use: a user of the re-export uses the file
//! behind it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree, Visibility};

/// Names from the crate's root.
type Names = Vec<String>;

/// A module, which is a file, for modules inside a file count as part of it.
#[derive(Default)]
struct Module {
    file: String,
    /// The path that an imported name stands for.
    imports: HashMap<String, Names>,
    /// Modules whose names are all imported.
    globs: Vec<Names>,
    /// Paths in its code, relative or absolute.
    paths: BTreeSet<Names>,
}

/// The files of a crate.
pub struct Tree {
    modules: BTreeMap<Names, Module>,
}

impl Tree {
    /// Reads a crate by the folder of its root.
    pub fn read(folder: &Path) -> Tree {
        let mut tree = Tree { modules: BTreeMap::new() };
        let root = folder.join("lib.rs");
        tree.add(folder, &root, folder, Vec::new());
        tree
    }

    fn add(&mut self, top: &Path, file: &Path, below: &Path, at: Names) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(top).expect("a file lies below its root").display().to_string();
        let mut module = Module { file: name, ..Module::default() };
        let mut children = Vec::new();
        read_items(&parsed.items, &mut module, &mut children);
        self.modules.insert(at.clone(), module);
        for child in children {
            let file = found(below, &child);
            self.add(top, &file, &below.join(&child), [&at[..], &[child]].concat());
        }
    }

    /// Returns all files, by their paths below the root.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.modules.values().map(|module| module.file.as_str())
    }

    /// The first name of a file's module: `http` for `http/etag.rs`.
    pub fn top_of<'f>(&self, file: &'f str) -> &'f str {
        file.split(['/', '.']).next().unwrap_or_default()
    }

    /// The files whose code has a path that ends so.
    pub fn files_naming(&self, end: &[&str]) -> BTreeSet<&str> {
        let names = |module: &&Module| {
            module
                .paths
                .iter()
                .any(|path| path.iter().map(String::as_str).rev().take(end.len()).eq(end.iter().copied().rev()))
        };
        self.modules.values().filter(names).map(|module| module.file.as_str()).collect()
    }

    /// Returns the uses as pairs: the using file, and the used one.
    pub fn arrows(&self) -> BTreeSet<(String, String)> {
        let mut arrows = BTreeSet::new();
        for (at, module) in &self.modules {
            for path in &module.paths {
                if let Some(to) = self.file_of(at, path, 0).filter(|to| *to != module.file) {
                    arrows.insert((module.file.clone(), to.to_owned()));
                }
            }
        }
        arrows
    }

    /// The file in which stands what a path means.
    fn file_of(&self, at: &[String], path: &[String], depth: usize) -> Option<&str> {
        // Imports may go in circles, such as two globs.
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(&[], rest, depth),
            "self" => self.descend(at, rest, depth),
            "super" => self.file_of(&at[..at.len().checked_sub(1)?], &[&["self".to_owned()], rest].concat(), depth + 1),
            _ => {
                let module = self.modules.get(at)?;
                let inside = self.modules.contains_key(&[at, std::slice::from_ref(first)].concat());
                // A name from nowhere in the crate: another crate's, or a variable's.
                (inside || module.imports.contains_key(first)).then(|| self.descend(at, path, depth)).flatten()
            }
        }
    }

    fn descend(&self, at: &[String], path: &[String], depth: usize) -> Option<&str> {
        let module = self.modules.get(at)?;
        let Some((first, rest)) = path.split_first() else { return Some(&module.file) };
        let inside = [at, std::slice::from_ref(first)].concat();
        if self.modules.contains_key(&inside) {
            return self.descend(&inside, rest, depth);
        }
        if let Some(target) = module.imports.get(first) {
            return self.file_of(at, &[&target[..], rest].concat(), depth + 1);
        }
        let through = module.globs.iter().find_map(|glob| {
            let target = self.file_of(at, &[&glob[..], path].concat(), depth + 1)?;
            let own = self.file_of(at, glob, depth + 1)?;
            // A glob may give any name. Only names that lead on from there are known to be from it.
            (target != own).then_some(target)
        });
        through.or(Some(&module.file))
    }

    /// Files that all need each other, more than one.
    pub fn rings(&self) -> Vec<BTreeSet<String>> {
        let arrows = self.arrows();
        let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (from, to) in &arrows {
            next.entry(from).or_default().push(to);
        }
        let reached = |from: &str| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(file) = open.pop() {
                for to in next.get(file).into_iter().flatten() {
                    if seen.insert((*to).to_owned()) {
                        open.push(to);
                    }
                }
            }
            seen
        };
        let all: BTreeMap<&str, BTreeSet<String>> = next.keys().map(|file| (*file, reached(file))).collect();
        let mut rings = BTreeSet::new();
        for (file, seen) in &all {
            if seen.contains(*file) {
                rings.insert(
                    seen.iter()
                        .filter(|to| all.get(to.as_str()).is_some_and(|back| back.contains(*file)))
                        .cloned()
                        .collect(),
                );
            }
        }
        rings.into_iter().filter(|ring: &BTreeSet<String>| ring.len() > 1).collect()
    }

    /// Returns the uses inside a ring in readable form, to show where it can be cut.
    pub fn story_of(&self, ring: &BTreeSet<String>) -> String {
        let inside = |(from, to): &(String, String)| ring.contains(from) && ring.contains(to);
        self.arrows().into_iter().filter(inside).map(|(from, to)| format!("  {from} -> {to}\n")).collect()
    }
}

fn found(below: &Path, child: &str) -> PathBuf {
    [below.join(format!("{child}.rs")), below.join(child).join("mod.rs")]
        .into_iter()
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("{} has no module {child}", below.display()))
}

/// Returns whether an item exists for tests only.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => return attribute.path().is_ident("test"),
        };
        text.split(|c: char| !c.is_alphanumeric() && c != '-')
            .any(|word| ["test", "fuzzing", "simulated-disk"].contains(&word))
    })
}

fn read_items(items: &[Item], module: &mut Module, children: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Mod(inner) if is_for_tests(&inner.attrs) => {}
            Item::Mod(inner) => match &inner.content {
                None => children.push(inner.ident.to_string()),
                Some((_, items)) => read_items(items, module, children),
            },
            Item::Use(import) if is_for_tests(&import.attrs) => {}
            Item::Use(import) => {
                let is_contents = !matches!(import.vis, Visibility::Inherited);
                read_use(&import.tree, Vec::new(), is_contents, module);
            }
            Item::Fn(function) if is_for_tests(&function.attrs) => {}
            other => Paths(module).visit_item(other),
        }
    }
}

fn read_use(tree: &UseTree, mut before: Names, is_contents: bool, module: &mut Module) {
    let mut import = |name: String, target: Names| {
        if !is_contents {
            module.paths.insert(target.clone());
        }
        // `use tracing;` is another crate's name for itself.
        if target.len() > 1 {
            module.imports.insert(name, target);
        }
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            read_use(&path.tree, before, is_contents, module);
        }
        UseTree::Name(name) if name.ident == "self" => {
            let own = before.last().cloned().unwrap_or_default();
            import(own, before);
        }
        UseTree::Name(name) => import(name.ident.to_string(), [before, vec![name.ident.to_string()]].concat()),
        UseTree::Rename(name) => import(name.rename.to_string(), [before, vec![name.ident.to_string()]].concat()),
        UseTree::Glob(_) => module.globs.push(before),
        UseTree::Group(group) => {
            for tree in &group.items {
                read_use(tree, before.clone(), is_contents, module);
            }
        }
    }
}

/// A visitor that notes all paths, those in macros too.
struct Paths<'m>(&'m mut Module);

impl<'a> Visit<'a> for Paths<'_> {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    /// Ignores `pub(super)`, which does not use the module above.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_macro(&mut self, invoked: &'a syn::Macro) {
        self.note(invoked.tokens.clone());
        syn::visit::visit_macro(self, invoked);
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }
}

impl Paths<'_> {
    /// Names with `::` between them.
    fn note(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Names::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Ident(name) => {
                    self.0.paths.insert(std::mem::replace(&mut path, vec![name.to_string()]));
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.0.paths.insert(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.note(group.stream());
                    }
                }
            }
        }
        self.0.paths.insert(path);
    }
}
