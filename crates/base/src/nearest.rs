//! Suggestions for mistyped names in error messages and warnings.
//!
//! A name is compared without regard to case and to the separators `_` and `-`, so `folder_path`
//! suggests `folderPath`. Names longer than [`LONGEST_COMPARED`] are not compared: clients choose
//! their length, and the cost grows with it.

use stet_domain::error::Error;

/// The longest name, in bytes, for which a suggestion is looked for.
const LONGEST_COMPARED: usize = 64;

/// The largest number of names that a message lists.
const MOST_LISTED: usize = 20;

/// Returns the known name that a mistyped name most likely stands for.
///
/// Returns `None` if no known name is close: about one edit for each three characters.
pub fn nearest_name<'n>(mistyped: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if mistyped.is_empty() || mistyped.len() > LONGEST_COMPARED {
        return None;
    }
    let folded = fold(mistyped);
    let limit = 1 + folded.chars().count() / 4;
    known
        .into_iter()
        .filter(|name| name.len() <= LONGEST_COMPARED)
        .map(|name| (strsim::osa_distance(&folded, &fold(name)), name))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns a sentence that helps with an unknown name, with a space before it: the nearest known
/// name, and all known names where they are few. Returns an empty text where neither helps.
pub fn suggestion<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let mut sentences = String::new();
    if let Some(nearest) = nearest_name(unknown, known.iter().copied()) {
        sentences.push_str(&format!(" Did you mean `{nearest}`?"));
    }
    if (1..=MOST_LISTED).contains(&known.len()) {
        sentences.push_str(&format!(" Known names: {}.", quoted(&known)));
    }
    sentences
}

/// Adds the nearest known name to the refusal of a value, if there is one.
pub fn with_nearest<'n>(error: Error, value: &str, known: impl IntoIterator<Item = &'n str>) -> Error {
    match nearest_name(value, known) {
        Some(nearest) => error.rephrased(|message| format!("{message} Did you mean `{nearest}`?")),
        None => error,
    }
}

/// Returns names as a message shows them: each in backticks, separated by commas.
pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn fold(name: &str) -> String {
    name.chars().filter(|char| !matches!(char, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_suggests_the_nearest_known_one() {
        let known = ["folderPath", "folder", "name", "Story/Ready"];
        for (mistyped, nearest) in [
            ("folder_path", Some("folderPath")),
            ("FOLDERPATH", Some("folderPath")),
            ("foldr", Some("folder")),
            ("nmae", Some("name")),
            ("Story/Raedy", Some("Story/Ready")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(mistyped, known), nearest, "{mistyped}");
        }
    }

    #[test]
    fn the_refusal_of_a_value_names_the_nearest_known_one() {
        let refused = |value: &str| {
            let error = Error::parameter("format", value, "atom or json");
            with_nearest(error, value, ["atom", "json"]).message
        };
        assert_eq!(refused("atm"), "`format` must be atom or json, but is `atm`. Did you mean `atom`?");
        assert_eq!(refused("pdf"), "`format` must be atom or json, but is `pdf`.");
    }

    #[test]
    fn a_long_name_is_not_compared() {
        let long = "n".repeat(LONGEST_COMPARED + 1);
        assert_eq!(nearest_name(&long, [long.as_str()]), None);
    }

    #[test]
    fn a_suggestion_lists_the_known_names_where_they_are_few() {
        assert_eq!(suggestion("wirte", ["read", "write"]), " Did you mean `write`? Known names: `read`, `write`.");
        assert_eq!(suggestion("x", std::iter::empty()), "");
        let many: Vec<String> = (0..=MOST_LISTED).map(|n| format!("status {n}")).collect();
        assert_eq!(suggestion("colour", many.iter().map(String::as_str)), "");
    }
}
