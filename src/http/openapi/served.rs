//! The document as it is sent: made once, plain and compressed.

use std::io::Write;

use actix_web::http::header::{self, ContentEncoding};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::http::compress::wanted;

/// See the module's head.
pub struct Served {
    plain: Bytes,
    /// None if it could not be compressed; then it is sent plain.
    gzip: Option<Bytes>,
}

impl Served {
    /// Writes a document.
    pub fn new(document: &Value) -> Served {
        let plain = document.to_string();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = encoder.write_all(plain.as_bytes()).and_then(|()| encoder.finish());
        Served { plain: plain.into(), gzip: gzip.ok().map(Bytes::from) }
    }

    /// The answer to a request, compressed if that is asked for.
    pub fn answer(&self, http: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::Ok();
        response.content_type("application/json").insert_header((header::VARY, "Accept-Encoding"));
        match self.gzip.as_ref().filter(|_| wanted(http, &[ContentEncoding::Gzip]).is_some()) {
            Some(gzip) => response.insert_header(ContentEncoding::Gzip).body(gzip.clone()),
            None => response.body(self.plain.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use actix_web::body::MessageBody;
    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;
    use serde_json::json;

    use super::*;

    /// Content coding and body of the answer to a request with this `Accept-Encoding`.
    fn sent(accept: Option<&str>) -> (Option<String>, Vec<u8>) {
        let served = Served::new(&json!({"openapi": "3.1.0"}));
        let request = accept.map_or_else(TestRequest::get, |accept| {
            TestRequest::get().insert_header((header::ACCEPT_ENCODING, accept))
        });
        let response = served.answer(&request.to_http_request());
        assert_eq!(response.headers().get(header::VARY).unwrap(), "Accept-Encoding");
        let coding = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap().to_owned());
        (coding, response.into_body().try_into_bytes().unwrap().to_vec())
    }

    #[test]
    fn it_is_compressed_for_those_who_ask_and_plain_for_others() {
        let plain = br#"{"openapi":"3.1.0"}"#.to_vec();
        for accept in [Some("gzip"), Some("br, gzip;q=0.8, identity;q=0.2"), Some("deflate, GZIP, br")] {
            let (coding, body) = sent(accept);
            assert_eq!(coding.as_deref(), Some("gzip"), "{accept:?}");
            let mut text = Vec::new();
            GzDecoder::new(&body[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, plain);
        }
        for accept in [None, Some(""), Some("br"), Some("gzip;q=0"), Some("identity, gzip;q=0.5"), Some("nonsense;q=x")]
        {
            assert_eq!(sent(accept), (None, plain.clone()), "{accept:?}");
        }
    }
}
