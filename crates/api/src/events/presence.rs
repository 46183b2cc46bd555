//! Presence: who else looks at a container or edits it (docs/api/events.md, "Who else is here").

use schemars::JsonSchema;
use serde::Deserialize;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_newsroom::events::presence::{MOST_FIELD_BYTES, PresenceList, PresenceState, PresentUser};
use stet_newsroom::events::sight::sees_all_parts;
use stet_web::call::Call;
use stet_web::reply::Json;

/// Body of a sign of presence.
#[derive(Deserialize, JsonSchema)]
pub struct PresenceRequest {
    /// Loid, uuid or path of the container or object.
    container: String,
    /// State of the caller there: `viewing`, `editing`, or `away` at the end.
    state: PresenceState,
    /// Loid of the part that the caller views or edits, such as a post.
    #[serde(default)]
    part: Option<String>,
    /// Name of the field that the caller edits, at most 100 bytes.
    #[serde(default)]
    field: Option<String>,
}

/// `POST /v3/presence`
pub async fn note(call: Call) -> Result<Json<PresenceList>> {
    let PresenceRequest { container, state, part, field } = call.json().await?;
    let source = ObjectSource::parse("container", &container)?;
    let container = call.find(&source, call.database()?)?;
    let part = part.map(|part| {
        let loid = part.parse::<Loid>().map_err(|_| Error::parameter("part", &part, "the loid of a part"))?;
        Ok::<_, Error>(loid.to_string())
    });
    if let Some(long) = field.as_ref().filter(|field| field.len() > MOST_FIELD_BYTES) {
        let message = format!("`field` has {} bytes; at most {MOST_FIELD_BYTES} are allowed.", long.len());
        return Err(Error::new(Code::InvalidBody, message));
    }
    let (session, since) = (call.required_session()?, call.app.repository.clock().now_ms());
    let shown = PresentUser { user: session.user().clone(), state, part: part.transpose()?, field, since };
    call.app.followers.note_presence(session, container.loid, shown)?;
    let with_parts = sees_all_parts(call.access(), &container)?;
    Json::of(&call.app.followers.presence.list(container.loid, with_parts))
}
