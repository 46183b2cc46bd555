//! Topics and plans as calendars and tables, as those read them who have nothing to do with us.

use std::collections::BTreeMap;

use super::*;
use crate::api::liveblog::reporter_below;
use crate::calendar::{by_name, calendar, properties, unescaped};

/// A file that was exported.
#[track_caller]
fn served(call: &Call<'_>) -> Answer {
    let answer = call.send();
    assert_eq!(answer.status, 200, "{}", text(&answer));
    answer
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).expect("it is UTF-8")
}

fn summaries(answer: &Answer) -> Vec<String> {
    calendar(answer).todos.iter().map(|todo| properties(todo)["SUMMARY"].clone()).collect()
}

/// The rows of a table by their columns, as they stand there.
#[track_caller]
fn rows(answer: &Answer) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(answer.body.as_slice());
    reader.deserialize().map(|row| row.unwrap_or_else(|error| panic!("{error}: {}", text(answer)))).collect()
}

fn names(answer: &Answer) -> Vec<String> {
    rows(answer).iter().map(|row| row["name"].clone()).collect()
}

impl Desk {
    fn export(&self, topic: &str, format: &str) -> Call<'_> {
        self.call("stet-topic-export-get", &[&topic, &format])
    }

    fn export_plan(&self, plan: &str, format: &str) -> Call<'_> {
        self.call("stet-topicplan-export-get", &[&plan, &format])
    }
}

/// Returns the body of an item with every property.
fn all_of_an_item(story: &str) -> Value {
    json!({
        "name": "Storm: \"Ada\"; part 1, draft\\final",
        "contentType": "Text",
        "comment": "Call the harbour,\r\nthen write;\tor not.\rEND:VTODO\u{7}",
        "occupation": "Reporting",
        "priority": 3,
        "customPriority": "A, urgent",
        "product": "Paper; daily",
        "edition": "North, South",
        "assignees": ["Ann, Lee", "Bob"],
        "dueDate": 1_782_000_000,
        "attachment": story,
    })
}

#[test]
fn a_calendar_program_finds_what_the_items_say() {
    let desk = Desk::new();
    let (topic, story) = (desk.topic("Week 1, ä"), desk.story("a.xml"));
    let item = desk.item(&topic, all_of_an_item(&story));
    let comment = "Ä long comment, with; all\\that is folded. ".repeat(150) + "Ends.";
    desk.subitem(&topic, &item, json!({ "name": "Picture", "comment": comment, "priority": "high" }));
    desk.divider(&topic, json!({ "title": "no task" }));
    desk.item(&topic, json!({ "name": "last", "priority": "9" }));

    let answer = served(&desk.export(&topic, "ics"));
    assert_eq!(answer.header("content-type"), Some("text/calendar; charset=utf-8"));
    let whole = desk.read(&topic).query("limitToChildren", false).ok();
    let text = text(&answer);
    for line in text.strip_suffix("\r\n").expect("the last line ends").split("\r\n") {
        assert!(line.len() <= 75, "{line}");
        assert!(!line.contains(|letter: char| letter.is_control() && letter != '\t'), "{line:?}");
    }
    let calendar = calendar(&answer);
    let head = |name: &str| {
        let found = calendar.properties.iter().find(|property| property.name == name).expect("it stands there");
        unescaped(found.value.as_deref().expect("it has a value"))
    };
    assert_eq!([head("VERSION"), head("PRODID")], ["2.0", "-//stet//stet//EN"]);
    assert_eq!([head("NAME"), head("X-WR-CALNAME")], ["Week 1, ä", "Week 1, ä"]);
    assert!(calendar.events.is_empty());

    let todos: Vec<_> = calendar.todos.iter().map(properties).collect();
    let info = &whole["items"][0]["info"];
    let uuid = |info: &Value| info["pstate"]["uuid"].as_str().expect("it has a uuid").to_owned();
    let stamp = |time: &Value| {
        let time = i64::try_from(time.as_u64().expect("it has a time")).expect("it is not so late");
        chrono::DateTime::from_timestamp(time, 0).expect("it is a time").format("%Y%m%dT%H%M%SZ").to_string()
    };
    let wanted = [
        ("CATEGORIES", "Paper\\; daily,North\\, South".to_owned()),
        ("CREATED", stamp(&info["created"])),
        ("DESCRIPTION", "Call the harbour,\nthen write;\tor not.\nEND:VTODO".to_owned()),
        ("DTSTAMP", stamp(&info["modified"])),
        ("DUE", "TZID=Europe/London:20260621T010000".to_owned()),
        ("LAST-MODIFIED", stamp(&info["modified"])),
        ("PRIORITY", "3".to_owned()),
        ("SUMMARY", "Storm: \"Ada\"; part 1, draft\\final".to_owned()),
        ("UID", uuid(info)),
        ("X-STET-ASSIGNEE", "Ann, Lee\nBob".to_owned()),
        ("X-STET-ATTACHMENT", story),
        ("X-STET-CONTENT-TYPE", "Text".to_owned()),
        ("X-STET-CUSTOM-PRIORITY", "A, urgent".to_owned()),
        ("X-STET-OCCUPATION", "Reporting".to_owned()),
        ("X-STET-TOPIC", "Week 1, ä".to_owned()),
    ];
    let status = info["statusInfo"]["name"].as_str().map(|status| ("X-STET-STATUS", status.to_owned()));
    assert_eq!(todos[0], wanted.into_iter().chain(status).collect());
    assert_eq!((&todos[1]["SUMMARY"], &todos[1]["RELATED-TO"]), (&"Picture".to_owned(), &uuid(info)));
    assert_eq!(todos[1]["DESCRIPTION"], comment);
    assert_eq!(todos[1]["UID"], uuid(&whole["items"][0]["items"][0]["info"]));
    assert_eq!([todos[1].get("PRIORITY"), todos[1].get("DUE"), todos[1].get("CATEGORIES")], [None; 3]);
    assert_eq!((&*todos[2]["SUMMARY"], &*todos[2]["PRIORITY"], todos.len()), ("last", "9", 3));
}

#[test]
fn a_spreadsheet_finds_what_the_items_say() {
    let desk = Desk::new();
    let (topic, story) = (desk.topic("-1"), desk.story("a.xml"));
    let item = desk.item(&topic, all_of_an_item(&story));
    let sub = desk.subitem(&topic, &item, json!({ "name": "=HYPERLINK(\"x\")", "customPriority": -5 }));
    desk.divider(&topic, json!({ "title": "no row" }));
    let last = desk.item(&topic, json!({ "name": "last", "comment": "  @A1", "assignees": ["+49", "'x"] }));

    let answer = served(&desk.export(&topic, "csv"));
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert!(text(&answer).starts_with("topic,topicName,item,subitem,position,name,status,assignees,dueDate,"));
    assert!(text(&answer).ends_with("\r\n"));
    let rows = rows(&answer);
    let status = desk.read(&topic).ok()["items"][0]["info"]["statusInfo"]["name"].clone();
    let wanted = json!({
        "topic": topic, "topicName": "'-1", "item": item, "subitem": "", "position": "0",
        "name": "Storm: \"Ada\"; part 1, draft\\final", "status": status.as_str().unwrap_or_default(),
        "assignees": "Ann, Lee; Bob", "dueDate": "2026-06-21T00:00:00Z", "occupation": "Reporting", "priority": "3",
        "customPriority": "A, urgent", "product": "Paper; daily", "edition": "North, South", "contentType": "Text",
        "comment": "Call the harbour,\r\nthen write;\tor not.\rEND:VTODO\u{7}", "attachment": story,
        "topicTitle": "'-1",
    });
    assert_eq!(json!(rows[0]), wanted);
    includes(&json!(rows[1]), &json!({ "item": item, "subitem": sub, "position": "0", "name": "'=HYPERLINK(\"x\")" }));
    assert_eq!((&*rows[1]["customPriority"], &*rows[1]["dueDate"], &*rows[1]["attachment"]), ("-5", "", ""));
    includes(&json!(rows[2]), &json!({ "item": last, "position": "2", "comment": "'  @A1", "assignees": "'+49; 'x" }));
    assert_eq!(rows.len(), 3);
}

#[test]
fn exports_of_empty_topics_and_plans_are_files_without_items() {
    let desk = Desk::new();
    for call in [desk.export(&desk.topic("t"), "ics"), desk.export_plan(&desk.plan("p"), "ics")] {
        assert_eq!(summaries(&served(&call)), Vec::<String>::new());
    }
    assert_eq!(rows(&served(&desk.export(&desk.topic("u"), "csv"))).len(), 0);
}

#[test]
fn calendar_without_items_is_valid_and_says_what_time_it_is() {
    let desk = Desk::new();
    for call in [desk.export(&desk.topic("t"), "ics"), desk.export_plan(&desk.plan("p"), "ics")] {
        for components in ["todos", "events", "todos,events"] {
            let answer = served(&call.clone().query("as", components));
            let found = calendar(&answer);
            // RFC 5545, 3.6: one component at least.
            let [zone] = &*found.timezones else { panic!("{}", text(&answer)) };
            assert_eq!(by_name(&zone.properties)["TZID"], "Europe/London");
            let of = |name: &str| {
                let changes = zone.transitions.iter().map(|one| by_name(&one.properties));
                let mut yearly = changes.filter(|one| one.contains_key("RDATE"));
                yearly.find(|one| one["TZNAME"] == name).expect("it has that")
            };
            let (summer, winter) = (of("BST"), of("GMT"));
            assert_eq!((&*summer["TZOFFSETTO"], &*winter["TZOFFSETTO"]), ("+0100", "+0000"));
            assert!(summer["RDATE"].contains("20260329T010000"), "{summer:?}");
            assert!(winter["RDATE"].contains("20261025T020000"), "{winter:?}");
        }
    }
}

#[test]
fn deadlines_are_events_in_the_time_of_the_newsroom_if_asked() {
    let desk = Desk::new();
    let topic = desk.topic("t");
    // Midnight in London, in summer and in winter: the day itself.
    let item = desk.item(&topic, json!({ "name": "midsummer", "dueDate": 1_781_996_400, "comment": "c" }));
    desk.subitem(&topic, &item, json!({ "name": "winter", "dueDate": 1_764_201_600 }));
    desk.item(&topic, json!({ "name": "noon", "dueDate": 1_782_039_600 }));
    desk.item(&topic, json!({ "name": "some time" }));
    let of = |components: &str| calendar(&served(&desk.export(&topic, "ics").query("as", components)));
    let events = of("events");
    assert_eq!(events.todos.len(), 0);
    let found: Vec<_> = events.events.iter().map(|event| by_name(&event.properties)).collect();
    let times: Vec<_> = found.iter().map(|event| (&*event["SUMMARY"], &*event["DTSTART"])).collect();
    let wanted = [
        ("midsummer", "VALUE=DATE:20260621"),
        ("winter", "VALUE=DATE:20251127"),
        ("noon", "TZID=Europe/London:20260621T120000"),
    ];
    assert_eq!(times, wanted);
    assert_eq!((&*found[0]["TRANSP"], &*found[0]["DESCRIPTION"]), ("TRANSPARENT", "c"));
    assert_eq!(found[1]["RELATED-TO"], found[0]["UID"]);
    let both = of("todos,events");
    assert_eq!((both.todos.len(), both.events.len()), (4, 3));
    let todos: Vec<_> = both.todos.iter().map(properties).collect();
    assert_eq!(todos[1]["DUE"], "VALUE=DATE:20251127");
    assert_ne!(todos[0]["UID"], found[0]["UID"], "no two components have one UID");
    for wrong in ["event", "todos,alarms", "EVENTS"] {
        says(
            &desk.export(&topic, "ics").query("as", wrong).fails(400, "InvalidParameter"),
            "`todos`, `events` or both",
        );
    }
    let tag = |components: &str| {
        served(&desk.export(&topic, "ics").query("as", components)).header("etag").map(str::to_owned)
    };
    assert_ne!(tag("events"), tag("todos"));
}

#[test]
fn files_are_called_by_the_titles_of_topics_and_plans() {
    let desk = Desk::new();
    let made = |call: &str, name: &str, body: Value| {
        let body = with(body, json!({ "name": name, "folder": desk.folder }));
        id(&desk.call(call, &[]).json(&body).ok())
    };
    let headline = json!({ "metadata": { "section": "City", "headline": " The  ferry\n stays " } });
    let titled = made("topic-post", "a", json!({ "title": "Ferry: the vote", "attributes": headline }));
    let headed = made("topic-post", "b", json!({ "attributes": headline }));
    let plain = made("topic-post", "c", json!({ "attributes": "<other/>" }));
    for (topic, name, title) in
        [(&titled, "a", "Ferry: the vote"), (&headed, "b", "The ferry stays"), (&plain, "c", "c")]
    {
        desk.item(topic, json!({ "name": "i" }));
        let answer = served(&desk.export(topic, "ics"));
        let found = calendar(&answer);
        let head = by_name(&found.properties);
        assert_eq!((&*head["X-WR-CALNAME"], &*properties(&found.todos[0])["X-STET-TOPIC"]), (title, title));
        let table = served(&desk.export(topic, "csv"));
        assert_eq!((&*rows(&table)[0]["topicName"], &*rows(&table)[0]["topicTitle"]), (name, title));
    }
    let plan = made("topicplan-post", "p", json!({ "title": "Week 48" }));
    desk.call("topicplan-add-put", &[&plan, &headed]).ok();
    let found = calendar(&served(&desk.export_plan(&plan, "ics")));
    assert_eq!(by_name(&found.properties)["X-WR-CALNAME"], "Week 48");
    assert_eq!(properties(&found.todos[0])["X-STET-TOPIC"], "The ferry stays");
}

#[test]
fn another_format_is_refused_and_the_two_are_named() {
    let desk = Desk::new();
    let (topic, plan) = (desk.topic("t"), desk.plan("p"));
    for format in ["pdf", "ICS", "ics ", "text/csv"] {
        for call in [desk.export(&topic, format), desk.export_plan(&plan, format)] {
            let refused = call.fails(400, "InvalidParameter");
            says(&refused, "`ics` or `csv`");
        }
    }
    desk.export(&plan, "ics").fails(400, "InvalidType");
    desk.export_plan(&topic, "ics").fails(400, "InvalidType");
}

#[test]
fn a_file_has_a_name_and_a_tag_that_speaks_of_all_that_is_in_it() {
    let desk = Desk::new();
    let (topic, plan, story) = (desk.topic("Wöche"), desk.plan("p"), desk.story("a.xml"));
    desk.call("topicplan-add-put", &[&plan, &topic]).ok();
    let item = desk.item(&topic, json!({ "name": "i", "attachment": story }));
    let calls = || [desk.export(&topic, "ics"), desk.export(&topic, "csv"), desk.export_plan(&plan, "ics")];
    let tags = || calls().map(|call| served(&call).header("etag").expect("it has a tag").to_owned());
    let answer = served(&desk.export(&topic, "ics"));
    let name = "attachment; filename=\"W_che.ics\"; filename*=UTF-8''W%C3%B6che%2Eics";
    assert_eq!(answer.header("content-disposition"), Some(name));
    assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
    assert_eq!(answer.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    let mut seen = vec![tags()];
    assert_ne!(seen[0][0], seen[0][1], "formats have tags of their own");
    desk.call("topicitem-put", &[&topic, &item]).json(&json!({ "comment": "c" })).ok();
    seen.push(tags());
    desk.discard(&story);
    seen.push(tags());
    for (before, after) in seen.iter().zip(&seen[1..]) {
        assert!(before.iter().zip(after).all(|(before, after)| before != after), "{before:?} {after:?}");
    }
    for (call, tag) in calls().into_iter().zip(&seen[2]) {
        let answer = call.header("if-none-match", tag).send();
        assert_eq!((answer.status, answer.body.len()), (304, 0));
    }
}

#[test]
fn a_plan_gives_its_topics_in_order_without_those_in_the_recycle_bin() {
    let desk = Desk::new();
    let plan = desk.plan("p");
    let topics = ["a", "b", "c"].map(|name| {
        let topic = desk.topic(name);
        let item = desk.item(&topic, json!({ "name": format!("{name}1") }));
        desk.subitem(&topic, &item, json!({ "name": format!("{name}2") }));
        desk.call("topicplan-add-put", &[&plan, &topic]).json(&json!({ "position": 0 })).ok();
        topic
    });
    desk.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d" })).ok();
    assert_eq!(summaries(&served(&desk.export_plan(&plan, "ics"))), ["c1", "c2", "b1", "b2", "a1", "a2"]);
    let table = served(&desk.export_plan(&plan, "csv"));
    assert_eq!(names(&table), ["c1", "c2", "b1", "b2", "a1", "a2"]);
    assert_eq!((&*rows(&table)[2]["topicName"], &rows(&table)[2]["topic"]), ("b", &topics[1]));
    desk.discard(&topics[1]);
    assert_eq!(summaries(&served(&desk.export_plan(&plan, "ics"))), ["c1", "c2", "a1", "a2"]);
    desk.export(&topics[1], "ics").fails(404, "ObjectNotFound");
    desk.restore(&topics[1]);
    assert_eq!(names(&served(&desk.export_plan(&plan, "csv"))).len(), 6);
}

#[test]
fn nothing_of_what_the_caller_may_not_read_is_exported() {
    let server = Server::start();
    let admin = server.user("admin");
    let reporter = reporter_below(&server, "/Open", &["read"]);
    let made = |call: &str, folder: &str, name: &str| {
        id(&admin.call(call, &[]).json(&json!({ "name": name, "folder": folder })).ok())
    };
    let (plan, open) = (made("topicplan-post", "/Open", "plan"), made("topic-post", "/Open", "open"));
    let (secret, story) = (made("topic-post", "/Closed", "secret"), admin.story("/Closed", "a.xml"));
    for topic in [&secret, &open] {
        admin.call("topicitem-post", &[topic]).json(&json!({ "name": "i", "attachment": story })).ok();
        admin.call("topicplan-add-put", &[&plan, topic]).ok();
    }
    for format in ["ics", "csv"] {
        let plan_export = |client: &Client| text(&served(&client.call("stet-topicplan-export-get", &[&plan, &format])));
        let all = plan_export(&admin);
        assert!(all.contains("secret") && all.contains(&story), "{all}");
        let seen = plan_export(&reporter);
        assert!(seen.contains("open") && !seen.contains("secret") && !seen.contains(&story), "{seen}");
        reporter.call("stet-topic-export-get", &[&secret, &format]).fails(404, "ObjectNotFound");
        let topic = text(&served(&reporter.call("stet-topic-export-get", &[&open, &format])));
        assert!(!topic.contains(&story), "{topic}");
    }
}

#[test]
fn a_large_file_is_made_while_it_goes_out_and_nothing_is_missing() {
    let desk = Desk::new();
    let plan = desk.plan("p");
    let comment = "large ".repeat(1300);
    let mut wanted = Vec::new();
    for topic in ["a", "b"] {
        let loid = desk.topic(topic);
        for number in 0..40 {
            let name = format!("{topic}{number}");
            let item = desk.item(&loid, json!({ "name": name, "comment": comment }));
            wanted.push(name);
            if number % 10 == 0 {
                desk.subitem(&loid, &item, json!({ "name": "sub" }));
                wanted.push("sub".to_owned());
            }
        }
        desk.call("topicplan-add-put", &[&plan, &loid]).ok();
    }
    let [calendar, table] = ["ics", "csv"].map(|format| served(&desk.export_plan(&plan, format)));
    assert_eq!(summaries(&calendar), wanted);
    assert_eq!(names(&table), wanted);
    for answer in [&calendar, &table] {
        assert!(answer.body.len() > 512 << 10, "{}", answer.body.len());
        assert_eq!(answer.header("content-length"), None);
    }
    assert_eq!(calendar.header("content-type"), Some("text/calendar; charset=utf-8"));
    let small = served(&desk.export(&desk.topic("t"), "ics"));
    assert!(small.header("content-length").is_some());
    let path = format!("/v3/container/topicplan/{plan}/export/ics");
    let head = desk.editor.send("HEAD", &path, &[], b"");
    assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, calendar.header("etag")));
}
