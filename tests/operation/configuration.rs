//! `stet config`: files are checked before they are saved, and those that are saved without a server.

use super::*;

/// The sample's own files.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sample/files/SysConfig");

const WORKFLOWS: &str = "Workflows/workflows.xml";

/// A copy of the sample's files below a folder, one of them changed.
fn copied(to: &Path, edit: impl Fn(String) -> String) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).expect("a folder can be made");
        for entry in std::fs::read_dir(from).expect("the sample can be read") {
            let entry = entry.expect("the sample can be read");
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if from.is_dir() {
                copy(&from, &to);
            } else {
                std::fs::copy(from, to).expect("a file can be copied");
            }
        }
    }
    copy(Path::new(SAMPLE), to);
    let file = to.join(WORKFLOWS);
    let text = std::fs::read_to_string(&file).expect("it was copied");
    std::fs::write(file, edit(text)).expect("a file can be written");
}

#[test]
fn files_are_checked_in_their_folder_or_the_one_that_holds_it() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    copied(&ground.path().join("SysConfig"), |text| text);
    for folder in [ground.path().to_owned(), ground.path().join("SysConfig")] {
        let checked = run(stet(&["config", "check", path(&folder)]));
        assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
        assert!(checked.out.ends_with(" files, 0 faults, 0 parts that are not known\n"), "{}", checked.out);
        assert!(!checked.out.starts_with("0 files"), "{}", checked.out);
    }
}

#[test]
fn every_fault_is_told_with_its_place() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    let folder = ground.path().join("SysConfig");
    copied(&folder, |text| text.replace("<workflows>", "<workflows>\n<workflow/>"));
    // Files of other families are checked all the same.
    std::fs::write(folder.join("ObjectTypes/objecttypes.xml"), "<objectTypes>\n  <type")
        .expect("a file can be written");
    std::fs::write(folder.join("Commands/commands.xml"), "<commands><shrubbery/></commands>")
        .expect("a file can be written");
    let checked = run(stet(&["config", "check", path(ground.path())]));
    assert_eq!(checked.code, Some(4), "{}{}", checked.out, checked.err);
    let text = std::fs::read_to_string(folder.join(WORKFLOWS)).expect("it is there");
    let line = text.lines().position(|line| line.contains("<workflow/>")).expect("it is there") + 1;
    for wanted in [
        format!("fault: /SysConfig/{WORKFLOWS}:{line}:1: "),
        "fault: /SysConfig/ObjectTypes/objecttypes.xml:2:".to_owned(),
        "not known: /SysConfig/Commands/commands.xml:1:11: ".to_owned(),
    ] {
        assert!(checked.out.contains(&wanted), "{wanted}\n{}", checked.out);
    }
}

#[test]
fn what_is_saved_is_checked_without_a_server() {
    let mut server = Server::filling(&[]);
    let admin = server.login("admin");
    let sound = |data: &Path| run(stet(&["config", "check", "--data", path(data)]));
    let busy = sound(server.data());
    assert_eq!(busy.code, Some(6), "a server has it open: {}{}", busy.out, busy.err);
    let file = format!("/SysConfig/{WORKFLOWS}");
    let call = admin.call("stet-object-content-put", &[&file]).bytes("text/xml", "<workflows><workflow/></workflows>");
    call.ok();
    assert_eq!(server.terminate(), Some(0));
    let checked = sound(server.data());
    assert_eq!(checked.code, Some(4), "{}{}", checked.out, checked.err);
    assert!(checked.out.contains(&format!("fault: {file}:1:12: ")), "{}", checked.out);
}

#[test]
fn a_folder_that_is_not_there_is_no_sound_configuration() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    for nowhere in [ground.path().join("nowhere"), ground.path().to_owned()] {
        let checked = run(stet(&["config", "check", path(&nowhere)]));
        assert_ne!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    }
}

#[test]
fn the_schema_is_the_one_among_the_documents() {
    let printed = run(stet(&["config", "schema"]));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema/stet.rng");
    assert_eq!((printed.code, printed.out), (Some(0), std::fs::read_to_string(kept).expect("it is there")));
}
