//! A document as a tree of its written pieces, in which single places change.

use std::borrow::Cow;
use std::ops::Range;

use rust_decimal::Decimal;

use super::path::{ChildSelector, Path, XmlPathStep};
use super::{Edit, EditContent, EditError, EditOperation, number};
use crate::Limits;
use crate::error::{XmlError, XmlErrorKind, quoted};
use crate::namespaces::prefix_declared;
use crate::output::Output;
use crate::scan::Scanner;
use crate::token::XmlToken;

/// An element's index in [`XmlTree::elements`].
type ElementIndex = usize;

/// A place in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodePlace {
    /// The document around the root.
    Document,
    Element(ElementIndex),
    /// An attribute of an element, by its number there.
    Attribute(ElementIndex, usize),
    /// Pieces of an element: a text, or a comment or instruction.
    Pieces(ElementIndex, usize, usize),
}

/// A node that a walk through a document meets.
pub(crate) enum TreeEvent {
    Open(NodePlace),
    /// An attribute of the element just opened, unless it declares a namespace.
    Attribute(NodePlace),
    /// The whole text between two other pieces.
    Text(NodePlace),
    Comment(NodePlace),
    Instruction(NodePlace),
    Close,
}

/// The document and its insertions.
pub(crate) struct XmlTree<'a> {
    elements: Vec<TreeElement<'a>>,
    root: Option<ElementIndex>,
    /// The text before the root; `after` is the text behind it.
    before: &'a str,
    after: &'a str,
    limits: &'a Limits,
    /// Bytes inserted so far; text that an edit repeats at several places counts for each.
    added: usize,
}

struct TreeElement<'a> {
    name: Cow<'a, str>,
    parent: Option<ElementIndex>,
    /// The tags as they are written; `None` once its attributes have changed, or if the element was
    /// created.
    tags: Option<(&'a str, &'a str)>,
    attributes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pieces: Vec<ElementPiece<'a>>,
}

enum ElementPiece<'a> {
    Element(ElementIndex),
    /// The text as it is read, and as it is written; `None` if it was created.
    Text(Cow<'a, str>, Option<&'a str>),
    /// A comment or an instruction.
    Other(&'a str),
}

impl<'a> XmlTree<'a> {
    pub(crate) fn read(xml: Option<&'a str>, limits: &'a Limits) -> Result<XmlTree<'a>, XmlError> {
        let mut tree = XmlTree { elements: Vec::new(), root: None, before: "", after: "", limits, added: 0 };
        if let Some(xml) = xml {
            let (root, span) = tree.take_in(xml)?;
            (tree.root, tree.before, tree.after) = (Some(root), &xml[..span.start], &xml[span.end..]);
        }
        Ok(tree)
    }

    /// Reads a document into the tree. Returns its root, which has no parent yet, and the range of
    /// the root in the text.
    fn take_in(&mut self, xml: &'a str) -> Result<(ElementIndex, Range<usize>), XmlError> {
        let mut scanner = Scanner::new(xml, self.limits)?;
        let root = self.elements.len();
        let (mut open, mut place): (Vec<ElementIndex>, _) = (Vec::new(), 0..0);
        while let Some(token) = scanner.next()? {
            let span = scanner.span();
            let written = &xml[span.clone()];
            match token {
                XmlToken::Start(name, attributes) => {
                    let attributes = attributes.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect();
                    let parent = open.last().copied();
                    if parent.is_none() {
                        place.start = span.start;
                    }
                    let tags = Some((written, ""));
                    let element = TreeElement { name: name.into(), parent, tags, attributes, pieces: Vec::new() };
                    open.push(self.add(element));
                }
                XmlToken::End(_) => {
                    // Every end has its start.
                    let Some(id) = open.pop() else { break };
                    if let Some((start, end)) = &mut self.elements[id].tags
                        && !start.ends_with("/>")
                    {
                        *end = written;
                    }
                    if open.is_empty() {
                        place.end = span.end;
                    }
                }
                XmlToken::Text(text) => self.piece(&open, ElementPiece::Text(text.text, Some(written))),
                XmlToken::Comment(_) | XmlToken::Instruction(..) => self.piece(&open, ElementPiece::Other(written)),
                XmlToken::Declaration(_) | XmlToken::Doctype(_) => {}
            }
        }
        Ok((root, place))
    }

    /// Adds an element after all pieces of its parent.
    fn add(&mut self, element: TreeElement<'a>) -> ElementIndex {
        let (id, parent) = (self.elements.len(), element.parent);
        self.elements.push(element);
        if let Some(parent) = parent {
            self.elements[parent].pieces.push(ElementPiece::Element(id));
        }
        id
    }

    fn piece(&mut self, open: &[ElementIndex], piece: ElementPiece<'a>) {
        if let Some(id) = open.last() {
            self.elements[*id].pieces.push(piece);
        }
    }

    pub(super) fn apply(&mut self, edit: &'a Edit) -> Result<(), EditError> {
        let path = &edit.path;
        match &edit.change {
            EditOperation::Set(EditContent::Text(text)) => match path.attribute() {
                Some(name) => self.set_attribute(path, name, text),
                None => self.set_text(path, text),
            },
            EditOperation::Set(EditContent::Elements { written, list }) => self.set_elements(path, written, *list),
            EditOperation::Unset => {
                self.unset(path);
                Ok(())
            }
            EditOperation::Increase(by) => self.increase(path, *by),
            EditOperation::Push { items, keep } => self.push(path, items, *keep),
            EditOperation::Pull { first, count, equal } => {
                self.pull(path, *first, *count, equal.as_deref());
                Ok(())
            }
        }
    }

    /// Counts inserted bytes.
    ///
    /// # Errors
    /// `Document` if a document may not have so many.
    fn count(&mut self, bytes: usize) -> Result<(), EditError> {
        self.added = self.added.saturating_add(bytes);
        if self.added <= self.limits.max_bytes {
            return Ok(());
        }
        let fault = format!("more than {} bytes would be inserted into the text", self.limits.max_bytes);
        Err(XmlError::at_byte(XmlErrorKind::TooLarge, 0, fault).into())
    }

    fn set_text(&mut self, path: &Path, text: &'a str) -> Result<(), EditError> {
        for id in self.found_or_made(path)? {
            self.count(text.len())?;
            self.put_text(id, text.into());
        }
        Ok(())
    }

    fn put_text(&mut self, id: ElementIndex, text: Cow<'a, str>) {
        let pieces = if text.is_empty() { Vec::new() } else { vec![ElementPiece::Text(text, None)] };
        self.elements[id].pieces = pieces;
    }

    /// Sets an attribute of the elements that have it; if none has, of the first that is found.
    fn set_attribute(&mut self, path: &'a Path, name: &'a str, text: &'a str) -> Result<(), EditError> {
        for id in self.having(path, name)? {
            self.count(name.len() + text.len())?;
            self.put_attribute(id, name, text.into());
        }
        Ok(())
    }

    /// Returns the elements on which an attribute is to be set.
    fn having(&mut self, path: &Path, name: &str) -> Result<Vec<ElementIndex>, EditError> {
        let found = self.found_or_made(path)?;
        let has = |id: &ElementIndex| self.elements[*id].attributes.iter().any(|(known, _)| known == name);
        let having: Vec<ElementIndex> = found.iter().copied().filter(has).collect();
        Ok(if having.is_empty() { found.into_iter().take(1).collect() } else { having })
    }

    fn put_attribute(&mut self, id: ElementIndex, name: &'a str, text: Cow<'a, str>) {
        let element = &mut self.elements[id];
        element.tags = None;
        match element.attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = text,
            None => element.attributes.push((name.into(), text)),
        }
    }

    /// Replaces the elements that are found: each by one element, or all by a list.
    fn set_elements(&mut self, path: &Path, written: &'a [String], list: bool) -> Result<(), EditError> {
        if list {
            let mut found = self.find(&path.steps);
            if found.is_empty() && !written.is_empty() {
                found.push(self.make(&path.steps)?);
            }
            // A list is never the root's.
            let Some((first, parent)) = found.first().and_then(|id| Some((*id, self.elements[*id].parent?))) else {
                return Ok(());
            };
            let place = self.place_of(parent, first);
            self.insert(parent, place, written)?;
            self.remove_all(&found);
            return Ok(());
        }
        let Some(text) = written.first() else { return Ok(()) };
        let found = self.found_or_made(path)?;
        let mut instead = vec![None; self.elements.len()];
        for id in &found {
            let (name, parent) = (self.elements[*id].name.clone(), self.elements[*id].parent);
            let new = self.graft(text, parent)?;
            if self.elements[new].name != name {
                (self.elements[new].name, self.elements[new].tags) = (name, None);
            }
            instead[*id] = Some(new);
        }
        for parent in self.parents_of(&found) {
            match parent {
                Some(parent) => self.elements[parent].pieces.iter_mut().for_each(|piece| {
                    if let ElementPiece::Element(id) = piece {
                        *id = instead.get(*id).copied().flatten().unwrap_or(*id);
                    }
                }),
                None => self.root = self.root.map(|root| instead[root].unwrap_or(root)),
            }
        }
        Ok(())
    }

    /// Inserts elements among the pieces of a parent, the first at that position.
    fn insert(&mut self, parent: ElementIndex, place: usize, written: &'a [String]) -> Result<(), EditError> {
        let new: Vec<ElementPiece<'a>> = written
            .iter()
            .map(|text| self.graft(text, Some(parent)).map(ElementPiece::Element))
            .collect::<Result<_, EditError>>()?;
        self.elements[parent].pieces.splice(place..place, new);
        Ok(())
    }

    /// Returns the parents of elements, each once; `None` stands for the root's.
    fn parents_of(&self, ids: &[ElementIndex]) -> Vec<Option<ElementIndex>> {
        let mut parents: Vec<Option<ElementIndex>> = ids.iter().map(|id| self.elements[*id].parent).collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }

    /// Reads an element that is to be inserted. Its parent does not have it among its pieces yet.
    fn graft(&mut self, text: &'a str, parent: Option<ElementIndex>) -> Result<ElementIndex, EditError> {
        self.count(text.len())?;
        let (id, _) = self.take_in(text)?;
        self.elements[id].parent = parent;
        Ok(id)
    }

    /// Returns the position of an element among its parent's pieces; the end if it was removed.
    fn place_of(&self, parent: ElementIndex, child: ElementIndex) -> usize {
        let pieces = &self.elements[parent].pieces;
        let is_it = |piece: &ElementPiece<'_>| matches!(piece, ElementPiece::Element(id) if *id == child);
        pieces.iter().position(is_it).unwrap_or(pieces.len())
    }

    /// Removes elements, all of one parent at once.
    fn remove_all(&mut self, ids: &[ElementIndex]) {
        let mut gone = vec![false; self.elements.len()];
        ids.iter().for_each(|id| gone[*id] = true);
        for parent in self.parents_of(ids) {
            match parent {
                Some(parent) => {
                    let pieces = &mut self.elements[parent].pieces;
                    pieces.retain(|piece| !matches!(piece, ElementPiece::Element(child) if gone[*child]));
                }
                None => self.root = None,
            }
        }
    }

    fn unset(&mut self, path: &Path) {
        let found = self.find(&path.steps);
        let Some(name) = path.attribute() else { return self.remove_all(&found) };
        for id in found {
            let element = &mut self.elements[id];
            let had = element.attributes.len();
            element.attributes.retain(|(known, _)| known != name);
            if element.attributes.len() < had {
                element.tags = None;
            }
        }
    }

    fn increase(&mut self, path: &'a Path, by: Decimal) -> Result<(), EditError> {
        let attribute = path.attribute();
        let places = match attribute {
            Some(name) => self.having(path, name)?,
            None => self.found_or_made(path)?,
        };
        for id in places {
            let old = match attribute {
                Some(name) => {
                    let known = self.elements[id].attributes.iter().find(|(known, _)| known == name);
                    Some(known.map_or(Cow::Borrowed(""), |(_, value)| Cow::Borrowed(&**value)))
                }
                None => self.text_of(id),
            };
            let value = match old.as_deref() {
                Some("") => Some(Decimal::ZERO),
                Some(text) => number(text),
                None => None,
            };
            let Some(value) = value else {
                let shown = old.map_or("an element with child elements".to_owned(), |text| quoted(&text));
                return Err(EditError::Value(format!("`{path}` can't be increased: {shown} is not a number.")));
            };
            let sum = value.checked_add(by).ok_or_else(|| {
                EditError::Value(format!("`{path}` can't be increased by {by}: {value} is too large a number."))
            })?;
            let text = sum.to_string();
            self.count(text.len())?;
            match attribute {
                Some(name) => self.put_attribute(id, name, text.into()),
                None => self.put_text(id, text.into()),
            }
        }
        Ok(())
    }

    fn push(&mut self, path: &Path, items: &'a EditContent, keep: Option<usize>) -> Result<(), EditError> {
        let (EditContent::Elements { written, .. }, Some((last, above))) = (items, path.steps.split_last()) else {
            return Ok(());
        };
        let parent = self.make(above)?;
        let place = self.behind(parent, last.name.as_deref());
        self.insert(parent, place, written)?;
        if let Some(keep) = keep {
            let list = self.children(parent, last.name.as_deref());
            self.remove_all(&list[..list.len().saturating_sub(keep)]);
        }
        Ok(())
    }

    fn pull(&mut self, path: &Path, first: bool, count: usize, equal: Option<&str>) {
        let mut found = self.find(&path.steps);
        if let Some(equal) = equal {
            found.retain(|id| self.text_of(*id).is_some_and(|text| text == equal));
        }
        let count = count.min(found.len());
        let pulled = if first { &found[..count] } else { &found[found.len() - count..] };
        self.remove_all(pulled);
    }

    /// Returns the elements that the path finds; if there are none, the first that it names is
    /// created.
    fn found_or_made(&mut self, path: &Path) -> Result<Vec<ElementIndex>, EditError> {
        let found = self.find(&path.steps);
        if found.is_empty() { self.make(&path.steps).map(|id| vec![id]) } else { Ok(found) }
    }

    fn find(&self, steps: &[XmlPathStep]) -> Vec<ElementIndex> {
        let Some((first, below)) = steps.split_first() else { return Vec::new() };
        let root = self.root.filter(|id| first.name.as_deref().is_none_or(|name| self.elements[*id].name == name));
        let mut found = self.chosen(root.into_iter().collect(), &first.which);
        for step in below {
            let children = |id: ElementIndex| self.chosen(self.children(id, step.name.as_deref()), &step.which);
            found = found.into_iter().flat_map(children).collect();
        }
        found
    }

    fn children(&self, id: ElementIndex, name: Option<&str>) -> Vec<ElementIndex> {
        self.elements_in(id).filter(|child| name.is_none_or(|name| self.elements[*child].name == name)).collect()
    }

    fn elements_in(&self, id: ElementIndex) -> impl Iterator<Item = ElementIndex> {
        self.elements[id].pieces.iter().filter_map(|piece| match piece {
            ElementPiece::Element(child) => Some(*child),
            ElementPiece::Text(..) | ElementPiece::Other(_) => None,
        })
    }

    /// Returns the siblings with one name that a step chooses.
    fn chosen(&self, mut siblings: Vec<ElementIndex>, which: &ChildSelector) -> Vec<ElementIndex> {
        match which {
            ChildSelector::All => {}
            ChildSelector::Nth(nth) => siblings = siblings.get(nth - 1).copied().into_iter().collect(),
            ChildSelector::Last => siblings = siblings.pop().into_iter().collect(),
            ChildSelector::Attribute(name, value) => siblings
                .retain(|id| self.elements[*id].attributes.iter().any(|(known, text)| known == name && text == value)),
            ChildSelector::Child(name, value) => siblings.retain(|id| {
                let mut named = self.elements_in(*id).filter(|child| self.elements[*child].name == *name);
                named.any(|child| self.text_of(child).is_some_and(|text| text == *value))
            }),
            ChildSelector::Text(value) => siblings.retain(|id| self.text_of(*id).is_some_and(|text| text == *value)),
        }
        siblings
    }

    /// Returns the text of an element; `None` if it contains other elements.
    fn text_of(&self, id: ElementIndex) -> Option<Cow<'_, str>> {
        let mut text = Cow::Borrowed("");
        for piece in &self.elements[id].pieces {
            match piece {
                ElementPiece::Element(_) => return None,
                ElementPiece::Text(more, _) if text.is_empty() => text = Cow::Borrowed(&**more),
                ElementPiece::Text(more, _) => text.to_mut().push_str(more),
                ElementPiece::Other(_) => {}
            }
        }
        Some(text)
    }

    pub(super) fn texts_at(&self, path: &Path) -> Vec<String> {
        let found = self.find(&path.steps).into_iter();
        match path.attribute() {
            None => found.filter_map(|id| self.text_of(id)).map(Cow::into_owned).collect(),
            Some(name) => found
                .filter_map(|id| self.elements[id].attributes.iter().find(|(known, _)| known == name))
                .map(|(_, value)| value.to_string())
                .collect(),
        }
    }

    /// Follows the first element that each step finds in the one before, and creates missing ones;
    /// returns the last.
    fn make(&mut self, steps: &[XmlPathStep]) -> Result<ElementIndex, EditError> {
        let mut at = None;
        for (place, step) in steps.iter().enumerate() {
            let found = match at {
                None => self.find(&steps[..1]),
                Some(parent) => self.chosen(self.children(parent, step.name.as_deref()), &step.which),
            };
            at = Some(match found.first() {
                Some(id) => *id,
                None => self.make_one(at, step, place)?,
            });
        }
        at.ok_or_else(|| EditError::Path("The path names no element.".to_owned()))
    }

    fn make_one(
        &mut self,
        parent: Option<ElementIndex>,
        step: &XmlPathStep,
        place: usize,
    ) -> Result<ElementIndex, EditError> {
        let place = place + 1;
        let Some(name) = step.name.clone() else {
            let message = format!("Step {place} of the path, `*`, matches nothing, and names no element to create.");
            return Err(EditError::Path(message));
        };
        if let (None, Some(root)) = (parent, self.root) {
            let known = &self.elements[root].name;
            return Err(EditError::Path(format!(
                "The root element of the text is `{known}`, not `{name}` as in the path."
            )));
        }
        if let ChildSelector::Nth(nth) = step.which {
            let known = parent.map_or(0, |parent| self.children(parent, Some(&name)).len());
            if nth != known + 1 {
                let message = format!(
                    "Step {place} of the path, `{name}[{nth}]`, matches nothing: the number of such elements is \
                     {known}."
                );
                return Err(EditError::Path(message));
            }
        }
        self.count(name.len())?;
        let behind = parent.map(|parent| self.behind(parent, Some(&name)));
        let element =
            TreeElement { name: name.into(), parent: None, tags: None, attributes: Vec::new(), pieces: Vec::new() };
        let id = self.add(element);
        match &step.which {
            ChildSelector::Attribute(name, value) => {
                self.elements[id].attributes.push((name.clone().into(), value.clone().into()));
            }
            ChildSelector::Child(name, value) => {
                let (name, pieces) = (name.clone().into(), vec![ElementPiece::Text(value.clone().into(), None)]);
                self.add(TreeElement { name, parent: Some(id), tags: None, attributes: Vec::new(), pieces });
            }
            ChildSelector::Text(value) => self.put_text(id, value.clone().into()),
            ChildSelector::All | ChildSelector::Nth(_) | ChildSelector::Last => {}
        }
        self.elements[id].parent = parent;
        match (parent, behind) {
            (Some(parent), Some(behind)) => self.elements[parent].pieces.insert(behind, ElementPiece::Element(id)),
            _ => self.root = Some(id),
        }
        Ok(id)
    }

    /// Returns the position after the last child with that name, or the end of the parent's pieces.
    fn behind(&self, parent: ElementIndex, name: Option<&str>) -> usize {
        let pieces = &self.elements[parent].pieces;
        let is_one = |piece: &ElementPiece<'_>| match piece {
            ElementPiece::Element(id) => name.is_none_or(|name| self.elements[*id].name == name),
            ElementPiece::Text(..) | ElementPiece::Other(_) => false,
        };
        pieces.iter().rposition(is_one).map_or(pieces.len(), |place| place + 1)
    }

    /// Walks through the root and its contents in the order of the document.
    pub(crate) fn walk(&self, come_by: &mut impl FnMut(TreeEvent)) {
        let mut open: Vec<(ElementIndex, usize)> = Vec::new();
        let enter = |id: ElementIndex, open: &mut Vec<(ElementIndex, usize)>, come_by: &mut dyn FnMut(TreeEvent)| {
            come_by(TreeEvent::Open(NodePlace::Element(id)));
            for (number, (name, _)) in self.elements[id].attributes.iter().enumerate() {
                if prefix_declared(name).is_none() {
                    come_by(TreeEvent::Attribute(NodePlace::Attribute(id, number)));
                }
            }
            open.push((id, 0));
        };
        if let Some(root) = self.root {
            enter(root, &mut open, come_by);
        }
        while let Some((id, next)) = open.last_mut() {
            let (id, from, pieces) = (*id, *next, &self.elements[*id].pieces);
            let Some(piece) = pieces.get(from) else {
                come_by(TreeEvent::Close);
                open.pop();
                continue;
            };
            let texts = pieces[from..].iter().take_while(|piece| matches!(piece, ElementPiece::Text(..))).count();
            *next += texts.max(1);
            let place = NodePlace::Pieces(id, from, *next);
            match piece {
                ElementPiece::Element(child) => enter(*child, &mut open, come_by),
                ElementPiece::Text(..) => come_by(TreeEvent::Text(place)),
                ElementPiece::Other(written) if written.starts_with("<?") => come_by(TreeEvent::Instruction(place)),
                ElementPiece::Other(_) => come_by(TreeEvent::Comment(place)),
            }
        }
    }

    /// Returns the name of an element, an attribute or an instruction.
    pub(crate) fn name_at(&self, place: NodePlace) -> Option<&str> {
        match place {
            NodePlace::Document => None,
            NodePlace::Element(id) => Some(&self.elements[id].name),
            NodePlace::Attribute(id, number) => Some(&self.elements[id].attributes[number].0),
            NodePlace::Pieces(id, from, _) => match &self.elements[id].pieces[from] {
                ElementPiece::Other(written) => written.strip_prefix("<?")?.split([' ', '\t', '\n', '\r', '?']).next(),
                ElementPiece::Element(_) | ElementPiece::Text(..) => None,
            },
        }
    }

    /// Returns the text of anything but a document or an element.
    pub(crate) fn text_at(&self, place: NodePlace) -> Cow<'_, str> {
        let (id, from, to) = match place {
            NodePlace::Document | NodePlace::Element(_) => return "".into(),
            NodePlace::Attribute(id, number) => return Cow::Borrowed(&*self.elements[id].attributes[number].1),
            NodePlace::Pieces(id, from, to) => (id, from, to),
        };
        let mut text = Cow::Borrowed("");
        for piece in &self.elements[id].pieces[from..to] {
            let more = match piece {
                ElementPiece::Element(_) => "",
                ElementPiece::Text(more, _) => more,
                ElementPiece::Other(written) => inner_text(written),
            };
            if text.is_empty() { text = Cow::Borrowed(more) } else { text.to_mut().push_str(more) }
        }
        text
    }

    /// Replaces an element's contents, an attribute's value or a text by a text.
    pub(crate) fn put(&mut self, place: NodePlace, text: &str) {
        match place {
            NodePlace::Document => {}
            NodePlace::Element(id) => self.put_text(id, text.to_owned().into()),
            NodePlace::Attribute(id, number) => {
                let element = &mut self.elements[id];
                element.tags = None;
                element.attributes[number].1 = text.to_owned().into();
            }
            NodePlace::Pieces(id, from, to) => {
                let piece = ElementPiece::Text(text.to_owned().into(), None);
                self.elements[id].pieces.splice(from..to, [piece]);
            }
        }
        self.added += text.len();
    }

    /// Returns the document's text; `None` if it has no root.
    pub(crate) fn written(&self) -> Option<String> {
        let mut out = Output::with_capacity(self.before.len() + self.after.len() + self.added);
        out.raw(&[self.before]);
        // The elements that are being written, and their next pieces.
        let mut open = vec![(self.root?, 0)];
        while let Some((id, next)) = open.last_mut() {
            let element = &self.elements[*id];
            if *next == 0 {
                element.begin(&mut out);
            }
            let Some(piece) = element.pieces.get(*next) else {
                element.end(&mut out);
                open.pop();
                continue;
            };
            *next += 1;
            match piece {
                ElementPiece::Element(child) => open.push((*child, 0)),
                ElementPiece::Text(_, Some(written)) | ElementPiece::Other(written) => out.raw(&[written]),
                ElementPiece::Text(text, None) => out.text(text),
            }
        }
        out.raw(&[self.after]);
        Some(out.into_text())
    }
}

/// Returns the text of a comment, or of an instruction after its target.
fn inner_text(written: &str) -> &str {
    if let Some(comment) = written.strip_prefix("<!--") {
        return comment.strip_suffix("-->").unwrap_or(comment);
    }
    let body = written.strip_prefix("<?").and_then(|body| body.strip_suffix("?>")).unwrap_or_default();
    let space = [' ', '\t', '\n', '\r'];
    body.split_once(space).map_or("", |(_, data)| data.trim_start_matches(space))
}

impl TreeElement<'_> {
    fn begin(&self, out: &mut Output) {
        let Some((start, _)) = self.tags else {
            out.open(&self.name);
            return self.attributes.iter().for_each(|(name, value)| out.attribute(name, value));
        };
        match start.strip_suffix("/>") {
            Some(open) if !self.pieces.is_empty() => out.raw(&[open, ">"]),
            _ => out.raw(&[start]),
        }
    }

    fn end(&self, out: &mut Output) {
        match self.tags {
            None => out.close(&self.name),
            Some((start, _)) if start.ends_with("/>") && self.pieces.is_empty() => {}
            Some((_, "")) => out.raw(&["</", &self.name, ">"]),
            Some((_, end)) => out.raw(&[end]),
        }
    }
}
