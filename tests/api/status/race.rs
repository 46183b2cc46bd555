//! Closing a liveblog while many post in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

/// Posts without pause until one is refused because the liveblog is closed. `closed` is set once
/// the change of status was acknowledged: no post that is sent after that may be accepted.
fn post_until_closed(client: &Client, blog: &str, closed: &AtomicBool) -> usize {
    let files = [("content", "post.xml", "text/xml", &b"<post/>"[..])];
    let mut accepted = 0;
    loop {
        let after_close = closed.load(Ordering::SeqCst);
        let answer = client.call("liveblog-post-create", &[&blog]).form(&json!({}), &files).send();
        if answer.status == 409 {
            answer.fails(409, "InvalidForContainer");
            return accepted;
        }
        answer.ok();
        assert!(!after_close, "a post was accepted after the liveblog had been closed");
        accepted += 1;
    }
}

#[test]
fn no_post_is_accepted_after_the_close_was_acknowledged() {
    let desk = Desk::new();
    for round in 0..3 {
        let blog = desk.editor.liveblog(&desk.folder, &format!("night{round}"));
        let closed = AtomicBool::new(false);
        let clients: Vec<Client> = (0..6).map(|_| Server::shared().user("reporter").afresh()).collect();
        let (blog, closed) = (&*blog, &closed);
        let accepted: usize = thread::scope(|scope| {
            let post = |client| scope.spawn(move || post_until_closed(client, blog, closed));
            let posting: Vec<_> = clients.iter().map(post).collect();
            // Some posts are in it, and others are on their way.
            while desk.editor.call("liveblog-get", &[&blog]).ok()["total"].as_u64().unwrap_or_default() < 20 {}
            set(&desk.editor, blog, "LiveBlog/Closed").ok();
            closed.store(true, Ordering::SeqCst);
            posting.into_iter().map(|thread| thread.join().expect("it ends well")).sum()
        });
        let posts = desk.editor.call("liveblog-get", &[&blog]).ok();
        assert_eq!(posts["total"], json!(accepted), "all that were accepted are there, and no others");
    }
}
