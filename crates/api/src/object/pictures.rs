//! Pictures, in full and scaled down (docs/api/content.md, "Pictures").

use stet_base::nearest::with_nearest;
use stet_content::ContentReader;
use stet_content::picture::media_type_of;
use stet_domain::error::{Code, Error, Result};
use stet_endpoint::content::ObjectContent;
use stet_endpoint::whole::{BodyPiece, ByteReply};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

/// `GET /v3/object/{source}/content/{format}`: the stored bytes (`binary`), the picture in full
/// (`highres`), or scaled down (`lowres`).
pub async fn content_as(call: Call) -> Result<Reply> {
    let source = call.source("source")?;
    let opened = async || ObjectContent::of(&call, &source).await;
    match call.param("format") {
        "binary" => opened().await?.reply(&call).await,
        "lowres" => lowres_reply(&call, opened().await?).await,
        "highres" => highres_reply(&call, opened().await?).await,
        other => {
            let error = Error::parameter("format", other, "`binary`, `highres` or `lowres`");
            Err(with_nearest(error, other, ["binary", "highres", "lowres"]))
        }
    }
}

/// Returns the stored bytes with the media type of the picture.
async fn highres_reply(call: &Call, picture: ObjectContent) -> Result<Reply> {
    let head = picture.reader.clone().range(0, HEAD).read_all().await?;
    let Some(media_type) = media_type_of(&head) else {
        let message = format!("`{}` is not a picture of a known format.", picture.source);
        return Err(Error::new(Code::InvalidType, message).with_source(picture.source));
    };
    let what = (picture.content.sha256, "highres", call.query.integer("maxSize"));
    let (tag, modified) = (ETag::new(picture.revision, what), picture.modified(call));
    let (parts, media_type) = (vec![BodyPiece::read(picture.reader)], media_type.to_owned());
    let whole = ByteReply { of: picture.object, media_type, parts, tag, modified };
    whole.reply(call, &picture.source, &picture.name)
}

/// The number of first bytes by which a picture is recognised.
const HEAD: u64 = 64;

/// Returns the picture scaled down. It is a representation with its own ETag and its own bytes,
/// which `maxSize` and `Range` refer to.
async fn lowres_reply(call: &Call, picture: ObjectContent) -> Result<Reply> {
    let scaler = &call.app.scaler;
    let what = (picture.content.sha256, "lowres", scaler.longest(), call.query.integer("maxSize"));
    let tag = ETag::new(picture.revision, what);
    if tag.is_known(call.headers()) {
        return Ok(Reply::picture_not_modified(tag));
    }
    let scaled = scaler.scaled(&picture.content, picture.reader.clone()).await;
    let scaled = scaled.map_err(|error| error.with_source(&picture.source))?;
    let stem = picture.name.rsplit_once('.').map_or(&*picture.name, |(stem, _)| stem);
    let name = format!("{stem}.lowres.{}", scaled.extension);
    let parts = vec![BodyPiece::read(ContentReader::of(scaled.bytes))];
    let (media_type, modified) = (scaled.media_type.to_owned(), picture.modified(call));
    let whole = ByteReply { of: picture.object, media_type, parts, tag, modified };
    whole.reply(call, &picture.source, &name)
}
