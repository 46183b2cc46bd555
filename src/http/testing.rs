//! A server for unit tests: nothing listens, objects are in memory, and contents of more than eight
//! bytes are files.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::test::TestRequest;
use bytes::Bytes;
use stet_actors::clock::SystemClock;
use stet_actors::command::CallerIdentity;
use stet_actors::id::{DatabaseId, Loid, ObjectSource};
use stet_actors::lifecycle::{CreateInFolder, NewObject};
use stet_actors::object::NewContent;
use stet_actors::repository::Repository;
use stet_actors::runtime::ChangeRequest;
use stet_actors::store::memory::MemoryStore;
use stet_actors::store::observe::ObservedStore;
use stet_actors::trace::Trace;
use tempfile::TempDir;

use super::app::App;
use super::call::{Call, PathSources};
use super::change::ChangeHandle;
use super::query::{Query, QueryPairs};
use super::route::Route;
use super::router::PathParams;
use super::warnings::Warnings;
use crate::api;
use stet_content::{ContentStore, UploadBounds};
use crate::events::Followers;
use crate::newsroom::{Newsroom, NewsroomParts};
use crate::records::RecordCache;
use crate::server;
use stet_sysconfig::SysConfig;
use crate::telemetry;
use stet_base::limits::MemoryBudget;
use stet_config::Config;

/// Bytes up to which a content is a row.
pub const SMALL: usize = 8;

/// The server, and the directory of its contents, which goes with it.
pub struct House {
    /// What it is made of.
    pub app: Arc<App>,
    /// Its objects, to be changed past the web layer.
    pub repository: Repository,
    data: TempDir,
}

impl House {
    /// An empty repository.
    pub async fn new() -> House {
        let data = TempDir::new().expect("a temporary directory can be made");
        let content = ContentStore::open(data.path(), SMALL, UploadBounds::NONE).expect("a new directory opens");
        let config = Config::default();
        let (records, followers) = (
            Arc::new(RecordCache::new(1 << 20, MemoryBudget::new(config.memory.calls()))),
            Arc::new(Followers::new(config.events.clone())),
        );
        let store = ObservedStore::new(Arc::new(MemoryStore::new()), Arc::new((records.clone(), followers.clone())));
        let started = Repository::start(Arc::new(store), Arc::new(SystemClock), config.runtime_options()).await;
        let repository = started.expect("a repository starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("roots can be made");
        let (directory, sessions) =
            server::users_and_sessions(&config, &repository).unwrap_or_else(|failure| panic!("{}", failure.message));
        let sysconfig = SysConfig::start(&repository, &content, &directory, &[DatabaseId::FIRST], 1 << 20);
        let metrics = telemetry::init_metrics();
        let changes = ChangeHandle::to(repository.clone(), &config);
        let given = repository.clone();
        let parts =
            NewsroomParts { config, repository: given, records, followers, directory, sessions, sysconfig, content };
        let newsroom = Arc::new(Newsroom::new(parts));
        let surface = api::surface(&newsroom.config);
        House { app: Arc::new(App::new(newsroom, changes, surface, metrics)), repository, data }
    }

    /// Takes bytes into the content store.
    pub async fn stored(&self, media_type: &str, bytes: &[u8]) -> NewContent {
        let mut upload = self.app.content.upload(&stet_base::limits::Reservation::unaccounted());
        upload.write(bytes).await.expect("the disk is well");
        upload.finish(media_type).await.expect("the disk is well")
    }

    /// Makes an object in the root folder.
    pub async fn create(&self, object: NewObject) -> Loid {
        let root = self.app.repository.resolve(&ObjectSource::Path("/".to_owned()), DatabaseId::FIRST);
        let create = CreateInFolder { folder: root.expect("there is a root").loid, below: Vec::new(), object };
        self.repository.joint(create, by_editor()).await.expect("it can be made").loid
    }

    /// A call of an endpoint by somebody without a session, with these query parameters and nothing
    /// else.
    pub fn call(&self, route: &'static Route, query: &str) -> Call {
        Call {
            app: self.app.clone(),
            route,
            http: TestRequest::default().to_http_request(),
            query: Query::parse(route, QueryPairs::of(query)).expect("the parameters are those of the endpoint"),
            params: PathParams::default(),
            sources: PathSources::new(),
            session: None,
            rights: Arc::default(),
            body: Bytes::new(),
            incoming: None,
            room: None,
            claim: None,
            expect: None,
            client: IpAddr::from([127, 0, 0, 1]),
            trace: Trace::none(),
            otel: None,
            warnings: Warnings::default(),
        }
    }

    /// The same of the endpoint with that id.
    pub fn call_of(&self, id: &str) -> Call {
        let mut routes = self.app.groups.iter().flat_map(|group| group.routes());
        self.call(routes.find(|route| route.id == id).expect("there is such an endpoint"), "")
    }

    /// All files of contents are gone, as if they had been collected.
    pub fn lose_files(&self) {
        let contents = self.data.path().join("content");
        for folder in std::fs::read_dir(contents).expect("it can be read").flatten() {
            for file in std::fs::read_dir(folder.path()).expect("it can be read").flatten() {
                std::fs::remove_file(file.path()).expect("it can be removed");
            }
        }
    }
}

/// A call of the user `editor`.
pub fn by_editor() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "".into(), address: None })
}
