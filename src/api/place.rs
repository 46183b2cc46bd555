//! Where something new goes.

use stet_actors::error::{Error, Result};
use stet_actors::folder::{child, root};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::object::check_path;
use stet_actors::store::View;

use super::folder::check_folder;
use crate::app::App;
use crate::http::call::Call;

impl App {
    /// Where something new goes: a folder that exists, and the names below it that may not yet. Without a source the user's home.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidType`, `InvalidPath`, `DatabaseNotFound`.
    pub fn place(&self, call: &Call, folder: Option<Source>) -> Result<(Loid, Vec<String>)> {
        self.place_in(call, folder, call.database()?)
    }

    /// As [`App::place`], with paths in the given database.
    ///
    /// # Errors
    /// As [`App::place`].
    pub fn place_in(&self, call: &Call, folder: Option<Source>, database: DatabaseId) -> Result<(Loid, Vec<String>)> {
        let source = match folder {
            Some(source) => source,
            None => Source::Path(self.home_of(call.caller()?.user())?),
        };
        let Source::Path(path) = &source else {
            let record = self.repository.resolve(&source, database)?;
            check_folder(&record, &source.to_string())?;
            return Ok((record.loid, Vec::new()));
        };
        self.place_of_path(path, database)
    }

    /// The folders of a path that exist, and the names of those that do not.
    ///
    /// # Errors
    /// `InvalidPath`, `InvalidType` where something on the way is no folder.
    pub fn place_of_path(&self, path: &str, database: DatabaseId) -> Result<(Loid, Vec<String>)> {
        let mut names = check_path(path)?;
        let mut at = root(database);
        while let Some(name) = names.next() {
            let found = child(self.repository.look(), View::Committed, at, name).map_err(|error| {
                tracing::error!(%error, "a path can't be followed");
                Error::internal()
            })?;
            let Some(next) = found else {
                return Ok((at, std::iter::once(name).chain(names).map(str::to_owned).collect()));
            };
            let record = self.repository.record(next)?.ok_or_else(|| Error::not_found(path))?;
            check_folder(&record, path)?;
            at = next;
        }
        Ok((at, Vec::new()))
    }
}
