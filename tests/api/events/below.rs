//! Following everything below a folder: `/v3/events?below=…`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::several::container;
use super::*;

/// The path that follows a folder, after an id or from the present.
fn below(folder: &str, after: &str) -> String {
    format!("/v3/events?below={}&lastEventId={after}", encoded(folder))
}

fn follow_below(client: &Client, folder: &str, after: &str) -> Follow {
    client.try_follow(&below(folder, after), None).expect("it is answered")
}

/// Follows a folder and waits for the greeting.
fn greeted_below(client: &Client, folder: &str) -> (Follow, FollowedEvent) {
    let mut follow = follow_below(client, folder, "");
    let hello = follow.must();
    assert_eq!(hello.event, "hello");
    (follow, hello)
}

/// Returns the stored events after an id, and the last id of the reply.
fn stored_below(client: &Client, folder: &str, after: &str) -> (Vec<FollowedEvent>, String) {
    let mut follow = follow_below(client, folder, &format!("{after}&wait=false"));
    let told = follow.rest();
    assert!(follow.whole, "the answer was cut off");
    (told, follow.last_id)
}

/// The number of an id's change set, and the event's number in it.
fn place(id: &str) -> (u64, u64) {
    let (seq, ordinal) = id.split_once('-').expect("an id has two numbers");
    (seq.parse().expect("a number"), ordinal.parse().expect("a number"))
}

fn loid(client: &Client, source: &str) -> String {
    client.call("object-get", &[&source]).ok()["id"].as_str().expect("an object has an id").to_owned()
}

/// The kinds and containers of events, sorted: those of one change have no order that matters.
fn changes(told: &[FollowedEvent]) -> Vec<(&str, &str)> {
    let mut changes: Vec<_> = told.iter().map(|told| (told.event.as_str(), container(told))).collect();
    changes.sort_unstable();
    changes
}

fn sorted<'a>(mut expected: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    expected.sort_unstable();
    expected
}

#[test]
fn a_folder_is_followed_with_everything_below_it_and_nothing_else() {
    let (desk, other) = (shared_desk(1), shared_desk(1));
    let client = &desk.client;
    let sub = format!("{}/deep/down", desk.folder);
    let story = client.story(&sub, "old.xml");
    let (mut follow, hello) = greeted_below(client, &desk.folder);
    assert_eq!(container(&hello), loid(client, &desk.folder));
    other.put_in(0);
    let new = client.story(&sub, "new.xml");
    other.take_out(0);
    desk.put_in(0);
    client.call("stet-object-lock-post", &[&story]).ok();
    let told = [follow.must(), follow.must(), follow.must()];
    let sub = loid(client, &sub);
    let expected = [("object.create", &*sub), ("drawer.item.add", &*desk.drawer), ("object.lock", &*story)];
    assert_eq!(told.each_ref().map(|told| (told.event.as_str(), container(told))), expected);
    assert_eq!(ids(&told[0]), [new.as_str()]);
    // The data is that of the container's own stream, and the id its place in the audit trail.
    let own = stored(client, &story, told[2].id - 1);
    assert_eq!((own[0].id, &own[0].data), (told[2].id, &told[2].data));
    let trail = Server::shared().user("admin").call("stet-audit-get", &[]).query("object", &story).ok();
    assert_eq!(trail["items"][0]["id"], told[2].position);
    // Other folders' changes move the id on.
    let (rest, last) = stored_below(client, &desk.folder, &told[2].position);
    assert_eq!(rest, []);
    other.put_in(0);
    let (rest, next) = stored_below(client, &desk.folder, &last);
    assert_eq!(rest, []);
    assert!(place(&next) > place(&last), "{next} after {last}");
    assert_eq!(stored_below(client, &desk.folder, &hello.position).0, told);
    assert_eq!(stored_below(client, &desk.folder, &told[0].position).0, told[1..]);
}

#[test]
fn an_id_that_is_no_longer_kept_resets_and_zero_begins_with_the_oldest_event() {
    let desk = shared_desk(2);
    let client = &desk.client;
    let folder = loid(client, &desk.folder);
    (0..2).for_each(|story| drop(desk.put_in(story)));
    let (all, _) = stored_below(client, &desk.folder, "0");
    let drawer: Vec<_> =
        all.iter().filter(|told| container(told) == desk.drawer).map(|told| told.event.as_str()).collect();
    assert_eq!(drawer, ["drawer.item.add", "drawer.item.add"]);
    let (told, _) = stored_below(client, &desk.folder, "0-1");
    assert_eq!((told[0].event.as_str(), container(&told[0])), ("reset", folder.as_str()));
    assert_eq!(told[1..], all);
    assert_eq!(stored_below(client, &desk.folder, &told[0].position).0, all, "its id does not reset again");
    // Beyond the present, as after a restored backup.
    let mut follow = follow_below(client, &desk.folder, "99999999999-0");
    assert_eq!(follow.must().event, "reset");
    desk.take_out(0);
    assert_eq!(follow.must().event, "drawer.item.delete");
}

#[test]
fn a_stream_below_a_folder_refuses_what_it_cannot_follow() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Top/Desk", &["read"]));
    let drawer = admin.drawer("/Top/Desk", "desk", 5);
    let drawer = drawer.as_str();
    admin.story("/Top/Other", "hidden.xml");
    let call = |query: &[(&str, &str)]| {
        let call = reporter.call("stet-events-get", &[]);
        query.iter().fold(call, |call, (name, value)| call.query(name, *value))
    };
    for folder in ["/", "/Top"] {
        let error = call(&[("below", folder)]).fails(403, "PermissionDenied");
        assert_eq!(error["details"]["privilege"], "read");
    }
    for folder in ["/Top/Other", "/Top/Nothing", "1$1.0.999999999"] {
        call(&[("below", folder)]).fails(404, "ObjectNotFound");
    }
    call(&[("below", "Top")]).fails(400, "InvalidParameter");
    call(&[("below", drawer)]).fails(400, "InvalidType");
    let error = call(&[("below", "/Top/Desk"), ("containers", drawer)]).fails(400, "InvalidParameter");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("`below` and `containers`")), "{error}");
    for wrong in ["x", "1", "1-", "1-2-3", "-1-2", "1.4711.41", "1-99999999999"] {
        let error = call(&[("below", "/Top/Desk"), ("lastEventId", wrong)]).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(wrong)), "{error}");
    }
    assert_eq!(server.client().count("stet_event_followers"), 0);
    // The id of an event of such a stream resumes no other.
    call(&[("lastEventId", "41-0")]).fails(400, "InvalidParameter");
    let (mut follow, _) = greeted_below(&reporter, "/Top/Desk");
    admin.story("/Top/Desk", "seen.xml");
    assert_eq!(follow.must().event, "object.create");
}

#[test]
fn a_follower_of_a_folder_is_sent_what_may_be_read_and_the_id_moves_past_the_rest() {
    let server = Server::with(&[("EVENTS__KEEP_ALIVE_SECONDS", "1")]);
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Top/Desk", &["read"]));
    let drawer = admin.drawer("/Top/Desk", "desk", 5);
    let (seen, hidden) = (admin.story("/Top/Desk", "seen.xml"), admin.story("/Top/Other", "hidden.xml"));
    let blog = admin.liveblog("/Top/Desk", "night");
    let (mut follow, hello) = greeted_below(&reporter, "/Top/Desk");
    let add = |story: &str| admin.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": [story] })).ok();
    let post = admin.call("liveblog-post-create", &[&blog]);
    let text = b"<post><p>goal</p></post>";
    let post = post.form(&json!({ "title": "goal" }), &[("content", "post.xml", "text/xml", &text[..])]).ok();
    let post = post["info"]["id"].as_str().expect("a post has an id");
    admin.call("liveblog-post-pending-post", &[&blog, &post]).ok();
    let before = stored_below(&reporter, "/Top/Desk", &hello.position).0;
    before.iter().for_each(|told| assert_eq!(follow.must(), *told));
    let kinds: Vec<_> = before.iter().map(|told| told.event.as_str()).collect();
    assert!(!kinds.contains(&"hidden"), "{kinds:?}");
    // Neither a post that waits for approval nor a hidden story is told, and the id moves on.
    admin.call("liveblog-post-put", &[&blog, &post]).form(&json!({ "title": "no goal" }), &[]).ok();
    add(&hidden);
    let last = follow.last_id.clone();
    while place(&follow.last_id) <= place(&last) {
        follow.comment();
    }
    let (rest, after) = stored_below(&reporter, "/Top/Desk", &last);
    assert_eq!(rest, []);
    assert!(place(&after) > place(&last));
    let all = stored_below(&admin, "/Top/Desk", &last).0;
    assert_eq!(changes(&all), [("drawer.item.add", &*drawer), ("liveblog.post.update", &*blog)]);
    admin.call("liveblog-post-approve-post", &[&blog, &post]).ok();
    add(&seen);
    let told = [follow.must(), follow.must()];
    assert_eq!(told.each_ref().map(|told| told.event.as_str()), ["liveblog.post.status", "drawer.item.add"]);
    assert_eq!((ids(&told[0]), ids(&told[1])[1]), (vec![post], seen.as_str()));
}

#[test]
fn moves_are_events_of_the_folders_and_the_object_is_followed_where_it_lies() {
    let desk = shared_desk(1);
    let (client, story) = (&desk.client, &desk.stories[0]);
    let [one, two] = ["one", "two"].map(|name| format!("{}/{name}", desk.folder));
    [&one, &two].iter().for_each(|folder| drop(client.story(folder, "other.xml")));
    let to = |folder: &str| {
        client.call("stet-object-move-post", &[story]).json(&json!({ "folderPath": folder })).ok();
    };
    to(&one);
    let (top, first, second) = (loid(client, &desk.folder), loid(client, &one), loid(client, &two));
    let folders = [&desk.folder, &one, &two];
    let mut follows = folders.map(|folder| greeted_below(client, folder).0);
    to(&two);
    let moved = "object.move";
    let all = vec![(moved, &*first), (moved, &*second), (moved, story.as_str())];
    let told = [follows[0].must(), follows[0].must(), follows[0].must()];
    assert_eq!(changes(&told), sorted(all.clone()));
    let told = [follows[1].must()];
    assert_eq!((changes(&told), ids(&told[0])), (vec![all[0]], vec![story.as_str()]));
    let told = [follows[2].must(), follows[2].must()];
    assert_eq!(changes(&told), sorted(all[1..].to_vec()));
    // In the recycle bin the story is where it was.
    for kind in ["object.discard", "object.restore"] {
        let id = if kind == "object.discard" { "object-discard" } else { "stet-object-restore-post" };
        client.call(id, &[story]).ok();
        let told = [follows[2].must(), follows[2].must()];
        assert_eq!(changes(&told), sorted(vec![(kind, &*second), (kind, story.as_str())]));
    }
    // Of a destroyed object only the folder's event is left.
    client.call("object-destroy", &[story]).ok();
    let told = [follows[2].must()];
    assert_eq!((changes(&told), ids(&told[0])), (vec![("object.destroy", &*second)], vec![story.as_str()]));
    let (rest, _) = stored_below(client, &two, "0");
    assert!(rest.iter().all(|told| container(told) != story), "{rest:?}");
    // The first folder had no more events.
    client.story(&one, "last.xml");
    assert_eq!(changes(&[follows[1].must()]), [("object.create", &*first)]);
    client.story(&desk.folder, "top.xml");
    let last = std::iter::from_fn(|| Some(follows[0].must())).find(|told| container(told) == top);
    assert_eq!(last.expect("it is told").event, "object.create");
}

#[test]
fn a_folder_that_is_discarded_or_destroyed_or_hidden_ends_its_streams() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), reporter_below(&server, "/Top/Desk", &["read"]));
    let story = admin.story("/Top/Desk/one", "story.xml");
    admin.story("/Top/Desk/two", "story.xml");
    let discarded = loid(&admin, "/Top/Desk/one");
    let (one, _) = greeted_below(&admin, "/Top/Desk/one");
    let (mut two, _) = greeted_below(&admin, "/Top/Desk/two");
    admin.call("object-discard", &[&discarded]).ok();
    let told = ended(one);
    let last = told.last().expect("it is told");
    assert_eq!((last.event.as_str(), container(last)), ("object.discard", discarded.as_str()));
    assert!(told.iter().all(|told| [&discarded, &story].contains(&&container(told).to_owned())), "{told:?}");
    admin.call("stet-events-get", &[]).query("below", &discarded).fails(404, "ObjectNotFound");
    admin.call("object-destroy", &[&"/Top/Desk/two"]).ok();
    two.rest();
    assert!(two.whole, "it was cut off");
    // The folder goes on, until the right to read it ends.
    let (mut desk, _) = greeted_below(&reporter, "/Top/Desk");
    admin.story("/Top/Desk", "new.xml");
    assert_eq!(desk.must().event, "object.create");
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "desk", "members": [] })).ok();
    assert_eq!(ended(desk), []);
}

#[test]
fn streams_below_folders_count_among_the_followers_and_end_with_the_server() {
    let mut server = Server::with(&[("EVENTS__FOLLOWERS_PER_USER", "2"), ("SERVER__SHUTDOWN_SECONDS", "3600")]);
    let desk = desk(server.user("editor"), 1);
    let follows = [greeted_below(&desk.client, &desk.folder).0, greeted_below(&desk.client, "/").0];
    assert_eq!(server.client().count("stet_event_followers"), 2);
    let refused = desk.client.call("stet-events-get", &[]).query("below", &desk.folder).send();
    assert!(refused.header("retry-after").is_some());
    refused.fails(503, "Overloaded");
    assert_eq!(desk.client.send("HEAD", &below(&desk.folder, ""), &[], b"").status, 200);
    desk.put_in(0);
    server.ask_to_end();
    for follow in follows {
        assert_eq!(changes(&ended(follow)), [("drawer.item.add", &*desk.drawer)], "what was done before is told");
    }
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn each_change_below_a_folder_is_sent_once_and_in_the_order_of_the_trail() {
    hear_the_trail(&[], 120);
}

/// A follower may come between the visibility of a change and the logging of its event.
#[cfg(feature = "planted-bugs")]
#[test]
fn a_follower_of_a_folder_misses_nothing_where_the_log_and_views_are_late() {
    hear_the_trail(&[("PLANTED_BUG", "late-views")], 25);
}

/// Lets followers of some folders be disconnected again and again while several clients write. What
/// each receives must be what the audit trail has of its folder.
fn hear_the_trail(settings: &[(&str, &str)], turns: usize) {
    const WRITERS: usize = 3;
    let seed = seed("STET_EVENTS_SEED");
    let server = Server::with(settings);
    let editor = server.user("editor");
    let folders = ["/", "/Below/one", "/Below/one/two", "/Below/other"];
    let drawers: Vec<(String, usize)> =
        (1..folders.len()).map(|at| (editor.drawer(folders[at], "desk", 1000), at)).collect();
    let stories: Vec<String> = (0..4).map(|n| editor.story("/Below/stories", &format!("{n}.xml"))).collect();
    // The folder in which each container lies.
    let places: Mutex<BTreeMap<String, usize>> = Mutex::new(drawers.iter().cloned().collect());
    for (at, folder) in folders.iter().enumerate().skip(1) {
        places.lock().unwrap().insert(loid(&editor, folder), at);
    }
    let (writing, mut written) = (AtomicBool::new(true), String::new());
    let heard: Vec<(String, Vec<String>)> = std::thread::scope(|scope| {
        let (server, drawers, stories, places, writing) = (&server, &drawers, &stories, &places, &writing);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let client = server.login("editor");
                    let mut dice = Dice::of(&[seed, writer as u64]);
                    for turn in 0..turns {
                        let (drawer, at) = dice.pick(drawers).expect("there are some");
                        if dice.roll(4) > 0 {
                            let story = dice.pick(stories).expect("there are some");
                            client.call("drawer-item-position-put", &[drawer, story, &0]).ok();
                        } else {
                            let story = client.story(folders[*at], &format!("{writer}-{turn}.xml"));
                            places.lock().unwrap().insert(story.clone(), *at);
                            client.call("stet-object-lock-post", &[&story]).ok();
                        }
                    }
                })
            })
            .collect();
        let followers: Vec<_> = (0..folders.len())
            .map(|at| {
                let client = server.user("editor");
                let first = greeted_below(&client, folders[at]).1.position;
                scope.spawn(move || {
                    let (mut dice, mut heard) = (Dice::of(&[seed, 99, at as u64]), Vec::new());
                    let mut last = first.clone();
                    while writing.load(Ordering::Relaxed) {
                        if dice.roll(2) == 0 {
                            let (told, next) = stored_below(&client, folders[at], &last);
                            heard.extend(told.into_iter().map(|told| told.position));
                            last = if next.is_empty() { last } else { next };
                            continue;
                        }
                        let mut follow = follow_below(&client, folders[at], &last);
                        for _ in 0..dice.roll(12) {
                            if !writing.load(Ordering::Relaxed) {
                                break;
                            }
                            // The other followers' folders go on, so that each is sent something.
                            heard.push(follow.must().position);
                        }
                        last = if follow.last_id.is_empty() { last } else { follow.last_id };
                    }
                    heard.extend(stored_below(&client, folders[at], &last).0.into_iter().map(|told| told.position));
                    (first, heard)
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer ends"));
        written = greeted_below(&server.user("editor"), "/").1.position;
        writing.store(false, Ordering::Relaxed);
        // Whoever waits for an event gets one.
        for (drawer, at) in drawers {
            let title = json!({ "title": format!("the end of {at}") });
            server.user("editor").call("drawer-put", &[drawer]).json(&title).ok();
        }
        followers.into_iter().map(|follower| follower.join().expect("a follower hears all")).collect()
    });
    let trail = trail(&server.user("admin"));
    let places = places.into_inner().unwrap();
    for (at, (first, heard)) in heard.iter().enumerate() {
        let inside: BTreeSet<usize> = match at {
            0 => (0..folders.len()).collect(),
            1 => BTreeSet::from([1, 2]),
            at => BTreeSet::from([at]),
        };
        let is_below = |container: &str| at == 0 || places.get(container).is_some_and(|lies| inside.contains(lies));
        let last = heard.last().map_or((0, 0), |last| place(last)).max(place(&written));
        let expected: Vec<&str> = trail
            .iter()
            .filter(|(id, container)| place(id) > place(first) && place(id) <= last && is_below(container))
            .map(|(id, _)| id.as_str())
            .collect();
        assert!(expected.len() > turns / 4, "{} events in {}", expected.len(), folders[at]);
        assert_eq!(*heard, expected, "{}", folders[at]);
    }
}

/// Returns the places and containers of the audit trail, oldest first.
fn trail(admin: &Client) -> Vec<(String, String)> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let call = admin.call("stet-audit-get", &[]).query("limit", 1000);
        let page = if after.is_empty() { call.ok() } else { call.query("after", &after).ok() };
        for entry in page["items"].as_array().expect("a page has items") {
            if let (Some(id), Some(container)) = (entry["id"].as_str(), entry["container"].as_str()) {
                found.push((id.to_owned(), container.to_owned()));
            }
        }
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    found.reverse();
    found
}

#[test]
fn a_stream_below_a_folder_resumes_after_a_crash_amid_changes() {
    let mut server = Server::start();
    let mut desks = [(); 3].map(|()| desk(server.login("editor"), 4));
    desks.iter().for_each(|desk| (0..4).for_each(|story| drop(desk.put_in(story))));
    let outside = desks[2].drawer.clone();
    let mut known: BTreeMap<String, u64> =
        desks[..2].iter().map(|desk| (desk.drawer.clone(), desk.present())).collect();
    // All lie below this folder but the third.
    let top = format!("{}/top", desks[0].folder);
    desks[0].client.call("folder-post", &[]).json(&json!({ "path": top })).ok();
    for desk in &desks[..2] {
        let to = json!({ "folderPath": top, "createMode": "AUTO_RENAME" });
        desk.client.call("stet-object-move-post", &[&desk.drawer]).json(&to).ok();
        known.insert(desk.drawer.clone(), desk.present());
    }
    let mut last = greeted_below(&desks[0].client, &top).1.position;
    let note = |told: &FollowedEvent, known: &mut BTreeMap<String, u64>| {
        assert_ne!(container(told), outside);
        let revision = known.get_mut(container(told)).expect("it is below the folder");
        assert_eq!(told.id, *revision + 1, "{told:?}");
        *revision = told.id;
    };
    for _ in 0..3 {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for desk in &desks {
                scope.spawn(|| {
                    for turn in 0.. {
                        let sent = desk.put_first(turn % 4).try_send();
                        if over.load(Ordering::Relaxed) || !sent.is_ok_and(|answer| answer.status == 200) {
                            return;
                        }
                    }
                });
            }
            let mut follow = follow_below(&desks[0].client, &top, &last);
            for _ in 0..60 {
                let told = follow.must();
                note(&told, &mut known);
                last = told.position;
            }
            server.kill();
            over.store(true, Ordering::Relaxed);
        });
        server = server.restart();
        for desk in &mut desks {
            desk.client = desk.client.to(&server);
        }
        let (missed, next) = stored_below(&desks[0].client, &top, &last);
        missed.iter().for_each(|told| note(told, &mut known));
        for desk in &desks[..2] {
            assert_eq!(known[&desk.drawer], desk.present(), "all that was done is told");
        }
        last = next;
    }
}
