//! Objects (docs/api/objects.md, docs/api/content.md).

use stet_endpoint::requests;
use stet_web::route::words::*;

use crate::object;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/objects.md");
const POST: Route = base(Verb::Post, Privilege::Read, "docs/api/objects.md");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/content.md");
const DELETE: Route = base(Verb::Delete, Privilege::Delete, "docs/api/objects.md");

const OBJECT: PathParam = source("the object");
const LINKED: PathParam = source("the object, or the item of a topic");

/// The common properties of routes that write content.
const WRITE: Route = Route { body: BodyRule::Bytes, ..PUT };
const CHECK_IN: QueryParam = flag("checkIn", true, "Check in after the write; otherwise the working copy is saved.");
const KEEP: QueryParam = flag("keepCheckedOut", false, "Keep the lock after the check-in.");
const UNLOCK: QueryParam = flag("unlock", false, "Without a check-in: release the lock at the end.");
const NEW_VERSION: QueryParam =
    flag("newVersion", false, "Check in as a new version; otherwise the latest is replaced.");
const CHECK_OUT: QueryParam = flag("checkOut", false, "Check out before the write.");
const CLEAN: QueryParam =
    flag("checkOutClean", false, "Check out from the last checked-in version and discard a draft.");

const LOID: QueryParam = needed("loid", "Loid of the object, or its uuid or path.");

/// The common properties of routes that return content.
const CONTENT: Route = Route {
    path_params: &[OBJECT],
    query: &[VERSION, RAW, SHOW_DTD, MAX_SIZE],
    headers: &["Range", "If-Range"],
    produces: ReplyFormat::Stream,
    codes: &[200, 206, 304, 401, 403, 404, 416],
    ..GET
};

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "object-destroy",
        takes: NamedObjectKind::Recycled,
        path: "/v3/object/{source}/destroy",
        summary: "Destroy an object for good.",
        privilege: Some(Privilege::Destroy),
        path_params: &[OBJECT],
        handler: handler!(object::destroy),
        ..DELETE
    },
    Route {
        id: "objects-destroy",
        path: "/v3/object/destroy",
        summary: "Destroy the objects named in the body for good.",
        privilege: Some(Privilege::Destroy),
        body: required::<requests::ObjectListRequest>(BodySizeRule::Long),
        handler: handler!(object::destroy_all),
        ..DELETE
    },
    Route {
        id: "object-discard",
        path: "/v3/object/{source}/discard",
        summary: "Move an object to the recycle bin.",
        path_params: &[OBJECT],
        handler: handler!(object::discard),
        ..DELETE
    },
    Route {
        id: "objects-discard",
        path: "/v3/object/discard",
        summary: "Move the objects named in the body to the recycle bin.",
        body: required::<requests::ObjectListRequest>(BodySizeRule::Long),
        handler: handler!(object::discard_all),
        ..DELETE
    },
    Route {
        id: "object-lastversionloid-get",
        source: "docs/api/content.md",
        path: "/v3/object/{source}/lastversionloid",
        summary: "Read the loid of an object's last version, as plain text.",
        path_params: &[OBJECT],
        produces: ReplyFormat::Text,
        handler: handler!(object::last_version_loid),
        ..GET
    },
    Route {
        id: "object-get",
        path: "/v3/object/{source}",
        summary: "Read an object.",
        path_params: &[OBJECT],
        query: &[disp(false)],
        handler: handler!(object::get),
        ..GET
    },
    Route {
        id: "object-family-get",
        source: "docs/api/objects.md",
        path: "/v3/object/{uuid}/family",
        summary: "List the members of a story family: the objects that share a SUID.",
        path_params: &[object("uuid", "any member of the family")],
        query: &[DATABASE, QueryParam::Display { additional_info: false, path: false, web: true }],
        handler: handler!(object::family),
        ..GET
    },
    Route {
        id: "stet-object-list-post",
        source: "docs/api/objects.md",
        path: "/v3/object",
        summary: "Read the objects named in the body.",
        body: required::<requests::ObjectListRequest>(BodySizeRule::Long),
        handler: handler!(object::list),
        ..POST
    },
    Route {
        id: "stet-object-create-post",
        source: "docs/api/objects.md",
        path: "/v3/object/create",
        summary: "Create an object from its content.",
        privilege: Some(Privilege::Create),
        body: BodyRule::Multipart { options: type_of::<object::CreateObject>, files: &["content"], needs_first: false },
        handler: handler!(object::create),
        ..POST
    },
    Route {
        id: "stet-object-import-post",
        source: "docs/api/objects.md",
        path: "/v3/object/import",
        summary: "Import an object of another repository, with its uuid, its times and its links.",
        privilege: Some(Privilege::Configure),
        effect: CallEffect::MeetsObject,
        body: BodyRule::Multipart { options: type_of::<object::ImportObject>, files: &["content"], needs_first: false },
        handler: handler!(object::import),
        ..POST
    },
    Route {
        id: "stet-object-create-from-template-post",
        path: "/v3/object/create/from/template/path",
        summary: "Create an object from a template.",
        privilege: Some(Privilege::Create),
        query: &[needed("path", "Path of the template, or its loid or uuid.")],
        body: required::<object::CreateObject>(BodySizeRule::Long),
        handler: handler!(object::create_from_template),
        ..POST
    },
    Route {
        id: "stet-object-story-from-template-post",
        source: "docs/api/objects.md",
        path: "/v3/object/story/from/template/path",
        summary: "Create a story from a template, in the form that some clients use.",
        privilege: Some(Privilege::Create),
        query: &[needed("path", "Path of the template, or its loid or uuid.")],
        body: required::<object::CreateObject>(BodySizeRule::Long),
        handler: handler!(object::create_from_template),
        ..POST
    },
    Route {
        id: "stet-object-content-get",
        path: "/v3/object/{source}/content",
        summary: "Read the content of an object, resolved or as stored.",
        source: "docs/api/content.md",
        handler: handler!(object::content),
        ..CONTENT
    },
    Route {
        id: "stet-object-content-binary-get",
        path: "/v3/object/{source}/content/binary",
        summary: "Read the content of an object as a stream of bytes.",
        source: "docs/api/content.md",
        handler: handler!(object::content),
        ..CONTENT
    },
    Route {
        id: "stet-object-content-format-get",
        path: "/v3/object/{source}/content/{format}",
        summary: "Read the content of an object as `binary`, or a picture as `highres` (in full) or `lowres` (scaled \
                  down).",
        source: "docs/api/content.md",
        path_params: &[
            OBJECT,
            word(
                "format",
                "`binary`: the stored bytes; `highres`: the picture in full; `lowres`: a scaled JPEG or PNG",
            ),
        ],
        codes: &[200, 206, 304, 400, 401, 403, 404, 416, 503],
        handler: handler!(object::content_as),
        ..CONTENT
    },
    Route {
        id: "stet-object-loid-content-get",
        path: "/v3/object/loid/content",
        summary: "Read the content of the object whose loid is in the query.",
        source: "docs/api/content.md",
        path_params: &[],
        query: &[LOID, VERSION, RAW, SHOW_DTD, MAX_SIZE],
        handler: handler!(object::content_by_loid),
        ..CONTENT
    },
    Route {
        id: "stet-object-content-put",
        path: "/v3/object/{source}/content",
        summary: "Write an object's content: check out, write and check in as one step.",
        path_params: &[OBJECT],
        query: &[SHOW_PATH, DISPLAY_OF_CHANGE, CHECK_IN, KEEP, UNLOCK, NEW_VERSION, CHECK_OUT, CLEAN],
        handler: handler!(object::write_content),
        ..WRITE
    },
    Route {
        id: "stet-object-loid-content-put",
        path: "/v3/object/loid/content",
        summary: "Write the content of the object whose loid is in the query.",
        query: &[LOID, SHOW_PATH, DISPLAY_OF_CHANGE, CHECK_IN, KEEP, UNLOCK, NEW_VERSION, CHECK_OUT, CLEAN],
        handler: handler!(object::write_content_by_loid),
        ..WRITE
    },
    Route {
        id: "stet-object-versions-get",
        source: "docs/api/content.md",
        path: "/v3/object/{source}/versions",
        summary: "List the versions of an object, the newest first.",
        path_params: &[OBJECT],
        handler: handler!(object::versions),
        ..GET
    },
    Route {
        id: "stet-object-version-restore-post",
        source: "docs/api/content.md",
        path: "/v3/object/{source}/versions/{version}/restore",
        summary: "Create a new version of an object with the content of an old one.",
        privilege: Some(Privilege::Write),
        path_params: &[
            OBJECT,
            PathParam {
                name: "version",
                kind: ParameterKind::Integer,
                needs: None,
                about: "number of the old version",
            },
        ],
        body: optional::<Value>(BodySizeRule::Short),
        handler: handler!(object::restore_version),
        ..POST
    },
    Route {
        id: "stet-object-lock-post",
        source: "docs/api/content.md",
        path: "/v3/object/{source}/lock",
        summary: "Lock an object for this session.",
        privilege: Some(Privilege::Write),
        path_params: &[OBJECT],
        body: optional::<Value>(BodySizeRule::Short),
        handler: handler!(object::lock),
        ..POST
    },
    Route {
        id: "stet-object-unlock-post",
        source: "docs/api/content.md",
        path: "/v3/object/{source}/unlock",
        summary: "Release the lock of an object.",
        privilege: Some(Privilege::Write),
        path_params: &[OBJECT],
        body: optional::<object::UnlockRequest>(BodySizeRule::Short),
        handler: handler!(object::unlock),
        ..POST
    },
    Route {
        id: "stet-object-correlate-post",
        takes: NamedObjectKind::Items,
        path: "/v3/object/{source}/correlate",
        summary: "Link an object or topic item with another.",
        privilege: Some(Privilege::Write),
        path_params: &[LINKED],
        body: required::<object::CorrelateRequest>(BodySizeRule::Short),
        handler: handler!(object::correlate),
        ..POST
    },
    Route {
        id: "stet-object-uncorrelate-post",
        source: "docs/api/objects.md",
        takes: NamedObjectKind::Items,
        path: "/v3/object/{source}/uncorrelate",
        summary: "Remove a link between two objects or topic items.",
        privilege: Some(Privilege::Write),
        path_params: &[LINKED],
        body: required::<object::CorrelateRequest>(BodySizeRule::Short),
        handler: handler!(object::uncorrelate),
        ..POST
    },
    Route {
        id: "stet-object-correlates-get",
        source: "docs/api/objects.md",
        takes: NamedObjectKind::Items,
        path: "/v3/object/{source}/correlates",
        summary: "List the links of an object or topic item.",
        path_params: &[LINKED],
        handler: handler!(object::correlate_list),
        ..GET
    },
    Route {
        id: "stet-object-metadata-change-fields-post",
        path: "/v3/object/metadata/change/fields",
        summary: "Change fields of the attributes of objects.",
        privilege: Some(Privilege::Write),
        body: required::<object::ChangeFieldsRequest>(BodySizeRule::Long),
        handler: handler!(object::change_fields),
        ..POST
    },
    Route {
        id: "stet-object-status-post",
        takes: NamedObjectKind::Items,
        path: "/v3/object/{source}/status",
        summary: "Change the workflow status of an object or topic item.",
        privilege: Some(Privilege::Write),
        alternative: AlternativePrivilege::OfStatus,
        path_params: &[LINKED],
        body: required::<object::StatusRequest>(BodySizeRule::Short),
        handler: handler!(object::change_status),
        ..POST
    },
    Route {
        id: "stet-objects-status-post",
        path: "/v3/object/status",
        summary: "Change the workflow status of the objects named in the body.",
        privilege: Some(Privilege::Write),
        alternative: AlternativePrivilege::OfStatus,
        body: required::<object::StatusesRequest>(BodySizeRule::Long),
        handler: handler!(object::change_statuses),
        ..POST
    },
    Route {
        id: "stet-object-rename-post",
        source: "docs/api/objects.md",
        path: "/v3/object/{source}/rename",
        summary: "Give an object another name in its folder.",
        privilege: Some(Privilege::Write),
        path_params: &[OBJECT],
        body: required::<object::RenameRequest>(BodySizeRule::Short),
        handler: handler!(object::rename),
        ..POST
    },
    Route {
        id: "stet-object-move-post",
        source: "docs/api/objects.md",
        path: "/v3/object/{source}/move",
        summary: "Move an object, with everything below it, into another folder.",
        privilege: Some(Privilege::Write),
        path_params: &[OBJECT],
        body: required::<object::MoveRequest>(BodySizeRule::Short),
        handler: handler!(object::relocate),
        ..POST
    },
    Route {
        id: "stet-object-restore-post",
        source: "docs/api/objects.md",
        takes: NamedObjectKind::Recycled,
        path: "/v3/object/{source}/restore",
        summary: "Restore an object from the recycle bin to its former folder.",
        privilege: Some(Privilege::Delete),
        path_params: &[OBJECT],
        body: optional::<object::RestoreRequest>(BodySizeRule::Short),
        handler: handler!(object::restore),
        ..POST
    },
];
