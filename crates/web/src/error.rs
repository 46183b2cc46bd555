//! The table of the status of each error code (docs/api/README.md, "Codes"), and the forms in which
//! errors are sent.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use stet_domain::error::{Code, Error};

/// The two sets of resources (docs/api/README.md, "Base path and surfaces").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiSurface {
    /// Below `/v3`: replies in an envelope.
    V3,
    /// The older set: bare replies.
    Older,
}

impl ApiSurface {
    /// Returns the surface of a path below the base path.
    pub fn of(path: &str) -> ApiSurface {
        if path == "/v3" || path.starts_with("/v3/") { ApiSurface::V3 } else { ApiSurface::Older }
    }
}

/// Returns the status of a code. In the table, the first status is that of v3, and the second that
/// of the older surface if it differs (docs/api/README.md, "Codes").
pub fn status(code: Code, surface: ApiSurface) -> StatusCode {
    use StatusCode as S;
    let (v3, older) = match code {
        Code::InvalidName
        | Code::InvalidPath
        | Code::InvalidType
        | Code::InvalidStatus
        | Code::InvalidAttributes
        | Code::InvalidParameter
        | Code::InvalidBody
        | Code::InvalidXPath => (S::BAD_REQUEST, None),
        Code::InvalidLogin | Code::InvalidToken => (S::UNAUTHORIZED, None),
        Code::PermissionDenied => (S::FORBIDDEN, Some(S::UNAUTHORIZED)),
        Code::OriginRefused => (S::FORBIDDEN, None),
        Code::ObjectLocked | Code::ObjectLockedByMe | Code::ObjectNotLocked | Code::ObjectNotCheckedOut => {
            (S::FORBIDDEN, Some(S::BAD_REQUEST))
        }
        Code::ObjectNotFound
        | Code::TemplateNotFound
        | Code::StatusNotFound
        | Code::TypeNotFound
        | Code::DatabaseNotFound
        | Code::NoSuchEndpoint => (S::NOT_FOUND, None),
        Code::MethodNotAllowed => (S::METHOD_NOT_ALLOWED, None),
        Code::DuplicatedName | Code::DrawerFull | Code::InvalidForContainer | Code::IdempotencyRunning => {
            (S::CONFLICT, None)
        }
        Code::IdempotencyMismatch => (S::UNPROCESSABLE_ENTITY, None),
        Code::PreconditionFailed => (S::PRECONDITION_FAILED, None),
        Code::TooLarge => (S::PAYLOAD_TOO_LARGE, None),
        Code::RangeNotSatisfiable => (S::RANGE_NOT_SATISFIABLE, None),
        Code::TooManyRequests => (S::TOO_MANY_REQUESTS, None),
        Code::Overloaded => (S::SERVICE_UNAVAILABLE, None),
        Code::StorageFull => (S::INSUFFICIENT_STORAGE, None),
        Code::RepositoryError => (S::INTERNAL_SERVER_ERROR, None),
    };
    match surface {
        ApiSurface::V3 => v3,
        ApiSurface::Older => older.unwrap_or(v3),
    }
}

/// The number of seconds after which a client may retry, unless the error has a detail
/// `retryAfter`.
const RETRY_AFTER_SECONDS: u64 = 1;

/// An error on its way to a client.
pub struct ErrorReply<'a> {
    /// The error.
    pub error: &'a Error,
    /// The surface of the endpoint.
    pub surface: ApiSurface,
    /// The id of the request.
    pub request_id: &'a str,
    /// The prefix of codes.
    pub prefix: &'a str,
}

/// A failure inside the v3 envelope, or bare on the older surface.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureBody<'a> {
    /// The code with its prefix.
    #[schemars(schema_with = "code_schema")]
    pub code: String,
    /// A complete sentence.
    pub message: &'a str,
    /// The source concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a str>,
    /// Further facts, such as the parameter at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<&'a Map<String, Value>>,
    /// The id of the request, as in the log.
    pub request_id: &'a str,
}

/// Returns the schema of an error's code. It allows any text, because further codes may be added.
fn code_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    json_schema!({
        "type": "string",
        "description": format!("A configured prefix, `CMS.` by default, followed by one of: {}.", names.join(", ")),
        "examples": ["CMS.ObjectNotFound"],
    })
}

/// A failure of a call below `/v3`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct FailureEnvelope<'a> {
    #[schemars(extend("const" = "error"))]
    status: &'static str,
    result: FailureBody<'a>,
}

/// A failure as defined by RFC 9457, if `Accept` prefers that.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem<'a> {
    r#type: &'static str,
    /// The code without its prefix.
    title: &'a str,
    /// The status of the response.
    status: u16,
    /// A complete sentence.
    detail: &'a str,
    #[schemars(schema_with = "code_schema")]
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Map<String, Value>>,
}

impl ErrorReply<'_> {
    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        status(self.error.code, self.surface)
    }

    /// Returns the content type and the body, in the form that the client's `Accept` prefers.
    pub fn body(&self, headers: &HeaderMap) -> (&'static str, Vec<u8>) {
        let code = format!("{}{}", self.prefix, self.error.code.name());
        let body = FailureBody {
            code,
            message: &self.error.message,
            source: self.error.source.as_deref(),
            details: self.error.details.as_deref(),
            request_id: self.request_id,
        };
        // Texts, numbers and maps with text keys: nothing here can fail to serialise.
        if prefers_problem(headers) {
            let problem = Problem {
                r#type: "about:blank",
                title: self.error.code.name(),
                status: self.status().as_u16(),
                detail: body.message,
                code: body.code,
                source: body.source,
                request_id: body.request_id,
                details: body.details,
            };
            return ("application/problem+json", serde_json::to_vec(&problem).unwrap_or_default());
        }
        let bytes = match self.surface {
            ApiSurface::V3 => serde_json::to_vec(&FailureEnvelope { status: "error", result: body }),
            ApiSurface::Older => serde_json::to_vec(&body),
        };
        ("application/json", bytes.unwrap_or_default())
    }

    /// Returns the headers that the code requires.
    pub fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        match self.error.code {
            // The older surface's 401 for a missing privilege needs the header too (RFC 9110).
            _ if self.status() == StatusCode::UNAUTHORIZED => {
                vec![(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"stet\""))]
            }
            Code::TooManyRequests | Code::Overloaded => {
                let details = self.error.details.as_deref();
                let seconds = details.and_then(|details| details.get("retryAfter")?.as_u64());
                vec![(header::RETRY_AFTER, HeaderValue::from(seconds.unwrap_or(RETRY_AFTER_SECONDS)))]
            }
            Code::RangeNotSatisfiable => {
                let size = self.error.details.as_deref().and_then(|details| details.get("size")?.as_u64());
                let range = size.and_then(|size| HeaderValue::try_from(format!("bytes */{size}")).ok());
                range.map(|range| (header::CONTENT_RANGE, range)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Reports whether `Accept` ranks `application/problem+json` above `application/json`.
fn prefers_problem(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else { return false };
    if !accept.contains("application/problem+json") {
        return false;
    }
    let quality = |wanted: &str| {
        let mut best: Option<f32> = None;
        for entry in accept.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            if parts.next().is_some_and(|range| range.eq_ignore_ascii_case(wanted)) {
                let q = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse().ok());
                best = q.into_iter().chain(best).reduce(f32::max);
            }
        }
        best.unwrap_or(0.0)
    };
    let (problem, json) = (quality("application/problem+json"), quality("application/json"));
    problem > 0.0 && problem >= json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_codes_and_permission_differ_on_the_older_surface() {
        assert_eq!(status(Code::ObjectLocked, ApiSurface::V3), 403);
        assert_eq!(status(Code::ObjectLocked, ApiSurface::Older), 400);
        assert_eq!(status(Code::PermissionDenied, ApiSurface::V3), 403);
        assert_eq!(status(Code::PermissionDenied, ApiSurface::Older), 401);
    }

    #[test]
    fn a_problem_document_is_given_to_those_who_prefer_it() {
        let asks = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
            prefers_problem(&headers)
        };
        assert!(asks("application/problem+json"));
        assert!(asks("application/json;q=0.5, application/problem+json"));
        assert!(!asks("application/json, application/problem+json;q=0.9"));
        assert!(!asks("application/problem+json;q=0"));
        assert!(!asks("*/*"));
    }
}
