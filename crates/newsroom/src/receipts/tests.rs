use std::future::Future;
use std::task::{Context, Waker};
use std::time::Duration;

use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::ManualClock;
use stet_domain::command::CallerIdentity;
use stet_domain::folder::root;
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::CreateMode;
use stet_domain::receipt::ReceiptStep;
use stet_domain::store::RowReader;
use stet_domain::store::memory::MemoryStore;

use super::*;

const DAY: u64 = 24 * 60 * 60;

const BOUNDS: ReceiptBounds = ReceiptBounds { keys: 600, bytes: 1 << 30 };

struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    repository: Repository,
    receipts: Arc<Receipts>,
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    run_within(BOUNDS, test);
}

fn run_within<F: Future<Output = ()>>(bounds: ReceiptBounds, test: impl FnOnce(World) -> F) {
    actix::System::new().block_on(async {
        let store = Arc::new(MemoryStore::new());
        let clock = ManualClock::at(1_700_000_000_000);
        let options = RuntimeOptions::default();
        let repository = Repository::start(store.clone(), Arc::new(clock.clone()), options).await.unwrap();
        repository.make_roots(&[DatabaseId::FIRST]).await.unwrap();
        let receipts = Arc::new(Receipts::new(repository.clone(), DAY, bounds));
        let all = test(World { store, clock, repository, receipts });
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("nothing hangs");
    });
}

fn reply(claim: &Claim, body: &str) -> KeptReply {
    let headers = vec![("etag".to_owned(), Bytes::from_static(b"\"1-a\""))];
    KeptReply { status: 200, headers, body: Bytes::copy_from_slice(body.as_bytes()), rights: claim.rights() }
}

impl World {
    fn try_claim(&self, user: &str, key: &str) -> Result<Arc<Claim>> {
        self.receipts.claim(key.into(), &user.into(), &Rights::default(), ["POST", "/x"])
    }

    fn claim(&self, key: &str) -> Arc<Claim> {
        self.try_claim("editor", key).unwrap()
    }

    async fn identify(&self, claim: &Claim, body: &str) -> Result<Option<Arc<KeptReply>>> {
        self.receipts.identify(claim, claim.fingerprint(&[body.as_bytes()])).await
    }

    /// Creates a document that gets another name if its own is taken, as all that the call does.
    async fn create(&self, claim: &Claim) -> Result<String> {
        self.create_under(claim, claim.once().map(|once| once.only())).await
    }

    /// Creates such a document as one of several that the call lists.
    async fn create_at(&self, claim: &Claim, place: usize) -> Result<String> {
        let step = claim.once().map(|once| once.at(place, root(DatabaseId::FIRST))).transpose()?;
        self.create_under(claim, step).await
    }

    async fn create_under(&self, claim: &Claim, step: Option<ReceiptStep>) -> Result<String> {
        let mut object = NewObject::document("a.xml", "Story");
        object.mode = CreateMode::AutoRename;
        let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
        let who = CallerIdentity { user: claim.name.0.clone(), session: "s".into(), address: None };
        let request = ChangeRequest { step, ..ChangeRequest::by(who) };
        Ok(self.repository.joint(create, request).await?.loid.to_string())
    }

    fn count(&self, table: Table) -> usize {
        self.store.scan(ReadLevel::Committed, table, &KeyRange::prefix(&[]), usize::MAX, false).unwrap().len()
    }

    /// Stores the receipts of a call with `many` commands, one of which is the body's.
    async fn put_outcomes(&self, key: &str, fingerprint: Fingerprint, many: u16) {
        for step in 1..=many {
            let receipt = Receipt {
                user: "editor".into(),
                key: key.into(),
                step,
                fingerprint: Bytes::copy_from_slice(&fingerprint),
                at_ms: self.repository.clock().now_ms(),
                kept: ReceiptContent::Outcome { command: "x".into(), reply: Bytes::new() },
            };
            self.repository.commit(|set| set.changes = receipt.put()).await.unwrap();
        }
    }

    /// Waits until all spawned tasks have ended.
    async fn until_kept(&self) {
        while !self.receipts.books.slots.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn a_user_keeps_so_many_keys_and_the_oldest_go() {
    run(|world| async move {
        let answer = async |user: &str, key: &str| {
            let claim = world.try_claim(user, key).unwrap();
            let before = world.identify(&claim, "body").await.unwrap();
            if before.is_none() {
                world.receipts.keep(&claim, reply(&claim, "reply"));
            }
            drop(claim);
            world.until_kept().await;
            before.is_some()
        };
        assert!(!answer("other", "k").await);
        for number in 0..1500 {
            assert!(!answer("editor", &format!("k{number}")).await);
            // Those that go are removed by and by.
            tokio::task::yield_now().await;
        }
        while world.count(Table::Receipts) > 639 {
            tokio::task::yield_now().await;
        }
        assert!(answer("editor", "k1499").await && answer("editor", "k901").await);
        assert!(answer("other", "k").await, "of another nothing goes");
        assert!(!answer("editor", "k0").await, "it is as if it had never been sent");
    });
}

#[test]
fn a_reply_is_repeated_word_for_word_at_once_and_from_disk() {
    run(|world| async move {
        let claim = world.claim("k");
        assert_eq!(world.identify(&claim, "body").await, Ok(None));
        world.receipts.keep(&claim, reply(&claim, "reply"));
        drop(claim);
        // Not on disk yet.
        assert_eq!(world.count(Table::Receipts), 0);
        let again = world.claim("k");
        let at_once = world.identify(&again, "body").await.unwrap().expect("it is repeated");
        assert_eq!(world.identify(&again, "other").await.unwrap_err().code, Code::IdempotencyMismatch);
        drop(again);
        world.until_kept().await;
        let again = world.claim("k");
        let from_disk = world.identify(&again, "body").await.unwrap().expect("it is repeated");
        assert_eq!(at_once, from_disk);
        assert_eq!(*from_disk, reply(&again, "reply"));
    });
}

#[test]
fn a_reused_key_refuses_other_content_and_is_separate_for_each_user() {
    run(|world| async move {
        let claim = world.claim("k");
        world.identify(&claim, "body").await.unwrap();
        world.receipts.keep(&claim, reply(&claim, "reply"));
        drop(claim);
        world.until_kept().await;
        let other = world.claim("k");
        assert_eq!(world.identify(&other, "other").await.unwrap_err().code, Code::IdempotencyMismatch);
        drop(other);
        let path = world.receipts.claim("k".into(), &"editor".into(), &Rights::default(), ["POST", "/y"]).unwrap();
        assert_eq!(world.identify(&path, "body").await.unwrap_err().code, Code::IdempotencyMismatch);
        let others = world.try_claim("reporter", "k").unwrap();
        assert_eq!(world.identify(&others, "other").await, Ok(None));
    });
}

#[test]
fn an_idempotency_key_is_taken_until_its_last_command_is_decided() {
    run(|world| async move {
        let claim = world.claim("k");
        let busy = world.try_claim("editor", "k").map(drop).unwrap_err();
        assert_eq!(busy.code, Code::IdempotencyRunning);
        drop(claim);
        let claim = world.claim("k");
        world.identify(&claim, "body").await.unwrap();
        // Nothing is decided while the store holds it.
        world.store.hold();
        let mut create = Box::pin(world.create(&claim));
        // Polled once, the command is under way. Then the caller goes away.
        assert!(create.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(create);
        drop(claim);
        assert_eq!(world.try_claim("editor", "k").map(drop).unwrap_err().code, Code::IdempotencyRunning);
        world.store.release();
        while world.try_claim("editor", "k").is_err() {
            tokio::task::yield_now().await;
        }
        let objects = world.count(Table::Objects);
        let again = world.claim("k");
        world.identify(&again, "body").await.unwrap();
        world.create(&again).await.unwrap();
        assert_eq!(world.count(Table::Objects), objects, "it was done when the key came free, and not again");
    });
}

#[test]
fn commands_applied_before_a_crash_are_answered_and_not_repeated() {
    run(|world| async move {
        let claim = world.claim("k");
        world.identify(&claim, "body").await.unwrap();
        let made = world.create(&claim).await.unwrap();
        // The reply is never kept.
        drop(claim);
        let objects = world.count(Table::Objects);
        let again = world.claim("k");
        assert_eq!(world.identify(&again, "body").await, Ok(None));
        assert_eq!(world.create(&again).await.unwrap(), made);
        assert_eq!(world.count(Table::Objects), objects);
        // Another step of the call is one of its own.
        assert_ne!(world.create_at(&again, 1).await.unwrap(), made);
        drop(again);
        let other = world.claim("k");
        assert_eq!(world.identify(&other, "other").await.unwrap_err().code, Code::IdempotencyMismatch);
    });
}

#[test]
fn an_old_receipt_counts_for_nothing_before_it_is_swept() {
    run(|world| async move {
        let claim = world.claim("k");
        world.identify(&claim, "body").await.unwrap();
        let made = world.create(&claim).await.unwrap();
        world.receipts.keep(&claim, reply(&claim, "reply"));
        drop(claim);
        world.until_kept().await;
        world.clock.advance(Duration::from_secs(DAY) - Duration::from_millis(1));
        assert!(world.identify(&world.claim("k"), "body").await.unwrap().is_some(), "it is not a day old");
        world.clock.advance(Duration::from_millis(1));
        let fresh = world.claim("k");
        assert_eq!(world.identify(&fresh, "other").await, Ok(None));
        assert_ne!(world.create(&fresh).await.unwrap(), made);
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (1, 1));
    });
}

/// Regression test: a repeated call was carried out a second time.
#[test]
fn a_clock_that_leaps_ends_no_receipt_before_it_is_believed() {
    run(|world| async move {
        let claim = world.claim("key");
        world.identify(&claim, "body").await.unwrap();
        world.receipts.keep(&claim, reply(&claim, "reply"));
        drop(claim);
        world.until_kept().await;
        assert_eq!(world.receipts.sweep().await, Ok(0));
        world.clock.set(world.repository.clock().now_ms() + 100 * DAY * 1000);
        assert_eq!(world.receipts.sweep().await, Ok(0));
        assert!(world.identify(&world.claim("key"), "body").await.unwrap().is_some(), "it is told its reply");
        world.clock.advance(Duration::from_secs(60 * 60));
        assert_eq!(world.receipts.sweep().await, Ok(1));
    });
}

#[test]
fn receipt_sweeps_remove_all_expired_receipts_and_no_others() {
    run(|world| async move {
        for number in 0..PAGE + 20 {
            let claim = world.claim(&format!("old-{number}"));
            world.identify(&claim, "body").await.unwrap();
            world.receipts.keep(&claim, reply(&claim, "reply"));
        }
        world.until_kept().await;
        assert_eq!(world.receipts.sweep().await, Ok(0));
        world.clock.advance(Duration::from_secs(DAY));
        let young = world.claim("young");
        world.identify(&young, "body").await.unwrap();
        world.create(&young).await.unwrap();
        let busy = world.claim("old-7");
        assert_eq!(world.receipts.sweep().await, Ok(PAGE + 19), "not that of a call under way");
        drop(busy);
        assert_eq!(world.receipts.sweep().await, Ok(1));
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (1, 1));
    });
}

#[test]
fn keys_with_many_receipts_are_removed_in_pages_and_claims_wait() {
    run(|world| async move {
        const MANY: u16 = 3 * PAGE as u16 + 7;
        let fingerprint = world.claim("old").fingerprint(&[b"body"]);
        world.put_outcomes("old", fingerprint, MANY).await;
        let claim = world.claim("small");
        world.identify(&claim, "body").await.unwrap();
        world.create(&claim).await.unwrap();
        drop(claim);
        world.clock.advance(Duration::from_secs(DAY));
        world.store.hold();
        let receipts = world.receipts.clone();
        let sweep = spawn_local(async move { receipts.sweep().await });
        let mut commits = Vec::new();
        let mut taken = None;
        while !sweep.is_finished() {
            tokio::task::yield_now().await;
            if world.store.pending() > 0 {
                let before = (world.count(Table::Receipts), world.count(Table::ReceiptTimes));
                let claim = taken.get_or_insert_with(|| world.claim("old"));
                if before.0 > 1 {
                    let mut identify = Box::pin(world.identify(claim, "other"));
                    let now = identify.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    assert!(now.is_pending(), "nobody sees a part of what a key had");
                }
                world.store.step();
                commits.push(before.0 - world.count(Table::Receipts));
                assert_eq!(before.1 - world.count(Table::ReceiptTimes), commits[commits.len() - 1]);
            }
        }
        assert_eq!(sweep.await.unwrap(), Ok(usize::from(MANY) + 1));
        assert!(commits.iter().all(|rows| *rows < 2 * PAGE), "{commits:?}");
        world.store.release();
        let claim = taken.expect("it was removed");
        assert_eq!(world.identify(&claim, "other").await, Ok(None));
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (0, 0));
    });
}

#[test]
fn one_that_gives_up_a_key_while_its_receipts_go_leaves_it_to_them() {
    run(|world| async move {
        let fingerprint = world.claim("old").fingerprint(&[b"body"]);
        world.put_outcomes("old", fingerprint, 1).await;
        world.store.hold();
        let receipts = world.receipts.clone();
        let forget = spawn_local(async move { receipts.forget([("editor".into(), "old".into())]).await });
        while world.store.pending() == 0 {
            tokio::task::yield_now().await;
        }
        drop(world.claim("old"));
        let claim = world.claim("old");
        let mut identify = Box::pin(world.identify(&claim, "other"));
        assert!(identify.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        world.store.release();
        assert_eq!(identify.await, Ok(None));
        assert_eq!(forget.await.unwrap(), Ok(1));
        drop(claim);
        assert!(world.receipts.books.slots.lock().is_empty());
    });
}

#[test]
fn an_entry_of_a_row_that_there_is_not_is_swept_too() {
    run(|world| async move {
        let fingerprint = world.claim("k").fingerprint(&[b"body"]);
        world.put_outcomes("k", fingerprint, 1).await;
        world.clock.advance(Duration::from_millis(1));
        // As a version before kept a reply anew.
        world.put_outcomes("k", fingerprint, 1).await;
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (1, 2));
        world.clock.advance(Duration::from_secs(DAY));
        assert_eq!(world.receipts.sweep().await, Ok(1));
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (0, 0));
    });
}

#[test]
fn outcomes_count_against_the_bound_of_their_user() {
    run_within(ReceiptBounds { keys: 600, bytes: 16 << 10 }, |world| async move {
        let call = async |key: &str, commands: usize| {
            let claim = world.claim(key);
            assert_eq!(world.identify(&claim, "body").await, Ok(None));
            for place in 0..commands {
                world.create_at(&claim, place).await.unwrap();
            }
        };
        call("large", 100).await;
        assert_eq!(world.count(Table::Receipts), 100);
        call("next", 1).await;
        while world.count(Table::Receipts) > 1 {
            tokio::task::yield_now().await;
        }
        // Those of a call that took long are beyond it only when it ends.
        let (large, newer) = (world.claim("large"), world.claim("newer"));
        for claim in [&large, &newer] {
            assert_eq!(world.identify(claim, "body").await, Ok(None));
        }
        for place in 0..100 {
            world.create_at(&large, place).await.unwrap();
        }
        assert_eq!(world.receipts.sweep().await, Ok(0));
        drop(large);
        assert_eq!(world.receipts.sweep().await, Ok(101));
        assert_eq!((world.count(Table::Receipts), world.count(Table::ReceiptTimes)), (0, 0));
    });
}

#[test]
fn large_replies_are_not_kept() {
    run(|world| async move {
        let large = "x".repeat(MAX_BODY + 1);
        let claim = world.claim("large");
        world.identify(&claim, "body").await.unwrap();
        world.receipts.keep(&claim, reply(&claim, &large));
        drop(claim);
        assert!(world.receipts.books.slots.lock().is_empty());
        let claim = world.claim("k");
        world.identify(&claim, "body").await.unwrap();
        world.receipts.keep(&claim, reply(&claim, &large[1..]));
        world.until_kept().await;
        assert_eq!(world.count(Table::Receipts), 1);
    });
}
