//! The topics and topic plans of the sample newsroom.

use std::collections::HashMap;

use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::lifecycle::{Create, NewObject};
use stet_actors::object::{Text, parent_path};
use stet_actors::topic::{ItemFields, NewItem, NewLine, NewTopic, Topic, Word};
use stet_actors::topic_plan::{self, NewPlan, TopicPlan};

use super::manifest::{SampleItem, SampleLine, SamplePlan, SamplePlanLine, SampleTopic};
use super::{Folders, by, faulty};

/// The objects created so far, by path.
type Known = HashMap<String, Loid>;

impl Folders<'_> {
    /// Creates a topic with its items. `now` is in epoch seconds.
    pub(super) async fn topic(&mut self, said: &SampleTopic, now: u64, known: &mut Known) -> Result<()> {
        let new = NewTopic {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: lines_of(&said.lines, now, known)?,
            ..NewTopic::default()
        };
        let object =
            NewObject { status: said.status.as_deref().map(Text::from), ..of::<Topic>(&said.path, "Topic", new)? };
        let made = self.planned(&said.path, said.creator.as_deref(), object).await?;
        known.insert(said.path.clone(), made);
        Ok(())
    }

    /// Creates a plan of existing topics.
    pub(super) async fn plan(&mut self, said: &SamplePlan, known: &Known) -> Result<()> {
        let lines = said.lines.iter().map(|line| {
            Ok(match line {
                SamplePlanLine::Divider(title) => topic_plan::NewLine::Divider(title.as_str().into()),
                SamplePlanLine::Topic(path) => topic_plan::NewLine::Topic(loid_of(known, path)?),
            })
        });
        let new = NewPlan {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: lines.collect::<Result<_>>()?,
            ..NewPlan::default()
        };
        let object = of::<TopicPlan>(&said.path, "TopicPlan", new)?;
        self.planned(&said.path, said.creator.as_deref(), object).await.map(drop)
    }

    async fn planned(&mut self, path: &str, creator: Option<&str>, object: NewObject) -> Result<Loid> {
        let (folder, _) = parent_path(path).ok_or_else(|| faulty(path))?;
        let folder = self.make(folder).await?;
        let create = Create { folder, below: Vec::new(), object };
        Ok(self.repository.joint(create, by(creator)).await?.loid)
    }
}

fn of<F: stet_actors::family::Family>(path: &str, type_name: &str, new: F::New) -> Result<NewObject> {
    let (_, name) = parent_path(path).ok_or_else(|| faulty(path))?;
    Ok(NewObject::of::<F>(name, type_name, new))
}

fn loid_of(known: &Known, path: &str) -> Result<Loid> {
    known.get(path).copied().ok_or_else(|| faulty(path))
}

fn lines_of(said: &[SampleLine], now: u64, known: &Known) -> Result<Vec<NewLine>> {
    let lines = said.iter().map(|line| {
        Ok(match line {
            SampleLine::Divider(title) => NewLine::Divider(title.as_str().into()),
            SampleLine::Item(item) => NewLine::Item(Box::new(item_of(item, now, known)?)),
        })
    });
    lines.collect()
}

fn item_of(said: &SampleItem, now: u64, known: &Known) -> Result<NewItem> {
    let text = |text: &str| Some(Text::from(text));
    let fields = ItemFields {
        name: text(&said.name),
        content_type: text(&said.content_type),
        comment: text(&said.comment),
        occupation: text(&said.occupation),
        priority: Some(Word::Number(said.priority)),
        product: text(&said.product),
        edition: text(&said.edition),
        assignees: Some(said.assignees.iter().map(|name| name.as_str().into()).collect()),
        due: Some(said.due_in_seconds.map(|later| now + later)),
        status: said.status.as_deref().map(Text::from),
        ..ItemFields::default()
    };
    let attachment = said.attachment.as_deref().map(|path| loid_of(known, path)).transpose()?;
    Ok(NewItem { fields, attachment, lines: lines_of(&said.lines, now, known)? })
}
