//! The retention of messages.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangePermit, ChangeRequest, LargeChangeAdmission, LargeChangePermit, RuntimeOptions};
use stet_auth::{PasswordOptions, PasswordRules, Passwords, User, UserGroup};
use stet_domain::clock::ManualClock;
use stet_domain::command::{CallerIdentity, SMALL};
use stet_domain::error::Code;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::{ReadLevel, RowReader, Store};

use super::*;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const BOUNDS: MessagesConfig =
    MessagesConfig { keep_days: 30, per_box: 10, recipients: 100, body_bytes: 1024, attachments: 10 };

pub(super) struct House {
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: ManualClock,
    pub(super) messages: Messages,
}

impl House {
    /// Starts with two users, who may write to each other.
    async fn new() -> House {
        House::with(&SmtpConfig::default()).await
    }

    /// Starts with these users and a relay.
    pub(super) async fn with(smtp: &SmtpConfig) -> House {
        let (store, clock) = (Arc::new(MemoryStore::default()), ManualClock::at(1_700_000_000_000));
        let repository =
            Repository::start(store.clone(), Arc::new(clock.clone()), RuntimeOptions::default()).await.unwrap();
        let options = PasswordOptions { memory_kib: 8, iterations: 1, lanes: 1 };
        let passwords = Passwords::new(options, PasswordRules { min_length: 8 }).unwrap();
        let directory = Arc::new(Directory::new(repository.clone(), passwords, false));
        for name in ["ada", "bob"] {
            let business_email = Some(format!("{name}@example.org"));
            let mut user = User::new(name);
            user.business_email = business_email;
            directory.by(CallerIdentity::operator()).put_user(user).await.unwrap();
        }
        let messages = Messages::new(repository, directory, BOUNDS, smtp);
        House { store, clock, messages }
    }

    /// Sends a message from one of them to the other.
    pub(super) async fn send(&self, subject: &str) -> Loid {
        let mail =
            NewMessage { subject: subject.to_owned(), recipients: vec!["bob".to_owned()], ..NewMessage::default() };
        let who = CallerIdentity { user: "ada".into(), session: "s".into(), address: None };
        self.messages.send(mail, ChangeRequest::by(who)).await.unwrap().id()
    }

    /// Creates a user, and sends a message from this user to bob.
    async fn send_from(&self, sender: &str, subject: &str) -> Loid {
        if self.messages.directory.user(sender).unwrap().is_none() {
            self.messages.directory.by(CallerIdentity::operator()).put_user(User::new(sender)).await.unwrap();
        }
        let mail =
            NewMessage { subject: subject.to_owned(), recipients: vec!["bob".to_owned()], ..NewMessage::default() };
        let who = CallerIdentity { user: sender.into(), session: "s".into(), address: None };
        self.messages.send(mail, ChangeRequest::by(who)).await.unwrap().id()
    }

    fn entries_of(&self, user: &str, side: MessageBox) -> usize {
        let entries =
            self.store.scan(ReadLevel::Committed, Table::Boxes, &MessageEntry::range(user, side), usize::MAX, false);
        entries.unwrap().len()
    }

    /// Begins a change whose caller goes away while the store processes it.
    pub(super) fn abandoned<T>(&self, change: impl Future<Output = T>) {
        self.store.hold();
        assert!(is_pending(&mut std::pin::pin!(change)));
        assert_eq!(self.store.pending(), 1);
    }

    async fn subjects(&self, user: &str, side: MessageBox) -> Vec<String> {
        let entries = self.messages.entries(user, side).await.unwrap();
        let subject =
            |entry: &MessageEntry| self.messages.message(entry.number).unwrap().map(|message| message.subject);
        entries.iter().filter_map(subject).collect()
    }

    /// Returns the bytes of messages sent since the last sweep.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.messages.sent_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn rows(&self, table: Table) -> usize {
        self.store.scan(ReadLevel::Committed, table, &KeyRange::prefix(&[]), usize::MAX, false).unwrap().len()
    }
}

/// Polls a future once, and returns whether it is pending.
fn is_pending<T>(future: &mut std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    actix::System::new().block_on(test)
}

#[test]
fn messages_past_their_retention_are_removed_and_later_ones_stay() {
    run(async {
        let house = House::new().await;
        house.send("old").await;
        house.clock.advance(DAY * 20);
        house.send("new").await;
        assert_eq!(house.messages.sweep().await.unwrap(), 0);
        house.clock.advance(DAY * 10);
        assert_eq!(house.messages.sweep().await.unwrap(), 0, "as many days as configured");
        house.clock.advance(DAY);
        // What each of two has of a message, and it with the last of them.
        assert_eq!(house.messages.sweep().await.unwrap(), 2);
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await, ["new"]);
        assert_eq!((house.rows(Table::Messages), house.rows(Table::Boxes)), (1, 2));
        house.clock.advance(DAY * 40);
        assert_eq!(house.messages.sweep().await.unwrap(), 2);
        assert_eq!((house.rows(Table::Messages), house.rows(Table::Boxes), house.rows(Table::Copies)), (0, 0, 0));
    });
}

#[test]
fn a_clock_that_leaps_ends_no_message_before_it_is_believed() {
    run(async {
        let house = House::new().await;
        house.send("kept").await;
        assert_eq!(house.messages.sweep().await.unwrap(), 0);
        let then = house.messages.repository.clock().now_ms();
        house.clock.set(then + (DAY * 100).as_millis() as u64);
        assert_eq!(house.messages.sweep().await.unwrap(), 0);
        house.clock.set(then);
        assert_eq!(house.messages.sweep().await.unwrap(), 0);
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await, ["kept"]);
        house.clock.advance(DAY * 31);
        assert_eq!(house.messages.sweep().await.unwrap(), 2, "it is looked for again although the clock was ahead");
    });
}

/// Messages that were sent and removed at once filled the disk until they were old.
#[test]
fn a_message_goes_with_the_last_who_has_it() {
    run(async {
        let house = House::new().await;
        let (one, other) = (house.send("one").await, house.send("other").await);
        house.messages.remove("bob", one).await.unwrap();
        assert_eq!(house.subjects("ada", MessageBox::Outbox).await, ["other", "one"]);
        house.messages.remove("ada", one).await.unwrap();
        assert_eq!((house.rows(Table::Messages), house.rows(Table::Copies)), (1, 1));
        house.messages.remove("ada", other).await.unwrap();
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await, ["other"]);
        // By the sweep as well.
        house.clock.advance(DAY * 31);
        assert_eq!(house.messages.sweep().await.unwrap(), 1);
        assert_eq!((house.rows(Table::Messages), house.rows(Table::Copies)), (0, 0));
        // Of boxes that are filled quickly the oldest do not wait for the hour.
        house.messages.sent_bytes.store(SWEEP_BYTES - 1, Ordering::Relaxed);
        for _ in 0..BOUNDS.per_box + 2 {
            house.send("more").await;
        }
        assert_eq!(house.messages.sweep().await.unwrap(), 4);
        assert_eq!(house.rows(Table::Messages), BOUNDS.per_box);
        assert_eq!(house.messages.sweep().await.unwrap(), 0, "it begins anew");
    });
}

#[test]
fn overfull_boxes_lose_their_oldest_messages_and_other_boxes_none() {
    run(async {
        let house = House::new().await;
        for number in 0..BOUNDS.per_box + 3 {
            let id = house.send(&number.to_string()).await;
            // Ada keeps four of hers.
            if number > 3 {
                let place = MessageEntry::key("ada", MessageBox::Outbox, id.number);
                let change = RowChange { table: place.table, key: place.key, value: None };
                house.messages.repository.commit(|set| set.changes = vec![change]).await.unwrap();
            }
        }
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await.len(), BOUNDS.per_box, "no more are shown");
        house.clock.advance(DAY);
        assert_eq!(house.messages.sweep().await.unwrap(), 3);
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await.last().map(String::as_str), Some("3"));
        assert_eq!(house.subjects("ada", MessageBox::Outbox).await, ["3", "2", "1", "0"]);
        assert_eq!(house.rows(Table::Boxes), BOUNDS.per_box + 4);
        // Within the hour it is not looked again.
        for _ in 0..3 {
            house.send("more").await;
        }
        assert_eq!(house.messages.sweep().await.unwrap(), 0);
    });
}

/// Regression test: a thousand messages of one sender evicted those of all others, for good.
#[test]
fn a_sender_of_many_messages_pushes_out_none_of_others() {
    run(async {
        let house = House::new().await;
        for (sender, subject) in [("mia", "first"), ("eve", "second"), ("mia", "third")] {
            house.send_from(sender, subject).await;
        }
        let mut most = 0;
        for number in 0..5 * BOUNDS.per_box {
            house.send(&number.to_string()).await;
            most = most.max(house.entries_of("bob", MessageBox::Inbox));
            let shown = house.subjects("bob", MessageBox::Inbox).await;
            assert_eq!(shown.len(), BOUNDS.per_box.min(number + 4));
            assert_eq!(shown[shown.len() - 3..], ["third", "second", "first"], "after {number}");
            assert_eq!(shown[0], number.to_string());
        }
        // It was looked after without any sweep.
        assert!(most > BOUNDS.per_box && most <= 2 * BOUNDS.per_box, "{most}");
        assert!(house.entries_of("ada", MessageBox::Outbox) <= 2 * BOUNDS.per_box);
        let before = house.subjects("bob", MessageBox::Inbox).await;
        house.messages.sweep().await.unwrap();
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await, before);
        assert_eq!(house.entries_of("bob", MessageBox::Inbox), BOUNDS.per_box);
        assert_eq!(house.entries_of("ada", MessageBox::Outbox), BOUNDS.per_box);
        // Each message that is in some box is stored once.
        assert_eq!(house.rows(Table::Messages), house.rows(Table::Copies));
        assert_eq!(house.rows(Table::Messages), BOUNDS.per_box + 3);
    });
}

#[test]
fn the_sender_of_an_entry_that_does_not_name_one_is_that_of_its_message() {
    run(async {
        let house = House::new().await;
        let first = house.send_from("mia", "first").await;
        for number in 0..BOUNDS.per_box {
            house.send(&number.to_string()).await;
        }
        let entries = house.store.scan(
            ReadLevel::Committed,
            Table::Boxes,
            &MessageEntry::range("bob", MessageBox::Inbox),
            100,
            false,
        );
        let older = |(_, row): (bytes::Bytes, bytes::Bytes)| {
            let entry = MessageEntry { sender: SharedText::default(), ..read::<MessageEntry>(&row).unwrap() };
            RowChange::put(&entry)
        };
        let changes: Vec<RowChange> = entries.unwrap().into_iter().map(older).collect();
        assert_eq!(changes.len(), BOUNDS.per_box + 1);
        house.messages.repository.commit(|set| set.changes = changes).await.unwrap();
        house.messages.sweep().await.unwrap();
        assert_eq!(house.entries_of("bob", MessageBox::Inbox), BOUNDS.per_box);
        assert!(house.messages.message(first.number).unwrap().is_some());
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await.last().map(String::as_str), Some("first"));
    });
}

#[test]
fn marking_brings_nothing_back_that_is_removed_at_the_same_time() {
    run(async {
        let house = House::new().await;
        for _ in 0..20 {
            let id = house.send("x").await;
            let (marked, removed) =
                tokio::join!(house.messages.mark("bob", id, true), house.messages.remove("bob", id));
            removed.unwrap();
            assert!(marked.is_ok_and(|entry| entry.read) || house.subjects("bob", MessageBox::Inbox).await.is_empty());
            assert_eq!(house.subjects("bob", MessageBox::Inbox).await, [""; 0]);
        }
        assert!(house.store.health() == stet_domain::store::Health::Ok);
    });
}

/// Regression test: the entry was written again after its removal. Its second removal deleted the
/// message for everyone who had it.
#[test]
fn a_change_whose_caller_has_gone_is_decided_before_the_next_one_looks() {
    run(async {
        let house = House::new().await;
        let id = house.send("kept by ada").await;
        house.abandoned(house.messages.remove("bob", id));
        let mut mark = std::pin::pin!(house.messages.mark("bob", id, true));
        let mut again = std::pin::pin!(house.messages.remove("bob", id));
        assert!(is_pending(&mut mark) && is_pending(&mut again));
        house.store.release();
        assert_eq!(mark.await.unwrap_err().code, Code::ObjectNotFound);
        assert_eq!(again.await.unwrap_err().code, Code::ObjectNotFound);
        assert_eq!((house.rows(Table::Boxes), house.rows(Table::Copies)), (1, 1));
        assert_eq!(house.subjects("ada", MessageBox::Outbox).await, ["kept by ada"]);
        // The sweep takes its turn like everybody.
        house.abandoned(house.messages.remove("ada", id));
        house.clock.advance(DAY * 31);
        let mut sweep = std::pin::pin!(house.messages.sweep());
        assert!(is_pending(&mut sweep));
        house.store.release();
        assert_eq!(sweep.await, Ok(0));
        assert_eq!((house.rows(Table::Boxes), house.rows(Table::Copies), house.rows(Table::Messages)), (0, 0, 0));
    });
}

#[test]
fn a_change_that_is_refused_or_fails_keeps_nobody_waiting() {
    run(async {
        let house = House::new().await;
        let id = house.send("kept").await;
        house.abandoned(house.messages.remove("bob", id));
        house.store.fail_next();
        house.store.release_failing();
        assert!(house.messages.mark("bob", id, true).await.unwrap().read);
        house.store.fail_next();
        assert!(house.messages.remove("bob", id).await.is_err());
        house.messages.remove("bob", id).await.unwrap();
        assert_eq!(house.subjects("ada", MessageBox::Outbox).await, ["kept"]);
        house.store.close();
        for _ in 0..2 {
            assert!(house.messages.remove("ada", id).await.is_err());
        }
    });
}

/// Covers rows that earlier versions could leave.
#[test]
fn an_entry_without_its_message_is_not_counted_and_is_swept() {
    run(async {
        let house = House::new().await;
        let (lost, uncounted) = (house.send("lost").await, house.send("uncounted").await);
        house.send("kept").await;
        let places = [Message::key(lost.number), MessageCopies::key(lost.number), MessageCopies::key(uncounted.number)];
        let gone = |RowPlace { table, key }| RowChange { table, key, value: None };
        house.messages.repository.commit(|set| set.changes = places.map(gone).into()).await.unwrap();
        let numbers = async |user, side| {
            let entries = house.messages.entries(user, side).await.unwrap();
            entries.iter().map(|entry| entry.number == lost.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers("ada", MessageBox::Outbox).await, [false, false]);
        assert_eq!(numbers("bob", MessageBox::Inbox).await, [false, false]);
        assert_eq!(house.messages.sweep().await.unwrap(), 2);
        assert_eq!((house.rows(Table::Boxes), house.rows(Table::Messages)), (4, 2));
    });
}

#[test]
fn users_whose_names_begin_alike_have_boxes_of_their_own() {
    run(async {
        let house = House::new().await;
        house.messages.directory.by(CallerIdentity::operator()).put_user(User::new("bo")).await.unwrap();
        house.send("for bob").await;
        assert_eq!(house.subjects("bo", MessageBox::Inbox).await, [""; 0]);
        assert_eq!(house.subjects("bob", MessageBox::Inbox).await, ["for bob"]);
        assert_eq!(house.subjects("bob", MessageBox::Outbox).await, [""; 0]);
    });
}

/// An admission that counts what it admits.
#[derive(Debug, Clone, Default)]
struct CountingAdmission {
    turns: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
    small_bytes: Arc<AtomicUsize>,
}

impl LargeChangeAdmission for CountingAdmission {
    fn turn(&self, _: bool) -> Pin<Box<dyn Future<Output = Result<LargeChangePermit>> + Send + '_>> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        let permit: LargeChangePermit = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(permit)))
    }

    fn check_small(&self, _: &SharedText) -> Result<()> {
        Ok(())
    }

    fn charge_small(&self, _: &SharedText, bytes: usize) {
        self.small_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl ChangePermit for CountingAdmission {
    fn charge(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A message writes a row for each receiver. One user could fill the memory and the disk by
/// messages to a group of thousands.
#[test]
fn messages_to_many_wait_their_turn_as_large_changes() {
    run(async {
        let mut house = House::new().await;
        house.messages.bounds.recipients = 2 * SMALL;
        let directory = house.messages.directory.by(CallerIdentity::operator());
        let group = UserGroup { name: "all".into(), description: String::new(), privileges: Vec::new() };
        directory.put_group(group).await.unwrap();
        for number in 0..=SMALL {
            let mut user = User::new(&format!("user-{number}"));
            user.groups.push("all".into());
            directory.put_user(user).await.unwrap();
        }
        let admission = CountingAdmission::default();
        for (recipient, turns) in [("bob", 0), ("all", 1)] {
            let recipients = vec![recipient.to_owned()];
            let mail = NewMessage { subject: "News".to_owned(), recipients, ..NewMessage::default() };
            let who = CallerIdentity { user: "ada".into(), session: "s".into(), address: None };
            let large: Option<Arc<dyn LargeChangeAdmission>> = Some(Arc::new(admission.clone()));
            house.messages.send(mail, ChangeRequest { large, ..ChangeRequest::by(who) }).await.unwrap();
            assert_eq!(admission.turns.load(Ordering::Relaxed), turns, "{recipient}");
        }
        assert!(admission.bytes.load(Ordering::Relaxed) > 20 * SMALL);
        assert!((1..20 * SMALL).contains(&admission.small_bytes.load(Ordering::Relaxed)));
    });
}
