//! Random calls over HTTP against the bounded list on the whiteboard: the same answer and the same items after each.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stet_actors::error::Code;

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
    /// As they were read last.
    revisions: Vec<u64>,
    discarded: [bool; STORIES],
}

impl World {
    fn new() -> World {
        let desk = Desk::new(3, STORIES, 0);
        let drawers = vec![desk.drawer.clone(), desk.other("other", 4)];
        let revisions = drawers.iter().map(|drawer| revision(&desk.client.get(&below(drawer, "")))).collect();
        let model = vec![ModelDrawer::new(3), ModelDrawer::new(4)];
        World { desk, drawers, model, revisions, discarded: [false; STORIES] }
    }

    fn send(&self, step: &Step) -> Answer {
        let client = &self.desk.client;
        let nothing = json!({});
        let name = |story: &usize| encoded(&self.desk.stories[*story]);
        let names =
            |stories: &[usize]| -> Value { stories.iter().map(|story| self.desk.stories[*story].as_str()).collect() };
        match step {
            Step::One(drawer, op) => {
                let path = |rest: String| below(&self.drawers[*drawer], &rest);
                match op {
                    DrawerOp::Add(story) => client.post(&path(format!("/item/{}", name(story))), &nothing),
                    DrawerOp::Position(story, position) => {
                        client.put(&path(format!("/item/{}/position/{position}", name(story))), &nothing)
                    }
                    DrawerOp::Shift(story, position) => {
                        client.put(&path(format!("/shortcut/{}/position/{position}", name(story))), &nothing)
                    }
                    DrawerOp::Remove(story) => client.delete(&path(format!("/item/{}", name(story)))),
                    DrawerOp::Clear => client.put(&path("/item/clear".into()), &nothing),
                    DrawerOp::Capacity(capacity) => client.put(&path(String::new()), &json!({ "capacity": capacity })),
                }
            }
            Step::AddAll(drawer, stories) => client.post(&below(&self.drawers[*drawer], "/item"), &names(stories)),
            Step::RemoveAll(drawer, stories) => {
                client.delete_with(&below(&self.drawers[*drawer], "/item"), &names(stories))
            }
            Step::Move { from, to, story } => {
                let rest = format!("/item/{}/move/{}", name(story), encoded(&self.drawers[*to]));
                client.put(&below(&self.drawers[*from], &rest), &nothing)
            }
            Step::Discard(story) => client.delete(&format!("/v3/object/{}/discard", name(story))),
            Step::Restore(story) => client.post(&format!("/v3/object/{}/restore", name(story)), &nothing),
        }
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
                    // What is not there is told in the reply.
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
            let answer = self.desk.client.get(&below(drawer, "?showItems=true"));
            let now = revision(&answer);
            let changes = now - std::mem::replace(&mut self.revisions[index], now);
            let read = answer.ok();
            let items: Vec<String> = placed(&read).into_iter().map(|(source, _)| source).collect();
            let hidden = model.items.iter().filter(|item| item.hidden).count();
            assert_eq!(self.desk.stories_of(&items), model.visible(), "{step:?} on {before:?}");
            assert_eq!(read["info"]["count"], model.visible().len());
            assert_eq!(read["info"]["hidden"], hidden, "{step:?} on {before:?}");
            assert_eq!(read["info"]["capacity"], model.capacity);
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
