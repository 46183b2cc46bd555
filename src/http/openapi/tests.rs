use std::collections::HashSet;

use stet_actors::error::Result;

use super::super::call::Call;
use super::super::reply::Json;
use super::super::route::{Verb, handler, type_of};
use super::*;
use crate::api::routes;
use crate::auth::Privilege;

fn whole() -> Value {
    document(routes::GROUPS, "/api")
}

fn of(id: &str) -> Value {
    let route = routes::all().find(|route| route.id == id).expect("the tests name endpoints that there are");
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
    assert_eq!(operations.len(), routes::all().count());
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
            "schema": {"type": "string"},
        })
    );
    assert_eq!(parameters[1]["schema"], json!({"type": "integer", "format": "int64", "default": 20}));
    assert_eq!(
        (&parameters[2]["name"], &parameters[2]["schema"]["default"]),
        (&json!("showAdditionalInfo"), &json!(true))
    );
    assert_eq!(of("old-channel-list-get")["parameters"][0]["required"], true);
    assert_eq!(of("liveblog-content-get")["parameters"].as_array().unwrap().last().unwrap()["name"], "Range");
}

#[test]
fn a_body_is_json_a_form_or_multipart_and_required_or_not() {
    assert_eq!(of("drawer-post")["requestBody"]["required"], false);
    assert_eq!(of("topic-post")["requestBody"]["required"], true);
    assert!(of("drawer-get").get("requestBody").is_none());
    assert!(of("old-auth-login-post")["requestBody"]["content"]["application/x-www-form-urlencoded"].is_object());
    let form = &of("liveblog-post-create")["requestBody"]["content"]["multipart/form-data"];
    assert_eq!(form["schema"]["required"], json!(["content"]));
    assert_eq!(form["schema"]["properties"]["attachments"]["type"], "array");
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
    assert_eq!(schema("object-get", "default"), json!({"$ref": "#/components/schemas/Failure"}));
    assert_eq!(schema("old-userdata-get", "401"), json!({"$ref": "#/components/schemas/OlderFailure"}));
    assert_eq!(schema("object-get", "200")["properties"]["status"], json!({"const": "success"}));
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
        source: "ours",
        token: Token::Required,
        privilege: Some(Privilege::Read),
        path_params: &[],
        query: &[],
        headers: &[],
        body: Body::Optional(type_of::<Drawer>),
        takes_recycled: false,
        secret: false,
        produces: Produces::Json,
        codes: &[200],
        handler: handler!(drawers),
    };
    static GROUPS: &[Group] = &[Group { name: "example", about: "", tables: &[&[ROUTE]] }];
    let document = document(GROUPS, "");
    let reference = json!({"$ref": "#/components/schemas/Drawer"});
    assert!(document["components"]["schemas"]["Drawer"]["properties"]["capacity"].is_object());
    let operation = &document["paths"]["/v3/example"]["get"];
    assert_eq!(operation["requestBody"]["content"]["application/json"]["schema"], reference);
    let ok = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    assert_eq!(ok["properties"]["result"]["items"], reference);
    assert_eq!(operation["x-stet-implemented"], true);
    assert_eq!(operation["tags"], json!(["example"]));
}
