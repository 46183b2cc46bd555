//! The topics and topic plans of the sample newsroom.

use stet_domain::error::Result;
use stet_domain::lifecycle::NewParts;
use stet_domain::object::SharedText;
use stet_domain::planning::plan::{NewPlan, NewPlanLine, TopicPlan};
use stet_domain::planning::topic::{ItemFields, NewTopic, NewTopicItem, NewTopicLine, TextOrNumber, Topic};
use stet_newsroom::creation::{Creation, CreationKind};

use super::SampleWriter;
use super::manifest::{SampleItem, SampleLine, SamplePlan, SamplePlanLine, SampleTopic};

impl SampleWriter<'_> {
    /// Creates a topic with its items.
    pub(super) async fn topic(&mut self, said: &SampleTopic) -> Result<()> {
        let new = NewTopic {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: self.lines_of(&said.lines)?,
            ..NewTopic::default()
        };
        let kind = CreationKind::Container { type_name: "Topic".into(), parts: NewParts::of::<Topic>(new) };
        let creation = Creation { status: said.status.clone(), ..Creation::of(kind, "") };
        self.create(&said.path, said.creator.as_deref(), creation).await.map(drop)
    }

    /// Creates a plan of existing topics.
    pub(super) async fn plan(&mut self, said: &SamplePlan) -> Result<()> {
        let lines = said.lines.iter().map(|line| {
            Ok(match line {
                SamplePlanLine::Divider(title) => NewPlanLine::Divider(title.as_str().into()),
                SamplePlanLine::Topic(path) => NewPlanLine::Topic(self.loid_of(path)?),
            })
        });
        let new = NewPlan {
            title: Some(said.title.as_str().into()),
            description: Some(said.description.as_str().into()),
            lines: lines.collect::<Result<_>>()?,
            ..NewPlan::default()
        };
        let kind = CreationKind::Container { type_name: "TopicPlan".into(), parts: NewParts::of::<TopicPlan>(new) };
        self.create(&said.path, said.creator.as_deref(), Creation::of(kind, "")).await.map(drop)
    }

    fn lines_of(&self, said: &[SampleLine]) -> Result<Vec<NewTopicLine>> {
        let lines = said.iter().map(|line| {
            Ok(match line {
                SampleLine::Divider(title) => NewTopicLine::Divider(title.as_str().into()),
                SampleLine::Item(item) => NewTopicLine::Item(Box::new(self.item_of(item)?)),
            })
        });
        lines.collect()
    }

    fn item_of(&self, said: &SampleItem) -> Result<NewTopicItem> {
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
            due: Some(said.due_in_seconds.map(|later| self.now + later)),
            status: said.status.as_deref().map(SharedText::from),
            ..ItemFields::default()
        };
        let attachment = said.attachment.as_deref().map(|path| self.loid_of(path)).transpose()?;
        Ok(NewTopicItem { fields, attachment, lines: self.lines_of(&said.lines)? })
    }
}
