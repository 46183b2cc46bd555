//! Metadata definitions: which elements the metadata of some objects has, and how forms show them.
//! A definition is an XML file. It may leave the elements, their content models and their
//! presentation to a DTD. A DTD states the presentation by attributes with the names of the file's
//! attributes, and with defaults.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::OrderedObject;
use stet_domain::object::SharedText;
use stet_xml::{Declarations, DeclaredElement};

use super::document::{ConfigElement, ConfigFile, MOST_VALUE_BYTES, UniqueNames};
use super::validation::AttributeModel;
use super::vocabulary;

/// The definition of some objects' metadata.
#[derive(Debug, Clone)]
pub struct MetadataDefinition {
    /// Name of the root element.
    pub doc_type: SharedText,
    /// Whether the definition is for objects that fit no other.
    pub is_default: bool,
    /// Path of the DTD.
    pub dtd: Option<SharedText>,
    /// The default validity of elements without one of their own.
    validity: SharedText,
    applies_to: Vec<AppliesTo>,
    /// The elements, in the order of the DTD, or else of the file.
    pub elements: OrderedObject<MetadataElement>,
    /// The rules for attributes of objects.
    pub model: AttributeModel,
}

/// The objects that a definition is for.
#[derive(Debug, Clone, Hash)]
struct AppliesTo {
    /// Object type; any type without one.
    kind: Option<SharedText>,
    /// Folder in or below which the object's work folder is; any folder without one.
    work_folder: Option<SharedText>,
}

/// An element of metadata, and its presentation in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetadataElement {
    /// Title for users.
    pub title: String,
    /// Title for small spaces.
    pub short_title: String,
    /// `true` or `false`: whether the values must differ from each other.
    pub distinct: String,
    /// `None` or `ShowOnly`: values are not checked; `Warn`: invalid values are reported; `Strict`:
    /// they are refused.
    pub validity: String,
    /// `Expanded` or `Collapsed`: initial state in a form.
    pub expand_mode: String,
    /// `ReadOnly` or `Invisible`; empty if users may see and change it.
    pub visibility: String,
    /// Kind of the values: string, list, date-time, tree-db, tree-db/XMLfile, tree-db/filesystem,
    /// dataSourceMaster.
    #[serde(rename = "type")]
    pub kind: String,
    /// Initial text of a new element.
    pub default_content: String,
    /// Allowed values of a list.
    pub list_values: Vec<String>,
    /// Name of the tree list with the values.
    pub list_name: String,
    /// Path of the tree list with the values.
    pub file_name: String,
    /// Branch of the tree that contains the values.
    pub prefix: String,
    /// Pattern that names of values must match.
    pub filter: String,
    /// `LeafOnly` or `Fullpath`: the part of the path that a value consists of; empty if it does
    /// not matter.
    pub result: String,
    /// `true` or `false`: whether it is shown with a part of a page.
    pub show_part_page: String,
    /// Format of a day or time.
    pub template: String,
    /// URL of the data source for values.
    pub data_source_url: String,
    /// Template of the value from an entry of the data source.
    pub data_source_result_template: String,
    /// `true` or `false`: whether the element serves as title of objects that have none.
    #[serde(skip)]
    pub is_headline: String,
    /// Cardinality of each child: empty for exactly once, or `?`, `*`, `+`.
    pub cardinality: OrderedObject<&'static str>,
}

/// The source of an element's tree of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeSource<'e> {
    /// A file of the configuration, by its path.
    File(SharedText),
    /// The objects of the repository below this folder.
    Folder(&'e str),
}

/// The folder of tree lists that are referred to by name.
const TREE_LISTS: &str = "/SysConfig/TreeLists";

impl MetadataElement {
    /// Returns the tree of the values; `None` for an element without one.
    pub fn tree(&self) -> Option<TreeSource<'_>> {
        match &*self.kind {
            "tree-db" if !self.list_name.is_empty() => {
                Some(TreeSource::File(format!("{TREE_LISTS}/{}.xml", self.list_name).into()))
            }
            "tree-db" | "tree-db/XMLfile" if !self.file_name.is_empty() => {
                Some(TreeSource::File(self.file_name.as_str().into()))
            }
            "tree-db/filesystem" => Some(TreeSource::Folder(if self.prefix.is_empty() { "/" } else { &self.prefix })),
            _ => None,
        }
    }
}

/// The annotations of an element, by the names of the file's attributes.
type ElementAnnotations = BTreeMap<&'static str, String>;

/// Returns the attributes of the file that annotate an element.
fn annotations() -> impl Iterator<Item = &'static vocabulary::Attribute> {
    vocabulary::DEFINED_ELEMENT.attributes.iter().filter(|attribute| attribute.name != "name")
}

/// An element as written in the file.
#[derive(Debug, Clone, Default)]
struct ElementSource {
    said: ElementAnnotations,
    list_values: Option<Vec<String>>,
    children: Vec<(SharedText, &'static str)>,
}

/// A definition as written in its file.
#[derive(Debug, Clone)]
pub struct DefinitionFile {
    definition: MetadataDefinition,
    written: Vec<(SharedText, ElementSource)>,
}

impl ConfigFile for DefinitionFile {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::METADATA_DEFINITION;

    fn read(root: ConfigElement<'_>) -> DefinitionFile {
        let mut once = UniqueNames::default();
        let element = |element: ConfigElement<'_>| {
            let name = element.required("name");
            once.check(element, "element", name);
            (SharedText::from(name), read_element(element))
        };
        let written: Vec<(SharedText, ElementSource)> = root.all("element").map(element).collect();
        let applies_to = |element: ConfigElement<'_>| {
            let text = |attribute: &str| element.attribute(attribute).map(SharedText::from);
            let (kind, work_folder) = (text("type"), text("workFolder"));
            if kind.is_none() && work_folder.is_none() {
                element.fault("`appliesTo` names neither a `type` nor a `workFolder`");
            }
            AppliesTo { kind, work_folder }
        };
        let definition = MetadataDefinition {
            doc_type: root.required("docType").into(),
            is_default: root.flag("isDefault"),
            dtd: root.attribute("dtd").map(SharedText::from),
            validity: root.attribute("validity").unwrap_or("None").into(),
            applies_to: root.all("appliesTo").map(applies_to).collect(),
            elements: OrderedObject(Vec::new()),
            model: AttributeModel::default(),
        };
        DefinitionFile { definition, written }
    }
}

/// The largest size of a filter in bytes: comparing a name with it costs time in proportion to both
/// lengths.
const MOST_FILTER_BYTES: usize = 255;

fn read_element(element: ConfigElement<'_>) -> ElementSource {
    let mut said: ElementAnnotations = annotations()
        .filter_map(|attribute| Some((attribute.name, element.attribute(attribute.name)?.to_owned())))
        .collect();
    let content = element.all("defaultContent").next().map(|content| content.text());
    said.extend(content.map(|content| (DEFAULT_CONTENT, content)));
    let values = |list: ConfigElement<'_>| list.all("value").map(|value| value.text()).collect();
    let occurs = |child: ConfigElement<'_>| {
        // Any other value was refused already.
        let mark = child.attribute("occurs").unwrap_or_default();
        let mark = ["", "?", "*", "+"].into_iter().find(|known| *known == mark).unwrap_or_default();
        (SharedText::from(child.required("name")), mark)
    };
    ElementSource {
        said,
        list_values: element.all("listValues").next().map(values),
        children: element.all("child").map(occurs).collect(),
    }
}

/// Names of attributes in a DTD that stand for child elements in the file.
const DEFAULT_CONTENT: &str = "defaultContent";
const LIST_VALUES: &str = "listValues";

impl DefinitionFile {
    /// Returns the path of the DTD.
    pub fn dtd(&self) -> Option<&SharedText> {
        self.definition.dtd.as_ref()
    }

    /// Completes the definition with the declarations of its DTD. Calls `fault` for each fault of
    /// either.
    pub fn complete(self, dtd: Option<&Declarations>, fault: &mut dyn FnMut(String)) -> MetadataDefinition {
        let DefinitionFile { mut definition, written } = self;
        let elements = match dtd {
            None => written,
            Some(dtd) => {
                let mut written: HashMap<SharedText, ElementSource> = written.into_iter().collect();
                let declared = |element: &DeclaredElement| {
                    let name = SharedText::from(element.name.as_str());
                    let own = written.remove(&name).unwrap_or_default();
                    (name, merge_declared(own, element, fault))
                };
                let elements = dtd.elements.iter().map(declared).collect();
                let mut rest: Vec<&SharedText> = written.keys().collect();
                rest.sort_unstable();
                rest.into_iter().for_each(|name| fault(format!("there is no element `{name}` in the DTD")));
                elements
            }
        };
        let is_known: std::collections::HashSet<SharedText> = elements.iter().map(|(name, _)| name.clone()).collect();
        if !is_known.contains(&definition.doc_type) {
            fault(format!("there is no element `{}`, which is the root", definition.doc_type));
        }
        for (name, element) in &elements {
            for (child, _) in element.children.iter().filter(|(child, _)| !is_known.contains(child)) {
                fault(format!("`{name}` has a child `{child}`, for which no element is defined"));
            }
            // Checked here, because the filter may come from the file or the DTD.
            if element.said.get("filter").is_some_and(|filter| filter.len() > MOST_FILTER_BYTES) {
                fault(format!("the `filter` of `{name}` is longer than {MOST_FILTER_BYTES} bytes"));
            }
            if element.said.get("type").is_some_and(|kind| kind == "list") && element.list_values.is_none() {
                fault(format!("`{name}` is a list and has no `listValues`"));
            }
        }
        let validity = definition.validity.clone();
        let shown = elements.into_iter().map(|(name, it)| (name.clone(), it.shown(&name, &validity)));
        definition.elements = OrderedObject(shown.collect());
        let headlines = definition.elements.0.iter().filter(|(_, element)| element.is_headline == "true").count();
        if headlines > 1 {
            fault(format!("{headlines} elements have `isHeadline`; at most one may have it"));
        }
        definition.model = AttributeModel::of(&definition.doc_type, &definition.elements.0, fault);
        definition
    }
}

/// Merges the file's annotations of an element with those of the DTD. The file's take precedence,
/// but the children are always the DTD's.
fn merge_declared(own: ElementSource, declared: &DeclaredElement, fault: &mut dyn FnMut(String)) -> ElementSource {
    let name = &declared.name;
    let mut both = own;
    for attribute in &declared.attributes {
        if attribute.name == LIST_VALUES {
            both.list_values.get_or_insert_with(|| attribute.values.clone());
            continue;
        }
        let Some(value) = &attribute.default else { continue };
        if value.len() > MOST_VALUE_BYTES {
            fault(format!("`{}` of `{name}` is longer than {MOST_VALUE_BYTES} bytes in the DTD", attribute.name));
            continue;
        }
        if attribute.name == DEFAULT_CONTENT {
            both.said.entry(DEFAULT_CONTENT).or_insert_with(|| value.clone());
        } else if let Some(known) = annotations().find(|known| known.name == attribute.name) {
            let value = value.trim();
            if !known.kind.takes(value) {
                let wanted = known.kind.wanted();
                fault(format!("`{}` of `{name}` must be {wanted}, but is `{value}` in the DTD", known.name));
            }
            both.said.entry(known.name).or_insert_with(|| value.to_owned());
        }
    }
    let children: Vec<(SharedText, &'static str)> =
        declared.children.iter().map(|(child, occurs)| (SharedText::from(child.as_str()), occurs.mark())).collect();
    if !both.children.is_empty() {
        let sorted = |children: &[(SharedText, &'static str)]| {
            let mut children = children.to_vec();
            children.sort_unstable();
            children
        };
        if sorted(&both.children) != sorted(&children) {
            fault(format!("the children of `{name}` differ from those in the DTD"));
        }
    }
    both.children = children;
    both
}

impl ElementSource {
    /// Returns the element as replies show it. `validity` is the definition's default.
    fn shown(mut self, name: &str, validity: &str) -> MetadataElement {
        let mut take = |attribute: &str, default: &str| {
            self.said.remove(attribute).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        let flag = |value: String| if matches!(&*value, "1" | "true") { "true" } else { "false" }.to_owned();
        let title = take("title", name);
        MetadataElement {
            short_title: take("shortTitle", &title),
            title,
            distinct: flag(take("distinct", "false")),
            validity: take("validity", validity),
            expand_mode: take("expandMode", "Expanded"),
            visibility: take("visibility", ""),
            kind: take("type", "string"),
            default_content: take(DEFAULT_CONTENT, ""),
            list_name: take("listName", ""),
            file_name: take("fileName", ""),
            prefix: take("prefix", ""),
            filter: take("filter", ""),
            result: take("result", ""),
            show_part_page: flag(take("showPartPage", "false")),
            template: take("template", ""),
            data_source_url: take("dataSourceUrl", ""),
            data_source_result_template: take("dataSourceResultTemplate", ""),
            is_headline: flag(take("isHeadline", "false")),
            list_values: self.list_values.unwrap_or_default(),
            cardinality: OrderedObject(self.children),
        }
    }
}

impl MetadataDefinition {
    /// Returns the element of this name.
    pub fn element(&self, name: &str) -> Option<&MetadataElement> {
        self.elements.0.iter().find(|(known, _)| **known == *name).map(|(_, element)| element)
    }

    /// Returns the name of the element that is marked as the headline.
    pub fn headline(&self) -> Option<&SharedText> {
        self.elements.0.iter().find(|(_, element)| element.is_headline == "true").map(|(name, _)| name)
    }

    /// Hashes everything that determines which element is the headline of which objects.
    pub fn hash_headline(&self, hasher: &mut impl Hasher) {
        (self.is_default, &self.applies_to, self.headline()).hash(hasher);
    }

    /// Returns how well the definition fits objects of a type and work folder; `None` if it does
    /// not. A longer folder path fits better, then one with the type.
    pub fn fits(&self, kind: Option<&str>, work_folder: Option<&str>) -> Option<(usize, bool)> {
        let fit = |applies: &AppliesTo| {
            let of_kind = match (&applies.kind, kind) {
                (None, _) => false,
                (Some(named), Some(kind)) if **named == *kind => true,
                (Some(_), _) => return None,
            };
            let lies_in = |folder: &SharedText, path: &str| {
                path.strip_prefix(&**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let of_folder = match (&applies.work_folder, work_folder) {
                (None, _) => 0,
                (Some(named), Some(path)) if lies_in(named, path) => named.len(),
                (Some(_), _) => return None,
            };
            Some((of_folder, of_kind))
        };
        self.applies_to.iter().filter_map(fit).max()
    }
}
