//! The mapping between XML and JSON.

use serde_json::json as j;

use super::*;

/// Asserts that two forms of one content convert to each other exactly.
#[track_caller]
fn same(xml_text: &str, value: &Value) {
    assert_eq!(&json(xml_text), value);
    assert_eq!(xml(value), xml_text);
    assert_eq!(again(xml_text), xml_text);
}

#[test]
fn an_element_is_a_key_and_its_text_a_string() {
    same("<props><a>1</a></props>", &j!({"props": {"a": "1"}}));
    same("<props>x</props>", &j!({"props": "x"}));
}

#[test]
fn repeated_elements_are_an_array_in_document_order() {
    same("<p><a>1</a><a>2</a><a>1</a></p>", &j!({"p": {"a": ["1", "2", "1"]}}));
    same("<p><a/><a>2</a></p>", &j!({"p": {"a": ["", "2"]}}));
}

#[test]
fn unlike_siblings_gather_where_the_first_of_a_name_stood() {
    let value = json("<p><a>1</a><b/><a>2</a></p>");
    assert_eq!(value, j!({"p": {"a": ["1", "2"], "b": ""}}));
    assert_eq!(xml(&value), "<p><a>1</a><a>2</a><b/></p>");
}

#[test]
fn an_attribute_is_a_key_with_an_at_sign() {
    same(r#"<p a="1" b=""/>"#, &j!({"p": {"@a": "1", "@b": ""}}));
    let late = j!({"p": {"c": "x", "@a": 1}});
    assert_eq!(xml(&late), r#"<p a="1"><c>x</c></p>"#);
}

#[test]
fn text_beside_attributes_or_children_has_a_key_of_its_own() {
    same(r#"<p a="1">x</p>"#, &j!({"p": {"@a": "1", "#text": "x"}}));
    same("<p>x<c/></p>", &j!({"p": {"#text": "x", "c": ""}}));
    same("<p><c/>x</p>", &j!({"p": {"c": "", "#text": "x"}}));
    assert_eq!(json("<p>one <c/> two</p>"), j!({"p": {"#text": "one  two", "c": ""}}));
}

#[test]
fn an_empty_element_is_the_empty_string() {
    same("<p/>", &j!({"p": ""}));
    for empty in [j!({"p": null}), j!({"p": {}}), j!({"p": {"#text": ""}})] {
        assert_eq!(xml(&empty), "<p/>");
    }
    assert_eq!(json("<p></p>"), j!({"p": ""}));
    assert_eq!(json("<p><!-- nothing --></p>"), j!({"p": ""}));
    assert_eq!(json("<p><![CDATA[]]></p>"), j!({"p": ""}));
}

#[test]
fn null_and_the_empty_string_are_both_an_empty_element() {
    assert_eq!(xml(&j!({"p": {"a": null}})), xml(&j!({"p": {"a": ""}})));
    assert_eq!(xml(&j!({"p": {"a": [null, "", "x"]}})), "<p><a/><a/><a>x</a></p>");
    assert_eq!(xml(&j!({"p": {"@a": null, "#text": null}})), r#"<p a=""/>"#);
}

#[test]
fn arrays_of_one_are_the_item_and_empty_arrays_are_nothing() {
    assert_eq!(xml(&j!({"p": {"a": ["x"]}})), "<p><a>x</a></p>");
    assert_eq!(xml(&j!({"p": {"a": [], "b": "y"}})), "<p><b>y</b></p>");
    assert_eq!(xml(&j!({"p": {"a": []}})), "<p/>");
    assert_eq!(xml(&j!({"p": ["x"]})), "<p>x</p>");
}

#[test]
fn numbers_and_booleans_become_their_text() {
    assert_eq!(
        xml(&j!({"p": {"@n": 7, "a": [1, -2.5, true, false], "#text": 0}})),
        r#"<p n="7"><a>1</a><a>-2.5</a><a>true</a><a>false</a>0</p>"#
    );
    assert_eq!(xml(&j!({"p": 18_446_744_073_709_551_615_u64})), "<p>18446744073709551615</p>");
}

#[test]
fn prefixes_are_part_of_names() {
    same(r#"<x:p xmlns:x="urn:x" x:a="1"><x:b/></x:p>"#, &j!({"x:p": {"@xmlns:x": "urn:x", "@x:a": "1", "x:b": ""}}));
}

#[test]
fn names_may_be_of_any_script() {
    same("<Straße><имя/></Straße>", &j!({"Straße": {"имя": ""}}));
}

#[test]
fn cdata_is_text() {
    assert_eq!(json("<p>a<![CDATA[<b>&amp;]]>c</p>"), j!({"p": "a<b>&amp;c"}));
    assert_eq!(again("<p><![CDATA[a]]b>]]></p>"), "<p>a]]b&gt;</p>");
}

#[test]
fn comments_and_instructions_are_kept_in_xml_alone() {
    let text = "<p>a<!-- c --><?go now?>b<c/></p>";
    assert_eq!(json(text), j!({"p": {"#text": "ab", "c": ""}}));
    assert_eq!(again(text), text);
}

#[test]
fn predefined_entities_and_character_references_are_resolved() {
    assert_eq!(
        json(r#"<p a="&lt;&amp;&quot;&apos;&gt;">&lt;&#65;&#x1F600;&#x0a;&#0065;</p>"#),
        j!({"p": {"@a": "<&\"'>", "#text": "<A\u{1F600}\nA"}})
    );
}

#[test]
fn layout_between_children_is_dropped_and_text_keeps_its_white_space() {
    assert_eq!(json("<p>\n  <a> x\n</a>\n  <b>  </b>\n</p>"), j!({"p": {"a": " x\n", "b": "  "}}));
    assert_eq!(json("<p a='1'> </p>"), j!({"p": {"@a": "1", "#text": " "}}));
    let text = "<p>\n  <a> x\n</a>\n</p>";
    assert_eq!(again(text), text);
}

#[test]
fn white_space_meant_as_text_beside_children_survives() {
    same("<p>&#32;&#10;<c/></p>", &j!({"p": {"#text": " \n", "c": ""}}));
    assert_eq!(json("<p><![CDATA[ ]]><c/></p>"), j!({"p": {"#text": " ", "c": ""}}));
    assert_eq!(again("<p><![CDATA[ ]]><c/></p>"), "<p>&#32;<c/></p>");
}

#[test]
fn characters_that_parsing_would_normalise_are_written_as_references() {
    same("<p a=\"&#9;&#10;&#13;\"><b>\t\n&#13;x</b></p>", &j!({"p": {"@a": "\t\n\r", "b": "\t\n\rx"}}));
}

#[test]
fn literal_line_ends_and_white_space_are_normalised_on_reading() {
    assert_eq!(
        json("<p a='1\r\n2\t3\n4\r5'>1\r\n2\r3\r\r\n4</p>"),
        j!({"p": {"@a": "1 2 3 4 5", "#text": "1\n2\n3\n\n4"}})
    );
    assert_eq!(json("<p><![CDATA[1\r\n2]]></p>"), j!({"p": "1\n2"}));
}

#[test]
fn quotes_and_brackets_are_escaped_where_they_must_be() {
    same(r#"<p a="'&quot;&lt;&gt;&amp;">"'&lt;]]&gt;&amp;</p>"#, &j!({"p": {"@a": "'\"<>&", "#text": "\"'<]]>&"}}));
}

#[test]
fn a_document_is_written_again_in_one_spelling() {
    assert_eq!(
        again(
            "\u{FEFF}<?xml  version='1.1' encoding='utf-8'  standalone='no' ?>\r\n\r\n\
             <!-- a\r\nb --><?t   d ?>\n<p  a = 'x'\n></p >\n\n<!--z--> <?end?>\n"
        ),
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n\
         <!-- a\nb -->\n<?t d ?>\n<p a=\"x\"/>\n<!--z-->\n<?end?>"
    );
}

#[test]
fn a_doctype_is_kept_to_the_byte_and_nothing_in_it_takes_effect() {
    let doctype = "<!DOCTYPE p PUBLIC \"-//X//Y\" 'http://x/>' [\r\n <!-- ]> -->\
                   <!ENTITY e \"]>\"> %pe; <?t ]> ?>\
                   <!ATTLIST p d CDATA 'default'><!ELEMENT p ANY>\n] >";
    let text = format!("{doctype}\n<p><a/></p>");
    assert_eq!(again(&text), text);
    assert_eq!(json(&text), j!({"p": {"a": ""}}));
    assert_eq!(check(&text, &limits()).as_deref(), Ok("p"));
    for short in ["<!DOCTYPE p>", "<!DOCTYPE p SYSTEM 'p.dtd'>", "<!DOCTYPE p[]>"] {
        let text = format!("{short}\n<p/>");
        assert_eq!(again(&text), text);
    }
}

#[test]
fn a_check_gives_the_name_of_the_root() {
    assert_eq!(check(" <!--c--> <ns:p/> ", &limits()).as_deref(), Ok("ns:p"));
}
