//! Values read as the configuration's structs, with what is wrong in parts that sentences can be made of: serde's own readers
//! give their errors as texts.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

/// What is wrong with a value. Where it is, is for others to know.
#[derive(Debug)]
pub(super) enum Fault {
    /// A key that there is not, and those that there are.
    UnknownKey(&'static [&'static str]),
    /// A text that is none of those that there are.
    UnknownText(String, &'static [&'static str]),
    /// A value of another type, or one that its type can't hold: what it is, and what it must be.
    Unfit(String, String),
    /// A key that must be there.
    Missing(&'static str),
    /// A clause.
    Other(String),
}

impl Fault {
    fn unfit(found: &Unexpected<'_>, wanted: &dyn Expected) -> Fault {
        let found = match found {
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Str(text) => format!("the text {text:?}"),
            other => other.to_string(),
        };
        Fault::Unfit(found, wanted.to_string())
    }
}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(fault: T) -> Fault {
        Fault::Other(fault.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Fault {
        Fault::unfit(&found, wanted)
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Fault {
        Fault::unfit(&found, wanted)
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Fault {
        Fault::UnknownText(found.to_owned(), known)
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Fault {
        Fault::UnknownKey(known)
    }

    fn missing_field(key: &'static str) -> Fault {
        Fault::Missing(key)
    }
}

/// For serde; what people read is made in [`super::load`].
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

/// A value, for serde to read.
pub(super) struct Given(pub(super) Value);

impl IntoDeserializer<'_, Fault> for Given {
    type Deserializer = Given;

    fn into_deserializer(self) -> Given {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(entries) => SeqDeserializer::new(entries.into_iter().map(Given)).deserialize_any(visitor),
            Value::Table(values) => {
                let values = values.into_iter().map(|(key, value)| (key, Given(value)));
                MapDeserializer::new(values).deserialize_any(visitor)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::String(text) => text.into_deserializer().deserialize_enum(name, variants, visitor),
            other => Given(other).deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
