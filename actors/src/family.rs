//! What a kind of container is.

use std::fmt::Debug;

use bytes::Bytes;

use crate::id::Loid;
use crate::object::{FamilyKind, Object};
use crate::store::{Look, Range, StoreError, Table, View};

/// A kind of container: its state, and how it is read from rows.
pub trait Family: Sized + Send + Sync + 'static {
    /// What the container's actor holds in memory. Cloning must share structure: it happens once per change.
    type State: State;

    /// Which objects belong to it.
    const KIND: FamilyKind;

    /// Builds the state from what is on disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when a row can't be understood.
    fn load(object: Object, parts: &Parts<'_>) -> Result<Self::State, StoreError>;
}

/// The state of a container of any family.
pub trait State: Clone + Debug + Send + Sync + Unpin + 'static {
    /// The part that every container has.
    fn object(&self) -> &Object;

    /// The same, to be changed. The revision, `modified` and `last_modifier` are kept by the runtime.
    fn object_mut(&mut self) -> &mut Object;
}

/// Reads the parts of one container from what is on disk.
pub struct Parts<'a> {
    look: &'a dyn Look,
    container: Loid,
}

impl<'a> Parts<'a> {
    /// The parts of `container`.
    pub fn new(look: &'a dyn Look, container: Loid) -> Parts<'a> {
        Parts { look, container }
    }

    /// Calls `each` with the stored value of every part of that kind, in key order.
    ///
    /// # Errors
    /// What the store or `each` says.
    pub fn each<E: Into<StoreError>>(
        &self,
        kind: u8,
        mut each: impl FnMut(Bytes) -> Result<(), E>,
    ) -> Result<(), StoreError> {
        const PAGE: usize = 1000;
        let prefix = [&self.container.to_key()[..], &[kind]].concat();
        let mut range = Range::prefix(&prefix);
        loop {
            let page = self.look.scan(View::Committed, Table::Parts, &range, PAGE, false)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            range = range.after(last);
            let full = page.len() == PAGE;
            for (_, value) in page {
                each(value).map_err(Into::into)?;
            }
            if !full {
                return Ok(());
            }
        }
    }
}

/// Numbers of the kinds of parts in [`Table::Parts`], of all families. Part of the file format: never reused.
pub mod part {
    /// `drawer::DrawerHead`
    pub const DRAWER_HEAD: u8 = 1;
    /// `drawer::Item`
    pub const DRAWER_ITEM: u8 = 2;
    /// `liveblog::LiveBlogHead`
    pub const LIVEBLOG_HEAD: u8 = 3;
    /// `liveblog::Post`
    pub const POST: u8 = 4;
    /// `liveblog::RemovedPost`
    pub const REMOVED_POST: u8 = 5;
    /// Bytes of a post's attachment, as they are.
    pub const ATTACHMENT_BODY: u8 = 6;
}
