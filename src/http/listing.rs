//! Replies with lists that are rendered item by item.
//!
//! A list of at most [`WHOLE`] bytes is rendered at once and sent with its length. A larger one is
//! rendered while it is sent ([`super::steps`]). Which items it has is decided at the beginning,
//! but each is shown as it is when its turn comes. An item that was removed since is omitted or
//! listed among the failures.

use std::collections::VecDeque;

use serde::Serialize;
use stet_actors::error::{Error, Result};

use super::call::Call;
use super::error::Surface;
use super::reply::{AROUND, Enveloped, Json, Reply, envelope};
use super::steps::{Rest, Steps, WHOLE};
use crate::json::{Gap, Listed, unserialisable, with_gaps};

/// One step of a list.
pub(crate) enum Made<I, N = Never, E = Never, M = Never> {
    /// An item.
    Item(I),
    /// An item that contains a list; the list's items are the steps up to its [`Made::Close`].
    Open(I),
    /// An item of the inner list.
    Inner(N),
    /// An inner item that contains a list; the list's items are the steps up to its
    /// [`Made::Close`].
    OpenInner(N),
    /// An item of the innermost list.
    Innermost(M),
    /// The end of the list that was opened last.
    Close,
    /// The failure to report for an item that can't be shown.
    Failed(E),
    /// Nothing to be shown.
    Nothing,
    /// The end of the list.
    End,
}

impl<I, N, E, M> Made<I, N, E, M> {
    /// Creates an item whose inner list follows in the next steps.
    pub(crate) fn open(item: impl FnOnce(Listed<N>) -> I) -> Made<I, N, E, M> {
        Made::Open(item(Listed::later(Gap::Inner)))
    }
}

impl<I, N> Made<I, N> {
    /// Converts a step into that of a list inside another list's item.
    pub(crate) fn deeper<O, E>(self) -> Made<O, I, E, N> {
        match self {
            Made::Item(item) => Made::Inner(item),
            Made::Open(item) => Made::OpenInner(item),
            Made::Inner(item) => Made::Innermost(item),
            Made::Close => Made::Close,
            Made::Nothing => Made::Nothing,
            Made::End => Made::End,
            // A deeper list has no place in the reply.
            Made::OpenInner(item) => Made::Innermost(item),
            Made::Innermost(never) | Made::Failed(never) => match never {},
        }
    }
}

/// The item type of a list that has no such items.
#[derive(Serialize)]
pub(crate) enum Never {}

/// A step of the list type `L`.
pub(crate) type MadeBy<L> =
    Made<<L as Items>::Item, <L as Items>::Inner, <L as Items>::Failed, <L as Items>::Innermost>;

/// A list whose items are rendered one at a time.
pub(crate) trait Items: 'static {
    /// An item.
    type Item: Serialize;
    /// An item of an item's list.
    type Inner: Serialize;
    /// An item of an inner item's list.
    type Innermost: Serialize;
    /// The failure that the reply reports for an item that can't be shown.
    type Failed: Serialize;
    /// The error if there is no reply.
    type Fault: From<Error> + std::fmt::Debug;

    /// Renders the current step. `late` means that the reply is being sent already, and a fault
    /// aborts it. A step may be rendered again.
    async fn make(&mut self, call: &Call, late: bool) -> Result<MadeBy<Self>, Self::Fault>;

    /// Moves to the next step.
    fn advance(&mut self);

    /// Returns the approximate memory of the list, in bytes.
    fn bytes(&self) -> usize;
}

/// A reply of type `T` with a list, as far as it has been rendered.
pub(crate) struct Listing<T, I> {
    rest: Box<Rest<Written<I>>>,
    /// The complete reply, if nothing is left to be rendered.
    whole: Option<Enveloped<T>>,
}

impl<T: Serialize, I: Items> Listing<T, I> {
    /// Renders a reply with a list. `reply` adds everything except the items and the failures. A
    /// small reply is rendered completely.
    ///
    /// # Errors
    /// The errors of the list; `Overloaded` if there is not enough memory.
    pub(crate) fn of(
        call: &Call,
        list: I,
        reply: impl FnOnce(Listed<I::Item>, Listed<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        Listing::up_to(WHOLE, call, list, reply)
    }

    /// Renders a reply as [`Listing::of`] does, but with `whole` as the size up to which it is
    /// rendered completely. For replies that are cached and sent to many clients.
    ///
    /// # Errors
    /// The errors of [`Listing::of`].
    pub(crate) fn up_to(
        whole: usize,
        call: &Call,
        list: I,
        reply: impl FnOnce(Listed<I::Item>, Listed<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        // Not within the future, which would reserve space for it and be copied with it.
        let reply = reply(Listed::later(Gap::Items), Listed::later(Gap::Failed));
        let rest = Written::of(call, list, &reply).map(|(written, out)| Box::new(Rest::new(call, written, out)));
        async move {
            let mut rest = rest?;
            rest.fill(call, whole, false).await?;
            let whole = rest.whole().map(Enveloped::new);
            Ok(Listing { rest, whole })
        }
    }

    /// Returns the complete reply, if nothing is left to be rendered.
    pub(crate) fn whole(&self) -> Option<&Enveloped<T>> {
        self.whole.as_ref()
    }

    /// Returns the list.
    pub(crate) fn list_mut(&mut self) -> &mut I {
        &mut self.rest.steps.list
    }

    /// Converts the listing into the handler's answer.
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

/// A list while it is written into the JSON of a reply.
struct Written<I> {
    list: I,
    /// The text behind each open gap, the outermost last.
    behind: VecDeque<Vec<u8>>,
    /// The failures, as JSON.
    failed: Vec<u8>,
    /// Whether the next item is the first of its list, at each of the three depths.
    first: [bool; 3],
    /// The text behind the inner list of each open item, the outermost first.
    open: Vec<Vec<u8>>,
    ended: bool,
}

/// The effect of a step on the state of the writer.
enum Then {
    Nothing,
    /// Another item was written at that depth.
    Item(usize),
    /// An item with a list was written at that depth, and the text behind its list.
    Opened(usize, Vec<u8>),
    Closed,
    Failed(Vec<u8>),
    Ended,
}

impl<I: Items> Written<I> {
    /// Puts the list into a reply. Returns the reply's text in front of the list as well.
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

    /// Writes a step at the end of `step`.
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
