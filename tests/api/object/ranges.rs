//! Reading the bytes of an object: parts of them, and what says which they are
//! (docs/api/content.md, "Ranges"; RFC 9110).

use super::*;

fn by_loid<'c>(client: &'c Client, loid: &str) -> Call<'c> {
    client.call("stet-object-loid-content-get", &[]).query("loid", loid)
}

/// Status, `Content-Range` and bytes.
fn part(call: &Call<'_>, headers: &[(&str, &str)]) -> (u16, String, Vec<u8>) {
    let answer = headers.iter().fold(call.clone(), |call, (name, value)| call.header(name, value)).send();
    let range = answer.header("content-range").unwrap_or_default().to_owned();
    (answer.status, range, answer.body)
}

#[test]
fn a_range_is_answered_with_that_part_of_a_row_and_of_a_file() {
    let desk = Desk::of("reporter");
    for size in [1000, 300_000] {
        let all = noise(size);
        let loid = desk.make(&format!("{size}.bin"), &all);
        for call in
            [content(&desk, &loid), desk.call("stet-object-content-binary-get", &[&loid]), by_loid(&desk, &loid)]
        {
            let whole = call.send();
            assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
            assert!(whole.body == all);
            let last = size - 1;
            for (range, from, to) in [
                ("bytes=0-0".to_owned(), 0, 0),
                ("bytes=10-99".to_owned(), 10, 99),
                (format!("bytes={}-", size - 5), size - 5, last),
                ("bytes=-7".to_owned(), size - 7, last),
                (format!("bytes=5-{}", size * 2), 5, last),
            ] {
                let answer = call.clone().header("range", &range).send();
                assert_eq!(answer.status, 206, "{range}");
                assert_eq!(answer.header("content-range"), Some(&*format!("bytes {from}-{to}/{size}")));
                assert_eq!(answer.header("content-length"), Some(&*(to - from + 1).to_string()));
                assert_eq!(answer.header("etag"), whole.header("etag"));
                assert!(answer.body == all[from..=to], "{range}");
            }
            let behind = call.clone().header("range", format!("bytes={size}-")).send();
            assert_eq!(behind.header("content-range"), Some(&*format!("bytes */{size}")));
            assert_eq!(behind.fails(416, "RangeNotSatisfiable")["details"]["size"], size);
            for ignored in ["lines=1-2", "bytes=9-2", "bytes=0-1,5-6", "bytes=x"] {
                let (status, range, found) = part(&call, &[("range", ignored)]);
                assert_eq!((status, range.as_str(), found == all), (200, "", true), "{ignored}");
            }
        }
    }
}

#[test]
fn a_range_counts_within_what_maxsize_leaves() {
    let desk = Desk::of("reporter");
    let all = noise(1_200_000);
    let loid = desk.make("a.bin", &all);
    let up_to = |most: u32| content(&desk, &loid).query("maxSize", most);
    let (status, range, end) = part(&up_to(1), &[("range", "bytes=-10")]);
    assert_eq!((status, range.as_str()), (206, "bytes 999990-999999/1000000"));
    assert!(end == all[999_990..1_000_000]);
    up_to(1).header("range", "bytes=1000000-").fails(416, "RangeNotSatisfiable");
    up_to(0).header("range", "bytes=0-").fails(416, "RangeNotSatisfiable");
}

#[test]
fn a_part_of_a_content_that_has_changed_is_all_of_the_new_one() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"<first/>");
    let call = content(&desk, &loid);
    let tag = tag(&call.send());
    // The time is sent once its second is over.
    wait_until("the content has a time", || call.send().header("last-modified").is_some());
    let time = call.send().header("last-modified").expect("it was there").to_owned();
    for state in [&tag, &time] {
        let (status, _, bytes) = part(&call, &[("range", "bytes=1-5"), ("if-range", state)]);
        assert_eq!((status, bytes), (206, b"first".to_vec()), "{state}");
    }
    // 304 comes before any range.
    let (status, ..) = part(&call, &[("range", "bytes=99-"), ("if-none-match", &tag)]);
    assert_eq!(status, 304);
    desk.again("a.xml", b"<other/>", "REPLACE");
    for state in [tag.as_str(), &time, "W/\"1-0\"", "nonsense"] {
        let (status, range, bytes) = part(&call, &[("range", "bytes=1-5"), ("if-range", state)]);
        assert_eq!((status, range.as_str(), bytes), (200, "", b"<other/>".to_vec()), "{state}");
    }
}

#[test]
fn a_time_is_a_precondition_where_no_tag_is() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"<first/>");
    let call = content(&desk, &loid);
    let early = "Sun, 06 Nov 1994 08:49:37 GMT";
    wait_until("the content has a time", || call.send().header("last-modified").is_some());
    let answer = call.send();
    let (time, tag) = (answer.header("last-modified").expect("it was there").to_owned(), tag(&answer));
    let status = |headers: &[(&str, &str)]| {
        headers.iter().fold(call.clone(), |call, (name, value)| call.header(name, value)).send().status
    };
    let (since, unmodified) = ("if-modified-since", "if-unmodified-since");
    assert_eq!(status(&[(since, &time)]), 304);
    assert_eq!(status(&[(since, early)]), 200);
    assert_eq!(status(&[(since, "yesterday")]), 200);
    assert_eq!(status(&[(since, &time), ("if-none-match", "\"1-other\"")]), 200);
    assert_eq!(status(&[(since, early), ("if-none-match", &tag)]), 304);
    assert_eq!(status(&[(unmodified, &time)]), 200);
    assert_eq!(status(&[(unmodified, early)]), 412);
    assert_eq!(status(&[(unmodified, early), ("if-match", &tag)]), 200);
    assert_eq!(status(&[(unmodified, early), (since, &time)]), 412);
    call.header(unmodified, early).fails(412, "PreconditionFailed");
}

#[test]
fn a_version_is_read_in_parts_like_the_latest() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    desk.again("a.xml", b"two", "NEW_VERSION");
    for (call, bytes) in [
        (content(&desk, &loid).query("version", 1), b"ne"),
        (by_loid(&desk, &loid).query("version", 1), b"ne"),
        (content(&desk, &version(&loid, 1)), b"ne"),
        (content(&desk, &loid).query("version", 2), b"wo"),
        (content(&desk, &loid).query("version", -1), b"wo"),
    ] {
        let (status, range, found) = part(&call, &[("range", "bytes=1-")]);
        assert_eq!((status, range.as_str(), found), (206, "bytes 1-2/3", bytes.to_vec()));
    }
    content(&desk, &loid).query("version", 3).fails(404, "ObjectNotFound");
    assert_eq!(bytes_of(&desk, &loid), b"two");
    assert_eq!(bytes(&by_loid(&desk, &loid)), b"two");
}

#[test]
fn head_says_what_get_would_and_sends_nothing() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.bin", &noise(100_000));
    for path in [
        Endpoint::of("stet-object-content-get").path_of(&[&loid]),
        format!("/v3/object/loid/content?loid={}", encoded(&loid)),
    ] {
        let (get, head) = (desk.get(&path), desk.send("HEAD", &path, &[("range", "bytes=0-1")], b""));
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-length", "content-type", "etag", "accept-ranges", "content-disposition"] {
            assert_eq!(head.header(name), get.header(name), "{name}");
            assert!(head.header(name).is_some(), "{name}");
        }
        assert_eq!(desk.send("HEAD", &path, &[("if-none-match", &tag(&get))], b"").status, 304);
    }
}

#[test]
fn a_part_is_not_written_in_place_of_the_whole() {
    let desk = Desk::of("reporter");
    let loid = desk.make("story.xml", b"<story>whole</story>");
    let part = write(&desk, &loid, "", b"<s").header("content-range", "bytes 0-1/20");
    says(&part.fails(400, "InvalidParameter"), "Content-Range");
    assert_eq!(bytes_of(&desk, &loid), b"<story>whole</story>");
}
