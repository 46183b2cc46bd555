//! Objects for files that the server creates itself.

use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::NewObject;
use stet_domain::object::{FamilyKind, NewContent};
use stet_web::app::App;

use super::status::give_inferred;

/// Returns a new document for a file that the server creates, in the database `of`. Its type
/// follows from its content and its name.
///
/// # Errors
/// `TypeNotFound` if the configuration has no document type for such files.
pub(crate) fn document_of_file(app: &App, of: DatabaseId, name: &str, content: NewContent) -> Result<NewObject> {
    let types = app.sysconfig.object_types(of);
    let inferred = types.infer(Some(&content.content.content_type), name);
    let known = inferred.filter(|known| known.family == FamilyKind::Document).ok_or_else(|| {
        let kind = &content.content.content_type;
        let message = format!("The configuration has no object type for a file of the type `{kind}`, `{name}`.");
        Error::new(Code::TypeNotFound, message).with_source(kind)
    })?;
    let mut object = NewObject::document(name, &known.name);
    give_inferred(app, of, &mut object, None, known.workflow.as_deref());
    object.content = Some(content);
    Ok(object)
}
