//! The sample newsroom: data for a new data directory, so that every endpoint has something to
//! return.
//!
//! `newsroom.json` lists users, groups, objects, drawers, liveblogs, topics and plans. The files
//! below `files/` are the objects' contents, each at its path in the repository. The server creates
//! everything in the name of the sample's users, by the same rules as for any caller.

mod liveblogs;
mod manifest;
mod planning;

use std::collections::HashMap;
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use stet_base::limits::Reservation;
use stet_domain::bundle::{CopyInheritance, CopyToChannel};
use stet_domain::document::Document;
use stet_domain::drawer::{Drawer, NewDrawer};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::NewParts;
use stet_domain::object::{NewContent, SharedText, parent_path};
use stet_newsroom::Newsroom;
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::caller::{CallContext, Caller, Principal};
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace};
use stet_newsroom::records::usage;
use stet_sysconfig::files::{FileShelf, Files, ReadingOutcome, SourceFile};
use stet_sysconfig::{CachedConfiguration, ObjectTypes};

use self::manifest::{Manifest, SampleDrawer, SampleObject};

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
    pub async fn write(&self, newsroom: &Arc<Newsroom>) -> Result<()> {
        let now = newsroom.repository.clock().now_s();
        let mut writer = SampleWriter { newsroom, now, known: HashMap::new() };
        let homes = self.manifest.users.iter().flat_map(|user| [user.home.as_deref(), user.work.as_deref()]).flatten();
        for path in self.manifest.folders.iter().map(String::as_str).chain(homes) {
            writer.folder(path).await?;
        }
        let described: HashMap<&str, &SampleObject> =
            self.manifest.objects.iter().map(|object| (object.path.as_str(), object)).collect();
        let mut files = Vec::new();
        collect(&FILES, &mut files);
        // The configuration first: it has the types and workflows of all others.
        let is_configuration = |file: &include_dir::File<'_>| file.path().starts_with("SysConfig");
        let types: ObjectTypes = parse_content()?;
        for file in files.iter().filter(|file| is_configuration(file)) {
            writer.configuration_file(file, &described, &types).await?;
        }
        newsroom.sysconfig.restore().await;
        for file in files.iter().filter(|file| !is_configuration(file)) {
            let path = format!("/{}", file.path().display());
            let plain = SampleObject::at(&path);
            let object = described.get(path.as_str()).copied().unwrap_or(&plain);
            writer.object(object, Some((file.contents(), media_type(&path)))).await?;
        }
        for object in &self.manifest.objects {
            if !writer.known.contains_key(&object.path) {
                writer.object(object, None).await?;
            }
        }
        for drawer in &self.manifest.drawers {
            writer.drawer(drawer).await?;
        }
        for liveblog in &self.manifest.liveblogs {
            writer.liveblog(liveblog).await?;
        }
        for topic in &self.manifest.topics {
            writer.topic(topic).await?;
        }
        for plan in &self.manifest.topic_plans {
            writer.plan(plan).await?;
        }
        Ok(())
    }
}

/// Parses one kind of the sample's configuration from the compiled-in files.
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

fn collect(dir: &'static Dir<'static>, files: &mut Vec<&'static include_dir::File<'static>>) {
    files.extend(dir.files());
    dir.dirs().for_each(|dir| collect(dir, files));
}

/// The writer of the sample.
struct SampleWriter<'n> {
    newsroom: &'n Arc<Newsroom>,
    /// The time of the first start, in epoch seconds.
    now: u64,
    /// The objects written so far, by path.
    known: HashMap<String, Loid>,
}

impl SampleWriter<'_> {
    /// Returns the server itself as a caller in the name of a user; by default, of `admin`.
    fn caller(&self, user: Option<&str>) -> Result<Caller> {
        let operator = Principal::Operator(user.unwrap_or("admin").into());
        Caller::new(self.newsroom.clone(), operator, CallContext::default())
    }

    /// Returns an object that was written before.
    fn loid_of(&self, path: &str) -> Result<Loid> {
        self.known.get(path).copied().ok_or_else(|| faulty(path))
    }

    /// Creates a folder and the missing ones above it.
    async fn folder(&self, path: &str) -> Result<()> {
        let Some((parent, name)) = parent_path(path).filter(|(_, name)| !name.is_empty()) else { return Ok(()) };
        let place = CreationPlace::Folder(Some(ObjectSource::Path(parent.to_owned())));
        let folder = Creation { place, ..Creation::of(CreationKind::Folder, name) };
        self.caller(None)?.create(folder).await.map(drop)
    }

    /// Creates an object of the given kind at a path, in the name of a user.
    async fn create(&mut self, path: &str, user: Option<&str>, creation: Creation) -> Result<Loid> {
        let (folder, name) = parent_path(path).ok_or_else(|| faulty(path))?;
        self.folder(folder).await?;
        let place = CreationPlace::Folder(Some(ObjectSource::Path(folder.to_owned())));
        let creation = Creation { name: name.to_owned(), place, ..creation };
        let made = self.caller(user)?.create(creation).await?.reply.loid;
        self.known.insert(path.to_owned(), made);
        Ok(made)
    }

    /// Creates a configuration file, before any configuration is in force. `types` are those of the
    /// sample.
    async fn configuration_file(
        &mut self,
        file: &include_dir::File<'_>,
        described: &HashMap<&str, &SampleObject>,
        types: &ObjectTypes,
    ) -> Result<()> {
        let path = format!("/{}", file.path().display());
        let named = described.get(path.as_str()).and_then(|object| object.type_name.as_deref());
        let media_type = media_type(&path);
        let known = named.map_or_else(|| types.infer(Some(media_type), &path), |name| types.get(name));
        let type_name = known.ok_or_else(|| faulty(format!("no type for {path}")))?.name.clone();
        let kind = CreationKind::Container { type_name, parts: NewParts::of::<Document>(()) };
        let content = Some(self.store(file.contents(), media_type).await?);
        let creation = Creation { content, created: Some(self.now), ..Creation::of(kind, "") };
        self.create(&path, None, creation).await.map(drop)
    }

    /// Creates an object with its content and its channel copies.
    async fn object(&mut self, described: &SampleObject, body: Option<(&[u8], &str)>) -> Result<()> {
        let path = described.path.as_str();
        let content = match body {
            Some((bytes, media_type)) => Some(self.store(bytes, media_type).await?),
            None => None,
        };
        let text = |value: &Option<String>| value.as_deref().map(AttributeInput::of_text);
        let creation = Creation {
            status: described.status.clone(),
            issue_date: described.issue_date.clone(),
            work_folder: described.work_folder.clone(),
            suid: described.suid.clone(),
            attributes: text(&described.attributes),
            system_attributes: text(&described.system_attributes),
            usage_tickets: text(&described.usage_tickets),
            content,
            created: Some(self.now.saturating_sub(described.age_seconds)),
            ..Creation::of(CreationKind::OfType(described.type_name.clone()), "")
        };
        let bundle = self.create(path, described.creator.as_deref(), creation).await?;
        let main = DatabaseId::main();
        let (site, types) = (self.newsroom.sysconfig.site(main), self.newsroom.sysconfig.object_types(main));
        for copy in &described.copies {
            let channel = |name: &str| site.channel(name).cloned().ok_or_else(|| faulty(format!("no channel {name}")));
            let from = copy.inherit_from.as_deref().map(channel).transpose()?;
            let kind = types.infer(body.map(|(_, media_type)| media_type), path).ok_or_else(|| faulty(path))?;
            let copy = CopyToChannel {
                bundle,
                channel: channel(&copy.channel)?.name,
                inherit: from.map(|from| CopyInheritance { channel: from.name, is_neutral: from.is_neutral }),
                type_name: kind.name.clone(),
                status: described.status.as_deref().map(SharedText::from),
                checked_out_s: None,
                ticket: usage::add_ticket,
            };
            self.caller(described.creator.as_deref())?.change_jointly(copy).await?;
        }
        Ok(())
    }

    /// Creates a drawer.
    async fn drawer(&mut self, drawer: &SampleDrawer) -> Result<()> {
        let new = NewDrawer {
            title: drawer.title.as_str().into(),
            description: drawer.description.as_str().into(),
            items: drawer.items.iter().map(|path| self.loid_of(path)).collect::<Result<_>>()?,
            ..NewDrawer::empty(drawer.capacity)
        };
        let kind = CreationKind::Container { type_name: "Drawer".into(), parts: NewParts::of::<Drawer>(new) };
        self.create(&drawer.path, drawer.creator.as_deref(), Creation::of(kind, "")).await.map(drop)
    }

    /// Writes bytes to the content store.
    async fn store(&self, bytes: &[u8], media_type: &str) -> Result<NewContent> {
        let mut upload = self.newsroom.content.upload(&Reservation::unaccounted());
        upload.write(bytes).await?;
        upload.finish(media_type).await
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
