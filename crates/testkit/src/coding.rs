//! The decoding of compressed replies.

use std::io::Read;

use crate::Answer;

impl Answer {
    /// Returns the reply with its body decompressed; the headers stay.
    ///
    /// # Panics
    /// If the body is incomplete, or its coding is unknown.
    pub fn decoded(&self) -> Answer {
        let (coding, body) = (self.header("content-encoding").unwrap_or("identity"), &self.body[..]);
        let mut plain = Vec::new();
        let read = match coding {
            "identity" => (&mut { body }).read_to_end(&mut plain),
            "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut plain),
            "br" => brotli::Decompressor::new(body, 4096).read_to_end(&mut plain),
            "zstd" => zstd::stream::read::Decoder::new(body).and_then(|mut text| text.read_to_end(&mut plain)),
            other => panic!("the coding {other} is not known"),
        };
        read.unwrap_or_else(|error| panic!("the body is no whole {coding}: {error}"));
        Answer { status: self.status, headers: self.headers.clone(), body: plain }
    }
}
