//! Previews of stories (docs/api/print.md).

use stet_web::route::words::*;

use crate::print;

/// The routes of the group.
pub const ROUTES: &[Route] = &[Route {
    id: "stet-print-story-preview-post",
    path: "/v3/printService/createStoryPreview",
    summary: "Lay out the text of a story on pages, as a picture and as a PDF.",
    query: &[
        needed("id", "Loid of the story, or its uuid or path."),
        flag("getPdf", false, "Also create a PDF of all pages."),
    ],
    body: required::<print::PreviewRequest>(BodySizeRule::Long),
    codes: USUAL_CODES,
    handler: handler!(print::create_story_preview),
    ..base(Verb::Post, Privilege::Create, "docs/api/print.md")
}];
