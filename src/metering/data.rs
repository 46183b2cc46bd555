//! The data directory and the file system that it is on.
//!
//! Looked at now and then and not when `/metrics` is asked for: a disk that does not answer would
//! keep the one from being told of who asks for the other.

use std::io;
use std::path::PathBuf;

use stet_store::StoreFile;

use crate::content::ContentStore;

/// Looks at a data directory, and shows what it finds.
pub struct DataFigures {
    directory: PathBuf,
    content: ContentStore,
    /// What each folder of contents had in it when it was last looked at: files and bytes.
    folders: Vec<(u64, u64)>,
    /// The folder that is next, and whether all have been looked at.
    next: usize,
    is_whole: bool,
}

impl DataFigures {
    /// Nothing is known yet.
    pub fn new(directory: PathBuf, content: ContentStore) -> DataFigures {
        let folders = vec![(0, 0); content.folders()];
        DataFigures { directory, content, folders, next: 0, is_whole: false }
    }

    /// Whether every folder of contents has been looked at.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Looks at the file systems, and the files of the store.
    ///
    /// # Errors
    /// The system does not say; what was known stays.
    pub fn look(&self) -> io::Result<()> {
        for (of, path) in [("store", &*self.directory), ("contents", self.content.root())] {
            let system = rustix::fs::statvfs(path)?;
            metrics::gauge!("stet_data_disk_bytes", "of" => of).set(system.f_blocks as f64 * system.f_frsize as f64);
            metrics::gauge!("stet_data_disk_free_bytes", "of" => of)
                .set(system.f_bavail as f64 * system.f_frsize as f64);
        }
        for (file, name) in [(StoreFile::Journal, "journal"), (StoreFile::State, "tables")] {
            // In tests the store may lie elsewhere.
            if let Ok(found) = std::fs::metadata(self.directory.join(file.name())) {
                metrics::gauge!("stet_data_bytes", "of" => name).set(found.len() as f64);
            }
        }
        Ok(())
    }

    /// Looks at the next folder of contents; one of 256, so that there is never much to do at once.
    ///
    /// # Errors
    /// It can't be read; what was known stays.
    pub fn look_at_contents(&mut self) -> io::Result<()> {
        let number = self.next;
        self.next = (number + 1) % self.folders.len();
        self.is_whole |= self.next == 0;
        self.folders[number] = self.content.size_of_folder(number)?;
        if self.is_whole {
            let (files, bytes) =
                self.folders.iter().fold((0, 0), |(files, bytes), (more, larger)| (files + more, bytes + larger));
            metrics::gauge!("stet_content_files").set(files as f64);
            metrics::gauge!("stet_data_bytes", "of" => "contents").set(bytes as f64);
        }
        Ok(())
    }
}
