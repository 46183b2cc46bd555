//! Pictures, in full and scaled down (docs/api/content.md, "Pictures").

use stet_base::nearest::with_nearest;
use stet_content::ContentReader;
use stet_content::download::LocatedContent;
use stet_content::picture::media_type_of;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::ObjectSource;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

use super::content::{content_of, open_content_of};
use crate::whole::{BodyPiece, ByteReply, known_time};

/// `GET /v3/object/{source}/content/{format}`: the stored bytes (`binary`), the picture in full
/// (`highres`), or scaled down (`lowres`).
pub async fn content_as(call: Call) -> Result<Reply> {
    let source = call.source("source")?;
    match call.param("format") {
        "binary" => content_of(&call, &source).await,
        "lowres" => lowres_of(&call, &source).await,
        "highres" => highres_of(&call, &source).await,
        other => {
            let error = Error::parameter("format", other, "`binary`, `highres` or `lowres`");
            Err(with_nearest(error, other, ["binary", "highres", "lowres"]))
        }
    }
}

/// Returns the stored bytes with the media type of the picture.
async fn highres_of(call: &Call, source: &ObjectSource) -> Result<Reply> {
    let record = call.find(source, call.database()?)?;
    let (LocatedContent { content, at, .. }, reader) = open_content_of(call, source, &record).await?;
    let head = reader.clone().range(0, HEAD).read_all().await?;
    let Some(media_type) = media_type_of(&head) else {
        let message = format!("`{source}` is not a picture of a known format.");
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    };
    let tag = ETag::new(RevisionTag::of(&record), (content.sha256, "highres", call.query.integer("maxSize")));
    let (parts, media_type) = (vec![BodyPiece::read(reader)], media_type.to_owned());
    let whole = ByteReply { of: record.loid, media_type, parts, tag, modified: known_time(call, at) };
    whole.reply(call, &source.to_string(), &record.name)
}

/// The number of first bytes by which a picture is recognised.
const HEAD: u64 = 64;

/// Returns the picture scaled down. It is a representation with its own ETag and its own bytes,
/// which `maxSize` and `Range` refer to.
async fn lowres_of(call: &Call, source: &ObjectSource) -> Result<Reply> {
    let record = call.find(source, call.database()?)?;
    let (LocatedContent { content, at, .. }, reader) = open_content_of(call, source, &record).await?;
    let scaler = &call.app.scaler;
    let what = (content.sha256, "lowres", scaler.longest(), call.query.integer("maxSize"));
    let tag = ETag::new(RevisionTag::of(&record), what);
    if tag.is_known(call.headers()) {
        return Ok(Reply::picture_not_modified(tag));
    }
    let scaled = scaler.scaled(&content, reader).await.map_err(|error| error.with_source(source))?;
    let stem = record.name.rsplit_once('.').map_or(&*record.name, |(stem, _)| stem);
    let name = format!("{stem}.lowres.{}", scaled.extension);
    let parts = vec![BodyPiece::read(ContentReader::of(scaled.bytes))];
    let media_type = scaled.media_type.to_owned();
    let whole = ByteReply { of: record.loid, media_type, parts, tag, modified: known_time(call, at) };
    whole.reply(call, &source.to_string(), &name)
}
