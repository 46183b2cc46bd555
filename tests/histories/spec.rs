//! Two drawers as anyone would write them on a whiteboard: lists with a bound each (interface 8.2, decisions 5), and what each call
//! is answered.

use std::fmt;

/// The drawers of a pair hold so many: little, so that they are often full and have to drop what does not fit.
pub const CAPACITIES: [usize; 2] = [2, 3];
/// How many objects there are to put into them: more than fit, few enough to meet often.
pub const OBJECTS: usize = 5;

/// An object, by number.
pub type Object = usize;

/// A call. Drawers are 0 and 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Add(usize, Object),
    /// All or none.
    AddAll(usize, Vec<Object>),
    /// Adds or moves, by object.
    Place(usize, Object, i64),
    /// Moves only.
    Shift(usize, Object, i64),
    Delete(usize, Object),
    Clear(usize),
    /// To the tail of the other drawer.
    Move {
        from: usize,
        object: Object,
    },
    /// The whole list.
    Read(usize),
}

/// What a call is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The drawer was changed, or was so already: how many items it has now, and where those concerned stand (or stood).
    Changed {
        count: usize,
        items: Vec<(usize, Object)>,
    },
    /// The reply to a move shows the target a little later, so that it says no more than this.
    Moved,
    List(Vec<Object>),
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    DrawerFull,
    ObjectNotFound,
    InvalidParameter,
}

/// The state: what the two drawers hold, first to last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pair(pub [Vec<Object>; 2]);

impl Pair {
    /// What the call is answered, and the state after it.
    pub fn apply(&self, op: &Op) -> (Reply, Pair) {
        let mut next = self.clone();
        match next.change(op) {
            Ok(reply) => (reply, next),
            Err(refusal) => (Reply::Refused(refusal), self.clone()),
        }
    }

    fn change(&mut self, op: &Op) -> Result<Reply, Refusal> {
        match op {
            Op::Add(drawer, object) => self.add(*drawer, &[*object]),
            Op::AddAll(drawer, objects) => self.add(*drawer, objects),
            Op::Place(_, _, ..-1) => Err(Refusal::InvalidParameter),
            Op::Place(drawer, object, position) => {
                let list = &mut self.0[*drawer];
                let at = usize::try_from(*position).unwrap_or(usize::MAX);
                if let Some(before) = place(list, *object) {
                    list.remove(before);
                } else if at >= list.len() && list.len() >= CAPACITIES[*drawer] {
                    return Err(Refusal::DrawerFull);
                }
                list.insert(at.min(list.len()), *object);
                list.truncate(CAPACITIES[*drawer]);
                Ok(self.changed(*drawer, &[*object]))
            }
            Op::Shift(drawer, object, position) => {
                let list = &self.0[*drawer];
                place(list, *object).ok_or(Refusal::ObjectNotFound)?;
                if !(-1..list.len() as i64).contains(position) {
                    return Err(Refusal::InvalidParameter);
                }
                self.change(&Op::Place(*drawer, *object, *position))
            }
            Op::Delete(drawer, object) => {
                let list = &mut self.0[*drawer];
                let before = place(list, *object).ok_or(Refusal::ObjectNotFound)?;
                list.remove(before);
                Ok(Reply::Changed { count: list.len(), items: vec![(before, *object)] })
            }
            Op::Clear(drawer) => {
                self.0[*drawer].clear();
                Ok(Reply::Changed { count: 0, items: Vec::new() })
            }
            Op::Move { from, object } => {
                let before = place(&self.0[*from], *object).ok_or(Refusal::ObjectNotFound)?;
                self.add(1 - from, &[*object])?;
                self.0[*from].remove(before);
                Ok(Reply::Moved)
            }
            Op::Read(drawer) => Ok(Reply::List(self.0[*drawer].clone())),
        }
    }

    fn add(&mut self, drawer: usize, objects: &[Object]) -> Result<Reply, Refusal> {
        for object in objects {
            if place(&self.0[drawer], *object).is_none() {
                if self.0[drawer].len() >= CAPACITIES[drawer] {
                    return Err(Refusal::DrawerFull);
                }
                self.0[drawer].push(*object);
            }
        }
        Ok(self.changed(drawer, objects))
    }

    /// The reply to a change, which names each object once.
    fn changed(&self, drawer: usize, objects: &[Object]) -> Reply {
        let list = &self.0[drawer];
        let mut items = Vec::new();
        for object in objects {
            if let Some(at) = place(list, *object)
                && !items.contains(&(at, *object))
            {
                items.push((at, *object));
            }
        }
        Reply::Changed { count: list.len(), items }
    }
}

fn place(list: &[Object], object: Object) -> Option<usize> {
    list.iter().position(|there| *there == object)
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |drawer: &usize| ["A", "B"][*drawer];
        match self {
            Op::Add(drawer, object) => write!(f, "add {object} to {}", name(drawer)),
            Op::AddAll(drawer, objects) => write!(f, "add all of {objects:?} to {}", name(drawer)),
            Op::Place(drawer, object, at) => write!(f, "put {object} at {at} of {}", name(drawer)),
            Op::Shift(drawer, object, at) => write!(f, "shift {object} to {at} of {}", name(drawer)),
            Op::Delete(drawer, object) => write!(f, "delete {object} from {}", name(drawer)),
            Op::Clear(drawer) => write!(f, "clear {}", name(drawer)),
            Op::Move { from, object } => write!(f, "move {object} from {} to {}", name(from), name(&(1 - from))),
            Op::Read(drawer) => write!(f, "read {}", name(drawer)),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Changed { count, items } => {
                write!(f, "{count} there")?;
                items.iter().try_for_each(|(at, object)| write!(f, ", {object} at {at}"))
            }
            Reply::Moved => f.write_str("moved"),
            Reply::List(list) => write!(f, "{list:?}"),
            Reply::Refused(why) => write!(f, "{why:?}"),
        }
    }
}
