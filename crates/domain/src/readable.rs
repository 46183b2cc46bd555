//! The objects that the caller of a command may read, decided inside the command. Positions and
//! items that a caller names are among those that they see. They see what is visible at the time of
//! the change, not of the call.
//!
//! A command calls [`Context::reads`](crate::command::Context::reads). The decision is made by a
//! [`ObjectRights`], which is part of the `ChangeRequest`. A request
//! without one is by a caller who may read everything. That costs nothing: no row is read, and no
//! item is visited.
//!
//! Decisions are based on rows as the next change will find them. An object changes its location
//! only by commands that run alone, such as discarding, restoring and destroying. A decision is
//! therefore still right when the command's change is submitted.
//!
//! Some commands find the objects that they change themselves, such as a move that takes things
//! from their present locations. Such a command also gets a [`ObjectRights`] that decides which
//! objects the caller may change.

use std::fmt::Debug;

use crate::error::Result;
use crate::id::Loid;
use crate::store::RowReader;

/// A right of one caller to objects: to read them, or to change them.
pub trait ObjectRights: Debug + Send + Sync {
    /// Returns the decision based on these rows, which are to be read with
    /// [`ReadLevel::Latest`](crate::store::ReadLevel::Latest). The decision may cache what it
    /// reads, since it only lives for one application of a command. It takes no lock and does not
    /// depend on time.
    ///
    /// # Errors
    /// Errors of the store.
    fn over<'a>(&'a self, look: &'a dyn RowReader) -> Result<ReadDecision<'a>>;
}

/// A function that decides whether an object exists and may be read.
pub type ReadDecision<'a> = Box<dyn FnMut(Loid) -> Result<bool> + 'a>;

/// The position among all entries that belongs to one among those that the caller may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPosition {
    /// The position of a readable entry among all entries.
    At(usize),
    /// A position after the last readable entry, with the number of readable entries.
    AfterLast(usize),
}

impl EntryPosition {
    /// Returns the position among all entries; one after the last readable entry means the end.
    pub fn or_end(self) -> usize {
        match self {
            EntryPosition::At(position) => position,
            EntryPosition::AfterLast(_) => usize::MAX,
        }
    }
}

/// The check of what the caller may read, during one application of a command.
pub struct ReadCheck<'a>(Option<ReadDecision<'a>>);

impl<'a> ReadCheck<'a> {
    /// Creates the check of `readable` over these rows; without `readable` everything may be read.
    pub fn over(readable: Option<&'a dyn ObjectRights>, look: &'a dyn RowReader) -> Result<ReadCheck<'a>> {
        Ok(ReadCheck(readable.map(|readable| readable.over(look)).transpose()?))
    }

    /// Reports whether the object may be read. A missing object may be read by callers who may read
    /// everything.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn may_read(&mut self, object: Loid) -> Result<bool> {
        self.0.as_mut().map_or(Ok(true), |decide| decide(object))
    }

    /// Converts a position among the entries that the caller may read to one among all `count`
    /// entries. Entries without an object may be read by everybody.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn place(
        &mut self,
        position: usize,
        count: usize,
        objects: impl IntoIterator<Item = Option<Loid>>,
    ) -> Result<EntryPosition> {
        if self.0.is_none() {
            return Ok(if position < count { EntryPosition::At(position) } else { EntryPosition::AfterLast(count) });
        }
        let mut seen = 0;
        for (place, object) in objects.into_iter().enumerate() {
            if object.map_or(Ok(true), |object| self.may_read(object))? {
                if seen == position {
                    return Ok(EntryPosition::At(place));
                }
                seen += 1;
            }
        }
        Ok(EntryPosition::AfterLast(seen))
    }
}
