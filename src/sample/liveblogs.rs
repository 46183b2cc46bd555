//! The liveblogs of the sample newsroom, and their posts.

use std::time::Duration;

use quick_xml::escape::escape;
use stet_content::ContentStore;
use stet_content::words::text_of;
use stet_domain::error::Result;
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::liveblog::{AddPost, Liveblog, NewLiveblog, PostBody, PostFields, PostSight};
use stet_domain::object::{CreateMode, NewContent, Reach, SharedText, parent_path};

use super::manifest::{SampleLiveblog, SamplePost};
use super::{FILES, SampleFolders, faulty, media_type, request_by};

const POST_TYPE: &str = "text/xml";

impl SampleFolders<'_> {
    /// Creates a liveblog with its posts. `now` is in epoch seconds.
    pub(super) async fn liveblog(&mut self, said: &SampleLiveblog, now: u64, content: &ContentStore) -> Result<()> {
        let (folder, name) = parent_path(&said.path).ok_or_else(|| faulty(&said.path))?;
        let template = FILES.get_file(said.template.trim_start_matches('/')).ok_or_else(|| faulty(&said.template))?;
        let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
        let new = NewLiveblog { moderated: Some(said.moderated), ..NewLiveblog::default() };
        let mut object = NewObject::of::<Liveblog>(name, "LiveBlog", new);
        object.status = text(&said.status);
        object.attributes = text(&said.attributes);
        object.system_attributes = text(&said.system_attributes);
        object.content = Some(store_content(content, template.contents(), media_type(&said.template)).await?);
        let folder = self.make(folder).await?;
        let create = CreateInFolder { folder, below: Vec::new(), object };
        let liveblog = self.repository.joint(create, request_by(said.creator.as_deref())).await?.loid;
        for post in &said.posts {
            let add = new_post(post, now, content).await?;
            self.repository.execute(liveblog, add, request_by(post.creator.as_deref())).await?;
        }
        Ok(())
    }
}

async fn new_post(said: &SamplePost, now: u64, content: &ContentStore) -> Result<AddPost> {
    let xml = format!("<post><p>{}</p></post>", escape(&said.text));
    let written = Duration::from_secs(now.saturating_sub(said.age_seconds));
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
            content: store_content(content, xml.as_bytes(), POST_TYPE).await?,
            text: text_of(POST_TYPE, xml.as_bytes()).into(),
        },
        attachments: Vec::new(),
        mode: CreateMode::Exception,
        reach: Reach::All,
        sight: PostSight::All,
    })
}

/// Writes bytes to the content store.
pub(super) async fn store_content(content: &ContentStore, bytes: &[u8], media_type: &str) -> Result<NewContent> {
    let mut upload = content.upload(&stet_base::limits::Reservation::unaccounted());
    upload.write(bytes).await?;
    upload.finish(media_type).await
}
