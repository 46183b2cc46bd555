//! The calls of posts, and the parts of the replies that the load needs.
//!
//! A post's title names the post, and its summary the step of its text.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use super::model::{PostAppearance, PostChange, PostId, PostState};
use crate::client::{Call, CallAnswer, FormFile};
use crate::desk::encode_segment;

/// The words of the load's texts.
pub const WORDS: &str = "The ferry is late and the harbour waits for news of it. ";
/// The number of posts that `list` reads.
pub const NEWEST: usize = 50;

/// The paths of the calls, and the sizes of posts.
#[derive(Debug, Clone, Default)]
pub struct PostCalls {
    /// The path of the liveblog's calls.
    liveblog: String,
    /// The size of a text in bytes.
    text: usize,
    /// The size of an attachment in bytes.
    attachment: usize,
}

impl PostCalls {
    /// Creates the calls for the liveblog with this loid.
    pub fn of(liveblog: &str, text_bytes: u32, attachment_bytes: u32) -> PostCalls {
        let liveblog = format!("/v3/container/liveblog/{}", encode_segment(liveblog));
        PostCalls { liveblog, text: text_bytes as usize, attachment: attachment_bytes as usize }
    }

    /// Returns the path of its events.
    pub fn events(&self) -> String {
        format!("{}/events", self.liveblog)
    }

    /// Returns the call of a change. `id` is the post's loid; a creation has none yet.
    pub fn change(&self, post: PostId, change: PostChange, id: &str) -> Call {
        let posts = format!("{}/post", self.liveblog);
        let one = |rest: &str| format!("{posts}/{}{rest}", encode_segment(id));
        let content = |text| FormFile { part: "content", name: "post.xml", media_type: "text/xml", text };
        match change {
            PostChange::Post { step, attached } => {
                let options = json!({ "title": title(post), "summary": summary(step) });
                let (text, attachment) = (self.text(post, step), "x".repeat(self.attachment));
                let attachment =
                    FormFile { part: "attachments", name: "notes.txt", media_type: "text/plain", text: &attachment };
                let files = [content(&text), attachment];
                Call::form(Method::POST, posts, &options, &files[..if attached { 2 } else { 1 }])
            }
            PostChange::Edit { step } => {
                let text = self.text(post, step);
                Call::form(Method::PUT, one(""), &json!({ "summary": summary(step) }), &[content(&text)])
            }
            PostChange::Set(status) => Call::new(Method::POST, one(&format!("/{}", status.verb()))),
            PostChange::Remove => Call::new(Method::DELETE, one("")),
        }
    }

    /// Returns the call that polls for changes after a revision.
    pub fn poll(&self, since: u64) -> Call {
        Call::json(Method::POST, &self.liveblog, &json!({ "since": since }))
    }

    /// Returns the call that reads some posts, from an offset on.
    pub fn list(&self, offset: usize, limit: usize) -> Call {
        Call::new(Method::GET, format!("{}?offset={offset}&limit={limit}", self.liveblog))
    }

    /// Returns the call that reads these posts.
    pub fn these(ids: &[String]) -> Call {
        Call::json(Method::POST, "/v3/container/liveblog/posts", &json!({ "sources": ids }))
    }

    /// Returns the text of a post after that step.
    fn text(&self, post: PostId, step: u32) -> String {
        let mut text = format!("<post id='{}' step='{step}'><p>", title(post));
        let room = self.text.saturating_sub(text.len() + "</p></post>".len());
        text.extend(WORDS.chars().cycle().skip(step as usize % WORDS.len()).take(room));
        text + "</p></post>"
    }

    /// Returns the visible state of a post whose title names `post`.
    pub fn look(&self, post: PostId, shown: &ShownPost<'_>) -> Option<PostAppearance> {
        let step = shown.summary.strip_prefix("text ").and_then(|step| step.parse().ok());
        let step = step.filter(|step| shown.content.as_deref() == Some(&self.text(post, *step)));
        let attached = match shown.attachments.as_slice() {
            [] => false,
            [one] if one.size == self.attachment as u64 => true,
            _ => return None,
        };
        Some(PostAppearance { step, status: PostState::named(&shown.status)?, attached })
    }
}

fn title(post: PostId) -> String {
    format!("{}/{}", post.client, post.number)
}

fn summary(step: u32) -> String {
    format!("text {step}")
}

#[derive(Deserialize)]
struct PostEnvelope<T> {
    result: T,
}

/// A post in a reply.
#[derive(Debug, Deserialize)]
pub struct ShownPost<'a> {
    #[serde(borrow)]
    info: ShownPostInfo<'a>,
    #[serde(borrow, default)]
    title: Cow<'a, str>,
    #[serde(borrow, default)]
    summary: Cow<'a, str>,
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    /// The time of the post, in epoch milliseconds.
    #[serde(default)]
    pub timestamp: u64,
    content: Option<String>,
    #[serde(default)]
    attachments: Vec<AttachmentReply>,
    /// The liveblog's revision, if the post is shown alone.
    pub revision: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ShownPostInfo<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    revision: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct AttachmentReply {
    #[serde(default)]
    size: u64,
}

impl ShownPost<'_> {
    /// Returns the loid.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// Returns the liveblog's revision at the post's last change.
    pub fn changed(&self) -> Option<u64> {
        self.info.revision
    }

    /// Returns the post that its title names.
    pub fn post(&self) -> Option<PostId> {
        let (client, number) = self.title.split_once('/')?;
        Some(PostId { client: client.parse().ok()?, number: number.parse().ok()? })
    }
}

/// The answer to a removal.
#[derive(Debug, Deserialize)]
pub struct RemovalReply<'a> {
    /// The post's loid.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The liveblog's revision.
    pub revision: Option<u64>,
}

/// Posts of a liveblog.
#[derive(Debug, Deserialize)]
pub struct PostsReply<'a> {
    #[serde(default)]
    info: PostListingInfo,
    /// The requested posts.
    #[serde(borrow)]
    pub items: Vec<ShownPost<'a>>,
    /// The number of all matching posts, beyond the page.
    #[serde(default)]
    pub total: u64,
    /// The liveblog's revision.
    pub revision: Option<u64>,
    /// The loids of removed posts, in a reply to a poll.
    #[serde(default)]
    pub removed: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostListingInfo {
    #[serde(default)]
    post_counts: std::collections::BTreeMap<String, u64>,
}

impl PostsReply<'_> {
    /// Returns the number of posts by state, in the order of [`PostState::ALL`].
    pub fn counts(&self) -> [u64; 4] {
        PostState::ALL.map(|status| self.info.post_counts.get(status.name()).copied().unwrap_or(0))
    }
}

/// Parses the reply to a change that leaves a post.
pub fn parse_shown_post(answer: &CallAnswer) -> Option<ShownPost<'_>> {
    serde_json::from_slice::<PostEnvelope<_>>(&answer.body).ok().map(|envelope| envelope.result)
}

/// Parses the reply to a removal.
pub fn parse_removal(answer: &CallAnswer) -> Option<RemovalReply<'_>> {
    serde_json::from_slice::<PostEnvelope<_>>(&answer.body).ok().map(|envelope| envelope.result)
}

/// Parses the reply to a poll or a listing.
pub fn posts(answer: &CallAnswer) -> Option<PostsReply<'_>> {
    serde_json::from_slice::<PostEnvelope<_>>(&answer.body).ok().map(|envelope| envelope.result)
}

/// Returns a hash of a post in its visible state at its last change; `None` for a removed post. The
/// hashes of several posts are joined by exclusive or, so that their order does not matter and one
/// can be removed again.
pub fn print(id: &str, changed: u64, look: Option<PostAppearance>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (id, look.map(|look| (changed, look))).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: PostId = PostId { client: 3, number: 17 };

    fn forms() -> PostCalls {
        PostCalls::of("1$1.0.9", 100, 5)
    }

    #[test]
    fn calls_are_the_interfaces() {
        let said =
            |call: &Call| format!("{} {}", call.method, call.path.replace("/v3/container/liveblog/1%241.0.9", "…"));
        let forms = forms();
        let change = |change| forms.change(POST, change, "1$1.0.20");
        assert_eq!(said(&change(PostChange::Post { step: 1, attached: false })), "POST …/post");
        assert_eq!(said(&change(PostChange::Edit { step: 1 })), "PUT …/post/1%241.0.20");
        assert_eq!(said(&change(PostChange::Set(PostState::Approved))), "POST …/post/1%241.0.20/approve");
        assert_eq!(said(&change(PostChange::Set(PostState::Deleted))), "POST …/post/1%241.0.20/delete");
        assert_eq!(said(&change(PostChange::Remove)), "DELETE …/post/1%241.0.20");
        assert_eq!(said(&forms.poll(7)), "POST …");
        assert_eq!(forms.poll(7).body, "{\"since\":7}");
        assert_eq!(said(&forms.list(0, 50)), "GET …?offset=0&limit=50");
        let form = |attached| {
            let call = change(PostChange::Post { step: 4, attached });
            String::from_utf8(call.body.to_vec()).unwrap()
        };
        assert!(form(false).contains("{\"title\":\"3/17\",\"summary\":\"text 4\"}"));
        assert_eq!((form(false).matches("filename=").count(), form(true).matches("filename=").count()), (1, 2));
        assert!(form(true).contains("\r\n\r\nxxxxx\r\n"));
        assert_eq!(forms.text(POST, 4).len(), 100);
    }

    /// Returns a reply with this content and these attachments.
    fn answer(content: &str, attachments: &str) -> CallAnswer {
        let body = format!(
            r#"{{"status":"success","result":{{"info":{{"id":"1$1.0.20","revision":8,"name":"x"}},"status":"pending","title":"3/17",
            "summary":"text 4","timestamp":5,"content":"{content}","attachments":[{attachments}],"revision":9}}}}"#
        );
        CallAnswer { status: 200, etag: None, body: body.into() }
    }

    #[test]
    fn a_post_looks_as_it_was_written_or_is_distinguished() {
        let forms = forms();
        let look = |content: &str, attachments| {
            let answer = answer(content, attachments);
            let shown = parse_shown_post(&answer).unwrap();
            assert_eq!(
                (shown.id(), shown.changed(), shown.revision, shown.timestamp),
                ("1$1.0.20", Some(8), Some(9), 5)
            );
            assert_eq!(shown.post(), Some(POST));
            forms.look(POST, &shown)
        };
        let text = forms.text(POST, 4);
        let whole = PostAppearance { step: Some(4), status: PostState::Pending, attached: false };
        assert_eq!(look(&text, ""), Some(whole));
        assert_eq!(look(&text, "{\"size\":5}"), Some(PostAppearance { attached: true, ..whole }));
        assert_eq!(look(&text, "{\"size\":4}"), None, "an attachment that is cut short");
        assert_eq!(look(&text, "{\"size\":5},{\"size\":5}"), None);
        assert_eq!(look(&forms.text(POST, 3), ""), Some(PostAppearance { step: None, ..whole }), "an older text");
        let prints =
            [Some(whole), Some(PostAppearance { step: Some(5), ..whole }), None].map(|look| print("a", 8, look));
        assert!(prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != print("a", 9, Some(whole)));
    }

    #[test]
    fn a_listing_is_read_with_its_counts_and_what_is_gone() {
        let body = r#"{"result":{"info":{"id":"1$1.0.9","postCounts":{"approved":2,"deleted":1}},"items":[],"total":3,
            "revision":12,"removed":["1$1.0.4"]}}"#;
        let answer = CallAnswer { status: 200, etag: None, body: body.into() };
        let posts = posts(&answer).unwrap();
        assert_eq!((posts.counts(), posts.total, posts.revision), ([0, 2, 0, 1], 3, Some(12)));
        assert_eq!(posts.removed, ["1$1.0.4"]);
    }
}
