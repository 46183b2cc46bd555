//! The creation of objects (docs/api/objects.md, "Creating").
//!
//! Everything that may be said of a new object is a [`Creation`], and [`Caller::create`] is the
//! only way from there to a command. The steps have this order, because each needs the ones before
//! it:
//!
//! 1. the type: by name, or by content and name. It decides the family and the workflow.
//! 2. the status, which the workflow must have
//! 3. values with fields of their own, and the attributes. They take precedence over the same
//!    values in system attributes.
//! 4. the system attributes, completed by the product and the defaults of the site
//! 5. the template, for everything that is still open
//! 6. the title of a liveblog, in whichever system attributes the object has by now
//! 7. the destination, unless it has been found before. The site configuration may choose it by
//!    type, work folder, date and product.
//! 8. the command

mod defaults;
mod destination;
mod edits;
mod statuses;
mod system;
mod template;

use futures_util::future::LocalBoxFuture;
use stet_actors::runtime::JointResult;
use stet_domain::bundle::Bundle;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource, ObjectUuid};
use stet_domain::lifecycle::{CreateResult, ImportedObject, NewObject, NewParts, ObjectPairResult};
use stet_domain::liveblog::{Liveblog, NewLiveblog};
use stet_domain::object::{CreateMode, FamilyKind, IssueDate, NewContent, SharedText};
use stet_domain::web_container::WebContainer;

use self::defaults::CreationDefaults;
pub use self::defaults::{RequestedDefaults, with_time};
pub use self::destination::{Destination, check_folder, check_place};
pub use self::edits::{AmendAttempts, AttributeEdits, edit_refusal};
use self::statuses::give_inferred;
pub use self::statuses::status_of;
use self::system::{ProductInfo, begin, describe, give_title};
pub use self::system::{SystemValues, TITLE};
pub use self::template::Template;
use crate::attribute_input::{AttributeInput, attribute_text, rooted_text};
use crate::caller::Caller;

/// The type of a new object, which decides its family.
pub enum CreationKind {
    /// An object whose family follows from its type: a document, a bundle or a web container.
    /// `None` infers the type from content and name.
    OfType(Option<String>),
    /// A document that the server creates itself. Its type is inferred from content and name.
    File,
    /// A folder.
    Folder,
    /// An object of a family with one type, with its settings as a container.
    Container {
        /// The name of the type.
        type_name: SharedText,
        /// The settings.
        parts: NewParts,
    },
    /// A liveblog.
    Liveblog {
        /// The name of the type; `None` for the type of most liveblogs.
        type_name: Option<String>,
        /// Whether posts wait for approval. `None` leaves it to system attributes and template.
        moderated: Option<bool>,
    },
    /// An object as another repository had it. Configurations differ, so neither its type nor its
    /// status need be known here.
    Imported {
        /// The name of the type.
        type_name: String,
        /// The name of the family, for a type that is not known.
        family: Option<String>,
        /// The additional data.
        imported: Box<ImportedObject>,
    },
}

/// The place of a new object. A path is created as far as it is missing.
pub enum CreationPlace {
    /// A folder; without one, the caller's home.
    Folder(Option<ObjectSource>),
    /// A folder; without one, that of the site configuration for such objects, or the caller's
    /// home.
    SiteFolder(Option<ObjectSource>),
    /// A place that has been found before ([`Caller::destination`]).
    Found(Destination),
}

/// All that may be said of a new object. Empty texts count as not given.
pub struct Creation {
    /// The type.
    pub kind: CreationKind,
    /// The name.
    pub name: String,
    /// The action if the name is taken.
    pub mode: CreateMode,
    /// The place.
    pub place: CreationPlace,
    /// The database in which paths are resolved.
    pub database: DatabaseId,
    /// The name of the workflow status; by default, the workflow's first one.
    pub status: Option<String>,
    /// The title of a liveblog.
    pub title: Option<String>,
    /// The product.
    pub product: Option<String>,
    /// The edition.
    pub edition: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// The day of issue: `yyyyMMdd`, or `yyMMdd` for 20yy.
    pub issue_date: Option<String>,
    /// The path of the work folder.
    pub work_folder: Option<String>,
    /// The story family.
    pub suid: Option<String>,
    /// The uuid, if the caller chose it.
    pub uuid: Option<ObjectUuid>,
    /// The attributes.
    pub attributes: Option<AttributeInput>,
    /// The system attributes, with the root `props`.
    pub system_attributes: Option<AttributeInput>,
    /// The usage tickets, with the root `tl`.
    pub usage_tickets: Option<AttributeInput>,
    /// The values to be filled in from the site configuration.
    pub defaults: RequestedDefaults,
    /// The content.
    pub content: Option<NewContent>,
    /// The template.
    pub template: Option<Template>,
    /// Whether the object stays checked out for the caller.
    pub checked_out: bool,
    /// The time of creation in epoch seconds, if it is not now.
    pub created: Option<u64>,
}

impl Creation {
    /// Returns the creation of an object about which nothing else is said, in the caller's home of
    /// the main database.
    pub fn of(kind: CreationKind, name: impl Into<String>) -> Creation {
        Creation {
            // A folder of the name is used if there is one.
            mode: if matches!(kind, CreationKind::Folder) { CreateMode::Existing } else { CreateMode::Exception },
            kind,
            name: name.into(),
            place: CreationPlace::Folder(None),
            database: DatabaseId::main(),
            status: None,
            title: None,
            product: None,
            edition: None,
            team: None,
            issue_date: None,
            work_folder: None,
            suid: None,
            uuid: None,
            attributes: None,
            system_attributes: None,
            usage_tickets: None,
            defaults: RequestedDefaults::default(),
            content: None,
            template: None,
            checked_out: false,
            created: None,
        }
    }

    /// Returns the media type of the content that the object begins with.
    fn media_type(&self) -> Option<String> {
        let of_template = || self.template.as_ref()?.content.as_ref();
        self.content.as_ref().or_else(of_template).map(|new| new.content.content_type.to_string())
    }
}

/// The default type of liveblogs.
pub const LIVEBLOG_TYPE: &str = "LiveBlog";

/// The type of a new object.
struct CreationType {
    name: SharedText,
    /// The workflow, if the type has one.
    workflow: Option<SharedText>,
    /// The family of an object that the type does not decide; see [`CreationKind`].
    family: FamilyKind,
    rule: StatusRule,
}

/// The treatment of a new object's status.
#[derive(PartialEq, Eq)]
enum StatusRule {
    /// The workflow must have the status. Without one, the object gets the workflow's first.
    Checked,
    /// The workflow must have the status. Without one, the object gets none.
    OnlyGiven,
    /// The command checks the status, because an existing object keeps its type.
    Inferred,
    /// Any status is taken.
    Any,
}

impl Caller {
    /// Creates an object.
    ///
    /// # Errors
    /// `TypeNotFound`, `InvalidType`, `StatusNotFound`, `InvalidStatus`, `InvalidAttributes`,
    /// `InvalidParameter`, `InvalidName`, `InvalidPath`, `ObjectNotFound`, `PermissionDenied`,
    /// `Duplicated`; the errors of [`Caller::change_jointly`].
    pub fn create(&self, creation: Creation) -> LocalBoxFuture<'_, Result<JointResult<CreateResult>>> {
        // Boxed, so that no handler contains this large future.
        Box::pin(async move {
            let (object, destination) = self.prepare(creation).await?;
            destination.make(self, object).await
        })
    }

    /// Creates an object, and another one beside it at the same place, in one change.
    ///
    /// # Errors
    /// The errors of [`Caller::create`].
    pub fn create_both(
        &self,
        main: Creation,
        beside: Creation,
    ) -> LocalBoxFuture<'_, Result<JointResult<ObjectPairResult>>> {
        Box::pin(async move {
            let (main, destination) = self.prepare(main).await?;
            let place = CreationPlace::Found(destination);
            let (beside, destination) = self.prepare(Creation { place, ..beside }).await?;
            destination.make_both(self, main, beside).await
        })
    }

    /// Finds the place for objects that are created later, so that a caller who may not create
    /// there is refused before any work is done.
    ///
    /// # Errors
    /// The errors of [`Caller::create`] about the place.
    pub fn destination(&self, folder: Option<ObjectSource>, database: DatabaseId) -> Result<Destination> {
        destination::find_destination(self, folder, database)
    }

    /// Finds the place for a new folder of that name, like [`Caller::destination`]. The folder may
    /// be the caller's home itself.
    ///
    /// # Errors
    /// The errors of [`Caller::create`] about the place.
    pub fn folder_destination(
        &self,
        above: Option<ObjectSource>,
        name: &str,
        database: DatabaseId,
    ) -> Result<Destination> {
        destination::find_folder_destination(self, above, name, database)
    }

    /// Builds the object of the command, and finds its place.
    async fn prepare(&self, mut creation: Creation) -> Result<(NewObject, Destination)> {
        let newsroom = &**self.newsroom();
        let of = creation.place.database(newsroom, creation.database)?;
        let known = self.type_of(&creation, of)?;
        let mut object = new_object(&mut creation.kind, &creation.name, &known)?;
        self.set_status(&mut object, creation.status.take(), of, &known)?;
        let text = |value: Option<String>| value.filter(|text| !text.is_empty()).map(SharedText::from);
        let issue_date = IssueDate::given(creation.issue_date.as_deref())?;
        object.work_folder = text(creation.work_folder.take());
        object.issue_date.clone_from(&issue_date);
        object.suid = text(creation.suid.take());
        object.uuid = creation.uuid;
        object.created = creation.created;
        object.attributes = attribute_text(newsroom, "attributes", creation.attributes.take()).await?;
        let said = match creation.kind {
            CreationKind::OfType(_) | CreationKind::Liveblog { .. } => ProductInfo {
                product: creation.product.as_deref(),
                edition: creation.edition.as_deref(),
                issue_date: issue_date.as_ref(),
                team: creation.team.as_deref(),
            },
            // The system attributes of others repeat no fields of their own.
            _ => ProductInfo::default(),
        };
        let given = creation.system_attributes.take();
        let defaults = self
            .set_system(&mut object, &creation.kind, (of, creation.defaults), &said, given, creation.template)
            .await?;
        if let Some(title) = &creation.title {
            give_title(newsroom, &mut object, title, &said)?;
        }
        object.usage_tickets = rooted_text(newsroom, "usageTickets", creation.usage_tickets.take(), "tl").await?;
        object.content = creation.content.take();
        // An import uses existing folders.
        if !(object.imported.is_some() && known.family == FamilyKind::Folder) {
            object.mode = creation.mode;
        }
        object.checked_out_s = creation.checked_out.then_some(newsroom.config.auth.lock_idle_seconds);
        let destination = creation.place.find(self, creation.database, &object, &defaults.over(&said))?;
        Ok((object, destination))
    }

    /// Finds the type of a new object in the database `of`.
    fn type_of(&self, creation: &Creation, of: DatabaseId) -> Result<CreationType> {
        let types = self.newsroom().sysconfig.object_types(of);
        let known = |name: &str, rule| CreationType {
            name: name.into(),
            workflow: types.get(name).and_then(|known| known.workflow.clone()),
            family: types.get(name).map_or(FamilyKind::Document, |known| known.family),
            rule,
        };
        let name = &creation.name;
        Ok(match &creation.kind {
            CreationKind::OfType(wanted) => match wanted.as_deref().filter(|wanted| !wanted.is_empty()) {
                Some(wanted) => known(&types.named(wanted)?.name, StatusRule::Checked),
                None => {
                    let inferred = types.infer(creation.media_type().as_deref(), name).ok_or_else(|| {
                        let message =
                            format!("No object type matches the name `{name}` and its content. Name a `type`.");
                        Error::new(Code::TypeNotFound, message)
                    })?;
                    known(&inferred.name, StatusRule::Inferred)
                }
            },
            CreationKind::File => {
                let kind = creation.media_type().unwrap_or_default();
                let inferred = types.infer(Some(&kind), name);
                let inferred = inferred.filter(|known| known.family == FamilyKind::Document).ok_or_else(|| {
                    let message =
                        format!("The configuration has no object type for a file of the type `{kind}`, `{name}`.");
                    Error::new(Code::TypeNotFound, message).with_source(&kind)
                })?;
                known(&inferred.name, StatusRule::Inferred)
            }
            CreationKind::Folder => known(stet_domain::folder::TYPE_NAME, StatusRule::OnlyGiven),
            CreationKind::Container { type_name, .. } => known(type_name, StatusRule::Checked),
            CreationKind::Liveblog { type_name, .. } => {
                let wanted = type_name.as_deref().filter(|name| !name.is_empty());
                let rule = if wanted.is_some() { StatusRule::Checked } else { StatusRule::Inferred };
                match (types.get(wanted.unwrap_or(LIVEBLOG_TYPE)), wanted) {
                    (Some(found), _) if found.family == FamilyKind::Liveblog => known(&found.name, rule),
                    (Some(found), Some(_)) => {
                        let message = format!("A {} is not a liveblog.", found.name);
                        return Err(Error::new(Code::InvalidType, message).with_source(&found.name));
                    }
                    (None, Some(wanted)) => return Err(types.unknown(wanted)),
                    (_, None) => CreationType { workflow: None, ..known(LIVEBLOG_TYPE, rule) },
                }
            }
            CreationKind::Imported { type_name, family, .. } => {
                let family = match (types.get(type_name), family.as_deref()) {
                    (Some(known), _) => known.family.name(),
                    // The import may be what brings the configuration.
                    (None, Some(family)) if !family.is_empty() => family,
                    (None, _) => return Err(types.unknown(type_name)),
                };
                let mut taken =
                    FamilyKind::ALL.into_iter().filter(|known| known.is_plain() || *known == FamilyKind::Folder);
                let family = taken.find(|known| known.name() == family).ok_or_else(|| {
                    let message = format!("A {type_name} can't be imported: it is a {family}.");
                    Error::new(Code::InvalidType, message).with_source(type_name)
                })?;
                // A known type is stored as the configuration names it.
                let name = types.get(type_name).map_or(type_name.as_str(), |known| &known.name);
                CreationType { family, ..known(name, StatusRule::Any) }
            }
        })
    }

    /// Sets the status of a new object, and the one that it gets without.
    fn set_status(
        &self,
        object: &mut NewObject,
        wanted: Option<String>,
        of: DatabaseId,
        known: &CreationType,
    ) -> Result<()> {
        let (newsroom, workflow) = (self.newsroom(), known.workflow.as_deref());
        match known.rule {
            StatusRule::Checked | StatusRule::OnlyGiven => {
                let (status, first) = status_of(newsroom, of, wanted.as_deref(), workflow)?;
                object.status = status;
                object.initial_status = first.filter(|_| known.rule == StatusRule::Checked);
            }
            StatusRule::Inferred => give_inferred(newsroom, of, object, wanted.as_deref(), workflow),
            StatusRule::Any => {
                let (_, first) = status_of(newsroom, of, None, workflow)?;
                object.status = wanted.filter(|status| !status.is_empty()).map(SharedText::from);
                // Other creations of folders set none either.
                object.initial_status = first.filter(|_| known.family != FamilyKind::Folder);
            }
        }
        Ok(())
    }

    /// Sets the system attributes of a new object in the database `of`, applies its template, and
    /// fills in the defaults that are asked for.
    async fn set_system(
        &self,
        object: &mut NewObject,
        kind: &CreationKind,
        (of, wanted): (DatabaseId, RequestedDefaults),
        said: &ProductInfo<'_>,
        given: Option<AttributeInput>,
        template: Option<Template>,
    ) -> Result<CreationDefaults> {
        let newsroom = &**self.newsroom();
        let system = rooted_text(newsroom, "systemAttributes", given, "props").await?;
        let of_template = template.as_ref().and_then(|template| template.attributes.system_attributes.clone());
        let defaults = CreationDefaults::find(self, of, wanted, said, (system.as_ref(), of_template.as_ref())).await?;
        let is_described = system.is_some();
        let system = match system {
            Some(text) => Some(defaults.put_into(newsroom, object, text).await?),
            None => None,
        };
        let shown = describe(newsroom, of, object, system, said).await?;
        let is_moderated = template.as_ref().and_then(|template| template.moderated);
        let begins = match template {
            Some(template) => begin(newsroom, object, template).await?,
            None => SystemValues::default(),
        };
        if !is_described {
            defaults.begin(newsroom, object).await?;
        }
        if let CreationKind::Liveblog { moderated, .. } = kind {
            object.parts = NewParts::of::<Liveblog>(NewLiveblog {
                moderated: moderated.map_or_else(|| shown.moderated(), |said| Ok(Some(said)))?,
                begins_moderated: is_moderated.or(begins.moderated().unwrap_or_default()).unwrap_or(false),
            });
        }
        Ok(defaults)
    }
}

impl CreationPlace {
    /// Returns the database of a new object at this place: that of its folder, or the given one.
    fn database(&self, newsroom: &crate::Newsroom, database: DatabaseId) -> Result<DatabaseId> {
        match self {
            CreationPlace::Folder(folder) | CreationPlace::SiteFolder(folder) => {
                destination::database_of_folder(newsroom, folder.as_ref(), database)
            }
            CreationPlace::Found(destination) => Ok(destination.folder.database),
        }
    }

    /// Finds the place for `object`. `said` is its product, as far as it is known.
    fn find(
        self,
        caller: &Caller,
        database: DatabaseId,
        object: &NewObject,
        said: &ProductInfo<'_>,
    ) -> Result<Destination> {
        match self {
            CreationPlace::Folder(folder) => destination::find_destination(caller, folder, database),
            CreationPlace::SiteFolder(folder) => {
                destination::find_object_destination(caller, folder, database, object, said)
            }
            CreationPlace::Found(destination) => Ok(destination),
        }
    }
}

/// Builds a new object of a type with nothing but a name.
fn new_object(kind: &mut CreationKind, name: &str, known: &CreationType) -> Result<NewObject> {
    let family = match kind {
        CreationKind::OfType(_) | CreationKind::Imported { .. } => known.family,
        CreationKind::File => FamilyKind::Document,
        CreationKind::Folder => FamilyKind::Folder,
        CreationKind::Liveblog { .. } => {
            return Ok(NewObject::of::<Liveblog>(name, &known.name, NewLiveblog::default()));
        }
        CreationKind::Container { parts, .. } => {
            return Ok(NewObject { parts: parts.clone(), ..NewObject::document(name, &known.name) });
        }
    };
    let mut object = match family {
        FamilyKind::Document => NewObject::document(name, &known.name),
        FamilyKind::Bundle => NewObject::of::<Bundle>(name, &known.name, ()),
        FamilyKind::WebContainer => NewObject::of::<WebContainer>(name, &known.name, ()),
        FamilyKind::Folder if !matches!(kind, CreationKind::OfType(_)) => {
            NewObject { type_name: known.name.clone(), ..NewObject::folder(name) }
        }
        _ => {
            let message = format!("This call can't create a {}. Use the call for that type.", known.name);
            return Err(Error::new(Code::InvalidType, message).with_source(&known.name));
        }
    };
    if let CreationKind::Imported { imported, .. } = kind {
        object.imported = Some((**imported).clone());
    }
    Ok(object)
}
