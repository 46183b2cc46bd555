//! The disk space that changes take for as long as their events are kept.

use super::Plan;
use super::client::{Target, drive};
use super::stet::{End, Stet};

/// Bytes by which the tables have grown for each change, once all is in them: items come and go, so
/// only events stay.
pub fn growth(plan: &Plan) {
    for (what, drawers) in [("one hot drawer", 1), ("1,000 drawers", 1_000)] {
        let mut server = Stet::start("journal");
        println!("\n{what}, 64 clients, {} s each:", plan.length.as_secs());
        let asked = server.changes_in(64, drawers);
        server = server.restart(End::Term);
        // The file grows in steps, so only the sum of all rounds is meaningful.
        let (mut changes, begun) = (0, server.table_bytes());
        for _ in 0..plan.rounds {
            let before = server.table_bytes();
            let load = drive(&Target::new(&server.address), &asked, plan.length);
            server = server.restart(End::Term);
            let grown = server.table_bytes().saturating_sub(before);
            println!("  {:>9} changes   {grown:>10} bytes", load.answers);
            changes += load.answers;
        }
        let grown = server.table_bytes().saturating_sub(begun);
        println!("  {:<40} {:.0}", "bytes for each change", grown as f64 / changes as f64);
    }
}
