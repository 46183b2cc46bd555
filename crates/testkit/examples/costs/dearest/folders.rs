//! The requests on folders, their views and filters. The large folder is the caller's home and work
//! folder, too.

use serde_json::json;

use super::{Dearest, compressed, shown};
use crate::fixture::{By, FOLDER, Fixture, HOME};
use crate::wire::Request;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let rest = id.strip_prefix("folder-")?;
    if id == "folder-post" {
        let path = format!("{FOLDER}{}", "/f".repeat(61));
        let body = json!({ "path": path, "createMode": "AUTO_RENAME", "showXml": true });
        return Some(vec![Dearest::repeated("path of 62 names", Request::new(id, &[]).json(&body))]);
    }
    let root = rest.starts_with("root");
    if root {
        fixture.people();
    } else {
        fixture.small();
    }
    let arguments: &[&dyn std::fmt::Display] = match stet_testkit::Endpoint::of(id).parameters().count() {
        0 => &[],
        1 if rest.contains("named") => &[&"compact"],
        1 => &[&HOME],
        _ => &[&HOME, &"compact"],
    };
    let mut request = shown(Request::new(id, arguments));
    if rest == "filter-get" {
        return Some(filters(request, fixture));
    }
    if rest == "subfolders-get" {
        request = Request::new(id, &[&format!("{FOLDER}{}", "/level".repeat(40))]).query("limit", 10_000);
        fixture.people();
    }
    request = if rest.ends_with("post") {
        request.json(&json!({ "sortBy": "-modified,creator,name", "showXml": true, "name": patterns(99) }))
    } else if root {
        request
    } else {
        request.query("sortBy", "-modified,creator,name")
    };
    let what = match rest {
        "subfolders-get" => "1,000 folders, 40 levels deep, br",
        _ if root && rest.ends_with("post") => "root by a caller with 1,000 grants, 41 levels deep, 99 patterns",
        _ if root => "root by a caller with 1,000 grants, 41 levels deep",
        _ if rest.ends_with("post") => "20,000 entries sorted, 99 patterns, br",
        _ => "20,000 entries sorted, br",
    };
    let dearest = Dearest::repeated(what, compressed(request));
    Some(vec![if root { dearest.by(By::Granted) } else { dearest }])
}

fn filters(request: Request, _fixture: &Fixture) -> Vec<Dearest> {
    let all = patterns(99);
    let fits_none = all.iter().fold(request.clone(), |request, pattern| request.query("patternSequence", pattern));
    let fits_all = request.query("recursive", true).query("sortBy", "-modified");
    vec![
        Dearest::repeated("99 patterns over 20,000 names, none of which fits", compressed(fits_none)),
        Dearest::repeated("20,000 entries sorted, br", compressed(fits_all)),
    ]
}

/// The patterns that take long to compare with a name of many equal letters.
fn patterns(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{}{number}b", "*a".repeat(18))).collect()
}
