//! Order and pages of listings (docs/api/README.md, "Paging and sorting").

use std::cmp::Ordering;

use stet_actors::error::{Error, Result};
use stet_actors::object::Record;

use crate::give_way;

/// What a listing can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Type,
    Created,
    Modified,
    Id,
    Creator,
    LastModifier,
    IssueDate,
    Status,
    Version,
}

impl Field {
    const ALL: &'static [(&'static str, Field)] = &[
        ("name", Field::Name),
        ("type", Field::Type),
        ("created", Field::Created),
        ("modified", Field::Modified),
        ("id", Field::Id),
        ("creator", Field::Creator),
        ("lastModifier", Field::LastModifier),
        ("issueDate", Field::IssueDate),
        ("status", Field::Status),
        ("version", Field::Version),
    ];

    fn compare(self, a: &Record, b: &Record) -> Ordering {
        match self {
            Field::Name => a.name.cmp(&b.name),
            Field::Type => a.type_name.cmp(&b.type_name),
            Field::Created => a.created.cmp(&b.created),
            Field::Modified => a.modified.cmp(&b.modified),
            Field::Id => a.loid.cmp(&b.loid),
            Field::Creator => a.creator.cmp(&b.creator),
            Field::LastModifier => a.last_modifier.cmp(&b.last_modifier),
            Field::IssueDate => a.issue_date.cmp(&b.issue_date),
            Field::Status => a.status.cmp(&b.status),
            Field::Version => a.version.cmp(&b.version),
        }
    }
}

/// A parsed `sortBy`: `field`, `-field` or `field:asc|desc`, comma-separated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sort(Vec<(Field, bool)>);

impl Sort {
    /// Parses; nothing or blank keeps the listing's own order.
    ///
    /// # Errors
    /// `InvalidParameter` for an unknown field or direction.
    pub fn parse(text: Option<&str>) -> Result<Sort> {
        parse_sort(text, Field::ALL).map(Sort)
    }

    /// Whether the listing keeps its own order.
    pub fn keeps_order(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries sorted, giving way to others; those that are equal keep their order.
    pub async fn apply<T>(&self, entries: Vec<T>, record: impl Fn(&T) -> &Record) -> Vec<T> {
        if self.0.is_empty() {
            return entries;
        }
        let compare = |a: &T, b: &T| in_order(&self.0, |field| field.compare(record(a), record(b)));
        give_way::sorted(entries, compare).await
    }
}

/// The order that the first field gives by which two entries differ; `compare` compares by a field.
pub fn in_order<F: Copy>(sort: &[(F, bool)], compare: impl Fn(F) -> Ordering) -> Ordering {
    let mut fields = sort.iter().map(|(field, down)| {
        let order = compare(*field);
        if *down { order.reverse() } else { order }
    });
    fields.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Reads `sortBy`: each field, and whether it descends.
///
/// # Errors
/// `InvalidParameter` for a field that is not among `fields`, one that is there already, an unknown direction, or a text that is
/// longer than all fields together could be.
pub fn parse_sort<F: Copy + PartialEq>(text: Option<&str>, fields: &[(&str, F)]) -> Result<Vec<(F, bool)>> {
    let text = text.unwrap_or_default();
    if text.len() > MAX_SORT_BYTES {
        return Err(Error::parameter("sortBy", text, &format!("a text of {MAX_SORT_BYTES} bytes at most")));
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parse = |part: &str| {
        let refuse = || {
            let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            let wanted = format!("`field`, `-field` or `field:asc|desc` with a field of {}", known.join(", "));
            Error::parameter("sortBy", part, &wanted)
        };
        let (name, down) = match (part.strip_prefix('-'), part.split_once(':')) {
            (Some(name), None) => (name, true),
            (None, Some((name, "asc"))) => (name, false),
            (None, Some((name, "desc"))) => (name, true),
            (None, None) => (part, false),
            _ => return Err(refuse()),
        };
        let found = fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, field)| (*field, down)).ok_or_else(refuse)
    };
    let mut sort: Vec<(F, bool)> = Vec::new();
    for part in parts {
        let (field, down) = parse(part)?;
        // Behind itself a field decides nothing.
        if sort.iter().any(|(known, _)| *known == field) {
            return Err(Error::parameter("sortBy", part, "a list that has each field once"));
        }
        sort.push((field, down));
    }
    Ok(sort)
}

/// Bytes of a `sortBy`: far more than all fields with their directions have.
const MAX_SORT_BYTES: usize = 1024;

/// Which part of a listing is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many to skip.
    pub offset: usize,
    /// How many at most; `usize::MAX` for all.
    pub limit: usize,
}

impl Page {
    /// The part of the entries.
    pub fn cut<T>(self, entries: Vec<T>) -> Vec<T> {
        entries.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_is_written_in_three_ways() {
        assert_eq!(
            Sort::parse(Some("-name, modified:asc ,type:desc")).unwrap().0,
            [(Field::Name, true), (Field::Modified, false), (Field::Type, true)]
        );
        assert!(Sort::parse(Some("")).unwrap().0.is_empty());
        let all: Vec<String> = Field::ALL.iter().map(|(name, _)| format!("{name}:desc")).collect();
        assert_eq!(Sort::parse(Some(&all.join(" , "))).unwrap().0.len(), all.len());
        for text in ["name,name", "type,name,-name", "id:asc,name,id:desc"] {
            assert!(Sort::parse(Some(text)).unwrap_err().message.contains("each field once"), "{text}");
        }
        for text in [",".repeat(4 << 20), "name,".repeat(1 << 20)] {
            assert!(Sort::parse(Some(&text)).unwrap_err().message.contains("1024 bytes at most"));
        }
        for text in ["colour", "-name:asc", "name:up", "-"] {
            assert!(Sort::parse(Some(text)).unwrap_err().message.contains(text), "{text}");
        }
    }
}
