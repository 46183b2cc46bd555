//! Endpoints as data. The router, the checks of rights and parameters, the OpenAPI document and the
//! contract test are all derived from [`Route`]. The tables are in the modules of the handlers.

pub mod words;

use std::future::Future;
use std::pin::Pin;

use actix_web::http::Method;

use stet_auth::Privilege;
use stet_config::LimitsConfig;
use stet_domain::error::Error;
use stet_newsroom::caller::{AdmissionRule, NeededPrivilege};

use super::call::Call;
use super::reply::{HandlerAnswer, Reply};
use super::router::PathParams;
pub use stet_base::json::{TypeOf, type_of};
pub use stet_newsroom::caller::{NamedObjectKind, PrivilegeScope};

/// The future of a call's reply.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Result<Reply, Error>>>>;

/// The code that answers a call, and the description of its replies for the OpenAPI document.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    /// Answers a call.
    pub answer: fn(Call) -> AnswerFuture,
    /// The type of the `result` (v3) or of the bare body (older surface); `None` if it is not JSON.
    pub reply: Option<TypeOf>,
    /// Whether `Prefer: return=minimal` is followed.
    pub may_be_minimal: bool,
}

/// The parameter types of handlers.
pub trait HandlerInput {
    /// Converts a call.
    fn of(call: Call) -> Self;
}

impl HandlerInput for Call {
    fn of(call: Call) -> Call {
        call
    }
}

/// Builds a [`Route::handler`] from an `async fn(T) -> Result<A, Error>`, where `T` is
/// [`HandlerInput`] and `A` an [`HandlerAnswer`]. The type that the handler returns is the one in
/// the OpenAPI document.
#[macro_export]
macro_rules! handler {
    ($function:path) => {
        Some($crate::route::Handler {
            answer: |call| {
                // Outside of an `async` block, which would reserve space for the handler's state
                // twice.
                let answering = $function($crate::route::HandlerInput::of(call));
                Box::pin(::futures_util::TryFutureExt::map_ok(answering, $crate::reply::HandlerAnswer::into_reply))
            },
            reply: $crate::route::schema_of(&$function),
            may_be_minimal: $crate::route::may_be_minimal(&$function),
        })
    };
}
pub use crate::handler;

/// Returns the schema of a handler's answers.
pub const fn schema_of<F, T, R, A>(_: &F) -> Option<TypeOf>
where
    F: Fn(T) -> R,
    T: HandlerInput,
    R: Future<Output = Result<A, Error>>,
    A: HandlerAnswer,
{
    A::SCHEMA
}

/// Reports whether a handler's answers may be short.
pub const fn may_be_minimal<F, T, R, A>(_: &F) -> bool
where
    F: Fn(T) -> R,
    T: HandlerInput,
    R: Future<Output = Result<A, Error>>,
    A: HandlerAnswer,
{
    A::MAY_BE_MINIMAL
}

/// A group of related endpoints.
#[derive(Debug, Clone, Copy)]
pub struct EndpointGroup {
    /// The name in the reference.
    pub name: &'static str,
    /// The description in the reference, one line.
    pub about: &'static str,
    /// The endpoints, in the interface's order.
    pub tables: &'static [&'static [Route]],
}

impl EndpointGroup {
    /// Returns the group's endpoints.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> + use<> {
        self.tables.iter().flat_map(|table| table.iter())
    }
}

/// An endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The endpoint's unique id in the interface's machine-readable form. The ids of additional
    /// endpoints begin with `stet-`.
    pub id: &'static str,
    /// HTTP method.
    pub method: Verb,
    /// The path below the base path, with `{parameter}` segments.
    pub path: &'static str,
    /// The description in the reference, one line.
    pub summary: &'static str,
    /// The document with the rules, relative to the repository's root: `docs/api/drawers.md`.
    pub source: &'static str,
    /// Whether a token is needed.
    pub token: TokenRule,
    /// Whether a key with the read privilege only is accepted in the address, for programs that
    /// don't support tokens.
    pub key_in_address: bool,
    /// Whether the endpoint shows or contacts people: see [`PrivilegeScope::People`].
    pub about_people: bool,
    /// The privilege that the caller needs.
    pub privilege: Option<Privilege>,
    /// The privilege that admits a caller instead of that one.
    pub alternative: AlternativePrivilege,
    /// Path parameters, in path order.
    pub path_params: &'static [PathParam],
    /// Query parameters, in the interface's order.
    pub query: &'static [QueryParam],
    /// The request headers with a meaning for this endpoint.
    pub headers: &'static [&'static str],
    /// Request body.
    pub body: BodyRule,
    /// The objects that the call may name besides live ones.
    pub takes: NamedObjectKind,
    /// Whether the request or reply contains a password or a token. Then nothing of the call is
    /// stored, here or on the way.
    pub secret: bool,
    /// Whether the reply sets or clears the cookie. Then a page of another site must not call it
    /// with only the cookie or without a token.
    pub cookie: bool,
    /// Whether the call ends its own session. Then the token of a session that has ended is
    /// accepted too, until its end has been committed.
    pub ends_session: bool,
    /// Whether the call changes something.
    pub effect: CallEffect,
    /// Whether `sortBy` orders the listing, although the interface does not list it.
    pub sorts: bool,
    /// Whether the listing accepts the common filters of object listings.
    pub filters: bool,
    /// Whether a read has an ETag.
    pub tag: TagRule,
    /// The content type of a 200.
    pub produces: ReplyFormat,
    /// The documented status codes besides 400, 413, 500 and 503, which every endpoint may return.
    pub codes: &'static [u16],
    /// Further possible statuses that follow from nothing else here.
    pub further: &'static [u16],
    /// The code that answers, and the type of its answers. `None` only in the bases from which rows
    /// are derived: see [`all_answer`].
    pub handler: Option<Handler>,
}

/// The privilege that admits a caller instead of the usual one of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlternativePrivilege {
    /// None.
    None,
    /// The privilege that the configuration requires for the requested status. The handler checks
    /// that. Beforehand, the caller must hold one of those privileges for some object, and read the
    /// objects in the path.
    OfStatus,
    /// Another privilege. The handler checks the one that the call needs.
    Or(Privilege),
}

/// Whether a call changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEffect {
    /// The effect that method and privilege say: a GET and a call with the read privilege only
    /// read.
    Usual,
    /// The call changes something, or may, although it is a GET or needs only the read privilege. A
    /// page of another site must not cause that with the cookie, and the rules for changes apply.
    Acts,
    /// The call may change an existing object or create a new one. `If-None-Match: *` allows only
    /// the creation.
    MeetsObject,
}

/// Whether a read has an ETag and evaluates `If-None-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagRule {
    /// Reads of objects, contents and containers have one.
    Usual,
    /// A read of objects has none nevertheless.
    Never,
    /// A read that is about no object has the one of its bytes.
    OfBytes,
}

/// The methods of the interface, for use in constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// GET; also answers HEAD.
    Get,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
}

impl Verb {
    /// All methods.
    pub const ALL: [Verb; 4] = [Verb::Get, Verb::Post, Verb::Put, Verb::Delete];

    /// Returns the endpoint method that answers an HTTP method. HEAD is answered as GET.
    pub fn of(method: &Method) -> Option<Verb> {
        match *method {
            Method::GET | Method::HEAD => Some(Verb::Get),
            Method::POST => Some(Verb::Post),
            Method::PUT => Some(Verb::Put),
            Method::DELETE => Some(Verb::Delete),
            _ => None,
        }
    }

    /// Returns the method's name in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

/// The rule for the token of a call (docs/api/README.md, "Tokens").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRule {
    /// A valid token is required; otherwise the reply is a 401.
    Required,
    /// "No token listed": the call needs no token, but an invalid one is refused with 401.
    NotListed,
    /// "No token listed", because the body contains one. Any other token is ignored, valid or not.
    InBody,
    /// A login, which creates a token.
    Login,
}

/// Asserts that each endpoint has a handler. A table with a row without one does not compile.
pub const fn all_answer(groups: &[EndpointGroup]) {
    let mut group = 0;
    while group < groups.len() {
        let mut table = 0;
        while table < groups[group].tables.len() {
            let routes = groups[group].tables[table];
            let mut route = 0;
            while route < routes.len() {
                assert!(routes[route].handler.is_some(), "an endpoint has no handler");
                route += 1;
            }
            table += 1;
        }
        group += 1;
    }
}

impl Route {
    /// Returns the code that answers.
    pub fn handler(&self) -> Handler {
        // Every row of the tables has one: [`all_answer`].
        self.handler.expect("a row of a table has a handler")
    }

    /// Returns the scope in which the privilege is checked.
    pub fn scope(&self) -> PrivilegeScope {
        match self.privilege {
            Some(Privilege::ManageGroups | Privilege::Configure) => PrivilegeScope::Server,
            _ if self.about_people => PrivilegeScope::People,
            _ if self.path_params.iter().any(|param| param.kind == ParameterKind::Source) => PrivilegeScope::Path,
            _ => PrivilegeScope::Named,
        }
    }

    /// Returns the privilege that a call needs.
    pub fn needed_privilege(&self) -> NeededPrivilege {
        match (self.privilege, self.alternative) {
            (None, _) => NeededPrivilege::Nothing,
            (_, AlternativePrivilege::OfStatus) => NeededPrivilege::OfStatus,
            (Some(privilege), AlternativePrivilege::None) => NeededPrivilege::One(privilege),
            (Some(privilege), AlternativePrivilege::Or(other)) => NeededPrivilege::Either(privilege, other),
        }
    }

    /// Returns the rule by which callers are admitted.
    pub fn admission(&self) -> AdmissionRule {
        AdmissionRule { needed: self.needed_privilege(), scope: self.scope(), takes: self.takes }
    }

    /// Returns the object that a refusal of the privilege names, as the caller named it.
    pub fn subject(&self, params: &PathParams<'_>) -> Option<String> {
        let needed = self.needed_privilege().of_object();
        let about = self.needs().find(|(_, of_object)| Some(*of_object) == needed);
        about.and_then(|(name, _)| params.get(name)).map(str::to_owned)
    }

    /// Reports whether the call is about objects in a database.
    pub fn is_about_a_database(&self) -> bool {
        self.privilege.is_some() && self.scope() != PrivilegeScope::Server
    }

    /// Reports whether a read may have a `Last-Modified` time, by which preconditions are
    /// evaluated: that of a content as it is stored.
    pub fn is_dated(&self) -> bool {
        self.is_read() && self.headers.contains(&"If-Range")
    }

    /// Reports whether an `Idempotency-Key` has a meaning here: the call has a user, may be stored,
    /// and changes something.
    pub fn takes_key(&self) -> bool {
        self.method == Verb::Post
            && !self.secret
            && (self.acts() || self.privilege != Some(Privilege::Read))
            && !matches!(self.token, TokenRule::Login | TokenRule::InBody)
    }

    /// Reports whether the call changes something although its method and privilege do not say so.
    pub fn acts(&self) -> bool {
        self.effect == CallEffect::Acts
    }

    /// Reports whether the method is GET.
    pub fn is_read(&self) -> bool {
        self.method == Verb::Get
    }

    /// Reports whether a call only reads, whatever its method, so that nothing is lost if its reply
    /// is refused.
    pub fn only_reads(&self) -> bool {
        let asks = self.method == Verb::Post && self.privilege == Some(Privilege::Read);
        !self.acts() && (self.is_read() || asks)
    }

    /// Reports whether the call is about an object that it names, in the path or in the query
    /// parameter `loid`.
    pub fn names_object(&self) -> bool {
        let in_query = |param: &QueryParam| matches!(param, QueryParam::One { name: "loid", .. });
        self.path_params.iter().any(|param| param.kind == ParameterKind::Source) || self.query.iter().any(in_query)
    }

    /// Reports whether a read has an ETag and evaluates `If-None-Match`: reads of objects, contents
    /// and containers. `container` states whether the reply is a container.
    pub fn is_conditional(&self, container: bool) -> bool {
        if self.tag == TagRule::OfBytes {
            return true;
        }
        self.is_read()
            && self.privilege == Some(Privilege::Read)
            && matches!(self.produces, ReplyFormat::Json | ReplyFormat::Stream | ReplyFormat::Export)
            && (self.names_object() || container)
            && self.tag != TagRule::Never
    }

    /// Reports whether `If-Match` is evaluated, as for all changes of objects. Users, groups, keys
    /// and sessions have no tags.
    pub fn takes_if_match(&self) -> bool {
        let of_objects = match self.privilege {
            None | Some(Privilege::ManageGroups) => false,
            Some(Privilege::Configure) => self.effect == CallEffect::MeetsObject,
            Some(Privilege::Read) => self.acts(),
            Some(_) => true,
        };
        !self.is_read() && of_objects
    }

    /// Returns the objects in the path, and the privilege that each needs.
    pub fn needs(&self) -> impl Iterator<Item = (&'static str, Privilege)> {
        let mut own = self.needed_privilege().of_object().filter(|_| self.scope() == PrivilegeScope::Path);
        let objects = self.path_params.iter().filter(|param| param.kind == ParameterKind::Source);
        objects.filter_map(move |param| Some((param.name, param.needs.or_else(|| own.take())?)))
    }
}

/// A path segment with a value.
#[derive(Debug, Clone, Copy)]
pub struct PathParam {
    /// The name between the braces in the path.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ParameterKind,
    /// The privilege for an object that is not the endpoint's main one. The first parameter without
    /// a privilege is the main object, and needs the endpoint's own. Later ones without a privilege
    /// are parts of it.
    pub needs: Option<Privilege>,
    /// The description for the reference.
    pub about: &'static str,
}

/// The kind of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A loid, uuid or path.
    Source,
    /// `true`, `false`, `1` or `0` in any case.
    Boolean,
    /// A whole number.
    Integer,
    /// A list of texts, from repeated keys or separated by commas.
    TextList,
}

/// A query parameter, or the set of display options.
#[derive(Debug, Clone, Copy)]
pub enum QueryParam {
    /// One parameter.
    One {
        /// The name; compared without regard to case.
        name: &'static str,
        /// The kind of its values.
        kind: ParameterKind,
        /// Whether a call without it is refused with 400.
        required: bool,
        /// The default value, as text; `None` if the interface says null.
        default: Option<&'static str>,
        /// The description for the reference; may be empty.
        about: &'static str,
    },
    /// The display options (docs/api/README.md, "Display options"), without `showWebType` and
    /// `webProduct` where `web` is false.
    Display {
        /// Default of `showAdditionalInfo`.
        additional_info: bool,
        /// Whether `showPath` is included.
        path: bool,
        /// Whether `showWebType` and `webProduct` are included.
        web: bool,
    },
}

/// The size limit of a body that is held in memory. A caller who has not been identified yet may
/// send only a short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodySizeRule {
    /// Small forms and switches, such as a login: `limits.short_body_bytes`.
    Short,
    /// Lists of sources, attributes, texts: `limits.json_bytes`.
    Long,
}

/// The rule for a request body.
#[derive(Debug, Clone, Copy)]
pub enum BodyRule {
    /// No body; any is ignored.
    None,
    /// JSON; may be absent, empty or `{}`.
    Optional(TypeOf, BodySizeRule),
    /// JSON; a call without it is refused with 400.
    Required(TypeOf, BodySizeRule),
    /// A multipart form: a JSON part `options` of at most `limits.upload_part_options_bytes`, and
    /// file parts of at most `limits.upload_bytes` each, which are written to disk as they arrive.
    /// Other parts are not allowed.
    Multipart {
        /// The type of `options`.
        options: TypeOf,
        /// The names of the file parts: the first may occur once, the others any number of times.
        files: &'static [&'static str],
        /// Whether the first is required.
        needs_first: bool,
    },
    /// A multipart form whose files are optional, or bytes of any type, at most
    /// `limits.upload_bytes`, depending on the query.
    MultipartOrBytes {
        /// The type of `options`.
        options: TypeOf,
        /// The names of the file parts.
        files: &'static [&'static str],
    },
    /// The bytes of a content, of any type, at most `limits.upload_bytes`; may be absent or empty.
    /// The handler reads them.
    Bytes,
    /// A URL-encoded form (JSON is accepted too).
    Form(TypeOf, BodySizeRule),
}

impl BodyRule {
    /// Returns the largest size of a body that is held in memory, in bytes; `None` if the handler
    /// reads the body or there is none.
    pub fn most(self, limits: &LimitsConfig) -> Option<usize> {
        match self {
            BodyRule::Optional(_, size) | BodyRule::Required(_, size) | BodyRule::Form(_, size) => Some(match size {
                BodySizeRule::Short => limits.short_body_bytes,
                BodySizeRule::Long => limits.json_bytes,
            }),
            BodyRule::None | BodyRule::Bytes | BodyRule::Multipart { .. } | BodyRule::MultipartOrBytes { .. } => None,
        }
    }
}

/// The content type of a 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFormat {
    /// The envelope, or on the older surface the bare result, as application/json.
    Json,
    /// application/xml;charset=utf-8
    Xml,
    /// text/plain
    Text,
    /// The object's own bytes under its own type.
    Stream,
    /// text/calendar or text/csv, depending on the path.
    Export,
    /// text/event-stream, until the client disconnects.
    Events,
    /// "Any content type": JSON here.
    Any,
}
