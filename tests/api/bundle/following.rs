//! Copies that follow their source until they get a content of their own.

use super::*;

fn follows(client: &Client, copy: &str) -> (bool, u64) {
    let copy = record(client, copy)["channelCopy"].clone();
    (copy["follows"].as_bool().expect("it says so"), copy["version"].as_u64().expect("it is a number"))
}

#[test]
fn a_copy_follows_until_it_is_changed() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let tabloid = id(&copy(&desk, &bundle, "Tabloid", Some("Web")).ok());
    let alone = id(&copy(&desk, &bundle, "Neutral", None).ok());
    assert_eq!(record(&desk, &tabloid)["channelCopy"]["inheritedFrom"], web);
    let texts = || [&web, &tabloid, &alone].map(|copy| content(&desk, copy));

    write(&desk, &bundle, "<story>2</story>").query("newVersion", true).ok();
    assert_eq!(texts(), ["<story>2</story>", "<story>2</story>", "<story>1</story>"]);
    assert_eq!((follows(&desk, &web), follows(&desk, &tabloid)), ((true, 2), (true, 2)));
    assert_eq!((&record(&desk, &web)["version"], &record(&desk, &web)["lastModifier"]), (&json!(2), &json!("editor")));
    // In place, as there.
    write(&desk, &bundle, "<story>3</story>").ok();
    assert_eq!((&record(&desk, &web)["version"], texts()[1].as_str()), (&json!(2), "<story>3</story>"));

    // A copy that inherits from another copy follows that one.
    write(&desk, &web, "<story>web</story>").ok();
    assert_eq!(texts(), ["<story>web</story>", "<story>web</story>", "<story>1</story>"]);
    assert_eq!((follows(&desk, &web), follows(&desk, &tabloid)), ((false, 2), (true, 2)));
    write(&desk, &bundle, "<story>4</story>").ok();
    assert_eq!(texts(), ["<story>web</story>", "<story>web</story>", "<story>1</story>"]);

    // Every way to a content counts: an old version again, and a creation that meets the bundle.
    let second = desk.bundle("second.xml");
    let follower = id(&copy(&desk, &second, "Web", Some("Neutral")).ok());
    write(&desk, &second, "<story>b</story>").query("newVersion", true).ok();
    desk.call("stet-object-version-restore-post", &[&second, &1]).ok();
    assert_eq!(content(&desk, &follower), "<story>1</story>");
    let options =
        json!({ "name": "second.xml", "type": "CompoundStory", "folderPath": desk.folder, "createMode": "REPLACE" });
    desk.call("stet-object-create-post", &[]).form(&options, &[("content", "a", "text/xml", b"<story>c</story>")]).ok();
    assert_eq!(content(&desk, &follower), "<story>c</story>");
    assert_eq!(follows(&desk, &follower), (true, 3));
    desk.call("stet-object-version-restore-post", &[&follower, &1]).ok();
    assert_eq!(follows(&desk, &follower), (false, 3));
}

#[test]
fn a_checked_out_copy_keeps_its_content_and_inherits_again_afterwards() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let reporter = Server::shared().user("reporter");
    reporter.call("stet-object-lock-post", &[&web]).ok();
    write(&desk, &bundle, "<story>2</story>").ok();
    assert_eq!(content(&desk, &web), "<story>1</story>");
    reporter.call("stet-object-unlock-post", &[&web]).ok();
    write(&desk, &bundle, "<story>3</story>").ok();
    assert_eq!(content(&desk, &web), "<story>3</story>");
}

/// A restored copy said that it followed, and had the old text until the next change.
#[test]
fn a_copy_that_is_restored_has_the_text_that_it_follows() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let tabloid = id(&copy(&desk, &bundle, "Tabloid", Some("Web")).ok());
    desk.call("object-discard", &[&web]).ok();
    write(&desk, &bundle, "<story>2</story>").query("newVersion", true).ok();
    desk.call("stet-object-restore-post", &[&web]).ok();
    assert_eq!([&web, &tabloid].map(|copy| content(&desk, copy)), ["<story>2</story>", "<story>2</story>"]);
    assert_eq!((follows(&desk, &web), follows(&desk, &tabloid)), ((true, 2), (true, 2)));
    // One whose text is the same has no new version.
    desk.call("object-discard", &[&web]).ok();
    desk.call("stet-object-restore-post", &[&web]).ok();
    assert_eq!(record(&desk, &web)["version"], 2);
}

#[test]
fn large_contents_are_followed_too() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let large = format!("<story>{}</story>", "x".repeat(300_000));
    write(&desk, &bundle, &large).ok();
    assert_eq!(content(&desk, &web), large);
    desk.call("object-destroy", &[&web]).ok();
    assert_eq!(content(&desk, &bundle), large);
}

/// Writers of a bundle and of its copies, and copies made meanwhile: those that follow at the end
/// have the bundle's text.
#[test]
fn inheriting_copies_end_with_the_bundles_last_text() {
    let mut server = Server::start();
    let client = server.user("editor");
    let options = json!({ "name": "story.xml", "type": "CompoundStory", "folderPath": "/Race" });
    let file = ("content", "a.xml", "text/xml", b"<story>0</story>".as_slice());
    let bundle = id(&client.call("stet-object-create-post", &[]).form(&options, &[file]).ok());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (client, bundle) = (client.afresh(), &bundle);
            scope.spawn(move || {
                for round in 0..20 {
                    let text = format!("<story>{writer} {round}</story>");
                    write(&client, bundle, &text).query("newVersion", round % 2 == 0).ok();
                }
            });
        }
        let (client, bundle) = (client.afresh(), &bundle);
        scope.spawn(move || {
            for round in 0..10 {
                let web = id(&copy(&client, bundle, "Web", Some("Neutral")).ok());
                let tabloid = id(&copy(&client, bundle, "Tabloid", Some("Web")).ok());
                if round < 9 {
                    client.call("object-destroy", &[&tabloid]).ok();
                    client.call("object-destroy", &[&web]).ok();
                }
            }
        });
    });
    let end = content(&client, &bundle);
    server.kill();
    let (code, told) = server.check();
    assert_eq!(code, Some(0), "{told}");
    let server = server.restart();
    let client = server.user("editor");
    for object in ["/Race/story.xml", "/Race/story.xml/Web", "/Race/story.xml/Tabloid"] {
        assert_eq!(content(&client, object), end, "{object}");
    }
    let version = record(&client, &bundle)["version"].clone();
    assert_eq!(record(&client, "/Race/story.xml/Web")["channelCopy"]["version"], version);
}
