//! Endpoints as data. The router, the rights check, the parameter check, the OpenAPI document and
//! the contract test are all derived from [`Route`]. The tables stand beside the handlers.

pub mod words;

use std::future::Future;
use std::pin::Pin;

use actix_web::http::Method;

use stet_actors::error::Error;

use super::call::Call;
use super::reply::{Answer, Reply};
use crate::auth::Privilege;
use crate::config::LimitsConfig;
pub use crate::json::{TypeOf, type_of};

/// A call being answered.
pub type Answering = Pin<Box<dyn Future<Output = Result<Reply, Error>>>>;

/// The code that answers one call, and what the document says of its answers.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    /// Answers.
    pub answer: fn(Call) -> Answering,
    /// Type of the `result` (v3) or of the bare body (older surface); `None` if it is not JSON.
    pub reply: Option<TypeOf>,
    /// Whether `Prefer: return=minimal` is followed.
    pub may_be_minimal: bool,
}

/// What a handler takes a call as.
pub trait Taken {
    /// The call as that.
    fn of(call: Call) -> Self;
}

impl Taken for Call {
    fn of(call: Call) -> Call {
        call
    }
}

/// Makes a [`Route::handler`] of an `async fn(T) -> Result<A, Error>`, where `T` is [`Taken`] and
/// `A` an [`Answer`]: the type that the handler answers is the one in the document.
macro_rules! handler {
    ($function:path) => {
        Some($crate::http::route::Handler {
            answer: |call| {
                // Not in an `async` block, which would have two places for the handler's state.
                let answering = $function($crate::http::route::Taken::of(call));
                Box::pin(::futures_util::TryFutureExt::map_ok(answering, $crate::http::reply::Answer::into_reply))
            },
            reply: $crate::http::route::schema_of(&$function),
            may_be_minimal: $crate::http::route::may_be_minimal(&$function),
        })
    };
}
pub(crate) use handler;

/// What the document says of a handler's answers.
pub(crate) const fn schema_of<F, T, R, A>(_: &F) -> Option<TypeOf>
where
    F: Fn(T) -> R,
    T: Taken,
    R: Future<Output = Result<A, Error>>,
    A: Answer,
{
    A::SCHEMA
}

/// Whether a handler's answers may be short.
pub(crate) const fn may_be_minimal<F, T, R, A>(_: &F) -> bool
where
    F: Fn(T) -> R,
    T: Taken,
    R: Future<Output = Result<A, Error>>,
    A: Answer,
{
    A::MAY_BE_MINIMAL
}

/// Endpoints that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Name in the reference.
    pub name: &'static str,
    /// One line for the reference.
    pub about: &'static str,
    /// The endpoints, in the interface's order.
    pub tables: &'static [&'static [Route]],
}

impl Group {
    /// The group's endpoints.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> + use<> {
        self.tables.iter().flat_map(|table| table.iter())
    }
}

/// An endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The endpoint's id in the interface's machine-readable form; ours begin with `stet-`. Unique.
    pub id: &'static str,
    /// HTTP method.
    pub method: Verb,
    /// Path with `{parameter}` segments, below the base path.
    pub path: &'static str,
    /// One line for the reference.
    pub summary: &'static str,
    /// The document that describes it, from the top of the repository: `docs/api/drawers.md`.
    pub source: &'static str,
    /// Whether a token is needed.
    pub token: Token,
    /// Whether a key that only reads may stand in the address, for programs that know nothing of
    /// tokens.
    pub key_in_address: bool,
    /// Whether it shows or reaches people: see [`Scope::People`].
    pub about_people: bool,
    /// What the caller's groups must allow.
    pub privilege: Option<Privilege>,
    /// Whether the privilege is the one that the configuration names for the wanted status. The
    /// handler checks that; the caller must hold one of those for some object, and read the objects
    /// in the path.
    pub privilege_of_status: bool,
    /// Another privilege that lets a caller in who lacks the first: the handler asks for the one
    /// that the call needs.
    pub or_privilege: Option<Privilege>,
    /// Path parameters, in path order.
    pub path_params: &'static [PathParam],
    /// Query parameters, in the interface's order.
    pub query: &'static [QueryParam],
    /// Request headers with a meaning of their own.
    pub headers: &'static [&'static str],
    /// Request body.
    pub body: Body,
    /// Whether an object in the recycle bin may be meant.
    pub takes_recycled: bool,
    /// Whether an item of a topic may be meant; then the privilege is needed on the topic.
    pub takes_items: bool,
    /// Whether a password or a token is in what is sent or answered: then nothing of the call is
    /// kept, here or on the way.
    pub secret: bool,
    /// Whether the reply sets or clears the cookie: a page of another site must not come so far by
    /// the cookie alone, or without a token.
    pub cookie: bool,
    /// Whether it ends the session that calls: the token of one that is dead is good for it, too,
    /// as long as the disk has not taken its end.
    pub ends_session: bool,
    /// Whether it changes something, or may, though it is a GET or needs no more than to read: a
    /// page of another site must not bring that about by the cookie, and it is a change to all that
    /// is asked of changes.
    pub acts: bool,
    /// Whether the call may meet an object or make a new one, and `If-None-Match: *` allows the
    /// latter alone.
    pub meets_object: bool,
    /// Whether `sortBy` gives the order of the listing, though the interface does not list it.
    pub sorts: bool,
    /// Whether the listing takes the filters that all listings of objects have in common.
    pub filters: bool,
    /// Whether a read of objects has no ETag all the same.
    pub untagged: bool,
    /// Whether a read has an ETag though it is about no object: that of the bytes.
    pub tagged: bool,
    /// Content type of a 200.
    pub produces: Produces,
    /// Documented status codes beside 400, 413, 500, 503, which every endpoint may give.
    pub codes: &'static [u16],
    /// Further statuses that may come, which nothing else here shows.
    pub further: &'static [u16],
    /// The code that answers, and the type of its answers. `None` in what rows are derived from
    /// alone: see [`all_answer`].
    pub handler: Option<Handler>,
}

/// The methods that the interface uses, usable in constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// GET; HEAD is answered from it.
    Get,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
}

impl Verb {
    /// All four.
    pub const ALL: [Verb; 4] = [Verb::Get, Verb::Post, Verb::Put, Verb::Delete];

    /// The endpoint method that answers an HTTP method: HEAD is answered as GET.
    pub fn of(method: &Method) -> Option<Verb> {
        match *method {
            Method::GET | Method::HEAD => Some(Verb::Get),
            Method::POST => Some(Verb::Post),
            Method::PUT => Some(Verb::Put),
            Method::DELETE => Some(Verb::Delete),
            _ => None,
        }
    }

    /// The method's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

/// Whether an endpoint needs a token (docs/api/README.md, "Tokens").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// 401 without a valid one.
    Required,
    /// 'no token listed': works without one, and says 401 to one that is not valid.
    NotListed,
    /// 'no token listed', for the body has one: any other is left alone, be it valid or not.
    InBody,
    /// A login: makes one.
    Login,
}

/// What the privilege of an endpoint is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The server as a whole: a grant below a folder is none.
    Server,
    /// The objects in the path: the first is what the endpoint is about, others say themselves what
    /// they need.
    Path,
    /// Names, addresses and messages of people: a key needs the privilege for everything.
    People,
    /// What the body names, or the caller's own: a grant below any folder lets the call in, and the
    /// handler asks for each object.
    Named,
}

/// Makes sure that each endpoint has code that answers: a table without does not compile.
pub const fn all_answer(groups: &[Group]) {
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
    /// The code that answers.
    pub fn handler(&self) -> Handler {
        // Of all rows of the tables: [`all_answer`].
        self.handler.expect("a row of a table has a handler")
    }

    /// What the privilege is checked for.
    pub fn scope(&self) -> Scope {
        match self.privilege {
            Some(Privilege::ManageGroups | Privilege::Configure) => Scope::Server,
            _ if self.about_people => Scope::People,
            _ if self.path_params.iter().any(|param| param.kind == Kind::Source) => Scope::Path,
            _ => Scope::Named,
        }
    }

    /// Whether what it is about lies in a database.
    pub fn is_about_a_database(&self) -> bool {
        self.privilege.is_some() && self.scope() != Scope::Server
    }

    /// Whether a read may have a time, `Last-Modified`, by which preconditions are evaluated: of a
    /// content as it is stored.
    pub fn is_dated(&self) -> bool {
        self.is_read() && self.headers.contains(&"If-Range")
    }

    /// Whether an `Idempotency-Key` has a meaning here: the key is the user's, what the call was is
    /// stored, and it does something.
    pub fn takes_key(&self) -> bool {
        self.method == Verb::Post
            && !self.secret
            && (self.acts || self.privilege != Some(Privilege::Read))
            && !matches!(self.token, Token::Login | Token::InBody)
    }

    /// Whether a call changes nothing.
    pub fn is_read(&self) -> bool {
        self.method == Verb::Get
    }

    /// Whether a call reads, whatever its method: nothing is lost if its reply is refused.
    pub fn only_reads(&self) -> bool {
        let asks = self.method == Verb::Post && self.privilege == Some(Privilege::Read);
        !self.acts && (self.is_read() || asks)
    }

    /// Whether the call is about an object that it names: in the path, or in the query parameter
    /// `loid`.
    pub fn names_object(&self) -> bool {
        let in_query = |param: &QueryParam| matches!(param, QueryParam::One { name: "loid", .. });
        self.path_params.iter().any(|param| param.kind == Kind::Source) || self.query.iter().any(in_query)
    }

    /// Whether a read has an ETag, and evaluates `If-None-Match`: that of an object, of a content,
    /// and of a container, which is what `container` says of the reply.
    pub fn is_conditional(&self, container: bool) -> bool {
        if self.tagged {
            return true;
        }
        self.is_read()
            && self.privilege == Some(Privilege::Read)
            && matches!(self.produces, Produces::Json | Produces::Stream | Produces::Export)
            && (self.names_object() || container)
            && !self.untagged
    }

    /// Whether `If-Match` is evaluated: by all changes of objects. Users, groups, keys and sessions
    /// have no tags.
    pub fn takes_if_match(&self) -> bool {
        let of_objects = match self.privilege {
            None | Some(Privilege::ManageGroups) => false,
            Some(Privilege::Configure) => self.meets_object,
            Some(Privilege::Read) => self.acts,
            Some(_) => true,
        };
        !self.is_read() && of_objects
    }

    /// The objects in the path, and the privilege that each needs.
    pub fn needs(&self) -> impl Iterator<Item = (&'static str, Privilege)> {
        let privilege = if self.privilege_of_status { Some(Privilege::Read) } else { self.privilege };
        let mut own = privilege.filter(|_| self.scope() == Scope::Path);
        let objects = self.path_params.iter().filter(|param| param.kind == Kind::Source);
        objects.filter_map(move |param| Some((param.name, param.needs.or_else(|| own.take())?)))
    }
}

/// A segment of the path that is a value.
#[derive(Debug, Clone, Copy)]
pub struct PathParam {
    /// Name, as in the path between braces.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The privilege needed on an object that is not the one that the endpoint is about. The first
    /// one without is what the endpoint is about, and needs the endpoint's own; what follows is
    /// part of that.
    pub needs: Option<Privilege>,
    /// For the reference.
    pub about: &'static str,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A loid, uuid or path.
    Source,
    /// true, false, 1, 0 in any case.
    Boolean,
    /// A whole number.
    Integer,
    /// Repeated key or comma-separated.
    TextList,
}

/// A query parameter, or the set of display options.
#[derive(Debug, Clone, Copy)]
pub enum QueryParam {
    /// One parameter.
    One {
        /// Name; compared without regard to case.
        name: &'static str,
        /// What values it takes.
        kind: Kind,
        /// 400 without it.
        required: bool,
        /// The value where it is absent, as text; `None` where the interface says null.
        default: Option<&'static str>,
        /// For the reference; may be empty.
        about: &'static str,
    },
    /// The display options (docs/api/README.md, "Display options"), without `showWebType` and
    /// `webProduct` where `web` is false.
    Display {
        /// Default of `showAdditionalInfo`.
        additional_info: bool,
        /// Whether there is a `showPath`.
        path: bool,
        /// Whether there are `showWebType` and `webProduct`.
        web: bool,
    },
}

/// How large a body that is held in memory may be. A caller who is not known yet may only send a
/// short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// What one fills in or switches, such as a login: `limits.short_body_bytes`.
    Short,
    /// Lists of sources, attributes, texts: `limits.json_bytes`.
    Long,
}

/// The rule for a request body.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// Ignored.
    None,
    /// JSON; may be absent, empty or `{}`.
    Optional(TypeOf, Size),
    /// JSON; 400 without it.
    Required(TypeOf, Size),
    /// A multipart form: a JSON part `options`, of `limits.upload_part_options_bytes`, and file
    /// parts, each of `limits.upload_bytes`, which are written to disk as they come. There are no
    /// others.
    Multipart {
        /// Type of `options`.
        options: TypeOf,
        /// Names of the file parts: the first may come once, the others any number of times.
        files: &'static [&'static str],
        /// Whether the first must be there.
        needs_first: bool,
    },
    /// A multipart form whose files are optional, or bytes of any type, of `limits.upload_bytes`:
    /// as the query says.
    MultipartOrBytes {
        /// Type of `options`.
        options: TypeOf,
        /// Names of the file parts.
        files: &'static [&'static str],
    },
    /// The bytes of a content, of any type, of `limits.upload_bytes`; may be absent or empty. The
    /// handler reads it.
    Bytes,
    /// A URL-encoded form (JSON is accepted too).
    Form(TypeOf, Size),
}

impl Body {
    /// How many bytes one that is held in memory may have; `None` for one that the handler reads,
    /// and where there is none.
    pub fn most(self, limits: &LimitsConfig) -> Option<usize> {
        match self {
            Body::Optional(_, size) | Body::Required(_, size) | Body::Form(_, size) => Some(match size {
                Size::Short => limits.short_body_bytes,
                Size::Long => limits.json_bytes,
            }),
            Body::None | Body::Bytes | Body::Multipart { .. } | Body::MultipartOrBytes { .. } => None,
        }
    }
}

/// Content type of a 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Produces {
    /// The envelope, or on the older surface the bare body, as application/json.
    Json,
    /// application/xml;charset=utf-8
    Xml,
    /// text/plain
    Text,
    /// The object's own bytes under its own type.
    Stream,
    /// text/calendar or text/csv, as the path asks.
    Export,
    /// text/event-stream, for as long as the caller stays.
    Events,
    /// 'any content type': JSON here.
    Any,
}
