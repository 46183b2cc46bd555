//! Which objects the caller of a command may read, asked inside the command: positions and items
//! that a caller names are those that they see, and what they see is what it is when the change is
//! made, not when the call came.
//!
//! A command asks [`Context::reads`](crate::command::Context::reads). Who decides is a
//! [`Readable`], which comes with the [`Request`](crate::runtime::Request); a request without one
//! is by somebody who reads everything. That costs nothing: no row is looked at, and no item is
//! walked.
//!
//! What is asked are rows as the next change will find them. Where an object lies changes by
//! discarding, restoring and destroying only, which step alone, so an answer is still right when
//! the command's change is submitted.
//!
//! A command that finds out itself which objects it changes, as a move that takes things from
//! wherever they are, is given who decides which of them the caller may change: a [`Readable`],
//! too, which asks for another right.

use std::fmt::Debug;

use crate::error::Result;
use crate::id::Loid;
use crate::store::Look;

/// Decides which objects one caller may read, or which they may change.
pub trait Readable: Debug + Send + Sync {
    /// The decision over these rows; to be asked with [`View::Latest`](crate::store::View::Latest).
    /// What it finds out on the way it may keep, for it lives no longer than the application of one
    /// command. It takes no lock and knows no time.
    ///
    /// # Errors
    /// What the store says.
    fn over<'a>(&'a self, look: &'a dyn Look) -> Result<Decide<'a>>;
}

/// Whether an object is there and may be read.
pub type Decide<'a> = Box<dyn FnMut(Loid) -> Result<bool> + 'a>;

/// What the caller of a command may read while it is applied.
pub struct Reads<'a>(Option<Decide<'a>>);

impl<'a> Reads<'a> {
    /// What `readable` decides over these rows; everything without it.
    pub(crate) fn over(readable: Option<&'a dyn Readable>, look: &'a dyn Look) -> Result<Reads<'a>> {
        Ok(Reads(readable.map(|readable| readable.over(look)).transpose()?))
    }

    /// Whether the object may be read. One that does not exist may be, by who reads everything.
    ///
    /// # Errors
    /// What the store says.
    pub fn may_read(&mut self, object: Loid) -> Result<bool> {
        self.0.as_mut().map_or(Ok(true), |decide| decide(object))
    }

    /// The place in a row of `count` that stands for a position among those that the caller may
    /// read; what is no object may be read by everybody. Behind the last of these it is an `Err`,
    /// with how many there are.
    ///
    /// # Errors
    /// What the store says.
    pub fn place(
        &mut self,
        position: usize,
        count: usize,
        objects: impl IntoIterator<Item = Option<Loid>>,
    ) -> Result<Result<usize, usize>> {
        if self.0.is_none() {
            return Ok(if position < count { Ok(position) } else { Err(count) });
        }
        let mut seen = 0;
        for (place, object) in objects.into_iter().enumerate() {
            if object.map_or(Ok(true), |object| self.may_read(object))? {
                if seen == position {
                    return Ok(Ok(place));
                }
                seen += 1;
            }
        }
        Ok(Err(seen))
    }
}
