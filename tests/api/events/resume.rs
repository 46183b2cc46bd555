//! Going on where one was: no gap, no repeat, whatever happens between.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Asserts that these come right after a revision, one by one.
fn assert_follow_on(mut last: u64, told: &[Told]) {
    for told in told {
        assert_eq!(told.id, last + 1, "after {last}: {told:?}");
        assert!(told.event.starts_with("drawer."), "{told:?}");
        last = told.id;
    }
}

/// What is stored after an event, and no more.
fn stored(desk: &Desk, after: u64) -> Vec<Told> {
    let path = format!("{}?wait=false", events_of(&desk.drawer));
    let mut follow = desk.client.try_follow(&path, Some(after)).expect("it is answered");
    let told = follow.rest();
    assert!(follow.whole, "the answer was cut off");
    told
}

#[test]
fn who_comes_back_goes_on_behind_the_last_event_by_header_or_parameter() {
    let desk = shared_desk(3);
    let hello = desk.follow(None).must();
    (0..3).for_each(|story| drop(desk.put_in(story)));
    let all = stored(&desk, hello.id);
    assert_eq!(all.len(), 3);
    assert_follow_on(hello.id, &all);
    assert_eq!(stored(&desk, hello.id + 1), all[1..]);
    assert_eq!(stored(&desk, hello.id + 3), []);
    let by_parameter = |after: u64, header: Option<u64>| {
        let path = format!("{}?wait=false&lastEventId={after}", events_of(&desk.drawer));
        desk.client.try_follow(&path, header).expect("it is answered").rest()
    };
    assert_eq!(by_parameter(hello.id + 2, None), all[2..]);
    // A browser that connects again sends the parameter as it was the first time.
    assert_eq!(by_parameter(hello.id, Some(hello.id + 2)), all[2..]);
    // And those who wait hear the rest, then what comes.
    let mut follow = desk.follow(Some(hello.id + 1));
    assert_eq!([follow.must(), follow.must()], all[1..]);
    desk.shuffle(0);
    assert_eq!(follow.must().id, hello.id + 4);
}

#[test]
fn an_id_that_can_not_be_gone_on_from_is_answered_by_a_reset_at_the_present_revision() {
    let desk = shared_desk(1);
    desk.put_in(0);
    let present = desk.revision();
    // Beyond the present, as after a restored backup; and from before the first event, which making a drawer is not.
    for after in [present + 1, u64::MAX, 0] {
        let mut follow = desk.follow(Some(after));
        let told = follow.must();
        assert_eq!((told.event.as_str(), told.id), ("reset", present), "{after}");
        assert_eq!(told.data, json!({ "container": desk.drawer, "revision": present }));
    }
    let mut follow = desk.follow(Some(0));
    follow.must();
    desk.client.delete(&desk.item(0)).ok();
    assert_eq!((follow.must().id, desk.revision()), (present + 1, present + 1));
}

#[test]
fn an_id_that_is_none_is_refused_by_name_and_value() {
    let desk = shared_desk(0);
    let path = events_of(&desk.drawer);
    for wrong in ["x", "-1", "+1", "1.5", "99999999999999999999", "1 2"] {
        let answer = desk.client.send("GET", &path, &[("last-event-id", wrong)], b"");
        let error = answer.fails(400, "InvalidParameter");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("Last-Event-ID") && message.contains(wrong), "{message}");
        let error = desk.client.get(&format!("{path}?lastEventId={}", encoded(wrong))).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("lastEventId")), "{error}");
    }
    // Empty is none, as browsers send it before the first event.
    let answer = desk.client.send("GET", &format!("{path}?wait=false&lastEventId="), &[("last-event-id", "")], b"");
    assert!(answer.body.starts_with(b"id: ") && answer.status == 200);
}

#[test]
fn who_is_cut_off_again_and_again_misses_nothing_and_hears_nothing_twice() {
    const FOLLOWERS: usize = 6;
    const CHANGES: u64 = 300;
    let seed = seed("STET_EVENTS_SEED");
    let server = Server::start();
    let desk = desk(server.login("editor"), 6);
    (0..6).for_each(|story| drop(desk.put_in(story)));
    let first = desk.revision();
    std::thread::scope(|scope| {
        for follower in 0..FOLLOWERS {
            let desk = &desk;
            scope.spawn(move || {
                let mut dice = Dice::of(&[seed, follower as u64]);
                let mut last = first;
                while last < first + CHANGES {
                    let mut follow = desk.follow(Some(last));
                    for _ in 0..dice.roll(20) {
                        if last == first + CHANGES {
                            break;
                        }
                        let told = follow.must();
                        assert_follow_on(last, std::slice::from_ref(&told));
                        last = told.id;
                    }
                }
            });
        }
        let desk = &desk;
        scope.spawn(move || (0..CHANGES as usize).for_each(|turn| desk.shuffle(turn)));
    });
    assert_eq!(desk.revision(), first + CHANGES);
    assert_eq!(stored(&desk, first).len() as u64, CHANGES);
}

#[test]
fn events_go_on_after_a_restart_and_after_a_crash_amid_changes() {
    let mut server = Server::start();
    let mut desk = desk(server.login("editor"), 6);
    (0..6).for_each(|story| drop(desk.put_in(story)));
    let mut last = desk.revision();
    for crash in [false, true, true] {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut follow = desk.follow(Some(last));
            let (desk, over) = (&desk, &over);
            scope.spawn(move || {
                for turn in 0.. {
                    let story = encoded(&desk.stories[turn % 6]);
                    let path = desk.path(&format!("/item/{story}/position/0"));
                    let sent = desk.client.try_send("PUT", &path, &[], b"");
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
        // Whatever was told is there, and the numbers go on behind it.
        let present = desk.revision();
        assert!(present >= last, "{last} was told, and {present} is there");
        let missed = stored(&desk, last);
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
    let desk = desk(server.login("editor"), 4);
    let first = desk.revision();
    // More than are read at a time, and more than the queue holds.
    (0..700).for_each(|turn| desk.shuffle(turn));
    let mut follow = desk.follow(Some(first));
    let told: Vec<Told> = (0..desk.revision() - first).map(|_| follow.must()).collect();
    assert_follow_on(first, &told);
    assert!(told.len() > 600);
    desk.client.put(&desk.path("/item/clear"), &json!({})).ok();
    assert_eq!(follow.must().id, first + told.len() as u64 + 1);
}
