//! How a call changes something: what `If-Match` expects and the outcome of an earlier same call go along with every change, and the
//! record in a failed precondition is added here. For objects there is no other way: what handlers can reach of the repository is its [`Reader`](stet_actors::repository::Reader),
//! and the handle that changes it is private to [`Changes`], which only this file opens. Whatever else changes objects (the sample,
//! sessions that release locks, receipts) got a handle of its own when the server was put together.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;
use stet_actors::command::Command;
use stet_actors::error::{Code, Error, Result};
use stet_actors::family::{Family, State};
use stet_actors::id::{Loid, Source};
use stet_actors::joint::Joint;
use stet_actors::repository::Repository;
use stet_actors::runtime::{Done, Published, Request};

use super::call::Call;
use crate::auth::Privilege;
use crate::records::{Display, is_large, render};

/// The handle by which calls change something; given to the web layer once, and taken out nowhere but here.
pub struct Changes(Repository);

impl Changes {
    /// Changes to what is in this repository.
    pub fn to(repository: Repository) -> Changes {
        Changes(repository)
    }
}

/// A container that a call names, known to be of its family.
pub struct Container<F> {
    loid: Loid,
    of: PhantomData<fn() -> F>,
}

impl<F> Clone for Container<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Container<F> {}

impl<F: Family> Container<F> {
    /// The container that is seen.
    pub fn of(view: &Published<F::State>) -> Container<F> {
        Container { loid: view.state.object().record.loid, of: PhantomData }
    }

    /// Its loid.
    pub fn loid(&self) -> Loid {
        self.loid
    }
}

/// A container of family `F` as it is on disk.
pub type ViewOf<F> = Arc<Published<<F as Family>::State>>;

/// What a command `C` gives.
pub type DoneOf<C> = Done<<C as Command>::Reply, <<C as Command>::Family as Family>::State>;

impl Call {
    /// The container of family `F` that a path parameter names.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType` for one of another family.
    pub fn container<F: Family>(&self, param: &str) -> Result<Container<F>> {
        // One that is in memory is known to be of its family, and one that is changed all the time is in no other cache.
        if let Source::Loid(loid) = self.source(param)?
            && loid.version == 0
            && self.app.repository.is_in_memory::<F>(loid)
        {
            return Ok(Container { loid, of: PhantomData });
        }
        let record = self.resolve(param)?;
        if record.family == F::KIND {
            return Ok(Container { loid: record.loid, of: PhantomData });
        }
        let (source, wanted) = (self.param(param), F::KIND.name());
        let message = format!("`{source}` is of type {}, not a {wanted}.", record.type_name);
        Err(Error::new(Code::InvalidType, message).with_source(source))
    }

    /// A container as it is on disk.
    ///
    /// # Errors
    /// `ObjectNotFound` for one that has gone since, or lies in the recycle bin; that it can't be loaded.
    pub async fn view<F: Family>(&self, container: &Container<F>) -> Result<ViewOf<F>> {
        match self.app.repository.loaded::<F>(container.loid) {
            Some(view) => Ok(view),
            None => self.app.repository.view::<F>(container.loid).await,
        }
    }

    /// Changes a container.
    ///
    /// # Errors
    /// The command's own; `PreconditionFailed`, with the record as it is; `Overloaded`; what the store says.
    pub async fn change<C: Command>(&self, container: &Container<C::Family>, command: C) -> Result<DoneOf<C>> {
        let outcome = self.app.changes.0.execute(container.loid, command, self.request()?).await;
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => Err(self.with_current(error, &Display::with_defaults(false)).await),
        }
    }

    /// Changes several objects as one, makes something new, or removes something.
    ///
    /// # Errors
    /// As [`Call::change`].
    pub async fn change_all<J: Joint>(&self, joint: J) -> Result<J::Reply> {
        let outcome = self.app.changes.0.joint(joint, self.request()?).await;
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => Err(self.with_current(error, &Display::with_defaults(false)).await),
        }
    }

    /// Changes one of the objects that the body of a bulk call names. There may be thousands that fail a precondition, so the
    /// record that goes along is a short one.
    ///
    /// # Errors
    /// As [`Call::change`].
    pub async fn change_one_of_many<J: Joint>(&self, joint: J) -> Result<J::Reply> {
        let outcome = self.app.changes.0.joint(joint, self.request()?).await;
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => Err(self.with_current(error, &Display::bare()).await),
        }
    }

    /// What every change goes with.
    fn request(&self) -> Result<Request> {
        let readable = self.access().readable()?;
        let (expect, once) = (self.expect.clone(), self.once());
        Ok(Request { who: self.who()?, readable, expect, once, span: self.span.clone() })
    }

    /// Adds the current record to a failed precondition (docs/api/README.md, "Conditional requests"), for who may read it.
    async fn with_current(&self, error: Error, display: &Display) -> Error {
        let loid = error.source.as_ref().and_then(|source| source.parse().ok());
        let (Code::PreconditionFailed, Some(loid)) = (error.code, loid) else { return error };
        match self.current_record(loid, display).await {
            Some(current) => error.with_detail("current", current),
            None => error,
        }
    }

    /// An object's record as a JSON value, without its attribute groups where they are large; `None` when it can't be had.
    async fn current_record(&self, loid: Loid, display: &Display) -> Option<Value> {
        let cached = self.app.records.get(&self.app.repository, loid).ok()??;
        if !self.access().may(Privilege::Read, &cached).ok()? {
            return None;
        }
        let bare = Display::bare();
        let display = if is_large(&cached.attributes) { &bare } else { display };
        let groups = self.app.records.groups(&cached, display).await.ok()?;
        let record = render(&self.app, &cached.record, groups, display).ok()?;
        serde_json::to_value(record).ok()
    }
}
