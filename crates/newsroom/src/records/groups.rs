//! The attribute groups of an object in replies.
//!
//! Converting a text of megabytes takes long and can't be interrupted. So large texts are converted
//! on another thread, and once per form for a [`CachedRecord`](super::CachedRecord) record. A reply
//! only copies the finished text, whatever else it shows.

use std::sync::{Arc, OnceLock};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use stet_base::json::{serialize_shared, unserialisable};
use stet_base::limits::offload::{LARGE_TEXT, Offload};
use stet_base::limits::{SharedOutcome, SharedWork};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, SharedText};
use stet_xml::Limits;

use super::Display;

/// A group of attributes as JSON.
#[derive(Debug)]
pub enum AttributeGroup {
    /// The stored text, as JSON.
    Stored(Arc<RawValue>),
    /// A group without a text: an empty object below this root key, or an empty object if the key
    /// is empty. Most groups are empty, and a reply to a change shows three of them.
    Empty(&'static str),
}

impl AttributeGroup {
    /// Returns the bytes of a stored text; 0 without one.
    pub(super) fn bytes(&self) -> usize {
        match self {
            AttributeGroup::Stored(text) => text.get().len(),
            AttributeGroup::Empty(_) => 0,
        }
    }
}

impl Serialize for AttributeGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            AttributeGroup::Stored(json) => serialize_shared(json, serializer),
            AttributeGroup::Empty("") => serializer.serialize_map(Some(0))?.end(),
            AttributeGroup::Empty(root) => {
                let mut group = serializer.serialize_map(Some(1))?;
                group.serialize_entry(root, &AttributeGroup::Empty(""))?;
                group.end()
            }
        }
    }
}

/// A group of attributes as XML text.
#[derive(Debug)]
pub enum XmlGroup {
    /// The stored text, as a JSON string.
    Stored(Arc<RawValue>),
    /// A group without a text: an empty root element, or an empty string if the name is empty.
    Empty(&'static str),
}

impl XmlGroup {
    /// Returns the bytes of a stored text; 0 without one.
    pub(super) fn bytes(&self) -> usize {
        match self {
            XmlGroup::Stored(text) => text.get().len(),
            XmlGroup::Empty(_) => 0,
        }
    }
}

impl Serialize for XmlGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            XmlGroup::Stored(text) => serialize_shared(text, serializer),
            XmlGroup::Empty("") => serializer.serialize_str(""),
            XmlGroup::Empty(root) => serializer.collect_str(&format_args!("<{root}/>")),
        }
    }
}

/// A group in the forms that a display shows.
#[derive(Debug, Default)]
pub struct AttributeGroupForms {
    pub(super) json: Option<AttributeGroup>,
    pub(super) xml: Option<XmlGroup>,
}

/// The groups in the forms that a display shows. Converting them is the only costly part of
/// rendering a record.
#[derive(Debug, Default)]
pub struct Groups {
    pub(super) system_attributes: AttributeGroupForms,
    pub(super) attributes: AttributeGroupForms,
    pub(super) usage_tickets: AttributeGroupForms,
}

impl Groups {
    /// Converts the groups of attributes that are not cached.
    ///
    /// # Errors
    /// A stored text can't be read.
    pub async fn of(attributes: &Attributes, display: &Display) -> Result<Groups> {
        if is_large(attributes) {
            // On the heap: large ones are rare, and the state of each reply would reserve space for
            // this future.
            return Box::pin(async { ConvertedForms::default().groups(attributes, display).await }).await;
        }
        Groups::of_small(attributes, display)
    }

    /// Converts the groups of attributes that are not large.
    ///
    /// # Errors
    /// A stored text can't be read.
    pub(super) fn of_small(attributes: &Attributes, display: &Display) -> Result<Groups> {
        groups(attributes, display, |_, text, form| convert_text(attributes.loid, text, form))
    }
}

/// The forms of each group that a display shows.
struct RequestedForms {
    json: Option<AttributeForm>,
    xml: Option<AttributeForm>,
}

impl RequestedForms {
    fn by(display: &Display) -> RequestedForms {
        let spelling = if display.unparsed_xml { AttributeForm::Unparsed } else { AttributeForm::Xml };
        RequestedForms { json: display.json.then_some(AttributeForm::Json), xml: display.xml.then_some(spelling) }
    }
}

/// Returns the texts of the groups, and whether the display shows them.
fn texts<'a>(attributes: &'a Attributes, display: &Display) -> [(Option<&'a SharedText>, bool); 3] {
    let Attributes { loid: _, attributes, system_attributes, usage_tickets } = attributes;
    [
        (system_attributes.as_ref(), display.system_attributes),
        (attributes.as_ref(), display.attributes),
        (usage_tickets.as_ref(), display.usage_tickets),
    ]
}

/// Builds the groups. `form` returns a group's text in a form.
fn groups(
    attributes: &Attributes,
    display: &Display,
    form: impl Fn(usize, &SharedText, AttributeForm) -> Result<Arc<RawValue>>,
) -> Result<Groups> {
    let RequestedForms { json, xml } = RequestedForms::by(display);
    let texts = texts(attributes, display);
    let of = |group: usize, root: &'static str| -> Result<AttributeGroupForms> {
        let (text, shown) = texts[group];
        let asked = |asked: Option<AttributeForm>| asked.filter(|_| shown);
        let made = |asked: AttributeForm| text.map(|text| form(group, text, asked)).transpose();
        Ok(AttributeGroupForms {
            json: asked(json)
                .map(made)
                .transpose()?
                .map(|made| made.map_or(AttributeGroup::Empty(root), AttributeGroup::Stored)),
            xml: asked(xml).map(made).transpose()?.map(|made| made.map_or(XmlGroup::Empty(root), XmlGroup::Stored)),
        })
    };
    Ok(Groups { system_attributes: of(0, "props")?, attributes: of(1, "")?, usage_tickets: of(2, "tl")? })
}

/// The form that a text is converted to.
#[derive(Debug, Clone, Copy)]
enum AttributeForm {
    Json,
    /// XML that is parsed and serialised again.
    Xml,
    /// XML as stored.
    Unparsed,
}

/// The forms of large attributes that were converted so far.
#[derive(Debug, Default)]
pub(super) struct ConvertedForms {
    /// The converted texts, by group, then by form.
    made: [[OnceLock<Arc<RawValue>>; 3]; 3],
    /// The conversions that are running, by group and form.
    making: SharedWork<(usize, usize)>,
}

impl ConvertedForms {
    /// Returns the groups of large attributes, and converts the forms that are missing.
    pub(super) async fn groups(&self, attributes: &Attributes, display: &Display) -> Result<Groups> {
        let RequestedForms { json, xml } = RequestedForms::by(display);
        for (group, (text, shown)) in texts(attributes, display).into_iter().enumerate() {
            let Some(text) = text.filter(|_| shown) else { continue };
            for form in [json, xml].into_iter().flatten() {
                self.form(attributes.loid, group, text, form).await?;
            }
        }
        groups(attributes, display, |group, _, form| {
            self.made[group][form as usize].get().cloned().ok_or_else(Error::internal)
        })
    }

    /// Returns a form of a large text. Concurrent calls for the same form wait for one conversion.
    async fn form(&self, loid: Loid, group: usize, text: &SharedText, form: AttributeForm) -> Result<Arc<RawValue>> {
        let place = &self.made[group][form as usize];
        let there = || place.get().cloned();
        match self.making.there_or_turn((group, form as usize), there, Offload::turn).await? {
            SharedOutcome::Ready(made) => Ok(made),
            SharedOutcome::Make(_maker, turn) => {
                let text = text.clone();
                let made = turn.work(move || convert_text(loid, &text, form)).await??;
                // Only one call converts at a time.
                Ok(place.get_or_init(|| made).clone())
            }
        }
    }

    /// Returns the bytes of all converted texts.
    pub(super) fn bytes(&self) -> usize {
        self.made.iter().flatten().filter_map(OnceLock::get).map(|text| text.get().len()).sum()
    }
}

/// Reports whether attributes are too large to be converted on a thread that serves requests.
pub fn is_large(attributes: &Attributes) -> bool {
    attributes.text_bytes() >= LARGE_TEXT
}

/// Converts a text to a form. Stored texts were checked on arrival; one that can't be read now is a
/// fault of the server.
fn convert_text(loid: Loid, text: &str, form: AttributeForm) -> Result<Arc<RawValue>> {
    let limits = Limits::default();
    let json = match form {
        AttributeForm::Json => stet_xml::to_json(text, &limits).map(|json| to_raw_value(&json)),
        AttributeForm::Xml => stet_xml::reserialize(text, &limits).map(|xml| to_raw_value(&xml)),
        AttributeForm::Unparsed => Ok(to_raw_value(text)),
    };
    match json {
        Ok(json) => Ok(json.map_err(|error| unserialisable(&error))?.into()),
        Err(error) => {
            tracing::error!(object = %loid, %error, "stored attributes can't be read");
            Err(Error::new(Code::RepositoryError, format!("The attributes of `{loid}` can't be read.")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use stet_base::limits::{Holder, on_behalf_of, with_behalf};
    use stet_domain::id::DatabaseId;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;

    fn attributes(bytes: usize) -> Attributes {
        let own = format!("<a><b>\"{}\"</b></a>", "x".repeat(bytes));
        Attributes { attributes: Some(own.into()), ..Attributes::none(Loid::new(DatabaseId::FIRST, 1)) }
    }

    fn own(groups: &Groups) -> [Arc<RawValue>; 2] {
        let AttributeGroupForms { json: Some(AttributeGroup::Stored(json)), xml: Some(XmlGroup::Stored(xml)) } =
            &groups.attributes
        else {
            panic!("{groups:?}")
        };
        [json.clone(), xml.clone()]
    }

    #[tokio::test]
    async fn texts_are_made_into_the_forms_asked_for_and_a_large_one_once_into_each() {
        let display = Display { xml: true, ..Display::with_defaults(true) };
        let others = [Display { path: true, ..display.clone() }, Display { usage_tickets: false, ..display.clone() }];
        for bytes in [10, LARGE_TEXT] {
            let attributes = attributes(bytes);
            let [json, xml] = own(&Groups::of(&attributes, &display).await.expect("they are made"));
            let text = "x".repeat(bytes);
            assert_eq!(json.get(), format!("{{\"a\":{{\"b\":\"\\\"{text}\\\"\"}}}}"));
            assert_eq!(xml.get(), format!("\"<a><b>\\\"{text}\\\"</b></a>\""));
            if !is_large(&attributes) {
                continue;
            }
            let forms = ConvertedForms::default();
            let [kept, kept_xml] = own(&forms.groups(&attributes, &display).await.expect("they are made"));
            assert_eq!((kept.get(), kept_xml.get()), (json.get(), xml.get()));
            for other in &others {
                let [again, xml_again] = own(&forms.groups(&attributes, other).await.expect("they are made"));
                assert!(Arc::ptr_eq(&kept, &again) && Arc::ptr_eq(&kept_xml, &xml_again));
            }
            assert_eq!(forms.bytes(), json.get().len() + xml.get().len());
        }
    }

    #[tokio::test]
    async fn groups_without_a_text_are_empty_and_those_not_asked_for_are_not_there() {
        let none = Attributes::none(Loid::new(DatabaseId::FIRST, 1));
        let display = Display { xml: true, usage_tickets: false, ..Display::with_defaults(true) };
        let groups = Groups::of(&none, &display).await.expect("they are made");
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).expect("it can be serialised")
        }
        assert_eq!(json(&groups.system_attributes.json), r#"{"props":{}}"#);
        assert_eq!(json(&groups.system_attributes.xml), r#""<props/>""#);
        assert_eq!((json(&groups.attributes.json), json(&groups.attributes.xml)), ("{}".to_owned(), "\"\"".to_owned()));
        assert!(groups.usage_tickets.json.is_none() && groups.usage_tickets.xml.is_none());
    }

    async fn of<T>(name: &str, task: impl Future<Output = T>) -> T {
        with_behalf(async {
            on_behalf_of(Holder::User(name.into()));
            task.await
        })
        .await
    }

    /// Regression test: a caller had to wait for all running work of another caller, if that one
    /// had asked for the same text first.
    #[tokio::test]
    async fn requests_for_a_large_text_do_not_wait_behind_other_callers_work() {
        let (attributes, display) = (attributes(LARGE_TEXT), Display::with_defaults(true));
        let forms = ConvertedForms::default();
        // Other tests also take turns, so all of them are taken here.
        let mut had: Vec<Offload> = Vec::new();
        while let Some(turn) = Offload::turn().now_or_never() {
            had.push(turn.expect("the server's own has no bound"));
        }
        let over = Notify::new();
        let mut work: Vec<_> = (0..100).map(|_| Box::pin(of("a", Offload::turn()))).collect();
        assert!(work.iter_mut().all(|turn| turn.as_mut().now_or_never().is_none()));
        // A turn that the other user gets does not end before this test does.
        let first = of("a", forms.groups(&attributes, &display));
        let second = async {
            let groups = of("b", forms.groups(&attributes, &display)).await;
            over.notify_one();
            groups
        };
        let begin = async {
            tokio::task::yield_now().await;
            drop(had);
            over.notified().await;
            drop(work);
        };
        let all = async { tokio::join!(first, second, begin) };
        let (first, second, ()) =
            timeout(Duration::from_secs(60), all).await.expect("it waits for nothing of the other's");
        assert!(first.is_ok() && second.is_ok());
    }
}
