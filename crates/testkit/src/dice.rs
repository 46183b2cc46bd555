//! Random numbers that a seed repeats.

/// A random number generator (xorshift64*), which is good enough for choices.
pub struct Dice(u64);

impl Dice {
    /// Creates a generator that gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Dice {
        // A state of zeros would never change.
        Dice(seed | 1)
    }

    /// Creates a generator from several words; each list of words has its own sequence.
    pub fn of(words: &[u64]) -> Dice {
        Dice::new(words.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |seed, word| {
            (seed ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
        }))
    }

    /// Returns a number from 0 to below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    /// Returns a random element; `None` for an empty slice.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.roll(from.len())) }
    }
}

/// Returns the number in an environment variable.
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Returns the seed in the environment variable, or a new one. It is printed, so that a run can be
/// repeated.
pub fn seed(name: &str) -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_nanos() as u64;
    let seed = setting(name).unwrap_or(now);
    println!("{name}={seed}");
    seed
}
