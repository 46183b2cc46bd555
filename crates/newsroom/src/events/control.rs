//! Changes of an open stream: the containers that it is to follow and to leave.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use tokio::sync::Notify;
use uuid::Uuid;

use super::position::{ContainerPosition, MOST_CONTAINERS};

/// The largest number of changes that a stream has not carried out yet: a client that does not read
/// its stream delays them.
const MOST_CHANGES: usize = 4 * MOST_CONTAINERS;

/// The means to change an open stream of several containers.
#[derive(Debug)]
pub struct StreamControl {
    /// The name of the stream, which only its client knows.
    pub name: String,
    /// The user whose stream it is.
    user: SharedText,
    /// Notified of each change, and by the containers of each event.
    pub(super) bell: Arc<Notify>,
    state: Mutex<ControlState>,
}

#[derive(Debug)]
struct ControlState {
    /// The containers after all changes.
    followed: Vec<Loid>,
    /// The changes that the stream has not carried out yet, in order.
    changes: VecDeque<StreamChange>,
}

/// A change of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamChange {
    /// Follow a container.
    Follow(ContainerPosition),
    /// Leave a container.
    Unfollow(Loid),
}

impl StreamControl {
    /// Creates the control of a user's stream that follows these containers.
    pub(super) fn of(user: SharedText, containers: &[ContainerPosition]) -> StreamControl {
        let followed = containers.iter().map(|position| position.container).collect();
        let state = Mutex::new(ControlState { followed, changes: VecDeque::new() });
        StreamControl { name: Uuid::new_v4().to_string(), user, bell: Arc::default(), state }
    }

    /// Reports whether it is that user's stream.
    pub fn is_of(&self, user: &SharedText) -> bool {
        self.user == *user
    }

    /// Changes the stream: all of the changes, or none. Returns the containers that it follows
    /// then.
    ///
    /// # Errors
    /// `InvalidBody` for more than [`MOST_CONTAINERS`]; `Overloaded` if the client does not read
    /// its stream.
    pub fn change(&self, changes: &[StreamChange]) -> Result<Vec<Loid>> {
        let mut state = self.state.lock();
        let mut followed = state.followed.clone();
        for change in changes {
            match *change {
                StreamChange::Unfollow(container) => followed.retain(|known| *known != container),
                StreamChange::Follow(ContainerPosition { container, .. }) if !followed.contains(&container) => {
                    followed.push(container);
                }
                StreamChange::Follow(_) => {}
            }
        }
        if followed.len() > MOST_CONTAINERS {
            let message = format!(
                "The stream would follow {} containers; at most {MOST_CONTAINERS} are allowed.",
                followed.len()
            );
            return Err(Error::new(Code::InvalidBody, message));
        }
        if state.changes.len() + changes.len() > MOST_CHANGES {
            return Err(Error::new(
                Code::Overloaded,
                "The stream has not carried out earlier changes; read its events.",
            ));
        }
        state.changes.extend(changes);
        state.followed.clone_from(&followed);
        self.bell.notify_one();
        Ok(followed)
    }

    /// Takes the next change to carry out.
    pub(super) fn take(&self) -> Option<StreamChange> {
        self.state.lock().changes.pop_front()
    }

    /// Notes that the stream does not follow a container any more.
    pub(super) fn left(&self, container: Loid) {
        let mut state = self.state.lock();
        // It may have been told to follow it again.
        let again =
            |change: &StreamChange| matches!(change, StreamChange::Follow(position) if position.container == container);
        if !state.changes.iter().any(again) {
            state.followed.retain(|known| *known != container);
        }
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;

    use super::*;

    fn follow(number: u64) -> StreamChange {
        StreamChange::Follow(ContainerPosition { container: loid(number), after: None })
    }

    fn loid(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    #[test]
    fn changes_are_kept_in_order_and_all_or_none_of_them() {
        let control = StreamControl::of("mia".into(), &[]);
        let changes = [follow(1), follow(2), StreamChange::Unfollow(loid(1)), follow(2)];
        assert_eq!(control.change(&changes).expect("they fit"), [loid(2)]);
        let many: Vec<_> = (3..3 + MOST_CONTAINERS as u64).map(follow).collect();
        let error = control.change(&many).expect_err("there is no room beside the one");
        assert_eq!(error.code, Code::InvalidBody);
        assert_eq!(control.change(&many[1..]).expect("there is room").len(), MOST_CONTAINERS);
        let taken: Vec<_> = std::iter::from_fn(|| control.take()).collect();
        assert_eq!(taken, [&changes[..], &many[1..]].concat());
    }

    #[test]
    fn a_stream_that_is_not_read_takes_a_bounded_number_of_changes() {
        let control = StreamControl::of("mia".into(), &[]);
        let turn = [follow(1), StreamChange::Unfollow(loid(1))];
        (0..MOST_CHANGES / 2).for_each(|_| drop(control.change(&turn).expect("there is room")));
        assert_eq!(control.change(&turn).expect_err("there is none").code, Code::Overloaded);
        assert!((control.take(), control.take()) != (None, None));
        control.change(&turn).expect("there is room again");
    }

    #[test]
    fn a_container_that_left_counts_again_only_if_it_is_to_be_followed_anew() {
        let control = StreamControl::of("mia".into(), &[ContainerPosition { container: loid(1), after: None }]);
        control.left(loid(1));
        assert_eq!(control.change(&[follow(2)]).expect("there is room"), [loid(2)]);
        control.left(loid(2));
        assert_eq!(control.change(&[]).expect("there is room"), [loid(2)], "the stream is yet to follow it");
    }
}
