//! Messages between users (docs/api/messages.md).

pub mod routes;

use std::cmp::Ordering;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::StrDeserializer;
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use stet_auth::Privilege;
use stet_base::json::{ReadyJson, ReplyList};
use stet_base::limits::yielding::{self, YieldTimer};
use stet_domain::error::{Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::SharedText;
use stet_endpoint::records::{readable, record_of};
use stet_endpoint::requests::{DatabaseRef, SourceList, database_named};
use stet_newsroom::messages::{Message, MessageBox, MessageEntry, NewMessage, Priority};
use stet_newsroom::records::{Display, ObjectRecord, in_order, parse_sort};
use stet_web::call::Call;
use stet_web::listing::{Listing, ListingEntries, ListingSource, NestedItem, NoItem};
use stet_web::pieces::no_room;
use stet_web::reply::Json;

/// Body of a message to send.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MailRequest {
    /// Subject; one line.
    subject: Option<String>,
    /// Text of the message, without mark-up.
    body: Option<String>,
    /// Names of users and groups; a name that both have is taken as the user's.
    #[schemars(with = "Option<Vec<String>>")]
    recipients: Option<SourceList>,
    /// Priority: `low`, `normal` or `high`; or a number from 1, the highest, to 5.
    priority: Option<GivenPriority>,
    /// Loids, uuids or paths of objects that the sender may read.
    #[schemars(with = "Option<Vec<String>>")]
    attachments: Option<SourceList>,
    /// Database of the attachments' paths; the main one by default.
    database_id: Option<DatabaseRef>,
}

/// A priority as a client names it.
struct GivenPriority(Priority);

impl<'de> Deserialize<'de> for GivenPriority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrNumber;

        impl Visitor<'_> for NameOrNumber {
            type Value = GivenPriority;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`low`, `normal`, `high` or a number from 1 to 5")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<GivenPriority, E> {
                match number {
                    1 | 2 => Ok(GivenPriority(Priority::High)),
                    3 => Ok(GivenPriority(Priority::Normal)),
                    4 | 5 => Ok(GivenPriority(Priority::Low)),
                    other => Err(E::invalid_value(Unexpected::Unsigned(other), &"a number from 1 to 5")),
                }
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GivenPriority, E> {
                if let Ok(number) = text.parse() {
                    return self.visit_u64(number);
                }
                let name = Priority::deserialize(StrDeserializer::<E>::new(text));
                name.map(GivenPriority).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(NameOrNumber)
    }
}

impl JsonSchema for GivenPriority {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GivenPriority".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Priority of a message; 1 is the highest.",
            "oneOf": [
                { "type": "string", "enum": ["low", "normal", "high"] },
                { "type": "integer", "minimum": 1, "maximum": 5 }
            ]
        })
    }
}

/// A message as its sender or a recipient sees it.
#[derive(Serialize, JsonSchema)]
pub struct MessageView {
    /// Id of the message.
    #[schemars(with = "Loid")]
    id: String,
    /// Subject; one line.
    subject: String,
    /// Text of the message, without mark-up.
    body: String,
    /// Name of the user who sent it.
    sender: String,
    /// Names of the users and groups to whom it was sent.
    recipients: Vec<String>,
    /// Time of sending, in epoch seconds.
    sent: u64,
    /// Whether the caller has read it; true for messages that the caller sent.
    read: bool,
    /// Priority of the message.
    priority: Priority,
    /// The attached objects that still exist and that the caller may read.
    attachments: ReplyList<ReadyJson<ObjectRecord>>,
}

/// Messages of an inbox or outbox.
#[derive(Serialize, JsonSchema)]
pub struct MessageList {
    /// The messages of the page.
    items: ReplyList<MessageView>,
    /// Total number of messages.
    total: usize,
    /// Number of messages that the caller has not read.
    unread: usize,
}

/// The state of a message after the call.
#[derive(Serialize, JsonSchema)]
pub struct MessageState {
    /// Id of the message.
    #[schemars(with = "Loid")]
    id: String,
    /// Whether the caller has read it.
    read: bool,
}

/// A message that was removed from the caller's inbox and outbox.
#[derive(Serialize, JsonSchema)]
pub struct MessageGone {
    /// Id of the message, which others may still have.
    #[schemars(with = "Loid")]
    id: String,
}

/// `GET /v3/message/inbox`
pub async fn inbox(call: Call) -> Result<Json<MessageList>> {
    listing(call, MessageBox::Inbox).await
}

/// `GET /v3/message/outbox`
pub async fn outbox(call: Call) -> Result<Json<MessageList>> {
    listing(call, MessageBox::Outbox).await
}

/// `POST /v3/message/sendmail`
pub async fn send_mail(call: Call) -> Result<Json<MessageView>> {
    owner(&call, Privilege::Create)?;
    let request: MailRequest = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let display = call.display_of_body().await?;
    let mut attachments = Vec::new();
    let mut timer = YieldTimer::start();
    for source in request.attachments.unwrap_or_default().read_field(&call.app, "attachments")? {
        timer.yield_if_due().await;
        attachments.push(call.find(&ObjectSource::parse("attachments", &source)?, database)?.loid);
    }
    let mail = NewMessage {
        subject: request.subject.unwrap_or_default(),
        body: request.body.unwrap_or_default(),
        recipients: request.recipients.unwrap_or_default().read_field(&call.app, "recipients")?,
        priority: request.priority.map(|GivenPriority(priority)| priority).unwrap_or_default(),
        attachments,
    };
    let message = call.send(mail).await?;
    let entry = MessageEntry {
        user: message.sender.clone(),
        side: MessageBox::Outbox,
        number: message.number,
        sent_ms: message.sent_ms,
        read: true,
        sender: message.sender.clone(),
    };
    let attached = attachments_of(&message, display);
    let listing = Listing::of(&call, attached, |attachments, _| view(message, &entry, attachments)).await?;
    Ok(listing.answer(call))
}

/// Returns the user whose messages the call is about. A key acts for its user. But messages lie in
/// no folder, so the key needs the privilege everywhere.
fn owner(call: &Call, privilege: Privilege) -> Result<&SharedText> {
    call.access().check_people(privilege)?;
    call.user()
}

/// `PUT /v3/message/{message}/read`
pub async fn mark_read(call: Call) -> Result<Json<MessageState>> {
    let id = id(&call)?;
    let entry = call.app.messages.mark(owner(&call, Privilege::Write)?, id, true).await?;
    Json::of(&MessageState { id: id.to_string(), read: entry.read })
}

/// `DELETE /v3/message/{message}`
pub async fn remove(call: Call) -> Result<Json<MessageGone>> {
    let id = id(&call)?;
    call.app.messages.remove(owner(&call, Privilege::Delete)?, id).await?;
    Json::of(&MessageGone { id: id.to_string() })
}

/// Returns the message that is named in the call's path.
fn id(call: &Call) -> Result<Loid> {
    let given = call.param("message");
    given.parse().map_err(|_| Error::not_found(given))
}

/// Lists the attachments of a message: the objects that exist and that the caller may read.
fn attachments_of(
    message: &Message,
    display: Display,
) -> impl ListingSource<Item = ReadyJson<ObjectRecord>, Failed = NoItem, Fault = Error> + use<> {
    let loids: Vec<Loid> = message.attachments.iter().filter_map(|loid| loid.parse().ok()).collect();
    ListingEntries::of(loids, async move |call: &Call, loid: &Loid, _| -> Result<_> {
        match readable(call, *loid)? {
            Some(cached) => record_of(&call.app, &cached, &display).await.map(Some),
            None => Ok(None),
        }
    })
}

fn view(message: Message, entry: &MessageEntry, attachments: ReplyList<ReadyJson<ObjectRecord>>) -> MessageView {
    MessageView {
        id: message.id().to_string(),
        subject: message.subject,
        body: message.body,
        sender: message.sender.to_string(),
        recipients: message.recipients.iter().map(ToString::to_string).collect(),
        sent: message.sent_ms / 1000,
        read: entry.read,
        priority: message.priority,
        attachments,
    }
}

/// The fields by which messages can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageSortField {
    Id,
    Subject,
    Sender,
    Sent,
    Read,
    Priority,
}

impl MessageSortField {
    const ALL: &'static [(&'static str, MessageSortField)] = &[
        ("id", MessageSortField::Id),
        ("subject", MessageSortField::Subject),
        ("sender", MessageSortField::Sender),
        ("sent", MessageSortField::Sent),
        ("read", MessageSortField::Read),
        ("priority", MessageSortField::Priority),
    ];

    /// Reports whether the field is in the entry, so that the message need not be read.
    fn is_of_entry(self) -> bool {
        matches!(self, MessageSortField::Id | MessageSortField::Sent | MessageSortField::Read)
    }
}

/// The sort keys that are in the message, and not in its entry.
#[derive(Default)]
struct MessageSortKeys {
    subject: String,
    sender: String,
    priority: Priority,
}

async fn listing(call: Call, side: MessageBox) -> Result<Json<MessageList>> {
    let sort = parse_sort(call.query.text("sortBy"), MessageSortField::ALL)?;
    let entries = call.app.messages.entries(owner(&call, Privilege::Read)?, side).await?;
    let (total, unread) = (entries.len(), entries.iter().filter(|entry| !entry.read).count());
    let entries = call.query.page().cut(sorted(&call, entries, &sort).await?);
    let display = call.display();
    let render = async move |call: &Call, entry: &MessageEntry, _| -> Result<_> {
        // The message may have expired since the entries were read.
        let Some(message) = call.app.messages.message(entry.number)? else { return Ok(None) };
        let attached = attachments_of(&message, display.clone());
        Ok(Some(NestedItem::open(attached, |attachments| view(message, entry, attachments))))
    };
    let listing = Listing::each(&call, entries, render, |items, _| MessageList { items, total, unread }).await?;
    Ok(listing.answer(call))
}

async fn sorted(
    call: &Call,
    entries: Vec<MessageEntry>,
    sort: &[(MessageSortField, bool)],
) -> Result<Vec<MessageEntry>> {
    if sort.is_empty() {
        return Ok(entries);
    }
    // Only the sort keys are held, and no texts. They are charged to the replies that wait for
    // clients.
    let (memory, mut bytes) = (call.reply_memory(), 0);
    let (mut keyed, mut timer) = (Vec::with_capacity(entries.len()), YieldTimer::start());
    let with_heads = sort.iter().any(|(field, _)| !field.is_of_entry());
    for entry in entries {
        timer.yield_if_due().await;
        let mut head = MessageSortKeys::default();
        if with_heads && let Some(message) = call.app.messages.message(entry.number)? {
            head = MessageSortKeys {
                subject: message.subject,
                sender: message.sender.to_string(),
                priority: message.priority,
            };
        }
        bytes += size_of::<(MessageEntry, MessageSortKeys)>() + head.subject.len() + head.sender.len();
        keyed.push((entry, head));
    }
    if !memory.try_grow_to(bytes as u64) {
        return Err(no_room());
    }
    let compare = |(one, of_one): &(MessageEntry, MessageSortKeys),
                   (other, of_other): &(MessageEntry, MessageSortKeys)| {
        in_order(sort, |field| match field {
            MessageSortField::Id => one.number.cmp(&other.number),
            MessageSortField::Subject => of_one.subject.cmp(&of_other.subject),
            MessageSortField::Sender => of_one.sender.cmp(&of_other.sender),
            MessageSortField::Sent => one.sent_ms.cmp(&other.sent_ms),
            MessageSortField::Read => one.read.cmp(&other.read),
            MessageSortField::Priority => of_one.priority.cmp(&of_other.priority),
        })
    };
    let sorted = yielding::sort_yielding(keyed, |one, other| -> Ordering { compare(one, other) }).await;
    Ok(sorted.into_iter().map(|(entry, _)| entry).collect())
}
