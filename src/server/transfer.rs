//! `stet import`, `stet export` and `stet config apply`. They use a running server, or start one on
//! a data directory that no server has open. So transferred data passes the same checks either way.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::stream;
use stet_auth::{Grant, Privilege};
use stet_config::{Config, TlsConfig};
use stet_newsroom::administration::{AdminOutcome, AdminReply, AdminRequest, KeyRequest};
use stet_transfer::{Transfer, TransferError};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::configuration::check_files;
use super::{existing_directory, serve_at_rest};
use crate::admin::carry_out;
use crate::exit::{self, Exit, Failure};

/// Lifetime of a transfer's key in seconds, in case the process is killed before it revokes the
/// key.
const KEY_LASTS_S: u64 = 7 * 24 * 60 * 60;

/// Runs a transfer, and prints its result.
///
/// # Errors
/// [`Exit::Data`] if the data directory can't be opened, [`Exit::Failed`] if not everything could
/// be transferred.
pub fn transfer(config: Config, transfer: Transfer) -> Result<(), Failure> {
    transfer.check()?;
    let told = match transfer.url() {
        Some(_) => transfer.run(check_files)?,
        None => actix::System::new().block_on(transfer_at_rest(config, transfer))?,
    };
    exit::print(&format!("{told}\n"))
}

/// Serves the data directory only to the transfer, until it is done.
async fn transfer_at_rest(mut config: Config, transfer: Transfer) -> Result<String, Failure> {
    existing_directory(&config)?;
    let (name, user) = (format!("transfer-{}", Uuid::now_v7()), transfer.user().to_owned());
    let grant = |privilege| Grant { privilege, folder: None };
    let privileges = [Privilege::Read, Privilege::Create, Privilege::Write, Privilege::Configure].map(grant).into();
    // A clock before 1970 counts as 1970, as in the server.
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let expires = Some(now_s + KEY_LASTS_S);
    let made = AdminRequest::KeyAdd(KeyRequest { name: name.clone(), user, privileges, expires });
    let token = match carry_out(&config, made).await.map_err(with_hint)? {
        Ok(AdminOutcome { reply: AdminReply::NewKey { token, .. }, .. }) => token,
        Ok(_) => return Err(Failure::new(Exit::Failed, "no key was made")),
        Err(refusal) => return Err(Failure::new(Exit::Failed, refusal.message)),
    };
    let again = config.clone();
    config.server.listen = "127.0.0.1:0".to_owned();
    config.server.tls = TlsConfig::default();
    config.limits.calls_per_minute = 0;
    config.server.max_connections = 256;
    let base_path = config.server.base_path.clone();
    let (done, ended) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let listening = move |address: &str| {
        let url = format!("{address}{base_path}");
        std::thread::spawn(move || {
            let outcome = transfer.run_at(&url, token.text(), check_files);
            // Both receivers wait until then.
            let _ = done.send(outcome);
            let _ = stop.send(());
        });
    };
    let stops = stream::once(async { drop(stopped.await) });
    let served = serve_at_rest(config, stops, listening).await;
    let revoked = carry_out(&again, AdminRequest::KeyRevoke { name: name.clone() }).await;
    if !matches!(revoked, Ok(Ok(_))) {
        tracing::warn!(key = name, "the key of the transfer could not be revoked; it ends within a week");
    }
    served?;
    let outcome = ended.await.map_err(|_| Failure::new(Exit::Failed, "the transfer ended in a panic"))?;
    Ok(outcome?)
}

/// Adds the advice for a directory that a server has open.
fn with_hint(failure: Failure) -> Failure {
    let message = format!("{}. If a server has it open, name the server: --url http://HOST:PORT", failure.message);
    Failure::new(failure.exit, message)
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Failure {
        match error {
            TransferError::Usage(message) => Failure::new(Exit::Usage, message),
            TransferError::Failed(message) => Failure::new(Exit::Failed, message),
            TransferError::Faults { told, message } => {
                // The failure about faults takes precedence over one to print them.
                let _ = exit::print(&told);
                Failure::new(Exit::Faults, message)
            }
        }
    }
}
