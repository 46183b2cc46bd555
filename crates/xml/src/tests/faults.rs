//! Refused texts, and the kind and place of each fault.

use serde_json::json as j;

use super::*;

#[track_caller]
fn refused(cases: &[(&str, XmlErrorKind, usize)]) {
    for (text, kind, offset) in cases {
        let fault = xml_fault(text);
        assert_eq!(fault.kind(), *kind, "{text:?}: {fault}");
        assert_eq!(fault.location(), &Location::Byte(*offset), "{text:?}: {fault}");
        assert!(fault.to_string().ends_with('.'), "{fault}");
    }
}

#[test]
fn tags_must_match_and_close() {
    refused(&[
        ("<a><b></a></b>", XmlErrorKind::TagMismatch, 6),
        ("<a><b></b>", XmlErrorKind::TagMismatch, 0),
        ("<a/></a>", XmlErrorKind::TagMismatch, 4),
        ("</a>", XmlErrorKind::TagMismatch, 0),
        ("<a></A>", XmlErrorKind::TagMismatch, 3),
        ("<a></a x=''>", XmlErrorKind::TagMismatch, 3),
        ("<a", XmlErrorKind::Syntax, 0),
        ("<a b='", XmlErrorKind::Syntax, 0),
        ("<a><", XmlErrorKind::Syntax, 3),
    ]);
}

#[test]
fn there_is_exactly_one_root_and_no_text_around_it() {
    refused(&[
        ("", XmlErrorKind::NotOneRoot, 0),
        (" <!-- c -->", XmlErrorKind::NotOneRoot, 11),
        ("<a/><b/>", XmlErrorKind::NotOneRoot, 4),
        ("<a/>x", XmlErrorKind::Syntax, 4),
        ("x<a/>", XmlErrorKind::Syntax, 0),
        ("<a/>&amp;", XmlErrorKind::Syntax, 4),
        ("<a/>&#32;", XmlErrorKind::Syntax, 4),
        ("<![CDATA[ ]]><a/>", XmlErrorKind::Syntax, 0),
        ("<a/>\u{FEFF}", XmlErrorKind::Syntax, 4),
        ("\u{FEFF}\u{FEFF}<a/>", XmlErrorKind::Syntax, 3),
    ]);
}

#[test]
fn attributes_follow_the_grammar() {
    refused(&[
        ("<a b='1' c='2' b='3'/>", XmlErrorKind::DuplicateAttribute, 15),
        ("<a b='1'c='2'/>", XmlErrorKind::Syntax, 8),
        ("<a b=1/>", XmlErrorKind::Syntax, 5),
        ("<a b/>", XmlErrorKind::Syntax, 4),
        ("<a b />", XmlErrorKind::Syntax, 5),
        ("<a b='<'/>", XmlErrorKind::Syntax, 6),
        ("<a b='& '/>", XmlErrorKind::Syntax, 6),
        ("<a b='&x y;'/>", XmlErrorKind::Syntax, 6),
        ("<a / >", XmlErrorKind::Syntax, 3),
        ("<a ='x'/>", XmlErrorKind::Syntax, 3),
    ]);
}

#[test]
fn names_are_legal_xml_names() {
    refused(&[
        ("<1/>", XmlErrorKind::BadName, 1),
        ("<a><-b/></a>", XmlErrorKind::BadName, 4),
        ("<a $b='1'/>", XmlErrorKind::BadName, 3),
        ("<a\u{A0}/>", XmlErrorKind::BadName, 1),
        ("< a/>", XmlErrorKind::Syntax, 1),
        ("<></>", XmlErrorKind::Syntax, 1),
        ("<?1?><a/>", XmlErrorKind::BadName, 2),
        ("<??><a/>", XmlErrorKind::Syntax, 2),
        ("<a><?XmL x?></a>", XmlErrorKind::BadName, 3),
    ]);
}

#[test]
fn other_markup_follows_the_grammar() {
    refused(&[
        ("<a>]]></a>", XmlErrorKind::Syntax, 3),
        ("<a><!-- a -- b --></a>", XmlErrorKind::Syntax, 3),
        ("<a><!-- a ---></a>", XmlErrorKind::Syntax, 3),
        ("<a><!--", XmlErrorKind::Syntax, 3),
        ("<a><!x></a>", XmlErrorKind::Syntax, 3),
        ("<a><![CDATA[x</a>", XmlErrorKind::Syntax, 3),
        ("<a><![cdata[x]]></a>", XmlErrorKind::Syntax, 3),
        ("<a>&amp</a>", XmlErrorKind::Syntax, 3),
        ("<a>& b</a>", XmlErrorKind::Syntax, 3),
        ("<a><?go", XmlErrorKind::Syntax, 3),
        ("<a><?go,now?></a>", XmlErrorKind::BadName, 5),
    ]);
}

#[test]
fn a_declaration_begins_the_text_and_is_true() {
    refused(&[
        (" <?xml version='1.0'?><a/>", XmlErrorKind::Syntax, 1),
        ("<a><?xml version='1.0'?></a>", XmlErrorKind::Syntax, 3),
        ("<?xml?><a/>", XmlErrorKind::Syntax, 0),
        ("<?xml version='2.0'?><a/>", XmlErrorKind::Syntax, 15),
        ("<?xml encoding='UTF-8'?><a/>", XmlErrorKind::Syntax, 6),
        ("<?xml version='1.0' standalone='ja'?><a/>", XmlErrorKind::Syntax, 32),
        ("<?xml version='1.0' version='1.0'?><a/>", XmlErrorKind::Syntax, 20),
        ("<?xml version='1.0' encoding='latin1'?><a/>", XmlErrorKind::UnsupportedEncoding, 30),
        ("<?xml version='1.0' encoding='US-ASCII'?><ä/>", XmlErrorKind::UnsupportedEncoding, 30),
    ]);
    assert!(check("<?xml version='1.0' encoding='US-ASCII'?><a/>", &limits()).is_ok());
}

#[test]
fn a_doctype_has_the_shape_of_one() {
    refused(&[
        ("<!doctype a><a/>", XmlErrorKind::Syntax, 0),
        ("<!DOCTYPEa><a/>", XmlErrorKind::Syntax, 9),
        ("<!DOCTYPE><a/>", XmlErrorKind::Syntax, 9),
        ("<!DOCTYPE 1><a/>", XmlErrorKind::BadName, 10),
        ("<!DOCTYPE a b><a/>", XmlErrorKind::Syntax, 12),
        ("<!DOCTYPE a SYSTEM><a/>", XmlErrorKind::Syntax, 18),
        ("<!DOCTYPE a PUBLIC 'x'><a/>", XmlErrorKind::Syntax, 22),
        ("<!DOCTYPE a PUBLIC '{}' 'x'><a/>", XmlErrorKind::Syntax, 20),
        ("<!DOCTYPE a [x]><a/>", XmlErrorKind::Syntax, 13),
        ("<!DOCTYPE a [<!ELEMENT>]><a/>", XmlErrorKind::Syntax, 22),
        ("<!DOCTYPE a [<!ENTITY x <>]><a/>", XmlErrorKind::Syntax, 24),
        ("<!DOCTYPE a [<!-- -- -->]><a/>", XmlErrorKind::Syntax, 13),
        ("<!DOCTYPE a [%p]><a/>", XmlErrorKind::Syntax, 15),
        ("<!DOCTYPE a [", XmlErrorKind::Syntax, 0),
        ("<!DOCTYPE a><!DOCTYPE a><a/>", XmlErrorKind::Syntax, 12),
        ("<a/><!DOCTYPE a>", XmlErrorKind::Syntax, 4),
        ("<a><!DOCTYPE a></a>", XmlErrorKind::Syntax, 3),
    ]);
}

#[test]
fn json_without_an_xml_form_is_refused_with_its_path() {
    let cases = [
        (j!("x"), XmlErrorKind::BadJson, "$"),
        (j!([{"p": ""}]), XmlErrorKind::BadJson, "$"),
        (j!({}), XmlErrorKind::NotOneRoot, "$"),
        (j!({"p": "", "q": ""}), XmlErrorKind::NotOneRoot, "$"),
        (j!({"p": []}), XmlErrorKind::NotOneRoot, "$"),
        (j!({"p": ["", ""]}), XmlErrorKind::NotOneRoot, "$"),
        (j!({"p": [[""]]}), XmlErrorKind::BadJson, "$.p[0]"),
        (j!({"#text": "x"}), XmlErrorKind::BadName, "$.#text"),
        (j!({"@a": "x"}), XmlErrorKind::BadName, "$.@a"),
        (j!({"p": {"a": ["x", {"b": ["", []]}]}}), XmlErrorKind::BadJson, "$.p.a[1].b[1]"),
        (j!({"p": {"@x": {}}}), XmlErrorKind::BadJson, "$.p.@x"),
        (j!({"p": {"@x": ["1"]}}), XmlErrorKind::BadJson, "$.p.@x"),
        (j!({"p": {"#text": ["1"]}}), XmlErrorKind::BadJson, "$.p.#text"),
        (j!({"p": {"#text": {"a": ""}}}), XmlErrorKind::BadJson, "$.p.#text"),
        (j!({"p": {"#other": "x"}}), XmlErrorKind::BadName, "$.p[\"#other\"]"),
        (j!({"p": {"a b": "x"}}), XmlErrorKind::BadName, "$.p[\"a b\"]"),
        (j!({"p": {"": "x"}}), XmlErrorKind::BadName, "$.p[\"\"]"),
        (j!({"p": {"@": "x"}}), XmlErrorKind::BadName, "$.p[\"@\"]"),
        (j!({"p": {"@1": "x"}}), XmlErrorKind::BadName, "$.p[\"@1\"]"),
        (j!({"p": {"@@x": "x"}}), XmlErrorKind::BadName, "$.p[\"@@x\"]"),
        (j!({"p": {"a><b": "x"}}), XmlErrorKind::BadName, "$.p[\"a><b\"]"),
        (j!({"p": {"a.b": ["", "\u{1}"]}}), XmlErrorKind::BadCharacter, "$.p[\"a.b\"][1]"),
        (j!({"p": {"@x": "\u{0}"}}), XmlErrorKind::BadCharacter, "$.p.@x"),
        (j!({"p": {"a": "", "#text": "\u{FFFF}"}}), XmlErrorKind::BadCharacter, "$.p.#text"),
    ];
    for (value, kind, path) in cases {
        let fault = json_fault(&value);
        assert_eq!(fault.kind(), kind, "{value}: {fault}");
        assert_eq!(fault.location(), &Location::Path(path.to_owned()), "{value}: {fault}");
    }
}

#[test]
fn a_message_is_a_sentence_with_fault_place_and_value() {
    let said = [
        (
            xml_fault("<a><b></a>").to_string(),
            "At byte 6 of the XML text, the end tag \"</a>\" does not close the element \"b\" that byte 3 opens.",
        ),
        (
            xml_fault("<a>&nbsp;</a>").to_string(),
            "At byte 3 of the XML text, the entity \"nbsp\" is not known; \
             entities that a DOCTYPE declares are never resolved.",
        ),
        (
            xml_fault("<a").to_string(),
            "At byte 0 of the XML text, the markup is not well-formed \
             (syntax error: tag not closed: `>` not found before end of input).",
        ),
        (
            json_fault(&j!({"props": {"a": ["x", ["y"]]}})).to_string(),
            "At $.props.a[1] of the JSON value, an array of length 1 stands inside an array.",
        ),
        (
            json_fault(&j!({"a": "", "b": "", "c": "", "d": ""})).to_string(),
            "At $ of the JSON value, 4 root elements stand where one is expected: \
             [\"a\", \"b\", \"c\", …].",
        ),
    ];
    for (message, expected) in said {
        assert_eq!(message, expected);
    }
}

#[test]
fn a_message_stays_short_however_long_the_value() {
    let long = "x".repeat(10_000);
    for message in [
        json_fault(&j!({"p": {format!("{long} "): ""}})).to_string(),
        json_fault(&j!({"p": {long.clone(): "\0"}})).to_string(),
        json_fault(&j!({"p": format!("{long}\0")})).to_string(),
        xml_fault(&format!("<a></{long}>")).to_string(),
        xml_fault(&format!("<a>&{long};</a>")).to_string(),
        xml_fault(&format!("<a {long}/>")).to_string(),
    ] {
        assert!(message.len() < 300, "{message}");
    }
}
