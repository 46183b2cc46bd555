//! What a CAS server answers (CAS protocol 3.0, 2.5 and appendix A): XML of one namespace, under
//! whatever prefix.
//!
//! [`stet_xml::to_json`] reads it: bounded in size and depth, with a DOCTYPE that takes no effect
//! and no entity but the five of XML. What it says about a fault may quote the text, and the text
//! may quote the ticket, so only the kind of a fault is reported.

use serde_json::{Map, Value};

use stet_xml::{Limits, XmlErrorKind};

/// The namespace of the answer's elements.
const NAMESPACE: &str = "http://www.yale.edu/tp/cas";

/// What stands around a text for its layout (XML 1.0, 2.3). Other white space is part of it: who is
/// `admin` and a no-break space must not come in as `admin`.
const LAYOUT: [char; 4] = [' ', '\t', '\r', '\n'];

/// Levels of elements; the protocol needs four.
const MAX_DEPTH: usize = 16;

/// Who the CAS server says has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Person {
    /// The user's name, without layout around it and not empty; not yet known to be a legal one.
    pub(super) name: String,
    /// Names without prefix, and values, in the order that they came in; one with several values
    /// comes several times.
    pub(super) attributes: Vec<(String, String)>,
}

impl Person {
    /// The values of an attribute, without those that are empty.
    pub(super) fn values<'a>(&'a self, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.attributes.iter().filter(move |(name, _)| name == attribute);
        own.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Why a CAS server vouches for nobody (CAS protocol 3.0, 2.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is unknown, has expired, or was used before.
    Ticket,
    /// It was issued for another service.
    Service,
    /// The service is not one that the CAS server knows, or the request was not as it likes it.
    Configuration,
    /// It failed itself.
    Internal,
    /// A reason that the protocol does not know.
    Other,
}

impl Refusal {
    fn of(code: &str) -> Refusal {
        match code {
            "INVALID_TICKET" | "INVALID_TICKET_SPEC" => Refusal::Ticket,
            "INVALID_SERVICE" => Refusal::Service,
            "INVALID_REQUEST" | "UNAUTHORIZED_SERVICE" | "UNAUTHORIZED_SERVICE_PROXY" | "INVALID_PROXY_CALLBACK" => {
                Refusal::Configuration
            }
            "INTERNAL_ERROR" => Refusal::Internal,
            _ => Refusal::Other,
        }
    }
}

/// The server's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The ticket is good.
    Known(Person),
    /// It is not.
    Refused(Refusal),
}

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// It is no XML document within the bounds.
    Xml(XmlErrorKind),
    /// It is one, but not as the protocol has it.
    Shape(&'static str),
}

/// Reads an answer of at most `max_bytes`.
pub(super) fn read(text: &str, max_bytes: usize) -> Result<Answer, Malformed> {
    let limits = Limits { max_depth: MAX_DEPTH, max_bytes, ..Limits::default() };
    let document = stet_xml::to_json(text, &limits).map_err(|error| Malformed::Xml(error.kind()))?;
    let document = Scope { here: document.as_object(), outer: None };
    let responses = document.children("serviceResponse");
    let [response] = responses[..] else { return Err(Malformed::Shape("the root is no `serviceResponse`")) };
    let response = document.inside(response);
    let (successes, failures) =
        (response.children("authenticationSuccess"), response.children("authenticationFailure"));
    match (&successes[..], &failures[..]) {
        ([success], []) => person(&response.inside(success)).map(Answer::Known),
        ([], [failure]) => {
            let code = failure.get("@code").and_then(Value::as_str).unwrap_or_default();
            Ok(Answer::Refused(Refusal::of(code.trim())))
        }
        _ => Err(Malformed::Shape("it is not one success or one failure")),
    }
}

fn person(success: &Scope<'_>) -> Result<Person, Malformed> {
    let users = success.children("user");
    let name = match users[..] {
        [user] => text_of(user).filter(|name| !name.is_empty()),
        _ => None,
    };
    let name = name.ok_or(Malformed::Shape("it has not one `user` with a name"))?.to_owned();
    let mut attributes = Vec::new();
    // Servers do not agree on the namespace of what is in here, so any is taken.
    for member in success.children("attributes").into_iter().filter_map(Value::as_object).flatten() {
        let (key, value) = member;
        if !is_element(key) {
            continue;
        }
        let (_, local) = key.split_once(':').unwrap_or(("", key));
        let texts = items(value).iter().filter_map(text_of);
        attributes.extend(texts.map(|text| (local.to_owned(), text.to_owned())));
    }
    Ok(Person { name, attributes })
}

/// An element, and those around it, for what prefixes mean.
struct Scope<'a> {
    /// The element's members; `None` for one that has only text.
    here: Option<&'a Map<String, Value>>,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    fn inside(&'a self, element: &'a Value) -> Scope<'a> {
        Scope { here: element.as_object(), outer: Some(self) }
    }

    /// The elements of that name in the protocol's namespace.
    fn children(&'a self, local: &str) -> Vec<&'a Value> {
        let members = self.here.into_iter().flatten().filter(|(key, _)| is_element(key));
        let elements = members.flat_map(|(key, value)| items(value).iter().map(move |element| (key, element)));
        let wanted = elements.filter(|(key, element)| {
            let (prefix, name) = key.split_once(':').unwrap_or(("", key));
            name == local && self.inside(element).namespace(prefix) == Some(NAMESPACE)
        });
        wanted.map(|(_, element)| element).collect()
    }

    /// What a prefix stands for; the empty one is none.
    fn namespace(&self, prefix: &str) -> Option<&str> {
        let key = if prefix.is_empty() { "@xmlns".to_owned() } else { format!("@xmlns:{prefix}") };
        let mut scope = Some(self);
        while let Some(Scope { here, outer }) = scope {
            if let Some(declared) = here.and_then(|members| members.get(&key)) {
                return declared.as_str();
            }
            scope = *outer;
        }
        None
    }
}

/// Whether a member is an element, and no attribute or text.
fn is_element(key: &str) -> bool {
    !key.starts_with(['@', '#'])
}

/// The elements of one name.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// The text of an element that has no others in it.
fn text_of(element: &Value) -> Option<&str> {
    match element {
        Value::String(text) => Some(text.trim_matches(LAYOUT)),
        Value::Object(members) if members.keys().any(|key| is_element(key)) => None,
        Value::Object(members) => {
            Some(members.get("#text").and_then(Value::as_str).unwrap_or_default().trim_matches(LAYOUT))
        }
        _ => None,
    }
}
