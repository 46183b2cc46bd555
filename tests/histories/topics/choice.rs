//! The choice of the clients' calls.

use std::collections::BTreeMap;

use super::spec::{Attachment, Line, OBJECTS, Op, Reply, Tag, What, Which};
use crate::harness::Dice;
use crate::histories::newsroom::CALLS;

/// The memory of a client: items and dividers that it has seen, and their places. They may have
/// moved or been removed since.
#[derive(Default)]
pub struct Known {
    /// The number of its calls so far.
    calls: usize,
    lines: BTreeMap<Tag, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    topic: usize,
    under: Option<Tag>,
    is_item: bool,
}

impl Known {
    /// Takes note of what a reply shows.
    pub fn learn(&mut self, op: &Op, reply: &Reply) {
        match (&op.what, reply) {
            (What::Add { topic, under, .. }, Reply::Done) => {
                self.lines.insert(op.tag, Place { topic: *topic, under: *under, is_item: true });
            }
            (What::Divide { topic, under, .. }, Reply::Divider(..)) => {
                self.lines.insert(op.tag, Place { topic: *topic, under: *under, is_item: false });
            }
            (What::Move { target, .. }, Reply::Moved(items)) => {
                for (item, _) in items {
                    self.lines.insert(*item, Place { topic: *target, under: None, is_item: true });
                }
            }
            (What::Read(topic), Reply::Tree(lines)) => {
                self.lines.retain(|_, place| place.topic != *topic);
                self.see(*topic, None, lines);
            }
            _ => {}
        }
    }

    fn see(&mut self, topic: usize, under: Option<Tag>, lines: &[Line<Attachment>]) {
        for line in lines {
            self.lines.insert(line.tag, Place { topic, under, is_item: line.item.is_some() });
            line.item.iter().for_each(|item| self.see(topic, Some(line.tag), &item.below));
        }
    }

    fn pick(&self, dice: &mut Dice, of: impl Fn(&Place) -> bool) -> Option<(Tag, Place)> {
        let lines: Vec<_> =
            self.lines.iter().filter(|(_, place)| of(place)).map(|(tag, place)| (*tag, *place)).collect();
        dice.pick(&lines).copied()
    }
}

/// A call that makes sense in some state, not always in the present one.
pub fn op(client: usize, dice: &mut Dice, known: &mut Known) -> Op {
    let tag = 1 + client * CALLS + known.calls;
    known.calls += 1;
    // A client that has been shown nothing yet has nothing to name.
    let what = (0..4).find_map(|_| try_choose(dice, known)).unwrap_or(What::Read(dice.roll(2)));
    Op { tag, what }
}

fn try_choose(dice: &mut Dice, known: &Known) -> Option<What> {
    let topic = dice.roll(2);
    let at = dice.roll(6) as i64 - 1;
    let position = (dice.roll(3) > 0).then_some(at);
    let object = dice.roll(OBJECTS);
    let item = |dice: &mut Dice| {
        let (tag, Place { topic, under, .. }) = known.pick(dice, |place| place.is_item)?;
        Some((topic, under.map_or(Which { item: tag, sub: None }, |item| Which { item, sub: Some(tag) })))
    };
    Some(match dice.roll(24) {
        0..=3 => {
            let attachment = (dice.roll(3) == 0).then_some(object);
            What::Add { topic, under: None, position, attachment }
        }
        4 | 5 => {
            let (under, place) = known.pick(dice, |place| place.is_item && place.under.is_none())?;
            What::Add { topic: place.topic, under: Some(under), position, attachment: None }
        }
        6..=8 => {
            let (topic, which) = item(dice)?;
            let attachment = [None, None, Some(None), Some(Some(object))][dice.roll(4)];
            What::Change { topic, which, position, attachment }
        }
        9 => {
            let (topic, which) = item(dice)?;
            What::Attach { topic, which, object }
        }
        10 => {
            let (topic, which) = item(dice)?;
            What::Remove { topic, which }
        }
        11 => {
            let under = known.pick(dice, |place| place.is_item && place.under.is_none() && place.topic == topic);
            What::Divide { topic, under: under.map(|(tag, _)| tag).filter(|_| dice.roll(2) == 0), position }
        }
        12 => {
            let (divider, Place { topic, under, .. }) = known.pick(dice, |place| !place.is_item)?;
            if dice.roll(4) == 0 {
                What::Undivide { topic, under, divider }
            } else {
                What::Shift { topic, under, divider, position: at }
            }
        }
        13..=18 => {
            let sources: Option<Vec<Tag>> =
                (0..1 + dice.roll(2)).map(|_| known.pick(dice, |place| place.is_item).map(|(tag, _)| tag)).collect();
            What::Move { sources: sources?, target: topic, position }
        }
        19 => What::Discard(object),
        20 => What::Restore(object),
        _ => What::Read(topic),
    })
}
