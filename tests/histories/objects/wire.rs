//! Changes of an object as they are sent.

use serde_json::json;

use super::spec::{Change, Switches};
use crate::harness::{Answer, Client, encoded};

/// Returns a path below the object of that loid.
pub fn path(object: &str, rest: &str) -> String {
    format!("/v3/object/{}{rest}", encoded(object))
}

fn query(switches: Switches) -> String {
    let Switches { check_in, keep, unlock, new_version, check_out, clean } = switches;
    format!(
        "checkIn={check_in}&keepCheckedOut={keep}&unlock={unlock}&newVersion={new_version}&checkOut={check_out}&\
         checkOutClean={clean}"
    )
}

/// Sends a change; an error if no answer came.
pub fn send<B>(
    client: &Client,
    object: &str,
    change: &Change<B>,
    bytes: impl Fn(&B) -> Vec<u8>,
) -> Result<Answer, String> {
    let (method, rest, media_type, body) = match change {
        Change::Write(switches, body) => {
            let body = body.as_ref().map(bytes).unwrap_or_default();
            ("PUT", format!("/content?{}", query(*switches)), "text/xml", body)
        }
        Change::Restore(number) => ("POST", format!("/versions/{number}/restore"), "application/json", Vec::new()),
        Change::Lock => ("POST", "/lock".to_owned(), "application/json", Vec::new()),
        Change::Unlock { force } => {
            ("POST", "/unlock".to_owned(), "application/json", json!({ "force": force }).to_string().into_bytes())
        }
    };
    client.try_send(method, &path(object, &rest), &[("content-type", media_type)], &body)
}
