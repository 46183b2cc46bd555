//! Look-ups by name, paths, and free names.

use crate::error::{Error, Result};
use crate::id::Loid;
use crate::object::{MAX_NAME_BYTES, PathLimits, Record, SharedText, name_key};
use crate::store::{KeyRange, ReadLevel, Row, RowReader, StoreError, Table, decode_value};

fn loid_of(value: &[u8]) -> Result<Loid, StoreError> {
    Loid::from_key(value).ok_or_else(|| StoreError::Corrupt("an entry in `names` has no loid".to_owned()))
}

/// Returns the object with a name in a folder.
///
/// # Errors
/// Errors of the store.
pub fn child(look: &dyn RowReader, view: ReadLevel, folder: Loid, name: &str) -> Result<Option<Loid>, StoreError> {
    look.get(view, Table::Names, &name_key(folder, name))?.map(|value| loid_of(&value)).transpose()
}

/// Follows a list of names from a folder, and returns the object at the end.
///
/// # Errors
/// Errors of the store.
pub fn walk<'n>(
    look: &dyn RowReader,
    view: ReadLevel,
    from: Loid,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Option<Loid>, StoreError> {
    let mut at = from;
    for name in names {
        match child(look, view, at, name)? {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Returns at most `limit` entries of a folder, sorted by name, with their keys in
/// [`Table::Names`]. The first one follows the name `after`.
///
/// # Errors
/// Errors of the store.
pub fn entries(
    look: &dyn RowReader,
    folder: Loid,
    after: &[u8],
    limit: usize,
) -> Result<Vec<(bytes::Bytes, Loid)>, StoreError> {
    let key = folder.to_key();
    let mut range = KeyRange::prefix(&key);
    if !after.is_empty() {
        range = range.after(&[&key[..], after].concat());
    }
    let page = look.scan(ReadLevel::Latest, Table::Names, &range, limit, false)?;
    page.into_iter().map(|(key, value)| Ok((key.slice(Loid::KEY_LEN..), loid_of(&value)?))).collect()
}

/// Returns at most `limit` objects in a folder, sorted by name, and whether there may be more.
///
/// # Errors
/// Errors of the store.
pub fn children(
    look: &dyn RowReader,
    view: ReadLevel,
    folder: Loid,
    limit: usize,
) -> Result<(Vec<Loid>, bool), StoreError> {
    let page = look.scan(view, Table::Names, &KeyRange::prefix(&folder.to_key()), limit, false)?;
    let loids = page.iter().map(|(_, value)| loid_of(value)).collect::<Result<_, _>>()?;
    Ok((loids, page.len() == limit))
}

/// Returns the path of an object, that is the names from the root down. It is `None` for an object
/// that lies deeper than any configuration allows.
///
/// # Errors
/// Errors of the store.
pub fn path_of(look: &dyn RowReader, view: ReadLevel, record: &Record) -> Result<Option<String>, StoreError> {
    path_by((record.folder(), record.name.clone()), |folder| {
        let key = folder.to_key();
        let above = match look.get(view, Table::Objects, &key)? {
            Some(above) => Some(above),
            None => look.get(view, Table::Recycled, &key)?,
        };
        let Some(above) = above else { return Ok(None) };
        let above: Record = decode_value(Record::FORMAT, &above)?;
        Ok(Some((above.folder(), above.name)))
    })
}

/// Does what [`path_of`] does with another look-up. `object` is an object's folder and name;
/// `above` returns the same for a folder.
///
/// # Errors
/// Errors of `above`.
pub fn path_by<E>(
    object: (Option<Loid>, SharedText),
    mut above: impl FnMut(Loid) -> Result<Option<(Option<Loid>, SharedText)>, E>,
) -> Result<Option<String>, E> {
    let mut names = Vec::new();
    let (mut at, mut name) = object;
    while let Some(folder) = at {
        if names.len() == PathLimits::WIDEST.depth {
            return Ok(None);
        }
        names.push(name);
        match above(folder)? {
            Some(found) => (at, name) = found,
            None => break,
        }
    }
    if names.is_empty() {
        return Ok(Some("/".to_owned()));
    }
    Ok(Some(names.iter().rev().flat_map(|name| ["/", &**name]).collect()))
}

/// The longest end of a name that counts as its extension, including the dot.
const MAX_EXTENSION_BYTES: usize = 64;

/// Returns the first free name of `name`, `name (2)`, `name (3)`, … in the folder. The number is
/// put before the extension.
///
/// # Errors
/// Errors of `taken`.
pub fn free_name<E: From<Error>>(name: &str, mut taken: impl FnMut(&str) -> Result<bool, E>) -> Result<String, E> {
    if !taken(name)? {
        return Ok(name.to_owned());
    }
    // A long text after a dot is no extension, and would leave no room for the number.
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= MAX_EXTENSION_BYTES => name.split_at(dot),
        _ => (name, ""),
    };
    let numbered = |number: u64| {
        let tail = format!(" ({number}){extension}");
        let mut room = MAX_NAME_BYTES.saturating_sub(tail.len()).min(stem.len());
        while !stem.is_char_boundary(room) {
            room -= 1;
        }
        format!("{}{tail}", &stem[..room])
    };
    // Doubling, then bisection: a thousand objects of one name cost ten look-ups, not a thousand.
    // Where lower numbers are free again it may find one of those, which is as good.
    let (mut low, mut high) = (1, 2);
    while taken(&numbered(high))? {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if taken(&numbered(middle))? { low = middle } else { high = middle }
    }
    Ok(numbered(high))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_taken_name_gets_the_next_number_before_its_extension() {
        let mut names: HashSet<String> = HashSet::new();
        let mut looked_up = 0;
        for n in 1..=500 {
            let name = free_name::<Error>("story.xml", |name| {
                looked_up += 1;
                Ok(names.contains(name))
            })
            .unwrap();
            assert_eq!(name, if n == 1 { "story.xml".to_owned() } else { format!("story ({n}).xml") });
            names.insert(name);
        }
        assert!(looked_up < 500 * 20, "{looked_up}");
    }

    #[test]
    fn a_long_name_is_cut_to_make_room_for_the_number() {
        let long = "\u{e9}".repeat(127);
        let name = free_name::<Error>(&long, |name| Ok(name == long)).unwrap();
        assert!(name.len() <= MAX_NAME_BYTES && name.ends_with(" (2)"), "{name}");
    }

    #[test]
    fn the_number_fits_in_wherever_the_dot_is() {
        for dot in 0..MAX_NAME_BYTES {
            let taken = format!("{}.{}", "a".repeat(dot), "b".repeat(MAX_NAME_BYTES - 1 - dot));
            let name = free_name::<Error>(&taken, |name| Ok(name == taken)).unwrap();
            assert!(name.len() <= MAX_NAME_BYTES && name.contains(" (2)"), "{name}");
            assert!(name.starts_with(&taken[..1]), "something of the name is left: {name}");
        }
    }
}
