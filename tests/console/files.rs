//! The files of the console over HTTP: addresses, caching, forms and headers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::*;

/// The most that the first view loads, in bytes as they are sent to browsers.
const FIRST_VIEW_BYTES: usize = 60 << 10;
/// The most requests that the first view takes.
const FIRST_VIEW_REQUESTS: usize = 25;

/// What browsers send as `Accept-Encoding`.
const BROWSER: &[(&str, &str)] = &[("accept-encoding", "gzip, deflate, br, zstd")];

/// The page, uncompressed.
fn page(client: &Client) -> String {
    String::from_utf8(client.get("/console/").decoded().body).expect("the page is text")
}

/// The values of an attribute on a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let start = format!(" {attribute}=\"");
    page.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The path of the folder of the assets, with a slash at its end.
fn folder(client: &Client) -> String {
    let page = page(client);
    let main = values(&page, "src").into_iter().find(|address| address.ends_with("/main.js"));
    format!("/console/{}", main.expect("the page loads main.js").strip_suffix("main.js").expect("it ends so"))
}

/// The served files in the repository, by their paths below `console`.
fn sources() -> BTreeMap<String, Vec<u8>> {
    fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8").to_owned();
            if path.is_dir() && format!("{below}{name}") != "tests" {
                collect(&path, &format!("{below}{name}/"), files);
            } else if [".js", ".css", ".svg", ".woff2", ".png"].iter().any(|end| name.ends_with(end)) {
                files.insert(format!("{below}{name}"), fs::read(&path).expect("it can be read"));
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("console"), "", &mut files);
    files
}

/// Asserts that a reply has the headers that protect the console.
#[track_caller]
fn is_guarded(reply: &Answer) {
    let policy = reply.header("content-security-policy").expect("a reply of the console has a policy");
    for part in [
        "default-src 'none';",
        "script-src 'self';",
        "style-src 'self';",
        "connect-src 'self';",
        "base-uri 'none';",
        "frame-ancestors 'none';",
        "require-trusted-types-for 'script';",
    ] {
        assert!(policy.contains(part), "{part} is missing in {policy}");
    }
    assert!(policy.ends_with("trusted-types stet") && !policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        let all: Vec<_> = reply.headers.iter().filter(|(found, _)| found == name).collect();
        assert!(all.len() == 1 && all[0].1 == value, "{name}: {all:?}");
    }
    let policies = reply.headers.iter().filter(|(name, _)| name == "content-security-policy");
    assert_eq!(policies.count(), 1);
}

#[test]
fn the_page_is_checked_at_each_visit_and_names_the_folder_of_this_version() {
    let client = Server::shared().client();
    let reply = client.get("/console/");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    is_guarded(&reply);
    let page = page(&client);
    assert!(!page.contains("{{"), "{page}");
    // Relative addresses hold behind a proxy that adds a prefix.
    for address in values(&page, "href").into_iter().chain(values(&page, "src")) {
        assert!(address.starts_with("assets-") || address.starts_with("data:"), "{address}");
    }
    assert_eq!(client.get("/console/?from=mail").status, 200);
}

#[test]
fn every_file_is_served_unchanged_and_kept_for_ever() {
    let client = Server::shared().client();
    let folder = folder(&client);
    let sources = sources();
    assert!(sources.contains_key("main.js") && sources.len() > 2, "{:?}", sources.keys());
    for (path, bytes) in sources {
        let reply = client.send("GET", &format!("{folder}{path}"), BROWSER, b"");
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
        assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path}");
        let expected = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("woff2") => "font/woff2",
            _ => "image/png",
        };
        assert_eq!(reply.header("content-type"), Some(expected), "{path}");
        assert!(reply.decoded().body == bytes, "{path} is not what it was");
        is_guarded(&reply);
    }
}

#[test]
fn a_file_is_sent_in_the_preferred_form_which_has_its_own_tag() {
    let client = Server::shared().client();
    for path in ["/console/".to_owned(), format!("{}style.css", folder(&client))] {
        let in_form = |accepted: &str| {
            let reply = client.send("GET", &path, &[("accept-encoding", accepted)], b"");
            let coding = reply.header("content-encoding").unwrap_or("identity").to_owned();
            assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path} {accepted}");
            let length = reply.header("content-length").expect("the length is known").parse::<usize>();
            assert_eq!(length.expect("it is a number"), reply.body.len());
            (coding, reply.header("etag").expect("a file has a tag").to_owned(), reply.decoded().body)
        };
        let (plain_form, brotli, gzip) = (in_form("identity"), in_form("gzip, deflate, br, zstd"), in_form("gzip"));
        let codings = [&plain_form, &brotli, &gzip].map(|form| form.0.as_str());
        // A file that is too small to gain from a form has none.
        if plain_form.2.len() > 500 {
            assert_eq!(codings, ["identity", "br", "gzip"], "{path}");
            assert!(plain_form.1 != brotli.1 && brotli.1 != gzip.1 && gzip.1 != plain_form.1, "{path}");
        }
        assert!(plain_form.2 == brotli.2 && brotli.2 == gzip.2, "{path}");
        for (accepted, expected) in [
            ("br;q=0.2, gzip;q=0.9", &gzip),
            ("br;q=0, gzip", &gzip),
            ("*", &brotli),
            ("identity, br;q=0.5", &plain_form),
            ("zstd", &plain_form),
            ("", &plain_form),
        ] {
            assert_eq!(in_form(accepted).0, expected.0, "{path} {accepted}");
        }
        assert!(plain_form.1.starts_with('"'), "the tag {} is weak", plain_form.1);
    }
}

#[test]
fn a_form_that_the_client_has_is_a_304_and_another_form_is_sent() {
    let client = Server::shared().client();
    for path in ["/console/".to_owned(), format!("{}main.js", folder(&client))] {
        let with = |accepted: &str, known: &str| {
            let headers: &[(&str, &str)] = match known {
                "" => &[("accept-encoding", accepted)],
                _ => &[("accept-encoding", accepted), ("if-none-match", known)],
            };
            client.send("GET", &path, headers, b"")
        };
        for accepted in ["br", "gzip", "identity"] {
            let first = with(accepted, "");
            let tag = first.header("etag").expect("a file has a tag").to_owned();
            for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
                let again = with(accepted, &known);
                assert_eq!((again.status, again.body.len()), (304, 0), "{path} {accepted} {known}");
                for header in ["etag", "cache-control", "vary"] {
                    assert_eq!(again.header(header), first.header(header), "{path} {header}");
                }
                is_guarded(&again);
            }
            assert_eq!(with(accepted, "\"other\"").status, 200);
        }
    }
    let tag = client.get("/console/").header("etag").expect("the page has a tag").to_owned();
    let (plain, coded) = (tag.replace(".gz", "").replace(".br", ""), tag.replace(".gz", ".br"));
    // The plain form is not what the client has if it names the tag of another form.
    if plain != coded {
        let reply = client.send("GET", "/console/", &[("accept-encoding", "identity"), ("if-none-match", &coded)], b"");
        assert_eq!(reply.status, 200);
    }
}

#[test]
fn head_gives_the_headers_of_get() {
    let client = Server::shared().client();
    for path in ["/console/".to_owned(), format!("{}main.js", folder(&client))] {
        let (get, head) = (client.send("GET", &path, BROWSER, b""), client.send("HEAD", &path, BROWSER, b""));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for header in ["etag", "cache-control", "vary", "content-type", "content-encoding", "content-length"] {
            assert_eq!(head.header(header), get.header(header), "{path} {header}");
        }
        is_guarded(&head);
    }
}

#[test]
fn another_version_another_path_and_tricks_find_nothing_that_is_kept() {
    let client = Server::shared().client();
    let folder = folder(&client);
    let other = "/console/assets-0000000000000000/main.js".to_owned();
    let below = [
        "none.js",
        "",
        "index.html",
        "jsconfig.json",
        "tests/x.js",
        "MAIN.JS",
        "main.js/",
        "lib/../main.js",
        "../index.html",
        "../../docs/",
        "%2e%2e/index.html",
        "lib/%2e%2e/main.js",
        "lib%2f..%2fmain.js",
        "%6dain.js",
        "..%5cmain.js",
        "main.js%00",
        "//main.js",
    ];
    let mut paths: Vec<String> = below.iter().map(|path| format!("{folder}{path}")).collect();
    paths.extend([other, "/console/main.js".to_owned(), "/console/index.html".to_owned(), "/console//".to_owned()]);
    for path in paths {
        let reply = client.get(&path);
        assert_eq!((reply.status, reply.header("cache-control")), (404, Some("no-store")), "{path}");
        is_guarded(&reply);
    }
    for path in ["/consoles", "/console.html", "/Console/"] {
        let reply = client.get(path);
        assert!(String::from_utf8_lossy(&reply.body).contains("NoSuchEndpoint"), "{path}");
    }
}

#[test]
fn other_methods_are_refused_with_those_allowed() {
    let client = Server::shared().client();
    for path in ["/console", "/console/", "/console/none", &format!("{}main.js", folder(&client))] {
        for method in ["POST", "PUT", "DELETE"] {
            let refused = client.send(method, path, &[], b"");
            assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")), "{method} {path}");
            is_guarded(&refused);
        }
    }
}

#[test]
fn the_root_leads_to_the_console_and_without_it_to_the_documentation() {
    let leads = |server: &Server, path: &str| {
        let reply = server.client().get(path);
        (reply.status, reply.header("location").map(str::to_owned))
    };
    let to = |address: &str| (307, Some(address.to_owned()));
    let shared = Server::shared();
    assert_eq!(leads(shared, "/"), to("console/"));
    assert_eq!(leads(shared, "/console"), to("console/"));
    is_guarded(&shared.client().get("/console"));

    let based = Server::with(&[("SERVER__BASE_PATH", "/swing/api/rest")]);
    assert_eq!(leads(&based, "/"), to("swing/api/rest/console/"));
    assert_eq!(leads(&based, "/swing/api/rest/console"), to("console/"));
    assert_eq!(leads(&based, "/console/").0, 404);
    let page = based.client().get("/swing/api/rest/console/");
    assert_eq!(page.status, 200);
    is_guarded(&page);
    let main = folder(&shared.client()) + "main.js";
    assert_eq!(based.client().get(&format!("/swing/api/rest{main}")).status, 200);

    let without = Server::with(&[("CONSOLE__ENABLED", "false")]);
    assert_eq!(leads(&without, "/"), to("docs/"));
    for path in ["/console", "/console/", &main] {
        let reply = without.client().get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(String::from_utf8_lossy(&reply.body).contains("NoSuchEndpoint"), "{path}");
    }
}

/// Sums up what a browser loads before the page works: the page, its style, `main.js` and the
/// modules that the page asks for at once.
#[test]
fn the_first_view_loads_little() {
    let client = Server::shared().client();
    let page = page(&client);
    let mut addresses = values(&page, "href");
    addresses.extend(values(&page, "src"));
    addresses.retain(|address| address.starts_with("assets-"));
    let load = |path: String| {
        let reply = client.send("GET", &path, BROWSER, b"");
        assert_eq!(reply.status, 200, "{path}");
        (reply.body.len(), path)
    };
    let loaded: Vec<_> = [String::new()]
        .into_iter()
        .chain(addresses.into_iter().map(str::to_owned))
        .map(|address| load(format!("/console/{address}")))
        .collect();
    let bytes: usize = loaded.iter().map(|(bytes, _)| bytes).sum();
    println!("the first view: {} requests, {bytes} bytes", loaded.len());
    assert!(bytes <= FIRST_VIEW_BYTES, "{bytes} bytes, more than {FIRST_VIEW_BYTES}: {loaded:#?}");
    assert!(loaded.len() <= FIRST_VIEW_REQUESTS, "{} requests, more than {FIRST_VIEW_REQUESTS}", loaded.len());
    // Modules that are asked for one after the other would take as many round trips.
    let main = String::from_utf8(client.get(&(folder(&client) + "main.js")).decoded().body).expect("it is text");
    for import in main.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("/{import}\">")), "the page does not ask for {import} at once");
    }
}
