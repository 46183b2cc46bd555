//! The request bodies of operations.

use serde_json::{Map, Value, json};

use super::super::route::Body;
use super::schemas::Schemas;

/// Bytes. OpenAPI 3.1 asks for the media type; generators know them by their format.
pub fn bytes() -> Value {
    json!({"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"})
}

/// The request body; `None` where it is ignored.
pub fn request(body: Body, schemas: &mut Schemas) -> Option<Value> {
    let (required, content) = match body {
        Body::None => return None,
        Body::Optional(type_of) => (false, json!({"application/json": {"schema": schemas.request(type_of)}})),
        Body::Required(type_of) => (true, json!({"application/json": {"schema": schemas.request(type_of)}})),
        // Of any type. Generators look for one that they know, so that stands first.
        Body::Bytes => (false, json!({"application/octet-stream": {"schema": bytes()}, "*/*": {"schema": bytes()}})),
        Body::Form(type_of) => {
            let schema = schemas.request(type_of);
            let form = json!({"application/x-www-form-urlencoded": {"schema": schema}, "application/json": {"schema": schema}});
            (true, form)
        }
        Body::Multipart { options, files, needs_first } => {
            (true, multipart(schemas.request(options), files, needs_first))
        }
    };
    Some(json!({"required": required, "content": content}))
}

/// A form with `options` and file parts: the first kind of file part comes once, and must be there where it is needed; the others
/// may come any number of times.
fn multipart(options: Value, files: &[&str], needs_first: bool) -> Value {
    let mut properties = Map::from_iter([("options".to_owned(), options)]);
    let mut encoding = Map::from_iter([("options".to_owned(), json!({"contentType": "application/json"}))]);
    for (index, name) in files.iter().enumerate() {
        let part = if index == 0 { bytes() } else { json!({"type": "array", "items": bytes()}) };
        properties.insert((*name).to_owned(), part);
        encoding.insert((*name).to_owned(), json!({"contentType": "*/*"}));
    }
    let mut schema = json!({"type": "object", "description": "It takes no other parts.", "properties": properties});
    if let Some(first) = files.first().filter(|_| needs_first) {
        schema["required"] = json!([first]);
    }
    json!({"multipart/form-data": {"schema": schema, "encoding": encoding}})
}
