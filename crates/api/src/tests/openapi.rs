//! The OpenAPI document.

use std::collections::HashSet;

use serde_json::{Value, json};
use stet_auth::Privilege;
use stet_domain::error::Result;
use stet_web::call::Call;
use stet_web::openapi::*;
use stet_web::reply::Json;
use stet_web::route::{
    AlternativePrivilege, BodyRule, BodySizeRule, CallEffect, EndpointGroup, NamedObjectKind, ReplyFormat, Route,
    TagRule, TokenRule, Verb, handler, type_of,
};

fn whole() -> Value {
    document(crate::GROUPS, "/api")
}

fn of(id: &str) -> Value {
    let route = crate::all_routes().find(|route| route.id == id).expect("the tests name endpoints that there are");
    whole()["paths"][route.path][route.method.name().to_ascii_lowercase()].clone()
}

#[test]
fn every_endpoint_is_an_operation_of_its_own() {
    let document = whole();
    let operations: Vec<_> = document["paths"]
        .as_object()
        .expect("paths is an object")
        .values()
        .flat_map(|path| path.as_object().expect("a path is an object").values())
        .collect();
    assert_eq!(operations.len(), crate::all_routes().count());
    let ids: HashSet<_> = operations.iter().map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations.len());
    let tags: Vec<_> = document["tags"].as_array().expect("tags is a list").iter().map(|tag| &tag["name"]).collect();
    for operation in operations {
        assert!(tags.contains(&&operation["tags"][0]), "{}", operation["operationId"]);
    }
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["servers"][0]["url"], "/api");
}

#[test]
fn the_same_table_gives_the_same_text() {
    assert_eq!(whole().to_string(), whole().to_string());
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let pointer = reference.strip_prefix('#').expect("references stay in the document");
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                map.values().for_each(|value| walk(value, document));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, document)),
            _ => {}
        }
    }
    let document = whole();
    walk(&document, &document);
}

#[test]
fn parameters_have_their_schemas_and_defaults() {
    let operation = of("folder-subfolders-get");
    let parameters = operation["parameters"].as_array().unwrap();
    assert_eq!(
        parameters[0],
        json!({
            "name": "source", "in": "path", "required": true,
            "description": "The folder: a loid, a uuid, or a path with its slashes as %2F.",
            "schema": {"$ref": "#/components/schemas/ObjectSource"},
        })
    );
    assert_eq!(parameters[1]["schema"], json!({"type": "integer", "format": "int64", "minimum": 0, "default": 20}));
    assert_eq!(of("old-channel-list-get")["parameters"][0]["required"], true);
}

/// The names of the parameters that an operation refers to.
fn referred(id: &str) -> Vec<String> {
    let operation = of(id);
    let references = operation["parameters"].as_array().unwrap().iter().filter_map(|one| one["$ref"].as_str());
    references.map(|reference| reference.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn shared_openapi_parameters_are_defined_once() {
    let shared = whole()["components"]["parameters"].clone();
    assert_eq!(shared["showAdditionalInfo"]["schema"], json!({"type": "boolean", "default": false}));
    assert_eq!(shared["showAdditionalInfo.shown"]["schema"], json!({"type": "boolean", "default": true}));
    assert_eq!(shared["showAdditionalInfo.shown"]["name"], "showAdditionalInfo");
    let has = |id: &str, name: &str| referred(id).iter().any(|known| known == name);
    assert!(has("object-get", "showAdditionalInfo") && has("folder-get", "showAdditionalInfo.shown"));
    // A listing that counts its entries has pages; what has a limit of its own, or leads on by
    // itself, takes no other.
    for (id, limit, offset) in [
        ("drawer-get", true, true),
        ("stet-object-versions-get", true, true),
        ("folder-subfolders-get", false, true),
        ("stet-audit-get", false, false),
        ("object-get", false, false),
        ("topicplan-structure-get", true, true),
        ("conf-catalogs-get", false, false),
        ("cache-users-get", false, false),
        ("stet-object-correlates-get", false, false),
        ("drawer-items-post", false, false),
    ] {
        assert_eq!((has(id, "limit"), has(id, "offset")), (limit, offset), "{id}");
    }
    for (id, sorts) in
        [("liveblog-get", true), ("folder-filter-get", true), ("drawer-get", false), ("topic-get", false)]
    {
        assert_eq!(has(id, "sortBy"), sorts, "{id}");
    }
    for (id, headers) in [
        ("object-get", &["If-None-Match"][..]),
        ("folder-home-get", &["If-None-Match"]),
        ("liveblog-content-get", &["Range", "If-None-Match"]),
        (
            "stet-object-content-get",
            &["Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"],
        ),
        ("drawer-by-object-get", &[]),
        ("object-lastversionloid-get", &[]),
        ("drawer-put", &["If-Match", "Prefer"]),
        ("drawer-item-post", &["If-Match", "Idempotency-Key", "Prefer"]),
        ("stet-object-loid-content-put", &["If-Match", "Prefer"]),
        ("drawer-post", &["If-Match", "Idempotency-Key", "Prefer"]),
        ("objects-discard", &["If-Match"]),
        ("stet-user-update-put", &[]),
        ("stet-object-list-post", &[]),
        ("auth-login-post", &[]),
        ("stet-liveblog-events-get", &["Last-Event-ID"]),
    ] {
        let mut found: Vec<_> = referred(id).into_iter().filter(|name| shared[name]["in"] == "header").collect();
        // Every call may be handled strictly. Where replies may be short, one parameter describes
        // both.
        assert_eq!(found.last().filter(|name| shared[name]["name"] == "Prefer"), found.last(), "{id}");
        found.pop_if(|name| name == "Prefer.handling");
        assert_eq!(found, headers, "{id}");
    }
}

#[test]
fn every_status_that_may_come_is_listed_and_no_other() {
    let statuses = |id: &str| of(id)["responses"].as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    for (id, wanted) in [
        ("object-get", "200 304 400 401 403 404 413 429 500 503"),
        ("drawer-put", "200 400 401 403 404 409 412 413 429 500 503 507"),
        ("drawer-item-post", "200 400 401 403 404 409 412 413 422 429 500 503 507"),
        ("stet-object-content-get", "200 206 304 400 401 403 404 412 413 416 429 500 503"),
        ("auth-login-post", "200 400 401 403 404 413 429 500 503 507"),
        ("auth-connection-check-get", "200 400 401 403 413 429 500 503"),
        ("old-auth-logout-get", "200 400 401 403 413 429 500 503 507"),
        ("conf-indexes-get", "200 400 401 403 404 413 429 500 503"),
        ("old-calendar-nextpublicationdate-get", "200 400 401 404 413 429 500 503"),
        ("old-group-list-get", "200 400 401 404 413 429 500 503"),
    ] {
        assert_eq!(statuses(id), wanted, "{id}");
    }
}

#[test]
fn no_schema_is_a_mere_boolean_and_every_list_says_of_what() {
    /// Keys whose value maps names to schemas. `ONES` are keys whose value is one schema.
    const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "schemas"];
    const ONES: [&str; 5] = ["schema", "items", "additionalProperties", "not", "propertyNames"];
    fn walk(value: &Value, place: &str) {
        match value {
            Value::Object(fields) => {
                // Generators of clients drop a schema whose list says nothing of its items, and
                // then miss it.
                let list = fields.get("type").is_some_and(|name| name == "array");
                assert!(!list || fields.contains_key("items"), "{place}");
                for (name, value) in fields {
                    let place = format!("{place}/{name}");
                    assert!(!(ONES.contains(&name.as_str()) && value.is_boolean()), "{place}");
                    if let (true, Some(named)) = (MAPS.contains(&name.as_str()), value.as_object()) {
                        assert!(named.values().all(Value::is_object), "{place}");
                    }
                    walk(value, &place);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, place)),
            _ => {}
        }
    }
    let whole = whole();
    walk(&whole, "");
    assert_eq!(of("drawer-item-post")["requestBody"]["content"]["application/json"]["schema"], json!({}));
}

#[test]
fn a_type_that_is_another_in_requests_has_two_schemas() {
    let whole = whole();
    let schemas = &whole["components"]["schemas"];
    let body = of("stet-key-create-post")["requestBody"]["content"]["application/json"]["schema"].clone();
    assert_eq!(body, json!({"$ref": "#/components/schemas/KeyRequest"}));
    // What always comes, but need not be sent.
    let required = |name: &str| schemas[name]["required"].as_array().cloned().unwrap_or_default();
    assert!(required("ObjectRecord").contains(&json!("locked")));
    assert!(!required("ObjectRecord").contains(&json!("path")));
}

/// Covers clients generated from the document, which send null for values that they leave out.
#[test]
fn optional_body_members_accept_null() {
    fn followed<'d>(schema: &'d Value, document: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(reference) => document.pointer(&reference[1..]).expect("it leads somewhere"),
            None => schema,
        }
    }
    fn takes_null(schema: &Value, document: &Value) -> bool {
        let schema = followed(schema, document);
        let any = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|one| takes_null(one, document)));
        let says_kind = ["type", "anyOf", "oneOf", "enum", "const"].iter().any(|key| schema.get(key).is_some());
        let kinds = &schema["type"];
        !says_kind
            || kinds == "null"
            || kinds.as_array().is_some_and(|kinds| kinds.contains(&json!("null")))
            || any(&schema["anyOf"])
            || any(&schema["oneOf"])
    }
    fn walk(schema: &Value, place: &str, document: &Value, faults: &mut Vec<String>) {
        let schema = followed(schema, document);
        for one in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            walk(one, place, document, faults);
        }
        if schema["items"].is_object() {
            walk(&schema["items"], place, document, faults);
        }
        let required = schema["required"].as_array();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            if !required.is_some_and(|required| required.contains(&json!(name))) && !takes_null(field, document) {
                faults.push(place.clone());
            }
            walk(field, &place, document, faults);
        }
    }
    let (document, mut faults) = (whole(), Vec::new());
    for (path, item) in document["paths"].as_object().expect("there are paths") {
        for (verb, operation) in item.as_object().expect("it is an object") {
            let (bodies, place) = (&operation["requestBody"]["content"], format!("{verb} {path} "));
            walk(&bodies["application/json"]["schema"], &place, &document, &mut faults);
            // A part of a form is present or absent, and its content is JSON.
            for (_, part) in bodies["multipart/form-data"]["schema"]["properties"].as_object().into_iter().flatten() {
                walk(part, &place, &document, &mut faults);
            }
        }
    }
    // One of these must be there.
    faults.retain(|place| !place.ends_with(".password") && !place.ends_with(".pwd"));
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_body_is_json_a_form_or_multipart_and_required_or_not() {
    assert_eq!(of("drawer-post")["requestBody"]["required"], false);
    assert_eq!(of("topic-post")["requestBody"]["required"], true);
    assert!(of("drawer-get").get("requestBody").is_none());
    assert!(of("old-auth-login-post")["requestBody"]["content"]["application/x-www-form-urlencoded"].is_object());
    let form = &of("liveblog-post-create")["requestBody"]["content"]["multipart/form-data"];
    assert_eq!(form["schema"]["required"], json!(["content"]));
    assert_eq!(form["schema"]["properties"]["options"], json!({"$ref": "#/components/schemas/PostOptions"}));
    let parts = &form["schema"]["properties"];
    for file in [&parts["content"], &parts["attachments"]["items"]] {
        assert_eq!((&file["type"], &file["format"]), (&json!("string"), &json!("binary")));
    }
    assert_eq!(form["encoding"]["options"]["contentType"], "application/json");
}

#[test]
fn failures_are_enveloped_under_v3_and_bare_on_the_older_surface() {
    let schema = |id: &str, code: &str| {
        let (whole, response) = (whole(), of(id)["responses"][code].clone());
        let named = response["$ref"].as_str().and_then(|path| whole.pointer(path.trim_start_matches('#')));
        named.unwrap_or(&response)["content"]["application/json"]["schema"].clone()
    };
    assert_eq!(schema("object-get", "404"), json!({"$ref": "#/components/schemas/Failure"}));
    assert!(of("object-get")["responses"].get("default").is_none());
    assert_eq!(schema("old-userdata-get", "401"), json!({"$ref": "#/components/schemas/FailureBody"}));
    assert_eq!(schema("object-get", "200")["properties"]["status"], json!({"type": "string", "const": "success"}));
    assert!(of("conf-xmlfile-get")["responses"]["200"]["content"]["application/xml;charset=utf-8"].is_object());
    assert!(of("stet-object-content-get")["responses"]["206"]["content"]["*/*"].is_object());
}

#[test]
fn tokens_are_asked_for_as_the_endpoint_says() {
    assert_eq!(of("object-get")["security"].as_array().unwrap().len(), 4);
    assert_eq!(of("conf-indexes-get")["security"][4], json!({}));
    assert_eq!(of("auth-login-post")["security"], json!([]));
    assert_eq!(of("object-destroy")["x-stet-privilege"], "destroy");
    assert_eq!(of("auth-logout-get")["x-stet-privilege"], Value::Null);
}

#[test]
fn types_stand_among_the_components() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Drawer {
        capacity: u32,
    }
    async fn drawers(_: Call) -> Result<Json<Vec<Drawer>>> {
        Json::of(&vec![Drawer { capacity: 1 }])
    }
    const ROUTE: Route = Route {
        id: "stet-example",
        method: Verb::Get,
        path: "/v3/example",
        summary: "An example.",
        source: "docs/api/README.md",
        token: TokenRule::Required,
        privilege: Some(Privilege::Read),
        alternative: AlternativePrivilege::None,
        path_params: &[],
        query: &[],
        headers: &[],
        body: BodyRule::Optional(type_of::<Drawer>, BodySizeRule::Short),
        takes: NamedObjectKind::Live,
        secret: false,
        cookie: false,
        ends_session: false,
        effect: CallEffect::Usual,
        sorts: false,
        filters: false,
        tag: TagRule::Usual,
        key_in_address: false,
        about_people: false,
        produces: ReplyFormat::Json,
        codes: &[200],
        further: &[],
        handler: handler!(drawers),
    };
    static GROUPS: &[EndpointGroup] = &[EndpointGroup { name: "example", about: "", tables: &[&[ROUTE]] }];
    let document = document(GROUPS, "");
    let reference = json!({"$ref": "#/components/schemas/Drawer"});
    assert!(document["components"]["schemas"]["Drawer"]["properties"]["capacity"].is_object());
    let operation = &document["paths"]["/v3/example"]["get"];
    assert_eq!(operation["requestBody"]["content"]["application/json"]["schema"], reference);
    let ok = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    assert_eq!(ok["properties"]["result"]["items"], reference);
    assert_eq!(operation["tags"], json!(["example"]));
}

#[test]
fn a_form_lists_all_its_parts_and_those_that_must_be_there() {
    let form = |id: &str| of(id)["requestBody"]["content"]["multipart/form-data"]["schema"].clone();
    for (id, files, required) in [
        ("liveblog-post-create", &["content", "attachments"][..], json!(["content"])),
        ("liveblog-post-put", &["content", "attachments"], Value::Null),
        ("stet-object-create-post", &["content"], Value::Null),
    ] {
        let form = form(id);
        let parts: Vec<_> = form["properties"].as_object().unwrap().keys().cloned().collect();
        assert!(
            parts.len() == files.len() + 1 && files.iter().all(|file| parts.iter().any(|part| part == file)),
            "{id}"
        );
        assert_eq!(form["required"], required, "{id}");
    }
}

/// Extensions that documents and scripts rely on must exist: a filter by an unknown name excludes
/// nothing.
#[test]
fn each_extension_that_is_told_of_is_in_the_document() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let operation = of("object-get");
    for file in ["docs/api/README.md", "docs/api/rights.md", "scripts/clients"] {
        let text = std::fs::read_to_string(format!("{root}{file}")).expect("the file can be read");
        for (at, _) in text.match_indices("x-stet-") {
            let name: String = text[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            assert!(operation.get(&name).is_some(), "{file}: {name}");
        }
    }
}
