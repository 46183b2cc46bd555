//! Options of the newsroom load.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::hostile::MOST;

/// The flags; each overrides the key of the same name in the section `[newsroom]`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct NewsroomFlags {
    /// Clients that share a drawer, a liveblog and a topic [default: 50]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    desk: Option<u32>,
    /// Hostile clients of each kind beside the newsroom, 0 to 64 [default: 0]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    hostile: Option<u32>,
}

/// The section `[newsroom]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NewsroomSettings {
    /// The number of clients that share a drawer, a liveblog and a topic.
    pub desk: u32,
    /// The number of hostile clients of each kind beside the newsroom.
    pub hostile: u32,
}

impl Default for NewsroomSettings {
    fn default() -> NewsroomSettings {
        NewsroomSettings { desk: 50, hostile: 0 }
    }
}

impl NewsroomSettings {
    /// # Errors
    /// A sentence that names the key and the value.
    pub fn check(&self) -> Result<(), String> {
        // The wires of 1000 clients fit into one drawer.
        if !(1..=1000).contains(&self.desk) {
            return Err(format!("`newsroom.desk` is {}, which is not between 1 and 1000", self.desk));
        }
        if self.hostile > MOST {
            return Err(format!("`newsroom.hostile` is {}, which is not between 0 and {MOST}", self.hostile));
        }
        Ok(())
    }
}
