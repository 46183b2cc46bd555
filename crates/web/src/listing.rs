//! Replies with lists that are rendered item by item.
//!
//! A list of at most [`WHOLE`] bytes is rendered at once and sent with its length. A larger one is
//! rendered while it is sent ([`super::steps`]). Which items it has is decided at the beginning,
//! but each is shown as it is when its turn comes. An item that was removed since is omitted or
//! listed among the failures.

use std::collections::VecDeque;

use serde::Serialize;
use stet_base::json::{ReplyList, ReplyListGap, unserialisable, with_gaps};
use stet_domain::error::{Error, Result};

use super::call::Call;
use super::error::ApiSurface;
use super::reply::{AROUND, EnvelopedReply, Json, Reply, envelope};
use super::steps::{ReplySteps, UnsentReply, WHOLE};
use super::warnings;

/// One step of a list.
pub enum ListingStep<I, N = NoItem, E = NoItem, M = NoItem> {
    /// An item.
    Item(I),
    /// An item that contains a list; the list's items are the steps up to its
    /// [`ListingStep::Close`].
    Open(I),
    /// An item of the inner list.
    Inner(N),
    /// An inner item that contains a list; the list's items are the steps up to its
    /// [`ListingStep::Close`].
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

impl<I, N, E, M> ListingStep<I, N, E, M> {
    /// Creates an item whose inner list follows in the next steps.
    pub fn open(item: impl FnOnce(ReplyList<N>) -> I) -> ListingStep<I, N, E, M> {
        ListingStep::Open(item(ReplyList::later(ReplyListGap::Inner)))
    }
}

impl<I, N> ListingStep<I, N> {
    /// Converts a step into that of a list inside another list's item.
    pub fn deeper<O, E>(self) -> ListingStep<O, I, E, N> {
        match self {
            ListingStep::Item(item) => ListingStep::Inner(item),
            ListingStep::Open(item) => ListingStep::OpenInner(item),
            ListingStep::Inner(item) => ListingStep::Innermost(item),
            ListingStep::Close => ListingStep::Close,
            ListingStep::Nothing => ListingStep::Nothing,
            ListingStep::End => ListingStep::End,
            // A deeper list has no place in the reply.
            ListingStep::OpenInner(item) => ListingStep::Innermost(item),
            ListingStep::Innermost(never) | ListingStep::Failed(never) => match never {},
        }
    }
}

/// The item type of a list that has no such items.
#[derive(Serialize)]
pub enum NoItem {}

/// A step of the list type `L`.
pub type ListingStepOf<L> = ListingStep<
    <L as ListingSource>::Item,
    <L as ListingSource>::Inner,
    <L as ListingSource>::Failed,
    <L as ListingSource>::Innermost,
>;

/// A list whose items are rendered one at a time.
pub trait ListingSource: 'static {
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
    #[expect(async_fn_in_trait, reason = "a call stays on its thread, so the future need not be Send")]
    async fn make(&mut self, call: &Call, late: bool) -> Result<ListingStepOf<Self>, Self::Fault>;

    /// Moves to the next step.
    fn advance(&mut self);

    /// Returns the approximate memory of the list, in bytes.
    fn bytes(&self) -> usize;
}

/// A reply of type `T` with a list, as far as it has been rendered.
pub struct Listing<T, I> {
    rest: Box<UnsentReply<ListingWriter<I>>>,
    /// The complete reply, if nothing is left to be rendered.
    whole: Option<EnvelopedReply<T>>,
}

impl<T: Serialize, I: ListingSource> Listing<T, I> {
    /// Renders a reply with a list. `reply` adds everything except the items and the failures. A
    /// small reply is rendered completely.
    ///
    /// # Errors
    /// The errors of the list; `Overloaded` if there is not enough memory.
    pub fn of(
        call: &Call,
        list: I,
        reply: impl FnOnce(ReplyList<I::Item>, ReplyList<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        Listing::up_to(WHOLE, call, list, reply)
    }

    /// Renders a reply as [`Listing::of`] does, but with `whole` as the size up to which it is
    /// rendered completely. For replies that are cached and sent to many clients.
    ///
    /// # Errors
    /// The errors of [`Listing::of`].
    pub fn up_to(
        whole: usize,
        call: &Call,
        list: I,
        reply: impl FnOnce(ReplyList<I::Item>, ReplyList<I::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T, I>, I::Fault>> {
        // The reply is built outside of the future, which would reserve space for it and be copied
        // with it.
        let reply = reply(ReplyList::later(ReplyListGap::Items), ReplyList::later(ReplyListGap::Failed));
        let rest =
            ListingWriter::of(call, list, &reply).map(|(written, out)| Box::new(UnsentReply::new(call, written, out)));
        async move {
            let mut rest = rest?;
            rest.fill(call, whole, false).await?;
            let whole = rest.whole().map(EnvelopedReply::new);
            Ok(Listing { rest, whole })
        }
    }

    /// Returns the complete reply, if nothing is left to be rendered.
    pub fn whole(&self) -> Option<&EnvelopedReply<T>> {
        self.whole.as_ref()
    }

    /// Returns the list.
    pub fn list_mut(&mut self) -> &mut I {
        &mut self.rest.steps.list
    }

    /// Converts the listing into the handler's answer.
    pub fn answer(mut self, call: Call) -> Json<T> {
        if let Some(whole) = self.whole {
            return Json::from(whole);
        }
        let (before, after) = AROUND;
        let is_older = ApiSurface::of(call.route.path) == ApiSurface::Older;
        if is_older {
            self.rest.out.drain(..before.len());
        }
        if let Some(last) = self.rest.steps.behind.back_mut() {
            last.truncate(last.len() - after.len());
            if !is_older {
                last.extend_from_slice(&warnings::member(call.warnings()));
                last.extend_from_slice(after);
            }
        }
        Json::new(Reply::listing(self.rest.stream(call)))
    }
}

/// A list while it is written into the JSON of a reply.
struct ListingWriter<I> {
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
enum ListingEffect {
    Nothing,
    /// Another item was written at that depth.
    Item(usize),
    /// An item with a list was written at that depth, and the text behind its list.
    Opened(usize, Vec<u8>),
    Closed,
    Failed(Vec<u8>),
    Ended,
}

impl<I: ListingSource> ListingWriter<I> {
    /// Puts the list into a reply. Returns the reply's text in front of the list as well.
    fn of(call: &Call, list: I, reply: &impl Serialize) -> Result<(ListingWriter<I>, Vec<u8>)> {
        let mut out = Vec::with_capacity(4096);
        let gaps = with_gaps(&envelope(reply), &mut out)?;
        if !matches!(gaps[..], [(ReplyListGap::Items, _)] | [(ReplyListGap::Items, _), (ReplyListGap::Failed, _)]) {
            tracing::error!(endpoint = call.route.id, ?gaps, "a reply does not have its lists at the expected places");
            return Err(Error::internal());
        }
        let mut behind = VecDeque::new();
        for (_, place) in gaps.into_iter().rev() {
            behind.push_front(out.split_off(place));
        }
        let (failed, open) = (Vec::new(), Vec::new());
        Ok((ListingWriter { list, behind, failed, first: [true; 3], open, ended: false }, out))
    }

    /// Writes a step at the end of `step`.
    fn write(&self, made: ListingStepOf<I>, step: &mut Vec<u8>) -> Result<ListingEffect> {
        fn put(step: &mut Vec<u8>, first: bool, value: &impl Serialize) -> Result<()> {
            if !first {
                step.push(b',');
            }
            serde_json::to_writer(step, value).map_err(|error| unserialisable(&error))
        }
        fn item(step: &mut Vec<u8>, first: [bool; 3], depth: usize, item: &impl Serialize) -> Result<ListingEffect> {
            put(step, first[depth], item)?;
            Ok(ListingEffect::Item(depth))
        }
        fn open(step: &mut Vec<u8>, first: [bool; 3], depth: usize, item: &impl Serialize) -> Result<ListingEffect> {
            if !first[depth] {
                step.push(b',');
            }
            let gaps = with_gaps(item, step)?;
            let [(ReplyListGap::Inner, place)] = gaps[..] else { return Err(Error::internal()) };
            Ok(ListingEffect::Opened(depth, step.split_off(place)))
        }
        let first = self.first;
        Ok(match made {
            ListingStep::Item(made) => item(step, first, 0, &made)?,
            ListingStep::Open(made) => open(step, first, 0, &made)?,
            ListingStep::Inner(made) => item(step, first, 1, &made)?,
            ListingStep::OpenInner(made) => open(step, first, 1, &made)?,
            ListingStep::Innermost(made) => item(step, first, 2, &made)?,
            ListingStep::Close => {
                step.extend_from_slice(self.open.last().map_or(&[], Vec::as_slice));
                ListingEffect::Closed
            }
            ListingStep::Failed(failed) => {
                let mut text = Vec::new();
                put(&mut text, self.failed.is_empty(), &failed)?;
                ListingEffect::Failed(text)
            }
            ListingStep::Nothing => ListingEffect::Nothing,
            ListingStep::End => {
                let mut behind = self.behind.iter();
                step.extend_from_slice(behind.next().map_or(&[], Vec::as_slice));
                if let Some(last) = behind.next() {
                    step.extend_from_slice(&self.failed);
                    step.extend_from_slice(last);
                }
                ListingEffect::Ended
            }
        })
    }
}

impl<I: ListingSource> ReplySteps for ListingWriter<I> {
    type Then = ListingEffect;
    type Fault = I::Fault;

    async fn make(&mut self, call: &Call, late: bool, out: &mut Vec<u8>) -> Result<ListingEffect, I::Fault> {
        let made = self.list.make(call, late).await?;
        Ok(self.write(made, out)?)
    }

    fn go_on(&mut self, then: ListingEffect) {
        match then {
            ListingEffect::Nothing => {}
            ListingEffect::Item(depth) => self.first[depth] = false,
            ListingEffect::Opened(depth, behind) => {
                (self.first[depth], self.first[depth + 1]) = (false, true);
                self.open.push(behind);
            }
            ListingEffect::Closed => drop(self.open.pop()),
            ListingEffect::Failed(text) => self.failed.extend_from_slice(&text),
            ListingEffect::Ended => self.ended = true,
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
