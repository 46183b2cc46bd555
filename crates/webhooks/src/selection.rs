//! The selection of events: by kind, by container, by folder.

use serde::{Deserialize, Serialize};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::store::Event;

/// Maximum number of kinds in a selection.
const MOST_KINDS: usize = 64;

/// Maximum number of bytes of a kind.
const MOST_BYTES: usize = 64;

/// The end of a pattern for all kinds that begin alike.
const ALL_OF: &str = ".*";

/// The events that a webhook is for. An event must meet all conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSelection {
    /// Kinds like `drawer.item.add`, or patterns like `drawer.*`; empty for all.
    pub kinds: Vec<String>,
    /// The only container; `None` for all.
    pub container: Option<Loid>,
    /// The folder in which the container must lie, at any depth, or that it must be; `None` for
    /// anywhere.
    pub below: Option<Loid>,
}

impl EventSelection {
    /// Reports whether the event meets the conditions that need no look at other rows: all but
    /// `below`.
    pub fn fits(&self, event: &Event) -> bool {
        let Some(container) = event.container else { return false };
        self.container.is_none_or(|only| only == container) && self.fits_kind(&event.kind)
    }

    fn fits_kind(&self, kind: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix(ALL_OF) {
            Some(start) => kind.strip_prefix(start).is_some_and(|rest| rest.starts_with('.')),
            None => pattern == kind,
        };
        self.kinds.is_empty() || self.kinds.iter().any(fits)
    }
}

/// Checks the kinds of a selection.
///
/// # Errors
/// `InvalidBody` with the place of the fault; `TooLarge` for too many.
pub fn check_kinds(kinds: &[String]) -> Result<()> {
    if kinds.len() > MOST_KINDS {
        let message = format!("`kinds` has {} entries; at most {MOST_KINDS} are allowed.", kinds.len());
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_KINDS));
    }
    for (index, kind) in kinds.iter().enumerate() {
        let words = kind.strip_suffix(ALL_OF).unwrap_or(kind);
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if kind.len() > MOST_BYTES || !words.split('.').all(is_word) {
            let shown: String = kind.chars().take(MOST_BYTES).collect();
            let message = format!(
                "The body is invalid at `$.kinds[{index}]`: `{shown}` is not the kind of an event like \
                 `drawer.item.add`, or a pattern like `drawer.*`."
            );
            return Err(Error::new(Code::InvalidBody, message).with_detail("path", format!("$.kinds[{index}]")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stet_domain::id::DatabaseId;

    fn event(container: Option<Loid>, kind: &str) -> Event {
        Event {
            container,
            revision: 1,
            kind: kind.to_owned(),
            ids: Vec::new(),
            user: "ada".to_owned(),
            at_ms: 5,
            session: String::new(),
            address: String::new(),
            withdrawn: None,
            unseen: None,
            status: None,
            before: None,
        }
    }

    #[test]
    fn kinds_are_exact_or_patterns() {
        let kinds = |kinds: &[&str]| EventSelection {
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..EventSelection::default()
        };
        for (selected, kind, fits) in [
            (&[][..], "drawer.item.add", true),
            (&["drawer.item.add"], "drawer.item.add", true),
            (&["drawer.item.add"], "drawer.item.additional", false),
            (&["drawer.item"], "drawer.item.add", false),
            (&["drawer.*"], "drawer.item.add", true),
            (&["drawer.*"], "drawers.item", false),
            (&["drawer.*"], "drawer", false),
            (&["liveblog.post.*", "object.status"], "object.status", true),
        ] {
            assert_eq!(kinds(selected).fits_kind(kind), fits, "{selected:?} {kind}");
        }
    }

    #[test]
    fn changes_outside_of_containers_are_not_selected() {
        let (one, other) = (Loid::new(DatabaseId::FIRST, 1), Loid::new(DatabaseId::FIRST, 2));
        assert!(!EventSelection::default().fits(&event(None, "user.create")));
        assert!(EventSelection::default().fits(&event(Some(one), "object.lock")));
        let only = EventSelection { container: Some(one), ..EventSelection::default() };
        assert!(only.fits(&event(Some(one), "object.lock")) && !only.fits(&event(Some(other), "object.lock")));
    }

    #[test]
    fn kinds_are_checked() {
        let check = |kinds: &[&str]| check_kinds(&kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>());
        assert!(check(&["drawer.item.add", "object.*", "status"]).is_ok());
        for wrong in ["", "*", ".*", "drawer.", "drawer..add", "drawer.it em", "dräwer", &"a".repeat(65)] {
            let error = check(&["object.*", wrong]).expect_err(wrong);
            assert_eq!(error.code, Code::InvalidBody, "{wrong}");
            assert!(error.message.contains("$.kinds[1]"), "{}", error.message);
        }
        assert_eq!(check(&["object.*"; 65]).map_err(|error| error.code), Err(Code::TooLarge));
    }
}
