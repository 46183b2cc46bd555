//! The place for a new object.

use std::fmt::Display;

use futures_util::future::LocalBoxFuture;
use stet_actors::runtime::{JointResult, store_failure};
use stet_auth::Privilege;
use stet_domain::amend::AmendmentAttempt;
use stet_domain::error::{Code, Error, Result};
use stet_domain::folder::{child, root};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::{
    CreateInFolder, CreateObjectPair, CreateOutcome, CreateResult, NewObject, ObjectPairResult,
};
use stet_domain::object::{CreateMode, FamilyKind, Reach, Record, SharedText, check_path};
use stet_domain::store::ReadLevel;
use stet_sysconfig::DestinationQuery;

use super::edits::AmendAttempts;
use super::system::ProductInfo;
use crate::Newsroom;
use crate::caller::{Caller, Warning};

/// The place for a new object.
pub struct Destination {
    /// A folder that exists.
    pub folder: Loid,
    below: Vec<String>,
    /// The existing objects that the command may change.
    reach: Reach,
    /// Whether the new object is the caller's home, which may have no other name.
    is_home: bool,
}

impl Destination {
    /// Checks the place; `source` is the caller's name for it.
    fn at(caller: &Caller, folder: Loid, below: Vec<String>, source: &impl Display) -> Result<Destination> {
        let reach = caller.access().check_place(folder, source)?;
        Ok(Destination { folder, below, reach, is_home: false })
    }

    /// Creates an object at the place.
    ///
    /// # Errors
    /// The errors of [`Caller::change_jointly`].
    pub fn make(self, caller: &Caller, object: NewObject) -> LocalBoxFuture<'_, Result<JointResult<CreateResult>>> {
        // Boxed, so that no handler contains this large future.
        Box::pin(async move {
            let wanted = object.status.clone();
            let made = self.made(caller, object).await?;
            warn_of_status(caller, wanted.as_ref(), &made);
            Ok(made)
        })
    }

    /// Creates an object at the place, and another one beside it, in one change.
    ///
    /// # Errors
    /// The errors of [`Caller::change_jointly`].
    pub fn make_both(
        self,
        caller: &Caller,
        mut object: NewObject,
        mut beside: NewObject,
    ) -> LocalBoxFuture<'_, Result<JointResult<ObjectPairResult>>> {
        (object.reach, beside.reach) = (self.reach, self.reach);
        let main = CreateInFolder { folder: self.folder, below: self.below, object };
        Box::pin(caller.change_jointly(CreateObjectPair { main, beside }))
    }

    async fn made(self, caller: &Caller, mut object: NewObject) -> Result<JointResult<CreateResult>> {
        object.reach = self.reach;
        if self.is_home && object.mode == CreateMode::AutoRename {
            object.mode = CreateMode::Exception;
        }
        let amending = object.amending.take();
        let create = CreateInFolder { folder: self.folder, below: self.below, object };
        let Some(AmendmentAttempt { amend, .. }) = amending else { return caller.change_jointly(create).await };
        let mut attempts = AmendAttempts::to(amend);
        loop {
            let object = NewObject { amending: Some(attempts.next_attempt()), ..create.object.clone() };
            let made = caller.change_jointly(CreateInFolder { object, ..create.clone() }).await?;
            if made.reply.outcome != CreateOutcome::Postponed {
                return Ok(made);
            }
            attempts.go_ahead(caller.newsroom(), made.reply.loid).await?;
        }
    }
}

/// Warns that the named status was not applied, because the object existed already and stays
/// unchanged: a folder, or a user's own drawer.
fn warn_of_status(caller: &Caller, wanted: Option<&SharedText>, made: &JointResult<CreateResult>) {
    let Some((wanted, left)) = wanted.zip(made.left.as_ref()) else { return };
    let record = &left.object().record;
    if record.status.as_ref() != Some(wanted) {
        let message = format!("`{}` existed already, and its status was not changed to `{wanted}`.", record.name);
        caller.warn(Warning::new("$.status", message));
    }
}

/// Returns the place for a new object: an existing folder in which the caller may create, and
/// the names below it that may be missing. Without a source it is the user's home. Paths are
/// resolved in the given database.
///
/// # Errors
/// `ObjectNotFound`, `PermissionDenied`, `InvalidType`, `InvalidPath`.
pub(super) fn find_destination(
    caller: &Caller,
    folder: Option<ObjectSource>,
    database: DatabaseId,
) -> Result<Destination> {
    let source = match folder {
        Some(source) => source,
        None => ObjectSource::Path(caller.newsroom().home_of(caller.user()?)?),
    };
    let ObjectSource::Path(path) = &source else {
        let record = caller.find_for(Privilege::Create, &source, database)?;
        check_place(&record, &source.to_string())?;
        return Destination::at(caller, record.loid, Vec::new(), &source);
    };
    find_path_destination(caller, path, database)
}

/// Returns the place for a new folder of that name, with its missing parents. Like
/// [`find_destination`], but the folder may be the caller's home itself.
///
/// # Errors
/// The errors of [`find_destination`].
pub(super) fn find_folder_destination(
    caller: &Caller,
    above: Option<ObjectSource>,
    name: &str,
    database: DatabaseId,
) -> Result<Destination> {
    let Some(ObjectSource::Path(path)) = &above else { return find_destination(caller, above, database) };
    let place = find_path_destination(caller, path, database);
    if place.is_ok() {
        return place;
    }
    let (at, below) = follow_path(caller, path, database)?;
    let there = if below.is_empty() {
        child(caller.newsroom().repository.look(), ReadLevel::Committed, at, name)
    } else {
        Ok(None)
    };
    let is_home = match there.map_err(|error| store_failure(&error))? {
        Some(there) => caller.access().is_home(there)?,
        None => caller.access().may_make_home(at, &[&below[..], &[name.to_owned()]].concat())?,
    };
    if is_home { Ok(Destination { folder: at, below, reach: Reach::Own, is_home }) } else { place }
}

/// Returns the database of a new object: that of its target folder, or the given one.
///
/// # Errors
/// Errors of the store.
pub(super) fn database_of_folder(
    newsroom: &Newsroom,
    folder: Option<&ObjectSource>,
    database: DatabaseId,
) -> Result<DatabaseId> {
    let Some(named @ (ObjectSource::Loid(_) | ObjectSource::Uuid(_))) = folder else { return Ok(database) };
    // A missing folder is refused when it is resolved.
    Ok(newsroom.repository.loid_of(named, database)?.map_or(database, |folder| folder.database))
}

/// Returns the place for a new object. Like [`find_destination`], but without a source the site
/// configuration is asked for a folder for the object's type and work folder.
///
/// # Errors
/// The errors of [`find_destination`].
pub(super) fn find_object_destination(
    caller: &Caller,
    folder: Option<ObjectSource>,
    database: DatabaseId,
    object: &NewObject,
    said: &ProductInfo<'_>,
) -> Result<Destination> {
    let of_site = || {
        let wanted = DestinationQuery {
            content: &object.type_name,
            work_folder: object.work_folder.as_deref()?,
            issue_date: object.issue_date.as_ref().or(said.issue_date).map(|date| &**date.text()),
            product: said.product.filter(|product| !product.is_empty()),
            edition: said.edition,
            team: said.team,
            ..DestinationQuery::default()
        };
        caller.newsroom().sysconfig.site(database).base_folder(&wanted).map(ObjectSource::Path)
    };
    find_destination(caller, folder.or_else(of_site), database)
}

fn find_path_destination(caller: &Caller, path: &str, database: DatabaseId) -> Result<Destination> {
    let (at, below) = follow_path(caller, path, database)?;
    if caller.access().may_make_home(at, &below)? {
        return Ok(Destination { folder: at, below, reach: Reach::Own, is_home: false });
    }
    Destination::at(caller, at, below, &path)
}

/// Follows a path; returns the last existing folder on it, and the missing names below it.
fn follow_path(caller: &Caller, path: &str, database: DatabaseId) -> Result<(Loid, Vec<String>)> {
    let mut names = check_path(path, caller.newsroom().repository.path_limits())?;
    let mut at = root(database);
    while let Some(name) = names.next() {
        let found = child(caller.newsroom().repository.look(), ReadLevel::Committed, at, name);
        let Some(next) = found.map_err(|error| store_failure(&error))? else {
            return Ok((at, std::iter::once(name).chain(names).map(str::to_owned).collect()));
        };
        let record = caller.newsroom().repository.record(next)?.ok_or_else(|| Error::not_found(path))?;
        if !record.family.holds_by_name() {
            // Callers who may not know of the object get the same error as if it did not exist.
            caller.access().check_place(at, &path)?;
            check_place(&record, path)?;
        }
        at = next;
    }
    Ok((at, Vec::new()))
}

/// Refuses an object that is not a folder.
///
/// # Errors
/// `InvalidType`.
pub fn check_folder(record: &Record, source: &str) -> Result<()> {
    if record.family == FamilyKind::Folder {
        return Ok(());
    }
    let message = format!("`{source}` is of type {}, not a folder.", record.type_name);
    Err(Error::new(Code::InvalidType, message).with_source(source))
}

/// Refuses an object that is neither a folder nor a bundle, and so contains no others.
///
/// # Errors
/// `InvalidType`.
pub fn check_place(record: &Record, source: &str) -> Result<()> {
    if record.family == FamilyKind::Bundle { Ok(()) } else { check_folder(record, source) }
}
