//! The requests on objects: content, versions, links and locations, and what is computed from them.

use serde_json::{Value, json};

use super::{Dearest, compressed, shown};
use crate::fixture::{By, FOLDER, Fixture};
use crate::texts::{attributes, document, text};
use crate::wire::Request;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let found = reading(id, fixture).or_else(|| creating(id, fixture)).or_else(|| changing(id, fixture));
    found.or_else(|| ending(id, fixture)).or_else(|| computing(id, fixture))
}

/// Returns a list of 10,000 sources.
fn list(fixture: &Fixture) -> Value {
    json!({ "sources": &fixture.small()[..10_000], "showXml": true, "showPath": true })
}

fn reading(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let heavy = || Request::new(id, &[&fixture.heavy()[0]]);
    let dearest = match id {
        "object-get" => {
            return Some(vec![
                Dearest::repeated(
                    "object with 99,000 elements in its attributes, as XML and JSON, br",
                    compressed(shown(Request::new(id, &[&fixture.many()]))),
                ),
                Dearest::repeated("path of 64 names of 200 bytes", shown(Request::new(id, &[&fixture.deep()]))),
            ]);
        }
        "stet-object-list-post" => {
            return Some(vec![
                Dearest::repeated("10,000 sources, br", compressed(Request::new(id, &[]).json(&list(fixture)))),
                Dearest::repeated(
                    "100 sources with nearly 4 MB of attributes each, br",
                    compressed(Request::new(id, &[]).json(&json!({ "sources": fixture.heavy(), "showXml": true }))),
                ),
            ]);
        }
        "object-family-get" => Dearest::repeated(
            "family of 100 objects with nearly 4 MB of attributes each, br",
            compressed(shown(heavy())),
        ),
        "stet-object-correlates-get" => {
            Dearest::repeated("99 linked objects with nearly 4 MB of attributes each, br", compressed(shown(heavy())))
        }
        "stet-old-object-linked-get" => {
            let request = Request::new(id, &[]).query("id", &fixture.heavy()[0]);
            Dearest::repeated("99 linked objects with nearly 4 MB of attributes each", compressed(request))
        }
        "stet-recyclebin-get" => {
            fixture.bin();
            let request = Request::new(id, &[]).query("sortBy", "-modified,creator,name");
            Dearest::repeated("10,000 entries sorted, br", compressed(shown(request)))
        }
        "stet-object-versions-get" => {
            Dearest::repeated("1,000 versions, br", compressed(shown(Request::new(id, &[&fixture.versions()]))))
        }
        "stet-object-content-get" | "stet-object-content-binary-get" => {
            Dearest::repeated("content of 4 MB, br", compressed(heavy().query("showDtd", true)))
        }
        "stet-object-loid-content-get" => {
            let request = Request::new(id, &[]).query("loid", &fixture.heavy()[0]).query("showDtd", true);
            Dearest::repeated("content of 4 MB, br", compressed(request))
        }
        "stet-object-content-format-get" => {
            let request = Request::new(id, &[&fixture.picture(), &"lowres"]);
            Dearest::repeated("preview of a picture of 29 million pixels", request)
        }
        "stet-container-events-get" => {
            let request = Request::new(id, &[&fixture.topic()]).query("wait", false).query("lastEventId", 0);
            Dearest::repeated("all stored events of the largest topic", request)
        }
        _ => return None,
    };
    Some(vec![dearest])
}

fn creating(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let options = || {
        json!({
            "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME", "type": "Story",
            "attributes": attributes(1_000_000, 6),
        })
    };
    let upload = text(32_000_000, 6).into_bytes();
    let dearest = match id {
        "stet-object-create-post" | "stet-old-object-story-post" => {
            let request = Request::new(id, &[]).form(&options(), &[("content", "text/xml", &upload)]);
            Dearest::repeated("1 MB of attributes and 32 MB of content", request)
        }
        "stet-object-import-post" => {
            let mut options = options();
            let fields = options.as_object_mut().expect("options are an object");
            fields.remove("createMode");
            fields.insert("uuid".to_owned(), json!(format!("0198a000-0000-7000-8000-{:012}", std::process::id())));
            let request = Request::new(id, &[]).form(&options, &[("content", "text/xml", &upload)]);
            Dearest::once("1 MB of attributes and 32 MB of content", request)
        }
        "stet-object-create-from-template-post" | "stet-object-story-from-template-post" => {
            let body = json!({ "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME" });
            let request = Request::new(id, &[]).query("path", fixture.heavy_template()).json(&body);
            Dearest::repeated("template with nearly 4 MB of attributes and of content", request)
        }
        _ => return None,
    };
    Some(vec![dearest])
}

fn changing(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let heavy = || Request::new(id, &[&fixture.heavy()[1]]);
    let dearest = match id {
        "stet-object-metadata-change-fields-post" => return Some(fields(id, fixture)),
        "stet-object-status-post" => {
            let statuses = ["Story/Edited", "Story/Ready"].map(|status| heavy().json(&json!({ "status": status })));
            Dearest::in_turn("object with nearly 4 MB of attributes", statuses.into())
        }
        "stet-objects-status-post" => {
            let statuses = ["Story/Edited", "Story/Ready"].map(|status| {
                let body = json!({ "sources": &fixture.small()[..10_000], "status": status });
                Request::new(id, &[]).json(&body)
            });
            Dearest::in_turn("10,000 objects", statuses.into())
        }
        "stet-object-rename-post" => {
            let names = ["heavy-a", "heavy-b"].map(|name| heavy().json(&json!({ "name": name })));
            Dearest::in_turn("object with nearly 4 MB of attributes", names.into())
        }
        "stet-object-move-post" => {
            // A move of more than some hundred objects is accepted only if no object gets deeper.
            let path = format!("{FOLDER}/there/moved");
            fixture.objects(10_000, &path);
            let places = ["/Costs/there", "/Costs/back"].map(|folder| {
                fixture.result(By::Reporter, &Request::new("folder-post", &[]).json(&json!({ "path": folder })));
                folder
            });
            let record = fixture.result(By::Reporter, &Request::new("object-get", &[&path]));
            let folder = crate::fixture::id(&record);
            let turns = places.map(|place| Request::new(id, &[&folder]).json(&json!({ "folder": place })));
            Dearest::in_turn("folder with 10,000 objects", turns.into())
        }
        "stet-object-content-put" => {
            let contents = [3_900_000, 3_800_000].map(|bytes| heavy().bytes("text/xml", document(bytes)));
            Dearest::in_turn("content of nearly 4 MB", contents.into())
        }
        "stet-object-loid-content-put" => {
            let contents = [31_000_000, 32_000_000].map(|bytes| {
                let request = Request::new(id, &[]).query("loid", &fixture.heavy()[1]);
                request.bytes("text/plain", text(bytes, 4).into_bytes())
            });
            Dearest::in_turn("content of 32 MB", contents.into())
        }
        "stet-object-version-restore-post" => {
            let turns = [1, 2].map(|version| Request::new(id, &[&fixture.versions(), &version]));
            Dearest::in_turn("one of 1,000 versions", turns.into())
        }
        "stet-object-lock-post" | "stet-object-unlock-post" => {
            let turns = ["stet-object-lock-post", "stet-object-unlock-post"]
                .map(|id| Request::new(id, &[&fixture.heavy()[2]]).json(&json!({ "showXml": true })));
            Dearest::in_turn("object with nearly 4 MB of attributes, locked and unlocked", turns.into())
        }
        "stet-object-correlate-post" | "stet-object-uncorrelate-post" => {
            let body = json!({ "sourceLinkName": "a", "targetLinkName": "b", "targetSource": fixture.heavy()[4] });
            let turns = ["stet-object-correlate-post", "stet-object-uncorrelate-post"]
                .map(|id| Request::new(id, &[&fixture.heavy()[3]]).json(&body));
            Dearest::in_turn("objects with nearly 4 MB of attributes, linked and parted", turns.into())
        }
        _ => return None,
    };
    Some(vec![dearest])
}

fn fields(id: &str, fixture: &Fixture) -> Vec<Dearest> {
    let set = |content: &str| {
        let operators: Vec<_> = (0..20)
            .map(|number| json!({ "set": { "xpath": format!("/attributes/story/f{number}"), "content": content } }))
            .collect();
        let entry = json!({ "sourceIds": &fixture.small()[..10_000], "operators": operators });
        Request::new(id, &[]).json(&json!({ "updateFields": [entry] }))
    };
    let many = |content: &str| {
        let operators = json!([{ "set": { "xpath": "/attributes/story/keyword", "content": content } }]);
        let entry = json!({ "sourceIds": [fixture.many()], "operators": operators });
        Request::new(id, &[]).json(&json!({ "updateFields": [entry] }))
    };
    vec![
        Dearest::in_turn("20 fields of 10,000 objects", vec![set("a"), set("b")]),
        Dearest::in_turn("99,000 elements of one object", vec![many("a"), many("b")]),
    ]
}

fn ending(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let restore = |object: &str| Request::new("stet-object-restore-post", &[&object]);
    let dearest = match id {
        "object-discard" => {
            fixture.topics();
            let object = &fixture.heavy()[0];
            let hangs = Dearest::once("object that hangs on 30 large topics", Request::new(id, &[object]))
                .undone_by(By::Reporter, restore(object));
            let folder = format!("{FOLDER}/hundred");
            let topics = fixture.large_topics(100, &folder);
            let whole =
                Dearest::once(&format!("folder with {} large topics", topics.len()), Request::new(id, &[&folder]));
            return Some(vec![hangs, whole]);
        }
        "object-destroy" => {
            let folder = format!("{FOLDER}/ended");
            let topics = fixture.large_topics(100, &folder);
            Dearest::once(&format!("folder with {} large topics", topics.len()), Request::new(id, &[&folder]))
        }
        "old-pageplan-delete" => {
            let plan = fixture.object(&json!({ "type": "PagePlan" }), b"<plan/>", "text/xml");
            Dearest::once("page plan", Request::new(id, &[]).query("source", plan))
        }
        "objects-discard" => {
            let objects = fixture.objects(10_000, &format!("{FOLDER}/list"));
            Dearest::once("10,000 objects", Request::new(id, &[]).json(&json!(objects)))
        }
        "objects-destroy" => {
            let objects = fixture.objects(10_000, &format!("{FOLDER}/list-ended"));
            Dearest::once("10,000 objects", Request::new(id, &[]).json(&json!(objects)))
        }
        "stet-object-restore-post" => {
            let folder = format!("{FOLDER}/restored");
            fixture.large_topics(30, &folder);
            let record = fixture.result(By::Reporter, &Request::new("object-get", &[&folder]));
            let folder = crate::fixture::id(&record);
            fixture.result(By::Reporter, &Request::new("object-discard", &[&folder]));
            Dearest::once("folder with 30 large topics", restore(&folder))
        }
        _ => return None,
    };
    Some(vec![dearest])
}

fn computing(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let dearest = match id {
        "crossreference-get-post" => {
            let body = json!({ "xpath": "//p[contains(.,'a')]", "sources": fixture.heavy() });
            Dearest::repeated("100 contents of 4 MB", compressed(Request::new(id, &[]).json(&body)))
        }
        "crossreference-set-post" => {
            let turns = ["a", "b"].map(|target| {
                let body = json!({ "xpath": "/story/p[2]", "index": 0, "target": target });
                Request::new(id, &[&fixture.many()]).json(&body)
            });
            Dearest::in_turn("content of 4 MB", turns.into())
        }
        "stet-print-story-preview-post" => {
            let content = format!("<story><p>{}</p></story>", text(199_000, 8));
            let body = json!({ "content": content, "op": "preview", "parameters": { "border": "yes", "page": 40 } });
            let request = Request::new(id, &[]).query("id", &fixture.heavy()[0]).query("getPdf", true).json(&body);
            Dearest::repeated("40 pages with a PDF", request)
        }
        "conf-resolvepath-get" => {
            let object =
                fixture.object(&json!({ "type": "Story", "workFolder": "/News/City" }), b"<story/>", "text/xml");
            Dearest::repeated("story of a work folder", compressed(Request::new(id, &[&object])))
        }
        "conf-xmlfile-get" => {
            let request = Request::new(id, &[]).query("path", "/SysConfig/Site/siteconfig.xml");
            Dearest::repeated("site configuration, br", compressed(request))
        }
        "conf-pageaccessories-post" | "conf-shapetemplates-source-list-post" => {
            let body = json!({ "channel": "Web", "workFolder": "/News/City", "showXml": true });
            let request = Request::new(id, &[&fixture.heavy()[0]]).json(&body);
            Dearest::repeated("object with nearly 4 MB of attributes", compressed(request))
        }
        "conf-shapetemplates-list-post" => {
            Dearest::repeated("all templates", compressed(Request::new(id, &[]).json(&json!({ "channel": "Tabloid" }))))
        }
        _ => return None,
    };
    Some(vec![dearest])
}
