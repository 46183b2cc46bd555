//! Templates: objects of the repository whose content new objects start with.

use std::sync::Arc;

use stet_content::download::{LocatedContent, OpenedContent};
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::{Family, State};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::liveblog::{HEAD, LiveblogHead};
use stet_domain::object::{Attributes, ContentLocation, FamilyKind, NewContent, SharedText, Version};
use stet_domain::store::RowPlace;

use crate::Newsroom;
use crate::caller::{Caller, SeenView};

/// A template that the caller may read: the values that a new object begins with.
pub struct Template {
    /// The name of the template.
    pub name: SharedText,
    /// The attributes and system attributes of the template.
    pub attributes: Arc<Attributes>,
    /// The content of the template, or that of the version that is named.
    pub content: Option<NewContent>,
    /// Whether posts of the template wait for approval; `None` if it is no liveblog.
    pub(super) moderated: Option<bool>,
}

impl Template {
    /// Finds the template that a source names.
    ///
    /// # Errors
    /// `TemplateNotFound`, also if the caller may not read it; `InvalidType` for one without
    /// content; errors of disk and store.
    pub async fn find(caller: &Caller, source: &ObjectSource, database: DatabaseId) -> Result<Template> {
        let record = caller.find_configured(source, database).map_err(|error| not_found(source, error))?;
        let version = match source {
            ObjectSource::Loid(loid) if loid.version > record.version => {
                return Err(not_found(source, Error::not_found(source)));
            }
            ObjectSource::Loid(loid) if loid.version != 0 => loid.version,
            _ => record.version,
        };
        if version == 0 {
            let message = format!("`{source}` is of type {} and has no content to begin with.", record.type_name);
            return Err(Error::new(Code::InvalidType, message).with_source(source));
        }
        let newsroom = caller.newsroom();
        let content = content_of(newsroom, Version::key(record.loid.at_version(version)), source).await?;
        let content = content.ok_or_else(|| not_found(source, Error::not_found(source)))?;
        let moderated = match record.family {
            FamilyKind::Liveblog => {
                let RowPlace { table, key } = HEAD.place(record.loid, &[]);
                newsroom.repository.row::<LiveblogHead>(table, &key)?.map(|head| head.moderated)
            }
            _ => None,
        };
        let attributes = newsroom.records.attributes(&newsroom.repository, &record).await?;
        let (name, attributes) = (record.name.clone(), Arc::new(attributes.clone()));
        Ok(Template { name, attributes, content: Some(content), moderated })
    }

    /// Finds the container of family `F` that a source names as a template. Its settings as a
    /// container are used, and not its content.
    ///
    /// # Errors
    /// `TemplateNotFound`, also if the caller may not read it; `InvalidType` for an object of
    /// another family; errors of the store.
    pub async fn find_container<F: Family>(
        caller: &Caller,
        source: &ObjectSource,
        database: DatabaseId,
    ) -> Result<(Template, SeenView<F>)> {
        let found = caller.find_configured(source, database).map_err(|error| not_found(source, error))?;
        if found.family != F::KIND {
            let message = format!("The template `{source}` is of type {}, not a {}.", found.type_name, F::KIND.name());
            return Err(Error::new(Code::InvalidType, message).with_source(source));
        }
        let view = caller.view_of::<F>(found.loid).await.map_err(|error| not_found(source, error))?;
        let object = view.state.object();
        let (name, attributes) = (object.record.name.clone(), object.attributes.clone());
        Ok((Template { name, attributes, content: None, moderated: None }, view))
    }
}

/// Turns `ObjectNotFound` into `TemplateNotFound`; other errors stay.
fn not_found(template: &ObjectSource, error: Error) -> Error {
    if error.code != Code::ObjectNotFound {
        return error;
    }
    Error::new(Code::TemplateNotFound, format!("There is no template `{template}`.")).with_source(template)
}

/// Returns the content of a version, with its bytes if they are small; `None` if it no longer
/// exists. Both are read from the tables, because the template's record was read before and may
/// belong to a replaced content.
async fn content_of(newsroom: &Newsroom, version: RowPlace, template: &ObjectSource) -> Result<Option<NewContent>> {
    let repository = &newsroom.repository;
    let locate = || -> Result<LocatedContent> {
        let version: Option<Version> = repository.row(version.table, &version.key)?;
        Ok(version.ok_or_else(|| Error::not_found(template))?.into())
    };
    let opened = match OpenedContent::open(repository, &newsroom.content, template, locate).await {
        Ok(opened) => opened,
        Err(error) if error.code == Code::ObjectNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let content = opened.content;
    Ok(match content.stored {
        // Pinned, because the template may be destroyed before the new object refers to the file.
        ContentLocation::File => {
            newsroom.content.pin(&content).map(|pin| NewContent { content, small: None, pin: Some(pin) })
        }
        ContentLocation::Row => Some(NewContent { content, small: Some(opened.reader.read_all().await?), pin: None }),
    })
}
