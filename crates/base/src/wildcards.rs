//! Patterns with wildcards: `*` stands for any characters, `?` for one character.
//!
//! A set of patterns is compared with a text in one pass, as one automaton. Its states are bits:
//! the positions between the characters of all patterns. A character of the text costs one step for
//! each 64 positions, whatever the patterns are. Comparing pattern by pattern with backtracking at
//! each `*` took a second of processor time for 100 patterns and 400 names.

use std::mem;

use foldhash::HashMap;

/// The number of bits in a word.
const BITS: usize = u64::BITS as usize;

/// A set of patterns; a text matches if one of them does.
#[derive(Debug, Clone, Default)]
pub struct Wildcards {
    /// The position before the first character of each pattern.
    first: Vec<u64>,
    /// The position after the last character of each pattern.
    last: Vec<u64>,
    /// The positions at a `*`, which every character keeps.
    kept: Vec<u64>,
    /// The positions before a `?`, from which every character leads to the next position.
    any: Vec<u64>,
    /// The positions before a character, from which that character leads to the next position. The
    /// list has the words that are not 0, with their indexes.
    characters: HashMap<char, Vec<(usize, u64)>>,
}

impl Wildcards {
    /// Builds the set of these patterns.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Wildcards {
        let (mut set, mut place) = (Wildcards::default(), 0);
        for pattern in patterns {
            set.mark(place, |set| &mut set.first);
            for c in pattern.chars() {
                match c {
                    '*' => {
                        set.mark(place, |set| &mut set.kept);
                        continue;
                    }
                    '?' => set.mark(place, |set| &mut set.any),
                    c => set.mark_character(place, c),
                }
                place += 1;
            }
            set.mark(place, |set| &mut set.last);
            place += 1;
        }
        set
    }

    fn mark(&mut self, place: usize, words: impl Fn(&mut Wildcards) -> &mut Vec<u64>) {
        let needed = place / BITS + 1;
        if self.first.len() < needed {
            for words in [&mut self.first, &mut self.last, &mut self.kept, &mut self.any] {
                words.resize(needed, 0);
            }
        }
        words(self)[place / BITS] |= 1 << (place % BITS);
    }

    fn mark_character(&mut self, place: usize, c: char) {
        let (index, bit) = (place / BITS, 1 << (place % BITS));
        let words = self.characters.entry(c).or_default();
        match words.last_mut() {
            Some((last, bits)) if *last == index => *bits |= bit,
            _ => words.push((index, bit)),
        }
    }

    /// Reports whether a pattern matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let mut reached = self.first.clone();
        let mut next = vec![0; reached.len()];
        for c in text.chars() {
            let mut carried = 0;
            for (index, reached) in reached.iter().enumerate() {
                let moved = reached & self.any[index];
                next[index] = moved << 1 | carried | reached & self.kept[index];
                carried = moved >> (BITS - 1);
            }
            for (index, bits) in self.characters.get(&c).into_iter().flatten() {
                let moved = reached[*index] & bits;
                next[*index] |= moved << 1;
                // The last position is never left: each pattern ends with a position that no
                // character leaves. So the index is in range.
                if moved >> (BITS - 1) != 0 {
                    next[index + 1] |= 1;
                }
            }
            mem::swap(&mut reached, &mut next);
            if reached.iter().all(|word| *word == 0) {
                return false;
            }
        }
        reached.iter().zip(&self.last).any(|(reached, last)| reached & last != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Reports whether a pattern matches, computed by the prefixes of pattern and text.
    fn matches(pattern: &str, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut ends: Vec<bool> = (0..=text.len()).map(|end| end == 0).collect();
        for c in pattern.chars() {
            ends = (0..=text.len())
                .map(|end| match c {
                    '*' => ends[..=end].contains(&true),
                    c => end > 0 && ends[end - 1] && (c == '?' || c == text[end - 1]),
                })
                .collect();
        }
        ends[text.len()]
    }

    proptest! {
        #[test]
        fn a_set_matches_what_one_of_its_patterns_matches(
            patterns in vec("[ab?é*]{0,9}|[ab?*]{60,70}", 0..20),
            texts in vec("[abé]{0,9}|[ab]{60,70}", 1..20),
        ) {
            let set = Wildcards::new(patterns.iter().map(String::as_str));
            for text in &texts {
                let wanted = patterns.iter().any(|pattern| matches(pattern, text));
                prop_assert_eq!(set.matches(text), wanted, "{:?} {:?}", &patterns, text);
            }
        }
    }

    #[test]
    fn patterns_longer_than_a_word_match_their_own_texts_alone() {
        let long: Vec<String> = (0..40).map(|number| format!("{}{number}?", "ab".repeat(60))).collect();
        let set = Wildcards::new(long.iter().map(String::as_str));
        for number in 0..40 {
            assert!(set.matches(&format!("{}{number}x", "ab".repeat(60))), "{number}");
            assert!(!set.matches(&format!("{}{number}", "ab".repeat(60))) || number >= 10, "{number}");
            assert!(!set.matches(&format!("{}{number}xy", "ab".repeat(60))), "{number}");
        }
        assert!(!Wildcards::default().matches("") && Wildcards::new([""]).matches(""));
        assert!(!Wildcards::new([""]).matches("a") && Wildcards::new(["**"]).matches("a"));
    }
}
