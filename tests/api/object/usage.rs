//! Usage tickets that the server appends (docs/api/objects.md, "Usage tickets").

use serde_json::{Value, json};

use crate::api::bundle::Desk;
use crate::harness::*;

fn tickets(client: &Client, object: &str) -> Value {
    client.call("object-get", &[&object]).ok()["usageTickets"]["tl"].clone()
}

fn uuid(client: &Client, object: &str) -> String {
    client.call("object-get", &[&object]).ok()["pstate"]["uuid"].as_str().expect("it has one").to_owned()
}

fn link(client: &Client, source: &str, target: &str, how: &str) {
    let body = json!({ "sourceLinkName": "picture", "targetLinkName": how, "targetSource": target });
    client.call("stet-object-correlate-post", &[&source]).json(&body).ok();
}

#[test]
fn the_target_of_a_link_says_once_what_uses_it() {
    let desk = Desk::of("editor");
    let (story, picture) = (desk.make("Story", "a.xml", "<a/>"), desk.make("Story", "b.xml", "<b/>"));
    assert_eq!(tickets(&desk, &picture), json!({}));
    link(&desk, &story, &picture, "story");
    let noted = tickets(&desk, &picture)["use"].clone();
    let (by, at) = (uuid(&desk, &story), noted["@at"].clone());
    assert!(at.as_str().is_some_and(|at| at.parse::<u64>().is_ok_and(|at| at > 1_700_000_000)), "{noted}");
    let wanted = json!({ "@kind": "correlate", "@name": "story", "@by": by, "@user": "editor", "@at": at });
    assert_eq!(noted, wanted);
    assert_eq!(tickets(&desk, &story), json!({}), "it uses, and is not used");
    let body = json!({ "sourceLinkName": "picture", "targetLinkName": "story", "targetSource": picture });
    desk.call("stet-object-uncorrelate-post", &[&story]).json(&body).ok();
    link(&desk, &story, &picture, "story");
    assert_eq!(tickets(&desk, &picture)["use"], wanted, "it was used so before");
    link(&desk, &story, &picture, "cover");
    assert_eq!(tickets(&desk, &picture)["use"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_bundle_adds_channels_to_its_usage_tickets_and_keeps_client_texts() {
    let desk = Desk::of("editor");
    let options = json!({
        "name": "story.xml", "type": "EOM::CompoundStory", "folderPath": desk.folder,
        "usageTickets": "<tl>\n<t page='3'/></tl>",
    });
    let made =
        desk.call("stet-object-create-post", &[]).form(&options, &[("content", "s", "text/xml", b"<s/>".as_slice())]);
    let bundle = made.ok()["id"].as_str().expect("it has an id").to_owned();
    let copy = desk.call("container-bundle-channelcopy-post", &[&bundle]).json(&json!({ "channel": "Web" })).ok();
    let text = desk.get(&format!("/v3/object/{}?showXml=true&useUnparsedXml=true", encoded(&bundle))).ok();
    let text = text["usageTicketsXml"].as_str().expect("it is a text").to_owned();
    assert!(text.starts_with("<tl>\n<t page='3'/><use kind=\"channelCopy\" name=\"Web\" by="), "{text}");
    let copy = copy["id"].as_str().expect("it has an id");
    assert!(text.contains(&uuid(&desk, copy)), "{text}");
    assert_eq!(tickets(&desk, copy), json!({}));
}
