//! Folders and their views (docs/api/folders.md).

use stet_web::route::words::*;

use crate::folder;

const GET: Route = Route { filters: true, ..base(Verb::Get, Privilege::Read, "docs/api/folders.md") };
const POST: Route = Route { filters: true, ..base(Verb::Post, Privilege::Read, "docs/api/folders.md") };

const FOLDER: PathParam = source("the folder");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "folder-post",
        path: "/v3/folder",
        summary: "Create a folder and its missing parents.",
        privilege: Some(Privilege::Create),
        filters: false,
        body: optional::<folder::CreateFolder>(BodySizeRule::Long),
        handler: handler!(folder::create),
        ..POST
    },
    Route {
        id: "folder-get",
        path: "/v3/folder/{source}",
        summary: "List a folder.",
        path_params: &[FOLDER],
        query: &[SORT_BY, disp(true)],
        handler: handler!(folder::list),
        ..GET
    },
    Route {
        id: "folder-view-get",
        path: "/v3/folder/{source}/view",
        summary: "List a folder in the default view.",
        path_params: &[FOLDER],
        query: &[SORT_BY, VIEW_PATH, disp(false), WIDTH_UNIT, VIEW_DATABASE],
        handler: handler!(folder::views::of_folder),
        ..GET
    },
    Route {
        id: "folder-view-post",
        path: "/v3/folder/{source}/view",
        summary: "List a folder in the default view, the parameters in the body.",
        path_params: &[FOLDER],
        body: optional::<folder::views::ViewBody>(BodySizeRule::Long),
        handler: handler!(folder::views::of_folder),
        ..POST
    },
    Route {
        id: "folder-view-named-get",
        path: "/v3/folder/{source}/view/{view}",
        summary: "List a folder in a named view.",
        path_params: &[FOLDER, VIEW],
        query: &[SORT_BY, VIEW_PATH, disp(true), WIDTH_UNIT],
        handler: handler!(folder::views::of_folder),
        ..GET
    },
    Route {
        id: "folder-view-named-post",
        path: "/v3/folder/{source}/view/{view}",
        summary: "List a folder in a named view, the parameters in the body.",
        path_params: &[FOLDER, VIEW],
        body: optional::<folder::views::ViewBody>(BodySizeRule::Long),
        handler: handler!(folder::views::of_folder),
        ..POST
    },
    Route {
        id: "folder-filter-get",
        path: "/v3/folder/{source}/filter",
        summary: "List objects in a folder whose names match a pattern.",
        path_params: &[FOLDER],
        query: &[
            list("patternSequence", false, "Patterns with `*` and `?`; a name must match one of them."),
            flag("excludeFolders", false, "Leave out folders."),
            flag("showHidden", false, "Show hidden objects."),
            flag("recursive", false, "Include the folders below."),
            number("howMany", Some("0"), "Maximum number of entries; 0 means all."),
            disp(true),
        ],
        sorts: true,
        handler: handler!(folder::filter::filter),
        ..GET
    },
    Route {
        id: "folder-subfolders-get",
        path: "/v3/folder/{source}/subfolders",
        summary: "List the folders in a folder.",
        path_params: &[FOLDER],
        query: &[LIMIT, disp(true)],
        sorts: true,
        handler: handler!(folder::subfolders),
        ..GET
    },
];

/// The five operations on one of the folders with a name of its own in the interface.
macro_rules! special {
    ($($name:literal, $about:literal, $handler:path, $views:path;)+) => { &[$(
        Route {
            id: concat!("folder-", $name, "-get"),
            path: concat!("/v3/folder/", $name),
            summary: concat!("List ", $about, "."),
            query: &[SORT_BY, DATABASE, disp(true)],
            handler: handler!($handler),
            ..GET
        },
        Route {
            id: concat!("folder-", $name, "-view-get"),
            path: concat!("/v3/folder/", $name, "/view"),
            summary: concat!("List ", $about, " in the default view."),
            query: SPECIAL_VIEW,
            handler: handler!($views),
            ..GET
        },
        Route {
            id: concat!("folder-", $name, "-view-post"),
            path: concat!("/v3/folder/", $name, "/view"),
            summary: concat!("List ", $about, " in the default view, the parameters in the body."),
            body: optional::<folder::views::ViewBody>(BodySizeRule::Long),
            handler: handler!($views),
            ..POST
        },
        Route {
            id: concat!("folder-", $name, "-view-named-get"),
            path: concat!("/v3/folder/", $name, "/view/{view}"),
            summary: concat!("List ", $about, " in a named view."),
            path_params: &[VIEW],
            query: SPECIAL_VIEW,
            handler: handler!($views),
            ..GET
        },
        Route {
            id: concat!("folder-", $name, "-view-named-post"),
            path: concat!("/v3/folder/", $name, "/view/{view}"),
            summary: concat!("List ", $about, " in a named view, the parameters in the body."),
            path_params: &[VIEW],
            body: optional::<folder::views::ViewBody>(BodySizeRule::Long),
            handler: handler!($views),
            ..POST
        },
    )+] };
}

const SPECIAL_VIEW: &[QueryParam] = &[SORT_BY, VIEW_PATH, DATABASE, disp(true), WIDTH_UNIT];

/// Home, root and work.
pub const SPECIAL: &[Route] = special! {
    "home", "the user's home folder", folder::home, folder::views::of_home;
    "root", "the root folder of a database", folder::root_folder, folder::views::of_root;
    "work", "the user's work folder", folder::work, folder::views::of_work;
};
