//! The documents of the index: what of an object, a post or a message can be found.
//!
//! They are built from committed rows. The same texts are read again for the extracts of a reply,
//! so the index need not store them.

use std::io::Read;

use stet_actors::runtime::store_failure;
use stet_content::download::read_small;
use stet_content::text::decode_text;
use stet_content::words::{is_text, read_of};
use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::liveblog::Post;
use stet_domain::object::{Attributes, Content, ContentLocation, FamilyKind, Record, SmallBody};
use stet_domain::part::PartReader;
use stet_domain::planning::plan::TopicPlan;
use stet_domain::planning::topic::{Topic, TopicItem};
use stet_domain::planning::{Divider, Planning, PlanningHead};
use stet_domain::store::{Row, StoreError, Table, decode_value};
use stet_fulltext::IndexDocument;
use stet_newsroom::Newsroom;
use stet_newsroom::messages::Message;

use crate::fields::element_texts;

/// The kind of documents for objects.
pub const OBJECT: &str = "object";

/// The kind of documents for posts of liveblogs.
pub const POST: &str = "post";

/// The kind of documents for messages.
pub const MESSAGE: &str = "message";

/// All kinds of documents.
pub const KINDS: [&str; 3] = [OBJECT, POST, MESSAGE];

/// The elements of attributes that count as titles, beside the one that the metadata definition
/// marks as headline.
const TITLE_ELEMENTS: [&str; 2] = ["title", "headline"];

/// The elements of attributes that state the language of an object.
const LANGUAGE_ELEMENTS: [&str; 2] = ["language", "lang"];

/// Maximum bytes of the text of an element that can be found as `element:word`.
const MAX_FIELD_BYTES: usize = 255;

/// Maximum bytes of a topic's items that are indexed, and of the attributes of these. A topic is
/// one document, and may have ten thousand items with megabytes of attributes each.
const MOST_TOPIC_BYTES: usize = 4 << 20;

/// Returns the number of an object's document.
pub fn key_of(loid: Loid) -> u128 {
    loid.to_number()
}

/// Returns the object of a document.
pub fn loid_of(key: u128) -> Loid {
    // Each part has the width that it has in `Loid::to_number`.
    Loid { database: DatabaseId((key >> 96) as u16), major: (key >> 64) as u32, version: 0, number: key as u64 }
}

/// Returns the document of an object.
///
/// # Errors
/// Errors of the store.
pub fn object_document(newsroom: &Newsroom, record: &Record) -> Result<IndexDocument> {
    let place = if record.family.holds_by_name() { record.loid } else { record.folder().unwrap_or(record.loid) };
    let mut document = document_of(newsroom, record, OBJECT, place)?;
    let parts = PartReader::new(newsroom.repository.look(), record.loid);
    match record.family {
        FamilyKind::Topic => {
            add_planning::<Topic>(&parts, &mut document)?;
            add_items(newsroom, &parts, &mut document)?;
        }
        FamilyKind::TopicPlan => add_planning::<TopicPlan>(&parts, &mut document)?,
        _ => {}
    }
    Ok(document)
}

/// Returns the document of a post.
///
/// # Errors
/// Errors of the store.
pub fn post_document(newsroom: &Newsroom, post: &Post) -> Result<IndexDocument> {
    let mut document = document_of(newsroom, &post.record, POST, post.liveblog)?;
    document.container = Some(key_of(post.liveblog));
    document.visible = post.is_seen();
    document.owners = vec![post.author().to_string()];
    document.status = Some(post.status.name().to_owned());
    document.type_name = post.kind.to_string();
    document.created_ms = milliseconds(post.timestamp);
    document.titles.push(post.title.to_string());
    document.texts.extend([&post.summary, &post.description].map(|text| text.to_string()));
    document.fields.extend(post.tags.iter().map(|tag| ("tag".to_owned(), tag.to_string())));
    let names = post.attachments.iter().map(|attachment| ("attachment".to_owned(), attachment.name.to_string()));
    document.fields.extend(names);
    Ok(document)
}

/// Returns the document of a message.
pub fn message_document(message: &Message) -> IndexDocument {
    let sent_ms = milliseconds(message.sent_ms);
    IndexDocument {
        key: key_of(message.id()),
        place: key_of(message.id()),
        container: None,
        revision: 1,
        visible: false,
        owners: Vec::new(),
        kind: MESSAGE.to_owned(),
        family: String::new(),
        type_name: String::new(),
        status: None,
        author: message.sender.to_string(),
        created_ms: sent_ms,
        modified_ms: sent_ms,
        language: None,
        name: message.subject.clone(),
        titles: Vec::new(),
        texts: vec![message.body.clone()],
        fields: message.recipients.iter().map(|name| ("recipient".to_owned(), name.to_string())).collect(),
    }
}

/// Returns the document of anything that has a record, attributes and a content.
fn document_of(newsroom: &Newsroom, record: &Record, kind: &str, place: Loid) -> Result<IndexDocument> {
    let attributes = newsroom.repository.attributes(record.loid)?;
    let (titles, language, texts, fields) = attribute_texts(newsroom, record, &attributes);
    let mut document = IndexDocument {
        key: key_of(record.loid),
        place: key_of(place),
        container: None,
        revision: record.revision,
        visible: true,
        owners: Vec::new(),
        kind: kind.to_owned(),
        family: record.family.name().to_owned(),
        type_name: record.type_name.to_string(),
        status: record.status.as_ref().map(|status| status.to_string()),
        author: record.creator.to_string(),
        created_ms: milliseconds(record.created.saturating_mul(1000)),
        modified_ms: milliseconds(record.modified.saturating_mul(1000)),
        language,
        name: record.name.to_string(),
        titles,
        texts,
        fields,
    };
    document.texts.extend(content_text(newsroom, record)?);
    Ok(document)
}

/// Converts a time in epoch milliseconds. Beyond the year 292,000,000 all are one.
fn milliseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Returns the titles, language, texts and fields in the attributes of an object.
#[expect(clippy::type_complexity, reason = "it is taken apart at once")]
fn attribute_texts(
    newsroom: &Newsroom,
    record: &Record,
    attributes: &Attributes,
) -> (Vec<String>, Option<String>, Vec<String>, Vec<(String, String)>) {
    let limits = newsroom.attribute_limits();
    let own = attributes.attributes.as_ref().map(|text| element_texts(text, &limits)).unwrap_or_default();
    let system = attributes.system_attributes.as_ref().map(|text| element_texts(text, &limits)).unwrap_or_default();
    let site = newsroom.sysconfig.site_content(record.loid.database);
    let definition = site.definition_for(Some(&record.type_name), record.work_folder.as_deref());
    let headline = definition.and_then(|definition| definition.headline());
    let is_title = |name: &str| TITLE_ELEMENTS.contains(&name) || headline.is_some_and(|headline| **headline == *name);
    let language = own.iter().chain(&system).find(|(name, _)| LANGUAGE_ELEMENTS.contains(&name.as_str()));
    let language = language.map(|(_, text)| text.trim().to_owned());
    let (mut titles, mut texts) = (Vec::new(), Vec::new());
    for (name, text) in own.iter().chain(system.iter().filter(|(name, _)| is_title(name))) {
        if is_title(name) { titles.push(text.clone()) } else { texts.push(text.clone()) }
    }
    let fields = own.into_iter().chain(system).filter(|(_, text)| text.len() <= MAX_FIELD_BYTES);
    (titles, language, texts, fields.collect())
}

/// Returns the beginning of an object's latest content as text; `None` if it has none.
fn content_text(newsroom: &Newsroom, record: &Record) -> Result<Option<String>> {
    let most = newsroom.config.search.content_bytes;
    let Some(content) = record.content.as_ref().filter(|content| is_text(&content.content_type) && most > 0) else {
        return Ok(None);
    };
    let bytes = match content.stored {
        ContentLocation::File => file_beginning(newsroom, content, most),
        ContentLocation::Row => {
            let place = SmallBody::key(record.loid.at_version(record.version));
            // Missing or replaced: the object has changed again, and will be read again.
            read_small(&newsroom.repository, &place, record.loid)?.unwrap_or_default().to_vec()
        }
    };
    let mut end = bytes.len().min(most);
    if bytes.len() >= most {
        // Not within a character of UTF-8.
        while end > 0 && bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end -= 1;
        }
    }
    Ok(Some(read_of(&content.content_type, &decode_text(&content.content_type, &bytes[..end]))))
}

/// Reads the beginning of a content file. A file that is missing or can't be read has none: it was
/// replaced, or `stet check` reports it.
fn file_beginning(newsroom: &Newsroom, content: &Content, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let path = newsroom.content.path(&content.sha256);
    let read = std::fs::File::open(path).and_then(|file| file.take(most as u64 + 4).read_to_end(&mut bytes));
    if let Err(error) = read {
        tracing::debug!(%error, "a content can't be read for the index");
        bytes.clear();
    }
    bytes
}

/// Adds the title, description and dividers of a topic or plan.
fn add_planning<F: Planning>(parts: &PartReader<'_>, document: &mut IndexDocument) -> Result<()> {
    let mut add = || {
        let head: PlanningHead<F> = parts.head(F::HEAD)?;
        document.titles.push(head.title.to_string());
        document.texts.push(head.description.to_string());
        for divider in parts.all::<Divider<F>>(F::DIVIDER)? {
            document.texts.push(divider.title.to_string());
        }
        Ok(())
    };
    add().map_err(|error: StoreError| store_failure(&error))
}

/// Adds the texts of a topic's items.
fn add_items(newsroom: &Newsroom, parts: &PartReader<'_>, document: &mut IndexDocument) -> Result<()> {
    let (mut items, mut room) = (Vec::new(), MOST_TOPIC_BYTES);
    let read = parts.each(Topic::ENTRY, |_, value| {
        if takes_room(&mut room, value.len()) {
            items.push(decode_value::<TopicItem>(TopicItem::FORMAT, &value)?);
        }
        Ok(())
    });
    read.map_err(|error| store_failure(&error))?;
    let mut room = MOST_TOPIC_BYTES;
    for item in items {
        let texts = [&item.record.name, &item.comment, &item.occupation, &item.content_type];
        document.texts.extend(texts.into_iter().filter(|text| !text.is_empty()).map(|text| text.to_string()));
        let words = [("product", &item.product), ("edition", &item.edition)];
        let assignees = item.assignees.iter().map(|name| ("assignee", name));
        let words = words.into_iter().chain(assignees).filter(|(_, text)| !text.is_empty());
        document.fields.extend(words.map(|(name, text)| (name.to_owned(), text.to_string())));
        if room == 0 {
            continue;
        }
        let attributes = newsroom.repository.attributes(item.record.loid)?;
        if !takes_room(&mut room, attributes.text_bytes()) {
            continue;
        }
        let (titles, _, texts, fields) = attribute_texts(newsroom, &item.record, &attributes);
        document.texts.extend(titles.into_iter().chain(texts));
        document.fields.extend(fields);
    }
    Ok(())
}

/// Takes bytes off what remains, and reports whether they fit. Nothing fits after the first that
/// does not.
fn takes_room(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(0);
    left.is_some()
}

/// Returns the row of a post of a liveblog.
///
/// # Errors
/// Errors of the store.
pub fn post_row(newsroom: &Newsroom, liveblog: Loid, post: Loid) -> Result<Option<Post>> {
    let place = stet_domain::liveblog::POST.place(liveblog, &post.to_key());
    newsroom.repository.row(Table::Parts, &place.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_up_by_the_first_that_does_not_fit() {
        let mut room = 10;
        let fit = [4, 6, 0, 1, 0].map(|bytes| takes_room(&mut room, bytes));
        assert_eq!((fit, room), ([true, true, true, false, true], 0));
        let mut room = 10;
        assert_eq!([11, 1].map(|bytes| takes_room(&mut room, bytes)), [false, false]);
    }

    #[test]
    fn documents_and_objects_have_the_same_numbers() {
        for loid in [
            Loid::new(DatabaseId::FIRST, 66_543),
            Loid { database: DatabaseId(u16::MAX), major: u32::MAX, version: 0, number: u64::MAX },
        ] {
            assert_eq!(loid_of(key_of(loid)), loid);
            assert_eq!(loid_of(key_of(loid.at_version(3))), loid);
        }
    }
}
