//! Answers of CAS servers (CAS protocol 3.0, 2.5 and appendix A): XML of one namespace, under any
//! prefix.
//!
//! [`stet_xml::to_json`] reads them, bounded in size and depth; a DOCTYPE has no effect, and only
//! the five entities of XML are known. Its errors may quote the text, and the text may quote the
//! ticket, so only the kind of an error is reported.

use serde_json::{Map, Value};
use stet_xml::{Limits, XmlErrorKind};

/// The namespace of the answer's elements.
const NAMESPACE: &str = "http://www.yale.edu/tp/cas";

/// White space around a text that is only layout (XML 1.0, 2.3). Other white space is part of the
/// text: a user named `admin` and a no-break space must not log in as `admin`.
const LAYOUT: [char; 4] = [' ', '\t', '\r', '\n'];

/// Levels of elements; the protocol needs four.
const MAX_DEPTH: usize = 16;

/// The person whom a CAS server has authenticated.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CasPerson {
    /// The user's name, without layout around it and not empty; not yet known to be a legal one.
    pub(super) name: String,
    /// Names without prefix, and values, in the order received. A name with several values appears
    /// several times.
    pub(super) attributes: Vec<(String, String)>,
}

impl CasPerson {
    /// Returns the values of an attribute that are not empty.
    pub(super) fn values<'a>(&'a self, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.attributes.iter().filter(move |(name, _)| name == attribute);
        own.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// The reason why a CAS server refuses a ticket (CAS protocol 3.0, 2.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketRefusal {
    /// The ticket is unknown, has expired, or was used before.
    Ticket,
    /// The ticket was issued for another service.
    Service,
    /// The CAS server does not know the service, or rejects the form of the request.
    Configuration,
    /// The CAS server failed.
    Internal,
    /// A reason that the protocol does not define.
    Other,
}

impl TicketRefusal {
    fn of(code: &str) -> TicketRefusal {
        match code {
            "INVALID_TICKET" | "INVALID_TICKET_SPEC" => TicketRefusal::Ticket,
            "INVALID_SERVICE" => TicketRefusal::Service,
            "INVALID_REQUEST" | "UNAUTHORIZED_SERVICE" | "UNAUTHORIZED_SERVICE_PROXY" | "INVALID_PROXY_CALLBACK" => {
                TicketRefusal::Configuration
            }
            "INTERNAL_ERROR" => TicketRefusal::Internal,
            _ => TicketRefusal::Other,
        }
    }
}

/// The answer of a CAS server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CasAnswer {
    /// The ticket is valid.
    Known(CasPerson),
    /// The ticket is refused.
    Refused(TicketRefusal),
}

/// The fault of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CasAnswerFault {
    /// No XML document within the limits.
    Xml(XmlErrorKind),
    /// An XML document that does not follow the protocol.
    Shape(&'static str),
}

/// Parses an answer of at most `max_bytes`.
pub(super) fn read(text: &str, max_bytes: usize) -> Result<CasAnswer, CasAnswerFault> {
    let limits = Limits { max_depth: MAX_DEPTH, max_bytes, ..Limits::default() };
    let document = stet_xml::to_json(text, &limits).map_err(|error| CasAnswerFault::Xml(error.kind()))?;
    let document = ElementScope { here: document.as_object(), outer: None };
    let responses = document.children("serviceResponse");
    let [response] = responses[..] else { return Err(CasAnswerFault::Shape("the root is no `serviceResponse`")) };
    let response = document.inside(response);
    let (successes, failures) =
        (response.children("authenticationSuccess"), response.children("authenticationFailure"));
    match (&successes[..], &failures[..]) {
        ([success], []) => person(&response.inside(success)).map(CasAnswer::Known),
        ([], [failure]) => {
            let code = failure.get("@code").and_then(Value::as_str).unwrap_or_default();
            Ok(CasAnswer::Refused(TicketRefusal::of(code.trim())))
        }
        _ => Err(CasAnswerFault::Shape("it is not one success or one failure")),
    }
}

fn person(success: &ElementScope<'_>) -> Result<CasPerson, CasAnswerFault> {
    let users = success.children("user");
    let name = match users[..] {
        [user] => text_of(user).filter(|name| !name.is_empty()),
        _ => None,
    };
    let name = name.ok_or(CasAnswerFault::Shape("it has not one `user` with a name"))?.to_owned();
    let mut attributes = Vec::new();
    // Servers disagree on the namespace of attributes, so any is accepted.
    for member in success.children("attributes").into_iter().filter_map(Value::as_object).flatten() {
        let (key, value) = member;
        if !is_element(key) {
            continue;
        }
        let (_, local) = key.split_once(':').unwrap_or(("", key));
        let texts = items(value).iter().filter_map(text_of);
        attributes.extend(texts.map(|text| (local.to_owned(), text.to_owned())));
    }
    Ok(CasPerson { name, attributes })
}

/// An element and its ancestors, which declare the prefixes.
struct ElementScope<'a> {
    /// The element's members; `None` for one that has only text.
    here: Option<&'a Map<String, Value>>,
    outer: Option<&'a ElementScope<'a>>,
}

impl<'a> ElementScope<'a> {
    fn inside(&'a self, element: &'a Value) -> ElementScope<'a> {
        ElementScope { here: element.as_object(), outer: Some(self) }
    }

    /// Returns the child elements of that name in the protocol's namespace.
    fn children(&'a self, local: &str) -> Vec<&'a Value> {
        let members = self.here.into_iter().flatten().filter(|(key, _)| is_element(key));
        let elements = members.flat_map(|(key, value)| items(value).iter().map(move |element| (key, element)));
        let wanted = elements.filter(|(key, element)| {
            let (prefix, name) = key.split_once(':').unwrap_or(("", key));
            name == local && self.inside(element).namespace(prefix) == Some(NAMESPACE)
        });
        wanted.map(|(_, element)| element).collect()
    }

    /// Returns the namespace of a prefix; the empty prefix is that of names without one.
    fn namespace(&self, prefix: &str) -> Option<&str> {
        let key = if prefix.is_empty() { "@xmlns".to_owned() } else { format!("@xmlns:{prefix}") };
        let mut scope = Some(self);
        while let Some(ElementScope { here, outer }) = scope {
            if let Some(declared) = here.and_then(|members| members.get(&key)) {
                return declared.as_str();
            }
            scope = *outer;
        }
        None
    }
}

/// Reports whether a member is an element, not an attribute or text.
fn is_element(key: &str) -> bool {
    !key.starts_with(['@', '#'])
}

/// Returns the elements of one name.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// Returns the text of an element that has no child elements.
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
