//! Values that serde reads as the configuration's structs, with structured faults for composing
//! sentences. Serde's own readers return errors as texts.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

/// The fault of a value. The caller knows the position of the value.
#[derive(Debug)]
pub(super) enum ValueError {
    /// An unknown key, and the known ones.
    UnknownKey(&'static [&'static str]),
    /// An unknown text, and the known ones.
    UnknownText(String, &'static [&'static str]),
    /// A value of another type, or one that its type can't hold: the value, and the requirement.
    Unfit(String, String),
    /// A key that must be there.
    Missing(&'static str),
    /// Any other fault, as a clause.
    Other(String),
}

impl ValueError {
    fn unfit(found: &Unexpected<'_>, wanted: &dyn Expected) -> ValueError {
        let found = match found {
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Str(text) => format!("the text {text:?}"),
            other => other.to_string(),
        };
        ValueError::Unfit(found, wanted.to_string())
    }
}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(fault: T) -> ValueError {
        ValueError::Other(fault.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> ValueError {
        ValueError::unfit(&found, wanted)
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> ValueError {
        ValueError::unfit(&found, wanted)
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> ValueError {
        ValueError::UnknownText(found.to_owned(), known)
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> ValueError {
        ValueError::UnknownKey(known)
    }

    fn missing_field(key: &'static str) -> ValueError {
        ValueError::Missing(key)
    }
}

/// Text for serde only; messages for people are composed in [`super::load`].
impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ValueError {}

/// A value, for serde to read.
pub(super) struct ConfigValue(pub(super) Value);

impl IntoDeserializer<'_, ValueError> for ConfigValue {
    type Deserializer = ConfigValue;

    fn into_deserializer(self) -> ConfigValue {
        self
    }
}

impl<'de> Deserializer<'de> for ConfigValue {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(entries) => {
                SeqDeserializer::new(entries.into_iter().map(ConfigValue)).deserialize_any(visitor)
            }
            Value::Table(values) => {
                let values = values.into_iter().map(|(key, value)| (key, ConfigValue(value)));
                MapDeserializer::new(values).deserialize_any(visitor)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            // An array would be read as the values of its keys, in their order.
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            other => ConfigValue(other).deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(text) => text.into_deserializer().deserialize_enum(name, variants, visitor),
            other => ConfigValue(other).deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}
