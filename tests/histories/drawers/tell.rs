//! Calls and answers for people.

use std::fmt;

use super::spec::{Named, Op, Reply, Shown};

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shortcut {
            Some(shortcut) => write!(f, "#{shortcut} ({})", self.object),
            None => self.object.fmt(f),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} (#{})", self.object, self.at, self.shortcut)
    }
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
            Op::Move { from, item } => write!(f, "move {item} from {} to {}", name(from), name(&(1 - from))),
            Op::Read(drawer) => write!(f, "read {}", name(drawer)),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Changed { count, items } => {
                write!(f, "{count} there")?;
                items.iter().try_for_each(|item| write!(f, ", {item}"))
            }
            Reply::Moved => f.write_str("moved"),
            Reply::List(items) => {
                f.write_str("list")?;
                items.iter().try_for_each(|item| write!(f, ", {item}"))
            }
            Reply::Refused(why) => write!(f, "{why:?}"),
        }
    }
}
