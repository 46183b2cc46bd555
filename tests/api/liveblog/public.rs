//! Public pages: docs/PUBLIC.md.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat};

use super::*;

/// The folder whose live blogs are public on the servers of these tests.
const FOLDER: &str = "/Test/Public";

/// A server with public pages, and a live blog that is public.
struct PublicBlog {
    blog: Blog,
    uuid: String,
    server: Server,
}

impl PublicBlog {
    fn new(settings: &[(&str, &str)]) -> PublicBlog {
        let folders = format!("/Test/Missing,{FOLDER}");
        let settings = [settings, &[("LIVEBLOG__PUBLIC__FOLDERS", &*folders)]].concat();
        PublicBlog::on(Server::with(&settings), FOLDER)
    }

    fn on(server: Server, folder: &str) -> PublicBlog {
        let editor = server.user("editor");
        let blog = Blog { loid: editor.liveblog(folder, "night"), folder: folder.to_owned(), editor };
        PublicBlog { uuid: uuid(&blog.read().ok()), blog, server }
    }

    /// A reply to a reader without a token.
    fn reader(&self, path: &str) -> Answer {
        self.server.client().get(path)
    }

    fn page(&self) -> String {
        page(&self.reader(&format!("/live/{}", self.uuid)))
    }

    /// The posts alone, as the script gets them.
    fn posts(&self) -> String {
        page(&self.reader(&format!("/live/{}/posts", self.uuid)))
    }

    fn post(&self, title: &str, text: &str) -> String {
        self.blog.post(&json!({ "title": title }), text)
    }
}

fn uuid(reply: &Value) -> String {
    reply["info"]["pstate"]["uuid"].as_str().expect("a record has a uuid").to_owned()
}

fn is_no_endpoint(answer: &Answer) {
    assert!(answer.status == 404 && String::from_utf8_lossy(&answer.body).contains("NoSuchEndpoint"), "{answer:?}");
}

/// The text of a page.
fn page(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    String::from_utf8(answer.body.clone()).expect("a page is UTF-8")
}

/// The data for search engines in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/ld+json\">").expect("it has data");
    let (text, _) = rest.split_once("</script>").expect("the data has an end");
    serde_json::from_str(text).expect("the data is JSON")
}

fn png(width: u32, shade: u8) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::ImageLuma8(image::GrayImage::from_pixel(width, 8, image::Luma([shade])));
    picture.write_to(&mut bytes, ImageFormat::Png).expect("it can be written");
    bytes.into_inner()
}

/// The addresses of pictures on a page.
fn pictures(page: &str) -> Vec<String> {
    page.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// What the server says of the public page of a live blog.
fn address(client: &Client, liveblog: &str) -> Value {
    client.call("stet-liveblog-public-get", &[&liveblog]).ok()["address"].clone()
}

#[test]
fn the_newsroom_learns_the_address_of_a_public_page_from_the_place_of_its_live_blog() {
    let public = PublicBlog::new(&[("LIVEBLOG__PUBLIC__ADDRESS", "https://live.example.org")]);
    let (editor, uuid) = (&public.blog.editor, &public.uuid);
    let expected = json!(format!("https://live.example.org/live/{uuid}"));
    assert_eq!(address(editor, &public.blog.loid), expected);
    assert_eq!(address(&public.server.user("reporter"), &public.blog.loid), expected);
    let elsewhere = editor.liveblog("/Test/Inside", "other");
    assert_eq!(address(editor, &elsewhere), Value::Null);
    // It follows the live blog at once.
    editor.call("stet-object-move-post", &[&public.blog.loid]).json(&json!({ "folderPath": "/Test/Inside" })).ok();
    assert_eq!(address(editor, &public.blog.loid), Value::Null);
    let story = editor.story("/Test", "s.xml");
    editor.call("stet-liveblog-public-get", &[&story]).fails(400, "InvalidType");
    let unnamed = PublicBlog::new(&[]);
    assert_eq!(address(&unnamed.blog.editor, &unnamed.blog.loid), json!(format!("/live/{}", unnamed.uuid)));
}

#[test]
fn without_public_folders_there_are_no_public_pages() {
    let blog = Blog::new();
    assert_eq!(address(&blog.editor, &blog.loid), Value::Null);
    let nobody = Server::shared().client();
    for path in [format!("/live/{}", uuid(&blog.read().ok())), "/live/embed.js".to_owned(), "/live/".to_owned()] {
        is_no_endpoint(&nobody.get(&path));
    }
}

#[test]
fn a_page_shows_approved_posts_and_nothing_else_of_the_newsroom() {
    let public = PublicBlog::new(&[]);
    let blog = &public.blog;
    assert!(public.page().contains("Nothing has been posted yet."));
    public.post("Lights out", "The chamber is <b>dark</b> &amp; quiet.");
    blog.add_unseen();
    let own = blog.post_by(&public.server.user("reporter"), &json!({ "title": "Mine", "moderated": true }), "hidden");
    blog.set(&own, "pending").ok();
    let (whole, alone) = (public.page(), public.posts());
    for page in [&whole, &alone] {
        assert!(page.contains("<h2 dir=\"auto\">Lights out</h2>"), "{page}");
        assert!(page.contains("<p>The chamber is <b>dark</b> &amp; quiet.</p>"), "{page}");
        assert!(page.contains("By Mara Lindqvist"), "the full name of the author: {page}");
        assert_eq!(page.matches("<article ").count(), 1, "{page}");
        for internal in ["1$1.0.", "editor", "reporter", "/Test", "hidden", "pending", "token"] {
            assert!(!page.contains(internal), "{internal} in {page}");
        }
    }
    let data = data(&whole);
    includes(
        &data,
        &json!({ "@type": "LiveBlogPosting", "headline": "night", "@id": format!("urn:uuid:{}", public.uuid) }),
    );
    includes(
        &data["liveBlogUpdate"],
        &json!([{ "@type": "BlogPosting", "headline": "Lights out", "articleBody": "The chamber is dark & quiet.",
                  "author": { "@type": "Person", "name": "Mara Lindqvist" } }]),
    );
    assert!(data["coverageStartTime"].is_string() && data["coverageEndTime"].is_string(), "{data}");
    assert!(data["author"].is_null(), "who made the live blog is not public: {data}");
    assert!(whole.contains("<meta property=\"og:title\" content=\"night\">"), "{whole}");
}

#[test]
fn a_user_without_a_full_name_has_no_byline() {
    let public = PublicBlog::new(&[]);
    let admin = public.server.user("admin");
    admin.call("stet-user-update-put", &[&"editor"]).json(&json!({ "fullName": "" })).ok();
    public.post("Lights out", "dark");
    let page = public.page();
    assert!(
        !page.contains("editor") && !page.contains("byline") && data(&page)["liveBlogUpdate"][0]["author"].is_null()
    );
}

#[test]
fn what_is_withdrawn_is_gone_at_the_next_request_and_the_rest_is_not_sent_again() {
    let public = PublicBlog::new(&[("LIVEBLOG__PUBLIC__MAX_AGE_SECONDS", "9")]);
    let (blog, reader) = (&public.blog, public.server.client());
    public.post("Stays", "here");
    for call in ["pending", "reject", "delete"] {
        let post = public.post("Goes", "away");
        for path in [format!("/live/{}", public.uuid), format!("/live/{}/posts", public.uuid)] {
            let answer = reader.get(&path);
            assert_eq!(page(&answer).matches("<article ").count(), 2, "{call}");
            assert_eq!(answer.header("cache-control"), Some("public, max-age=5, stale-while-revalidate=4"));
            let tag = tag(&answer);
            let again = reader.send("GET", &path, &[("if-none-match", &tag)], b"");
            assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(&*tag)));
            assert_eq!(again.header("cache-control"), answer.header("cache-control"));
            blog.set(&post, call).ok();
            let after = reader.send("GET", &path, &[("if-none-match", &tag)], b"");
            let after = page(&after);
            assert!(after.contains("Stays") && !after.contains("Goes") && !after.contains("away"), "{call}: {after}");
            blog.set(&post, "approve").ok();
        }
        blog.remove(&post).ok();
        assert!(!public.page().contains("Goes"), "{call}");
    }
}

#[test]
fn only_live_blogs_in_public_folders_are_found() {
    let public = PublicBlog::new(&[]);
    let (blog, server, editor) = (&public.blog, &public.server, &public.blog.editor);
    public.post("Lights out", "dark");
    let path = format!("/live/{}", public.uuid);
    let missing = public.reader("/live/01a21843-c6b3-7daa-a4c2-00000000ffff");
    assert_eq!(missing.status, 404);
    let is_missing = |what: &str, path: &str| {
        let answer = public.reader(path);
        assert_eq!((answer.status, &answer.body), (404, &missing.body), "{what}");
    };
    // Nothing else has a page: not what is elsewhere, and no object of another kind.
    let elsewhere = PublicBlog {
        uuid: uuid(&editor.call("liveblog-get", &[&editor.liveblog("/Test/PublicToo", "x")]).ok()),
        ..PublicBlog::on(Server::start(), FOLDER)
    };
    is_missing("a live blog in another folder", &format!("/live/{}", elsewhere.uuid));
    let story = editor.story(FOLDER, "a.xml");
    let folder = editor.call("object-get", &[&FOLDER]).ok();
    for object in [editor.call("object-get", &[&story]).ok(), folder] {
        let uuid =
            object["pstate"]["uuid"].as_str().or(object["info"]["pstate"]["uuid"].as_str()).expect("a uuid").to_owned();
        is_missing("another object", &format!("/live/{uuid}"));
    }
    let post = public.post("Second", "x");
    is_missing("a post", &format!("/live/{}", uuid(&blog.read_post(&post).ok())));
    is_missing("a loid", &format!("/live/{}", encoded(&blog.loid)));
    is_missing("a path", &format!("/live/{}", encoded(&format!("{FOLDER}/night"))));
    // A folder below counts, too.
    let below = format!("{FOLDER}/Below");
    server.user("admin").call("folder-post", &[]).json(&json!({ "path": below })).ok();
    let to = |folder: &str| {
        editor.call("stet-object-move-post", &[&blog.loid]).json(&json!({ "folderPath": folder })).ok();
    };
    to(&below);
    assert_eq!(public.reader(&path).status, 200);
    server.user("admin").call("folder-post", &[]).json(&json!({ "path": "/Test/Private" })).ok();
    to("/Test/Private");
    is_missing("a live blog that was moved", &path);
    is_missing("its posts", &format!("{path}/posts"));
    to(FOLDER);
    assert_eq!(public.reader(&path).status, 200);
    blog.call("liveblog-delete", &[]).ok();
    is_missing("a live blog in the recycle bin", &path);
    blog.call("stet-object-restore-post", &[]).ok();
    assert_eq!(public.reader(&path).status, 200);
}

#[test]
fn hostile_contents_stay_texts() {
    let server = Server::with(&[
        ("LIVEBLOG__PUBLIC__FOLDERS", FOLDER),
        ("LIVEBLOG__PUBLIC__ADDRESS", "https://live.example.org/a"),
    ]);
    let editor = server.user("editor");
    let name = format!("\u{202e}<script>alert(1)</script>{}", "ü".repeat(112));
    assert_eq!(name.len(), 252);
    let loid = editor.liveblog(FOLDER, &name.replace('/', "|"));
    let blog = Blog { folder: FOLDER.to_owned(), loid, editor };
    let public = PublicBlog { uuid: uuid(&blog.read().ok()), blog, server };
    let title = "</title></script><script>alert(1)</script><!--<script>\u{202e}\"'><img src=x onerror=alert(1)>";
    let options = json!({ "title": title, "summary": title, "tags": [title] });
    let html = "<script>alert(1)</script><img src=x onerror='alert(1)'><a href='javascript:alert(1)' onclick=x>a</a>\
                <svg onload=alert(1)></svg></div></article><style>*{}</style><iframe src=//evil.example></iframe>\
                <p style='x' id=posts>kept</p>";
    let png = png(8, 7);
    let named = "'><script>alert(1)<script>.png";
    for content_type in ["text/html", "text/xml", "text/plain"] {
        let files: [File<'_>; 2] =
            [("content", "p", content_type, html.as_bytes()), ("attachments", named, "image/png", &png)];
        public.blog.new_post(&options, &files).ok();
    }
    for page in [public.page(), public.posts()] {
        let page = page.replace("<script type=\"application/ld+json\">", "").replacen("<script src=", "", 1);
        let outside = match page.split_once("{\"@type\"") {
            Some((before, behind)) => format!("{before}{}", behind.split_once("</script>").expect("an end").1),
            None => page,
        };
        for tag in ["<script", "<svg", "<style", "<iframe", "<img src=\"x\"", "<!--"] {
            assert!(!outside.to_ascii_lowercase().contains(tag), "{tag}: {outside}");
        }
        // What a browser would take for an attribute of its own is a text, or not there.
        let tags = outside.split('<').skip(1).filter_map(|rest| rest.split('>').next());
        for tag in tags {
            for bad in ["onerror=", "onload=", "onclick=", "javascript:", " style=", "evil.example"] {
                let outside_values: String = tag.split('"').step_by(2).collect();
                assert!(!outside_values.contains(bad), "{bad}: {tag}");
            }
        }
        assert!(outside.contains("<p>kept</p>"), "{outside}");
    }
    let page = public.page();
    let data = data(&page);
    assert_eq!(data["liveBlogUpdate"].as_array().expect("it has posts").len(), 3);
    assert_eq!(data["url"], format!("https://live.example.org/a/live/{}", public.uuid));
    assert!(
        page.contains(&format!("<link rel=\"canonical\" href=\"https://live.example.org/a/live/{}\">", public.uuid))
    );
}

#[test]
fn replies_have_headers_that_protect_readers_and_the_newsroom() {
    let public = PublicBlog::new(&[
        ("LIVEBLOG__PUBLIC__EMBED_SITES", "https://www.example.org,*.example.net"),
        ("SERVER__CORS_ORIGINS", "https://desk.example.org"),
    ]);
    let path = format!("/live/{}", public.uuid);
    for (path, status, ancestors) in [
        (path.clone(), 200, "'none'"),
        (format!("{path}?embed"), 200, "https://www.example.org *.example.net"),
        (format!("{path}/posts"), 200, "'none'"),
        ("/live/nothing".to_owned(), 404, "https://www.example.org *.example.net"),
    ] {
        // Also for an origin that may use the interface: a proxy would give its reply to others.
        let answer = public.server.client().send("GET", &path, &[("origin", "https://desk.example.org")], b"");
        assert_eq!(answer.status, status, "{path}");
        let policy = answer.header("content-security-policy").expect("it has a policy");
        for part in ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(policy.contains("sandbox ") && !policy.contains("allow-same-origin"), "{path}: {policy}");
        assert!(policy.ends_with(&format!("frame-ancestors {ancestors}")), "{path}: {policy}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(answer.header("cache-control").is_some_and(|rule| rule.starts_with("public, max-age=")), "{path}");
        assert_eq!(answer.header("set-cookie"), None, "{path}");
    }
    let head = public.server.client().send("HEAD", &path, &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.header("etag").is_some());
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let answer = public.server.client().send(method, &path, &[], b"{}");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[test]
fn older_posts_are_on_pages_of_their_own() {
    let public = PublicBlog::new(&[("LIVEBLOG__PUBLIC__POSTS", "2"), ("LIVEBLOG__PUBLIC__LANGUAGE", "de")]);
    for number in 1..=7 {
        public.blog.post(&json!({ "title": format!("Post {number}"), "timestamp": 1000 * number }), "x");
    }
    let shown = |query: &str| -> (Vec<String>, Option<String>) {
        let text = page(&public.reader(&format!("/live/{}{query}", public.uuid)));
        let titles = text.split("<h2 dir=\"auto\">").skip(1).filter_map(|rest| rest.split('<').next());
        let titles = titles.map(str::to_owned).collect();
        let next = text.split_once("?page=").filter(|_| text.contains("Frühere Beiträge zeigen"));
        let last = text.rsplit_once("?page=").filter(|_| next.is_some());
        (titles, last.map(|(_, rest)| rest.split('"').next().unwrap_or_default().to_owned()))
    };
    assert_eq!(shown(""), (vec!["Post 7".into(), "Post 6".into(), "Post 5".into()], Some("2".into())));
    assert_eq!(shown("?page=2"), (vec!["Post 4".into(), "Post 3".into()], Some("1".into())));
    assert_eq!(shown("?page=1"), (vec!["Post 2".into(), "Post 1".into()], None));
    public.post("Post 8", "x");
    assert_eq!(shown("?page=2").0, ["Post 4", "Post 3"], "a page keeps its posts");
    for query in ["?page=0", "?page=4", "?page=99999999999999999999", "?page=x"] {
        assert_eq!(public.reader(&format!("/live/{}{query}", public.uuid)).status, 404, "{query}");
    }
    assert!(public.page().contains("<html lang=\"de\">"));
}

#[test]
fn pictures_are_scaled_and_only_those_of_approved_posts() {
    let public = PublicBlog::new(&[("CONTENT__LOWRES_PIXELS", "16")]);
    let blog = &public.blog;
    let (inside, beside, own) = (png(64, 1), png(32, 2), png(24, 3));
    let content = "<post><p>Look</p><img src=\"in side.png\" alt=\"Inside\"/><img src=\"x.svg\"/></post>";
    let files: [File<'_>; 5] = [
        ("content", "p.xml", "text/xml", content.as_bytes()),
        ("attachments", "in side.png", "image/png", &inside),
        ("attachments", "beside.png", "image/png", &beside),
        ("attachments", "x.svg", "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("attachments", "notes.txt", "text/plain", b"secret"),
    ];
    let post = id(&blog.new_post(&json!({ "title": "Look" }), &files).ok());
    blog.new_post(&json!({ "title": "Own" }), &[("content", "own.png", "image/png", &own)]).ok();
    let page = public.page();
    assert!(!page.contains("x.svg") && !page.contains("notes.txt"), "{page}");
    let found = pictures(&page);
    assert_eq!(found.len(), 3, "{page}");
    let reader = public.server.client();
    for picture in &found {
        let answer = reader.get(&format!("/live/{picture}"));
        assert_eq!(answer.status, 200, "{picture}");
        let scaled = image::load_from_memory(&answer.body).expect("it is a picture");
        assert_eq!(scaled.width(), 16, "{picture}");
        assert_eq!(answer.header("content-security-policy"), Some("default-src 'none'; sandbox"));
        let tag = tag(&answer);
        let again = reader.send("GET", &format!("/live/{picture}"), &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
    let statuses =
        || -> Vec<u16> { found.iter().map(|picture| reader.get(&format!("/live/{picture}")).status).collect() };
    for call in ["pending", "reject", "delete"] {
        blog.set(&post, call).ok();
        assert_eq!(statuses().iter().filter(|status| **status == 404).count(), 2, "{call}");
        blog.set(&post, "approve").ok();
        assert_eq!(statuses(), [200; 3], "{call}");
    }
    // Not another picture of the post, and not by another post.
    let (folder, last) = found[0].rsplit_once('/').expect("it is a path");
    for wrong in [format!("{folder}/0000000000000000"), format!("{}/picture/{}/{last}", public.uuid, public.uuid)] {
        assert_eq!(reader.get(&format!("/live/{wrong}")).status, 404, "{wrong}");
    }
}

#[test]
fn posts_that_are_too_long_are_announced_without_their_text() {
    let public = PublicBlog::new(&[]);
    let long = "word ".repeat(14_000);
    public.blog.post(&json!({ "title": "Long", "summary": "In short" }), &long);
    public.post("Short", "x");
    let page = public.page();
    assert!(page.contains("In short") && page.contains("This post is too long"), "{}", page.len());
    assert!(!page.contains("word word") && page.len() < 20_000, "{}", page.len());
    // Many that are short enough one by one.
    for number in 0..12 {
        public.post(&format!("Many {number}"), &"text ".repeat(12_000));
    }
    let page = public.page();
    assert!(page.contains("This post is too long") && page.len() < 3 << 20, "{}", page.len());
    assert_eq!(page.matches("<article ").count(), 14);
}

#[test]
fn other_sites_embed_a_page_by_a_script() {
    let public = PublicBlog::new(&[]);
    let script = public.reader("/live/embed.js");
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cache-control"), Some("public, max-age=3600"));
    let policy = public.reader(&format!("/live/{}?embed", public.uuid));
    assert!(policy.header("content-security-policy").is_some_and(|policy| policy.ends_with("frame-ancestors *")));
    // The page names its style and its script, which browsers keep for ever.
    let page = public.page();
    for (before, media_type) in [
        ("<link rel=\"stylesheet\" href=\"", "text/css; charset=utf-8"),
        ("<script src=\"", "text/javascript; charset=utf-8"),
    ] {
        let name = page.split_once(before).and_then(|(_, rest)| rest.split('"').next()).expect("it is named");
        let file = public.reader(&format!("/live/{name}"));
        assert_eq!((file.status, file.header("content-type")), (200, Some(media_type)));
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
}

#[test]
fn public_pages_are_below_the_base_path() {
    let server = Server::with(&[
        ("SERVER__BASE_PATH", "/swing/api"),
        ("LIVEBLOG__PUBLIC__FOLDERS", FOLDER),
        ("LIVEBLOG__PUBLIC__ADDRESS", "https://live.example.org"),
    ]);
    let editor = editor_below(&server, "/swing/api");
    let loid = editor.liveblog(FOLDER, "night");
    let uuid = uuid(&editor.call("liveblog-get", &[&loid]).ok());
    let text = page(&server.client().get(&format!("/swing/api/live/{uuid}")));
    assert!(text.contains(&format!("content=\"https://live.example.org/swing/api/live/{uuid}\"")), "{text}");
    is_no_endpoint(&server.client().get(&format!("/live/{uuid}")));
    assert_eq!(address(&editor, &loid), json!(format!("https://live.example.org/swing/api/live/{uuid}")));
}

#[test]
fn an_ended_live_blog_says_so() {
    let public = PublicBlog::new(&[]);
    assert!(public.page().contains("class=\"state live\""));
    public.blog.call("stet-object-status-post", &[]).json(&json!({ "status": "LiveBlog/Closed" })).ok();
    assert!(public.page().contains("class=\"state ended\""));
}

#[test]
fn a_page_is_rendered_once_for_all_who_ask_for_it() {
    let public = PublicBlog::new(&[]);
    public.post("Lights out", "dark");
    let misses = || public.server.client().metric("stet_cache_misses_total{cache=\"pages\"}");
    public.page();
    let before = misses();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| drop(public.page())));
        }
    });
    assert!(misses() <= before + 1.0, "another one only at the full minute");
}
