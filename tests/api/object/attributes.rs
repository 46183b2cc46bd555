//! The four groups of attributes, as XML and as JSON.

use super::*;

/// A text with all that the mapping speaks of.
const XML: &str = "<m xmlns:x=\"urn:x\" x:a=\"1 &amp; 2\"><k>a</k><k>b</k><x:only/><mixed>one<b>two</b></mixed>\
                   <umlaut>\u{e4}\u{1f600}</umlaut><raw><![CDATA[<&>]]></raw></m>";

fn view() -> Value {
    json!({ "m": {
        "@xmlns:x": "urn:x", "@x:a": "1 & 2",
        "k": ["a", "b"], "x:only": "", "mixed": { "#text": "one", "b": "two" },
        "umlaut": "\u{e4}\u{1f600}", "raw": "<&>",
    }})
}

#[test]
fn attributes_given_as_xml_or_as_json_come_out_equal_as_either() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let from_xml = id(&upload(&client, &folder, "a", b"x", json!({ "attributes": XML })).ok());
    let from_json = id(&upload(&client, &folder, "b", b"x", json!({ "attributes": view() })).ok());
    let read = |id: &str| client.get(&format!("{}?showXml=true", object(id))).ok();
    let (a, b) = (read(&from_xml), read(&from_json));
    assert_eq!(a["attributes"], view());
    assert_eq!(b["attributes"], view());
    // The XML of each gives the same object again.
    for (name, xml) in [("c", &a["attributesXml"]), ("d", &b["attributesXml"])] {
        let made = upload(&client, &folder, name, b"x", json!({ "attributes": xml })).ok();
        assert_eq!(made["attributes"], view(), "{xml}");
    }
}

#[test]
fn xml_is_shown_as_it_is_stored_only_where_that_is_asked_for() {
    let client = Server::shared().login("reporter");
    let text = "<?xml version='1.0'?>\n<!DOCTYPE m [ <!ENTITY e \"x\"> ]>\n<m  a='1' ><!-- kept --><b></b></m>";
    let made = upload(&client, &own_folder(), "a", b"x", json!({ "attributes": text })).ok();
    let read = |query: &str| client.get(&format!("{}?{query}", object(&id(&made)))).ok();
    assert_eq!(read("showXml=1&useUnparsedXml=1")["attributesXml"], text);
    let parsed = read("showXml=1")["attributesXml"].as_str().unwrap().to_owned();
    assert_ne!(parsed, text);
    assert!(parsed.contains("<!DOCTYPE m [ <!ENTITY e \"x\"> ]>"), "a DOCTYPE is kept: {parsed}");
    assert!(parsed.contains("<m a=\"1\"><!-- kept --><b/></m>"), "{parsed}");
    assert_eq!(read("useUnparsedXml=1")["attributesXml"], Value::Null, "not without showXml");
}

#[test]
fn showxml_and_showjson_choose_the_forms_of_all_four_groups() {
    let client = Server::shared().login("reporter");
    let extra =
        json!({ "attributes": "<m>1</m>", "systemAttributes": "<props>2</props>", "usageTickets": "<tl>3</tl>" });
    let made = upload(&client, &own_folder(), "a", b"x", extra).ok();
    let read = |query: &str| client.get(&format!("{}?{query}", object(&id(&made)))).ok();
    let forms = |record: &Value| {
        let groups = ["systemAttributes", "attributes", "usageTickets", "virtualAttributes"];
        let has = |key: String| record.get(&key).is_some();
        (groups.map(|group| has(group.to_owned())), groups.map(|group| has(format!("{group}Xml"))))
    };
    assert_eq!(forms(&read("")), ([true; 4], [false; 4]));
    assert_eq!(forms(&read("showXml=true")), ([true; 4], [true; 4]));
    assert_eq!(forms(&read("showXml=true&showJson=false")), ([false; 4], [true; 4]));
    assert_eq!(forms(&read("showJson=false")), ([false; 4], [false; 4]));
    let both = read("showXml=TRUE");
    assert_eq!((&both["attributes"], &both["attributesXml"]), (&json!({ "m": "1" }), &json!("<m>1</m>")));
    assert_eq!(both["systemAttributesXml"], "<props>2</props>");
    assert_eq!(both["usageTicketsXml"], "<tl>3</tl>");
    let computed = both["virtualAttributesXml"].as_str().unwrap();
    assert!(computed.contains("<size>1</size>") && computed.contains("<versionCount>1</versionCount>"), "{computed}");
    for (group, place) in [("System", 0), ("", 1), ("Virtual", 3)] {
        let name = if group.is_empty() { "showAttributes".to_owned() } else { format!("show{group}Attributes") };
        let mut expected = [true; 4];
        expected[place] = false;
        assert_eq!(forms(&read(&format!("{name}=0&showXml=1"))), (expected, expected), "{name}");
    }
    assert_eq!(forms(&read("showUsageTickets=0")).0, [true, true, false, true]);
    assert_eq!(forms(&read("showSystemAttribute=0")).0, [false, true, true, true], "the clients' spelling");
}

#[test]
fn an_object_without_attributes_shows_empty_groups_that_can_be_sent_back() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let made = upload(&client, &folder, "a", b"x", json!({})).ok();
    assert_eq!(made["attributes"], json!({}));
    assert_eq!(made["systemAttributes"], json!({ "props": {} }));
    assert_eq!(made["usageTickets"], json!({ "tl": {} }));
    for (name, attributes) in [("b", json!({})), ("c", Value::Null), ("d", json!(""))] {
        let extra = json!({ "attributes": attributes, "systemAttributes": made["systemAttributes"] });
        let again = upload(&client, &folder, name, b"x", extra).ok();
        assert_eq!(again["attributes"], json!({}), "{attributes}");
    }
}

#[test]
fn hostile_xml_is_refused_by_the_name_of_its_field_and_creates_nothing() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
    let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>";
    for bad in [
        "<a>",
        "text",
        "<a/><b/>",
        "<a b=1/>",
        "<a>&unknown;</a>",
        "<a>\u{1}</a>",
        "<a><b></a></b>",
        &deep,
        bomb,
        outside,
    ] {
        for field in ["attributes", "systemAttributes", "usageTickets"] {
            let failure = upload(&client, &folder, "a", b"x", json!({ field: bad })).fails(400, "InvalidAttributes");
            assert!(failure["message"].as_str().unwrap().contains(&format!("`{field}`")), "{bad}: {failure}");
            assert_eq!(failure["details"]["field"], field);
        }
    }
    assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404, "nothing was made");
}

#[test]
fn json_that_no_xml_can_be_made_of_is_refused() {
    let client = Server::shared().login("reporter");
    for bad in [
        json!([]),
        json!(7),
        json!({ "a": 1, "b": 2 }),
        json!({ "no name": "" }),
        json!({ "a": [["b"]] }),
        json!({ "a": { "@b": {} } }),
        json!({ "a": "\u{1}" }),
    ] {
        let failure = upload(&client, &own_folder(), "a", b"x", json!({ "attributes": bad }));
        failure.fails(400, "InvalidAttributes");
    }
}

#[test]
fn system_attributes_and_tickets_must_have_their_root() {
    let client = Server::shared().login("reporter");
    for (field, bad) in [
        ("systemAttributes", json!("<other/>")),
        ("systemAttributes", json!({ "other": "" })),
        ("usageTickets", json!("<props/>")),
    ] {
        let failure = upload(&client, &own_folder(), "a", b"x", json!({ field: bad }));
        let failure = failure.fails(400, "InvalidAttributes");
        assert_eq!(failure["details"]["field"], field);
    }
}
