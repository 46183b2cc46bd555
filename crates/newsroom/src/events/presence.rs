//! Presence: who else looks at a container or edits it. It is never stored and never a lock.
//!
//! A client sends a sign every 20 seconds, and is gone [`LIFETIME`] after its last one. Nothing
//! runs in the background: whoever looks at a container removes the signs that have expired, and
//! each stream looks once a second.

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

/// The largest number of signs of one user, over all sessions and containers.
const MOST_OF_USER: usize = 256;

/// The largest number of people that are named for a container. Others are counted only, because
/// each change of presence is sent to all who are present.
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
    /// The number of the last change.
    version: u64,
    /// The time of the last check of the signs.
    checked: Instant,
    signs: Vec<Sign>,
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

impl Presence {
    /// Notes the sign of a session. Returns whether others are to be told: repeated signs change
    /// nothing.
    ///
    /// # Errors
    /// `Overloaded` if the user has too many signs.
    pub fn note(&self, session: &Arc<LiveSession>, container: Loid, shown: PresentUser, now: Instant) -> Result<bool> {
        let mut signs = self.signs.lock();
        let Signs { containers, by_user } = &mut *signs;
        let is_away = shown.state == PresenceState::Away;
        let found = containers.get_mut(&container).and_then(|there| {
            let at = there.signs.iter().position(|sign| sign.is_of(session, &shown.part))?;
            Some((there, at))
        });
        match found {
            Some((there, at)) if is_away => {
                there.signs.remove(at).leave(by_user);
                there.version = self.next_version();
            }
            Some((there, at)) => {
                let sign = &mut there.signs[at];
                sign.until = now + LIFETIME;
                if (sign.shown.state, &sign.shown.field) == (shown.state, &shown.field) {
                    return Ok(false);
                }
                (sign.shown.state, sign.shown.field) = (shown.state, shown.field);
                there.version = self.next_version();
            }
            None if is_away => return Ok(false),
            None => {
                if by_user.get(&shown.user).is_some_and(|count| *count >= MOST_OF_USER) {
                    // Those that have expired still count until somebody looks at their container.
                    signs.remove_expired(now);
                    if signs.by_user.get(&shown.user).is_some_and(|count| *count >= MOST_OF_USER) {
                        let message = format!("`{}` is present in {MOST_OF_USER} places already.", shown.user);
                        return Err(Error::new(Code::Overloaded, message));
                    }
                }
                *signs.by_user.entry(shown.user.clone()).or_default() += 1;
                let none = || ContainerPresence { version: 0, checked: now, signs: Vec::new() };
                let there = signs.containers.entry(container).or_insert_with(none);
                there.signs.push(Sign { session: session.clone(), shown, until: now + LIFETIME });
                there.version = self.next_version();
            }
        }
        if signs.containers.get(&container).is_some_and(|there| there.signs.is_empty()) {
            signs.containers.remove(&container);
        }
        Ok(true)
    }

    /// Returns the number of the last change of a container; 0 if nobody is present. `is_over`
    /// reports whether a session has ended.
    pub fn version(&self, container: Loid, now: Instant, is_over: impl Fn(&LiveSession) -> bool) -> u64 {
        let mut signs = self.signs.lock();
        let Signs { containers, by_user } = &mut *signs;
        let Some(there) = containers.get_mut(&container) else { return 0 };
        if now.saturating_duration_since(there.checked) >= CHECKED {
            there.checked = now;
            let gone = there.signs.extract_if(.., |sign| sign.until <= now || is_over(&sign.session));
            let count = gone.map(|sign| sign.leave(by_user)).count();
            if count > 0 {
                there.version = self.next_version();
            }
        }
        if there.signs.is_empty() {
            containers.remove(&container);
            return 0;
        }
        there.version
    }

    /// Returns those who are present in a container. Callers who may not see all its parts are not
    /// told which parts others work on.
    pub fn list(&self, container: Loid, with_parts: bool) -> PresenceList {
        let signs = self.signs.lock();
        let there = signs.containers.get(&container).map_or(&[][..], |there| &there.signs[..]);
        let shown = |sign: &Sign| match with_parts {
            true => sign.shown.clone(),
            false => PresentUser { part: None, field: None, ..sign.shown.clone() },
        };
        PresenceList {
            container: container.to_string(),
            present: there.iter().take(NAMED).map(shown).collect(),
            total: there.len(),
        }
    }

    fn next_version(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Signs {
    fn remove_expired(&mut self, now: Instant) {
        let Signs { containers, by_user } = self;
        for there in containers.values_mut() {
            // The next look at the container finds them, too, and tells its followers.
            let expired = there.signs.extract_if(.., |sign| sign.until <= now);
            if expired.map(|sign| sign.leave(by_user)).count() > 0 {
                there.version = 0;
            }
        }
    }
}

impl Sign {
    fn is_of(&self, session: &Arc<LiveSession>, part: &Option<String>) -> bool {
        Arc::ptr_eq(&self.session, session) && self.shown.part == *part
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

/// Returns the event that tells who is present. It has no id, because it can't be sent again.
pub fn render(list: &PresenceList) -> Bytes {
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
        assert!(note(0));
        let first = version(0);
        assert!(first > 0 && version(44) == first);
        assert!(!note(44), "nothing is new");
        assert_eq!(version(88), first);
        assert_eq!(version(89), 0);
        assert!(note(90));
        assert!(version(90) > first);
        assert_eq!(presence.version(CONTAINER, after(91), |_| true), 0);
        let signs = presence.signs.lock();
        assert!(signs.containers.is_empty() && signs.by_user.is_empty(), "nothing is left of those who went");
    }

    #[actix::test]
    async fn each_part_has_its_sign_and_hides_from_those_who_see_no_parts() {
        let fixture = NewsroomFixture::new().await;
        let (ada, presence, now) = (session(&fixture).await, Presence::default(), Instant::now());
        let note = |state, part| presence.note(&ada, CONTAINER, shown(state, part), now).expect("there is room");
        assert!(note(PresenceState::Viewing, None) && note(PresenceState::Editing, Some("1$1.0.8")));
        let parts = |with_parts| {
            let list = presence.list(CONTAINER, with_parts);
            list.present.into_iter().map(|user| user.part).collect::<Vec<_>>()
        };
        assert_eq!(parts(true), [None, Some("1$1.0.8".to_owned())]);
        assert_eq!(parts(false), [None, None]);
        assert!(!note(PresenceState::Away, Some("1$1.0.9")), "nobody was there");
        assert!(note(PresenceState::Away, Some("1$1.0.8")));
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
        (0..MOST_OF_USER).for_each(|number| assert!(note(number, start).expect("there is room")));
        let refused = note(MOST_OF_USER, start).expect_err("there is none");
        assert_eq!(refused.code, Code::Overloaded);
        assert!(note(MOST_OF_USER, start + LIFETIME).expect("all others have expired"));
    }
}
