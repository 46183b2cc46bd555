//! Which request a line of the log is about, whoever writes it: the web layer, a container on its
//! thread, the store's writer.
//!
//! A span for each request would cost about a tenth of a change, so there is one only when the log
//! asks for it (`debug`). The id of the request and its client's address go along without one, in a
//! variable of the thread while it works for that request.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;

use tracing::Span;
use tracing::span::Entered;

thread_local! {
    static REQUEST: Cell<Option<Asked>> = const { Cell::new(None) };
}

/// What a request is called in its reply and in the log: unique in this process, and unlikely to be
/// that of another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// Of the process, random.
    pub process: u32,
    /// Of the request in it.
    pub count: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:x}", self.process, self.count)
    }
}

/// What was asked, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The request.
    pub request: RequestId,
    /// The address of its client, as trusted proxies show it.
    pub client: IpAddr,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request={} client={}", self.request, self.client)
    }
}

/// Whom work is done for: a request, or nobody.
#[derive(Debug, Clone)]
pub struct Trace {
    span: Span,
    asked: Option<Asked>,
}

/// While it is there, this thread works for a request, and what it logs says so.
#[must_use]
pub struct Within<'t> {
    before: Option<Asked>,
    _span: Entered<'t>,
}

impl Trace {
    /// Work for a request, whose span may be disabled.
    pub fn of(asked: Asked, span: Span) -> Trace {
        Trace { span, asked: Some(asked) }
    }

    /// Work for nobody.
    pub fn none() -> Trace {
        Trace { span: Span::none(), asked: None }
    }

    /// Whom this thread works for.
    pub fn current() -> Trace {
        Trace { span: Span::current(), asked: asked() }
    }

    /// Works for them until what it returns is dropped. What is entered later is to be dropped
    /// first.
    pub fn enter(&self) -> Within<'_> {
        Within { before: REQUEST.replace(self.asked), _span: self.span.enter() }
    }

    /// Does something for them that waits now and then.
    pub async fn follow<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| self.in_scope(|| work.as_mut().poll(cx))).await
    }

    /// Does something for them.
    pub fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _within = self.enter();
        work()
    }
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        REQUEST.set(self.before);
    }
}

/// The request that this thread works for.
pub fn asked() -> Option<Asked> {
    REQUEST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_for_the_request_that_was_entered_last_and_not_left() {
        let asking =
            |count| Asked { request: RequestId { process: 0xab, count }, client: IpAddr::from([192, 0, 2, 7]) };
        let (one, other) = (Trace::of(asking(1), Span::none()), Trace::of(asking(0x1f), Span::none()));
        assert_eq!(asked(), None);
        one.in_scope(|| {
            assert_eq!(asked(), Some(asking(1)));
            other.in_scope(|| assert_eq!(Trace::current().asked, Some(asking(0x1f))));
            Trace::none().in_scope(|| assert_eq!(asked(), None));
            assert_eq!(asked(), Some(asking(1)));
        });
        assert_eq!(asked(), None);
        assert_eq!(asking(0x1f).to_string(), "request=000000ab-1f client=192.0.2.7");
    }
}
