//! Metadata definitions: which elements the metadata of some object types has, and how forms show them.

use stet_actors::object::Text;

use super::document::{ConfigFile, Element, Once};
use super::vocabulary;

/// The metadata of some object types.
#[derive(Debug, Clone)]
pub struct MetadataDefinition {
    /// Names of the elements, each once.
    pub elements: Vec<Text>,
}

impl ConfigFile for MetadataDefinition {
    const ROOT: &'static vocabulary::Element = &vocabulary::METADATA_DEFINITION;

    fn read(root: Element<'_>) -> MetadataDefinition {
        let mut once = Once::default();
        let elements: Vec<(Element<'_>, Text)> = root
            .all("element")
            .map(|element| {
                let name = element.required("name");
                once.check(element, "element", name);
                (element, name.into())
            })
            .collect();
        let is_known = |name: &str| elements.iter().any(|(_, known)| &**known == name);
        let doc_type = root.required("docType");
        if !is_known(doc_type) {
            root.fault(format!("there is no element `{doc_type}`, which is the root"));
        }
        for (element, name) in &elements {
            for child in element.all("child").filter(|child| !is_known(child.required("name"))) {
                child.fault(format!("`{name}` has a child `{}`, of which there is no element", child.required("name")));
            }
            if element.required("type") == "list" && element.all("listValues").next().is_none() {
                element.fault(format!("`{name}` is a list and has no `listValues`"));
            }
        }
        MetadataDefinition { elements: elements.into_iter().map(|(_, name)| name).collect() }
    }
}
