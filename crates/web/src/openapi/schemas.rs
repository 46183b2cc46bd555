//! The schemas of the types in requests and replies.
//!
//! The schema of a type may depend on the direction. A field with a default is optional in requests
//! but always present in replies; a field that is omitted if empty is optional in replies too. So
//! each direction has its own generator. A type whose schemas are equal occurs in the document
//! once; otherwise the schema for requests is called `…Input`.

use std::collections::BTreeSet;

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::super::route::TypeOf;

/// The place of schemas in the document.
const PLACE: &str = "#/components/schemas/";
/// The temporary target of references in requests, until their final names are known. It does not
/// exist in the document.
const REQUESTS: &str = "#/components/requests/";

/// The types that the document has used so far.
pub struct Schemas {
    replies: SchemaGenerator,
    requests: SchemaGenerator,
}

impl Schemas {
    /// Creates an empty collection.
    pub fn new() -> Schemas {
        Schemas { replies: generator(Contract::Serialize, PLACE), requests: generator(Contract::Deserialize, REQUESTS) }
    }

    /// Returns the schema of a type in a reply.
    pub fn reply(&mut self, type_of: TypeOf) -> Value {
        schema(type_of, &mut self.replies)
    }

    /// Returns the schema of a type in a request. Its references become valid with
    /// [`MergedSchemas::settle`].
    pub fn request(&mut self, type_of: TypeOf) -> Value {
        schema(type_of, &mut self.requests)
    }

    /// Returns the schema of a property of a reply's type, if it has it.
    pub fn property(&self, reply: &Value, name: &str) -> Option<&Value> {
        let of = reply["$ref"].as_str()?.strip_prefix(PLACE)?;
        let schema = self.replies.definitions().get(of)?;
        // The reply to a change has two forms; the first shows the object, the second is for a
        // removed one.
        match schema.get("anyOf") {
            Some(either) => self.property(&either[0], name),
            None => schema.get("properties")?.get(name),
        }
    }

    /// Merges the schemas of both directions.
    pub fn merge(mut self) -> MergedSchemas {
        let mut definitions = self.replies.take_definitions(true);
        let requests = self.requests.take_definitions(true);
        let mut inputs = BTreeSet::new();
        // A type needs two schemas if they differ, or if they refer to such a type.
        loop {
            let merged = MergedSchemas { definitions: Map::new(), inputs: inputs.clone() };
            let differs = |(name, schema): &(&String, &Value)| {
                let mut schema = (*schema).clone();
                merged.settle(&mut schema);
                definitions.get(*name).is_some_and(|reply| *reply != schema)
            };
            let found: BTreeSet<String> = requests.iter().filter(differs).map(|(name, _)| name.clone()).collect();
            if found.is_subset(&inputs) {
                break;
            }
            inputs.extend(found);
        }
        let mut merged = MergedSchemas { definitions: Map::new(), inputs };
        for (name, mut schema) in requests {
            merged.settle(&mut schema);
            definitions.insert(merged.name_of(&name), schema);
        }
        merged.definitions = definitions;
        merged
    }
}

/// The schemas of both directions, by name.
pub struct MergedSchemas {
    definitions: Map<String, Value>,
    /// The types of requests that are called `…Input`.
    inputs: BTreeSet<String>,
}

impl MergedSchemas {
    /// Returns the schemas.
    pub fn definitions(&self) -> &Map<String, Value> {
        &self.definitions
    }

    /// Replaces the temporary references in a value by the final ones.
    pub fn settle(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get_mut("$ref")
                    && let Some(name) = reference.strip_prefix(REQUESTS)
                {
                    *reference = format!("{PLACE}{}", self.name_of(name));
                }
                fields.values_mut().for_each(|value| self.settle(value));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.settle(value)),
            _ => {}
        }
    }

    fn name_of(&self, name: &str) -> String {
        if self.inputs.contains(name) { format!("{name}Input") } else { name.to_owned() }
    }
}

fn generator(contract: Contract, place: &str) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12()
        .with_transform(ReplaceBoolSchemas::default())
        .with_transform(RecursiveTransform(without_null_default));
    settings.contract = contract;
    settings.definitions_path = place.trim_start_matches('#').trim_end_matches('/').to_owned().into();
    settings.meta_schema = None;
    settings.into_generator()
}

/// Removes a default of null. It says nothing, and generators treat a field with a default as one
/// that is always present.
fn without_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

fn schema(type_of: TypeOf, generator: &mut SchemaGenerator) -> Value {
    let mut schema = type_of(generator);
    // The definitions are transformed when they are taken.
    ReplaceBoolSchemas::default().transform(&mut schema);
    schema.to_value()
}
