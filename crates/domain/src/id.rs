//! Typed identifiers, and the `source` that names an object by any of them (docs/api/README.md,
//! "Sources").
//!
//! Everything is parsed once, at the edge. Afterwards a mixed-up argument is a compile error.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Code, Error};

/// The number of a configured database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatabaseId(pub u16);

impl DatabaseId {
    /// The main database, unless the configuration names another one.
    pub const FIRST: DatabaseId = DatabaseId(1);

    /// Returns the main database, which is used where a call names none (docs/api/README.md,
    /// "Databases").
    pub fn main() -> DatabaseId {
        // Relaxed is enough: it is set before anything is served, and publishes no other data.
        DatabaseId(MAIN.load(Ordering::Relaxed))
    }

    /// Makes this the main database of the process. A process serves one repository, so this is
    /// called when its data directory is opened, and never with another number after that.
    pub fn set_main(self) {
        MAIN.store(self.0, Ordering::Relaxed);
    }
}

/// The number of the main database. It is global to the process, since identifiers without a
/// database part are parsed where no configuration is available.
static MAIN: AtomicU16 = AtomicU16::new(DatabaseId::FIRST.0);

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The identifier of an object, which never changes and is never reused:
/// `database$major.version.number`.
///
/// `version` is 0 for the object itself, and counts from 1 for its immutable versions. Every
/// version thus has its own loid, from which that of the object can be derived (docs/api/README.md,
/// "Versions as sources").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loid {
    /// The database that holds the object.
    pub database: DatabaseId,
    /// The first number; always 1 in objects that stet makes.
    pub major: u32,
    /// 0 for the object itself, else the number of one of its versions.
    pub version: u32,
    /// The number that identifies the object.
    pub number: u64,
}

impl Loid {
    /// The length in bytes of [`Loid::to_key`].
    pub const KEY_LEN: usize = 18;

    /// Creates the loid of an object that stet makes.
    pub const fn new(database: DatabaseId, number: u64) -> Loid {
        Loid { database, major: 1, version: 0, number }
    }

    /// Returns the loid of a version of this object.
    pub const fn at_version(self, version: u32) -> Loid {
        Loid { version, ..self }
    }

    /// Returns the loid of the object itself, whether this is its own or a version's.
    pub const fn object(self) -> Loid {
        self.at_version(0)
    }

    /// Returns the object's number, unique across databases, without the version.
    pub const fn to_number(self) -> u128 {
        (self.database.0 as u128) << 96 | (self.major as u128) << 64 | self.number as u128
    }

    /// Returns a big-endian key, whose byte order is creation order within a database.
    pub fn to_key(self) -> [u8; Loid::KEY_LEN] {
        let mut key = [0; Loid::KEY_LEN];
        key[0..2].copy_from_slice(&self.database.0.to_be_bytes());
        key[2..6].copy_from_slice(&self.major.to_be_bytes());
        key[6..14].copy_from_slice(&self.number.to_be_bytes());
        key[14..18].copy_from_slice(&self.version.to_be_bytes());
        key
    }

    /// Parses the first [`Loid::KEY_LEN`] bytes of `key`; `None` if it is shorter.
    pub fn from_key(key: &[u8]) -> Option<Loid> {
        Some(Loid {
            database: DatabaseId(u16::from_be_bytes(key.get(0..2)?.try_into().ok()?)),
            major: u32::from_be_bytes(key.get(2..6)?.try_into().ok()?),
            number: u64::from_be_bytes(key.get(6..14)?.try_into().ok()?),
            version: u32::from_be_bytes(key.get(14..18)?.try_into().ok()?),
        })
    }
}

impl fmt::Display for Loid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each reply has several: `write!` takes three times as long.
        let mut digits = itoa::Buffer::new();
        f.write_str(digits.format(self.database.0))?;
        f.write_str("$")?;
        f.write_str(digits.format(self.major))?;
        f.write_str(".")?;
        f.write_str(digits.format(self.version))?;
        f.write_str(".")?;
        f.write_str(digits.format(self.number))
    }
}

/// Parses digits only. `u64::from_str` would also accept a sign, which a loid does not have.
fn parse_number<T: FromStr>(text: &str) -> Option<T> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

impl FromStr for Loid {
    type Err = NotAnIdentifier;

    /// Parses `^(?:(\d+)\$)?(\d+)\.(\d+)\.(\d+)$`. Without the database part it is the main
    /// database (docs/api/README.md, "Sources").
    fn from_str(text: &str) -> Result<Loid, NotAnIdentifier> {
        let parse = || {
            let (database, rest) = match text.split_once('$') {
                Some((database, rest)) => (DatabaseId(parse_number(database)?), rest),
                None => (DatabaseId::main(), text),
            };
            let mut parts = rest.split('.');
            let loid = Loid {
                database,
                major: parse_number(parts.next()?)?,
                version: parse_number(parts.next()?)?,
                number: parse_number(parts.next()?)?,
            };
            parts.next().is_none().then_some(loid)
        };
        parse().ok_or(NotAnIdentifier)
    }
}

/// The error for a text that does not have the form of the requested identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnIdentifier;

impl fmt::Display for NotAnIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an identifier of the expected form")
    }
}

impl std::error::Error for NotAnIdentifier {}

/// Defines an identifier that is a uuid on the wire.
macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnIdentifier;
            /// Parses any form of RFC 9562: hyphenated, simple, braced, urn.
            fn from_str(text: &str) -> Result<Self, NotAnIdentifier> {
                Uuid::try_parse(text).map($name).map_err(|_| NotAnIdentifier)
            }
        }
    };
}

uuid_id! {
    /// The uuid of an object. Stet creates version 7; imported ones may have any version.
    ObjectUuid
}

/// Defines an identifier that is a number on the wire, unique within its container.
macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnIdentifier;
            fn from_str(text: &str) -> Result<Self, NotAnIdentifier> {
                parse_number(text).map($name).ok_or(NotAnIdentifier)
            }
        }
    };
}

number_id! {
    /// The id of an item of one drawer, as opposed to the object that it refers to.
    ShortcutId
}

/// The identifiers as regular expressions, for schemas. Each stands alone; [`ObjectSource`]'s
/// schema combines them.
const LOID: &str = r"(?:[0-9]+\$)?[0-9]+\.[0-9]+\.[0-9]+";
const UUID: &str =
    r"(?:urn:uuid:|\{)?[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\}?";
const NUMBER: &str = "[0-9]+";

/// Defines the schema of an identifier.
macro_rules! text_schema {
    ($name:ident, $what:literal, $example:literal, $($pattern:tt)+) => {
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "description": $what, "pattern": format!($($pattern)+), "examples": [$example]
                })
            }
        }
    };
}

text_schema!(Loid, "a loid", "1$1.0.4711", "^{LOID}$");
text_schema!(ObjectUuid, "a uuid", "0190f3a1-7c1e-7000-8000-0123456789ab", "^{UUID}$");
text_schema!(ShortcutId, "the id of an item of a drawer", "4711", "^{NUMBER}$");
// Of a path, the schema only checks that it is absolute; the call reports errors in its names.
text_schema!(ObjectSource, "a loid, uuid or path", "/News/City/harbour-ferry.xml", "^(?:/|(?:{LOID}|{UUID})$)");

macro_rules! text_serde {
    ($name:ident, $what:literal, $example:literal) => {
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse()
                    .map_err(|_| serde::de::Error::custom(format!("`{text}` is not {}, e.g. `{}`", $what, $example)))
            }
        }
    };
}

text_serde!(Loid, "a loid", "1$1.0.4711");
text_serde!(ObjectSource, "a loid, uuid or path", "/News/City/harbour-ferry.xml");

/// The `source` by which a client names an object (docs/api/README.md, "Sources").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ObjectSource {
    /// A loid; with a version other than 0, it names that version of the object.
    Loid(Loid),
    /// A uuid.
    Uuid(ObjectUuid),
    /// An absolute path in the database that the call names.
    Path(String),
}

impl ObjectSource {
    /// Parses a source; the error is for a text that is none of the three.
    pub fn parse(parameter: &str, text: &str) -> Result<ObjectSource, Error> {
        text.parse().map_err(|_| {
            Error::new(
                Code::InvalidParameter,
                format!("`{parameter}` must be a loid, a uuid or an absolute path, but is `{text}`."),
            )
            .with_source(text)
        })
    }
}

impl FromStr for ObjectSource {
    type Err = NotAnIdentifier;

    fn from_str(text: &str) -> Result<ObjectSource, NotAnIdentifier> {
        if text.starts_with('/') {
            // `path?uuid=<uuid>`: clients append the uuid they know, and it wins
            // (docs/api/README.md, "Sources").
            if let Some((_, uuid)) = text.rsplit_once("?uuid=") {
                return uuid.parse().map(ObjectSource::Uuid);
            }
            return Ok(ObjectSource::Path(text.to_owned()));
        }
        text.parse().map(ObjectSource::Loid).or_else(|_| text.parse().map(ObjectSource::Uuid))
    }
}

impl fmt::Display for ObjectSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectSource::Loid(loid) => loid.fmt(f),
            ObjectSource::Uuid(uuid) => uuid.fmt(f),
            ObjectSource::Path(path) => f.write_str(path),
        }
    }
}

impl From<Loid> for ObjectSource {
    fn from(loid: Loid) -> ObjectSource {
        ObjectSource::Loid(loid)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_loid_is_emitted_with_its_database_and_accepted_without() {
        let loid: Loid = "1.0.121124668".parse().unwrap();
        assert_eq!(loid.to_string(), "1$1.0.121124668");
        assert_eq!("1$1.0.121124668".parse(), Ok(loid));
    }

    #[test]
    fn what_is_no_loid_is_refused() {
        for text in ["", "1", "1.2", "1.2.3.4", "$1.2.3", "1$", "+1.2.3", "1$1.0.-4", "1.2.x", " 1.2.3", "99999$1.0.1"]
        {
            assert_eq!(text.parse::<Loid>(), Err(NotAnIdentifier), "{text}");
        }
    }

    #[test]
    fn a_source_is_told_by_its_form() {
        assert!(matches!("/a/b".parse(), Ok(ObjectSource::Path(_))));
        assert!(matches!("1$1.0.5".parse(), Ok(ObjectSource::Loid(_))));
        for uuid in [
            "0190F3A1-7C1E-7000-8000-0123456789AB",
            "0190f3a17c1e700080000123456789ab",
            "{0190f3a1-7c1e-7000-8000-0123456789ab}",
        ] {
            let source: ObjectSource = uuid.parse().unwrap();
            assert_eq!(source.to_string(), "0190f3a1-7c1e-7000-8000-0123456789ab");
        }
        assert!("news".parse::<ObjectSource>().is_err());
    }

    #[test]
    fn the_uuid_wins_over_the_path_before_it() {
        let source: ObjectSource = "/a/b?uuid=0190f3a1-7c1e-7000-8000-0123456789ab".parse().unwrap();
        assert!(matches!(source, ObjectSource::Uuid(_)));
        assert!("/a/b?uuid=nonsense".parse::<ObjectSource>().is_err());
    }

    proptest! {
        #[test]
        fn a_loid_survives_text_and_key(database: u16, major: u32, version: u32, number: u64) {
            let loid = Loid { database: DatabaseId(database), major, version, number };
            prop_assert_eq!(loid.to_string().parse(), Ok(loid));
            prop_assert_eq!(Loid::from_key(&loid.to_key()), Some(loid));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text: String) {
            let _ = text.parse::<ObjectSource>();
        }
    }
}
