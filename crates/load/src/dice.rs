//! What plans are drawn with.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The dice of one client: a stream of its own, so that no timing has a say in what is drawn, and
/// the same from build to build.
pub fn dice(seed: u64, client: usize) -> ChaCha8Rng {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    dice.set_stream(client as u64);
    dice
}
