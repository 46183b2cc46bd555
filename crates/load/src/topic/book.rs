//! The shared knowledge of the clients during the load: each line's id and topic, and each client's
//! last request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::model::LineNumber;
use super::plan::{RecentItem, TopicRecipe};

/// The shared knowledge of the clients during the load.
pub struct TopicBook {
    recipe: TopicRecipe,
    /// The page of each client, and a last one for the lines from before the load.
    pages: Vec<TopicClientPage>,
    /// The newest revision that any reply reported, by container.
    newest: Vec<AtomicU64>,
}

#[derive(Default)]
struct TopicClientPage {
    lines: RwLock<ClientLines>,
    asked: Mutex<LastTopicRequest>,
}

#[derive(Default)]
struct ClientLines {
    /// All lines ever created.
    known: HashMap<LineNumber, KnownLine>,
    /// Items that are not removed, the newest last.
    items: Vec<LineNumber>,
}

/// The known facts about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownLine {
    /// The line's id.
    pub id: Box<str>,
    /// The topic that the last reply reported.
    pub topic: u16,
    /// The object of the last request to attach one.
    pub attached: Option<usize>,
}

/// The last request of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastTopicRequest {
    /// The line that it is about.
    pub line: LineNumber,
    /// The facts about the line that were known when the request was made.
    pub known: Option<KnownLine>,
    /// The container that it changes; for a move, the target.
    pub container: u16,
    /// The newest known revision of the container when the request was sent.
    pub after: u64,
    /// The time when the request was sent, since the beginning of the load.
    pub sent: Duration,
    /// The time when it was answered, since the beginning of the load.
    pub answered: Duration,
}

impl TopicBook {
    /// Creates the book for a number of clients and containers.
    pub fn new(recipe: TopicRecipe, clients: u32, containers: u16) -> TopicBook {
        let pages = (0..=clients).map(|_| TopicClientPage::default()).collect();
        TopicBook { recipe, pages, newest: (0..containers).map(|_| AtomicU64::new(0)).collect() }
    }

    fn page(&self, line: LineNumber) -> &TopicClientPage {
        &self.pages[self.recipe.maker(line) as usize]
    }

    /// Returns the known facts about a line.
    pub fn find(&self, line: LineNumber) -> Option<KnownLine> {
        self.page(line).lines.read().known.get(&line).cloned()
    }

    /// Returns an item of the given client, or one from before the load if that client has none.
    pub fn recent(&self, recent: RecentItem) -> LineNumber {
        let of = |client: usize| {
            let lines = self.pages[client].lines.read();
            let newest = lines.items.len().checked_sub(1)?;
            Some(lines.items[newest - (recent.back as usize).min(newest)])
        };
        of(recent.client as usize).or_else(|| of(self.pages.len() - 1)).unwrap_or_default()
    }

    /// Notes a new line.
    pub fn learn(&self, line: LineNumber, id: &str, topic: u16) {
        let mut lines = self.page(line).lines.write();
        lines.known.insert(line, KnownLine { id: id.into(), topic, attached: None });
        if !self.recipe.is_divider(line) {
            lines.items.push(line);
        }
    }

    /// Notes that an item is in another topic.
    pub fn moved(&self, line: LineNumber, topic: u16) {
        self.page(line).lines.write().known.entry(line).and_modify(|known| known.topic = topic);
    }

    /// Notes that an object is to be attached to an item.
    pub fn attaching(&self, line: LineNumber, object: usize) {
        self.page(line).lines.write().known.entry(line).and_modify(|known| known.attached = Some(object));
    }

    /// Notes the removal of an item.
    pub fn removed(&self, line: LineNumber) {
        self.page(line).lines.write().items.retain(|item| *item != line);
    }

    /// Returns the newest known revision of a container.
    pub fn newest(&self, container: u16) -> u64 {
        self.newest[usize::from(container)].load(Ordering::Relaxed)
    }

    /// Notes the revision in a reply.
    pub fn revised(&self, container: u16, revision: u64) {
        self.newest[usize::from(container)].fetch_max(revision, Ordering::Relaxed);
    }

    /// Returns the last request of a client.
    pub fn asked(&self, client: u32) -> LastTopicRequest {
        self.pages[client as usize].asked.lock().clone()
    }

    /// Changes the last request of a client.
    pub fn ask(&self, client: u32, change: impl FnOnce(&mut LastTopicRequest)) {
        change(&mut self.pages[client as usize].asked.lock());
    }

    /// Returns the ids of all lines whose creation was acknowledged.
    pub fn known(&self) -> HashMap<LineNumber, Box<str>> {
        let lines = |page: &TopicClientPage| -> Vec<_> {
            page.lines.read().known.iter().map(|(line, known)| (*line, known.id.clone())).collect()
        };
        self.pages.iter().flat_map(lines).collect()
    }
}
