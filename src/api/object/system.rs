//! System attributes: what creations keep among them, and what records and liveblogs show of them.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use stet_actors::error::{Error, Result};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{IssueDate, Text};
use stet_xml::Limits;
use stet_xml::edit::{Edit, Path, first_texts};

use super::amending::{Attempts, Fields, refused};
use crate::api::attributes::{Given, written};
use crate::give_way;
use crate::http::app::App;

/// What creations take beside attributes and keep among the system attributes.
#[derive(Default)]
pub(in crate::api) struct ProductInfo<'a> {
    pub product: Option<&'a str>,
    pub edition: Option<&'a str>,
    pub issue_date: Option<&'a IssueDate>,
    pub team: Option<&'a str>,
}

/// Where they are kept: the element below the root, and that in it if there is one.
const KEPT: [(&str, Option<&str>); 4] = [
    ("productInfo", Some("name")),
    ("productInfo", Some("edition")),
    ("productInfo", Some("issueDate")),
    ("team", None),
];

impl ProductInfo<'_> {
    /// What is said, by its places.
    fn said(&self) -> impl Iterator<Item = ((&'static str, Option<&'static str>), &str)> {
        let issue_date = self.issue_date.map(|date| &**date.text());
        let values = [self.product, self.edition, issue_date, self.team];
        KEPT.into_iter()
            .zip(values)
            .filter_map(|(place, value)| Some((place, value.filter(|value| !value.is_empty())?)))
    }

    /// As members of the JSON view of the root.
    fn json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        for ((element, inner), value) in self.said() {
            match inner {
                None => drop(json.insert(element.into(), value.into())),
                Some(inner) => json.entry(element).or_insert_with(|| json!({}))[inner] = value.into(),
            }
        }
        json
    }

    /// As changes of single places.
    fn edits(&self, limits: &Limits) -> Result<Vec<Edit>> {
        let edit = |((element, inner), value): ((&str, Option<&str>), &str)| {
            let path = match inner {
                None => format!("/props/{element}"),
                Some(inner) => format!("/props/{element}/{inner}"),
            };
            Edit::set(Path::parse(&path)?, &value.into(), limits)
        };
        self.said().map(edit).collect::<Result<_, _>>().map_err(|error| refused("systemAttributes", &error))
    }
}

/// Gives an object that is to be made its system attributes: those that the call gives, with what it says of product and team beside
/// them unless that is there; and where it gives none, what it says of product and team, which changes no more than that of an object
/// that is there.
///
/// # Errors
/// `InvalidAttributes`.
pub(in crate::api) async fn describe(
    app: &App,
    object: &mut NewObject,
    given: Option<Given>,
    said: &ProductInfo<'_>,
) -> Result<()> {
    let limits = app.attribute_limits();
    if let Some(text) = app.rooted_text("systemAttributes", given, "props").await? {
        let said = said.json();
        object.system_attributes = Some(give_way::by_size(text.len(), move || with_said(text, said, &limits)).await??);
        return Ok(());
    }
    let edits = Fields { attributes: Vec::new(), system: said.edits(&limits)?, limits };
    if !edits.system.is_empty() {
        object.begins_with.system_attributes = edits.new_system()?;
        object.amending = Some(Attempts::to(Arc::new(edits)).next());
    }
    Ok(())
}

/// System attributes with what was said beside them. Values that they have already take precedence.
fn with_said(text: Text, mut said: Map<String, Value>, limits: &Limits) -> Result<Text> {
    if said.is_empty() {
        return Ok(text);
    }
    // It has just been checked.
    let mut json = stet_xml::to_json(&text, limits).map_err(|_| Error::internal())?;
    let mut props = match json.get_mut("props").map(Value::take) {
        Some(Value::Object(props)) => props,
        // Empty, or nothing but text.
        Some(Value::String(text)) if !text.is_empty() => Map::from_iter([("#text".to_owned(), text.into())]),
        _ => Map::new(),
    };
    said.retain(|key, _| !props.contains_key(key));
    if said.is_empty() {
        // As it came, to the byte.
        return Ok(text);
    }
    props.extend(said);
    written("systemAttributes", &json!({ "props": props }), limits).map(|(text, _)| text)
}

/// What goes with system attributes: whether posts of a liveblog wait, and the day and the work folder that the record shows.
static MIRRORED: LazyLock<[Path; 3]> = LazyLock::new(|| {
    // They are paths, as a test shows.
    ["/props/moderated", "/props/productInfo/issueDate", "/props/workFolder"]
        .map(|path| Path::parse(path).expect("it is a path"))
});

/// What the texts at [`MIRRORED`] are.
///
/// # Errors
/// `InvalidAttributes`.
pub(super) fn mirrored(text: Option<&Text>, limits: &Limits) -> Result<[Option<String>; 3]> {
    let Some(text) = text else { return Ok([None, None, None]) };
    first_texts(text, MIRRORED.each_ref(), limits).map_err(|error| refused("systemAttributes", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mirrored_stands_at_paths() {
        assert_eq!(MIRRORED.len(), 3);
    }
}
