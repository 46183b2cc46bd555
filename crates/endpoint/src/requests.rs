//! Parts of requests that several resources share.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use stet_domain::checkout::WriteSwitches;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::CreateMode;
use stet_web::app::App;
use stet_web::body::{JsonObject, entries_allowed};
use stet_web::call::Call;
use stet_web::query::Query;

/// Sources as a client lists them, each once, in the order of their first occurrence.
///
/// It holds at most as many as configuration allows ([`entries_allowed`]), however many a body has.
#[derive(Debug, Default)]
pub struct SourceList {
    texts: Vec<String>,
    /// The number of sources in the list.
    listed: usize,
}

impl<'de> Deserialize<'de> for SourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = SourceList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sources")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SourceList, A::Error> {
                let most = entries_allowed();
                let (mut texts, mut listed) = (Vec::new(), 0);
                while listed < most
                    && let Some(SourceText(text)) = list.next_element()?
                {
                    texts.push(text);
                    listed += 1;
                }
                // These are too many. They are only counted, for the error message.
                while list.next_element::<IgnoredAny>()?.is_some() {
                    listed += 1;
                }
                let mut known = HashSet::with_capacity(texts.len());
                let first: Vec<bool> = texts.iter().map(|text| known.insert(text.as_str())).collect();
                let mut first = first.into_iter();
                // `first` has one entry for each text.
                texts.retain(|_| first.next().unwrap_or(true));
                Ok(SourceList { texts, listed })
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// A source. Shortcut ids may be numbers.
struct SourceText(String);

impl<'de> Deserialize<'de> for SourceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a source must be a text, or the number of a shortcut")]
        enum Either {
            Text(String),
            Number(u64),
        }
        Ok(SourceText(match Either::deserialize(deserializer)? {
            Either::Text(text) => text,
            Either::Number(number) => number.to_string(),
        }))
    }
}

impl SourceList {
    /// Returns the sources, each once.
    ///
    /// # Errors
    /// `TooLarge` for a list of more than configuration allows.
    pub fn read(self, app: &App) -> Result<Vec<String>> {
        self.read_field(app, "sources")
    }

    /// Returns the sources of a list with another field name.
    ///
    /// # Errors
    /// The errors of [`SourceList::read`].
    pub fn read_field(self, app: &App, field: &str) -> Result<Vec<String>> {
        let (listed, limit) = (self.listed, app.config.limits.list_sources);
        if listed <= limit {
            return Ok(self.texts);
        }
        let message = format!("`{field}` has {listed} entries; at most {limit} are allowed.");
        Err(Error::new(Code::TooLarge, message).with_detail("limit", limit))
    }
}

/// Returns the memory that the texts of sources take, in bytes.
pub fn text_bytes_of(sources: &[String]) -> usize {
    sources.iter().map(String::capacity).sum()
}

/// The schema of a list of texts.
impl JsonSchema for SourceList {
    fn inline_schema() -> bool {
        Vec::<String>::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<String>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

/// An object list: `{"sources": […], "options": {…}}`, or a bare array (docs/api/README.md, "Object
/// lists").
#[derive(Debug, JsonSchema)]
#[schemars(with = "ObjectListSchema")]
pub struct ObjectListRequest {
    sources: SourceList,
    database_id: Option<DatabaseRef>,
}

/// The sources of a bulk call, read and checked.
#[derive(Debug)]
pub struct BulkSources {
    /// The sources as the client gave them, each once, in the order of their first occurrence.
    pub given: Vec<String>,
    /// The database in which paths are looked up, and loids that name no database.
    pub database: DatabaseId,
}

/// The schema of an object list in the interface document.
#[derive(JsonSchema)]
#[schemars(rename = "ObjectListRequest", untagged)]
#[expect(dead_code, reason = "its shape is all that counts: the schema is derived from it")]
enum ObjectListSchema {
    /// An object with sources and options.
    Full {
        /// Loids, uuids or paths.
        sources: Vec<String>,
        /// Database of paths; the main one by default.
        #[schemars(rename = "databaseId")]
        database_id: Option<DatabaseRef>,
        /// Display options.
        options: Option<Value>,
    },
    /// Only the sources.
    Bare(Vec<String>),
}

// Only the schema is derived from it: bodies are parsed as an `ObjectListRequest`, which accepts
// numbers in place of texts.
/// An object list that may also name items of a drawer, by the ids of their shortcuts: texts or
/// numbers.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum ItemListRequest {
    /// An object with sources and options.
    Full {
        /// Objects as loids, uuids or paths, or ids of shortcuts.
        sources: Vec<ItemRef>,
        /// Database of paths; the main one by default.
        #[schemars(rename = "databaseId")]
        database_id: Option<DatabaseRef>,
        /// Display options.
        options: Option<Value>,
    },
    /// Only the sources.
    Bare(Vec<ItemRef>),
}

/// An object as loid, uuid or path, or the id of a shortcut.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum ItemRef {
    /// A loid, uuid, path or shortcut id.
    Text(String),
    /// The id of a shortcut.
    Number(u64),
}

impl<'de> Deserialize<'de> for ObjectListRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Full {
            sources: SourceList,
            #[serde(default)]
            database_id: Option<DatabaseRef>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Full;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a list `sources`, or a list of sources")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Full, A::Error> {
                let sources = SourceList::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(Full { sources, database_id: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Full, A::Error> {
                Full::deserialize(MapAccessDeserializer::new(map))
            }
        }
        let Full { sources, database_id } = deserializer.deserialize_any(Either)?;
        Ok(ObjectListRequest { sources, database_id })
    }
}

impl ObjectListRequest {
    /// Reads the sources of the body, each once, in the order of their first occurrence.
    /// Configuration limits their number.
    ///
    /// # Errors
    /// `InvalidBody`, `TooLarge`, `DatabaseNotFound`.
    pub async fn of(call: &Call) -> Result<BulkSources> {
        let request: ObjectListRequest = call.any_json().await?;
        let given = request.sources.read(&call.app)?;
        Ok(BulkSources { given, database: database_named(call, request.database_id.as_ref())? })
    }
}

/// The reaction to a name that is taken: `createMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WireCreateMode {
    /// The call fails with `DuplicatedName`.
    Exception,
    /// The new object gets another name.
    AutoRename,
    /// The content of the existing object is replaced.
    Replace,
    /// The existing object gets a new version.
    NewVersion,
}

impl From<WireCreateMode> for CreateMode {
    fn from(mode: WireCreateMode) -> CreateMode {
        match mode {
            WireCreateMode::Exception => CreateMode::Exception,
            WireCreateMode::AutoRename => CreateMode::AutoRename,
            WireCreateMode::Replace => CreateMode::Replace,
            WireCreateMode::NewVersion => CreateMode::NewVersion,
        }
    }
}

/// The options of a creation. `createMode` may be here or at the top level (docs/api/README.md,
/// "When a name is taken").
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateOptions {
    /// Reaction to a name that is taken.
    pub create_mode: Option<WireCreateMode>,
}

impl CreateOptions {
    /// Returns the name of a new object, and the action if it is taken. Without a name of the
    /// caller's, a generated one is made unique.
    pub fn name_and_mode(
        given: Option<String>,
        generated: &str,
        inner: Option<JsonObject<CreateOptions>>,
        outer: Option<WireCreateMode>,
    ) -> (String, CreateMode) {
        match given {
            Some(name) => (name, CreateOptions::mode(inner.as_ref(), outer)),
            None => (generated.to_owned(), CreateMode::AutoRename),
        }
    }

    /// Returns the mode; that of the options takes precedence.
    pub fn mode(inner: Option<&JsonObject<CreateOptions>>, outer: Option<WireCreateMode>) -> CreateMode {
        inner
            .and_then(|JsonObject(options)| options.create_mode)
            .or(outer)
            .map_or(CreateMode::Exception, CreateMode::from)
    }
}

/// Returns whether a new object stays checked out for the caller. By default it is checked in. If
/// it is not checked in, `unlock` releases it.
pub fn stays_checked_out(check_in: Option<bool>, keep_checked_out: Option<bool>, unlock: Option<bool>) -> bool {
    if check_in.unwrap_or(true) { keep_checked_out.unwrap_or(false) } else { !unlock.unwrap_or(false) }
}

/// A number or name of a database, as a text or a number (docs/api/README.md, "Databases").
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a database must be a number or a name")]
pub enum DatabaseRef {
    /// Number of the database.
    Number(u64),
    /// Number or name of the database.
    Text(String),
}

impl DatabaseRef {
    /// Returns the number or name as text.
    pub fn text(&self) -> String {
        match self {
            DatabaseRef::Number(number) => number.to_string(),
            DatabaseRef::Text(text) => text.clone(),
        }
    }
}

/// Returns the database that a call names in its body or in the query.
///
/// # Errors
/// `DatabaseNotFound`.
pub fn database_named(call: &Call, in_body: Option<&DatabaseRef>) -> Result<DatabaseId> {
    match in_body {
        Some(named) => call.app.database(Some(&named.text())),
        None => call.database(),
    }
}

/// Returns the folder for a new object: `folder` (any source) or `folderPath`.
///
/// # Errors
/// `InvalidPath` naming the field.
pub fn folder_source(folder: Option<&str>, folder_path: Option<&str>) -> Result<Option<ObjectSource>> {
    let parse = |field: &str, text: &str| {
        text.parse::<ObjectSource>().map_err(|_| {
            let message = format!("`{field}` must be a loid, a uuid or an absolute path, but is `{text}`.");
            Error::new(Code::InvalidPath, message).with_source(text)
        })
    };
    match (folder, folder_path) {
        (Some(folder), _) if !folder.is_empty() => parse("folder", folder).map(Some),
        (_, Some(path)) if !path.is_empty() => parse("folderPath", path).map(Some),
        _ => Ok(None),
    }
}

/// Returns the switches of a write from the query.
pub fn switches(query: &Query) -> WriteSwitches {
    WriteSwitches {
        check_in: query.boolean("checkIn"),
        keep_checked_out: query.boolean("keepCheckedOut"),
        unlock: query.boolean("unlock"),
        new_version: query.boolean("newVersion"),
        check_out: query.boolean("checkOut"),
        check_out_clean: query.boolean("checkOutClean"),
    }
}
