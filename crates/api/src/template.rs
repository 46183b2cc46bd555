//! Templates: objects of the repository whose content new objects start with.

use std::sync::Arc;

use stet_content::download::{LocatedContent, open_consistently};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::{ContentLocation, NewContent, Version};
use stet_domain::store::RowPlace;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;

use super::object::version_named;

/// A template that the caller may read.
pub struct Template {
    /// The record and attributes of the template.
    pub record: Arc<CachedRecord>,
    /// The template's content, or that of the version that is named.
    pub content: NewContent,
}

impl Template {
    /// Finds the template that a source names.
    ///
    /// # Errors
    /// `TemplateNotFound`, also if the caller may not read it; `InvalidType` for one without
    /// content; errors of disk and store.
    pub async fn find(call: &Call, source: &ObjectSource, database: DatabaseId) -> Result<Template> {
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

/// Returns the content of a version, with its bytes if they are small; `None` if it no longer
/// exists. Both are read from the tables, because the template's record was read before and may
/// belong to a replaced content.
async fn content_of(call: &Call, version: RowPlace, template: &ObjectSource) -> Result<Option<NewContent>> {
    let (app, repository) = (&call.app, &call.app.repository);
    let found = || -> Result<LocatedContent> {
        let version: Option<Version> = repository.row(version.table, &version.key)?;
        Ok(version.ok_or_else(|| Error::not_found(template))?.into())
    };
    let (found, reader) = match open_consistently(repository, &app.content, template, found).await {
        Ok(opened) => opened,
        Err(error) if error.code == Code::ObjectNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(match found.content.stored {
        // Pinned, because the template may be destroyed before the new object refers to the file.
        ContentLocation::File => app.content.pin(&found.content).map(|pin| NewContent {
            content: found.content,
            small: None,
            pin: Some(pin),
        }),
        ContentLocation::Row => {
            Some(NewContent { content: found.content, small: Some(reader.read_all().await?), pin: None })
        }
    })
}
