//! The section of a report about hostile clients.

use std::fmt::Write as _;

use super::LoadReport;
use super::plot::escape_markup;
use crate::figures::number;
use crate::hostile::Tallies;
use crate::judge::ConditionResult;

/// The column heads of the table.
pub const COLUMNS: [&str; 4] = ["hostile", "rounds", "calls", "answers"];

/// Returns the rows of the table, one for each kind of hostile client.
pub fn rows(tallies: &Tallies) -> Vec<[String; 4]> {
    let row = |(name, tally): &(&str, crate::hostile::Tally)| {
        let answers =
            tally.statuses.iter().map(|(status, count)| format!("{} × {}", number(*count), status.trim_end()));
        let answers = answers.collect::<Vec<_>>().join(", ");
        [(*name).to_owned(), number(tally.rounds), number(tally.calls), answers]
    };
    tallies.iter().map(row).collect()
}

/// Judges the criterion that the server answers no hostile client with an error of its own.
pub fn judge(tallies: &Tallies) -> ConditionResult {
    let faults: u64 = tallies.iter().map(|(_, tally)| tally.faults()).sum();
    ConditionResult {
        condition: "hostile.faults>0".to_owned(),
        criterion: "errors of the server to hostile clients = 0".to_owned(),
        value: number(faults),
        holds: faults > 0,
    }
}

/// Renders the section of the page; empty without hostile clients.
pub fn section(report: &LoadReport) -> String {
    let Some(tallies) = &report.hostile else { return String::new() };
    let heads: String = COLUMNS.iter().map(|head| format!("<th>{head}</th>")).collect();
    let mut body = String::new();
    for row in rows(tallies) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape_markup(cell))).collect();
        // Writing to a String can't fail.
        let _ = write!(body, "<tr>{cells}</tr>");
    }
    format!(
        "<section class=\"card\"><h2>Hostile clients</h2><p class=\"sub\">what each kind was answered; refusals are no \
         fault</p><div class=\"scroll\"><table class=\"numbers\"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>\
         </div></section>"
    )
}
