//! The list of followers, and the pumps that send them events.

use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::Instant;

use foldhash::HashMap;
use metrics::{Counter, Gauge};
use parking_lot::{Mutex, RwLock};
use stet_actors::repository::Reader;
use stet_auth::LiveSession;
use stet_config::EventsConfig;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use stet_domain::store::EventId;
use stet_domain::store::observe::Observer;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;

use super::control::StreamControl;
use super::cursor::{LogCursor, TRY_AGAIN};
use super::presence::{Presence, PresentUser, SignEffect};
use super::ring::{EventRing, NextEvent, RING, RecentEvents};
use super::stored::read;
use super::subtrees::{FollowedSubtrees, SubtreeFollower, SubtreeRing};

/// Number of events that a pump reads and passes on before followers on its own thread may take
/// them. Well below [`RING`], and the least `events.queue_events`.
pub(super) const CHUNK: usize = 32;

/// Seconds after which a follower who was refused for want of room may try again.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The followers of all containers, and the pumps that send them events.
pub struct Followers {
    options: EventsConfig,
    list: RwLock<FollowerList>,
    /// The streams that can be changed, by name, as long as they are open.
    streams: Mutex<HashMap<String, Weak<StreamControl>>>,
    /// The channel that is notified of commits, which carries no values.
    commits: watch::Sender<()>,
    /// The signs of all who are present in containers.
    pub presence: Presence,
    pub(super) recent: Arc<RecentEvents>,
    /// The permits for work on stored and on large events: as many as there are cores.
    turns: Arc<Semaphore>,
    meters: FollowerMeters,
}

#[derive(Default)]
struct FollowerList {
    /// Whether the server is ending, so that no more events are sent.
    closed: bool,
    /// Connections that wait for events.
    waiting: FollowerSlots,
    /// Connections that only read stored events: at most as many as may wait, counted apart.
    reading: FollowerSlots,
    followed: HashMap<Loid, FollowedContainer>,
    subtrees: FollowedSubtrees,
}

/// The places that are taken.
#[derive(Default)]
struct FollowerSlots {
    all: usize,
    by_user: HashMap<SharedText, UserSlots>,
}

/// The places and permits of one user.
struct UserSlots {
    places: usize,
    /// The containers that the user's streams follow, counted in each stream.
    containers: usize,
    /// One permit for long work at a time, so that no user takes all permits.
    turn: Arc<Semaphore>,
    /// One more permit, for short work.
    short_turn: Arc<Semaphore>,
}

/// A container that has followers.
struct FollowedContainer {
    ring: Arc<Mutex<EventRing<u64>>>,
    /// Notified at each commit of the container.
    bell: Arc<Notify>,
    pump: AbortHandle,
}

/// The metrics of followers.
struct FollowerMeters {
    followers: Gauge,
    sent: Counter,
    dropped: Counter,
}

/// One user's place for one connection, released on drop.
pub struct FollowerSlot {
    followers: Arc<Followers>,
    user: SharedText,
    waits: bool,
    turn: Arc<Semaphore>,
    short_turn: Arc<Semaphore>,
}

/// A permit for work that takes time and memory, released on drop.
pub struct FollowerPermit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// One follower of one container or subtree, removed from the list on drop.
pub struct Follower<P: Copy + Ord = u64> {
    followers: Arc<Followers>,
    user: SharedText,
    ring: Arc<Mutex<EventRing<P>>>,
    bell: Arc<Notify>,
    /// The container, or the folder of the subtree.
    loid: Loid,
    /// Removes the ring from the list after its last follower.
    remove: fn(&mut FollowerList, Loid),
}

impl Followers {
    /// Creates an empty list. Call it after the metrics have been set up.
    pub fn new(options: EventsConfig) -> Followers {
        let meters = FollowerMeters {
            followers: metrics::gauge!("stet_event_followers"),
            sent: metrics::counter!("stet_events_sent_total"),
            dropped: metrics::counter!("stet_event_followers_dropped_total"),
        };
        let turns = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
        Followers {
            options,
            list: RwLock::default(),
            streams: Mutex::default(),
            commits: watch::Sender::default(),
            presence: Presence::default(),
            recent: Arc::default(),
            turns,
            meters,
        }
    }

    /// Takes a place for one of the user's connections; `waits` states whether it waits for events.
    ///
    /// # Errors
    /// `Overloaded` when no place is left for that user, or for all users.
    pub fn place(self: &Arc<Self>, user: &SharedText, waits: bool) -> Result<FollowerSlot> {
        let mut list = self.list.write();
        let places = list.places(waits);
        if places.all >= self.options.followers {
            return Err(too_many(format!("The limit of {} is reached", count_with_noun(places.all, "follower"))));
        }
        let own = places.by_user.get(user).map_or(0, |own| own.places);
        if own >= self.options.followers_per_user {
            return Err(too_many(format!("`{user}` has {} already", count_with_noun(own, "follower"))));
        }
        places.all += 1;
        let one = || Arc::new(Semaphore::new(1));
        let new = || UserSlots { places: 0, containers: 0, turn: one(), short_turn: one() };
        let own = places.by_user.entry(user.clone()).or_insert_with(new);
        own.places += 1;
        let (turn, short_turn) = (own.turn.clone(), own.short_turn.clone());
        self.meters.followers.set(list.waiting.all as f64);
        Ok(FollowerSlot { followers: self.clone(), user: user.clone(), waits, turn, short_turn })
    }

    /// Adds a follower of a container that has had the revision `known`, or a later one, in the
    /// stream that has the place. `bell` is notified of each event. Must be called within a runtime
    /// of tokio, on which the pump then runs.
    ///
    /// # Errors
    /// `Overloaded` when there is no room, or the server is ending.
    pub fn follow(
        self: &Arc<Self>,
        place: &FollowerSlot,
        (container, known): (Loid, u64),
        repository: &Reader,
        bell: &Arc<Notify>,
    ) -> Result<Follower> {
        let mut list = self.list.write();
        let here = list.followed.get(&container).map(|followed| &followed.ring).map(count_of);
        self.admit(&mut list, &place.user, container, here)?;
        let followed = list.followed.entry(container).or_insert_with(|| {
            let ring = Arc::new(Mutex::new(EventRing::of(self.options.queue_events.min(RING), known)));
            // Notified once: there may have been a commit since `known` was read.
            let commits = Arc::new(Notify::new());
            commits.notify_one();
            let to = (Arc::downgrade(&ring), self.recent.clone());
            let pump = pump(repository.clone(), container, known, commits.clone(), to);
            FollowedContainer { ring, bell: commits, pump: tokio::spawn(pump).abort_handle() }
        });
        let remove = |list: &mut FollowerList, container: Loid| {
            list.followed.remove(&container).inspect(|followed| followed.pump.abort());
        };
        Ok(self.enter(place, (container, &followed.ring), bell, remove))
    }

    /// Adds a follower of all that is below a folder, like [`Followers::follow`].
    ///
    /// # Errors
    /// The errors of [`Followers::follow`].
    pub fn follow_below(
        self: &Arc<Self>,
        place: &FollowerSlot,
        folder: Loid,
        repository: &Reader,
        bell: &Arc<Notify>,
    ) -> Result<SubtreeFollower> {
        let mut list = self.list.write();
        let here = list.subtrees.rings.get(&folder).map(count_of);
        self.admit(&mut list, &place.user, folder, here)?;
        let start = || (self.cursor(repository, repository.end_of_log()), Arc::downgrade(self));
        let (ring, progress) = list.subtrees.ring(folder, self.options.queue_events.min(RING), start);
        let follower = self.enter(place, (folder, &ring), bell, |list, folder| list.subtrees.remove(folder));
        Ok(SubtreeFollower::of(follower, progress))
    }

    /// Creates a cursor in the log, after a place, that is woken by each commit.
    pub fn cursor(&self, repository: &Reader, after: EventId) -> LogCursor {
        LogCursor::of(repository.clone(), self.commits(), after)
    }

    /// Counts one more container that a user's streams follow. It has `here` followers, or is not
    /// followed yet.
    fn admit(&self, list: &mut FollowerList, user: &SharedText, loid: Loid, here: Option<usize>) -> Result<()> {
        if list.closed {
            return Err(overloaded("The server is shutting down".to_owned()));
        }
        let count = here.unwrap_or_default();
        if count >= self.options.followers_per_container {
            return Err(too_many(format!("`{loid}` has {} already", count_with_noun(count, "follower"))));
        }
        let different = list.followed.len() + list.subtrees.rings.len();
        if here.is_none() && different >= self.options.followers {
            return Err(too_many(format!("{} are followed already", count_with_noun(different, "container"))));
        }
        let own = list.waiting.by_user.get_mut(user).ok_or_else(Error::internal)?;
        if own.containers >= self.options.containers_per_user {
            return Err(too_many(format!("`{user}` follows {} already", count_with_noun(own.containers, "container"))));
        }
        own.containers += 1;
        Ok(())
    }

    /// Adds a follower to a ring.
    fn enter<P: Copy + Ord>(
        self: &Arc<Self>,
        place: &FollowerSlot,
        (loid, ring): (Loid, &Arc<Mutex<EventRing<P>>>),
        bell: &Arc<Notify>,
        remove: fn(&mut FollowerList, Loid),
    ) -> Follower<P> {
        ring.lock().followers.push(bell.clone());
        let (followers, user) = (self.clone(), place.user.clone());
        Follower { followers, user, ring: ring.clone(), bell: bell.clone(), loid, remove }
    }

    /// Returns the rings for events of containers with these folders around them. Calls `begin`
    /// while no ring can be added.
    pub(super) fn rings_of(&self, around: &[Vec<Loid>], begin: impl FnOnce()) -> Vec<Vec<SubtreeRing>> {
        let list = self.list.read();
        begin();
        let rings = &list.subtrees.rings;
        around.iter().map(|around| around.iter().filter_map(|folder| rings.get(folder).cloned()).collect()).collect()
    }

    /// Enters a stream that can be changed while it is open.
    pub(super) fn announce(&self, control: &Arc<StreamControl>) {
        let mut streams = self.streams.lock();
        // Those that have ended are removed when the list would grow.
        if streams.len() == streams.capacity() {
            streams.retain(|_, stream| stream.strong_count() > 0);
        }
        streams.insert(control.name.clone(), Arc::downgrade(control));
    }

    /// Reports whether no subtree is followed, and no pump runs for any.
    #[cfg(test)]
    pub(super) fn is_without_subtrees(&self) -> bool {
        self.list.read().subtrees.is_empty()
    }

    /// Notes what a session does with a container, and notifies the container's followers.
    ///
    /// # Errors
    /// The errors of [`Presence::note`].
    pub fn note_presence(
        self: &Arc<Self>,
        session: &Arc<LiveSession>,
        container: Loid,
        shown: PresentUser,
    ) -> Result<()> {
        let SignEffect::Notify(after) = self.presence.note(session, container, shown, Instant::now())? else {
            return Ok(());
        };
        let followers = self.clone();
        let notify = move || {
            if let Some(followed) = followers.list.read().followed.get(&container) {
                followed.ring.lock().notify();
            }
        };
        if after.is_zero() {
            notify();
        } else {
            // One at a time for each container.
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                notify();
            });
        }
        Ok(())
    }

    /// Returns the channel that is notified of every commit, for readers of the whole log. A
    /// reader that has seen nothing new waits for it.
    pub fn commits(&self) -> watch::Receiver<()> {
        self.commits.subscribe()
    }

    /// Returns a user's open stream of that name.
    pub fn stream(&self, name: &str, user: &SharedText) -> Option<Arc<StreamControl>> {
        self.streams.lock().get(name)?.upgrade().filter(|control| control.is_of(user))
    }

    /// Ends all streams, because the server ends, and permits no new ones.
    pub fn close(&self) {
        let mut list = self.list.write();
        list.closed = true;
        for (_, followed) in list.followed.drain() {
            followed.pump.abort();
            followed.ring.lock().end();
        }
        list.subtrees.close();
    }

    /// Reports whether the server is ending, so that no more events are sent.
    pub(super) fn is_closed(&self) -> bool {
        self.list.read().closed
    }

    fn leave<P: Copy + Ord>(&self, follower: &Follower<P>) {
        let mut list = self.list.write();
        // The stream still has its place.
        if let Some(own) = list.waiting.by_user.get_mut(&follower.user) {
            own.containers -= 1;
        }
        let mut ring = follower.ring.lock();
        let own = ring.followers.iter().position(|bell| Arc::ptr_eq(bell, &follower.bell));
        own.map(|index| ring.followers.swap_remove(index));
        let was_last = ring.followers.is_empty();
        drop(ring);
        // After the end of the server the list does not have the ring any more.
        if was_last {
            (follower.remove)(&mut list, follower.loid);
        }
    }
}

/// Returns the number of followers of a ring.
fn count_of<P>(ring: &Arc<Mutex<EventRing<P>>>) -> usize {
    ring.lock().followers.len()
}

impl FollowerList {
    fn places(&mut self, waits: bool) -> &mut FollowerSlots {
        if waits { &mut self.waiting } else { &mut self.reading }
    }
}

impl FollowerSlot {
    /// Waits for a permit.
    ///
    /// # Errors
    /// None in practice: permits exist as long as their list does.
    pub async fn turn(&self) -> Result<FollowerPermit> {
        self.turn_of(&self.turn).await
    }

    /// Waits for a permit for short work, beside that of [`FollowerSlot::turn`]: a stream can begin
    /// while another one of the user is being read.
    ///
    /// # Errors
    /// The errors of [`FollowerSlot::turn`].
    pub async fn short_turn(&self) -> Result<FollowerPermit> {
        self.turn_of(&self.short_turn).await
    }

    async fn turn_of(&self, own: &Arc<Semaphore>) -> Result<FollowerPermit> {
        // Neither semaphore is ever closed. The user's own permit comes first, so that no user
        // waits for the shared permits with more than one of each kind.
        let own = own.clone().acquire_owned().await.map_err(|_| Error::internal())?;
        let all = self.followers.turns.clone().acquire_owned().await.map_err(|_| Error::internal())?;
        Ok(FollowerPermit { _own: own, _all: all })
    }
}

impl Drop for FollowerSlot {
    fn drop(&mut self) {
        let mut list = self.followers.list.write();
        let places = list.places(self.waits);
        places.all -= 1;
        if let Some(own) = places.by_user.get_mut(&self.user) {
            own.places -= 1;
            if own.places == 0 {
                places.by_user.remove(&self.user);
            }
        }
        self.followers.meters.followers.set(list.waiting.all as f64);
    }
}

impl Observer for Followers {
    fn changed(&self, objects: &[Loid]) {
        if self.commits.receiver_count() > 0 {
            self.commits.send_replace(());
        }
        // A lock and not a mere counter: a follower who enters after this lock is released finds
        // the change when it asks for the present revision.
        let list = self.list.read();
        if list.followed.is_empty() {
            return;
        }
        for followed in objects.iter().filter_map(|loid| list.followed.get(loid)) {
            followed.bell.notify_one();
        }
    }
}

impl<P: Copy + Ord> Follower<P> {
    /// Returns what comes after a position, as far as it is in memory.
    pub fn after(&self, position: P) -> NextEvent<P> {
        self.ring.lock().after(position)
    }

    /// Counts events that were sent to this follower.
    pub fn sent(&self, events: usize) {
        self.followers.meters.sent.increment(events as u64);
    }

    /// Counts this follower as dropped for being too late.
    pub fn dropped(&self) {
        self.followers.meters.dropped.increment(1);
    }
}

impl<P: Copy + Ord> Drop for Follower<P> {
    fn drop(&mut self) {
        self.followers.leave(self);
    }
}

fn too_many(why: String) -> Error {
    metrics::counter!("stet_overloaded_total", "what" => "followers").increment(1);
    overloaded(why)
}

fn overloaded(why: String) -> Error {
    Error::new(Code::Overloaded, format!("{why}; try again later.")).with_detail("retryAfter", RETRY_AFTER_SECONDS)
}

/// Sends the events of a container after the revision `sent`, until it has no followers.
async fn pump(
    repository: Reader,
    container: Loid,
    mut sent: u64,
    bell: Arc<Notify>,
    (ring, recent): (Weak<Mutex<EventRing<u64>>>, Arc<RecentEvents>),
) {
    loop {
        bell.notified().await;
        loop {
            let (happened, more) = match read(repository.events(), container, sent, CHUNK) {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%container, %error, "the events of a container can't be read; trying again");
                    tokio::time::sleep(TRY_AGAIN).await;
                    continue;
                }
            };
            // Followers who receive an event must find its change in the container.
            repository.views_agree().await;
            let Some(ring) = ring.upgrade() else { return };
            let happened = happened.into_iter().map(Arc::new).inspect(|happening| recent.keep(happening));
            sent = ring.lock().add(happened.map(|happening| (happening.revision(), happening))).unwrap_or(sent);
            if !more {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use stet_domain::id::DatabaseId;
    use stet_domain::lifecycle::NewObject;

    use super::*;
    use crate::testing::NewsroomFixture;

    #[actix::test]
    async fn followers_are_notified_until_they_leave_and_the_last_one_ends_the_pump() {
        let fixture = NewsroomFixture::new().await;
        let object = fixture.create(NewObject::document("story.xml", "Story")).await;
        let followers = Arc::new(Followers::new(EventsConfig::default()));
        let bells = [Arc::new(Notify::new()), Arc::new(Notify::new())];
        let place = followers.place(&"mia".into(), true).expect("there is room");
        let repository = &fixture.newsroom.repository;
        let follow = |bell| followers.follow(&place, (object, 1), repository, bell).expect("there is room");
        let [first, second] = bells.each_ref().map(follow);
        first.ring.lock().notify();
        assert!(bells.iter().all(|bell| bell.notified().now_or_never().is_some()));
        drop(first);
        second.ring.lock().notify();
        let notified = bells.each_ref().map(|bell| bell.notified().now_or_never().is_some());
        assert_eq!(notified, [false, true]);
        drop(second);
        assert!(followers.list.read().followed.is_empty());
    }

    #[actix::test]
    async fn the_containers_of_one_user_and_the_different_containers_are_bounded() {
        let fixture = NewsroomFixture::new().await;
        let options = EventsConfig { followers: 3, containers_per_user: 2, ..EventsConfig::default() };
        let (followers, bell) = (Arc::new(Followers::new(options)), Arc::new(Notify::new()));
        let place = |user: &str| followers.place(&user.into(), true).expect("there is room");
        let (mia, zoe) = (place("mia"), place("zoe"));
        let follow = |place, number| {
            let container = Loid::new(DatabaseId::FIRST, number);
            followers.follow(place, (container, 0), &fixture.newsroom.repository, &bell)
        };
        let refusal = |follower: Result<Follower>| follower.err().expect("it is refused").message;
        let held = [follow(&mia, 1), follow(&mia, 2)].map(|follower| follower.expect("there is room"));
        assert!(refusal(follow(&mia, 1)).contains("mia"));
        let third = follow(&zoe, 3).expect("there is room");
        assert!(refusal(follow(&zoe, 4)).contains("3 containers"));
        let again = follow(&zoe, 1).expect("others follow it already");
        drop((held, third));
        let next = follow(&mia, 5).expect("there is room again");
        drop((again, next));
        let list = followers.list.read();
        assert!(list.followed.is_empty() && list.waiting.by_user.values().all(|own| own.containers == 0));
    }

    #[tokio::test]
    async fn places_are_counted_for_each_user_and_kind_and_one_user_has_one_turn() {
        let options = EventsConfig { followers: 3, followers_per_user: 2, ..EventsConfig::default() };
        let followers = Arc::new(Followers::new(options));
        let (mia, zoe) = ("mia".into(), "zoe".into());
        for waits in [true, false] {
            let first = followers.place(&mia, waits).expect("there is room");
            let second = followers.place(&mia, waits).expect("there is room");
            assert!(followers.place(&mia, waits).is_err_and(|error| error.message.contains("mia")));
            let turn = first.turn().await.expect("nobody has it");
            assert!(second.turn().now_or_never().is_none(), "one user has one turn");
            let third = followers.place(&zoe, waits).expect("there is room");
            assert!(followers.place(&zoe, waits).is_err(), "there is none for anybody");
            drop((turn, second, third));
            assert!(first.turn().now_or_never().is_some());
            let second = followers.place(&mia, waits).expect("there is room");
            let turn = first.short_turn().await.expect("nobody has it");
            assert!(second.short_turn().now_or_never().is_none(), "and one short turn");
            drop((turn, second));
            assert!(followers.place(&mia, waits).is_ok());
        }
        assert_eq!(followers.turns.available_permits(), available_parallelism().map_or(1, usize::from));
        let list = followers.list.read();
        assert!(list.waiting.by_user.is_empty() && list.reading.by_user.is_empty());
    }
}
