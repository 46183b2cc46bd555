//! Replies as short as the client prefers (docs/api/README.md, "Short replies").

use super::*;

const SHORT: (&str, &str) = ("prefer", "return=minimal");
const MEDIA_TYPE: &str = "application/vnd.stet.minimal+json";

fn may_be_short(endpoint: &Endpoint) -> bool {
    endpoint.replies_minimally
}

/// Returns the revision in an ETag, which precedes the object.
fn revision_in(answer: &Answer) -> Option<u64> {
    answer.header("etag")?.trim_start_matches('"').split('-').next()?.parse().ok()
}

#[test]
fn a_short_reply_has_id_and_revision_and_the_etag_of_the_whole_one() {
    on_each(59, may_be_short, |faults, case, corner| {
        let whole = (case.make)(corner).call(&corner.client, case.id).send();
        let applied = whole.header("preference-applied");
        faults.expect(applied.is_none(), || format!("{}: {applied:?} without being asked", case.id));
        // The same call among things of its own.
        let corner = Corner::new();
        let short = (case.make)(&corner).call(&corner.client, case.id).header(SHORT.0, SHORT.1).send();
        let (status, json) = lasting(&short);
        let result = json["result"].as_object().cloned().unwrap_or_default();
        let known = ["id", "revision", "items"];
        let well = status == 200
            && short.header("preference-applied") == Some("return=minimal")
            && short.header("content-type") == Some(MEDIA_TYPE)
            && result.keys().all(|name| known.contains(&name.as_str()))
            && result.get("id").is_some_and(|id| id.as_str().is_some_and(|id| !id.is_empty()))
            && result.get("revision").and_then(Value::as_u64) == revision_in(&short)
            && revision_in(&short) == revision_in(&whole);
        faults
            .expect(well, || format!("{}: {status} {json}, {:?}; whole: {:?}", case.id, short.headers, whole.headers));
        let id = |whole: &Value| whole["id"].as_str().or(whole["info"]["id"].as_str()).map(str::to_owned);
        let whole_id = id(&lasting(&whole).1["result"]);
        let both_loids = whole_id
            .as_ref()
            .is_none_or(|id| id.contains('$') == json["result"]["id"].as_str().is_some_and(|id| id.contains('$')));
        faults.expect(both_loids, || format!("{}: {whole_id:?} and {}", case.id, json["result"]["id"]));
    });
}

#[test]
fn where_no_reply_may_be_short_the_wish_changes_nothing() {
    let about = |endpoint: &Endpoint| !may_be_short(endpoint) && !SENDS_MESSAGES.contains(&endpoint.id.as_str());
    on_each(100, about, |faults, case, corner| {
        let answer = (case.make)(corner).call(&corner.client, case.id).header(SHORT.0, SHORT.1).send();
        let well = answer.status == 200 && answer.header("preference-applied").is_none();
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
    });
}

#[test]
fn a_repeated_call_under_its_key_gets_the_same_answer_despite_prefer() {
    let about = |endpoint: &Endpoint| may_be_short(endpoint) && endpoint.knows("Idempotency-Key");
    on_each(15, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let key = own_folder().replace('/', "-");
        let call = || made.call(&corner.client, case.id).header("idempotency-key", &key);
        let first = call().header(SHORT.0, SHORT.1).send();
        let again = call().send();
        let headers = ["content-type", "etag", "preference-applied"];
        let same = (again.status, &again.body) == (200, &first.body)
            && headers.iter().all(|name| again.header(name) == first.header(name))
            && again.header("idempotency-replayed") == Some("true")
            && again.header("content-type") == Some(MEDIA_TYPE);
        faults.expect(same, || format!("{}: {:?}, then {:?}", case.id, lasting(&first), lasting(&again)));
    });
}
