//! Display options (docs/api/README.md, "Display options").

use super::*;

/// Whether a record in a reply has this member.
fn has(value: &Value, member: &str) -> bool {
    match value {
        Value::Object(fields) if fields.contains_key("pstate") => fields.contains_key(member),
        Value::Object(fields) => fields.values().any(|value| has(value, member)),
        Value::Array(values) => values.iter().any(|value| has(value, member)),
        _ => false,
    }
}

/// The endpoints whose query has display options, and whose reply has a record at once.
fn shows(endpoint: &Endpoint) -> bool {
    endpoint.takes("showAttributes") && !endpoint.path.contains("/auth/")
}

#[test]
fn an_option_shows_or_hides_its_part_of_the_record() {
    on_each(10, shows, |faults, case, corner| {
        for (option, member, by_default) in [
            ("showPath", "path", false),
            ("showAttributes", "attributes", true),
            ("showSystemAttributes", "systemAttributes", true),
            ("showUsageTickets", "usageTickets", true),
            ("showVirtualAttributes", "virtualAttributes", true),
            ("showUniquenessString", "uniquenessString", false),
            ("showXml", "attributesXml", false),
            ("showWebType", "webType", false),
        ] {
            // One has all of them but this.
            if !case.endpoint().takes(option) {
                continue;
            }
            for (value, shown) in [("true", true), ("1", true), ("FALSE", false), ("0", false), ("", by_default)] {
                let made = (case.make)(corner);
                let answer = made.call(&corner.client, case.id).query(option, value).send();
                let well = answer.status == 200 && has(&answer.json(), member) == shown;
                faults.expect(well, || format!("{} {option}={value}: {:?}", case.id, lasting(&answer)));
            }
            let made = (case.make)(corner);
            let answer = made.call(&corner.client, case.id).query(&option.to_uppercase(), !by_default).send();
            let well = answer.status == 200 && has(&answer.json(), member) != by_default;
            faults.expect(well, || format!("{} {option} in capitals: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn each_display_has_a_tag_of_its_own_and_is_given_to_nobody_else() {
    let about =
        |endpoint: &Endpoint| shows(endpoint) && endpoint.knows("If-None-Match") && !reads_what_others_change(endpoint);
    on_each(5, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let mut queries = vec![vec![], vec!["showPath"], vec!["showXml"], vec!["showPath", "showXml"]];
        queries.retain(|options| options.iter().all(|option| case.endpoint().takes(option)));
        let read = |query: &[&str]| {
            let call = made.call(&corner.client, case.id);
            query.iter().fold(call, |call, option| call.query(option, true)).send()
        };
        let first: Vec<Answer> = queries.iter().map(|query| read(query)).collect();
        let mut tags: Vec<_> = first.iter().map(|answer| answer.header("etag").map(str::to_owned)).collect();
        for (query, before) in queries.iter().zip(&first).rev() {
            // Whatever was asked for in between.
            let same = read(query).body == before.body;
            faults.expect(same, || format!("{} {query:?}: another reply the second time", case.id));
        }
        tags.sort();
        tags.dedup();
        faults.expect(tags.len() == queries.len(), || format!("{}: {tags:?}", case.id));
    });
}
