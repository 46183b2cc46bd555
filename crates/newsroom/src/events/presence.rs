//! Presence: who else looks at a container or edits it. It is never stored and never a lock.
//!
//! A client sends a sign every 20 seconds, and is gone [`LIFETIME`] after its last one. Each look
//! at a container removes the signs that have expired, and each stream looks once a second. So
//! nothing runs in the background.
//!
//! A change is sent to all followers, and any reader can make it. So those of a container are sent
//! at most once in [`PAUSE`], and rendered once for all followers.

use std::cell::OnceCell;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::HashMap;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::LiveSession;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;

/// The time after its last sign for which somebody counts as present.
pub const LIFETIME: Duration = Duration::from_secs(45);

/// The shortest time between two changes of a container that are sent.
const PAUSE: Duration = Duration::from_millis(250);

/// The largest number of signs of one user, over all sessions and containers.
const MOST_OF_USER: usize = 256;

/// The largest number of signs of one user in a container, so that nobody pushes others out of the
/// people that are named.
const MOST_IN_CONTAINER: usize = 8;

/// The largest number of signs that are shown for a container. Others are counted only.
const NAMED: usize = 50;

/// The largest size of a field's name in bytes.
pub const MOST_FIELD_BYTES: usize = 100;

/// The time for which a check of the signs of a container holds.
const CHECKED: Duration = Duration::from_millis(500);

/// The signs of all containers.
#[derive(Default)]
pub struct Presence {
    signs: Mutex<Signs>,
    /// The number of changes of all containers.
    changes: AtomicU64,
}

#[derive(Default)]
struct Signs {
    containers: HashMap<Loid, ContainerPresence>,
    /// The number of signs of each user.
    by_user: HashMap<SharedText, usize>,
}

struct ContainerPresence {
    /// The number of the change that was sent last; 0 if nobody was present after it.
    version: u64,
    /// The time of that change.
    sent: Instant,
    /// Whether something has changed since.
    is_due: bool,
    /// The time of the last check of the signs.
    checked: Instant,
    signs: Vec<Sign>,
    /// The event of that change, without and with parts, once it has been rendered.
    events: [OnceCell<Bytes>; 2],
}

/// A sign of a session, one for each part of the container.
struct Sign {
    session: Arc<LiveSession>,
    shown: PresentUser,
    until: Instant,
}

/// The activity of somebody in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PresenceState {
    /// Looks at it.
    Viewing,
    /// Edits it.
    Editing,
    /// Does so no longer.
    Away,
}

/// Somebody who is present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PresentUser {
    /// Name of the user.
    #[schemars(with = "String")]
    pub user: SharedText,
    /// State of the user there: `viewing` or `editing`.
    pub state: PresenceState,
    /// Loid of the part that they view or edit, such as a post.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Name of the field that they edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Time since when they are present, epoch milliseconds.
    pub since: u64,
}

/// The people who are present in a container.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PresenceList {
    /// Loid of the container.
    pub container: String,
    /// People who are present, in the order in which they came; at most 50.
    pub present: Vec<PresentUser>,
    /// Number of all who are present.
    pub total: usize,
}

/// The followers of a container after a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignEffect {
    /// Nothing has changed for them, or they are notified soon.
    None,
    /// Notify them after this time.
    Notify(Duration),
}

impl Presence {
    /// Notes the sign of a session.
    ///
    /// # Errors
    /// `Overloaded` if the user has too many signs.
    pub fn note(
        &self,
        session: &Arc<LiveSession>,
        container: Loid,
        shown: PresentUser,
        now: Instant,
    ) -> Result<SignEffect> {
        let mut signs = self.signs.lock();
        let is_away = shown.state == PresenceState::Away;
        if !is_away && !signs.containers.contains_key(&container) {
            signs.make_room(now);
            signs.containers.insert(container, ContainerPresence::new(now));
        }
        if signs.by_user.get(&shown.user).is_some_and(|count| *count >= MOST_OF_USER) {
            // Those that have expired count until their container is looked at.
            signs.remove_expired(now);
        }
        let Signs { containers, by_user } = &mut *signs;
        let Some(there) = containers.get_mut(&container) else { return Ok(SignEffect::None) };
        there.remove_ended(by_user, |sign| sign.until <= now);
        let known = there.signs.iter().position(|sign| sign.is_of(session, shown.part.as_deref()));
        match known {
            Some(at) if is_away => there.signs.remove(at).leave(by_user),
            Some(at) => {
                let sign = &mut there.signs[at];
                sign.until = now + LIFETIME;
                if (sign.shown.state, &sign.shown.field) == (shown.state, &shown.field) {
                    return Ok(SignEffect::None);
                }
                (sign.shown.state, sign.shown.field) = (shown.state, shown.field);
            }
            None if is_away => return Ok(SignEffect::None),
            None => {
                let here = there.signs.iter().filter(|sign| sign.shown.user == shown.user).count();
                let own = by_user.get(&shown.user).copied().unwrap_or_default();
                if here >= MOST_IN_CONTAINER || own >= MOST_OF_USER {
                    let message = format!(
                        "`{}` is present in {own} places already, {here} of them here; at most {MOST_OF_USER} and \
                         {MOST_IN_CONTAINER} are allowed.",
                        shown.user
                    );
                    return Err(Error::new(Code::Overloaded, message));
                }
                by_user.insert(shown.user.clone(), own + 1);
                there.signs.push(Sign { session: session.clone(), shown, until: now + LIFETIME });
            }
        }
        if mem::replace(&mut there.is_due, true) {
            return Ok(SignEffect::None);
        }
        Ok(SignEffect::Notify((there.sent + PAUSE).saturating_duration_since(now)))
    }

    /// Returns the number of the last change of a container that is sent; 0 if nobody is present.
    /// `is_over` reports whether a session has ended.
    pub fn version(&self, container: Loid, now: Instant, is_over: impl Fn(&LiveSession) -> bool) -> u64 {
        let mut signs = self.signs.lock();
        let Signs { containers, by_user } = &mut *signs;
        let Some(there) = containers.get_mut(&container) else { return 0 };
        if now.saturating_duration_since(there.checked) >= CHECKED {
            there.checked = now;
            there.remove_ended(by_user, |sign| sign.until <= now || is_over(&sign.session));
        }
        if now.saturating_duration_since(there.sent) >= PAUSE {
            if mem::take(&mut there.is_due) {
                let number = self.changes.fetch_add(1, Ordering::Relaxed) + 1;
                there.version = if there.signs.is_empty() { 0 } else { number };
                (there.sent, there.events) = (now, Default::default());
            } else if there.signs.is_empty() {
                containers.remove(&container);
                return 0;
            }
        }
        there.version
    }

    /// Returns those who are present in a container. Callers who may not see all its parts do not
    /// get the parts that others work on.
    pub fn list(&self, container: Loid, with_parts: bool) -> PresenceList {
        let signs = self.signs.lock();
        let there = signs.containers.get(&container);
        there.map_or_else(|| PresenceList::of(container, &[], with_parts), |there| there.list(container, with_parts))
    }

    /// Returns the event about those who are present in a container, without an id: it can't be
    /// sent again.
    pub fn event(&self, container: Loid, with_parts: bool) -> Bytes {
        let signs = self.signs.lock();
        match signs.containers.get(&container) {
            Some(there) => {
                let render = || render(&there.list(container, with_parts));
                there.events[usize::from(with_parts)].get_or_init(render).clone()
            }
            None => render(&PresenceList::of(container, &[], with_parts)),
        }
    }
}

impl PresenceList {
    fn of(container: Loid, signs: &[Sign], with_parts: bool) -> PresenceList {
        let shown = |sign: &Sign| match with_parts {
            true => sign.shown.clone(),
            false => PresentUser { part: None, field: None, ..sign.shown.clone() },
        };
        PresenceList {
            container: container.to_string(),
            present: signs.iter().take(NAMED).map(shown).collect(),
            total: signs.len(),
        }
    }
}

impl ContainerPresence {
    fn new(now: Instant) -> ContainerPresence {
        let sent = now.checked_sub(PAUSE).unwrap_or(now);
        ContainerPresence {
            version: 0,
            sent,
            is_due: false,
            checked: now,
            signs: Vec::new(),
            events: Default::default(),
        }
    }

    fn list(&self, container: Loid, with_parts: bool) -> PresenceList {
        PresenceList::of(container, &self.signs, with_parts)
    }

    fn remove_ended(&mut self, by_user: &mut HashMap<SharedText, usize>, ends: impl Fn(&Sign) -> bool) {
        for sign in self.signs.extract_if(.., |sign| ends(sign)) {
            sign.leave(by_user);
            self.is_due = true;
        }
    }
}

impl Signs {
    fn remove_expired(&mut self, now: Instant) {
        let Signs { containers, by_user } = self;
        containers.values_mut().for_each(|there| there.remove_ended(by_user, |sign| sign.until <= now));
    }

    /// Removes the containers without signs before the map would grow. Those that nobody follows
    /// are looked at by nobody.
    fn make_room(&mut self, now: Instant) {
        if self.containers.len() == self.containers.capacity() {
            self.remove_expired(now);
            let is_recent = |there: &ContainerPresence| now.saturating_duration_since(there.sent) < PAUSE;
            self.containers.retain(|_, there| !there.signs.is_empty() || is_recent(there));
        }
    }
}

impl Sign {
    fn is_of(&self, session: &Arc<LiveSession>, part: Option<&str>) -> bool {
        Arc::ptr_eq(&self.session, session) && self.shown.part.as_deref() == part
    }

    /// Takes a removed sign out of the count of its user.
    fn leave(self, by_user: &mut HashMap<SharedText, usize>) {
        if let Some(count) = by_user.get_mut(&self.shown.user) {
            *count -= 1;
            if *count == 0 {
                by_user.remove(&self.shown.user);
            }
        }
    }
}

fn render(list: &PresenceList) -> Bytes {
    // Numbers and texts can't fail to serialise. JSON has no line ends, which would break an event.
    let data = serde_json::to_string(list).unwrap_or_default();
    format!("event: presence\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use stet_auth::User;
    use stet_domain::command::CallerIdentity;
    use stet_domain::id::DatabaseId;

    use super::*;
    use crate::testing::NewsroomFixture;

    const CONTAINER: Loid = Loid::new(DatabaseId::FIRST, 7);

    async fn session(fixture: &NewsroomFixture) -> Arc<LiveSession> {
        let ada = User::new("ada");
        let directory = fixture.newsroom.directory.by(CallerIdentity::operator());
        directory.put_user(ada.clone()).await.expect("the store is well");
        let begun = fixture.newsroom.sessions.log_in_as("web", "test", &ada, "192.0.2.7").await;
        begun.expect("the store is well").session
    }

    fn shown(state: PresenceState, part: Option<&str>) -> PresentUser {
        PresentUser { user: "ada".into(), state, part: part.map(str::to_owned), field: None, since: 1 }
    }

    #[actix::test]
    async fn a_sign_expires_unless_it_is_repeated_and_ends_with_its_session() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, start) = (session(&fixture).await, Presence::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let version = |seconds| presence.version(CONTAINER, after(seconds), |_| false);
        let note = |seconds| {
            let viewing = shown(PresenceState::Viewing, None);
            presence.note(&ada, CONTAINER, viewing, after(seconds)).expect("there is room")
        };
        assert_eq!(version(0), 0);
        assert_eq!(note(0), SignEffect::Notify(Duration::ZERO));
        let first = version(0);
        assert!(first > 0 && version(44) == first);
        assert_eq!(note(44), SignEffect::None);
        assert_eq!(version(88), first);
        assert_eq!(version(89), 0);
        assert_eq!(note(90), SignEffect::Notify(Duration::ZERO));
        assert!(version(90) > first);
        assert_eq!(presence.version(CONTAINER, after(91), |_| true), 0);
        assert_eq!(version(92), 0);
        let signs = presence.signs.lock();
        assert!(signs.containers.is_empty() && signs.by_user.is_empty(), "nothing is left of those who went");
    }

    #[actix::test]
    async fn changes_that_follow_each_other_are_sent_together() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, start) = (session(&fixture).await, Presence::default(), Instant::now());
        let after = |millis| start + Duration::from_millis(millis);
        let note = |state, millis| presence.note(&ada, CONTAINER, shown(state, None), after(millis)).expect("room");
        let version = |millis| presence.version(CONTAINER, after(millis), |_| false);
        note(PresenceState::Viewing, 0);
        let first = version(0);
        let event = presence.event(CONTAINER, true);
        // Those who come and go all the time do not begin anew.
        assert_eq!(note(PresenceState::Away, 50), SignEffect::Notify(Duration::from_millis(200)));
        assert_eq!(note(PresenceState::Viewing, 100), SignEffect::None, "they are notified soon");
        assert_eq!(note(PresenceState::Editing, 150), SignEffect::None);
        assert_eq!((version(249), presence.event(CONTAINER, true)), (first, event.clone()));
        assert!(version(250) > first);
        assert_ne!(presence.event(CONTAINER, true), event);
        note(PresenceState::Away, 260);
        assert!(version(270) > first, "not yet");
        assert_eq!(version(500), 0);
    }

    #[actix::test]
    async fn each_part_has_its_sign_and_hides_from_those_who_see_no_parts() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, now) = (session(&fixture).await, Presence::default(), Instant::now());
        let note = |state, part| presence.note(&ada, CONTAINER, shown(state, part), now).expect("there is room");
        note(PresenceState::Viewing, None);
        note(PresenceState::Editing, Some("1$1.0.8"));
        let parts = |with_parts| {
            let list = presence.list(CONTAINER, with_parts);
            list.present.into_iter().map(|user| user.part).collect::<Vec<_>>()
        };
        assert_eq!(parts(true), [None, Some("1$1.0.8".to_owned())]);
        assert_eq!(parts(false), [None, None]);
        note(PresenceState::Away, Some("1$1.0.9"));
        assert_eq!(parts(true).len(), 2, "nobody was there");
        note(PresenceState::Away, Some("1$1.0.8"));
        assert_eq!(parts(true), [None]);
    }

    #[actix::test]
    async fn expired_signs_make_room_for_new_ones_of_their_user() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, start) = (session(&fixture).await, Presence::default(), Instant::now());
        let note = |number: usize, now| {
            let container = Loid::new(DatabaseId::FIRST, number as u64);
            presence.note(&ada, container, shown(PresenceState::Viewing, None), now)
        };
        for number in 0..MOST_OF_USER {
            note(number, start).expect("there is room");
        }
        let refused = note(MOST_OF_USER, start).expect_err("there is none");
        assert_eq!(refused.code, Code::Overloaded);
        note(MOST_OF_USER, start + LIFETIME).expect("all others have expired");
    }

    #[actix::test]
    async fn containers_that_nobody_looks_at_do_not_accumulate() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, start) = (session(&fixture).await, Presence::default(), Instant::now());
        for number in 0..10_000u64 {
            let (container, now) = (Loid::new(DatabaseId::FIRST, number), start + PAUSE * number as u32);
            for state in [PresenceState::Viewing, PresenceState::Away] {
                presence.note(&ada, container, shown(state, None), now).expect("there is room");
            }
        }
        let count = presence.signs.lock().containers.len();
        assert!(count < 100, "{count}");
    }
}
