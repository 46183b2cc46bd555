//! An export into a directory with an earlier one goes on with that.

use super::*;

/// Each export that was killed left its parts behind, until they filled the disk.
#[test]
fn what_a_killed_export_was_writing_goes_with_the_next() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    put(&source, "City/a.xml", "<a/>");
    done(through(server, &["import", path(&source), "--into", &folder]));
    put(&out, ".stet-abcdef.part", "<a");
    put(&out, "City/.stet-ghijkl.part", "<a");
    put(&out, "City/.stet-note", "of somebody");
    done(through(server, &["export", path(&out), "--folder", &folder]));
    let found = tree(&out);
    let names: Vec<_> = found.keys().map(|name| path(name)).collect();
    assert_eq!(names, ["City/.stet-note", "City/a.xml", "City/a.xml.record.json", "City.record.json"]);
}
