//! Whole numbers in request bodies, in all notations that clients use.
//!
//! JSON has one kind of number: to many clients `1700000000456.0` and `1.7e12` are whole numbers
//! like any other. Serde reads them as fractions, which no integer accepts. Other clients send
//! numbers as texts: `"priority": "1"`. Where a whole number is expected, a text of digits is
//! accepted, by the rule of numbers in a query.
//!
//! Bodies are read through [`Lenient`] at all depths. Texts that are kept unchanged (`RawValue`)
//! stay as they are. An untagged enum is read before its fields are known, so one that accepts
//! numbers must parse digits itself.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// The limit from which on a float may stand for another number than the written one.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// A wrapper for each party that reads a body: deserializers, visitors and accesses. Each wraps the
/// next one in the same way.
pub struct Lenient<T>(pub T);

macro_rules! forward {
    ($($method:ident($($arg:ident: $kind:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($arg,)* Lenient(visitor))
        }
    )*};
}

macro_rules! whole_number {
    ($($method:ident)*) => {$(
        /// Visits texts as well, because a text may hold the digits of a number.
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.deserialize_any(Lenient(WholeNumber(visitor)))
        }
    )*};
}

macro_rules! pass {
    ($($method:ident($kind:ty))*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Lenient<D> {
    type Error = D::Error;

    forward! {
        deserialize_any() deserialize_bool() deserialize_i128() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string() deserialize_bytes()
        deserialize_byte_buf() deserialize_option() deserialize_unit() deserialize_seq() deserialize_map()
        deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    whole_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// The visitor of a field that holds a whole number. A text of digits counts as the number.
struct WholeNumber<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for WholeNumber<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    /// Parses the text by the rule of numbers in a query.
    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        match (text.parse(), text.parse()) {
            (Ok(number), _) => self.0.visit_u64(number),
            (_, Ok(number)) => self.0.visit_i64(number),
            _ => self.0.visit_str(text),
        }
    }

    pass! {
        visit_i64(i64) visit_u64(u64) visit_f64(f64)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Lenient<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    /// Visits a float without a fraction as an integer.
    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        // Integers represent such a number exactly.
        match value {
            _ if value.fract() != 0.0 || value.abs() >= EXACT_BELOW => self.0.visit_f64(value),
            _ if value < 0.0 => self.0.visit_i64(value as i64),
            _ => self.0.visit_u64(value as u64),
        }
    }

    pass! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_char(char) visit_str(&str)
        visit_borrowed_str(&'de str) visit_string(String) visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Lenient(inner))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Lenient(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Lenient(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Lenient(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Lenient(choice))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Lenient<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Lenient(from))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Lenient<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Lenient(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Lenient<A> {
    type Error = A::Error;

    // Keys are texts.
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Lenient(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Lenient<A> {
    type Error = A::Error;
    type Variant = Lenient<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        self.0.variant_seed(seed).map(|(value, variant)| (value, Lenient(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Lenient<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Lenient(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Lenient(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Lenient(visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn read<T: DeserializeOwned>(body: &str) -> Result<T, String> {
        let mut reader = serde_json::Deserializer::from_str(body);
        T::deserialize(Lenient(&mut reader)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_is_whole_however_it_is_written() {
        for (written, number) in [
            ("1700000000456.0", 1_700_000_000_456),
            ("1.700000000789E12", 1_700_000_000_789),
            ("1.7e12", 1_700_000_000_000),
            ("1.0", 1),
            ("-1.0", -1),
            ("0.0", 0),
            ("-0.0", 0),
            ("-3", -3),
            ("9007199254740991.0", (1 << 53) - 1),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(read::<i64>(written), Ok(number), "{written}");
        }
        for written in ["1.5", "-0.1", "1700000000456.001", "9007199254740992.0", "1e300", "18446744073709551616"] {
            assert!(read::<u64>(written).unwrap_err().contains("floating point"), "{written}");
        }
        assert!(read::<u64>("-1.0").unwrap_err().contains("integer `-1`"));
        assert!(read::<u8>("256.0").unwrap_err().contains("integer `256`"));
        assert_eq!((read::<f64>("1.0"), read::<f64>("1.5")), (Ok(1.0), Ok(1.5)), "who wants a float gets one");
    }

    #[test]
    fn a_text_of_digits_is_a_whole_number() {
        for (written, number) in [(r#""1""#, 1), (r#""0""#, 0), (r#""-3""#, -3), (r#""9223372036854775807""#, i64::MAX)]
        {
            assert_eq!(read::<i64>(written), Ok(number), "{written}");
        }
        assert_eq!(read::<u64>(r#""18446744073709551615""#), Ok(u64::MAX));
        assert_eq!(read::<Option<u8>>(r#""7""#), Ok(Some(7)));
        assert_eq!(read::<Vec<u32>>(r#"["1", 2, "3"]"#), Ok(vec![1, 2, 3]));
        assert_eq!(read::<String>(r#""1""#), Ok("1".to_owned()), "a text stays a text");
        for written in ["", " 1", "1.0", "1e3", "one", "0x1", "--1", "99999999999999999999", "١"] {
            let refused = read::<u64>(&format!("\"{written}\"")).unwrap_err();
            assert!(refused.contains("invalid type: string"), "{written}: {refused}");
        }
        assert!(read::<u64>(r#""-1""#).unwrap_err().contains("integer `-1`"));
        assert!(read::<u8>(r#""256""#).unwrap_err().contains("integer `256`"));
        for written in ["true", "null", "[]", "{}"] {
            assert!(read::<u64>(written).is_err(), "{written}");
        }
    }

    #[test]
    fn whole_numbers_are_read_in_any_form_at_any_depth_of_a_body() {
        #[derive(Debug, PartialEq, Deserialize, Serialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Text(String),
        }
        #[derive(Debug, PartialEq, Deserialize, Serialize)]
        enum Place {
            At(i64),
            Between(i64, i64),
            Named { id: u64 },
            Nowhere,
        }
        #[derive(Debug, PartialEq, Deserialize, Serialize)]
        struct Body {
            optional: Option<u64>,
            absent: Option<u64>,
            either: Vec<Either>,
            places: Vec<Place>,
            by_name: BTreeMap<String, i64>,
        }
        let body: Body = read(
            r#"{"optional": 1.0, "absent": null, "either": [2e0, "2.0"], "by_name": {"3.0": 3.0},
                "places": [{"At": "-1"}, {"Between": [4.0, 5]}, {"Named": {"id": "6"}}, "Nowhere"]}"#,
        )
        .unwrap();
        let read = json!({
            "optional": 1, "absent": null, "either": [2, "2.0"], "by_name": { "3.0": 3 },
            "places": [{ "At": -1 }, { "Between": [4, 5] }, { "Named": { "id": 6 } }, "Nowhere"],
        });
        assert_eq!(json!(body), read);
    }

    #[test]
    fn raw_json_values_are_kept_as_received() {
        let kept: BTreeMap<String, Box<RawValue>> = read(r#"{"metadata": {"edition": 1.0}}"#).unwrap();
        assert_eq!(kept["metadata"].get(), r#"{"edition": 1.0}"#);
    }
}
