//! `POST /object/story` of the older surface: creates a story, or writes an existing one
//! (docs/api/objects.md, "On the older surface").

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_domain::checkout::{WriteContent, WriteSwitches};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::FamilyKind;
use stet_endpoint::form::{self, FormSubmission};
use stet_newsroom::creation::Template;
use stet_web::arriving::IncomingCall;
use stet_web::body_headers::is_multipart;
use stet_web::boundary::check_form_type;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::creation::{FILES, ObjectForm, make, named_as_file};
use super::writing::receive;
use super::{ChangedRecord, reply_after};

/// The reply of `POST /object/story`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StoryReply {
    /// The story that was created.
    Created(ChangedRecord),
    /// An existing story was written.
    Written {
        /// `ok`
        result: &'static str,
    },
}

impl From<ChangedRecord> for StoryReply {
    fn from(record: ChangedRecord) -> StoryReply {
        StoryReply::Created(record)
    }
}

/// `POST /object/story`: writes the story that the query names as `id`. Without `id` it creates one
/// from a form.
pub async fn story(arriving: IncomingCall) -> Result<PreferredReply<StoryReply>> {
    if arriving.query().text("id").is_some_and(|id| !id.is_empty()) {
        return Box::pin(write(arriving)).await;
    }
    check_form_type(arriving.headers()).map_err(|error| {
        error.rephrased(|message| format!("{message} To write a story that exists, name it as `id`."))
    })?;
    Ok(Box::pin(create(arriving)).await?.among())
}

/// Creates a story from a form, as `/v3/object/create` does. Without content it starts with that of
/// the configured template.
async fn create(arriving: IncomingCall) -> Result<PreferredReply<ChangedRecord>> {
    let (call, mut form): (_, ObjectForm) = match form::read(arriving, form::permit_any_caller, FILES).await? {
        FormSubmission::New(call, form) => (call, form),
        FormSubmission::Answered(reply) => return Ok(reply.into()),
    };
    let mut options = form.options;
    if let Some(file) = form.files.pop() {
        let content = named_as_file(&mut options, Some(file))?;
        return make(&call, options, content, None).await;
    }
    let source = ObjectSource::Path(call.app.config.story.template.clone());
    let template = Template::find(&call, &source, DatabaseId::main()).await?;
    make(&call, options, None, Some(template)).await
}

/// Writes a story's content. A lock that the caller holds stays. Otherwise a lock is taken and
/// released within the step.
async fn write(arriving: IncomingCall) -> Result<PreferredReply<StoryReply>> {
    if is_multipart(arriving.headers()) {
        let message = "With `id` the body must be the content of that story, but is a form.";
        return Err(Error::new(Code::InvalidBody, message));
    }
    let target = |call: &Call| {
        let source = ObjectSource::parse("id", call.query.text("id").unwrap_or_default())?;
        let record = call.find_for(Privilege::Write, &source, call.database()?)?;
        if !matches!(record.family, FamilyKind::Document | FamilyKind::Bundle) {
            let message = format!("`{source}` is of type {}, not a story.", record.type_name);
            return Err(Error::new(Code::InvalidType, message).with_source(&source));
        }
        Ok(record)
    };
    let (call, record, body) =
        arriving.received(target, async |call, incoming, record| receive(call, incoming, record).await).await?;
    let Some(body) = body else {
        return Err(Error::new(Code::InvalidBody, "The body must be the content of the story, but is empty."));
    };
    let content = &body.content;
    if let Some(reply) = call.answered_before(&[content.content_type.as_bytes(), &content.sha256]).await? {
        return Ok(reply.into());
    }
    let app = &call.app;
    let switches = WriteSwitches {
        check_in: true,
        // A lock of another session refuses the write.
        keep_checked_out: record.lock_at(app.repository.clock().now_s()).is_some(),
        unlock: false,
        new_version: call.query.boolean("newVersion"),
        check_out: false,
        check_out_clean: false,
    };
    let object = record.loid;
    let write = WriteContent { object, body: Some(body), switches, lasts_s: app.config.auth.lock_idle_seconds };
    let done = call.change_jointly(write).await?;
    reply_after(&call, object, done.left.as_ref(), &call.display(), 0, |_| StoryReply::Written { result: "ok" }).await
}
