//! The liveblogs of the sample newsroom, and their posts.

use std::time::Duration;

use quick_xml::escape::escape;
use stet_content::words::text_of;
use stet_domain::error::Result;
use stet_domain::liveblog::{AddPost, Liveblog, PostBody, PostFields, PostSight};
use stet_domain::object::{CreateMode, Reach};
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::caller::NamedContainer;
use stet_newsroom::creation::{Creation, CreationKind};

use super::manifest::{SampleLiveblog, SamplePost};
use super::{FILES, SampleWriter, faulty, media_type};

const POST_TYPE: &str = "text/xml";

impl SampleWriter<'_> {
    /// Creates a liveblog with its posts.
    pub(super) async fn liveblog(&mut self, said: &SampleLiveblog) -> Result<()> {
        let template = FILES.get_file(said.template.trim_start_matches('/')).ok_or_else(|| faulty(&said.template))?;
        let text = |value: &Option<String>| value.as_deref().map(AttributeInput::of_text);
        let kind = CreationKind::Liveblog { type_name: None, moderated: Some(said.moderated) };
        let creation = Creation {
            status: said.status.clone(),
            attributes: text(&said.attributes),
            system_attributes: text(&said.system_attributes),
            content: Some(self.store(template.contents(), media_type(&said.template)).await?),
            ..Creation::of(kind, "")
        };
        let liveblog = self.create(&said.path, said.creator.as_deref(), creation).await?;
        for post in &said.posts {
            let (add, caller) = (self.new_post(post).await?, self.caller(post.creator.as_deref())?);
            let view = caller.view_of::<Liveblog>(liveblog).await?;
            caller.change(&NamedContainer::of(&view), add).await?;
        }
        Ok(())
    }

    async fn new_post(&self, said: &SamplePost) -> Result<AddPost> {
        let xml = format!("<post><p>{}</p></post>", escape(&said.text));
        let written = Duration::from_secs(self.now.saturating_sub(said.age_seconds));
        Ok(AddPost {
            fields: PostFields {
                title: Some(said.title.as_str().into()),
                kind: Some(said.kind.as_str().into()),
                timestamp: Some(written.as_millis() as u64),
                pinned: Some(said.pinned),
                tags: Some(said.tags.iter().map(|tag| tag.as_str().into()).collect()),
                ..PostFields::default()
            },
            moderated: !said.approved,
            body: PostBody {
                content: self.store(xml.as_bytes(), POST_TYPE).await?,
                text: text_of(POST_TYPE, xml.as_bytes()).into(),
            },
            attachments: Vec::new(),
            mode: CreateMode::Exception,
            reach: Reach::All,
            sight: PostSight::All,
        })
    }
}
