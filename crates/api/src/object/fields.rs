//! Changes of fields of objects' attributes (docs/api/objects.md, "Changing fields").

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use stet_auth::Privilege;
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::metadata::ChangeFields;
use stet_endpoint::records::{BulkBuilder, BulkItem, BulkReply};
use stet_endpoint::requests::{DatabaseRef, SourceList, database_named};
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::caller::BulkChange;
use stet_newsroom::creation::{AmendAttempts, AttributeEdits};
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::reply::Json;
use stet_xml::Limits;
use stet_xml::edit::{Edit, EditError, Path};

/// The largest number of operators in an entry. All of them are applied to an object at once.
const MAX_OPERATORS: usize = 100;

/// Body of a change of fields.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFieldsRequest {
    /// Updates, carried out in order.
    update_fields: Vec<JsonObject<FieldsUpdate>>,
    /// Database of `sourceIds`; the main one by default.
    #[serde(default)]
    database_id: Option<DatabaseRef>,
}

/// An update of the fields of some objects.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldsUpdate {
    /// Objects by loid, uuid or path.
    source_ids: SourceList,
    /// Operators, applied to each object in order, all or none; at most 100.
    operators: Vec<FieldOperator>,
    /// Value of `length` for operators without their own.
    #[serde(default)]
    length: Option<u32>,
}

/// An operator that changes a field.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FieldOperator {
    /// Sets the content of what the path finds, and creates it if nothing is found.
    Set(JsonObject<SetField>),
    /// Removes what the path finds.
    Unset(JsonObject<UnsetField>),
    /// Adds to a number.
    Inc(JsonObject<IncreaseField>),
    /// Adds elements after those that the path finds.
    Push(JsonObject<PushField>),
    /// Removes the first elements that the path finds.
    PullFirst(JsonObject<PullField>),
    /// Removes the last elements that the path finds.
    PullLast(JsonObject<PullField>),
}

/// A field and its new content.
#[derive(Deserialize, JsonSchema)]
pub struct SetField {
    /// Path of the field: `/attributes/…` or `/sysattributes/props…`
    xpath: String,
    /// New content: a text, number or boolean; an object in the JSON form of attributes; a list; or
    /// null for empty.
    content: AttributeInput,
}

/// A field to remove.
#[derive(Deserialize, JsonSchema)]
pub struct UnsetField {
    /// Path of the field, as in `set`.
    xpath: String,
}

/// A field to increase, and the amount.
#[derive(Deserialize, JsonSchema)]
pub struct IncreaseField {
    /// Path of the field, as in `set`.
    xpath: String,
    /// The amount: a number, or a text that is one; 1 by default.
    #[serde(default)]
    content: Option<AttributeInput>,
}

/// Elements to add to a list.
#[derive(Deserialize, JsonSchema)]
pub struct PushField {
    /// Path of the elements, as in `set`; ends with the plain name of an element.
    xpath: String,
    /// New content, as in `set`; of a list, each item is added.
    content: AttributeInput,
    /// Largest number of elements to keep, the last ones.
    #[serde(default)]
    length: Option<u32>,
}

/// Elements to remove from a list.
#[derive(Deserialize, JsonSchema)]
pub struct PullField {
    /// Path of the elements, as in `set`.
    xpath: String,
    /// Text of the elements to remove; any by default.
    #[serde(default)]
    content: Option<AttributeInput>,
    /// Number of elements to remove; 1 by default.
    #[serde(default)]
    length: Option<u32>,
}

/// `POST /v3/object/metadata/change/fields`
pub async fn change_fields(mut call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    let request: ChangeFieldsRequest = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let (mut sources, mut changes, mut timer) = (Vec::new(), Vec::new(), YieldTimer::start());
    for (place, JsonObject(update)) in request.update_fields.into_iter().enumerate() {
        timer.yield_if_due().await;
        let fields = Arc::new(fields_of(&call, place, update.operators, update.length).await?);
        let given = update.source_ids.read(&call.app)?;
        changes.extend(given.iter().map(|_| fields.clone()));
        sources.extend(given);
        let limit = call.app.config.limits.list_sources;
        if sources.len() > limit {
            let message =
                format!("All `sourceIds` together have more than the {} allowed.", count_with_noun(limit, "entry"));
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", limit));
        }
    }
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &sources), call.each_of(sources.len())?);
    for (place, (source, fields)) in sources.iter().zip(changes).enumerate() {
        timer.yield_if_due().await;
        let outcome = async { change_one(&each.at(place)?, source, database, fields).await };
        bulk.note(place, outcome.await);
    }
    bulk.answer().await
}

async fn change_one(
    one: &BulkChange<'_>,
    text: &str,
    database: DatabaseId,
    fields: Arc<AttributeEdits>,
) -> Result<BulkItem> {
    if let Some(object) = one.done_before() {
        return Ok(BulkItem { source: text.to_owned(), id: object.to_string() });
    }
    let source = ObjectSource::parse("sourceIds", text)?;
    let record = one.caller().find_for(Privilege::Write, &source, database)?;
    let object = record.loid;
    let mut attempts = AmendAttempts::to(fields);
    while !one.change(object, ChangeFields { object, amending: attempts.next_attempt() }).await? {
        attempts.go_ahead(one.caller().newsroom(), object).await?;
    }
    Ok(BulkItem { source: text.to_owned(), id: object.to_string() })
}

/// Parses the operators of the entry with that index.
async fn fields_of(
    call: &Call,
    entry: usize,
    operators: Vec<FieldOperator>,
    length: Option<u32>,
) -> Result<AttributeEdits> {
    if operators.len() > MAX_OPERATORS {
        let found = operators.len();
        let message =
            format!("`updateFields[{entry}].operators` has {found} entries; at most {MAX_OPERATORS} are allowed.");
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_OPERATORS));
    }
    let limits = call.app.attribute_limits();
    let bytes = operators.iter().map(FieldOperator::bytes).sum();
    offload::offload_if_large(bytes, move || {
        let mut fields = AttributeEdits { attributes: Vec::new(), system: Vec::new(), limits };
        for (place, operator) in operators.into_iter().enumerate() {
            let (at, name) = (format!("updateFields[{entry}].operators[{place}]"), operator.name());
            let (of, edit) = operator.edit(length, &limits).map_err(|error| {
                let (code, field) = match error {
                    EditError::Path(_) => (Code::InvalidXPath, "xpath"),
                    EditError::Content(_) | EditError::Value(_) | EditError::Document(_) => {
                        (Code::InvalidBody, "content")
                    }
                };
                let path = format!("$.{at}.{name}.{field}");
                Error::new(code, format!("`{path}`: {error}")).with_detail("path", path)
            })?;
            match of {
                FieldGroup::Attributes => fields.attributes.push(edit),
                FieldGroup::System => fields.system.push(edit),
            }
        }
        Ok(fields)
    })
    .await?
}

/// The text that a path leads into.
enum FieldGroup {
    Attributes,
    System,
}

/// Returns the text that an `xpath` leads into, and its path there.
fn path_of(xpath: &str) -> Result<(FieldGroup, Path), EditError> {
    if let Some(path) = xpath.strip_prefix("/attributes").filter(|path| path.starts_with('/')) {
        return Ok((FieldGroup::Attributes, Path::parse(path)?));
    }
    let system = xpath.strip_prefix("/sysattributes");
    if let Some(path) = system.filter(|path| *path == "/props" || path.starts_with("/props/")) {
        return Ok((FieldGroup::System, Path::parse(path)?));
    }
    let shown: String = xpath.chars().take(100).collect();
    Err(EditError::Path(format!("`{shown}` leads neither into `/attributes/` nor into `/sysattributes/props`.")))
}

impl FieldOperator {
    /// Returns the operator's name in the interface.
    fn name(&self) -> &'static str {
        match self {
            FieldOperator::Set(_) => "set",
            FieldOperator::Unset(_) => "unset",
            FieldOperator::Inc(_) => "inc",
            FieldOperator::Push(_) => "push",
            FieldOperator::PullFirst(_) => "pullFirst",
            FieldOperator::PullLast(_) => "pullLast",
        }
    }

    /// Returns the size of its content in bytes.
    fn bytes(&self) -> usize {
        let content = match self {
            FieldOperator::Set(JsonObject(set)) => Some(&set.content),
            FieldOperator::Push(JsonObject(push)) => Some(&push.content),
            FieldOperator::Inc(JsonObject(inc)) => inc.content.as_ref(),
            FieldOperator::PullFirst(JsonObject(pull)) | FieldOperator::PullLast(JsonObject(pull)) => {
                pull.content.as_ref()
            }
            FieldOperator::Unset(_) => None,
        };
        content.map_or(0, AttributeInput::bytes)
    }

    /// Converts the operator into an edit; `all` is the `length` for operators without their own.
    fn edit(self, all: Option<u32>, limits: &Limits) -> Result<(FieldGroup, Edit), EditError> {
        let value =
            |given: Option<AttributeInput>| given.map(|given| given.value()).transpose().map_err(EditError::Content);
        let is_first = matches!(self, FieldOperator::PullFirst(_));
        let (group, edit) = match self {
            FieldOperator::Set(JsonObject(SetField { xpath, content })) => {
                let (group, path) = path_of(&xpath)?;
                (group, Edit::set(path, &content.value().map_err(EditError::Content)?, limits)?)
            }
            FieldOperator::Unset(JsonObject(UnsetField { xpath })) => {
                let (group, path) = path_of(&xpath)?;
                (group, Edit::unset(path))
            }
            FieldOperator::Inc(JsonObject(IncreaseField { xpath, content })) => {
                let (group, path) = path_of(&xpath)?;
                (group, Edit::increase(path, value(content)?.as_ref())?)
            }
            FieldOperator::Push(JsonObject(PushField { xpath, content, length })) => {
                let (group, path) = path_of(&xpath)?;
                let content = content.value().map_err(EditError::Content)?;
                (group, Edit::push(path, &content, length.or(all).map(|length| length as usize), limits)?)
            }
            FieldOperator::PullFirst(JsonObject(pull)) | FieldOperator::PullLast(JsonObject(pull)) => {
                let (group, path) = path_of(&pull.xpath)?;
                let count = pull.length.or(all).map_or(1, |length| length as usize);
                (group, Edit::pull(path, is_first, count, value(pull.content)?.as_ref())?)
            }
        };
        Ok((group, edit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_into_one_of_two_texts() {
        let group =
            |xpath: &str| path_of(xpath).map(|(group, path)| (matches!(group, FieldGroup::System), path.to_string()));
        assert_eq!(group("/attributes/story/h"), Ok((false, "/story/h".to_owned())));
        assert_eq!(group("/sysattributes/props/team"), Ok((true, "/props/team".to_owned())));
        assert_eq!(group("/sysattributes/props"), Ok((true, "/props".to_owned())));
        for xpath in
            ["", "/attributes", "/attributesx/y", "/sysattributes", "/sysattributes/x", "/sysattributes/propsx", "/x"]
        {
            assert!(matches!(group(xpath), Err(EditError::Path(_))), "{xpath}");
        }
    }
}
