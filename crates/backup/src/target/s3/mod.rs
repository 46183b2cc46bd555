//! A bucket of an S3 server as a target, or the part of one below a prefix.
//!
//! The library signs requests and repeats them, for a short time: the service above repeats them,
//! too. Whatever is sent is signed with its SHA-256, so a server stores nothing else.

mod connector;
mod credentials;
mod fault;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig};
use url::Url;

pub(super) use self::connector::S3Timing;
use self::connector::{NetworkThread, S3Connector};
use self::credentials::S3Credentials;
pub(crate) use self::fault::S3Fault;
use crate::{BackupError, BackupName, BackupResult};

/// The number of times that a request is repeated.
const RETRIES: usize = 2;

/// The settings of targets that are on an S3 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Settings {
    /// The address of the server, such as `https://s3.example.com`; `None` for that of AWS.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: String,
    /// The file with the credentials; `None` for the environment's.
    pub credentials_file: Option<PathBuf>,
}

impl Default for S3Settings {
    fn default() -> S3Settings {
        S3Settings { endpoint: None, region: "us-east-1".to_owned(), credentials_file: None }
    }
}

/// The bucket of a target.
pub(super) struct S3Bucket {
    store: Arc<dyn ObjectStore>,
    /// Whether the server keeps the condition of a put, once that is known.
    keeps_conditions: OnceLock<bool>,
    network: NetworkThread,
}

impl fmt::Debug for S3Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Bucket")
    }
}

impl S3Bucket {
    /// Reports whether an address is that of a bucket.
    pub fn is_named_by(address: &str) -> bool {
        address.starts_with("s3://")
    }

    /// Opens the bucket with that address, which must exist. Blocks.
    ///
    /// # Errors
    /// `Refused`: the address or the settings have another form, or the server refuses them.
    /// `LocalFile`: the credentials can't be read. `Unreachable`.
    pub fn open(address: &str, settings: &S3Settings, timing: S3Timing) -> BackupResult<S3Bucket> {
        let (bucket, prefix) = parse(address)?;
        let endpoint = settings.endpoint.clone();
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", settings.region));
        check_endpoint(&endpoint)?;
        let variable = |name: &str| std::env::var(name).ok();
        let S3Credentials { key_id, secret_key, token } =
            S3Credentials::find(settings.credentials_file.as_deref(), variable)?;
        let network = NetworkThread::start()?;
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            ..BackoffConfig::default()
        };
        let mut builder = AmazonS3Builder::new()
            .with_http_connector(S3Connector::new(&endpoint, timing, &network)?)
            .with_endpoint(endpoint)
            .with_region(settings.region.as_str())
            .with_bucket_name(bucket)
            .with_access_key_id(key_id)
            .with_secret_access_key(secret_key)
            // Some servers have no deletion of several objects.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig { backoff, max_retries: RETRIES, retry_timeout: timing.retry });
        if let Some(token) = token {
            builder = builder.with_token(token);
        }
        let store = builder.build().map_err(|error| BackupError::of_object_store(address, &error))?;
        let store: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(store, prefix));
        let bucket = S3Bucket { store, keeps_conditions: OnceLock::new(), network };
        bucket.check(address)?;
        Ok(bucket)
    }

    /// Returns the library's view of the bucket.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// Lists nothing, to see whether the server lets this machine use the bucket. Blocks, also on
    /// a thread that runs futures.
    fn check(&self, address: &str) -> BackupResult<()> {
        let (store, address) = (self.store.clone(), address.to_owned());
        let (report, reported) = mpsc::channel();
        self.network.handle.spawn(async move {
            let below = ObjectPath::from(BackupName::Identity.to_string());
            let found = store.list(Some(&below)).try_next().await;
            let _ = report.send(found.map(drop).map_err(|error| BackupError::of_object_store(&address, &error)));
        });
        let ended = |_| BackupError::LocalFile("The thread of the backup's network has ended.".to_owned());
        reported.recv().map_err(ended)?
    }

    /// Stores an object if there is none with that name, and reports whether there was none, or
    /// one with the same bytes: a request that is repeated finds what it has stored.
    ///
    /// Some servers refuse the condition or ignore it. The first call finds that out.
    pub async fn put_new(&self, name: &str, path: &ObjectPath, bytes: Bytes) -> BackupResult<bool> {
        let known = self.keeps_conditions();
        if known == Some(false) {
            return self.put_after_look(name, path, bytes).await;
        }
        // A server that ignores the condition would overwrite it.
        let there = if known.is_none() { self.compare(name, path, &bytes).await? } else { None };
        if let Some(is_same) = there {
            return Ok(is_same);
        }
        match self.put_if_absent(path, &bytes).await {
            Ok(()) if known.is_some() => Ok(true),
            Ok(()) => {
                // A server that takes the same object again has not looked at the condition.
                let again = self.put_if_absent(path, &bytes).await;
                self.note_conditions(matches!(again, Err(StoreError::AlreadyExists { .. })));
                Ok(self.compare(name, path, &bytes).await?.unwrap_or(false))
            }
            Err(StoreError::AlreadyExists { .. }) => {
                self.note_conditions(true);
                let busy = || BackupError::Unreachable(format!("Others write `{name}` at this moment."));
                self.compare(name, path, &bytes).await?.ok_or_else(busy)
            }
            Err(error) if S3Fault::find(&error).is_some_and(S3Fault::is_refused_condition) => {
                let stored = self.put_after_look(name, path, bytes).await?;
                self.note_conditions(false);
                Ok(stored)
            }
            Err(error) => Err(BackupError::of_object_store(name, &error)),
        }
    }

    /// Stores an object if none is seen, and reads it back. Of several writers at the same time
    /// more than one may succeed.
    async fn put_after_look(&self, name: &str, path: &ObjectPath, bytes: Bytes) -> BackupResult<bool> {
        if let Some(is_same) = self.compare(name, path, &bytes).await? {
            return Ok(is_same);
        }
        let stored = self.store.put(path, bytes.clone().into()).await;
        stored.map_err(|error| BackupError::of_object_store(name, &error))?;
        Ok(self.compare(name, path, &bytes).await?.unwrap_or(false))
    }

    async fn put_if_absent(&self, path: &ObjectPath, bytes: &Bytes) -> Result<(), StoreError> {
        self.store.put_opts(path, bytes.clone().into(), PutOptions::from(PutMode::Create)).await.map(drop)
    }

    /// Reports whether an object has those bytes; `None` if there is none.
    async fn compare(&self, name: &str, path: &ObjectPath, bytes: &Bytes) -> BackupResult<Option<bool>> {
        let failed = |error| BackupError::of_object_store(name, &error);
        let found = match self.store.get(path).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            found => found.map_err(failed)?,
        };
        if found.meta.size != bytes.len() as u64 {
            return Ok(Some(false));
        }
        Ok(Some(found.bytes().await.map_err(failed)? == *bytes))
    }

    /// Reports whether the server keeps the condition of puts; `None` before the first one.
    pub fn keeps_conditions(&self) -> Option<bool> {
        self.keeps_conditions.get().copied()
    }

    fn note_conditions(&self, are_kept: bool) {
        // The first finding stays: servers don't change.
        self.keeps_conditions.get_or_init(|| are_kept);
    }
}

/// Returns the bucket and the prefix that an address names.
fn parse(address: &str) -> BackupResult<(&str, ObjectPath)> {
    let rest = address.strip_prefix("s3://").unwrap_or(address);
    let (bucket, prefix) = rest.split_once('/').map_or((rest, None), |(bucket, prefix)| (bucket, Some(prefix)));
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_bucket = (3..=63).contains(&bucket.len())
        && bucket.bytes().all(|byte| is_end(byte) || byte == b'-' || byte == b'.')
        && bucket.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && bucket.ends_with(|sign: char| sign.is_ascii_alphanumeric());
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_prefix = prefix.is_none_or(|prefix| prefix.len() <= 200 && prefix.bytes().all(is_known));
    let has_parts = prefix.is_none_or(|prefix| prefix.split('/').all(is_part));
    if !(is_bucket && is_prefix && has_parts) {
        return Err(BackupError::Refused(format!(
            "`{address}` is no address of a backup target. It must be `s3://`, the name of a bucket, and after `/` a \
             prefix of letters, digits, `-`, `.` and `_`, such as `s3://bucket/stet`."
        )));
    }
    Ok((bucket, ObjectPath::from(prefix.unwrap_or_default())))
}

/// Checks the address of a server.
fn check_endpoint(endpoint: &str) -> BackupResult<()> {
    let url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let is_plain = url.is_some_and(|url| {
        url.has_host() && url.username().is_empty() && url.password().is_none() && url.query().is_none()
    });
    if is_plain {
        return Ok(());
    }
    // The address may have a password in it, so it is not repeated.
    Err(BackupError::Refused(
        "`backup.s3_endpoint` must be the address of an S3 server, such as `https://s3.example.com`, without a user."
            .to_owned(),
    ))
}
