//! Cross references: finding nodes by XPath in the contents of objects, and setting them
//! (docs/api/cross-references.md).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_base::json::ReadyJson;
use stet_base::limits::Reservation;
use stet_base::limits::offload::Offload;
use stet_domain::checkout::{RewriteContent, WriteContent, WriteSwitches};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_endpoint::content::ObjectContent;
use stet_endpoint::records::{BulkFailures, BulkReply};
use stet_endpoint::requests::{DatabaseRef, SourceList, database_named, text_bytes_of};
use stet_newsroom::caller::check_whole;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;
use stet_web::listing::{EntryStep, Listing, ListingEntries};
use stet_web::media_type::charset_of;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;
use stet_xml::Limits;
use stet_xml::xpath::{EvaluationLimit, FoundNode, XPath, XPathError, XPathNodeKind};

use super::object::{ChangedRecord, reply_after};

pub mod routes;

/// The limits for all expressions of one call, however many objects it names: at most half a
/// second, and as much memory as a few large contents.
const BUDGET: EvaluationLimit = EvaluationLimit { looks: 10_000_000, bytes: 32 << 20 };

/// Bytes of texts that one source may use. Its result is one piece of the reply, and is in memory
/// before it is counted there.
const ONE_SOURCE: u64 = 8 << 20;

/// Attempts to change a content that others change at the same time.
const ATTEMPTS: usize = 100;

/// The body of a search for cross references.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindRequest {
    /// The expression, in XPath 1.0.
    xpath: String,
    /// Loid, uuid or path of an object.
    #[serde(default)]
    source: Option<String>,
    /// Loids, uuids or paths of several objects.
    #[serde(default)]
    sources: Option<SourceList>,
    /// Number or name of the objects' database; without it the main one.
    #[serde(default)]
    database_id: Option<DatabaseRef>,
}

/// The body of a change of a cross reference.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SetRequest {
    /// The expression, in XPath 1.0.
    xpath: String,
    /// Index of the node to change among those found, from 0; without it the first.
    #[serde(default)]
    index: Option<i64>,
    /// The new text of the element, attribute or text.
    target: String,
}

/// The nodes found in one object.
#[derive(Serialize, JsonSchema)]
pub struct References {
    /// The source as the client gave it.
    source: String,
    /// The object's loid.
    #[schemars(with = "Loid")]
    id: String,
    /// The nodes, in the order of the document.
    nodes: Vec<ReferenceNode>,
}

/// A node of a content.
#[derive(Serialize, JsonSchema)]
pub struct ReferenceNode {
    /// Index among the nodes found, from 0.
    index: usize,
    /// The kind of the node.
    kind: NodeKind,
    /// The name as it is written; null for nodes without one.
    name: Option<String>,
    /// The path of the node, as an XPath.
    path: String,
    /// The text of the node.
    value: String,
}

/// A kind of node.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// The document.
    Document,
    /// An element.
    Element,
    /// An attribute.
    Attribute,
    /// Text.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction.
    Instruction,
}

/// The reply to a change of a cross reference.
#[derive(Serialize, JsonSchema)]
pub struct SetReply {
    /// The object's record.
    info: ChangedRecord,
    /// The nodes found before.
    before: ReadyJson<Vec<ReferenceNode>>,
    /// The nodes found after.
    after: ReadyJson<Vec<ReferenceNode>>,
}

fn shown(found: Vec<FoundNode>) -> Vec<ReferenceNode> {
    let node = |(index, FoundNode { kind, name, path, value }): (usize, FoundNode)| {
        let kind = match kind {
            XPathNodeKind::Document => NodeKind::Document,
            XPathNodeKind::Element => NodeKind::Element,
            XPathNodeKind::Attribute => NodeKind::Attribute,
            XPathNodeKind::Text => NodeKind::Text,
            XPathNodeKind::Comment => NodeKind::Comment,
            XPathNodeKind::Instruction => NodeKind::Instruction,
        };
        ReferenceNode { index, kind, name, path, value }
    };
    found.into_iter().enumerate().map(node).collect()
}

fn xpath_error(error: XPathError) -> Error {
    match error {
        XPathError::Expression(message) | XPathError::Node(message) => Error::new(Code::InvalidXPath, message),
        XPathError::TooMuch => {
            let message = "The XPath needs more work than a call may do. Make it more specific, or name fewer sources.";
            Error::new(Code::InvalidXPath, message)
        }
        XPathError::Document(error) => Error::new(Code::InvalidType, format!("The content can't be searched: {error}")),
    }
}

/// Refuses to write a text as UTF-8 if its media type names another encoding, just as a text is
/// refused that declares another encoding itself.
fn check_charset(media_type: &str, text: &str) -> Result<()> {
    let charset = charset_of(media_type).filter(|charset| !text.is_ascii() && !charset.eq_ignore_ascii_case("utf-8"));
    let Some(charset) = charset else { return Ok(()) };
    let message = format!(
        "The content has the media type `{media_type}`. Changed contents are written in UTF-8, not in `{charset}`."
    );
    Err(Error::new(Code::InvalidType, message))
}

/// Returns the content for an expression: its text and hash.
async fn text_of(call: &Call, source: &ObjectSource, record: &CachedRecord) -> Result<(String, [u8; 32])> {
    let ObjectContent { content, reader, .. } = ObjectContent::of_record(call, source, record).await?;
    let most = call.app.xml_limits().max_bytes;
    if content.size > most as u64 {
        let message = format!("`{source}` has a content of {} bytes; at most {most} can be searched.", content.size);
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    let text = String::from_utf8(reader.read_all().await?.to_vec()).map_err(|_| {
        let message = format!("The content of `{source}` is not a UTF-8 text.");
        Error::new(Code::InvalidType, message).with_source(source)
    })?;
    Ok((text, content.sha256))
}

/// Runs `work` on the content of an object under a work permit. The content is read once the permit
/// is there, which bounds the memory.
async fn with_text<T: Send + 'static>(
    call: &Call,
    source: &ObjectSource,
    record: &CachedRecord,
    work: impl FnOnce(&str, &Limits) -> T + Send + 'static,
) -> Result<(T, [u8; 32])> {
    let limits = call.app.attribute_limits();
    let place = Offload::for_bytes(u64::MAX).await?;
    let (text, hash) = text_of(call, source, record).await?;
    Ok((place.work(move || work(&text, &limits)).await?, hash))
}

/// `POST /v3/crossreference`
pub async fn find(call: Call) -> Result<Json<BulkReply<ReadyJson<References>>>> {
    let request: FindRequest = call.json().await?;
    let xpath = Arc::new(XPath::parse(&request.xpath).map_err(xpath_error)?);
    let database = database_named(&call, request.database_id.as_ref())?;
    let only = request.sources.is_none();
    let mut sources = request.sources.unwrap_or_default().read(&call.app)?;
    sources.extend(request.source.filter(|source| !source.is_empty()));
    if sources.is_empty() {
        let message = "`source` or `sources` must name the objects to search.";
        return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$.source"));
    }
    let beside = text_bytes_of(&sources);
    let mut search = ReferenceSearch { xpath, database, next: 0, budget: BUDGET, left: BUDGET };
    let render = async move |call: &Call, text: &String, step: EntryStep| -> Result<_> {
        Ok(match search.references(call, text, step.index).await {
            // If `source` names the only object, its error is that of the call.
            Err(error) if only => return Err(error),
            found => found.map(Some).map_err(|error| BulkFailures::of(call).describe(text, error)),
        })
    };
    let list = ListingEntries::of(sources, render).beside(beside);
    let listing = Listing::of(&call, list, |items, errors| BulkReply { items, errors }).await?;
    Ok(listing.answer(call))
}

/// A search in objects, one after the other.
struct ReferenceSearch {
    xpath: Arc<XPath>,
    database: DatabaseId,
    /// The index of the source whose turn is next.
    next: usize,
    /// The budget before the last source that was searched.
    budget: EvaluationLimit,
    /// The rest of the budget after that source.
    left: EvaluationLimit,
}

impl ReferenceSearch {
    /// Returns the nodes in the object that the source at `index` names.
    async fn references(&mut self, call: &Call, text: &str, index: usize) -> Result<ReadyJson<References>> {
        // A repeated search has the budget of the first.
        if index == self.next {
            (self.budget, self.next) = (self.left, index + 1);
        }
        self.left = self.budget;
        if self.budget.looks == 0 {
            // The budget does not even suffice for reading.
            return Err(xpath_error(XPathError::TooMuch));
        }
        let given = EvaluationLimit { bytes: self.budget.bytes.min(ONE_SOURCE), ..self.budget };
        let source = ObjectSource::parse("sources", text)?;
        let record = call.find(&source, self.database)?;
        let (xpath, source_text, id, mut budget) =
            (self.xpath.clone(), text.to_owned(), record.loid.to_string(), given);
        // The JSON is built there, too, since it may have megabytes.
        let find = move |text: &str, limits: &Limits| {
            let found = xpath.find(text, limits, &mut budget).map_err(xpath_error);
            let made = |found| ReadyJson::of(&References { source: source_text, id, nodes: shown(found) });
            (found.and_then(made), budget)
        };
        let ((references, left), _) = with_text(call, &source, &record, find).await?;
        self.left = EvaluationLimit { bytes: self.budget.bytes - (given.bytes - left.bytes), ..left };
        references
    }
}

/// `POST /v3/crossreference/{source}`
pub async fn set(call: Call) -> Result<PreferredReply<SetReply>> {
    let request: SetRequest = call.json().await?;
    let xpath = Arc::new(XPath::parse(&request.xpath).map_err(xpath_error)?);
    let index = request.index.unwrap_or_default();
    let index =
        usize::try_from(index).map_err(|_| Error::new(Code::InvalidXPath, format!("There is no node at {index}.")))?;
    let (source, target) = (call.source("source")?, Arc::<str>::from(request.target));
    check_whole(&source)?;
    let display = call.display_of_change().await?;
    if call.was_done() {
        let record = call.find_for(Privilege::Write, &source, call.database()?)?;
        // The nodes before the change are gone, and the XPath may find nothing in the changed
        // content.
        let mut budget = BUDGET;
        let find =
            move |text: &str, limits: &Limits| ReadyJson::of(&shown(xpath.find(text, limits, &mut budget).ok()?)).ok();
        let found = with_text(&call, &source, &record, find).await.ok().and_then(|(found, _)| found);
        let none = ReadyJson::of(&Vec::new())?;
        let (before, after) = (none.clone(), found.unwrap_or(none));
        let bytes = after.text().len();
        let reply = move |info| SetReply { info, before, after };
        return reply_after(&call, record.loid, None, &display, bytes, reply).await;
    }
    for _ in 0..ATTEMPTS {
        let record = call.find_for(Privilege::Write, &source, call.database()?)?;
        let (xpath, target, mut budget) = (xpath.clone(), target.clone(), BUDGET);
        let set = move |text: &str, limits: &Limits| {
            let (text, before, after) = xpath.set(text, (index, &target), limits, &mut budget).map_err(xpath_error)?;
            Ok((text, ReadyJson::of(&shown(before))?, ReadyJson::of(&shown(after))?))
        };
        let (outcome, from) = with_text(&call, &source, &record, set).await?;
        let (text, before, after) = outcome.map_err(|error: Error| error.with_source(&source))?;
        let media_type = record.content.as_ref().map_or("text/xml", |content| &*content.content_type);
        check_charset(media_type, &text).map_err(|error| error.with_source(&source))?;
        let mut upload = call.app.content.upload(&Reservation::unaccounted());
        upload.write(text.as_bytes()).await?;
        let body = Some(upload.finish(media_type).await?);
        let switches = WriteSwitches {
            check_in: true,
            keep_checked_out: false,
            unlock: false,
            new_version: true,
            check_out: false,
            check_out_clean: false,
        };
        let lasts_s = call.app.config.auth.lock_idle_seconds;
        let write = WriteContent { object: record.loid, body, switches, lasts_s };
        let done = call.change_jointly(RewriteContent { write, from }).await?;
        if done.reply {
            let bytes = before.text().len() + after.text().len();
            let reply = move |info| SetReply { info, before, after };
            return reply_after(&call, record.loid, done.left.as_ref(), &display, bytes, reply).await;
        }
    }
    Err(Error::new(Code::Overloaded, format!("Other callers keep changing `{source}`. Try again."))
        .with_source(&source))
}
