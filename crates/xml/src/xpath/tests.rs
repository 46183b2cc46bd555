//! The nodes that expressions find and set, and the budget that no expression exceeds.

use proptest::prelude::*;

use super::*;
use crate::XmlErrorKind;

const BUDGET: EvaluationLimit = EvaluationLimit { looks: 2_000_000, bytes: 16 << 20 };

const STORY: &str = "<?xml version='1.0'?><!DOCTYPE s SYSTEM 's.dtd'><s id='top' xmlns:x='urn:x'><h lang='en' x:a='1'>A &amp; <b>B</b></h>\
                     <!-- c --><body><p id='p1'>one<?stop now?></p><p>two<![CDATA[ <3>]]></p><x:p n='7'/></body><empty/></s>";

fn found(expression: &str) -> Vec<(String, String)> {
    let xpath = XPath::parse(expression).unwrap_or_else(|error| panic!("{error}"));
    let found = xpath.find(STORY, &Limits::default(), &mut BUDGET.clone()).unwrap_or_else(|error| panic!("{error}"));
    found.into_iter().map(|node| (node.path, node.value)).collect()
}

#[track_caller]
fn finds(expression: &str, wanted: &[(&str, &str)]) {
    let wanted: Vec<(String, String)> = wanted.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    assert_eq!(found(expression), wanted, "{expression}");
}

#[test]
fn expressions_of_xpath_find_their_nodes() {
    finds("/s/h", &[("/s/h", "A & B")]);
    finds("//p", &[("/s/body/p[1]", "one"), ("/s/body/p[2]", "two <3>")]);
    finds("//p[2]/text()", &[("/s/body/p[2]/text()", "two <3>")]);
    finds("//x:p/@n", &[("/s/body/x:p/@n", "7")]);
    finds("//@lang | //@x:a", &[("/s/h/@lang", "en"), ("/s/h/@x:a", "1")]);
    finds("/s/@*", &[("/s/@id", "top")]);
    finds("//p[@id='p1']", &[("/s/body/p[1]", "one")]);
    finds("//p[last()]", &[("/s/body/p[2]", "two <3>")]);
    finds("//*[contains(., 'two')][not(*)]", &[("/s/body/p[2]", "two <3>")]);
    finds("id('p1')/following-sibling::*[1]", &[("/s/body/p[2]", "two <3>")]);
    finds("//b/ancestor::*[2]/@id", &[("/s/@id", "top")]);
    finds("//comment()", &[("/s/comment()", " c ")]);
    finds("//processing-instruction('stop')", &[("/s/body/p[1]/processing-instruction()", "now")]);
    finds("//p/preceding::b", &[("/s/h/b", "B")]);
    finds("//*[local-name()='p'][count(@*) = 1]", &[("/s/body/p[1]", "one"), ("/s/body/x:p", "")]);
    finds("/s/body/*[position() > 1 and position() < 3]", &[("/s/body/p[2]", "two <3>")]);
    finds("//p[string-length(.) = 3 or starts-with(., 'x')]", &[("/s/body/p[1]", "one")]);
    finds("//@*[number(.) > 5]", &[("/s/body/x:p/@n", "7")]);
    finds("/nothing", &[]);
    finds("//y:p", &[]);
    finds("/", &[("/", "A & Bonetwo <3>")]);
    finds("//empty/..", &[("/s", "A & Bonetwo <3>")]);
}

#[test]
fn invalid_xpaths_and_xpaths_without_node_results_are_refused() {
    for text in ["", "/", "//", "/s[", "/s]", "s/", "@", "//p[", "1 +", "$x", "foo(", "/s/..p", "p::q", "\u{0}", "'"] {
        let outcome = XPath::parse(text).and_then(|xpath| xpath.find(STORY, &Limits::default(), &mut BUDGET.clone()));
        assert!(text == "/" || matches!(outcome, Err(XPathError::Expression(_))), "{text}: {outcome:?}");
    }
    for text in ["count(//p)", "'a'", "1", "true()", "//p = 'x'", "unknown(//p)", "$x/p", "string(/s)"] {
        let xpath = XPath::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let outcome = xpath.find(STORY, &Limits::default(), &mut BUDGET.clone());
        assert!(matches!(outcome, Err(XPathError::Expression(_))), "{text}: {outcome:?}");
    }
    let well = XPath::parse("//p").unwrap();
    assert!(matches!(well.find("<s>", &Limits::default(), &mut BUDGET.clone()), Err(XPathError::Document(_))));
}

#[test]
fn a_node_that_was_found_is_set_and_all_else_stays_as_it_is_written() {
    let set = |expression: &str, index: usize, text: &str| {
        let xpath = XPath::parse(expression).unwrap();
        xpath.set(STORY, (index, text), &Limits::default(), &mut BUDGET.clone())
    };
    for (expression, index, text, from, to) in [
        ("//p", 1, "<new>", "<p>two<![CDATA[ <3>]]></p>", "<p>&lt;new&gt;</p>"),
        ("//h", 0, "x", "A &amp; <b>B</b>", "x"),
        ("//h/text()", 0, "x", "A &amp; ", "x"),
        ("//x:p/@n", 0, "\"8\"", "<x:p n='7'/>", "<x:p n=\"&quot;8&quot;\"/>"),
        ("//empty", 0, "x", "<empty/>", "<empty>x</empty>"),
        ("//p[1]", 0, "", "one<?stop now?>", ""),
    ] {
        let (written, before, after) = set(expression, index, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(written, STORY.replace(from, to), "{expression}");
        assert_eq!(before.len(), found(expression).len());
        assert!(after.iter().any(|node| node.value == text), "{after:?}");
    }
    assert!(matches!(set("//p", 2, "x"), Err(XPathError::Node(message)) if message.contains("2 nodes")));
    assert!(matches!(set("//comment()", 0, "x"), Err(XPathError::Node(_))));
    assert!(matches!(set("/", 0, "x"), Err(XPathError::Node(_))));
    assert!(matches!(set("//p", 0, "\u{1}"), Err(XPathError::Node(_))));
    let tight = Limits { max_bytes: STORY.len() + 10, ..Limits::default() };
    let large = XPath::parse("//p").unwrap().set(STORY, (0, &"x".repeat(100)), &tight, &mut BUDGET.clone());
    assert!(matches!(large, Err(XPathError::Document(error)) if error.kind() == XmlErrorKind::TooLarge));
}

/// A document in which everything is often there.
fn wide(elements: usize) -> String {
    let items: String = (0..elements).map(|number| format!("<i n='{number}' m='x'>text {number}</i>")).collect();
    format!("<r>{items}</r>")
}

fn deep(levels: usize) -> String {
    format!("{}{}", "<d>".repeat(levels), "</d>".repeat(levels))
}

#[test]
fn hostile_expressions_end_with_their_budget() {
    let (wide, deep) = (wide(20_000), deep(60));
    let nested = |depth: usize| (0..depth).fold("//*".to_owned(), |inner, _| format!("//*[{inner}]"));
    for expression in [
        "//*[//*[//*[//*]]]".to_owned(),
        "//i[count(//i[count(//i) > 1]) > 1]".to_owned(),
        "//*[count(preceding::*) > count(following::*)]".to_owned(),
        "//i[contains(string(/), string(.))]".to_owned(),
        "//i[//@n = //@m]".to_owned(),
        "//i[//@n > //@m]".to_owned(),
        "//i[//i/text() != //i/text()][//@n = //@m]".to_owned(),
        "//i/ancestor-or-self::*/descendant-or-self::*/ancestor-or-self::*/descendant-or-self::*".to_owned(),
        "//i[sum(//@n) > 1]".to_owned(),
        "//i[string-length(translate(string(/), 'text', 'TEXT')) > 1]".to_owned(),
        "//i[concat(string(/), string(/), string(/), string(/)) = '']".to_owned(),
        "//i[normalize-space(/) = '']".to_owned(),
        "//i[substring-after(/, 'zzz') = substring-before(/, 'yyy')]".to_owned(),
        nested(12),
        nested(12).replace("//*", "//*/parent::*"),
    ] {
        let xpath = XPath::parse(&expression).unwrap_or_else(|error| panic!("{error}"));
        for xml in [&wide, &deep] {
            let mut budget = BUDGET;
            match xpath.find(xml, &Limits::default(), &mut budget) {
                Ok(_) => {}
                Err(error) => assert_eq!((error, budget.looks), (XPathError::TooMuch, 0), "{expression}"),
            }
        }
    }
    // The nodes that are found count against it, too.
    let all = XPath::parse("//*").unwrap();
    assert_eq!(all.find(&wide, &Limits::default(), &mut BUDGET.clone()).map(|found| found.len()), Ok(20_001));
    let tight = EvaluationLimit { looks: 2_000_000, bytes: 1000 };
    assert_eq!(all.find(&wide, &Limits::default(), &mut tight.clone()), Err(XPathError::TooMuch));
}

/// Regression test: lists hold a node once for each time it is reached, at 16 bytes. The lists of
/// one expression took 400 MB before it was refused.
#[test]
fn an_expression_comes_to_so_many_nodes_and_ends_then() {
    let flat = |elements: usize| format!("<r>{}</r>", "<a/>".repeat(elements));
    let come_to = |expression: &str, elements: usize, looks: u64| {
        let mut budget = EvaluationLimit { looks, bytes: 32 << 20 };
        let found = XPath::parse(expression).unwrap().find(&flat(elements), &Limits::default(), &mut budget);
        (found.map(|found| found.len()), budget.looks)
    };
    // They would visit at least half of the square of the elements.
    for expression in [
        "//a/following::node()",
        "//a/preceding::node()",
        "//a | //a/following::node()",
        "//a/following-sibling::node()",
    ] {
        let all = 1_000 - usize::from(!expression.contains('|'));
        assert_eq!(come_to(expression, 1_000, u64::MAX).0, Ok(all), "{expression}");
        assert_eq!(come_to(expression, 2_500, u64::MAX), (Err(XPathError::TooMuch), 0), "{expression}");
    }
    // Usual expressions visit each node once or twice.
    for expression in ["//a", "/r/a", "//a[not(@b)]", "//a[not(b)]", "//a/..//a", "//a[1]/following-sibling::a"] {
        let (found, left) = come_to(expression, 100_000, 10_000_000);
        assert!(found.is_ok_and(|found| found >= 99_999) && left > 0, "{expression}");
    }
    // Of the largest document, with as many elements as it can have.
    let largest = flat((4 << 20) / 4 - 2);
    let mut budget = EvaluationLimit { looks: 10_000_000, bytes: 32 << 20 };
    let found = XPath::parse("//b").unwrap().find(&largest, &Limits::default(), &mut budget);
    assert_eq!(found.map(|found| found.len()), Ok(0));
}

/// A text of two megabytes in which as many characters were to be replaced took the better part of
/// an hour.
#[test]
fn xpath_functions_with_unbounded_work_are_refused() {
    let long = "x".repeat(65);
    for expression in [
        "//i[translate(., ., '')]",
        "//i[contains(translate(/a, /b, ''), 'x')]",
        "translate('a', ('b'), '')",
        "translate('a', 'b'[1], '')",
        "(//i | //b)[translate(., //b, '') = '']/text()",
        "//i[1 + -string-length(translate(., concat(., .), ''))]",
        &format!("//i[translate(., '{long}', '')]"),
        "id(//*)",
        "id(string(/))/i",
    ] {
        let error = XPath::parse(expression).expect_err(expression);
        assert!(error.to_string().contains("must be a literal"), "{expression}: {error}");
    }
    for expression in
        ["//i[translate(., 'ab', 'AB') = 'X']", &format!("//i[translate(., '{}', '')]", &long[1..]), "id('a b')"]
    {
        let xpath = XPath::parse(expression).unwrap_or_else(|error| panic!("{error}"));
        assert!(xpath.find(&wide(10), &Limits::default(), &mut BUDGET.clone()).is_ok(), "{expression}");
    }
}

/// The looks that an expression takes in a document.
fn taken(expression: &str, xml: &str) -> u64 {
    let mut budget = EvaluationLimit { looks: u64::MAX, bytes: u64::MAX };
    let xpath = XPath::parse(expression).unwrap_or_else(|error| panic!("{error}"));
    xpath.find(xml, &Limits::default(), &mut budget).unwrap_or_else(|error| panic!("{expression}: {error}"));
    u64::MAX - budget.looks
}

/// Regression test: an expression of 750 bytes compared 600 letters with 64 some millions of times,
/// without visiting a node. It took two minutes of a processor, and counted as half a second.
#[test]
fn xpath_work_between_node_visits_counts_once_per_node() {
    let (nodes, xml) = (100, wide(100));
    let (letters, replaced) = ("a".repeat(600), "b".repeat(64));
    let repeated = |part: &str, times: usize, by: &str| vec![part; times].join(by);
    // What a predicate does for one node, in bytes gone through or in parts that take as long as
    // several.
    for (predicate, bytes) in [
        (format!("contains(translate('{letters}', '{replaced}', 'c'), 'z')"), 600 * 64),
        (format!("self::node()[self::node()[translate('{letters}', '{replaced}', 'c') = 'z']]"), 600 * 64),
        (format!("contains(normalize-space('{letters}'), 'z')"), 600 * 2),
        (format!("substring('{letters}', 2) = 'z'"), 600 * 2),
        (format!("concat('{letters}', 'z') = ''"), 600 * 2),
        // A number is as long as it becomes.
        (format!("contains(translate(string(1 div 3), '{replaced}', ''), 'z')"), 300 * 64),
        (repeated("1", 300, "+"), 300 * 16),
        (repeated(".", 300, "/"), 300 * 64),
        (repeated("p:q", 200, "|"), 200 * 256),
        (repeated("''=''", 100, " or "), 100 * 48),
    ] {
        let taken = taken(&format!("//i[{predicate}]"), &xml);
        assert!(taken > nodes * bytes / weight::BYTES_A_LOOK, "{predicate}: {taken}");
    }
    // Usual expressions cost little: the budget of a call suffices for a hundred thousand such
    // elements.
    let lower = "translate(., 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')";
    for (predicate, most) in [("@n = '7'", 60), ("contains(., 'text 7')", 60), (&format!("contains({lower}, 'x')"), 90)]
    {
        let taken = taken(&format!("//i[{predicate}]"), &xml);
        assert!(taken < nodes * most, "{predicate}: {taken}");
    }
}

/// Regression test: work on a text of megabytes counted too little if the text passed several
/// functions, or was compared with many others.
#[test]
fn xpath_work_on_document_texts_counts_by_their_length() {
    let xml = format!("<r><i>{}</i></r>", "x".repeat(100_000));
    let letters = "b".repeat(64);
    let text = 100_000 / weight::BYTES_A_LOOK;
    assert!(taken("//i[. = 'z']", &xml) > text);
    assert!(taken(&format!("//i[translate(., '{letters}', '') = '']"), &xml) > 64 * text);
    let (open, close) = ("translate(".repeat(6), format!(", '{letters}', '')").repeat(6));
    assert!(taken(&format!("//i[{open}.{close} = '']"), &xml) > 6 * 64 * text);
    assert!(taken("//i[substring(substring(substring(., 1), 1), 1) = '']", &xml) > 3 * text);

    // Texts that begin alike are compared to their ends, each with each.
    let alike =
        |name: &str| (0..50).map(|n| format!("<{name}>{}{name}{n:02}</{name}>", "x".repeat(2_000))).collect::<String>();
    let xml = format!("<r>{}{}</r>", alike("a"), alike("b"));
    assert!(taken("/r[a = b]", &xml) > taken("/r[a = 'b'][b = 'b']", &xml) + 50 * 50 * 2_000 / (16 * 32));

    // But where one of them is one node at most, there are as many comparisons as texts: that took
    // as much, 10 ms in all.
    let fields = format!("<r>{}</r>", "<a b='1' c='1'>text</a>".repeat(20_000));
    for predicate in ["@b = @c", "@b = .", "@x:b != ../@c", "@b < /r/@id", "(.) = self::a/@b", "@b = @*", ". = node()"]
    {
        let taken = taken(&format!("//a[{predicate}]"), &fields);
        assert!(taken < 20_000 * 150, "{predicate}: {taken}");
    }
    // These may be several, each.
    for predicate in
        ["text() = text()", "@* = @*", "../a/@b = ../a/@c", "(@b | @c) = (. | @c)", "(..)/a = /r/a", "id('1') = node()"]
    {
        assert!(XPath::parse(&format!("//a[{predicate}]")).unwrap().weight.compares, "{predicate}");
    }

    // A name that is asked for with a prefix is gone through.
    let name = "n".repeat(64_000);
    let xml = format!("<r><{name}/></r>");
    assert!(taken("/r/p:q", &xml) > taken("/r/q", &xml) + 1_000);
}

#[test]
fn reading_a_document_takes_from_the_budget() {
    let (text, xpath) = (format!("<a>{}</a>", "x".repeat(16_000)), XPath::parse("/b").expect("it can be read"));
    let find = |looks| {
        let mut budget = EvaluationLimit { looks, ..BUDGET };
        (xpath.find(&text, &Limits::default(), &mut budget), budget.looks)
    };
    assert_eq!(find(999), (Err(XPathError::TooMuch), 0));
    let (found, left) = find(1_100);
    assert!(found.is_ok_and(|found| found.is_empty()) && left < 100);
}

#[test]
fn xpaths_nested_too_deeply_are_refused_before_parsing() {
    for open in ["(", "//*[", "-", "- ", "not("] {
        let error = XPath::parse(&open.repeat(200)).expect_err(open);
        assert!(error.to_string().contains("nested"), "{error}");
    }
    assert!(XPath::parse(&format!("/{}", "x".repeat(2000))).is_err());
    // As long as may be, and as deep.
    let chain = vec!["1"; 300].join("+");
    assert!(
        XPath::parse(&format!("//*[{chain}]")).unwrap().find(STORY, &Limits::default(), &mut BUDGET.clone()).is_ok()
    );
    let chain = vec!["a"; 200].join(" or ");
    assert!(
        XPath::parse(&format!("//*[{chain}]")).unwrap().find(STORY, &Limits::default(), &mut BUDGET.clone()).is_ok()
    );
    let brackets = format!("{}//p{}", "(".repeat(MAX_NESTED), ")".repeat(MAX_NESTED));
    assert_eq!(XPath::parse(&brackets).unwrap().find(STORY, &Limits::default(), &mut BUDGET.clone()).unwrap().len(), 2);
}

proptest! {
    /// Whatever looks like an expression is read or refused, and ends.
    #[test]
    fn any_expression_ends(words in prop::collection::vec(
        prop::sample::select(vec!["/", "//", "*", "p", "x:p", "@", "id", "[", "]", "(", ")", "1", "'a'", ".", "..", "=", " or ", " and ", "|",
            "+", "-", " div ", " mod ", "<", ">=", "!=", "::", "ancestor", "following", "preceding-sibling", "text()", "node()", "last()", "position()", "count(",
            "not(", "sum(", ",", "$", "string(", "concat(", "id(", "lang(", "translate("]), 0..14)
    ) {
        let text = words.concat();
        if let Ok(xpath) = XPath::parse(&text) {
            let mut budget = EvaluationLimit { looks: 50_000, bytes: 1 << 20 };
            if let Ok((written, ..)) = xpath.set(STORY, (0, "new"), &Limits::default(), &mut budget) {
                prop_assert!(crate::check(&written, &Limits::default()).is_ok());
            }
        }
    }

    /// Checks that the reported path of a node finds it again.
    #[test]
    fn a_path_leads_back(number in 0..20usize) {
        let all = XPath::parse("//node() | //@*").unwrap();
        let nodes = all.find(STORY, &Limits::default(), &mut BUDGET.clone()).unwrap();
        let node = &nodes[number % nodes.len()];
        let again = XPath::parse(&node.path).unwrap().find(STORY, &Limits::default(), &mut BUDGET.clone()).unwrap();
        prop_assert_eq!(again, vec![node.clone()]);
    }
}
