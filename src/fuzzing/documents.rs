//! Fuzzing of XML, and of JSON that becomes XML.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use stet_auth::is_answer;
use stet_sysconfig::files::{FileShelf, Files, ReadingOutcome, SourceFile};
use stet_sysconfig::{CachedConfiguration, Commands, Jobs, ObjectTypes, SiteContent, Workflows};
use stet_xml::edit::{Edit, Path, apply_edits, first_texts};
use stet_xml::xpath::{EvaluationLimit, XPath};
use stet_xml::{Limits, XmlErrorKind};

/// Limits that inputs can reach.
const LIMITS: Limits = Limits { max_depth: 24, max_bytes: 64 << 10, ..Limits::UNBOUNDED };

/// Wider limits, for the text that escapes add.
const WIDE: Limits = Limits { max_depth: 24, max_bytes: 1 << 20, ..Limits::UNBOUNDED };

/// Takes JSON as given for attributes. If it can be written as XML, that is always read as the same
/// JSON.
pub fn attributes(data: &[u8]) -> bool {
    let Ok(given) = serde_json::from_slice::<Value>(data) else { return false };
    let Ok(text) = stet_xml::from_json(&given, &LIMITS) else { return false };
    assert!(text.len() <= LIMITS.max_bytes);
    let canonical =
        stet_xml::to_json(&text, &LIMITS).unwrap_or_else(|error| panic!("{text:?} is written and refused: {error}"));
    check(&text, &canonical);
    true
}

/// Takes a document and edits of it, `[text, [[edit, path, content, number], …]]`. The result is a
/// document within the limits, and a text that was set is found where it was put.
pub fn edits(data: &[u8]) -> bool {
    let Ok((text, given)) =
        serde_json::from_slice::<(Option<String>, Vec<(String, String, Value, Option<usize>)>)>(data)
    else {
        return false;
    };
    let text = text.filter(|text| stet_xml::check(text, &LIMITS).is_ok());
    let mut edits = Vec::new();
    for (name, path, content, number) in &given {
        let Ok(path) = Path::parse(path) else { return false };
        let edit = match name.as_str() {
            "set" => Edit::set(path, content, &LIMITS),
            "unset" => Ok(Edit::unset(path)),
            "inc" => Edit::increase(path, Some(content).filter(|content| !content.is_null())),
            "push" => Edit::push(path, content, *number, &LIMITS),
            "pull" => {
                Edit::pull(path, number.is_some(), number.unwrap_or(1), Some(content).filter(|value| !value.is_null()))
            }
            _ => return false,
        };
        let Ok(edit) = edit else { return false };
        edits.push(edit);
    }
    let made = match apply_edits(text.as_deref(), &edits, &LIMITS) {
        Ok(made) => made,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    if let Some(made) = &made {
        let checked = stet_xml::check(made, &LIMITS);
        assert!(checked.is_ok(), "{made:?}: {checked:?}");
    }
    if let Some((name, path, Value::String(content), _)) = given.last()
        && name == "set"
    {
        let path = Path::parse(path).unwrap_or_else(|error| panic!("{path} was one: {error}"));
        let [found] = first_texts(made.as_deref().unwrap_or_default(), [&path], &LIMITS)
            .unwrap_or_else(|error| panic!("{made:?}: {error}"));
        // Conditions of the path on the text or a child may no longer hold.
        assert!(found.as_ref() == Some(content) || path.to_string().contains('['), "{made:?}: {found:?}");
    }
    true
}

/// Takes a document, an expression and the number of a node, `[text, expression, number]`. Results
/// are within the limits and the budget, and the path of a node leads back to it.
pub fn xpath(data: &[u8]) -> bool {
    let Ok((text, expression, index)) = serde_json::from_slice::<(String, String, usize)>(data) else { return false };
    let Ok(xpath) = XPath::parse(&expression) else { return false };
    let mut budget = EvaluationLimit { looks: 200_000, bytes: 1 << 20 };
    let Ok(found) = xpath.find(&text, &LIMITS, &mut budget) else { return false };
    for node in found.iter().take(5) {
        let back = XPath::parse(&node.path).ok();
        let back = back
            .and_then(|path| path.find(&text, &LIMITS, &mut EvaluationLimit { looks: 200_000, bytes: 1 << 20 }).ok());
        // A path may be longer than an expression may be, or contain a name that is also an
        // operator's.
        assert!(back.as_ref().is_none_or(|back| back[..] == [node.clone()]), "{node:?}: {back:?}");
    }
    match xpath.set(&text, (index, "new"), &LIMITS, &mut budget) {
        Ok((written, before, _)) => {
            assert_eq!(before, found);
            let checked = stet_xml::check(&written, &LIMITS);
            assert!(checked.is_ok(), "{written:?}: {checked:?}");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// Takes a text as an XML document, and as each kind of document that is read from files or other
/// servers.
pub fn xml(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    is_answer(text);
    parts(text);
    configuration::<ObjectTypes>(text);
    configuration::<Workflows>(text);
    configuration::<Commands>(text);
    configuration::<Jobs>(text);
    configuration::<SiteContent>(text);
    let read = stet_xml::to_json(text, &LIMITS);
    let checked = stet_xml::check(text, &LIMITS);
    match (read, checked) {
        (Ok(json), Ok(root)) => {
            assert!(json.as_object().is_some_and(|document| document.keys().eq([&root])), "{root}: {json}");
            check(text, &json);
            true
        }
        (Err(_), Err(error)) => {
            assert!(!error.to_string().is_empty());
            let limits = stet_xml::reserialize(text, &LIMITS);
            assert!(limits.is_err(), "{text:?} is refused, and written again");
            false
        }
        (read, checked) => panic!("{text:?}: read {read:?}, checked {checked:?}"),
    }
}

/// Takes a text as a DTD. Each declared element, and each child of one, is listed once and stands
/// in the text.
pub fn declarations(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let declared = match stet_xml::declarations(text, &LIMITS) {
        Ok(declared) => declared,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let mut names = HashSet::new();
    for element in &declared.elements {
        assert!(names.insert(&element.name), "{} is declared twice", element.name);
        assert!(element.at <= text.len() && element.attributes.iter().all(|attribute| attribute.at <= text.len()));
        let mut children = HashSet::new();
        assert!(element.children.iter().all(|(child, _)| children.insert(child)), "{element:?}");
    }
    true
}

/// Reads a text as every file of a cache, and as the files that these include.
fn configuration<T: CachedConfiguration>(text: &str) {
    let mut files = Files::new();
    for _ in 0..20 {
        let shelf = FileShelf::of(&files);
        match T::read(&shelf) {
            ReadingOutcome::Done(_) => return,
            ReadingOutcome::Faulty { faults, .. } => {
                return faults.iter().for_each(|fault| assert!(!fault.to_string().is_empty()));
            }
            ReadingOutcome::Needs(_) => {}
        }
        for path in shelf.needed() {
            let file = SourceFile { path: path.clone(), text: Ok(text.into()), state: None };
            files.insert(path, Some(Arc::new(file)));
        }
    }
    panic!("files are asked for without end: {text:?}");
}

/// Reads a text as a document that others are put into, as one that is put into others, and as one
/// that a DTD is put into.
fn parts(text: &str) {
    let mark = ("posts", "here");
    if let Ok(frame) = stet_xml::frame(text, mark, &LIMITS) {
        let (before, behind) = (&text[..frame.place.start], &text[frame.place.end..]);
        let whole = format!("{before}{}<x/>{}{behind}", frame.before, frame.after);
        // The inserted text may be one level below the deepest of the document.
        let room = Limits { max_depth: LIMITS.max_depth + 1, ..WIDE };
        let again =
            stet_xml::frame(&whole, mark, &room).unwrap_or_else(|error| panic!("{whole:?} comes of it: {error}"));
        assert_eq!(again.in_default, frame.in_default, "{whole:?}");
    }
    if let Ok(fragment) = stet_xml::fragment(text, &LIMITS) {
        for in_default in [false, true] {
            let mut whole = String::new();
            fragment.write(&mut whole, in_default);
            let again = stet_xml::fragment(&whole, &WIDE).map(|_| ());
            assert_eq!(again, Ok(()), "{whole:?}");
        }
        assert!(stet_xml::check(text, &LIMITS).is_ok(), "{text:?} is a part, and no document");
    }
    if let Some(doctype) = stet_xml::doctype_of(text) {
        let (before, behind) = (&text[..doctype.place.start], &text[doctype.place.end..]);
        let whole = doctype.with("<!ELEMENT x ANY>").map(|with| format!("{before}{with}{behind}"));
        assert!(whole.is_none_or(|whole| stet_xml::doctype_of(&whole).is_none()), "{text:?} still refers to a DTD");
    }
}

/// Asserts the relations between a document and its JSON.
fn check(text: &str, json: &Value) {
    let tight = Limits { max_bytes: text.len() - 1, ..LIMITS };
    assert_eq!(stet_xml::check(text, &tight).err().map(|error| error.kind()), Some(XmlErrorKind::TooLarge), "{text:?}");
    match stet_xml::from_json(json, &WIDE) {
        Ok(written) => {
            let read = stet_xml::to_json(&written, &WIDE);
            assert_eq!(read.as_ref().ok(), Some(json), "{written:?}");
        }
        // References that were bytes become longer when they are written.
        Err(error) => assert_eq!(error.kind(), XmlErrorKind::TooLarge, "{text:?}: {error}"),
    }
    let again =
        stet_xml::reserialize(text, &WIDE).unwrap_or_else(|error| panic!("{text:?} can't be written again: {error}"));
    assert_eq!(stet_xml::to_json(&again, &WIDE).as_ref().ok(), Some(json), "{again:?}");
    assert_eq!(stet_xml::reserialize(&again, &WIDE).as_ref().ok(), Some(&again));
}
