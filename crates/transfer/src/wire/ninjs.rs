//! ninjs, in the forms of its versions 1 to 3: names in lower case or in camel case, single values
//! or lists by role.

use serde_json::Value;

use super::{MAX_EACH, Media, WireNewsItem, address, tidy};

/// Reads the metadata of a JSON text; `None` unless it is a ninjs item: an object with a `uri` or
/// `guid` and a field that only items have.
pub(super) fn read(text: &str) -> Option<WireNewsItem> {
    let json: Value = serde_json::from_str(text).ok()?;
    let is_item = [
        "versioncreated",
        "versionCreated",
        "headline",
        "headlines",
        "pubstatus",
        "pubStatus",
        "standard",
        "renditions",
        "descriptions",
        "bodies",
        "associations",
    ];
    // Some agencies identify an item by `guid` alone.
    let guid = ["uri", "guid"].iter().find_map(|name| json[*name].as_str())?;
    if !is_item.iter().any(|name| !json[*name].is_null()) {
        return None;
    }
    let of = |names: &[&str]| names.iter().find_map(|name| word(&json[*name]));
    Some(WireNewsItem {
        guid: address(guid),
        version: of(&["version"]),
        headline: of(&["headline", "headlines", "title"]),
        slug: of(&["slugline", "slug"]),
        byline: of(&["byline", "by"]),
        source: of(&["infosources", "infoSources", "source"]),
        copyright: of(&["copyrightholder", "copyrightHolder"]),
        language: of(&["language"]),
        urgency: of(&["urgency"]),
        located: of(&["located"]),
        status: of(&["pubstatus", "pubStatus"]),
        first_created: of(&["firstcreated", "firstCreated"]),
        version_created: of(&["versioncreated", "versionCreated"]),
        embargoed: of(&["embargoed"]),
        keywords: list(&json["keywords"]).filter_map(word).take(MAX_EACH).collect(),
        media: media(&json["renditions"]),
    })
}

/// Returns the values of a list; a single value counts as a list of one.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    let (many, one) = match value {
        Value::Array(values) => (values.as_slice(), None),
        Value::Null => (&[][..], None),
        one => (&[][..], Some(one)),
    };
    many.iter().chain(one)
}

/// Returns a text or number. In a list, the entry with the role `main` counts, or the first; of an
/// object, its name.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => tidy(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => {
            let main = values.iter().find(|value| value["role"] == "main");
            main.or_else(|| values.first()).filter(|value| !value.is_array()).and_then(word)
        }
        Value::Object(fields) => {
            ["value", "name", "literal"].iter().find_map(|name| tidy(fields.get(*name)?.as_str()?))
        }
        _ => None,
    }
}

/// Renditions: a list, or an object of them by name.
fn media(renditions: &Value) -> Vec<Media> {
    let one = |name: Option<&str>, of: &Value| Media {
        href: of["href"].as_str().and_then(address),
        rendition: word(&of["name"]).or_else(|| name.and_then(tidy)),
        content_type: word(&of["contentType"]).or_else(|| word(&of["contenttype"])).or_else(|| word(&of["mimetype"])),
        width: word(&of["width"]),
        height: word(&of["height"]),
        size: word(&of["sizeInBytes"]).or_else(|| word(&of["sizeinbytes"])),
        duration: word(&of["duration"]),
    };
    match renditions {
        Value::Array(all) => all.iter().take(MAX_EACH).map(|of| one(None, of)).collect(),
        Value::Object(all) => all.iter().take(MAX_EACH).map(|(name, of)| one(Some(name), of)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn items_of_the_first_versions() {
        let item = read(
            r#"{"uri": "tag:x", "version": "2", "versioncreated": "2026-01-02T03:04:05Z", "headline": " A  harbour ", "urgency": 3,
                "slugline": "harbour", "byline": "Ada", "copyrightholder": "Lantern", "pubstatus": "usable", "keywords": ["ferry", "ice"],
                "infosources": [{"name": "LW"}], "located": "Dravec",
                "renditions": {"main": {"href": "http://x/1.jpg", "mimetype": "image/jpeg", "width": 3, "sizeinbytes": 9}}}"#,
        );
        let item = item.expect("it is an item");
        assert_eq!((item.guid, item.version, item.urgency), (text("tag:x"), text("2"), text("3")));
        assert_eq!((item.headline, item.slug, item.byline), (text("A harbour"), text("harbour"), text("Ada")));
        assert_eq!((item.source, item.copyright), (text("LW"), text("Lantern")));
        assert_eq!((item.status, item.version_created), (text("usable"), text("2026-01-02T03:04:05Z")));
        assert_eq!(item.keywords, ["ferry", "ice"]);
        let media = &item.media[0];
        assert_eq!((&media.rendition, &media.href, &media.size), (&text("main"), &text("http://x/1.jpg"), &text("9")));
        assert_eq!(media.content_type, text("image/jpeg"));
    }

    #[test]
    fn an_item_may_be_named_by_guid_alone() {
        let guid = |text: &str| read(text).map(|item| item.guid);
        assert_eq!(guid(r#"{"guid": "tag:x", "headline": "A"}"#), Some(text("tag:x")));
        assert_eq!(guid(r#"{"guid": "tag:x", "uri": "http://x", "headline": "A"}"#), Some(text("http://x")));
        assert_eq!(guid(r#"{"guid": 7, "headline": "A"}"#), None);
    }

    #[test]
    fn items_of_the_third_version() {
        let item = read(
            r#"{"uri": "tag:x", "versionCreated": "t", "headlines": [{"role": "alt", "value": "B"}, {"role": "main", "value": "A"}],
                "by": "Ada", "pubStatus": "usable", "renditions": [{"name": "main", "href": "h", "contentType": "c", "sizeInBytes": 9}]}"#,
        );
        let item = item.expect("it is an item");
        assert_eq!((item.headline, item.byline, item.version_created), (text("A"), text("Ada"), text("t")));
        assert_eq!((&item.media[0].rendition, &item.media[0].content_type), (&text("main"), &text("c")));
        assert!(item.keywords.is_empty());
    }
}
