//! The requests on bundles and web containers, and those that open them.

use serde_json::json;

use super::{Dearest, compressed, shown};
use crate::fixture::Fixture;
use crate::wire::Request;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let on_bundle = |id: &str| Request::new(id, &[&fixture.bundle()]);
    let dearest = match id {
        "bundle-items-get" | "bundle-recursive-get" | "bundle-view-get" | "bundle-root-get" | "bundle-chain-get" => {
            Dearest::repeated(
                "bundle of 100 objects with nearly 4 MB of attributes each, br",
                compressed(shown(on_bundle(id))),
            )
        }
        "bundle-view-named-get" => {
            let view = Request::new(id, &[&fixture.bundle(), &"channels"]);
            Dearest::repeated("bundle of 100 objects with nearly 4 MB of attributes each, br", compressed(view))
        }
        "bundle-view-post" => {
            let body = json!({ "showXml": true, "sortBy": "name" });
            Dearest::repeated("bundle of 100 objects, as XML", compressed(on_bundle(id).json(&body)))
        }
        "bundle-view-named-post" => {
            let body = json!({ "showXml": true, "sortBy": "name" });
            let view = Request::new(id, &[&fixture.bundle(), &"channels"]).json(&body);
            Dearest::repeated("bundle of 100 objects, as XML", compressed(view))
        }
        "container-bundle-channelcopy-post" => {
            let (bundle, _) = fixture.heavy_bundle();
            let body = json!({ "channel": "Web", "inheritFrom": "Neutral" });
            Dearest::once("copy of a bundle with nearly 4 MB of attributes", Request::new(id, &[&bundle]).json(&body))
        }
        "container-bundle-channelcopy-actions-get" => {
            Dearest::repeated("actions of a bundle", compressed(on_bundle(id)))
        }
        "web-channelcopy-post" => {
            let body = json!({ "channel": "Web", "inheritFrom": "Neutral" });
            let request = Request::new(id, &[&fixture.web()]).json(&body);
            Dearest::once("copies of 199 bundles with nearly 4 MB of attributes each", request)
        }
        "opendocument-source-post" => Dearest::repeated(
            "web container of 199 bundles with nearly 4 MB of attributes each, br",
            compressed(Request::new(id, &[&fixture.web()]).json(&json!({ "showXml": true }))),
        ),
        "opendocument-post" => Dearest::repeated(
            "bundle of 100 objects with nearly 4 MB of attributes each, br",
            compressed(Request::new(id, &[]).json(&json!({ "source": fixture.bundle(), "showXml": true }))),
        ),
        "opendocuments-post" => Dearest::repeated(
            "bundle and web container of 300 objects with nearly 4 MB of attributes each, br",
            compressed(Request::new(id, &[]).json(&json!({ "sources": [fixture.bundle(), fixture.web()] }))),
        ),
        _ => return None,
    };
    Some(vec![dearest])
}
