//! Replies with lists that are rendered entry by entry.

use serde::Serialize;
use serde_json::json;
use stet_base::json::ReplyList;
use stet_domain::error::{Code, Error, Result};
use stet_web::call::Call;
use stet_web::listing::{EntryStep, Listing, ListingEntries, NestedItem};

use super::ServerFixture;

/// A reply, or an item of it, with a list.
#[derive(Serialize)]
struct Branch<T, X> {
    items: ReplyList<T>,
    failed: Option<ReplyList<X>>,
    number: usize,
}

#[actix_web::test]
async fn lists_in_lists_omitted_entries_and_failures_stand_in_their_places() {
    let fixture = ServerFixture::of(crate::surface).await;
    let call = fixture.call_of("drawer-get");
    let leaf = async |_: &Call, leaf: &usize, _| -> Result<_> { Ok(vec![*leaf; *leaf]) };
    let twig = async move |_: &Call, twig: &usize, _| -> Result<_> {
        let leaves = ListingEntries::of((0..*twig).collect::<Vec<usize>>(), leaf);
        Ok(Some(NestedItem::open(leaves, |items| Branch { items, failed: None::<ReplyList<()>>, number: *twig })))
    };
    let branch = async move |_: &Call, branch: &usize, step: EntryStep| -> Result<_> {
        assert_eq!((step.index, step.late), (*branch, false));
        Ok(match branch {
            0 | 3 => Ok(None),
            1 | 5 => Err(format!("{branch} failed")),
            2 => Ok(Some(NestedItem::whole(Branch { items: vec![].into(), failed: None::<ReplyList<()>>, number: 2 }))),
            _ => {
                let twigs = ListingEntries::of(vec![3, 0], twig);
                Ok(Some(NestedItem::open(twigs, |items| Branch { items, failed: None, number: *branch })))
            }
        })
    };
    let reply = |items, failed| Branch { items, failed: Some(failed), number: 7 };
    let listing = Listing::each(&call, (0..7).collect::<Vec<usize>>(), branch, reply).await;
    let twigs = json!([
        { "items": [1, 2, 2], "failed": null, "number": 3 },
        { "items": [], "failed": null, "number": 0 },
    ]);
    let wanted = json!({
        "items": [
            { "items": [], "failed": null, "number": 2 },
            { "items": twigs, "failed": null, "number": 4 },
            { "items": twigs, "failed": null, "number": 6 },
        ],
        "failed": ["1 failed", "5 failed"],
        "number": 7,
    });
    assert_eq!(listing.expect("nothing fails").answer(call).result(), wanted);
}

#[actix_web::test]
async fn a_list_of_nothing_is_empty_and_an_error_is_that_of_the_call() {
    let fixture = ServerFixture::of(crate::surface).await;
    let render = async |_: &Call, entry: &usize, _| -> Result<Result<Option<usize>, usize>> {
        if *entry > 1 { Err(Error::not_found(entry)) } else { Ok(Ok(None)) }
    };
    for (entries, wanted) in [(vec![], true), (vec![0, 1], true), (vec![0, 1, 2], false)] {
        let call = fixture.call_of("drawer-get");
        let reply = |items, failed| Branch { items, failed: Some(failed), number: 0 };
        match Listing::each(&call, entries, render, reply).await {
            Ok(listing) => {
                assert_eq!(listing.answer(call).result(), json!({ "items": [], "failed": [], "number": 0 }));
                assert!(wanted);
            }
            Err(error) => assert_eq!((error.code, wanted), (Code::ObjectNotFound, false)),
        }
    }
}
