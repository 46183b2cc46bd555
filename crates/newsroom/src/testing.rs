//! A newsroom for unit tests: objects are in memory, and contents of more than eight bytes are
//! files.

use std::sync::Arc;

use stet_actors::repository::Repository;
use stet_actors::runtime::ChangeRequest;
use stet_base::limits::{MemoryBudget, Reservation};
use stet_config::Config;
use stet_content::{ContentStore, UploadBounds};
use stet_domain::clock::SystemClock;
use stet_domain::command::CallerIdentity;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::object::NewContent;
use stet_domain::store::memory::MemoryStore;
use stet_domain::store::observe::ObservedStore;
use stet_sysconfig::SysConfig;
use tempfile::TempDir;

use crate::events::Followers;
use crate::records::RecordCache;
use crate::{Newsroom, NewsroomParts, users_and_sessions};

/// Bytes up to which a content is a row.
pub const SMALL: usize = 8;

/// A newsroom, with the directory of its contents, which is deleted with it.
pub struct NewsroomFixture {
    /// The newsroom.
    pub newsroom: Arc<Newsroom>,
    /// The newsroom's objects, for changes.
    pub repository: Repository,
    data: TempDir,
}

impl NewsroomFixture {
    /// Creates a newsroom whose repository is empty.
    pub async fn new() -> NewsroomFixture {
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
        let (directory, sessions) = users_and_sessions(&config, &repository).expect("the default is valid");
        let sysconfig = SysConfig::start(&repository, &content, &directory, &[DatabaseId::FIRST], 1 << 20);
        let given = repository.clone();
        let parts =
            NewsroomParts { config, repository: given, records, followers, directory, sessions, sysconfig, content };
        NewsroomFixture { newsroom: Arc::new(Newsroom::new(parts)), repository, data }
    }

    /// Stores bytes as a content.
    pub async fn stored(&self, media_type: &str, bytes: &[u8]) -> NewContent {
        let mut upload = self.newsroom.content.upload(&Reservation::unaccounted());
        upload.write(bytes).await.expect("the disk is well");
        upload.finish(media_type).await.expect("the disk is well")
    }

    /// Creates an object in the root folder.
    pub async fn create(&self, object: NewObject) -> Loid {
        let root = self.newsroom.repository.resolve(&ObjectSource::Path("/".to_owned()), DatabaseId::FIRST);
        let create = CreateInFolder { folder: root.expect("there is a root").loid, below: Vec::new(), object };
        self.repository.joint(create, by_editor()).await.expect("it can be made").loid
    }

    /// Deletes all files of contents, as if they had been collected.
    pub fn lose_files(&self) {
        let contents = self.data.path().join("content");
        for folder in std::fs::read_dir(contents).expect("it can be read").flatten() {
            for file in std::fs::read_dir(folder.path()).expect("it can be read").flatten() {
                std::fs::remove_file(file.path()).expect("it can be removed");
            }
        }
    }
}

/// Returns a change request of the user `editor`.
pub fn by_editor() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity { user: "editor".into(), session: "".into(), address: None })
}
