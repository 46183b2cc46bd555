//! Calls and answers for people.

use std::fmt;

use super::spec::{Line, Op, Reply, Topic, What};

fn plan(number: usize) -> &'static str {
    ["A", "B"][number]
}

fn topic(number: Topic) -> &'static str {
    ["x", "y", "z"][number]
}

fn at(position: &Option<i64>) -> String {
    position.map_or(String::new(), |position| format!(" at {position}"))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Topic(number) => f.write_str(topic(*number)),
            Line::Divider(tag) => write!(f, "[{tag}]"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Add { plan: to, topic: added, position } => {
                write!(f, "add {} to {}{}", topic(*added), plan(*to), at(position))
            }
            What::Remove { plan: of, topic: removed } => write!(f, "remove {} from {}", topic(*removed), plan(*of)),
            What::Divide { plan: of, position } => write!(f, "divide {} by {}{}", plan(*of), self.tag, at(position)),
            What::Shift { plan: of, divider, position } => {
                write!(f, "shift [{divider}] of {} to {position}", plan(*of))
            }
            What::Undivide { plan: of, divider } => write!(f, "remove [{divider}] from {}", plan(*of)),
            What::Move { topics, target, position } => {
                let topics: Vec<&str> = topics.iter().map(|number| topic(*number)).collect();
                write!(f, "move {} to {}{}", topics.join(", "), plan(*target), at(position))
            }
            What::Discard(number) => write!(f, "discard {}", topic(*number)),
            What::Restore(number) => write!(f, "restore {}", topic(*number)),
            What::Read(of) => write!(f, "read {}", plan(*of)),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Changed { count, topic: None } => write!(f, "{count} there"),
            Reply::Changed { count, topic: Some((number, at)) } => {
                write!(f, "{count} there, {} at {at}", topic(*number))
            }
            Reply::Divider(divider, at) => write!(f, "[{divider}] at {at}"),
            Reply::Moved(topics) => {
                f.write_str("moved")?;
                topics.iter().try_for_each(|(number, at)| write!(f, ", {} at {at}", topic(*number)))
            }
            Reply::Done => f.write_str("done"),
            Reply::List(lines) => {
                f.write_str("list")?;
                lines.iter().try_for_each(|line| write!(f, " {line}"))
            }
            Reply::NotFound => f.write_str("not found"),
            Reply::Garbled(text) => write!(f, "garbled: {text:?}"),
        }
    }
}
