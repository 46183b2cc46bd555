//! `stet reindex`: the index of the search, made anew.

use clap::Args;
use serde::{Deserialize, Serialize};
use stet_config::Config;
use stet_domain::error::{Code, Error, Result};
use stet_search::NewsroomSearch;

use super::command::{AdminOptions, ask_server};
use super::socket::AdminRefusal;
use crate::exit::{self, Exit, Failure};

const REINDEX_HELP: &str = "\
The index follows the data by itself, and is made anew by itself if it is missing or damaged. So this is for doubts only. Until
it is done, which GET /v3/search says as `complete`, a search may not find everything; everything else works.";

/// The options of `reindex`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = REINDEX_HELP)]
pub struct ReindexArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
}

/// The request on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ReindexCommand {
    /// Make the index anew.
    #[serde(rename = "reindex")]
    Reindex,
}

/// The reply: the number of documents in the index that is replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReindexReply {
    replaced_documents: u64,
}

/// Begins to make the index anew.
///
/// # Errors
/// `NoSuchEndpoint` on a server without search.
pub fn carry_out(search: Option<&NewsroomSearch>) -> Result<ReindexReply> {
    let none = || Error::new(Code::NoSuchEndpoint, "This server has no search: `search.enabled` is off.");
    let search = search.ok_or_else(none)?;
    let reply = ReindexReply { replaced_documents: search.documents() };
    search.rebuild();
    Ok(reply)
}

/// Sends the request to the running server, and prints the outcome.
///
/// # Errors
/// [`Exit::Failed`] if no server runs, or it has no search.
pub fn run(config: &Config, args: ReindexArgs) -> std::result::Result<(), Failure> {
    let asked: Option<std::result::Result<ReindexReply, AdminRefusal>> = ask_server(config, &ReindexCommand::Reindex)?;
    let data = config.data.directory.display();
    let none = || Failure::new(Exit::Failed, format!("no server has {data} open, and only a running one has an index"));
    let reply = asked.ok_or_else(none)?.map_err(|refusal| Failure::new(Exit::Failed, refusal.message))?;
    exit::print(&match args.common.json {
        true => serde_json::to_string(&reply).map_err(|error| Failure::new(Exit::Failed, error))? + "\n",
        false => format!("The index is being made anew. The present one has {} documents.\n", reply.replaced_documents),
    })
}
