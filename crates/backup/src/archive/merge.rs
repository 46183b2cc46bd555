//! The merging of archive files.

use super::{ArchiveFile, ArchiveHeader, ArchiveWriter};
use crate::{BackupError, BackupName, BackupResult};

impl ArchiveFile {
    /// Makes one file of consecutive files of a timeline, in their order, with the same records.
    /// All are verified, and so is the chain between them. The merged file has the predecessor of
    /// the first, and ends as the last one does, so that the file after it still follows.
    ///
    /// The merged file must be in the target before the others are deleted. Until they are, spans
    /// overlap. All records are in memory meanwhile, in addition to those of one file.
    ///
    /// # Errors
    /// `Damaged`: one of the files, or the chain between them. `Refused`: there is no file, a newer
    /// format, or the records take more than [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES).
    pub fn merge<B: AsRef<[u8]>>(files: &[(BackupName, B)]) -> BackupResult<ArchiveFile> {
        let mut merged: Option<(ArchiveWriter, ArchiveHeader)> = None;
        for (name, bytes) in files {
            let (header, records) = ArchiveFile::read(name, bytes.as_ref())?;
            let mut writer = match merged {
                None => ArchiveWriter::new(header.predecessor, 0),
                Some((writer, before)) if before.is_followed_by(&header) => writer,
                Some(_) => return Err(BackupError::damaged(name, "it does not follow the file before it")),
            };
            records.iter().try_for_each(|record| writer.push(record))?;
            merged = Some((writer, header));
        }
        match merged {
            Some((writer, last)) => writer.encode(Some(last.ends_as)),
            None => Err(BackupError::Refused("There is no archive file to merge.".to_owned())),
        }
    }
}
