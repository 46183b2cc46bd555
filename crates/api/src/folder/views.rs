//! Folders in the columns of a view (docs/api/folders.md, "Views"). Parameters may be in the query
//! or in the body, and the view may be a named or the default one. All these forms are served
//! alike.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stet_base::json::{JoinedMembers, ReadyJson, ReplyList};
use stet_base::limits::offload;
use stet_base::nearest::{suggestion, with_nearest};
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::SharedText;
use stet_endpoint::records::{path_if_shown, record_with_path};
use stet_endpoint::requests::{DatabaseRef, database_named};
use stet_newsroom::records::{CachedRecord, Display, FilterValues, ListingPage, ObjectRecord, Sort, pick};
use stet_sysconfig::{ColumnView, ListKind, WidthUnit};
use stet_web::call::Call;
use stet_web::etag::{ETag, hash_of_json};
use stet_web::listing::Listing;
use stet_web::reply::Json;
use stet_web::route::Verb;

use super::listing::{FolderEntries, FolderListingKind, ListingSelection, entries, filter_of};
use super::{folder_in_path, home_of_caller, root, work_of_caller};

/// A folder or bundle in a view.
#[derive(Serialize, JsonSchema)]
pub struct FolderView {
    /// The folder or bundle.
    pub info: ReadyJson<ObjectRecord>,
    /// View in which the objects are shown.
    pub view: ViewInfo,
    /// The page asked for.
    pub items: ReplyList<ReadyJson<ViewedRecord>>,
    /// Total number of objects.
    pub total: usize,
}

/// An object with the values of a view.
pub type ViewedRecord = JoinedMembers<ObjectRecord, ColumnValues>;

/// The values of an object.
#[derive(Serialize, JsonSchema)]
pub struct ColumnValues {
    /// Values by the ids of the columns: text, number or boolean; a list where elements are
    /// repeated; null if there is none.
    columns: Map<String, Value>,
}

/// A view.
#[derive(Serialize, JsonSchema)]
pub struct ViewInfo {
    /// Name by which calls select the view.
    name: SharedText,
    /// Title for users.
    title: SharedText,
    /// Columns from left to right.
    columns: Vec<ColumnInfo>,
}

/// A column of a view.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ColumnInfo {
    /// Id of the column, and the key of its values.
    id: SharedText,
    /// Heading for users.
    title: SharedText,
    /// Width in `widthUnit`.
    width: f64,
    /// Unit of `width`.
    #[schemars(extend("enum" = ["PIXEL", "POINT", "MILLIMETER", "INCH"]))]
    width_unit: &'static str,
    /// Path from which the values are taken.
    path: SharedText,
}

impl ViewInfo {
    fn of(view: &ColumnView, unit: WidthUnit) -> ViewInfo {
        let columns = view.columns.iter().map(|column| ColumnInfo {
            id: column.id.clone(),
            title: column.title.clone(),
            width: column.width(unit),
            width_unit: unit.name(),
            path: column.path.clone(),
        });
        ViewInfo { name: view.name.clone(), title: view.title.clone(), columns: columns.collect() }
    }
}

/// Body of a view call. All fields are optional. Display options may be given beside them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ViewBody {
    /// Sort order, as in the query.
    sort_by: Option<String>,
    /// Path of the view, as in the query.
    view_path: Option<String>,
    /// Unit of widths, as in the query.
    width_unit: Option<String>,
    /// Database of the views, as in the query.
    view_database_id: Option<DatabaseRef>,
    /// Database of the root, home or work folder, as in the query.
    database_id: Option<DatabaseRef>,
    /// Largest number of entries.
    limit: Option<usize>,
    /// Number of entries to skip.
    offset: Option<usize>,
    /// Names of object types: only objects of these types.
    r#type: Option<OneOrMany>,
    /// Names of workflow statuses: only objects with one of them.
    status: Option<OneOrMany>,
    /// Families of object types: only objects of these families.
    family: Option<OneOrMany>,
    /// Patterns with `*` and `?`: only objects whose name matches one of them.
    name: Option<OneOrMany>,
    /// Names of users: only objects that one of them created.
    creator: Option<OneOrMany>,
    /// Epoch seconds: only objects that were last changed later.
    modified_after: Option<i64>,
    /// Epoch seconds: only objects that were last changed earlier.
    modified_before: Option<i64>,
}

/// The values of a filter in a body.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub enum OneOrMany {
    /// Several, separated by commas, as in the query.
    Text(String),
    /// Several, each as it is.
    List(Vec<String>),
}

impl OneOrMany {
    fn into_values(self) -> Vec<String> {
        match self {
            OneOrMany::Text(text) => text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            OneOrMany::List(values) => values,
        }
    }
}

impl ViewBody {
    /// Returns the page and the filters. Values that are missing in the body are taken from the
    /// query.
    fn selected(self, call: &Call) -> (ListingPage, FilterValues) {
        let (page, values) = (call.query.page(), call.query.filters());
        let page = ListingPage { offset: self.offset.unwrap_or(page.offset), limit: self.limit.unwrap_or(page.limit) };
        let list = |in_body: Option<OneOrMany>, in_query| in_body.map_or(in_query, OneOrMany::into_values);
        let values = FilterValues {
            types: list(self.r#type, values.types),
            statuses: list(self.status, values.statuses),
            families: list(self.family, values.families),
            names: list(self.name, values.names),
            creators: list(self.creator, values.creators),
            modified_after: self.modified_after.or(values.modified_after),
            modified_before: self.modified_before.or(values.modified_before),
        };
        (page, values)
    }
}

/// The parameters of a view call.
pub(crate) struct FolderViewRequest {
    sort: Sort,
    page: ListingPage,
    filters: FilterValues,
    display: Display,
    view: Arc<ColumnView>,
    unit: WidthUnit,
    database: DatabaseId,
}

impl FolderViewRequest {
    /// # Errors
    /// `InvalidParameter`, `InvalidBody`; `DatabaseNotFound`; `ObjectNotFound` for a view that does
    /// not exist.
    pub(crate) async fn of(call: &Call, lists: ListKind) -> Result<FolderViewRequest> {
        let name = call.param("view");
        if call.route.method == Verb::Get {
            let text = |name: &str| call.query.text(name);
            // Only a call that names its folder may choose the database of the catalogs.
            let catalogs = match call.query.lists("viewDatabaseId") {
                true => call.app.database(text("viewDatabaseId"))?,
                false => DatabaseId::main(),
            };
            let (sort, path, unit) = (text("sortBy"), text("viewPath"), text("widthUnit"));
            return Ok(FolderViewRequest {
                database: call.database()?,
                display: call.display(),
                ..FolderViewRequest::by(call, (name, lists), sort, path, unit, catalogs)?
            });
        }
        let body: ViewBody = call.json().await?;
        let catalogs = database_named(call, body.view_database_id.as_ref())?;
        let (path, unit) = (body.view_path.as_deref(), body.width_unit.as_deref());
        // As in the form with a query: the information is left out by default only in the default
        // view of a folder that the call names.
        let additional_info = !(name.is_empty() && call.route.path_params.iter().any(|param| param.name == "source"));
        let sort = body.sort_by.as_deref().or(call.query.text("sortBy"));
        let asked = FolderViewRequest {
            database: database_named(call, body.database_id.as_ref())?,
            display: call.display_over(Display::with_defaults(additional_info)).await?,
            ..FolderViewRequest::by(call, (name, lists), sort, path, unit, catalogs)?
        };
        let (page, filters) = body.selected(call);
        Ok(FolderViewRequest { page, filters, ..asked })
    }

    fn by(
        call: &Call,
        (name, lists): (&str, ListKind),
        sort: Option<&str>,
        path: Option<&str>,
        unit: Option<&str>,
        catalogs: DatabaseId,
    ) -> Result<FolderViewRequest> {
        let unit = unit.unwrap_or("PIXEL");
        let named = WidthUnit::named(unit).ok_or_else(|| {
            let names: Vec<_> = WidthUnit::NAMES.iter().map(|(name, _)| *name).collect();
            let error = Error::parameter("widthUnit", unit, &format!("one of {}", names.join(", ")));
            with_nearest(error, unit, names)
        })?;
        let path = path.unwrap_or("/");
        if !path.starts_with('/') {
            return Err(Error::parameter("viewPath", path, "a path that begins with `/`"));
        }
        let user = call.app.directory.user(call.user()?)?;
        let groups: Vec<SharedText> =
            user.iter().flat_map(|user| &user.groups).map(|group| SharedText::from(&**group)).collect();
        let wanted = (!name.is_empty()).then_some(name);
        let catalogs = call.app.sysconfig.catalogs(catalogs);
        let view = catalogs.view(wanted, lists, path, &groups).ok_or_else(|| {
            let which = wanted.map_or("default view".to_owned(), |name| format!("view `{name}`"));
            let known = catalogs.views(lists, path, &groups);
            let help = suggestion(name, known.iter().map(|view| &*view.name));
            Error::new(Code::ObjectNotFound, format!("There is no {which} for this kind of list at `{path}`.{help}"))
                .with_source(name)
        })?;
        Ok(FolderViewRequest {
            sort: Sort::parse(sort)?,
            page: call.query.page(),
            filters: call.query.filters(),
            display: Display::with_defaults(false),
            view,
            unit: named,
            database: DatabaseId::main(),
        })
    }
}

/// `GET` and `POST /v3/folder/{source}/view` and `/v3/folder/{source}/view/{view}`
pub async fn of_folder(call: Call) -> Result<Json<FolderView>> {
    let folder = folder_in_path(&call)?;
    let asked = FolderViewRequest::of(&call, ListKind::Folder).await?;
    list_in_view(call, &folder, asked).await
}

/// `GET` and `POST /v3/folder/root/view` and `/v3/folder/root/view/{view}`
pub async fn of_root(call: Call) -> Result<Json<FolderView>> {
    let asked = FolderViewRequest::of(&call, ListKind::Folder).await?;
    let folder = root(&call, asked.database)?;
    list_in_view(call, &folder, asked).await
}

/// `GET` and `POST /v3/folder/home/view` and `/v3/folder/home/view/{view}`
pub async fn of_home(call: Call) -> Result<Json<FolderView>> {
    let asked = FolderViewRequest::of(&call, ListKind::Folder).await?;
    let folder = home_of_caller(&call, asked.database)?;
    list_in_view(call, &folder, asked).await
}

/// `GET` and `POST /v3/folder/work/view` and `/v3/folder/work/view/{view}`
pub async fn of_work(call: Call) -> Result<Json<FolderView>> {
    let asked = FolderViewRequest::of(&call, ListKind::Folder).await?;
    let folder = work_of_caller(&call, asked.database)?;
    list_in_view(call, &folder, asked).await
}

/// Lists the objects in a folder or bundle in a view.
///
/// # Errors
/// Those of a listing.
pub(crate) async fn list_in_view(
    call: Call,
    folder: &CachedRecord,
    asked: FolderViewRequest,
) -> Result<Json<FolderView>> {
    let FolderViewRequest { sort, page, filters, display, view, unit, database: _ } = asked;
    let selection = ListingSelection { filter: filter_of(&call, filters, folder.loid.database)?, sort, page };
    let (found, total) = entries(&call, folder, FolderListingKind::All, selection).await?;
    let path = path_if_shown(&call.app, folder, &display)?;
    let info = record_with_path(&call.app, folder, &display, path.as_deref()).await?;
    let of_folder = hash_of_json(&info).await?;
    let shows = ViewInfo::of(&view, unit);
    let of_view = serde_json::to_string(&shows).map_err(|_| Error::internal())?;
    let wide = display_of_values(&view, &display);
    let entries = FolderEntries::new(found, path, display);
    let shown = entries.clone();
    let render = async move |call: &Call, loid: &Loid, _| viewed_record(call, *loid, &shown, (&view, &wide)).await;
    let loids = Rc::clone(&entries.loids);
    let listing =
        Listing::each(&call, loids, render, |items, _| FolderView { info, view: shows, items, total }).await?;
    let of = RevisionTag::of(folder);
    let tag = match listing.whole() {
        Some(whole) => whole.tag(of),
        None => {
            let of_entries = entries.facts(&call).await?;
            let mut hasher = DefaultHasher::new();
            of_view.hash(&mut hasher);
            ETag::new(of, (of_folder, hasher.finish(), of_entries, total))
        }
    };
    Ok(listing.answer(call).with_etag(tag))
}

/// Returns the display options for the records from which values are taken: only groups that a
/// column's path leads into.
fn display_of_values(view: &ColumnView, display: &Display) -> Display {
    let leads_into = |group: &str| view.columns.iter().any(|column| *column.steps[0] == *group);
    Display {
        additional_info: false,
        path: leads_into("path"),
        system_attributes: leads_into("systemAttributes"),
        attributes: leads_into("attributes"),
        usage_tickets: leads_into("usageTickets"),
        virtual_attributes: leads_into("virtualAttributes"),
        xml: false,
        json: true,
        uniqueness_string: false,
        web_type: false,
        ..display.clone()
    }
}

/// Renders an object with the values of a view, which are taken from a record with the display
/// options `wide`. `None` for an object that the caller does not see.
async fn viewed_record(
    call: &Call,
    loid: Loid,
    entries: &FolderEntries,
    (view, wide): (&Arc<ColumnView>, &Display),
) -> Result<Option<ReadyJson<ViewedRecord>>> {
    let Some((entry, path)) = entries.seen(call, loid)? else { return Ok(None) };
    let base = record_with_path(&call.app, &entry, &entries.display, path.as_deref()).await?;
    let path = match path {
        None => path_if_shown(&call.app, &entry, wide)?,
        Some(path) => wide.path.then_some(path),
    };
    let from = record_with_path(&call.app, &entry, wide, path.as_deref()).await?;
    let (view, bytes) = (view.clone(), base.text().len() + view_bytes(view, from.text()));
    let made = move || {
        let values = view.columns.iter().map(|column| (column.id.to_string(), pick(from.text(), &column.steps)));
        JoinedMembers::ready(&base, &ColumnValues { columns: values.collect() })
    };
    offload::offload_if_large(bytes, made).await?.map(Some)
}

/// Returns the number of bytes that are read for the values of a view: the text once for each
/// column.
fn view_bytes(view: &ColumnView, text: &str) -> usize {
    view.columns.len() * text.len()
}
