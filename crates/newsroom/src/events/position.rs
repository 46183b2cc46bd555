//! The ids of events: a revision in a stream of one container, and a [`StreamPosition`] in a stream
//! of many.

use std::fmt::{self, Write};

use stet_domain::id::{DatabaseId, Loid};

/// The largest number of containers that one stream follows. It bounds the length of ids.
pub const MOST_CONTAINERS: usize = 64;

/// The id of a stream that follows nothing.
const NOTHING: &str = "-";

/// A container, and the last revision that a follower has of it. `None` begins with the present,
/// and 0 with the oldest event that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerPosition {
    /// The container.
    pub container: Loid,
    /// The last revision.
    pub after: Option<u64>,
}

/// The containers of a stream, and the last revision that the follower has of each. As a text it is
/// the id of an event: `1.4711.41_1.4712.`, with the database, the number and the revision of each
/// container, or `-` without containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPosition(pub Vec<ContainerPosition>);

impl StreamPosition {
    /// Reads an id. Returns `None` for a text that is no id, or names too many containers.
    pub fn parse(text: &str) -> Option<StreamPosition> {
        let mut positions: Vec<ContainerPosition> = Vec::new();
        for part in text.split('_').filter(|_| text != NOTHING) {
            let mut numbers = part.split('.');
            let (database, number, revision) = (numbers.next()?, numbers.next()?, numbers.next()?);
            let container = Loid::new(DatabaseId(digits(database)?), digits(number)?);
            let after = if revision.is_empty() { None } else { Some(digits(revision)?) };
            let known = positions.iter().any(|position| position.container == container);
            if numbers.next().is_some() || known || positions.len() == MOST_CONTAINERS {
                return None;
            }
            positions.push(ContainerPosition { container, after });
        }
        Some(StreamPosition(positions))
    }
}

/// Reads a number of digits alone.
fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl fmt::Display for ContainerPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loid { database, number, .. } = self.container;
        write!(f, "{database}.{number}.")?;
        self.after.map_or(Ok(()), |revision| revision.fmt(f))
    }
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NOTHING);
        }
        for (index, position) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char('_')?;
            }
            position.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn position(number: u64, after: Option<u64>) -> ContainerPosition {
        ContainerPosition { container: Loid::new(DatabaseId::FIRST, number), after }
    }

    #[test]
    fn a_position_names_each_container_with_its_revision() {
        let both = StreamPosition(vec![position(4711, Some(41)), position(4712, None)]);
        assert_eq!(both.to_string(), "1.4711.41_1.4712.");
        for text in ["", "41", "1.4711", "1.4711.x", "1.4711.+1", "1.2.3.4", "1.7.1_1.7.2", "1.7.1 "] {
            assert_eq!(StreamPosition::parse(text), None, "{text}");
        }
        let many = |count: u64| StreamPosition((1..=count).map(|number| position(number, Some(1))).collect());
        let most = many(MOST_CONTAINERS as u64);
        assert_eq!(StreamPosition::parse(&most.to_string()), Some(most));
        assert_eq!(StreamPosition::parse(&many(MOST_CONTAINERS as u64 + 1).to_string()), None);
    }

    proptest! {
        #[test]
        fn any_position_can_be_read_again(numbers in proptest::collection::btree_map(any::<u64>(), any::<Option<u64>>(), 0..MOST_CONTAINERS)) {
            let all = StreamPosition(numbers.into_iter().map(|(number, after)| position(number, after)).collect());
            prop_assert_eq!(StreamPosition::parse(&all.to_string()), Some(all));
        }

        #[test]
        fn no_text_is_a_panic(text in "[0-9._x]{0,40}") {
            StreamPosition::parse(&text);
        }
    }
}
