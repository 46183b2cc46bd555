//! Counts with nouns, as messages, output and logs show them.

use std::fmt::Display;

/// Returns a count with its noun, in the plural unless the count is one: "1 fault", "2 faults", "0
/// entries".
///
/// The plural is the regular one, which suits the nouns that messages count.
///
/// ```
/// assert_eq!(stet_domain::count::count_with_noun(1u32, "entry"), "1 entry");
/// assert_eq!(stet_domain::count::count_with_noun(2u32, "entry"), "2 entries");
/// ```
pub fn count_with_noun<C: Display + PartialEq + From<u8>>(count: C, noun: &str) -> String {
    if count == C::from(1) { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

/// Returns the regular plural of a noun.
fn plural(noun: &str) -> String {
    let ends_with = |ends: &[&str]| ends.iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !ends_with(&["ay", "ey", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends_with(&["s", "x", "ch", "sh"]) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_singular_and_every_other_count_the_plural() {
        for (count, noun, text) in [
            (0usize, "fault", "0 faults"),
            (1, "fault", "1 fault"),
            (2, "fault", "2 faults"),
            (1, "entry", "1 entry"),
            (3, "entry", "3 entries"),
            (2, "key", "2 keys"),
            (2, "box", "2 boxes"),
            (2, "batch", "2 batches"),
            (11, "content file", "11 content files"),
        ] {
            assert_eq!(count_with_noun(count, noun), text);
        }
        assert_eq!(count_with_noun(1u64, "byte"), "1 byte");
    }
}
