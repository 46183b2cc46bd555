//! Planning and event items of an agency, read by a planning desk and turned into a plan with
//! topics.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Value, json};

use super::{WireFile, create, items};
use crate::calendar::{calendar, properties};
use crate::harness::*;

/// The content of a topic to create.
struct Planned {
    /// The name, with colons, which names of objects can't have.
    name: String,
    title: String,
    lines: Vec<Line>,
}

/// The content of an item to create, with its subitems, and whether its object was delivered.
struct Line {
    body: Value,
    below: Vec<Value>,
    delivered: bool,
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn all<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |child| child.tag_name().name() == name)
}

fn text(node: Option<Node<'_, '_>>) -> Option<String> {
    let words: Vec<&str> = node?.text()?.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Epoch seconds.
fn seconds(date: &str) -> i64 {
    DateTime::parse_from_rfc3339(date).expect("it is a date").timestamp()
}

/// A planned piece of coverage.
fn piece(planning: Node<'_, '_>) -> Value {
    let (headline, note) = (text(child(planning, "headline")), text(child(planning, "edNote")));
    let assignees: Vec<String> = all(planning, "assignedTo").filter_map(|person| text(child(person, "name"))).collect();
    let mut body = json!({
        "name": headline.or_else(|| note.clone()).expect("it says what is planned"),
        "comment": note.unwrap_or_default(),
        "assignees": assignees,
    });
    if let Some(kind) = text(child(planning, "g2contentType")) {
        body["contentType"] = json!(kind);
    }
    if let Some(scheduled) = text(child(planning, "scheduled")) {
        body["dueDate"] = json!(seconds(&scheduled));
    }
    body
}

fn of_planning_item(item: Node<'_, '_>, source: &str) -> Planned {
    let lines = all(item, "newsCoverage").map(|coverage| {
        let mut pieces = all(coverage, "planning").map(piece);
        let mut body = pieces.next().expect("a coverage has a plan");
        body["attributes"] = json!(source[coverage.range()]);
        Line { body, below: pieces.collect(), delivered: all(coverage, "deliveredItemRef").next().is_some() }
    });
    let guid = item.attribute("guid").expect("it has one").to_owned();
    Planned { name: guid, title: text(all(item, "edNote").next()).unwrap_or_default(), lines: lines.collect() }
}

/// Returns the events of an item, each with its beginning.
fn of_events(root: Node<'_, '_>) -> Planned {
    let events = root.descendants().filter(|node| child(*node, "eventDetails").is_some());
    let lines = events.map(|event| {
        let start = text(all(event, "start").next()).expect("an event begins");
        let body = json!({
            "name": text(child(event, "name")).expect("an event has a name"),
            "contentType": "event",
            "dueDate": seconds(&start),
            "comment": text(child(event, "definition")).unwrap_or_default(),
        });
        Line { body, below: Vec::new(), delivered: false }
    });
    let guid = root.attribute("guid").expect("it has one").to_owned();
    Planned { name: guid, title: "Events".to_owned(), lines: lines.collect() }
}

fn planned(file: &WireFile) -> Option<Planned> {
    let source = std::str::from_utf8(&file.bytes).ok()?.trim_start_matches('\u{feff}');
    let document =
        Document::parse_with_options(source, ParsingOptions { allow_dtd: true, ..Default::default() }).ok()?;
    let root = document.root_element();
    if root.tag_name().name() == "planningItem" {
        return Some(of_planning_item(root, source));
    }
    let has_events = root.descendants().any(|node| child(node, "eventDetails").is_some());
    has_events.then(|| of_events(root))
}

fn id(reply: &Value) -> String {
    reply["info"]["id"].as_str().expect("it has an id").to_owned()
}

#[test]
fn planning_items_of_an_agency_become_a_plan_with_topics() {
    let files = items();
    let found: Vec<(&WireFile, Planned)> = files.iter().filter_map(|file| Some((file, planned(file)?))).collect();
    if files.is_empty() {
        return;
    }
    assert!(found.len() >= 6, "{} planning items and lists of events", found.len());
    let (editor, folder) = (Server::shared().user("editor"), own_folder());
    let plan = id(&editor.call("topicplan-post", &[]).json(&json!({ "name": "wire", "folder": folder })).ok());
    for (number, (file, planned)) in found.iter().enumerate() {
        let made = editor.call("topic-post", &[]).json(&json!({
            "name": planned.name, "title": planned.title, "folderPath": format!("{folder}/{number}"),
        }));
        let topic = id(&made.ok());
        editor.call("topicplan-add-put", &[&plan, &topic]).ok();
        for line in &planned.lines {
            let item = id(&editor.call("topicitem-post", &[&topic]).json(&line.body).ok());
            for below in &line.below {
                editor.call("topicsubitem-post", &[&topic, &item]).json(below).ok();
            }
            if line.delivered {
                let object = create(&editor, &format!("{folder}/{}", item.replace('$', "-")), file);
                editor.call("topicitem-attach-put", &[&topic, &item, &object]).ok();
            }
        }
    }
    let read =
        editor.call("topicplan-get", &[&plan]).query("limitToChildren", false).query("showAttachment", true).ok();
    let topics = read["items"].as_array().expect("there is a list");
    assert_eq!(topics.len(), found.len());
    let mut counts = [0; 4];
    for (topic, (file, planned)) in topics.iter().zip(&found) {
        assert_eq!(topic["info"]["name"], planned.name.replace(':', "_"));
        let items = topic["items"].as_array().expect("there is a list");
        assert_eq!(items.len(), planned.lines.len(), "{}", file.path);
        for (item, line) in items.iter().zip(&planned.lines) {
            assert_says(&item["info"], &line.body);
            let below = item["items"].as_array().expect("there is a list");
            assert_eq!(below.len(), line.below.len());
            below.iter().zip(&line.below).for_each(|(item, body)| assert_says(&item["info"], body));
            assert_eq!(item["attachment"].is_object(), line.delivered);
            let facts = [true, line.delivered, !line.below.is_empty(), line.body.get("dueDate").is_some()];
            counts.iter_mut().zip(facts).for_each(|(count, fact)| *count += usize::from(fact));
        }
    }
    is_a_calendar_of(&editor.call("stet-topicplan-export-get", &[&plan, &"ics"]).send(), &found);
    let [all, delivered, with_subitems, due] = counts;
    assert!(all >= 12 && delivered >= 2 && with_subitems >= 1 && due >= 8, "{counts:?}");
}

/// An item says what its body said; attributes are shown as JSON.
fn assert_says(info: &Value, body: &Value) {
    for (field, value) in body.as_object().expect("it is an object") {
        if field == "attributes" {
            assert!(info["attributes"]["newsCoverage"].is_object(), "{info}");
        } else {
            assert_eq!(&info[field], value, "{field}");
        }
    }
}

/// The moment that a time in a calendar of the newsroom stands for, in epoch seconds.
fn moment(text: &str) -> i64 {
    let london = jiff::tz::TimeZone::get("Europe/London").expect("it is in the database");
    let local = |format: &str, text: &str| {
        jiff::civil::DateTime::strptime(format, text).expect("it is a time").to_zoned_datetime(london.clone())
    };
    let zoned = match text.split_once(':') {
        Some(("VALUE=DATE", day)) => local("%Y%m%dT%H%M%S", &format!("{day}T000000")),
        Some(("TZID=Europe/London", time)) => local("%Y%m%dT%H%M%S", time),
        _ => {
            let time = NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").expect("it is a time");
            return time.and_utc().timestamp();
        }
    };
    zoned.expect("it is a time").timestamp().as_second()
}

/// A calendar program finds each item and subitem, in order, with its name and when it is due.
fn is_a_calendar_of(answer: &Answer, found: &[(&WireFile, Planned)]) {
    let lines = found.iter().flat_map(|(_, planned)| &planned.lines);
    let bodies = lines.flat_map(|line| std::iter::once(&line.body).chain(&line.below));
    let wanted: Vec<(Option<&str>, Option<i64>)> =
        bodies.map(|body| (body["name"].as_str(), body["dueDate"].as_i64())).collect();
    let calendar = calendar(answer);
    let todos: Vec<_> = calendar.todos.iter().map(properties).collect();
    let read = |todo: &'_ BTreeMap<&str, String>| todo.get("DUE").map(|text| moment(text));
    let read: Vec<(Option<&str>, Option<i64>)> =
        todos.iter().map(|todo| (todo.get("SUMMARY").map(String::as_str), read(todo))).collect();
    assert_eq!(read, wanted);
}
