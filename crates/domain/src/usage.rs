//! Usage tickets: the record of an object's uses (docs/api/objects.md, "Usage tickets").

use std::sync::Arc;

use crate::id::ObjectUuid;
use crate::object::Object;

/// A use of an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectUse<'a> {
    /// The kind of use: `correlate` or `channelCopy`.
    pub kind: &'static str,
    /// The name of the link at the object, or of the channel.
    pub name: &'a str,
    /// The object that uses it.
    pub by: ObjectUuid,
    /// The name of the user.
    pub user: &'a str,
    /// The time of the use, in epoch seconds.
    pub at: u64,
}

/// A function that adds a use to an object's usage tickets; `None` if they stay as they are. This
/// crate does not know their format.
pub type TicketWriter = fn(Option<&str>, &ObjectUse<'_>) -> Option<String>;

/// Adds a use to the tickets of an object that is being changed.
pub fn note_use(object: &mut Object, one: &ObjectUse<'_>, ticket: TicketWriter) {
    if let Some(tickets) = ticket(object.attributes.usage_tickets.as_deref(), one) {
        Arc::make_mut(&mut object.attributes).usage_tickets = Some(tickets.into());
    }
}
