//! The list of followers, and the pumps that send them events.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

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
use stet_domain::store::observe::Observer;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;

use super::control::StreamControl;
use super::presence::{Presence, PresentUser, SignEffect};
use super::stored::{ContainerEvent, read};

/// Number of events that a pump reads and passes on before followers on its own thread may take
/// them. Well below [`RING`], and the least `events.queue_events`.
const CHUNK: usize = 32;

/// Number of events that a container keeps for its followers, with some 30 bytes each. A follower
/// that is further behind reads from the store.
const RING: usize = 256;

/// Bytes of events of all containers together that are kept for followers who have not taken them
/// yet. Later followers read them from the store.
const RECENT_BYTES: usize = 32 << 20;

/// Pause before a pump retries a failed read.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Seconds after which a follower who was refused for want of room may try again.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The followers of all containers, and the pumps that send them events.
pub struct Followers {
    options: EventsConfig,
    list: RwLock<FollowerList>,
    /// The streams that can be changed, by name, as long as they are open.
    streams: Mutex<HashMap<String, Weak<StreamControl>>>,
    /// The channel that tells of commits, which carries no values.
    commits: watch::Sender<()>,
    /// The signs of all who are present in containers.
    pub presence: Presence,
    recent: Arc<RecentEvents>,
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

/// The events of all containers that were sent last, as long as they stay in memory. A follower who
/// has not taken one holds only a weak reference to it.
#[derive(Default)]
struct RecentEvents(Mutex<(VecDeque<Arc<ContainerEvent>>, usize)>);

/// A container that has followers.
struct FollowedContainer {
    ring: Arc<Mutex<EventRing>>,
    /// Notified at each commit of the container.
    bell: Arc<Notify>,
    pump: AbortHandle,
}

/// The latest events of a container, and those who wait for more.
struct EventRing {
    /// The largest number of events.
    most: usize,
    /// The revisions of the events, oldest first, and the events as long as they are kept.
    events: VecDeque<(u64, Weak<ContainerEvent>)>,
    /// One per follower, notified when an event is added, and at the end.
    followers: Vec<Arc<Notify>>,
    /// Whether no more events are added, because the server ends.
    ended: bool,
}

/// The continuation of a container's events after a revision.
pub enum NextEvent {
    /// Nothing yet.
    None,
    /// The next event.
    Next(Arc<ContainerEvent>),
    /// Events that are only in the store.
    Stored,
    /// Nothing more: the server ends.
    Ended,
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

/// One follower of one container, removed from the list on drop.
pub struct Follower {
    followers: Arc<Followers>,
    user: SharedText,
    container: Loid,
    ring: Arc<Mutex<EventRing>>,
    bell: Arc<Notify>,
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
        let user = &place.user;
        let mut list = self.list.write();
        if list.closed {
            return Err(overloaded("The server is shutting down".to_owned()));
        }
        let here = list.followed.get(&container).map_or(0, |followed| followed.ring.lock().followers.len());
        if here >= self.options.followers_per_container {
            return Err(too_many(format!("`{container}` has {} already", count_with_noun(here, "follower"))));
        }
        let different = list.followed.len();
        if here == 0 && different >= self.options.followers {
            return Err(too_many(format!("{} are followed already", count_with_noun(different, "container"))));
        }
        let own = list.waiting.by_user.get_mut(user).ok_or_else(Error::internal)?;
        if own.containers >= self.options.containers_per_user {
            return Err(too_many(format!("`{user}` follows {} already", count_with_noun(own.containers, "container"))));
        }
        own.containers += 1;
        let followed = list.followed.entry(container).or_insert_with(|| {
            let ring = Arc::new(Mutex::new(EventRing::of(self.options.queue_events.min(RING))));
            // Notified once: there may have been a commit since `known` was read.
            let commits = Arc::new(Notify::new());
            commits.notify_one();
            let to = (Arc::downgrade(&ring), self.recent.clone());
            let pump = pump(repository.clone(), container, known, commits.clone(), to);
            FollowedContainer { ring, bell: commits, pump: tokio::spawn(pump).abort_handle() }
        });
        followed.ring.lock().followers.push(bell.clone());
        let (followers, ring, bell) = (self.clone(), followed.ring.clone(), bell.clone());
        Ok(Follower { followers, user: user.clone(), container, ring, bell })
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

    /// Returns the channel that tells of every commit, for readers of the whole log of events. A
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
            let mut ring = followed.ring.lock();
            ring.ended = true;
            ring.notify();
        }
    }

    /// Reports whether the server is ending, so that no more events are sent.
    pub(super) fn is_closed(&self) -> bool {
        self.list.read().closed
    }

    fn leave(&self, follower: &Follower) {
        let mut list = self.list.write();
        // The stream still has its place.
        if let Some(own) = list.waiting.by_user.get_mut(&follower.user) {
            own.containers -= 1;
        }
        let mut ring = follower.ring.lock();
        let own = ring.followers.iter().position(|bell| Arc::ptr_eq(bell, &follower.bell));
        own.map(|index| ring.followers.swap_remove(index));
        // The container is not in the list any more after the end.
        if ring.followers.is_empty()
            && let Some(followed) = list.followed.remove(&follower.container)
        {
            followed.pump.abort();
        }
    }
}

impl EventRing {
    fn of(most: usize) -> EventRing {
        EventRing { most, events: VecDeque::new(), followers: Vec::new(), ended: false }
    }

    /// Adds the next events, and notifies the followers. Returns the revision of the last one.
    fn add(&mut self, events: impl Iterator<Item = Arc<ContainerEvent>>) -> Option<u64> {
        for event in events {
            if self.events.len() == self.most {
                self.events.pop_front();
            }
            self.events.push_back((event.revision(), Arc::downgrade(&event)));
        }
        self.notify();
        self.events.back().map(|(revision, _)| *revision)
    }

    fn notify(&self) {
        self.followers.iter().for_each(|bell| bell.notify_one());
    }

    fn after(&self, revision: u64) -> NextEvent {
        let index = self.events.partition_point(|(known, _)| *known <= revision);
        match self.events.get(index) {
            None if self.ended => NextEvent::Ended,
            None => NextEvent::None,
            // Each revision has one event. A gap is one that the ring has dropped.
            Some((next, event)) if *next == revision + 1 => event.upgrade().map_or(NextEvent::Stored, NextEvent::Next),
            Some(_) => NextEvent::Stored,
        }
    }
}

impl FollowerList {
    fn places(&mut self, waits: bool) -> &mut FollowerSlots {
        if waits { &mut self.waiting } else { &mut self.reading }
    }
}

impl RecentEvents {
    /// Keeps an event that is sent now, and drops the oldest ones beyond the limit.
    fn keep(&self, happening: &Arc<ContainerEvent>) {
        let mut kept = self.0.lock();
        let (events, bytes) = &mut *kept;
        *bytes += happening.bytes();
        events.push_back(happening.clone());
        while *bytes > RECENT_BYTES && events.len() > 1 {
            *bytes -= events.pop_front().map_or(0, |oldest| oldest.bytes());
        }
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

impl Follower {
    /// Returns what comes after a revision, as far as it is in memory.
    pub fn after(&self, revision: u64) -> NextEvent {
        self.ring.lock().after(revision)
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

impl Drop for Follower {
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
    (ring, recent): (Weak<Mutex<EventRing>>, Arc<RecentEvents>),
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
            sent = ring.lock().add(happened).unwrap_or(sent);
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
    use stet_domain::store::Event;

    use super::*;
    use crate::testing::NewsroomFixture;

    fn happening(ids: usize, revision: u64) -> Arc<ContainerEvent> {
        let container = Loid::new(DatabaseId::FIRST, 7);
        Arc::new(ContainerEvent::of(
            container,
            Event {
                container: Some(container),
                revision,
                kind: "drawer.item.add".to_owned(),
                ids: vec!["1$1.0.12345".to_owned(); ids],
                user: "editor".to_owned(),
                at_ms: 5,
                session: String::new(),
                address: String::new(),
                withdrawn: None,
                unseen: None,
                status: None,
            },
        ))
    }

    #[test]
    fn recent_events_are_kept_up_to_a_byte_limit_but_always_the_newest() {
        let recent = RecentEvents::default();
        let large = happening(20_000, 3);
        let sent: Vec<Weak<ContainerEvent>> = (0..100)
            .map(|_| {
                let large = happening(20_000, 3);
                recent.keep(&large);
                Arc::downgrade(&large)
            })
            .collect();
        let kept = sent.iter().filter(|sent| sent.upgrade().is_some()).count();
        assert_eq!(kept, RECENT_BYTES / large.bytes());
        assert!(kept > 5 && sent[100 - kept].upgrade().is_some(), "{kept} of the newest");
        let (_, bytes) = &*recent.0.lock();
        assert_eq!(*bytes, kept * large.bytes());
        let alone = RecentEvents::default();
        alone.keep(&happening(1_000_000, 3));
        assert_eq!(alone.0.lock().0.len(), 1);
    }

    #[test]
    fn a_ring_has_the_latest_events_and_says_when_one_is_only_in_the_store() {
        let mut ring = EventRing::of(3);
        let after = |ring: &EventRing, revision| match ring.after(revision) {
            NextEvent::None => "none".to_owned(),
            NextEvent::Next(event) => event.revision().to_string(),
            NextEvent::Stored => "stored".to_owned(),
            NextEvent::Ended => "ended".to_owned(),
        };
        assert_eq!(after(&ring, 0), "none");
        let events: Vec<_> = (3..=6).map(|revision| happening(1, revision)).collect();
        assert_eq!(ring.add(events.iter().cloned()), Some(6));
        let found: Vec<_> = (1..=7).map(|revision| after(&ring, revision)).collect();
        assert_eq!(found, ["stored", "stored", "4", "5", "6", "none", "none"]);
        drop(events);
        assert_eq!(after(&ring, 4), "stored", "nobody keeps it in memory any more");
        ring.ended = true;
        assert_eq!((after(&ring, 4), after(&ring, 6)), ("stored".to_owned(), "ended".to_owned()));
    }

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
