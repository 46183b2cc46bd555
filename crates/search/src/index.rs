//! The slot of the open index, which a rebuild replaces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use metrics::counter;
use stet_fulltext::{IndexSettings, OpenOutcome, SearchError, TextIndex};

/// The name of the index's folder in the data directory.
const FOLDER: &str = "search";

/// Memory in bytes in which the index collects documents before it writes them to a file.
const WRITER_BYTES: usize = 16 << 20;

/// The slot of the index.
pub struct IndexSlot {
    folder: PathBuf,
    settings: IndexSettings,
    current: ArcSwapOption<TextIndex>,
}

impl IndexSlot {
    /// Creates the slot for the index in a data directory, without an index.
    pub fn of(data: &Path, languages: Vec<String>) -> IndexSlot {
        let settings = IndexSettings { languages, writer_bytes: WRITER_BYTES };
        IndexSlot { folder: data.join(FOLDER), settings, current: ArcSwapOption::empty() }
    }

    /// Returns the languages of the texts.
    pub fn languages(&self) -> &[String] {
        &self.settings.languages
    }

    /// Returns the index, if it is open.
    pub fn get(&self) -> Option<Arc<TextIndex>> {
        self.current.load_full()
    }

    /// Opens the index again. One that can't be used is replaced by an empty one.
    ///
    /// # Errors
    /// The folder can't be read or written.
    pub fn open(&self) -> Result<Arc<TextIndex>, SearchError> {
        // Before the folder is locked again.
        self.close();
        let (index, outcome) = TextIndex::open(&self.folder, &self.settings)?;
        if let OpenOutcome::Replaced(why) = outcome {
            counter!("stet_search_rebuilds_total").increment(1);
            tracing::warn!(why, "the index of the search can't be used, and is made anew");
        }
        let index = Arc::new(index);
        self.current.store(Some(index.clone()));
        Ok(index)
    }

    /// Removes all files of the index, and opens an empty one.
    ///
    /// # Errors
    /// The folder can't be read or written.
    pub fn open_empty(&self) -> Result<Arc<TextIndex>, SearchError> {
        self.close();
        counter!("stet_search_rebuilds_total").increment(1);
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => self.open(),
        }
    }

    /// Closes the index. Searches that are under way end with it.
    pub fn close(&self) {
        self.current.store(None);
    }
}
