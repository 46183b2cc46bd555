//! The sending of messages as mails through an SMTP relay (RFC 5321).
//!
//! # Once, or not at all
//!
//! A mail for the relay is a row, which is written together with the message. The relay is asked
//! for each address whether it accepts it (`RCPT`). Before the relay gets the mail, the row notes
//! that on disk ([`OutgoingMail::sending`]). When the relay confirms the mail, the row is removed.
//! After a crash or a broken connection in between it is unknown whether the relay has the mail.
//! Then it is not sent again, and the log and `stet_mails_total` report that. The message itself is
//! in the receivers' inboxes in any case.
//!
//! Failures before that point are retried with growing intervals, until `smtp.give_up_hours` have
//! passed.

mod mail;
mod queue;
mod smtp;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lettre::Address;
use stet_actors::repository::Repository;
use stet_actors::runtime::store_failure;
use stet_auth::{Directory, Name, User};
use stet_base::limits::yielding::YieldTimer;
use stet_config::SmtpConfig;
use stet_domain::error::Result;
use stet_domain::object::SharedText;
use stet_domain::store::{KeyRange, Row, RowChange, RowCursor, Table, encode_value};
use tokio::sync::{Notify, watch};

use self::queue::MailQueue;
pub use self::queue::MailReservation;
use self::smtp::{Conversation, RelayFault};
use super::read;
use super::rows::{Message, OutgoingMail};

/// The longest interval between two attempts, in milliseconds.
const LONGEST_MS: u64 = 60 * 60 * 1000;

/// The sender of mails to the relay.
pub struct MailRelay {
    smtp: SmtpConfig,
    from: Address,
    repository: Repository,
    directory: Arc<Directory>,
    queue: MailQueue,
    bell: Notify,
}

/// The outcome of a mail for an address; the label `outcome` of `stet_mails_total`.
#[derive(Clone, Copy)]
enum MailOutcome {
    /// The relay has accepted it.
    Sent,
    /// The relay has refused it for good.
    Refused,
    /// An unknown outcome: the relay may have it.
    Uncertain,
    /// The relay has not accepted it in time.
    GivenUp,
    /// The queue was full.
    Dropped,
}

impl MailOutcome {
    fn count(self, addresses: usize) {
        let outcome = match self {
            MailOutcome::Sent => "sent",
            MailOutcome::Refused => "refused",
            MailOutcome::Uncertain => "uncertain",
            MailOutcome::GivenUp => "givenUp",
            MailOutcome::Dropped => "dropped",
        };
        metrics::counter!("stet_mails_total", "outcome" => outcome).increment(addresses as u64);
    }
}

impl MailRelay {
    /// Creates the sender to the relay, if one is configured.
    pub(super) fn configured(
        smtp: &SmtpConfig,
        repository: &Repository,
        directory: &Arc<Directory>,
    ) -> Option<Arc<MailRelay>> {
        if smtp.host.is_empty() {
            return None;
        }
        // A checked configuration has a valid address.
        let from = smtp.from.parse().ok()?;
        let (repository, directory) = (repository.clone(), directory.clone());
        let (smtp, queue, bell) = (smtp.clone(), MailQueue::default(), Notify::new());
        let relay = MailRelay { smtp, from, repository, directory, queue, bell };
        let note = |outgoing: OutgoingMail| {
            let place = Message::key(outgoing.number);
            let message = relay.repository.row::<Message>(place.table, &place.key);
            // A mail without its message is given up when its turn comes.
            let sender = message.ok().flatten().map(|message| message.sender).unwrap_or_default();
            relay.queue.put(outgoing.number, sender, outgoing.next_ms, outgoing.waiting.len() + outgoing.sending.len());
        };
        if let Err(error) = relay.each(note) {
            tracing::error!(%error, "cannot read the mail queue");
        }
        Some(Arc::new(relay))
    }

    /// Returns the addresses of those users that have one, each once.
    pub(super) async fn addresses(&self, users: &BTreeSet<Name>) -> Result<Vec<String>> {
        let (mut addresses, mut timer) = (BTreeSet::new(), YieldTimer::start());
        for name in users {
            timer.yield_if_due().await;
            let user = self.directory.user(name)?;
            addresses.extend(user.as_deref().and_then(address_of).map(|address| address.to_string()));
        }
        Ok(addresses.into_iter().collect())
    }

    /// Reserves room for another mail of this sender to that number of addresses; `None` if the
    /// queue is full.
    pub(super) fn room(&self, sender: &SharedText, addresses: usize) -> Option<MailReservation> {
        let room = self.queue.room(sender, addresses, self.smtp.queue);
        if room.is_none() {
            MailOutcome::Dropped.count(addresses);
            tracing::warn!(%sender, addresses, "the mail queue is full: a message is delivered to inboxes only");
        }
        room
    }

    /// Wakes the sender, because there may be something to send.
    pub(super) fn wake(&self) {
        self.bell.notify_one();
    }

    /// Sends mails to the relay until the other end of `end` is dropped. Completes the current mail
    /// before it returns.
    pub async fn run(self: Arc<Self>, mut end: watch::Receiver<()>) {
        if let Err(error) = self.recover().await {
            tracing::error!(%error, "cannot read the mails that were being sent when the server stopped");
        }
        let mut failures = 0;
        loop {
            let now_ms = self.repository.clock().now_ms();
            let wait_ms = match self.pass(now_ms, &end).await {
                Ok(next_ms) => {
                    failures = 0;
                    next_ms.map_or(LONGEST_MS, |next_ms| next_ms.saturating_sub(now_ms))
                }
                Err(why) => {
                    failures += 1;
                    let wait_ms = self.later_ms(failures);
                    tracing::warn!(%why, again_in_s = wait_ms / 1000, "cannot use the mail relay");
                    wait_ms
                }
            };
            // New mails are no reason to retry a failing relay.
            let bell = async {
                self.bell.notified().await;
                if failures > 0 {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                _ = end.changed() => return,
                () = bell => {}
                () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
            }
        }
    }

    /// Gives up mails that were being sent when the server ended: the relay may have them.
    async fn recover(&self) -> Result<()> {
        let mut uncertain = Vec::new();
        self.each(|outgoing| uncertain.extend(Some(outgoing).filter(|it| !it.sending.is_empty())))?;
        for outgoing in uncertain {
            self.give_up_sending(outgoing, "the server stopped while it was being sent").await?;
        }
        Ok(())
    }

    /// Gives up a mail that was being sent: the relay may have it, and nobody should get it twice.
    async fn give_up_sending(&self, mut outgoing: OutgoingMail, why: &str) -> Result<()> {
        let addresses = std::mem::take(&mut outgoing.sending);
        report_outcome(outgoing.number, MailOutcome::Uncertain, &addresses, why);
        self.save(&outgoing).await
    }

    /// Calls `note` for the rows of all waiting mails.
    fn each(&self, mut note: impl FnMut(OutgoingMail)) -> Result<()> {
        let mut cursor = RowCursor::over(Table::Outgoing, KeyRange::prefix(&[]));
        while let Some(rows) = cursor.batch(self.repository.look()).map_err(|error| store_failure(&error))? {
            for (_, row) in &rows {
                note(read::<OutgoingMail>(row)?);
            }
        }
        Ok(())
    }

    /// Sends all mails that are due. Returns the time of the next one, in epoch milliseconds.
    async fn pass(&self, now_ms: u64, end: &watch::Receiver<()>) -> std::result::Result<Option<u64>, RelayFault> {
        let outcome = self.send_all(now_ms, end).await;
        metrics::gauge!("stet_mails_waiting").set(self.queue.len() as f64);
        outcome
    }

    async fn send_all(&self, now_ms: u64, end: &watch::Receiver<()>) -> std::result::Result<Option<u64>, RelayFault> {
        let mut conversation = None;
        let next_ms = loop {
            // The channel carries no values, and is closed at the end.
            let is_over = end.has_changed().is_err();
            let Some((next_ms, number)) = self.queue.next() else { break None };
            if next_ms > now_ms || is_over {
                break Some(next_ms);
            }
            let (due, place) = (OutgoingMail::key(number), Message::key(number));
            let outgoing: Option<OutgoingMail> = self.repository.row(due.table, &due.key)?;
            let Some(mut outgoing) = outgoing else {
                self.queue.remove(number);
                continue;
            };
            // The mail was sent, but the result could not be written: only this function sends
            // mails.
            if !outgoing.sending.is_empty() {
                self.give_up_sending(outgoing, "its outcome could not be stored").await?;
                continue;
            }
            let given_up_ms = outgoing.sent_ms.saturating_add(self.smtp.give_up_hours * 60 * 60 * 1000);
            if self.repository.ends().now().is_some_and(|now| now.ms() >= given_up_ms) {
                let addresses = std::mem::take(&mut outgoing.waiting);
                report_outcome(
                    outgoing.number,
                    MailOutcome::GivenUp,
                    &addresses,
                    "the relay did not accept it in time",
                );
                self.save(&outgoing).await?;
                continue;
            }
            let Some(message) = self.repository.row::<Message>(place.table, &place.key)? else {
                outgoing.waiting.clear();
                self.save(&outgoing).await?;
                continue;
            };
            let before = outgoing.waiting.len();
            conversation = self.send(conversation.take(), &mut outgoing, &message).await?;
            if outgoing.waiting.len() < before {
                // The remaining addresses are tried at once: a relay limits the addresses of a
                // mail, and the number of wrong ones.
                outgoing.tries = 0;
                outgoing.next_ms = now_ms;
            } else {
                outgoing.tries += 1;
                outgoing.next_ms = now_ms + self.later_ms(outgoing.tries);
            }
            self.save(&outgoing).await?;
        };
        if let Some(conversation) = conversation {
            conversation.end().await;
        }
        Ok(next_ms)
    }

    /// Begins a mail in the current conversation, or in a new one if there is none or it has ended.
    async fn begun(&self, talking: Option<Conversation>) -> std::result::Result<Conversation, RelayFault> {
        if let Some(mut talking) = talking
            && talking.from(&self.from).await.is_ok()
        {
            return Ok(talking);
        }
        // A relay may end a conversation after a number of mails.
        let mut talking = Conversation::begin(&self.smtp).await?;
        talking.from(&self.from).await?;
        Ok(talking)
    }

    /// Sends a mail to the relay. The remaining addresses in `waiting` are to be retried. Returns
    /// the conversation, if it can continue.
    ///
    /// # Errors
    /// [`RelayFault::Broken`] if no mail can be begun; then the mail is unchanged. Errors of the
    /// store.
    async fn send(
        &self,
        talking: Option<Conversation>,
        outgoing: &mut OutgoingMail,
        message: &Message,
    ) -> std::result::Result<Option<Conversation>, RelayFault> {
        let sender = self.directory.user(&message.sender)?;
        let bytes = mail::build_mail(message, &self.from, sender.as_deref(), &outgoing.waiting);
        let mut talking = self.begun(talking).await?;
        let (mut taken, mut left, mut asked) = (Vec::new(), Vec::new(), outgoing.waiting.drain(..));
        let mut broken = None;
        for address in asked.by_ref() {
            // Only valid addresses are stored in the row.
            let Ok(parsed) = address.parse() else { continue };
            match talking.to(parsed).await {
                Ok(()) => taken.push(address),
                Err(RelayFault::Refused(why)) => report_outcome(message.number, MailOutcome::Refused, &[address], &why),
                Err(RelayFault::Later(_)) => left.push(address),
                Err(fault) => {
                    left.push(address);
                    broken = Some(fault);
                    break;
                }
            }
        }
        left.extend(asked);
        outgoing.waiting = left;
        if let Some(why) = broken {
            // Some relays end a conversation with too many wrong addresses. No part of the mail had
            // been sent.
            tracing::info!(message = %message.id(), %why, "the connection to the relay broke before a mail was sent");
            outgoing.waiting.extend(taken);
            return Ok(None);
        }
        if taken.is_empty() {
            return Ok(talking.forget().await.is_ok().then_some(talking));
        }
        outgoing.sending = taken;
        self.save(outgoing).await?;
        let given = talking.give(&bytes).await;
        let taken = std::mem::take(&mut outgoing.sending);
        match given {
            Ok(()) => {
                report_outcome(outgoing.number, MailOutcome::Sent, &taken, "");
                Ok(Some(talking))
            }
            Err(RelayFault::Refused(why)) => {
                report_outcome(outgoing.number, MailOutcome::Refused, &taken, &why);
                Ok(Some(talking))
            }
            Err(RelayFault::Later(why)) => {
                tracing::info!(message = %message.id(), why, "the relay deferred a mail");
                outgoing.waiting.extend(taken);
                Ok(Some(talking))
            }
            // No part of the mail had been sent.
            Err(RelayFault::Broken(why)) => {
                tracing::info!(message = %message.id(), why, "the connection to the relay broke before a mail was sent");
                outgoing.waiting.extend(taken);
                Ok(None)
            }
            Err(RelayFault::Uncertain(why)) => {
                report_outcome(outgoing.number, MailOutcome::Uncertain, &taken, &why);
                Ok(None)
            }
        }
    }

    /// Returns the milliseconds to wait after that number of failures.
    fn later_ms(&self, failures: u32) -> u64 {
        (self.smtp.retry_seconds * 1000).saturating_mul(1 << failures.saturating_sub(1).min(20)).min(LONGEST_MS)
    }

    async fn save(&self, outgoing: &OutgoingMail) -> Result<()> {
        let place = outgoing.place();
        let stays = !outgoing.waiting.is_empty() || !outgoing.sending.is_empty();
        let value = stays.then(|| encode_value(OutgoingMail::FORMAT, outgoing));
        let change = RowChange { table: place.table, key: place.key, value };
        self.repository.commit(|set| set.changes = vec![change]).await?;
        match stays {
            true => {
                let addresses = outgoing.waiting.len() + outgoing.sending.len();
                self.queue.again(outgoing.number, outgoing.next_ms, addresses);
            }
            false => self.queue.remove(outgoing.number),
        }
        Ok(())
    }
}

/// Logs and counts the outcome of a mail. Addresses do not belong in the log.
fn report_outcome(number: u64, outcome: MailOutcome, addresses: &[String], why: &str) {
    outcome.count(addresses.len());
    let (message, addresses) = (super::id_of(number), addresses.len());
    match outcome {
        MailOutcome::Sent => tracing::info!(%message, addresses, "mail sent"),
        MailOutcome::Refused => tracing::warn!(%message, addresses, why, "the relay refused a mail"),
        MailOutcome::Uncertain => tracing::warn!(%message, addresses, why, "unknown whether a mail was accepted"),
        MailOutcome::GivenUp => tracing::warn!(%message, addresses, why, "gave up on a mail"),
        MailOutcome::Dropped => {}
    }
}

/// Returns the address of a user: the one at work, or else the one at home. Addresses with
/// non-ASCII characters are ignored, because most relays can't handle them.
fn address_of(user: &User) -> Option<Address> {
    let given = [&user.business_email, &user.home_email].into_iter().flatten();
    given.filter(|text| text.is_ascii()).find_map(|text| text.trim().parse().ok())
}

/// Returns the first line of a file.
async fn first_line(path: &Path) -> std::io::Result<String> {
    let text = tokio::fs::read_to_string(path).await?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::messages::tests::{DAY, House, run};

    /// Returns a configuration with an unused port, and room for three mails of a sender.
    fn smtp() -> SmtpConfig {
        SmtpConfig {
            host: "127.0.0.1".to_owned(),
            port: 1,
            from: "newsroom@example.org".to_owned(),
            queue: 12,
            ..SmtpConfig::default()
        }
    }

    async fn house() -> (House, Arc<MailRelay>) {
        let house = House::with(&smtp()).await;
        let relay = house.messages.relay().expect("one is configured").clone();
        (house, relay)
    }

    #[test]
    fn mails_that_the_relay_does_not_accept_for_too_long_are_dropped() {
        run(async {
            let (house, relay) = house().await;
            let (_open, end) = watch::channel(());
            house.send("old").await;
            let pass = async || relay.pass(relay.repository.clock().now_ms(), &end).await;
            assert!(matches!(pass().await, Err(RelayFault::Broken(_))), "nobody listens");
            assert_eq!(house.rows(Table::Outgoing), 1, "it waits");
            house.clock.advance(DAY * 3);
            assert!(matches!(pass().await, Ok(None)));
            assert_eq!(house.rows(Table::Outgoing), 0);
            assert_eq!((house.rows(Table::Messages), house.rows(Table::Boxes)), (1, 2), "the message stays");
        });
    }

    /// Regression test: such a mail was retried without end, and no other was sent.
    #[test]
    fn interrupted_mails_that_cannot_be_saved_are_dropped_and_others_continue() {
        run(async {
            let (house, relay) = house().await;
            let (_open, end) = watch::channel(());
            house.send("old").await;
            let (_, number) = relay.queue.next().expect("it waits");
            let place = OutgoingMail::key(number);
            let row = relay.repository.row::<OutgoingMail>(place.table, &place.key).expect("it can be read");
            let mut outgoing = row.expect("it is there");
            outgoing.sending = std::mem::take(&mut outgoing.waiting);
            relay.save(&outgoing).await.expect("it can be saved");
            house.send("other").await;
            house.clock.advance(DAY * 3);
            assert!(matches!(relay.pass(relay.repository.clock().now_ms(), &end).await, Ok(None)));
            assert_eq!((house.rows(Table::Outgoing), relay.queue.len()), (0, 0));
        });
    }

    #[test]
    fn waiting_mails_are_limited_across_concurrent_sends_and_restarts() {
        run(async {
            let (house, relay) = house().await;
            let (_open, end) = watch::channel(());
            let sender = SharedText::from("ada");
            // All at once, and during passes.
            let pass = async {
                for _ in 0..5 {
                    // Nothing listens on the port.
                    let _ = relay.pass(relay.repository.clock().now_ms(), &end).await;
                }
            };
            tokio::join!(house.send("1"), pass, house.send("2"), house.send("3"), house.send("4"), house.send("5"));
            assert_eq!((house.rows(Table::Outgoing), house.rows(Table::Messages)), (3, 5));
            // Another server on the same directory finds the waiting mails.
            let again = MailRelay::configured(&smtp(), &relay.repository, &relay.directory).expect("one is configured");
            assert!(again.room(&sender, 1).is_none());
            // Unused reservations, and the room of removed mails, are available again.
            house.clock.advance(DAY * 3);
            assert!(matches!(relay.pass(relay.repository.clock().now_ms(), &end).await, Ok(None)));
            let rooms = [(); 4].map(|()| relay.room(&sender, 1));
            assert_eq!(rooms.map(|room| room.is_some()), [true, true, true, false]);
            assert!(relay.room(&sender, 1).is_some());
        });
    }

    /// Regression test: such a mail waited for the next message, or for an hour, and the boxes grew
    /// uncounted.
    #[test]
    fn a_mail_whose_sender_has_gone_away_goes_out_as_any() {
        run(async {
            let (house, relay) = house().await;
            house.abandoned(house.send("of one who has gone"));
            let rung = || relay.bell.notified().now_or_never().is_some();
            assert!(!rung());
            house.store.release();
            assert!(rung());
            assert_eq!((relay.queue.len(), house.rows(Table::Outgoing)), (1, 1));
            assert!(house.sent_bytes() > 0);
        });
    }

    #[test]
    fn waiting_grows_and_ends() {
        run(async {
            let (_, relay) = house().await;
            let waits: Vec<u64> = (1..12).map(|failures| relay.later_ms(failures) / 1000).collect();
            assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]);
            assert_eq!(relay.later_ms(u32::MAX), LONGEST_MS);
        });
    }
}
