//! What clients make of replies that the server has compressed.

use std::io::Read;

use crate::Answer;

impl Answer {
    /// The same with its body as it was before it was compressed; the headers stay.
    ///
    /// # Panics
    /// When the body is not whole, or in a coding that is not known.
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
