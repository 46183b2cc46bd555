//! The specification of two drawers: bounded lists (docs/api/drawers.md), and the answer to each
//! call.

use crate::histories::record::Whiteboard;

/// The capacities of a pair's drawers: small, so that they are often full and must drop items.
pub const CAPACITIES: [usize; 2] = [2, 3];
/// The number of objects to put into them: more than fit, but few enough for frequent conflicts.
pub const OBJECTS: usize = 5;

/// An object, by number.
pub type Object = usize;

/// The id that an item has in its drawer.
pub type Shortcut = u64;

/// An item in a drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    pub object: Object,
    /// The id, given at insertion; `None` until a reply shows it.
    pub shortcut: Option<Shortcut>,
}

/// The name of an item in a call: its object, or its shortcut as an earlier reply has shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    pub object: Object,
    pub shortcut: Option<Shortcut>,
}

/// A call. Drawers are 0 and 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Add(usize, Object),
    /// Adds all objects or none.
    AddAll(usize, Vec<Object>),
    /// Adds or moves, by object.
    Place(usize, Object, i64),
    /// Moves only.
    Shift(usize, Named, i64),
    Delete(usize, Named),
    Clear(usize),
    /// Moves an item to the tail of the other drawer.
    Move {
        from: usize,
        item: Named,
    },
    /// The whole list.
    Read(usize),
}

/// An item in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub at: usize,
    pub object: Object,
    pub shortcut: Shortcut,
}

/// The reply to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The drawer was changed, or was so already: how many items it has now, and those concerned
    /// where they stand (or stood).
    Changed {
        count: usize,
        items: Vec<Shown>,
    },
    /// The reply to a move shows the target a little later, so that it says no more than this.
    Moved,
    List(Vec<Shown>),
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    DrawerFull,
    ObjectNotFound,
    InvalidParameter,
}

/// The required reply, except for shortcuts that no reply has shown yet.
enum Outcome {
    Changed { count: usize, items: Vec<(usize, Item)> },
    Moved,
    List(Vec<(usize, Item)>),
}

/// The state: what the two drawers hold, first to last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pair(pub [Vec<Item>; 2]);

impl Whiteboard for Pair {
    type Op = Op;
    type Reply = Reply;

    fn start() -> Pair {
        Pair::default()
    }

    fn after(&self, op: &Op) -> Pair {
        let mut next = self.clone();
        if next.change(op).is_ok() { next } else { self.clone() }
    }

    fn after_answer(&self, op: &Op, reply: &Reply) -> Option<Pair> {
        let mut next = self.clone();
        match (next.change(op), reply) {
            (Ok(Outcome::Changed { count, items }), Reply::Changed { count: told, items: shown }) if count == *told => {
                next.learn(op.drawer(), &items, shown)?;
            }
            (Ok(Outcome::List(items)), Reply::List(shown)) => next.learn(op.drawer(), &items, shown)?,
            (Ok(Outcome::Moved), Reply::Moved) => {}
            (Err(refusal), Reply::Refused(told)) if refusal == *told => return Some(self.clone()),
            _ => return None,
        }
        Some(next)
    }

    fn is_idle(op: &Op, reply: &Reply) -> bool {
        matches!((op, reply), (Op::Read(_), _) | (_, Reply::Refused(_)))
    }

    /// A call that names a shortcut needs one before it that has shown it.
    fn is_named_after(op: &Op, reply: &Reply) -> bool {
        op.shortcut().is_some_and(|named| reply.shown().iter().any(|item| item.shortcut == named))
    }

    fn legend() -> String {
        let [a, b] = CAPACITIES;
        format!("A holds {a}, B {b}")
    }
}

impl Pair {
    /// Carries a call out and returns its answer. New shortcuts come from `fresh`.
    pub fn answer(&self, op: &Op, mut fresh: impl FnMut() -> Shortcut) -> Reply {
        let mut shown = |items: Vec<(usize, Item)>| {
            let show =
                |(at, Item { object, shortcut })| Shown { at, object, shortcut: shortcut.unwrap_or_else(&mut fresh) };
            items.into_iter().map(show).collect()
        };
        match self.clone().change(op) {
            Ok(Outcome::Changed { count, items }) => Reply::Changed { count, items: shown(items) },
            Ok(Outcome::List(items)) => Reply::List(shown(items)),
            Ok(Outcome::Moved) => Reply::Moved,
            Err(refusal) => Reply::Refused(refusal),
        }
    }

    /// Compares items with those that a reply shows, and notes their shortcuts. A shortcut stays
    /// with its item, and no two have the same.
    fn learn(&mut self, drawer: usize, items: &[(usize, Item)], shown: &[Shown]) -> Option<()> {
        if items.len() != shown.len() {
            return None;
        }
        for ((at, item), shown) in items.iter().zip(shown) {
            if (*at, item.object) != (shown.at, shown.object) {
                return None;
            }
            match item.shortcut {
                Some(shortcut) if shortcut == shown.shortcut => {}
                None if !self.0.iter().flatten().any(|other| other.shortcut == Some(shown.shortcut)) => {
                    let held = self.0[drawer].iter_mut().find(|held| held.object == item.object);
                    // A deleted item is not there any more.
                    if let Some(held) = held {
                        held.shortcut = Some(shown.shortcut);
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn change(&mut self, op: &Op) -> Result<Outcome, Refusal> {
        match op {
            Op::Add(drawer, object) => self.add(*drawer, &[*object]),
            Op::AddAll(drawer, objects) => self.add(*drawer, objects),
            Op::Place(_, _, ..-1) => Err(Refusal::InvalidParameter),
            Op::Place(drawer, object, position) => {
                let list = &mut self.0[*drawer];
                let at = usize::try_from(*position).unwrap_or(usize::MAX);
                let item = if let Some(before) = place(list, *object) {
                    list.remove(before)
                } else if at >= list.len() && list.len() >= CAPACITIES[*drawer] {
                    return Err(Refusal::DrawerFull);
                } else {
                    Item { object: *object, shortcut: None }
                };
                list.insert(at.min(list.len()), item);
                list.truncate(CAPACITIES[*drawer]);
                Ok(self.changed(*drawer, &[*object]))
            }
            Op::Shift(drawer, named, position) => {
                let list = &self.0[*drawer];
                find(list, *named)?;
                if !(-1..list.len() as i64).contains(position) {
                    return Err(Refusal::InvalidParameter);
                }
                self.change(&Op::Place(*drawer, named.object, *position))
            }
            Op::Delete(drawer, named) => {
                let list = &mut self.0[*drawer];
                let before = find(list, *named)?;
                let item = list.remove(before);
                Ok(Outcome::Changed { count: list.len(), items: vec![(before, item)] })
            }
            Op::Clear(drawer) => {
                self.0[*drawer].clear();
                Ok(Outcome::Changed { count: 0, items: Vec::new() })
            }
            Op::Move { from, item } => {
                let before = find(&self.0[*from], *item)?;
                self.add(1 - from, &[item.object])?;
                self.0[*from].remove(before);
                Ok(Outcome::Moved)
            }
            Op::Read(drawer) => Ok(Outcome::List(self.0[*drawer].iter().copied().enumerate().collect())),
        }
    }

    fn add(&mut self, drawer: usize, objects: &[Object]) -> Result<Outcome, Refusal> {
        for object in objects {
            if place(&self.0[drawer], *object).is_none() {
                if self.0[drawer].len() >= CAPACITIES[drawer] {
                    return Err(Refusal::DrawerFull);
                }
                self.0[drawer].push(Item { object: *object, shortcut: None });
            }
        }
        Ok(self.changed(drawer, objects))
    }

    /// The outcome of a change, which names each object once.
    fn changed(&self, drawer: usize, objects: &[Object]) -> Outcome {
        let list = &self.0[drawer];
        let mut items = Vec::new();
        for object in objects {
            if let Some(at) = place(list, *object)
                && !items.contains(&(at, list[at]))
            {
                items.push((at, list[at]));
            }
        }
        Outcome::Changed { count: list.len(), items }
    }
}

fn place(list: &[Item], object: Object) -> Option<usize> {
    list.iter().position(|there| there.object == object)
}

/// A shortcut that a call names has been shown before, so that an item whose shortcut is not known
/// is not meant.
fn find(list: &[Item], named: Named) -> Result<usize, Refusal> {
    place(list, named.object)
        .filter(|at| named.shortcut.is_none() || named.shortcut == list[*at].shortcut)
        .ok_or(Refusal::ObjectNotFound)
}

impl Op {
    /// The drawer that the reply speaks of.
    pub fn drawer(&self) -> usize {
        match self {
            Op::Add(drawer, _)
            | Op::AddAll(drawer, _)
            | Op::Place(drawer, ..)
            | Op::Shift(drawer, ..)
            | Op::Delete(drawer, _)
            | Op::Clear(drawer)
            | Op::Read(drawer) => *drawer,
            Op::Move { from, .. } => 1 - from,
        }
    }

    /// The shortcut that it names.
    pub fn shortcut(&self) -> Option<Shortcut> {
        match self {
            Op::Shift(_, item, _) | Op::Delete(_, item) | Op::Move { item, .. } => item.shortcut,
            _ => None,
        }
    }
}

impl Reply {
    /// The items that it shows.
    pub fn shown(&self) -> &[Shown] {
        match self {
            Reply::Changed { items, .. } | Reply::List(items) => items,
            Reply::Moved | Reply::Refused(_) => &[],
        }
    }
}
