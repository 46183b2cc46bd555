//! Contents: bytes, lengths, types and entity tags.

use super::*;

#[test]
fn large_content_lies_in_a_file_and_small_in_a_row_and_both_come_back_byte_for_byte() {
    let mut server = Server::start();
    let client = server.login("reporter");
    let folder = own_folder();
    let large = noise(1_000_000);
    let small = noise(1000);
    let files = |server: &Server| {
        let mut sizes = Vec::new();
        let mut folders = vec![server.data().join("content")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                match entry.metadata().unwrap() {
                    meta if meta.is_dir() => folders.push(entry.path()),
                    meta => sizes.push(meta.len()),
                }
            }
        }
        sizes
    };
    let before = files(&server).len();
    let kept = id(&upload(&client, &folder, "small.bin", &small, json!({})).ok());
    assert_eq!(files(&server).len(), before, "a small one needs no file");
    let made = id(&upload(&client, &folder, "large.bin", &large, json!({})).ok());
    let sizes = files(&server);
    assert_eq!(sizes.len(), before + 1);
    assert!(sizes.contains(&1_000_000));
    // The same bytes again take no further file.
    let twin = id(&upload(&client, &folder, "twin.bin", &large, json!({})).ok());
    assert_eq!(files(&server).len(), before + 1);
    server.kill();
    let mut server = server.restart();
    let client = client.to(&server);
    for (loid, bytes) in [(&made, &large), (&twin, &large), (&kept, &small)] {
        assert!(bytes_of(&client, loid) == *bytes);
        assert!(client.get(&format!("{}/content/binary", object(loid))).body == *bytes);
        let record = client.get(&format!("{}?showAdditionalInfo=1", object(loid))).ok();
        assert_eq!(record["virtualAttributes"]["size"], bytes.len());
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_content_says_what_it_is_and_is_never_shown_as_a_page_of_ours() {
    let client = Server::shared().login("reporter");
    let options = json!({ "name": "Caf\u{e9} \\ 1.html", "folderPath": own_folder() });
    let made = client.upload(CREATE, &options, Some(("x", "text/html; charset=utf-8", b"<script>"))).ok();
    let answer = client.get(&format!("{}/content", object(&id(&made))));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("content-length"), Some("8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let disposition = answer.header("content-disposition").unwrap();
    assert!(disposition.starts_with("attachment; filename=\"Caf_ _ 1.html\"; filename*=UTF-8''"), "{disposition}");
    assert!(disposition.ends_with("Caf%C3%A9%20%5C%201%2Ehtml"), "{disposition}");
}

#[test]
fn an_etag_is_answered_with_304_until_the_object_changes() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let loid = client.story(&folder, "a.xml");
    for path in [object(&loid), format!("{}/content", object(&loid))] {
        let tag = client.get(&path).header("etag").expect("there is an ETag").to_owned();
        assert!(tag.starts_with('"'), "it is strong: {tag}");
        let again = client.send("GET", &path, &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(again.header("etag"), Some(tag.as_str()));
        upload(&client, &folder, "a.xml", b"<other/>", json!({ "createMode": "REPLACE" })).ok();
        let changed = client.send("GET", &path, &[("if-none-match", &tag)], b"");
        assert_eq!(changed.status, 200);
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
    }
    let version = String::from_utf8(client.get(&format!("{}/lastversionloid", object(&loid))).body).unwrap();
    assert!(client.get(&object(&version)).header("etag").is_some(), "a version's record has one too");
}

#[test]
fn maxsize_cuts_after_so_many_megabytes() {
    let client = Server::shared().login("reporter");
    let bytes = noise(1_300_000);
    let made = id(&upload(&client, &own_folder(), "a.bin", &bytes, json!({})).ok());
    let read = |most: &str| client.get(&format!("{}/content?maxSize={most}", object(&made)));
    assert!(read("1").body == bytes[..1_000_000]);
    assert!(read("2").body == bytes);
    assert_eq!(read("0").body.len(), 0);
    assert_ne!(read("1").header("etag"), read("2").header("etag"));
    read("-1").fails(400, "InvalidParameter");
    read("x").fails(400, "InvalidParameter");
}

#[test]
fn a_folder_has_no_content() {
    let client = Server::shared().login("reporter");
    client.get(&format!("{}/content", object("/News"))).fails(404, "ObjectNotFound");
    client.get(&format!("{}/content", object("/nowhere"))).fails(404, "ObjectNotFound");
}

#[test]
fn an_empty_content_is_a_content() {
    let client = Server::shared().login("reporter");
    let made = upload(&client, &own_folder(), "a.xml", b"", json!({})).ok();
    assert_eq!((&made["version"], &made["virtualAttributes"]["size"]), (&json!(1), &json!(0)));
    assert_eq!(bytes_of(&client, &id(&made)), b"");
}
