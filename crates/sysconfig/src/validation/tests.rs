//! The check held against a simple model: a recursive reading of random documents by random
//! definitions.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stet_base::json::OrderedObject;

use super::*;

fn element(kind: &str, validity: &str) -> MetadataElement {
    let none = String::new;
    MetadataElement {
        title: none(),
        short_title: none(),
        distinct: "false".to_owned(),
        validity: validity.to_owned(),
        expand_mode: none(),
        visibility: none(),
        kind: kind.to_owned(),
        default_content: none(),
        list_values: Vec::new(),
        list_name: none(),
        file_name: none(),
        prefix: none(),
        filter: none(),
        result: none(),
        show_part_page: none(),
        template: none(),
        data_source_url: none(),
        data_source_result_template: none(),
        is_headline: none(),
        cardinality: OrderedObject(Vec::new()),
    }
}

fn holding(validity: &str, children: &[(&str, &'static str)]) -> MetadataElement {
    let children = children.iter().map(|(name, occurs)| (SharedText::from(*name), *occurs)).collect();
    MetadataElement { cardinality: OrderedObject(children), ..element("string", validity) }
}

fn of_list(validity: &str, values: &[&str]) -> MetadataElement {
    MetadataElement { list_values: values.iter().map(ToString::to_string).collect(), ..element("list", validity) }
}

fn model(elements: Vec<(&str, MetadataElement)>) -> AttributeModel {
    let root = elements[0].0.to_owned();
    let elements: Vec<_> = elements.into_iter().map(|(name, element)| (SharedText::from(name), element)).collect();
    let mut faults = Vec::new();
    let model = AttributeModel::of(&root, &elements, &mut |fault| faults.push(fault));
    assert_eq!(faults, Vec::<String>::new());
    model
}

fn found(model: &AttributeModel, xml: &str) -> Vec<(String, bool)> {
    let trees = BTreeMap::from([(SharedText::from("/SysConfig/TreeLists/t.xml"), tree())]);
    let findings = model.check(xml, &trees, &Limits::default());
    findings.into_iter().map(|finding| (finding.path, finding.is_strict)).collect()
}

fn tree() -> TreeValues {
    let paths = ["/Arts", "/Arts/Music", "/Arts/Music/Jazz", "/Sports", "/Sports/Music", "/Arts-2", "/Arts-2/Film"];
    TreeValues::of(&ValueTree { paths: paths.iter().map(|path| SharedText::from(*path)).collect(), bytes: 0 })
}

#[test]
fn findings_name_the_element_and_how_strict_it_is() {
    let model = model(vec![
        ("m", holding("Strict", &[("h", ""), ("s", "?"), ("k", "*"), ("p", "+"), ("d", "?")])),
        ("h", element("string", "None")),
        ("s", of_list("Warn", &["a", " b "])),
        ("k", MetadataElement { distinct: "true".to_owned(), ..element("string", "Strict") }),
        ("p", holding("Warn", &[("h", "?")])),
        ("d", MetadataElement { template: "yyyy-MM-dd".to_owned(), ..element("date-time", "Strict") }),
    ]);
    let cases: &[(&str, &[(&str, bool)])] = &[
        ("<m><h/><p/></m>", &[]),
        ("<m a='1'><h>x</h><s> b </s><k>1</k><k>2</k><p><h>y</h></p><p/><d>2026-11-27</d></m>", &[]),
        ("<m><p/></m>", &[("/m/h", true)]),
        ("<m><h/><h/><p/></m>", &[("/m/h[2]", true)]),
        ("<m><h/></m>", &[("/m/p", true)]),
        ("<m><h/><s>c</s><p/></m>", &[("/m/s", false)]),
        ("<m><h/><s></s><d> </d><p/></m>", &[]),
        ("<m><h/><k>1</k><k>2</k><k> 1 </k><p/></m>", &[("/m/k[3]", true)]),
        ("<m><h/><x><h/><h/></x><p/></m>", &[("/m/x", true)]),
        ("<m><h/><p/><p><h/><h/><y/></p></m>", &[("/m/p[2]/y", false), ("/m/p[2]/h[2]", false)]),
        ("<m><h><z/></h><p/></m>", &[]),
        ("<m><h/><p/><d>2026-13-27</d></m>", &[("/m/d", true)]),
        ("<m><h/><p/><d>27.11.2026</d></m>", &[("/m/d", true)]),
        ("<n><h/></n>", &[("/n", true)]),
    ];
    for (xml, wanted) in cases {
        let wanted: BTreeSet<_> = wanted.iter().map(|(path, strict)| ((*path).to_owned(), *strict)).collect();
        assert_eq!(found(&model, xml).into_iter().collect::<BTreeSet<_>>(), wanted, "{xml}");
    }
    let sentence = |xml: &str| model.check(xml, &BTreeMap::new(), &Limits::default())[0].message.clone();
    assert_eq!(sentence("<m><h/><s>c</s><p/></m>"), "`c` is not one of `a`, `b`.");
    assert_eq!(sentence("<m><h/><x/><p/></m>"), "`x` is not allowed in `m`, which may have `h`, `s`, `k`, `p`, `d`.");
    assert_eq!(sentence("<m><p/></m>"), "`h` is missing.");
}

#[test]
fn values_of_trees_are_looked_up_by_path_or_by_last_name() {
    let of = |result: &str, prefix: &str, filter: &str| {
        let element = MetadataElement {
            list_name: "t".to_owned(),
            result: result.to_owned(),
            prefix: prefix.to_owned(),
            filter: filter.to_owned(),
            ..element("tree-db", "Strict")
        };
        model(vec![("m", element)])
    };
    for (result, prefix, filter, value, fits) in [
        ("Fullpath", "", "", "/Arts/Music", true),
        ("", "", "", "/Arts/Music", true),
        ("Fullpath", "", "", "/Arts/Musics", false),
        ("Fullpath", "", "", "Music", false),
        ("Fullpath", "/Arts/", "", "/Arts/Music/Jazz", true),
        ("Fullpath", "Arts", "", "/Arts", true),
        ("Fullpath", "Arts", "", "/Sports/Music", false),
        ("Fullpath", "Arts", "", "/Arts-2/Film", false),
        ("Fullpath", "", "M*", "/Arts/Music", true),
        ("Fullpath", "", "M*", "/Arts", false),
        ("LeafOnly", "", "", "Jazz", true),
        ("LeafOnly", "", "", "/Arts/Music/Jazz", false),
        ("LeafOnly", "Sports", "", "Music", true),
        ("LeafOnly", "Arts", "", "Arts", true),
        ("LeafOnly", "Arts", "", "Film", false),
        ("LeafOnly", "Sports", "", "Jazz", false),
    ] {
        let model = of(result, prefix, filter);
        let is_empty = found(&model, &format!("<m>{value}</m>")).is_empty();
        assert_eq!(is_empty, fits, "{result} {prefix} {filter} {value}");
        assert_eq!(model.trees().count(), 1);
    }
}

#[test]
fn definition_that_checks_nothing_costs_nothing_and_findings_are_bounded() {
    let unchecked = model(vec![("m", holding("ShowOnly", &[])), ("x", of_list("None", &[]))]);
    assert!(!unchecked.checks_anything());
    assert_eq!(found(&unchecked, "<n/>"), []);
    for (validity, is_strict) in [("Strict", true), ("Warn", false)] {
        let model = model(vec![("m", holding(validity, &[]))]);
        let many = format!("<m>{}</m>", "<x/>".repeat(10_000));
        let found = found(&model, &many);
        assert_eq!((found.len(), &found[0]), (MOST_FINDINGS, &("/m/x".to_owned(), is_strict)));
    }
    let deep = format!("<m>{}x", "<y>".repeat(60));
    assert_eq!(found(&model(vec![("m", holding("Strict", &[]))]), &deep), [], "what is no document is none");
}

#[test]
fn template_that_is_no_pattern_is_a_fault_where_values_are_checked() {
    for (validity, faults) in [("None", 0), ("Strict", 1)] {
        let element = MetadataElement { template: "yyyy-bb".to_owned(), ..element("date-time", validity) };
        let mut told = Vec::new();
        AttributeModel::of("m", &[("m".into(), element)], &mut |fault| told.push(fault));
        assert_eq!(told.len(), faults, "{told:?}");
    }
}

/// A document before it is written.
#[derive(Debug, Clone)]
struct Node {
    name: &'static str,
    text: &'static str,
    children: Vec<Node>,
}

impl Node {
    fn xml(&self) -> String {
        let children: String = self.children.iter().map(Node::xml).collect();
        format!("<{0}>{1}{children}</{0}>", self.name, self.text)
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const VALUES: [&str; 3] = ["", "1", "2"];

fn node() -> impl Strategy<Value = Node> {
    let leaf = (0..NAMES.len(), 0..VALUES.len()).prop_map(|(name, text)| Node {
        name: NAMES[name],
        text: VALUES[text],
        children: Vec::new(),
    });
    leaf.prop_recursive(3, 24, 4, |inner| {
        (0..NAMES.len(), proptest::collection::vec(inner, 0..4)).prop_map(|(name, children)| Node {
            name: NAMES[name],
            text: "",
            children,
        })
    })
}

fn random_element() -> impl Strategy<Value = MetadataElement> {
    let validity = prop_oneof![Just("None"), Just("ShowOnly"), Just("Warn"), Just("Strict")];
    let children = proptest::sample::subsequence(NAMES.to_vec(), 0..=4);
    let occurs = proptest::collection::vec(prop_oneof![Just(""), Just("?"), Just("*"), Just("+")], 4);
    (validity, children, occurs, any::<bool>(), any::<bool>()).prop_map(
        |(validity, children, occurs, list, distinct)| {
            let children: Vec<(&str, &'static str)> = children.into_iter().zip(occurs).collect();
            let held = holding(validity, &children);
            let distinct = if distinct { "true" } else { "false" }.to_owned();
            if list {
                MetadataElement { kind: "list".to_owned(), list_values: vec!["1".to_owned()], distinct, ..held }
            } else {
                MetadataElement { distinct, ..held }
            }
        },
    )
}

/// Collects the paths in a document that the elements do not allow, according to the documentation.
fn expected(elements: &[(&str, MetadataElement)], node: &Node, path: &str, into: &mut BTreeSet<(String, bool)>) {
    let known = |name: &str| elements.iter().find(|(known, _)| *known == name).map(|(_, element)| element);
    let rank = |element: &MetadataElement| match &*element.validity {
        "Strict" => 2,
        "Warn" => 1,
        _ => 0,
    };
    let mut note = |rank: i32, path: String| {
        if rank > 0 {
            into.insert((path, rank == 2));
        }
    };
    let Some(own) = known(node.name) else { return };
    if own.kind == "list" && !node.text.is_empty() && node.text != "1" {
        note(rank(own), path.to_owned());
    }
    let path_of = |index: usize| {
        let name = node.children[index].name;
        let place = node.children[..=index].iter().filter(|child| child.name == name).count();
        if place == 1 { format!("{path}/{name}") } else { format!("{path}/{name}[{place}]") }
    };
    for (name, occurs) in &own.cardinality.0 {
        let count = node.children.iter().filter(|child| *child.name == **name).count();
        let by = rank(own).max(known(name).map_or(0, rank));
        if count == 0 && ["", "+"].contains(occurs) {
            note(by, format!("{path}/{name}"));
        }
        if count > 1 && ["", "?"].contains(occurs) {
            note(by, format!("{path}/{name}[2]"));
        }
    }
    for (index, child) in node.children.iter().enumerate() {
        if !own.cardinality.0.iter().any(|(name, _)| **name == *child.name) {
            note(rank(own), path_of(index));
            continue;
        }
        let Some(element) = known(child.name) else { continue };
        let earlier = &node.children[..index];
        let again = earlier.iter().any(|other| (other.name, other.text) == (child.name, child.text));
        if element.distinct == "true" && !child.text.is_empty() && again {
            note(rank(element), path_of(index));
        }
    }
    for (index, child) in node.children.iter().enumerate() {
        if own.cardinality.0.iter().any(|(name, _)| **name == *child.name) {
            expected(elements, child, &path_of(index), into);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_documents_are_found_as_a_recursive_reading_finds_them(
        elements in proptest::collection::vec(random_element(), 4),
        document in node(),
    ) {
        let elements: Vec<_> = NAMES.into_iter().zip(elements).collect();
        let model = model(elements.clone());
        let mut wanted = BTreeSet::new();
        if document.name == "a" {
            expected(&elements, &document, "/a", &mut wanted);
        } else if let Some(strict) = [("Warn", false), ("Strict", true)].iter().find(|(word, _)| elements[0].1.validity == *word) {
            wanted.insert((format!("/{}", document.name), strict.1));
        }
        let found: BTreeSet<_> = found(&model, &document.xml()).into_iter().collect();
        // At most `MOST_FINDINGS` of each kind are kept.
        if wanted.len() <= MOST_FINDINGS {
            prop_assert_eq!(found, wanted, "{}", document.xml());
        }
    }
}
