//! The credentials of an S3 server, from the environment or a file.

use std::fmt;
use std::path::Path;

use crate::{BackupError, BackupResult};

/// The longest credentials file in bytes.
const MAX_FILE: u64 = 64 << 10;

const KEY_ID: &str = "aws_access_key_id";
const SECRET_KEY: &str = "aws_secret_access_key";
const TOKEN: &str = "aws_session_token";

/// The credentials with which requests are signed. `Debug` shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct S3Credentials {
    pub key_id: String,
    pub secret_key: String,
    /// The session token of credentials that expire.
    pub token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Credentials")
    }
}

impl S3Credentials {
    /// Reads the file, or the environment without one. `variable` returns the value of a variable.
    /// A file is read again whenever a target is opened, so new credentials need no restart.
    ///
    /// # Errors
    /// `LocalFile`: the file can't be read. `Refused`: a credential is missing.
    pub fn find(file: Option<&Path>, variable: impl Fn(&str) -> Option<String>) -> BackupResult<S3Credentials> {
        let Some(file) = file else {
            let of = |key: &str| variable(&key.to_ascii_uppercase()).filter(|value| !value.is_empty());
            return S3Credentials::from_lookup(of).ok_or_else(|| {
                BackupError::Refused(
                    "The S3 server needs credentials. Set the environment variables `AWS_ACCESS_KEY_ID` and \
                     `AWS_SECRET_ACCESS_KEY`, or name a file as `backup.s3_credentials_file`."
                        .to_owned(),
                )
            });
        };
        let values = read_values(file)?;
        let of = |key: &str| values.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        S3Credentials::from_lookup(of).ok_or_else(|| {
            BackupError::Refused(format!(
                "The credentials file `{}` needs the lines `{KEY_ID} = …` and `{SECRET_KEY} = …`.",
                file.display()
            ))
        })
    }

    fn from_lookup(of: impl Fn(&str) -> Option<String>) -> Option<S3Credentials> {
        Some(S3Credentials { key_id: of(KEY_ID)?, secret_key: of(SECRET_KEY)?, token: of(TOKEN) })
    }
}

/// Reads the values of a file in the form of `~/.aws/credentials` with one profile.
fn read_values(file: &Path) -> BackupResult<Vec<(String, String)>> {
    let refused = |why: &str| BackupError::Refused(format!("The credentials file `{}` {why}.", file.display()));
    let unreadable = |error| BackupError::of_local_file(file, &error);
    if std::fs::metadata(file).map_err(unreadable)?.len() > MAX_FILE {
        return Err(refused("is larger than 64 KiB"));
    }
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let mut values = Vec::new();
    let mut profiles = 0;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            profiles += 1;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            values.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    if profiles > 1 {
        return Err(refused("has several profiles, and may have one"));
    }
    values.retain(|(_, value)| !value.is_empty());
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn credentials_come_from_the_file_or_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let text = "# of the backup\n[default]\naws_access_key_id=file\nAWS_SECRET_ACCESS_KEY = a=b \nregion = x\n";
        std::fs::write(&file, text).unwrap();
        let environment = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" => Some("environment".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("secret".to_owned()),
            "AWS_SESSION_TOKEN" => Some(String::new()),
            _ => None,
        };
        let of = |key_id: &str, secret_key: &str| S3Credentials {
            key_id: key_id.to_owned(),
            secret_key: secret_key.to_owned(),
            token: None,
        };
        assert_eq!(S3Credentials::find(Some(&file), environment).unwrap(), of("file", "a=b"));
        assert_eq!(S3Credentials::find(None, environment).unwrap(), of("environment", "secret"));
        std::fs::write(&file, format!("{text}aws_session_token = t\n")).unwrap();
        assert_eq!(S3Credentials::find(Some(&file), none).unwrap().token.as_deref(), Some("t"));
    }

    #[test]
    fn missing_credentials_are_named_and_present_ones_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let refused = |file: Option<&Path>| S3Credentials::find(file, none).unwrap_err();
        assert!(refused(None).to_string().contains("AWS_SECRET_ACCESS_KEY"));
        assert!(matches!(refused(Some(&file)), BackupError::LocalFile(_)));
        let profile = "[a]\naws_access_key_id = key-of-it\naws_secret_access_key = hidden\n";
        for text in ["aws_access_key_id = key-of-it\n", "aws_secret_access_key = hidden\n", &profile.repeat(2)] {
            std::fs::write(&file, text).unwrap();
            let error = refused(Some(&file));
            assert!(matches!(error, BackupError::Refused(_)), "{error}");
            assert!(!error.to_string().contains("hidden") && !error.to_string().contains("key-of-it"), "{error}");
        }
        std::fs::write(&file, profile).unwrap();
        let shown = format!("{:?}", S3Credentials::find(Some(&file), none).unwrap());
        assert!(!shown.contains("hidden") && !shown.contains("key-of-it"), "{shown}");
    }
}
