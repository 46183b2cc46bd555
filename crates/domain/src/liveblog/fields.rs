//! The fields and the content of a post in commands, and their application to the post.

use super::rows::{MAX_TAG_BYTES, MAX_TAGS, Post};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::object::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, MAX_WORD_BYTES, NewContent, SharedText, check_texts};
use crate::part::{set_attributes, write_content};

/// The fields of a post that a caller sets (docs/api/posts.md, "Adding and changing"). A field that
/// is `None` stays as it is, or is empty in a new post.
#[derive(Debug, Clone, Default)]
pub struct PostFields {
    /// The title.
    pub title: Option<SharedText>,
    /// The summary.
    pub summary: Option<SharedText>,
    /// The description.
    pub description: Option<SharedText>,
    /// The option `type`.
    pub kind: Option<SharedText>,
    /// The time in epoch milliseconds; the default for a new post is now.
    pub timestamp: Option<u64>,
    /// Whether the post is listed before all that are not pinned.
    pub pinned: Option<bool>,
    /// The tags, free words, in place of the present ones.
    pub tags: Option<Vec<SharedText>>,
    /// Tags to remove, before others are added.
    pub remove_tags: Vec<SharedText>,
    /// Tags to append; one that the post has stays where it is.
    pub add_tags: Vec<SharedText>,
    /// The attributes, XML.
    pub attributes: Option<SharedText>,
    /// The system attributes, XML with the root `props`.
    pub system_attributes: Option<SharedText>,
}

impl PostFields {
    /// Checks the lists of tags themselves, without a post.
    ///
    /// # Errors
    /// `TooLarge` naming the list.
    pub fn check_tags(&self) -> Result<()> {
        let lists = [("tags", self.tags.as_deref()), ("removeTags", Some(&*self.remove_tags))];
        for (name, tags) in lists.into_iter().chain([("addTags", Some(&*self.add_tags))]) {
            check_tags(name, tags.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Applies the changes to the tags of a post.
    fn change_tags(&self, tags: &mut Vec<SharedText>) -> Result<()> {
        self.check_tags()?;
        if let Some(given) = &self.tags {
            tags.clone_from(given);
        }
        tags.retain(|tag| !self.remove_tags.contains(tag));
        for tag in &self.add_tags {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        check_tags("tags", tags)
    }
}

/// The content of a post.
#[derive(Debug, Clone)]
pub struct PostBody {
    /// The bytes with their media type, and the location of the bytes.
    pub content: NewContent,
    /// The words for searching ([`Post::text`]).
    pub text: SharedText,
}

/// Writes the content as a new version, or in place of the version `replaced` if that is not 0.
pub(super) fn write(
    post: &mut Post,
    body: Option<&PostBody>,
    replaced: u32,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let Some(body) = body else { return Ok(()) };
    write_content(&mut post.record, &body.content, replaced, context)?;
    post.text = body.text.clone();
    Ok(())
}

/// Sets the given fields. Returns whether the attributes have changed, which are a row of their
/// own.
pub(super) fn describe(post: &mut Post, fields: &PostFields, context: &mut Context<'_>) -> Result<bool, CommandFault> {
    check_texts([
        ("title", fields.title.as_deref(), MAX_TITLE_BYTES),
        ("summary", fields.summary.as_deref(), MAX_DESCRIPTION_BYTES),
        ("description", fields.description.as_deref(), MAX_DESCRIPTION_BYTES),
        ("type", fields.kind.as_deref(), MAX_WORD_BYTES),
    ])?;
    let set = |field: &mut SharedText, said: &Option<SharedText>| {
        if let Some(said) = said {
            field.clone_from(said);
        }
    };
    set(&mut post.title, &fields.title);
    set(&mut post.summary, &fields.summary);
    set(&mut post.description, &fields.description);
    set(&mut post.kind, &fields.kind);
    post.pinned = fields.pinned.unwrap_or(post.pinned);
    fields.change_tags(&mut post.tags)?;
    set_attributes(&post.record, fields.attributes.as_ref(), fields.system_attributes.as_ref(), context)
}

fn check_tags(name: &str, tags: &[SharedText]) -> Result<()> {
    let refuse = |message: String, limit: usize| Err(Error::new(Code::TooLarge, message).with_detail("limit", limit));
    if tags.len() > MAX_TAGS {
        return refuse(format!("`{name}` has {} entries; at most {MAX_TAGS} are allowed.", tags.len()), MAX_TAGS);
    }
    if let Some(long) = tags.iter().find(|tag| tag.len() > MAX_TAG_BYTES) {
        let (beginning, bytes) = (long.chars().take(40).collect::<String>(), long.len());
        let message =
            format!("`{name}` has the entry `{beginning}…` of {bytes} bytes; at most {MAX_TAG_BYTES} are allowed.");
        return refuse(message, MAX_TAG_BYTES);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tags that a bit set names, in the order of their letters.
    fn tags_of(set: u32) -> Vec<SharedText> {
        (0..3).filter(|bit| set & (1 << bit) != 0).map(|bit| ["a", "b", "c"][bit].into()).collect()
    }

    #[test]
    fn tag_changes_equal_set_operations_and_keep_the_order_of_kept_tags() {
        for case in 0..(9 * 8 * 8 * 8) {
            let (given, there, removed, added) = (case % 9, case / 9 % 8, case / 72 % 8, case / 576);
            let fields = PostFields {
                tags: (given < 8).then(|| tags_of(given)),
                remove_tags: tags_of(removed),
                add_tags: tags_of(added),
                ..PostFields::default()
            };
            let mut tags = tags_of(there);
            let first = if given < 8 { given } else { there } & !removed;
            fields.change_tags(&mut tags).expect("they are few");
            let mut expected = tags_of(first);
            expected.extend(tags_of(added & !first));
            assert_eq!(tags, expected, "{fields:?} of {there:b}");
            let once = tags.clone();
            fields.change_tags(&mut tags).expect("they are few");
            tags.sort();
            let mut sorted = once;
            sorted.sort();
            assert_eq!(tags, sorted, "a repetition changes no more than the order");
        }
    }

    #[test]
    fn too_many_tags_are_refused_in_each_list_and_in_the_result() {
        let many = |count: usize| (0..count).map(|n| SharedText::from(n.to_string())).collect::<Vec<_>>();
        let refused = |fields: &PostFields, there: usize| {
            fields.change_tags(&mut many(there)).map_err(|error| (error.code, error.message))
        };
        let message = |name: &str| Err((Code::TooLarge, format!("`{name}` has 101 entries; at most 100 are allowed.")));
        let none = PostFields::default();
        assert_eq!(refused(&PostFields { tags: Some(many(101)), ..none.clone() }, 0), message("tags"));
        assert_eq!(refused(&PostFields { add_tags: many(101), ..none.clone() }, 0), message("addTags"));
        assert_eq!(refused(&PostFields { remove_tags: many(101), ..none.clone() }, 0), message("removeTags"));
        let one_more = PostFields { add_tags: vec!["more".into()], ..none };
        assert_eq!(refused(&one_more, 100), message("tags"));
        assert_eq!(refused(&one_more, 99), Ok(()));
    }
}
