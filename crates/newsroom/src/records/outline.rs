//! The record of a folder for callers who see it only because it is on the way to something that
//! they may read.

use stet_domain::object::Record;

/// Returns the record with the folder's identity and location only, without its activity or
/// contents. Every field is listed, so a new one stays hidden until it is added here.
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
        // The state at the creation, which reveals no later change.
        modified: record.created,
        last_modifier: record.creator.clone(),
        // No revision.
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
