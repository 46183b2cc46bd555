//! The content of a liveblog itself: an XML document into which a read inserts the approved posts
//! (docs/api/liveblogs.md, "Content").
//!
//! Posts are inserted at the end of the first element that has the attribute `posts="here"`, or
//! else of the root. A content that is not well-formed XML, or is longer or deeper than an
//! attribute text may be, is served as stored. Such contents exist: a template may have been
//! copied, or the bytes written through the object's own endpoints.

use actix_web::http::header::CONTENT_LENGTH;
use bytes::Bytes;
use stet_base::limits::offload;
use stet_content::ContentReader;
use stet_content::words::{essence, is_markup};
use stet_domain::checkout::WriteContent;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::liveblog::Liveblog;
use stet_domain::object::NewContent;
use stet_endpoint::content::ObjectContent;
use stet_endpoint::dtd;
use stet_endpoint::requests::switches;
use stet_endpoint::settled::{UnsettledReply, build_settled};
use stet_endpoint::whole::{BodyPiece, ByteReply, with_replaced};
use stet_web::app::App;
use stet_web::arriving::IncomingCall;
use stet_web::body::IncomingBody;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::media_type::content_type;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Reply;
use stet_web::{body, pace};
use stet_xml::{InsertionFrame, Limits};

use super::reply::changed_reply;
use super::resolved::ResolvedPosts;
use super::types::ChangedLiveblog;
use super::{OpenLiveblog, open};

/// The attribute that marks the element which posts are written into, and its value.
const MARK: (&str, &str) = ("posts", "here");

/// The default media type of a content.
const XML_TYPE: &str = "application/xml";

/// `GET /v3/container/liveblog/{source}/content`: the content with the approved posts, for every
/// caller; with `raw`, as stored.
pub async fn content(call: Call) -> Result<Reply> {
    build_settled(&call, open(&call).await?, async |open| {
        let record = &open.view.state.object().record;
        let stored = ObjectContent::of_record(&call, &call.source("source")?, record).await?;
        let frame = if call.query.boolean("raw") { None } else { frame_of(&call.app, &stored.reader).await? };
        match frame {
            None => Ok(stored.reply(&call).await?),
            Some(frame) => resolved_reply(&call, open, &stored, frame).await?.ok_or(UnsettledReply::Changed),
        }
    })
    .await
}

/// Builds the reply with the approved posts; `None` if a post was changed since the view.
async fn resolved_reply(
    call: &Call,
    open: &OpenLiveblog,
    stored: &ObjectContent,
    frame: InsertionFrame,
) -> Result<Option<Reply>> {
    let app = &call.app;
    let dtd = dtd::inserted_doctype(call, stored.object.database, &stored.reader).await?;
    let identity = (stored.content.sha256, call.query.integer("maxSize"), dtd.as_ref().map(|dtd| dtd.sha256));
    // The revision determines the posts. The configuration also affects how each is written, and
    // tags outlive a restart.
    let limits = (app.config.limits.xml_bytes, app.config.limits.xml_depth);
    let tag = ETag::new(open.tag(), ("resolved", identity, &app.config.server.base_path, limits));
    if call.has(&tag) {
        return Ok(Some(Reply::not_modified(tag)));
    }
    let Some(posts) = ResolvedPosts::of(app, &open.view, frame.in_default).await? else { return Ok(None) };
    let bytes = |place: std::ops::Range<usize>| place.start as u64..place.end as u64;
    let mut replaced = Vec::new();
    replaced.extend(frame.false_declaration.map(|place| (bytes(place), vec![BodyPiece::text(stet_xml::DECLARATION)])));
    replaced.extend(dtd.map(|dtd| (dtd.place, vec![BodyPiece::text(dtd.doctype)])));
    replaced
        .push((bytes(frame.place), vec![BodyPiece::text(frame.before), posts.part(), BodyPiece::text(frame.after)]));
    let kind = essence(&stored.content.content_type);
    let media_type = if is_markup(&kind) { kind } else { XML_TYPE.to_owned() };
    let parts = with_replaced(&stored.reader, replaced);
    let whole = ByteReply { of: stored.object, media_type, parts, tag, modified: None };
    whole.reply(call, &stored.source, &stored.name).map(Some)
}

/// Returns the place of the posts in a content; `None` if it is not XML.
async fn frame_of(app: &App, reader: &ContentReader) -> Result<Option<InsertionFrame>> {
    if reader.remaining() > app.config.limits.xml_bytes as u64 {
        return Ok(None);
    }
    let limits = app.xml_limits();
    let frame = move |bytes: Bytes| stet_xml::frame(std::str::from_utf8(&bytes).ok()?, MARK, &limits).ok();
    reader.clone().process(frame).await
}

/// `PUT /v3/container/liveblog/{source}`: check-out, write and check-in as one step. The content
/// must be well-formed XML, since otherwise no post could be inserted into it.
pub async fn write_content(arriving: IncomingCall) -> Result<PreferredReply<ChangedLiveblog>> {
    let target = |call: &Call| {
        let object = call.container::<Liveblog>("source")?.loid();
        let present = call.app.repository.record(object)?.and_then(|record| record.content);
        Ok((object, present.map(|content| content.content_type.to_string())))
    };
    let receive = async |call: &Call, incoming, (_, present): &(Loid, Option<String>)| {
        receive(call, incoming, present.clone()).await
    };
    let (call, (object, _), body) = arriving.received(target, receive).await?;
    let app = &call.app;
    let write =
        WriteContent { object, body, switches: switches(&call.query), lasts_s: app.config.auth.lock_idle_seconds };
    let done = call.change_jointly(write).await?;
    changed_reply(&call, object, done.left.as_ref(), &call.display()).await
}

/// Stores the body as a new content; `None` without a body. Its media type is that of the header
/// `Content-Type` if it is one of XML, else the present one.
async fn receive(call: &Call, incoming: IncomingBody, present: Option<String>) -> Result<Option<NewContent>> {
    let (app, headers) = (&call.app, call.headers());
    let limits = &app.config.limits;
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let said = content_type(headers)?.map(str::to_owned);
    let room = incoming.room.clone();
    let bytes = pace::within(limits.body_seconds, body::read(incoming, announced, limits.xml_bytes)).await?;
    // Checked for every stated type, because no XML is like that.
    if body::says_nothing(&bytes) {
        return Ok(None);
    }
    let (text, limits) = (bytes.clone(), app.xml_limits());
    offload::offload_if_large(bytes.len(), move || check_xml(&text, &limits)).await??;
    let is_xml = |kind: &String| is_markup(&essence(kind));
    let media_type = said.filter(is_xml).or(present.filter(is_xml)).unwrap_or_else(|| XML_TYPE.to_owned());
    let mut upload = app.content.upload(&room);
    upload.write(&bytes).await?;
    upload.finish(&media_type).await.map(Some)
}

/// # Errors
/// `InvalidBody` for bytes that are not well-formed XML in UTF-8.
fn check_xml(bytes: &Bytes, limits: &Limits) -> Result<()> {
    let fault = match std::str::from_utf8(bytes) {
        Ok(text) => match stet_xml::frame(text, MARK, limits) {
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        },
        Err(error) => format!("At byte {} of the XML text, the text is not valid UTF-8.", error.valid_up_to()),
    };
    Err(Error::new(Code::InvalidBody, format!("A liveblog's content must be well-formed XML. {fault}")))
}
