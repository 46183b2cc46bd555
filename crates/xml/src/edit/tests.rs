//! Edits of documents, and what can't be.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::XmlErrorKind;

fn limits() -> Limits {
    Limits::default()
}

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn texts_at(xml: &str, at: &str) -> Vec<String> {
    XmlTree::read(Some(xml), &limits())
        .map(|tree| tree.texts_at(&path(at)))
        .unwrap_or_else(|error| panic!("{xml}: {error}"))
}

fn set(to: &str, content: Value) -> Edit {
    Edit::set(path(to), &content, &limits()).unwrap_or_else(|error| panic!("{to}: {error}"))
}

fn push(to: &str, content: Value, keep: Option<usize>) -> Edit {
    Edit::push(path(to), &content, keep, &limits()).unwrap_or_else(|error| panic!("{to}: {error}"))
}

fn pull(from: &str, first: bool, count: usize, equal: Option<Value>) -> Edit {
    Edit::pull(path(from), first, count, equal.as_ref()).unwrap_or_else(|error| panic!("{from}: {error}"))
}

fn inc(at: &str, by: Value) -> Edit {
    Edit::increase(path(at), Some(&by)).unwrap_or_else(|error| panic!("{at}: {error}"))
}

#[track_caller]
fn gives(xml: &str, edit: Edit, wanted: &str) {
    let found = apply_edits(Some(xml).filter(|xml| !xml.is_empty()), &[edit], &limits());
    assert_eq!(found, Ok(Some(wanted.to_owned()).filter(|wanted| !wanted.is_empty())), "{xml}");
}

#[test]
fn unedited_xml_keeps_its_exact_text() {
    let xml = "\u{feff}<?xml version='1.0'?>\n<!DOCTYPE s SYSTEM 's.dtd'>\n<!-- a --><s  a='1'  b = \"2\" >\n  <h >x &amp; &#65;<![CDATA[<y>]]></h >\n  \
               <e/><f />\n<?p i?></s >\n<!-- b -->";
    assert_eq!(apply_edits(Some(xml), &[], &limits()), Ok(Some(xml.to_owned())));
    gives(xml, set("/s/e", json!("z")), &xml.replace("<e/>", "<e>z</e>"));
    gives(xml, set("/s/f", json!("z")), &xml.replace("<f />", "<f >z</f>"));
    gives(xml, set("/s/h", json!("<")), &xml.replace("x &amp; &#65;<![CDATA[<y>]]>", "&lt;"));
    gives(
        xml,
        set("/s/@b", json!("3")),
        &xml.replace("<s  a='1'  b = \"2\" >", "<s a=\"1\" b=\"3\">").replace("</s >", "</s>"),
    );
    gives(xml, Edit::unset(path("/s/h")), &xml.replace("<h >x &amp; &#65;<![CDATA[<y>]]></h >", ""));
}

#[test]
fn a_place_that_is_not_there_is_made() {
    gives("", set("/s/h", json!("x")), "<s><h>x</h></s>");
    gives("", set("/s/@id", json!(5)), "<s id=\"5\"/>");
    gives("", set("/props/p/d", json!(true)), "<props><p><d>true</d></p></props>");
    gives("<s/>", set("/s/a/b/text()", json!("x")), "<s><a><b>x</b></a></s>");
    gives("<s/>", set("/s/k[@n='1']/v", json!("x")), "<s><k n=\"1\"><v>x</v></k></s>");
    gives("<s><k n='0'/></s>", set("/s/k[@n='1']", json!("x")), "<s><k n='0'/><k n=\"1\">x</k></s>");
    gives("<s/>", set("/s/k[n=\"1\"]/v", json!("x")), "<s><k><n>1</n><v>x</v></k></s>");
    gives("<s><k>a</k><l/></s>", set("/s/k[2]", json!("b")), "<s><k>a</k><k>b</k><l/></s>");
    gives("<s><k>a</k></s>", set("/s/k[.='b']/@x", json!("")), "<s><k>a</k><k x=\"\">b</k></s>");
    gives("<s/>", set("/s", json!({"@a": 1, "b": ["x", "y"]})), "<s a=\"1\"><b>x</b><b>y</b></s>");
}

#[test]
fn set_edits_every_match_of_the_path() {
    let xml = "<s><k a='1'>x</k><k>y<z/></k><m><k/></m></s>";
    gives(xml, set("/s/k", json!("v")), "<s><k a='1'>v</k><k>v</k><m><k/></m></s>");
    gives(xml, set("/s/k[1]", json!(null)), "<s><k a='1'></k><k>y<z/></k><m><k/></m></s>");
    gives(xml, set("/s/k[last()]", json!("v")), "<s><k a='1'>x</k><k>v</k><m><k/></m></s>");
    gives(xml, set("/s/k[z='']/@a", json!("2")), "<s><k a='1'>x</k><k a=\"2\">y<z/></k><m><k/></m></s>");
    gives(xml, set("/s/k/@a", json!("2")), "<s><k a=\"2\">x</k><k>y<z/></k><m><k/></m></s>");
    gives(xml, set("/s/*/k", json!("v")), "<s><k a='1'>x</k><k>y<z/></k><m><k>v</k></m></s>");
    gives(xml, set("/s/*", json!({"n": 1})), "<s><k><n>1</n></k><k><n>1</n></k><m><n>1</n></m></s>");
    gives(xml, set("/s/k", json!(["1", {"@a": "2"}])), "<s><k>1</k><k a=\"2\"/><m><k/></m></s>");
    gives(xml, set("/s/k", json!([])), "<s><m><k/></m></s>");
    gives("<s/>", set("/s/k", json!([1, 2])), "<s><k>1</k><k>2</k></s>");
    gives(xml, set("/s", json!("v")), "<s>v</s>");
    gives(xml, set("/s", json!({"@b": ""})), "<s b=\"\"/>");
}

#[test]
fn unset_removes_every_match_of_the_path() {
    let xml = "<s><k a='1' b='2'>x</k><k>y</k></s>";
    gives(xml, Edit::unset(path("/s/k[.='y']")), "<s><k a='1' b='2'>x</k></s>");
    gives(xml, Edit::unset(path("/s/k")), "<s></s>");
    gives(xml, Edit::unset(path("/s/k/@a")), "<s><k b=\"2\">x</k><k>y</k></s>");
    gives(xml, Edit::unset(path("/s/nothing")), xml);
    gives(xml, Edit::unset(path("/other/k")), xml);
    gives(xml, Edit::unset(path("/s")), "");
    gives("", Edit::unset(path("/s")), "");
}

#[test]
fn numbers_are_reckoned_with_to_the_digit() {
    gives("<s><n>41</n></s>", inc("/s/n", json!(1)), "<s><n>42</n></s>");
    gives("<s><n> 0.10 </n></s>", inc("/s/n", json!("0.2")), "<s><n>0.30</n></s>");
    gives("<s n='9007199254740993'/>", inc("/s/@n", json!(-1)), "<s n=\"9007199254740992\"/>");
    gives("<s><n/><n>1e2</n></s>", inc("/s/n", json!(5)), "<s><n>5</n><n>105</n></s>");
    gives("", inc("/s/n", json!(7)), "<s><n>7</n></s>");
    gives("<s><n>1</n></s>", Edit::increase(path("/s/n"), None).unwrap(), "<s><n>2</n></s>");
    for (xml, at) in [("<s><n>x</n></s>", "/s/n"), ("<s><n><m/></n></s>", "/s/n"), ("<s n='1_0'/>", "/s/@n")] {
        let error = apply_edits(Some(xml), &[inc(at, json!(1))], &limits()).expect_err(xml);
        assert!(matches!(&error, EditError::Value(message) if message.contains(at)), "{error}");
    }
    let most = "<s><n>79228162514264337593543950335</n></s>";
    assert!(matches!(apply_edits(Some(most), &[inc("/s/n", json!(1))], &limits()), Err(EditError::Value(_))));
    for by in [json!("x"), json!({}), json!([1]), json!("1e400")] {
        assert!(matches!(Edit::increase(path("/s/n"), Some(&by)), Err(EditError::Content(_))), "{by}");
    }
}

#[test]
fn a_list_grows_behind_and_is_pulled_from_both_ends() {
    let xml = "<s><k>a</k><k>b</k><m/></s>";
    gives(xml, push("/s/k", json!("c"), None), "<s><k>a</k><k>b</k><k>c</k><m/></s>");
    gives(xml, push("/s/k", json!(["c", {"@x": 1}]), Some(3)), "<s><k>b</k><k>c</k><k x=\"1\"/><m/></s>");
    gives(xml, push("/s/k", json!("c"), Some(0)), "<s><m/></s>");
    gives("", push("/s/l/k", json!("c"), None), "<s><l><k>c</k></l></s>");
    gives(xml, pull("/s/k", true, 1, None), "<s><k>b</k><m/></s>");
    gives(xml, pull("/s/k", false, 1, None), "<s><k>a</k><m/></s>");
    gives(xml, pull("/s/k", false, 9, None), "<s><m/></s>");
    gives(xml, pull("/s/k", true, 1, Some(json!("b"))), "<s><k>a</k><m/></s>");
    gives(xml, pull("/s/k", true, 1, Some(json!("z"))), xml);
}

#[test]
fn edits_see_what_those_before_them_have_left() {
    let edits = [
        set("/s/list", json!({"k": ["1", "2"]})),
        push("/s/list/k", json!("3"), None),
        inc("/s/list/k", json!(1)),
        pull("/s/list/k", true, 1, None),
        set("/s/list/@n", json!("2")),
    ];
    let wanted = "<s><list n=\"2\"><k>3</k><k>4</k></list></s>";
    assert_eq!(apply_edits(Some("<s/>"), &edits, &limits()), Ok(Some(wanted.to_owned())));
    assert_eq!(texts_at(wanted, "/s/list/k"), ["3", "4"]);
    let paths = [&path("/s/*/@n"), &path("/s/list/k"), &path("/s/list"), &path("/t/list")];
    let [attribute, first, none, nothing] = first_texts(wanted, paths, &limits()).unwrap();
    assert_eq!((attribute.as_deref(), first.as_deref(), none, nothing), (Some("2"), Some("3"), None, None));
}

#[test]
fn an_edit_is_at_what_it_names_and_around_what_lies_in_that() {
    let which = |edit: &str, other: &str| {
        let (edit, other) = (Edit::unset(path(edit)), path(other));
        (edit.is_at(&other), edit.is_around(&other))
    };
    let place = "/s/list/k";
    for edit in [place, "/s/list[2]/k[.='1']", "/s[1]/list[@n='2']/k/text()"] {
        assert_eq!(which(edit, place), (true, true), "{edit}");
    }
    for edit in ["/s", "/s/list", "/s/list[last()]", "/s/*/k", "/*", "/s/list/*"] {
        assert_eq!(which(edit, place), (false, true), "{edit}");
    }
    for edit in ["/t", "/s/k", "/s/list/l", "/s/list/k/a", "/s/list/@k", "/s/list/k/@n", "/s/@list"] {
        assert_eq!(which(edit, place), (false, false), "{edit}");
    }
}

#[test]
fn a_path_is_of_plain_steps() {
    for text in [
        "",
        "/",
        "s",
        "s/k",
        "//k",
        "/s//k",
        "/s/",
        "/s/k[",
        "/s/k[0]",
        "/s/k[]",
        "/s/k[@a]",
        "/s/k['a']",
        "/s/k[1][2]",
        "/s/k[a=b]",
        "/s/@a/k",
        "/@a",
        "/text()",
        "/s/..",
        "/s/.",
        "/s/k[position()=1]",
        "/s|/t",
        "/s/child::k",
        "/s/k[99999999999999999999]",
        "/s/k[1",
        "/s /k",
        "/s/text()/k",
        "/s/k[.='x'",
    ] {
        assert!(matches!(Path::parse(text), Err(EditError::Path(_))), "{text}");
    }
    assert!(Path::parse(&format!("/{}", "x".repeat(2000))).is_err());
    assert_eq!(path("/a:b/*[ 3 ]/c[@d = \"]\"]/@e").to_string(), "/a:b/*[ 3 ]/c[@d = \"]\"]/@e");
}

#[test]
fn edits_that_do_not_fit_the_document_or_path_are_refused() {
    let fails = |xml: &str, edit: Edit| apply_edits(Some(xml), &[edit], &limits()).expect_err(xml);
    assert!(matches!(fails("<t/>", set("/s/k", json!("x"))), EditError::Path(_)));
    assert!(matches!(fails("<s/>", set("/s/*/k", json!("x"))), EditError::Path(_)));
    assert!(matches!(fails("<s/>", set("/s/k[2]", json!("x"))), EditError::Path(_)));
    assert!(matches!(fails("<s>", set("/s/k", json!("x"))), EditError::Document(_)));
    for (to, content) in [
        ("/s/@a", json!({"b": 1})),
        ("/s/@a", json!([])),
        ("/s/k", json!("\u{1}")),
        ("/s/k", json!({"a b": 1})),
        ("/s/k", json!([["x"]])),
    ] {
        assert!(matches!(Edit::set(path(to), &content, &limits()), Err(EditError::Content(_))), "{to} {content}");
    }
    for (to, content) in [("/s", json!(["a", "b"])), ("/s/k[1]", json!(["a"])), ("/s/*", json!(["a"]))] {
        assert!(matches!(Edit::set(path(to), &content, &limits()), Err(EditError::Path(_))), "{to}");
        assert!(matches!(Edit::push(path(to), &content, None, &limits()), Err(EditError::Path(_))), "{to}");
    }
    assert!(matches!(Edit::pull(path("/s/@a"), true, 1, None), Err(EditError::Path(_))));
}

#[test]
fn no_edit_makes_a_document_larger_or_deeper_than_the_limits() {
    let small = Limits { max_bytes: 1000, max_depth: 4, max_nodes: 20, ..Limits::UNBOUNDED };
    let many = format!("<s>{}</s>", "<k/>".repeat(18));
    let long = json!("x".repeat(100));
    let found = apply_edits(Some(&many), &[set("/s/k", long)], &small);
    assert!(matches!(&found, Err(EditError::Document(error)) if error.kind() == XmlErrorKind::TooLarge), "{found:?}");
    let deep = apply_edits(Some("<s/>"), &[set("/s/a/b/c/d", json!("x"))], &small);
    assert!(matches!(&deep, Err(EditError::Document(error)) if error.kind() == XmlErrorKind::TooDeep), "{deep:?}");
    let nodes = apply_edits(Some(&many), &[push("/s/k", json!(["1", "2"]), None)], &small);
    assert!(matches!(&nodes, Err(EditError::Document(error)) if error.kind() == XmlErrorKind::TooLarge), "{nodes:?}");
}

proptest! {
    /// A list of texts under pushes and pulls is a plain list.
    #[test]
    fn a_list_is_a_list(ops in prop::collection::vec((0..4u8, "[a-c<& ]{1,3}", 0..4usize), 0..30)) {
        let (mut xml, mut model) = (None, Vec::<String>::new());
        for (op, text, n) in ops {
            let at = "/s/l/k";
            let edit = match op {
                0 => {
                    model.push(text.clone());
                    push(at, json!(text), None)
                }
                1 => {
                    model.push(text.clone());
                    model.drain(..model.len().saturating_sub(n));
                    push(at, json!(text), Some(n))
                }
                2 => {
                    model.drain(..n.min(model.len()));
                    pull(at, true, n, None)
                }
                _ => {
                    let mut gone = 0;
                    model.retain(|item| {
                        let go = *item == text && gone < n;
                        gone += usize::from(go);
                        !go
                    });
                    pull(at, true, n, Some(json!(text)))
                }
            };
            xml = apply_edits(xml.as_deref(), &[edit], &limits()).unwrap();
        }
        let found = xml.map(|xml| texts_at(&xml, "/s/l/k")).unwrap_or_default();
        prop_assert_eq!(found, model);
    }

    /// Checks for any text that it reads as it was set, and that the document stays well-formed.
    #[test]
    fn a_text_set_by_an_edit_is_read_back_unchanged(text in any::<String>(), steps in prop::collection::vec("[a-c]{1}(\\[[1-2]\\])?", 1..4)) {
        let at = format!("/s/{}", steps.join("/").replace("[2]", ""));
        let text = crate::without_illegal_chars(&text).into_owned();
        let xml = apply_edits(Some("<s><a>1</a><b><c/><a x='1'/></b></s>"), &[set(&at, json!(text))], &limits()).unwrap().unwrap();
        let found = texts_at(&xml, &at);
        prop_assert_eq!(found.first(), Some(&text));
    }
}
