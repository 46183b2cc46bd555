//! What is known of the things of clients: what each was told last, and what may have been done to it without an answer.

use std::collections::{BTreeSet, HashMap};

use super::plan::{Key, Thing};

/// What is known of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// What the last answer made of it.
    value: u32,
    /// What calls without a certain outcome may have made of it. They stay possible: such a call may be late.
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
        let doubts = &mut self.register(key).doubts;
        if !doubts.contains(&value) {
            doubts.push(value);
        }
    }

    /// What was made once and taken away, all of it certain, is as if it had never been: memory stays bounded.
    fn forget_what_is_gone(&mut self, key: Key) {
        let comes_once = matches!(key.thing, Thing::Message(_) | Thing::Scrap(_));
        let gone = |register: &Register| register.value == 0 && register.doubts.is_empty();
        if comes_once && self.registers.get(&key).is_some_and(gone) {
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

    /// Compares what is held of these things with what is known, a sentence for each difference. A thing that is not held is what
    /// it is at first.
    pub fn differences(&self, held: &HashMap<Key, u32>, of: impl Fn(Key) -> bool) -> Vec<String> {
        let keys: BTreeSet<_> = self.registers.keys().chain(held.keys()).copied().filter(|key| of(*key)).collect();
        let told = |key: Key| self.registers.get(&key).map_or(key.thing.initial(), |register| register.value);
        let difference = |key: Key| {
            let value = held.get(&key).copied().unwrap_or(key.thing.initial());
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
        // It has been done once, and may be done again after what comes next.
        book.may_be(text, 3);
        book.is(text, 4);
        assert!(book.is_possible(text, 3));
        assert_eq!((book.len(), book.certain()), (1, 0));
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
        let right = HashMap::from([(text, 2), (there, 1), (state, state.thing.initial())]);
        assert_eq!(book.differences(&right, |_| true), [""; 0]);
        for (what, odd) in
            [((text, 1), "Text"), ((gone, 1), "Scrap(0)"), ((there, 0), "Scrap(1)"), ((state, 3), "State")]
        {
            let mut held = right.clone();
            held.insert(what.0, what.1);
            let found = book.differences(&held, |_| true);
            assert!(found.len() == 1 && found[0].starts_with(odd), "{found:?}");
            assert_eq!(book.differences(&held, |key| key.client != 1), [""; 0], "others are not looked at");
        }
        let mut lost = right;
        lost.remove(&text);
        assert_eq!(book.differences(&lost, |_| true), ["Text of client 1 is 0, and was told to be 2."]);
    }
}
