//! The subtrees that are followed: all containers in a folder and its subfolders, with the folder
//! itself.
//!
//! One pump reads the log for all of them, as long as there is one. It finds the folders above each
//! event's container once, renders the event once, and adds it to the ring of each followed folder
//! among them. So a change costs the same however many folders are followed, and a subtree without
//! changes costs nothing.
//!
//! A container is below a folder if it is at the time of reading. One in the recycle bin is where
//! it was before.
//!
//! # Why there is no gap
//!
//! A ring has all events after its floor: the place up to which the pump had looked for rings when
//! the ring was added. Followers read those before it from the log. If a ring has nothing new, its
//! follower is at the place up to which the pump had passed on events before.

use std::sync::{Arc, Weak};

use foldhash::HashMap;
use parking_lot::Mutex;
use stet_actors::repository::Reader;
use stet_actors::runtime::store_failure;
use stet_base::limits::PIECE;
use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::object::{PathLimits, Record};
use stet_domain::store::{BatchRoom, Event, EventId, EventPeriod, LogDirection};
use tokio::task::AbortHandle;

use super::cursor::{LogCursor, TRY_AGAIN};
use super::followers::{CHUNK, Follower, Followers};
use super::ring::{EventRing, NextEvent};
use super::stored::ContainerEvent;

/// The largest number of passages of the log that one read examines: some thousand events.
const PASSAGES: usize = 8;

/// The ring of a followed folder.
pub(super) type SubtreeRing = Arc<Mutex<EventRing<EventId>>>;

/// The progress of the pump, for the followers.
pub(super) type SubtreeProgress = Arc<Mutex<PumpProgress>>;

/// The followed subtrees, by their folders, and the pump as long as there are any.
#[derive(Default)]
pub(super) struct FollowedSubtrees {
    pub rings: HashMap<Loid, SubtreeRing>,
    pump: Option<SubtreePump>,
}

struct SubtreePump {
    progress: SubtreeProgress,
    task: AbortHandle,
}

/// The progress of the pump in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct PumpProgress {
    /// The last place for which rings were looked up.
    begun: EventId,
    /// The last place whose events are in their rings.
    done: EventId,
}

/// A follower of a subtree.
pub struct SubtreeFollower {
    follower: Follower<EventId>,
    progress: SubtreeProgress,
}

impl FollowedSubtrees {
    /// Returns the ring of a folder, of at most that many events. Starts the pump with the first.
    pub fn ring(
        &mut self,
        folder: Loid,
        most: usize,
        start: impl FnOnce() -> (LogCursor, Weak<Followers>),
    ) -> (SubtreeRing, SubtreeProgress) {
        let pump = self.pump.get_or_insert_with(|| {
            let (cursor, followers) = start();
            let progress = Arc::new(Mutex::new(PumpProgress { begun: cursor.at(), done: cursor.at() }));
            let task = tokio::spawn(pump(followers, cursor, progress.clone())).abort_handle();
            SubtreePump { progress, task }
        });
        let new = || Arc::new(Mutex::new(EventRing::of(most, pump.progress.lock().begun)));
        (self.rings.entry(folder).or_insert_with(new).clone(), pump.progress.clone())
    }

    /// Removes the ring of a folder that has no followers. The last one ends the pump.
    pub fn remove(&mut self, folder: Loid) {
        self.rings.remove(&folder);
        if self.rings.is_empty() {
            self.close();
        }
    }

    /// Reports whether there is neither a ring nor a pump.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.rings.is_empty() && self.pump.is_none()
    }

    /// Ends the pump and all rings.
    pub fn close(&mut self) {
        self.pump.take().inspect(|pump| pump.task.abort());
        self.rings.drain().for_each(|(_, ring)| ring.lock().end());
    }
}

impl SubtreeFollower {
    pub(super) fn of(follower: Follower<EventId>, progress: SubtreeProgress) -> SubtreeFollower {
        SubtreeFollower { follower, progress }
    }

    /// Returns what comes after a place, as far as it is in memory, and the place up to which there
    /// is nothing if that is [`NextEvent::None`].
    pub fn after(&self, place: EventId) -> (NextEvent<EventId>, EventId) {
        // Read first: what is added afterwards is behind it.
        let done = self.progress.lock().done;
        (self.follower.after(place), done.max(place))
    }

    /// Counts events that were sent to this follower.
    pub fn sent(&self, events: usize) {
        self.follower.sent(events);
    }
}

/// Passes on the events of the log until no subtree is followed.
async fn pump(followers: Weak<Followers>, mut cursor: LogCursor, progress: SubtreeProgress) {
    loop {
        let mut events = cursor.next().await.into_iter();
        let mut walk = FolderWalk::of(cursor.repository().clone());
        while events.len() > 0 {
            let chunk: Vec<_> = events.by_ref().take(CHUNK).collect();
            let around = loop {
                let around =
                    |(_, event): &(EventId, Event)| event.container.map_or(Ok(Vec::new()), |it| walk.around(it));
                match chunk.iter().map(around).collect::<Result<Vec<_>>>() {
                    Ok(around) => break around,
                    Err(error) => {
                        tracing::warn!(%error, "cannot read the folders of changed objects; trying again");
                        tokio::time::sleep(TRY_AGAIN).await;
                    }
                }
            };
            let Some(followers) = followers.upgrade() else { return };
            let Some(last) = chunk.last().map(|(id, _)| *id) else { continue };
            let rings = followers.rings_of(&around, || progress.lock().begun = last);
            for ((id, event), rings) in chunk.into_iter().zip(rings) {
                let Some(container) = event.container.filter(|_| !rings.is_empty()) else { continue };
                let event = Arc::new(ContainerEvent::of(container, event));
                followers.recent.keep(&event);
                for ring in rings {
                    ring.lock().add([(id, event.clone())]);
                }
            }
            progress.lock().done = last;
            drop(followers);
            tokio::task::yield_now().await;
        }
    }
}

/// The folders above containers, each read once. It is not kept from passage to passage, because
/// events may move objects.
struct FolderWalk {
    repository: Reader,
    above: HashMap<Loid, Option<Loid>>,
}

impl FolderWalk {
    fn of(repository: Reader) -> FolderWalk {
        FolderWalk { repository, above: HashMap::default() }
    }

    /// Returns a container and the folders above it, innermost first.
    fn around(&mut self, container: Loid) -> Result<Vec<Loid>> {
        let mut around = vec![container];
        while let Some(folder) = self.above(around[around.len() - 1])? {
            if around.len() > PathLimits::WIDEST.depth {
                break;
            }
            around.push(folder);
        }
        Ok(around)
    }

    fn above(&mut self, object: Loid) -> Result<Option<Loid>> {
        if let Some(known) = self.above.get(&object) {
            return Ok(*known);
        }
        let folder = self.repository.any_record(object)?.as_ref().and_then(Record::folder);
        self.above.insert(object, folder);
        Ok(folder)
    }
}

/// The events below a folder in a stretch of the log.
pub(super) struct SubtreeStretch {
    /// The events with their places.
    pub events: Vec<(EventId, ContainerEvent)>,
    /// The place up to which the log was examined.
    pub end: EventId,
    /// Whether the log may have more.
    pub more: bool,
    /// The place before the oldest event, if events after the beginning of the stretch may have
    /// been removed.
    pub gap: Option<EventId>,
}

/// Reads the events below a folder in the next stretch of the log, at most `most` and as many as
/// one piece of text has, or one larger event.
pub(super) fn read_below(repository: &Reader, folder: Loid, after: EventId, most: usize) -> Result<SubtreeStretch> {
    let failure = |error| store_failure(&error);
    let (log, end_of_log) = (repository.events(), repository.end_of_log());
    let mut room = BatchRoom::of(most, PIECE);
    let mut stretch = SubtreeStretch { events: Vec::new(), end: after, more: true, gap: None };
    'passages: for _ in 0..PASSAGES {
        let passage = log.events(LogDirection::Forth(Some(stretch.end)), &EventPeriod::default()).map_err(failure)?;
        // Folders are read after the events that may have moved them.
        let mut walk = FolderWalk::of(repository.clone());
        for (id, event) in passage.events {
            if let Some(container) = event.container
                && walk.around(container)?.contains(&folder)
            {
                let event = ContainerEvent::of(container, event);
                if !room.takes(event.whole.bytes.len()) {
                    break 'passages;
                }
                stretch.events.push((id, event));
            }
            stretch.end = id;
        }
        match passage.next {
            Some(next) => stretch.end = stretch.end.max(next),
            None => {
                stretch.end = stretch.end.max(end_of_log);
                stretch.more = false;
                break;
            }
        }
    }
    // Asked afterwards, since events may be removed meanwhile.
    let kept = log.oldest().map_err(failure)?.map_or(end_of_log, EventId::before);
    stretch.gap = (after < kept).then_some(kept);
    Ok(stretch)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stet_config::EventsConfig;
    use stet_domain::folder::root;
    use stet_domain::id::DatabaseId;
    use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject};
    use stet_domain::object::Reach;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;
    use crate::testing::{NewsroomFixture, by_editor};

    const ROOT: Loid = root(DatabaseId::FIRST);

    /// Creates a document below the root. Returns it.
    async fn create(fixture: &NewsroomFixture, below: &[&str], name: &str) -> Loid {
        let below = below.iter().map(|name| (*name).to_owned()).collect();
        let create = CreateInFolder { folder: ROOT, below, object: NewObject::document(name, "Story") };
        fixture.repository.joint(create, by_editor()).await.expect("it can be made").loid
    }

    /// Returns the folder of an object.
    fn folder_of(fixture: &NewsroomFixture, object: Loid) -> Loid {
        let record = fixture.newsroom.repository.any_record(object).expect("it can be read").expect("it is there");
        record.folder().expect("it has a folder")
    }

    /// Reads all stretches below a folder. Returns the events' places and containers.
    fn all_below(reader: &Reader, folder: Loid, most: usize) -> Vec<(EventId, Loid)> {
        let (mut after, mut found) = (EventId::default(), Vec::new());
        loop {
            let stretch = read_below(reader, folder, after, most).expect("it can be read");
            assert!(stretch.events.len() <= most && stretch.end >= after);
            found.extend(stretch.events.iter().map(|(id, event)| (*id, event.container)));
            after = stretch.end;
            if !stretch.more {
                assert_eq!(after, reader.end_of_log());
                return found;
            }
        }
    }

    #[actix::test]
    async fn a_stretch_has_the_events_below_a_folder_and_passes_those_of_others() {
        let fixture = NewsroomFixture::new().await;
        let reader = &fixture.newsroom.repository;
        let first = create(&fixture, &["a", "b"], "first").await;
        for number in 0..60 {
            create(&fixture, &["other"], &format!("{number}")).await;
        }
        let last = create(&fixture, &["a", "b"], "last").await;
        let discard = DiscardObject { object: last, reach: Reach::All };
        fixture.repository.joint(discard, by_editor()).await.expect("it can be discarded");
        let inner = folder_of(&fixture, first);
        let outer = folder_of(&fixture, inner);
        let found = all_below(reader, inner, 9);
        let containers: Vec<Loid> = found.iter().map(|(_, container)| *container).collect();
        assert!(containers.contains(&inner) && containers.contains(&last), "{containers:?}");
        assert!(containers.iter().all(|found| [inner, first, last].contains(found)), "{containers:?}");
        assert!(found.is_sorted() && all_below(reader, inner, 1) == found);
        assert!(found.iter().all(|event| all_below(reader, outer, 9).contains(event)));
        assert!(all_below(reader, ROOT, 9).len() >= found.len() + 60);
        // A stretch is bounded even if nothing in it is wanted.
        let (place, _) = found[found.len() - 3];
        let stretch = read_below(reader, first, EventId::default(), 9).expect("it can be read");
        assert!(stretch.more && stretch.end < place, "{:?}", stretch.end);
    }

    #[actix::test]
    async fn a_stretch_that_begins_before_the_oldest_event_may_have_a_gap() {
        let fixture = NewsroomFixture::new().await;
        let reader = &fixture.newsroom.repository;
        let gap = |after| read_below(reader, ROOT, after, 9).expect("it can be read").gap;
        create(&fixture, &[], "story").await;
        let oldest = reader.events().oldest().expect("it can be read").expect("there is one");
        assert_eq!(gap(EventId::default()), Some(oldest.before()));
        assert_eq!((gap(oldest.before()), gap(oldest), gap(reader.end_of_log())), (None, None, None));
    }

    /// Returns the next event that a follower has in memory after a place.
    async fn next(follower: &SubtreeFollower, bell: &Notify, after: EventId) -> (EventId, Loid) {
        loop {
            match follower.after(after) {
                (NextEvent::Next(place, event), _) => return (place, event.container),
                (NextEvent::None, _) => {
                    timeout(Duration::from_secs(60), bell.notified()).await.expect("the bell is rung");
                }
                _ => panic!("the ring has it"),
            }
        }
    }

    #[actix::test]
    async fn each_followed_folder_is_sent_the_events_below_it_until_its_last_follower_leaves() {
        let fixture = NewsroomFixture::new().await;
        let (followers, reader) = (&fixture.newsroom.followers, &fixture.newsroom.repository);
        let inner = folder_of(&fixture, create(&fixture, &["a"], "first").await);
        let place = followers.place(&"mia".into(), true).expect("there is room");
        let bells = [Arc::new(Notify::new()), Arc::new(Notify::new())];
        let follow = |folder, bell| followers.follow_below(&place, folder, reader, bell).expect("there is room");
        let (one, all) = (follow(inner, &bells[0]), follow(ROOT, &bells[1]));
        let begin = reader.end_of_log();
        create(&fixture, &[], "elsewhere").await;
        create(&fixture, &["a"], "here").await;
        let (at, container) = next(&one, &bells[0], begin).await;
        assert_eq!(container, inner);
        let (first, container) = next(&all, &bells[1], begin).await;
        assert_eq!(container, ROOT);
        assert_eq!(next(&all, &bells[1], first).await, (at, inner), "after the other one");
        // A ring that is added later has nothing from before.
        let late = follow(ROOT, &bells[0]);
        drop((all, late));
        let late = follow(ROOT, &bells[0]);
        assert!(matches!(late.after(EventId::default()).0, NextEvent::Stored));
        drop(one);
        create(&fixture, &[], "last").await;
        assert_eq!(next(&late, &bells[0], at).await.1, ROOT);
        let passed = follow(inner, &bells[1]);
        let before = reader.end_of_log();
        create(&fixture, &[], "passed").await;
        // The place moves on without events of the folder.
        loop {
            let (next, place) = passed.after(before);
            assert!(matches!(next, NextEvent::None));
            if place > before {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop((late, passed));
        assert!(followers.is_without_subtrees());
    }

    #[actix::test]
    async fn followers_of_subtrees_and_containers_share_their_bounds() {
        let fixture = NewsroomFixture::new().await;
        let options = EventsConfig {
            followers: 2,
            followers_per_container: 1,
            containers_per_user: 2,
            ..EventsConfig::default()
        };
        let (followers, bell) = (Arc::new(Followers::new(options)), Arc::new(Notify::new()));
        let reader = &fixture.newsroom.repository;
        let place = |user: &str| followers.place(&user.into(), true).expect("there is room");
        let (mia, zoe) = (place("mia"), place("zoe"));
        let other = Loid::new(DatabaseId::FIRST, 7);
        let below = followers.follow_below(&mia, ROOT, reader, &bell).expect("there is room");
        let refused = followers.follow_below(&zoe, ROOT, reader, &bell).err().expect("it is refused");
        assert!(refused.message.contains("1 follower"), "{}", refused.message);
        let own = followers.follow(&mia, (ROOT, 0), reader, &bell).expect("a stream of the folder itself is another");
        let refused = followers.follow_below(&zoe, other, reader, &bell).err().expect("it is refused");
        assert!(refused.message.contains("2 containers"), "{}", refused.message);
        drop(own);
        let third = followers.follow_below(&mia, other, reader, &bell).expect("there is room again");
        let refused = followers.follow(&mia, (other, 0), reader, &bell).err().expect("it is refused");
        assert!(refused.message.contains("2 containers") || refused.message.contains("mia"), "{}", refused.message);
        followers.close();
        assert!(matches!(below.after(reader.end_of_log()).0, NextEvent::Ended));
        drop((below, third));
        assert!(followers.is_without_subtrees());
    }
}
