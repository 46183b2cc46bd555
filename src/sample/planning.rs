//! The topics and topic plans of the sample newsroom.

use std::collections::HashMap;

use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::{SharedText, parent_path};
use stet_domain::topic::{ItemFields, NewTopic, NewTopicItem, NewTopicLine, TextOrNumber, Topic};
use stet_domain::topic_plan::{self, NewPlan, TopicPlan};

use super::manifest::{SampleItem, SampleLine, SamplePlan, SamplePlanLine, SampleTopic};
use super::{SampleFolders, faulty, request_by};

/// The objects created so far, by path.
type SampleObjectIds = HashMap<String, Loid>;

impl SampleFolders<'_> {
    /// Creates a topic with its items. `now` is in epoch seconds.
    pub(super) async fn topic(&mut self, said: &SampleTopic, now: u64, known: &mut SampleObjectIds) -> Result<()> {
        let new = NewTopic {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: lines_of(&said.lines, now, known)?,
            ..NewTopic::default()
        };
        let object = NewObject {
            status: said.status.as_deref().map(SharedText::from),
            ..new_object::<Topic>(&said.path, "Topic", new)?
        };
        let made = self.planned(&said.path, said.creator.as_deref(), object).await?;
        known.insert(said.path.clone(), made);
        Ok(())
    }

    /// Creates a plan of existing topics.
    pub(super) async fn plan(&mut self, said: &SamplePlan, known: &SampleObjectIds) -> Result<()> {
        let lines = said.lines.iter().map(|line| {
            Ok(match line {
                SamplePlanLine::Divider(title) => topic_plan::NewPlanLine::Divider(title.as_str().into()),
                SamplePlanLine::Topic(path) => topic_plan::NewPlanLine::Topic(loid_of(known, path)?),
            })
        });
        let new = NewPlan {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: lines.collect::<Result<_>>()?,
            ..NewPlan::default()
        };
        let object = new_object::<TopicPlan>(&said.path, "TopicPlan", new)?;
        self.planned(&said.path, said.creator.as_deref(), object).await.map(drop)
    }

    async fn planned(&mut self, path: &str, creator: Option<&str>, object: NewObject) -> Result<Loid> {
        let (folder, _) = parent_path(path).ok_or_else(|| faulty(path))?;
        let folder = self.make(folder).await?;
        let create = CreateInFolder { folder, below: Vec::new(), object };
        Ok(self.repository.joint(create, request_by(creator)).await?.loid)
    }
}

fn new_object<F: stet_domain::family::Family>(path: &str, type_name: &str, new: F::New) -> Result<NewObject> {
    let (_, name) = parent_path(path).ok_or_else(|| faulty(path))?;
    Ok(NewObject::of::<F>(name, type_name, new))
}

fn loid_of(known: &SampleObjectIds, path: &str) -> Result<Loid> {
    known.get(path).copied().ok_or_else(|| faulty(path))
}

fn lines_of(said: &[SampleLine], now: u64, known: &SampleObjectIds) -> Result<Vec<NewTopicLine>> {
    let lines = said.iter().map(|line| {
        Ok(match line {
            SampleLine::Divider(title) => NewTopicLine::Divider(title.as_str().into()),
            SampleLine::Item(item) => NewTopicLine::Item(Box::new(item_of(item, now, known)?)),
        })
    });
    lines.collect()
}

fn item_of(said: &SampleItem, now: u64, known: &SampleObjectIds) -> Result<NewTopicItem> {
    let text = |text: &str| Some(SharedText::from(text));
    let fields = ItemFields {
        name: text(&said.name),
        content_type: text(&said.content_type),
        comment: text(&said.comment),
        occupation: text(&said.occupation),
        priority: Some(TextOrNumber::Number(said.priority)),
        product: text(&said.product),
        edition: text(&said.edition),
        assignees: Some(said.assignees.iter().map(|name| name.as_str().into()).collect()),
        due: Some(said.due_in_seconds.map(|later| now + later)),
        status: said.status.as_deref().map(SharedText::from),
        ..ItemFields::default()
    };
    let attachment = said.attachment.as_deref().map(|path| loid_of(known, path)).transpose()?;
    Ok(NewTopicItem { fields, attachment, lines: lines_of(&said.lines, now, known)? })
}
