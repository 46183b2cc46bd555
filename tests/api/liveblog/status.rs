//! The states of a post (docs/api/posts.md, "States").

use super::*;

const CALLS: [(&str, &str); 4] =
    [("pending", "pending"), ("approve", "approved"), ("reject", "rejected"), ("delete", "deleted")];

#[test]
fn every_state_is_reached_from_every_state_and_each_change_is_in_the_history() {
    let blog = Blog::new();
    let post = blog.post(&json!({}), "one");
    let mut history = vec![(Value::Null, json!("approved"))];
    let mut at = "approved";
    let all = CALLS.iter().flat_map(|from| CALLS.iter().flat_map(move |to| [from, to]));
    for (call, state) in all {
        let before = blog.read_post(&blog.editor, &post);
        let reply = blog.set(&blog.editor, &post, call).ok();
        assert_eq!(reply["status"], *state, "{call}");
        if at == *state {
            assert_eq!(reply, before, "the same state again changes nothing");
        } else {
            history.push((json!(at), json!(state)));
        }
        at = state;
        assert_eq!(blog.read_post(&blog.editor, &post), reply);
    }
    let read = blog.read_post(&blog.editor, &post);
    let told: Vec<(Value, Value)> = read["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["from"].clone(), change["to"].clone()))
        .collect();
    assert_eq!(told, history);
    let counts = &blog.read(&blog.editor, "")["info"]["postCounts"];
    assert_eq!(*counts, json!({ "pending": 0, "approved": 0, "rejected": 0, "deleted": 1 }));
}

#[test]
fn a_new_post_waits_if_it_or_the_liveblog_is_moderated_or_its_author_does_not_moderate() {
    let blog = Blog::new();
    let status = |blog: &Blog, client: &Client, options: Value| {
        blog.read_post(client, &blog.post_by(client, &options, "x"))["status"].as_str().unwrap().to_owned()
    };
    let reporter = Server::shared().login("reporter");
    assert_eq!(status(&blog, &blog.editor, json!({})), "approved");
    assert_eq!(status(&blog, &blog.editor, json!({ "moderated": true })), "pending");
    assert_eq!(status(&blog, &reporter, json!({})), "pending");
    let body = json!({ "name": "m", "folderPath": blog.folder, "moderated": true });
    let loid = blog.editor.post(CREATE, &body).ok()["info"]["id"].as_str().unwrap().to_owned();
    let moderated = Blog { loid, ..blog };
    assert_eq!(status(&moderated, &moderated.editor, json!({})), "pending");
    assert_eq!(moderated.read(&moderated.editor, "")["info"]["moderated"], true);
    // Whoever creates it again says whether posts wait from now on, or leaves it as it is.
    for (said, is, made) in
        [(json!(false), false, "approved"), (Value::Null, false, "approved"), (json!(true), true, "pending")]
    {
        let again =
            json!({ "name": "m", "folderPath": moderated.folder, "moderated": said, "createMode": "NEW_VERSION" });
        let info = moderated.editor.post(CREATE, &again).ok()["info"].take();
        assert_eq!((&info["id"], &info["moderated"]), (&json!(moderated.loid), &json!(is)), "{said}");
        assert_eq!(status(&moderated, &moderated.editor, json!({})), made, "{said}");
    }
}

#[test]
fn an_author_who_does_not_moderate_sets_their_own_posts_pending_or_deleted_and_no_more() {
    let blog = Blog::new();
    for author in ["reporter", "contributor"] {
        let author = Server::shared().login(author);
        let own = blog.post_by(&author, &json!({ "title": "mine" }), "one");
        for call in ["approve", "reject"] {
            blog.set(&author, &own, call).fails(403, "PermissionDenied");
        }
        blog.set(&author, &own, "delete").ok();
        blog.set(&author, &own, "pending").fails(403, "PermissionDenied");
        blog.set(&blog.editor, &own, "approve").ok();
        assert_eq!(blog.set(&author, &own, "pending").ok()["status"], "pending");

        let others = blog.post(&json!({}), "editor's");
        let before = blog.read_post(&blog.editor, &others);
        for call in ["pending", "delete", "approve", "reject"] {
            blog.set(&author, &others, call).fails(403, "PermissionDenied");
        }
        blog.update(&author, &others, &json!({ "title": "x" }), &[]).fails(403, "PermissionDenied");
        author.delete(&blog.post_path(&others, "")).fails(403, "PermissionDenied");
        assert_eq!(blog.read_post(&blog.editor, &others), before);

        blog.set(&blog.editor, &own, "approve").ok();
        let same = blog.update(&author, &own, &json!({}), &[]).ok();
        assert_eq!(same["status"], "approved", "an edit that changes nothing takes no approval back");
        let edited = blog.update(&author, &own, &json!({ "title": "better" }), &[]).ok();
        assert_eq!((&edited["title"], &edited["status"]), (&json!("better"), &json!("pending")));
        author.delete(&blog.post_path(&own, "")).ok();
    }
    let reader = Server::shared().login("reader");
    let seen = blog.post(&json!({}), "for all");
    blog.try_post(&reader, &json!({}), &[("content", "c", "text/plain", b"x")]).fails(403, "PermissionDenied");
    blog.update(&reader, &seen, &json!({}), &[]).fails(403, "PermissionDenied");
    blog.set(&reader, &seen, "delete").fails(403, "PermissionDenied");
    reader.delete(&blog.post_path(&seen, "")).fails(403, "PermissionDenied");
}

#[test]
fn a_post_of_somebody_else_is_not_written_over_without_moderate() {
    let blog = Blog::new();
    let options = |mode: &str| json!({ "timestamp": 1000, "createMode": mode });
    let post = blog.post(&options("EXCEPTION"), "editor's");
    let reporter = Server::shared().login("reporter");
    for mode in ["REPLACE", "NEW_VERSION"] {
        let files: [File<'_>; 1] = [("content", "c", "text/plain", b"x")];
        blog.try_post(&reporter, &options(mode), &files).fails(403, "PermissionDenied");
    }
    assert_eq!(blog.read_post(&blog.editor, &post)["content"], "<post><p>editor's</p></post>");
}
