//! The values that may be given for a webhook.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};

use crate::destination::check_url;
use crate::rows::Webhook;
use crate::selection::check_kinds;

/// Maximum number of bytes of a description.
const DESCRIPTION_BYTES: usize = 1024;

/// The settings of a webhook. For a new one, only the URL is required; a change leaves what is
/// missing or null as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookSettings {
    /// Address of the receiver.
    pub url: Option<String>,
    /// Purpose, for people; at most 1024 bytes.
    pub description: Option<String>,
    /// Kinds of events like `drawer.item.add`, or patterns like `drawer.*`; at most 64. An empty
    /// list stands for all.
    pub kinds: Option<Vec<String>>,
    /// The only container, as loid, uuid or path; an empty text stands for all.
    pub container: Option<String>,
    /// A folder, as loid, uuid or path: only events of containers in it, at any depth, and of
    /// itself. An empty text stands for everywhere.
    pub below: Option<String>,
    /// Whether nothing is sent for now. False also resumes a webhook that has ended.
    pub paused: Option<bool>,
}

impl WebhookSettings {
    /// Checks the settings, and applies them to a webhook. `find` returns the object that a source
    /// names.
    ///
    /// # Errors
    /// `InvalidBody` and `TooLarge` with the field; errors of `find`.
    pub fn apply(
        self,
        webhook: &mut Webhook,
        networks: &[String],
        find: impl Fn(&ObjectSource) -> Result<Loid>,
    ) -> Result<()> {
        let WebhookSettings { url, description, kinds, container, below, paused } = self;
        if let Some(url) = url {
            check_url(&url, networks)?;
            webhook.url = url;
        }
        if let Some(description) = description {
            if description.len() > DESCRIPTION_BYTES {
                let message = format!("`description` may have at most {DESCRIPTION_BYTES} bytes.");
                return Err(Error::new(Code::TooLarge, message).with_detail("limit", DESCRIPTION_BYTES));
            }
            webhook.description = description;
        }
        if let Some(kinds) = kinds {
            check_kinds(&kinds)?;
            webhook.selection.kinds = kinds;
        }
        let object = |field: &str, source: String| match &*source {
            "" => Ok(None),
            source => ObjectSource::parse(field, source).and_then(|source| find(&source)).map(Some),
        };
        if let Some(container) = container {
            webhook.selection.container = object("container", container)?;
        }
        if let Some(below) = below {
            webhook.selection.below = object("below", below)?;
        }
        webhook.paused = paused.unwrap_or(webhook.paused);
        Ok(())
    }
}
