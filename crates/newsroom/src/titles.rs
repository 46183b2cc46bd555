//! The titles of liveblogs, topics and plans in feeds, calendars and exports (docs/api/metadata.md,
//! "Titles").

use std::hash::{DefaultHasher, Hasher};

use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::id::DatabaseId;
use stet_domain::object::{MAX_TITLE_BYTES, Object, SharedText};
use stet_xml::edit::first_texts;
use stet_xml::first_text_of;

use crate::Newsroom;
use crate::creation::TITLE;

/// Returns a liveblog's own title, from its system attributes, or an empty text.
///
/// # Errors
/// `Overloaded`.
pub async fn read_liveblog_title(newsroom: &Newsroom, object: &Object) -> Result<SharedText> {
    let none = || SharedText::from("");
    let Some(text) = object.attributes.system_attributes.clone() else { return Ok(none()) };
    let limits = newsroom.attribute_limits();
    let read = move || first_texts(&text, [&*TITLE], &limits).ok().and_then(|[title]| title);
    let title = offload::offload_if_large(object.attributes.text_bytes(), read).await?;
    Ok(title.map_or_else(none, |title| cut(&title).into()))
}

/// Returns the title for readers: the object's own one, else the headline, else its name. The
/// headline is the text of the element in its attributes that its metadata definition marks as
/// such.
///
/// # Errors
/// `Overloaded`.
pub async fn choose_title(newsroom: &Newsroom, object: &Object, own: &str) -> Result<SharedText> {
    if !own.trim().is_empty() {
        return Ok(own.into());
    }
    let headline = read_headline(newsroom, object).await?.filter(|headline| !headline.is_empty());
    Ok(headline.unwrap_or_else(|| object.record.name.clone()))
}

async fn read_headline(newsroom: &Newsroom, object: &Object) -> Result<Option<SharedText>> {
    let Some(text) = object.attributes.attributes.clone() else { return Ok(None) };
    let record = &object.record;
    let content = newsroom.sysconfig.site_content(record.loid.database);
    let definition = content.definition_for(Some(&record.type_name), record.work_folder.as_deref());
    let Some(element) = definition.and_then(|definition| definition.headline().cloned()) else { return Ok(None) };
    let (bytes, limits) = (text.len(), newsroom.attribute_limits());
    let read = move || first_text_of(&text, &element, &limits).ok().flatten();
    Ok(offload::offload_if_large(bytes, read).await?.map(|headline| cut(&headline).into()))
}

/// Returns a number that changes with the metadata definitions that titles depend on, for
/// ETags.
pub fn facts_of_titles(newsroom: &Newsroom, database: DatabaseId) -> u64 {
    let mut hasher = DefaultHasher::new();
    for definition in &newsroom.sysconfig.site_content(database).definitions {
        definition.hash_headline(&mut hasher);
    }
    hasher.finish()
}

/// Shortens a text to the largest length of a title.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TITLE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_stand_at_a_path_and_have_bounds() {
        assert_eq!(TITLE.to_string(), "/props/title");
        assert_eq!(cut("short"), "short");
        let long = "ä".repeat(MAX_TITLE_BYTES);
        assert_eq!(cut(&long).len(), MAX_TITLE_BYTES);
        assert_eq!(cut(&format!("x{long}")).len(), MAX_TITLE_BYTES - 1);
    }
}
