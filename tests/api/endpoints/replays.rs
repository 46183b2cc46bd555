//! Calls sent again under an `Idempotency-Key` (docs/api/README.md, "Sending a call again").

use super::*;

fn keyed(endpoint: &Endpoint) -> bool {
    endpoint.knows("Idempotency-Key")
}

fn own_key() -> String {
    own_folder().replace('/', "-")
}

#[test]
fn a_call_sent_again_is_answered_word_for_word_and_carried_out_once() {
    on_each(19, keyed, |faults, case, corner| {
        let made = (case.make)(corner);
        let call = made.call(&corner.client, case.id).header("idempotency-key", own_key());
        let first = call.send();
        let entries = || corner.client.call("folder-get", &[&corner.folder]).ok()["items"].clone();
        let before = entries();
        for _ in 0..2 {
            let again = call.send();
            let headers = ["content-type", "etag", "cache-control"];
            let same = (again.status, &again.body) == (200, &first.body)
                && headers.iter().all(|name| again.header(name) == first.header(name))
                && again.header("idempotency-replayed") == Some("true");
            faults.expect(same, || format!("{}: {:?}, then {:?}", case.id, lasting(&first), lasting(&again)));
        }
        faults.expect(entries() == before, || format!("{}: something was done twice", case.id));
        let anew = first.header("idempotency-replayed").is_none();
        faults.expect(anew, || format!("{}: the first reply says that it is not", case.id));
    });
}

#[test]
fn a_key_is_for_one_call_alone() {
    on_each(19, keyed, |faults, case, corner| {
        let made = (case.make)(corner);
        let key = own_key();
        let call = made.call(&corner.client, case.id).header("idempotency-key", &key);
        let first = call.send();
        faults.expect(first.status == 200, || format!("{}: {:?}", case.id, lasting(&first)));
        let other = made.call(&corner.client, case.id).header("idempotency-key", &key).query("showPath", true).send();
        let well = other.status == 422 && code(&other) == "IdempotencyMismatch";
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&other)));
        // Keys belong to the user.
        let editor = Server::shared().user("editor");
        let others = made.call(&editor, case.id).header("idempotency-key", &key).send();
        let well = others.header("idempotency-replayed").is_none() && others.status != 422;
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&others)));
    });
}

#[test]
fn a_call_that_failed_may_be_sent_again_under_its_key() {
    let about = |endpoint: &Endpoint| keyed(endpoint) && endpoint.parameters().any(|name| name == "source");
    on_each(12, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let key = own_key();
        let (.., replaced) = made.objects().swap_remove(0);
        for _ in 0..2 {
            let answer = replaced(NOWHERE).call(&corner.client, case.id).header("idempotency-key", &key).send();
            let well = answer.status == 404 && answer.header("idempotency-replayed").is_none();
            faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
        }
        let answer = made.call(&corner.client, case.id).header("idempotency-key", &key).send();
        faults.expect(answer.status == 200, || format!("{}: {:?}", case.id, lasting(&answer)));
    });
}

#[test]
fn a_key_is_some_visible_characters_given_once() {
    on_each(19, keyed, |faults, case, corner| {
        let made = (case.make)(corner);
        let long = "k".repeat(256);
        for key in ["", "two words", "k\u{e9}y", &long] {
            let answer = made.call(&corner.client, case.id).header("idempotency-key", key).send();
            let well = answer.status == 400 && code(&answer) == "InvalidParameter";
            faults.expect(well, || format!("{} {key:?}: {:?}", case.id, lasting(&answer)));
        }
        let call = made.call(&corner.client, case.id);
        let twice = call.header("idempotency-key", "one").header("idempotency-key", "two").send();
        let well = twice.status == 400 && code(&twice) == "InvalidParameter";
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&twice)));
    });
}
