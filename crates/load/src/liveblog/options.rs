//! The options of a load of a liveblog beyond the common ones.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::followers::audience::{MAX_FOLLOWERS, threads};

/// The flags. Each overrides the key of the same name in the section `[liveblog]`.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LiveblogFlags {
    /// Readers that follow its events for the whole run, each with a connection of its own
    /// [default: 100]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    followers: Option<u32>,
    /// Threads that the followers share [default: one for every four cores]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    follower_threads: Option<u32>,
    /// Bytes of a post's text [default: 400]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    text_bytes: Option<u32>,
    /// Bytes of the attachment of every tenth post; 0 for none [default: 2000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    attachment_bytes: Option<u32>,
}

/// The section `[liveblog]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LiveblogSettings {
    /// The number of followers of its events.
    pub followers: u32,
    /// The number of threads that they share.
    pub follower_threads: Option<u32>,
    /// The size of a post's text in bytes.
    pub text_bytes: u32,
    /// The size of an attachment in bytes; 0 for no attachments.
    pub attachment_bytes: u32,
}

impl Default for LiveblogSettings {
    fn default() -> LiveblogSettings {
        LiveblogSettings { followers: 100, follower_threads: None, text_bytes: 400, attachment_bytes: 2000 }
    }
}

impl LiveblogSettings {
    /// Returns the number of threads of followers, at most one per follower.
    pub fn follower_threads(&self) -> usize {
        threads(self.followers, self.follower_threads)
    }

    /// Checks the ranges of all values.
    ///
    /// # Errors
    /// A sentence that names the key and the value.
    pub fn check(&self) -> Result<(), String> {
        let between = |key: &str, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!("`liveblog.{key}` is {value}, which is not between {least} and {most}"))
        };
        between("followers", self.followers, 0, MAX_FOLLOWERS)?;
        between("follower-threads", self.follower_threads.unwrap_or(1), 1, 256)?;
        // Above that a server may show a post's content as null, so nothing could be compared.
        between("text-bytes", self.text_bytes, 1, 16_384)?;
        between("attachment-bytes", self.attachment_bytes, 0, 1_000_000)
    }
}
