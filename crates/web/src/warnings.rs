//! The warnings about a call in its reply (docs/api/README.md, "Warnings").
//!
//! The dispatcher puts the warnings beside the `result` of the v3 reply, whatever kind of JSON that
//! is. They are added to a copy if the reply's bytes are kept for others. Replies without an
//! envelope have no warnings.

use bytes::Bytes;
use serde::Serialize;
use stet_newsroom::caller::{WarningList, Warnings};

use super::reply::AROUND;

/// The member that is added to the envelope.
#[derive(Serialize)]
struct WarningsMember {
    warnings: WarningList,
}

/// Returns the text between the result and the end of the envelope: `,"warnings":[…]`, or nothing.
pub(super) fn member(warnings: &Warnings) -> Vec<u8> {
    let Some(warnings) = warnings.list() else { return Vec::new() };
    // Texts can't fail to be serialised. An object `{"warnings":[…]}` gives the member: its braces
    // are replaced.
    let mut text = serde_json::to_vec(&WarningsMember { warnings }).unwrap_or_default();
    text.pop();
    if let Some(first) = text.first_mut() {
        *first = b',';
    }
    text
}

/// Returns an enveloped result with the warnings beside it. Without warnings it returns the same
/// bytes, shared.
pub(super) fn beside(warnings: &Warnings, whole: Bytes) -> Bytes {
    let member = member(warnings);
    if member.is_empty() {
        return whole;
    }
    let end = whole.len() - AROUND.1.len();
    let mut bytes = Vec::with_capacity(whole.len() + member.len());
    bytes.extend_from_slice(&whole[..end]);
    bytes.extend_from_slice(&member);
    bytes.extend_from_slice(AROUND.1);
    bytes.into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use stet_newsroom::caller::Warning;

    use super::*;

    #[test]
    fn warnings_stand_beside_the_result_and_the_shared_bytes_stay() {
        let whole = || Bytes::from([AROUND.0, b"{\"id\":1}", AROUND.1].concat());
        let (warnings, kept) = (Warnings::default(), whole());
        assert_eq!(beside(&warnings, kept.clone()).as_ptr(), kept.as_ptr(), "nothing is copied without warnings");
        warnings.add(Warning::new("a", "A.").with_nearest(Some("b".to_owned())));
        warnings.add(Warning::new("$.\u{1}", "B."));
        let sent: Value = serde_json::from_slice(&beside(&warnings, kept.clone())).expect("it is JSON");
        let list = json!([
            { "name": "a", "message": "A.", "didYouMean": "b" },
            { "name": "$.\\u0001", "message": "B." },
        ]);
        assert_eq!(sent, json!({ "status": "success", "result": { "id": 1 }, "warnings": list }));
        assert_eq!(kept, whole());
    }
}
