//! Usage tickets (docs/api/objects.md, "Usage tickets").

use std::sync::LazyLock;

use serde_json::{Value, json};
use stet_domain::usage::ObjectUse;
use stet_xml::edit::{Edit, Path, apply_edits};
use stet_xml::{Limits, to_json};

/// The largest number of the server's tickets that an object keeps: the last ones.
pub const MAX_TICKETS: usize = 100;

/// The size of tickets in bytes beyond which none are added. They are parsed and written inside the
/// command, so others wait for it.
const MAX_BYTES: usize = 64 * 1024;

const LIMITS: Limits = Limits { max_depth: 64, max_bytes: MAX_BYTES, ..Limits::UNBOUNDED };

static PLACE: LazyLock<Path> = LazyLock::new(|| {
    // A test shows that this is a path.
    Path::parse("/tl/use").expect("it is a path")
});

/// Returns the usage tickets with one added for a use. Returns `None` if nothing changes: the use
/// has a ticket already, or none can be added. Tickets of clients stay unchanged to the byte.
pub fn add_ticket(tickets: Option<&str>, one: &ObjectUse<'_>) -> Option<String> {
    if tickets.is_some_and(|tickets| tickets.len() > MAX_BYTES) {
        return None;
    }
    let ObjectUse { kind, name, by, user, at } = one;
    let by = by.to_string();
    let known = tickets.map(|tickets| to_json(tickets, &LIMITS)).transpose().ok()?;
    let same = |there: &Value| there["@kind"] == *kind && there["@name"] == *name && there["@by"] == *by;
    let is_known = match known.as_ref().map(|known| &known["tl"]["use"]) {
        Some(Value::Array(all)) => all.iter().any(same),
        Some(single) => same(single),
        None => false,
    };
    if is_known {
        return None;
    }
    let ticket = json!({ "@kind": kind, "@name": name, "@by": by, "@user": user, "@at": at });
    let edit = Edit::push(PLACE.clone(), &ticket, Some(MAX_TICKETS), &LIMITS).ok()?;
    apply_edits(tickets, &[edit], &LIMITS).ok()?
}

#[cfg(test)]
mod tests {
    use stet_domain::id::ObjectUuid;

    use super::*;

    fn one(name: &str) -> ObjectUse<'_> {
        ObjectUse { kind: "correlate", name, by: ObjectUuid(uuid::Uuid::nil()), user: "ada", at: 7 }
    }

    fn written(name: &str) -> String {
        format!(
            "<use kind=\"correlate\" name=\"{name}\" by=\"00000000-0000-0000-0000-000000000000\" user=\"ada\" at=\"7\"/>"
        )
    }

    #[test]
    fn a_use_is_noted_once_behind_what_is_there() {
        let first = add_ticket(None, &one("a")).expect("it is new");
        assert_eq!(first, format!("<tl>{}</tl>", written("a")));
        assert_eq!(add_ticket(Some(&first), &one("a")), None);
        let kept = "<tl>\n <t page='3'/><!-- ours --></tl>";
        let second = add_ticket(Some(kept), &one("<&\">")).expect("it is new");
        assert_eq!(second, format!("<tl>\n <t page='3'/><!-- ours -->{}</tl>", written("&lt;&amp;&quot;&gt;")));
        let third = add_ticket(Some(&second), &one("a")).expect("it is new");
        assert!(third.starts_with("<tl>\n <t page='3'/><!-- ours -->") && third.contains(&written("a")), "{third}");
        for name in ["a", "<&\">"] {
            assert_eq!(add_ticket(Some(&third), &one(name)), None, "{name}");
        }
    }

    #[test]
    fn the_last_ones_stay_and_what_is_large_is_left_alone() {
        let mut tickets = "<tl><t/></tl>".to_owned();
        for n in 0..MAX_TICKETS + 20 {
            tickets = add_ticket(Some(&tickets), &one(&n.to_string())).expect("it is new");
        }
        assert_eq!(tickets.matches("<use ").count(), MAX_TICKETS);
        assert!(tickets.starts_with("<tl><t/>"), "{tickets}");
        assert!(!tickets.contains("name=\"19\"") && tickets.contains("name=\"20\""));
        let large = format!("<tl>{}</tl>", " ".repeat(MAX_BYTES));
        assert_eq!(add_ticket(Some(&large), &one("a")), None);
        let full = format!("<tl>{}</tl>", " ".repeat(MAX_BYTES - 20));
        assert_eq!(add_ticket(Some(&full), &one("a")), None, "it would become too large");
    }
}
