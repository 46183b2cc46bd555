//! A post as readers see it: what is public of it, and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use stet_base::limits::offload::offload_if_large;
use stet_content::text::decode_text;
use stet_content::words::{essence, is_text, read_of};
use stet_domain::error::Result;
use stet_domain::liveblog::Post;
use stet_domain::object::{Content, SharedText};
use stet_web::app::App;

use super::super::feed::updated;
use super::super::piece::bytes_of;
use super::clean::clean;
use super::picture;

/// The largest content of a post that is shown, in bytes.
const LONGEST: u64 = 64 << 10;

/// The longest summary that is shown, in characters.
const SUMMARY: usize = 1000;

/// The media types of pictures that can be scaled.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// A post on a public page.
pub(super) struct PublicPost {
    /// The uuid.
    pub uuid: String,
    pub title: SharedText,
    pub summary: String,
    /// The full name of the author, if there is one.
    pub byline: Option<String>,
    /// The time of the post, and that of its last change, in epoch milliseconds.
    pub published: u64,
    pub updated: u64,
    pub pinned: bool,
    /// The content as HTML, and its text; `None` if it is too long.
    pub body: Option<(String, String)>,
    /// The addresses and descriptions of the pictures that the content does not show itself.
    pub pictures: Vec<PublicPicture>,
    /// The address of the first picture.
    pub first_picture: Option<String>,
}

/// A picture beside the content of a post.
pub(super) struct PublicPicture {
    pub address: String,
    pub description: String,
}

/// Reports whether a content is a picture that is shown.
pub(super) fn is_picture(content: &Content) -> bool {
    PICTURES.contains(&&*essence(&content.content_type))
}

impl PublicPost {
    /// Reads a post for a page that has room for `room` bytes of its content. `None` if it was
    /// changed since this state of it.
    ///
    /// # Errors
    /// Errors of disk and store.
    pub async fn read(app: &App, liveblog: &str, post: &Post, room: usize) -> Result<Option<PublicPost>> {
        let uuid = post.record.uuid.to_string();
        let address = |content: &Content| picture::address(liveblog, &uuid, content);
        let attached: Vec<_> = post.attachments.iter().filter(|file| is_picture(&file.content)).collect();
        let named = attached.iter().map(|file| (file.name.to_string(), address(&file.content))).collect();
        let content = post.record.content.as_ref();
        let body = match content.filter(|content| is_text(&content.content_type)) {
            Some(content) if content.size > LONGEST.min(room as u64) => None,
            Some(content) => {
                let Some(bytes) = bytes_of(app, post, content).await? else { return Ok(None) };
                Some(body_of(content.content_type.clone(), bytes, named).await?).filter(|(html, _)| html.len() <= room)
            }
            None => Some((String::new(), String::new())),
        };
        let shown = body.as_ref().map_or("", |(html, _)| html);
        let own = content.filter(|content| is_picture(content)).map(|content| (address(content), ""));
        let beside = attached.iter().map(|file| (address(&file.content), &*file.name));
        let all: Vec<_> = own.into_iter().chain(beside).collect();
        let first_picture = all.first().map(|(address, _)| address.clone());
        // Addresses have no characters that HTML writes in another way.
        let beside = all.into_iter().filter(|(address, _)| !shown.contains(address.as_str()));
        let pictures = beside.map(|(address, _)| PublicPicture { address, description: post.title.to_string() });
        Ok(Some(PublicPost {
            title: post.title.clone(),
            summary: cut(&post.summary, SUMMARY),
            byline: byline(app, post.author()),
            published: post.timestamp,
            updated: updated(post),
            pinned: post.pinned,
            pictures: pictures.collect(),
            first_picture,
            body,
            uuid,
        }))
    }

    /// Returns the approximate size of the post on a page.
    pub fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |(html, _)| html.len()) + self.summary.len() + self.title.len()
    }

    /// Returns a line that stands for the post, never empty.
    pub fn headline(&self) -> String {
        let text = self.body.as_ref().map_or("", |(_, text)| text);
        let line = [&*self.title, &*self.summary, text].into_iter().find(|text| !text.trim().is_empty());
        cut(line.unwrap_or(&self.uuid), 110)
    }

    /// Returns a sentence about the post for previews; empty if it has no words.
    pub fn lead(&self) -> String {
        let text = self.body.as_ref().map_or("", |(_, text)| text);
        let line = [&*self.summary, text, &*self.title].into_iter().find(|text| !text.trim().is_empty());
        cut(line.unwrap_or_default(), 200)
    }
}

/// Returns a content as HTML and as text.
async fn body_of(content_type: Arc<str>, bytes: Bytes, pictures: HashMap<String, String>) -> Result<(String, String)> {
    let size = bytes.len();
    let work = move || {
        let text = read_of(&content_type, &decode_text(&content_type, &bytes));
        (clean(&content_type, &bytes, pictures), text)
    };
    offload_if_large(size, work).await
}

/// Returns the full name of a user. The name by which users log in is not public.
fn byline(app: &App, user: &str) -> Option<String> {
    let user = app.directory.user(user).ok().flatten()?;
    Some(user.full_name.to_string()).filter(|name| !name.trim().is_empty())
}

/// Returns the beginning of a text, at most `most` characters, with an ellipsis if it is shortened.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
