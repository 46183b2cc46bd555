//! The data directory and the file system that it is on.
//!
//! The figures are read periodically and not when `/metrics` is requested: a disk that does not
//! answer would otherwise withhold all other metrics.

use std::io;
use std::path::PathBuf;

use stet_content::ContentStore;
use stet_store::StoreFile;

/// The metrics of a data directory, and the state of their collection.
pub struct DataFigures {
    directory: PathBuf,
    content: ContentStore,
    /// Files and bytes in each content folder, as of its last reading.
    folders: Vec<(u64, u64)>,
    /// The index of the next folder to read. `is_whole` is set once all have been read.
    next: usize,
    is_whole: bool,
}

impl DataFigures {
    /// Creates figures that have read nothing yet.
    pub fn new(directory: PathBuf, content: ContentStore) -> DataFigures {
        let folders = vec![(0, 0); content.folders()];
        DataFigures { directory, content, folders, next: 0, is_whole: false }
    }

    /// Reports whether every content folder has been read.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Updates the gauges of the file systems and of the store's files.
    ///
    /// # Errors
    /// Errors of `statvfs`. The gauges keep their last values.
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

    /// Reads the next of the 256 content folders. One at a time keeps each call short.
    ///
    /// # Errors
    /// The folder can't be read. Its last figures stay.
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
