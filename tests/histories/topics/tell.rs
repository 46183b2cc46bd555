//! Calls and answers for people.

use std::fmt;

use super::spec::{Attachment, Line, Object, Op, Reply, Tag, What, Which};

/// A position, a place: whatever may be left out.
struct Said<'a, T>(&'a str, &'a Option<T>);

impl<T: fmt::Display> fmt::Display for Said<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.as_ref().map_or(Ok(()), |said| write!(f, " {} {said}", self.0))
    }
}

fn topic(number: usize) -> &'static str {
    ["A", "B"][number]
}

fn object(number: Object) -> &'static str {
    ["x", "y"][number]
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sub {
            Some(sub) => write!(f, "{}/{sub}", self.item),
            None => self.item.fmt(f),
        }
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attachment::Nothing => Ok(()),
            Attachment::Object(number) => f.write_str(object(*number)),
            Attachment::Hidden => f.write_str("?"),
        }
    }
}

impl fmt::Display for Line<Attachment> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(item) = &self.item else { return write!(f, "[{}]", self.tag) };
        write!(f, "{}:{}{}", self.tag, item.comment, item.attachment)?;
        if item.below.is_empty() { Ok(()) } else { write!(f, " ({})", listed(&item.below)) }
    }
}

fn listed(lines: &[Line<Attachment>]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = self.tag;
        let below = |under: &Option<Tag>| under.map_or(String::new(), |under| format!("/{under}"));
        match &self.what {
            What::Add { topic: to, under, position, attachment } => {
                let with = attachment.map(object);
                write!(f, "add {tag} to {}{}{}{}", topic(*to), below(under), Said("at", position), Said("with", &with))
            }
            What::Change { topic: of, which, position, attachment } => {
                let with = attachment.map(|attachment| attachment.map_or("nothing", object));
                write!(f, "comment {tag} on {which} of {}{}{}", topic(*of), Said("at", position), Said("with", &with))
            }
            What::Attach { topic: of, which, object: attached } => {
                write!(f, "attach {} to {which} of {}", object(*attached), topic(*of))
            }
            What::Remove { topic: of, which } => write!(f, "remove {which} of {}", topic(*of)),
            What::Divide { topic: of, under, position } => {
                write!(f, "divide {}{} by {tag}{}", topic(*of), below(under), Said("at", position))
            }
            What::Shift { topic: of, under, divider, position } => {
                write!(f, "shift [{divider}] of {}{} to {position}", topic(*of), below(under))
            }
            What::Undivide { topic: of, under, divider } => {
                write!(f, "remove [{divider}] of {}{}", topic(*of), below(under))
            }
            What::Move { sources, target, position } => {
                write!(f, "move {sources:?} to {}{}", topic(*target), Said("at", position))
            }
            What::Discard(number) => write!(f, "discard {}", object(*number)),
            What::Restore(number) => write!(f, "restore {}", object(*number)),
            What::Read(of) => write!(f, "read {}", topic(*of)),
            What::See { topic: of, item } => write!(f, "see {item} of {}", topic(*of)),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Item(item, at) => write!(f, "{item} at {at}"),
            Reply::Divider(divider, at) => write!(f, "[{divider}] at {at}"),
            Reply::Moved(items) => {
                f.write_str("moved")?;
                items.iter().try_for_each(|(item, at)| write!(f, ", {item} at {at}"))
            }
            Reply::Done => f.write_str("done"),
            Reply::Tree(lines) => write!(f, "tree {}", listed(lines)),
            Reply::NotFound => f.write_str("not found"),
            Reply::Garbled(text) => write!(f, "garbled: {text:?}"),
        }
    }
}
