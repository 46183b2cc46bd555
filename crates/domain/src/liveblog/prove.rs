//! The check of a liveblog's rows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::rows::{HEAD, LiveblogHead, POST, Post, REMOVED_POST, RemovedPost};
use crate::id::Loid;
use crate::object::{ContentLocation, Record, name_key};
use crate::part::{ATTACHMENT_BODY, attachment_body};
use crate::proof::{HeadState, Proof, place_of};
use crate::store::StoreError;

/// The facts about a liveblog's parts that are checked together.
#[derive(Default)]
struct LiveblogFacts {
    /// Name, in its form for comparison, → post.
    named: BTreeMap<Bytes, Loid>,
    posts: BTreeSet<Loid>,
    removed: BTreeSet<Loid>,
    /// The ids of attachments whose bytes are in rows.
    small: BTreeSet<u64>,
}

/// Checks a liveblog's rows. It has a head. Every post has its latest version, the bytes of its
/// attachments, and a unique name. No post is also noted as removed. All bytes of attachments
/// belong to a post.
pub(super) fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
    let liveblog = record.loid;
    let head = proof.head::<LiveblogHead>(record, HEAD)?;
    let mut seen = LiveblogFacts::default();
    proof.each::<Post>(liveblog, POST, |proof, place, post| {
        proof.latest_version(place, &post.record)?;
        for attachment in &post.attachments {
            let place = format!("{place}, attachment {}", attachment.id);
            proof.bytes(&place, &attachment.content, &attachment_body(liveblog, attachment.id))?;
        }
        seen.post(liveblog, &post, proof);
        Ok(())
    })?;
    proof.each::<RemovedPost>(liveblog, REMOVED_POST, |_, _, removed| {
        seen.removed.insert(removed.post);
        Ok(())
    })?;
    for post in seen.posts.intersection(&seen.removed) {
        proof.fault(format!("the liveblog {liveblog} has the post {post}, and remembers it as removed"));
    }
    for key in proof.keys(liveblog, ATTACHMENT_BODY)? {
        match <[u8; 8]>::try_from(&key[..]).map(u64::from_be_bytes) {
            Ok(id) if seen.small.contains(&id) => {}
            Ok(id) => {
                proof
                    .fault(format!("the liveblog {liveblog} has bytes of an attachment {id}, which no post has there"));
            }
            Err(_) => {
                let place = place_of(&ATTACHMENT_BODY.place(liveblog, &key));
                proof.fault(format!("{place}: its key is none of an attachment"));
            }
        }
    }
    if head == HeadState::Missing && !(seen.posts.is_empty() && seen.removed.is_empty()) {
        proof.fault(format!("the liveblog {liveblog} has posts but no head"));
    }
    Ok(())
}

impl LiveblogFacts {
    fn post(&mut self, liveblog: Loid, post: &Post, proof: &mut Proof<'_>) {
        let loid = post.loid();
        self.posts.insert(loid);
        let small = post.attachments.iter().filter(|attachment| attachment.content.stored == ContentLocation::Row);
        self.small.extend(small.map(|attachment| attachment.id));
        if let Some(other) = self.named.insert(name_key(liveblog, &post.record.name), loid) {
            let name = &post.record.name;
            proof.fault(format!("the liveblog {liveblog} has two posts named `{name}`: {other} and {loid}"));
        }
    }
}
