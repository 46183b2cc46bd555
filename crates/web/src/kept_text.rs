//! A text that many clients get: plain, and in each coding, which is created on first use.
//!
//! Callers without a session may request such a text at any rate. So a request costs no more than
//! sending it.

use actix_web::body::{BoxBody, to_bytes};
use actix_web::http::header::{self, ContentEncoding};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use stet_domain::error::{Error, Result};
use tokio::sync::OnceCell;

use super::compress::{CODINGS, VARY, encoder, negotiate_coding};

/// A text with the compressed forms that clients have asked for.
#[derive(Default)]
pub struct KeptText {
    plain: Bytes,
    coded: [OnceCell<Bytes>; CODINGS.len()],
}

impl KeptText {
    /// Creates a text without compressed forms.
    pub fn new(plain: String) -> KeptText {
        KeptText { plain: plain.into(), coded: Default::default() }
    }

    /// Returns the response to a request. The text is in the coding that the client asks for, if it
    /// has at least `from` bytes; 0 compresses none.
    ///
    /// The plain form lacks `Vary`, which [`Compression`](super::compress::Compression) adds.
    ///
    /// # Errors
    /// None in practice: an encoder in memory does not fail.
    pub async fn answer(&self, media_type: &'static str, http: &HttpRequest, from: u64) -> Result<HttpResponse> {
        let mut response = HttpResponse::Ok();
        response.content_type(media_type);
        let coding = negotiate_coding(http).filter(|_| from > 0 && self.plain.len() as u64 >= from);
        Ok(match coding {
            Some(coding) => {
                let body = self.coded(coding).await?;
                response.insert_header(coding).insert_header((header::VARY, VARY)).body(body)
            }
            None => response.body(self.plain.clone()),
        })
    }

    /// Returns the form in a coding, which is created once.
    async fn coded(&self, coding: ContentEncoding) -> Result<Bytes> {
        let place = CODINGS.iter().position(|(known, _)| *known == coding).ok_or_else(Error::internal)?;
        let make = async || {
            // The encoder writes headers into a response head, which is not used here.
            let mut unused = HttpResponse::Ok().finish();
            let body = encoder(coding, unused.head_mut(), BoxBody::new(self.plain.clone()));
            to_bytes(body).await.map_err(|_| Error::internal())
        };
        self.coded[place].get_or_try_init(make).await.cloned()
    }

    /// Returns the original text.
    #[cfg(any(test, feature = "testing"))]
    pub fn plain(&self) -> &str {
        std::str::from_utf8(&self.plain).expect("it was made of a text")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use actix_web::body::MessageBody;
    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    #[tokio::test]
    async fn a_coding_is_made_once_and_only_for_texts_that_are_long_enough() {
        let text = "# HELP stet_up Whether it is up.\n".repeat(9000);
        let kept = KeptText::new(text.clone());
        let http = TestRequest::get().insert_header((header::ACCEPT_ENCODING, "gzip")).to_http_request();
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let response = kept.answer("text/plain", &http, 4096).await.expect("it can be compressed");
            assert_eq!(response.headers().get(header::CONTENT_ENCODING).expect("it has one"), "gzip");
            bodies.push(response.into_body().try_into_bytes().expect("it is in memory"));
        }
        assert_eq!(bodies[0].as_ptr(), bodies[1].as_ptr(), "it was made twice");
        let mut found = String::new();
        GzDecoder::new(&bodies[0][..]).read_to_string(&mut found).expect("it is gzip");
        assert!(found == text);
        for from in [0, text.len() as u64 + 1] {
            let response = kept.answer("text/plain", &http, from).await.expect("it is there");
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{from}");
            assert!(response.into_body().try_into_bytes().expect("it is in memory") == text, "{from}");
        }
    }
}
