//! Failures of an S3 server, with what to do about them.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use crate::BackupError;

/// The longest part of a server's text in a message, in characters.
const SHOWN: usize = 200;

/// The reason why a request to an S3 server failed: the innermost cause of the library's error.
#[derive(Debug, Clone)]
pub(crate) enum S3Fault {
    /// The server could not be reached, or the connection broke.
    NoAnswer {
        /// The address of the server.
        endpoint: Arc<str>,
        /// The reason.
        reason: String,
    },
    /// The server refused the request.
    Refusal(S3Refusal),
}

/// A reply with which a server refuses a request.
#[derive(Debug, Clone)]
pub(crate) struct S3Refusal {
    endpoint: Arc<str>,
    status: StatusCode,
    /// The server's code, such as `AccessDenied`. Replies to HEAD have none.
    code: String,
    message: String,
    /// The region in which the bucket is, if the server says so.
    region: Option<String>,
}

impl S3Fault {
    /// Finds the fault among the causes of an error.
    pub fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a S3Fault> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Reports whether the server does not know the condition of a put.
    pub fn is_refused_condition(&self) -> bool {
        let S3Fault::Refusal(refusal) = self else { return false };
        let codes = ["NotImplemented", "InvalidArgument", "InvalidRequest", "UnsupportedHeader"];
        match refusal.status {
            StatusCode::NOT_IMPLEMENTED => true,
            StatusCode::BAD_REQUEST => codes.contains(&refusal.code.as_str()),
            _ => false,
        }
    }

    /// Converts the fault of a request for the object `name`.
    pub fn to_backup_error(&self, name: &str) -> BackupError {
        match self {
            S3Fault::NoAnswer { endpoint, reason } => {
                BackupError::Unreachable(format!("The S3 server `{endpoint}` does not answer: {reason}."))
            }
            S3Fault::Refusal(refusal) => refusal.to_backup_error(name),
        }
    }
}

impl fmt::Display for S3Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            S3Fault::NoAnswer { endpoint, reason } => write!(f, "`{endpoint}` does not answer: {reason}"),
            S3Fault::Refusal(S3Refusal { status, code, .. }) => write!(f, "{status} {code}"),
        }
    }
}

impl Error for S3Fault {}

impl S3Refusal {
    pub fn new(endpoint: Arc<str>, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> S3Refusal {
        let text = String::from_utf8_lossy(body);
        let (code, message) = (element(&text, "Code"), element(&text, "Message"));
        let region = headers.get("x-amz-bucket-region").and_then(|value| value.to_str().ok());
        let region = region.map(str::to_owned).or_else(|| Some(element(&text, "Region")).filter(|it| !it.is_empty()));
        S3Refusal { endpoint, status, code, message, region }
    }

    /// Reports whether the library is to see the reply: it repeats some, and has a meaning for
    /// others.
    pub fn is_for_library(&self) -> bool {
        match self.status {
            // Without this difference, a missing bucket would be an empty one.
            StatusCode::NOT_FOUND => self.code != "NoSuchBucket",
            StatusCode::NOT_MODIFIED
            | StatusCode::CONFLICT
            | StatusCode::PRECONDITION_FAILED
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::NOT_IMPLEMENTED | StatusCode::INSUFFICIENT_STORAGE => false,
            status => status.is_server_error(),
        }
    }

    fn to_backup_error(&self, name: &str) -> BackupError {
        let S3Refusal { endpoint, status, code, message, region } = self;
        let code = if code.is_empty() { status.as_str() } else { code };
        let said = format!("The S3 server `{endpoint}` refuses `{name}`: {code}");
        let refused = |advice: &str| BackupError::Refused(format!("{said}. {advice}"));
        match code {
            "NoSuchBucket" => refused("There is no such bucket. Create it, or correct `backup.target`."),
            "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "UnrecognizedClientException" | "401" => refused(
                "The credentials are wrong: correct `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or the file \
                 `backup.s3_credentials_file`.",
            ),
            // A file may have new ones at the next attempt.
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" | "InvalidToken" => {
                BackupError::Unreachable(format!("{said}. The session token has expired: renew the credentials."))
            }
            "RequestTimeTooSkewed" => refused("The clock of this machine differs from that of the server: correct it."),
            "AccessDenied" | "AllAccessDisabled" | "403" => refused(
                "The key lacks a permission, or is wrong. It must be allowed to list the bucket, and to read, write and \
                 delete objects and to abort uploads below the prefix.",
            ),
            "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" | "301" => {
                let region = region.as_ref().map_or_else(String::new, |region| format!(", to `{region}`"));
                refused(&format!("The bucket is in another region: set `backup.s3_region`{region}."))
            }
            "QuotaExceeded" | "XMinioStorageFull" | "507" => {
                BackupError::Full(format!("{said}. It has no space left."))
            }
            _ if message.is_empty() => refused("`stet backup probe` shows what works."),
            _ => refused(message),
        }
    }
}

/// Returns the text of the first XML element with that name, shortened; nothing if there is none.
/// The text is for people, so markup in it needs no decoding.
fn element(xml: &str, name: &str) -> String {
    let begun = xml.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
    let text = begun.and_then(|rest| rest.split_once(&format!("</{name}>"))).map_or("", |(text, _)| text);
    text.chars().filter(|sign| !sign.is_control()).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, code: &str) -> S3Refusal {
        let body = format!("<?xml?><Error><Code>{code}</Code><Message>It said no.</Message></Error>");
        S3Refusal::new("http://s3".into(), StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn refusals_name_what_to_do() {
        for (status, code, advice) in [
            (404, "NoSuchBucket", "Create it"),
            (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
            (403, "SignatureDoesNotMatch", "s3_credentials_file"),
            (403, "AccessDenied", "permission"),
            (403, "", "permission"),
            (301, "", "s3_region"),
            (403, "RequestTimeTooSkewed", "clock"),
            (400, "Other", "It said no."),
        ] {
            let refusal = refusal(status, code);
            assert!(!refusal.is_for_library());
            let error = refusal.to_backup_error("a/b");
            let BackupError::Refused(text) = &error else { panic!("{error:?}") };
            assert!(text.contains("`a/b`") && text.contains("`http://s3`") && text.contains(advice), "{text}");
        }
        assert!(matches!(refusal(400, "ExpiredToken").to_backup_error("a"), BackupError::Unreachable(_)));
        assert!(matches!(refusal(507, "").to_backup_error("a"), BackupError::Full(_)));
    }

    #[test]
    fn the_library_sees_what_it_repeats_and_what_it_converts() {
        for (status, code) in [(404, "NoSuchKey"), (404, ""), (304, ""), (409, "x"), (412, "x"), (429, ""), (503, "x")]
        {
            assert!(refusal(status, code).is_for_library(), "{status} {code}");
        }
        assert!(!refusal(501, "NotImplemented").is_for_library());
    }

    #[test]
    fn only_some_refusals_are_about_the_condition() {
        let is_one = |status, code| S3Fault::Refusal(refusal(status, code)).is_refused_condition();
        assert!(is_one(501, "") && is_one(400, "NotImplemented") && is_one(400, "InvalidArgument"));
        assert!(!is_one(400, "ExpiredToken") && !is_one(400, "AuthorizationHeaderMalformed") && !is_one(403, ""));
    }

    #[test]
    fn texts_of_the_server_are_bounded() {
        assert_eq!(element("<Code>a\nb</Code>", "Code"), "ab");
        assert_eq!(element("<Code>a", "Code"), "");
        assert_eq!(element(&format!("<Code>{}</Code>", "ä".repeat(1000)), "Code").chars().count(), SHOWN);
    }
}
