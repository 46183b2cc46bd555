//! The states of a post (docs/api/posts.md, "States").

use super::*;

const CALLS: [(&str, &str); 4] =
    [("pending", "pending"), ("approve", "approved"), ("reject", "rejected"), ("delete", "deleted")];

#[test]
fn every_post_status_is_reachable_from_every_other_and_kept_in_history() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let mut history = vec![(Value::Null, json!("approved"))];
    let mut at = "approved";
    let all = CALLS.iter().flat_map(|from| CALLS.iter().flat_map(move |to| [from, to]));
    for (call, state) in all {
        let before = blog.read_post(&post).ok();
        let reply = as_read(blog.set(&post, call).gives(&json!({ "status": state, "formerStatus": at })));
        if at == *state {
            assert_eq!(reply, before, "the same state again changes nothing");
        } else {
            history.push((json!(at), json!(state)));
        }
        at = state;
        assert_eq!(blog.read_post(&post).ok(), reply);
    }
    let read = blog.read_post(&post).ok();
    let changes = read["history"].as_array().expect("a post has a history").iter();
    let told: Vec<(Value, Value)> = changes.map(|change| (change["from"].clone(), change["to"].clone())).collect();
    assert_eq!(told, history);
    let counts = json!({ "pending": 0, "approved": 0, "rejected": 0, "deleted": 1 });
    blog.read().gives(&json!({ "info": { "postCounts": counts } }));
}

#[test]
fn new_posts_are_pending_if_moderated_or_if_the_author_cannot_moderate() {
    let blog = Blog::new();
    let status = |blog: &Blog, client: &Client, options: Value| {
        blog.read_post(&blog.post_by(client, &options, "x")).by(client).ok()["status"].clone()
    };
    assert_eq!(status(&blog, &blog.editor, json!({})), "approved");
    assert_eq!(status(&blog, &blog.editor, json!({ "moderated": true })), "pending");
    assert_eq!(status(&blog, &user("reporter"), json!({})), "pending");
    let make = |moderated: Value| {
        let body =
            json!({ "name": "m", "folderPath": blog.folder, "moderated": moderated, "createMode": "NEW_VERSION" });
        blog.editor.call("liveblog-from-default-template-post", &[]).json(&body)
    };
    let loid = id(&make(json!(true)).ok());
    let moderated = Blog { loid, folder: blog.folder.clone(), editor: blog.editor.clone() };
    assert_eq!(status(&moderated, &moderated.editor, json!({})), "pending");
    moderated.read().gives(&json!({ "info": { "moderated": true } }));
    // A repeated creation sets whether posts wait from now on, or leaves it unchanged.
    for (said, is, made) in
        [(json!(false), false, "approved"), (Value::Null, false, "approved"), (json!(true), true, "pending")]
    {
        make(said.clone()).gives(&json!({ "info": { "id": moderated.loid, "moderated": is } }));
        assert_eq!(status(&moderated, &moderated.editor, json!({})), made, "{said}");
    }
}

#[test]
fn authors_who_cannot_moderate_only_set_own_posts_pending_or_deleted() {
    let blog = Blog::new();
    for author in ["reporter", "contributor"].map(user) {
        let own = blog.post_by(&author, &json!({ "title": "mine" }), "one");
        let set = |call: &str| blog.set(&own, call).by(&author).send();
        for call in ["approve", "reject"] {
            set(call).fails(403, "PermissionDenied");
        }
        set("delete").ok();
        set("pending").fails(403, "PermissionDenied");
        blog.set(&own, "approve").ok();
        assert_eq!(set("pending").ok()["status"], "pending");

        blog.set(&own, "approve").ok();
        let edit = |options: Value| blog.update(&own, &options, &[]).by(&author);
        // An edit that changes nothing takes no approval back.
        edit(json!({})).gives(&json!({ "status": "approved" }));
        edit(json!({ "title": "better" })).gives(&json!({ "title": "better", "status": "pending" }));
        blog.remove(&own).by(&author).ok();
    }
}

#[test]
fn a_post_of_somebody_else_is_not_written_over_without_moderate() {
    let blog = Blog::new();
    let options = |mode: &str| json!({ "timestamp": 1000, "createMode": mode });
    let post = blog.post(&options("EXCEPTION"), "editor's");
    for mode in ["REPLACE", "NEW_VERSION"] {
        let call = blog.new_post(&options(mode), &[("content", "c", "text/plain", b"x")]);
        call.by(&user("reporter")).fails(403, "PermissionDenied");
    }
    blog.read_post(&post).gives(&json!({ "content": "<post><p>editor's</p></post>" }));
}
