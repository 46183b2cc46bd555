//! Previews of stories: their text on pages, as a picture and as a PDF (docs/api/print.md).
//!
//! A preview is an ordinary object in the caller's home, one for each story. So the number of
//! previews is bounded, and rights, durability and the collection of contents are those of every
//! object. `stet-print` lays out and draws the text.

mod story;

pub mod routes;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use stet_base::limits::Reservation;
use stet_base::limits::offload::spawn_large;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::CreateMode;
use stet_newsroom::caller::Warning;
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace};
use stet_print::{Layout, MAX_PAGES};
use stet_web::call::Call;
use stet_web::client;
use stet_web::reply::Json;

/// The folder of previews in a caller's home.
const FOLDER: &str = "Previews";

/// Body of a call that creates a preview.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewRequest {
    /// Accepted for compatibility with clients; has no effect.
    #[serde(default, rename = "requestID")]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "a key that is known and has no effect")]
    request_id: Option<IgnoredAny>,
    /// The story as XML.
    content: String,
    /// The shape of the story. Accepted for compatibility with clients; has no effect.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "a key that is known and has no effect")]
    pgx: Option<IgnoredAny>,
    /// The operation; a preview by default.
    #[serde(default)]
    #[expect(dead_code, reason = "there is only one")]
    op: Option<PreviewOperation>,
    /// Whether to create a PDF as well, whatever `getPdf` says.
    #[serde(default)]
    force_pdf_creation: Option<bool>,
    #[serde(default)]
    parameters: Option<PreviewParameters>,
}

/// An operation on a story.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PreviewOperation {
    /// Creates a preview.
    Preview,
}

/// The parameters of a preview.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct PreviewParameters {
    /// Accepted for compatibility with clients; has no effect.
    #[schemars(with = "Option<String>")]
    id: Option<IgnoredAny>,
    /// `yes` draws a frame around each page.
    border: Option<String>,
    /// Accepted for compatibility with clients; has no effect.
    #[schemars(with = "Option<String>")]
    href_pdf: Option<IgnoredAny>,
    /// Accepted for compatibility with clients; has no effect.
    #[schemars(with = "Option<String>")]
    channel: Option<IgnoredAny>,
    /// Accepted for compatibility with clients; has no effect.
    #[schemars(with = "Option<String>")]
    lid: Option<IgnoredAny>,
    /// Number of the page on the picture, from 1 on; the first by default. A text that is no number
    /// has no effect.
    page: Option<PageRef>,
}

/// A page as clients name it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a page must be a number of 1 or more, or a text")]
enum PageRef {
    /// Number of the page.
    Number(u64),
    /// Number of the page as a text, or the id of a page of a newspaper.
    Text(String),
}

impl PreviewParameters {
    /// Returns the number of the page on the picture.
    ///
    /// # Errors
    /// `InvalidBody` for 0.
    fn page(&self) -> Result<usize> {
        let number = match &self.page {
            Some(PageRef::Number(number)) => Some(*number),
            Some(PageRef::Text(text)) => text.trim().parse().ok(),
            None => None,
        };
        if number == Some(0) {
            let message = "`parameters.page` must be a number of 1 or more, but is `0`.";
            return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$.parameters.page"));
        }
        Ok(number.map_or(1, |number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    fn is_framed(&self) -> bool {
        self.border.as_deref().is_some_and(|border| border.eq_ignore_ascii_case("yes"))
    }
}

/// A preview.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewReply {
    /// Loid of the picture.
    #[schemars(with = "Loid")]
    id: String,
    /// Loid of the PDF; null if none was asked for.
    #[schemars(with = "Option<Loid>")]
    pdf_id: Option<String>,
    /// Address of the PDF, or else of the picture. Its query names the picture: `dbid` and `eomid`
    /// are the parts of its loid.
    href_pdf: String,
    /// The number of pages.
    pages: usize,
}

/// `POST /v3/printService/createStoryPreview?id=`
pub async fn create_story_preview(call: Call) -> Result<Json<PreviewReply>> {
    let request: PreviewRequest = call.json().await?;
    let parameters = request.parameters.unwrap_or_default();
    let (page, framed) = (parameters.page()?, parameters.is_framed());
    // The parameter is required, so it has a value.
    let source = ObjectSource::parse("id", call.query.text("id").unwrap_or_default())?;
    let story = call.find(&source, call.database()?)?;
    let database = story.loid.database;
    let folder = ObjectSource::Path(format!("{}/{FOLDER}", call.app.home_of(call.user()?)?));
    // Refused before anything is drawn.
    let destination = call.destination(Some(folder), database)?;
    let with_pdf = call.query.boolean("getPdf") || request.force_pdf_creation == Some(true);
    let wanted = PreviewSource { xml: request.content, title: story.name.to_string(), page, framed, with_pdf };
    let drawn = draw_story(&call, wanted).await?;
    warn(&call, page, &drawn);
    let name = |extension: &str| format!("{}.{extension}", story.loid);
    let picture = stored(&call, &name("png"), "image/png", &drawn.picture).await?;
    let picture = Creation { place: CreationPlace::Found(destination), ..picture };
    let (picture, pdf) = match &drawn.pdf {
        None => (call.create(picture).await?.reply.loid, None),
        Some(pdf) => {
            let pdf = stored(&call, &name("pdf"), "application/pdf", pdf).await?;
            let made = call.create_both(picture, pdf).await?.reply;
            (made.main.loid, Some(made.beside.loid))
        }
    };
    Json::of(&PreviewReply {
        id: picture.to_string(),
        pdf_id: pdf.map(|pdf| pdf.to_string()),
        href_pdf: address(&call, pdf.unwrap_or(picture), picture),
        pages: drawn.pages,
    })
}

/// A story to be drawn.
struct PreviewSource {
    xml: String,
    title: String,
    /// Number of the page on the picture, from 1 on.
    page: usize,
    framed: bool,
    with_pdf: bool,
}

/// The drawings of a story.
struct StoryDrawings {
    /// A PNG.
    picture: Vec<u8>,
    pdf: Option<Vec<u8>>,
    pages: usize,
    /// Whether text was left out.
    is_cut: bool,
}

/// Draws a story on another thread, with a work permit.
///
/// At most `content.scaled_at_once` stories are drawn and pictures scaled at a time. The time and
/// memory of one are bounded by `limits.xml_bytes` and the bounds of a layout.
async fn draw_story(call: &Call, wanted: PreviewSource) -> Result<StoryDrawings> {
    let limits = call.app.xml_limits();
    let turn = call.app.scaler.turn().await?;
    let draw = move || {
        // Held to the end of the work, even if the client has disconnected.
        let _turn = turn;
        let blocks = story::blocks(&wanted.xml, &limits).map_err(|error| {
            let message = format!("`content` must be the story as XML, but can't be read: {error}");
            Error::new(Code::InvalidBody, message).with_detail("path", "$.content")
        })?;
        let layout = Layout::of(&blocks);
        let failed = |error: stet_print::PrintError| {
            tracing::error!(%error, "a preview can't be drawn");
            Error::internal()
        };
        Ok(StoryDrawings {
            picture: layout.picture(wanted.page - 1, wanted.framed).map_err(failed)?,
            pdf: wanted.with_pdf.then(|| layout.pdf(&wanted.title, wanted.framed)).transpose().map_err(failed)?,
            pages: layout.pages(),
            is_cut: layout.is_cut(),
        })
    };
    spawn_large(draw).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a preview can't be drawn");
        Err(Error::internal())
    })
}

/// Warns of parts that the preview does not show.
fn warn(call: &Call, page: usize, drawn: &StoryDrawings) {
    if drawn.is_cut {
        let message = format!("The preview ends after {MAX_PAGES} pages; the remaining text is left out.");
        call.warn(Warning::new("$.content", message));
    }
    if page > drawn.pages {
        let message = format!("The preview has no page {page}; the picture shows the last, {}.", drawn.pages);
        call.warn(Warning::new("$.parameters.page", message));
    }
}

/// Stores the bytes of a file of a preview, and returns the object to create. An object of an
/// earlier preview gets the new bytes.
async fn stored(call: &Call, name: &str, kind: &str, bytes: &[u8]) -> Result<Creation> {
    let mut upload = call.app.content.upload(&Reservation::unaccounted());
    upload.write(bytes).await?;
    let content = Some(upload.finish(kind).await?);
    Ok(Creation { content, mode: CreateMode::Replace, ..Creation::of(CreationKind::File, name) })
}

/// Returns the address of a file of a preview. Its query names the picture.
fn address(call: &Call, file: Loid, picture: Loid) -> String {
    let origin = client::origin(&call.http, &call.app.proxies);
    let (base, picture) = (&call.app.config.server.base_path, picture.to_string());
    // A loid consists of the number of a database and a number in it.
    let (database, number) = picture.split_once('$').unwrap_or((&picture, ""));
    format!("{origin}{base}/v3/object/{file}/content/binary?dbid={database}&eomid={number}")
}
