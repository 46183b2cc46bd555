//! The display options: which parts of a record a reply shows (docs/api/README.md, "Display
//! options"). They are given in the query or in a body, and are part of the key under which a
//! rendered record is cached. Therefore only options with an effect are among them, and none whose
//! size the client chooses.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use stet_domain::error::{Code, Error, Result, shorten_text};

/// The display options of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Display {
    /// `showAdditionalInfo`
    pub additional_info: bool,
    /// `showPath`
    pub path: bool,
    /// `showSystemAttributes`
    pub system_attributes: bool,
    /// `showAttributes`
    pub attributes: bool,
    /// `showUsageTickets`
    pub usage_tickets: bool,
    /// `showVirtualAttributes`
    pub virtual_attributes: bool,
    /// `showXml`
    pub xml: bool,
    /// `useUnparsedXml`
    pub unparsed_xml: bool,
    /// `showJson`
    pub json: bool,
    /// `showUniquenessString`
    pub uniqueness_string: bool,
    /// `showWebType`
    pub web_type: bool,
}

/// A display option that is a boolean.
pub struct Flag {
    /// Name in the query and in bodies; matched without regard to case.
    pub name: &'static str,
    /// Default; for `showAdditionalInfo` the endpoint decides.
    pub default: bool,
    /// Description for the API reference.
    pub about: &'static str,
    field: fn(&mut Display) -> &mut bool,
}

/// Name of the option whose default the endpoint decides.
pub const ADDITIONAL_INFO: &str = "showAdditionalInfo";
/// Name of the option that not every endpoint has.
pub const PATH: &str = "showPath";
/// Name of the option that accompanies [`WEB_PRODUCT`].
pub const WEB_TYPE: &str = "showWebType";
/// Name of the only option that is a text. It is checked but has no effect: nothing gives an object
/// a web type.
pub const WEB_PRODUCT: &str = "webProduct";
/// The largest size of [`WEB_PRODUCT`] in bytes: that of a product's name.
pub const MAX_WEB_PRODUCT_BYTES: usize = 255;
/// Description for the API reference.
pub const WEB_PRODUCT_ABOUT: &str = "Web product used to search the web type.";

/// The boolean options, in the interface's order.
pub const FLAGS: &[Flag] = &[
    flag(ADDITIONAL_INFO, false, "Show additional information.", |d| &mut d.additional_info),
    flag(PATH, false, "Show the path.", |d| &mut d.path),
    flag("showSystemAttributes", true, "Show the system attributes.", |d| &mut d.system_attributes),
    flag("showAttributes", true, "Show the attributes.", |d| &mut d.attributes),
    flag("showUsageTickets", true, "Show the usage tickets.", |d| &mut d.usage_tickets),
    flag("showVirtualAttributes", true, "Show the virtual attributes.", |d| &mut d.virtual_attributes),
    flag("showXml", false, "Show those four attribute groups in XML form.", |d| &mut d.xml),
    flag("useUnparsedXml", false, "With showXml: the XML as stored.", |d| &mut d.unparsed_xml),
    flag("showJson", true, "Show those four attribute groups in JSON form.", |d| &mut d.json),
    flag("showUniquenessString", false, "Show the uniqueness string.", |d| &mut d.uniqueness_string),
    flag(WEB_TYPE, false, "Show the web type.", |d| &mut d.web_type),
];

const fn flag(name: &'static str, default: bool, about: &'static str, field: fn(&mut Display) -> &mut bool) -> Flag {
    Flag { name, default, about, field }
}

/// Another name of `showSystemAttributes`, which clients use.
pub const SYSTEM_ATTRIBUTE: &str = "showSystemAttribute";

/// Returns the option's canonical name for a name that clients use (docs/api/README.md, "Query
/// parameters").
pub fn canonical(name: &str) -> &str {
    if name.eq_ignore_ascii_case(SYSTEM_ATTRIBUTE) { "showSystemAttributes" } else { name }
}

/// Parses a boolean of a parameter or display option: true, false, 1, 0 in any case.
pub fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// The form of a boolean, for refusals.
pub const BOOLEAN_WANTED: &str = "true, false, 1 or 0";

impl Display {
    /// Reports whether any group of stored attributes is shown.
    pub fn shows_attributes(&self) -> bool {
        (self.xml || self.json) && (self.attributes || self.system_attributes || self.usage_tickets)
    }

    /// Returns the defaults of DISP(additional_info, …).
    pub const fn with_defaults(additional_info: bool) -> Display {
        Display {
            additional_info,
            path: false,
            system_attributes: true,
            attributes: true,
            usage_tickets: true,
            virtual_attributes: true,
            xml: false,
            unparsed_xml: false,
            json: true,
            uniqueness_string: false,
            web_type: false,
        }
    }

    /// Returns a display with none of the four attribute groups, so that its size is bounded.
    pub const fn bare() -> Display {
        Display {
            system_attributes: false,
            attributes: false,
            usage_tickets: false,
            virtual_attributes: false,
            ..Display::with_defaults(false)
        }
    }

    /// Sets a boolean option by its canonical name. Returns whether the name is known.
    pub fn set(&mut self, name: &str, value: bool) -> bool {
        let flag = FLAGS.iter().find(|flag| flag.name.eq_ignore_ascii_case(name));
        flag.is_some_and(|flag| {
            *(flag.field)(self) = value;
            true
        })
    }

    /// Applies the options of a JSON body: at its top level, or under `options`, which takes
    /// precedence. An option that is missing, null or an empty text stays as it is.
    ///
    /// # Errors
    /// `InvalidParameter` for a value of the wrong type; `InvalidBody` if `options` is not an
    /// object.
    pub fn with(mut self, said: BodyDisplayOptions) -> Result<Display> {
        for options in [said.above, said.under] {
            if let Some(fault) = options.fault {
                return Err(fault);
            }
            for (flag, value) in FLAGS.iter().zip(options.flags) {
                if let Some(value) = value {
                    *(flag.field)(&mut self) = value;
                }
            }
        }
        Ok(self)
    }
}

/// The display options in a body. All other members are skipped without being stored.
#[derive(Debug, Default)]
pub struct BodyDisplayOptions {
    above: GivenFlags,
    under: GivenFlags,
}

#[derive(Debug, Default)]
struct GivenFlags {
    /// The given values, in the order of [`FLAGS`].
    flags: [Option<bool>; FLAGS.len()],
    /// The first error.
    fault: Option<Error>,
}

impl GivenFlags {
    /// Stores a member if it is one of the options.
    fn take(&mut self, name: &str, value: &RawValue) -> Result<()> {
        if name.eq_ignore_ascii_case(WEB_PRODUCT) {
            return match scalar(value) {
                Some(Value::Null) => Ok(()),
                Some(Value::String(text)) => check_web_product(&text),
                _ => Err(Error::parameter(WEB_PRODUCT, quoted(value), "a text")),
            };
        }
        let Some(at) = flag_at(name) else { return Ok(()) };
        if let Some(value) = read_boolean(FLAGS[at].name, value)? {
            self.flags[at] = Some(value);
        }
        Ok(())
    }

    /// Reads an object's members. Members called `options` are read into `under`, if given.
    fn read<'de, A: MapAccess<'de>>(&mut self, mut map: A, mut under: Option<&mut GivenFlags>) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name.eq_ignore_ascii_case(WEB_PRODUCT) || flag_at(&name).is_some() {
                let value: Box<RawValue> = map.next_value()?;
                if let Err(fault) = self.take(&name, &value) {
                    self.fault.get_or_insert(fault);
                }
            } else if let (true, Some(under)) = (name.eq_ignore_ascii_case("options"), under.as_deref_mut()) {
                let value: Box<RawValue> = map.next_value()?;
                if value.get().starts_with('{') {
                    serde_json::Deserializer::from_str(value.get())
                        .deserialize_map(FlagsVisitor(under, None))
                        .map_err(A::Error::custom)?;
                } else if value.get() != "null" {
                    self.fault.get_or_insert_with(no_object);
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A visitor that reads an object into options.
struct FlagsVisitor<'o>(&'o mut GivenFlags, Option<&'o mut GivenFlags>);

impl<'de> Visitor<'de> for FlagsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.read(map, self.1)
    }
}

impl<'de> Deserialize<'de> for BodyDisplayOptions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<BodyDisplayOptions, D::Error> {
        let mut said = BodyDisplayOptions::default();
        from.deserialize_map(FlagsVisitor(&mut said.above, Some(&mut said.under)))?;
        Ok(said)
    }
}

/// Returns the index of an option in [`FLAGS`].
fn flag_at(name: &str) -> Option<usize> {
    FLAGS.iter().position(|flag| flag.name.eq_ignore_ascii_case(canonical(name)))
}

/// Returns a value that is neither list nor object.
fn scalar(value: &RawValue) -> Option<Value> {
    if value.get().starts_with(['[', '{']) { None } else { serde_json::from_str(value.get()).ok() }
}

/// Returns a shortened value, for a message.
fn quoted(value: &RawValue) -> String {
    shorten_text(value.get().to_owned(), 80)
}

/// Refuses a web product that is longer than a name.
///
/// # Errors
/// `InvalidParameter`. The message gives the length, because the value may be as large as a body.
pub fn check_web_product(text: &str) -> Result<()> {
    if text.len() <= MAX_WEB_PRODUCT_BYTES {
        return Ok(());
    }
    let message =
        format!("`{WEB_PRODUCT}` must be a text of at most {MAX_WEB_PRODUCT_BYTES} bytes, but has {}.", text.len());
    Err(Error::new(Code::InvalidParameter, message))
}

/// Refuses `options` that are neither an object nor null; a caller's options would be ignored
/// silently.
fn no_object() -> Error {
    Error::new(Code::InvalidBody, "The body is invalid at `$.options`: it must be an object.")
        .with_detail("path", "$.options")
}

/// Reads a boolean from a body: clients send it as JSON boolean, number or text.
fn read_boolean(name: &str, given: &RawValue) -> Result<Option<bool>> {
    let read = match scalar(given) {
        Some(Value::Null) => return Ok(None),
        Some(Value::Bool(value)) => Some(value),
        Some(Value::Number(number)) => number.as_i64().and_then(|number| match number {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => match parse_boolean(&text) {
            None => return Err(Error::parameter(name, shorten_text(text, 80), BOOLEAN_WANTED)),
            read => read,
        },
        _ => None,
    };
    read.map(Some).ok_or_else(|| Error::parameter(name, quoted(given), BOOLEAN_WANTED))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Display> {
        Display::with_defaults(false).with(serde_json::from_str(&body.to_string()).expect("it is an object"))
    }

    #[test]
    fn the_defaults_are_those_of_the_flag_table() {
        let mut display = Display::with_defaults(false);
        for flag in FLAGS {
            assert_eq!(*(flag.field)(&mut display), flag.default, "{}", flag.name);
        }
        assert!(Display::with_defaults(true).additional_info);
    }

    #[test]
    fn each_flag_sets_a_field_of_its_own() {
        for flag in FLAGS {
            let mut display = Display::with_defaults(false);
            assert!(display.set(flag.name, !flag.default));
            let changed: Vec<_> =
                FLAGS.iter().filter(|f| *(f.field)(&mut display) != f.default).map(|f| f.name).collect();
            assert_eq!(changed, [flag.name]);
        }
        assert!(!Display::with_defaults(false).set("showEverything", true));
    }

    #[test]
    fn a_body_may_have_options_at_the_top_and_under_options_which_wins() {
        let display = read(json!({
            "options": {"showXml": true, "showPath": true},
            "showXml": false,
            "showJson": false,
            "webProduct": "Courier",
        }))
        .unwrap();
        // The web product has no effect and is not part of a key.
        let expected = Display { xml: true, path: true, json: false, ..Display::with_defaults(false) };
        assert_eq!(display, expected);
    }

    #[test]
    fn names_in_a_body_match_without_regard_to_case_and_one_has_two_spellings() {
        let display = read(json!({"OPTIONS": {"SHOWPATH": 1, "showsystemattribute": 0}})).unwrap();
        assert!(display.path && !display.system_attributes);
        assert!(!read(json!({"showSystemAttributes": "FALSE"})).unwrap().system_attributes);
    }

    #[test]
    fn a_body_gives_booleans_as_json_or_as_the_query_spells_them() {
        for (value, expected) in [(json!(true), true), (json!("True"), true), (json!("1"), true), (json!(1), true)]
            .into_iter()
            .chain([(json!(false), false), (json!("FALSE"), false), (json!("0"), false), (json!(0), false)])
        {
            assert_eq!(read(json!({"showXml": value})).unwrap().xml, expected);
        }
    }

    #[test]
    fn null_and_empty_text_leave_an_option_as_it_is() {
        assert!(read(json!({"showJson": null, "showAttributes": "", "webProduct": null})).unwrap().json);
        assert!(read(json!({"webProduct": ""})).is_ok());
    }

    #[test]
    fn a_web_product_is_no_longer_than_a_name() {
        let product = |bytes: usize| json!({"options": {"webproduct": "x".repeat(bytes)}});
        assert_eq!(read(product(255)).unwrap(), Display::with_defaults(false));
        let error = read(product(3 << 20)).unwrap_err();
        assert_eq!(error.code, Code::InvalidParameter);
        assert_eq!(error.message, "`webProduct` must be a text of at most 255 bytes, but has 3145728.");
    }

    #[test]
    fn a_value_that_is_no_boolean_is_refused_by_name_and_value() {
        for value in [json!("yes"), json!(2), json!(1.5), json!([true]), json!({})] {
            let error = read(json!({"options": {"showxml": value}})).unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter);
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(error.message, format!("`showXml` must be true, false, 1 or 0, but is `{shown}`."));
        }
        assert_eq!(read(json!({"webProduct": 7})).unwrap_err().code, Code::InvalidParameter);
    }

    #[test]
    fn options_are_an_object_or_nothing() {
        for options in [json!("showXml"), json!(""), json!(["showXml"]), json!(5), json!(false)] {
            let error = read(json!({"options": options})).unwrap_err();
            assert_eq!((error.code, &error.details.unwrap()["path"]), (Code::InvalidBody, &json!("$.options")));
        }
        for body in [json!({"options": null}), json!({"options": {}}), json!({"option": {"showXml": 7}})] {
            assert_eq!(read(body).unwrap(), Display::with_defaults(false));
        }
    }
}
