//! The request that a line of the log is about, whether the web layer writes the line, a container
//! on its thread, or the store's writer.
//!
//! A span for each request would cost about a tenth of a change, so one exists only if the log
//! level asks for it (`debug`). Without one, a variable of the thread has the request's id and its
//! client's address while the thread works for that request.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;

use tracing::Span;
use tracing::span::Entered;

thread_local! {
    static REQUEST: Cell<Option<RequestOrigin>> = const { Cell::new(None) };
}

/// The identifier of a request in its reply and in the log. It is unique in this process, and
/// unlikely to equal one of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// The random number of the process.
    pub process: u32,
    /// The number of the request in its process.
    pub count: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:x}", self.process, self.count)
    }
}

/// The request that work is done for, with its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The request.
    pub request: RequestId,
    /// The client's address, as reported by trusted proxies.
    pub client: IpAddr,
}

impl fmt::Display for RequestOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request={} client={}", self.request, self.client)
    }
}

/// The request that work is done for, or none.
#[derive(Debug, Clone)]
pub struct Trace {
    span: Span,
    asked: Option<RequestOrigin>,
}

/// A guard: until it is dropped, this thread works for a request, and its log lines name it.
#[must_use]
pub struct TraceGuard<'t> {
    before: Option<RequestOrigin>,
    _span: Entered<'t>,
}

impl Trace {
    /// Creates the trace of a request, whose span may be disabled.
    pub fn of(asked: RequestOrigin, span: Span) -> Trace {
        Trace { span, asked: Some(asked) }
    }

    /// Creates the trace of work without a request.
    pub fn none() -> Trace {
        Trace { span: Span::none(), asked: None }
    }

    /// Returns the trace of this thread's present work.
    pub fn current() -> Trace {
        Trace { span: Span::current(), asked: current_origin() }
    }

    /// Makes this thread work for the request until the guard is dropped. Guards that are entered
    /// later must be dropped earlier.
    pub fn enter(&self) -> TraceGuard<'_> {
        TraceGuard { before: REQUEST.replace(self.asked), _span: self.span.enter() }
    }

    /// Runs asynchronous work for the request.
    pub async fn follow<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| self.in_scope(|| work.as_mut().poll(cx))).await
    }

    /// Runs work for the request.
    pub fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _within = self.enter();
        work()
    }
}

impl Drop for TraceGuard<'_> {
    fn drop(&mut self) {
        REQUEST.set(self.before);
    }
}

/// Returns the request that this thread works for.
pub fn current_origin() -> Option<RequestOrigin> {
    REQUEST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_for_the_request_that_was_entered_last_and_not_left() {
        let asking =
            |count| RequestOrigin { request: RequestId { process: 0xab, count }, client: IpAddr::from([192, 0, 2, 7]) };
        let (one, other) = (Trace::of(asking(1), Span::none()), Trace::of(asking(0x1f), Span::none()));
        assert_eq!(current_origin(), None);
        one.in_scope(|| {
            assert_eq!(current_origin(), Some(asking(1)));
            other.in_scope(|| assert_eq!(Trace::current().asked, Some(asking(0x1f))));
            Trace::none().in_scope(|| assert_eq!(current_origin(), None));
            assert_eq!(current_origin(), Some(asking(1)));
        });
        assert_eq!(current_origin(), None);
        assert_eq!(asking(0x1f).to_string(), "request=000000ab-1f client=192.0.2.7");
    }
}
