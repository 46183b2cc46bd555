//! A data directory that the binary has filled with the sample newsroom, kept to be written again.
//! That takes a fifth of the time of filling.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Server;

/// The configuration's sections, and single keys, that do not change how a new data directory is
/// filled.
const ALIKE: &[&str] =
    &["SERVER__", "LIMITS__", "EVENTS__", "WEBHOOKS__", "RUNTIME__", "AUTH__FAILURE", "AUTH__CAS__", "PLANTED_BUG"];

/// The files of a data directory whose server has been shut down.
pub struct Filled {
    /// The contents by path in the directory.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The folders; parents precede the folders in them.
    folders: Vec<PathBuf>,
}

impl Filled {
    /// Returns the files of a data directory that a server without settings has filled. The first
    /// caller waits for that server.
    pub fn sample() -> &'static Filled {
        static FILLED: OnceLock<Filled> = OnceLock::new();
        FILLED.get_or_init(|| {
            let mut server = Server::filling(&[]);
            assert_eq!(server.terminate(), Some(0), "{}", server.log());
            Filled::of(server.data())
        })
    }

    /// Reports whether a server with these settings would fill its data directory in the same way.
    pub fn is_alike(settings: &[(&str, &str)]) -> bool {
        settings.iter().all(|(key, _)| ALIKE.iter().any(|alike| key.starts_with(alike)))
    }

    /// Reads the files of a directory.
    pub fn of(directory: &Path) -> Filled {
        let mut filled = Filled { files: Vec::new(), folders: Vec::new() };
        filled.add(directory, Path::new(""));
        filled
    }

    fn add(&mut self, directory: &Path, folder: &Path) {
        for entry in std::fs::read_dir(directory.join(folder)).expect("a folder can be listed") {
            let entry = entry.expect("an entry can be read");
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().expect("a file is of a type");
            if kind.is_dir() {
                self.folders.push(path.clone());
                self.add(directory, &path);
            } else if kind.is_file() {
                let bytes = std::fs::read(directory.join(&path)).expect("a file can be read");
                self.files.push((path, bytes));
            }
        }
    }

    /// Writes all files into an existing directory.
    pub fn lay_out(&self, directory: &Path) {
        for folder in &self.folders {
            std::fs::create_dir_all(directory.join(folder)).expect("a folder can be made");
        }
        for (path, bytes) in &self.files {
            std::fs::write(directory.join(path), bytes).expect("a file can be written");
        }
    }

    /// Returns the bytes of a file, by its path in the directory.
    pub fn file(&self, path: &str) -> &[u8] {
        let found = self.files.iter().find(|(name, _)| name == Path::new(path));
        &found.unwrap_or_else(|| panic!("a data directory has a `{path}`")).1
    }

    /// Writes the files below one of the folders into a directory.
    pub fn lay_out_folder(&self, folder: &str, directory: &Path) {
        let is_below = |path: &Path| path.starts_with(folder);
        let below = Filled {
            files: self.files.iter().filter(|(path, _)| is_below(path)).cloned().collect(),
            folders: self.folders.iter().filter(|path| is_below(path)).cloned().collect(),
        };
        below.lay_out(directory);
    }
}
