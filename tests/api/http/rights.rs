//! Endpoints that nobody serves yet, for a caller with rights below folders: they are refused or hidden already. Those that are served
//! are tried by calls that go well, in `endpoints::rights`.

use super::*;
use crate::api::endpoints::rights::{FOREIGN, HIDDEN, OWN, newsroom};
use crate::api::endpoints::{Corner, lasting};

/// An answer without what differs from call to call.
fn said(answer: &Answer, source: &str) -> (u16, String) {
    let (status, json) = lasting(answer);
    (status, json.to_string().replace(source, "*"))
}

#[test]
fn each_endpoint_is_refused_hidden_or_allowed_as_the_folder_of_its_object_says() {
    let (server, reporter) = newsroom();
    let corners = [HIDDEN, FOREIGN, OWN].map(|folder| Corner::of(&server, folder.to_owned()));
    let (mut faults, mut asked) = (Faults::default(), 0);
    for endpoint in Endpoint::all().iter().filter(|endpoint| !endpoint.implemented) {
        let Some(privilege) = endpoint.privilege.as_deref() else { continue };
        let refusal = if endpoint.older() { 401 } else { 403 };
        let denied = |answer: &Answer| endpoint.error(answer, refusal)["code"] == "CMS.PermissionDenied";
        let told = |what: &str, answer: &Answer| format!("{what}: {}", endpoint.told(answer));
        let call = |source: &str| endpoint.send(&reporter, &endpoint.call_with(source));
        let missing = call(NOWHERE);
        asked += 1;
        match endpoint.scope.as_str() {
            "server" => faults.expect(denied(&missing), || told("for the server", &missing)),
            "path" => {
                let target = |corner: &Corner| corner.story().to_string();
                let [hidden, foreign, own] = corners.each_ref().map(target);
                let state = || [&hidden, &foreign].map(|loid| corners[0].client.call("object-get", &[loid]).ok());
                let before = state();
                let answer = call(&hidden);
                let same = said(&answer, &hidden) == said(&missing, NOWHERE);
                faults.expect(answer.status == 404 && same, || told("hidden", &answer));
                faults.expect(answer.header("etag").is_none(), || told("hidden, and yet an ETag", &answer));
                let answer = call(&foreign);
                // Templates are read: what is created lies elsewhere.
                let reads = privilege == "read" || endpoint.path.contains("/template/");
                let well = if reads { !matches!(answer.status, 401 | 403 | 404) } else { denied(&answer) };
                faults.expect(well, || told("foreign", &answer));
                faults.expect(reads || state() == before, || format!("{}: something changed", endpoint.id));
                let answer = call(&own);
                faults.expect(!denied(&answer), || told("own", &answer));
            }
            // Each object that the body names is asked; nothing is named here.
            _ => faults.expect(!denied(&missing) || privilege == "create", || told("named", &missing)),
        }
    }
    assert!(asked > 10, "{asked}");
    faults.none();
}
