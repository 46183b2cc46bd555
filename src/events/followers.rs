//! The list of followers, and the pumps that send them events.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use metrics::{Counter, Gauge};
use parking_lot::RwLock;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Text;
use stet_actors::repository::Reader;
use stet_actors::store::observe::Observer;
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, Sender, WeakSender, channel};
use tokio::task::AbortHandle;

use super::stored::{Happening, read};
use crate::config::EventsConfig;

/// Events that a pump reads and passes on before it lets followers on its own thread take them. Well below the least
/// `events.queue_events`.
const CHUNK: usize = 32;

/// How long a pump waits before it reads again what it could not read.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// After how many seconds a follower for whom there is no room may try again.
const RETRY_AFTER_SECONDS: u64 = 5;

/// See the module's head.
pub struct Followers {
    options: EventsConfig,
    list: RwLock<List>,
    meters: Meters,
}

#[derive(Default)]
struct List {
    /// The server ends: no more events are sent.
    closed: bool,
    /// Followers of all containers.
    all: usize,
    /// How many of them are each user's.
    by_user: HashMap<Text, usize>,
    followed: HashMap<Loid, Followed>,
}

/// A container that somebody follows.
struct Followed {
    /// The only one that lasts: when it goes, every follower hears that it is over.
    sender: Sender<Arc<Happening>>,
    /// Rung at each commit of the container.
    bell: Arc<Notify>,
    followers: usize,
    pump: AbortHandle,
}

/// What `/metrics` shows.
struct Meters {
    followers: Gauge,
    sent: Counter,
    dropped: Counter,
}

/// One follower of one container; leaves the list when dropped.
pub struct Follower {
    followers: Arc<Followers>,
    container: Loid,
    user: Text,
    /// Events from the moment of entry on, in order. [`Followers`] says more about `Lagged` and `Closed`.
    pub receiver: Receiver<Arc<Happening>>,
}

impl Followers {
    /// A list with nobody in it; to be made after the metrics have been set up.
    pub fn new(options: EventsConfig) -> Followers {
        let meters = Meters {
            followers: metrics::gauge!("stet_event_followers"),
            sent: metrics::counter!("stet_events_sent_total"),
            dropped: metrics::counter!("stet_event_followers_dropped_total"),
        };
        Followers { options, list: RwLock::default(), meters }
    }

    /// Enters a follower, some user's, of a container that has had the revision `known`, or a later one. Must be called within a runtime of
    /// tokio, on which the pump then runs.
    ///
    /// # Errors
    /// `Overloaded` when there is no room, or the server is ending.
    pub fn follow(self: &Arc<Self>, repository: &Reader, container: Loid, user: &Text, known: u64) -> Result<Follower> {
        let mut list = self.list.write();
        if list.closed {
            return Err(overloaded("The server is ending".to_owned()));
        }
        if list.all >= self.options.followers {
            return Err(overloaded(format!("There are {} followers already", list.all)));
        }
        let own = list.by_user.get(user).copied().unwrap_or(0);
        if own >= self.options.followers_per_user {
            return Err(overloaded(format!("`{user}` follows {own} times already")));
        }
        let here = list.followed.get(&container).map_or(0, |followed| followed.followers);
        if here >= self.options.followers_per_container {
            return Err(overloaded(format!("`{container}` has {here} followers already")));
        }
        let followed = list.followed.entry(container).or_insert_with(|| {
            let (sender, _) = channel(self.options.queue_events);
            // Rung once: a commit may have come since `known` was read.
            let bell = Arc::new(Notify::new());
            bell.notify_one();
            let pump = pump(repository.clone(), container, known, bell.clone(), sender.downgrade());
            Followed { sender, bell, followers: 0, pump: tokio::spawn(pump).abort_handle() }
        });
        followed.followers += 1;
        let receiver = followed.sender.subscribe();
        list.all += 1;
        *list.by_user.entry(user.clone()).or_default() += 1;
        self.meters.followers.set(list.all as f64);
        Ok(Follower { followers: self.clone(), container, user: user.clone(), receiver })
    }

    /// Ends all streams, for the server ends; there are no new ones.
    pub fn close(&self) {
        let mut list = self.list.write();
        list.closed = true;
        for (_, followed) in list.followed.drain() {
            followed.pump.abort();
        }
    }

    fn leave(&self, container: Loid, user: &Text) {
        let mut list = self.list.write();
        list.all -= 1;
        if let Some(own) = list.by_user.get_mut(user) {
            *own -= 1;
            if *own == 0 {
                list.by_user.remove(user);
            }
        }
        self.meters.followers.set(list.all as f64);
        // Not there any more after the end.
        let Some(followed) = list.followed.get_mut(&container) else { return };
        followed.followers -= 1;
        if followed.followers == 0 {
            followed.pump.abort();
            list.followed.remove(&container);
        }
    }
}

impl Observer for Followers {
    fn changed(&self, objects: &[Loid]) {
        // A lock and not a mere counter: who enters after this has let go finds the change when it asks for the present revision.
        let list = self.list.read();
        if list.followed.is_empty() {
            return;
        }
        for followed in objects.iter().filter_map(|loid| list.followed.get(loid)) {
            followed.bell.notify_one();
        }
    }
}

impl Follower {
    /// Counts events that were sent to it.
    pub fn sent(&self, events: usize) {
        self.followers.meters.sent.increment(events as u64);
    }

    /// Counts that it fell behind.
    pub fn dropped(&self) {
        self.followers.meters.dropped.increment(1);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.followers.leave(self.container, &self.user);
    }
}

fn overloaded(why: String) -> Error {
    Error::new(Code::Overloaded, format!("{why}; try again later.")).with_detail("retryAfter", RETRY_AFTER_SECONDS)
}

/// Passes on what happens to a container after the revision `sent`, until nobody follows it.
async fn pump(
    repository: Reader,
    container: Loid,
    mut sent: u64,
    bell: Arc<Notify>,
    followers: WeakSender<Arc<Happening>>,
) {
    loop {
        bell.notified().await;
        loop {
            let (happened, more) = match read(repository.look(), container, sent, CHUNK) {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%container, %error, "the events of a container can't be read; trying again");
                    tokio::time::sleep(TRY_AGAIN).await;
                    continue;
                }
            };
            let Some(followers) = followers.upgrade() else { return };
            for happening in happened {
                sent = happening.revision();
                // It fails when nobody listens at this moment.
                let _ = followers.send(Arc::new(happening));
            }
            drop(followers);
            if !more {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}
