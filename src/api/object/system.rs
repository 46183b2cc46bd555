//! System attributes: what creations keep among them, and what records and liveblogs show of them.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::DatabaseId;
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{Attributes, IssueDate, MAX_TITLE_BYTES, Text, check_texts};
use stet_xml::Limits;
use stet_xml::edit::{Edit, Path, edited, first_texts};

use super::amending::{Attempts, Fields, refused};
use crate::api::attributes::{Given, written};
use crate::api::template::Template;
use crate::api::title::TITLE;
use crate::http::app::App;
use crate::limits::offload;

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
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

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

/// Gives an object that is to be made its system attributes: those that the call gives, with what
/// it says of product and team beside them unless that is there; and where it gives none, what it
/// says of product and team, which changes no more than that of an object that is there. What the
/// call says of day and work folder by itself counts for more than what those attributes say, so
/// the object has to have it already.
///
/// # Errors
/// `InvalidAttributes`; `InvalidParameter` for a day that is none; `StatusNotFound` and
/// `InvalidStatus` for a status that the object can't have.
pub(in crate::api) async fn describe(
    app: &App,
    of: DatabaseId,
    object: &mut NewObject,
    given: Option<Given>,
    said: &ProductInfo<'_>,
) -> Result<Shown> {
    let text = app.rooted_text("systemAttributes", given, "props").await?;
    describe_by(app, of, object, text, said).await
}

/// Gives an object that is to be made its system attributes, as [`describe`], from a text that has
/// been read.
///
/// # Errors
/// As [`describe`].
pub(super) async fn describe_by(
    app: &App,
    of: DatabaseId,
    object: &mut NewObject,
    given: Option<Text>,
    said: &ProductInfo<'_>,
) -> Result<Shown> {
    let limits = app.attribute_limits();
    if let Some(text) = given {
        let (said, bytes) = (said.json(), text.len());
        let read = move || {
            let text = with_said(text, said, &limits)?;
            let shown = Shown::of(Some(&text), &limits)?;
            // The status is the object's own, and is not kept among them.
            let text = match shown.status() {
                Ok(_) => edited(Some(&*text), &[Edit::unset(status_path().clone())], &limits)
                    .map_err(|error| refused("systemAttributes", &error))?
                    .map(Text::from),
                Err(_) => Some(text),
            };
            Ok((text, shown))
        };
        let (text, shown): (Option<Text>, Shown) = offload::offload_if_large(bytes, read).await??;
        object.system_attributes = text;
        if let (Ok(status), None) = (shown.status(), &object.status) {
            give_status(app, of, object, &status)?;
        }
        object.work_folder = object.work_folder.take().or_else(|| shown.work_folder());
        if object.issue_date.is_none() {
            object.issue_date = shown.issue_date()?;
        }
        return Ok(shown);
    }
    let edits = Fields { attributes: Vec::new(), system: said.edits(&limits)?, limits };
    if !edits.system.is_empty() {
        object.begins_with.system_attributes = edits.new_system()?;
        object.amending = Some(Attempts::to(Arc::new(edits)).next());
    }
    Ok(Shown::default())
}

/// Gives an object that is to be made the status that its system attributes name. Where the caller
/// did not name the type, the command checks it.
fn give_status(app: &App, of: DatabaseId, object: &mut NewObject, status: &str) -> Result<()> {
    if object.inferred.is_none() {
        let types = app.sysconfig.object_types(of);
        let workflow = types.get(&object.type_name).and_then(|known| known.workflow.as_deref());
        app.sysconfig.workflows(of).check_status(workflow, status)?;
    }
    object.status = Some(status.into());
    Ok(())
}

/// Gives an object that is to be made what a template has, for the case that it is new and nothing
/// else is said of that by now.
///
/// # Errors
/// As [`begin_with`].
pub(in crate::api) async fn begin(app: &App, object: &mut NewObject, template: Template) -> Result<Shown> {
    object.begins_with.content = Some(template.content);
    begin_with(app, object, &template.record.attributes).await
}

/// Gives an object that is to be made the attributes and system attributes of its template, as
/// [`begin`]; and tells what these say, be they taken or not. What of that can't be shown is as
/// good as not said: it is not up to the caller.
///
/// # Errors
/// `Overloaded`.
pub(in crate::api) async fn begin_with(app: &App, object: &mut NewObject, template: &Attributes) -> Result<Shown> {
    let begins = &mut object.begins_with;
    begins.attributes.clone_from(&template.attributes);
    let Some(text) = template.system_attributes.clone() else { return Ok(Shown::default()) };
    let (limits, read) = (app.attribute_limits(), text.clone());
    let read = move || Shown::of(Some(&read), &limits).unwrap_or_default();
    let shown = offload::offload_if_large(text.len(), read).await?;
    // Whoever says anything of product and team says all of it: the template's product must not
    // stand beside the caller's edition.
    if object.system_attributes.is_none() && begins.system_attributes.is_none() {
        begins.system_attributes = Some(text);
        begins.work_folder = shown.work_folder();
        begins.issue_date = shown.issue_date().unwrap_or_default();
    }
    Ok(shown)
}

/// Gives a liveblog that is to be made a title, which stands among its system attributes: in those
/// that the call gives, in those of its template, and in those of a liveblog that is there. To be
/// called when all else is said of it.
///
/// # Errors
/// `InvalidParameter` for a title that is too long; `InvalidAttributes` where it can't stand.
pub(in crate::api) fn give_title(app: &App, object: &mut NewObject, title: &str, said: &ProductInfo<'_>) -> Result<()> {
    check_texts([("title", Some(title), MAX_TITLE_BYTES)])?;
    let limits = app.attribute_limits();
    let set = |path: &Path| {
        let edit = Edit::set(path.clone(), &title.into(), &limits);
        edit.map_err(|error| refused("title", &error))
    };
    let titled = |text: Option<&Text>| -> Result<Option<Text>> {
        let edited = edited(text.map(|text| &**text), &[set(&TITLE)?], &limits);
        Ok(edited.map_err(|error| refused("systemAttributes", &error))?.map(Text::from))
    };
    if object.system_attributes.is_some() {
        object.system_attributes = titled(object.system_attributes.as_ref())?;
        return Ok(());
    }
    object.begins_with.system_attributes = titled(object.begins_with.system_attributes.as_ref())?;
    let mut system = said.edits(&limits)?;
    system.push(set(&TITLE)?);
    object.amending = Some(Attempts::to(Arc::new(Fields { attributes: Vec::new(), system, limits })).next());
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

/// Where system attributes say what records and liveblogs show: whether new posts wait for
/// approval, the day, the work folder, and the workflow status.
static SHOWN: LazyLock<[Path; 4]> = LazyLock::new(|| {
    // They are paths, as a test shows.
    ["/props/moderated", "/props/productInfo/issueDate", "/props/workFolder", "/props/status"]
        .map(|path| Path::parse(path).expect("it is a path"))
});

/// Where changes of fields name the workflow status.
pub(super) fn status_path() -> &'static Path {
    &SHOWN[3]
}

/// What system attributes say at [`SHOWN`].
#[derive(Debug, Default)]
pub(in crate::api) struct Shown([Option<String>; 4]);

impl Shown {
    /// What a text says, which may be long.
    ///
    /// # Errors
    /// `InvalidAttributes`; `Overloaded`.
    pub async fn read(app: &App, text: Option<&Text>) -> Result<Shown> {
        let (limits, text) = (app.attribute_limits(), text.cloned());
        offload::offload_if_large(text.as_ref().map_or(0, |text| text.len()), move || Shown::of(text.as_ref(), &limits))
            .await?
    }

    /// What a text says.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    pub fn of(text: Option<&Text>, limits: &Limits) -> Result<Shown> {
        let Some(text) = text else { return Ok(Shown::default()) };
        first_texts(text, SHOWN.each_ref(), limits).map(Shown).map_err(|error| refused("systemAttributes", &error))
    }

    /// Whether new posts wait for approval.
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

    /// The day.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub fn issue_date(&self) -> Result<Option<IssueDate>> {
        IssueDate::given(self.0[1].as_deref().map(str::trim))
    }

    /// The work folder.
    pub fn work_folder(&self) -> Option<Text> {
        self.0[2].as_deref().filter(|path| !path.is_empty()).map(Text::from)
    }

    /// The workflow status that a change of fields names.
    ///
    /// # Errors
    /// `InvalidStatus` where it names none: a status can't be taken away.
    pub fn status(&self) -> Result<Text> {
        let named = self.0[3].as_deref().map(str::trim).filter(|status| !status.is_empty());
        named.map(Text::from).ok_or_else(|| {
            let message =
                "`/sysattributes/props/status` names the workflow status, which can be changed and not removed.";
            Error::new(Code::InvalidStatus, message).with_detail("field", "systemAttributes")
        })
    }

    /// Which of them were decided by edits that have made this of what was there `before`: what an
    /// edit names, also where it leaves nothing; what stands in what an edit names, where it is
    /// said; and whatever is another text than before.
    pub fn decided_by(&self, edits: &[Edit], before: &Shown) -> [bool; 4] {
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
    fn what_is_shown_stands_at_paths() {
        assert_eq!(SHOWN.len(), 4);
    }
}
