//! Replies that are lists, made item by item.
//!
//! A list of no more than [`WHOLE`] bytes is made at once and goes out whole, with its length. A
//! larger one is made while it goes out ([`super::steps`]), beside what says which items it has.
//! What it shows of an item is what there is to show when its turn comes: what has gone since is
//! left out, or stands among what failed.

use std::collections::VecDeque;

use serde::Serialize;
use stet_actors::error::{Error, Result};

use super::call::Call;
use super::error::Surface;
use super::reply::{AROUND, Enveloped, Json, Reply, envelope};
use super::steps::{Rest, Steps, WHOLE};
use crate::json::{Gap, Listed, unserialisable, with_gaps};

/// A step of a list.
pub(crate) enum Made<I, N = Never, E = Never, M = Never> {
    /// An item.
    Item(I),
    /// An item with a list in it, whose items are the steps up to its [`Made::Close`].
    Open(I),
    /// One of those.
    Inner(N),
    /// One of those with a list in it, whose items are the steps up to its [`Made::Close`].
    OpenInner(N),
    /// One of those.
    Innermost(M),
    /// Behind the last of the list that was opened last.
    Close,
    /// What the reply says of an item that can't be shown.
    Failed(E),
    /// Nothing to be shown.
    Nothing,
    /// There is no more.
    End,
}

impl<I, N, E, M> Made<I, N, E, M> {
    /// An item with a list in it that comes with the next steps.
    pub(crate) fn open(item: impl FnOnce(Listed<N>) -> I) -> Made<I, N, E, M> {
        Made::Open(item(Listed::later(Gap::Inner)))
    }
}

impl<I, N> Made<I, N> {
    /// The same step of a list that is in an item of another list.
    pub(crate) fn deeper<O, E>(self) -> Made<O, I, E, N> {
        match self {
            Made::Item(item) => Made::Inner(item),
            Made::Open(item) => Made::OpenInner(item),
            Made::Inner(item) => Made::Innermost(item),
            Made::Close => Made::Close,
            Made::Nothing => Made::Nothing,
            Made::End => Made::End,
            // There is no place for its list any deeper, and so none in the reply.
            Made::OpenInner(item) => Made::Innermost(item),
            Made::Innermost(never) | Made::Failed(never) => match never {},
        }
    }
}

/// What a list has none of.
#[derive(Serialize)]
pub(crate) enum Never {}

/// A step of the list `L`.
pub(crate) type MadeBy<L> =
    Made<<L as Items>::Item, <L as Items>::Inner, <L as Items>::Failed, <L as Items>::Innermost>;

/// A list whose items are made one at a time.
pub(crate) trait Items: 'static {
    /// An item.
    type Item: Serialize;
    /// An item of an item.
    type Inner: Serialize;
    /// An item of one of those.
    type Innermost: Serialize;
    /// What the reply says of an item that can't be shown.
    type Failed: Serialize;
    /// Why there may be no reply.
    type Fault: From<Error> + std::fmt::Debug;

    /// Makes the present step, of a `late` one when the reply is on its way: then a fault breaks it
    /// off. A step may be made again.
    async fn make(&mut self, call: &Call, late: bool) -> Result<MadeBy<Self>, Self::Fault>;

    /// Goes on to the next step.
    fn advance(&mut self);

    /// About how many bytes it takes in memory.
    fn bytes(&self) -> usize;
}

/// A reply of type `T` with a list, as far as it has been made.
pub(crate) struct Listing<T, I> {
    rest: Box<Rest<Written<I>>>,
    /// The reply, if nothing is left to be made.
    whole: Option<Enveloped<T>>,
}

impl<T: Serialize, I: Items> Listing<T, I> {
    /// Makes a reply of which `reply` says what there is beside the items and those that failed; it
    /// is all there if it is small.
    ///
    /// # Errors
    /// What the list says; `Overloaded` if there is no room for so much.
    pub(crate) fn of(
        call: &Call,
        list: I,
        reply: impl FnOnce(Listed<I::Item>, Listed<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        Listing::up_to(WHOLE, call, list, reply)
    }

    /// The same, where more makes a list large: for one that is kept, and then goes to all who ask
    /// for it.
    ///
    /// # Errors
    /// As [`Listing::of`].
    pub(crate) fn up_to(
        whole: usize,
        call: &Call,
        list: I,
        reply: impl FnOnce(Listed<I::Item>, Listed<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        // Here, and not in the future, which would have a place for it, and be copied with it.
        let reply = reply(Listed::later(Gap::Items), Listed::later(Gap::Failed));
        let rest = Written::of(call, list, &reply).map(|(written, out)| Box::new(Rest::new(call, written, out)));
        async move {
            let mut rest = rest?;
            rest.fill(call, whole, false).await?;
            let whole = rest.whole().map(Enveloped::new);
            Ok(Listing { rest, whole })
        }
    }

    /// The reply, if all of it is there.
    pub(crate) fn whole(&self) -> Option<&Enveloped<T>> {
        self.whole.as_ref()
    }

    /// The list.
    pub(crate) fn list_mut(&mut self) -> &mut I {
        &mut self.rest.steps.list
    }

    /// As an answer.
    pub(crate) fn answer(mut self, call: Call) -> Json<T> {
        if let Some(whole) = self.whole {
            return Json::from(whole);
        }
        let (before, after) = AROUND;
        let is_older = Surface::of(call.route.path) == Surface::Older;
        if is_older {
            self.rest.out.drain(..before.len());
        }
        if let Some(last) = self.rest.steps.behind.back_mut() {
            last.truncate(last.len() - after.len());
            if !is_older {
                last.extend_from_slice(&call.warnings.member());
                last.extend_from_slice(after);
            }
        }
        Json::new(Reply::listing(self.rest.stream(call)))
    }
}

/// A list on its way into the JSON of a reply.
struct Written<I> {
    list: I,
    /// What comes behind each gap that is still open, the outermost last.
    behind: VecDeque<Vec<u8>>,
    /// What failed, as it will stand in the reply.
    failed: Vec<u8>,
    /// Whether the next item is the first, the next of those within it, and the next of those
    /// within that.
    first: [bool; 3],
    /// What comes behind the items of each item that is open, the outermost first.
    open: Vec<Vec<u8>>,
    ended: bool,
}

/// What a step leads to once it is taken.
enum Then {
    Nothing,
    /// There is an item more at that depth.
    Item(usize),
    /// It has a list in it, and so much comes behind that.
    Opened(usize, Vec<u8>),
    Closed,
    Failed(Vec<u8>),
    Ended,
}

impl<I: Items> Written<I> {
    /// The list in such a reply, and what of the reply stands in front of it.
    fn of(call: &Call, list: I, reply: &impl Serialize) -> Result<(Written<I>, Vec<u8>)> {
        let mut out = Vec::with_capacity(4096);
        let gaps = with_gaps(&envelope(reply), &mut out)?;
        if !matches!(gaps[..], [(Gap::Items, _)] | [(Gap::Items, _), (Gap::Failed, _)]) {
            tracing::error!(endpoint = call.route.id, ?gaps, "a reply has its lists at other places");
            return Err(Error::internal());
        }
        let mut behind = VecDeque::new();
        for (_, place) in gaps.into_iter().rev() {
            behind.push_front(out.split_off(place));
        }
        let (failed, open) = (Vec::new(), Vec::new());
        Ok((Written { list, behind, failed, first: [true; 3], open, ended: false }, out))
    }

    /// Writes a step down behind `step`.
    fn write(&self, made: MadeBy<I>, step: &mut Vec<u8>) -> Result<Then> {
        fn put(step: &mut Vec<u8>, first: bool, value: &impl Serialize) -> Result<()> {
            if !first {
                step.push(b',');
            }
            serde_json::to_writer(step, value).map_err(|error| unserialisable(&error))
        }
        fn item(step: &mut Vec<u8>, first: [bool; 3], depth: usize, item: &impl Serialize) -> Result<Then> {
            put(step, first[depth], item)?;
            Ok(Then::Item(depth))
        }
        fn open(step: &mut Vec<u8>, first: [bool; 3], depth: usize, item: &impl Serialize) -> Result<Then> {
            if !first[depth] {
                step.push(b',');
            }
            let gaps = with_gaps(item, step)?;
            let [(Gap::Inner, place)] = gaps[..] else { return Err(Error::internal()) };
            Ok(Then::Opened(depth, step.split_off(place)))
        }
        let first = self.first;
        Ok(match made {
            Made::Item(made) => item(step, first, 0, &made)?,
            Made::Open(made) => open(step, first, 0, &made)?,
            Made::Inner(made) => item(step, first, 1, &made)?,
            Made::OpenInner(made) => open(step, first, 1, &made)?,
            Made::Innermost(made) => item(step, first, 2, &made)?,
            Made::Close => {
                step.extend_from_slice(self.open.last().map_or(&[], Vec::as_slice));
                Then::Closed
            }
            Made::Failed(failed) => {
                let mut text = Vec::new();
                put(&mut text, self.failed.is_empty(), &failed)?;
                Then::Failed(text)
            }
            Made::Nothing => Then::Nothing,
            Made::End => {
                let mut behind = self.behind.iter();
                step.extend_from_slice(behind.next().map_or(&[], Vec::as_slice));
                if let Some(last) = behind.next() {
                    step.extend_from_slice(&self.failed);
                    step.extend_from_slice(last);
                }
                Then::Ended
            }
        })
    }
}

impl<I: Items> Steps for Written<I> {
    type Then = Then;
    type Fault = I::Fault;

    async fn make(&mut self, call: &Call, late: bool, out: &mut Vec<u8>) -> Result<Then, I::Fault> {
        let made = self.list.make(call, late).await?;
        Ok(self.write(made, out)?)
    }

    fn go_on(&mut self, then: Then) {
        match then {
            Then::Nothing => {}
            Then::Item(depth) => self.first[depth] = false,
            Then::Opened(depth, behind) => {
                (self.first[depth], self.first[depth + 1]) = (false, true);
                self.open.push(behind);
            }
            Then::Closed => drop(self.open.pop()),
            Then::Failed(text) => self.failed.extend_from_slice(&text),
            Then::Ended => self.ended = true,
        }
        if !self.ended {
            self.list.advance();
        }
    }

    fn are_over(&self) -> bool {
        self.ended
    }

    fn bytes(&self) -> usize {
        let behind: usize = self.behind.iter().chain(&self.open).map(Vec::capacity).sum();
        self.list.bytes() + self.failed.len() + behind
    }
}
