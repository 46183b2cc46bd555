//! ETags across a restart with another configuration: a representation that the configuration has a part in has another tag then.

use super::*;

/// The same data under another configuration, and what there is of it.
fn restarted<T>(data: &std::path::Path, settings: &[(&str, &str)], read: impl FnOnce(&Client, &str) -> T) -> T {
    let mut server = Server::on(data, settings);
    let base = settings.iter().find(|(key, _)| *key == "SERVER__BASE_PATH").map_or("", |(_, base)| base);
    let mut client = Client::at(&format!("{}{base}", server.base), None);
    let login = json!({ "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD });
    client.token = client.post("/v3/auth/login", &login).ok()["token"]["value"].as_str().map(str::to_owned);
    let blog = match client.get("/v3/container/liveblog/%2FLiveBlogs%2Ftags") {
        answer if answer.status == 404 => client.liveblog("/LiveBlogs", "tags"),
        answer => answer.ok()["info"]["id"].as_str().expect("it has an id").to_owned(),
    };
    let read = read(&client, &encoded(&blog));
    assert_eq!(server.terminate(), Some(0));
    read
}

#[test]
fn what_the_configuration_has_a_part_in_has_another_tag_under_another() {
    let data = tempfile::tempdir().expect("a temporary directory can be made");
    // By the same name, for addresses in a feed have it in them.
    let host = ("host", "news.example");
    let paths = |blog: &str| {
        ["content", "feed/atom", "feed/json", "feed/jsonld"].map(|rest| format!("/v3/container/liveblog/{blog}/{rest}"))
    };
    let tags = restarted(data.path(), &[], |client, blog| {
        paths(blog).map(|path| {
            let answer = client.send("GET", &path, &[host], b"");
            assert_eq!(answer.status, 200, "{path}");
            answer.header("etag").expect("it has an ETag").to_owned()
        })
    });
    // The depth and length of XML decide on what a post is given as; feeds have none of that in them.
    for (settings, expected) in [
        (&[][..], [304; 4]),
        (&[("LIMITS__XML_DEPTH", "63")], [200, 304, 304, 304]),
        (&[("LIMITS__XML_BYTES", "99999")], [200, 304, 304, 304]),
        (&[("SERVER__BASE_PATH", "/rest")], [200; 4]),
    ] {
        let found = restarted(data.path(), settings, |client, blog| {
            let mut tags = tags.iter();
            paths(blog).map(|path| {
                let tag = tags.next().expect("there is one for each");
                client.send("GET", &path, &[host, ("if-none-match", tag)], b"").status
            })
        });
        assert_eq!(found, expected, "{settings:?}");
    }
}
