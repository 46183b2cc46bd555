//! The expected values of the clients' things: the last acknowledged value of each, and the values
//! that unanswered calls may have set.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::plan::{NewsroomThing, ThingKey};

/// The known values of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedValue {
    /// The last acknowledged value.
    value: u32,
    /// The values that calls without a certain outcome may have set, one for each call. They stay
    /// possible, because such a call may take effect late.
    doubts: Vec<u32>,
}

impl ExpectedValue {
    fn is_possible(&self, value: u32) -> bool {
        self.value == value || self.doubts.contains(&value)
    }
}

/// The expected values of the things of one client, or of all clients.
#[derive(Debug, Default)]
pub struct NewsroomBook {
    registers: HashMap<ThingKey, ExpectedValue>,
    /// The number of acknowledged publications.
    pub published: u64,
    /// The number of publications without a certain outcome.
    pub maybe_published: u64,
    /// The number of acknowledged changes.
    pub acked: u64,
    /// The number of calls without a certain outcome.
    pub doubts: u64,
    /// The number of reads that were compared with the expected values.
    pub reads: u64,
    /// Contradictions found in single replies, one sentence each.
    pub odd: Vec<String>,
}

/// The maximum number of contradictions per client; the verdict names no more.
const TOLD: usize = crate::scenario::NAMED;

impl NewsroomBook {
    fn register(&mut self, key: ThingKey) -> &mut ExpectedValue {
        self.registers.entry(key).or_insert(ExpectedValue { value: key.thing.initial(), doubts: Vec::new() })
    }

    /// Notes an acknowledged value.
    pub fn is(&mut self, key: ThingKey, value: u32) {
        self.register(key).value = value;
        self.forget_what_is_gone(key);
    }

    /// Notes a value that a call without a certain outcome may have set.
    pub fn may_be(&mut self, key: ThingKey, value: u32) {
        self.register(key).doubts.push(value);
    }

    /// Notes a value that the thing's client has read. If it differs from the acknowledged value, a
    /// call without an outcome has set it. That call has run and can no longer be late.
    pub fn seen(&mut self, key: ThingKey, value: u32) {
        let Some(register) = self.registers.get_mut(&key) else { return };
        if register.value != value
            && let Some(place) = register.doubts.iter().position(|doubt| *doubt == value)
        {
            register.doubts.swap_remove(place);
            register.value = value;
            self.forget_what_is_gone(key);
        }
    }

    /// Returns the known things that are not among the held ones.
    pub fn missing(&self, held: &HashMap<ThingKey, u32>, of: impl Fn(ThingKey) -> bool) -> Vec<ThingKey> {
        self.registers.keys().copied().filter(|key| of(*key) && !held.contains_key(key)).collect()
    }

    /// Notes that a thing that is created once has been removed. The call that created it has run,
    /// and no other call creates it.
    pub fn is_gone(&mut self, key: ThingKey) {
        self.register(key).doubts.clear();
        self.is(key, 0);
    }

    /// Forgets a thing that was certainly created and removed again, which keeps the memory
    /// bounded.
    fn forget_what_is_gone(&mut self, key: ThingKey) {
        let gone = |register: &ExpectedValue| register.value == 0 && register.doubts.is_empty();
        if key.thing.comes_once() && self.registers.get(&key).is_some_and(gone) {
            self.registers.remove(&key);
        }
    }

    /// Reports whether the thing may have this value.
    pub fn is_possible(&self, key: ThingKey, value: u32) -> bool {
        match self.registers.get(&key) {
            Some(register) => register.is_possible(value),
            None => key.thing.initial() == value,
        }
    }

    /// Notes a contradiction.
    pub fn odd(&mut self, sentence: String) {
        if self.odd.len() < TOLD {
            self.odd.push(sentence);
        }
    }

    /// Adds what another client has noted.
    pub fn add(&mut self, other: NewsroomBook) {
        self.registers.extend(other.registers);
        self.published += other.published;
        self.maybe_published += other.maybe_published;
        self.acked += other.acked;
        self.doubts += other.doubts;
        self.reads += other.reads;
        self.odd.extend(other.odd);
    }

    /// Returns the number of things that were or may have been changed.
    pub fn len(&self) -> usize {
        self.registers.len()
    }

    /// Returns the number of things whose value is certain.
    pub fn certain(&self) -> usize {
        self.registers.values().filter(|register| register.doubts.is_empty()).count()
    }

    /// Compares held values with the expected ones and returns a sentence for each difference.
    /// Every lasting thing of these clients must exist.
    pub fn differences(
        &self,
        held: &HashMap<ThingKey, u32>,
        clients: Range<u32>,
        of: impl Fn(ThingKey) -> bool,
    ) -> Vec<String> {
        let lasting = clients.flat_map(|client| NewsroomThing::lasting().map(move |thing| ThingKey { client, thing }));
        let keys = self.registers.keys().chain(held.keys()).copied().chain(lasting);
        let keys: BTreeSet<_> = keys.filter(|key| of(*key)).collect();
        let lasts: HashSet<_> = NewsroomThing::lasting().collect();
        let told = |key: ThingKey| self.registers.get(&key).map_or(key.thing.initial(), |register| register.value);
        let difference = |key: ThingKey| {
            let value = match held.get(&key) {
                Some(value) => *value,
                None if lasts.contains(&key.thing) => return Some(format!("{key} is missing.")),
                // The thing does not exist.
                None => 0,
            };
            (!self.is_possible(key, value)).then(|| format!("{key} is {value}, but should be {}.", told(key)))
        };
        keys.into_iter().filter_map(difference).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(thing: NewsroomThing) -> ThingKey {
        ThingKey { client: 1, thing }
    }

    #[test]
    fn a_value_is_the_last_one_confirmed_or_one_that_a_lost_call_may_have_set() {
        let mut book = NewsroomBook::default();
        let text = key(NewsroomThing::Text);
        assert!(book.is_possible(text, 0) && !book.is_possible(text, 1));
        book.is(text, 1);
        book.may_be(text, 2);
        assert!(!book.is_possible(text, 0) && book.is_possible(text, 1) && book.is_possible(text, 2));
        book.is(text, 3);
        assert!(book.is_possible(text, 2), "a call that was lost may be late");
        assert!(!book.is_possible(text, 1), "what was overwritten does not come back");
        assert_eq!((book.len(), book.certain()), (1, 0));
        // After its client has read the call's value, the call has run.
        book.seen(text, 2);
        assert!(book.is_possible(text, 2) && !book.is_possible(text, 3));
        assert_eq!(book.certain(), 1);
        // Of two calls with the same effect, one may still be late.
        let wire = key(NewsroomThing::Wire(0));
        book.may_be(wire, 1);
        book.may_be(wire, 1);
        book.seen(wire, 0);
        book.seen(wire, 1);
        book.is(wire, 0);
        assert!(book.is_possible(wire, 1));
        book.seen(wire, 1);
        book.is(wire, 0);
        assert!(!book.is_possible(wire, 1));
        let scrap = key(NewsroomThing::Scrap(7));
        book.may_be(scrap, 1);
        book.is_gone(scrap);
        assert!(!book.is_possible(scrap, 1) && book.is_possible(scrap, 0));
    }

    #[test]
    fn lost_stale_and_resurrected_values_are_differences() {
        let mut book = NewsroomBook::default();
        let (text, state) = (key(NewsroomThing::Text), key(NewsroomThing::State(0)));
        let (gone, there) = (key(NewsroomThing::Scrap(0)), key(NewsroomThing::Scrap(1)));
        book.is(text, 2);
        for (scrap, value) in [(gone, 1), (gone, 0), (there, 1)] {
            book.is(scrap, value);
        }
        assert_eq!(book.len(), 2, "what came and went takes no room");
        let lasting = NewsroomThing::lasting().map(|thing| (key(thing), thing.initial()));
        let right: HashMap<ThingKey, u32> = lasting.chain([(text, 2), (there, 1)]).collect();
        let differences = |held: &HashMap<ThingKey, u32>| book.differences(held, 1..2, |_| true);
        assert_eq!(differences(&right), [""; 0]);
        for (what, odd) in
            [((text, 1), "Text"), ((gone, 1), "Scrap(0)"), ((there, 0), "Scrap(1)"), ((state, 3), "State")]
        {
            let mut held = right.clone();
            held.insert(what.0, what.1);
            let found = differences(&held);
            assert!(found.len() == 1 && found[0].starts_with(odd), "{found:?}");
            assert_eq!(book.differences(&held, 1..2, |key| key.client != 1), [""; 0], "others are not looked at");
        }
        for (what, said) in [(text, "Text of client 1 is missing."), (state, "State(0) of client 1 is missing.")] {
            let mut lost = right.clone();
            lost.remove(&what);
            assert_eq!(differences(&lost), [said], "also what nobody has changed");
        }
        let mut lost = right.clone();
        lost.remove(&there);
        assert_eq!(differences(&lost), ["Scrap(1) of client 1 is 0, but should be 1."]);
    }
}
