//! Filters of listings (docs/api/README.md, "Filters").
//!
//! A filter has one or several values, of which at least one must fit. An object must pass every
//! filter. A value that no object has is no error: the listing is empty.

use std::collections::HashSet;
use std::sync::Arc;

use stet_auth::Name;
use stet_base::wildcards::Wildcards;
use stet_content::words::visible_form;
use stet_domain::error::{Error, Result};
use stet_domain::object::{Record, SharedText};
use stet_sysconfig::ObjectTypes;

/// The largest number of values that one filter may have.
const MOST_VALUES: usize = 100;

/// The largest size of a value, in bytes: that of a name.
const MOST_VALUE_BYTES: usize = 255;

/// The largest size of all patterns of a call, in bytes. Comparing a name with that many takes some
/// 20 µs.
const MOST_PATTERN_BYTES: usize = 4096;

/// The filters in a call, as the caller wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterValues {
    /// Names of object types.
    pub types: Vec<String>,
    /// Names of workflow statuses.
    pub statuses: Vec<String>,
    /// Names of families of object types.
    pub families: Vec<String>,
    /// Patterns for names.
    pub names: Vec<String>,
    /// Names of users.
    pub creators: Vec<String>,
    /// Start of the time of the last change, in epoch seconds, exclusive.
    pub modified_after: Option<i64>,
    /// End of the time of the last change, in epoch seconds, exclusive.
    pub modified_before: Option<i64>,
}

/// The filters of a listing, ready to be applied.
#[derive(Debug, Default)]
pub struct RecordFilter {
    types: Option<(HashSet<SharedText>, Arc<ObjectTypes>)>,
    statuses: Option<HashSet<String>>,
    families: Option<HashSet<String>>,
    names: Option<NamePatterns>,
    creators: Option<HashSet<String>>,
    modified_after: Option<i64>,
    modified_before: Option<i64>,
}

impl RecordFilter {
    /// Builds a filter. `types` are the object types of the listed database.
    ///
    /// # Errors
    /// `InvalidParameter` for too many values, or too long ones.
    pub fn of(values: FilterValues, types: Arc<ObjectTypes>) -> Result<RecordFilter> {
        for (parameter, given) in [
            ("type", &values.types),
            ("status", &values.statuses),
            ("family", &values.families),
            ("name", &values.names),
            ("creator", &values.creators),
        ] {
            check_values(parameter, given)?;
        }
        let name_of = |given: &String| match types.get(given) {
            Some(known) => known.name.clone(),
            None => given.as_str().into(),
        };
        Ok(RecordFilter {
            types: any(&values.types).map(|given| (given.iter().map(name_of).collect(), types.clone())),
            statuses: any(&values.statuses).map(|given| given.iter().cloned().collect()),
            families: any(&values.families).map(|given| given.iter().map(|name| name.to_lowercase()).collect()),
            names: any(&values.names).map(|given| NamePatterns::of("name", given)).transpose()?,
            creators: any(&values.creators).map(|given| given.iter().map(|name| Name::of(name).to_string()).collect()),
            modified_after: values.modified_after,
            modified_before: values.modified_before,
        })
    }

    /// Reports whether every object passes, because the call has no filter.
    pub fn is_empty(&self) -> bool {
        let RecordFilter { types, statuses, families, names, creators, modified_after, modified_before } = self;
        types.is_none()
            && statuses.is_none()
            && families.is_none()
            && names.is_none()
            && creators.is_none()
            && modified_after.is_none()
            && modified_before.is_none()
    }

    /// Reports whether an object passes every filter.
    pub fn accepts(&self, record: &Record) -> bool {
        let modified = i64::try_from(record.modified).unwrap_or(i64::MAX);
        self.modified_after.is_none_or(|after| modified > after)
            && self.modified_before.is_none_or(|before| modified < before)
            && passes(&self.families, |wanted| wanted.contains(record.family.name()))
            && passes(&self.types, |(wanted, types)| {
                let known = types.get(&record.type_name).map_or(&record.type_name, |known| &known.name);
                wanted.contains(known)
            })
            && passes(&self.statuses, |wanted| record.status.as_ref().is_some_and(|status| wanted.contains(&**status)))
            && passes(&self.creators, |wanted| wanted.contains(&*record.creator))
            && passes(&self.names, |wanted| wanted.matches(&record.name))
    }
}

/// Patterns for names, of which at least one must match. `*` stands for any characters, `?` for
/// one.
#[derive(Debug, Default)]
pub struct NamePatterns(Option<Wildcards>);

impl NamePatterns {
    /// Reads the patterns of a parameter. Case counts, and both sides are compared in their
    /// [`visible_form`].
    ///
    /// # Errors
    /// `InvalidParameter` for too many patterns, or too long ones.
    pub fn of(parameter: &str, patterns: &[String]) -> Result<NamePatterns> {
        check_values(parameter, patterns)?;
        let bytes: usize = patterns.iter().map(String::len).sum();
        if bytes > MOST_PATTERN_BYTES {
            let wanted = format!("patterns of at most {MOST_PATTERN_BYTES} bytes in all");
            return Err(Error::parameter(parameter, format!("patterns of {bytes} bytes"), &wanted));
        }
        if patterns.is_empty() {
            return Ok(NamePatterns(None));
        }
        let patterns: Vec<_> = patterns.iter().map(|pattern| visible_form(pattern)).collect();
        Ok(NamePatterns(Some(Wildcards::new(patterns.iter().map(|pattern| &**pattern)))))
    }

    /// Reports whether a name matches. Without patterns, every name does.
    pub fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|patterns| patterns.matches(&visible_form(name)))
    }
}

/// Refuses too many values, and values that are longer than a name.
fn check_values(parameter: &str, values: &[String]) -> Result<()> {
    if values.len() > MOST_VALUES {
        let given = format!("a list of {} values", values.len());
        return Err(Error::parameter(parameter, given, &format!("a list of at most {MOST_VALUES} values")));
    }
    match values.iter().find(|value| value.len() > MOST_VALUE_BYTES) {
        Some(long) => {
            let wanted = format!("a list of values of at most {MOST_VALUE_BYTES} bytes");
            Err(Error::parameter(parameter, long, &wanted))
        }
        None => Ok(()),
    }
}

/// Returns the values of a filter, if the call has that filter.
fn any(values: &[String]) -> Option<&[String]> {
    (!values.is_empty()).then_some(values)
}

/// Reports whether an optional filter lets an object pass.
fn passes<F>(filter: &Option<F>, fits: impl FnOnce(&F) -> bool) -> bool {
    filter.as_ref().is_none_or(fits)
}

#[cfg(test)]
mod tests {
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::object::FamilyKind;

    use super::*;

    const TYPES: [(&str, FamilyKind); 3] =
        [("Folder", FamilyKind::Folder), ("Drawer", FamilyKind::Drawer), ("Binary", FamilyKind::Document)];

    #[test]
    fn invisible_characters_in_names_are_ignored_by_patterns() {
        let named = |pattern: &str| NamePatterns::of("name", &[pattern.to_owned()]).expect("it is a pattern");
        for (pattern, name) in [
            ("Ladehafen*", "Lade\u{ad}hafen.xml"),
            ("Lade\u{200b}hafen.xml", "Ladehafen.xml"),
            ("10 000", "10\u{a0}000"),
            ("10\u{202f}0?0", "10 000"),
            ("cafe\u{301}", "caf\u{e9}"),
        ] {
            assert!(named(pattern).matches(name), "{pattern:?} {name:?}");
        }
        assert!(!named("ladehafen*").matches("Ladehafen"), "case counts");
        assert!(named("a??b").matches("a  b") && !named("a b").matches("a  b"), "each space is one");
    }

    /// A stream of numbers that look random, the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }

        fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
            words[self.below(words.len())]
        }

        fn some_of(&mut self, words: &[&str]) -> Vec<String> {
            (0..self.below(3)).map(|_| self.one_of(words).to_owned()).collect()
        }

        fn record(&mut self, number: u64) -> Record {
            let (type_name, family) = TYPES[self.below(TYPES.len())];
            let name = self.one_of(&["a.xml", "ab.xml", "b.txt", "a*b", "", "é", "a\u{ad}.xml", "10\u{a0}a"]);
            let creator = self.one_of(&["ada", "mia"]).into();
            let mut record = Record::new(Loid::new(DatabaseId::FIRST, number), name, type_name, family, &creator, 0);
            record.modified = self.below(6) as u64;
            record.status = [None, Some("Story/Draft"), Some("Story/Ready")][self.below(3)].map(SharedText::from);
            record
        }

        fn values(&mut self) -> FilterValues {
            let time = |numbers: &mut Numbers| (numbers.below(3) == 0).then(|| numbers.below(8) as i64 - 1);
            FilterValues {
                types: self.some_of(&["Folder", "EOM::Folder", "drawer", "Binary", "Unheard"]),
                statuses: self.some_of(&["Story/Draft", "Story/Ready", "Story/Gone"]),
                families: self.some_of(&["folder", "DRAWER", "document", "nothing"]),
                names: self.some_of(&["a*", "?.*", "*", "*b*", "a.xml", "e\u{301}", "zz*", "10 a", "a\u{200b}b*"]),
                creators: self.some_of(&["ada", " mia ", "nobody"]),
                modified_after: time(self),
                modified_before: time(self),
            }
        }
    }

    /// Reports whether a pattern matches, by its definition.
    fn matches(pattern: &[char], name: &[char]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some('*'), _) => matches(&pattern[1..], name) || (!name.is_empty() && matches(pattern, &name[1..])),
            (Some(wanted), Some(found)) => (*wanted == '?' || wanted == found) && matches(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    fn accepted_by_definition(values: &FilterValues, record: &Record) -> bool {
        let one = |values: &[String], fits: &dyn Fn(&str) -> bool| {
            values.is_empty() || values.iter().any(|value| fits(value))
        };
        let modified = record.modified as i64;
        one(&values.types, &|value| {
            let value = value.rsplit("::").next().unwrap_or_default();
            value.eq_ignore_ascii_case(&record.type_name)
        }) && one(&values.statuses, &|value| record.status.as_deref() == Some(value))
            && one(&values.families, &|value| value.eq_ignore_ascii_case(record.family.name()))
            && one(&values.creators, &|value| value.trim() == &*record.creator)
            && one(&values.names, &|value| {
                let chars = |text: &str| visible_form(text).chars().collect::<Vec<_>>();
                matches(&chars(value), &chars(&record.name))
            })
            && values.modified_after.is_none_or(|after| modified > after)
            && values.modified_before.is_none_or(|before| modified < before)
    }

    #[test]
    fn random_filters_accept_what_their_definition_accepts() {
        let (mut numbers, types) = (Numbers(7), Arc::new(ObjectTypes::default()));
        let records: Vec<Record> = (1..200).map(|number| numbers.record(number)).collect();
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..400 {
            let values = numbers.values();
            let filter = RecordFilter::of(values.clone(), types.clone()).expect("the values are allowed");
            assert_eq!(filter.is_empty(), values == FilterValues::default());
            for record in &records {
                let wanted = accepted_by_definition(&values, record);
                assert_eq!(filter.accepts(record), wanted, "{values:?} {record:?}");
                if wanted { accepted += 1 } else { refused += 1 }
            }
        }
        assert!(accepted > 1_000 && refused > 1_000, "{accepted} {refused}");
    }

    #[test]
    fn the_number_and_the_size_of_values_are_bounded() {
        let types = Arc::new(ObjectTypes::default());
        let refused = |values: FilterValues| RecordFilter::of(values, types.clone()).unwrap_err().message;
        let many = vec!["a".to_owned(); MOST_VALUES + 1];
        let message = refused(FilterValues { statuses: many.clone(), ..FilterValues::default() });
        assert!(message.contains("`status`") && message.contains("101"), "{message}");
        let long = vec!["a".repeat(MOST_VALUE_BYTES + 1)];
        assert!(refused(FilterValues { creators: long, ..FilterValues::default() }).contains("`creator`"));
        let heavy = vec!["*".repeat(MOST_VALUE_BYTES); 17];
        assert!(refused(FilterValues { names: heavy, ..FilterValues::default() }).contains("4335 bytes"));
        assert!(RecordFilter::of(FilterValues { names: many[1..].to_vec(), ..FilterValues::default() }, types).is_ok());
    }
}
