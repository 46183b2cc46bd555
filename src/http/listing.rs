//! Replies that are lists, made item by item.
//!
//! A list of no more than [`WHOLE`] bytes is made at once and goes out whole, with its length. Of a larger one only as much as
//! makes a piece is there at a time, beside what says which items it has: the next items are made when the connection has taken
//! those before. So a reply takes the memory of its largest item, however long it is and however slowly it is read.
//!
//! What a large list shows of an item is what there is to show when its turn comes: the caller is looked at again before each
//! piece, and what has gone since is left out, or stands among what failed.

use std::collections::VecDeque;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use bytes::{Buf, Bytes};
use futures_util::FutureExt;
use futures_util::stream::unfold;
use serde::Serialize;
use stet_actors::error::{Error, Result};

use super::authorise::check_again;
use super::call::Call;
use super::error::Surface;
use super::pieces::no_room;
use super::reply::{AROUND, BodyStream, Enveloped, Json, Reply, envelope};
use crate::give_way::GiveWay;
use crate::json::{Gap, Listed, unserialisable, with_gaps};
use crate::limits::{PIECE, Taken};

/// Bytes up to which a list is made at once.
pub(crate) const WHOLE: usize = 256 << 10;

/// How long a large item waits for room, which others give back when their clients have taken what they asked for or are let go.
const PATIENCE: Duration = Duration::from_secs(60);

/// After so many steps, or so many bytes of them, it is asked whether others should have their turn.
const STEPS: usize = 16;
const STEPS_BYTES: usize = 8 << 10;

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

    /// Makes the present step, of a `late` one when the reply is on its way: then a fault breaks it off. A step may be made again.
    async fn make(&mut self, call: &Call, late: bool) -> Result<MadeBy<Self>, Self::Fault>;

    /// Goes on to the next step.
    fn advance(&mut self);

    /// About how many bytes it takes in memory.
    fn bytes(&self) -> usize;
}

/// A reply of type `T` with a list, as far as it has been made.
pub(crate) struct Listing<T, I> {
    rest: Box<Rest<I>>,
    /// The reply, if nothing is left to be made.
    whole: Option<Enveloped<T>>,
}

impl<T: Serialize, I: Items> Listing<T, I> {
    /// Makes a reply of which `reply` says what there is beside the items and those that failed; it is all there if it is small.
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

    /// The same, where more makes a list large: for one that is kept, and then goes to all who ask for it.
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
        let rest = Rest::new(call, list, &reply).map(Box::new);
        async move {
            let mut rest = rest?;
            rest.fill(call, whole, false).await?;
            let whole = rest.ended.then(|| Enveloped::new(mem::take(&mut rest.out)));
            Ok(Listing { rest, whole })
        }
    }

    /// The reply, if all of it is there.
    pub(crate) fn whole(&self) -> Option<&Enveloped<T>> {
        self.whole.as_ref()
    }

    /// The list.
    pub(crate) fn list_mut(&mut self) -> &mut I {
        &mut self.rest.list
    }

    /// As an answer.
    pub(crate) fn answer(self, call: Call) -> Json<T> {
        match self.whole {
            Some(whole) => Json::from(whole),
            None => Json::new(Reply::listing(self.rest.stream(call))),
        }
    }
}

/// What of a reply is still to be made.
struct Rest<I> {
    list: I,
    /// Bytes that have been made and not been handed on.
    out: Vec<u8>,
    /// What comes behind each gap that is still open, the outermost last.
    behind: VecDeque<Vec<u8>>,
    /// What failed, as it will stand in the reply.
    failed: Vec<u8>,
    /// Whether the next item is the first, the next of those within it, and the next of those within that.
    first: [bool; 3],
    /// What comes behind the items of each item that is open, the outermost first.
    open: Vec<Vec<u8>>,
    ended: bool,
    taken: Taken,
    /// Over all pieces: a client that takes them quickly gets many in a row.
    way: GiveWay,
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

impl<I: Items> Rest<I> {
    fn new(call: &Call, list: I, reply: &impl Serialize) -> Result<Rest<I>> {
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
        let taken = call.app.replies.nothing(&call.holder());
        Ok(Rest {
            list,
            out,
            behind,
            failed: Vec::new(),
            first: [true; 3],
            open: Vec::new(),
            ended: false,
            taken,
            way: GiveWay::new(),
        })
    }

    /// Bytes in memory beside what goes out.
    fn beside(&self) -> usize {
        self.list.bytes() + self.failed.len()
    }

    /// Makes more, until there are `wanted` bytes or there is no more to make.
    async fn fill(&mut self, call: &Call, wanted: usize, late: bool) -> Result<(), I::Fault> {
        let mut waited = false;
        let mut looked_at = self.out.len();
        for step in 0.. {
            let begin = self.out.len();
            if self.ended || begin >= wanted {
                break;
            }
            // Not at each step: of small ones, looking at the clock would be a good part.
            if step % STEPS == 0 || begin - looked_at >= STEPS_BYTES {
                looked_at = begin;
                self.way.now_and_then().await;
            }
            if late && begin == 0 {
                self.out.reserve_exact(wanted);
            }
            let made = self.list.make(call, late).await?;
            let then = self.write(made)?;
            let held = (self.beside() + self.out.capacity()) as u64;
            // The room for small ones is there: connections are bounded.
            if held > PIECE as u64 && !self.taken.grow_to(held) {
                // What was changed is told, whatever it takes.
                let may_fail = call.route.only_reads();
                if may_fail && !late {
                    return Err(no_room().into());
                }
                if may_fail && !waited {
                    if begin > 0 {
                        // First what is there already: that is room, too.
                        self.out.truncate(begin);
                        return Ok(());
                    }
                    self.out = Vec::new();
                    tokio::time::timeout(PATIENCE, self.taken.wait_to(held)).await.map_err(|_| no_room())?;
                    // It may have changed meanwhile.
                    waited = true;
                    continue;
                }
                self.taken.owe_to(held);
            }
            waited = false;
            self.go_on(then);
        }
        Ok(())
    }

    /// Writes a step down. Nothing is changed but what goes out: that is longer by the step.
    fn write(&mut self, made: MadeBy<I>) -> Result<Then> {
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
        let (first, step) = (self.first, &mut self.out);
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

    /// Takes a step that has been made.
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

    /// What goes out, made as it is taken.
    fn stream(mut self: Box<Self>, mut call: Call) -> BodyStream {
        // The call itself is over: its key is free, and its body is read.
        (call.claim, call.incoming, call.room, call.body) = (None, None, None, Bytes::new());
        let mut ready = Bytes::from(mem::take(&mut self.out));
        if Surface::of(call.route.path) == Surface::Older {
            let (before, after) = AROUND;
            ready.advance(before.len());
            if let Some(last) = self.behind.back_mut() {
                last.truncate(last.len() - after.len());
            }
        }
        Box::pin(unfold(Some((self, call, ready)), |state| async {
            let (mut rest, mut call, mut ready) = state?;
            // A panic would take the connection's thread with it.
            match AssertUnwindSafe(rest.piece(&mut call, &mut ready)).catch_unwind().await {
                Ok(Ok(None)) => None,
                Ok(Ok(Some(piece))) => Some((Ok(piece), Some((rest, call, ready)))),
                broken => {
                    let why = broken.map_or_else(|_| "a panic".to_owned(), |outcome| format!("{:?}", outcome.err()));
                    tracing::warn!(endpoint = call.route.id, why, "a reply was broken off");
                    Some((Err(ErrorInternalServerError("the reply was broken off")), None))
                }
            }
        }))
    }

    /// The next piece; `None` behind the last.
    async fn piece(&mut self, call: &mut Call, ready: &mut Bytes) -> Result<Option<Bytes>, I::Fault> {
        if ready.is_empty() {
            // Nothing of it is there any more.
            *ready = Bytes::new();
            self.taken.shrink_to((self.beside() + 2 * PIECE) as u64);
            // The client may have taken its time.
            call.rights = check_again(&call.app, call.route, call.session.as_ref(), &call.query, &call.sources)?;
            self.fill(call, PIECE, true).await?;
            *ready = Bytes::from(mem::take(&mut self.out));
        }
        let size = ready.len().min(PIECE);
        Ok((size > 0).then(|| ready.split_to(size)))
    }
}
