//! Tests of the query language.

use proptest::prelude::*;

use super::*;

/// Returns a query in a compact form for tables of tests.
fn shape(text: &str, as_you_type: bool) -> String {
    let options = QueryOptions { as_you_type, ..QueryOptions::default() };
    match SearchQuery::parse(text, options) {
        Ok(query) => query.clauses.iter().map(clause).collect::<Vec<_>>().join(" & "),
        Err(error) => format!("error: {}", error.piece),
    }
}

fn clause(clause: &QueryClause) -> String {
    clause.alternatives.iter().map(leaf).collect::<Vec<_>>().join(" | ")
}

fn leaf(leaf: &QueryLeaf) -> String {
    let text = match &leaf.condition {
        LeafCondition::Dates(dates) => {
            let end = |time: Option<i64>| time.map_or(String::new(), |time| (time / 1000).to_string());
            format!("{}[{},{}]", if dates.created { "created" } else { "modified" }, end(dates.from), end(dates.to))
        }
        LeafCondition::Words(words) => {
            let scope = match &words.scope {
                FieldScope::Any => String::new(),
                FieldScope::Small(name) => format!("{name}:"),
                scope => format!("{scope:?}:").to_lowercase(),
            };
            let plain: Vec<&str> = words.words.iter().map(|word| word.plain.as_str()).collect();
            let whole = words.whole.as_ref().map_or(String::new(), |whole| format!("={}", whole.plain));
            let quote = if words.quoted { "\"" } else { "" };
            format!("{scope}{quote}{}{quote}{whole}{}", plain.join(" "), if words.prefix { "*" } else { "" })
        }
    };
    if leaf.negated { format!("-{text}") } else { text }
}

#[test]
fn queries_have_the_trees_of_the_table() {
    let table = [
        ("", ""),
        ("  \u{0}\t ", ""),
        ("Haus Garten", "haus & garten"),
        ("a b OR c", "a & b | c"),
        ("a OR b OR c d", "a | b | c & d"),
        ("OR a OR", "a"),
        ("a OR OR b", "a | b"),
        ("a or b", "a & or & b"),
        ("\"neue Häuser\"", "\"neue hauser\""),
        ("„neue Häuser“ rot", "\"neue hauser\" & rot"),
        ("«deux mots»", "\"deux mots\""),
        ("\"ohne Ende", "\"ohne ende\""),
        ("a\"b c\"d", "a & \"b c\" & d"),
        ("\"\" \" \"", ""),
        ("min* *", "min*"),
        ("*minister", "minister"),
        ("-a --b -\"c d\" - -", "-a & -b & -\"c d\""),
        ("-OR", "-or"),
        ("a OR -b", "a | -b"),
        ("e-mail", "e mail=email"),
        ("E-Mail*", "e mail=email*"),
        ("\"e-mail senden\"", "\"e mail senden\""),
        ("l'homme", "homme"),
        ("東京", "東 京"),
        ("東*", "東"),
        ("title:haus", "title:haus"),
        ("TITLE:\"neues haus\"", "title:\"neues haus\""),
        ("name:a text:b", "name:a & text:b"),
        ("type:Article -status:draft author:an*", "type:article & -status:draft & author:an*"),
        ("Ressort:politik", "ressort:politik"),
        ("http://example.com", "http example com"),
        ("12:30", "12 30=1230"),
        ("title: haus", "title & haus"),
        (":a", "a"),
        ("created:2026-05", "created[1777593600,1780272000]"),
        ("modified:2026-01-01..2026-01-01", "modified[1767225600,1767312000]"),
        ("modified:..2026", "modified[,1798761600]"),
        ("modified:2026..", "modified[1767225600,]"),
        ("created:1970-01-01T00:01", "created[60,120]"),
        ("created:1970-01-01T01:00:05+01:00", "created[5,6]"),
        ("created:\"1970-01-01T00:00Z\"", "created[0,60]"),
        ("created:2026-13", "error: 2026-13"),
        ("created:2026-02-30", "error: 2026-02-30"),
        ("modified:gestern", "error: gestern"),
        ("modified:..", "error: .."),
        ("created:2026-01-01T25:00", "error: 2026-01-01T25:00"),
        ("created:2026T10:00", "error: 2026T10:00"),
    ];
    for (text, expected) in table {
        assert_eq!(shape(text, false), expected, "{text:?}");
    }
}

#[test]
fn the_last_word_is_a_prefix_as_you_type() {
    let table = [
        ("haus gar", "haus & gar*"),
        ("haus gar ", "haus & gar"),
        ("\"haus gar", "\"haus gar\""),
        ("-gar", "-gar"),
        ("title:ga", "title:ga*"),
        ("e-ma", "e ma=ema*"),
        ("ende.", "ende"),
        ("東", "東"),
        ("created:2026-0", ""),
        ("created:2026-0 a", "error: 2026-0"),
    ];
    for (text, expected) in table {
        assert_eq!(shape(text, true), expected, "{text:?}");
    }
}

#[test]
fn dates_without_an_offset_have_that_of_the_options() {
    let options = QueryOptions { zone_offset_seconds: 7200, ..QueryOptions::default() };
    let query = SearchQuery::parse("created:1970-01-02 created:1970-01-01T00:00Z", options).unwrap();
    let dates: Vec<_> = query.clauses.iter().map(|clause| clause.alternatives[0].condition.clone()).collect();
    let day = DateCondition { created: true, from: Some(79_200_000), to: Some(165_600_000) };
    let minute = DateCondition { created: true, from: Some(0), to: Some(60_000) };
    assert_eq!(dates, [LeafCondition::Dates(day), LeafCondition::Dates(minute)]);
}

#[test]
fn bounds_of_queries_are_kept_and_stated() {
    let parse = |text: &str| SearchQuery::parse(text, QueryOptions::default());
    let error = parse(&"a".repeat(MAX_QUERY_BYTES + 1)).unwrap_err();
    assert!(error.message.contains("1001 bytes") && error.piece.len() == 100, "{error}");
    assert!(parse(&"a ".repeat(MAX_QUERY_CONDITIONS)).is_ok());
    let error = parse(&("a ".repeat(MAX_QUERY_CONDITIONS) + "letztes")).unwrap_err();
    assert!(error.message.contains("`letztes`") && error.message.contains("32"), "{error}");
    assert!(parse(&format!("\"{}\"", "a ".repeat(MAX_QUERY_WORDS))).is_ok());
    assert!(parse(&format!("\"{}\"", "a ".repeat(MAX_QUERY_WORDS + 1))).is_err());
    assert!(parse(&"東".repeat(MAX_QUERY_WORDS + 1)).is_err());
}

proptest! {
    #[test]
    fn no_query_panics(
        text in "(\\PC|[\"*:\\-. \u{0}\u{ad}„“]|OR |created:|title:){0,40}",
        as_you_type in any::<bool>(),
    ) {
        let options = QueryOptions { as_you_type, ..QueryOptions::default() };
        if let Ok(query) = SearchQuery::parse(&text, options) {
            prop_assert_eq!(query.is_empty(), query.clauses.is_empty());
            query.highlight(&text, &["de".to_owned()], 10);
        }
    }
}
