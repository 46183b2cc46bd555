//! Items as a table, one row each, comma-separated (RFC 4180).
//!
//! Spreadsheets treat a cell that begins with certain characters as a formula, which may call other
//! programs. So such a text gets an apostrophe in front. So does a text that begins with an
//! apostrophe, so that removing one apostrophe always restores the text.

use chrono::{DateTime, SecondsFormat};
use csv::{Terminator, WriterBuilder};
use stet_domain::error::{Error, Result};
use stet_domain::planning::LineupEntry;
use stet_domain::planning::topic::TextOrNumber;

use super::ExportLine;

/// The column names.
const COLUMNS: [&str; 18] = [
    "topic",
    "topicName",
    "item",
    "subitem",
    "position",
    "name",
    "status",
    "assignees",
    "dueDate",
    "occupation",
    "priority",
    "customPriority",
    "product",
    "edition",
    "contentType",
    "comment",
    "attachment",
    "topicTitle",
];

/// Writes the row of column names.
pub(super) fn begin(out: &mut Vec<u8>) -> Result<()> {
    row(COLUMNS, out)
}

/// Writes an item or subitem.
pub(super) fn line(line: &ExportLine<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (item, record) = (line.item, &line.item.record);
    let (own, subitem) = match line.parent {
        Some(parent) => (parent.loid(), record.loid.to_string()),
        None => (record.loid, String::new()),
    };
    let assignees: Vec<&str> = item.assignees.iter().map(|assignee| &**assignee).collect();
    let cells: [String; COLUMNS.len()] = [
        line.topic.to_string(),
        text(line.topic_name),
        own.to_string(),
        subitem,
        line.position.to_string(),
        text(&record.name),
        text(record.status.as_deref().unwrap_or_default()),
        text(&assignees.join("; ")),
        item.due.and_then(time).unwrap_or_default(),
        text(&item.occupation),
        word(&item.priority),
        word(&item.custom_priority),
        text(&item.product),
        text(&item.edition),
        text(&item.content_type),
        text(&item.comment),
        line.attachment.map(|loid| loid.to_string()).unwrap_or_default(),
        text(line.topic_title),
    ];
    row(cells, out)
}

fn row<C: AsRef<[u8]>>(cells: impl IntoIterator<Item = C>, out: &mut Vec<u8>) -> Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).buffer_capacity(1 << 10).from_writer(out);
    // Writing to memory can't fail.
    writer.write_record(cells).map_err(|_| Error::internal())?;
    writer.flush().map_err(|_| Error::internal())
}

/// Returns a text that no spreadsheet treats as a formula.
fn text(text: &str) -> String {
    let begins = |letter: char| matches!(letter, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠');
    // Some spreadsheets skip invisible characters, and others treat them as the beginning of a
    // formula.
    let hidden = |letter: char| letter.is_whitespace() || letter.is_control();
    let first = text.trim_start_matches(hidden).chars().next();
    if text.starts_with(['\'', '\t', '\r', '\n']) || first.is_some_and(begins) {
        return format!("'{text}");
    }
    text.to_owned()
}

/// Returns a word as a cell. A number is never a formula of a user.
fn word(word: &TextOrNumber) -> String {
    match word {
        TextOrNumber::Text(words) => text(words),
        TextOrNumber::Number(number) => number.to_string(),
    }
}

/// Formats epoch seconds according to ISO 8601.
fn time(seconds: u64) -> Option<String> {
    let time = DateTime::from_timestamp(i64::try_from(seconds).ok()?, 0)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreadsheet_formulas_get_an_apostrophe_and_plain_texts_do_not() {
        for formula in
            ["=1", "+1", "-1", "@A1", " =1", "\u{a0}=1", "\u{0}=1", "\tx", "\rx", "\nx", "＝1", "'=1", "'tis"]
        {
            assert_eq!(text(formula), format!("'{formula}"));
        }
        for plain in ["", " ", "a=1", "1-2", "a@b.example", "\"=1\"", "–"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!([word(&TextOrNumber::Number(-5)), word(&TextOrNumber::Text("-5".into()))], ["-5", "'-5"]);
    }

    #[test]
    fn rows_end_as_the_standard_says() {
        let mut out = Vec::new();
        row(["a,b", "c \"d\"", "e\nf", ""], &mut out).expect("memory takes all");
        assert_eq!(String::from_utf8(out).expect("it is text"), "\"a,b\",\"c \"\"d\"\"\",\"e\nf\",\r\n");
    }
}
