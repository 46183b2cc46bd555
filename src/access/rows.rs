//! What a decision is made over: where things lie, as readers have it on disk or as the next change
//! will find it.

use std::cell::{OnceCell, RefCell};

use foldhash::{HashMap, HashMapExt};
use stet_actors::error::Result;
use stet_actors::folder::{child, root, walk};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::object::{PathLimits, Record, Text, check_path};
use stet_actors::readable::{Decide, Readable};
use stet_actors::runtime::store_failure;
use stet_actors::store::{Look, Row, StoreError, Table, View, decode_value};

use super::{Access, Caller};
use crate::auth::{Privilege, Rights};
use crate::newsroom::Newsroom;

/// See the module's head.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// On disk, by way of what readers keep in memory.
    Committed(&'a Newsroom),
    /// As the next change will find it.
    Latest(&'a Latest<'a>),
}

/// Rows as a command finds them. It lives no longer than the application of that, and keeps what it
/// has found.
pub(super) struct Latest<'a> {
    look: &'a dyn Look,
    /// Path of the caller's home, where they have one.
    home: Option<&'a str>,
    home_found: OnceCell<Option<Loid>>,
    /// The folders that were come by, with those that they lie in.
    above: RefCell<HashMap<Loid, Option<Loid>>>,
}

impl<'a> Latest<'a> {
    fn new(look: &'a dyn Look, home: Option<&'a str>) -> Latest<'a> {
        Latest { look, home, home_found: OnceCell::new(), above: RefCell::new(HashMap::new()) }
    }

    fn record(&self, table: Table, loid: Loid) -> Result<Option<Record>> {
        let read = || match self.look.get(View::Latest, table, &loid.to_key())? {
            Some(value) => Ok(Some(decode_value(Record::FORMAT, &value)?)),
            None => Ok(None),
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    fn loid_of(&self, path: &str) -> Result<Option<Loid>> {
        let names = check_path(path, PathLimits::WIDEST)?;
        let found = walk(self.look, View::Latest, root(DatabaseId::main()), names);
        found.map_err(|error| store_failure(&error))
    }
}

impl Rows<'_> {
    /// The record of a live object.
    ///
    /// # Errors
    /// What the store says.
    pub fn record(self, loid: Loid) -> Result<Option<Record>> {
        match self {
            Rows::Committed(newsroom) => newsroom.repository.record(loid),
            Rows::Latest(latest) => latest.record(Table::Objects, loid),
        }
    }

    /// The folder that a folder lies in, or lay in before it came to the recycle bin.
    ///
    /// # Errors
    /// What the store says.
    pub fn above(self, folder: Loid) -> Result<Option<Loid>> {
        let record = match self {
            Rows::Committed(newsroom) => match newsroom.records.get(&newsroom.repository, folder)? {
                Some(cached) => return Ok(cached.record.folder()),
                // In the recycle bin, as one entry with what lies in it.
                None => newsroom.repository.any_record(folder)?,
            },
            Rows::Latest(latest) => {
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

    /// The object that a path of the main database leads to.
    ///
    /// # Errors
    /// `InvalidPath`, what the store says.
    pub fn loid_of(self, path: &str) -> Result<Option<Loid>> {
        match self {
            Rows::Committed(newsroom) => {
                newsroom.repository.loid_of(&Source::Path(path.to_owned()), DatabaseId::main())
            }
            Rows::Latest(latest) => latest.loid_of(path),
        }
    }

    /// How far a path of the main database leads: the last object on it that there is, and the
    /// names that are missing below that.
    ///
    /// # Errors
    /// `InvalidPath`, what the store says.
    pub fn follow(self, path: &str) -> Result<(Loid, Vec<String>)> {
        let (look, view): (&dyn Look, View) = match self {
            Rows::Committed(newsroom) => (newsroom.repository.look(), View::Committed),
            Rows::Latest(latest) => (latest.look, View::Latest),
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

    /// Path of a person's home.
    ///
    /// # Errors
    /// What the store says.
    pub fn home_path(self, user: &str) -> Result<Option<String>> {
        match self {
            Rows::Committed(newsroom) => newsroom.home_of(user).map(Some),
            Rows::Latest(latest) => Ok(latest.home.map(str::to_owned)),
        }
    }

    /// A person's home, if it is there by now.
    ///
    /// # Errors
    /// What the store says.
    pub fn home(self, user: &str) -> Result<Option<Loid>> {
        match self {
            Rows::Committed(newsroom) => self.loid_of(&newsroom.home_of(user)?),
            Rows::Latest(latest) => {
                if let Some(found) = latest.home_found.get() {
                    return Ok(*found);
                }
                let found = latest.home.map_or(Ok(None), |path| latest.loid_of(path))?;
                Ok(*latest.home_found.get_or_init(|| found))
            }
        }
    }
}

/// For which objects one caller has a privilege, for commands: who they are and what they were
/// granted when the call came, and where things lie when they are asked about.
#[derive(Debug)]
pub(super) struct Deciding {
    privilege: Privilege,
    caller: Option<Known>,
}

/// [`Caller`], for as long as a command is on its way.
#[derive(Debug)]
struct Known {
    user: Text,
    rights: Rights,
    /// Path of the home of a person; a key for a machine has none.
    home: Option<String>,
}

impl Deciding {
    /// # Errors
    /// What the store says.
    pub fn of(access: Access<'_>, privilege: Privilege) -> Result<Deciding> {
        let known = |caller: Caller<'_>| {
            let home = if caller.person { access.rows.home_path(caller.user)? } else { None };
            Ok(Known { user: caller.user.clone(), rights: caller.rights.clone(), home })
        };
        Ok(Deciding { privilege, caller: access.caller.map(known).transpose()? })
    }
}

impl Readable for Deciding {
    fn over<'a>(&'a self, look: &'a dyn Look) -> Result<Decide<'a>> {
        let known = self.caller.as_ref();
        let latest = Latest::new(look, known.and_then(|known| known.home.as_deref()));
        let caller = known.map(|Known { user, rights, home }| Caller { user, rights, person: home.is_some() });
        Ok(Box::new(move |object| {
            let rows = Rows::Latest(&latest);
            let Some(record) = rows.record(object)? else { return Ok(false) };
            Access { rows, caller, home: None }.may(self.privilege, &record)
        }))
    }
}
