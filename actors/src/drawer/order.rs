//! Order numbers: an item keeps its number while others come and go, so that an insertion writes one row and not
//! all behind it. A number between two neighbours is half-way; where there is none left, the few items around are
//! spread out again.

/// Where the first item of an empty drawer stands, so that there is room on both sides.
pub const MIDDLE: u128 = 1 << 127;

/// Distance of an item added at either end. Two thousand million additions fit on each side, and
/// some 96 insertions at the same place before anything has to be spread.
const STRIDE: u128 = 1 << 96;

/// The least distance that spreading leaves between neighbours.
const ROOMY: u128 = 1 << 48;

/// A number strictly between the neighbours; `None` when there is none.
pub fn between(before: Option<u128>, after: Option<u128>) -> Option<u128> {
    match (before, after) {
        (None, None) => Some(MIDDLE),
        (Some(before), None) => before.checked_add(STRIDE).or_else(|| halfway(before, u128::MAX)),
        (None, Some(after)) => after.checked_sub(STRIDE).or_else(|| halfway(0, after)),
        (Some(before), Some(after)) => halfway(before, after),
    }
}

fn halfway(before: u128, after: u128) -> Option<u128> {
    let middle = before + (after - before) / 2;
    (middle > before && middle < after).then_some(middle)
}

/// The items to spread so that there is room before `index`: a window `from..to`, and its new numbers.
///
/// The window grows until its items can stand [`ROOMY`] apart, so the work is shared by the insertions that used up the room.
pub fn spread(len: usize, order_at: impl Fn(usize) -> u128, index: usize) -> (usize, Vec<u128>) {
    let mut reach = 8;
    loop {
        let from = index.saturating_sub(reach);
        let to = (index + reach).min(len);
        let low = if from == 0 { 0 } else { order_at(from - 1) };
        let high = if to == len { u128::MAX } else { order_at(to) };
        let step = (high - low) / (to - from + 1) as u128;
        // All items together: the numbers reach for 10,000 items that stand 2^114 apart.
        if step >= ROOMY || (from == 0 && to == len) {
            return (from, (1..=(to - from) as u128).map(|place| low + place * step).collect());
        }
        reach *= 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Inserts at the given places, spreading where needed; returns the most items spread at once.
    fn insert_all(places: impl IntoIterator<Item = usize>) -> (Vec<u128>, usize) {
        let mut orders: Vec<u128> = Vec::new();
        let mut most = 0;
        for place in places {
            let place = place % (orders.len() + 1);
            let neighbours = |orders: &[u128]| {
                between(place.checked_sub(1).map(|before| orders[before]), orders.get(place).copied())
            };
            let order = neighbours(&orders).unwrap_or_else(|| {
                let (from, fresh) = spread(orders.len(), |index| orders[index], place);
                most = most.max(fresh.len());
                orders[from..from + fresh.len()].copy_from_slice(&fresh);
                neighbours(&orders).expect("spreading makes room")
            });
            orders.insert(place, order);
            assert!(orders.is_sorted_by(|a, b| a < b));
        }
        (orders, most)
    }

    #[test]
    fn insertions_at_one_place_spread_only_the_items_around() {
        for place in [0, 1, 3, 500] {
            let (_, most) = insert_all((0..1000).chain(std::iter::repeat_n(place, 5000)));
            assert!(most <= 128, "{most} items spread at once for place {place}");
        }
    }

    proptest! {
        #[test]
        fn any_insertions_keep_the_order(places in prop::collection::vec(0usize..200, 0..400)) {
            insert_all(places);
        }
    }
}
