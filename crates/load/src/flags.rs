//! The flags of the command line.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::drawer::options::DrawerFlags;
use super::liveblog::options::LiveblogFlags;
use super::newsroom::options::NewsroomFlags;
use super::topic::options::TopicFlags;

/// The flags of all scenarios. Each overrides the key of the same name in the file.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize)]
pub struct Flags {
    /// TOML file with any of these options, as in docs/LOAD.md; flags win
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Address of the server, with its base path: http://127.0.0.1:8080/swing/api/rest [default:
    /// http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// User name for the login [default: admin]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// File whose first line is the password; else STET_LOAD_PASSWORD, else a prompt asks for it
    #[arg(long, value_name = "FILE")]
    #[serde(rename = "password-file", skip_serializing_if = "Option::is_none")]
    password_file: Option<PathBuf>,
    /// Connection to log in to [default: Editorial]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<String>,
    /// PEM file of the authority to trust for https, in place of the system's
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<PathBuf>,
    /// Number of clients, each with a connection of its own [default: 16]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<u32>,
    /// Threads of the generator [default: one for every four cores]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    /// Duration, like 30s or 5m [default: 30s, if there is no count]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<String>,
    /// Duration in seconds
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = in_seconds)]
    #[serde(rename = "duration", skip_serializing_if = "Option::is_none")]
    seconds: Option<String>,
    /// Total number of operations
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// Open loop: operations per second, whether answers come or not
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<u32>,
    /// Clients, or with --open the rate, over time: 0s:1,30s:64 rises evenly from 1 to 64
    #[arg(long, value_name = "TIME:N,…")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp: Option<String>,
    /// Open loop: the ramp is one of the rate
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    open: bool,
    /// Seed of the plan, which is the same for the same seed [default: 1]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// Timeout of one call [default: 10s]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    /// Weights of the kinds of operations, like read=30,add=20; kinds without one are not used
    #[arg(long, value_name = "KIND=N,…")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mix: Option<String>,
    /// Folder to work below; created if it is missing [default: /Load]
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Keep the objects that were created
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    keep: bool,
    /// Directory for report.json and report.html [default: stet-load-TIME here]
    #[arg(long, value_name = "DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
    /// Exits with 5 if this holds, like p99>50ms, failed>1%, add.p99>20ms or, with --compare,
    /// rate<0.9x; may be repeated. Without it: failed>0
    #[arg(long, value_name = "CONDITION")]
    #[serde(rename = "fail-if", skip_serializing_if = "Vec::is_empty")]
    fail_if: Vec<String>,
    /// Report.json of an earlier load of the scenario, to compare this one with
    #[arg(long, value_name = "REPORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    compare: Option<PathBuf>,
    /// Remark for the report, such as the server's configuration; may be repeated
    #[arg(long, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    note: Vec<String>,
    /// Print no progress, only the final table
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    quiet: bool,
}

fn in_seconds(text: &str) -> Result<String, std::num::ParseIntError> {
    text.parse::<u64>().map(|seconds| format!("{seconds}s"))
}

/// The flags of one scenario.
pub trait Arguments: Serialize {
    /// Returns the flags of all scenarios.
    fn common(&self) -> &Flags;
}

impl Arguments for DrawerArgs {
    fn common(&self) -> &Flags {
        &self.common
    }
}

impl Arguments for LiveblogArgs {
    fn common(&self) -> &Flags {
        &self.common
    }
}

impl Arguments for NewsroomArgs {
    fn common(&self) -> &Flags {
        &self.common
    }
}

impl Arguments for TopicArgs {
    fn common(&self) -> &Flags {
        &self.common
    }
}

/// The options of `load drawer`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct DrawerArgs {
    #[command(flatten)]
    #[serde(flatten)]
    common: Flags,
    #[command(flatten)]
    drawer: DrawerFlags,
}

/// The options of `load liveblog`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct LiveblogArgs {
    #[command(flatten)]
    #[serde(flatten)]
    common: Flags,
    #[command(flatten)]
    liveblog: LiveblogFlags,
}

/// The options of `load topic`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct TopicArgs {
    #[command(flatten)]
    #[serde(flatten)]
    common: Flags,
    #[command(flatten)]
    topic: TopicFlags,
}

/// The options of `load newsroom`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct NewsroomArgs {
    #[command(flatten)]
    #[serde(flatten)]
    common: Flags,
    #[command(flatten)]
    newsroom: NewsroomFlags,
}
