//! The model of a worker's things, and the effect of each change on it.

use std::collections::BTreeMap;

/// Small, so that they are often full.
pub const CAPACITY: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Live,
    Discarded,
    Destroyed,
}

/// A story of a worker, or a folder with a story in it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The loid; `None` until the creation is answered.
    pub loid: Option<String>,
    /// The bytes of its content, or of the story in it.
    pub bytes: Vec<u8>,
    pub version: u64,
    pub is_folder: bool,
    /// `true` if it is meant for the shared drawer, and unused otherwise.
    pub for_shared: bool,
    pub state: State,
}

/// The expected state of a worker's own things.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub entries: BTreeMap<String, Entry>,
    /// The names in each drawer, hidden ones included.
    pub drawers: [Vec<String>; 2],
    pub shared: Vec<String>,
    /// The number of names given so far; no name is used twice.
    pub count: usize,
}

/// The readable state of a worker's things.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// Version and content by name; for a folder, those of the story in it.
    pub entries: BTreeMap<String, (u64, Vec<u8>)>,
    /// The visible names, and the number of hidden ones.
    pub drawers: [(Vec<String>, u64); 2],
    pub shared: Vec<String>,
}

/// A change; names are entries', numbers drawers'.
#[derive(Debug, Clone)]
pub enum Change {
    Create { name: String, bytes: Vec<u8>, for_shared: bool },
    CreateFolder { name: String, bytes: Vec<u8> },
    NewVersion { name: String, bytes: Vec<u8> },
    Discard(String),
    Restore(String),
    Destroy(String),
    Add(String, usize),
    Position(String, usize, usize),
    Delete(String, usize),
    Move(String, usize),
    Share(String),
}

impl Model {
    pub fn is_hidden(&self, name: &str) -> bool {
        self.entries[name].state == State::Discarded
    }

    pub fn visible(&self, drawer: usize) -> Vec<String> {
        self.drawers[drawer].iter().filter(|name| !self.is_hidden(name)).cloned().collect()
    }

    pub fn is_full(&self, drawer: usize) -> bool {
        self.visible(drawer).len() >= CAPACITY
    }

    /// Names of the entries that fit.
    pub fn names(&self, fits: impl Fn(&Entry) -> bool) -> Vec<String> {
        self.entries.iter().filter(|(_, entry)| fits(entry)).map(|(name, _)| name.clone()).collect()
    }

    /// Inserts a name in front of the visible item of that position, or at the tail. Then it makes
    /// room as docs/api/drawers.md, "Adding at a position", describes.
    pub fn insert(&mut self, name: &str, drawer: usize, position: usize) {
        let visible = self.visible(drawer);
        if let Some(at) = visible.iter().position(|there| there == name)
            && at == position.min(visible.len() - 1)
        {
            // It stays where it is, among the hidden ones too.
            return;
        }
        self.drawers[drawer].retain(|there| there != name);
        let before = self.visible(drawer).get(position).cloned();
        let at = before.and_then(|before| self.drawers[drawer].iter().position(|there| *there == before));
        let at = at.unwrap_or(self.drawers[drawer].len());
        self.drawers[drawer].insert(at, name.to_owned());
        while self.drawers[drawer].len() > CAPACITY {
            let hidden = self.drawers[drawer].iter().rposition(|there| self.is_hidden(there));
            self.drawers[drawer].remove(hidden.unwrap_or(CAPACITY));
        }
    }

    /// Returns the model after the change; `None` if it must be refused because a drawer is full.
    pub fn after(&self, change: &Change) -> Option<Model> {
        let mut next = self.clone();
        let entry = |bytes: &Vec<u8>, is_folder, for_shared| Entry {
            loid: None,
            bytes: bytes.clone(),
            version: 1,
            is_folder,
            for_shared,
            state: State::Live,
        };
        let set_state = |next: &mut Model, name: &String, state| {
            next.entries.get_mut(name).expect("only known names are chosen").state = state;
        };
        match change {
            Change::Create { name, bytes, for_shared } => {
                next.entries.insert(name.clone(), entry(bytes, false, *for_shared));
            }
            Change::CreateFolder { name, bytes } => {
                next.entries.insert(name.clone(), entry(bytes, true, false));
            }
            Change::NewVersion { name, bytes } => {
                let entry = next.entries.get_mut(name).expect("only known names are chosen");
                entry.version += 1;
                entry.bytes.clone_from(bytes);
            }
            Change::Discard(name) => set_state(&mut next, name, State::Discarded),
            Change::Restore(name) => set_state(&mut next, name, State::Live),
            Change::Destroy(name) => {
                set_state(&mut next, name, State::Destroyed);
                for drawer in &mut next.drawers {
                    drawer.retain(|there| there != name);
                }
            }
            Change::Add(name, drawer) => {
                if !self.drawers[*drawer].contains(name) {
                    if self.is_full(*drawer) {
                        return None;
                    }
                    next.insert(name, *drawer, usize::MAX);
                }
            }
            Change::Position(name, drawer, position) => next.insert(name, *drawer, *position),
            Change::Delete(name, drawer) => next.drawers[*drawer].retain(|there| there != name),
            Change::Move(name, from) => {
                let to = 1 - from;
                next.drawers[*from].retain(|there| there != name);
                if !self.drawers[to].contains(name) {
                    if self.is_full(to) {
                        return None;
                    }
                    next.insert(name, to, usize::MAX);
                }
            }
            Change::Share(name) => next.shared.push(name.clone()),
        }
        Some(next)
    }

    pub fn seen(&self) -> Seen {
        let live = self.entries.iter().filter(|(_, entry)| entry.state == State::Live);
        let drawer = |number: usize| {
            let visible = self.visible(number);
            let hidden = (self.drawers[number].len() - visible.len()) as u64;
            (visible, hidden)
        };
        Seen {
            entries: live.map(|(name, entry)| (name.clone(), (entry.version, entry.bytes.clone()))).collect(),
            drawers: [drawer(0), drawer(1)],
            shared: self.shared.clone(),
        }
    }
}

/// Describes the differences, without the bytes.
pub fn differences(seen: &Seen, wanted: &Seen) -> String {
    let mut told = String::new();
    for name in seen.entries.keys().chain(wanted.entries.keys()) {
        let (a, b) = (seen.entries.get(name), wanted.entries.get(name));
        if a != b {
            let short = |entry: Option<&(u64, Vec<u8>)>| entry.map(|(version, bytes)| (*version, bytes.len()));
            told.push_str(&format!("{name}: there {:?}, acknowledged {:?} (version, bytes)\n", short(a), short(b)));
        }
    }
    if seen.drawers != wanted.drawers {
        told.push_str(&format!("drawers: there {:?}, acknowledged {:?}\n", seen.drawers, wanted.drawers));
    }
    if seen.shared != wanted.shared {
        told.push_str(&format!("shared: there {:?}, acknowledged {:?}\n", seen.shared, wanted.shared));
    }
    told
}
