//! Templates of the main database, for a database that has none.

use super::*;

const ARCHIVE: [(&str, &str); 2] = [("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")];

/// Uploads an object into a database.
fn upload(desk: &Client, options: &Value, content: &str) -> String {
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n--b\r\ncontent-disposition: form-data; \
         name=\"content\"; filename=\"x.xml\"\r\ncontent-type: text/xml\r\n\r\n{content}\r\n--b--\r\n"
    );
    let answer =
        desk.send("POST", "/v3/object/create", &[("content-type", "multipart/form-data; boundary=b")], form.as_bytes());
    id_of(&result(answer))
}

#[test]
fn template_that_a_database_lacks_is_the_main_ones() {
    let server = server_with(&ARCHIVE);
    let desk = desk(&server, "editor");
    let body = |name: &str| {
        let mut body = story(name, json!(2));
        body["folderPath"] = json!("/Desk");
        body["options"]["keepCheckedOut"] = json!(false);
        body
    };
    let content = |id: &str| String::from_utf8_lossy(&desk.get(&format!("/v3/object/{id}/content")).body).into_owned();
    let main = content(TEMPLATE.replace('/', "%2F").as_str());
    for path in ["/v3/object/story/from/template/path", "/v3/object/create/from/template/path"] {
        let made = result(desk.post(&format!("{path}?path={TEMPLATE}"), &body("a.xml")));
        assert!(id_of(&made).starts_with("2$"), "{made}");
        assert_eq!(content(&id_of(&made)), main);
    }
    // Its own comes first, once there is one.
    let folder = TEMPLATE.trim_end_matches("/story.xml");
    let own = json!({ "name": "story.xml", "type": "Template", "folderPath": folder, "databaseId": 2 });
    upload(&admin(&server), &own, "<own/>");
    let made = result(create(&desk, &body("b.xml")));
    assert_eq!(content(&id_of(&made)), "<own/>");
    // Outside the configuration, what a database lacks is not there.
    let elsewhere = json!({ "name": "t.xml", "type": "Template", "folderPath": "/Forms" });
    upload(&desk, &elsewhere, "<form/>");
    let answer = desk.post("/v3/object/story/from/template/path?path=/Forms/t.xml", &body("c.xml"));
    assert_eq!(refusal(&answer), refused(404, "TemplateNotFound"));
}

#[test]
fn containers_and_dtds_find_what_their_database_lacks_in_the_main_one() {
    let server = server_with(&ARCHIVE);
    let desk = desk(&server, "editor");
    let admin = admin(&server);
    for family in ["topic", "topicplan"] {
        let template = json!({ "name": family, "folderPath": "/SysConfig/Forms" });
        result(admin.post(&format!("/v3/container/{family}"), &template));
    }
    let blog = "%2FSysConfig%2FProduct%2FShared%2FTemplates%2FDefault%2Fliveblog.xml";
    let (topic, plan) = ("%2FSysConfig%2FForms%2Ftopic", "%2FSysConfig%2FForms%2Ftopicplan");
    for (family, template) in [("liveblog", blog), ("topic", topic), ("topicplan", plan)] {
        let path = format!("/v3/container/{family}/from/template/{template}?databaseId=2");
        let made = result(desk.post(&path, &json!({ "name": family, "folderPath": "/Desk", "databaseId": 2 })));
        assert!(made["info"]["id"].as_str().is_some_and(|id| id.starts_with("2$")), "{made}");
    }
    let content = "<!DOCTYPE story SYSTEM \"/SysConfig/Dtd/story.dtd\"><story/>";
    let id =
        upload(&desk, &json!({ "name": "a.xml", "type": "Story", "folderPath": "/Desk", "databaseId": 2 }), content);
    let shown = desk.get(&format!("/v3/object/{id}/content?showDtd=true"));
    assert!(String::from_utf8_lossy(&shown.body).contains("<!ELEMENT"), "{shown:?}");
}
