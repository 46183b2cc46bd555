//! Stories created from a template, with the options of published clients.

use super::*;

/// The creation with other options.
fn with_options(name: &str, options: Value) -> Value {
    let mut body = story(name, json!(1));
    body.as_object_mut().expect("it is an object").remove("issueDate");
    body["systemAttributes"] = Value::Null;
    body["options"] = options;
    body
}

#[test]
fn story_from_template_is_checked_out_and_keeps_what_is_said() {
    let server = server_with(&[]);
    let (mine, other) = (desk(&server, "editor"), desk(&server, "editor"));
    let first = create(&mine, &story("neon.xml", json!(1)));
    let made = result(first);
    let id = id_of(&made);
    assert_eq!((&made["issueDate"], &made["workFolder"]), (&json!("20261201"), &json!("/News/City")));
    let props = &record(&mine, &id)["systemAttributes"]["props"];
    assert_eq!(props["productInfo"], json!({ "section": "City", "issueDate": "20261201", "edition": "Morning" }));
    assert_eq!((&props["templateName"], &props["workFolder"]), (&json!("story.xml"), &json!("/News/City")));
    // The lock is that of the session that made it.
    assert_eq!(record(&mine, &id)["locker"]["id"], "editor");
    let write = |desk: &Client| desk.send("PUT", &format!("/v3/object/{id}/content"), &[], b"<story/>");
    assert_eq!(refusal(&write(&other)), refused(403, "ObjectLockedByMe"));
    assert_eq!(write(&mine).status, 200);
    // The same name again is another story.
    let again = result(create(&mine, &story("neon.xml", json!("1"))));
    assert_ne!(id_of(&again), id);
    assert_ne!(again["name"], made["name"]);
}

#[test]
fn story_takes_product_and_date_of_the_calendar_where_none_is_said() {
    let server = server_with(&[]);
    let desk = desk(&server, "reporter");
    let userdata = desk.get("/conf/userdata").json();
    let next = &userdata["system_attributes"]["productInfo"]["issueDate"];
    let calendar =
        json!({ "useDefaultProduct": true, "issueDateDefaultStrategy": "CALENDAR", "createMode": "AUTO_RENAME" });
    let product_info = |made: &Value| record(&desk, &id_of(made))["systemAttributes"]["props"]["productInfo"].clone();
    let made = result(create(&desk, &with_options("a.xml", calendar.clone())));
    assert_eq!(&made["issueDate"], next, "{made}");
    assert_eq!((&product_info(&made)["name"], &product_info(&made)["issueDate"]), (&json!("HarbourCourier"), next));

    // The day is that of the product that is named, and the product is only stored where the call
    // asks for it.
    let asked = |product: &str| {
        let today = jiff::Timestamp::now().strftime("%Y%m%d").to_string();
        desk.get(&format!("/calendar/nextPublicationDate?product={product}&fromIssueDate={today}")).json()
    };
    let mut body = with_options("b.xml", calendar.clone());
    body["product"] = json!("BayMagazine");
    let made = result(create(&desk, &body));
    assert_eq!(made["issueDate"], asked("BayMagazine")["nextPublicationDate"], "{made}");
    assert_eq!(product_info(&made)["name"], "BayMagazine");
    let dated = with_options("c.xml", json!({ "issueDateDefaultStrategy": "CALENDAR" }));
    let made = result(create(&desk, &dated));
    assert_eq!((&made["issueDate"], product_info(&made).get("name")), (next, None));

    // Missing values are filled into the call's attributes, and nothing else is changed.
    let mut body = with_options("d.xml", calendar.clone());
    body["systemAttributes"] = json!({ "props": { "productInfo": { "section": "City", "issueDate": "" } } });
    let made = result(create(&desk, &body));
    assert_eq!(&made["issueDate"], next);
    let expected = json!({ "section": "City", "issueDate": next, "name": "HarbourCourier" });
    assert_eq!(product_info(&made), expected);

    // A stated value wins, wherever it is stated.
    let mut body = with_options("e.xml", calendar.clone());
    body["systemAttributes"] = json!({ "props": { "productInfo": { "name": "Own", "issueDate": "20270105" } } });
    let made = result(create(&desk, &body));
    assert_eq!(product_info(&made), json!({ "name": "Own", "issueDate": "20270105" }));
    assert_eq!(made["issueDate"], "20270105");

    // Without the options nothing is filled in, and a product without a calendar has no day.
    let none = json!({ "useDefaultProduct": false, "issueDateDefaultStrategy": "NONE" });
    let made = result(create(&desk, &with_options("f.xml", none)));
    assert_eq!(made["issueDate"], Value::Null);
    let mut body = with_options("g.xml", calendar);
    body["product"] = json!("Nobody's");
    assert_eq!(result(create(&desk, &body))["issueDate"], Value::Null);
}

#[test]
fn story_that_exists_keeps_its_day_when_it_gets_a_version() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let mut body = story("kept.xml", json!(1));
    body["options"] = json!({ "createMode": "NEW_VERSION" });
    let id = id_of(&result(create(&desk, &body)));
    let mut again = with_options(
        "kept.xml",
        json!({
            "createMode": "NEW_VERSION", "useDefaultProduct": true, "issueDateDefaultStrategy": "CALENDAR",
        }),
    );
    again["folder"] = result(desk.get(&format!("/v3/object/{id}?showPath=true")))["path"]
        .as_str()
        .and_then(|path| path.rsplit_once('/'))
        .map(|(folder, _)| json!(folder))
        .expect("it lies in a folder");
    let made = result(create(&desk, &again));
    assert_eq!((id_of(&made), &made["issueDate"]), (id.clone(), &json!("20261201")));
    let info = &record(&desk, &id)["systemAttributes"]["props"]["productInfo"];
    assert_eq!(info, &json!({ "section": "City", "issueDate": "20261201", "edition": "Morning" }));
}

#[test]
fn story_name_takes_the_time_in_front_of_its_extension() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let made = result(create(&desk, &with_options("brief.xml", json!({ "timeSuffix": true }))));
    let name = made["name"].as_str().expect("it has a name");
    let time = name.strip_prefix("brief_").and_then(|rest| rest.strip_suffix(".xml")).expect("the time is put in");
    assert!(time.len() == 15 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'), "{name}");
}

#[test]
fn story_with_options_that_are_none_is_refused() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    for (options, says) in [
        (json!({ "issueDateDefaultStrategy": "TOMORROW" }), "CALENDAR"),
        (json!({ "useDefaultProduct": "perhaps" }), "useDefaultProduct"),
        (json!({ "timeSuffix": 3 }), "timeSuffix"),
    ] {
        let answer = create(&desk, &with_options("x.xml", options));
        assert_eq!(refusal(&answer), refused(400, "InvalidBody"), "{says}");
        assert!(String::from_utf8_lossy(&answer.body).contains(says), "{answer:?}");
    }
    let nowhere = desk.post("/v3/object/story/from/template/path", &story("x.xml", json!(1)));
    assert_eq!(refusal(&nowhere), refused(400, "InvalidParameter"));
}
