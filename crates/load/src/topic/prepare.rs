//! Setup before the load and reading after it: tests the meaning of revisions, fills the topics,
//! and reads everything at the end.

use std::collections::HashMap;

use hyper::Method;
use serde_json::json;

use super::TopicLoad;
use super::model::{FOREIGN, LineNumber, topic_line};
use super::plan::TopicOperationKind;
use super::wire::{self, Paths, ShownItemFields, StructureReply, TopicReadReply};
use crate::client::{Call, CallAnswer};
use crate::desk::{Desk, created_id};
use crate::settle::read_until_settled;

/// The state of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldContainer {
    /// The lines in order.
    pub lines: Vec<LineNumber>,
    /// The lines with their ids.
    pub ids: Vec<(LineNumber, Box<str>)>,
    /// The fields of the items.
    pub said: HashMap<LineNumber, ShownItemFields>,
    /// The revision, if the server reports one.
    pub revision: Option<u64>,
}

impl TopicLoad {
    /// Creates the plan and its topics, and the objects to attach.
    pub(super) async fn make(&mut self, desk: &mut Desk) -> Result<(), String> {
        desk.make_folder().await?;
        let folder = desk.folder.clone();
        let cannot = |what: &str, why: String| format!("a {what} can't be created in {folder}: {why}");
        let body = |name: String| json!({ "name": name, "folderPath": folder });
        let call = Call::json(Method::POST, "/v3/container/topicplan", &body("plan".to_owned()));
        let (reply, _) = desk.call(&call).await.map_err(|why| cannot("topic plan", why))?;
        self.paths.plan = created_id(&reply, "topic plan")?;
        for number in 0..self.settings.topics {
            let call = Call::json(Method::POST, "/v3/container/topic", &body(format!("topic-{number}")));
            let (reply, _) = desk.call(&call).await.map_err(|why| cannot("topic", why))?;
            self.paths.topics.push(created_id(&reply, "topic")?);
            let added = desk.call(&self.paths.order(number, -1)).await;
            added.map_err(|why| format!("a topic can't be added to a plan: {why}"))?;
        }
        self.paths.objects = desk.make_stories(self.settings.objects as usize).await?;
        let tried = self.try_out(desk).await;
        self.uncounted = tried.map_err(|why| format!("a topic can't be used: {why}"))?;
        Ok(())
    }

    /// Tests with one item, which is removed afterwards, that the user may do everything in the
    /// mix. Returns why revisions cannot be used, if so: each change must raise its topic's
    /// revision by one and report it.
    async fn try_out(&self, desk: &mut Desk) -> Result<Option<String>, String> {
        let (paths, trial) = (&self.paths, 0);
        let read = desk.call(&paths.structure(0)).await?.1;
        let Some(before) = read.revision() else { return Ok(Some("its replies carry no revision".to_owned())) };
        let (reply, answer) = desk.call(&paths.item(0, trial, 0)).await?;
        let item = created_id(&reply, "item")?;
        let changed =
            |answer: &CallAnswer| wire::result::<wire::TopicReplyItem<'_>>(answer).and_then(|item| item.info.revision);
        let mut right = answer.revision() == Some(before + 1) && changed(&answer) == Some(before + 1);
        for (call, step) in
            [(paths.edit(0, &item, 1), 2), (paths.shift(0, &item, 0), 2), (paths.attach(0, &item, 0), 3)]
        {
            let answer = desk.call(&call).await?.1;
            right &= answer.revision() == Some(before + step) && changed(&answer) == Some(before + step);
        }
        let (_, answer) = desk.call(&paths.divide(0, trial, 0)).await?;
        let divider = wire::result::<wire::DividerChangeReply<'_>>(&answer)
            .ok_or("a new divider has no `info` in the reply")?
            .info;
        desk.call(&paths.undivide(0, &divider.id)).await?;
        let (mut left, mut moves_told) = (before + 5, true);
        if self.weights[TopicOperationKind::Move as usize] > 0 {
            for target in [1, 0] {
                let (_, answer) = desk.call(&paths.move_into(target, &item, 0)).await?;
                let told = |topic: u16| {
                    let moved: Option<wire::TopicMoveReply<'_>> = wire::result(&answer);
                    let revisions = moved.and_then(|moved| moved.revisions)?;
                    let of = revisions.iter().find(|revised| paths.topic_of(&revised.id) == Some(topic))?;
                    Some(of.revision)
                };
                left += 1;
                moves_told &= told(target) == answer.revision() && told(0) == Some(left) && told(1).is_some();
            }
        }
        let (_, answer) = desk.call(&paths.remove(0, &item)).await?;
        right &= answer.revision() == Some(left + 1);
        Ok(match (right, moves_told) {
            (true, true) => None,
            (true, false) => Some("the reply to a move does not contain the revisions of both topics".to_owned()),
            (false, _) => Some("its revision does not rise by one with each change".to_owned()),
        })
    }

    /// Adds initial items to each topic, which all clients know.
    pub(super) async fn fill(&mut self, desk: &mut Desk) -> Result<(), String> {
        let mut line = 0;
        for topic in 0..self.settings.topics {
            for _ in 0..self.settings.fill {
                let (reply, _) = desk
                    .call(&self.paths.item(topic, line, -1))
                    .await
                    .map_err(|why| format!("an item can't be created: {why}"))?;
                self.book.learn(line, &created_id(&reply, "item")?, topic);
                line += 1;
            }
        }
        Ok(())
    }

    /// Reads the present state of all topics and of the plan, which is last.
    pub(super) async fn look(&self, desk: &mut Desk) -> Result<Vec<HeldContainer>, String> {
        let odd = "a reply does not have the documented form";
        let mut all = Vec::new();
        for topic in 0..self.settings.topics {
            let (_, answer) = desk.call(&self.paths.read(topic)).await?;
            let whole: TopicReadReply<'_> = wire::result(&answer).ok_or(odd)?;
            let read = whole.lines(&self.paths).ok_or("the positions of a topic's lines are not dense")?;
            all.push(HeldContainer {
                lines: read.iter().map(|read| read.line).collect(),
                said: read.iter().filter_map(|read| Some((read.line, read.said?))).collect(),
                ids: read.into_iter().map(|read| (read.line, read.id)).collect(),
                revision: answer.revision(),
            });
        }
        let (_, answer) = desk.call(&self.paths.plan()).await?;
        let structure: StructureReply<'_> = wire::result(&answer).ok_or(odd)?;
        all.push(plan(&structure, &self.paths, answer.revision()));
        Ok(all)
    }

    /// Reads the state of all containers after all changes have settled.
    pub(super) async fn end(&self, desk: &mut Desk, doubts: bool) -> Result<Vec<HeldContainer>, String> {
        let look = async |desk: &mut Desk| self.look(desk).await;
        read_until_settled(desk, doubts, "the topics", look, |last, now| last == now).await
    }
}

fn plan(structure: &StructureReply<'_>, paths: &Paths, revision: Option<u64>) -> HeldContainer {
    let ids = structure.ids().map(|id| (paths.topic_of(id).map_or(FOREIGN, topic_line), id.into()));
    let ids: Vec<(LineNumber, Box<str>)> = ids.collect();
    HeldContainer { lines: ids.iter().map(|(line, _)| *line).collect(), ids, said: HashMap::new(), revision }
}
