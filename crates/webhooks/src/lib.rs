//! Webhooks (docs/api/webhooks.md) report changes to other systems by signed HTTP requests, at
//! least once and in the order of the changes, even if they were unreachable for days.
//!
//! A webhook is a row: address, selection of events, owner, secret ([`rows`]). Beside it is its
//! [`rows::WebhookProgress`], with the place in the log of events up to which everything was
//! delivered. There is no queue: the events are those of the log that each change leaves in its own
//! change set. So no change is missed, and a webhook that waits takes no memory and no disk.
//!
//! [`Webhooks`] is the list, and the operations on it. While the server runs, one task for each
//! webhook, its [`deliverer`], reads the log from that place on, [`selection`] decides what is
//! wanted, [`payload`] renders what the owner may see, [`signature`] signs it, and [`sender`] posts
//! it. The next event is sent when the receiver has accepted the one before. Where it may be sent
//! to is decided in [`destination`].
//!
//! The progress is stored at most once a second, so after a crash the events of the last second are
//! sent again, in the same order and under the same ids.
//!
//! The crate knows no requests and no routes. It changes nothing but its own rows.

pub mod deliverer;
mod destination;
mod live;
mod payload;
mod registry;
pub mod rows;
mod selection;
mod sender;
mod settings;
mod signature;
mod view;

pub use self::registry::Webhooks;
pub use self::settings::WebhookSettings;
pub use self::view::{DeliveryView, FailureView, WebhookState, WebhookView};
