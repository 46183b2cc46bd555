//! Comparisons with a sorted map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::node::WIDTH;
use super::*;

#[derive(Debug, Clone, PartialEq)]
struct Thing(u128, bool);

impl SequenceItem for Thing {
    fn order(&self) -> u128 {
        self.0
    }

    fn is_visible(&self) -> bool {
        self.1
    }
}

/// Asserts the invariants of the module's head; returns the depth of the leaves.
fn sound(child: &Child<Thing>, is_root: bool) -> usize {
    let recounted = Child::new(child.node.clone());
    assert_eq!((child.len, child.visible, child.last), (recounted.len, recounted.visible, recounted.last));
    assert!(child.entries() <= WIDTH && (is_root || child.entries() > 0));
    match &child.node {
        SequenceNode::Leaf(items) => {
            assert!(items.is_sorted_by(|a, b| a.0 < b.0));
            0
        }
        SequenceNode::Inner(children) => {
            assert!(!is_root || children.len() > 1, "a root with one child is one level too many");
            let depths: Vec<usize> = children.iter().map(|child| sound(child, false)).collect();
            assert!(depths.iter().all(|depth| *depth == depths[0]), "all leaves are equally deep");
            assert!(children.is_sorted_by(|a, b| a.last < b.last));
            depths[0] + 1
        }
    }
}

fn assert_same(sequence: &Sequence<Thing>, model: &BTreeMap<u128, bool>) {
    sound(&sequence.root, true);
    let items: Vec<Thing> = model.iter().map(|(order, visible)| Thing(*order, *visible)).collect();
    let visible: Vec<&Thing> = items.iter().filter(|item| item.1).collect();
    assert!(sequence.iter().eq(&items));
    assert_eq!((sequence.len(), sequence.visible_len()), (items.len(), visible.len()));
    assert_eq!(sequence.is_empty(), items.is_empty());
    assert_eq!(sequence.last_hidden(), items.iter().rfind(|item| !item.1));
    for (index, item) in items.iter().enumerate() {
        assert_eq!(sequence.nth(index), Some(item));
        assert_eq!(sequence.get(item.0), Some(item));
        let visible_before = items[..index].iter().filter(|item| item.1).count();
        assert_eq!(sequence.rank(item.0), (index, visible_before));
    }
    for (position, item) in visible.iter().enumerate() {
        assert_eq!(sequence.nth_visible(position), Some(*item));
    }
    for place in [0, 1, 31, 32, 33, items.len() / 2, items.len(), items.len() + 1] {
        assert!(sequence.iter_at(place).eq(items.iter().skip(place)), "from {place}");
        assert!(sequence.visible_at(place).eq(visible.iter().copied().skip(place)), "visible from {place}");
    }
    assert_eq!(sequence.nth(items.len()), None);
    assert_eq!(sequence.nth_visible(visible.len()), None);
    assert_eq!(sequence.rank(u128::MAX), (items.len(), visible.len()));
}

#[derive(Debug, Clone)]
enum Step {
    Put(u128, bool),
    Remove(u128),
    /// Removes the range from the first number up to the second.
    Clear(u128, u128),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = 0u128..3000;
    let step = prop_oneof![
        8 => (number.clone(), any::<bool>()).prop_map(|(order, visible)| Step::Put(order, visible)),
        3 => number.clone().prop_map(Step::Remove),
        1 => (number, 0u128..400).prop_map(|(from, many)| Step::Clear(from, from + many)),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Compares a sequence with a map. Earlier clones must stay as they were.
    #[test]
    fn a_sequence_is_a_sorted_map_with_positions(first in 0u128..2500, steps in steps()) {
        let mut model: BTreeMap<u128, bool> = (0..first).map(|order| (order, order % 7 > 0)).collect();
        let mut sequence: Sequence<Thing> = model.iter().map(|(order, visible)| Thing(*order, *visible)).collect();
        assert_same(&sequence, &model);
        let (before, model_before) = (sequence.clone(), model.clone());
        for step in steps {
            match step {
                Step::Put(order, visible) => {
                    sequence.put(Thing(order, visible));
                    model.insert(order, visible);
                }
                Step::Remove(order) => {
                    let removed = sequence.remove(order);
                    prop_assert_eq!(removed, model.remove(&order).map(|visible| Thing(order, visible)));
                }
                Step::Clear(from, to) => {
                    for order in from..to {
                        prop_assert_eq!(sequence.remove(order).is_some(), model.remove(&order).is_some());
                    }
                }
            }
        }
        assert_same(&sequence, &model);
        assert_same(&before, &model_before);
    }
}

#[test]
fn additions_at_one_end_and_amid_others_leave_a_shallow_tree() {
    let ways: [fn(u128) -> u128; 3] = [|n| n, |n| 1_000_000 - n, |n| (n * 7919) % 1_000_003];
    for number in ways {
        let sequence: Sequence<Thing> = (0..100_000).map(|n| Thing(number(n), true)).collect();
        assert!(sound(&sequence.root, true) <= 4, "100,000 items are at most five levels deep");
    }
}

thread_local! {
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts how often it is looked at.
#[derive(Debug, Clone)]
struct Watched(u128, bool);

impl SequenceItem for Watched {
    fn order(&self) -> u128 {
        self.0
    }

    fn is_visible(&self) -> bool {
        LOOKS.with(|looks| looks.set(looks.get() + 1));
        self.1
    }
}

#[test]
fn a_sequence_walk_skips_preceding_and_hidden_items() {
    let last = 99_999;
    let hidden: Sequence<Watched> = (0..=last).map(|n| Watched(n, n == 0 || n == last)).collect();
    let visible: Sequence<Watched> = (0..=last).map(|n| Watched(n, true)).collect();
    let looks = |walk: &dyn Fn() -> Vec<u128>, wanted: &[u128]| {
        LOOKS.with(|looks| looks.set(0));
        assert_eq!(walk(), wanted);
        LOOKS.with(std::cell::Cell::get)
    };
    let both = || hidden.visible_at(0).map(|item| item.0).collect();
    assert!(looks(&both, &[0, last]) <= 4 * WIDTH, "two leaves, and none between");
    let middle = || visible.visible_at(50_000).take(2).map(|item| item.0).collect();
    assert!(looks(&middle, &[50_000, 50_001]) <= 2 * WIDTH);
    let any = || hidden.iter_at(50_000).take(2).map(|item| item.0).collect();
    assert_eq!(looks(&any, &[50_000, 50_001]), 0);
}
