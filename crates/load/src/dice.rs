//! The random numbers for plans.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Returns the random numbers of one client. Each client has a separate stream, so timing has no
/// influence on plans. The stream is the same from build to build.
pub fn dice(seed: u64, client: usize) -> ChaCha8Rng {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    dice.set_stream(client as u64);
    dice
}
