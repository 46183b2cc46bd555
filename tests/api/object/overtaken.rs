//! Writes by a client whose lock has ended without its knowledge, after another user has saved: no
//! text is lost (docs/api/content.md, "Writing content").

use super::*;

/// A user who had the object checked out and has lost the lock, and the object, whose only version
/// another user has written since.
struct Late {
    late: Desk,
    other: Client,
    object: String,
    /// The tag of the object as the late user saw it last.
    seen: String,
}

const OTHERS: &[u8] = b"the other's text";

impl Late {
    fn new() -> Late {
        let late = Desk::of("reporter");
        let other = Server::shared().user("editor");
        let object = late.make("a.xml", b"one");
        lock(&late, &object).ok();
        let seen = tag(&late.call("object-get", &[&object]).send());
        unlock(&Server::shared().user("admin"), &object, true).ok();
        lock(&other, &object).ok();
        write(&other, &object, "", OTHERS).gives(&json!({ "version": 1, "locker": null }));
        Late { late, other, object, seen }
    }

    /// The texts of all versions, first to last.
    fn versions(&self) -> Vec<String> {
        let last = read(&self.other, &self.object)["version"].as_u64().expect("it has a version");
        let text = |number| String::from_utf8_lossy(&bytes_of_version(&self.other, &self.object, number)).into_owned();
        (1..=last).map(text).collect()
    }

    #[track_caller]
    fn has_kept_both(&self, latest: &str) {
        assert_eq!(self.versions(), [&String::from_utf8_lossy(OTHERS), latest]);
    }
}

#[test]
fn a_late_save_leaves_the_text_of_others_as_a_version() {
    for query in ["", "newVersion", "checkOut", "checkOutClean", "keepCheckedOut"] {
        let desk = Late::new();
        write(&desk.late, &desk.object, query, b"late").gives(&json!({ "version": 2 }));
        desk.has_kept_both("late");
        // From here on the late client knows the present state.
        if query != "keepCheckedOut" {
            write(&desk.late, &desk.object, "", b"later").gives(&json!({ "version": 2 }));
            desk.has_kept_both("later");
        }
    }
}

#[test]
fn a_late_draft_is_checked_in_as_a_version_of_its_own() {
    for (save, check_in, body) in [
        ("checkIn=false", "checkOut", &b""[..]),
        ("checkOut&checkIn=false", "", b""),
        ("checkOut&checkIn=false", "", b"late"),
        ("checkOutClean&checkIn=false", "", b"late"),
    ] {
        let desk = Late::new();
        write(&desk.late, &desk.object, save, b"late").ok();
        write(&desk.late, &desk.object, check_in, body).gives(&json!({ "version": 2 }));
        desk.has_kept_both("late");
    }
}

#[test]
fn a_late_save_under_if_match_is_refused() {
    let desk = Late::new();
    let save = |tag: &str| write(&desk.late, &desk.object, "", b"late").header("if-match", tag);
    save(&desk.seen).fails(412, "PreconditionFailed");
    assert_eq!(desk.versions(), [String::from_utf8_lossy(OTHERS)]);
    // A client that names the present state replaces what it has seen. `*` names none.
    let now = tag(&desk.late.call("object-get", &[&desk.object]).send());
    save(&now).gives(&json!({ "version": 1 }));
    assert_eq!(desk.versions(), ["late"]);
    let desk = Late::new();
    write(&desk.late, &desk.object, "", b"late").header("if-match", "*").gives(&json!({ "version": 2 }));
    desk.has_kept_both("late");
}

#[test]
fn a_creation_that_replaces_leaves_the_text_of_others_as_a_version() {
    let desk = Late::new();
    let made = desk.late.again("a.xml", b"late", "REPLACE");
    assert_eq!(made["version"], 2);
    desk.has_kept_both("late");
    assert_eq!(desk.late.again("a.xml", b"later", "REPLACE")["version"], 2);
    desk.has_kept_both("later");
}

#[test]
fn a_lock_owner_replaces_versions_of_others() {
    let desk = Late::new();
    lock(&desk.late, &desk.object).ok();
    write(&desk.late, &desk.object, "", b"late").gives(&json!({ "version": 1 }));
    assert_eq!(desk.versions(), ["late"]);
}

#[test]
fn late_saves_of_liveblogs_and_channel_copies_lose_nothing_either() {
    let (reporter, editor, folder) = (Server::shared().user("reporter"), Server::shared().user("editor"), own_folder());
    let blog = reporter.liveblog(&folder, "night");
    let put = |client: &Client, text: &str| {
        let call = client.call("liveblog-put", &[&blog]).bytes("application/xml", text);
        call.ok()["info"]["version"].as_u64().expect("it has a version")
    };
    let first = put(&reporter, "<a/>");
    let after = put(&editor, "<b/>");
    assert_eq!((put(&editor, "<c/>"), put(&reporter, "<d/>")), (after, after + 1));
    assert!(after > first);
    for (number, text) in [(first, "<a/>"), (after, "<c/>"), (after + 1, "<d/>")] {
        assert_eq!(bytes_of_version(&editor, &blog, number), text.as_bytes());
    }

    let story = json!({ "name": "story", "type": "EOM::CompoundStory", "folderPath": folder });
    let file = ("content", "story", "text/xml", &b"<story/>"[..]);
    let bundle = id(&reporter.call("stet-object-create-post", &[]).form(&story, &[file]).ok());
    let copy = json!({ "channel": "Tabloid" });
    let copy = reporter.call("container-bundle-channelcopy-post", &[&bundle]).json(&copy).ok();
    let copy = id(&copy);
    write(&editor, &copy, "", b"<editor/>").ok();
    let last = write(&reporter, &copy, "", b"<reporter/>").ok()["version"].as_u64().expect("it has a version");
    assert_eq!(bytes_of_version(&editor, &copy, last - 1), b"<editor/>");
}
