//! Locks, check-out and check-in, drafts and versions (docs/api/content.md), for objects of any
//! family.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stet_actors::families::Families;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::checkout::{ReleaseLock, RestoreVersion, TakeLock, UnlockObject, WriteContent, WriteSwitches};
use stet_domain::clock::{Clock, ManualClock};
use stet_domain::command::CallerIdentity;
use stet_domain::document::Document;
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{
    CreateInFolder, DestroyObject, DiscardObject, NewObject, NewParts, RenameObject, RestoreObject,
};
use stet_domain::liveblog::{Liveblog, NewLiveblog};
use stet_domain::object::{
    Content, ContentLocation, CreateMode, Draft, FamilyKind, Lock, NewContent, Record, SmallBody, Version,
};
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ChangeSet, ReadLevel, Row, RowChange, RowPlace, RowReader, Store, encode_value};

use crate::common::assert_sound;

const NOON_S: u64 = 1_763_726_400;
const LASTS_S: u64 = 100;

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
    object: Loid,
}

/// A user in a session, as `user/session`.
fn by(who: &str) -> ChangeRequest {
    let (user, session) = who.split_once('/').expect("a user and a session");
    ChangeRequest::by(CallerIdentity { user: user.into(), session: session.into(), address: None })
}

/// Runs a test once for each family that has content. The test uses two colleagues and a second
/// session of one of them.
fn run<F: Future<Output = ()>>(test: impl Fn(World) -> F) {
    for family in [FamilyKind::Document, FamilyKind::Liveblog] {
        actix::System::new().block_on(async {
            let store = Arc::new(MemoryStore::new());
            let clock = ManualClock::at(NOON_S * 1000);
            let options = RuntimeOptions::default();
            let started = Repository::start(store.clone(), Arc::new(clock.clone()), options).await;
            let repository = started.expect("a repository starts");
            repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots are made");
            let mut object = NewObject::document("a.xml", "Story");
            object.parts = parts_of(family);
            object.content = Some(content("one"));
            let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
            let object = repository.joint(create, by("ada/1")).await.expect("it is made").loid;
            let all = test(World { store, clock, repository, object });
            tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing hangs");
        });
    }
}

fn parts_of(family: FamilyKind) -> NewParts {
    match family {
        FamilyKind::Liveblog => NewParts::of::<Liveblog>(NewLiveblog::default()),
        _ => NewParts::of::<Document>(()),
    }
}

/// Texts of more than eight bytes are taken for large ones, which lie in files.
fn content(text: &str) -> NewContent {
    let mut sha256 = [0; 32];
    sha256[..text.len()].copy_from_slice(text.as_bytes());
    let stored = if text.len() > 8 { ContentLocation::File } else { ContentLocation::Row };
    let content = Content { content_type: "text/xml".into(), size: text.len() as u64, sha256, stored };
    NewContent {
        content,
        small: (stored == ContentLocation::Row).then(|| Bytes::copy_from_slice(text.as_bytes())),
        pin: None,
    }
}

fn text_of(content: &Content) -> String {
    String::from_utf8_lossy(&content.sha256[..content.size as usize]).into_owned()
}

/// A check-in that replaces the latest version.
const IN: WriteSwitches = WriteSwitches {
    check_in: true,
    keep_checked_out: false,
    unlock: false,
    new_version: false,
    check_out: false,
    check_out_clean: false,
};
const SAVE: WriteSwitches = WriteSwitches { check_in: false, ..IN };

impl World {
    async fn run<J: JointCommand>(&self, who: &str, joint: J) -> Result<J::Reply, Error> {
        let done = self.repository.joint(joint, by(who)).await;
        assert_sound(Families::ALL, &self.store);
        done
    }

    async fn lock(&self, who: &str) -> Result<(), Error> {
        self.run(who, TakeLock { object: self.object, lasts_s: LASTS_S }).await
    }

    async fn unlock(&self, who: &str, force: bool, may_break: bool) -> Result<(), Error> {
        self.run(who, UnlockObject { object: self.object, force, may_break }).await
    }

    async fn write(&self, who: &str, text: &str, switches: WriteSwitches) -> Result<(), Error> {
        let body = (!text.is_empty()).then(|| content(text));
        self.run(who, WriteContent { object: self.object, body, switches, lasts_s: LASTS_S }).await
    }

    fn record(&self) -> Record {
        self.repository.any_record(self.object).expect("it can be read").expect("it is there")
    }

    fn locker(&self) -> Option<String> {
        let record = self.record();
        let lock: Option<&Lock> = record.lock_at(self.clock.now_s());
        lock.map(|lock| format!("{}/{}", lock.user, lock.session))
    }

    fn body(&self, of: Loid) -> Option<Bytes> {
        let key = SmallBody::key(of);
        self.store.get(ReadLevel::Committed, key.table, &key.key).expect("the store answers")
    }

    fn draft(&self) -> Option<String> {
        let key = Draft::key(self.object);
        let draft: Option<Draft> = self.repository.row(key.table, &key.key).expect("it can be read");
        let body = self.body(Draft::body_loid(self.object));
        let small = draft.as_ref().is_some_and(|draft| draft.content.stored == ContentLocation::Row);
        assert_eq!(body.is_some(), small, "the bytes are there with the draft, and only then");
        let text = draft.map(|draft| text_of(&draft.content))?;
        assert!(body.is_none_or(|body| body == text));
        Some(text)
    }

    /// The texts of all versions, the first one first.
    fn versions(&self) -> Vec<String> {
        let record = self.record();
        let text = |number| {
            let key = Version::key(self.object.at_version(number));
            let version: Version = self.repository.row(key.table, &key.key).expect("readable").expect("it is there");
            let text = text_of(&version.content);
            if version.content.stored == ContentLocation::Row {
                assert_eq!(self.body(version.loid).as_deref(), Some(text.as_bytes()));
            }
            if number == record.version {
                assert_eq!(record.content.as_ref(), Some(&version.content));
            }
            text
        };
        (1..=record.version).map(text).collect()
    }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Code {
    outcome.expect_err("it is refused").code
}

#[test]
fn a_lock_is_one_sessions_until_it_gives_it_back() {
    run(|world| async move {
        assert_eq!(code(world.unlock("ada/1", false, true).await), Code::ObjectNotLocked);
        assert_eq!(code(world.unlock("ada/1", true, true).await), Code::ObjectNotLocked);
        let before = world.record();
        world.lock("ada/1").await.unwrap();
        assert_eq!(world.locker().as_deref(), Some("ada/1"));
        let record = world.record();
        assert_eq!(record.revision, before.revision + 1);
        assert_eq!((record.modified, &record.last_modifier), (before.modified, &before.last_modifier));
        for (who, refusal) in [("bob/2", Code::ObjectLocked), ("ada/3", Code::ObjectLockedByMe)] {
            let error = world.lock(who).await.unwrap_err();
            assert_eq!(error.code, refusal);
            assert_eq!(error.details.unwrap()["lockedBy"], "ada");
            assert_eq!(code(world.unlock(who, false, true).await), refusal);
            assert_eq!(code(world.write(who, "x", IN).await), refusal);
            assert_eq!(code(world.write(who, "x", WriteSwitches { check_out: true, ..SAVE }).await), refusal);
            assert_eq!(code(world.run(who, RestoreVersion { object: world.object, version: 1 }).await), refusal);
            assert_eq!(
                code(
                    world
                        .run(who, RenameObject { object: world.object, name: "b".into(), mode: CreateMode::Exception })
                        .await
                ),
                refusal
            );
            assert_eq!(
                code(
                    world
                        .run(who, DiscardObject { object: world.object, reach: stet_domain::object::Reach::All })
                        .await
                ),
                refusal
            );
            assert_eq!(code(world.run(who, DestroyObject { object: world.object }).await), refusal);
        }
        assert_eq!(world.record(), record, "nothing of that changed anything");
        world
            .run("ada/1", RenameObject { object: world.object, name: "b".into(), mode: CreateMode::Exception })
            .await
            .unwrap();
        world.unlock("ada/1", false, false).await.unwrap();
        assert_eq!(world.record().lock, None);
        world.lock("bob/2").await.unwrap();
    });
}

#[test]
fn a_lock_is_broken_by_its_user_or_with_the_privilege() {
    run(|world| async move {
        world.lock("ada/1").await.unwrap();
        assert_eq!(code(world.unlock("bob/2", true, false).await), Code::PermissionDenied);
        assert_eq!(world.locker().as_deref(), Some("ada/1"));
        world.unlock("bob/2", true, true).await.unwrap();
        assert_eq!(world.locker(), None);
        world.lock("ada/1").await.unwrap();
        world.unlock("ada/3", true, false).await.unwrap();
        assert_eq!(world.locker(), None);
    });
}

#[test]
fn a_lock_that_is_not_used_expires_and_one_that_is_goes_on() {
    run(|world| async move {
        world.lock("ada/1").await.unwrap();
        let taken = world.record().lock.unwrap();
        assert_eq!((taken.at, taken.expires), (NOON_S, NOON_S + LASTS_S));
        world.clock.advance(Duration::from_secs(LASTS_S - 1));
        world.lock("ada/1").await.unwrap();
        let renewed = world.record().lock.unwrap();
        assert_eq!((renewed.at, renewed.expires), (NOON_S, NOON_S + 2 * LASTS_S - 1));
        world.clock.advance(Duration::from_secs(LASTS_S - 1));
        world.write("ada/1", "two", SAVE).await.unwrap();
        world.clock.advance(Duration::from_secs(LASTS_S - 1));
        assert_eq!(code(world.lock("bob/2").await), Code::ObjectLocked);
        let object = world.object;
        world.run("system/", ReleaseLock { object, session: None }).await.unwrap();
        assert!(world.record().lock.is_some(), "it has not expired");
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(code(world.unlock("ada/1", false, false).await), Code::ObjectNotLocked);
        assert_eq!(code(world.write("ada/1", "", IN).await), Code::ObjectNotCheckedOut);
        world.run("system/", ReleaseLock { object, session: None }).await.unwrap();
        assert_eq!(world.record().lock, None);
        assert_eq!(world.draft().as_deref(), Some("two"), "what was saved is kept");
        world.lock("ada/1").await.unwrap();
        world.clock.advance(Duration::from_secs(LASTS_S));
        world.lock("bob/2").await.unwrap();
        assert_eq!(world.locker().as_deref(), Some("bob/2"), "an expired lock is taken over");
    });
}

#[test]
fn a_draft_is_saved_over_by_its_author_or_by_who_checks_out() {
    run(|world| async move {
        world.write("ada/1", "two", WriteSwitches { check_out: true, ..SAVE }).await.unwrap();
        world.clock.advance(Duration::from_secs(LASTS_S));
        let before = world.record();
        let error = world.write("bob/2", "bobs", SAVE).await.unwrap_err();
        assert_eq!((error.code, &error.details.unwrap()["draftOf"]), (Code::ObjectNotCheckedOut, &"ada".into()));
        assert_eq!(
            code(world.write("bob/2", "bobs", WriteSwitches { unlock: true, ..SAVE }).await),
            Code::ObjectNotCheckedOut
        );
        assert_eq!((world.draft().as_deref(), world.record()), (Some("two"), before));
        world.write("ada/3", "three", SAVE).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("three"), "the author saves it, from wherever");
        world.write("bob/2", "", WriteSwitches { check_out: true, ..SAVE }).await.unwrap();
        world.write("bob/2", "bobs", SAVE).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("bobs"), "who has seen it goes on from it");
        world.unlock("bob/2", false, false).await.unwrap();
        assert_eq!(code(world.write("ada/1", "four", SAVE).await), Code::ObjectNotCheckedOut, "it is bob's now");
        world.write("ada/1", "four", WriteSwitches { check_out_clean: true, ..SAVE }).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("four"));
    });
}

#[test]
fn a_session_that_ends_gives_back_its_own_lock_only() {
    run(|world| async move {
        let object = world.object;
        let ended = |session: &str| ReleaseLock { object, session: Some(session.into()) };
        world.lock("ada/1").await.unwrap();
        world.run("system/", ended("2")).await.unwrap();
        assert_eq!(world.locker().as_deref(), Some("ada/1"));
        let before = world.record();
        world.run("system/", ended("1")).await.unwrap();
        let after = world.record();
        assert_eq!((after.lock, after.modified, after.last_modifier), (None, before.modified, before.last_modifier));
    });
}

#[test]
fn without_a_lock_a_write_takes_one_and_gives_it_back() {
    run(|world| async move {
        world.clock.advance(Duration::from_secs(5));
        world.write("bob/2", "two", IN).await.unwrap();
        let record = world.record();
        assert_eq!((record.modified, &*record.last_modifier), (NOON_S + 5, "bob"));
        // The version of another user, which they have not seen, stays.
        assert_eq!((world.versions(), world.locker()), (vec!["one".to_owned(), "two".to_owned()], None));
        world.write("bob/2", "two, again", IN).await.unwrap();
        assert_eq!(world.versions(), ["one", "two, again"]);
        world.write("bob/2", "three", WriteSwitches { new_version: true, ..IN }).await.unwrap();
        assert_eq!(world.versions(), ["one", "two, again", "three"]);
        world.write("bob/2", "four", SAVE).await.unwrap();
        assert_eq!((world.draft().as_deref(), world.locker()), (Some("four"), None));
        assert_eq!(world.versions(), ["one", "two, again", "three"]);
        for switches in [IN, SAVE, WriteSwitches { keep_checked_out: true, ..IN }] {
            assert_eq!(code(world.write("bob/2", "", switches).await), Code::ObjectNotCheckedOut);
        }
        world.write("bob/2", "five", WriteSwitches { keep_checked_out: true, ..IN }).await.unwrap();
        assert_eq!((world.draft(), world.locker().as_deref()), (None, Some("bob/2")));
        assert_eq!(world.versions(), ["one", "two, again", "five"]);
    });
}

#[test]
fn the_first_content_is_the_first_version_however_it_is_written() {
    run(|mut world| async move {
        let parts = parts_of(world.record().family);
        let over = |name: &str, mode, content| {
            let mut object = NewObject::document(name, "Story");
            (object.parts, object.mode, object.content) = (parts.clone(), mode, content);
            CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object }
        };
        for (name, mode) in [("b.xml", CreateMode::Replace), ("c.xml", CreateMode::NewVersion)] {
            world.object = world.run("ada/1", over(name, CreateMode::Exception, None)).await.unwrap().loid;
            assert_eq!(world.record().version, 0);
            world.run("ada/1", over(name, mode, Some(content("first")))).await.unwrap();
            assert_eq!(world.versions(), ["first"], "{mode:?}");
        }
        for (name, new_version) in [("d.xml", false), ("e.xml", true)] {
            world.object = world.run("ada/1", over(name, CreateMode::Exception, None)).await.unwrap().loid;
            world.write("ada/1", "first", WriteSwitches { new_version, ..IN }).await.unwrap();
            assert_eq!(world.versions(), ["first"], "a new version: {new_version}");
        }
    });
}

#[test]
fn checked_out_objects_are_saved_as_draft_and_then_checked_in() {
    run(|world| async move {
        let out = WriteSwitches { check_out: true, ..SAVE };
        world.write("ada/1", "", out).await.unwrap();
        assert_eq!((world.draft(), world.locker().as_deref()), (None, Some("ada/1")));
        let before = world.record();
        world.clock.advance(Duration::from_secs(5));
        for text in ["two", "a large text", "another large text", "small"] {
            world.write("ada/1", text, SAVE).await.unwrap();
            assert_eq!(world.draft().as_deref(), Some(text));
        }
        let record = world.record();
        assert_eq!(record.revision, before.revision + 4);
        assert_eq!((record.modified, world.versions()), (before.modified, vec!["one".to_owned()]));
        // The draft is checked in if the write has no other content.
        world.write("ada/1", "", WriteSwitches { new_version: true, keep_checked_out: true, ..IN }).await.unwrap();
        assert_eq!((world.draft(), world.locker().as_deref()), (None, Some("ada/1")));
        assert_eq!((world.versions(), world.record().modified), (vec!["one".into(), "small".to_owned()], NOON_S + 5));
        world.write("ada/1", "a large draft", SAVE).await.unwrap();
        world.write("ada/1", "", IN).await.unwrap();
        assert_eq!(world.versions(), ["one", "a large draft"]);
        assert_eq!((world.draft(), world.locker()), (None, None));
        // Without content or draft nothing is written, and the lock is released.
        world.lock("ada/1").await.unwrap();
        let before = world.record();
        world.write("ada/1", "", WriteSwitches { new_version: true, ..IN }).await.unwrap();
        assert_eq!((world.versions().len(), world.locker()), (2, None));
        assert_eq!(world.record().modified, before.modified);
    });
}

#[test]
fn a_draft_outlives_its_lock_and_is_gone_on_with_or_dropped() {
    run(|world| async move {
        let out = WriteSwitches { check_out: true, ..SAVE };
        let clean = WriteSwitches { check_out_clean: true, ..SAVE };
        world.write("ada/1", "two", WriteSwitches { unlock: true, ..out }).await.unwrap();
        assert_eq!((world.draft().as_deref(), world.locker()), (Some("two"), None));
        world.write("ada/1", "", out).await.unwrap();
        world.unlock("bob/2", true, true).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("two"));
        // A colleague continues from the draft.
        world.write("bob/2", "", WriteSwitches { check_out: true, ..IN }).await.unwrap();
        assert_eq!((world.versions(), world.draft(), world.locker()), (vec!["two".to_owned()], None, None));
        world.write("ada/1", "a large draft", out).await.unwrap();
        world.write("ada/1", "", clean).await.unwrap();
        assert_eq!((world.draft(), world.locker().as_deref()), (None, Some("ada/1")));
        world.write("ada/1", "three", SAVE).await.unwrap();
        world.write("ada/1", "", WriteSwitches { check_out_clean: true, ..IN }).await.unwrap();
        assert_eq!((world.versions(), world.draft(), world.locker()), (vec!["two".to_owned()], None, None));
        world.write("ada/1", "four", out).await.unwrap();
        world.write("ada/1", "five", WriteSwitches { check_out_clean: true, ..SAVE }).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("five"));
        // A write by a user without the check-out leaves the draft: it is not theirs to drop, and
        // they may not even know of it.
        world.unlock("ada/1", false, false).await.unwrap();
        world.write("bob/2", "six", IN).await.unwrap();
        assert_eq!((world.versions(), world.draft().as_deref()), (vec!["six".to_owned()], Some("five")));
        world.write("bob/2", "seven", WriteSwitches { new_version: true, ..IN }).await.unwrap();
        assert_eq!(world.draft().as_deref(), Some("five"));
        // A user who keeps the check-out after a write reads what they wrote, not the draft.
        world.write("bob/2", "eight", WriteSwitches { keep_checked_out: true, ..IN }).await.unwrap();
        assert_eq!((world.draft(), world.locker().as_deref()), (None, Some("bob/2")));
        world.write("bob/2", "nine", SAVE).await.unwrap();
        world.write("bob/2", "ten", IN).await.unwrap();
        assert_eq!(
            (world.versions(), world.draft()),
            (["six", "seven", "five", "ten"].map(String::from).to_vec(), None)
        );
        world.write("bob/2", "eleven", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.write("bob/2", "twelve", WriteSwitches { check_out: true, ..IN }).await.unwrap();
        assert_eq!((world.versions()[3].as_str(), world.draft()), ("twelve", None), "it was their own");
    });
}

#[test]
fn foreign_drafts_are_replaced_only_by_lock_owners_or_clean_check_outs() {
    run(|world| async move {
        let (out, both) = (WriteSwitches { check_out: true, ..SAVE }, WriteSwitches { check_out: true, ..IN });
        let author = |number: u32| {
            let key = Version::key(world.object.at_version(number));
            let version: Option<Version> = world.repository.row(key.table, &key.key).expect("it can be read");
            version.expect("it is there").author.to_string()
        };
        // The latest version is theirs, which they may replace without a look.
        world.write("bob/2", "zero", IN).await.unwrap();
        for text in ["adas", "a large text of adas"] {
            world.write("ada/1", text, WriteSwitches { unlock: true, ..out }).await.unwrap();
            // A user who writes in one step has not seen the draft.
            let versions = world.versions();
            world.write("bob/2", "two", both).await.unwrap();
            assert_eq!((world.draft().as_deref(), world.locker()), (Some(text), None));
            assert_eq!(
                (world.versions().len(), world.record().content),
                (versions.len(), Some(content("two").content))
            );
            for switches in [out, WriteSwitches { unlock: true, ..out }] {
                let error = world.write("bob/2", "three", switches).await.unwrap_err();
                assert_eq!(
                    (error.code, &error.details.unwrap()["draftOf"]),
                    (Code::ObjectNotCheckedOut, &"ada".into())
                );
                assert_eq!((world.draft().as_deref(), world.locker()), (Some(text), None));
            }
            // A user who keeps the lock reads their own content. The draft becomes the previous
            // version.
            for switches in [both, IN] {
                let before = world.versions();
                world.write("bob/2", "four", WriteSwitches { keep_checked_out: true, ..switches }).await.unwrap();
                let after = [&before[..], &[text.to_owned(), "four".to_owned()]].concat();
                assert_eq!((world.versions(), world.draft()), (after, None));
                let latest = world.record().version;
                assert_eq!([author(latest - 1), author(latest)], ["ada", "bob"]);
                world.unlock("bob/2", false, false).await.unwrap();
                world.write("ada/1", text, WriteSwitches { unlock: true, ..out }).await.unwrap();
            }
            // The holder of the lock sees the draft, and a clean check-out drops it on purpose.
            let before = world.versions();
            world.lock("bob/2").await.unwrap();
            world.write("bob/2", "five", SAVE).await.unwrap();
            assert_eq!(world.draft().as_deref(), Some("five"));
            world.write("bob/2", "", WriteSwitches { check_out_clean: true, unlock: true, ..SAVE }).await.unwrap();
            world.write("ada/1", text, WriteSwitches { unlock: true, ..out }).await.unwrap();
            world.write("bob/2", "six", WriteSwitches { check_out_clean: true, ..IN }).await.unwrap();
            assert_eq!((world.versions().len(), world.draft()), (before.len(), None));
        }
    });
}

#[test]
fn a_creation_that_checks_out_keeps_the_draft_of_another_as_a_version() {
    run(|world| async move {
        let over = |text: &str, mode: CreateMode| {
            let mut object = NewObject::document("a.xml", "Story");
            object.parts = parts_of(world.record().family);
            (object.mode, object.content, object.checked_out_s) = (mode, Some(content(text)), Some(LASTS_S));
            CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object }
        };
        let saved = WriteSwitches { check_out: true, unlock: true, ..SAVE };
        world.write("ada/1", "two", saved).await.unwrap();
        world.run("bob/2", over("three", CreateMode::Replace)).await.unwrap();
        assert_eq!((world.versions(), world.draft()), (["one", "two", "three"].map(String::from).to_vec(), None));
        world.unlock("bob/2", false, false).await.unwrap();
        world.write("ada/1", "a large draft", saved).await.unwrap();
        world.run("bob/2", over("four", CreateMode::NewVersion)).await.unwrap();
        assert_eq!(
            (world.versions()[3..].to_vec(), world.draft()),
            (vec!["a large draft".into(), "four".to_owned()], None)
        );
        // Their own draft, which they see, is dropped.
        world.write("bob/2", "five", SAVE).await.unwrap();
        world.run("bob/2", over("six", CreateMode::Replace)).await.unwrap();
        assert_eq!((world.versions()[4..].to_vec(), world.draft()), (vec!["six".to_owned()], None));
    });
}

#[test]
fn a_draft_is_never_checked_in_over_a_content_that_it_does_not_come_from() {
    run(|world| async move {
        let object = world.object;
        let (out, both) = (WriteSwitches { check_out: true, ..SAVE }, WriteSwitches { check_out: true, ..IN });
        let replace = |text: &str, mode: CreateMode| {
            let mut object = NewObject::document("a.xml", "Story");
            object.parts = parts_of(world.record().family);
            (object.mode, object.content) = (mode, Some(content(text)));
            CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object }
        };
        // Followed by the version of a creation; the draft was gone on with since.
        world.write("ada/1", "two", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.run("bob/2", replace("bob's", CreateMode::Replace)).await.unwrap();
        world.write("ada/1", "three", out).await.unwrap();
        world.write("ada/1", "", IN).await.unwrap();
        assert_eq!((world.versions(), world.draft()), (["one", "bob's", "three"].map(String::from).to_vec(), None));
        // By a version beside it, by an old version again, by a plain write.
        world.write("ada/1", "four", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.run("bob/2", replace("five", CreateMode::NewVersion)).await.unwrap();
        world.write("ada/1", "", both).await.unwrap();
        assert_eq!(world.versions()[3..], ["five", "four"]);
        world.write("ada/1", "six", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.run("bob/2", RestoreVersion { object, version: 5 }).await.unwrap();
        world.write("ada/1", "", both).await.unwrap();
        assert_eq!(world.versions()[5..], ["four", "six"]);
        world.write("ada/1", "seven", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.write("bob/2", "eight", IN).await.unwrap();
        world.write("bob/2", "", both).await.unwrap();
        assert_eq!(world.versions()[7..], ["eight", "seven"]);
        // A draft begun anew without a read has no known base. One after a check-in is based on the
        // version checked in.
        world.write("ada/1", "nine", WriteSwitches { unlock: true, ..out }).await.unwrap();
        world.write("bob/2", "ten", IN).await.unwrap();
        world.write("ada/1", "eleven", WriteSwitches { check_out_clean: true, ..SAVE }).await.unwrap();
        world.write("ada/1", "", WriteSwitches { keep_checked_out: true, ..IN }).await.unwrap();
        world.write("ada/1", "twelve", SAVE).await.unwrap();
        world.write("ada/1", "", IN).await.unwrap();
        assert_eq!(world.versions()[7..], ["eight", "ten", "twelve"]);
    });
}

#[test]
fn a_draft_of_which_it_is_not_known_what_it_comes_from_is_a_new_version() {
    // As they were written before that was noted.
    #[derive(serde::Serialize)]
    struct Old {
        #[serde(with = "stet_domain::store::loid_key")]
        loid: Loid,
        author: &'static str,
        at: u64,
        content: Content,
    }
    run(|world| async move {
        let old = Old { loid: world.object, author: "ada", at: 1, content: content("a large draft").content };
        let value = encode_value(Draft::FORMAT, &old);
        let mut set = ChangeSet::fence(world.store.epoch(), |_| ());
        let RowPlace { table, key } = Draft::key(world.object);
        set.changes.push(RowChange { table, key, value: Some(value) });
        world.store.submit(set).expect("it is taken");
        world.write("ada/1", "", WriteSwitches { check_out: true, ..IN }).await.unwrap();
        assert_eq!((world.versions(), world.draft()), (vec!["one".into(), "a large draft".to_owned()], None));
    });
}

#[test]
fn check_out_and_check_in_work_in_one_step_from_the_unlocked_state() {
    run(|world| async move {
        let both = WriteSwitches { check_out: true, ..IN };
        world.write("ada/1", "two", WriteSwitches { new_version: true, ..both }).await.unwrap();
        assert_eq!((world.versions(), world.locker()), (vec!["one".into(), "two".to_owned()], None));
        world.write("ada/1", "three", WriteSwitches { keep_checked_out: true, ..both }).await.unwrap();
        assert_eq!((world.versions()[1].as_str(), world.locker().as_deref()), ("three", Some("ada/1")));
        // Once more, from the locked state.
        world.write("ada/1", "four", both).await.unwrap();
        assert_eq!((world.versions()[1].as_str(), world.locker()), ("four", None));
        let before = world.record();
        world.write("ada/1", "", both).await.unwrap();
        assert_eq!(world.record(), before, "nothing to write, nothing changed");
    });
}

#[test]
fn an_old_version_comes_back_as_the_newest() {
    run(|world| async move {
        let object = world.object;
        world.write("ada/1", "a large text", WriteSwitches { new_version: true, ..IN }).await.unwrap();
        world.lock("ada/1").await.unwrap();
        world.write("ada/1", "draft", SAVE).await.unwrap();
        assert_eq!(world.run("ada/1", RestoreVersion { object, version: 1 }).await, Ok(3));
        assert_eq!(world.run("ada/1", RestoreVersion { object, version: 2 }).await, Ok(4));
        assert_eq!(world.versions(), ["one", "a large text", "one", "a large text"]);
        assert_eq!((world.draft().as_deref(), world.locker().as_deref()), (Some("draft"), Some("ada/1")));
        for version in [0, 5] {
            assert_eq!(code(world.run("ada/1", RestoreVersion { object, version }).await), Code::ObjectNotFound);
        }
    });
}

#[test]
fn discarding_unlocks_an_object_and_destroying_it_leaves_no_rows() {
    run(|world| async move {
        let object = world.object;
        world.write("ada/1", "draft", WriteSwitches { check_out: true, ..SAVE }).await.unwrap();
        world.run("ada/1", DiscardObject { object, reach: stet_domain::object::Reach::All }).await.unwrap();
        assert_eq!((world.record().lock, world.draft().as_deref()), (None, Some("draft")));
        for outcome in [
            world.lock("ada/1").await,
            world.unlock("ada/1", true, true).await,
            world.write("ada/1", "x", IN).await,
            world.run("ada/1", RestoreVersion { object, version: 1 }).await.map(drop),
        ] {
            assert_eq!(code(outcome), Code::ObjectNotFound);
        }
        let restore =
            RestoreObject { object, folder: None, mode: CreateMode::Exception, reach: stet_domain::object::Reach::All };
        world.run("ada/1", restore).await.unwrap();
        assert_eq!((world.record().lock, world.draft().as_deref()), (None, Some("draft")));
        world.run("bob/2", DestroyObject { object }).await.unwrap();
        let left: Vec<_> = world
            .store
            .rows()
            .into_iter()
            .filter(|((_, key), _)| key.windows(14).any(|part| part == &object.to_key()[..14]))
            .collect();
        assert_eq!(left, []);
    });
}

#[test]
fn a_folder_is_not_discarded_over_a_lock_below_and_has_no_content() {
    run(|world| async move {
        let folder = root(DatabaseId::FIRST);
        let mut inner = NewObject::document("b.xml", "Story");
        inner.mode = CreateMode::Exception;
        let create = CreateInFolder { folder, below: vec!["desk".into()], object: inner };
        let story = world.run("ada/1", create).await.unwrap().loid;
        let desk = world.repository.record(story).unwrap().unwrap().folder().unwrap();
        world.run("ada/1", TakeLock { object: story, lasts_s: LASTS_S }).await.unwrap();
        for error in [
            world
                .run("bob/2", DiscardObject { object: desk, reach: stet_domain::object::Reach::All })
                .await
                .unwrap_err(),
            world.run("bob/2", DestroyObject { object: desk }).await.unwrap_err(),
        ] {
            assert_eq!((error.code, error.source), (Code::ObjectLocked, Some(story.to_string())));
        }
        world.run("ada/1", DiscardObject { object: desk, reach: stet_domain::object::Reach::All }).await.unwrap();
        let write = WriteContent { object: folder, body: Some(content("x")), switches: IN, lasts_s: LASTS_S };
        assert_eq!(code(world.run("ada/1", write).await), Code::InvalidType);
    });
}
