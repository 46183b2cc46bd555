//! Single sign-on: a CAS server authenticates the caller (docs/api/auth.md, "CAS"; CAS protocol
//! 3.0, `/p3/serviceValidate`).
//!
//! The server of `[auth.cas]` is trusted to identify callers, as the passwords here are. It can't
//! make invalid names valid, admit disabled users, or give groups that the configuration does not
//! name. It must ensure that a ticket is valid once: it is asked about each ticket each time, and
//! nothing is cached.
//!
//! Neither tickets nor the server's texts are ever logged or shown, except for the name of a user
//! if it is a legal one.

mod answer;
mod client;
mod people;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use stet_config::CasConfig;
use stet_domain::error::{Code, Error, Result};

use self::answer::{CasAnswer, TicketRefusal};
use self::client::{CasClient, cas_unavailable_error};
use self::people::CasUserRules;
use self::service::CasServices;
pub use self::service::LoginAddress;
use super::{Directory, User};

/// The longest ticket, in characters. The protocol asks for 256; some servers sign theirs.
const MAX_TICKET: usize = 4096;

/// Single sign-on by one CAS server.
pub struct Cas {
    client: CasClient,
    services: CasServices,
    rules: CasUserRules,
}

impl Cas {
    /// Returns single sign-on if a server is configured.
    pub fn configured(config: &CasConfig) -> Option<Cas> {
        let configured = || Cas {
            client: CasClient::new(config),
            services: CasServices::of(config),
            rules: CasUserRules::of(config),
        };
        config.is_configured().then(configured)
    }

    /// Returns the user that a ticket stands for, created or updated as configured. `came_to` is
    /// the address of the login request, `address` the client's.
    ///
    /// # Errors
    /// `InvalidParameter` for a text that can't be a ticket. `InvalidLogin` when the CAS server
    /// refuses it, or names someone who may not log in. `Overloaded` when the CAS server does not
    /// answer in time or validly. Errors of the store.
    pub async fn user_of(
        &self,
        directory: &Directory,
        ticket: &str,
        came_to: &LoginAddress,
        address: &str,
    ) -> Result<Arc<User>> {
        if ticket.is_empty() || ticket.len() > MAX_TICKET || !ticket.bytes().all(|byte| byte.is_ascii_graphic()) {
            // Without the value: it may be a ticket with one wrong character.
            let message = format!("`ticket` must be 1 to {MAX_TICKET} visible ASCII characters.");
            return Err(Error::new(Code::InvalidParameter, message));
        }
        let service = self.services.service_of(came_to).ok_or_else(|| {
            let (came_to, listed) = (came_to.for_log(), self.services.listed());
            tracing::warn!(
                came_to,
                listed,
                "login refused: the ticket arrived at an address that `auth.cas.services` does not list"
            );
            login_refused_error("Tickets are not accepted at this address, which is not listed in `auth.cas.services`.")
        })?;
        match self.client.ask(ticket, &service).await? {
            CasAnswer::Known(person) => self.rules.admit(directory, &person, address).await,
            CasAnswer::Refused(refusal) => Err(refused_by_server(refusal, &LoginAddress::of_url(&service), came_to)),
        }
    }
}

/// Reports whether a text is a valid answer of a CAS server.
#[cfg(any(test, feature = "fuzzing"))]
pub fn is_answer(text: &str) -> bool {
    answer::read(text, CasConfig::default().answer_bytes).is_ok()
}

fn refused_by_server(refusal: TicketRefusal, service: &LoginAddress, came_to: &LoginAddress) -> Error {
    let (service, came_to) = (service.for_log(), came_to.for_log());
    match refusal {
        TicketRefusal::Internal => tracing::warn!("the CAS server could not validate a ticket"),
        // These may be mistakes in the configuration of either side.
        _ => tracing::warn!(?refusal, service, came_to, "login refused by the CAS server"),
    }
    let message = match refusal {
        TicketRefusal::Internal => return cas_unavailable_error(),
        TicketRefusal::Ticket => "The CAS server refuses the ticket: it is unknown, has expired, or was used before.",
        TicketRefusal::Service => "The CAS server refuses the ticket: it was issued for another service.",
        TicketRefusal::Configuration => "The CAS server does not validate tickets for this service.",
        TicketRefusal::Other => "The CAS server refuses the ticket.",
    };
    login_refused_error(message)
}

fn login_refused_error(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidLogin, message)
}
