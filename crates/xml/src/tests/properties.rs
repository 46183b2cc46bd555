//! Properties that hold for any input.

use proptest::prelude::*;
use serde_json::Map;

use super::*;

fn name() -> impl Strategy<Value = String> {
    // Few names, so that they repeat.
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("x:y".to_owned()),
        "[A-Za-z_:é][A-Za-z0-9._:\u{B7}-]{0,3}",
    ]
}

/// Any characters that XML can carry, those with a meaning of their own among them.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::sample::select(vec![' ', '\t', '\n', '\r']),
        4 => prop::sample::select(vec!['<', '>', '&', '"', '\'', ']', ';', '-', '#']),
        4 => prop::char::range('a', 'e'),
        1 => any::<char>().prop_map(|c| match c {
            '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
            carried => carried,
        }),
    ];
    prop::collection::vec(character, 0..8).prop_map(|chars| chars.into_iter().collect())
}

/// An element's value in canonical form: what reading XML gives.
fn element() -> impl Strategy<Value = Value> {
    text().prop_map(Value::String).prop_recursive(4, 40, 5, |inner| {
        let one_or_more = prop_oneof![
            3 => inner.clone(),
            1 => prop::collection::vec(inner, 2..4).prop_map(Value::Array),
        ];
        (
            prop::collection::vec((name(), text()), 0..3),
            prop::collection::vec((name(), one_or_more), 0..4),
            prop::option::of((text(), any::<bool>())),
        )
            .prop_map(|(attributes, children, beside)| canonical(attributes, children, beside))
    })
}

fn canonical(
    attributes: Vec<(String, String)>,
    children: Vec<(String, Value)>,
    beside: Option<(String, bool)>,
) -> Value {
    let mut members = Map::new();
    for (name, value) in attributes {
        members.insert(format!("@{name}"), Value::String(value));
    }
    let (text, first) = beside.unwrap_or_default();
    let text = (!text.is_empty()).then_some(text);
    let put = |members: &mut Map<String, Value>| {
        if let Some(text) = &text {
            members.insert("#text".to_owned(), Value::String(text.clone()));
        }
    };
    if first {
        put(&mut members);
    }
    members.extend(children);
    put(&mut members);
    match (members.len(), text) {
        (0, _) => Value::String(String::new()),
        (1, Some(text)) => Value::String(text),
        _ => Value::Object(members),
    }
}

fn document() -> impl Strategy<Value = Value> {
    (name(), element()).prop_map(|(name, value)| Value::Object(Map::from_iter([(name, value)])))
}

fn in_quotes(value: &str) -> String {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    value.replace('\'', "&#39;")
}

/// Content of an element in any spelling, well-formed.
fn content() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => text().prop_map(|t| t.replace('&', "&#38;").replace('<', "&lt;").replace('>', "&#x3e;")),
        2 => prop::sample::select(vec![" ", "\n", "\r\n", "\t"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["&#32;", "&#x0D;", "&#10;", "&apos;"]).prop_map(str::to_owned),
        1 => text().prop_map(|t| format!("<![CDATA[{}]]>", t.replace("]]>", ""))),
        1 => text().prop_map(|t| format!("<!--{}-->", t.replace('-', "+"))),
        1 => text().prop_map(|t| format!("<?go {}?>", t.replace("?>", ""))),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        (name(), prop::collection::hash_map(name(), text(), 0..3), prop::collection::vec(inner, 0..6)).prop_map(
            |(name, attributes, parts)| {
                let attributes: String =
                    attributes.iter().map(|(key, value)| format!("\n{key} = '{}' ", in_quotes(value))).collect();
                format!("<{name}{attributes}>{}</{name}\t>", parts.concat())
            },
        )
    })
}

fn well_formed() -> impl Strategy<Value = String> {
    let before = prop::sample::select(vec![
        "",
        "\u{FEFF}",
        "<?xml version='1.0'?> ",
        "<!DOCTYPE r [<!ENTITY e \"]>\">\r\n]>\r\n",
        "<!-- c -->\n<?p?>",
    ]);
    let after = prop::sample::select(vec!["", "\r\n", "<?p  x?>", "<!----><!--\r-->"]);
    (before, prop::collection::vec(content(), 0..5), after)
        .prop_map(|(before, parts, after)| format!("{before}<r>{}</r>{after}", parts.concat()))
}

/// Pieces of markup in no order, which get deeper into a parser than random characters.
fn debris() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "<", ">", "/", "</", "/>", "<a", "<a>", "</a>", "<a/>", "<b ", "=", "'", "\"", "b='", "&",
            ";", "&amp;", "&#", "&#x", "&#13;", "&e;", "<!", "<!-", "<!--", "-->", "--", "-", "<!-->",
            "<!--->", "<![", "<![CDATA[", "]]>", "]", "<?", "?>", "<?x", "<?>", "<?xml ",
            "version='1.0'", "<!DOCTYPE ", "<!DOCTYPE a [", "<!ENTITY ", "<!ELEMENT ", "<!ATTLIST ",
            "<!NOTATION ", "<!N", "%p;", "[", "]>", " ", "\r", "\n", "\t", "é", "\u{FEFF}", "\u{1F600}",
            "\u{0}", "\u{FFFF}",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![name(), name().prop_map(|n| format!("@{n}")), Just("#text".to_owned()), any::<String>(),];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The laws on any XML text, well-formed or not.
fn laws_of_reading(text: &str) -> Result<(), TestCaseError> {
    let all = limits();
    let checked = check(text, &all);
    let value = to_json(text, &all);
    let rewritten = reserialize(text, &all);
    prop_assert_eq!(checked.as_ref().err(), value.as_ref().err());
    prop_assert_eq!(checked.as_ref().err(), rewritten.as_ref().err());
    if let (Ok(value), Ok(rewritten)) = (value, rewritten) {
        prop_assert_eq!(reserialize(&rewritten, &all), Ok(rewritten.clone()));
        // As text, so that the order of keys counts.
        let read_again = to_json(&rewritten, &all).map(|v| v.to_string());
        prop_assert_eq!(read_again, Ok(value.to_string()));
        let written = from_json(&value, &all);
        let back = written.and_then(|xml| to_json(&xml, &all)).map(|v| v.to_string());
        prop_assert_eq!(back, Ok(value.to_string()));
    }
    Ok(())
}

fn settings() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn canonical_json_comes_back_as_it_went_in(value in document()) {
        let text = from_json(&value, &limits());
        let back = text.and_then(|text| to_json(&text, &limits()));
        prop_assert_eq!(back.map(|v| v.to_string()), Ok(value.to_string()));
    }

    #[test]
    fn well_formed_text_is_accepted_and_obeys_the_laws(text in well_formed()) {
        prop_assert_eq!(check(&text, &limits()), Ok("r".to_owned()));
        laws_of_reading(&text)?;
    }

    #[test]
    fn debris_never_panics_and_obeys_the_laws(text in debris()) {
        laws_of_reading(&text)?;
        laws_of_reading(&format!("<a>{text}</a>"))?;
    }

    #[test]
    fn any_text_never_panics_and_obeys_the_laws(text in any::<String>()) {
        laws_of_reading(&text)?;
    }

    #[test]
    fn any_json_is_refused_or_becomes_well_formed(value in any_json(), root in name()) {
        for value in [Value::Object(Map::from_iter([(root, value.clone())])), value] {
            if let Ok(text) = from_json(&value, &limits()) {
                laws_of_reading(&text)?;
                prop_assert!(check(&text, &limits()).is_ok());
            }
        }
    }
}
