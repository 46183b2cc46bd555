//! Usage tickets: what an object has been used for (docs/api/objects.md, "Usage tickets").

use std::sync::Arc;

use crate::id::ObjectUuid;
use crate::object::Object;

/// A use of an object.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// What for: `correlate` or `channelCopy`.
    pub kind: &'static str,
    /// What the link is called at the object, or the channel.
    pub name: &'a str,
    /// What uses it.
    pub by: ObjectUuid,
    /// Name of the user.
    pub user: &'a str,
    /// Epoch seconds.
    pub at: u64,
}

/// Gives the usage tickets of an object with one for a use; `None` where they stay as they are.
/// What they are written in is none of this crate's business.
pub type Ticket = fn(Option<&str>, &Use<'_>) -> Option<String>;

/// Notes a use of an object that is being changed.
pub(crate) fn note(object: &mut Object, one: &Use<'_>, ticket: Ticket) {
    if let Some(tickets) = ticket(object.attributes.usage_tickets.as_deref(), one) {
        Arc::make_mut(&mut object.attributes).usage_tickets = Some(tickets.into());
    }
}
