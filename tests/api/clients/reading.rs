//! Shapes of stories, and the channels of pages.

use super::*;

/// A story of that many words; its loid.
fn story_of(desk: &Client, words: usize) -> String {
    let options = json!({ "name": "s.xml", "type": "Story", "workFolder": "/News/City", "createMode": "AUTO_RENAME" });
    let text = "word ".repeat(words);
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n--b\r\ncontent-disposition: form-data; \
         name=\"content\"; filename=\"s.xml\"\r\ncontent-type: text/xml\r\n\r\n<story><body>{text}</body></story>\r\n--b--\r\n"
    );
    let answer =
        desk.send("POST", "/v3/object/create", &[("content-type", "multipart/form-data; boundary=b")], form.as_bytes());
    id_of(&result(answer))
}

#[test]
fn shape_of_a_story_is_made_of_the_template_that_fits_its_words() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let (brief, lead) = (story_of(&desk, 40), story_of(&desk, 400));
    let shape = |id: &str, query: &str| result(desk.get(&format!("/v3/shape/story/{id}{query}")))["pgx"].clone();
    let xml = shape(&brief, "?channel=Tabloid&pageId=p%261");
    let expected = format!(
        "<pgx story=\"{brief}\" channel=\"Tabloid\" workFolder=\"/News/City\" page=\"p&amp;1\"><shape id=\"nib\" \
         name=\"News in brief\" width=\"1\" height=\"10\" minWords=\"30\" maxWords=\"95\"><frame element=\"headline\" columns=\"1\" \
         lines=\"2\" style=\"headline-brief\"/><frame element=\"body\" columns=\"1\" lines=\"8\" style=\"text-brief\"/></shape></pgx>"
    );
    assert_eq!(
        xml["xml"].as_str().map(|xml| xml.split_once("?>").map_or(xml, |(_, xml)| xml).trim()),
        Some(&*expected)
    );
    let id = |pgx: &Value| {
        let xml = pgx["xml"].as_str().unwrap_or_default();
        xml.split_once("shape id=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(id, _)| id.to_owned())
    };
    assert_eq!(id(&shape(&lead, "?channel=tabloid")).as_deref(), Some("lead-5"));
    assert_eq!(id(&shape(&brief, "?channel=Tabloid&workFolder=/News/Opinion")).as_deref(), Some("nib"));
    // The site's default channel is the web.
    assert_eq!(id(&shape(&lead, "")).as_deref(), Some("article"));
    assert_eq!(shape(&lead, "?channel=Neutral"), Value::Null);
    let refusal_of = |path: &str| refusal(&desk.get(path));
    assert_eq!(refusal_of(&format!("/v3/shape/story/{lead}?channel=Radio")), refused(400, "InvalidParameter"));
    assert_eq!(refusal_of(&format!("/v3/shape/story/{lead}?workFolder=/Nowhere")), refused(400, "InvalidParameter"));
    assert_eq!(refusal_of("/v3/shape/story/1$1.0.99999999"), refused(404, "ObjectNotFound"));
}

/// A page with these system attributes; its loid.
fn page(desk: &Client, kind: &str, props: &Value) -> String {
    let page = json!({
        "name": "page", "type": kind, "workFolder": "/News/City", "createMode": "AUTO_RENAME", "systemAttributes": { "props": props },
    });
    let form = format!("--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{page}\r\n--b--\r\n");
    let answer =
        desk.send("POST", "/v3/object/create", &[("content-type", "multipart/form-data; boundary=b")], form.as_bytes());
    id_of(&result(answer))
}

#[test]
fn link_of_a_page_and_a_bundle_has_the_channel_that_the_page_takes() {
    let server = server_with(&[]);
    let desk = desk(&server, "editor");
    let mut body = story("bundle", json!(1));
    body["options"]["keepCheckedOut"] = json!(false);
    let bundle = id_of(&result(create(&desk, &body)));
    let link = |page: &str| {
        let body = json!({ "sourceLinkName": "EOM::PrintPageLinked", "targetLinkName": "story", "targetSource": page });
        result(desk.post(&format!("/v3/object/{bundle}/correlate"), &body));
    };
    let product = json!({ "productInfo": { "name": "HarbourCourier" } });
    let print = page(&desk, "PRP", &product);
    let web = page(&desk, "DWP", &json!({ "productInfo": { "name": "HarbourCourier", "channel": "web" } }));
    let unknown = page(&desk, "PRP", &json!({ "productInfo": { "edition": "Late" } }));
    let picture = page(&desk, "WebContainer", &product);
    let pages = [&print, &web, &unknown, &picture];
    pages.iter().for_each(|page| link(page));
    let channel = |from: &str, to: &str| {
        let linked = desk.get(&format!("/object/linked?id={from}")).json();
        let role = linked["roles"].as_array().expect("there are roles").iter().find(|role| role["object"]["id"] == to);
        let role = role.expect("it is linked").clone();
        assert_eq!(role["channel"], role["bundleChildChannel"]);
        role["channel"].clone()
    };
    let channels = || pages.map(|page| (channel(&bundle, page), channel(page, &bundle)));
    let both = |channel: Value| (channel.clone(), channel);
    let none = || both(Value::Null);
    // No copies yet.
    assert_eq!(channels(), [none(), none(), none(), none()]);
    let copy = |channel: &str| {
        let body = json!({ "channel": channel, "inheritFrom": "Neutral" });
        id_of(&result(desk.post(&format!("/v3/container/bundle/{bundle}/channelcopy"), &body)))
    };
    let tabloid = copy("Tabloid");
    assert_eq!(channels(), [both(json!("Tabloid")), none(), none(), none()]);
    copy("Web");
    assert_eq!(channels(), [both(json!("Tabloid")), both(json!("Web")), none(), none()]);
    // A page that is linked with the copy itself takes its channel.
    let body = json!({ "sourceLinkName": "EOM::PrintPageLinked", "targetLinkName": "story", "targetSource": unknown });
    result(desk.post(&format!("/v3/object/{tabloid}/correlate"), &body));
    assert_eq!(channel(&unknown, &tabloid), json!("Tabloid"));
}
