//! Finding nodes of a document by XPath 1.0, and setting their contents.
//!
//! The language is implemented by [`xpath_eval`]. It sees the document as [`nodes::Nodes`], which
//! count each look at a node, together with the work possible before the next look ([`weight`]). So
//! the work of an expression is limited, however hostile it is: the evaluation ends at the first
//! look after the budget is spent.
//!
//! Names are compared as they are written: a prefix is a part of a name, and `x:a` finds names
//! written so. There are no namespace nodes, and no variables.

mod nodes;
mod refused;
#[cfg(test)]
mod tests;
mod weight;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use xpath_eval::{EvaluationContext, Expr, Value, evaluate, parse};

use self::nodes::{EvaluationLimitReached, Nodes};
use self::refused::refusal_reason;
use self::weight::Weight;
use super::Limits;
use super::edit::XmlTree;
use super::error::XmlError;

/// The longest expression, in bytes.
const MAX_BYTES: usize = 1024;

/// The deepest nesting of brackets in an expression; parsing and evaluation recurse.
const MAX_NESTED: usize = 16;

/// The number of nodes that one evaluation may visit, counted at each visit. Nodes are collected in
/// lists before duplicates are removed, at 16 bytes each. So this bounds the lists, which take up
/// to three times as much while one grows or is sorted. The number is twice the nodes that a
/// document of 4 MiB can have.
const MAX_COME_TO: u64 = 2 << 20;

/// The reason why nodes can't be found or set. [`fmt::Display`] gives a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XPathError {
    /// The expression is invalid, or its value is not a set of nodes.
    Expression(String),
    /// There is no such node, or it can't be set.
    Node(String),
    /// The budget is spent.
    TooMuch,
    /// The document can't be read, or would be larger than the limits.
    Document(XmlError),
}

impl fmt::Display for XPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            XPathError::Expression(text) | XPathError::Node(text) => f.write_str(text),
            XPathError::TooMuch => f.write_str("The XPath needs more work than is allowed."),
            XPathError::Document(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for XPathError {}

impl From<XmlError> for XPathError {
    fn from(error: XmlError) -> XPathError {
        XPathError::Document(error)
    }
}

/// The limits of an evaluation: looks at nodes, into which the work between two looks is converted,
/// and bytes of their texts. The rest serves the next evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationLimit {
    /// Looks at nodes; some 10 million take half a second.
    pub looks: u64,
    /// Bytes of texts that are built; all of them may be in memory at once.
    pub bytes: u64,
}

/// Bytes of a document that are read in about the time of a look.
const READ: u64 = 16;

impl EvaluationLimit {
    /// Counts the reading of a document.
    fn read(&mut self, xml: &str) -> Result<(), XPathError> {
        let left = self.looks.checked_sub(xml.len() as u64 / READ);
        self.looks = left.unwrap_or_default();
        left.map(drop).ok_or(XPathError::TooMuch)
    }
}

/// A kind of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XPathNodeKind {
    /// The document.
    Document,
    /// An element.
    Element,
    /// An attribute.
    Attribute,
    /// Text in an element.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction.
    Instruction,
}

/// A node that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundNode {
    /// The kind of the node.
    pub kind: XPathNodeKind,
    /// The name as it is written; for elements, attributes and instructions.
    pub name: Option<String>,
    /// The path of the node: `/story/body/p[2]/@id`.
    pub path: String,
    /// The text of the node.
    pub value: String,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct XPath {
    text: String,
    expression: Expr,
    weight: Weight,
}

impl XPath {
    /// Reads an expression.
    ///
    /// # Errors
    /// `Expression`, with the part that can't be read.
    pub fn parse(text: &str) -> Result<XPath, XPathError> {
        let shown: String = text.chars().take(100).collect();
        let fail = |why: String| XPathError::Expression(format!("`{shown}` is not a valid XPath: {why}."));
        if text.len() > MAX_BYTES {
            return Err(fail(format!("it has {} bytes; at most {MAX_BYTES} are allowed", text.len())));
        }
        let (mut nested, mut signs) = (0usize, 0usize);
        for byte in text.bytes() {
            match byte {
                b'(' | b'[' => nested += 1,
                b')' | b']' => nested = nested.saturating_sub(1),
                _ => {}
            }
            signs = if byte == b'-' {
                signs + 1
            } else if byte == b' ' {
                signs
            } else {
                0
            };
            if nested.max(signs) > MAX_NESTED {
                return Err(fail(format!("it is nested more than {MAX_NESTED} levels deep")));
            }
        }
        let expression = parse(text).map_err(|error| fail(error.to_string()))?;
        if let Some(why) = refusal_reason(&expression) {
            return Err(XPathError::Expression(format!("`{shown}` is not supported: {why}.")));
        }
        let weight = Weight::of(&expression);
        Ok(XPath { text: text.to_owned(), expression, weight })
    }

    /// Finds the nodes, in the order of the document.
    ///
    /// # Errors
    /// `Expression` if the value is not a set of nodes; `TooMuch`; `Document`.
    pub fn find(&self, xml: &str, limits: &Limits, budget: &mut EvaluationLimit) -> Result<Vec<FoundNode>, XPathError> {
        budget.read(xml)?;
        let tree = XmlTree::read(Some(xml), limits)?;
        let nodes = Nodes::of(&tree, self.weight, *budget);
        let found = self.found(&nodes);
        *budget = nodes.left();
        let found = found?;
        render_nodes(&nodes, &found, budget)
    }

    /// Replaces the contents of the found node at `index`, counted from 0, by a text. Returns the
    /// document, and the nodes found before and after the change. An element then contains only the
    /// text.
    ///
    /// # Errors
    /// The errors of [`XPath::find`]; `Node` if there is no such node, or it is not an element, an
    /// attribute or text.
    pub fn set(
        &self,
        xml: &str,
        (index, text): (usize, &str),
        limits: &Limits,
        budget: &mut EvaluationLimit,
    ) -> Result<(String, Vec<FoundNode>, Vec<FoundNode>), XPathError> {
        if super::without_illegal_chars(text).len() < text.len() {
            return Err(XPathError::Node("The text has a character that XML can't contain.".to_owned()));
        }
        budget.read(xml)?;
        let mut tree = XmlTree::read(Some(xml), limits)?;
        let nodes = Nodes::of(&tree, self.weight, *budget);
        let found = self.found(&nodes);
        *budget = nodes.left();
        let found = found?;
        let before = render_nodes(&nodes, &found, budget)?;
        let Some(which) = found.get(index) else {
            let nodes = if found.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", found.len()) };
            let message = format!("`{}` selects {nodes}, and none at {index}.", self.text);
            return Err(XPathError::Node(message));
        };
        let Some(place) = nodes.place_of(*which) else {
            let message = format!("The node at {index} is neither an element nor an attribute nor text.");
            return Err(XPathError::Node(message));
        };
        drop(nodes);
        tree.put(place, text);
        // A document has its root.
        let written = tree.written().unwrap_or_default();
        super::check(&written, limits)?;
        let after = self.find(&written, limits, budget)?;
        Ok((written, before, after))
    }

    /// Returns the numbers of the nodes that the expression finds.
    fn found(&self, nodes: &Nodes<'_, '_>) -> Result<Vec<u32>, XPathError> {
        // The library has no budget, so the nodes unwind when it is spent.
        let evaluated = catch_unwind(AssertUnwindSafe(|| {
            let mut context = EvaluationContext::new(nodes.root());
            let as_written = |prefix: &str| Some(prefix.to_owned());
            context.namespaces = Some(&as_written);
            evaluate(&self.expression, &context).map(|value| match value {
                Value::NodeSet(found) => Ok(found.iter().map(|node| node.number()).collect()),
                Value::String(_) => Err("a text"),
                Value::Number(_) => Err("a number"),
                Value::Boolean(_) => Err("true or false"),
            })
        }));
        let evaluated = evaluated.map_err(spent_or_worse)?;
        let found = evaluated
            .map_err(|error| XPathError::Expression(format!("`{}` can't be evaluated: {error}.", self.text)))?;
        found.map_err(|what| XPathError::Expression(format!("`{}` selects no nodes, but returns {what}.", self.text)))
    }
}

fn spent_or_worse(panic: Box<dyn Any + Send>) -> XPathError {
    if panic.is::<EvaluationLimitReached>() {
        return XPathError::TooMuch;
    }
    resume_unwind(panic)
}

/// Converts nodes for callers; the bytes of their texts and paths are counted, too.
fn render_nodes(
    nodes: &Nodes<'_, '_>,
    found: &[u32],
    budget: &mut EvaluationLimit,
) -> Result<Vec<FoundNode>, XPathError> {
    let shown = catch_unwind(AssertUnwindSafe(|| found.iter().map(|node| nodes.shown(*node)).collect()));
    *budget = nodes.left();
    shown.map_err(spent_or_worse)
}
