//! Options of the topic load.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::followers::audience::{MAX_FOLLOWERS, threads};

/// The flags; each overrides the key of the same name in the section `[topic]`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TopicFlags {
    /// Topics in the plan; 1 is one hot topic, without moves between topics [default: 4]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<u16>,
    /// Zipf exponent: the n-th topic gets 1/n^S as much as the first; 0 treats all alike [default:
    /// 1]
    #[arg(long, value_name = "S")]
    #[serde(skip_serializing_if = "Option::is_none")]
    skew: Option<f64>,
    /// Initial items in each topic [default: 50]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<u32>,
    /// Items that each client keeps of its own; beyond them it removes one for each that it makes
    /// [default: 5]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<u32>,
    /// Stories that can be attached to items [default: 8]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<u32>,
    /// Readers that follow the events of the first topic for the whole run, each with a connection
    /// of its own [default: 20]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    followers: Option<u32>,
    /// Threads that the followers share [default: one for every four cores]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    follower_threads: Option<u32>,
}

/// The section `[topic]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TopicSettings {
    /// The number of topics.
    pub topics: u16,
    /// Zipf exponent.
    pub skew: f64,
    /// The initial number of items in each topic.
    pub fill: u32,
    /// The maximum number of items of a client's own.
    pub own: u32,
    /// The number of stories to attach.
    pub objects: u32,
    /// The number of followers of the first topic.
    pub followers: u32,
    /// The number of threads that the followers share.
    pub follower_threads: Option<u32>,
}

impl Default for TopicSettings {
    fn default() -> TopicSettings {
        TopicSettings { topics: 4, skew: 1.0, fill: 50, own: 5, objects: 8, followers: 20, follower_threads: None }
    }
}

impl TopicSettings {
    /// Returns the number of threads for followers.
    pub fn follower_threads(&self) -> usize {
        threads(self.followers, self.follower_threads)
    }

    /// # Errors
    /// One sentence that names the key and the value.
    pub fn check(&self) -> Result<(), String> {
        let between = |key: &str, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!("`topic.{key}` is {value}, which is not between {least} and {most}"))
        };
        between("topics", self.topics.into(), 1, 1000)?;
        if !(0.0..=10.0).contains(&self.skew) {
            return Err(format!("`topic.skew` is {}, which is not between 0 and 10", self.skew));
        }
        // At least one, so that there is an item that all clients know.
        between("fill", self.fill, 1, 10_000)?;
        between("own", self.own, 1, 1000)?;
        // At least two, so that attaching another one changes something.
        between("objects", self.objects, 2, 100_000)?;
        between("followers", self.followers, 0, MAX_FOLLOWERS)?;
        between("follower-threads", self.follower_threads.unwrap_or(1), 1, 256)
    }
}
