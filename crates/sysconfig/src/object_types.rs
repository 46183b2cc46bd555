//! The object types of the repository.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as UnknownName, StrDeserializer};
use serde::{Deserialize, Serialize};
use stet_base::nearest::suggestion;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{FamilyKind, SharedText};

use super::document::{ConfigElement, ConfigFile};
use super::vocabulary;

/// The separator between a product's prefix and a type's name: `EOM::Story`.
const PREFIX_END: &str = "::";

/// The media type of clients that do not know a better one. The type that lists it is the fallback.
const GENERIC: &str = "application/octet-stream";

/// An object type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectType {
    /// Name in object records.
    pub name: SharedText,
    /// Family, which determines how the server treats the objects.
    #[schemars(with = "String")]
    pub family: FamilyKind,
    /// Workflow of the objects; null if they have no status.
    pub workflow: Option<SharedText>,
    /// Label for users.
    pub label: SharedText,
    /// Media types of the type, in lower case.
    pub content_types: Vec<SharedText>,
    /// File extensions of the type, in lower case and without the dot.
    pub extensions: Vec<SharedText>,
}

/// All object types, in the order of their file.
#[derive(Debug, Clone)]
pub struct ObjectTypes {
    types: Vec<ObjectType>,
    by_name: HashMap<SharedText, usize>,
    /// Indexes by the name in lower case and without a prefix.
    by_folded: HashMap<String, usize>,
    by_content_type: HashMap<SharedText, usize>,
    by_extension: HashMap<SharedText, usize>,
}

impl Default for ObjectTypes {
    /// Returns the built-in types, without which a repository can't work.
    fn default() -> ObjectTypes {
        let built_in = |name: &str, family, content_types: &[&str]| ObjectType {
            name: name.into(),
            family,
            workflow: None,
            label: name.into(),
            content_types: content_types.iter().map(|text| SharedText::from(*text)).collect(),
            extensions: Vec::new(),
        };
        ObjectTypes::of(vec![
            built_in("Folder", FamilyKind::Folder, &[]),
            built_in("Drawer", FamilyKind::Drawer, &[]),
            built_in("LiveBlog", FamilyKind::Liveblog, &[]),
            built_in(stet_domain::liveblog::POST_TYPE, FamilyKind::Document, &[]),
            built_in("Binary", FamilyKind::Document, &[GENERIC]),
        ])
    }
}

impl ConfigFile for ObjectTypes {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::OBJECT_TYPES;

    fn read(root: ConfigElement<'_>) -> ObjectTypes {
        let mut names = HashSet::new();
        let kind = |element: ConfigElement<'_>| {
            let kind = read(element);
            if !names.insert(kind.name.clone()) {
                element.fault(format!("the object type `{}` is defined twice", kind.name));
            }
            kind
        };
        ObjectTypes::of(root.all("objectType").map(kind).collect())
    }
}

impl ObjectTypes {
    /// Returns the type of a name in a call.
    ///
    /// # Errors
    /// `TypeNotFound`, with the nearest known name, and all names if they are few.
    pub fn named(&self, name: &str) -> Result<&ObjectType> {
        self.get(name).ok_or_else(|| self.unknown(name))
    }

    /// Returns the refusal of a name that no type has.
    pub fn unknown(&self, name: &str) -> Error {
        let help = suggestion(name, self.types.iter().map(|known| &*known.name));
        Error::new(Code::TypeNotFound, format!("There is no object type `{name}`.{help}")).with_source(name)
    }

    fn of(types: Vec<ObjectType>) -> ObjectTypes {
        let mut made = ObjectTypes {
            by_name: HashMap::new(),
            by_folded: HashMap::new(),
            by_content_type: HashMap::new(),
            by_extension: HashMap::new(),
            types,
        };
        for (place, kind) in made.types.iter().enumerate() {
            made.by_name.insert(kind.name.clone(), place);
            // If two types have the same bare name, the first one is found.
            made.by_name.entry(bare(&kind.name).into()).or_insert(place);
            made.by_folded.entry(bare(&kind.name).to_lowercase()).or_insert(place);
            for content_type in &kind.content_types {
                made.by_content_type.entry(content_type.clone()).or_insert(place);
            }
            for extension in &kind.extensions {
                made.by_extension.entry(extension.clone()).or_insert(place);
            }
        }
        made
    }

    /// Returns the type of this name. A prefix (`EOM::`) is ignored, and so is case, unless two
    /// types differ only by it.
    pub fn get(&self, name: &str) -> Option<&ObjectType> {
        let place = self
            .by_name
            .get(name)
            .or_else(|| self.by_name.get(bare(name)))
            .or_else(|| self.by_folded.get(&bare(name).to_lowercase()))?;
        self.types.get(*place)
    }

    /// Returns the type for a new object without one: by its content type, if known, else by its
    /// name's extension, else the type of unspecific content.
    pub fn infer(&self, content_type: Option<&str>, file_name: &str) -> Option<&ObjectType> {
        let content_type = content_type.map(media_type).filter(|text| text != GENERIC);
        let place = content_type
            .and_then(|content_type| self.by_content_type.get(&*content_type))
            .or_else(|| self.by_extension.get(&*extension(file_name)?))
            .or_else(|| self.by_content_type.get(GENERIC))?;
        self.types.get(*place)
    }

    /// Returns all types, in the order of their file.
    pub fn iter(&self) -> impl Iterator<Item = &ObjectType> {
        self.types.iter()
    }
}

/// Returns a type's name without its product's prefix.
fn bare(name: &str) -> &str {
    name.rsplit_once(PREFIX_END).map_or(name, |(_, name)| name)
}

/// Returns a content type without its parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the file extension of a name in lower case. A name whose only dot is its first character
/// has none.
fn extension(file_name: &str) -> Option<String> {
    let (stem, extension) = file_name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_lowercase())
}

fn read(element: ConfigElement<'_>) -> ObjectType {
    let name = element.required("name");
    if bare(name).is_empty() || name.contains(|c: char| c == '/' || c.is_control()) {
        element.fault(format!("`{name}` can't be the name of an object type"));
    }
    let family: StrDeserializer<'_, UnknownName> = element.required("family").into_deserializer();
    let texts = |child: &str, edit: fn(&str) -> String| -> Vec<SharedText> {
        element.all(child).map(|child| edit(&child.text()).into()).collect()
    };
    ObjectType {
        name: name.into(),
        // The vocabulary allows no others.
        family: FamilyKind::deserialize(family).unwrap_or(FamilyKind::Document),
        workflow: element.attribute("workflow").map(SharedText::from),
        label: element.attribute("label").unwrap_or(name).into(),
        content_types: texts("contentType", media_type),
        extensions: texts("extension", |text| text.trim_start_matches('.').to_lowercase()),
    }
}
