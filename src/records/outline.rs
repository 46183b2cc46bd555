//! What is told of a folder to a caller who sees it only because it is on the way to something that
//! they may read.

use stet_actors::object::Record;

/// The record of such a folder: what it is and where it lies, and nothing of what is done with it
/// or in it. Whatever a record may have beside is not told until it is named here.
pub fn outline(record: &Record) -> Record {
    Record {
        loid: record.loid,
        uuid: record.uuid,
        name: record.name.clone(),
        type_name: record.type_name.clone(),
        family: record.family,
        folder: record.folder,
        created: record.created,
        creator: record.creator.clone(),
        // As it was when it was made.
        modified: record.created,
        last_modifier: record.creator.clone(),
        // Of no state.
        revision: 0,
        version: 0,
        work_folder: None,
        issue_date: None,
        suid: None,
        status: None,
        content: None,
        lock: None,
        bin: None,
        copy: None,
        container_bytes: 0,
    }
}
