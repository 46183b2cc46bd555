//! Templates: objects of the repository whose content others begin with.

use std::sync::Arc;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::object::{NewContent, Stored, Version};
use stet_actors::store::Key;

use super::object::version_named;
use crate::content::download::{Found, opened};
use crate::http::call::Call;
use crate::records::Cached;

/// A template that the caller may read.
pub struct Template {
    /// Its record and attributes.
    pub record: Arc<Cached>,
    /// Its content, or that of the version that is named.
    pub content: NewContent,
}

impl Template {
    /// The template that a source names.
    ///
    /// # Errors
    /// `TemplateNotFound`, also for one that may not be read; `InvalidType` for one without
    /// content; what disk and store say.
    pub async fn find(call: &Call, source: &Source, database: DatabaseId) -> Result<Template> {
        let not_found = || {
            let message = format!("There is no template `{source}`.");
            Error::new(Code::TemplateNotFound, message).with_source(source)
        };
        let record = call.find_configured(source, database).map_err(|error| match error.code {
            Code::ObjectNotFound => not_found(),
            _ => error,
        })?;
        let version = version_named(&call.app, source, &record)?.map_or(record.version, |version| version.loid.version);
        if version == 0 {
            let message = format!("`{source}` is of type {} and has no content to begin with.", record.type_name);
            return Err(Error::new(Code::InvalidType, message).with_source(source));
        }
        let content = content_of(call, Version::key(record.loid.at_version(version)), source).await?;
        Ok(Template { content: content.ok_or_else(not_found)?, record })
    }
}

/// The content of a version, with its bytes where they are small; `None` if it is not there any
/// more. Both as they are in the tables: the template's record, which was read before, may be that
/// of a content that has been replaced since.
async fn content_of(call: &Call, version: Key, template: &Source) -> Result<Option<NewContent>> {
    let (app, repository) = (&call.app, &call.app.repository);
    let found = || -> Result<Found> {
        let version: Option<Version> = repository.row(version.table, &version.key)?;
        Ok(version.ok_or_else(|| Error::not_found(template))?.into())
    };
    let (found, reader) = match opened(repository, &app.content, template, found).await {
        Ok(opened) => opened,
        Err(error) if error.code == Code::ObjectNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(match found.content.stored {
        // The template may end before the liveblog refers to the file, too.
        Stored::File => app.content.pin(&found.content).map(|pin| NewContent {
            content: found.content,
            small: None,
            pin: Some(pin),
        }),
        Stored::Row => Some(NewContent { content: found.content, small: Some(reader.read_all().await?), pin: None }),
    })
}
