//! The files that all public pages share: a style, a script, and the script for other sites.
//!
//! The names of the style and the script contain a hash of their content, so browsers keep them for
//! ever. The name of the script for other sites stands in their pages and never changes.

use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use sha2::{Digest, Sha256};
use stet_domain::error::Result;
use stet_web::app::App;
use stet_web::etag::ETag;
use stet_web::kept_text::KeptText;

use super::headers;

/// A file of public pages.
pub(super) struct PublicFile {
    /// The name below `/live/`.
    pub name: String,
    media_type: &'static str,
    text: KeptText,
    tag: ETag,
    /// The rule for caches.
    caching: &'static str,
}

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const AN_HOUR: &str = "public, max-age=3600";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The style of pages.
pub(super) static STYLE: LazyLock<PublicFile> =
    LazyLock::new(|| PublicFile::hashed("css", CSS, include_str!("files/live.css")));

/// The script of pages.
pub(super) static SCRIPT: LazyLock<PublicFile> =
    LazyLock::new(|| PublicFile::hashed("js", JAVASCRIPT, include_str!("files/live.js")));

/// The script for pages of other sites.
static EMBED: LazyLock<PublicFile> =
    LazyLock::new(|| PublicFile::new("embed.js".to_owned(), JAVASCRIPT, include_str!("files/embed.js"), AN_HOUR));

impl PublicFile {
    fn new(name: String, media_type: &'static str, text: &str, caching: &'static str) -> PublicFile {
        PublicFile { name, media_type, tag: ETag::of_bytes(text), text: KeptText::new(text.to_owned()), caching }
    }

    fn hashed(extension: &str, media_type: &'static str, text: &str) -> PublicFile {
        let name = format!("live-{}.{extension}", hex(&Sha256::digest(text)[..6]));
        PublicFile::new(name, media_type, text, FOR_EVER)
    }

    /// Returns the reply with the file.
    ///
    /// # Errors
    /// None in practice: see [`KeptText::answer`].
    pub async fn answer(&self, app: &App, http: &HttpRequest) -> Result<HttpResponse> {
        let mut response = match self.tag.is_known(http.headers()) {
            true => HttpResponse::NotModified().finish(),
            false => self.text.answer(self.media_type, http, app.config.server.compress_bytes).await?,
        };
        let out = response.headers_mut();
        headers::of_kept(out, &self.tag);
        out.insert(header::CACHE_CONTROL, header::HeaderValue::from_static(self.caching));
        headers::open_to_all(out);
        Ok(response)
    }
}

/// Returns the file with that name.
pub(super) fn find(name: &str) -> Option<&'static PublicFile> {
    [&*STYLE, &*SCRIPT, &*EMBED].into_iter().find(|file| file.name == name)
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
