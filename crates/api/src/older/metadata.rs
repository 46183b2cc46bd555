//! Metadata definitions, and the values that their elements may have (docs/api/metadata.md).

use std::sync::Arc;

use stet_actors::runtime::store_failure;
use stet_base::json::OrderedObject;
use stet_base::limits::RowPager;
use stet_base::limits::yielding::{YieldTimer, sort_yielding};
use stet_base::wildcards::Wildcards;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{FamilyKind, normal_form};
use stet_domain::store::{KeyRange, RowCursor, Table};
use stet_endpoint::records::readable;
use stet_newsroom::records::CachedRecord;
use stet_sysconfig::{MetadataDefinition, MetadataElement, SiteContent, TreeSource};
use stet_web::call::Call;
use stet_web::reply::{Json, Reply};

use super::place::optional_parameter;

/// The largest number of objects that are examined, and of paths that are listed, for values that
/// are objects of the repository.
const MOST_OBJECTS: usize = 10_000;

/// The largest total size of their paths, in bytes. It is that of the values of a tree in a file.
const MOST_BYTES: usize = 8 << 20;

/// The approximate minimum size of an element in a reply, in bytes.
const BYTES_OF_ELEMENT: usize = 450;

/// A metadata definition.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionReply {
    /// The root of the metadata.
    doc_type: String,
    /// All elements, in the order of the definition.
    elements: OrderedObject<MetadataElement>,
}

/// The definition that a call refers to, and its database.
struct LocatedDefinition {
    database: DatabaseId,
    content: Arc<SiteContent>,
    definition: Arc<MetadataDefinition>,
}

/// Finds the definition of an object, or else of a type and work folder; without either, the
/// default one.
fn locate(call: &Call) -> Result<LocatedDefinition> {
    check_session(call)?;
    let object = match (optional_parameter(call, "id"), optional_parameter(call, "path")) {
        (Some(id), _) => Some(call.find(&ObjectSource::parse("id", id)?, DatabaseId::main())?),
        (None, Some(path)) => Some(call.find(&ObjectSource::parse("path", path)?, DatabaseId::main())?),
        (None, None) => None,
    };
    let database = object.as_ref().map_or(DatabaseId::main(), |object| object.loid.database);
    let content = call.app.sysconfig.site_content(database);
    let asks_for_default = call.query.lists("defaultMetadata") && call.query.boolean("defaultMetadata");
    let definition = if asks_for_default {
        content.default_definition()
    } else {
        let (kind, work_folder) = wanted(call, object.as_deref(), database)?;
        content.definition_for(kind.as_deref(), work_folder.as_deref())
    };
    let none = || Error::new(Code::ObjectNotFound, "The site configuration has no metadata definition for this.");
    let definition = definition.ok_or_else(none)?.clone();
    Ok(LocatedDefinition { database, content, definition })
}

/// Returns the type and work folder whose definition is wanted: those of the object, if one is
/// named.
fn wanted(
    call: &Call,
    object: Option<&CachedRecord>,
    database: DatabaseId,
) -> Result<(Option<String>, Option<String>)> {
    if let Some(object) = object {
        return Ok((Some(object.type_name.to_string()), object.work_folder.as_ref().map(ToString::to_string)));
    }
    let kind = match optional_parameter(call, "type") {
        Some(kind) => {
            let types = call.app.sysconfig.object_types(database);
            Some(types.named(kind)?.name.to_string())
        }
        None => None,
    };
    Ok((kind, optional_parameter(call, "workFolder").map(str::to_owned)))
}

/// Checks that a session named beside the token is the caller's own.
///
/// # Errors
/// `InvalidToken`.
pub(super) fn check_session(call: &Call) -> Result<()> {
    let Some(session) = optional_parameter(call, "sessionId") else { return Ok(()) };
    let own = call.required_session()?;
    if **own.id() == *session || call.token().as_deref() == Some(session) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidToken, "`sessionId` is not the session that the token belongs to."))
}

/// `GET /conf/metadata/dtd`
pub async fn definition(call: Call) -> Result<Json<DefinitionReply>> {
    let LocatedDefinition { content, definition, .. } = locate(&call)?;
    // Definition files may leave out most of what is shown of an element.
    let bytes = content.bytes + definition.elements.0.len() * BYTES_OF_ELEMENT;
    Json::made(bytes, move || {
        Ok(DefinitionReply { doc_type: definition.doc_type.to_string(), elements: definition.elements.clone() })
    })
    .await
}

/// Returns the paths of the values that an element may have, and the element.
async fn values(call: &Call) -> Result<(Vec<String>, MetadataElement)> {
    let LocatedDefinition { database, content, definition } = locate(call)?;
    // The parameter is required.
    let node = call.query.text("node").unwrap_or_default();
    let element = definition.element(node).ok_or_else(|| {
        Error::parameter("node", node, &format!("an element of the metadata definition of `{}`", definition.doc_type))
    })?;
    let paths = match element.tree() {
        None => {
            let wanted = "an element whose values form a tree (`tree-db`, `tree-db/XMLfile`, `tree-db/filesystem`)";
            return Err(Error::parameter("node", node, wanted));
        }
        Some(TreeSource::Folder(folder)) => objects(call, database, folder, &element.filter).await?,
        Some(TreeSource::File(path)) => {
            let filter = (!element.filter.is_empty()).then(|| Wildcards::new([&*element.filter]));
            let leaf = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
            let mut timer = YieldTimer::start();
            let mut paths = Vec::new();
            // The tree was read along with the definition.
            for path in content.trees.get(&path).iter().flat_map(|tree| tree.below(&element.prefix)) {
                timer.yield_if_due().await;
                if filter.as_ref().is_none_or(|filter| filter.matches(&leaf(path))) {
                    paths.push(path.to_string());
                }
            }
            paths
        }
    };
    Ok((paths, element.clone()))
}

/// Returns the paths of the objects below a folder that the caller may read and whose names match,
/// in order.
async fn objects(call: &Call, database: DatabaseId, folder: &str, filter: &str) -> Result<Vec<String>> {
    let top = folder;
    let found = match call.find_seen(&ObjectSource::Path(folder.to_owned()), database) {
        Ok(found) => found,
        // Without the folder there are no values.
        Err(error) if error.code == Code::ObjectNotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let filter = (!filter.is_empty()).then(|| Wildcards::new([&*normal_form(filter)]));
    let above = folder.trim_end_matches('/').to_owned();
    let (mut open, mut paths) = (vec![(found.loid, above)], Vec::new());
    let (mut seen, mut bytes) = (0, 0);
    while let Some((folder, path)) = open.pop() {
        let cursor = RowCursor::over(Table::Names, KeyRange::prefix(&folder.to_key()));
        let mut pager = RowPager::new(call.app.repository.look(), cursor);
        while let Some((_, value)) = pager.next().await.map_err(|error| store_failure(&error))? {
            seen += 1;
            if seen > MOST_OBJECTS {
                let message = format!("More than {MOST_OBJECTS} objects lie below `{top}`.");
                return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_OBJECTS));
            }
            let loid = Loid::from_key(&value).ok_or_else(Error::internal)?;
            let Some(object) = readable(call, loid)? else { continue };
            let own = format!("{path}/{}", object.name);
            bytes += own.len();
            if bytes > MOST_BYTES {
                let message = format!("The paths below `{top}` have more than {MOST_BYTES} bytes.");
                return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_BYTES));
            }
            if filter.as_ref().is_none_or(|filter| filter.matches(&normal_form(&object.name))) {
                paths.push(own.clone());
            }
            if object.family == FamilyKind::Folder {
                open.push((loid, own));
            }
        }
    }
    Ok(sort_yielding(paths, Ord::cmp).await)
}

/// `GET /conf/metadata/dtd/treedb`
pub async fn tree(call: Call) -> Result<Json<Vec<String>>> {
    let (paths, _) = values(&call).await?;
    let bytes = paths.iter().map(|path| path.len() + 4).sum();
    Json::made(bytes, move || Ok(paths)).await
}

/// `GET /conf/metadata/dtd/treedbxml`
pub async fn tree_xml(call: Call) -> Result<Reply> {
    let (paths, element) = values(&call).await?;
    let bytes = paths.iter().map(|path| path.len() + 24).sum();
    let write = move || {
        let value = |path: &String| match &*element.result {
            // Names may have characters that XML can't represent.
            "LeafOnly" => stet_xml::without_illegal_chars(path.rsplit('/').next().unwrap_or_default()).into_owned(),
            _ => stet_xml::without_illegal_chars(path).into_owned(),
        };
        let values: Vec<String> = paths.iter().map(value).collect();
        let document = serde_json::json!({ "WebConfiguration": { "WebTypes": { "WebType": values } } });
        stet_xml::from_json(&document, &stet_xml::Limits { max_bytes: usize::MAX, ..stet_xml::Limits::default() })
    };
    let text = stet_base::limits::offload::offload_if_large(bytes, write).await?.map_err(|error| {
        tracing::error!(%error, "a tree list can't be written");
        Error::internal()
    })?;
    Ok(Reply::xml(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n").into()))
}
