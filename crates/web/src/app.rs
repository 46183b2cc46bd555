//! The state of the web layer, beside the newsroom that it serves.

use std::any::{Any, TypeId};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use actix_web::http::header::HeaderValue;
use actix_web::{HttpRequest, HttpResponse};
use foldhash::HashMap;
use futures_util::future::LocalBoxFuture;
use stet_base::limits::TimeSlices;
use stet_domain::trace::RequestId;
use stet_newsroom::Newsroom;
use stet_observe::telemetry::Metrics;
use stet_observe::traces::Traces;
use tokio::sync::OnceCell;

use super::calls::CallLimit;
use super::client::Proxies;
use super::kept_text::KeptText;
use super::meters::Meters;
use super::route::EndpointGroup;
use super::router::Router;
use super::shared::SharedReply;

/// The stages of the server between its start and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ServerStage {
    /// Not ready for calls yet.
    Starting,
    /// Serving.
    Ready,
    /// Shutting down: running calls are completed.
    Draining,
}

/// The endpoints that the web layer serves, and the state of their handlers.
pub struct ServedEndpoints {
    /// The endpoints, as tables.
    pub groups: &'static [EndpointGroup],
    /// The state that their handlers keep between calls.
    pub kept: HandlerState,
    /// The pages for readers without a token.
    pub readers: AnswerReaders,
}

/// Answers a request for a page for readers without a token, which is no endpoint; `None` for any
/// other request. The client is neither identified nor counted, so the function bounds what each
/// request costs.
pub type AnswerReaders = fn(&Arc<App>, &HttpRequest) -> Option<LocalBoxFuture<'static, HttpResponse>>;

/// State that handlers keep between calls, such as cached replies: one value of each type. The web
/// layer does not know these types.
#[derive(Default)]
pub struct HandlerState(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl HandlerState {
    /// Adds a value and returns the collection.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> HandlerState {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
        self
    }
}

/// The state of the web layer. It dereferences to its newsroom, so that handlers can call the
/// newsroom's methods on it.
pub struct App {
    /// The newsroom that is served.
    pub newsroom: Arc<Newsroom>,
    /// The endpoints, as tables.
    pub groups: &'static [EndpointGroup],
    /// The pages for readers without a token.
    pub readers: AnswerReaders,
    /// Finds endpoints.
    pub router: Router,
    /// The trusted proxies.
    pub proxies: Proxies,
    /// The header that makes browsers use TLS only (HSTS), if it is to be sent.
    pub strict_transport: Option<HeaderValue>,
    /// The limit on the number of calls of a client, if there is one.
    pub call_limit: Option<CallLimit>,
    /// The time of the threads that calls share.
    pub time_slices: TimeSlices,
    /// The metrics that `/metrics` shows.
    pub metrics: Metrics,
    /// The last rendered text of `/metrics`.
    pub shown_metrics: SharedReply,
    /// The meters of the endpoints.
    pub meters: Meters,
    /// The exporter of traces, if one is configured.
    pub traces: Option<Traces>,
    /// The reply of `/openapi.json`, rendered on first use.
    pub openapi: OnceCell<KeptText>,
    kept: HandlerState,
    stage: AtomicU8,
    /// The number of this process in the ids of its requests, and the count of its requests so far.
    process: u32,
    requests: AtomicU64,
}

impl Deref for App {
    type Target = Newsroom;

    fn deref(&self) -> &Newsroom {
        &self.newsroom
    }
}

impl App {
    /// Builds the web layer of `newsroom` in [`ServerStage::Starting`], with the endpoints of
    /// `surface`.
    pub fn new(newsroom: Arc<Newsroom>, surface: ServedEndpoints, metrics: Metrics) -> App {
        let ServedEndpoints { groups, kept, readers } = surface;
        let config = &newsroom.config;
        let strict = config.server.tls.strict_transport_seconds;
        let strict_transport = (config.server.tls.is_on() && strict > 0).then(|| {
            // A word and digits are visible ASCII, which is all that a header's value must be.
            HeaderValue::try_from(format!("max-age={strict}")).expect("a number of seconds is a header's value")
        });
        let routes = || groups.iter().flat_map(EndpointGroup::routes);
        App {
            strict_transport,
            proxies: Proxies::new(&config.server),
            call_limit: CallLimit::new(config.limits.calls_per_minute),
            time_slices: TimeSlices::new(config.server.threads()),
            traces: Traces::configured(&config.traces),
            router: Router::new(routes()),
            meters: Meters::of(routes()),
            newsroom,
            groups,
            kept,
            readers,
            metrics,
            openapi: OnceCell::new(),
            shown_metrics: SharedReply::default(),
            stage: AtomicU8::new(ServerStage::Starting as u8),
            process: rand::random(),
            requests: AtomicU64::new(0),
        }
    }

    /// Returns the state of type `T` that the handlers keep.
    ///
    /// # Panics
    /// If the server's surface has no value of this type. `stet_api::surface` adds one for every
    /// type that a handler uses, and the server those that it starts, such as the webhooks.
    pub fn kept<T: Any>(&self) -> &T {
        let kept = self.kept.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref());
        kept.expect("the surface has what its handlers keep")
    }

    /// Returns the current stage of the server.
    pub fn stage(&self) -> ServerStage {
        match self.stage.load(Ordering::Acquire) {
            0 => ServerStage::Starting,
            1 => ServerStage::Ready,
            _ => ServerStage::Draining,
        }
    }

    /// Moves the server to another stage.
    pub fn enter(&self, stage: ServerStage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    /// Returns an id for the next request: unique in this process, and unlikely to be that of
    /// another process's request.
    pub fn next_request_id(&self) -> RequestId {
        RequestId { process: self.process, count: self.requests.fetch_add(1, Ordering::Relaxed) }
    }
}

/// Renders a request id as a header's value. It avoids `format!`, because every call gets an id.
pub(super) fn as_header(id: RequestId) -> HeaderValue {
    // Eight digits, a dash, and up to sixteen digits.
    let mut text = [0; 25];
    let mut length = 0;
    let mut put = |byte| {
        text[length] = byte;
        length += 1;
    };
    let digit = |value: u64| b"0123456789abcdef"[(value & 15) as usize];
    (0..8).rev().for_each(|place| put(digit(u64::from(id.process) >> (4 * place))));
    put(b'-');
    let digits = (u64::BITS - id.count.leading_zeros()).div_ceil(4).max(1);
    (0..digits).rev().for_each(|place| put(digit(id.count >> (4 * place))));
    // Hexadecimal digits and a dash are visible ASCII, which is all that a header's value must be.
    HeaderValue::from_bytes(&text[..length]).expect("a request id is a header's value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stands_in_the_header_as_it_stands_in_the_log() {
        for (process, count) in [(0, 0), (0xab, 0xf), (0x1234_5678, 0x10), (u32::MAX, u64::MAX)] {
            let id = RequestId { process, count };
            assert_eq!(as_header(id), id.to_string());
        }
    }
}
