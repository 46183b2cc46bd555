//! Many concurrent operations: one serial order explains every reply, nothing is lost or doubled,
//! and acknowledged changes survive a crash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::harness::drawer::{DrawerOp, ModelDrawer};

/// The reply to one operation of a thread.
#[derive(Debug)]
struct Told {
    op: DrawerOp,
    revision: u64,
    /// Revisions that the drawer was known to have had before the call, and to have after it.
    known: (u64, u64),
    refusal: Option<String>,
    items: Vec<(usize, u64)>,
    count: u64,
}

fn operate(desk: &Desk, op: DrawerOp, known: &mut u64) -> Told {
    let call = match op {
        DrawerOp::Add(story) => desk.add(story),
        DrawerOp::Position(story, position) => desk.position(story, position),
        // In place of the shortcut the object will do.
        DrawerOp::Shift(story, position) => {
            desk.call("drawer-shortcut-position-put", &[&desk.stories[story], &position])
        }
        DrawerOp::Remove(story) => desk.remove(story),
        DrawerOp::Clear => desk.clear(),
        DrawerOp::Capacity(_) => unreachable!("not among the operations here"),
    };
    let answer = call.send();
    let before = *known;
    if answer.status != 200 {
        let code = answer.json()["result"]["code"].as_str().expect("a failure has a code").to_owned();
        *known = revision(&head(&desk.client, &desk.drawer));
        let known = (before, *known);
        return Told { op, revision: 0, known, refusal: Some(code), items: Vec::new(), count: 0 };
    }
    let revision = revision(&answer);
    let reply = answer.ok();
    let items = desk.placed(&reply);
    *known = revision;
    let count = reply["info"]["count"].as_u64().expect("a drawer has a count");
    Told { op, revision, known: (before, revision), refusal: None, items, count }
}

/// Returns whether a reply fits the operation as a step from one state to another.
fn fits(told: &Told, before: &ModelDrawer, after: &ModelDrawer) -> bool {
    let visible = after.visible();
    let at = |list: &[usize], story| list.iter().position(|there| *there == story).map(|at| (story, at as u64));
    let items: Vec<(usize, u64)> = match told.op {
        DrawerOp::Add(story) | DrawerOp::Position(story, _) | DrawerOp::Shift(story, _) => {
            at(&visible, story).into_iter().collect()
        }
        DrawerOp::Remove(story) => at(&before.visible(), story).into_iter().collect(),
        DrawerOp::Clear | DrawerOp::Capacity(_) => Vec::new(),
    };
    told.items == items && told.count == visible.len() as u64
}

#[test]
fn one_serial_order_explains_what_32_threads_were_told() {
    const THREADS: usize = 32;
    const EACH: usize = 8;
    const STORIES: usize = 12;
    const CAPACITY: u32 = 6;
    let desk = Desk::new(CAPACITY, STORIES, 0);
    let first = revision(&head(&desk.client, &desk.drawer));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let desk = &desk;
                scope.spawn(move || {
                    let mut dice = Dice::of(&[20, thread as u64]);
                    let mut known = first;
                    let mut told = Vec::new();
                    for _ in 0..EACH {
                        let story = dice.roll(STORIES);
                        let position = dice.roll(8) as i64 - 1;
                        let op = match dice.roll(20) {
                            0..5 => DrawerOp::Add(story),
                            5..12 => DrawerOp::Position(story, position),
                            12..15 => DrawerOp::Shift(story, position),
                            15..19 => DrawerOp::Remove(story),
                            _ => DrawerOp::Clear,
                        };
                        told.push(operate(desk, op, &mut known));
                    }
                    told
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread fails")).collect()
    });

    let mut by_revision: BTreeMap<u64, Vec<&Told>> = BTreeMap::new();
    for told in told.iter().filter(|told| told.refusal.is_none()) {
        by_revision.entry(told.revision).or_default().push(told);
    }
    let last = revision(&head(&desk.client, &desk.drawer));
    let mut states = BTreeMap::from([(first, ModelDrawer::new(CAPACITY as usize))]);
    for number in first..=last {
        let group = by_revision.remove(&number).unwrap_or_default();
        let unchanging = |state: &ModelDrawer, told: &Told| {
            let mut same = state.clone();
            same.apply(told.op, |_| true).is_ok() && same == *state && fits(told, state, state)
        };
        if number == first {
            assert!(group.iter().all(|told| unchanging(&states[&first], told)), "{group:?} changed nothing");
            continue;
        }
        // One of the replies with this revision made it. The others found the state as wanted.
        let before = states[&(number - 1)].clone();
        let made = group.iter().enumerate().find_map(|(index, told)| {
            let mut after = before.clone();
            let done = after.apply(told.op, |_| true).is_ok() && after != before && fits(told, &before, &after);
            let others = || group.iter().enumerate().filter(|(other, _)| *other != index);
            (done && others().all(|(_, told)| unchanging(&after, told))).then_some(after)
        });
        let after = made.unwrap_or_else(|| panic!("nothing leads from {before:?} to revision {number}: {group:?}"));
        states.insert(number, after);
    }
    assert!(by_revision.is_empty(), "replies speak of revisions that never were: {by_revision:?}");
    assert_eq!(desk.order(), states[&last].visible());
    for refused in told.iter().filter(|told| told.refusal.is_some()) {
        let (from, to) = refused.known;
        let explained = states.range(from..=to).any(|(_, state)| {
            let refusal = state.clone().apply(refused.op, |_| true).err();
            refusal.map(|code| format!("CMS.{}", code.name())) == refused.refusal
        });
        assert!(explained, "nothing between revisions {from} and {to} explains {refused:?}");
    }
    // The test is of use only if there was something to order.
    assert!(last > first + 50, "only {} changes", last - first);
    let codes: Vec<_> = told.iter().filter_map(|told| told.refusal.as_deref()).collect();
    assert!(codes.contains(&"CMS.DrawerFull") && codes.contains(&"CMS.ObjectNotFound"), "{codes:?}");
}

#[test]
fn opposite_moves_lose_nothing_and_double_nothing() {
    const THREADS: usize = 16;
    const EACH: usize = 25;
    let mut server = Server::start();
    let desk = Desk::of(server.user("editor"), 13, 20, 10);
    let other = desk.other_with(&(10..20).collect::<Vec<_>>(), 13);
    let drawers = [desk.drawer.clone(), other];
    // Moves that succeeded from here to there, and from there to here.
    let moved = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (desk, drawers, moved) = (&desk, &drawers, &moved);
            scope.spawn(move || {
                let mut dice = Dice::of(&[24, thread as u64]);
                let (from, to) = (thread % 2, 1 - thread % 2);
                for _ in 0..EACH {
                    let story = &desk.stories[dice.roll(20)];
                    let answer =
                        desk.client.call("drawer-item-move-put", &[&drawers[from], story, &drawers[to]]).send();
                    match answer.status {
                        200 => drop(moved[from].fetch_add(1, Ordering::Relaxed)),
                        404 => drop(answer.fails(404, "ObjectNotFound")),
                        _ => drop(answer.fails(409, "DrawerFull")),
                    }
                }
            });
        }
    });
    let [there, here] = moved.map(AtomicUsize::into_inner);
    assert!(there > 0 && here > 0, "both directions get on: {there} and {here}");
    let lists = drawers.each_ref().map(|drawer| desk.order_in(drawer));
    assert_eq!(lists[0].len() + there, 10 + here);
    let mut all = lists.concat();
    all.sort_unstable();
    assert_eq!(all, (0..20).collect::<Vec<_>>(), "{lists:?}");

    let revisions = drawers.each_ref().map(|drawer| revision(&head(&desk.client, drawer)));
    server.kill();
    let server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    assert_eq!(drawers.each_ref().map(|drawer| desk.order_in(drawer)), lists);
    assert_eq!(drawers.each_ref().map(|drawer| revision(&head(&desk.client, drawer))), revisions);
    leaves_all_whole(server);
}

#[test]
fn a_crash_amid_moves_keeps_what_was_acknowledged_and_tears_none() {
    const THREADS: usize = 8;
    let mut server = Server::start();
    let desk = Desk::of(server.user("editor"), 50, THREADS, THREADS);
    let drawers = [desk.drawer.clone(), desk.other("other", 50)];
    let revisions = |desk: &Desk| drawers.each_ref().map(|drawer| revision(&head(&desk.client, drawer)));
    let before = revisions(&desk);
    let acknowledged = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|story| {
                let (desk, drawers, acknowledged) = (&desk, &drawers, &acknowledged);
                // Each moves a story of its own to and fro, until no answer comes any more.
                scope.spawn(move || {
                    for turn in 0.. {
                        let (from, to) = (turn % 2, 1 - turn % 2);
                        let arguments: [&dyn Display; 3] = [&drawers[from], &desk.stories[story], &drawers[to]];
                        let Ok(answer) = desk.client.call("drawer-item-move-put", &arguments).try_send() else {
                            return;
                        };
                        answer.ok();
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        wait_until("enough is done", || {
            acknowledged.load(Ordering::Relaxed) >= 150 || threads.iter().any(|thread| thread.is_finished())
        });
        server.kill();
        threads.into_iter().for_each(|thread| thread.join().expect("every answer was a success"));
    });
    let server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    let lists = drawers.each_ref().map(|drawer| desk.order_in(drawer));
    let mut all = lists.concat();
    all.sort_unstable();
    assert_eq!(all, (0..THREADS).collect::<Vec<_>>(), "each in one of the two: {lists:?}");
    // Each move raises the revision of both drawers by one. The moves are those acknowledged, and
    // at most those under way.
    let after = revisions(&desk);
    let acknowledged = acknowledged.into_inner() as u64;
    assert!(acknowledged >= 150);
    assert_eq!(after[0] - before[0], after[1] - before[1], "a move is torn");
    let done = after[0] - before[0];
    assert!((acknowledged..=acknowledged + THREADS as u64).contains(&done), "{acknowledged} acknowledged, {done} done");
    leaves_all_whole(server);
}

#[test]
fn a_crash_amid_additions_keeps_every_acknowledged_one_in_its_place() {
    const THREADS: usize = 8;
    let mut server = Server::start();
    let desk = Desk::of(server.user("editor"), 1000, 60, 0);
    let next = AtomicUsize::new(0);
    let acknowledged: Vec<(u64, usize)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (desk, next) = (&desk, &next);
                scope.spawn(move || {
                    let mut done = Vec::new();
                    loop {
                        let story = next.fetch_add(1, Ordering::Relaxed);
                        if story >= desk.stories.len() {
                            return done;
                        }
                        let Ok(answer) = desk.add(story).try_send() else { return done };
                        done.push((placed(&answer.ok())[0].1, story));
                    }
                })
            })
            .collect();
        wait_until("enough is done", || {
            next.load(Ordering::Relaxed) >= 40 || threads.iter().any(|thread| thread.is_finished())
        });
        server.kill();
        threads.into_iter().flat_map(|thread| thread.join().expect("every answer was a success")).collect()
    });
    let server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    let order = desk.order();
    for (position, story) in &acknowledged {
        assert_eq!(order.get(*position as usize), Some(story), "{acknowledged:?}");
    }
    assert!(order.len() <= acknowledged.len() + THREADS, "only what was under way may be there beside");
    assert!(acknowledged.len() >= 40 - THREADS);
    leaves_all_whole(server);
}

#[test]
fn objects_discarded_and_destroyed_amid_additions_are_in_no_drawer() {
    let desk = Desk::new(100, 24, 0);
    let other = desk.other("other", 100);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (desk, other) = (&desk, &other);
            scope.spawn(move || {
                for story in 0..24 {
                    let drawer = if (story + half) % 2 == 0 { &desk.drawer } else { other };
                    let answer = desk.client.call("drawer-item-post", &[drawer, &desk.stories[story]]).send();
                    if answer.status != 200 {
                        answer.fails(404, "ObjectNotFound");
                    }
                }
            });
        }
        let desk = &desk;
        scope.spawn(move || {
            for story in (0..24).step_by(3) {
                discard(&desk.client, &desk.stories[story]);
            }
        });
        scope.spawn(move || {
            for story in (1..24).step_by(3) {
                destroy(&desk.client, &desk.stories[story]);
            }
        });
    });
    for drawer in [&desk.drawer, &other] {
        let order = desk.order_in(drawer);
        assert!(order.iter().all(|story| story % 3 == 2), "{order:?}");
    }
    for story in (2..24).step_by(3) {
        assert!(desk.order().contains(&story) && desk.order_in(&other).contains(&story), "{story}");
    }
    // Those that come back are where they were hidden, and nowhere twice.
    (0..24).step_by(3).for_each(|story| desk.restore(story));
    for drawer in [&desk.drawer, &other] {
        let mut order = desk.order_in(drawer);
        order.sort_unstable();
        order.dedup();
        assert_eq!(order.len(), desk.order_in(drawer).len());
        assert_eq!(head(&desk.client, drawer).ok()["info"]["hidden"], 0);
    }
}
