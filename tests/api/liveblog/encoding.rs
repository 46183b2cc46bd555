//! Posts in other encodings than UTF-8.

use super::*;

#[test]
fn a_post_in_another_encoding_has_the_same_text_wherever_it_is_shown() {
    let blog = Blog::new();
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><p>K\xf6ln</p>".as_slice();
    // What libraries write that take their strings for the file: it is declared to be what it is not.
    let wide = b"<?xml version='1.0' encoding='utf-16'?><p>Ferry</p>".as_slice();
    for (title, content_type, bytes, shown, read) in [
        ("declared", "text/xml", latin, "<?xml version='1.0' encoding='ISO-8859-1'?><p>Köln</p>", "Köln"),
        ("said", "text/plain; charset=iso-8859-1", b"M\xfcnster".as_slice(), "Münster", "Münster"),
        ("wide", "text/xml", wide, "<?xml version='1.0' encoding='utf-16'?><p>Ferry</p>", "Ferry"),
    ] {
        let files = [("content", "post", content_type, bytes)];
        let reply = blog.try_post(&blog.editor, &json!({ "title": title }), &files).ok();
        assert_eq!(reply["content"], shown, "{title}");
        let post = id(&reply);
        assert_eq!(blog.read_post(&blog.editor, &post)["content"], shown, "{title}");
        assert_eq!(blog.editor.get(&blog.post_path(&post, "/content")).body, bytes, "{title}: what is stored stays");
        let found = blog.search(&blog.editor, &json!({ "filters": { "text": [read.to_uppercase()] } }));
        assert_eq!(ids(&found), [post], "{title}");
        let items = blog.editor.get(&blog.path("/feed/json")).json()["items"].clone();
        let item = items.as_array().expect("there are items").iter().find(|item| item["title"] == title);
        assert_eq!(item.expect("it is in the feed")["content_text"], read);
        let whole = blog.editor.get(&blog.path("/content")).body;
        assert!(String::from_utf8(whole).expect("it is UTF-8").contains(&format!(">{read}<")), "{title}");
    }
}
