//! The comparison of two versions of an item.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use roxmltree::{Document, ParsingOptions};

use super::{WireNewsItem, tidy};

/// The identity and version of an item, as a file or an object's attributes state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireNewsItemVersion {
    /// `guid` or `uri`.
    pub guid: Option<String>,
    /// The version, usually a number.
    pub version: Option<String>,
    /// The time at which this version was created.
    pub created: Option<String>,
}

impl WireNewsItemVersion {
    /// Returns the stamp of an item.
    pub fn of(item: &WireNewsItem) -> WireNewsItemVersion {
        WireNewsItemVersion {
            guid: item.guid.clone(),
            version: item.version.clone(),
            created: item.version_created.clone(),
        }
    }

    /// Returns the stamp in an object's attributes, where an import has written it; empty if they
    /// have none.
    pub fn of_attributes(xml: &str) -> WireNewsItemVersion {
        let options = ParsingOptions { allow_dtd: true, nodes_limit: 1_000_000, ..ParsingOptions::default() };
        let Ok(document) = Document::parse_with_options(xml, options) else { return WireNewsItemVersion::default() };
        let root = document.root_element();
        let text = |name: &str| root.children().find(|child| child.has_tag_name(name))?.text().and_then(tidy);
        WireNewsItemVersion { guid: text("guid"), version: text("itemVersion"), created: text("versionCreated") }
    }

    /// Compares two versions of one item: by their numbers, else by their times. `None` if neither
    /// can be compared.
    pub fn compare(&self, other: &WireNewsItemVersion) -> Option<Ordering> {
        let number = |stamp: &WireNewsItemVersion| stamp.version.as_deref()?.parse::<u64>().ok();
        if let (Some(ours), Some(theirs)) = (number(self), number(other)) {
            return Some(ours.cmp(&theirs));
        }
        let time = |stamp: &WireNewsItemVersion| stamp.created.as_deref().and_then(instant);
        Some(time(self)?.cmp(&time(other)?))
    }

    /// Returns the version in words.
    pub fn describe(&self) -> String {
        match (&self.version, &self.created) {
            (Some(version), _) => format!("version {version}"),
            (None, Some(created)) => format!("the version of {created}"),
            (None, None) => "a version without number and time".to_owned(),
        }
    }
}

/// Returns the instant of a time in an item; a time without an offset is taken as UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let in_utc = |at: DateTime| TimeZone::UTC.to_timestamp(at).ok();
    let local = || text.parse::<DateTime>().ok().and_then(in_utc);
    let day = || text.parse::<Date>().ok().and_then(|day| in_utc(day.at(0, 0, 0, 0)));
    text.parse::<Timestamp>().ok().or_else(local).or_else(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(version: Option<&str>, created: Option<&str>) -> WireNewsItemVersion {
        let text = |text: Option<&str>| text.map(str::to_owned);
        WireNewsItemVersion { guid: None, version: text(version), created: text(created) }
    }

    #[test]
    fn versions_are_compared_by_number_and_else_by_time() {
        let older = "2026-01-02T03:04:05+02:00";
        let newer = "2026-01-02T02:04:05Z";
        for (ours, theirs, order) in [
            (stamp(Some("10"), None), stamp(Some("9"), None), Some(Ordering::Greater)),
            (stamp(Some("2"), Some(newer)), stamp(Some("2"), Some(older)), Some(Ordering::Equal)),
            (stamp(None, Some(newer)), stamp(None, Some(older)), Some(Ordering::Greater)),
            (stamp(Some("b"), Some(older)), stamp(Some("a"), Some(newer)), Some(Ordering::Less)),
            (stamp(Some("3"), Some(newer)), stamp(None, Some(older)), Some(Ordering::Greater)),
            (stamp(None, Some("2026-01-03")), stamp(None, Some("2026-01-02T23:59:59")), Some(Ordering::Greater)),
            (stamp(Some("3"), None), stamp(None, None), None),
            (stamp(None, Some("yesterday")), stamp(None, Some(older)), None),
        ] {
            assert_eq!(ours.compare(&theirs), order, "{ours:?} {theirs:?}");
            assert_eq!(theirs.compare(&ours), order.map(Ordering::reverse), "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn the_attributes_of_an_item_have_its_stamp() {
        let text = |text: &str| Some(text.to_owned());
        let item = WireNewsItem {
            guid: text("tag:<x>"),
            version: text("7"),
            version_created: text("t"),
            ..WireNewsItem::default()
        };
        let found = WireNewsItemVersion::of_attributes(&item.attributes());
        assert_eq!(found, WireNewsItemVersion::of(&item));
        assert_eq!(found.guid, text("tag:<x>"));
        assert_eq!(WireNewsItemVersion::of_attributes(""), WireNewsItemVersion::default());
        assert_eq!(
            WireNewsItemVersion::of_attributes("<story><b><guid>x</guid></b></story>"),
            WireNewsItemVersion::default()
        );
    }
}
