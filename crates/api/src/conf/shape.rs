//! The shape of a story as a document, from one of a channel's shape templates
//! (docs/api/configuration.md, "The site configuration").

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use stet_content::words::{is_text, read_of};
use stet_domain::error::{Code, Error, Result};
use stet_endpoint::content::ObjectContent;
use stet_newsroom::records::CachedRecord;
use stet_sysconfig::{ShapeFrame, ShapeTemplate};
use stet_web::call::Call;
use stet_web::reply::Json;
use stet_xml::{Limits, from_json, without_illegal_chars};

use super::pages::check_work_folder;
use super::site::channel_id;

/// The shape of a story.
#[derive(Serialize, JsonSchema)]
pub struct ShapeReply {
    /// The document; absent if no shape template of the channel is for the story.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgx: Option<Pgx>,
}

/// A shape template, filled in for a story.
#[derive(Serialize, JsonSchema)]
pub struct Pgx {
    /// The document, with the root `pgx`.
    xml: String,
}

/// `GET /v3/shape/story/{source}`
pub async fn story_shape(call: Call) -> Result<Json<ShapeReply>> {
    let story = call.resolve("source")?;
    let content = call.app.sysconfig.site_content(story.loid.database);
    let site = &content.site;
    let given = |name: &str| call.query.text(name).filter(|text| !text.is_empty());
    let channel = match given("channel") {
        Some(named) => site.channel(&channel_id(site, named)?),
        None => site.default_channel(),
    };
    if let Some(path) = given("workFolder") {
        check_work_folder(site, path)?;
    }
    let file = channel.and_then(|channel| content.shape_templates.get(channel.shape_templates.as_ref()?)).cloned();
    let Some(file) = file else { return Json::of(&ShapeReply { pgx: None }) };
    let work_folder = given("workFolder").or(story.work_folder.as_deref()).map(str::to_owned);
    let page = given("pageId").map(|page| without_illegal_chars(page).into_owned());
    let words = words_of(&call, &story).await?;
    let (loid, bytes) = (story.loid.to_string(), content.bytes);
    Json::made(bytes, move || {
        let Some(template) = fitting(&file.templates, work_folder.as_deref(), words) else {
            return Ok(ShapeReply { pgx: None });
        };
        let mut root =
            Map::from_iter([("@story".to_owned(), json!(loid)), ("@channel".to_owned(), json!(file.channel))]);
        root.extend(attributes([("@workFolder", work_folder.as_deref()), ("@page", page.as_deref())]));
        root.insert("shape".to_owned(), shape(template));
        // Configuration files are bounded, and so are the values of a query.
        let xml = from_json(&json!({ "pgx": root }), &Limits::UNBOUNDED).map_err(|error| {
            Error::new(Code::InvalidAttributes, format!("The shape can't be represented as XML: {error}"))
        })?;
        Ok(ShapeReply { pgx: Some(Pgx { xml }) })
    })
    .await
}

/// Returns the template for a story: among those for its work folder and its number of words, the
/// default one, else the first. If none is for that number of words, the number is ignored.
fn fitting<'t>(
    templates: &'t [ShapeTemplate],
    work_folder: Option<&str>,
    words: Option<usize>,
) -> Option<&'t ShapeTemplate> {
    let is_for = |template: &&ShapeTemplate| match work_folder {
        Some(path) => template.is_for(path),
        None => template.work_folders.is_empty(),
    };
    let holds = |template: &&&ShapeTemplate| words.is_none_or(|words| template.holds(words));
    let candidates: Vec<&ShapeTemplate> = templates.iter().filter(is_for).collect();
    let first = |of: &mut dyn Iterator<Item = &'t ShapeTemplate>| {
        let of: Vec<&ShapeTemplate> = of.collect();
        of.iter().find(|template| template.is_default).or(of.first()).copied()
    };
    first(&mut candidates.iter().filter(holds).copied()).or_else(|| first(&mut candidates.iter().copied()))
}

/// Counts the words of a story's latest version; `None` for a content that is not text, or too
/// large to read completely.
async fn words_of(call: &Call, story: &CachedRecord) -> Result<Option<usize>> {
    let Some(content) = &story.content else { return Ok(None) };
    let kind = content.content_type.clone();
    if !is_text(&kind) {
        return Ok(None);
    }
    let most = call.app.xml_limits().max_bytes as u64;
    let Some(latest) = ObjectContent::latest_within(&call.app, story, most).await? else { return Ok(None) };
    let count = move |bytes: Bytes| {
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(read_of(&kind, text).split_whitespace().count())
    };
    latest.reader.process(count).await
}

fn shape(template: &ShapeTemplate) -> Value {
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let (least, most) = (number(template.min_words), number(template.max_words));
    let mut shape = attributes([
        ("@id", Some(&*template.id)),
        ("@name", Some(&*template.name)),
        ("@width", template.width.as_deref()),
        ("@height", template.height.as_deref()),
        ("@minWords", least.as_deref()),
        ("@maxWords", most.as_deref()),
    ]);
    let frame = |frame: &ShapeFrame| {
        let (columns, lines) = (number(frame.columns), number(frame.lines));
        Value::Object(attributes([
            ("@element", Some(&*frame.element)),
            ("@columns", columns.as_deref()),
            ("@lines", lines.as_deref()),
            ("@style", frame.style.as_deref()),
        ]))
    };
    shape.insert("frame".to_owned(), template.frames.iter().map(frame).collect());
    Value::Object(shape)
}

/// Returns the attributes that have a value, as members of the JSON view of an element.
fn attributes<const N: usize>(named: [(&str, Option<&str>); N]) -> Map<String, Value> {
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(id: &str, words: (u32, u32), is_default: bool, folders: &[&str]) -> ShapeTemplate {
        ShapeTemplate {
            id: id.into(),
            name: id.into(),
            width: None,
            height: None,
            min_words: Some(words.0),
            max_words: Some(words.1),
            is_default,
            work_folders: folders.iter().map(|folder| (*folder).into()).collect(),
            frames: Vec::new(),
        }
    }

    #[test]
    fn template_fits_by_folder_then_words_then_default() {
        let templates = [
            template("brief", (10, 50), false, &[]),
            template("sport", (100, 500), false, &["/News/Sport"]),
            template("lead", (100, 500), true, &[]),
        ];
        let id = |folder, words| fitting(&templates, folder, words).map(|template| template.id.to_string());
        for (folder, words, expected) in [
            (Some("/News/City"), Some(20), "brief"),
            (Some("/News/City"), Some(300), "lead"),
            // No template is for that number, or the number is unknown.
            (Some("/News/City"), Some(9000), "lead"),
            (Some("/News/Sport/Sailing"), None, "lead"),
            (None, Some(20), "brief"),
        ] {
            assert_eq!(id(folder, words).as_deref(), Some(expected), "{folder:?} {words:?}");
        }
        assert!(fitting(&templates[1..2], Some("/News/City"), None).is_none());
        assert!(fitting(&templates[1..2], None, None).is_none());
    }
}
