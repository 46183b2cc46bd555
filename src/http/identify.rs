//! Who calls: the token of a request, and whether a cookie alone may stand for it (docs/api/README.md, "Tokens").

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap};
use stet_actors::error::{Code, Error, Result};

use super::app::App;
use super::query::Pairs;
use super::route::{Route, Token, Verb};
use super::{client, cors};
use crate::auth::LiveSession;

/// Where a token may stand, in the order in which they are tried (docs/api/README.md, "Tokens").
enum Transport {
    Query,
    Header,
    Bearer,
    Cookie,
}

/// The token of a request, and how it came.
fn token_and_transport<'r>(headers: &'r HeaderMap, pairs: &'r Pairs<'_>) -> Option<(Transport, &'r str)> {
    if let Some(token) = pairs.last("token").filter(|token| !token.is_empty()) {
        return Some((Transport::Query, token));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(token) = text("token").filter(|token| !token.is_empty()) {
        return Some((Transport::Header, token));
    }
    if let Some((scheme, token)) = text("authorization").and_then(|value| value.split_once(' '))
        && scheme.eq_ignore_ascii_case("bearer")
        && !token.trim().is_empty()
    {
        return Some((Transport::Bearer, token.trim()));
    }
    let cookies = headers.get_all(header::COOKIE).filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, value)| *name == crate::auth::COOKIE && !value.is_empty())?;
    Some((Transport::Cookie, token))
}

/// The token of a request, however it came.
pub fn token_of(http: &HttpRequest) -> Option<String> {
    token_and_transport(http.headers(), &Pairs::of(http.query_string())).map(|(_, token)| token.to_owned())
}

/// Finds out who calls.
///
/// # Errors
/// `InvalidToken`; `OriginRefused`.
pub(super) fn identify(
    app: &App,
    route: &Route,
    http: &HttpRequest,
    pairs: &Pairs<'_>,
) -> Result<Option<Arc<LiveSession>>> {
    if matches!(route.token, Token::InBody | Token::Login) {
        return Ok(None);
    }
    let Some((transport, token)) = token_and_transport(http.headers(), pairs) else {
        return match route.token {
            Token::Required => Err(Error::new(Code::InvalidToken, "A token is needed: log in first.")),
            _ => Ok(None),
        };
    };
    let session = app.sessions.find(token)?;
    if matches!(transport, Transport::Cookie) && route.method != Verb::Get {
        check_origin(app, http)?;
    }
    Ok(Some(session))
}

/// A write that is authorised by nothing but a cookie must come from our own pages, those of a listed origin, or from no page
/// at all.
fn check_origin(app: &App, http: &HttpRequest) -> Result<()> {
    let Some(origin) = http.headers().get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or("?");
    let host = client::host(http, &app.proxies);
    let same = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    if same || cors::listed_origin(app, http).is_some() {
        return Ok(());
    }
    let message = format!("A write with a cookie alone must come from `{host}`, but came from `{origin}`.");
    Err(Error::new(Code::OriginRefused, message))
}
