//! Single values of a rendered record, for the columns of a view. The text is read once per value,
//! and only that value is kept in memory.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use stet_domain::error::shorten_text;
use stet_domain::object::SharedText;

/// The largest size of a text in bytes. A longer one is cut, because it appears in a line of a
/// list.
pub const MOST_TEXT_BYTES: usize = 4096;

/// The largest number of values at one path, if elements are repeated. Further ones are left out.
pub const MOST_VALUES: usize = 100;

/// Returns the value at a path of a JSON text: a text, a number or a boolean; a list of them if
/// elements on the path are repeated; null if there is none. The value of an element with
/// attributes is its text.
pub fn pick(json: &str, steps: &[SharedText]) -> Value {
    let mut found = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // The server rendered the text, so it is JSON.
    if let Err(error) = (Pick { steps, found: &mut found }).deserialize(&mut deserializer) {
        tracing::error!(%error, "a record is not valid JSON");
    }
    match found.len() {
        0 => Value::Null,
        1 => found.remove(0),
        _ => Value::Array(found),
    }
}

/// The key of an element's text if the element has attributes.
const TEXT: &str = "#text";

struct Pick<'p> {
    steps: &'p [SharedText],
    found: &'p mut Vec<Value>,
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if !self.steps.is_empty() {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        match raw.as_bytes().first() {
            // Each element of a list, or the text of an element.
            Some(b'[' | b'{') => {
                let text = [SharedText::from(TEXT)];
                let steps: &[SharedText] = if raw.starts_with('{') { &text } else { &[] };
                let mut deserializer = serde_json::Deserializer::from_str(raw);
                deserializer.deserialize_any(Pick { steps, found: self.found }).map_err(serde::de::Error::custom)
            }
            Some(b'"') => {
                let text = serde_json::from_str::<Cow<'_, str>>(raw).map_err(serde::de::Error::custom)?;
                self.push(Value::String(shorten_text(text.into_owned(), MOST_TEXT_BYTES)));
                Ok(())
            }
            _ if raw == "null" => Ok(()),
            _ => {
                let value = serde_json::from_str(raw).map_err(serde::de::Error::custom)?;
                self.push(value);
                Ok(())
            }
        }
    }
}

impl Pick<'_> {
    fn push(self, value: Value) {
        if self.found.len() < MOST_VALUES {
            self.found.push(value);
        }
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.steps.split_first() else { return Ok(()) };
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            if *key == **first {
                map.next_value_seed(Pick { steps: rest, found: self.found })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Pick { steps: self.steps, found: self.found })?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn picked(record: &Value, path: &str) -> Value {
        let steps: Vec<SharedText> = path.split('/').map(SharedText::from).collect();
        pick(&record.to_string(), &steps)
    }

    #[test]
    fn a_value_is_a_text_a_number_or_a_list_of_them() {
        let record = json!({
            "name": "a\n\"b\"", "version": 3, "locked": null, "hidden": false, "statusInfo": { "name": "Story/Ready" },
            "attributes": { "metadata": { "headline": { "@lang": "en", "#text": "Ferry" }, "tag": ["a", { "#text": "b" }, ["c"]],
                "empty": {}, "none": [] } },
            "usageTickets": { "tl": { "t": [{ "@page": "1" }, { "@page": "7" }, { "@other": "x" }] } },
        });
        for (path, wanted) in [
            ("name", json!("a\n\"b\"")),
            ("version", json!(3)),
            ("locked", Value::Null),
            ("hidden", json!(false)),
            ("statusInfo/name", json!("Story/Ready")),
            ("statusInfo", Value::Null),
            ("attributes/metadata/headline", json!("Ferry")),
            ("attributes/metadata/headline/@lang", json!("en")),
            ("attributes/metadata/tag", json!(["a", "b", "c"])),
            ("attributes/metadata/empty", Value::Null),
            ("attributes/metadata/none", Value::Null),
            ("usageTickets/tl/t/@page", json!(["1", "7"])),
            ("name/further", Value::Null),
            ("elsewhere", Value::Null),
        ] {
            assert_eq!(picked(&record, path), wanted, "{path}");
        }
    }

    #[test]
    fn picked_long_texts_are_cut_and_long_lists_are_shortened() {
        let many: Vec<u32> = (0..1000).collect();
        let record = json!({ "long": "ä".repeat(5000), "many": many });
        let long = picked(&record, "long");
        assert!(
            long.as_str().is_some_and(|text| text.len() <= MOST_TEXT_BYTES + 4 && text.starts_with("ää")),
            "{long}"
        );
        assert_eq!(picked(&record, "many").as_array().map(Vec::len), Some(MOST_VALUES));
    }

    proptest! {
        /// Checks for any text that a value is found exactly where its keys lead to one.
        #[test]
        fn a_value_is_what_following_its_keys_leads_to(text in ".{0,40}", number in any::<i64>(), deep in 1usize..20) {
            let mut record = json!({ "#text": text, "n": number });
            let mut path = Vec::new();
            for level in 0..deep {
                record = json!({ "x": 1, "k": record, "z": [level] });
                path.push("k");
            }
            prop_assert_eq!(picked(&record, &path.join("/")), json!(text));
            path.push("n");
            prop_assert_eq!(picked(&record, &path.join("/")), json!(number));
        }
    }
}
