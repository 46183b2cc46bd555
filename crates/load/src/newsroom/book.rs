//! What is known of the things of clients: what each was told last, and what may have been done to
//! it without an answer.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::plan::{Key, Thing};

/// What is known of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// What the last answer made of it.
    value: u32,
    /// What calls without a certain outcome may have made of it, one for each call. They stay
    /// possible: such a call may be late.
    doubts: Vec<u32>,
}

impl Register {
    fn is_possible(&self, value: u32) -> bool {
        self.value == value || self.doubts.contains(&value)
    }
}

/// The things of one client, or of all.
#[derive(Debug, Default)]
pub struct Book {
    registers: HashMap<Key, Register>,
    /// Publications that were acknowledged.
    pub published: u64,
    /// Publications without a certain outcome.
    pub maybe_published: u64,
    /// Changes that were acknowledged.
    pub acked: u64,
    /// Calls without a certain outcome.
    pub doubts: u64,
    /// Reads that were compared with what is known.
    pub reads: u64,
    /// What single replies have shown that can't be, a sentence each.
    pub odd: Vec<String>,
}

/// Odd things that one client tells; the verdict names no more.
const TOLD: usize = crate::scenario::NAMED;

impl Book {
    fn register(&mut self, key: Key) -> &mut Register {
        self.registers.entry(key).or_insert(Register { value: key.thing.initial(), doubts: Vec::new() })
    }

    /// Somebody was told that it is so now.
    pub fn is(&mut self, key: Key, value: u32) {
        self.register(key).value = value;
        self.forget_what_is_gone(key);
    }

    /// Nobody knows whether it has become so.
    pub fn may_be(&mut self, key: Key, value: u32) {
        self.register(key).doubts.push(value);
    }

    /// Its client has seen that it is so. If that is not what it was told last, a call without an
    /// outcome has made it so: that one has run, and is not late any more.
    pub fn seen(&mut self, key: Key, value: u32) {
        let Some(register) = self.registers.get_mut(&key) else { return };
        if register.value != value
            && let Some(place) = register.doubts.iter().position(|doubt| *doubt == value)
        {
            register.doubts.swap_remove(place);
            register.value = value;
            self.forget_what_is_gone(key);
        }
    }

    /// Things that are known and not among those that are held.
    pub fn missing(&self, held: &HashMap<Key, u32>, of: impl Fn(Key) -> bool) -> Vec<Key> {
        self.registers.keys().copied().filter(|key| of(*key) && !held.contains_key(key)).collect()
    }

    /// What was made once has been taken away: the call that made it has run, and no other makes
    /// it.
    pub fn is_gone(&mut self, key: Key) {
        self.register(key).doubts.clear();
        self.is(key, 0);
    }

    /// What was made once and taken away, all of it certain, is as if it had never been: memory
    /// stays bounded.
    fn forget_what_is_gone(&mut self, key: Key) {
        let gone = |register: &Register| register.value == 0 && register.doubts.is_empty();
        if key.thing.comes_once() && self.registers.get(&key).is_some_and(gone) {
            self.registers.remove(&key);
        }
    }

    /// Whether it may be so.
    pub fn is_possible(&self, key: Key, value: u32) -> bool {
        match self.registers.get(&key) {
            Some(register) => register.is_possible(value),
            None => key.thing.initial() == value,
        }
    }

    /// Notes what can't be.
    pub fn odd(&mut self, sentence: String) {
        if self.odd.len() < TOLD {
            self.odd.push(sentence);
        }
    }

    /// Takes over what another client has told.
    pub fn add(&mut self, other: Book) {
        self.registers.extend(other.registers);
        self.published += other.published;
        self.maybe_published += other.maybe_published;
        self.acked += other.acked;
        self.doubts += other.doubts;
        self.reads += other.reads;
        self.odd.extend(other.odd);
    }

    /// How many things were changed or may have been.
    pub fn len(&self) -> usize {
        self.registers.len()
    }

    /// Of how many of them it is certain what they must be.
    pub fn certain(&self) -> usize {
        self.registers.values().filter(|register| register.doubts.is_empty()).count()
    }

    /// Compares what is held of these things with what is known, a sentence for each difference.
    /// What lasts must be there for each of these clients.
    pub fn differences(&self, held: &HashMap<Key, u32>, clients: Range<u32>, of: impl Fn(Key) -> bool) -> Vec<String> {
        let lasting = clients.flat_map(|client| Thing::lasting().map(move |thing| Key { client, thing }));
        let keys = self.registers.keys().chain(held.keys()).copied().chain(lasting);
        let keys: BTreeSet<_> = keys.filter(|key| of(*key)).collect();
        let lasts: HashSet<_> = Thing::lasting().collect();
        let told = |key: Key| self.registers.get(&key).map_or(key.thing.initial(), |register| register.value);
        let difference = |key: Key| {
            let value = match held.get(&key) {
                Some(value) => *value,
                None if lasts.contains(&key.thing) => return Some(format!("{key} is missing.")),
                // It is not there.
                None => 0,
            };
            (!self.is_possible(key, value)).then(|| format!("{key} is {value}, and was told to be {}.", told(key)))
        };
        keys.into_iter().filter_map(difference).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(thing: Thing) -> Key {
        Key { client: 1, thing }
    }

    #[test]
    fn a_thing_is_what_it_was_told_last_or_what_a_lost_call_may_have_made_of_it() {
        let mut book = Book::default();
        let text = key(Thing::Text);
        assert!(book.is_possible(text, 0) && !book.is_possible(text, 1));
        book.is(text, 1);
        book.may_be(text, 2);
        assert!(!book.is_possible(text, 0) && book.is_possible(text, 1) && book.is_possible(text, 2));
        book.is(text, 3);
        assert!(book.is_possible(text, 2), "a call that was lost may be late");
        assert!(!book.is_possible(text, 1), "what was overwritten does not come back");
        assert_eq!((book.len(), book.certain()), (1, 0));
        // Once its client has seen what it did, it has run.
        book.seen(text, 2);
        assert!(book.is_possible(text, 2) && !book.is_possible(text, 3));
        assert_eq!(book.certain(), 1);
        // Of two that do the same, one may be late.
        let wire = key(Thing::Wire(0));
        book.may_be(wire, 1);
        book.may_be(wire, 1);
        book.seen(wire, 0);
        book.seen(wire, 1);
        book.is(wire, 0);
        assert!(book.is_possible(wire, 1));
        book.seen(wire, 1);
        book.is(wire, 0);
        assert!(!book.is_possible(wire, 1));
        let scrap = key(Thing::Scrap(7));
        book.may_be(scrap, 1);
        book.is_gone(scrap);
        assert!(!book.is_possible(scrap, 1) && book.is_possible(scrap, 0));
    }

    #[test]
    fn what_is_lost_stale_or_back_from_the_dead_is_a_difference() {
        let mut book = Book::default();
        let (text, state) = (key(Thing::Text), key(Thing::State(0)));
        let (gone, there) = (key(Thing::Scrap(0)), key(Thing::Scrap(1)));
        book.is(text, 2);
        for (scrap, value) in [(gone, 1), (gone, 0), (there, 1)] {
            book.is(scrap, value);
        }
        assert_eq!(book.len(), 2, "what came and went takes no room");
        let lasting = Thing::lasting().map(|thing| (key(thing), thing.initial()));
        let right: HashMap<Key, u32> = lasting.chain([(text, 2), (there, 1)]).collect();
        let differences = |held: &HashMap<Key, u32>| book.differences(held, 1..2, |_| true);
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
        assert_eq!(differences(&lost), ["Scrap(1) of client 1 is 0, and was told to be 1."]);
    }
}
