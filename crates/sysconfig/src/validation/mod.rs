//! Validation of attributes by their metadata definition (docs/api/metadata.md, "Validation").
//!
//! [`AttributeModel`] is compiled from a definition when its file is read. It is independent of
//! objects. A document is checked in one pass, with time and memory linear in its text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use jiff::tz::TimeZone;
use stet_base::simple_date_format::SimpleDateFormat;
use stet_base::wildcards::Wildcards;
use stet_domain::object::SharedText;
use stet_xml::{DocumentPiece, Limits, walk};

use super::metadata::{MetadataElement, TreeSource};
use super::trees::ValueTree;

/// The largest number of findings that are kept for one document.
const MOST_FINDINGS: usize = 20;

/// The number of characters of a name or value that a message shows.
const SHOWN: usize = 100;

/// The largest size of a finding's path, in bytes.
const MOST_PATH: usize = 1024;

/// The largest number of list values that a message names.
const NAMED: usize = 20;

/// The strictness of an element's validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Validity {
    /// No validation: `None` and `ShowOnly`.
    #[default]
    Unchecked,
    Warn,
    Strict,
}

impl Validity {
    fn named(name: &str) -> Validity {
        match name {
            "Warn" => Validity::Warn,
            "Strict" => Validity::Strict,
            _ => Validity::Unchecked,
        }
    }
}

/// A violation of the metadata definition by some attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeFinding {
    /// Path of the element from the root; a second `keywords` is `keywords[2]`.
    pub path: String,
    /// Sentence without the path.
    pub message: String,
    /// Whether the attributes must be refused because of it.
    pub is_strict: bool,
}

/// The rules of a metadata definition for attributes.
#[derive(Debug, Clone, Default)]
pub struct AttributeModel {
    root: String,
    elements: HashMap<SharedText, ElementModel>,
    checks_anything: bool,
}

#[derive(Debug, Clone)]
struct ElementModel {
    validity: Validity,
    /// The children in the order of the definition.
    children: Vec<(SharedText, &'static str)>,
    known: HashSet<SharedText>,
    is_distinct: bool,
    allowed: AllowedValues,
}

/// The allowed values of an element.
#[derive(Debug, Clone)]
enum AllowedValues {
    Anything,
    /// A list of values, in the order of the definition and as a set.
    List(Vec<String>, HashSet<String>),
    Date(SimpleDateFormat, String),
    Tree(TreeBranch),
}

/// The branch of a tree from which an element takes its values.
#[derive(Debug, Clone)]
struct TreeBranch {
    file: SharedText,
    prefix: String,
    filter: Option<Wildcards>,
    leaf_only: bool,
}

/// The values of a tree, sorted for lookups.
#[derive(Debug, Clone, Default)]
pub struct TreeValues {
    by_path: Vec<SharedText>,
    /// The paths, sorted by their last name and then as a whole.
    by_leaf: Vec<SharedText>,
}

fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn lies_in(path: &str, branch: &str) -> bool {
    path.strip_prefix(branch).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl TreeValues {
    /// Returns the values of a tree.
    pub fn of(tree: &ValueTree) -> TreeValues {
        let mut by_path = tree.paths.clone();
        by_path.sort_unstable();
        by_path.dedup();
        let mut by_leaf = by_path.clone();
        by_leaf.sort_by(|a, b| (leaf(a), a).cmp(&(leaf(b), b)));
        TreeValues { by_path, by_leaf }
    }

    fn has_path(&self, path: &str, branch: &str) -> bool {
        lies_in(path, branch) && self.by_path.binary_search_by(|known| (**known).cmp(path)).is_ok()
    }

    fn has_leaf(&self, name: &str, branch: &str) -> bool {
        // The branch itself sorts before everything in it, but other paths may lie between them.
        let at_or_behind = |path: &str| {
            let place = self.by_leaf.partition_point(|known| (leaf(known), &**known) < (name, path));
            self.by_leaf.get(place).is_some_and(|known| leaf(known) == name && lies_in(known, branch))
        };
        at_or_behind(branch) || at_or_behind(&format!("{branch}/"))
    }
}

impl AttributeModel {
    /// Compiles the elements of a definition. Calls `fault` for each rule that can't be checked.
    pub fn of(root: &str, elements: &[(SharedText, MetadataElement)], fault: &mut dyn FnMut(String)) -> AttributeModel {
        let elements: HashMap<SharedText, ElementModel> =
            elements.iter().map(|(name, element)| (name.clone(), ElementModel::of(name, element, fault))).collect();
        let checks_anything = elements.values().any(|element| element.validity > Validity::Unchecked);
        AttributeModel { root: root.to_owned(), elements, checks_anything }
    }

    /// Reports whether the model can find anything in attributes.
    pub fn checks_anything(&self) -> bool {
        self.checks_anything
    }

    /// Returns the paths of the trees in which values are looked up.
    pub fn trees(&self) -> impl Iterator<Item = &SharedText> {
        self.elements.values().filter(|element| element.validity > Validity::Unchecked).filter_map(|element| {
            match &element.allowed {
                AllowedValues::Tree(branch) => Some(&branch.file),
                AllowedValues::Anything | AllowedValues::List(..) | AllowedValues::Date(..) => None,
            }
        })
    }

    /// Returns the violations in an attribute text, at most [`MOST_FINDINGS`] of each severity. A
    /// text that is no document within the limits was refused elsewhere and has no findings.
    pub fn check(&self, xml: &str, trees: &BTreeMap<SharedText, TreeValues>, limits: &Limits) -> Vec<AttributeFinding> {
        let mut check = Check { model: self, trees, open: Vec::new(), strict: Vec::new(), warnings: Vec::new() };
        if !self.checks_anything {
            return Vec::new();
        }
        let walked = walk(xml, limits, &mut |piece| {
            match piece {
                DocumentPiece::Start(name) => check.begin(name),
                DocumentPiece::Text(text) => check.text(&text),
                DocumentPiece::End => check.end(),
            }
            if check.strict.len() < MOST_FINDINGS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let mut findings = check.strict;
        findings.append(&mut check.warnings);
        if walked.is_ok() { findings } else { Vec::new() }
    }
}

impl ElementModel {
    fn of(name: &str, element: &MetadataElement, fault: &mut dyn FnMut(String)) -> ElementModel {
        let validity = Validity::named(&element.validity);
        let allowed = match (&*element.kind, element.tree()) {
            ("list", _) => {
                let values: Vec<String> = element.list_values.iter().map(|value| value.trim().to_owned()).collect();
                let known = values.iter().cloned().collect();
                AllowedValues::List(values, known)
            }
            ("date-time", _) if !element.template.is_empty() => match SimpleDateFormat::parse(&element.template) {
                Ok(format) => AllowedValues::Date(format, element.template.clone()),
                Err(why) => {
                    if validity > Validity::Unchecked {
                        fault(format!("values of `{name}` can't be checked by its `template`: {why}"));
                    }
                    AllowedValues::Anything
                }
            },
            (_, Some(TreeSource::File(file))) => {
                let prefix = element.prefix.trim_matches('/');
                AllowedValues::Tree(TreeBranch {
                    file,
                    prefix: if prefix.is_empty() { String::new() } else { format!("/{prefix}") },
                    filter: (!element.filter.is_empty()).then(|| Wildcards::new([&*element.filter])),
                    leaf_only: element.result == "LeafOnly",
                })
            }
            _ => AllowedValues::Anything,
        };
        let children = element.cardinality.0.clone();
        let known = children.iter().map(|(child, _)| child.clone()).collect();
        ElementModel { validity, children, known, is_distinct: element.distinct == "true", allowed }
    }

    fn does_not_take(&self, own_name: &str, child: &str) -> String {
        let known: Vec<String> =
            self.children.iter().take(NAMED).map(|(known, _)| format!("`{}`", shown(known))).collect();
        let known = if known.is_empty() { "no elements".to_owned() } else { known.join(", ") };
        format!("`{}` is not allowed in `{}`, which may have {known}.", shown(child), shown(own_name))
    }

    /// Returns a message if a value is not allowed.
    fn fault_of(&self, value: &str, trees: &BTreeMap<SharedText, TreeValues>) -> Option<String> {
        match &self.allowed {
            AllowedValues::Anything => None,
            AllowedValues::List(_, known) if known.contains(value) => None,
            AllowedValues::List(values, _) => {
                let named: Vec<String> = values.iter().take(NAMED).map(|value| format!("`{}`", shown(value))).collect();
                let more = if values.len() > NAMED { ", …" } else { "" };
                Some(format!("`{}` is not one of {}{more}.", shown(value), named.join(", ")))
            }
            // Only the format is checked, so any zone and year will do.
            AllowedValues::Date(format, template) => format
                .read(value, &TimeZone::UTC, 2000)
                .err()
                .map(|why| format!("`{}` is not a date of the form `{}`: {why}.", shown(value), shown(template))),
            AllowedValues::Tree(branch) => {
                let known = trees.get(&branch.file);
                let is_known = known.is_some_and(|tree| match branch.leaf_only {
                    true => tree.has_leaf(value, &branch.prefix),
                    false => tree.has_path(value, &branch.prefix),
                });
                let matches = branch.filter.as_ref().is_none_or(|filter| filter.matches(leaf(value)));
                (!is_known || !matches).then(|| {
                    let what = if branch.leaf_only { "name" } else { "path" };
                    format!("`{}` is not a {what} of the tree `{}`.", shown(value), branch.file)
                })
            }
        }
    }
}

fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The state of a document's check against a model.
struct Check<'m, 'x> {
    model: &'m AttributeModel,
    trees: &'m BTreeMap<SharedText, TreeValues>,
    open: Vec<UnfinishedElement<'m, 'x>>,
    strict: Vec<AttributeFinding>,
    warnings: Vec<AttributeFinding>,
}

/// An element whose end was not reached yet.
struct UnfinishedElement<'m, 'x> {
    name: &'x str,
    /// Number among its siblings of the same name, from 1.
    place: usize,
    /// Rules for the element; `None` for one that the definition does not have there, and for
    /// everything in it.
    model: Option<&'m ElementModel>,
    /// Number of children by name.
    children: HashMap<&'x str, usize>,
    /// Values of children that must differ from each other.
    values: HashSet<(&'x str, String)>,
    /// Text of the element, if it is checked.
    text: Option<String>,
}

impl<'m, 'x> Check<'m, 'x> {
    fn begin(&mut self, name: &'x str) {
        let (mut place, mut model) = (1, self.model.elements.get(name));
        match self.open.last_mut() {
            None if *name != *self.model.root => {
                let root = &self.model.root;
                let by = self.model.elements.get(&**root).map_or(Validity::Unchecked, |root| root.validity);
                model = None;
                let message = || format!("The root must be `{}`, but is `{}`.", shown(root), shown(name));
                self.note(by, Some((name, 1)), message);
            }
            None => {}
            Some(above) => {
                let count = above.children.entry(name).or_default();
                *count += 1;
                place = *count;
                let (above, above_name) = (above.model, above.name);
                let Some(above) = above else {
                    self.open.push(UnfinishedElement::new(name, place, None));
                    return;
                };
                if !above.known.contains(name) {
                    model = None;
                    self.note(above.validity, Some((name, place)), || above.does_not_take(above_name, name));
                }
            }
        }
        self.open.push(UnfinishedElement::new(name, place, model));
    }

    fn text(&mut self, piece: &str) {
        if let Some(text) = self.open.last_mut().and_then(|open| open.text.as_mut()) {
            text.push_str(piece);
        }
    }

    fn end(&mut self) {
        let Some(model) = self.open.last().and_then(|open| open.model) else {
            self.open.pop();
            return;
        };
        for (child, occurs) in &model.children {
            let count = self.open.last().and_then(|open| open.children.get(&**child)).copied().unwrap_or_default();
            let wanted = match (*occurs, count) {
                ("" | "+", 0) => "is missing",
                ("" | "?", 2..) => "may occur only once",
                _ => continue,
            };
            let by = self.model.elements.get(child).map_or(model.validity, |own| own.validity.max(model.validity));
            // The first one that is too many.
            self.note(by, Some((child, count.min(2))), || format!("`{}` {wanted}.", shown(child)));
        }
        let value = self.open.last_mut().and_then(|open| open.text.take());
        if let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) {
            if let Some(message) = model.fault_of(value, self.trees) {
                self.note(model.validity, None, || message);
            }
            self.check_distinct(model, value);
        }
        self.open.pop();
    }

    fn check_distinct(&mut self, model: &'m ElementModel, value: &str) {
        if !model.is_distinct {
            return;
        }
        let [.., above, own] = self.open.as_mut_slice() else { return };
        if !above.values.insert((own.name, value.to_owned())) {
            self.note(model.validity, None, || format!("`{}` occurs twice.", shown(value)));
        }
    }

    /// Returns the path of the innermost open element, or of one below it.
    fn path(&self, below: Option<(&str, usize)>) -> String {
        let mut path = String::new();
        for (name, place) in self.open.iter().map(|open| (open.name, open.place)).chain(below) {
            path.push('/');
            path.push_str(name);
            if place > 1 {
                path.push_str(&format!("[{place}]"));
            }
            if path.len() > MOST_PATH {
                let mut end = path.len().min(MOST_PATH);
                while !path.is_char_boundary(end) {
                    end -= 1;
                }
                path.truncate(end);
                break;
            }
        }
        path
    }

    /// Notes a finding about the innermost open element, or about one below it. There may be very
    /// many findings, so a message is built only for those that are kept.
    fn note(&mut self, validity: Validity, below: Option<(&str, usize)>, message: impl FnOnce() -> String) {
        let noted = match validity {
            Validity::Unchecked => return,
            Validity::Warn => self.warnings.len(),
            Validity::Strict => self.strict.len(),
        };
        if noted >= MOST_FINDINGS {
            return;
        }
        let is_strict = validity == Validity::Strict;
        let finding = AttributeFinding { path: self.path(below), message: message(), is_strict };
        if is_strict { self.strict.push(finding) } else { self.warnings.push(finding) }
    }
}

impl<'m, 'x> UnfinishedElement<'m, 'x> {
    fn new(name: &'x str, place: usize, model: Option<&'m ElementModel>) -> UnfinishedElement<'m, 'x> {
        let is_read = model.is_some_and(|model| {
            model.validity > Validity::Unchecked
                && (model.is_distinct || !matches!(model.allowed, AllowedValues::Anything))
        });
        let text = is_read.then(String::new);
        UnfinishedElement { name, place, model, children: HashMap::new(), values: HashSet::new(), text }
    }
}

#[cfg(test)]
mod tests;
