//! `/v3/container/drawer`

use crate::harness::*;

#[test]
fn an_object_is_added_and_still_there_after_a_crash() {
    let mut server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "front", 5);
    let story = client.story(&folder, "a.xml");
    let path = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&story));
    let reply = client.post(&path, &serde_json::json!({})).ok();
    assert_eq!(reply["info"]["count"], 1);
    assert_eq!(reply["items"][0]["source"], story);
    server.kill();
    let mut server = server.restart();
    // The token lives on, too.
    let client = client.to(&server);
    assert_eq!(client.items(&drawer), [story]);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
