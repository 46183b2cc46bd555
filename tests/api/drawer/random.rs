//! Random calls over HTTP against the bounded list on the whiteboard: the same answer and the same
//! items after each.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stet_domain::error::Code;

use super::*;
use crate::harness::drawer::{DrawerOp, ModelDrawer, model_move};

const DRAWERS: usize = 2;
const STORIES: usize = 7;

#[derive(Debug, Clone)]
enum Step {
    One(usize, DrawerOp),
    AddAll(usize, Vec<usize>),
    RemoveAll(usize, Vec<usize>),
    Move { from: usize, to: usize, story: usize },
    Discard(usize),
    Restore(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let story = 0..STORIES;
    let op = prop_oneof![
        4 => story.clone().prop_map(DrawerOp::Add),
        4 => (story.clone(), -2i64..7).prop_map(|(story, position)| DrawerOp::Position(story, position)),
        3 => (story.clone(), -2i64..7).prop_map(|(story, position)| DrawerOp::Shift(story, position)),
        2 => story.clone().prop_map(DrawerOp::Remove),
        1 => Just(DrawerOp::Clear),
        1 => (0u32..6).prop_map(DrawerOp::Capacity),
    ];
    let several = prop::collection::vec(story.clone(), 0..4);
    prop_oneof![
        12 => (0..DRAWERS, op).prop_map(|(drawer, op)| Step::One(drawer, op)),
        2 => (0..DRAWERS, several.clone()).prop_map(|(drawer, stories)| Step::AddAll(drawer, stories)),
        1 => (0..DRAWERS, several).prop_map(|(drawer, stories)| Step::RemoveAll(drawer, stories)),
        4 => (0..DRAWERS, 0..DRAWERS, story.clone()).prop_map(|(from, to, story)| Step::Move { from, to, story }),
        2 => story.clone().prop_map(Step::Discard),
        2 => story.prop_map(Step::Restore),
    ]
}

struct World {
    desk: Desk,
    drawers: Vec<String>,
    model: Vec<ModelDrawer>,
    /// The revision of each drawer when it was last read.
    revisions: Vec<u64>,
    discarded: [bool; STORIES],
}

impl World {
    fn new() -> World {
        let desk = Desk::new(3, STORIES, 0);
        let drawers = vec![desk.drawer.clone(), desk.other("other", 4)];
        let revisions = drawers.iter().map(|drawer| revision(&head(&desk.client, drawer))).collect();
        let model = vec![ModelDrawer::new(3), ModelDrawer::new(4)];
        World { desk, drawers, model, revisions, discarded: [false; STORIES] }
    }

    fn send(&self, step: &Step) -> Answer {
        let call = |id: &str, arguments: &[&dyn Display]| self.desk.client.call(id, arguments);
        let name = |story: &usize| &self.desk.stories[*story];
        let names = |stories: &[usize]| self.desk.sources(stories);
        let drawer = |drawer: &usize| &self.drawers[*drawer];
        let call = match step {
            Step::One(at, DrawerOp::Add(story)) => call("drawer-item-post", &[drawer(at), name(story)]),
            Step::One(at, DrawerOp::Position(story, position)) => {
                call("drawer-item-position-put", &[drawer(at), name(story), position])
            }
            Step::One(at, DrawerOp::Shift(story, position)) => {
                call("drawer-shortcut-position-put", &[drawer(at), name(story), position])
            }
            Step::One(at, DrawerOp::Remove(story)) => call("drawer-item-delete", &[drawer(at), name(story)]),
            Step::One(at, DrawerOp::Clear) => call("drawer-item-clear-put", &[drawer(at)]),
            Step::One(at, DrawerOp::Capacity(capacity)) => {
                call("drawer-put", &[drawer(at)]).json(&json!({ "capacity": capacity }))
            }
            Step::AddAll(at, stories) => call("drawer-items-post", &[drawer(at)]).json(&names(stories)),
            Step::RemoveAll(at, stories) => call("drawer-items-delete", &[drawer(at)]).json(&names(stories)),
            Step::Move { from, to, story } => call("drawer-item-move-put", &[drawer(from), name(story), drawer(to)]),
            Step::Discard(story) => call("object-discard", &[name(story)]),
            Step::Restore(story) => call("stet-object-restore-post", &[name(story)]),
        };
        call.send()
    }

    fn expect(&mut self, step: &Step) -> Result<(), Code> {
        let discarded = self.discarded;
        let alive = |story: usize| !discarded[story];
        // A discarded object is not there, whatever else would be wrong with the call.
        let named: Vec<usize> = match step {
            Step::One(_, DrawerOp::Add(story) | DrawerOp::Remove(story)) => vec![*story],
            Step::One(_, DrawerOp::Position(story, _) | DrawerOp::Shift(story, _)) => vec![*story],
            Step::AddAll(_, stories) => stories.clone(),
            Step::Move { story, .. } => vec![*story],
            _ => Vec::new(),
        };
        if named.iter().any(|story| discarded[*story]) {
            return Err(Code::ObjectNotFound);
        }
        match step {
            Step::One(drawer, op) => self.model[*drawer].apply(*op, alive),
            Step::AddAll(drawer, stories) => {
                let mut after = self.model[*drawer].clone();
                stories.iter().try_for_each(|story| after.apply(DrawerOp::Add(*story), alive))?;
                self.model[*drawer] = after;
                Ok(())
            }
            Step::RemoveAll(drawer, stories) => {
                for story in stories.iter().filter(|story| !discarded[**story]) {
                    // The reply reports missing items.
                    let _ = self.model[*drawer].apply(DrawerOp::Remove(*story), alive);
                }
                Ok(())
            }
            Step::Move { from, to, story } => model_move(&mut self.model, *from, *to, *story),
            Step::Discard(story) | Step::Restore(story) => {
                let gone = matches!(step, Step::Discard(_));
                if discarded[*story] == gone {
                    return Err(Code::ObjectNotFound);
                }
                self.discarded[*story] = gone;
                self.model.iter_mut().for_each(|drawer| drawer.set_hidden(*story, gone));
                Ok(())
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let before = self.model.clone();
        let expected = self.expect(step);
        let answer = self.send(step);
        match expected {
            Ok(()) => drop(answer.ok()),
            Err(code) => {
                let name = format!("CMS.{}", code.name());
                assert_eq!(answer.json()["result"]["code"], name, "{step:?} on {before:?}");
            }
        }
        for (index, (drawer, model)) in self.drawers.iter().zip(&self.model).enumerate() {
            let answer = read(&self.desk.client, drawer);
            let now = revision(&answer);
            let changes = now - std::mem::replace(&mut self.revisions[index], now);
            let reply = answer.ok();
            let items: Vec<usize> = self.desk.placed(&reply).into_iter().map(|(story, _)| story).collect();
            let hidden = model.items.iter().filter(|item| item.hidden).count();
            assert_eq!(items, model.visible(), "{step:?} on {before:?}");
            assert_eq!(reply["info"]["count"], model.visible().len());
            assert_eq!(reply["info"]["hidden"], hidden, "{step:?} on {before:?}");
            assert_eq!(reply["info"]["capacity"], model.capacity);
            // One change is one revision; none is none.
            assert_eq!(changes, u64::from(*model != before[index]), "{step:?} on {before:?}");
        }
    }
}

#[test]
fn random_calls_agree_with_the_whiteboard() {
    let config =
        ProptestConfig { cases: 12, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&prop::collection::vec(step(), 10..40), |steps| {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
