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

/// A record as a query shows it.
fn seen(desk: &Desk, made: &Value, query: &str) -> Value {
    with(desk.call("object-get", &[&id(made)]), query).ok()
}

#[test]
fn attributes_given_as_xml_or_as_json_come_out_equal_as_either() {
    let desk = Desk::of("reporter");
    for (name, given) in [("a", json!(XML)), ("b", view())] {
        let made = desk.create(name, b"x", json!({ "attributes": given })).ok();
        let record = seen(&desk, &made, "showXml");
        assert_eq!(record["attributes"], view());
        // The XML gives the same object again.
        let xml = &record["attributesXml"];
        let again = desk.create(&format!("{name} again"), b"x", json!({ "attributes": xml })).ok();
        assert_eq!(again["attributes"], view(), "{xml}");
    }
}

#[test]
fn xml_is_shown_as_it_is_stored_only_where_that_is_asked_for() {
    let desk = Desk::of("reporter");
    let text = "<?xml version='1.0'?>\n<!DOCTYPE m [ <!ENTITY e \"x\"> ]>\n<m  a='1' ><!-- kept --><b></b></m>";
    let made = desk.create("a", b"x", json!({ "attributes": text })).ok();
    let shown = |query: &str| seen(&desk, &made, query)["attributesXml"].clone();
    assert_eq!(shown("showXml=1&useUnparsedXml=1"), text);
    let parsed = shown("showXml=1").as_str().unwrap().to_owned();
    assert_ne!(parsed, text);
    assert!(parsed.contains("<!DOCTYPE m [ <!ENTITY e \"x\"> ]>"), "a DOCTYPE is kept: {parsed}");
    assert!(parsed.contains("<m a=\"1\"><!-- kept --><b/></m>"), "{parsed}");
    assert_eq!(shown("useUnparsedXml=1"), Value::Null, "not without showXml");
}

#[test]
fn options_choose_the_groups_and_the_forms_of_each() {
    let desk = Desk::of("reporter");
    let extra =
        json!({ "attributes": "<m>1</m>", "systemAttributes": "<props>2</props>", "usageTickets": "<tl>3</tl>" });
    let made = desk.create("a", b"x", extra).ok();
    let (all, none) = ([true; 4], [false; 4]);
    for (query, json, xml) in [
        ("", all, none),
        ("showXml", all, all),
        ("showXml&showJson=false", none, all),
        ("showJson=false", none, none),
        ("showXml&showSystemAttributes=0", [false, true, true, true], [false, true, true, true]),
        ("showXml&showAttributes=0", [true, false, true, true], [true, false, true, true]),
        ("showXml&showVirtualAttributes=0", [true, true, true, false], [true, true, true, false]),
        ("showUsageTickets=0", [true, true, false, true], none),
        // The clients' spelling.
        ("showSystemAttribute=0", [false, true, true, true], none),
    ] {
        let record = seen(&desk, &made, query);
        let groups = ["systemAttributes", "attributes", "usageTickets", "virtualAttributes"];
        assert_eq!(groups.map(|group| record.get(group).is_some()), json, "{query}");
        assert_eq!(groups.map(|group| record.get(format!("{group}Xml")).is_some()), xml, "{query}");
    }
    let both = seen(&desk, &made, "showXml=TRUE");
    shows(&both, json!({ "attributes": { "m": "1" }, "attributesXml": "<m>1</m>" }));
    shows(&both, json!({ "systemAttributesXml": "<props>2</props>", "usageTicketsXml": "<tl>3</tl>" }));
    let computed = both["virtualAttributesXml"].as_str().unwrap();
    assert!(computed.contains("<size>1</size>") && computed.contains("<versionCount>1</versionCount>"), "{computed}");
}

#[test]
fn an_object_without_attributes_shows_empty_groups_that_can_be_sent_back() {
    let desk = Desk::of("reporter");
    let made = desk.create("a", b"x", json!({})).ok();
    shows(&made, json!({ "attributes": {}, "systemAttributes": { "props": {} }, "usageTickets": { "tl": {} } }));
    for (name, attributes) in [("b", json!({})), ("c", Value::Null), ("d", json!(""))] {
        let extra = json!({ "attributes": attributes, "systemAttributes": made["systemAttributes"] });
        assert_eq!(desk.create(name, b"x", extra).ok()["attributes"], json!({}), "{attributes}");
    }
}

#[test]
fn invalid_attributes_are_refused_by_field_name_and_create_nothing() {
    let desk = Desk::of("reporter");
    let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
    let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>";
    let unknown = "<a>&unknown;</a>";
    let xml = ["<a>", "text", "<a/><b/>", "<a b=1/>", unknown, "<a>\u{1}</a>", "<a><b></a></b>", &deep, bomb, outside];
    let fields = ["attributes", "systemAttributes", "usageTickets"];
    let hostile = xml.into_iter().flat_map(|bad| fields.map(|field| (field, json!(bad))));
    let no_xml = [
        json!([]),
        json!(7),
        json!({ "a": 1, "b": 2 }),
        json!({ "no name": "" }),
        json!({ "a": [["b"]] }),
        json!({ "a": { "@b": {} } }),
        json!({ "a": "\u{1}" }),
    ];
    let other_roots = [
        ("systemAttributes", json!("<other/>")),
        ("systemAttributes", json!({ "other": "" })),
        ("usageTickets", json!("<props/>")),
    ];
    for (field, bad) in hostile.chain(no_xml.map(|bad| ("attributes", bad))).chain(other_roots) {
        let failure = desk.create("a", b"x", json!({ field: bad })).fails(400, "InvalidAttributes");
        assert!(failure["message"].as_str().unwrap().contains(&format!("`{field}`")), "{bad}: {failure}");
        assert_eq!(failure["details"]["field"], field, "{bad}");
    }
    is_gone(&desk, &desk.folder);
}
