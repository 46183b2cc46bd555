//! Operations without a server, which open the data directory for one request.

use std::sync::Arc;

use stet_actors::repository::Repository;
use stet_config::Config;
use stet_domain::clock::SystemClock;
use stet_newsroom::administration::{Admin, AdminRequest};

use super::socket::{AdminRefusal, SocketReply};
use crate::exit::{Exit, Failure};
use crate::server::{existing_directory, open_store, users_and_sessions};

/// Carries out a request on a data directory that no server has open. Must be called in an actix
/// system.
///
/// # Errors
/// [`Exit::Data`] when the directory does not exist or can't be opened.
pub(crate) async fn carry_out(config: &Config, request: AdminRequest) -> Result<SocketReply, Failure> {
    existing_directory(config)?;
    let store = Arc::new(open_store(config)?);
    let repository =
        Repository::start(store.clone(), Arc::new(SystemClock), config.runtime_options()).await.map_err(|error| {
            Failure::new(Exit::Data, format!("{} can't be opened: {error}", config.data.directory.display()))
        })?;
    let (directory, sessions) = users_and_sessions(config, &repository)?;
    let outcome = Admin::alone(directory, sessions).carry_out(request).await.map_err(AdminRefusal::from);
    repository.shut_down().await;
    tokio::task::spawn_blocking(move || store.close()).await.map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(outcome)
}
