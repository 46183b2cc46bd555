//! The readers of request bodies (docs/api/README.md, "Bodies"). Each body, and all bodies
//! together, are bounded while they stream. An error names the place of the fault.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use actix_web::error::PayloadError;
use actix_web::web::Payload;
use bytes::Bytes;
use futures_util::StreamExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use stet_base::json::schema_of_content;
use stet_base::limits::{GrowingBuffer, Reservation};
use stet_base::wording;
use stet_config::LimitsConfig;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result, escape_control_characters};

use super::whole_number::Lenient;

/// An unread body, and the reservation for the part that has been read.
pub struct IncomingBody {
    /// The bytes as they arrive.
    pub payload: Payload,
    /// The memory reservation of the call.
    pub room: Arc<Reservation>,
}

/// Returns the error for a body that is larger than allowed.
pub fn too_large(what: &str, limit: u64) -> Error {
    Error::new(Code::TooLarge, format!("{what} is larger than the {} allowed.", count_with_noun(limit, "byte")))
        .with_detail("limit", limit)
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidBody, message)
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// `TooLarge` as soon as the limit is exceeded, or announced to be; `Overloaded` if all bodies
/// together take too much memory; `InvalidBody` if the client stops sending.
pub async fn read(incoming: IncomingBody, announced: Option<u64>, limit: usize) -> Result<Bytes> {
    let IncomingBody { mut payload, room } = incoming;
    if announced.is_some_and(|announced| announced > limit as u64) {
        return Err(too_large("The body", limit as u64));
    }
    // The announced size is not allocated at once: the bytes may never arrive.
    let mut body = GrowingBuffer::new(&room);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk
            .map_err(|error| invalid(format!("The body could not be read: {}.", describe_payload_error(&error))))?;
        if body.len() + chunk.len() > limit {
            return Err(too_large("The body", limit as u64));
        }
        body.extend(&chunk, limit)?;
    }
    Ok(body.freeze())
}

/// Reports whether an optional body counts as absent: it is empty, or a JSON object without a key,
/// which libraries send for no data (docs/api/README.md, "Bodies"). Only for bodies that are
/// contents; JSON bodies are parsed as such.
pub fn says_nothing(body: &[u8]) -> bool {
    let body = without_mark(body);
    let within = body.trim_ascii().strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    body.is_empty() || within.is_some_and(|within| within.trim_ascii().is_empty())
}

/// The UTF-8 byte order mark, which editors put at the start of files. It is not part of a JSON
/// text (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a JSON text without the byte order mark in front of it.
pub fn without_mark(json: &[u8]) -> &[u8] {
    json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json)
}

/// The number of bytes that a parsed body may take without being counted: less than its connection
/// takes.
const UNCOUNTED: usize = 4 << 10;

/// Counts the values of a JSON text before it is parsed, without recursion. An empty list or object
/// counts as two.
fn values_of(json: &[u8], most_depth: usize, most_values: usize) -> Result<usize> {
    let (mut depth, mut values, mut in_text, mut escaped) = (0usize, 1usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                values += 1;
                if depth > most_depth {
                    let message =
                        format!("The body is nested deeper than the {} allowed.", count_with_noun(most_depth, "level"));
                    return Err(invalid(message).with_detail("path", "$"));
                }
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            b',' if !in_text => values += 1,
            _ => {}
        }
        if values > most_values {
            let message = format!(
                "The body has more than the {} allowed (`limits.json_values`).",
                count_with_noun(most_values, "value")
            );
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", most_values));
        }
    }
    Ok(values)
}

/// The limits and rules by which a JSON body is read.
#[derive(Clone, Copy)]
pub struct JsonBodyReader<'r> {
    /// Whether a body is required. Otherwise an absent or blank one counts as `{}`.
    pub required: bool,
    /// The number of levels that it may be nested.
    pub depth: usize,
    /// The number of values that it may have.
    pub values: usize,
    /// The reservation that the parsed values count against.
    pub room: &'r Reservation,
    /// Whether the body contains a password or a token. Then an error quotes nothing of the body:
    /// replies may be logged on their way, and a misplaced value may be the secret.
    pub secret: bool,
    /// The number of entries that a list of sources may have ([`entries_allowed`]).
    pub entries: usize,
}

thread_local! {
    static ENTRIES: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Returns how many entries of a list of sources are useful in the body that this thread is
/// reading. Later entries need not be stored, because the list is refused for its length.
pub fn entries_allowed() -> usize {
    ENTRIES.get()
}

impl<'r> JsonBodyReader<'r> {
    /// Returns the rules for a body without a secret.
    pub fn of(limits: &LimitsConfig, required: bool, room: &'r Reservation) -> JsonBodyReader<'r> {
        let (depth, values, entries) = (limits.json_depth, limits.json_values, limits.list_sources);
        JsonBodyReader { required, depth, values, room, secret: false, entries }
    }

    /// Parses a JSON body.
    ///
    /// # Errors
    /// `InvalidBody` with the JSON path of the fault; `TooLarge` for too many values; `Overloaded`
    /// if there is no room for the parsed values, which are counted as long as the body is.
    pub fn any<T: DeserializeOwned>(self, body: &[u8]) -> Result<T> {
        let body = without_mark(body);
        let blank = body.iter().all(u8::is_ascii_whitespace);
        if blank && self.required {
            return Err(invalid("The body is missing: a JSON body is required.".to_owned()).with_detail("path", "$"));
        }
        let json = if blank { b"{}" } else { body };
        let values = values_of(json, self.depth, self.values)?;
        // The texts are copied once, and the values around them need memory too.
        let read = json.len() + values * LimitsConfig::VALUE_BYTES as usize;
        if read > UNCOUNTED {
            self.room.add(read)?;
        }
        self.parse(json)
    }

    /// Parses a text whose depth and number of values have been checked. The result is counted
    /// elsewhere or dropped at once.
    fn parse<T: DeserializeOwned>(self, json: &[u8]) -> Result<T> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        ENTRIES.set(self.entries);
        let value = serde_path_to_error::deserialize(Lenient(&mut reader)).map_err(|error| {
            let path = match error.path().to_string() {
                path if path == "." => "$".to_owned(),
                path if path.starts_with('[') => format!("${path}"),
                path => format!("$.{path}"),
            };
            let is_unknown = error.inner().to_string().starts_with("unknown field `");
            let path = match path.rsplit_once('.') {
                // The key of a client's choice may be a password.
                Some((within, _)) if self.secret && is_unknown => within.to_owned(),
                _ => path,
            };
            let why =
                if self.secret { without_values(error.inner()) } else { wording::describe_json_error(error.inner()) };
            invalid(format!("The body is invalid at `{path}`: {why}.")).with_detail("path", path)
        })?;
        reader
            .end()
            .map_err(|error| invalid(format!("The body continues after its end: {error}.")).with_detail("path", "$"))?;
        Ok(value)
    }

    /// Parses a JSON body that must be an object, otherwise like [`JsonBodyReader::any`].
    ///
    /// # Errors
    /// The errors of [`JsonBodyReader::any`].
    pub fn object<T: DeserializeOwned>(self, body: &[u8]) -> Result<T> {
        self.any(body).map(|JsonObject(value)| value)
    }

    /// Reads the fields that `T` knows from a body that is an object. A list is accepted too, but
    /// ignored. The result must be small for any body, because its memory is not counted.
    ///
    /// # Errors
    /// The errors of [`JsonBodyReader::any`].
    pub fn some<T: DeserializeOwned + Default>(self, body: &[u8]) -> Result<T> {
        let body = without_mark(body);
        let blank = body.iter().all(u8::is_ascii_whitespace);
        if blank {
            return if self.required { self.any(body) } else { Ok(T::default()) };
        }
        values_of(body, self.depth, self.values)?;
        match self.parse(body)? {
            BodyShape::Object(value) => Ok(value),
            BodyShape::List => Ok(T::default()),
            BodyShape::Neither => {
                let message = "The body is invalid at `$`: it must be an object or a list.";
                Err(invalid(message.to_owned()).with_detail("path", "$"))
            }
        }
    }
}

/// The kind of a body: an object, a list or another value.
enum BodyShape<T> {
    Object(T),
    List,
    Neither,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BodyShape<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<BodyShape<T>, D::Error> {
        struct BodyShapeVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for BodyShapeVisitor<T> {
            type Value = BodyShape<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<BodyShape<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(BodyShape::Object)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<BodyShape<T>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(BodyShape::List)
            }

            fn visit_bool<E>(self, _: bool) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }

            fn visit_i64<E>(self, _: i64) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }

            fn visit_u64<E>(self, _: u64) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }

            fn visit_f64<E>(self, _: f64) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }

            fn visit_str<E>(self, _: &str) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }

            fn visit_unit<E>(self) -> std::result::Result<BodyShape<T>, E> {
                Ok(BodyShape::Neither)
            }
        }

        from.deserialize_any(BodyShapeVisitor(PhantomData))
    }
}

/// A value that must be a JSON object, as a body or within one. A plain struct does not ensure
/// that: serde also accepts a list of its fields in order.
#[derive(Debug, Clone, Default)]
pub struct JsonObject<T>(pub T);

schema_of_content!(JsonObject);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<JsonObject<T>, D::Error> {
        struct JsonObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for JsonObjectVisitor<T> {
            type Value = JsonObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<JsonObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(JsonObject)
            }
        }

        from.deserialize_map(JsonObjectVisitor(PhantomData))
    }
}

/// Describes a parse error without quoting the body. For a value that is not among the allowed ones
/// it lists those.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if let Some(allowed) = wording::allowed_instead(&text) {
        return format!("the value must be {allowed}");
    }
    if let Some((_, known)) = text.strip_prefix("unknown field `").and_then(|rest| rest.rsplit_once(", expected ")) {
        let known = known.split(" at line ").next().unwrap_or(known).trim_start_matches("one of ");
        return format!("a key is not one of {known}");
    }
    if let Some((_, wanted)) = text.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected ")) {
        let wanted = wanted.split(" at line ").next().unwrap_or(wanted);
        return format!("the value must be {}", wording::describe_expected(wanted));
    }
    // For broken JSON the text contains a position; for a field, a name of the schema.
    let harmless = !error.is_data() || ["missing field `", "duplicate field `"].iter().any(|of| text.starts_with(of));
    if harmless { text } else { "the value has the wrong type".to_owned() }
}

/// Describes why a body could not be read, as the end of a sentence.
pub fn describe_payload_error(error: &PayloadError) -> String {
    match error {
        PayloadError::Incomplete(_) => "it ended too early".to_owned(),
        PayloadError::EncodingCorrupted => "its transfer coding is broken".to_owned(),
        PayloadError::Overflow => "it is too large".to_owned(),
        PayloadError::Io(error) => escape_control_characters(&error.to_string()),
        _ => "the connection broke".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose};

    use super::*;

    fn reading(room: &Reservation, depth: usize) -> JsonBodyReader<'_> {
        JsonBodyReader { required: true, depth, values: 1000, room, secret: false, entries: usize::MAX }
    }

    #[test]
    fn body_values_are_charged_and_too_many_are_refused_before_parsing() {
        let budget = MemoryBudget::new(1 << 20);
        let room = budget.reservation(Some(Holder::User("a".into())), MemoryPurpose::Bodies);
        let list = |values: usize| format!("[{}]", vec!["\"\""; values].join(","));
        let read: Vec<String> = reading(&room, 8).any(list(998).as_bytes()).unwrap();
        let held = (1 << 20) - (0..=1 << 20).rev().find(|bytes| room.add(*bytes).is_ok()).unwrap();
        assert!(held >= read.capacity() * size_of::<String>(), "{held}");
        let error = reading(&room, 8).any::<Vec<String>>(list(1000).as_bytes()).unwrap_err();
        assert!(error.code == Code::TooLarge && error.message.contains("limits.json_values"), "{error}");
        let error = reading(&room, 8).any::<Vec<String>>(list(998).as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::Overloaded, "all is held");
        assert!(reading(&room, 8).any::<Vec<String>>(list(20).as_bytes()).is_ok(), "little does not count");
        // A text that contains what looks like values is one value.
        assert!(
            reading(&Reservation::unaccounted(), 8)
                .any::<String>(format!("\"{}\"", ",[{".repeat(9999)).as_bytes())
                .is_ok()
        );
    }

    #[test]
    fn partial_bodies_are_taken_from_objects_and_lists_only() {
        let some = |body: &str| reading(&Reservation::unaccounted(), 8).some::<Drawer>(body.as_bytes());
        assert_eq!(some(r#"{"x": [1, {}], "capacity": 3}"#).unwrap().capacity, 3);
        assert_eq!(some(r#"[{"capacity": 3}, 4]"#).unwrap().capacity, 0);
        for body in ["null", "true", "-1", "1", "1.5", "\"x\""] {
            assert!(some(body).unwrap_err().message.ends_with("`$`: it must be an object or a list."), "{body}");
        }
        assert_eq!(some(" ").unwrap_err().code, Code::InvalidBody);
        assert_eq!(some(&format!("[{}]", "[],".repeat(999))).unwrap_err().code, Code::TooLarge);
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Drawer {
        capacity: u32,
    }

    #[test]
    fn nested_lists_are_no_objects_and_faults_name_their_place_in_the_body() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Search {
            filters: JsonObject<Drawer>,
            more: Vec<JsonObject<Drawer>>,
        }
        let parsed = |body: &str| reading(&Reservation::unaccounted(), 8).object::<Search>(body.as_bytes());
        let search = parsed(r#"{"filters": {"capacity": 3}, "more": [{"capacity": 4}]}"#).unwrap();
        assert_eq!((search.filters.0.capacity, search.more[0].0.capacity), (3, 4));
        for (body, path) in [
            (r#"{"filters": []}"#, "`$.filters`"),
            (r#"{"filters": [3]}"#, "`$.filters`"),
            (r#"{"filters": 3}"#, "`$.filters`"),
            (r#"{"filters": {"capacity": "x"}}"#, "`$.filters.capacity`"),
            (r#"{"more": [{}, [4]]}"#, "`$.more[1]`"),
            ("[]", "`$`"),
            ("[{}]", "`$`"),
        ] {
            let error = parsed(body).unwrap_err();
            assert!(error.code == Code::InvalidBody && error.message.contains(path), "{body}: {error}");
        }
    }

    fn parse<T: DeserializeOwned>(body: &[u8], required: bool, depth: usize) -> Result<T> {
        JsonBodyReader { required, ..reading(&Reservation::unaccounted(), depth) }.any(body)
    }

    #[test]
    fn faults_in_secret_bodies_name_the_path_but_no_value() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only whether it can be read counts")]
        struct Login {
            password: String,
            level: Option<Level>,
        }
        #[derive(Debug, Deserialize)]
        enum Level {
            Low,
        }
        let refused = |body: &str| {
            let room = Reservation::unaccounted();
            let error =
                JsonBodyReader { secret: true, ..reading(&room, 8) }.object::<Login>(body.as_bytes()).unwrap_err();
            assert_eq!(error.code, Code::InvalidBody);
            assert!(!error.message.contains("4242"), "{error}");
            error.message
        };
        let wanted = "The body is invalid at `$.password`: the value must be a text.";
        for value in ["424242", "-424242", "42.4242", "true", "null", "{\"x\": 424242}", "[\"424242\"]"] {
            assert_eq!(refused(&format!("{{\"password\": {value}}}")), wanted);
        }
        let level = refused(r#"{"password": "x", "level": "424242"}"#);
        assert!(level.ends_with("`$.level`: the value must be `Low`."), "{level}");
        for body in
            ["424242", "\"424242\"", "[424242]", "{\"password\": \"424242\" 424242", "{\"password\": \"\\x424242\"}"]
        {
            refused(body);
        }
        assert!(refused("{}").contains("missing field `password`"));
        assert!(refused("{\"password\": \"424242\", \"password\": \"424242\"}").contains("duplicate field"));
        assert!(refused("{\"password\": \"424242\"").contains("EOF"));
        assert!(refused("{\"password\": \"424242\"} 424242").contains("continues after its end"));
    }

    #[test]
    fn a_fault_is_named_by_its_path() {
        let error = parse::<Vec<Drawer>>(br#"[{"capacity": 1}, {"capacity": "many"}]"#, true, 8).unwrap_err();
        assert_eq!(error.code, Code::InvalidBody);
        assert!(error.message.contains("$[1].capacity") && error.message.contains("many"), "{error}");
    }

    #[test]
    fn an_optional_body_may_be_absent_or_blank() {
        for body in [&b""[..], b" \n", b"{}", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}"] {
            assert_eq!(parse::<Drawer>(body, false, 8).unwrap().capacity, 0);
        }
        assert_eq!(parse::<Drawer>(b" ", true, 8).unwrap_err().code, Code::InvalidBody);
    }

    #[test]
    fn nothing_is_said_by_no_bytes_and_by_an_object_without_keys() {
        for nothing in ["", "{}", " {}\r\n", "{\n}", "\u{feff}", "\u{feff}{}"] {
            assert!(says_nothing(nothing.as_bytes()), "{nothing:?}");
        }
        for something in [" ", "{", "}", "[]", "{}{}", "{\"a\": 1}", "null"] {
            assert!(!says_nothing(something.as_bytes()), "{something:?}");
        }
    }

    #[test]
    fn deep_json_is_refused_before_it_is_parsed() {
        let deep = "[".repeat(1_000_000);
        assert!(parse::<Value>(deep.as_bytes(), true, 64).unwrap_err().message.contains("nested deeper"));
        assert!(parse::<Value>(br#""[[[[[[[\"[[[[""#, true, 2).is_ok());
        assert!(parse::<Value>(b"{} x", true, 8).is_err());
    }
}
