//! The keys that an endpoint knows in its body, taken from the schema of the body's type.
//!
//! One body may be read by several types (the request, its display options, its database), so no
//! single reader can say that a key is unknown. The schema of the endpoint's body can: it is the
//! one in the OpenAPI document. This module adds the keys that any JSON body may have
//! (docs/api/README.md).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use schemars::generate::SchemaSettings;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use stet_auth::Privilege;
use stet_base::nearest::nearest_name;
use stet_newsroom::caller::{MOST_WARNINGS, shown_name};
use stet_newsroom::records::display;

use super::route::{BodyRule, Route, TypeOf};

/// The mark of a schema property whose name is matched without regard to case.
pub const ANY_CASE: &str = "x-stet-any-case";

/// The number of levels of a schema that are read. Any key is accepted below them.
const MAX_DEPTH: usize = 16;

/// The known keys at one place of a body, and below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BodyKeys {
    known: Vec<BodyKey>,
    /// The keys in the entries of a list.
    entries: Option<Box<BodyKeys>>,
    /// Whether an object with these keys is allowed here.
    is_object: bool,
    /// Whether any value is allowed here: attributes given as JSON.
    is_free: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct BodyKey {
    name: String,
    /// Whether the name matches without regard to case.
    any_case: bool,
    below: BodyKeys,
}

impl BodyKey {
    fn is(&self, name: &str) -> bool {
        if self.any_case { self.name.eq_ignore_ascii_case(name) } else { self.name == name }
    }
}

/// A key of a body that its endpoint does not know.
#[derive(Debug, PartialEq)]
pub(super) struct UnknownKey {
    /// JSON path of the object that has it.
    pub within: String,
    /// The key, shortened.
    pub name: String,
    /// The most similar known key of that object.
    pub nearest: Option<String>,
    /// The place where a key of exactly this name is known.
    pub elsewhere: Option<&'static str>,
}

/// The keys of each endpoint that has been called so far.
static KNOWN: LazyLock<RwLock<HashMap<&'static str, Arc<BodyKeys>>>> = LazyLock::new(RwLock::default);

/// Returns the keys that an endpoint knows in its body or in the part `options` of its form; `None`
/// if it has neither.
pub(super) fn keys_of(route: &'static Route) -> Option<Arc<BodyKeys>> {
    let (BodyRule::Optional(type_of, _)
    | BodyRule::Required(type_of, _)
    | BodyRule::Form(type_of, _)
    | BodyRule::Multipart { options: type_of, .. }
    | BodyRule::MultipartOrBytes { options: type_of, .. }) = route.body
    else {
        return None;
    };
    if let Some(keys) = KNOWN.read().get(route.id) {
        return Some(keys.clone());
    }
    let keys = Arc::new(BodyKeys::of_body(type_of, route.privilege == Some(Privilege::Create)));
    KNOWN.write().insert(route.id, keys.clone());
    Some(keys)
}

impl BodyKeys {
    /// Returns the keys of a complete body of this type: those of its schema, and those that any
    /// body may have.
    fn of_body(type_of: TypeOf, creates: bool) -> BodyKeys {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let schema = type_of(&mut generator).to_value();
        let mut keys = BodyKeys::of(&schema, generator.definitions(), 0);
        let mut everywhere = BodyKeys { is_object: true, ..BodyKeys::default() };
        let flags = display::FLAGS.iter().map(|flag| flag.name);
        for name in flags.chain([display::WEB_PRODUCT, display::SYSTEM_ATTRIBUTE]) {
            everywhere.add(name, true, BodyKeys::default());
        }
        // Display options in `options` match in any case; other keys there only under their exact
        // name.
        keys.add("options", false, everywhere.clone());
        keys.add("options", true, everywhere.clone());
        if let Some(options) = keys.known.iter_mut().find(|key| key.is("options")) {
            options.below.is_free = false;
        }
        if creates {
            everywhere.add("createMode", false, BodyKeys::default());
        }
        keys.add("databaseId", false, BodyKeys::default());
        keys.merge(everywhere);
        // The schema of a body that has only display options allows any value.
        keys.is_free = false;
        keys
    }

    fn of(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> BodyKeys {
        let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return BodyKeys { is_free: *schema != Value::Bool(false), ..BodyKeys::default() };
        };
        let mut keys = BodyKeys::default();
        let mut refers = false;
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next());
        let referred = reference.and_then(|name| definitions.get(name));
        let either = ["allOf", "anyOf", "oneOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
        for part in referred.into_iter().chain(either) {
            refers = true;
            keys.merge(BodyKeys::of(part, definitions, depth + 1));
        }
        if let Some(items) = schema.get("items") {
            let entries = keys.entries.get_or_insert_default();
            entries.merge(BodyKeys::of(items, definitions, depth + 1));
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            keys.is_object = true;
            keys.is_free |= schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
            for (name, property) in properties {
                let any_case = property.get(ANY_CASE).is_some_and(|marked| *marked == Value::Bool(true));
                keys.add(name, any_case, BodyKeys::of(property, definitions, depth + 1));
            }
        } else if !refers {
            let is_object = |kind: &Value| kind == "object";
            let kinds = schema.get("type");
            let valued = schema.contains_key("const") || schema.contains_key("enum");
            keys.is_free |= match kinds {
                None => !valued,
                Some(Value::Array(kinds)) => kinds.iter().any(is_object),
                Some(kind) => is_object(kind),
            };
        }
        keys
    }

    fn add(&mut self, name: &str, any_case: bool, below: BodyKeys) {
        match self.known.iter_mut().find(|key| key.name == name && key.any_case == any_case) {
            Some(known) => known.below.merge(below),
            None => self.known.push(BodyKey { name: name.to_owned(), any_case, below }),
        }
    }

    /// Adds the keys of another schema for the same place.
    fn merge(&mut self, other: BodyKeys) {
        for BodyKey { name, any_case, below } in other.known {
            self.add(&name, any_case, below);
        }
        if let Some(entries) = other.entries {
            self.entries.get_or_insert_default().merge(*entries);
        }
        self.is_object |= other.is_object;
        self.is_free |= other.is_free;
    }

    fn find(&self, name: &str) -> Option<&BodyKey> {
        self.known.iter().find(|key| key.is(name))
    }

    /// Reports whether no unknown key is possible here or below.
    fn is_leaf(&self) -> bool {
        self.is_free || (!self.is_object && self.entries.as_ref().is_none_or(|entries| entries.is_leaf()))
    }

    /// Reports whether a key of this name is known at the top of the body.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns the unknown keys of a JSON body, each once, at most as many as a reply reports. A
    /// broken body is examined up to the fault; its reader refuses it.
    pub(super) fn unknown_in(&self, json: &[u8]) -> Vec<UnknownKey> {
        let found = RefCell::default();
        let walk = BodyKeyWalk { keys: self, place: &BodyPlace::Top, top: self, found: &found };
        let mut reader = serde_json::Deserializer::from_slice(json);
        let _ = walk.deserialize(&mut reader);
        found.into_inner()
    }

    /// Returns the unknown names of a URL-encoded form.
    pub(super) fn unknown_in_form(&self, form: &[u8]) -> Vec<UnknownKey> {
        let found = RefCell::default();
        let walk = BodyKeyWalk { keys: self, place: &BodyPlace::Top, top: self, found: &found };
        for (name, _) in form_urlencoded::parse(form) {
            if !name.is_empty() && !self.knows(&name) && !walk.note(&name) {
                break;
            }
        }
        found.into_inner()
    }
}

/// A place in a body. Its text form is a JSON path.
enum BodyPlace<'p> {
    Top,
    Key(&'p BodyPlace<'p>, &'p str),
    Entry(&'p BodyPlace<'p>, usize),
}

impl fmt::Display for BodyPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyPlace::Top => f.write_str("$"),
            BodyPlace::Key(above, name) => write!(f, "{above}.{name}"),
            BodyPlace::Entry(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}

/// A visitor that collects the unknown keys of a value and stores nothing else.
#[derive(Clone, Copy)]
struct BodyKeyWalk<'w> {
    keys: &'w BodyKeys,
    place: &'w BodyPlace<'w>,
    top: &'w BodyKeys,
    found: &'w RefCell<Vec<UnknownKey>>,
}

impl BodyKeyWalk<'_> {
    /// Notes an unknown key; returns whether there is room for more.
    fn note(&self, name: &str) -> bool {
        let mut found = self.found.borrow_mut();
        let nearest = nearest_name(name, self.keys.known.iter().map(|key| key.name.as_str())).map(str::to_owned);
        let options = self.top.known.iter().find(|key| key.name == "options" && !key.any_case);
        let elsewhere = match self.place {
            BodyPlace::Top => options.filter(|options| options.below.knows(name)).map(|_| "under `options`"),
            _ => self.top.knows(name).then_some("at the top of the body"),
        };
        let unknown = UnknownKey { within: self.place.to_string(), name: shown_name(name), nearest, elsewhere };
        if !found.contains(&unknown) {
            found.push(unknown);
        }
        found.len() < MOST_WARNINGS
    }
}

impl<'de> DeserializeSeed<'de> for BodyKeyWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.keys.is_leaf() {
            from.deserialize_ignored_any(IgnoredAny).map(drop)
        } else {
            from.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for BodyKeyWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if !self.keys.is_object {
            // A list is expected here. The body's reader refuses this value.
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(key) = map.next_key_seed(FindKey(self))? {
            match key {
                BodyKeyMatch::Known(BodyKey { name, below, .. }) => {
                    let place = BodyPlace::Key(self.place, name);
                    map.next_value_seed(BodyKeyWalk { keys: below, place: &place, ..self })?;
                }
                BodyKeyMatch::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
                // Further ones are not reported.
                BodyKeyMatch::TooMany => return Err(A::Error::custom("too many keys are unknown")),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Some(entries) = &self.keys.entries else {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let mut at = 0;
        while list
            .next_element_seed(BodyKeyWalk { keys: entries, place: &BodyPlace::Entry(self.place, at), ..self })?
            .is_some()
        {
            at += 1;
        }
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

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The result of looking up a key.
enum BodyKeyMatch<'w> {
    Known(&'w BodyKey),
    Unknown,
    TooMany,
}

/// A visitor that looks up a key while it is read, so that a known one needs no memory.
struct FindKey<'w>(BodyKeyWalk<'w>);

impl<'de, 'w> DeserializeSeed<'de> for FindKey<'w> {
    type Value = BodyKeyMatch<'w>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<BodyKeyMatch<'w>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for FindKey<'w> {
    type Value = BodyKeyMatch<'w>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<BodyKeyMatch<'w>, E> {
        let FindKey(walk) = self;
        Ok(match walk.keys.find(name) {
            Some(key) => BodyKeyMatch::Known(key),
            None if walk.note(name) => BodyKeyMatch::Unknown,
            None => BodyKeyMatch::TooMany,
        })
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;
    use stet_base::json::type_of;

    use super::*;

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "its schema is all that counts")]
    struct Desk {
        /// The name.
        name: Option<String>,
        folder_path: Option<String>,
        /// Anything.
        attributes: Option<Value>,
        operators: Vec<Operator>,
        lead: Option<Box<Person>>,
        options: Option<Mode>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "its schema is all that counts")]
    enum Operator {
        Set(Person),
        Unset(Person),
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "its schema is all that counts")]
    struct Person {
        full_name: String,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "its schema is all that counts")]
    struct Mode {
        create_mode: Option<String>,
        check_in: Option<bool>,
    }

    /// Returns the paths of the unknown keys in a body, with their nearest known names.
    fn unknown(body: &str) -> Vec<(String, Option<String>)> {
        let found = BodyKeys::of_body(type_of::<Desk>, false).unknown_in(body.as_bytes());
        found.into_iter().map(|key| (format!("{}.{}", key.within, key.name), key.nearest)).collect()
    }

    #[test]
    fn a_body_with_known_keys_has_no_unknown_ones() {
        let body = json!({
            "name": "a", "folderPath": null, "attributes": { "story": { "headline": [{ "x": 1 }] } },
            "operators": [{ "set": { "fullName": "A" } }, { "unset": { "fullName": "B" } }], "lead": { "fullName": "C" },
            "options": { "createMode": "x", "showpath": true, "webProduct": "w" },
            "SHOWXML": 1, "showSystemAttribute": false, "databaseId": 1, "Options": { "showPath": true },
        });
        assert_eq!(unknown(&body.to_string()), []);
        for other in
            ["", "null", "7", "[1, {\"x\": 1}]", "{\"operators\": {\"x\": 1}, \"lead\": [1]}", "{\"name\": {\"x\":1}}"]
        {
            assert_eq!(unknown(other), [], "{other}: who reads it refuses it");
        }
    }

    #[test]
    fn an_unknown_key_is_found_at_every_depth_with_its_nearest() {
        let body = json!({
            "folder_path": "/", "colour": { "set": 1 },
            "operators": [{ "set": { "fullName": "A" } }, { "unset": { "fulName": "B", "x": 1 } }, { "sett": {} }],
            "lead": { "full_name": "C" },
            "options": { "create_mode": "x", "zz": [] },
        });
        let found =
            |path: &str, nearest: &str| (path.to_owned(), Some(nearest.to_owned()).filter(|name| !name.is_empty()));
        let wanted = [
            found("$.folder_path", "folderPath"),
            found("$.colour", ""),
            found("$.operators[1].unset.fulName", "fullName"),
            found("$.operators[1].unset.x", ""),
            found("$.operators[2].sett", "set"),
            found("$.lead.full_name", "fullName"),
            found("$.options.create_mode", "createMode"),
            found("$.options.zz", ""),
        ];
        assert_eq!(unknown(&body.to_string()), wanted);
        assert_eq!(unknown("{\"zz\": 1, \"zz\": 2, \"broken"), [found("$.zz", "")], "up to where it breaks, and once");
    }

    #[test]
    fn a_key_at_another_place_is_said_to_be_there() {
        let keys = BodyKeys::of_body(type_of::<Desk>, false);
        let found =
            keys.unknown_in(b"{\"checkIn\": true, \"lead\": {\"name\": \"x\"}, \"options\": {\"folderPath\": \"/\"}}");
        let places: Vec<_> = found.iter().map(|key| key.elsewhere).collect();
        assert_eq!(places, [Some("under `options`"), Some("at the top of the body"), Some("at the top of the body")]);
    }

    #[test]
    fn unknown_body_keys_are_kept_up_to_the_reported_maximum() {
        let many: Vec<String> = (0..100_000).map(|n| format!("\"{n}{}\": {n}", "k".repeat(300))).collect();
        let found = BodyKeys::of_body(type_of::<Desk>, false).unknown_in(format!("{{{}}}", many.join(",")).as_bytes());
        assert_eq!(found.len(), MOST_WARNINGS);
        assert!(found.iter().all(|key| key.name.chars().count() <= 101));
        let deep = format!("{}1{}", "{\"lead\":".repeat(9000), "}".repeat(9000));
        assert_eq!(unknown(&deep).len(), 1, "what a person has not");
    }
}
