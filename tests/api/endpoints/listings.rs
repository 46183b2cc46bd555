//! Parts and orders of listings (docs/api/README.md, "Paging and sorting").

use super::*;

/// The entries of a listing that is shown in one piece, with or without an envelope.
fn entries(answer: &Answer) -> Option<usize> {
    let json = answer.json();
    let listing = if json["result"].is_object() { &json["result"] } else { &json };
    Some(listing["items"].as_array()?.len())
}

/// Returns the total number of entries that a listing states.
fn total(answer: &Answer) -> Option<u64> {
    let json = answer.json();
    let listing = if json["result"].is_object() { &json["result"] } else { &json };
    listing["total"].as_u64().or(listing["info"]["count"].as_u64())
}

#[test]
fn whatever_is_said_to_have_parts_gives_them_and_says_how_many_there_are() {
    let about = |endpoint: &Endpoint| endpoint.takes("limit") && endpoint.takes("offset");
    on_each(30, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let read = |query: &[(&str, u64)]| {
            let call = made.call(&corner.client, case.id);
            query.iter().fold(call, |call, (name, value)| call.query(name, value)).send()
        };
        let whole = read(&[]);
        // A feed has parts of another kind.
        let (Some(all), Some(count)) = (entries(&whole), total(&whole)) else { return };
        // What other tests change meanwhile, such as the recycle bin, is counted anew.
        let counted = |count: u64, none: &Answer| {
            let of_others = || (0..5).any(|_| total(&read(&[("limit", 0)])) == total(&read(&[])));
            total(none) == Some(count) || of_others()
        };
        let none = read(&[("limit", 0)]);
        let well = entries(&none) == Some(0) && counted(count, &none);
        faults.expect(well, || format!("{} limit=0: {:?}", case.id, lasting(&none)));
        let behind = read(&[("offset", 1_000_000)]);
        faults.expect(entries(&behind) == Some(0), || format!("{} offset: {:?}", case.id, lasting(&behind)));
        if all > 1 {
            let one = read(&[("limit", 1), ("offset", 1)]);
            faults.expect(entries(&one) == Some(1), || format!("{} limit=1: {:?}", case.id, lasting(&one)));
        }
    });
}

#[test]
fn whatever_counts_its_entries_is_said_to_have_parts() {
    on_each(
        70,
        |endpoint| endpoint.method == "GET",
        |faults, case, corner| {
            let answer = (case.make)(corner).call(&corner.client, case.id).send();
            let is_json = answer.header("content-type") == Some("application/json");
            if is_json && entries(&answer).is_some() && total(&answer).is_some() {
                let well = case.endpoint().takes("limit") && case.endpoint().takes("offset");
                faults.expect(well, || case.id.to_owned());
            }
        },
    );
}

#[test]
fn an_order_that_there_is_not_is_refused_wherever_there_are_orders() {
    on_each(
        25,
        |endpoint| endpoint.method == "GET" && endpoint.takes("sortBy"),
        |faults, case, corner| {
            let made = (case.make)(corner);
            for (order, status) in [("nope", 400), ("-id", 200), ("id:desc", 200)] {
                let answer = made.call(&corner.client, case.id).query("sortBy", order).send();
                let well = answer.status == status && (status == 200 || code(&answer) == "InvalidParameter");
                faults.expect(well, || format!("{} {order}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
}
