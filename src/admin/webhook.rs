//! `stet webhook`: webhooks of a running server.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use stet_config::Config;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_newsroom::administration::Secret;
use stet_webhooks::{DeliveryView, WebhookSettings, WebhookView, Webhooks};

use super::command::{AdminOptions, ask_server};
use super::print::{control_free, rows, time};
use super::socket::AdminRefusal;
use crate::exit::{self, Exit, Failure};

const WEBHOOK_EXAMPLES: &str = "\
Examples:
  stet webhook add https://cms.example/hook --owner wire --kind 'liveblog.post.*'   prints its secret, once
  stet webhook add https://archive.example/in --owner ada --below /News
  stet webhook list                               what each is doing, and the event that it waits for
  stet webhook log 0198c1de-…                     its last deliveries
  stet webhook position 0198c1de-… oldest         sends everything again that is still stored";

/// The options of `webhook`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = WEBHOOK_EXAMPLES)]
pub struct WebhookArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    command: WebhookCommand,
}

/// An operation on webhooks, as a subcommand and as a request on the socket.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookCommand {
    /// Create a webhook and print its secret, once
    #[serde(rename = "webhookAdd")]
    Add {
        /// Address of the receiver
        url: String,
        /// User who sees what the receiver is told
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// The other settings.
        #[command(flatten)]
        fields: WebhookFields,
    },
    /// Change the given settings of a webhook; its owner stays
    #[serde(rename = "webhookChange")]
    Change {
        /// Id of the webhook
        id: String,
        /// Address of the receiver
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// The other settings.
        #[command(flatten)]
        fields: WebhookFields,
    },
    /// List the webhooks
    #[serde(rename = "webhookList")]
    List,
    /// Send nothing until the webhook is resumed
    #[serde(rename = "webhookPause")]
    Pause {
        /// Id of the webhook
        id: String,
    },
    /// Go on where the webhook was paused, or has ended
    #[serde(rename = "webhookResume")]
    Resume {
        /// Id of the webhook
        id: String,
    },
    /// Set the event after which the webhook goes on
    #[serde(rename = "webhookPosition")]
    Position {
        /// Id of the webhook
        id: String,
        /// Id of the event, as in the audit trail, or `newest`, or `oldest`
        position: String,
    },
    /// Give the webhook a new secret and print it, once
    #[serde(rename = "webhookSecret")]
    Secret {
        /// Id of the webhook
        id: String,
    },
    /// Send a test to the receiver
    #[serde(rename = "webhookTest")]
    Test {
        /// Id of the webhook
        id: String,
    },
    /// List the last deliveries, the newest first
    #[serde(rename = "webhookLog")]
    Log {
        /// Id of the webhook
        id: String,
    },
    /// Remove a webhook
    #[serde(rename = "webhookRemove")]
    Remove {
        /// Id of the webhook
        id: String,
    },
}

/// The settings of a webhook beside its address.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize, Deserialize)]
pub struct WebhookFields {
    /// Kind of events like `drawer.item.add`, or pattern like `drawer.*`; may be given several
    /// times, and replaces all present ones; a new webhook without it is for all kinds
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// The only container, as loid, uuid or path; an empty text stands for all
    #[arg(long, value_name = "SOURCE")]
    container: Option<String>,
    /// Folder of the containers, as loid, uuid or path; an empty text stands for everywhere
    #[arg(long, value_name = "SOURCE")]
    below: Option<String>,
    /// Purpose, for people
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl WebhookFields {
    fn settings(self, url: Option<String>) -> WebhookSettings {
        let WebhookFields { kinds, container, below, description } = self;
        let kinds = Some(kinds).filter(|kinds| !kinds.is_empty());
        WebhookSettings { url, kinds, container, below, description, paused: None }
    }
}

/// The outcome of an operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookReply {
    /// The webhooks: all, or the one that was changed or removed.
    Webhooks(Vec<WebhookView>),
    /// A webhook with its new secret, which can't be retrieved again.
    WebhookSecret {
        /// The webhook.
        webhook: Box<WebhookView>,
        /// The secret.
        secret: Secret,
    },
    /// The last deliveries of a webhook, or its test.
    Deliveries(Vec<DeliveryView>),
}

/// Carries out an operation for the operator.
///
/// # Errors
/// The errors of [`Webhooks`].
pub async fn carry_out(webhooks: &Webhooks, command: WebhookCommand) -> Result<WebhookReply> {
    let who = CallerIdentity::operator();
    let find = |source: &ObjectSource| webhooks.find(source, DatabaseId::main());
    let one = |webhook| WebhookReply::Webhooks(vec![webhook]);
    let with_secret =
        |(webhook, secret)| WebhookReply::WebhookSecret { webhook: Box::new(webhook), secret: Secret::new(secret) };
    let paused = |paused| WebhookSettings { paused: Some(paused), ..WebhookSettings::default() };
    Ok(match command {
        WebhookCommand::Add { url, owner, fields } => {
            let unknown =
                || Error::new(Code::ObjectNotFound, format!("There is no user `{owner}`.")).with_source(&owner);
            let owner = webhooks.user(&owner)?.ok_or_else(unknown)?;
            with_secret(webhooks.create(who, owner, fields.settings(Some(url)), find).await?)
        }
        WebhookCommand::Change { id, url, fields } => {
            one(webhooks.change(who, None, &id, fields.settings(url), find).await?)
        }
        WebhookCommand::List => WebhookReply::Webhooks(webhooks.list()?),
        WebhookCommand::Pause { id } => one(webhooks.change(who, None, &id, paused(true), find).await?),
        WebhookCommand::Resume { id } => one(webhooks.change(who, None, &id, paused(false), find).await?),
        WebhookCommand::Position { id, position } => one(webhooks.set_position(who, &id, &position).await?),
        WebhookCommand::Secret { id } => with_secret(webhooks.renew_secret(who, None, &id).await?),
        WebhookCommand::Test { id } => WebhookReply::Deliveries(vec![webhooks.test(&id).await?]),
        WebhookCommand::Log { id } => WebhookReply::Deliveries(webhooks.deliveries(&id)?),
        WebhookCommand::Remove { id } => one(webhooks.remove(who, &id).await?),
    })
}

/// Sends the operation to the running server, and prints the outcome.
///
/// # Errors
/// [`Exit::Failed`] if no server runs, or the operation was refused.
pub fn run(config: &Config, args: WebhookArgs) -> std::result::Result<(), Failure> {
    let WebhookArgs { common, command } = args;
    let asked: Option<std::result::Result<WebhookReply, AdminRefusal>> = ask_server(config, &command)?;
    let data = config.data.directory.display();
    let none = || Failure::new(Exit::Failed, format!("no server has {data} open, and only a running one has webhooks"));
    let reply = asked.ok_or_else(none)?.map_err(|refusal| Failure::new(Exit::Failed, refusal.message))?;
    let text = match common.json {
        true => serde_json::to_string(&reply).map_err(|error| Failure::new(Exit::Failed, error))? + "\n",
        false => describe(&command, &reply),
    };
    exit::print(&text)
}

/// Formats the outcome for people.
fn describe(command: &WebhookCommand, reply: &WebhookReply) -> String {
    let removed = matches!(command, WebhookCommand::Remove { .. });
    match reply {
        WebhookReply::Webhooks(webhooks) if removed => {
            webhooks.iter().map(|webhook| control_free(&format!("Removed webhook {}.\n", webhook.id))).collect()
        }
        WebhookReply::Webhooks(webhooks) => webhooks_table(webhooks),
        WebhookReply::WebhookSecret { webhook, secret } => {
            let table = webhooks_table(std::slice::from_ref(&**webhook));
            format!("{table}\nThe secret is shown only once:\n{}\n", secret.text())
        }
        WebhookReply::Deliveries(deliveries) => {
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let row = |delivery: &DeliveryView| {
                let status = delivery.status.map(|status| status.to_string());
                let (event, kind) = (or_dash(delivery.event.clone()), delivery.kind.clone());
                let outcome = delivery.error.clone().unwrap_or_else(|| "accepted".to_owned());
                vec![time(delivery.at / 1000), event, kind, or_dash(status), outcome]
            };
            rows(&["TIME", "EVENT", "KIND", "STATUS", "OUTCOME"], deliveries.iter().map(row))
        }
    }
}

fn webhooks_table(webhooks: &[WebhookView]) -> String {
    let row = |webhook: &WebhookView| {
        let waits = webhook.failure.as_ref().map_or_else(|| "-".to_owned(), |failure| failure.event.clone());
        let state = webhook.state.name().to_owned();
        let delivered = webhook.delivered.to_string();
        vec![webhook.id.clone(), webhook.owner.clone(), state, delivered, waits, webhook.url.clone()]
    };
    rows(&["WEBHOOK", "OWNER", "STATE", "DELIVERED", "FAILING EVENT", "URL"], webhooks.iter().map(row))
}
