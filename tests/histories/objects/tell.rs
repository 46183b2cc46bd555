//! Calls and answers for people.

use std::fmt;

use super::spec::{Change, Switches};
use super::{Op, Reply, What};

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = [
            (self.check_out, "check out"),
            (self.clean, "clean"),
            (self.check_in, "check in"),
            (self.new_version, "new version"),
            (self.keep, "keep"),
            (self.unlock, "unlock"),
        ];
        let said: Vec<&str> = said.into_iter().filter_map(|(is_said, word)| is_said.then_some(word)).collect();
        f.write_str(&said.join(", "))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Change(Change::Write(switches, Some(tag))) => write!(f, "write {tag} ({switches})"),
            What::Change(Change::Write(switches, None)) => write!(f, "write nothing ({switches})"),
            What::Change(Change::Restore(number)) => write!(f, "restore version {number}"),
            What::Change(Change::Lock) => f.write_str("lock"),
            What::Change(Change::Unlock { force: false }) => f.write_str("unlock"),
            What::Change(Change::Unlock { force: true }) => f.write_str("unlock by force"),
            What::Read => f.write_str("read"),
            What::ReadVersion(number) => write!(f, "read version {number}"),
            What::Versions => f.write_str("list versions"),
            What::Record => f.write_str("read record"),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Done => f.write_str("done"),
            Reply::Content(tag) => write!(f, "content {tag}"),
            Reply::Versions(tags) => write!(f, "versions {tags:?}"),
            Reply::Record { locker: Some(user), version, content } => {
                write!(f, "version {version} is {content}, locked by {user}")
            }
            Reply::Record { locker: None, version, content } => write!(f, "version {version} is {content}, not locked"),
            Reply::Refused(why) => write!(f, "{why:?}"),
            Reply::Garbled(text) => write!(f, "bytes of nobody: {text:?}"),
        }
    }
}
