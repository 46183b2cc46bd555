//! Multipart bodies, through the real reader.

use actix_web::error::PayloadError;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use stet_api::object::{ObjectForm, read_parts};
use stet_config::LimitsConfig;
use stet_content::{ContentStore, UploadBounds};
use stet_domain::error::{Code, Result};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Limits that are small enough for the inputs to reach.
const PARTS: usize = 6;
const OPTIONS_BYTES: usize = 600;
const UPLOAD_BYTES: u64 = 1500;

/// The form reader with everything that it needs.
struct FormReader {
    runtime: Runtime,
    contents: ContentStore,
    limits: LimitsConfig,
    _folder: TempDir,
}

impl FormReader {
    fn new() -> FormReader {
        let folder = TempDir::new().expect("a temporary directory can be made");
        // Every input is too small to be stored in a file.
        let contents =
            ContentStore::open(folder.path(), 1 << 20, UploadBounds::NONE).expect("contents can be opened there");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let limits = LimitsConfig {
            upload_parts: PARTS,
            upload_part_options_bytes: OPTIONS_BYTES,
            upload_bytes: UPLOAD_BYTES,
            // No input is slow, and a timer costs time.
            upload_progress_seconds: 0,
            ..LimitsConfig::default()
        };
        FormReader { runtime: runtime.expect("a runtime can be made"), contents, limits, _folder: folder }
    }

    fn read(&self, chunks: impl Stream<Item = Bytes> + 'static) -> Result<ObjectForm> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("multipart/form-data; boundary=b"));
        let payload = Box::pin(chunks.map(Ok::<_, PayloadError>));
        self.runtime.block_on(read_parts(&headers, payload, &self.limits, &self.contents))
    }
}

thread_local! {
    static READER: FormReader = FormReader::new();
}

/// Fuzzes the form reader: the first byte says how the body is cut, the rest is a multipart body
/// with the boundary `b`. The result must not depend on the cuts.
pub fn multipart(data: &[u8]) -> bool {
    let Some((cut, body)) = data.split_first() else { return false };
    let whole = Bytes::copy_from_slice(body);
    READER.with(|reader| {
        let at_once = reader.read(stream::iter([whole.clone()]));
        let in_pieces = reader.read(pieces(whole, *cut).then(|piece| async {
            // The reader must cope with a body that has not arrived completely.
            tokio::task::yield_now().await;
            piece
        }));
        match (&at_once, &in_pieces) {
            (Ok(one), Ok(other)) => assert_eq!(one.sent(), other.sent()),
            (Err(one), Err(other)) => {
                for refusal in [one, other] {
                    let known = [Code::InvalidBody, Code::InvalidName, Code::TooLarge];
                    assert!(known.contains(&refusal.code), "{refusal}");
                }
            }
            (one, other) => panic!("at once: {:?}, in pieces: {:?}", one.as_ref().err(), other.as_ref().err()),
        }
        at_once.is_ok()
    })
}

/// Cuts the body at offsets that follow from `cut`, into pieces of one to some thirty bytes.
fn pieces(whole: Bytes, cut: u8) -> impl Stream<Item = Bytes> {
    stream::iter((0..).scan((0, u32::from(cut)), move |(at, dice), _| {
        if *at >= whole.len() {
            return None;
        }
        *dice = dice.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let most = 1 + usize::from(cut & 31);
        let end = whole.len().min(*at + 1 + (*dice >> 16) as usize % most);
        let piece = whole.slice(*at..end);
        *at = end;
        Some(piece)
    }))
}
