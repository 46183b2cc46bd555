//! The first page of a folder, by how much lies in it.

use super::client::{Load, Target, drive};
use super::stet::Stet;
use super::{Plan, Requests, ratio, report};

/// Measures listings of the first 20 of 100 and of 100,000 objects, by name, in folders that do or
/// do not change.
pub fn sizes(plan: &Plan) {
    let server = Stet::start("journal");
    let folders = [100, 100_000].map(|objects| (objects, format!("/Size/{objects}")));
    for (objects, folder) in &folders {
        server.fill(folder, *objects);
    }
    let pages = folders.each_ref().map(|(_, folder)| {
        let path = format!("/v3/folder/{}?limit=20&showVirtualAttributes=false", folder.replace('/', "%2F"));
        server.request("GET", &path, &[])
    });
    for (what, changed) in [("unchanged", false), ("changed before each read", true)] {
        for clients in [1, 8] {
            let mut rows: Vec<[Load; 2]> = Vec::new();
            for round in 0..plan.rounds {
                rows.push([0, 1].map(|size| {
                    let asked: Requests = (0..clients)
                        .map(|client| match changed {
                            false => vec![pages[size].clone()],
                            // A name that sorts behind the page.
                            true => (0..200)
                                .flat_map(|n| {
                                    let name = format!("z{round}-{clients}-{client}-{n}.xml");
                                    [server.create(&folders[size].1, &name), pages[size].clone()]
                                })
                                .collect(),
                        })
                        .collect();
                    let length = if changed { std::time::Duration::from_nanos(1) } else { plan.length };
                    drive(&Target::new(&server.address), &asked, length)
                }));
            }
            println!("\nthe first page of a folder, {what}, {clients} clients:");
            report(&["100 objects", "100,000 objects"], &rows);
            ratio("cost with 100,000 / with 100", &rows, |row| row[0].rate / row[1].rate);
        }
    }
}
