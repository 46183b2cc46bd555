//! Whole numbers in bodies, as clients write them whose language has but one kind of number.

use serde_json::json;

use super::*;

#[test]
fn a_number_without_a_fraction_is_whole_in_any_body() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let send = |id: &str, sources: &[&dyn std::fmt::Display], body: &str| {
        client.call(id, sources).bytes("application/json", body).send()
    };
    let blog = client.liveblog(&folder, "night");
    let post = |timestamp: &str| {
        let form = format!(
            "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{{\"timestamp\": {timestamp}}}\r\n\
             --b\r\ncontent-disposition: form-data; name=\"content\"\r\n\r\nx\r\n--b--\r\n"
        );
        client.call("liveblog-post-create", &[&blog]).bytes("multipart/form-data; boundary=b", form).send()
    };
    for (written, timestamp) in [
        ("1700000000456.0", 1_700_000_000_456_u64),
        ("1.700000000789E12", 1_700_000_000_789),
        ("1.7e12", 1_700_000_000_000),
    ] {
        assert_eq!(post(written).ok()["timestamp"], timestamp, "{written}");
    }
    for written in ["1700000000456.5", "0.1"] {
        let error = post(written).fails(400, "InvalidBody");
        assert_eq!(error["details"]["path"], "$.timestamp");
        says(&error, &format!("the number {written} is not a whole number"));
    }
    says(&post("1e300").fails(400, "InvalidBody"), "`$.timestamp`");
    let late = send("liveblog-search-post", &[&blog], "{\"from\": 1700000000456.0, \"limit\": 1e1}").ok();
    assert_eq!(late["total"], 2);

    let topic = client.post("/v3/container/topic", &json!({ "folder": folder })).ok()["info"]["id"].clone();
    let topic = topic.as_str().expect("it has an id");
    for position in ["0", "0.0", "-1.0", "1e0"] {
        let body = format!("{{\"name\": \"x\", \"position\": {position}, \"priority\": 3.0, \"databaseId\": 1.0}}");
        let item = send("topicitem-post", &[&topic], &body).ok();
        assert_eq!(item["info"]["priority"], 3, "{item}");
    }
    says(&send("topicitem-post", &[&topic], "{\"position\": 1.5}").fails(400, "InvalidBody"), "1.5");

    // A value that is a text in every notation stays as written.
    let body = format!(
        "{{\"name\": \"kept\", \"folder\": \"{folder}\", \"capacity\": 5.0, \"attributes\": {{\"m\": {{\"a\": 1.0}}}}}}"
    );
    let made = send("drawer-post", &[], &body).ok();
    includes(&made["info"], &json!({ "capacity": 5, "attributes": { "m": { "a": "1.0" } } }));
}
