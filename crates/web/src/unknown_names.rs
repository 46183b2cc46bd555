//! The check for query parameters and body keys that an endpoint does not know (docs/api/README.md,
//! "Warnings").
//!
//! It runs once for each call, before the handler. So a call that is refused for unknown names
//! (`Prefer: handling=strict`) has changed nothing. The options of a form are checked when the form
//! has arrived.

use bytes::Bytes;
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_newsroom::caller::Warning;

use super::body::without_mark;
use super::body_keys::{UnknownKey, keys_of};
use super::call::Call;
use super::prefer::prefers_strict;
use super::query::UnknownParameter;
use super::route::BodyRule;

impl Call {
    /// Reports unknown names in the query, and in a body that has arrived already. Refuses them if
    /// the client prefers that.
    ///
    /// # Errors
    /// `InvalidParameter` and `InvalidBody`, under `Prefer: handling=strict`.
    pub(super) async fn check_names(&self) -> Result<()> {
        if !self.query.unknown().is_empty() {
            let body = keys_of(self.route);
            let in_body = |name: &str| body.as_ref().is_some_and(|keys| keys.knows(name));
            let found =
                self.query.unknown().iter().map(|unknown| describe_unknown_parameter(unknown, in_body(&unknown.name)));
            self.report_unknown(Code::InvalidParameter, found.collect())?;
        }
        match self.route.body {
            BodyRule::None | BodyRule::Bytes | BodyRule::Multipart { .. } | BodyRule::MultipartOrBytes { .. } => Ok(()),
            BodyRule::Optional(..) | BodyRule::Required(..) | BodyRule::Form(..) => self.check_keys(&self.body).await,
        }
    }

    /// Reports unknown keys in the body, or in the part `options` of a form. Refuses them if the
    /// client prefers that.
    ///
    /// # Errors
    /// `InvalidBody`, under `Prefer: handling=strict`.
    pub async fn check_keys(&self, body: &Bytes) -> Result<()> {
        let Some(keys) = keys_of(self.route).filter(|_| !body.is_empty()) else { return Ok(()) };
        let encoded = matches!(self.route.body, BodyRule::Form(..)) && !self.has_json();
        let (json, secret) = (body.clone(), self.route.secret);
        let found = offload::offload_if_large(body.len(), move || {
            let found = if encoded { keys.unknown_in_form(&json) } else { keys.unknown_in(without_mark(&json)) };
            found.into_iter().map(|unknown| describe_unknown_key(unknown, secret)).collect::<Vec<UnknownNameFinding>>()
        });
        let found = found.await?;
        self.report_unknown(Code::InvalidBody, found)
    }

    fn report_unknown(&self, code: Code, found: Vec<UnknownNameFinding>) -> Result<()> {
        let Some(first) = found.first().filter(|_| prefers_strict(self.headers())) else {
            for UnknownNameFinding { message, name, nearest } in found {
                let message = format!("{message}, and has no effect.");
                self.warn(Warning::new(name, sentences(message, nearest.as_deref())).with_nearest(nearest));
            }
            return Ok(());
        };
        let message = sentences(format!("{}.", first.message), first.nearest.as_deref());
        let place = if code == Code::InvalidBody { "path" } else { "name" };
        let names: Vec<&str> = found.iter().map(|finding| finding.name.as_str()).collect();
        let error = Error::new(code, message).with_detail(place, &*first.name).with_detail("unknown", names);
        Err(match &first.nearest {
            Some(nearest) => error.with_detail("didYouMean", nearest.as_str()),
            None => error,
        })
    }
}

/// An unknown name as it is reported.
struct UnknownNameFinding {
    /// The parameter, or the JSON path of the key.
    name: String,
    /// The sentence about it, without its end.
    message: String,
    nearest: Option<String>,
}

fn sentences(message: String, nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("{message} Did you mean `{nearest}`?"),
        None => message,
    }
}

fn describe_unknown_parameter(unknown: &UnknownParameter, in_body: bool) -> UnknownNameFinding {
    let UnknownParameter { name, nearest } = unknown;
    let place = if in_body { " (it is a key of the body)" } else { "" };
    let message = format!("`{name}` is no query parameter of this call{place}");
    UnknownNameFinding { name: name.clone(), message, nearest: nearest.filter(|_| !in_body).map(str::to_owned) }
}

/// Describes an unknown key. A key that resembles no known one may be a misplaced password, if the
/// body has secrets, so it is not repeated.
fn describe_unknown_key(unknown: UnknownKey, secret: bool) -> UnknownNameFinding {
    let UnknownKey { within, name, nearest, elsewhere } = unknown;
    if secret && nearest.is_none() && elsewhere.is_none() {
        let message = format!("`{within}` has a key that this call does not know");
        return UnknownNameFinding { name: within, message, nearest: None };
    }
    let path = format!("{within}.{name}");
    let place = elsewhere.map(|place| format!(" (it stands {place})")).unwrap_or_default();
    let message = format!("`{path}` is no key of this call's body{place}");
    UnknownNameFinding { name: path, message, nearest: nearest.filter(|_| elsewhere.is_none()) }
}
