//! Order numbers of items in a manual order. An item keeps its number while others are added and
//! removed, so an insertion writes one row and not all rows behind it. A number between two
//! neighbours is half-way. Where none is left, the few items around are spread out again.

use serde::{Deserialize, Serialize};

use super::{Sequence, SequenceItem};

/// An item of a [`Sequence`] in a manual order.
pub trait MovableItem: SequenceItem {
    /// Returns a copy of the item with another order number.
    #[must_use]
    fn at(&self, order: u128) -> Self;
}

/// An order number in stored form: MessagePack has no integers of 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOrder(u64, u64);

impl From<u128> for StoredOrder {
    fn from(order: u128) -> StoredOrder {
        StoredOrder((order >> 64) as u64, order as u64)
    }
}

impl From<StoredOrder> for u128 {
    fn from(stored: StoredOrder) -> u128 {
        u128::from(stored.0) << 64 | u128::from(stored.1)
    }
}

impl<T: MovableItem> Sequence<T> {
    /// Returns the index of a position, hidden items counted. A position behind all items has the
    /// index of the end, behind hidden items too.
    pub fn index_at(&self, position: usize) -> usize {
        self.nth_visible(position).map_or(self.len(), |item| self.rank(item.order()).0)
    }

    /// Returns an order number for an item in front of `index`, hidden items counted. If none is
    /// left, the items around are spread, and `moved` is called for each with its old and new form.
    pub fn room_at(&mut self, index: usize, mut moved: impl FnMut(&T, &T)) -> u128 {
        if let Some(order) = self.gap_at(index) {
            return order;
        }
        // Called for indexes below `len` only.
        let order_at = |at| self.nth(at).map(SequenceItem::order).unwrap_or_default();
        let (from, orders) = spread(self.len(), order_at, index);
        let old: Vec<T> = self.iter().skip(from).take(orders.len()).cloned().collect();
        // A new number may be another item's old one: first all are removed, then all are inserted.
        for item in &old {
            self.remove(item.order());
        }
        for (old, order) in old.iter().zip(orders) {
            let new = old.at(order);
            if order != old.order() {
                moved(old, &new);
            }
            self.put(new);
        }
        self.gap_at(index).expect("spread leaves neighbours at least two apart: no sequence has 2^100 items")
    }

    fn gap_at(&self, index: usize) -> Option<u128> {
        let order_at = |index| self.nth(index).map(SequenceItem::order);
        number_between(index.checked_sub(1).and_then(order_at), order_at(index))
    }
}

/// The number of the first item of an empty sequence, with room on both sides.
const MIDDLE: u128 = 1 << 127;

/// The distance of an item added at either end. Two thousand million additions fit on each side,
/// and some 96 insertions at one place fit before items must be spread.
const STRIDE: u128 = 1 << 96;

/// The least distance between neighbours that a window of 16 items must have room for. Each
/// doubling of the window divides it by 2^12. A small window is enough while there is room to spare
/// around it. Otherwise a larger one is spread, less often.
const ROOMY: u128 = 1 << 110;

/// Returns a number strictly between the neighbours; `None` if there is none.
fn number_between(before: Option<u128>, after: Option<u128>) -> Option<u128> {
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

/// Returns the items to spread so that there is room before `index`: the start of the window, and
/// its new numbers.
///
/// The window grows until its items can stand far enough apart, so the insertions that used up the
/// room share the work. In the worst case that is some seven items for each insertion, on average.
fn spread(len: usize, order_at: impl Fn(usize) -> u128, index: usize) -> (usize, Vec<u128>) {
    let (mut reach, mut roomy) = (8, ROOMY);
    loop {
        let from = index.saturating_sub(reach);
        let to = (index + reach).min(len);
        let low = if from == 0 { 0 } else { order_at(from - 1) };
        let high = if to == len { u128::MAX } else { order_at(to) };
        let step = (high - low) / (to - from + 1) as u128;
        // All items together: there is room for 10,000 of them 2^114 apart.
        if step >= roomy || (from == 0 && to == len) {
            return (from, (1..=(to - from) as u128).map(|place| low + place * step).collect());
        }
        reach *= 2;
        roomy = (roomy >> 12).max(2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Inserts at the given places, and spreads items where needed. Returns the total number of
    /// spread items.
    fn insert_all(places: impl IntoIterator<Item = usize>) -> (Vec<u128>, usize) {
        let mut orders: Vec<u128> = Vec::new();
        let mut spread_in_all = 0;
        for place in places {
            let place = place % (orders.len() + 1);
            let neighbours = |orders: &[u128]| {
                number_between(place.checked_sub(1).map(|before| orders[before]), orders.get(place).copied())
            };
            let order = neighbours(&orders).unwrap_or_else(|| {
                let (from, fresh) = spread(orders.len(), |index| orders[index], place);
                spread_in_all += fresh.len();
                orders[from..from + fresh.len()].copy_from_slice(&fresh);
                neighbours(&orders).expect("spreading makes room")
            });
            orders.insert(place, order);
            assert!(orders.is_sorted_by(|a, b| a < b));
        }
        (orders, spread_in_all)
    }

    #[test]
    fn insertions_at_one_place_spread_few_items_each() {
        for place in [0, 1, 3, 500] {
            let inserted = 8000;
            let (_, spread) = insert_all((0..1000).chain(std::iter::repeat_n(place, inserted)));
            assert!(spread < 10 * inserted, "{spread} items spread for {inserted} insertions at {place}");
        }
    }

    proptest! {
        #[test]
        fn any_insertions_keep_the_order(places in prop::collection::vec(0usize..200, 0..400)) {
            insert_all(places);
        }
    }
}
