//! Shorthands for the route tables: bases for struct update, parameters, code lists.

pub use schemars::JsonSchema;
pub use serde_json::Value;

pub use stet_auth::Privilege;

pub use super::{
    AlternativePrivilege, BodyRule, BodySizeRule, CallEffect, NamedObjectKind, ParameterKind, PathParam, QueryParam,
    ReplyFormat, Route, TagRule, TokenRule, Verb, handler, type_of,
};

/// The statuses of most endpoints.
pub const USUAL_CODES: &[u16] = &[200, 401, 403, 404];
/// The statuses of endpoints that name no object.
pub const CODES_WITHOUT_OBJECT: &[u16] = &[200, 401, 403];

/// Returns the common base of most endpoints: a token, no parameters, no body, JSON replies,
/// [`USUAL_CODES`]. Each group derives its own bases from it.
pub const fn base(method: Verb, privilege: Privilege, source: &'static str) -> Route {
    Route {
        id: "",
        method,
        path: "",
        summary: "",
        source,
        token: TokenRule::Required,
        key_in_address: false,
        about_people: false,
        privilege: Some(privilege),
        alternative: AlternativePrivilege::None,
        path_params: &[],
        query: &[],
        headers: &[],
        body: BodyRule::None,
        takes: NamedObjectKind::Live,
        secret: false,
        cookie: false,
        ends_session: false,
        effect: CallEffect::Usual,
        sorts: false,
        filters: false,
        tag: TagRule::Usual,
        produces: ReplyFormat::Json,
        codes: USUAL_CODES,
        further: &[],
        handler: None,
    }
}

/// Returns a JSON body that may be absent, empty or `{}`.
pub const fn optional<T: JsonSchema>(size: BodySizeRule) -> BodyRule {
    BodyRule::Optional(type_of::<T>, size)
}

/// Returns a JSON body that is required.
pub const fn required<T: JsonSchema>(size: BodySizeRule) -> BodyRule {
    BodyRule::Required(type_of::<T>, size)
}

/// Returns the path parameter `{source}`.
pub const fn source(about: &'static str) -> PathParam {
    object("source", about)
}

/// Returns a path parameter that is a source with another name.
pub const fn object(name: &'static str, about: &'static str) -> PathParam {
    PathParam { name, kind: ParameterKind::Source, needs: None, about }
}

/// Returns a path parameter for an object that is not the endpoint's main one.
pub const fn other(name: &'static str, needs: Privilege, about: &'static str) -> PathParam {
    PathParam { needs: Some(needs), ..object(name, about) }
}

/// Returns a path parameter that is any text.
pub const fn word(name: &'static str, about: &'static str) -> PathParam {
    PathParam { name, kind: ParameterKind::Text, needs: None, about }
}

/// Returns the path parameter `{position}`.
pub const fn position(about: &'static str) -> PathParam {
    PathParam { name: "position", kind: ParameterKind::Integer, needs: None, about }
}

/// Returns an optional text parameter.
pub const fn text(name: &'static str, default: Option<&'static str>, about: &'static str) -> QueryParam {
    QueryParam::One { name, kind: ParameterKind::Text, required: false, default, about }
}

/// Returns a required text parameter.
pub const fn needed(name: &'static str, about: &'static str) -> QueryParam {
    QueryParam::One { name, kind: ParameterKind::Text, required: true, default: None, about }
}

/// Returns a boolean parameter with its default.
pub const fn flag(name: &'static str, default: bool, about: &'static str) -> QueryParam {
    let default = Some(if default { "true" } else { "false" });
    QueryParam::One { name, kind: ParameterKind::Boolean, required: false, default, about }
}

/// Returns a boolean parameter without a default.
pub const fn open_flag(name: &'static str, about: &'static str) -> QueryParam {
    QueryParam::One { name, kind: ParameterKind::Boolean, required: false, default: None, about }
}

/// Returns an optional parameter that is a whole number.
pub const fn number(name: &'static str, default: Option<&'static str>, about: &'static str) -> QueryParam {
    QueryParam::One { name, kind: ParameterKind::Integer, required: false, default, about }
}

/// Returns a parameter that is a list of texts.
pub const fn list(name: &'static str, required: bool, about: &'static str) -> QueryParam {
    QueryParam::One { name, kind: ParameterKind::TextList, required, default: None, about }
}

/// Returns the display options, including `showPath` and `showWebType` (docs/api/README.md,
/// "Display options").
pub const fn disp(additional_info: bool) -> QueryParam {
    QueryParam::Display { additional_info, path: true, web: true }
}

/// The option `showPath` of the reply to a change, which is on by default. The other display
/// options are in [`DISPLAY_OF_CHANGE`].
pub const SHOW_PATH: QueryParam = flag("showPath", true, "Show the path.");
/// The display options of the reply to a change besides [`SHOW_PATH`].
pub const DISPLAY_OF_CHANGE: QueryParam = QueryParam::Display { additional_info: false, path: false, web: true };

/// The order of a listing.
pub const SORT_BY: QueryParam =
    text("sortBy", None, "Order of the listing: `field`, `-field` or `field:asc|desc`, comma-separated.");
/// The number of entries in one reply, where the interface gives it a default.
pub const LIMIT: QueryParam = number("limit", Some("20"), "Maximum number of entries.");
/// The database that a call is about.
pub const DATABASE: QueryParam =
    text("databaseId", None, "Number or name of the database. If omitted, the main database.");
/// The place in the column catalogs where a view is looked up.
pub const VIEW_PATH: QueryParam = text("viewPath", Some("/"), "Path of the view in the column catalog configuration.");
/// The unit of the widths of a view's columns.
pub const WIDTH_UNIT: QueryParam = text("widthUnit", Some("PIXEL"), "Unit of the column widths.");
/// The database with the column catalogs.
pub const VIEW_DATABASE: QueryParam =
    text("viewDatabaseId", None, "Database that holds the column catalog configuration.");
/// A view by its name.
pub const VIEW: PathParam = word("view", "name of the view");
/// The version of an object.
pub const VERSION: QueryParam = number(
    "version",
    Some("-1"),
    "Number of the version; -1 is the latest. If omitted, the holder of the lock reads the draft.",
);
/// Whether content is returned as it is stored.
pub const RAW: QueryParam = flag("raw", false, "Return the stored content instead of the resolved one.");
/// Whether an XML document comes with its DTD.
pub const SHOW_DTD: QueryParam = flag("showDtd", false, "Include the DTD in an XML document.");
/// The size at which content is cut off.
pub const MAX_SIZE: QueryParam =
    number("maxSize", None, "Megabytes (1,000,000 bytes) after which the content is cut off.");
