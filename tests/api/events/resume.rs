//! Going on where one was: no gap, no repeat, whatever happens between.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Asserts that these come right after a revision, one by one.
fn assert_follow_on(mut last: u64, told: &[FollowedEvent]) {
    for told in told {
        assert_eq!(told.id, last + 1, "after {last}: {told:?}");
        assert!(told.event.starts_with("drawer."), "{told:?}");
        last = told.id;
    }
}

#[test]
fn a_follower_resumes_behind_its_last_event_by_header_or_parameter() {
    let desk = shared_desk(3);
    let (_, hello) = greeted(&desk.client, &desk.drawer);
    let stored = |after: u64| stored(&desk.client, &desk.drawer, after);
    (0..3).for_each(|story| drop(desk.put_in(story)));
    let all = stored(hello.id);
    assert_eq!(all.len(), 3);
    assert_follow_on(hello.id, &all);
    assert_eq!(stored(hello.id + 1), all[1..]);
    assert_eq!(stored(hello.id + 3), []);
    let by_parameter = |after: u64, header: Option<u64>| {
        let path = format!("{}?wait=false&lastEventId={after}", events_of(&desk.drawer));
        desk.client.try_follow(&path, header).expect("it is answered").rest()
    };
    assert_eq!(by_parameter(hello.id + 2, None), all[2..]);
    // A browser that connects again sends the parameter as it was the first time.
    assert_eq!(by_parameter(hello.id, Some(hello.id + 2)), all[2..]);
    // Waiting followers receive the rest, then new events.
    let mut follow = desk.follow(Some(hello.id + 1));
    assert_eq!([follow.must(), follow.must()], all[1..]);
    desk.shuffle(0);
    assert_eq!(follow.must().id, hello.id + 4);
}

#[test]
fn unusable_last_event_ids_are_answered_by_a_reset_to_the_present() {
    let desk = shared_desk(1);
    desk.put_in(0);
    let present = desk.present();
    // Beyond the present, as after a restored backup.
    for after in [present + 1, u64::MAX] {
        let mut follow = desk.follow(Some(after));
        let told = follow.must();
        assert_eq!((told.event.as_str(), told.id), ("reset", present), "{after}");
        assert_eq!(told.data, json!({ "container": desk.drawer, "revision": present }));
    }
}

#[test]
fn zero_begins_with_the_oldest_event_that_is_kept() {
    let desk = shared_desk(3);
    let (_, hello) = greeted(&desk.client, &desk.drawer);
    // No event is kept yet: the stream waits for the first one.
    assert_eq!(stored(&desk.client, &desk.drawer, 0), []);
    let mut waiting = desk.follow(Some(0));
    (0..3).for_each(|story| drop(desk.put_in(story)));
    let all = stored(&desk.client, &desk.drawer, 0);
    assert_eq!(all.len(), 3);
    assert_follow_on(hello.id, &all);
    assert_eq!([waiting.must(), waiting.must(), waiting.must()], all[..]);
    let path = format!("{}?wait=false&lastEventId=0", events_of(&desk.drawer));
    assert_eq!(desk.client.try_follow(&path, None).expect("it is answered").rest(), all);
    // A waiting follower continues with new events.
    let mut follow = desk.follow(Some(0));
    assert_eq!([follow.must(), follow.must(), follow.must()], all[..]);
    desk.take_out(0);
    assert_eq!(follow.must().id, hello.id + 4);
}

#[test]
fn an_id_that_is_none_is_refused_by_name_and_value() {
    let desk = shared_desk(0);
    for wrong in ["x", "-1", "+1", "1.5", "99999999999999999999", "1 2"] {
        for (name, call) in [
            ("Last-Event-ID", desk.events().header("last-event-id", wrong)),
            ("lastEventId", desk.events().query("lastEventId", wrong)),
        ] {
            let error = call.fails(400, "InvalidParameter");
            let message = error["message"].as_str().expect("an error has a message");
            assert!(message.contains(name) && message.contains(wrong), "{message}");
        }
    }
    // Empty is none, as browsers send it before the first event.
    let empty = desk.events().query("lastEventId", "").header("last-event-id", "");
    let answer = empty.query("wait", false).send();
    assert!(answer.body.starts_with(b"retry: 3000\n\nid: ") && answer.status == 200);
}

#[test]
fn repeatedly_disconnected_followers_miss_and_repeat_no_event() {
    cut_off_again_and_again(&[], 300);
}

/// Regression test: a follower that returned between the visibility of a change and the logging of
/// its event had to begin anew. Also, a follower that receives an event finds it in the container,
/// even with late views.
#[cfg(feature = "planted-bugs")]
#[test]
fn a_follower_who_returns_before_the_log_has_its_events_still_resumes() {
    cut_off_again_and_again(&[("PLANTED_BUG", "late-views")], 40);
}

fn cut_off_again_and_again(settings: &[(&str, &str)], changes: u64) {
    const FOLLOWERS: usize = 6;
    let seed = seed("STET_EVENTS_SEED");
    let server = Server::with(settings);
    let desk = desk(server.user("editor"), 6);
    (0..6).for_each(|story| drop(desk.put_in(story)));
    let first = desk.present();
    std::thread::scope(|scope| {
        for follower in 0..FOLLOWERS {
            let desk = &desk;
            scope.spawn(move || {
                let mut dice = Dice::of(&[seed, follower as u64]);
                let mut last = first;
                while last < first + changes {
                    let mut follow = desk.follow(Some(last));
                    for _ in 0..dice.roll(20) {
                        if last == first + changes {
                            break;
                        }
                        let told = follow.must();
                        assert_follow_on(last, std::slice::from_ref(&told));
                        last = told.id;
                        assert!(desk.present() >= last, "an event tells of what its container does not show");
                    }
                }
            });
        }
        let desk = &desk;
        scope.spawn(move || (0..changes as usize).for_each(|turn| desk.shuffle(turn)));
    });
    assert_eq!(desk.present(), first + changes);
    assert_eq!(stored(&desk.client, &desk.drawer, first).len() as u64, changes);
}

#[test]
fn events_go_on_after_a_restart_and_after_a_crash_amid_changes() {
    let mut server = Server::start();
    let mut desk = desk(server.login("editor"), 6);
    (0..6).for_each(|story| drop(desk.put_in(story)));
    let mut last = desk.present();
    for crash in [false, true, true] {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut follow = desk.follow(Some(last));
            let (desk, over) = (&desk, &over);
            scope.spawn(move || {
                for turn in 0.. {
                    let sent = desk.put_first(turn % 6).try_send();
                    if over.load(Ordering::Relaxed) || !sent.is_ok_and(|answer| answer.status == 200) {
                        return;
                    }
                }
            });
            for _ in 0..30 {
                let told = follow.must();
                assert_follow_on(last, std::slice::from_ref(&told));
                last = told.id;
            }
            if crash {
                server.kill();
            }
            over.store(true, Ordering::Relaxed);
        });
        if !crash {
            assert_eq!(server.terminate(), Some(0));
        }
        server = server.restart();
        desk.client = desk.client.to(&server);
        // All reported changes are there, and the numbers continue after them.
        let present = desk.present();
        assert!(present >= last, "{last} was told, and {present} is there");
        let missed = stored(&desk.client, &desk.drawer, last);
        assert_follow_on(last, &missed);
        assert_eq!(last + missed.len() as u64, present);
        last = present;
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_long_absence_is_told_in_full() {
    let server = Server::with(&[("EVENTS__QUEUE_EVENTS", "64")]);
    let desk = desk(server.user("editor"), 4);
    let first = desk.present();
    // More than are read at a time, and more than the queue holds.
    (0..700).for_each(|turn| desk.shuffle(turn));
    let mut follow = desk.follow(Some(first));
    let told: Vec<FollowedEvent> = (0..desk.present() - first).map(|_| follow.must()).collect();
    assert_follow_on(first, &told);
    assert!(told.len() > 600);
    desk.take_all_out();
    assert_eq!(follow.must().id, first + told.len() as u64 + 1);
}
