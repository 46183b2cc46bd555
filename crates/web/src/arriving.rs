//! A call whose body, a form or a content, is still arriving.
//!
//! That may take as long as the client likes. In that time the caller may lose rights, and a path
//! may come to name another object. So nothing may be looked up before the body and used after it.
//! [`IncomingCall`] therefore gives a handler access to no object. It becomes a [`Call`] when the
//! body is complete and the caller has been checked again. The target of the body is looked up
//! twice, and the handler gets the second result.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::header::HeaderMap;
use stet_domain::error::{Error, Result};
#[cfg(doc)]
use stet_newsroom::caller::Caller;

use super::body::IncomingBody;
use super::call::Call;
use super::query::Query;
use super::route::HandlerInput;

/// The interval at which a caller whose body is still arriving is checked again. It is shorter than
/// the idle time of a session.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A call whose body has not been received yet.
// Boxed, because it moves from future to future, and each would reserve space for it.
pub struct IncomingCall(Box<Call>);

impl HandlerInput for IncomingCall {
    fn of(call: Call) -> IncomingCall {
        IncomingCall(Box::new(call))
    }
}

impl IncomingCall {
    /// Returns the query, which tells some endpoints what their body contains.
    pub fn query(&self) -> &Query {
        &self.0.query
    }

    /// Returns the request's headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Receives the body with `read`. `target` looks up what the body is for. It runs before the
    /// body, because a caller who may not do this need not send all of it, and its result is passed
    /// to `read`. It runs again after the body, and that result is returned. The caller is checked
    /// repeatedly while the body arrives, which also keeps the session in use, and once afterwards
    /// (see [`Caller::look_again`]).
    ///
    /// # Errors
    /// The errors of `target` and `read`; `InvalidToken`, `PermissionDenied`, `ObjectNotFound`;
    /// errors of the store.
    pub async fn received<O, T>(
        self,
        target: impl Fn(&Call) -> Result<O>,
        read: impl AsyncFnOnce(&Call, IncomingBody, &O) -> Result<T>,
    ) -> Result<(Box<Call>, O, T)> {
        let IncomingCall(mut call) = self;
        let before = target(&call)?;
        // The dispatcher provides one for every route whose body arrives in this way. It is read
        // once.
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
                        call.check_again()?;
                        call.note_use();
                    }
                }
            }
        };
        call.look_again()?;
        let target = target(&call)?;
        Ok((call, target, received))
    }
}
