//! Addresses of public pages, and the files that all pages share.

use super::*;

const UUID: &str = "01a21843-c6b3-7daa-a4c2-000000000001";
const POST: &str = "01a21843-c6b3-7daa-a4c2-000000000002";

fn config() -> Config {
    let mut config = Config::default();
    config.liveblog.public.folders = vec!["/Public".to_owned()];
    config
}

fn at(path: &str, query: &str) -> Option<PublicRequest> {
    PublicRequest::at(&config(), path, query)
}

#[test]
fn each_page_has_one_address() {
    for (path, query, wanted) in [
        (format!("/live/{UUID}"), "", (PageForm::Page, PageNumber::Newest, false)),
        (format!("/live/{UUID}"), "utm_source=x&embed", (PageForm::Page, PageNumber::Newest, true)),
        (format!("/live/{UUID}"), "page=3", (PageForm::Page, PageNumber::Older(3), false)),
        (format!("/live/{UUID}/posts"), "page=1", (PageForm::Posts, PageNumber::Older(1), false)),
    ] {
        let Some(PublicRequest::Posts { form, number, embedded, .. }) = at(&path, query) else { panic!("{path}") };
        assert_eq!((form, number, embedded), wanted, "{path}?{query}");
    }
    let picture = at(&format!("/live/{UUID}/picture/{POST}/00000000000000ff"), "");
    assert!(matches!(picture, Some(PublicRequest::Picture { hash: [0, 0, 0, 0, 0, 0, 0, 255], .. })));
    assert!(matches!(at("/live/embed.js", ""), Some(PublicRequest::File(_))));
    assert!(matches!(at(&format!("/live/{}", files::STYLE.name), ""), Some(PublicRequest::File(_))));
    for path in [
        "/live/".to_owned(),
        "/live/x".to_owned(),
        "/live/live.css".to_owned(),
        format!("/live/{}", UUID.to_uppercase()),
        format!("/live/{{{UUID}}}"),
        format!("/live/{UUID}/"),
        format!("/live/{UUID}/x"),
        format!("/live/{UUID}/posts/x"),
        format!("/live/{UUID}/picture/{POST}"),
        format!("/live/{UUID}/picture/{POST}/ff"),
        format!("/live/{UUID}/picture/{POST}/00000000000000FF"),
        format!("/live/{UUID}/picture/{POST}/+0000000000000ff"),
        format!("/live/{UUID}/picture/{POST}/00000000000000ff/x"),
    ] {
        assert!(matches!(at(&path, ""), Some(PublicRequest::Nothing)), "{path}");
    }
    for query in ["page=0", "page=", "page=x", "page=-1", "page=1&page=x"] {
        assert!(matches!(at(&format!("/live/{UUID}"), query), Some(PublicRequest::Nothing)), "{query}");
    }
}

#[test]
fn only_paths_below_the_base_path_are_public_and_none_unless_folders_are_named() {
    let mut config = config();
    config.server.base_path = "/swing/api".to_owned();
    assert!(PublicRequest::at(&config, &format!("/live/{UUID}"), "").is_none());
    assert!(PublicRequest::at(&config, &format!("/swing/api/live/{UUID}"), "").is_some());
    assert!(PublicRequest::at(&config, "/swing/api/lives", "").is_none());
    config.liveblog.public.folders.clear();
    assert!(PublicRequest::at(&config, &format!("/swing/api/live/{UUID}"), "").is_none());
    assert!(PublicRequest::at(&Config::default(), "/live/embed.js", "").is_none());
}
