//! Pictures, scaled down: `GET /v3/object/{source}/content/lowres`.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, RgbaImage};
use serde_json::{Value, json};

use super::{CREATE, id, noise, object};
use crate::harness::*;

/// A picture of that size, whose bytes are many if it is to be one of noise.
fn picture(width: u32, height: u32, format: ImageFormat, noisy: bool) -> Vec<u8> {
    let noise = noise((width * height) as usize);
    let at = |x: u32, y: u32| if noisy { noise[(y * width + x) as usize] } else { 99 };
    let picture = RgbImage::from_fn(width, height, |x, y| Rgb([at(x, y), 50, 200]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(picture).write_to(&mut bytes, format).expect("it can be encoded");
    bytes.into_inner()
}

fn upload(client: &Client, name: &str, media_type: &str, bytes: &[u8]) -> String {
    let options = json!({ "name": name, "folderPath": own_folder(), "type": "Image" });
    id(&client.upload(CREATE, &options, Some((name, media_type, bytes))).ok())
}

fn lowres(loid: &str) -> String {
    format!("{}/content/lowres", object(loid))
}

fn size_of(answer: &Answer) -> (u32, u32) {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let picture = image::load_from_memory(&answer.body).expect("it is a picture");
    (picture.width(), picture.height())
}

#[test]
fn a_picture_is_sent_scaled_as_a_representation_of_its_own() {
    let client = Server::shared().login("editor");
    // One in the tables and one in a file.
    for noisy in [false, true] {
        let bytes = picture(800, 400, ImageFormat::Png, noisy);
        assert_eq!(bytes.len() > 32_768, noisy, "{}", bytes.len());
        let loid = upload(&client, "front page.png", "image/png", &bytes);
        let path = lowres(&loid);
        let whole = client.get(&path);
        assert_eq!(size_of(&whole), (512, 256));
        assert_eq!(whole.header("content-type"), Some("image/jpeg"));
        let disposition = whole.header("content-disposition").expect("it has a name");
        assert!(disposition.contains("front page.lowres.jpg"), "{disposition}");
        let binary = client.get(&format!("{}/content/binary", object(&loid)));
        assert!(binary.body == bytes && binary.header("etag") != whole.header("etag"));
        let escaped = client.get(&format!("{}/content/%62inary", object(&loid)));
        assert!(escaped.body == bytes);

        let tag = whole.header("etag").expect("it has an ETag").to_owned();
        assert!(!tag.starts_with("W/"));
        let known = client.send("GET", &path, &[("if-none-match", &tag)], b"");
        assert_eq!((known.status, known.body.len()), (304, 0));
        let head = client.send("HEAD", &path, &[], b"");
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(&*tag)));
        assert_eq!(head.header("content-length"), Some(&*whole.body.len().to_string()));
        let part = client.send("GET", &path, &[("range", "bytes=2-9"), ("if-range", &tag)], b"");
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[2..10]));
        let of = format!("bytes 2-9/{}", whole.body.len());
        assert_eq!(part.header("content-range"), Some(&*of));
        let beyond = client.send("GET", &path, &[("range", "bytes=9999999-")], b"");
        beyond.fails(416, "RangeNotSatisfiable");
        // It cuts off, as for all contents.
        assert_eq!(client.get(&format!("{path}?maxSize=0")).body, b"");
        assert_eq!(client.get(&format!("{path}?maxSize=1")).body, whole.body);
        client.get(&format!("{path}?maxSize=-1")).fails(400, "InvalidParameter");
    }
}

#[test]
fn each_version_and_the_working_copy_are_scaled_as_they_are() {
    let client = Server::shared().login("editor");
    let loid = upload(&client, "a.jpg", "image/jpeg", &picture(600, 300, ImageFormat::Jpeg, false));
    let path = lowres(&loid);
    let first = client.get(&path).header("etag").expect("it has an ETag").to_owned();
    let write = |query: &str, width, height| {
        let bytes = picture(width, height, ImageFormat::Jpeg, false);
        client.send("PUT", &format!("{}/content?{query}", object(&loid)), &[], &bytes).ok();
    };
    write("newVersion=true", 300, 600);
    write("checkOut=true&checkIn=false", 100, 50);
    assert_eq!(size_of(&client.get(&format!("{path}?version=1"))), (512, 256));
    assert_eq!(size_of(&client.get(&format!("{path}?version=2"))), (256, 512));
    assert_eq!(size_of(&client.get(&path)), (100, 50), "never enlarged");
    let other = Server::shared().login("admin");
    let now = other.send("GET", &path, &[("if-none-match", &first)], b"");
    assert_eq!(size_of(&now), (256, 512), "the ETag of before is of another picture");
    // An ETag of any representation serves for a write.
    let tag = client.get(&path).header("etag").expect("it has an ETag").to_owned();
    client.send("PUT", &format!("{}/content", object(&loid)), &[("if-match", &tag)], b"x").ok();
}

#[test]
fn what_can_be_seen_through_is_sent_as_png() {
    let client = Server::shared().login("editor");
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(RgbaImage::new(600, 600)).write_to(&mut bytes, ImageFormat::WebP).expect("it can be encoded");
    let loid = upload(&client, "logo.webp", "image/webp", &bytes.into_inner());
    let answer = client.get(&lowres(&loid));
    assert_eq!((size_of(&answer), answer.header("content-type")), ((512, 512), Some("image/png")));
    assert!(answer.header("content-disposition").is_some_and(|name| name.contains("logo.lowres.png")));
}

#[test]
fn what_is_no_picture_or_no_format_is_refused() {
    let server = Server::shared();
    let client = server.login("editor");
    let good = picture(600, 300, ImageFormat::Png, false);
    for (bytes, said) in [(&b"<story/>"[..], "none of a kind"), (&good[..good.len() / 2], "can't be decoded")] {
        let loid = upload(&client, "a.png", "image/png", bytes);
        for _ in 0..2 {
            let refused = client.get(&lowres(&loid)).fails(400, "InvalidType");
            assert!(refused["message"].as_str().is_some_and(|message| message.contains(said)), "{refused}");
            assert_eq!(refused["source"], loid);
        }
        assert!(client.get(&format!("{}/content", object(&loid))).body == bytes);
    }
    let loid = upload(&client, "a.png", "image/png", &good);
    for format in ["highres", "LOWRES", "lowres%2F", "lowres.jpg"] {
        let refused = client.get(&format!("{}/content/{format}", object(&loid))).fails(400, "InvalidParameter");
        let message = refused["message"].as_str().expect("it has a message");
        assert!(message.contains("format") && message.contains(&format.replace("%2F", "/")), "{message}");
    }
    client.get(&lowres(&own_folder())).fails(404, "ObjectNotFound");
    let empty = client.upload(CREATE, &json!({ "name": "empty", "folderPath": own_folder(), "type": "Image" }), None);
    client.get(&lowres(&id(&empty.ok()))).fails(404, "ObjectNotFound");
    server.client().get(&lowres(&loid)).fails(401, "InvalidToken");
}

#[test]
fn who_may_not_read_a_picture_does_not_see_it_scaled_either() {
    let server = Server::start();
    let admin = server.login("admin");
    let options = json!({ "name": "secret.png", "folderPath": "/Secret", "type": "Image" });
    let bytes = picture(600, 300, ImageFormat::Png, false);
    let loid = id(&admin.upload(CREATE, &options, Some(("secret.png", "image/png", &bytes))).ok());
    assert_eq!(size_of(&admin.get(&lowres(&loid))), (512, 256));
    let desk = json!({ "groupName": "desk", "members": ["reporter"],
        "privileges": [{ "privilege": "read", "folder": "/Users" }] });
    admin.post("/v3/group/create", &desk).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    let plain = reporter.get(&format!("{}/content", object(&loid)));
    let scaled = reporter.get(&lowres(&loid));
    let code = |answer: &Answer| answer.json()["result"]["code"].clone();
    assert!(matches!(scaled.status, 403 | 404), "{}", scaled.status);
    assert_eq!((scaled.status, code(&scaled)), (plain.status, code(&plain)));
}

#[test]
fn many_who_ask_at_once_cost_one_scaling_and_what_is_too_large_none() {
    let server = Server::with(&[("CONTENT__LOWRES_PIXELS", "40"), ("CONTENT__PICTURE_PIXELS", "10000")]);
    let client = server.login("editor");
    let loid = upload(&client, "a.png", "image/png", &picture(100, 100, ImageFormat::Png, false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (client, path) = (client.afresh(), lowres(&loid));
            scope.spawn(move || assert_eq!(size_of(&client.get(&path)), (40, 40)));
        }
    });
    let metrics = || String::from_utf8(client.get("/metrics").body).expect("metrics are text");
    assert!(metrics().contains("stet_pictures_scaled_total{outcome=\"scaled\"} 1\n"), "{}", metrics());
    let large = upload(&client, "b.gif", "image/gif", &picture(101, 100, ImageFormat::Gif, false));
    let refused: Value = client.get(&lowres(&large)).fails(400, "InvalidType");
    let message = refused["message"].as_str().expect("it has a message");
    assert!(message.contains("101 × 100") && message.contains("10000"), "{message}");
}
