//! Histories for people.

use std::fmt::{self, Write};

use super::record::Call;
use super::spec::{CAPACITIES, Named, Op, Reply, Shown};

/// The history for people, one line a call.
pub fn told(history: &[Call]) -> String {
    let last = history.iter().filter_map(|call| Some(call.answered.as_ref()?.0.place)).max();
    let [a, b] = CAPACITIES;
    let mut text = format!(
        "A holds {a}, B {b}; times in microseconds, in brackets the order of the moments\n\
         client      asked          answered\n"
    );
    for Call { client, op, asked, answered } in history {
        let (asked_at, place) = (asked.micros, asked.place);
        // Writing to a String can't fail.
        let _ = match answered {
            Some((moment, reply)) => {
                let mark = if Some(moment.place) == last { "   <- nothing explains this" } else { "" };
                let (at, until) = (moment.micros, moment.place);
                writeln!(text, "{client:6} {asked_at:8}[{place:3}] {at:8}[{until:3}]  {op} -> {reply}{mark}")
            }
            None => writeln!(text, "{client:6} {asked_at:8}[{place:3}]  no answer yet      {op}"),
        };
    }
    text
}

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
