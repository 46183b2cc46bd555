//! The warnings about a call in its reply (docs/api/README.md, "Warnings").
//!
//! The dispatcher puts the warnings beside the `result` of the v3 reply, whatever kind of JSON that
//! is. The reply's bytes, which may be kept for others, stay as they are. Replies without an
//! envelope have no warnings.

use serde::Serialize;
use stet_base::rope::TextPieces;
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

/// Returns an enveloped result with the warnings beside it. The bytes of the result are shared.
pub(super) fn beside(warnings: &Warnings, whole: TextPieces) -> TextPieces {
    let mut member = member(warnings);
    if member.is_empty() {
        return whole;
    }
    member.extend_from_slice(AROUND.1);
    let mut pieces = whole.slice(0..whole.len() - AROUND.1.len());
    pieces.push(member.into());
    pieces
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};
    use stet_newsroom::caller::Warning;

    use super::*;

    #[test]
    fn warnings_stand_beside_the_result_and_the_shared_bytes_stay() {
        let whole = || Bytes::from([AROUND.0, b"{\"id\":1}", AROUND.1].concat());
        let (warnings, kept) = (Warnings::default(), whole());
        let beside = |warnings: &Warnings| beside(warnings, kept.clone().into());
        let is_shared = |pieces: &TextPieces| pieces.iter().next().is_some_and(|piece| piece.as_ptr() == kept.as_ptr());
        assert!(is_shared(&beside(&warnings)), "nothing is copied without warnings");
        warnings.add(Warning::new("a", "A.").with_nearest(Some("b".to_owned())));
        warnings.add(Warning::new("$.\u{1}", "B."));
        let sent = beside(&warnings);
        assert!(is_shared(&sent), "the result is not copied with warnings");
        let sent: Value = serde_json::from_slice(&sent.into_whole()).expect("it is JSON");
        let list = json!([
            { "name": "a", "message": "A.", "didYouMean": "b" },
            { "name": "$.\\u0001", "message": "B." },
        ]);
        assert_eq!(sent, json!({ "status": "success", "result": { "id": 1 }, "warnings": list }));
        assert_eq!(kept, whole());
    }
}
