//! The specification of two topics: items in order, each with its subitems, and dividers between
//! them (docs/api/topics.md). Also the answer to each call.

use std::collections::BTreeSet;

use crate::histories::record::Whiteboard;

/// The number of objects to attach to items.
pub const OBJECTS: usize = 2;

/// An object, by number.
pub type Object = usize;

/// The identity of a write: the number of the call. It is the name of an item, the title of a
/// divider, or the comment on an item.
pub type Tag = usize;

/// A line of a topic or of an item. `A` is the known part of the object attached to an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Line<A> {
    /// The identity of the call that created it.
    pub tag: Tag,
    /// The item; `None` for a divider.
    pub item: Option<Item<A>>,
}

/// The known parts of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item<A> {
    /// The comment; 0 if there is none.
    pub comment: Tag,
    pub attachment: A,
    /// Subitems, and dividers between them.
    pub below: Vec<Line<A>>,
}

/// The object that hangs on an item, as a reply shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attachment {
    Nothing,
    Object(Object),
    /// An object in the recycle bin.
    Hidden,
}

/// The name of an item in a call: itself, or the item above it and itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Which {
    pub item: Tag,
    pub sub: Option<Tag>,
}

/// A call. Topics are 0 and 1; what has an `under` is about what stands below that item.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Add {
        topic: usize,
        under: Option<Tag>,
        position: Option<i64>,
        attachment: Option<Object>,
    },
    /// Changes the comment, and the named fields.
    Change {
        topic: usize,
        which: Which,
        position: Option<i64>,
        attachment: Option<Option<Object>>,
    },
    Attach {
        topic: usize,
        which: Which,
        object: Object,
    },
    Remove {
        topic: usize,
        which: Which,
    },
    Divide {
        topic: usize,
        under: Option<Tag>,
        position: Option<i64>,
    },
    Shift {
        topic: usize,
        under: Option<Tag>,
        divider: Tag,
        position: i64,
    },
    Undivide {
        topic: usize,
        under: Option<Tag>,
        divider: Tag,
    },
    /// Moves items from wherever they are.
    Move {
        sources: Vec<Tag>,
        target: usize,
        position: Option<i64>,
    },
    Discard(Object),
    Restore(Object),
    /// The whole depth.
    Read(usize),
    /// An item or subitem, without what stands below it: what the reply to a change of it shows.
    See {
        topic: usize,
        item: Tag,
    },
}

/// A call, and the identity of its write.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub tag: Tag,
    pub what: What,
}

/// The reply to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An item, and where it stands; without what stands below it.
    Item(Line<Attachment>, usize),
    /// A divider that was put there or moved, and where it stands.
    Divider(Tag, usize),
    /// The moved items, in the order of the call, with their places.
    Moved(Vec<(Tag, usize)>),
    /// Changed. What an item is then is a reading of its own.
    Done,
    Tree(Vec<Line<Attachment>>),
    /// No such item, divider or object exists.
    NotFound,
    /// A reply that does not agree with itself, or a failure: nothing explains either.
    Garbled(String),
}

impl Reply {
    /// Returns whether this expected reply agrees with the actual one. The reply shows an item as
    /// of the time when it is built: an object discarded since by others is hidden.
    fn is_told_as(&self, reply: &Reply) -> bool {
        let is_hidden_since = |line: &Line<Attachment>, told: &Line<Attachment>| {
            let attachment = |line: &Line<Attachment>| line.item.as_ref().map(|item| item.attachment);
            matches!((attachment(line), attachment(told)), (Some(Attachment::Object(_)), Some(Attachment::Hidden)))
        };
        match (self, reply) {
            (Reply::Item(line, at), Reply::Item(told, told_at)) if is_hidden_since(line, told) => {
                let mut line = line.clone();
                line.item.iter_mut().for_each(|item| item.attachment = Attachment::Hidden);
                (&line, at) == (told, told_at)
            }
            _ => self == reply,
        }
    }
}

type Lines = Vec<Line<Option<Object>>>;

struct NotFound;

/// The state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pair {
    topics: [Lines; 2],
    /// For each object, `true` if it is in the recycle bin.
    discarded: [bool; OBJECTS],
}

impl Pair {
    /// Returns the lines of a topic, or those below one of its items.
    fn lines(&mut self, topic: usize, under: Option<Tag>) -> Result<&mut Lines, NotFound> {
        let own = &mut self.topics[topic];
        let Some(tag) = under else { return Ok(own) };
        let line = own.iter_mut().find(|line| line.tag == tag).ok_or(NotFound)?;
        line.item.as_mut().map(|item| &mut item.below).ok_or(NotFound)
    }

    /// The lines that an item stands in, and where.
    fn find(&mut self, topic: usize, which: Which) -> Result<(&mut Lines, usize), NotFound> {
        let (under, tag) = which.sub.map_or((None, which.item), |sub| (Some(which.item), sub));
        let lines = self.lines(topic, under)?;
        let at = lines.iter().position(|line| line.tag == tag && line.item.is_some()).ok_or(NotFound)?;
        Ok((lines, at))
    }

    fn divider(&mut self, topic: usize, under: Option<Tag>, tag: Tag) -> Result<(&mut Lines, usize), NotFound> {
        let lines = self.lines(topic, under)?;
        let at = lines.iter().position(|line| line.tag == tag && line.item.is_none()).ok_or(NotFound)?;
        Ok((lines, at))
    }

    fn check(&self, object: Option<Object>) -> Result<(), NotFound> {
        if object.is_some_and(|object| self.discarded[object]) { Err(NotFound) } else { Ok(()) }
    }

    fn shown(&self, line: &Line<Option<Object>>) -> Line<Attachment> {
        let shown = |item: &Item<Option<Object>>| Item {
            comment: item.comment,
            attachment: match item.attachment {
                None => Attachment::Nothing,
                Some(object) if self.discarded[object] => Attachment::Hidden,
                Some(object) => Attachment::Object(object),
            },
            below: item.below.iter().map(|line| self.shown(line)).collect(),
        };
        Line { tag: line.tag, item: line.item.as_ref().map(shown) }
    }

    /// An item or subitem of a topic, alone.
    fn see(&self, topic: usize, tag: Tag) -> Result<Reply, NotFound> {
        let own = &self.topics[topic];
        let below = own.iter().filter_map(|line| Some(&line.item.as_ref()?.below));
        for lines in std::iter::once(own).chain(below) {
            if let Some(at) = lines.iter().position(|line| line.tag == tag && line.item.is_some()) {
                let mut line = self.shown(&lines[at]);
                line.item.iter_mut().for_each(|item| item.below.clear());
                return Ok(Reply::Item(line, at));
            }
        }
        Err(NotFound)
    }

    fn answer(&mut self, op: &Op) -> Result<Reply, NotFound> {
        match &op.what {
            What::Add { topic, under, position, attachment } => {
                self.check(*attachment)?;
                let item = Item { comment: 0, attachment: *attachment, below: Vec::new() };
                insert(self.lines(*topic, *under)?, *position, Line { tag: op.tag, item: Some(item) });
                Ok(Reply::Done)
            }
            What::Change { topic, which, position, attachment } => {
                self.check(attachment.flatten())?;
                let (lines, at) = self.find(*topic, *which)?;
                if let Some(item) = &mut lines[at].item {
                    item.comment = op.tag;
                    item.attachment = attachment.unwrap_or(item.attachment);
                }
                if position.is_some() {
                    let line = lines.remove(at);
                    insert(lines, *position, line);
                }
                Ok(Reply::Done)
            }
            What::Attach { topic, which, object } => {
                self.check(Some(*object))?;
                let (lines, at) = self.find(*topic, *which)?;
                lines[at].item.iter_mut().for_each(|item| item.attachment = Some(*object));
                Ok(Reply::Done)
            }
            What::Remove { topic, which } => {
                let (lines, at) = self.find(*topic, *which)?;
                lines.remove(at);
                Ok(Reply::Done)
            }
            What::Divide { topic, under, position } => {
                let lines = self.lines(*topic, *under)?;
                Ok(Reply::Divider(op.tag, insert(lines, *position, Line { tag: op.tag, item: None })))
            }
            What::Shift { topic, under, divider, position } => {
                let (lines, at) = self.divider(*topic, *under, *divider)?;
                let line = lines.remove(at);
                Ok(Reply::Divider(*divider, insert(lines, Some(*position), line)))
            }
            What::Undivide { topic, under, divider } => {
                let (lines, at) = self.divider(*topic, *under, *divider)?;
                lines.remove(at);
                Ok(Reply::Done)
            }
            What::Move { sources, target, position } => self.carry(sources, *target, *position),
            What::Discard(object) => self.put(*object, true),
            What::Restore(object) => self.put(*object, false),
            What::Read(topic) => Ok(Reply::Tree(self.topics[*topic].iter().map(|line| self.shown(line)).collect())),
            What::See { topic, item } => self.see(*topic, *item),
        }
    }

    /// Moves an object into the recycle bin, or out of it.
    fn put(&mut self, object: Object, discarded: bool) -> Result<Reply, NotFound> {
        let before = std::mem::replace(&mut self.discarded[object], discarded);
        if before == discarded { Err(NotFound) } else { Ok(Reply::Done) }
    }

    /// Takes an item or subitem out, wherever it is.
    fn uproot(&mut self, tag: Tag, subitems: bool) -> Option<Line<Option<Object>>> {
        let is_it = |line: &Line<_>| line.tag == tag && line.item.is_some();
        for own in &mut self.topics {
            let below = own.iter_mut().filter_map(|line| Some(&mut line.item.as_mut()?.below)).filter(|_| subitems);
            for lines in below {
                if let Some(at) = lines.iter().position(is_it) {
                    return Some(lines.remove(at));
                }
            }
            if let Some(at) = own.iter().position(is_it).filter(|_| !subitems) {
                return Some(own.remove(at));
            }
        }
        None
    }

    fn carry(&mut self, sources: &[Tag], target: usize, position: Option<i64>) -> Result<Reply, NotFound> {
        let mut named = BTreeSet::new();
        let sources: Vec<Tag> = sources.iter().copied().filter(|tag| named.insert(*tag)).collect();
        // A subitem that is named beside its item moves on its own.
        let mut taken: Vec<_> = sources.iter().map(|tag| self.uproot(*tag, true)).collect();
        for (line, tag) in taken.iter_mut().zip(&sources) {
            *line = line.take().or_else(|| self.uproot(*tag, false));
        }
        let lines: Vec<_> = taken.into_iter().collect::<Option<_>>().ok_or(NotFound)?;
        let own = &mut self.topics[target];
        let first = place(own, position);
        own.splice(first..first, lines);
        Ok(Reply::Moved(sources.into_iter().zip(first..).collect()))
    }
}

fn place<A>(lines: &[Line<A>], position: Option<i64>) -> usize {
    usize::try_from(position.unwrap_or(-1)).map_or(lines.len(), |position| position.min(lines.len()))
}

/// Inserts a line at the position, and returns its index.
fn insert<A>(lines: &mut Vec<Line<A>>, position: Option<i64>, line: Line<A>) -> usize {
    let at = place(lines, position);
    lines.insert(at, line);
    at
}

impl Whiteboard for Pair {
    type Op = Op;
    type Reply = Reply;

    fn start() -> Pair {
        Pair { topics: Default::default(), discarded: [false; OBJECTS] }
    }

    fn after(&self, op: &Op) -> Pair {
        let mut next = self.clone();
        if next.answer(op).is_ok() { next } else { self.clone() }
    }

    fn after_answer(&self, op: &Op, reply: &Reply) -> Option<Pair> {
        let mut next = self.clone();
        match next.answer(op) {
            Ok(answer) => answer.is_told_as(reply).then_some(next),
            Err(NotFound) => (*reply == Reply::NotFound).then(|| self.clone()),
        }
    }

    fn is_idle(op: &Op, reply: &Reply) -> bool {
        matches!(op.what, What::Read(_) | What::See { .. }) || *reply == Reply::NotFound
    }

    fn legend() -> String {
        "items, [dividers] and comments are numbers of calls, 0 no comment; objects that hang on items are letters"
            .to_owned()
    }
}
