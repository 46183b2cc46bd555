//! Posts in other encodings than UTF-8.

use super::*;

#[test]
fn a_post_in_another_encoding_has_the_same_text_wherever_it_is_shown() {
    let blog = Blog::new();
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><p>K\xf6ln</p>".as_slice();
    // Output of libraries that write a string as if it were the file: the declared encoding is
    // wrong.
    let wide = b"<?xml version='1.0' encoding='utf-16'?><p>Ferry</p>".as_slice();
    for (title, content_type, bytes, shown, read) in [
        ("declared", "text/xml", latin, "<?xml version='1.0' encoding='ISO-8859-1'?><p>Köln</p>", "Köln"),
        ("said", "text/plain; charset=iso-8859-1", b"M\xfcnster".as_slice(), "Münster", "Münster"),
        ("wide", "text/xml", wide, "<?xml version='1.0' encoding='utf-16'?><p>Ferry</p>", "Ferry"),
    ] {
        let files = [("content", "post", content_type, bytes)];
        let reply = blog.new_post(&json!({ "title": title }), &files).gives(&json!({ "content": shown }));
        let post = id(&reply);
        blog.read_post(&post).gives(&json!({ "content": shown }));
        assert_eq!(served(&blog.download(&post)).body, bytes, "{title}: what is stored stays");
        let found = blog.search(&json!({ "filters": { "text": [read.to_uppercase()] } })).ok();
        assert_eq!(ids(&found), [post], "{title}");
        let feed = blog.feed("json").send().json();
        let item = feed["items"].as_array().expect("there are items").iter().find(|item| item["title"] == title);
        assert_eq!(item.expect("it is in the feed")["content_text"], read);
        assert!(text(&blog.content()).contains(&format!(">{read}<")), "{title}");
    }
}
