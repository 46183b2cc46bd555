//! The requests on liveblogs and their posts.

use serde_json::json;

use super::{Dearest, compressed, shown};
use crate::fixture::{By, FOLDER, Fixture, id_in_info, post};
use crate::texts::{attributes, document, text};
use crate::wire::Request;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    if !id.contains("liveblog") {
        return None;
    }
    let on_blog = |id: &str| Request::new(id, &[&fixture.blog().0]);
    let new = || {
        json!({
            "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME",
            "attributes": attributes(3_900_000, 1),
        })
    };
    let dearest = match id {
        "liveblog-get" => Dearest::repeated("liveblog of 2,000 large posts, br", compressed(shown(on_blog(id)))),
        "liveblog-search-post" => {
            let words: Vec<_> = (0..1000).map(|seed| text(30, seed)).collect();
            let body = json!({ "filters": { "text": words, "title": words }, "sortBy": "title,-author" });
            Dearest::repeated("2,000 parts of texts in 2,000 large posts", compressed(on_blog(id).json(&body)))
        }
        "liveblog-content-get" => {
            Dearest::repeated("content with 2,000 large posts, br", compressed(on_blog(id).query("showDtd", true)))
        }
        "stet-liveblog-feed-get" => {
            let feed = Request::new(id, &[&fixture.blog().0, &"atom"]).query("limit", 1000);
            Dearest::repeated("feed of 1,000 posts, br", compressed(feed))
        }
        "stet-liveblog-events-get" => {
            Dearest::repeated("all stored events", on_blog(id).query("wait", false).query("lastEventId", 0))
        }
        "liveblog-posts-post" => {
            let body = json!({ "sources": fixture.blog().1, "showXml": true });
            Dearest::repeated("2,000 large posts, br", compressed(Request::new(id, &[]).json(&body)))
        }
        "liveblog-from-default-template-post" => {
            Dearest::repeated("liveblog with nearly 4 MB of attributes", Request::new(id, &[]).json(&new()))
        }
        "liveblog-from-template-post" => {
            let body = json!({ "name": fixture.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME" });
            let request = Request::new(id, &[&fixture.heavy_template()]).json(&body);
            Dearest::repeated("template with nearly 4 MB of attributes and of content", request)
        }
        "liveblog-put" => {
            let contents = [3_900_000, 3_800_000].map(|bytes| on_blog(id).bytes("text/xml", document(bytes)));
            Dearest::in_turn("content of nearly 4 MB", contents.into())
        }
        "liveblog-delete" => {
            let blog = fixture.blog().0;
            Dearest::once("liveblog of 2,000 large posts", Request::new(id, &[&blog]))
                .undone_by(By::Reporter, Request::new("stet-object-restore-post", &[&blog]))
        }
        "liveblog-post-create" => {
            let blog = fixture.empty_blog();
            Dearest::repeated("post with 3 MB of content", post(&blog, 0, 3_000_000))
        }
        _ if id.starts_with("stet-liveblog-posts-") => of_posts(id, fixture),
        _ => return Some(vec![of_post(id, fixture)]),
    };
    Some(vec![dearest])
}

/// Returns a change of all posts of a liveblog of large posts.
fn of_posts(id: &str, fixture: &Fixture) -> Dearest {
    let (blog, posts) = fixture.blog();
    let on_posts = |id: &str| Request::new(id, &[&blog]).json(&json!({ "sources": posts }));
    match id {
        "stet-liveblog-posts-delete" => {
            let blog = fixture.empty_blog();
            let made = fixture.build(By::Editor, 1000, |number| post(&blog, number, 30_000));
            let body = json!({ "sources": made.iter().map(id_in_info).collect::<Vec<_>>() });
            Dearest::once("1,000 large posts", Request::new(id, &[&blog]).json(&body))
        }
        "stet-liveblog-posts-put" => {
            let tags = (0..100).map(|seed| text(250, seed)).collect::<Vec<_>>();
            let turns = [true, false].map(|pinned| {
                let body = json!({ "sources": posts, "pinned": pinned, "removeTags": tags, "addTags": tags });
                Request::new(id, &[&blog]).json(&body)
            });
            Dearest::in_turn("pins and tags of 2,000 large posts", turns.into())
        }
        _ => {
            let approve = "stet-liveblog-posts-approve-post";
            let other = if id == approve { "stet-liveblog-posts-reject-post" } else { approve };
            Dearest::in_turn("states of 2,000 large posts", vec![on_posts(id), on_posts(other)])
        }
    }
    .by(By::Editor)
}

fn of_post(id: &str, fixture: &Fixture) -> Dearest {
    let (blog, posts) = fixture.blog();
    let on_post = |number: usize| Request::new(id, &[&blog, &posts[number]]);
    match id {
        "liveblog-post-put" => {
            let texts = [1, 2].map(|seed| {
                let options = json!({ "title": text(1020, seed), "attributes": attributes(1_000_000, seed) });
                on_post(0).form(&options, &[("content", "text/xml", &document(4_000_000))])
            });
            Dearest::in_turn("1 MB of attributes and 4 MB of content", texts.into())
        }
        "liveblog-post-delete" => Dearest::once("post of a liveblog of 2,000 large posts", on_post(1)),
        "stet-liveblog-post-attachment-get" => {
            let blog = fixture.empty_blog();
            let files: &[(&str, &str, &[u8])] = &[
                ("content", "text/xml", b"<post/>"),
                ("attachments", "text/plain", &text(30_000_000, 3).into_bytes()),
            ];
            let made = Request::new("liveblog-post-create", &[&blog]).form(&json!({}), files);
            let made = fixture.result(By::Reporter, &made);
            let [post, attachment] = [&made["info"]["id"], &made["attachments"][0]["id"]]
                .map(|id| id.as_str().expect("a post and its attachment have ids").to_owned());
            Dearest::repeated("attachment of 30 MB, br", compressed(Request::new(id, &[&blog, &post, &attachment])))
        }
        "liveblog-post-approve-post"
        | "liveblog-post-reject-post"
        | "liveblog-post-pending-post"
        | "liveblog-post-delete-post" => {
            let other = if id.contains("approve") { "liveblog-post-reject-post" } else { "liveblog-post-approve-post" };
            let turns = vec![on_post(2), Request::new(other, &[&blog, &posts[2]])];
            Dearest::in_turn("state of a post of a liveblog of 2,000 large posts", turns)
        }
        _ => Dearest::repeated("large post, br", compressed(shown(on_post(3)))),
    }
    .by(By::Editor)
}
