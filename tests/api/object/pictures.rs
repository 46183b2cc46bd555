//! Pictures, scaled down: `GET /v3/object/{source}/content/lowres`.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, RgbaImage};

use super::*;

const FORMAT: &str = "stet-object-content-format-get";

/// A picture of that size, whose bytes are many if it is to be one of noise.
fn picture(width: u32, height: u32, format: ImageFormat, noisy: bool) -> Vec<u8> {
    let noise = noise((width * height) as usize);
    let at = |x: u32, y: u32| if noisy { noise[(y * width + x) as usize] } else { 99 };
    encode(RgbImage::from_fn(width, height, |x, y| Rgb([at(x, y), 50, 200])), format)
}

fn encode(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.into().write_to(&mut bytes, format).expect("it can be encoded");
    bytes.into_inner()
}

impl Desk {
    fn picture(&self, name: &str, media_type: &str, bytes: &[u8]) -> String {
        id(&self.create_of(name, (media_type, bytes), json!({ "type": "Image" })).ok())
    }
}

fn lowres<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call(FORMAT, &[&source, &"lowres"])
}

fn size_of(answer: &Answer) -> (u32, u32) {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let picture = image::load_from_memory(&answer.body).expect("it is a picture");
    (picture.width(), picture.height())
}

#[test]
fn a_picture_is_sent_scaled_as_a_representation_of_its_own() {
    // One in the tables and one in a file.
    for noisy in [false, true] {
        let desk = Desk::of("editor");
        let original = picture(800, 400, ImageFormat::Png, noisy);
        assert_eq!(original.len() > 32_768, noisy, "{}", original.len());
        let loid = desk.picture("front page.png", "image/png", &original);
        let call = || lowres(&desk, &loid);
        let whole = call().send();
        assert_eq!(size_of(&whole), (512, 256));
        assert_eq!(whole.header("content-type"), Some("image/jpeg"));
        let disposition = whole.header("content-disposition").expect("it has a name");
        assert!(disposition.contains("front page.lowres.jpg"), "{disposition}");
        let binary = desk.call("stet-object-content-binary-get", &[&loid]).send();
        assert!(binary.body == original && binary.header("etag") != whole.header("etag"));
        let escaped = desk.get(&format!("/v3/object/{}/content/%62inary", encoded(&loid)));
        assert!(escaped.body == original);

        let tag = tag(&whole);
        assert!(!tag.starts_with("W/"));
        let known = call().header("if-none-match", &tag).send();
        assert_eq!((known.status, known.body.len()), (304, 0));
        let head = desk.send("HEAD", &Endpoint::of(FORMAT).path_of(&[&loid, &"lowres"]), &[], b"");
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(&*tag)));
        assert_eq!(head.header("content-length"), Some(&*whole.body.len().to_string()));
        let part = call().header("range", "bytes=2-9").header("if-range", &tag).send();
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[2..10]));
        assert_eq!(part.header("content-range"), Some(&*format!("bytes 2-9/{}", whole.body.len())));
        call().header("range", "bytes=9999999-").fails(416, "RangeNotSatisfiable");
        // It cuts off, as for all contents.
        assert_eq!(bytes(&call().query("maxSize", 0)), b"");
        assert_eq!(bytes(&call().query("maxSize", 1)), whole.body);
        call().query("maxSize", -1).fails(400, "InvalidParameter");
    }
}

#[test]
fn each_version_and_the_working_copy_are_scaled_as_they_are() {
    let desk = Desk::of("editor");
    let jpeg = |width, height| picture(width, height, ImageFormat::Jpeg, false);
    let loid = desk.picture("a.jpg", "image/jpeg", &jpeg(600, 300));
    let first = tag(&lowres(&desk, &loid).send());
    write(&desk, &loid, "newVersion", &jpeg(300, 600)).ok();
    write(&desk, &loid, "checkOut&checkIn=false", &jpeg(100, 50)).ok();
    assert_eq!(size_of(&lowres(&desk, &loid).query("version", 1).send()), (512, 256));
    assert_eq!(size_of(&lowres(&desk, &loid).query("version", 2).send()), (256, 512));
    assert_eq!(size_of(&lowres(&desk, &loid).send()), (100, 50), "never enlarged");
    let now = lowres(&desk, &loid).by(&Server::shared().user("admin")).header("if-none-match", &first).send();
    assert_eq!(size_of(&now), (256, 512), "the ETag of before is of another picture");
    // An ETag of any representation serves for a write.
    write(&desk, &loid, "", b"x").header("if-match", tag(&lowres(&desk, &loid).send())).ok();
}

#[test]
fn transparent_pictures_are_sent_as_png() {
    let desk = Desk::of("editor");
    let loid = desk.picture("logo.webp", "image/webp", &encode(RgbaImage::new(600, 600), ImageFormat::WebP));
    let answer = lowres(&desk, &loid).send();
    assert_eq!((size_of(&answer), answer.header("content-type")), ((512, 512), Some("image/png")));
    assert!(answer.header("content-disposition").is_some_and(|name| name.contains("logo.lowres.png")));
}

#[test]
fn what_is_no_picture_or_no_format_is_refused() {
    let desk = Desk::of("editor");
    let good = picture(600, 300, ImageFormat::Png, false);
    let half = &good[..good.len() / 2];
    for (name, bad, said) in [("a.png", &b"<story/>"[..], "format is not known"), ("b.png", half, "can't be decoded")] {
        let loid = desk.picture(name, "image/png", bad);
        for _ in 0..2 {
            let refused = lowres(&desk, &loid).fails(400, "InvalidType");
            assert!(refused["message"].as_str().is_some_and(|message| message.contains(said)), "{refused}");
            assert_eq!(refused["source"], loid);
        }
        assert!(bytes_of(&desk, &loid) == bad);
    }
    let loid = desk.picture("c.png", "image/png", &good);
    for format in ["HIGHRES", "LOWRES", "lowres/", "lowres.jpg"] {
        let refused = desk.call(FORMAT, &[&loid, &format]).fails(400, "InvalidParameter");
        let message = refused["message"].as_str().expect("it has a message");
        assert!(message.contains("format") && message.contains(format), "{message}");
    }
    lowres(&desk, "/nowhere").fails(404, "ObjectNotFound");
    let empty = id(&desk.create_empty("empty", json!({ "type": "Image" })).ok());
    lowres(&desk, &empty).fails(404, "ObjectNotFound");
}

#[test]
fn unreadable_pictures_cannot_be_seen_scaled_either() {
    let server = Server::start();
    let admin = Desk::at(server.user("admin"));
    let bytes = picture(600, 300, ImageFormat::Png, false);
    let loid = admin.picture("secret.png", "image/png", &bytes);
    assert_eq!(size_of(&lowres(&admin, &loid).send()), (512, 256));
    let privileges = json!([{ "privilege": "read", "folder": "/Users" }]);
    let desk = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    admin.call("group-create-post", &[]).json(&desk).ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.user("reporter");
    let refused = |call: Call<'_>| {
        let answer = call.send();
        (answer.status, answer.json()["result"]["code"].clone())
    };
    let scaled = refused(lowres(&reporter, &loid));
    assert!(matches!(scaled.0, 403 | 404), "{scaled:?}");
    assert_eq!(scaled, refused(content(&reporter, &loid)));
}

#[test]
fn many_who_ask_at_once_cost_one_scaling_and_what_is_too_large_none() {
    let server = Server::with(&[("CONTENT__LOWRES_PIXELS", "40"), ("CONTENT__PICTURE_PIXELS", "10000")]);
    let desk = Desk::at(server.user("editor"));
    let loid = desk.picture("a.png", "image/png", &picture(100, 100, ImageFormat::Png, false));
    at_once(|_| assert_eq!(size_of(&lowres(&desk.afresh(), &loid).send()), (40, 40)));
    assert_eq!(desk.client.count("stet_pictures_scaled_total{outcome=\"scaled\"}"), 1);
    let large = desk.picture("b.gif", "image/gif", &picture(101, 100, ImageFormat::Gif, false));
    let refused = lowres(&desk, &large).fails(400, "InvalidType");
    let message = refused["message"].as_str().expect("it has a message");
    assert!(message.contains("101 × 100") && message.contains("10000"), "{message}");
}

#[test]
fn a_jpeg_that_would_come_out_wrong_is_not_scaled_and_served_as_it_is() {
    let desk = Desk::of("editor");
    let scans = include_bytes!("../../pictures/chroma-2x2-one-scan-each.jpg");
    let loid = desk.picture("scans.jpg", "image/jpeg", scans);
    let refused = lowres(&desk, &loid).fails(400, "InvalidType");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("separate scans")), "{refused}");
    for format in ["binary", "highres"] {
        assert_eq!(bytes(&desk.call(FORMAT, &[&loid, &format])), scans);
    }
}

#[test]
fn highres_is_the_picture_in_full() {
    for noisy in [false, true] {
        let desk = Desk::of("editor");
        let original = picture(800, 400, ImageFormat::Png, noisy);
        let loid = desk.picture("front page.png", "application/octet-stream", &original);
        let call = || desk.call(FORMAT, &[&loid, &"highres"]);
        let whole = call().send();
        assert!(whole.status == 200 && whole.body == original);
        assert_eq!(whole.header("content-type"), Some("image/png"));
        assert!(whole.header("content-disposition").is_some_and(|name| name.contains("front page.png")));
        let tag = tag(&whole);
        assert_ne!(Some(&*tag), lowres(&desk, &loid).send().header("etag"));
        assert_eq!(call().header("if-none-match", &tag).send().status, 304);
        let part = call().header("range", "bytes=2-9").header("if-range", &tag).send();
        assert_eq!((part.status, &part.body[..]), (206, &original[2..10]));
        call().header("range", "bytes=99999999-").fails(416, "RangeNotSatisfiable");
        assert_eq!(bytes(&call().query("maxSize", 0)), b"");
        let newer = picture(30, 20, ImageFormat::Png, false);
        desk.create_of(
            "front page.png",
            ("image/png", &newer),
            json!({ "type": "Image", "createMode": "NEW_VERSION" }),
        )
        .ok();
        assert!(bytes(&call()) == newer && bytes(&call().query("version", 1)) == original);
    }
    let desk = Desk::of("editor");
    let story = desk.make("a.xml", b"<story/>");
    desk.call(FORMAT, &[&story, &"highres"]).fails(400, "InvalidType");
}
