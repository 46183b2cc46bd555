//! The most expensive request for each endpoint that one user can prepare in a minute.

mod bundles;
mod drawers;
mod folders;
mod liveblogs;
mod objects;
mod people;
mod topics;

use serde_json::{Value, json};
use stet_testkit::Endpoint;

use crate::fixture::{By, Fixture};
use crate::wire::Request;

/// The most expensive request of an endpoint.
pub struct Dearest {
    /// A short description of the request.
    pub what: String,
    pub by: By,
    pub calls: Calls,
    /// A request that restores what the expensive request has removed.
    pub undo: Option<(By, Request)>,
}

/// The number of times that a request is sent.
pub enum Calls {
    /// Requests sent alone, then four at a time for a second. Several requests alternate where
    /// repeating one of them would change nothing.
    Repeated(Vec<Request>),
    /// A request sent once, because it uses up its objects.
    Once(Request),
}

impl Dearest {
    fn repeated(what: &str, request: Request) -> Dearest {
        Dearest::in_turn(what, vec![request])
    }

    fn in_turn(what: &str, requests: Vec<Request>) -> Dearest {
        Dearest { what: what.to_owned(), by: By::Reporter, calls: Calls::Repeated(requests), undo: None }
    }

    fn once(what: &str, request: Request) -> Dearest {
        Dearest { what: what.to_owned(), by: By::Reporter, calls: Calls::Once(request), undo: None }
    }

    fn by(self, by: By) -> Dearest {
        Dearest { by, ..self }
    }

    fn undone_by(self, by: By, request: Request) -> Dearest {
        Dearest { undo: Some((by, request)), ..self }
    }
}

/// Returns the most expensive requests of an endpoint: one, or several if it is unclear which costs
/// most.
pub fn dearest(endpoint: &'static Endpoint, fixture: &Fixture) -> Vec<Dearest> {
    let id = endpoint.id.as_str();
    let families =
        [topics::dearest, bundles::dearest, drawers::dearest, folders::dearest, liveblogs::dearest, objects::dearest];
    let special = families.iter().find_map(|of| of(id, fixture)).or_else(|| people::dearest(id, fixture));
    let mut all = special.unwrap_or_else(|| vec![generic(endpoint, fixture)]);
    for one in &mut all {
        // A request that a reporter may not send costs no more than a refusal.
        let needed = match endpoint.privilege.as_deref() {
            Some("destroy" | "moderate" | "forceUnlock") => By::Editor,
            Some("manageGroups" | "configure") => By::Admin,
            _ => By::Reporter,
        };
        if one.by == By::Reporter {
            one.by = needed;
        }
    }
    all
}

/// Returns the most expensive request of an endpoint without particulars: the heaviest object as
/// its source, all optional parts, and the reply compressed.
fn generic(endpoint: &'static Endpoint, fixture: &Fixture) -> Dearest {
    let arguments: Vec<String> = endpoint.parameters().map(|name| argument(name, fixture)).collect();
    let arguments: Vec<&dyn std::fmt::Display> = arguments.iter().map(|argument| argument as _).collect();
    let request = compressed(shown(Request::new(&endpoint.id, &arguments)));
    let request = endpoint.query.iter().fold(request, |request, (name, _, required)| match name.as_str() {
        "id" | "path" | "source" | "loid" if !endpoint.older() || *required => {
            request.query(name, fixture.heavy_template())
        }
        "id" => request.query(name, &fixture.heavy()[0]),
        "loidsSource" => request.query(name, "/"),
        "contentType" | "type" if *required || takes_type(&endpoint.id) => request.query(name, "Story"),
        "product" => request.query(name, "HarbourCourier"),
        "fromIssueDate" => request.query(name, "20261124"),
        "node" => request.query(name, "subject"),
        _ => request,
    });
    if endpoint.body == "none" {
        return Dearest::repeated("whole reply, compressed", request);
    }
    Dearest::repeated("largest body that is no use", request.json(&filler()))
}

/// Reports whether an endpoint is about objects of this type.
fn takes_type(id: &str) -> bool {
    matches!(id, "old-siteconfig-get" | "old-resolve-path-get")
}

/// Returns a body of JSON as large as allowed, with a key that no call knows.
fn filler() -> Value {
    json!({ "unknown": crate::texts::text(16_000, 1) })
}

fn argument(name: &str, fixture: &Fixture) -> String {
    match name {
        "databaseId" => "1".to_owned(),
        "view" => "compact".to_owned(),
        _ => fixture.heavy()[0].clone(),
    }
}

/// Requests everything that the record of an object can show.
fn shown(request: Request) -> Request {
    const SWITCHES: [&str; 7] = [
        "showXml",
        "showPath",
        "showAdditionalInfo",
        "showUniquenessString",
        "showCorrelates",
        "showAttachment",
        "showExtraInfo",
    ];
    let endpoint = request.endpoint;
    SWITCHES.iter().filter(|name| endpoint.takes(name)).fold(request, |request, name| request.query(name, true))
}

/// Requests the most expensive kind of compression.
fn compressed(request: Request) -> Request {
    request.header("accept-encoding", "br")
}
