//! The identification of the caller: the token of a request, and whether a cookie alone suffices
//! (docs/api/README.md, "Tokens").

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap};
use stet_auth::{LiveSession, Privilege};
use stet_domain::error::{Code, Error, Result};

use super::app::App;
use super::origin;
use super::query::{KEY, QueryPairs, TOKEN};
use super::route::{Route, TokenRule, Verb};

/// The places of a token, in the order in which they are tried (docs/api/README.md, "Tokens").
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenTransport {
    /// A key in the address of an endpoint that takes one there.
    Address,
    Query,
    Header,
    Bearer,
    Cookie,
}

/// Returns the key in the address, if the endpoint accepts one there ([`Route::key_in_address`]).
pub fn key_in_address<'r>(route: &Route, pairs: &'r QueryPairs<'_>) -> Option<&'r str> {
    pairs.last(KEY).filter(|key| route.key_in_address && !key.is_empty())
}

/// Returns the token of a request and its place, but not a key in the address.
fn token_and_transport<'r>(headers: &'r HeaderMap, pairs: &'r QueryPairs<'_>) -> Option<(TokenTransport, &'r str)> {
    if let Some(token) = pairs.last(TOKEN).filter(|token| !token.is_empty()) {
        return Some((TokenTransport::Query, token));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(token) = text(TOKEN).filter(|token| !token.is_empty()) {
        return Some((TokenTransport::Header, token));
    }
    if let Some((scheme, token)) = text("authorization").and_then(|value| value.split_once(' '))
        && scheme.eq_ignore_ascii_case("bearer")
        && !token.trim().is_empty()
    {
        return Some((TokenTransport::Bearer, token.trim()));
    }
    let cookies = headers.get_all(header::COOKIE).filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, value)| *name == stet_auth::COOKIE && !value.is_empty())?;
    Some((TokenTransport::Cookie, token))
}

/// Returns the token of a request from any place, but not a key in the address, which is valid for
/// reads only.
pub fn token_of(http: &HttpRequest) -> Option<String> {
    token_and_transport(http.headers(), &QueryPairs::of(http.query_string())).map(|(_, token)| token.to_owned())
}

/// Checks that a token is acceptable in an address that is shared, stored by other programs and
/// fetched repeatedly. Anyone who obtains the address may read, but must not be able to change
/// anything. So the parameter `key` takes no token of a session. The parameter `token` takes one,
/// as at every endpoint.
///
/// # Errors
/// `InvalidToken`; `PermissionDenied`.
fn check_address(session: &LiveSession, transport: TokenTransport) -> Result<()> {
    match session.grants() {
        None if transport == TokenTransport::Address => {
            Err(Error::new(Code::InvalidToken, "`key` must be a key, not the token of a session."))
        }
        Some(grants) if grants.iter().any(|grant| grant.privilege != Privilege::Read) => {
            let message = "A key in the address may have only the privilege `read`.";
            Err(Error::new(Code::PermissionDenied, message))
        }
        _ => Ok(()),
    }
}

/// Identifies the caller.
///
/// # Errors
/// `InvalidToken`; `OriginRefused`; `PermissionDenied` for a key in the address with more
/// privileges than reading.
pub(super) fn identify(
    app: &App,
    route: &Route,
    http: &HttpRequest,
    pairs: &QueryPairs<'_>,
) -> Result<Option<Arc<LiveSession>>> {
    if matches!(route.token, TokenRule::InBody | TokenRule::Login) {
        if route.cookie {
            origin::check(app, http)?;
        }
        return Ok(None);
    }
    let key = key_in_address(route, pairs).map(|key| (TokenTransport::Address, key));
    let Some((transport, token)) = key.or_else(|| token_and_transport(http.headers(), pairs)) else {
        return match route.token {
            TokenRule::Required => Err(Error::new(Code::InvalidToken, "A token is needed: log in first.")),
            _ => Ok(None),
        };
    };
    let session = if route.ends_session { app.sessions.find_to_end(token)? } else { app.sessions.find(token)? };
    if route.key_in_address && matches!(transport, TokenTransport::Address | TokenTransport::Query) {
        check_address(&session, transport)?;
    }
    if matches!(transport, TokenTransport::Cookie) && (route.method != Verb::Get || route.cookie || route.acts()) {
        origin::check(app, http)?;
    }
    Ok(Some(session))
}

/// Refuses a call from a page of another site that only the cookie authorises. For endpoints where
/// only some calls change something.
///
/// # Errors
/// `OriginRefused`.
pub(super) fn check_origin(app: &App, http: &HttpRequest) -> Result<()> {
    let pairs = QueryPairs::of(http.query_string());
    match token_and_transport(http.headers(), &pairs) {
        Some((TokenTransport::Cookie, _)) => origin::check(app, http),
        _ => Ok(()),
    }
}
