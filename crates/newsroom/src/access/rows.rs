//! The rows on which decisions are made: committed ones, as readers see them, or those that the
//! next change will find.

use std::cell::{OnceCell, RefCell};

use foldhash::{HashMap, HashMapExt};
use stet_actors::runtime::store_failure;
use stet_auth::{Privilege, Rights};
use stet_domain::error::Result;
use stet_domain::folder::{child, root, walk};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{PathLimits, Record, SharedText, check_path};
use stet_domain::readable::{ObjectRights, ReadDecision};
use stet_domain::store::{ReadLevel, Row, RowReader, StoreError, Table, decode_value};

use super::{Access, RightsHolder};
use crate::Newsroom;

/// The rows for a decision.
#[derive(Clone, Copy)]
pub(super) enum AccessRows<'a> {
    /// Rows on disk, through the caches of readers.
    Committed(&'a Newsroom),
    /// Rows that the next change will find.
    Latest(&'a LatestRows<'a>),
}

/// Rows as a command finds them, cached while it is applied.
pub(super) struct LatestRows<'a> {
    look: &'a dyn RowReader,
    /// The path of the caller's home, if they have one.
    home: Option<&'a str>,
    home_found: OnceCell<Option<Loid>>,
    /// The folders visited so far, with their parents.
    above: RefCell<HashMap<Loid, Option<Loid>>>,
}

impl<'a> LatestRows<'a> {
    fn new(look: &'a dyn RowReader, home: Option<&'a str>) -> LatestRows<'a> {
        LatestRows { look, home, home_found: OnceCell::new(), above: RefCell::new(HashMap::new()) }
    }

    fn record(&self, table: Table, loid: Loid) -> Result<Option<Record>> {
        let read = || match self.look.get(ReadLevel::Latest, table, &loid.to_key())? {
            Some(value) => Ok(Some(decode_value(Record::FORMAT, &value)?)),
            None => Ok(None),
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    fn loid_of(&self, path: &str) -> Result<Option<Loid>> {
        let names = check_path(path, PathLimits::WIDEST)?;
        let found = walk(self.look, ReadLevel::Latest, root(DatabaseId::main()), names);
        found.map_err(|error| store_failure(&error))
    }
}

impl AccessRows<'_> {
    /// Returns the record of a live object.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn record(self, loid: Loid) -> Result<Option<Record>> {
        match self {
            AccessRows::Committed(newsroom) => newsroom.repository.record(loid),
            AccessRows::Latest(latest) => latest.record(Table::Objects, loid),
        }
    }

    /// Returns the parent of a folder, or its parent before it was discarded.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn above(self, folder: Loid) -> Result<Option<Loid>> {
        let record = match self {
            AccessRows::Committed(newsroom) => match newsroom.records.get(&newsroom.repository, folder)? {
                Some(cached) => return Ok(cached.record.folder()),
                // A discarded folder and its contents are one entry of the recycle bin.
                None => newsroom.repository.any_record(folder)?,
            },
            AccessRows::Latest(latest) => {
                if let Some(known) = latest.above.borrow().get(&folder) {
                    return Ok(*known);
                }
                let record = match latest.record(Table::Objects, folder)? {
                    Some(record) => Some(record),
                    None => latest.record(Table::Recycled, folder)?,
                };
                latest.above.borrow_mut().insert(folder, record.as_ref().and_then(Record::folder));
                record
            }
        };
        Ok(record.as_ref().and_then(Record::folder))
    }

    /// Returns the object at a path of the main database.
    ///
    /// # Errors
    /// `InvalidPath`; errors of the store.
    pub fn loid_of(self, path: &str) -> Result<Option<Loid>> {
        match self {
            AccessRows::Committed(newsroom) => {
                newsroom.repository.loid_of(&ObjectSource::Path(path.to_owned()), DatabaseId::main())
            }
            AccessRows::Latest(latest) => latest.loid_of(path),
        }
    }

    /// Follows a path of the main database. Returns the last existing object on it, and the missing
    /// names below that.
    ///
    /// # Errors
    /// `InvalidPath`; errors of the store.
    pub fn follow(self, path: &str) -> Result<(Loid, Vec<String>)> {
        let (look, view): (&dyn RowReader, ReadLevel) = match self {
            AccessRows::Committed(newsroom) => (newsroom.repository.look(), ReadLevel::Committed),
            AccessRows::Latest(latest) => (latest.look, ReadLevel::Latest),
        };
        let (mut at, mut missing) = (root(DatabaseId::main()), Vec::new());
        for name in check_path(path, PathLimits::WIDEST)? {
            let found = if missing.is_empty() { child(look, view, at, name) } else { Ok(None) };
            match found.map_err(|error| store_failure(&error))? {
                Some(next) => at = next,
                None => missing.push(name.to_owned()),
            }
        }
        Ok((at, missing))
    }

    /// Returns the path of a person's home.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn home_path(self, user: &str) -> Result<Option<String>> {
        match self {
            AccessRows::Committed(newsroom) => newsroom.home_of(user).map(Some),
            AccessRows::Latest(latest) => Ok(latest.home.map(str::to_owned)),
        }
    }

    /// Returns a person's home, if it exists.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn home(self, user: &str) -> Result<Option<Loid>> {
        match self {
            AccessRows::Committed(newsroom) => self.loid_of(&newsroom.home_of(user)?),
            AccessRows::Latest(latest) => {
                if let Some(found) = latest.home_found.get() {
                    return Ok(*found);
                }
                let found = latest.home.map_or(Ok(None), |path| latest.loid_of(path))?;
                Ok(*latest.home_found.get_or_init(|| found))
            }
        }
    }
}

/// The decision on the objects for which one caller has a privilege, for commands. The caller and
/// their grants are those at the beginning of the call; the places of objects are read at the
/// decision.
#[derive(Debug)]
pub(super) struct AccessDecision {
    privilege: Privilege,
    caller: Option<OwnedCaller>,
}

/// The data of [`RightsHolder`] that a command owns.
#[derive(Debug)]
struct OwnedCaller {
    user: SharedText,
    rights: Rights,
    /// The path of a person's home; `None` for a key for a machine.
    home: Option<String>,
}

impl AccessDecision {
    /// Captures the caller's data.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn of(access: Access<'_>, privilege: Privilege) -> Result<AccessDecision> {
        let known = |caller: RightsHolder<'_>| {
            let home = if caller.person { access.rows.home_path(caller.user)? } else { None };
            Ok(OwnedCaller { user: caller.user.clone(), rights: caller.rights.clone(), home })
        };
        Ok(AccessDecision { privilege, caller: access.caller.map(known).transpose()? })
    }
}

impl ObjectRights for AccessDecision {
    fn over<'a>(&'a self, look: &'a dyn RowReader) -> Result<ReadDecision<'a>> {
        let known = self.caller.as_ref();
        let latest = LatestRows::new(look, known.and_then(|known| known.home.as_deref()));
        let caller =
            known.map(|OwnedCaller { user, rights, home }| RightsHolder { user, rights, person: home.is_some() });
        Ok(Box::new(move |object| {
            let rows = AccessRows::Latest(&latest);
            let Some(record) = rows.record(object)? else { return Ok(false) };
            Access { rows, caller, home: None }.may(self.privilege, &record)
        }))
    }
}
