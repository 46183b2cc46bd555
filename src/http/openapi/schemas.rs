//! The schemas of the types in requests and replies.
//!
//! What a type looks like may depend on the direction: a field with a default need not be sent, but
//! always comes; one that is left out where it is empty does not. So each direction has a generator
//! of its own. A type that looks the same both ways stands in the document once; of one that does
//! not, the form in requests is called `…Input`.

use std::collections::BTreeSet;

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::super::route::TypeOf;

/// Where schemas stand in the document.
const PLACE: &str = "#/components/schemas/";
/// Where references in requests lead until it is known under which name: nowhere in the document.
const REQUESTS: &str = "#/components/requests/";

/// The types that the document has used so far.
pub struct Schemas {
    replies: SchemaGenerator,
    requests: SchemaGenerator,
}

impl Schemas {
    /// None yet.
    pub fn new() -> Schemas {
        Schemas { replies: generator(Contract::Serialize, PLACE), requests: generator(Contract::Deserialize, REQUESTS) }
    }

    /// The schema of a type in a reply.
    pub fn reply(&mut self, type_of: TypeOf) -> Value {
        schema(type_of, &mut self.replies)
    }

    /// The schema of a type in a request. What it refers to has its name only after
    /// [`Merged::settle`].
    pub fn request(&mut self, type_of: TypeOf) -> Value {
        schema(type_of, &mut self.requests)
    }

    /// The schema of a property of a type in a reply, if it has it.
    pub fn property(&self, reply: &Value, name: &str) -> Option<&Value> {
        let of = reply["$ref"].as_str()?.strip_prefix(PLACE)?;
        let schema = self.replies.definitions().get(of)?;
        // Of a change: what it is about, before what is left if that is gone.
        match schema.get("anyOf") {
            Some(either) => self.property(&either[0], name),
            None => schema.get("properties")?.get(name),
        }
    }

    /// Both directions together.
    pub fn merge(mut self) -> Merged {
        let mut definitions = self.replies.take_definitions(true);
        let requests = self.requests.take_definitions(true);
        let mut inputs = BTreeSet::new();
        // A type is another in requests when it looks different there, or refers to one that is.
        loop {
            let merged = Merged { definitions: Map::new(), inputs: inputs.clone() };
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
        let mut merged = Merged { definitions: Map::new(), inputs };
        for (name, mut schema) in requests {
            merged.settle(&mut schema);
            definitions.insert(merged.name_of(&name), schema);
        }
        merged.definitions = definitions;
        merged
    }
}

/// The schemas of both directions, each under its name.
pub struct Merged {
    definitions: Map<String, Value>,
    /// The types of requests that are called `…Input`.
    inputs: BTreeSet<String>,
}

impl Merged {
    /// The schemas.
    pub fn definitions(&self) -> &Map<String, Value> {
        &self.definitions
    }

    /// Lets what refers to the types of requests refer to the schemas as they are named.
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

/// That a field is null where it is absent says nothing, and generators take a field with a default
/// for one that is always there.
fn without_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

fn schema(type_of: TypeOf, generator: &mut SchemaGenerator) -> Value {
    let mut schema = type_of(generator);
    // Those among the definitions are transformed when they are taken.
    ReplaceBoolSchemas::default().transform(&mut schema);
    schema.to_value()
}
