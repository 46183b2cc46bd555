//! The specification of two plans: topics in order, dividers between them
//! (docs/api/topic-plans.md), and the answer to each call.

use std::collections::BTreeSet;

use crate::histories::record::Whiteboard;

/// The number of topics to plan.
pub const TOPICS: usize = 3;

/// A topic, by number.
pub type Topic = usize;

/// The identity of a divider: the number of the call that inserted it. It is also the title.
pub type Tag = usize;

/// A line of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Line {
    Topic(Topic),
    Divider(Tag),
}

/// A call. Plans are 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Adds, or moves within the plan.
    Add {
        plan: usize,
        topic: Topic,
        position: Option<i64>,
    },
    Remove {
        plan: usize,
        topic: Topic,
    },
    Divide {
        plan: usize,
        position: Option<i64>,
    },
    Shift {
        plan: usize,
        divider: Tag,
        position: i64,
    },
    Undivide {
        plan: usize,
        divider: Tag,
    },
    /// Moves topics out of every plan that they are in.
    Move {
        topics: Vec<Topic>,
        target: usize,
        position: Option<i64>,
    },
    Discard(Topic),
    Restore(Topic),
    Read(usize),
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
    /// The number of topics in the plan, and the topic concerned with its position if it is in the
    /// plan.
    Changed {
        count: usize,
        topic: Option<(Topic, usize)>,
    },
    Divider(Tag, usize),
    /// The moved topics, in the order of the call, with their positions.
    Moved(Vec<(Topic, usize)>),
    /// Changed; the reply says no more.
    Done,
    List(Vec<Line>),
    /// No such topic or divider exists.
    NotFound,
    /// A reply that does not agree with itself, or a failure: nothing explains either.
    Garbled(String),
}

struct NotFound;

/// The parts of the plan after a change that its reply shows.
enum Told {
    Changed(usize, Option<Topic>),
    Divider(usize, Tag),
    Moved(usize, Vec<Topic>),
    Done,
    List(usize),
}

/// For each topic, `true` if it is hidden.
type Hidden = [bool; TOPICS];

/// The state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Topics that lie in the recycle bin keep their places.
    plans: [Vec<Line>; 2],
    /// Topics in the recycle bin.
    discarded: Hidden,
}

impl Pair {
    fn shown(&self, plan: usize, hidden: Hidden) -> Vec<Line> {
        let is_shown = |line: &Line| !matches!(line, Line::Topic(topic) if hidden[*topic]);
        self.plans[plan].iter().copied().filter(is_shown).collect()
    }

    /// Returns the position of a line among the visible ones.
    fn position(&self, plan: usize, line: Line) -> Result<usize, NotFound> {
        self.shown(plan, self.discarded).iter().position(|there| *there == line).ok_or(NotFound)
    }

    fn insert(&mut self, plan: usize, position: Option<i64>, line: Line) {
        let position = usize::try_from(position.unwrap_or(-1)).ok();
        let before = position.and_then(|position| self.shown(plan, self.discarded).get(position).copied());
        let lines = &mut self.plans[plan];
        let at = lines.iter().position(|there| Some(*there) == before).unwrap_or(lines.len());
        lines.insert(at, line);
    }

    fn remove(&mut self, plan: usize, line: Line) -> Result<(), NotFound> {
        self.position(plan, line)?;
        self.plans[plan].retain(|there| *there != line);
        Ok(())
    }

    /// Moves a line that is shown to a position among the others; one that stands there already
    /// stays.
    fn shift(&mut self, plan: usize, position: i64, line: Line) -> Result<(), NotFound> {
        let before = self.position(plan, line)?;
        let last = self.shown(plan, self.discarded).len() - 1;
        if usize::try_from(position).map_or(last, |position| position.min(last)) != before {
            self.remove(plan, line)?;
            self.insert(plan, Some(position), line);
        }
        Ok(())
    }

    fn check(&self, topic: Topic) -> Result<(), NotFound> {
        if self.discarded[topic] { Err(NotFound) } else { Ok(()) }
    }

    fn change(&mut self, op: &Op) -> Result<Told, NotFound> {
        match &op.what {
            What::Add { plan, topic, position } => {
                self.check(*topic)?;
                match (self.position(*plan, Line::Topic(*topic)), position) {
                    (Ok(_), None) => {}
                    (Ok(_), Some(position)) => self.shift(*plan, *position, Line::Topic(*topic))?,
                    (Err(NotFound), _) => self.insert(*plan, *position, Line::Topic(*topic)),
                }
                Ok(Told::Changed(*plan, Some(*topic)))
            }
            What::Remove { plan, topic } => {
                self.remove(*plan, Line::Topic(*topic))?;
                Ok(Told::Changed(*plan, None))
            }
            What::Divide { plan, position } => {
                self.insert(*plan, *position, Line::Divider(op.tag));
                Ok(Told::Divider(*plan, op.tag))
            }
            What::Shift { plan, divider, position } => {
                self.shift(*plan, *position, Line::Divider(*divider))?;
                Ok(Told::Divider(*plan, *divider))
            }
            What::Undivide { plan, divider } => {
                self.remove(*plan, Line::Divider(*divider))?;
                Ok(Told::Done)
            }
            What::Move { topics, target, position } => self.carry(topics, *target, *position),
            What::Discard(topic) => self.put(*topic, true),
            What::Restore(topic) => self.put(*topic, false),
            What::Read(plan) => Ok(Told::List(*plan)),
        }
    }

    /// Moves a topic into the recycle bin, or out of it.
    fn put(&mut self, topic: Topic, discarded: bool) -> Result<Told, NotFound> {
        let before = std::mem::replace(&mut self.discarded[topic], discarded);
        if before == discarded { Err(NotFound) } else { Ok(Told::Done) }
    }

    fn carry(&mut self, topics: &[Topic], target: usize, position: Option<i64>) -> Result<Told, NotFound> {
        let mut named = BTreeSet::new();
        let topics: Vec<Topic> = topics.iter().copied().filter(|topic| named.insert(*topic)).collect();
        topics.iter().try_for_each(|topic| self.check(*topic))?;
        for lines in &mut self.plans {
            lines.retain(|line| !matches!(line, Line::Topic(topic) if named.contains(topic)));
        }
        let mut next = position.filter(|position| *position >= 0);
        for topic in &topics {
            self.insert(target, next, Line::Topic(*topic));
            next = next.map(|position| position + 1);
        }
        Ok(Told::Moved(target, topics))
    }

    /// Returns the reply when these topics are hidden.
    fn tell(&self, told: &Told, hidden: Hidden) -> Reply {
        let place = |plan: usize, line: Line| self.shown(plan, hidden).iter().position(|there| *there == line);
        let topic = |plan: usize, topic: Topic| place(plan, Line::Topic(topic)).map(|at| (topic, at));
        match told {
            Told::Changed(plan, concerned) => {
                let lines = self.shown(*plan, hidden);
                let count = lines.iter().filter(|line| matches!(line, Line::Topic(_))).count();
                Reply::Changed { count, topic: concerned.and_then(|concerned| topic(*plan, concerned)) }
            }
            Told::Divider(plan, tag) => {
                let at = place(*plan, Line::Divider(*tag)).expect("it was put there, and dividers are not hidden");
                Reply::Divider(*tag, at)
            }
            Told::Moved(plan, topics) => Reply::Moved(topics.iter().filter_map(|moved| topic(*plan, *moved)).collect()),
            Told::Done => Reply::Done,
            Told::List(plan) => Reply::List(self.shown(*plan, hidden)),
        }
    }

    /// Returns the possible sets of hidden topics when the reply is built. After a change, others
    /// may have discarded further topics.
    fn hidden_by_then(&self, told: &Told) -> Vec<Hidden> {
        let sets = if let Told::List(_) = told { 0..1 } else { 0..1 << TOPICS };
        let hidden = |set: usize| std::array::from_fn(|topic| self.discarded[topic] || set & (1 << topic) != 0);
        sets.map(hidden).collect()
    }
}

impl Whiteboard for Pair {
    type Op = Op;
    type Reply = Reply;

    fn start() -> Pair {
        Pair { plans: Default::default(), discarded: [false; TOPICS] }
    }

    fn after(&self, op: &Op) -> Pair {
        let mut next = self.clone();
        if next.change(op).is_ok() { next } else { self.clone() }
    }

    fn after_answer(&self, op: &Op, reply: &Reply) -> Option<Pair> {
        let mut next = self.clone();
        match next.change(op) {
            Ok(told) => {
                let mut hidden = next.hidden_by_then(&told).into_iter();
                hidden.any(|hidden| next.tell(&told, hidden) == *reply).then_some(next)
            }
            Err(NotFound) => (*reply == Reply::NotFound).then(|| self.clone()),
        }
    }

    fn is_idle(op: &Op, reply: &Reply) -> bool {
        matches!(op.what, What::Read(_)) || *reply == Reply::NotFound
    }

    fn legend() -> String {
        "topics are x, y and z, [dividers] numbers of calls".to_owned()
    }
}
