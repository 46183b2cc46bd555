//! The request bodies of operations.

use serde_json::{Map, Value, json};

use super::super::route::{BodyRule, BodySizeRule};
use super::schemas::Schemas;

/// Returns the schema of bytes. OpenAPI 3.1 requires the media type; generators recognise the
/// format.
pub fn bytes() -> Value {
    json!({"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"})
}

/// Returns the request body of an operation; `None` if it has none.
pub fn request(body: BodyRule, schemas: &mut Schemas) -> Option<Value> {
    let (required, content) = match body {
        BodyRule::None => return None,
        BodyRule::Optional(type_of, _) => (false, json!({"application/json": {"schema": schemas.request(type_of)}})),
        BodyRule::Required(type_of, _) => (true, json!({"application/json": {"schema": schemas.request(type_of)}})),
        // Any media type. Generators look for a known one, so that is listed first.
        BodyRule::Bytes => {
            (false, json!({"application/octet-stream": {"schema": bytes()}, "*/*": {"schema": bytes()}}))
        }
        BodyRule::Form(type_of, _) => {
            let schema = schemas.request(type_of);
            let form = json!({"application/x-www-form-urlencoded": {"schema": schema}, "application/json": {"schema": schema}});
            (true, form)
        }
        BodyRule::Multipart { options, files, needs_first } => {
            (true, multipart(schemas.request(options), files, needs_first))
        }
        BodyRule::MultipartOrBytes { options, files } => {
            let mut content = multipart(schemas.request(options), files, false);
            content["*/*"] = json!({"schema": bytes()});
            (true, content)
        }
    };
    Some(json!({"description": bound(body), "required": required, "content": content}))
}

/// Returns the description of a body's size limit. The figures are the defaults, because the
/// document must not depend on the configuration.
fn bound(body: BodyRule) -> &'static str {
    match body {
        BodyRule::None => "",
        BodyRule::Optional(_, BodySizeRule::Short)
        | BodyRule::Required(_, BodySizeRule::Short)
        | BodyRule::Form(_, BodySizeRule::Short) => {
            "At most `limits.short_body_bytes` bytes (16 KiB unless configured otherwise); more is 413."
        }
        BodyRule::Optional(_, BodySizeRule::Long)
        | BodyRule::Required(_, BodySizeRule::Long)
        | BodyRule::Form(_, BodySizeRule::Long) => {
            "At most `limits.json_bytes` bytes (4 MiB unless configured otherwise); more is 413."
        }
        BodyRule::Bytes => "At most `limits.upload_bytes` bytes (512 MiB unless configured otherwise); more is 413.",
        BodyRule::Multipart { .. } | BodyRule::MultipartOrBytes { .. } => {
            "`options` has at most `limits.upload_part_options_bytes` bytes (1 MiB unless configured otherwise), a file at most \
             `limits.upload_bytes` (512 MiB); more is 413."
        }
    }
}

/// Returns a form with `options` and file parts. The first kind of file part occurs once, and is
/// required if `needs_first`. The others may occur any number of times.
fn multipart(options: Value, files: &[&str], needs_first: bool) -> Value {
    let mut properties = Map::from_iter([("options".to_owned(), options)]);
    let mut encoding = Map::from_iter([("options".to_owned(), json!({"contentType": "application/json"}))]);
    for (index, name) in files.iter().enumerate() {
        let part = if index == 0 { bytes() } else { json!({"type": "array", "items": bytes()}) };
        properties.insert((*name).to_owned(), part);
        encoding.insert((*name).to_owned(), json!({"contentType": "*/*"}));
    }
    let mut schema =
        json!({"type": "object", "description": "Other parts are not accepted.", "properties": properties});
    if let Some(first) = files.first().filter(|_| needs_first) {
        schema["required"] = json!([first]);
    }
    json!({"multipart/form-data": {"schema": schema, "encoding": encoding}})
}
