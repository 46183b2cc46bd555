//! The choice of the entries that a full box keeps: a sender of many messages displaces only their
//! own.

use std::collections::HashMap;

use stet_domain::object::SharedText;

/// Returns for each entry whether it is surplus in a box that keeps `most`. Entries are given by
/// their senders, the newest first.
///
/// The rule is max-min fairness: while there are too many entries, the oldest entry of the sender
/// with the most entries is removed. Among senders with equally many, the oldest of all these
/// entries is removed. So each of n senders keeps at least `most` / n entries, or all of theirs.
pub(super) fn surplus(senders: &[SharedText], most: usize) -> Vec<bool> {
    if senders.len() <= most {
        return vec![false; senders.len()];
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    senders.iter().for_each(|sender| *counts.entry(sender).or_default() += 1);
    let (each, mut more) = share(counts.into_values().collect(), most);
    let mut kept: HashMap<&str, usize> = HashMap::new();
    let mut too_many = Vec::with_capacity(senders.len());
    for sender in senders {
        let kept = kept.entry(sender).or_default();
        *kept += 1;
        let is_one_more = *kept == each + 1 && more > 0;
        more -= usize::from(is_one_more);
        too_many.push(*kept > each && !is_one_more);
    }
    too_many
}

/// Returns the number of entries that each sender may have so that all senders have `most`
/// together, and the number of senders that may have one more.
fn share(mut counts: Vec<usize>, most: usize) -> (usize, usize) {
    counts.sort_unstable();
    let (mut left, mut senders) = (most, counts.len());
    for count in counts {
        let each = left / senders;
        if count > each {
            // All later ones have more, too.
            return (each, left % senders);
        }
        left -= count;
        senders -= 1;
    }
    (most, 0)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Returns the places of the entries that the rule removes, one at a time.
    fn one_by_one(senders: &[SharedText], most: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..senders.len()).collect();
        while left.len() > most {
            let of = |place: &usize| left.iter().filter(|other| senders[**other] == senders[*place]).count();
            // The last of the greatest is the oldest, and the oldest of its sender.
            let goes = *left.iter().max_by_key(|place| of(place)).expect("there are too many");
            left.retain(|place| *place != goes);
        }
        (0..senders.len()).filter(|place| !left.contains(place)).collect()
    }

    proptest! {
        #[test]
        fn entries_go_as_if_the_oldest_of_the_greatest_sender_went_one_by_one(
            senders in vec("[aaaaabbc]|[d-k]|a|a", 0..60),
            most in 1_usize..40,
        ) {
            let senders: Vec<SharedText> = senders.iter().map(|sender| SharedText::from(&**sender)).collect();
            let goes = surplus(&senders, most);
            let places: Vec<usize> = (0..senders.len()).filter(|place| goes[*place]).collect();
            prop_assert_eq!(&places, &one_by_one(&senders, most));
            let distinct: std::collections::HashSet<_> = senders.iter().collect();
            for sender in &distinct {
                let of = |kept: bool| (0..senders.len()).filter(|at| senders[*at] == **sender && (!kept || !goes[*at])).count();
                prop_assert!(of(true) >= of(false).min(most / distinct.len()), "{} keeps too little", sender);
            }
            // Later removals follow the same rule when some entries have been removed already.
            let some: Vec<usize> = (0..senders.len()).filter(|at| !goes[*at] || at % 2 == 0).collect();
            let left: Vec<SharedText> = some.iter().map(|at| senders[*at].clone()).collect();
            let then: Vec<usize> =
                surplus(&left, most).iter().zip(&some).filter(|(goes, _)| **goes).map(|(_, at)| *at).collect();
            prop_assert_eq!(then, some.into_iter().filter(|at| goes[*at]).collect::<Vec<_>>());
        }
    }
}
