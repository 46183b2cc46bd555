//! A document as XPath sees it; each look at a node is counted.

use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::panic::resume_unwind;

use xpath_eval::{ExpandedName, Node as XNode, NodeKind};

use super::weight::{BYTES_A_LOOK, Weight};
use super::{EvaluationLimit, FoundNode, MAX_COME_TO, XPathNodeKind};
use crate::edit::{NodePlace, TreeEvent, XmlTree};

/// Comparisons of two short texts or numbers in about the time of a look.
const COMPARED: u64 = 32;

/// Bytes of two texts that are compared in the time of short ones.
const COMPARED_BYTES: u64 = 16;

/// The payload of the panic that ends an evaluation when its budget is spent.
pub(super) struct EvaluationLimitReached;

/// The nodes of a document, numbered in its order: an element, its attributes, its contents.
pub(super) struct Nodes<'t, 'x> {
    tree: &'t XmlTree<'x>,
    nodes: Vec<XPathNodeData>,
    budget: Cell<EvaluationLimit>,
    /// The number of nodes that may still be visited.
    to_come: Cell<u64>,
    /// The cost of the expression beside its looks.
    weight: Weight,
    /// The positions among siblings, computed once for [`Nodes::siblings`].
    siblings: OnceCell<Vec<(u32, u32)>>,
}

struct XPathNodeData {
    kind: NodeKind,
    parent: u32,
    /// The number after the last descendant.
    end: u32,
    place: NodePlace,
}

/// A node.
#[derive(Clone, Copy)]
pub(super) struct XPathNode<'n> {
    nodes: &'n Nodes<'n, 'n>,
    number: u32,
}

impl<'t, 'x> Nodes<'t, 'x> {
    pub(super) fn of(tree: &'t XmlTree<'x>, weight: Weight, budget: EvaluationLimit) -> Nodes<'t, 'x> {
        let mut nodes = vec![XPathNodeData { kind: NodeKind::Root, parent: 0, end: 0, place: NodePlace::Document }];
        let mut open: Vec<u32> = vec![0];
        tree.walk(&mut |view| {
            let parent = open.last().copied().unwrap_or(0);
            // A text has no more nodes than bytes, and fewer than 2^32 of these.
            let number = nodes.len() as u32;
            let mut add = |kind, place| nodes.push(XPathNodeData { kind, parent, end: number + 1, place });
            match view {
                TreeEvent::Open(place) => {
                    add(NodeKind::Element, place);
                    open.push(number);
                }
                TreeEvent::Attribute(place) => add(NodeKind::Attribute, place),
                TreeEvent::Close => {
                    let end = nodes.len() as u32;
                    if let Some(closed) = open.pop() {
                        nodes[closed as usize].end = end;
                    }
                }
                TreeEvent::Text(place) => add(NodeKind::Text, place),
                TreeEvent::Comment(place) => add(NodeKind::Comment, place),
                TreeEvent::Instruction(place) => add(NodeKind::ProcessingInstruction, place),
            }
        });
        nodes[0].end = nodes.len() as u32;
        let (budget, to_come) = (Cell::new(budget), Cell::new(MAX_COME_TO));
        Nodes { tree, nodes, budget, to_come, weight, siblings: OnceCell::new() }
    }

    /// Returns the rest of the budget.
    pub(super) fn left(&self) -> EvaluationLimit {
        self.budget.get()
    }

    /// Counts looks and bytes, with the work on these; unwinds when the budget is spent.
    fn count(&self, looks: u64, bytes: u64) {
        // The product is at most the bytes of a document times those of an expression.
        let looks = looks + bytes * self.weight.passes / BYTES_A_LOOK;
        let EvaluationLimit { looks: looks_left, bytes: bytes_left } = self.budget.get();
        let left = looks_left.checked_sub(looks).zip(bytes_left.checked_sub(bytes));
        let Some((looks, bytes)) = left else { self.spent() };
        self.budget.set(EvaluationLimit { looks, bytes });
    }

    /// Unwinds, because the budget is spent.
    fn spent(&self) -> ! {
        self.budget.set(EvaluationLimit { looks: 0, bytes: 0 });
        resume_unwind(Box::new(EvaluationLimitReached))
    }

    /// Returns the root, with which an evaluation begins.
    pub(super) fn root(&self) -> XPathNode<'_> {
        self.count(self.weight.once, 0);
        self.come_to(0)
    }

    /// Visits a node. The expression may evaluate anything for it, and a list may keep it to the
    /// end.
    fn come_to(&self, number: u32) -> XPathNode<'_> {
        let Some(to_come) = self.to_come.get().checked_sub(1) else { self.spent() };
        self.to_come.set(to_come);
        self.count(self.weight.each, 0);
        self.node(number)
    }

    fn node(&self, number: u32) -> XPathNode<'_> {
        XPathNode { nodes: self, number }
    }

    /// Returns the place of a node in the tree, if it can be set.
    pub(super) fn place_of(&self, number: u32) -> Option<NodePlace> {
        let data = &self.nodes[number as usize];
        matches!(data.kind, NodeKind::Element | NodeKind::Attribute | NodeKind::Text).then_some(data.place)
    }

    pub(super) fn shown(&self, number: u32) -> FoundNode {
        let data = &self.nodes[number as usize];
        let name = self.tree.name_at(data.place).map(str::to_owned);
        let kind = match data.kind {
            NodeKind::Root | NodeKind::Namespace => XPathNodeKind::Document,
            NodeKind::Element => XPathNodeKind::Element,
            NodeKind::Attribute => XPathNodeKind::Attribute,
            NodeKind::Text => XPathNodeKind::Text,
            NodeKind::Comment => XPathNodeKind::Comment,
            NodeKind::ProcessingInstruction => XPathNodeKind::Instruction,
        };
        let path = self.path(number);
        self.count(1, path.len() as u64);
        FoundNode { kind, name, path, value: self.node(number).text() }
    }

    /// For each node, its position among its parent's children of the same kind and name, from 1,
    /// and their number; zeros for attributes.
    fn siblings(&self) -> &[(u32, u32)] {
        self.siblings.get_or_init(|| {
            let mut known: HashMap<(u32, NodeKind, Option<&str>), u32> = HashMap::new();
            let key = |data: &XPathNodeData| {
                // An instruction's position counts among all instructions.
                let name = self.tree.name_at(data.place).filter(|_| data.kind == NodeKind::Element);
                (data.parent, data.kind, name)
            };
            let children = |data: &XPathNodeData| !matches!(data.kind, NodeKind::Root | NodeKind::Attribute);
            let mut place = |data: &XPathNodeData| {
                let alike = known.entry(key(data)).or_default();
                *alike += 1;
                *alike
            };
            let places: Vec<u32> = self.nodes.iter().map(|data| if children(data) { place(data) } else { 0 }).collect();
            let alike = |data: &XPathNodeData| known.get(&key(data)).copied().unwrap_or_default();
            places.into_iter().zip(&self.nodes).map(|(place, data)| (place, alike(data))).collect()
        })
    }

    /// Returns the path of a node, with positions where its parent has several of its kind and
    /// name.
    fn path(&self, number: u32) -> String {
        let mut steps = Vec::new();
        let mut at = number;
        while at != 0 {
            let data = &self.nodes[at as usize];
            let name = self.tree.name_at(data.place);
            let step = match data.kind {
                NodeKind::Element => name.unwrap_or_default().to_owned(),
                NodeKind::Attribute => format!("@{}", name.unwrap_or_default()),
                NodeKind::Comment => "comment()".to_owned(),
                NodeKind::ProcessingInstruction => "processing-instruction()".to_owned(),
                NodeKind::Text | NodeKind::Root | NodeKind::Namespace => "text()".to_owned(),
            };
            let (place, alike) = self.siblings()[at as usize];
            steps.push(if alike > 1 { format!("{step}[{place}]") } else { step });
            at = data.parent;
        }
        if steps.is_empty() {
            return "/".to_owned();
        }
        steps.iter().rev().flat_map(|step| ["/", step.as_str()]).collect()
    }
}

impl<'n> XPathNode<'n> {
    pub(super) fn number(self) -> u32 {
        self.number
    }

    fn data(self) -> &'n XPathNodeData {
        &self.nodes.nodes[self.number as usize]
    }

    fn look(self) -> &'n XPathNodeData {
        self.nodes.count(1, 0);
        self.data()
    }

    /// Iterates over the attributes of the node, or its children. A child's descendants are
    /// skipped.
    fn below(self, attributes: bool) -> impl Iterator<Item = XPathNode<'n>> + 'n {
        let holds = matches!(self.data().kind, NodeKind::Root | NodeKind::Element);
        let (nodes, end) = (self.nodes, if holds { self.data().end } else { 0 });
        let mut next = self.number + 1;
        std::iter::from_fn(move || {
            while next < end {
                let number = next;
                let data = nodes.node(number).look();
                next = data.end;
                let is_attribute = data.kind == NodeKind::Attribute;
                if is_attribute == attributes {
                    return Some(nodes.come_to(number));
                }
                // Attributes come first.
                if attributes {
                    return None;
                }
            }
            None
        })
    }

    /// Returns the text of the node and of all its descendants.
    fn text(self) -> String {
        let mut text = String::new();
        for number in self.number..self.look().end {
            let node = XPathNode { nodes: self.nodes, number };
            let data = node.look();
            if number == self.number || data.kind == NodeKind::Text {
                let piece = self.nodes.tree.text_at(data.place);
                self.nodes.count(0, piece.len() as u64);
                text.push_str(&piece);
            }
        }
        text
    }
}

impl PartialEq for XPathNode<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for XPathNode<'_> {}

impl<'n> XNode<'n> for XPathNode<'n> {
    fn kind(self) -> NodeKind {
        self.look().kind
    }

    fn parent(self) -> Option<Self> {
        let parent = self.look().parent;
        (self.number != 0).then(|| self.nodes.come_to(parent))
    }

    fn children(self) -> impl Iterator<Item = Self> + 'n {
        self.below(false)
    }

    fn attributes(self) -> impl Iterator<Item = Self> + 'n {
        self.below(true)
    }

    fn namespaces(self) -> impl Iterator<Item = Self> + 'n {
        std::iter::empty()
    }

    fn expanded_name(self) -> Option<ExpandedName> {
        let name = self.nodes.tree.name_at(self.look().place)?;
        self.nodes.count(0, name.len() as u64);
        Some(match name.split_once(':').filter(|_| self.data().kind != NodeKind::ProcessingInstruction) {
            Some((prefix, local)) => {
                ExpandedName { namespace_uri: Some(prefix.to_owned()), local_name: local.to_owned() }
            }
            None => ExpandedName { namespace_uri: None, local_name: name.to_owned() },
        })
    }

    fn string_value(self) -> String {
        let text = self.text();
        if self.nodes.weight.compares {
            // Two sets of nodes are compared each with each. These comparisons are visible here
            // only as requests for the texts.
            let others = self.nodes.nodes.len() as u64;
            self.nodes.count(others * (1 + text.len() as u64 / COMPARED_BYTES) / COMPARED, 0);
        }
        text
    }

    fn document_order(self, other: Self) -> Ordering {
        self.nodes.count(1, 0);
        self.number.cmp(&other.number)
    }

    fn has_expanded_name(self, namespace_uri: Option<&str>, local_name: &str) -> bool {
        let Some(name) = self.nodes.tree.name_at(self.look().place) else { return false };
        match namespace_uri {
            None => name == local_name,
            Some(prefix) => {
                // The comparison reads the name, which may be of any length.
                self.nodes.count(name.len() as u64 / BYTES_A_LOOK, 0);
                name.split_once(':') == Some((prefix, local_name))
            }
        }
    }

    fn is_id_attribute(self) -> bool {
        matches!(self.nodes.tree.name_at(self.look().place), Some("id" | "xml:id"))
    }
}
