//! Replies with lists that are rendered entry by entry.
//!
//! A handler gives the entries of a list, and a closure that renders one of them
//! ([`Listing::each`]). An entry may contain a list of its own ([`NestedItem`]).
//!
//! A list of at most [`WHOLE`] bytes is rendered at once and sent with its length. A larger one is
//! rendered while it is sent ([`super::steps`]). Which entries it has is decided at the beginning,
//! but each is shown as it is when its step comes. An entry that was removed since is omitted or
//! listed among the failures.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::mem;
use std::ops::Deref;

use serde::Serialize;
use stet_base::json::{ReplyList, ReplyListGap, append_json, with_gaps};
use stet_base::rope::TextRope;
use stet_domain::error::{Error, Result};

use super::call::Call;
use super::error::ApiSurface;
use super::reply::{AROUND, EnvelopedReply, Json, Reply, envelope};
use super::steps::{ReplySteps, UnsentReply, WHOLE};
use super::warnings;

/// The step of a list that renders one entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryStep {
    /// The index of the entry. When memory was short, the step of an index is repeated.
    pub index: usize,
    /// Whether the reply is being sent already. The client may have taken its time, so that the
    /// state has changed, and an error aborts the reply.
    pub late: bool,
}

/// The result of rendering an entry: what it adds to the list.
pub trait RenderedEntry {
    /// An item of the list.
    type Item: Serialize;
    /// The list that an item may contain.
    type Inner: ListingSource<Failed = NoItem>;
    /// The failure that the reply reports for an entry that can't be shown.
    type Failed: Serialize;

    /// Writes the items or the failure. Returns the list of the last item, if it has one.
    ///
    /// # Errors
    /// Errors of serialisation.
    fn write(self, out: &mut ListingOutput<'_>) -> Result<Option<OpenItem<Self::Inner>>>;
}

/// One item; `None` omits the entry.
impl<I: Serialize> RenderedEntry for Option<I> {
    type Item = I;
    type Inner = NoItem;
    type Failed = NoItem;

    fn write(self, out: &mut ListingOutput<'_>) -> Result<Option<OpenItem<NoItem>>> {
        self.as_slice().iter().try_for_each(|item| out.item(item)).map(|()| None)
    }
}

/// Any number of items, which are rendered in one step.
impl<I: Serialize> RenderedEntry for Vec<I> {
    type Item = I;
    type Inner = NoItem;
    type Failed = NoItem;

    fn write(self, out: &mut ListingOutput<'_>) -> Result<Option<OpenItem<NoItem>>> {
        self.iter().try_for_each(|item| out.item(item)).map(|()| None)
    }
}

/// An item with a list of its own; `None` omits the entry.
impl<I: Serialize, L: ListingSource<Failed = NoItem>> RenderedEntry for Option<NestedItem<I, L>> {
    type Item = I;
    type Inner = L;
    type Failed = NoItem;

    fn write(self, out: &mut ListingOutput<'_>) -> Result<Option<OpenItem<L>>> {
        match self {
            Some(NestedItem { item, inner: Some(inner) }) => {
                out.open(&item).map(|behind| Some(OpenItem { inner, behind }))
            }
            Some(NestedItem { item, inner: None }) => out.item(&item).map(|()| None),
            None => Ok(None),
        }
    }
}

/// A rendered entry, or the failure that the reply reports in its place.
impl<O: RenderedEntry<Failed = NoItem>, X: Serialize> RenderedEntry for Result<O, X> {
    type Item = O::Item;
    type Inner = O::Inner;
    type Failed = X;

    fn write(self, out: &mut ListingOutput<'_>) -> Result<Option<OpenItem<O::Inner>>> {
        match self {
            Ok(rendered) => rendered.write(out),
            Err(failed) => out.failure(&failed).map(|()| None),
        }
    }
}

/// An item that may contain a list of its own.
pub struct NestedItem<I, L> {
    item: I,
    inner: Option<L>,
}

impl<I, L: ListingSource> NestedItem<I, L> {
    /// Creates an item that contains a list. `item` puts the list in its place.
    pub fn open(inner: L, item: impl FnOnce(ReplyList<L::Item>) -> I) -> NestedItem<I, L> {
        NestedItem { item: item(ReplyList::later(ReplyListGap::Items)), inner: Some(inner) }
    }

    /// Creates an item that is complete.
    pub fn whole(item: I) -> NestedItem<I, L> {
        NestedItem { item, inner: None }
    }
}

/// The item type of a list that has no such items, and the type of a list that does not exist.
#[derive(Serialize)]
pub enum NoItem {}

/// A list that is rendered step by step: an [`ListingEntries`].
pub trait ListingSource: 'static {
    /// An item.
    type Item: Serialize;
    /// The failure that the reply reports for an entry that can't be shown.
    type Failed: Serialize;
    /// The error if there is no reply.
    type Fault: From<Error> + Debug;

    /// Writes the current step. A step may be written again.
    #[expect(async_fn_in_trait, reason = "a call stays on its thread, so the future need not be Send")]
    async fn write(&mut self, call: &Call, late: bool, out: &mut ListingOutput<'_>) -> Result<(), Self::Fault>;

    /// Accepts the step that was written, and moves to the next.
    fn advance(&mut self);

    /// Reports whether all steps have been written.
    fn is_over(&self) -> bool;

    /// Returns the approximate memory of the list, in bytes.
    fn bytes(&self) -> usize;
}

impl ListingSource for NoItem {
    type Item = NoItem;
    type Failed = NoItem;
    type Fault = Error;

    async fn write(&mut self, _: &Call, _: bool, _: &mut ListingOutput<'_>) -> Result<()> {
        match *self {}
    }

    fn advance(&mut self) {
        match *self {}
    }

    fn is_over(&self) -> bool {
        match *self {}
    }

    fn bytes(&self) -> usize {
        match *self {}
    }
}

/// The text to which the steps of a list are written.
pub struct ListingOutput<'o> {
    text: &'o mut TextRope,
    /// The failures as JSON, with a comma behind each.
    failed: &'o mut TextRope,
    /// Whether the current list has no item yet.
    is_empty: bool,
}

impl ListingOutput<'_> {
    fn separate(&mut self) {
        if !mem::take(&mut self.is_empty) {
            self.text.extend_from_slice(b",");
        }
    }

    fn item(&mut self, item: &impl Serialize) -> Result<()> {
        self.separate();
        append_json(item, self.text)
    }

    /// Writes an item up to its list. Returns the text behind the list.
    fn open(&mut self, item: &impl Serialize) -> Result<TextRope> {
        self.separate();
        let gaps = with_gaps(item, self.text)?;
        Ok(self.text.split_off(gaps.items))
    }

    fn failure(&mut self, failed: &impl Serialize) -> Result<()> {
        append_json(failed, self.failed)?;
        self.failed.extend_from_slice(b",");
        Ok(())
    }
}

/// An item whose list is being written.
pub struct OpenItem<L> {
    inner: L,
    /// The text behind the list.
    behind: TextRope,
}

/// A list of entries, each rendered by a closure.
pub struct ListingEntries<C, R, O: RenderedEntry> {
    entries: C,
    render: R,
    /// Memory that the list takes beside its entries, in bytes.
    beside: usize,
    next: usize,
    is_empty: bool,
    open: Option<OpenItem<O::Inner>>,
    /// The effect of the step that was written last.
    effect: StepEffect<O::Inner>,
    of: PhantomData<fn() -> O>,
}

/// The effect of a step on the state of its list, applied when the step is accepted.
enum StepEffect<L> {
    /// The entry is complete.
    Rendered { is_empty: bool },
    /// The list of the entry follows.
    Opened(OpenItem<L>),
    /// A step of the inner list was written.
    Inner,
    /// The end of the entry was written.
    Closed,
}

impl<C, R, O: RenderedEntry> ListingEntries<C, R, O> {
    /// Creates a list of these entries. `render` renders one of them, and again if memory was
    /// short.
    pub fn of<E, F>(entries: C, render: R) -> ListingEntries<C, R, O>
    where
        C: Deref<Target = [E]>,
        R: AsyncFnMut(&Call, &E, EntryStep) -> Result<O, F>,
    {
        let effect = StepEffect::Rendered { is_empty: true };
        ListingEntries { entries, render, beside: 0, next: 0, is_empty: true, open: None, effect, of: PhantomData }
    }

    /// States how much memory the list takes in addition to its entries, in bytes: the texts in
    /// them, and the state of the closure.
    #[must_use]
    pub fn beside(self, beside: usize) -> ListingEntries<C, R, O> {
        ListingEntries { beside, ..self }
    }
}

impl<C, E, R, O, F> ListingSource for ListingEntries<C, R, O>
where
    C: Deref<Target = [E]> + 'static,
    R: AsyncFnMut(&Call, &E, EntryStep) -> Result<O, F> + 'static,
    O: RenderedEntry + 'static,
    F: From<Error> + From<<O::Inner as ListingSource>::Fault> + Debug,
{
    type Item = O::Item;
    type Failed = O::Failed;
    type Fault = F;

    async fn write(&mut self, call: &Call, late: bool, out: &mut ListingOutput<'_>) -> Result<(), F> {
        self.effect = match &mut self.open {
            Some(open) if open.inner.is_over() => {
                out.text.append(&open.behind);
                StepEffect::Closed
            }
            Some(open) => {
                open.inner.write(call, late, out).await?;
                StepEffect::Inner
            }
            None => {
                let step = EntryStep { index: self.next, late };
                let rendered = (self.render)(call, &self.entries[self.next], step).await?;
                out.is_empty = self.is_empty;
                match rendered.write(out)? {
                    Some(open) => StepEffect::Opened(open),
                    None => StepEffect::Rendered { is_empty: out.is_empty },
                }
            }
        };
        Ok(())
    }

    fn advance(&mut self) {
        match mem::replace(&mut self.effect, StepEffect::Inner) {
            StepEffect::Rendered { is_empty } => (self.is_empty, self.next) = (is_empty, self.next + 1),
            StepEffect::Opened(open) => (self.is_empty, self.open) = (false, Some(open)),
            StepEffect::Inner => self.open.iter_mut().for_each(|open| open.inner.advance()),
            StepEffect::Closed => (self.open, self.next) = (None, self.next + 1),
        }
    }

    fn is_over(&self) -> bool {
        self.next == self.entries.len()
    }

    fn bytes(&self) -> usize {
        let open = match &self.effect {
            StepEffect::Opened(open) => Some(open),
            _ => self.open.as_ref(),
        };
        let open = open.map_or(0, |open| open.inner.bytes() + open.behind.capacity());
        size_of_val(&*self.entries) + self.beside + open
    }
}

/// A reply of type `T` with a list, as far as it has been rendered.
pub struct Listing<T>(RenderedListing<T>);

enum RenderedListing<T> {
    Whole(EnvelopedReply<T>),
    Begun(Box<dyn BegunListing>),
}

impl<T: Serialize> Listing<T> {
    /// Renders a reply with a list of these entries. `render` renders one of them: to an item, to
    /// `None` if it is omitted, or to a failure that the reply reports. It may be called again for
    /// an entry if memory was short. `reply` adds everything except the items and the failures. A
    /// small reply is rendered completely.
    ///
    /// # Errors
    /// The errors of `render`; `Overloaded` if there is not enough memory.
    pub fn each<C, E, R, O, F>(
        call: &Call,
        entries: C,
        render: R,
        reply: impl FnOnce(ReplyList<O::Item>, ReplyList<O::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T>, F>>
    where
        C: Deref<Target = [E]> + 'static,
        R: AsyncFnMut(&Call, &E, EntryStep) -> Result<O, F> + 'static,
        O: RenderedEntry + 'static,
        F: From<Error> + From<<O::Inner as ListingSource>::Fault> + Debug,
    {
        Listing::of(call, ListingEntries::of(entries, render), reply)
    }

    /// Renders a reply with that list as [`Listing::each`] does.
    ///
    /// # Errors
    /// The errors of the list; `Overloaded` if there is not enough memory.
    pub fn of<L: ListingSource>(
        call: &Call,
        list: L,
        reply: impl FnOnce(ReplyList<L::Item>, ReplyList<L::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T>, L::Fault>> {
        Listing::up_to(WHOLE, call, list, reply)
    }

    /// Renders a reply as [`Listing::of`] does, but with `whole` as the size up to which it is
    /// rendered completely. For replies that are cached and sent to many clients.
    ///
    /// # Errors
    /// The errors of [`Listing::of`].
    pub fn up_to<L: ListingSource>(
        whole: usize,
        call: &Call,
        list: L,
        reply: impl FnOnce(ReplyList<L::Item>, ReplyList<L::Failed>) -> T,
    ) -> impl Future<Output = Result<Listing<T>, L::Fault>> {
        // The reply is built outside of the future, which would reserve space for it and be copied
        // with it.
        let reply = reply(ReplyList::later(ReplyListGap::Items), ReplyList::later(ReplyListGap::Failed));
        let rest = ListingWriter::of(list, &reply).map(|(writer, out)| Box::new(UnsentReply::new(writer, out)));
        async move {
            let mut rest = rest?;
            rest.fill(call, whole, false).await?;
            Ok(Listing(match rest.whole() {
                Some(whole) => RenderedListing::Whole(EnvelopedReply::new(whole)),
                None => RenderedListing::Begun(rest),
            }))
        }
    }

    /// Returns the complete reply, if nothing is left to be rendered.
    pub fn whole(&self) -> Option<&EnvelopedReply<T>> {
        match &self.0 {
            RenderedListing::Whole(whole) => Some(whole),
            RenderedListing::Begun(_) => None,
        }
    }

    /// Converts the listing into the handler's answer.
    pub fn answer(self, call: Call) -> Json<T> {
        match self.0 {
            RenderedListing::Whole(whole) => Json::from(whole),
            RenderedListing::Begun(rest) => Json::new(rest.answer(call)),
        }
    }
}

/// A reply whose list is not complete yet.
trait BegunListing {
    /// Returns the reply that is rendered while it is sent.
    fn answer(self: Box<Self>, call: Call) -> Reply;
}

impl<L: ListingSource> BegunListing for UnsentReply<ListingWriter<L>> {
    fn answer(mut self: Box<Self>, call: Call) -> Reply {
        let (before, after) = AROUND;
        let behind = &mut self.steps.behind;
        behind.truncate(behind.len() - after.len());
        if ApiSurface::of(call.route.path) == ApiSurface::Older {
            self.out.remove_front(before.len());
        } else {
            behind.extend_from_slice(&warnings::member(call.warnings()));
            behind.extend_from_slice(after);
        }
        Reply::listing(self.stream(call))
    }
}

/// A list while it is written into the JSON of a reply.
struct ListingWriter<L> {
    list: L,
    /// The text between the items and the failures. Empty for a reply without failures.
    between: TextRope,
    /// The text behind both.
    behind: TextRope,
    /// The failures as JSON, with a comma behind each.
    failed: TextRope,
    /// The bytes of the failures of the steps that have been accepted.
    accepted: usize,
    ended: bool,
}

impl<L: ListingSource> ListingWriter<L> {
    /// Puts the list into a reply. Returns the reply's text in front of the list as well.
    fn of(list: L, reply: &impl Serialize) -> Result<(ListingWriter<L>, TextRope)> {
        let mut out = TextRope::with_capacity(4096);
        let gaps = with_gaps(&envelope(reply), &mut out)?;
        let behind = out.split_off(gaps.failed.unwrap_or(gaps.items));
        let between = out.split_off(gaps.items);
        Ok((ListingWriter { list, between, behind, failed: TextRope::default(), accepted: 0, ended: false }, out))
    }
}

impl<L: ListingSource> ReplySteps for ListingWriter<L> {
    type Then = ();
    type Fault = L::Fault;

    async fn make(&mut self, call: &Call, late: bool, out: &mut TextRope) -> Result<(), L::Fault> {
        if self.list.is_over() {
            out.append(&self.between);
            // Without the last comma. The step may be repeated.
            self.failed.truncate(self.accepted.saturating_sub(1));
            out.append(&self.failed);
            out.append(&self.behind);
            return Ok(());
        }
        // Drops those of a step that is repeated.
        self.failed.truncate(self.accepted);
        self.list.write(call, late, &mut ListingOutput { text: out, failed: &mut self.failed, is_empty: true }).await
    }

    fn go_on(&mut self, (): ()) {
        if self.list.is_over() {
            self.ended = true;
        } else {
            self.accepted = self.failed.len();
            self.list.advance();
        }
    }

    fn are_over(&self) -> bool {
        self.ended
    }

    fn bytes(&self) -> usize {
        self.list.bytes() + self.failed.capacity() + self.between.capacity() + self.behind.capacity()
    }
}
