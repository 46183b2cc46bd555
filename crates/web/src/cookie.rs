//! The cookie that carries the token. It is set and cleared only here.

use actix_web::http::header::{HeaderValue, SET_COOKIE};
use stet_auth::COOKIE;
use stet_domain::error::{Error, Result};

use super::call::Call;
use super::reply::Json;
use super::{client, origin};

/// Sets the token as the browser's cookie (docs/api/README.md, "Tokens") for `seconds`; 0 clears
/// it. The reply to a page of another site gets no cookie.
///
/// # Errors
/// None for the tokens that the server creates.
pub fn with_cookie<T>(call: &Call, reply: Json<T>, token: &str, seconds: u64) -> Result<Json<T>> {
    let app = &call.app;
    if origin::is_foreign(app, &call.http) {
        return Ok(reply);
    }
    let path = Some(app.config.server.base_path.as_str()).filter(|path| !path.is_empty()).unwrap_or("/");
    let secure = if client::is_secure(&call.http, &app.proxies) { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    let cookie = HeaderValue::from_str(&text).map_err(|_| Error::internal())?;
    Ok(reply.with_header(SET_COOKIE, cookie))
}
