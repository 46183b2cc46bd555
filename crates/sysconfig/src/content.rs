//! The contents of the configuration caches: for each cache, the files it is read from, and its
//! value without them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_domain::object::SharedText;
use stet_xml::{Declarations, Limits, declarations};

use super::catalogs::Catalogs;
use super::commands::{Commands, Jobs};
use super::document::{ConfigFile, FileReading, ParsedFile, read_on};
use super::fault::{ConfigurationFault, MOST_FAULTS};
use super::files::{
    FILE_BYTES, FOLDER, FileLookup, FileShelf, MOST_BYTES, ReadingOutcome, SourceFile, is_configuration, limits,
};
use super::metadata::{DefinitionFile, MetadataDefinition, TreeSource};
use super::object_types::ObjectTypes;
use super::pages::{Collages, ContentItems, Indexes, PageAccessories, ShapeTemplates};
use super::site::Site;
use super::trees::{TreeList, ValueTree, WebConfiguration};
use super::validation::{AttributeFinding, TreeValues};
use super::vocabulary;
use super::whole::{WholeFile, fault_of, whole};
use super::workflows::Workflows;

/// The content of one cache.
pub trait CachedConfiguration: Default + Send + Sync + 'static {
    /// Name of the cache.
    const NAME: &'static str;

    /// Parses the content from files. Called again with more files while it needs any.
    fn read(shelf: &FileShelf<'_>) -> ReadingOutcome<ParsedFile<Self>>;
}

/// Implements the content of caches that are read from one file.
macro_rules! of_one_file {
    ($($content:ty, $name:literal, $path:literal;)+) => { $(
        impl CachedConfiguration for $content {
            const NAME: &'static str = $name;

            fn read(shelf: &FileShelf<'_>) -> ReadingOutcome<ParsedFile<Self>> {
                let mut gather = ConfigReading::new(shelf);
                let value = gather.file(<$content>::PATH).unwrap_or_default();
                gather.end(value)
            }
        }

        impl $content {
            /// The path of the file.
            pub(super) const PATH: &'static str = $path;
        }
    )+ };
}

of_one_file! {
    Commands, "commands", "/SysConfig/Commands/commands.xml";
    Jobs, "jobs", "/SysConfig/Jobs/jobs.xml";
    ObjectTypes, "objecttypes", "/SysConfig/ObjectTypes/objecttypes.xml";
    Workflows, "workflows", "/SysConfig/Workflows/workflows.xml";
}

/// The path of the site configuration.
pub const SITE_PATH: &str = "/SysConfig/Site/siteconfig.xml";

/// The path of the column catalogs.
pub const CATALOGS_PATH: &str = "/SysConfig/Columns/columnCfgCatalogs.cfg";

/// The site configuration, and all that is refreshed along with it.
#[derive(Debug, Clone, Default)]
pub struct SiteContent {
    /// The site configuration.
    pub site: Arc<Site>,
    /// The text of the site configuration with its includes; empty without a file.
    pub text: Bytes,
    /// The hash for the ETag of the text. Refreshes without a change of the text keep it.
    pub text_sha256: [u8; 32],
    /// The column catalogs.
    pub catalogs: Arc<Catalogs>,
    /// The content items.
    pub content_items: Arc<ContentItems>,
    /// The collage configuration.
    pub collages: Arc<Collages>,
    /// The indexes.
    pub indexes: Arc<Indexes>,
    /// Page accessories, by the path of their file.
    pub page_accessories: BTreeMap<SharedText, Arc<PageAccessories>>,
    /// Shape templates, by the path of their file.
    pub shape_templates: BTreeMap<SharedText, Arc<ShapeTemplates>>,
    /// Metadata definitions, in the order of the site configuration.
    pub definitions: Vec<Arc<MetadataDefinition>>,
    /// Tree lists of the metadata definitions, by path.
    pub trees: BTreeMap<SharedText, Arc<ValueTree>>,
    /// The tree lists in which attribute values are looked up, by path.
    values: BTreeMap<SharedText, TreeValues>,
    /// The bytes of all files that were parsed. The size of any reply with their content grows with
    /// it.
    pub bytes: usize,
}

impl SiteContent {
    /// Returns the metadata definition for objects that fit no other.
    pub fn default_definition(&self) -> Option<&Arc<MetadataDefinition>> {
        self.definitions.iter().find(|definition| definition.is_default).or(self.definitions.first())
    }

    /// Returns the metadata definition by which attributes of objects of a type and work folder are
    /// checked, if it checks anything. It is the best fitting one, or else the one marked as the
    /// default.
    pub fn rules_for(&self, kind: &str, work_folder: Option<&str>) -> Option<&Arc<MetadataDefinition>> {
        let found = self.best_fitting(Some(kind), work_folder);
        let marked = || self.definitions.iter().find(|definition| definition.is_default);
        found.or_else(marked).filter(|definition| definition.model.checks_anything())
    }

    /// Returns the violations of a definition by some attributes.
    pub fn findings(&self, definition: &MetadataDefinition, xml: &str, limits: &Limits) -> Vec<AttributeFinding> {
        definition.model.check(xml, &self.values, limits)
    }

    /// Returns the metadata definition that fits objects of a type and work folder best, or else
    /// the default one.
    pub fn definition_for(&self, kind: Option<&str>, work_folder: Option<&str>) -> Option<&Arc<MetadataDefinition>> {
        self.best_fitting(kind, work_folder).or_else(|| self.default_definition())
    }

    fn best_fitting(&self, kind: Option<&str>, work_folder: Option<&str>) -> Option<&Arc<MetadataDefinition>> {
        let fitting = self.definitions.iter().filter_map(|it| Some((it.fits(kind, work_folder)?, it)));
        // The first among equally fitting ones.
        let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, definition)| definition)
    }
}

impl CachedConfiguration for SiteContent {
    const NAME: &'static str = "site";

    fn read(shelf: &FileShelf<'_>) -> ReadingOutcome<ParsedFile<Self>> {
        let mut gather = ConfigReading::new(shelf);
        let mut content = SiteContent::default();
        if let Some((site, whole)) = gather.file_and_text::<Site>(SITE_PATH) {
            content.site = Arc::new(site);
            content.text_sha256 = Sha256::digest(&whole.text).into();
            content.text = whole.text.into();
        }
        if let Some(catalogs) = gather.file(CATALOGS_PATH) {
            content.catalogs = Arc::new(catalogs);
        }
        content.content_items = Arc::new(gather.file("/SysConfig/ContentItems/contentItems.xml").unwrap_or_default());
        content.collages = Arc::new(gather.file("/SysConfig/Collage/collage.xml").unwrap_or_default());
        content.indexes = Arc::new(gather.file("/SysConfig/Indexes/indexes.xml").unwrap_or_default());
        let site = content.site.clone();
        for channel in site.channels.list() {
            if let Some(path) = &channel.page_accessories
                && let Some(file) = gather.named(path)
            {
                content.page_accessories.insert(path.clone(), Arc::new(file));
            }
            if let Some(path) = &channel.shape_templates
                && let Some(file) = gather.named(path)
            {
                content.shape_templates.insert(path.clone(), Arc::new(file));
            }
        }
        for path in &site.definitions {
            let Some(file) = gather.named::<DefinitionFile>(path) else { continue };
            let Some(definition) = gather.definition(path, file) else { continue };
            for (_, element) in &definition.elements.0 {
                if let Some(TreeSource::File(path)) = element.tree()
                    && let Some(tree) = gather.tree(&path)
                {
                    content.trees.insert(path, Arc::new(tree));
                }
            }
            content.definitions.push(Arc::new(definition));
        }
        for path in content.definitions.iter().flat_map(|definition| definition.model.trees()) {
            if let Some(tree) = content.trees.get(path)
                && !content.values.contains_key(path)
            {
                content.values.insert(path.clone(), TreeValues::of(tree));
            }
        }
        content.bytes = gather.bytes;
        gather.end(content)
    }
}

/// Adds faults, up to the number that is reported.
fn note(faults: &mut Vec<ConfigurationFault>, more: Vec<ConfigurationFault>) {
    let room = MOST_FAULTS.saturating_sub(faults.len());
    faults.extend(more.into_iter().take(room).map(ConfigurationFault::cut));
}

/// The largest number of elements in all metadata definitions. Each takes some hundred bytes, and a
/// DTD declares one in sixteen.
const MOST_ELEMENTS: usize = 50_000;

/// A reading of several files, which collects the faults of all of them.
struct ConfigReading<'s, 'f> {
    shelf: &'s FileShelf<'f>,
    lacks: bool,
    /// The bytes that were parsed. A file that others include, or that several name, counts each
    /// time.
    bytes: usize,
    /// The number of elements of metadata definitions.
    elements: usize,
    /// The files that were named by others, with their required root elements.
    named: HashSet<(SharedText, &'static str)>,
    faults: Vec<ConfigurationFault>,
    unknown: Vec<ConfigurationFault>,
}

impl<'s, 'f> ConfigReading<'s, 'f> {
    fn new(shelf: &'s FileShelf<'f>) -> ConfigReading<'s, 'f> {
        ConfigReading {
            shelf,
            lacks: false,
            bytes: 0,
            elements: 0,
            named: HashSet::new(),
            faults: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Reads an optional file.
    fn file<T: ConfigFile>(&mut self, path: &str) -> Option<T> {
        self.file_and_text(path).map(|(value, _)| value)
    }

    fn file_and_text<T: ConfigFile>(&mut self, path: &str) -> Option<(T, WholeFile)> {
        // Further faults would not be reported, so the search for them ends.
        if self.faults.len() >= MOST_FAULTS {
            return None;
        }
        let whole = match whole(path, self.shelf) {
            ReadingOutcome::Done(found) => found?,
            ReadingOutcome::Needs(_) => {
                self.lacks = true;
                return None;
            }
            ReadingOutcome::Faulty { faults, .. } => {
                note(&mut self.faults, faults);
                return None;
            }
        };
        if !self.may_read(path, whole.text.len()) {
            return None;
        }
        let FileReading { value, faults, unknown } = read_on(&whole);
        note(&mut self.faults, faults);
        note(&mut self.unknown, unknown);
        value.map(|value| (value, whole))
    }

    /// Counts bytes before they are parsed. A file that is kept once may be parsed again and again;
    /// this limits the total.
    fn may_read(&mut self, path: &str, bytes: usize) -> bool {
        self.bytes += bytes;
        let may = self.bytes <= MOST_BYTES;
        if !may {
            let fault = format!(
                "more than {MOST_BYTES} bytes are read, counting each file as often as others name or include it"
            );
            note(&mut self.faults, vec![ConfigurationFault::of_file(path, fault)]);
        }
        may
    }

    /// Reads a file that another one names, and that must exist. Returns `None` for one that was
    /// read before.
    fn named<T: ConfigFile>(&mut self, path: &SharedText) -> Option<T> {
        // A fault of the element without the name was noted already.
        if path.is_empty() {
            return None;
        }
        if !self.named.insert((path.clone(), T::ROOT.name)) || !self.may_be_read(path) {
            return None;
        }
        let (lacked, faults) = (self.lacks, self.faults.len());
        let found = self.file(path);
        if found.is_none() && self.lacks == lacked && self.faults.len() == faults {
            note(
                &mut self.faults,
                vec![ConfigurationFault::of_file(
                    path,
                    "the site configuration names this file, but it does not exist",
                )],
            );
        }
        found
    }

    /// Refuses files outside of the configuration folder.
    fn may_be_read(&mut self, path: &SharedText) -> bool {
        let may = is_configuration(path);
        if !may {
            note(
                &mut self.faults,
                vec![ConfigurationFault::of_file(
                    path,
                    format!("it is named, but is not read, because it is not in {FOLDER}"),
                )],
            );
        }
        may
    }

    /// Completes a definition with its DTD, which must exist if the definition names one.
    fn definition(&mut self, path: &SharedText, file: DefinitionFile) -> Option<MetadataDefinition> {
        let declared = match file.dtd() {
            None => None,
            Some(dtd) => Some(self.dtd(dtd)?),
        };
        self.elements += declared.as_ref().map_or(0, |declared| declared.elements.len());
        if self.elements > MOST_ELEMENTS {
            let fault = format!("metadata definitions have more than {MOST_ELEMENTS} elements");
            note(&mut self.faults, vec![ConfigurationFault::of_file(path, fault)]);
            return None;
        }
        let faults = &mut self.faults;
        Some(
            file.complete(declared.as_ref(), &mut |fault| note(faults, vec![ConfigurationFault::of_file(path, fault)])),
        )
    }

    fn dtd(&mut self, path: &SharedText) -> Option<Declarations> {
        let file = self.must_be(path)?;
        let text = match &file.text {
            Ok(text) => text.clone(),
            Err(why) => {
                note(&mut self.faults, vec![ConfigurationFault::of_file(path, why.clone())]);
                return None;
            }
        };
        if !self.may_read(path, text.len()) {
            return None;
        }
        match declarations(&text, &limits(FILE_BYTES)) {
            Ok(found) => Some(found),
            Err(error) => {
                note(&mut self.faults, vec![fault_of(path, &text, &error)]);
                None
            }
        }
    }

    /// Reads a tree list that a definition names, in either of its two formats. Returns `None` for
    /// one that was read before.
    fn tree(&mut self, path: &SharedText) -> Option<ValueTree> {
        let is_known = |root: &'static str| self.named.contains(&(path.clone(), root));
        if is_known(TreeList::ROOT.name) || is_known(WebConfiguration::ROOT.name) {
            return None;
        }
        let file = self.must_be(path)?;
        // A file that is no XML is reported when it is parsed.
        let of_web = file.text.as_deref().is_ok_and(|text| {
            WholeFile::of_text(path, text).root().is_ok_and(|root| root == vocabulary::WEB_CONFIGURATION.name)
        });
        if of_web {
            self.named::<WebConfiguration>(path).map(|file| file.0)
        } else {
            self.named::<TreeList>(path).map(|file| file.0)
        }
    }

    /// Returns the source of a file that another one names, and that must exist.
    fn must_be(&mut self, path: &SharedText) -> Option<&'f Arc<SourceFile>> {
        if !self.may_be_read(path) {
            return None;
        }
        match self.shelf.ask(path) {
            FileLookup::Here(file) => Some(file),
            FileLookup::Unknown => {
                self.lacks = true;
                None
            }
            FileLookup::Missing => {
                note(
                    &mut self.faults,
                    vec![ConfigurationFault::of_file(
                        path,
                        "a metadata definition names this file, but it does not exist",
                    )],
                );
                None
            }
        }
    }

    fn end<T>(self, value: T) -> ReadingOutcome<ParsedFile<T>> {
        if self.lacks {
            // The faults are reported when all files are there, so that they are complete.
            return ReadingOutcome::Needs(BTreeSet::new());
        }
        if self.faults.is_empty() {
            ReadingOutcome::Done(ParsedFile { value, unknown: self.unknown })
        } else {
            ReadingOutcome::Faulty { faults: self.faults, unknown: self.unknown }
        }
    }
}
