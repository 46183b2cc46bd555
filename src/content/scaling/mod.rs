//! Scaled pictures: few at a time, kept in memory, and each made once however many ask for it at
//! once.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::Weighter;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Content;
use tokio::time::timeout;

use super::pins::Hash;
use super::{ContentReader, hex, picture};
use crate::config::ContentConfig;
use crate::limits::bounded_cache::{self, BoundedCache};
use crate::limits::offload::spawn_large;
use crate::limits::{FairQueue, MemoryBudget, Purpose, SharedOutcome, SharedWork, WorkPermit, behalf};

pub use super::picture::Scaled;
use super::picture::Unscaled;

/// What came of scaling a picture: the outcome is the same whenever the same bytes are scaled to
/// the same size.
#[derive(Clone)]
enum Outcome {
    Scaled(Scaled),
    /// Why not.
    Unfit(Arc<str>),
}

/// The bytes, and the longest side of the scaled picture.
type ScaledKey = (Hash, u32);

#[derive(Clone)]
struct Bytes;

impl Weighter<ScaledKey, Outcome> for Bytes {
    fn weight(&self, _: &ScaledKey, outcome: &Outcome) -> u64 {
        let bytes = match outcome {
            Outcome::Scaled(scaled) => scaled.bytes.len(),
            Outcome::Unfit(why) => why.len(),
        };
        (bounded_cache::ENTRY + bytes) as u64
    }
}

/// Pictures of one user that may wait for their turn.
const WAITING: usize = 64;

/// Scales pictures; see the module's head.
pub struct Scaler {
    config: ContentConfig,
    kept: BoundedCache<ScaledKey, Outcome, Bytes>,
    making: SharedWork<ScaledKey>,
    turns: FairQueue,
    memory: MemoryBudget,
}

impl Scaler {
    /// Scales as the configuration says, in memory of that budget, and keeps that many bytes at
    /// most.
    pub fn new(config: &ContentConfig, bytes: u64, memory: &MemoryBudget) -> Scaler {
        Scaler {
            config: config.clone(),
            memory: memory.clone(),
            // A picture is some 32 KiB.
            kept: BoundedCache::new("pictures", bytes, 32 << 10, 1, Bytes),
            making: SharedWork::default(),
            turns: FairQueue::new("scaling", "pictures", config.scaled_at_once, WAITING),
        }
    }

    /// The longest side of a scaled picture.
    pub fn longest(&self) -> u32 {
        self.config.lowres_pixels
    }

    /// Waits for a turn to make a picture in another way than by scaling. Both kinds of work
    /// together are bounded by `content.scaled_at_once`.
    ///
    /// # Errors
    /// `Overloaded`: the turn has not come within `content.scaling_wait_seconds`, or too many
    /// pictures of the same user wait.
    pub async fn turn(&self) -> Result<WorkPermit> {
        let wait = Duration::from_secs(self.config.scaling_wait_seconds);
        timeout(wait, self.turns.turn()).await.map_err(|_| overloaded())?
    }

    /// The picture that `content` is, scaled; `reader` reads the content from its beginning.
    ///
    /// # Errors
    /// `InvalidType`: the content is no picture that can be scaled. `Overloaded`: its turn has not
    /// come in time. What the disk says.
    pub async fn scaled(&self, content: &Content, reader: ContentReader) -> Result<Scaled> {
        let key = (content.sha256, self.longest());
        let outcome = match self.kept.get(&key) {
            Some(outcome) => outcome,
            None => self.made(key, content, reader).await?,
        };
        match outcome {
            Outcome::Scaled(scaled) => Ok(scaled),
            Outcome::Unfit(why) => {
                Err(Error::new(Code::InvalidType, format!("The content is no picture that can be scaled: {why}.")))
            }
        }
    }

    /// What came of scaling, by whoever has done it.
    async fn made(&self, key: ScaledKey, content: &Content, reader: ContentReader) -> Result<Outcome> {
        let most = self.config.picture_bytes;
        if content.size > most {
            return Ok(Outcome::Unfit(format!("it has {} bytes, where {most} are allowed", content.size).into()));
        }
        let coming = self.making.there_or_turn(key, || self.kept.peek(&key), || self.turns.turn());
        match timeout(Duration::from_secs(self.config.scaling_wait_seconds), coming)
            .await
            .map_err(|_| overloaded())??
        {
            SharedOutcome::Ready(outcome) => Ok(outcome),
            // Whoever waits for the same picture makes it when the maker is dropped: if this fails,
            // or the caller goes away.
            SharedOutcome::Make(_maker, turn) => {
                let outcome = self.scale(content, reader, turn).await?;
                self.kept.insert(key, outcome.clone());
                Ok(outcome)
            }
        }
    }

    async fn scale(&self, content: &Content, reader: ContentReader, turn: WorkPermit) -> Result<Outcome> {
        // What takes more than half of the budget would hardly ever find it free.
        let most_bytes = self.config.picture_memory_bytes.min(self.memory.limit() / 2);
        let most = picture::Bounds { pixels: self.config.picture_pixels, bytes: most_bytes };
        let (longest, memory) = (self.longest(), self.memory.reservation(behalf(), Purpose::Pictures));
        memory.grow_to(content.size)?;
        let bytes = reader.read_all().await?;
        let work = spawn_large(move || {
            // Kept to the end of the work, also if nobody waits for it any more.
            let _turn = turn;
            picture::scale(&bytes, longest, most, &|more| memory.add(more as usize))
        });
        let outcome = match work.await {
            Ok(Ok(scaled)) => Ok(scaled),
            Ok(Err(Unscaled::Unfit(why))) => Err(why),
            Ok(Err(Unscaled::NoMemory(error))) => return Err(error),
            Err(error) => {
                tracing::warn!(sha256 = hex(&content.sha256), %error, "a picture broke its decoder");
                Err("it can't be decoded".to_owned())
            }
        };
        let what = if outcome.is_ok() { "scaled" } else { "unfit" };
        metrics::counter!("stet_pictures_scaled_total", "outcome" => what).increment(1);
        Ok(outcome.map_or_else(|why| Outcome::Unfit(why.into()), Outcome::Scaled))
    }
}

fn overloaded() -> Error {
    metrics::counter!("stet_overloaded_total", "what" => "scaling").increment(1);
    Error::new(Code::Overloaded, "Too many pictures wait to be scaled; try again.")
}

#[cfg(test)]
mod tests;
