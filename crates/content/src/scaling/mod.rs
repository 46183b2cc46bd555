//! Scaled pictures: few are scaled at a time, the results are cached, and concurrent calls for the
//! same picture share the work.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::Weighter;
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_base::limits::offload::spawn_large;
use stet_base::limits::{FairQueue, MemoryBudget, MemoryPurpose, SharedOutcome, SharedWork, WorkPermit, behalf};
use stet_config::ContentConfig;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::Content;
use tokio::time::timeout;

use super::pins::Hash;
use super::{ContentReader, hex, picture};

pub use super::picture::ScaledPicture;
use super::picture::ScalingFailure;

/// The outcome of scaling a picture. It is the same whenever the same bytes are scaled to the same
/// size.
#[derive(Clone)]
enum ScalingOutcome {
    Scaled(ScaledPicture),
    /// The reason why it can't be scaled.
    Unfit(Arc<str>),
}

/// The hash of the bytes, and the longest side of the scaled picture.
type ScaledKey = (Hash, u32);

#[derive(Clone)]
struct OutcomeWeighter;

impl Weighter<ScaledKey, ScalingOutcome> for OutcomeWeighter {
    fn weight(&self, _: &ScaledKey, outcome: &ScalingOutcome) -> u64 {
        let bytes = match outcome {
            ScalingOutcome::Scaled(scaled) => scaled.bytes.len(),
            ScalingOutcome::Unfit(why) => why.len(),
        };
        (bounded_cache::ENTRY + bytes) as u64
    }
}

/// Maximum number of pictures of one user that wait for their turn.
const WAITING: usize = 64;

/// The scaler of pictures; see the module's head.
pub struct Scaler {
    config: ContentConfig,
    kept: BoundedCache<ScaledKey, ScalingOutcome, OutcomeWeighter>,
    making: SharedWork<ScaledKey>,
    turns: FairQueue,
    memory: MemoryBudget,
}

impl Scaler {
    /// Creates a scaler as configured, which takes memory of that budget and caches at most
    /// `bytes`.
    pub fn new(config: &ContentConfig, bytes: u64, memory: &MemoryBudget) -> Scaler {
        Scaler {
            config: config.clone(),
            memory: memory.clone(),
            // A picture is some 32 KiB.
            kept: BoundedCache::new("pictures", bytes, 32 << 10, 1, OutcomeWeighter),
            making: SharedWork::default(),
            turns: FairQueue::new("scaling", "pictures", config.scaled_at_once, WAITING),
        }
    }

    /// Returns the longest side of a scaled picture.
    pub fn longest(&self) -> u32 {
        self.config.lowres_pixels
    }

    /// Waits for a permit to make a picture in another way than by scaling. Both kinds of work
    /// share the limit `content.scaled_at_once`.
    ///
    /// # Errors
    /// `Overloaded` if the permit is not granted within `content.scaling_wait_seconds`, or if too
    /// many pictures of the same user wait.
    pub async fn turn(&self) -> Result<WorkPermit> {
        let wait = Duration::from_secs(self.config.scaling_wait_seconds);
        timeout(wait, self.turns.turn()).await.map_err(|_| overloaded())?
    }

    /// Returns the picture of `content`, scaled; `reader` reads the content from its beginning.
    ///
    /// # Errors
    /// `InvalidType` if the content is no picture that can be scaled. `Overloaded` if its turn does
    /// not come in time. Errors of the disk.
    pub async fn scaled(&self, content: &Content, reader: ContentReader) -> Result<ScaledPicture> {
        let key = (content.sha256, self.longest());
        let outcome = match self.kept.get(&key) {
            Some(outcome) => outcome,
            None => self.made(key, content, reader).await?,
        };
        match outcome {
            ScalingOutcome::Scaled(scaled) => Ok(scaled),
            ScalingOutcome::Unfit(why) => {
                Err(Error::new(Code::InvalidType, format!("The content is not a picture that can be scaled: {why}.")))
            }
        }
    }

    /// Returns the outcome of scaling, by this call or a concurrent one.
    async fn made(&self, key: ScaledKey, content: &Content, reader: ContentReader) -> Result<ScalingOutcome> {
        let most = self.config.picture_bytes;
        if content.size > most {
            return Ok(ScalingOutcome::Unfit(
                format!("it has {} bytes; at most {most} are allowed", content.size).into(),
            ));
        }
        let coming = self.making.there_or_turn(key, || self.kept.peek(&key), || self.turns.turn());
        match timeout(Duration::from_secs(self.config.scaling_wait_seconds), coming)
            .await
            .map_err(|_| overloaded())??
        {
            SharedOutcome::Ready(outcome) => Ok(outcome),
            // If the maker is dropped, because this fails or the caller leaves, another call that
            // waits for the same picture makes it.
            SharedOutcome::Make(_maker, turn) => {
                let outcome = self.scale(content, reader, turn).await?;
                self.kept.insert(key, outcome.clone());
                Ok(outcome)
            }
        }
    }

    async fn scale(&self, content: &Content, reader: ContentReader, turn: WorkPermit) -> Result<ScalingOutcome> {
        // Work for more than half of the budget would hardly ever find it free.
        let most_bytes = self.config.picture_memory_bytes.min(self.memory.limit() / 2);
        let most = picture::PictureLimits { pixels: self.config.picture_pixels, bytes: most_bytes };
        let (longest, memory) = (self.longest(), self.memory.reservation(behalf(), MemoryPurpose::Pictures));
        memory.grow_to(content.size)?;
        let bytes = reader.read_all().await?;
        let work = spawn_large(move || {
            // Held to the end of the work, even if the caller has left.
            let _turn = turn;
            picture::scale(&bytes, longest, most, &|more| memory.add(more as usize))
        });
        let outcome = match work.await {
            Ok(Ok(scaled)) => Ok(scaled),
            Ok(Err(ScalingFailure::Unfit(why))) => Err(why),
            Ok(Err(ScalingFailure::NoMemory(error))) => return Err(error),
            Err(error) => {
                tracing::warn!(sha256 = hex(&content.sha256), %error, "the decoder of a picture failed");
                Err("it can't be decoded".to_owned())
            }
        };
        let what = if outcome.is_ok() { "scaled" } else { "unfit" };
        metrics::counter!("stet_pictures_scaled_total", "outcome" => what).increment(1);
        Ok(outcome.map_or_else(|why| ScalingOutcome::Unfit(why.into()), ScalingOutcome::Scaled))
    }
}

fn overloaded() -> Error {
    metrics::counter!("stet_overloaded_total", "what" => "scaling").increment(1);
    Error::new(Code::Overloaded, "Too many pictures wait to be scaled; try again.")
}

#[cfg(test)]
mod tests;
