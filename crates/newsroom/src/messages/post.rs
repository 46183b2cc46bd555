//! Sending a message.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stet_actors::repository::StandaloneChange;
use stet_actors::runtime::ChangeRequest;
use stet_auth::Name;
use stet_base::limits::as_server;
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::command::SMALL;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_domain::store::RowChange;

use super::relay::MailReservation;
use super::rows::{Message, MessageBox, MessageCopies, MessageEntry, OutgoingMail, Priority};
use super::{Messages, id_of};

/// The longest subject in bytes: a line of a mail (RFC 5322, 2.1.1) with room for the header's
/// name.
pub const MAX_SUBJECT_BYTES: usize = 900;

/// The largest number of unknown names in an error.
const MOST_UNKNOWN: usize = 20;

/// A message to be sent.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// One line.
    pub subject: String,
    /// Plain text.
    pub body: String,
    /// The names of users and groups. A name that is both is the user's.
    pub recipients: Vec<String>,
    /// The priority.
    pub priority: Priority,
    /// The objects to attach, which the sender may read.
    pub attachments: Vec<stet_domain::id::Loid>,
}

/// The name of the action in the audit trail, and of its receipt.
const SEND: &str = "message.send";

/// The outcome that is kept under an `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct SendReceipt {
    number: u64,
    /// The approximate size on disk. It is counted when the message is written, not when this is
    /// read.
    bytes: u64,
}

impl Messages {
    /// Sends a message to all of its recipients, or to none.
    ///
    /// # Errors
    /// `InvalidBody` for an invalid message; `ObjectNotFound` for unknown recipients; `TooLarge`
    /// for too many of them or too long a text; `Overloaded`; errors of the store.
    pub async fn send(&self, mail: NewMessage, request: ChangeRequest) -> Result<Message> {
        let who = request.who.clone();
        let sent: SendReceipt =
            self.repository.note(SEND, &request, async || self.rows_of(mail, &who.user, &request).await).await?;
        // This call has written it, and nothing removes it so soon.
        self.message(sent.number)?.ok_or_else(|| Error::not_found(id_of(sent.number)))
    }

    async fn rows_of(
        &self,
        mail: NewMessage,
        sender: &SharedText,
        request: &ChangeRequest,
    ) -> Result<StandaloneChange<SendReceipt>> {
        self.check(&mail)?;
        let (recipients, receivers) = self.receivers(&mail.recipients).await?;
        // Each receiver gets a row, so a message to many is a large change.
        let permit = match &request.large {
            Some(large) if receivers.len() > SMALL => Some(large.turn(false).await?),
            _ => None,
        };
        self.make_room(sender, &receivers).await?;
        let (number, sent_ms) = (self.repository.next_number()?, self.repository.clock().now_ms());
        let message = Message {
            number,
            subject: mail.subject,
            body: mail.body,
            sender: sender.clone(),
            recipients,
            sent_ms,
            priority: mail.priority,
            attachments: mail.attachments.iter().map(|loid| loid.to_string().into()).collect(),
        };
        let mut changes = vec![RowChange::put(&message)];
        let entry = |user: SharedText, side, read| {
            RowChange::put(&MessageEntry { user, side, number, sent_ms, read, sender: sender.clone() })
        };
        changes.push(entry(sender.clone(), MessageBox::Outbox, true));
        let mut timer = YieldTimer::start();
        for name in &receivers {
            timer.yield_if_due().await;
            changes.push(entry(name.text().clone(), MessageBox::Inbox, false));
        }
        changes.push(RowChange::put(&MessageCopies { number, count: receivers.len() as u32 + 1 }));
        let size = |change: &RowChange| change.key.len() + change.value.as_ref().map_or(0, Bytes::len);
        let bytes = changes.iter().map(size).sum::<usize>() as u64;
        let outgoing = self.outgoing(&receivers, (number, sender), sent_ms).await?;
        let room = outgoing.map(|(outgoing, room)| {
            changes.push(RowChange::put(&outgoing));
            room
        });
        request.charge(permit.as_ref(), bytes as usize);
        let (relay, sent_bytes) = (self.relay.clone(), self.sent_bytes.clone());
        // It is counted even if the sender disconnects before it is on disk.
        let on_commit = Box::new(move || {
            sent_bytes.fetch_add(bytes, Ordering::Relaxed);
            if let Some(room) = room {
                room.taken_by(number, sent_ms);
            }
            if let Some(relay) = relay {
                relay.wake();
            }
        });
        let sent = SendReceipt { number, bytes };
        let deeds = vec![(SEND, vec![id_of(number).to_string()])];
        Ok(StandaloneChange { reply: sent, changes, deeds, on_commit, held: Box::new(permit) })
    }

    /// Counts one more entry in each box that gets the message. A box is trimmed first if it got as
    /// many entries as it keeps since the last time. So no box has more than twice that number,
    /// plus one for each call under way.
    async fn make_room(&self, sender: &SharedText, receivers: &BTreeSet<Name>) -> Result<()> {
        let inboxes = receivers.iter().map(|name| (name.text(), MessageBox::Inbox));
        for (user, side) in inboxes.chain([(sender, MessageBox::Outbox)]) {
            let place = (user.clone(), side);
            if self.added.lock().get(&place).is_some_and(|added| *added >= self.bounds.per_box) {
                // All changes of entries wait for it.
                as_server(self.trim(user, side, 0)).await?;
            }
            *self.added.lock().entry(place).or_default() += 1;
        }
        Ok(())
    }

    /// Builds the row for the mail relay, with a reservation in its queue. `None` if there is no
    /// relay, no receiver has an address, or the queue is full.
    async fn outgoing(
        &self,
        to: &BTreeSet<Name>,
        (number, sender): (u64, &SharedText),
        sent_ms: u64,
    ) -> Result<Option<(OutgoingMail, MailReservation)>> {
        let Some(relay) = &self.relay else { return Ok(None) };
        let waiting = relay.addresses(to).await?;
        if waiting.is_empty() {
            return Ok(None);
        }
        let room = relay.room(sender, waiting.len());
        let outgoing = OutgoingMail { number, waiting, sending: Vec::new(), tries: 0, next_ms: sent_ms, sent_ms };
        Ok(room.map(|room| (outgoing, room)))
    }

    fn check(&self, mail: &NewMessage) -> Result<()> {
        let wrong = |field: &str, what: &str| {
            let message = format!("The body is invalid at `$.{field}`: {what}.");
            Error::new(Code::InvalidBody, message).with_detail("path", format!("$.{field}"))
        };
        let large = |field: &str, most: usize| {
            Error::new(Code::TooLarge, format!("`{field}` may have at most {}.", count_with_noun(most, "byte")))
                .with_detail("limit", most)
        };
        if mail.recipients.is_empty() {
            return Err(wrong("recipients", "at least one user or group must be named"));
        }
        if mail.subject.is_empty() && mail.body.is_empty() && mail.attachments.is_empty() {
            return Err(wrong("subject", "the message must have a subject, a body or an attachment"));
        }
        if mail.subject.chars().any(char::is_control) {
            return Err(wrong("subject", "it must be one line without control characters"));
        }
        if mail.body.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(wrong("body", "it must have no control characters except line ends and tabs"));
        }
        if mail.subject.len() > MAX_SUBJECT_BYTES {
            return Err(large("subject", MAX_SUBJECT_BYTES));
        }
        if mail.body.len() > self.bounds.body_bytes {
            return Err(large("body", self.bounds.body_bytes));
        }
        if mail.attachments.len() > self.bounds.attachments {
            let most = self.bounds.attachments;
            let message = format!("A message may have at most {}.", count_with_noun(most, "attachment"));
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", most));
        }
        Ok(())
    }

    /// Returns the recipients' names as in the directory, and all users who receive the message.
    async fn receivers(&self, names: &[String]) -> Result<(Vec<SharedText>, BTreeSet<Name>)> {
        let most = self.bounds.recipients;
        let too_many = || {
            let message = format!("A message may be sent to at most {}.", count_with_noun(most, "user"));
            Error::new(Code::TooLarge, message).with_detail("limit", most)
        };
        if names.len() > most {
            return Err(too_many());
        }
        let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
        let (mut recipients, mut named, mut unknown) = (Vec::<SharedText>::new(), HashSet::new(), Vec::new());
        let mut timer = YieldTimer::start();
        for name in names {
            timer.yield_if_due().await;
            let known = if let Some(user) = self.directory.user(name)? {
                users.insert(user.name.clone());
                user.name.text().clone()
            } else if let Some(group) = self.directory.group(name)? {
                let text = group.name.text().clone();
                groups.insert(group.name);
                text
            } else {
                // As many as help the sender to correct the message.
                if unknown.len() < MOST_UNKNOWN {
                    unknown.push(name.as_str());
                }
                continue;
            };
            if named.insert(known.clone()) {
                recipients.push(known);
            }
        }
        if let Some(first) = unknown.first() {
            let message = format!("There is no user or group `{}`.", unknown.join("`, `"));
            return Err(Error::new(Code::ObjectNotFound, message).with_source(first).with_detail("unknown", unknown));
        }
        if !groups.is_empty() {
            let directory = self.directory.clone();
            // There may be any number of users.
            let members = offload::offload(move || directory.users()).await??.into_iter();
            users.extend(members.filter(|user| user.groups.iter().any(|it| groups.contains(it))).map(|user| user.name));
        }
        if users.len() > most {
            return Err(too_many());
        }
        if users.is_empty() {
            let message = "The message would have no recipients, because the groups have no members.";
            return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$.recipients"));
        }
        Ok((recipients, users))
    }
}
