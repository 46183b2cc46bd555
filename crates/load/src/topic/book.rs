//! What clients know while the load goes on: lines with their ids and where they are, and what each
//! client last asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::model::Line;
use super::plan::{Recent, Recipe};

/// See the module's head.
pub struct Book {
    recipe: Recipe,
    /// By client, and one for the lines that were there before.
    pages: Vec<Page>,
    /// By container: the newest revision that any reply spoke of.
    newest: Vec<AtomicU64>,
}

#[derive(Default)]
struct Page {
    lines: RwLock<Lines>,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Lines {
    /// All that were ever made.
    known: HashMap<Line, Known>,
    /// Items that are not removed, the newest last.
    items: Vec<Line>,
}

/// What is known of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its id.
    pub id: Box<str>,
    /// The topic that it was last told to be in.
    pub topic: u16,
    /// The object that was last to be attached to it.
    pub attached: Option<usize>,
}

/// What a client last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// About which line.
    pub line: Line,
    /// And what was known of it.
    pub known: Option<Known>,
    /// Of which container; of a move the target.
    pub container: u16,
    /// The newest revision that was known of it then.
    pub after: u64,
    /// When the request was sent, since the load's begin.
    pub sent: Duration,
    /// And when it was answered.
    pub answered: Duration,
}

impl Book {
    /// For so many clients, and so many containers.
    pub fn new(recipe: Recipe, clients: u32, containers: u16) -> Book {
        let pages = (0..=clients).map(|_| Page::default()).collect();
        Book { recipe, pages, newest: (0..containers).map(|_| AtomicU64::new(0)).collect() }
    }

    fn page(&self, line: Line) -> &Page {
        &self.pages[self.recipe.maker(line) as usize]
    }

    /// What is known of a line.
    pub fn find(&self, line: Line) -> Option<Known> {
        self.page(line).lines.read().known.get(&line).cloned()
    }

    /// An item of whichever client; of one that has none, one that was there before the load.
    pub fn recent(&self, recent: Recent) -> Line {
        let of = |client: usize| {
            let lines = self.pages[client].lines.read();
            let newest = lines.items.len().checked_sub(1)?;
            Some(lines.items[newest - (recent.back as usize).min(newest)])
        };
        of(recent.client as usize).or_else(|| of(self.pages.len() - 1)).unwrap_or_default()
    }

    /// A line has been made.
    pub fn learn(&self, line: Line, id: &str, topic: u16) {
        let mut lines = self.page(line).lines.write();
        lines.known.insert(line, Known { id: id.into(), topic, attached: None });
        if !self.recipe.is_divider(line) {
            lines.items.push(line);
        }
    }

    /// An item is in another topic.
    pub fn moved(&self, line: Line, topic: u16) {
        self.page(line).lines.write().known.entry(line).and_modify(|known| known.topic = topic);
    }

    /// An object is to be attached to an item.
    pub fn attaching(&self, line: Line, object: usize) {
        self.page(line).lines.write().known.entry(line).and_modify(|known| known.attached = Some(object));
    }

    /// An item has been removed.
    pub fn removed(&self, line: Line) {
        self.page(line).lines.write().items.retain(|item| *item != line);
    }

    /// The newest revision that is known of a container.
    pub fn newest(&self, container: u16) -> u64 {
        self.newest[usize::from(container)].load(Ordering::Relaxed)
    }

    /// A reply spoke of a revision.
    pub fn revised(&self, container: u16, revision: u64) {
        self.newest[usize::from(container)].fetch_max(revision, Ordering::Relaxed);
    }

    /// What a client last asked.
    pub fn asked(&self, client: u32) -> Asked {
        self.pages[client as usize].asked.lock().clone()
    }

    /// Changes what a client last asked.
    pub fn ask(&self, client: u32, change: impl FnOnce(&mut Asked)) {
        change(&mut self.pages[client as usize].asked.lock());
    }

    /// All lines whose creation was acknowledged.
    pub fn known(&self) -> HashMap<Line, Box<str>> {
        let lines = |page: &Page| -> Vec<_> {
            page.lines.read().known.iter().map(|(line, known)| (*line, known.id.clone())).collect()
        };
        self.pages.iter().flat_map(lines).collect()
    }
}
