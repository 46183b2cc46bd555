//! Many at once: one serial order explains every reply, nothing is lost or doubled, and what was acknowledged survives a crash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::harness::drawer::{DrawerOp, ModelDrawer};

/// Pseudo-random numbers, the same at every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What a thread was told of one operation.
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
    let answer = match op {
        DrawerOp::Add(story) => desk.add(story),
        DrawerOp::Position(story, position) => desk.position(story, position),
        DrawerOp::Shift(story, position) => {
            let path = format!("/shortcut/{}/position/{position}", encoded(&desk.stories[story]));
            desk.client.put(&desk.path(&path), &json!({}))
        }
        DrawerOp::Remove(story) => desk.remove(story),
        DrawerOp::Clear => desk.client.put(&desk.path("/item/clear"), &json!({})),
        DrawerOp::Capacity(_) => unreachable!("not among the operations here"),
    };
    let before = *known;
    if answer.status != 200 {
        let code = answer.json()["result"]["code"].as_str().expect("a failure has a code").to_owned();
        *known = revision(&desk.client.get(&desk.path("")));
        let known = (before, *known);
        return Told { op, revision: 0, known, refusal: Some(code), items: Vec::new(), count: 0 };
    }
    let revision = revision(&answer);
    let reply = answer.ok();
    let items = placed(&reply).into_iter().map(|(source, at)| (desk.stories_of(&[source])[0], at)).collect();
    *known = revision;
    let count = reply["info"]["count"].as_u64().expect("a drawer has a count");
    Told { op, revision, known: (before, revision), refusal: None, items, count }
}

/// Whether a reply is what the operation gives when it leads from one state to another.
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
    let first = revision(&desk.client.get(&desk.path("")));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let desk = &desk;
                scope.spawn(move || {
                    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (thread as u64 + 1) << 20);
                    let mut known = first;
                    let mut told = Vec::new();
                    for _ in 0..EACH {
                        let story = dice.below(STORIES as u64) as usize;
                        let position = dice.below(8) as i64 - 1;
                        let op = match dice.below(20) {
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
    let last = revision(&desk.client.get(&desk.path("")));
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
        // One of those told this revision made it; the others found it and had nothing to do.
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
    let desk = Desk::of(server.login("editor"), 13, 20, 10);
    let other = desk.other("other", 13);
    desk.client.post(&below(&other, "/item"), &json!(desk.stories[10..])).ok();
    let drawers = [desk.drawer.clone(), other];
    // Moves that succeeded from here to there, and from there to here.
    let moved = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (desk, drawers, moved) = (&desk, &drawers, &moved);
            scope.spawn(move || {
                let mut dice = Dice(0xD1B5_4A32_D192_ED03 ^ (thread as u64 + 1) << 24);
                let (from, to) = (thread % 2, 1 - thread % 2);
                for _ in 0..EACH {
                    let story = encoded(&desk.stories[dice.below(20) as usize]);
                    let path = below(&drawers[from], &format!("/item/{story}/move/{}", encoded(&drawers[to])));
                    let answer = desk.client.put(&path, &json!({}));
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

    let revisions = drawers.each_ref().map(|drawer| revision(&desk.client.get(&below(drawer, ""))));
    server.kill();
    let mut server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    assert_eq!(drawers.each_ref().map(|drawer| desk.order_in(drawer)), lists);
    assert_eq!(drawers.each_ref().map(|drawer| revision(&desk.client.get(&below(drawer, "")))), revisions);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_crash_amid_moves_keeps_what_was_acknowledged_and_tears_none() {
    const THREADS: usize = 8;
    let mut server = Server::start();
    let desk = Desk::of(server.login("editor"), 50, THREADS, THREADS);
    let drawers = [desk.drawer.clone(), desk.other("other", 50)];
    let revisions = |desk: &Desk| drawers.each_ref().map(|drawer| revision(&desk.client.get(&below(drawer, ""))));
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
                        let name = encoded(&desk.stories[story]);
                        let path = below(&drawers[from], &format!("/item/{name}/move/{}", encoded(&drawers[to])));
                        let Ok(answer) = desk.client.try_send("PUT", &path, &[], b"") else { return };
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
    let mut server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    let lists = drawers.each_ref().map(|drawer| desk.order_in(drawer));
    let mut all = lists.concat();
    all.sort_unstable();
    assert_eq!(all, (0..THREADS).collect::<Vec<_>>(), "each in one of the two: {lists:?}");
    // Each move is one revision of both drawers: as many as were acknowledged, and at most those under way beside.
    let after = revisions(&desk);
    let acknowledged = acknowledged.into_inner() as u64;
    assert!(acknowledged >= 150);
    assert_eq!(after[0] - before[0], after[1] - before[1], "a move is torn");
    let done = after[0] - before[0];
    assert!((acknowledged..=acknowledged + THREADS as u64).contains(&done), "{acknowledged} acknowledged, {done} done");
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_crash_amid_additions_keeps_every_acknowledged_one_in_its_place() {
    const THREADS: usize = 8;
    let mut server = Server::start();
    let desk = Desk::of(server.login("editor"), 1000, 60, 0);
    let next = AtomicUsize::new(0);
    let acknowledged: Vec<(u64, usize)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (desk, next) = (&desk, &next);
                scope.spawn(move || {
                    let mut done = Vec::new();
                    loop {
                        let story = next.fetch_add(1, Ordering::Relaxed);
                        let Some(source) = desk.stories.get(story) else { return done };
                        let path = desk.path(&format!("/item/{}", encoded(source)));
                        let Ok(answer) = desk.client.try_send("POST", &path, &[], b"") else { return done };
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
    let mut server = server.restart();
    let desk = Desk { client: desk.client.to(&server), ..desk };
    let order = desk.order();
    for (position, story) in &acknowledged {
        assert_eq!(order.get(*position as usize), Some(story), "{acknowledged:?}");
    }
    assert!(order.len() <= acknowledged.len() + THREADS, "only what was under way may be there beside");
    assert!(acknowledged.len() >= 40 - THREADS);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
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
                    let path = below(drawer, &format!("/item/{}", encoded(&desk.stories[story])));
                    let answer = desk.client.post(&path, &json!({}));
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
        let reply = desk.client.get(&below(drawer, "?showItems=true")).ok();
        let order = desk.order_in(drawer);
        assert_eq!(reply["info"]["count"], order.len());
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
        assert_eq!(desk.client.get(&below(drawer, "")).ok()["info"]["hidden"], 0);
    }
}
