//! System attributes: the values that creations store in them, and the values that records and
//! liveblogs show of them.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::NewObject;
use stet_domain::object::{IssueDate, MAX_TITLE_BYTES, SharedText, check_texts};
use stet_xml::Limits;
use stet_xml::edit::{Edit, Path, apply_edits, first_texts};

use super::Template;
use super::edits::{AmendAttempts, AttributeEdits, edit_refusal};
use crate::Newsroom;
use crate::attribute_input::written;

/// The values that creations take in fields of their own, and store in the system attributes.
#[derive(Default)]
pub(super) struct ProductInfo<'a> {
    pub product: Option<&'a str>,
    pub edition: Option<&'a str>,
    pub issue_date: Option<&'a IssueDate>,
    pub team: Option<&'a str>,
}

/// The places of these values: the element below the root, and the element in it, if any.
const KEPT: [(&str, Option<&str>); 4] = [
    ("productInfo", Some("name")),
    ("productInfo", Some("edition")),
    ("productInfo", Some("issueDate")),
    ("team", None),
];

impl ProductInfo<'_> {
    /// Reports whether no value is given.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

    /// Returns the values given, each with its place.
    fn said(&self) -> impl Iterator<Item = ((&'static str, Option<&'static str>), &str)> {
        let issue_date = self.issue_date.map(|date| &**date.text());
        let values = [self.product, self.edition, issue_date, self.team];
        KEPT.into_iter()
            .zip(values)
            .filter_map(|(place, value)| Some((place, value.filter(|value| !value.is_empty())?)))
    }

    /// Returns the values as members of the JSON form of the root.
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

    /// Returns the values as edits of single places.
    fn edits(&self, limits: &Limits) -> Result<Vec<Edit>> {
        let edit = |((element, inner), value): ((&str, Option<&str>), &str)| {
            let path = match inner {
                None => format!("/props/{element}"),
                Some(inner) => format!("/props/{element}/{inner}"),
            };
            Edit::set(Path::parse(&path)?, &value.into(), limits)
        };
        self.said().map(edit).collect::<Result<_, _>>().map_err(|error| edit_refusal("systemAttributes", &error))
    }
}

/// Sets the system attributes of a new object. If the call gives system attributes, the values in
/// `said` are added to them where they are missing. If it gives none, `said` becomes the initial
/// system attributes, and edits only those places of an existing object. The call's own issue date
/// and work folder take precedence over those in the attributes, so the object must have them
/// already.
///
/// # Errors
/// `InvalidAttributes`; `InvalidParameter` for an invalid issue date; `StatusNotFound` and
/// `InvalidStatus` for a status that the object can't have.
pub(super) async fn describe(
    newsroom: &Newsroom,
    of: DatabaseId,
    object: &mut NewObject,
    given: Option<SharedText>,
    said: &ProductInfo<'_>,
) -> Result<SystemValues> {
    let limits = newsroom.attribute_limits();
    if let Some(text) = given {
        let (said, bytes) = (said.json(), text.len());
        let read = move || {
            let text = with_said(text, said, &limits)?;
            let shown = SystemValues::of(Some(&text), &limits)?;
            // The status is stored in the record, and not in the system attributes.
            let text = match shown.status() {
                Ok(_) => apply_edits(Some(&*text), &[Edit::unset(status_path().clone())], &limits)
                    .map_err(|error| edit_refusal("systemAttributes", &error))?
                    .map(SharedText::from),
                Err(_) => Some(text),
            };
            Ok((text, shown))
        };
        let (text, shown): (Option<SharedText>, SystemValues) = offload::offload_if_large(bytes, read).await??;
        object.system_attributes = text;
        if let (Ok(status), None) = (shown.status(), &object.status) {
            give_status(newsroom, of, object, &status)?;
        }
        object.work_folder = object.work_folder.take().or_else(|| shown.work_folder());
        if object.issue_date.is_none() {
            object.issue_date = shown.issue_date()?;
        }
        return Ok(shown);
    }
    let edits = AttributeEdits { attributes: Vec::new(), system: said.edits(&limits)?, limits };
    if !edits.system.is_empty() {
        object.begins_with.system_attributes = edits.new_system()?;
        object.amending = Some(AmendAttempts::to(Arc::new(edits)).next_attempt());
    }
    Ok(SystemValues::default())
}

/// Gives a new object the status that its system attributes name. If the caller did not name the
/// type, the command checks the status.
fn give_status(newsroom: &Newsroom, of: DatabaseId, object: &mut NewObject, status: &str) -> Result<()> {
    if object.inferred.is_none() {
        let types = newsroom.sysconfig.object_types(of);
        let workflow = types.get(&object.type_name).and_then(|known| known.workflow.as_deref());
        newsroom.sysconfig.workflows(of).check_status(workflow, status)?;
    }
    object.status = Some(status.into());
    Ok(())
}

/// Gives a new object the content and attributes of its template. They apply only if the object is
/// new, and where the call has set nothing else so far. Returns the values of the template's system
/// attributes, used or not. Values that can't be read are left out, because the template is not the
/// caller's responsibility.
///
/// # Errors
/// `Overloaded`.
pub(super) async fn begin(newsroom: &Newsroom, object: &mut NewObject, template: Template) -> Result<SystemValues> {
    let begins = &mut object.begins_with;
    begins.content = template.content;
    begins.attributes.clone_from(&template.attributes.attributes);
    let Some(text) = template.attributes.system_attributes.clone() else { return Ok(SystemValues::default()) };
    let (limits, read) = (newsroom.attribute_limits(), text.clone());
    let read = move || SystemValues::of(Some(&read), &limits).unwrap_or_default();
    let shown = offload::offload_if_large(text.len(), read).await?;
    // Product and team are taken from the caller or from the template, but never mixed: the
    // template's product does not fit the caller's edition.
    if object.system_attributes.is_none() && begins.system_attributes.is_none() {
        begins.system_attributes = Some(text);
        begins.work_folder = shown.work_folder();
        begins.issue_date = shown.issue_date().unwrap_or_default();
    }
    Ok(shown)
}

/// Gives a new liveblog a title, which is stored in the system attributes: in those of the call, in
/// those of its template, and in those of an existing liveblog. Must be called after everything
/// else is set.
///
/// # Errors
/// `InvalidParameter` for a title that is too long; `InvalidAttributes` if the attributes have no
/// place for it.
pub(super) fn give_title(
    newsroom: &Newsroom,
    object: &mut NewObject,
    title: &str,
    said: &ProductInfo<'_>,
) -> Result<()> {
    check_texts([("title", Some(title), MAX_TITLE_BYTES)])?;
    let limits = newsroom.attribute_limits();
    let set = |path: &Path| {
        let edit = Edit::set(path.clone(), &title.into(), &limits);
        edit.map_err(|error| edit_refusal("title", &error))
    };
    let titled = |text: Option<&SharedText>| -> Result<Option<SharedText>> {
        let edited = apply_edits(text.map(|text| &**text), &[set(&TITLE)?], &limits);
        Ok(edited.map_err(|error| edit_refusal("systemAttributes", &error))?.map(SharedText::from))
    };
    if object.system_attributes.is_some() {
        object.system_attributes = titled(object.system_attributes.as_ref())?;
        return Ok(());
    }
    object.begins_with.system_attributes = titled(object.begins_with.system_attributes.as_ref())?;
    let mut system = said.edits(&limits)?;
    system.push(set(&TITLE)?);
    object.amending =
        Some(AmendAttempts::to(Arc::new(AttributeEdits { attributes: Vec::new(), system, limits })).next_attempt());
    Ok(())
}

/// Adds values to system attributes. Values that these have already take precedence.
fn with_said(text: SharedText, mut said: Map<String, Value>, limits: &Limits) -> Result<SharedText> {
    if said.is_empty() {
        return Ok(text);
    }
    // The text has just been checked.
    let mut json = stet_xml::to_json(&text, limits).map_err(|_| Error::internal())?;
    let mut props = match json.get_mut("props").map(Value::take) {
        Some(Value::Object(props)) => props,
        // The root is empty, or contains only text.
        Some(Value::String(text)) if !text.is_empty() => Map::from_iter([("#text".to_owned(), text.into())]),
        _ => Map::new(),
    };
    said.retain(|key, _| !props.contains_key(key));
    if said.is_empty() {
        // Unchanged, byte for byte.
        return Ok(text);
    }
    props.extend(said);
    written("systemAttributes", &json!({ "props": props }), limits).map(|(text, _)| text)
}

/// The path of a liveblog's title in its system attributes.
pub static TITLE: LazyLock<Path> =
    LazyLock::new(|| Path::parse("/props/title").expect("a constant path, which a test parses"));

/// The paths in system attributes of values that records and liveblogs show: whether new posts wait
/// for approval, the issue date, the work folder, and the workflow status.
static SHOWN: LazyLock<[Path; 4]> = LazyLock::new(|| {
    // All are paths, as a test shows.
    ["/props/moderated", "/props/productInfo/issueDate", "/props/workFolder", "/props/status"]
        .map(|path| Path::parse(path).expect("it is a path"))
});

/// Returns the path by which changes of fields name the workflow status.
pub(super) fn status_path() -> &'static Path {
    &SHOWN[3]
}

/// The values of system attributes at [`SHOWN`].
#[derive(Debug, Default)]
pub struct SystemValues([Option<String>; 4]);

impl SystemValues {
    /// Reads the values of a text, on another thread if it is long.
    ///
    /// # Errors
    /// `InvalidAttributes`; `Overloaded`.
    pub async fn read(newsroom: &Newsroom, text: Option<&SharedText>) -> Result<SystemValues> {
        let (limits, text) = (newsroom.attribute_limits(), text.cloned());
        offload::offload_if_large(text.as_ref().map_or(0, |text| text.len()), move || {
            SystemValues::of(text.as_ref(), &limits)
        })
        .await?
    }

    /// Reads the values of a text.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    pub fn of(text: Option<&SharedText>, limits: &Limits) -> Result<SystemValues> {
        let Some(text) = text else { return Ok(SystemValues::default()) };
        first_texts(text, SHOWN.each_ref(), limits)
            .map(SystemValues)
            .map_err(|error| edit_refusal("systemAttributes", &error))
    }

    /// Returns whether new posts wait for approval.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    pub fn moderated(&self) -> Result<Option<bool>> {
        match self.0[0].as_deref().map(str::trim) {
            None => Ok(None),
            Some("" | "false" | "0") => Ok(Some(false)),
            Some("true" | "1") => Ok(Some(true)),
            Some(other) => {
                let message = format!("`moderated` of a liveblog must be true or false, but is `{other}`.");
                Err(Error::new(Code::InvalidAttributes, message).with_detail("field", "systemAttributes"))
            }
        }
    }

    /// Returns the issue date.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub fn issue_date(&self) -> Result<Option<IssueDate>> {
        IssueDate::given(self.0[1].as_deref().map(str::trim))
    }

    /// Returns the work folder.
    pub fn work_folder(&self) -> Option<SharedText> {
        self.0[2].as_deref().filter(|path| !path.is_empty()).map(SharedText::from)
    }

    /// Returns the workflow status that a change of fields names.
    ///
    /// # Errors
    /// `InvalidStatus` if it names none, because a status can't be removed.
    pub fn status(&self) -> Result<SharedText> {
        let named = self.0[3].as_deref().map(str::trim).filter(|status| !status.is_empty());
        named.map(SharedText::from).ok_or_else(|| {
            let message = "`/sysattributes/props/status` is the workflow status, which can be changed but not removed.";
            Error::new(Code::InvalidStatus, message).with_detail("field", "systemAttributes")
        })
    }

    /// Returns which values the edits have decided, compared with those `before`. A value is
    /// decided if an edit names its path, even if nothing is left there; if an edit names an
    /// element around it and the value exists; or if it has changed.
    pub fn decided_by(&self, edits: &[Edit], before: &SystemValues) -> [bool; 4] {
        std::array::from_fn(|at| {
            let (path, said) = (&SHOWN[at], &self.0[at]);
            let named = |edit: &Edit| edit.is_at(path) || said.is_some() && edit.is_around(path);
            *said != before.0[at] || edits.iter().any(named)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_system_attribute_paths_are_valid() {
        assert_eq!((SHOWN.len(), TITLE.to_string()), (4, "/props/title".to_owned()));
    }
}
