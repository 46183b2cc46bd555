//! ETags across a restart with another configuration: a representation that the configuration has a
//! part in has another tag then.

use super::*;

/// Starts a server on the same data with another configuration, and returns the result of `read`.
fn restarted<T>(data: &std::path::Path, settings: &[(&str, &str)], read: impl FnOnce([Call<'_>; 4]) -> T) -> T {
    let mut server = Server::on(data, settings);
    let base = settings.iter().find(|(key, _)| *key == "SERVER__BASE_PATH").map_or("", |(_, base)| base);
    let client = editor_below(&server, base);
    let loid = match client.call("liveblog-get", &[&"/LiveBlogs/tags"]).send() {
        answer if answer.status == 404 => client.liveblog("/LiveBlogs", "tags"),
        answer => id(&answer.ok()),
    };
    let blog = Blog { loid, folder: "/LiveBlogs".to_owned(), editor: client };
    let calls = [blog.content(), blog.feed("atom"), blog.feed("json"), blog.feed("jsonld")];
    // By the same name, for addresses in a feed have it in them.
    let read = read(calls.map(|call| call.header("host", "news.example")));
    assert_eq!(server.terminate(), Some(0));
    read
}

#[test]
fn etags_change_with_the_settings_that_shape_contents_and_feeds() {
    let data = tempfile::tempdir().expect("a temporary directory can be made");
    let tags = restarted(data.path(), &[], |calls| calls.map(|call| tag(&served(&call))));
    // The depth and length of XML decide on what a post is given as; feeds have none of that in
    // them.
    for (settings, expected) in [
        (&[][..], [304; 4]),
        (&[("LIMITS__XML_DEPTH", "63")], [200, 304, 304, 304]),
        (&[("LIMITS__XML_BYTES", "99999")], [200, 304, 304, 304]),
        (&[("SERVER__BASE_PATH", "/rest")], [200; 4]),
    ] {
        let found = restarted(data.path(), settings, |calls| {
            let mut tags = tags.iter();
            calls.map(|call| call.header("if-none-match", tags.next().expect("there is one for each")).send().status)
        });
        assert_eq!(found, expected, "{settings:?}");
    }
}
