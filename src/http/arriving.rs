//! A call whose body is still to come bit by bit: a form, or a content. That may take as long as
//! the client likes, and meanwhile the caller may lose their rights, and a path may come to lead to
//! another object. So nothing can be looked up before the body and used after it: what a handler is
//! given here tells of no object, and becomes a [`Call`] when the body is there and the caller has
//! been looked at again. What the body is for is found twice, and the handler has what was found
//! last.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::header::HeaderMap;
use stet_actors::error::{Error, Result};

use super::authorise::check_again;
use super::body::Incoming;
use super::call::Call;
use super::query::Query;
use super::route::Taken;

/// The time after which a caller whose body is still coming is looked at again: less than a session
/// may idle for.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// See the module's head.
// Boxed: handed from future to future, it would have a place in each.
pub struct Arriving(Box<Call>);

impl Taken for Arriving {
    fn of(call: Call) -> Arriving {
        Arriving(Box::new(call))
    }
}

impl Arriving {
    /// The query, which tells some calls what their body is.
    pub fn query(&self) -> &Query {
        &self.0.query
    }

    /// The request's headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Reads the body. The caller is checked again (see [`check_again`]) now and then, when the
    /// session counts as used, and afterwards. `target` finds what the body is for: before anything
    /// is received, for a caller who may not do this need not send it all, and to be read by; and
    /// once more afterwards, to be used.
    ///
    /// # Errors
    /// What `target` and `read` say; `InvalidToken`, `PermissionDenied`, `ObjectNotFound`; what the
    /// store says.
    pub async fn received<O, T>(
        self,
        target: impl Fn(&Call) -> Result<O>,
        read: impl AsyncFnOnce(&Call, Incoming, &O) -> Result<T>,
    ) -> Result<(Box<Call>, O, T)> {
        let Arriving(mut call) = self;
        let before = target(&call)?;
        // The dispatcher gives one to every route whose body comes so; it is read once.
        let incoming = call.incoming.take().ok_or_else(Error::internal)?;
        let received = {
            let call = &*call;
            let mut reading = pin!(read(call, incoming, &before));
            let idle = Duration::from_secs(call.app.sessions.options().idle_seconds);
            let pause = LOOK_AGAIN.min(idle / 2);
            loop {
                tokio::select! {
                    received = &mut reading => break received?,
                    () = tokio::time::sleep(pause) => {
                        check_again(&call.app, call.route, call.session.as_ref(), &call.query, &call.params, &call.sources)?;
                        call.still_in_use();
                    }
                }
            }
        };
        call.look_again()?;
        let target = target(&call)?;
        Ok((call, target, received))
    }
}
