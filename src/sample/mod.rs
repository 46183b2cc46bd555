//! The sample newsroom: data for a new data directory, so that every endpoint has something to
//! return.
//!
//! `newsroom.json` lists users, groups, objects, drawers, liveblogs, topics and plans. The files
//! below `files/` are the objects' contents, each at its path in the repository. The sample's users
//! write it through the same commands as any client.

mod liveblogs;
mod manifest;
mod planning;

use std::collections::HashMap;
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use stet_actors::repository::Repository;
use stet_actors::runtime::ChangeRequest;
use stet_content::ContentStore;
use stet_domain::bundle::{Bundle, CopyInheritance, CopyToChannel};
use stet_domain::command::CallerIdentity;
use stet_domain::drawer::{Drawer, NewDrawer};
use stet_domain::error::{Code, Error, Result};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::{CreateMode, FamilyKind, IssueDate, NewContent, SharedText, parent_path};
use stet_domain::web_container::WebContainer;
use stet_newsroom::records::usage;
use stet_sysconfig::files::{FileShelf, Files, ReadingOutcome, SourceFile};
use stet_sysconfig::{CachedConfiguration, ObjectTypes, Site, SiteContent, Workflows};

use self::liveblogs::store_content;
use self::manifest::{Manifest, SampleObject};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/sample/files");

const MANIFEST: &str = include_str!("newsroom.json");

/// The users and groups of the sample, for the module that creates them.
pub use self::manifest::{SampleGroup, SampleUser};

/// The sample newsroom, parsed but not yet written.
pub struct Sample {
    manifest: Manifest,
}

fn faulty(what: impl std::fmt::Display) -> Error {
    // Only compiled-in data can be faulty, and a test writes all of it.
    Error::new(Code::RepositoryError, format!("The sample newsroom is faulty: {what}."))
}

impl Sample {
    /// Reads the compiled-in manifest.
    ///
    /// # Errors
    /// The manifest is faulty.
    pub fn read() -> Result<Sample> {
        Ok(Sample { manifest: serde_json::from_str(MANIFEST).map_err(faulty)? })
    }

    /// Returns the sample's users.
    pub fn users(&self) -> &[SampleUser] {
        &self.manifest.users
    }

    /// Returns the sample's groups.
    pub fn groups(&self) -> &[SampleGroup] {
        &self.manifest.groups
    }

    /// Returns the text of a configuration file that the server itself uses.
    pub fn text(path: &str) -> Option<&'static str> {
        FILES.get_file(path.trim_start_matches('/'))?.contents_utf8()
    }

    /// Writes folders, objects, drawers, liveblogs, topics and plans.
    ///
    /// # Errors
    /// Refusals of commands.
    pub async fn write(&self, repository: &Repository, content: &ContentStore) -> Result<()> {
        let configuration = Configuration::read()?;
        let now = repository.clock().now_s();
        let mut folders =
            SampleFolders { repository, known: HashMap::from([("/".to_owned(), root(DatabaseId::main()))]) };
        let homes = self.manifest.users.iter().flat_map(|user| [user.home.as_deref(), user.work.as_deref()]).flatten();
        for path in self.manifest.folders.iter().map(String::as_str).chain(homes) {
            folders.make(path).await?;
        }
        let described: HashMap<&str, &SampleObject> =
            self.manifest.objects.iter().map(|object| (object.path.as_str(), object)).collect();
        let mut files = Vec::new();
        collect(&FILES, &mut files);
        let mut known: HashMap<String, Loid> = HashMap::new();
        for file in &files {
            let path = format!("/{}", file.path().display());
            let plain = SampleObject::at(&path);
            let object = described.get(path.as_str()).copied().unwrap_or(&plain);
            let body = Some((file.contents(), media_type(&path)));
            known.insert(path.clone(), folders.object(object, body, now, content, &configuration).await?);
        }
        for object in
            self.manifest.objects.iter().filter(|object| !known.contains_key(&object.path)).collect::<Vec<_>>()
        {
            known.insert(object.path.clone(), folders.object(object, None, now, content, &configuration).await?);
        }
        for drawer in &self.manifest.drawers {
            let items = drawer.items.iter().map(|path| known.get(path).copied().ok_or_else(|| faulty(path)));
            let (folder, name) = parent_path(&drawer.path).ok_or_else(|| faulty(&drawer.path))?;
            let new = NewDrawer {
                title: drawer.title.as_str().into(),
                description: drawer.description.as_str().into(),
                items: items.collect::<Result<_>>()?,
                ..NewDrawer::empty(drawer.capacity)
            };
            let object = NewObject::of::<Drawer>(name, "Drawer", new);
            let folder = folders.make(folder).await?;
            let create = CreateInFolder { folder, below: Vec::new(), object };
            repository.joint(create, request_by(drawer.creator.as_deref())).await?;
        }
        for liveblog in &self.manifest.liveblogs {
            folders.liveblog(liveblog, now, content).await?;
        }
        for topic in &self.manifest.topics {
            folders.topic(topic, now, &mut known).await?;
        }
        for plan in &self.manifest.topic_plans {
            folders.plan(plan, &known).await?;
        }
        Ok(())
    }
}

/// The sample's own configuration, which is needed to write it. The server reads its configuration
/// only later, from the written files.
struct Configuration {
    types: ObjectTypes,
    workflows: Workflows,
    site: Arc<Site>,
}

impl Configuration {
    fn read() -> Result<Configuration> {
        Ok(Configuration {
            types: parse_content()?,
            workflows: parse_content()?,
            site: parse_content::<SiteContent>()?.site,
        })
    }
}

/// Parses one kind of the sample's configuration.
fn parse_content<T: CachedConfiguration>() -> Result<T> {
    let mut files = Files::new();
    loop {
        let shelf = FileShelf::of(&files);
        match T::read(&shelf) {
            ReadingOutcome::Done(parsed) => return Ok(parsed.value),
            ReadingOutcome::Faulty { faults, .. } => {
                return Err(faulty(faults.first().map(ToString::to_string).unwrap_or_default()));
            }
            ReadingOutcome::Needs(_) => {}
        }
        for path in shelf.needed() {
            let text = Sample::text(&path)
                .map(|text| Arc::new(SourceFile { path: path.clone(), text: Ok(text.into()), state: None }));
            files.insert(path, text);
        }
    }
}

fn request_by(user: Option<&str>) -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: user.unwrap_or("admin").into(), session: "".into(), address: None })
}

fn collect(dir: &'static Dir<'static>, files: &mut Vec<&'static include_dir::File<'static>>) {
    files.extend(dir.files());
    dir.dirs().for_each(|dir| collect(dir, files));
}

/// The folders created so far, by path.
struct SampleFolders<'a> {
    repository: &'a Repository,
    known: HashMap<String, Loid>,
}

impl SampleFolders<'_> {
    async fn make(&mut self, path: &str) -> Result<Loid> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let (parent, name) = parent_path(path).ok_or_else(|| faulty(path))?;
        let folder = Box::pin(self.make(parent)).await?;
        let create = CreateInFolder { folder, below: Vec::new(), object: NewObject::folder(name) };
        let made = self.repository.joint(create, request_by(None)).await?.loid;
        self.known.insert(path.to_owned(), made);
        Ok(made)
    }

    async fn object(
        &mut self,
        described: &SampleObject,
        body: Option<(&[u8], &str)>,
        now: u64,
        content: &ContentStore,
        configuration: &Configuration,
    ) -> Result<Loid> {
        let path = described.path.as_str();
        let (folder, name) = parent_path(path).ok_or_else(|| faulty(path))?;
        let types = &configuration.types;
        let known = match &described.type_name {
            Some(name) => types.get(name),
            None => types.infer(body.map(|(_, media_type)| media_type), name),
        };
        let known = known.ok_or_else(|| faulty(format!("no type for {path}")))?;
        let stored: Option<NewContent> = match body {
            Some((bytes, media_type)) => Some(store_content(content, bytes, media_type).await?),
            None => None,
        };
        let text = |value: &Option<String>| value.as_deref().map(SharedText::from);
        let workflows = &configuration.workflows;
        let initial = known.workflow.as_deref().and_then(|workflow| workflows.initial(workflow));
        let mut object = match known.family {
            FamilyKind::Bundle => NewObject::of::<Bundle>(name, &known.name, ()),
            FamilyKind::WebContainer => NewObject::of::<WebContainer>(name, &known.name, ()),
            _ => NewObject::document(name, &known.name),
        };
        object.status = text(&described.status).or_else(|| initial.map(|status| status.name.clone()));
        object.issue_date = IssueDate::given(described.issue_date.as_deref())?;
        object.work_folder = text(&described.work_folder);
        object.suid = text(&described.suid);
        object.attributes = text(&described.attributes);
        object.system_attributes = text(&described.system_attributes);
        object.usage_tickets = text(&described.usage_tickets);
        object.content = stored;
        object.created = Some(now.saturating_sub(described.age_seconds));
        object.mode = CreateMode::Exception;
        let folder = self.make(folder).await?;
        let create = CreateInFolder { folder, below: Vec::new(), object };
        let loid = self.repository.joint(create, request_by(described.creator.as_deref())).await?.loid;
        for copy in &described.copies {
            let site = &configuration.site;
            let channel = |name: &str| site.channel(name).cloned().ok_or_else(|| faulty(format!("no channel {name}")));
            let from = copy.inherit_from.as_deref().map(channel).transpose()?;
            let kind = types.infer(body.map(|(_, media_type)| media_type), name).ok_or_else(|| faulty(path))?;
            let copy = CopyToChannel {
                bundle: loid,
                channel: channel(&copy.channel)?.name,
                inherit: from.map(|from| CopyInheritance { channel: from.name, is_neutral: from.is_neutral }),
                type_name: kind.name.clone(),
                status: text(&described.status),
                checked_out_s: None,
                ticket: usage::add_ticket,
            };
            self.repository.joint(copy, request_by(described.creator.as_deref())).await?;
        }
        Ok(loid)
    }
}

/// Returns the media type of a sample file, by its extension.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("xml" | "cfg") => "text/xml",
        Some("txt") => "text/plain",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("svg") => "image/svg+xml",
        Some("css") => "text/css",
        Some("dtd") => "application/xml-dtd",
        _ => "application/octet-stream",
    }
}
