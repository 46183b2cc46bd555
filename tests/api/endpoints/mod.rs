//! Rules that hold for every endpoint, checked on each of them with a call that succeeds. The tests
//! of its resource have that call.

mod bodies;
pub mod cases;
mod conditions;
mod displays;
mod listings;
mod prefer;
mod replays;
pub mod rights;
mod sources;
mod warnings;

use serde_json::Value;

pub use self::cases::Corner;
use self::cases::{Body, Case, ELSEWHERE, Kind, Made};
use super::CASES;
use super::http::Faults;
use crate::harness::*;

/// Endpoints that create messages, which lie in no folder and are new each time.
const SENDS_MESSAGES: [&str; 2] = ["message-sendmail-post", "stet-old-message-post"];

/// A loid that names nothing.
const NOWHERE: &str = "1$1.0.999999999";

/// Returns the calls of all endpoints.
fn all_cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().copied().flatten()
}

/// Runs a check on each endpoint that it is about, and reports all that is wrong at once.
#[track_caller]
fn on_each(at_least: usize, about: impl Fn(&Endpoint) -> bool, check: impl Fn(&mut Faults, &Case, &Corner)) {
    let mut faults = Faults::default();
    let cases: Vec<_> = all_cases().filter(|case| about(case.endpoint())).collect();
    // The check must apply to some endpoints.
    assert!(cases.len() >= at_least, "{} endpoints", cases.len());
    for case in cases {
        check(&mut faults, case, &Corner::new());
    }
    faults.none();
}

/// Returns whether a call of the endpoint reads a folder that other tests change at the same time.
fn reads_what_others_change(endpoint: &Endpoint) -> bool {
    ["/v3/folder/root", "/v3/folder/home", "/v3/folder/work"].iter().any(|path| endpoint.path.starts_with(path))
}

/// Returns the part of a reply that does not differ from call to call.
pub fn lasting(answer: &Answer) -> (u16, Value) {
    let mut json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    for place in ["", "/result"] {
        if let Some(error) = json.pointer_mut(place).and_then(Value::as_object_mut) {
            error.remove("requestId");
        }
    }
    (answer.status, json)
}

/// The code of an answer that is an error in its envelope, or outside one on the older surface.
fn code(answer: &Answer) -> String {
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = json["result"]["code"].as_str().or(json["code"].as_str()).unwrap_or_default();
    code.trim_start_matches("CMS.").to_owned()
}

#[test]
fn no_reply_to_a_page_of_another_site_sets_or_clears_the_cookie() {
    on_each(
        70,
        |_| true,
        |faults, case, corner| {
            let made = (case.make)(corner);
            let call = made.call(&corner.client, case.id).header("origin", "https://evil.example");
            let answer = call.header("sec-fetch-site", "cross-site").send();
            let refused = answer.status == 403 && code(&answer) == "OriginRefused";
            let well = answer.header("set-cookie").is_none() && (answer.status == 200 || refused);
            faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
        },
    );
}

#[test]
fn each_endpoint_that_is_served_has_a_call_that_goes_well() {
    let mut faults = Faults::default();
    for endpoint in Endpoint::all() {
        let count = all_cases().filter(|case| case.id == endpoint.id).count();
        let wanted = usize::from(!ELSEWHERE.contains(&endpoint.id.as_str()));
        faults.expect(count == wanted, || format!("{} has {count} cases", endpoint.id));
    }
    for case in all_cases() {
        let corner = Corner::new();
        let made = (case.make)(&corner);
        let answer = made.call(&corner.client, case.id).send();
        let wrapped = case.endpoint().older() || answer.header("content-type") != Some("application/json");
        let well = answer.status == 200 && (wrapped || answer.json()["status"] == "success");
        faults.expect(well, || format!("{}: {} {}", case.id, answer.status, String::from_utf8_lossy(&answer.body)));
    }
    faults.none();
}
