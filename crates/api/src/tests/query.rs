//! Query parameters of endpoints.

use stet_domain::error::Code;
use stet_newsroom::records::Display;
use stet_newsroom::records::display::parse_boolean;
use stet_web::query::*;
use stet_web::route::{ParameterKind, Route};

fn route(id: &str) -> &'static Route {
    crate::all_routes().find(|route| route.id == id).expect("the tests name endpoints that there are")
}

fn read(id: &str, raw_query: &str) -> Query {
    Query::parse(route(id), QueryPairs::of(raw_query)).unwrap()
}

fn refusal(id: &str, raw_query: &str) -> String {
    let error = Query::parse(route(id), QueryPairs::of(raw_query)).unwrap_err();
    assert_eq!(error.code, Code::InvalidParameter);
    error.message
}

#[test]
fn an_absent_parameter_reads_as_the_default_of_its_endpoint() {
    let query = read("folder-subfolders-get", "");
    assert_eq!(query.integer("limit"), Some(20));
    assert_eq!(query.integer("offset"), None);
    assert_eq!(query.text("sortBy"), None);
    assert!(query.display().additional_info);
    let query = read("bundle-view-get", "token=abc");
    assert_eq!(query.text("viewPath"), Some("/"));
    assert_eq!(query.text("widthUnit"), Some("PIXEL"));
    assert_eq!(query.display(), Display::with_defaults(false));
    assert!(read("liveblog-put", "").boolean("checkIn"));
    let query = read("old-siteconfig-get", "type=Story");
    assert_eq!(query.boolean_if_any("autocreate"), None);
    assert!(!query.boolean("autocreate") && !query.boolean("check"));
    assert_eq!(read("liveblog-content-get", "").integer("version"), Some(-1));
}

#[test]
fn nothing_is_allocated_for_an_empty_query_or_a_token() {
    for raw_query in ["", "token=abc", "token=abc&unknown=1", "&&"] {
        assert_eq!(read("drawer-get", raw_query).capacity(), 0);
    }
}

#[test]
fn names_match_without_regard_to_case_and_unknown_ones_are_ignored() {
    let query = read("drawer-get", "SHOWITEMS=TRUE&showsystemattribute=0&showPATH=1&what=ever");
    assert!(query.boolean("showItems") && query.has("showItems"));
    let display = query.display();
    assert!(!display.system_attributes && display.path);
}

#[test]
fn booleans_are_true_false_1_0_in_any_case() {
    for (text, expected) in
        [("true", true), ("True", true), ("1", true), ("false", false), ("FALSE", false), ("0", false)]
    {
        assert_eq!(read("topic-get", &format!("limitToChildren={text}")).boolean("limitToChildren"), expected);
    }
    assert_eq!(refusal("drawer-get", "showitems=yes"), "`showItems` must be true, false, 1 or 0, but is `yes`.");
}

#[test]
fn whole_numbers_are_checked_and_counts_are_not_negative() {
    assert_eq!(read("liveblog-content-get", "version=-2").integer("version"), Some(-2));
    assert_eq!(refusal("folder-filter-get", "howMany=1.5"), "`howMany` must be a whole number, but is `1.5`.");
    for name in ["limit", "offset"] {
        assert_eq!(
            refusal("drawer-get", &format!("{name}=-1")),
            format!("`{name}` must be a whole number of 0 or more, but is `-1`.")
        );
    }
    refusal("folder-subfolders-get", "limit=99999999999999999999");
}

#[test]
fn the_last_value_counts_but_a_list_takes_all() {
    assert_eq!(read("folder-get", "sortBy=name&sortBy=-type").text("sortBy"), Some("-type"));
    assert_eq!(read("folder-subfolders-get", "limit=3&LIMIT=4").integer("limit"), Some(4));
    let query = read("folder-filter-get", "patternSequence=a*,,b%3F&howMany=2&patternsequence=c%2Cd,&patternSequence=");
    assert_eq!(query.list("patternSequence"), ["a*", "b?", "c", "d"]);
    assert!(read("folder-filter-get", "patternSequence=,").list("patternSequence").is_empty());
}

#[test]
fn values_are_form_decoded() {
    let query = read("folder-get", "sortBy=a+b%20c%C3%A9&databaseId=null");
    assert_eq!(query.text("sortBy"), Some("a b cé"));
    assert_eq!(query.text("databaseId"), Some("null"));
}

#[test]
fn an_empty_value_is_a_text_but_no_number_boolean_or_list() {
    let query = read("folder-filter-get", "howMany=&recursive=&excludeFolders&patternSequence=&sortBy=");
    assert_eq!(query.integer("howMany"), Some(0));
    assert!(!query.boolean("recursive") && !query.has("excludeFolders") && !query.has("patternSequence"));
    assert_eq!(query.text("sortBy"), Some(""));
}

#[test]
fn a_missing_required_parameter_is_named() {
    assert_eq!(refusal("old-channel-list-get", "loidsSource=,"), "`loidsSource` is required.");
    assert_eq!(refusal("old-calendar-nextpublicationdate-get", "fromIssueDate=20240101"), "`product` is required.");
    assert_eq!(read("old-channel-list-get", "loidsSource=1.1.1,1.1.2").list("loidsSource").len(), 2);
}

#[test]
fn an_option_that_the_endpoint_has_not_is_unknown_to_it() {
    let query = read("object-family-get", "showPath=perhaps&showWebType=1&webProduct=Courier");
    let display = query.display();
    assert!(!display.path && display.web_type);
    assert_eq!(query.text("webProduct"), Some("Courier"));
    assert_eq!(display, read("object-family-get", "showWebType=1").display(), "the product has no effect");
    let long = refusal("object-family-get", &format!("WEBPRODUCT={}", "x".repeat(256)));
    assert_eq!(long, "`webProduct` must be a text of at most 255 bytes, but has 256.");
    assert!(read("auth-login-get", "applicationId=a&connectionId=b&ticket=c&showWebType=1").display().web_type);
}

#[test]
fn the_token_is_found_without_a_check_of_the_rest() {
    assert_eq!(QueryPairs::of("showItems=maybe&TOKEN=a%2Bb").last("token"), Some("a+b"));
    assert_eq!(QueryPairs::of("token=old&token=new").last("token"), Some("new"));
    assert_eq!(QueryPairs::of("showItems=1").last("token"), None);
}

#[test]
fn no_endpoint_lists_a_parameter_twice_and_every_default_is_of_its_kind() {
    for route in crate::all_routes() {
        let names: Vec<_> = parameters(route).map(|parameter| parameter.name.to_ascii_lowercase()).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{}: {name}", route.id);
        }
        for ParameterSpec { name, kind, default, .. } in parameters(route) {
            let fits = match (kind, default) {
                (ParameterKind::Boolean, Some(text)) => parse_boolean(text).is_some(),
                (ParameterKind::Integer, Some(text)) => text.parse::<i64>().is_ok(),
                (ParameterKind::TextList, default) => default.is_none(),
                _ => true,
            };
            assert!(fits, "{}: {name}", route.id);
        }
    }
}
