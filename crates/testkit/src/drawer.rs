//! A simple model of a drawer: a bounded list. Tests compare the real drawer with it.

use stet_domain::error::Code;

/// An item: its document, and whether it is hidden because the document is in the recycle bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelItem {
    pub document: usize,
    pub hidden: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDrawer {
    pub capacity: usize,
    pub items: Vec<ModelItem>,
}

#[derive(Debug, Clone, Copy)]
pub enum DrawerOp {
    Add(usize),
    Position(usize, i64),
    Shift(usize, i64),
    Remove(usize),
    Clear,
    Capacity(u32),
}

impl ModelDrawer {
    pub fn new(capacity: usize) -> ModelDrawer {
        ModelDrawer { capacity, items: Vec::new() }
    }

    pub fn visible(&self) -> Vec<usize> {
        self.items.iter().filter(|item| !item.hidden).map(|item| item.document).collect()
    }

    fn position_of(&self, document: usize) -> Option<usize> {
        self.visible().iter().position(|visible| *visible == document)
    }

    /// Returns the index in `items` of a visible position.
    fn index(&self, position: usize) -> usize {
        let mut visible = (0..self.items.len()).filter(|index| !self.items[*index].hidden);
        visible.nth(position).unwrap_or(self.items.len())
    }

    fn trim(&mut self) {
        while self.items.len() > self.capacity {
            let last_hidden = self.items.iter().rposition(|item| item.hidden);
            self.items.remove(last_hidden.unwrap_or(self.items.len() - 1));
        }
    }

    fn insert(&mut self, position: usize, document: usize) {
        let index = self.index(position);
        self.items.insert(index, ModelItem { document, hidden: false });
        self.trim();
    }

    fn take(&mut self, document: usize) {
        self.items.retain(|item| item.document != document);
    }

    /// Applies an operation. `alive` reports whether a document can be added.
    ///
    /// # Errors
    /// The code with which the real drawer refuses it.
    pub fn apply(&mut self, op: DrawerOp, alive: impl Fn(usize) -> bool) -> Result<(), Code> {
        let count = self.visible().len();
        let full = count >= self.capacity;
        match op {
            DrawerOp::Add(document) => match self.position_of(document) {
                Some(_) => {}
                None if !alive(document) => return Err(Code::ObjectNotFound),
                None if full => return Err(Code::DrawerFull),
                None => self.insert(usize::MAX, document),
            },
            DrawerOp::Position(_, position) if position < -1 => return Err(Code::InvalidParameter),
            DrawerOp::Position(document, position) => {
                let tail = position == -1 || position as usize >= count;
                if self.position_of(document).is_some() {
                    let last = if tail { count - 1 } else { position as usize };
                    if self.position_of(document) != Some(last) {
                        self.take(document);
                        self.insert(last, document);
                    }
                } else if !alive(document) {
                    return Err(Code::ObjectNotFound);
                } else if full && tail {
                    return Err(Code::DrawerFull);
                } else {
                    self.insert(if tail { usize::MAX } else { position as usize }, document);
                }
            }
            DrawerOp::Shift(document, position) => {
                if self.position_of(document).is_none() {
                    return Err(Code::ObjectNotFound);
                }
                if position < -1 || position >= count as i64 {
                    return Err(Code::InvalidParameter);
                }
                return self.apply(DrawerOp::Position(document, position), alive);
            }
            DrawerOp::Remove(document) => {
                self.position_of(document).ok_or(Code::ObjectNotFound)?;
                self.take(document);
            }
            DrawerOp::Clear => self.items.clear(),
            DrawerOp::Capacity(capacity) => {
                if (capacity as usize) < count || capacity == 0 {
                    return Err(Code::InvalidParameter);
                }
                self.capacity = capacity as usize;
                self.trim();
            }
        }
        Ok(())
    }

    pub fn set_hidden(&mut self, document: usize, hidden: bool) {
        self.items.iter_mut().filter(|item| item.document == document).for_each(|item| item.hidden = hidden);
    }
}

/// Moves an item between two drawers of `all`.
///
/// # Errors
/// The code with which the real drawers refuse it.
pub fn model_move(all: &mut [ModelDrawer], from: usize, to: usize, document: usize) -> Result<(), Code> {
    all[from].position_of(document).ok_or(Code::ObjectNotFound)?;
    if from == to {
        return all[from].apply(DrawerOp::Position(document, -1), |_| true);
    }
    if all[to].position_of(document).is_none() {
        if all[to].visible().len() >= all[to].capacity {
            return Err(Code::DrawerFull);
        }
        all[to].insert(usize::MAX, document);
    }
    all[from].take(document);
    Ok(())
}
