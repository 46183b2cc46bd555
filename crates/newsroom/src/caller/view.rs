//! Containers that a call names, and their states as the caller may see them.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use stet_actors::runtime::{ContainerView, ReadingRoom, ResultingObject};
use stet_auth::Privilege;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::{Family, State};
use stet_domain::id::{Loid, ObjectSource};

use super::Caller;

/// A container that a call names, known to belong to its family.
pub struct NamedContainer<F> {
    loid: Loid,
    of: PhantomData<fn() -> F>,
}

impl<F> Clone for NamedContainer<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for NamedContainer<F> {}

impl<F: Family> NamedContainer<F> {
    /// Returns the container of a view.
    pub fn of(view: &ContainerView<F::State>) -> NamedContainer<F> {
        NamedContainer { loid: view.state.object().record.loid, of: PhantomData }
    }

    /// Returns the loid of the container.
    pub fn loid(&self) -> Loid {
        self.loid
    }
}

/// The committed view of a container of family `F`.
pub type ViewOf<F> = Arc<ContainerView<<F as Family>::State>>;

/// The committed view of a container that the caller may read.
///
/// Replies about containers are rendered from it, and only this module creates it: others may have
/// moved a container out of the caller's sight since it was changed.
pub struct SeenView<F: Family> {
    view: ViewOf<F>,
    /// The memory of a view of the past, which nothing else keeps.
    room: Option<Arc<ReadingRoom>>,
}

impl<F: Family> Clone for SeenView<F> {
    fn clone(&self) -> Self {
        SeenView { view: self.view.clone(), room: self.room.clone() }
    }
}

impl<F: Family> Deref for SeenView<F> {
    type Target = ViewOf<F>;

    fn deref(&self) -> &ViewOf<F> {
        &self.view
    }
}

impl<F: Family> SeenView<F> {
    /// Wraps a view for a caller that a test made up.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_test(view: ViewOf<F>) -> SeenView<F> {
        SeenView { view, room: None }
    }

    /// Wraps a view of the past of a container that the caller may read today, with its memory.
    pub(super) fn of_past(view: ViewOf<F>, room: Arc<ReadingRoom>) -> SeenView<F> {
        SeenView { view, room: Some(room) }
    }

    /// Wraps the view that the caller's own change of a container has produced. The caller was
    /// admitted to the container when they named it.
    pub(super) fn of_change(view: ViewOf<F>) -> SeenView<F> {
        SeenView { view, room: None }
    }
}

impl Caller {
    /// Returns the container of family `F` that the call names by a parameter.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType` for a container of another family.
    pub fn container<F: Family>(&self, name: &str) -> Result<NamedContainer<F>> {
        let source = &self.named(name)?.source;
        // A container in memory has a known family. A container that is changed all the time is in
        // no other cache.
        if let ObjectSource::Loid(loid) = *source
            && loid.version == 0
            && self.newsroom.repository.is_in_memory::<F>(loid)
        {
            return Ok(NamedContainer { loid, of: PhantomData });
        }
        let record = self.resolve(name)?;
        if record.family == F::KIND {
            return Ok(NamedContainer { loid: record.loid, of: PhantomData });
        }
        let message = format!("`{source}` is of type {}, not a {}.", record.type_name, F::KIND.name());
        Err(Error::new(Code::InvalidType, message).with_source(source))
    }

    /// Returns the committed view of a container.
    ///
    /// # Errors
    /// The errors of [`Caller::view_of`].
    pub async fn view<F: Family>(&self, container: &NamedContainer<F>) -> Result<SeenView<F>> {
        self.view_of(container.loid).await
    }

    /// Returns the committed view of the container with that loid.
    ///
    /// # Errors
    /// `ObjectNotFound` if it was removed, is in the recycle bin, or may not be read;
    /// `InvalidType`; an error if it can't be loaded.
    pub async fn view_of<F: Family>(&self, container: Loid) -> Result<SeenView<F>> {
        let view = match self.newsroom.repository.loaded::<F>(container) {
            Some(view) => view,
            None => self.newsroom.repository.view::<F>(container).await?,
        };
        self.seen(view)?.ok_or_else(|| Error::not_found(container))
    }

    /// Returns a container as a change has left it. If that view is not known
    /// ([`stet_actors::runtime::JointResult::left`]), returns the current one, in the recycle bin
    /// or not. `None` if the container was removed or may not be read, which does not make the
    /// change fail.
    ///
    /// # Errors
    /// An error if the container can't be loaded; errors of the store.
    pub async fn view_after<F: Family>(
        &self,
        container: Loid,
        left: Option<&ResultingObject>,
    ) -> Result<Option<SeenView<F>>> {
        if let Some(view) = left.and_then(ResultingObject::view::<F>) {
            return self.seen(view);
        }
        match self.newsroom.repository.any_view::<F>(container).await {
            Ok(view) => self.seen(view),
            Err(error) if error.code == Code::ObjectNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn seen<F: Family>(&self, view: ViewOf<F>) -> Result<Option<SeenView<F>>> {
        let may = self.access().may(Privilege::Read, &view.state.object().record)?;
        Ok(may.then(|| SeenView { view, room: None }))
    }
}
