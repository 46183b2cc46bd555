//! One conversation with the relay, step by step. The state after each step decides whether a mail
//! may be retried.

use std::time::Duration;

use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::ClientId;
use stet_config::{SmtpConfig, SmtpSecurity};

use super::first_line;

/// The reason why a step has failed.
#[derive(Debug)]
pub(super) enum RelayFault {
    /// The relay refuses for good.
    Refused(String),
    /// The relay refuses for now.
    Later(String),
    /// The connection is lost, or was never opened. No part of a mail had been sent.
    Broken(String),
    /// The connection is lost, and the relay may have the mail.
    Uncertain(String),
}

impl std::fmt::Display for RelayFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (RelayFault::Refused(why) | RelayFault::Later(why) | RelayFault::Broken(why) | RelayFault::Uncertain(why)) =
            self;
        f.write_str(why)
    }
}

impl From<stet_domain::error::Error> for RelayFault {
    fn from(error: stet_domain::error::Error) -> RelayFault {
        RelayFault::Broken(error.message)
    }
}

impl From<SmtpError> for RelayFault {
    fn from(error: SmtpError) -> RelayFault {
        let why = error.to_string();
        match error.status() {
            Some(_) if error.is_permanent() => RelayFault::Refused(why),
            Some(_) => RelayFault::Later(why),
            None => RelayFault::Broken(why),
        }
    }
}

impl RelayFault {
    /// Converts the failure of a step that every conversation needs: whatever the relay has
    /// answered, the conversation can't be used.
    fn of_all(self) -> RelayFault {
        RelayFault::Broken(self.to_string())
    }
}

/// An open conversation, in which mails can be sent one after the other.
pub(super) struct Conversation {
    connection: AsyncSmtpConnection,
    patience: Duration,
}

impl Conversation {
    /// Connects to the relay, with encryption and authentication as configured.
    ///
    /// # Errors
    /// [`RelayFault::Broken`] for every failure.
    pub async fn begin(smtp: &SmtpConfig) -> Result<Conversation, RelayFault> {
        let patience = Duration::from_secs(smtp.timeout_seconds);
        let connecting = async {
            let tls = || TlsParameters::new(smtp.host.clone());
            let at_once = if smtp.security == SmtpSecurity::Tls { Some(tls()?) } else { None };
            let hello = ClientId::default();
            let server = (smtp.host.as_str(), smtp.port);
            let mut connection =
                AsyncSmtpConnection::connect_tokio1(server, Some(patience), &hello, at_once, None).await?;
            if smtp.security == SmtpSecurity::Starttls {
                connection.starttls(tls()?, &hello).await?;
            }
            if !smtp.user.is_empty() {
                let read = first_line(&smtp.password_file).await;
                let password =
                    read.map_err(|error| RelayFault::Broken(format!("smtp.password_file can't be read: {error}")))?;
                connection.auth(DEFAULT_MECHANISMS, &Credentials::new(smtp.user.clone(), password)).await?;
            }
            Ok(Conversation { connection, patience })
        };
        within(patience * 3, connecting).await.map_err(RelayFault::of_all)
    }

    /// Begins a mail.
    ///
    /// # Errors
    /// [`RelayFault::Broken`], because nothing can be sent without a sender.
    pub async fn from(&mut self, from: &Address) -> Result<(), RelayFault> {
        let begun = self.connection.command(Mail::new(Some(from.clone()), Vec::new()));
        within(self.patience, async { Ok(begun.await.map(drop)?) }).await.map_err(RelayFault::of_all)
    }

    /// Asks whether the relay accepts the mail for an address.
    ///
    /// # Errors
    /// See [`RelayFault`].
    pub async fn to(&mut self, address: Address) -> Result<(), RelayFault> {
        let asked = self.connection.command(Rcpt::new(address, Vec::new()));
        within(self.patience, async { Ok(asked.await.map(drop)?) }).await
    }

    /// Drops the mail that was begun.
    ///
    /// # Errors
    /// [`RelayFault::Broken`].
    pub async fn forget(&mut self) -> Result<(), RelayFault> {
        let reset = self.connection.command(Rset);
        within(self.patience, async { Ok(reset.await.map(drop)?) }).await.map_err(RelayFault::of_all)
    }

    /// Sends the mail to the relay.
    ///
    /// # Errors
    /// See [`RelayFault`]; after anything but a refusal the conversation has ended.
    pub async fn give(&mut self, mail: &[u8]) -> Result<(), RelayFault> {
        let asked = self.connection.command(Data);
        within(self.patience, async { Ok(asked.await.map(drop)?) }).await?;
        let given = self.connection.message(mail);
        let given = within(self.patience * 3, async { Ok(given.await.map(drop)?) }).await;
        given.map_err(|fault| match fault {
            RelayFault::Broken(why) => RelayFault::Uncertain(why),
            fault => fault,
        })
    }

    /// Ends the conversation.
    pub async fn end(mut self) {
        // Everything has been sent, so the result is ignored.
        let _ = tokio::time::timeout(self.patience, self.connection.quit()).await;
    }
}

async fn within<T>(patience: Duration, step: impl Future<Output = Result<T, RelayFault>>) -> Result<T, RelayFault> {
    tokio::time::timeout(patience, step)
        .await
        .unwrap_or_else(|_| Err(RelayFault::Broken("the relay did not answer in time".to_owned())))
}
