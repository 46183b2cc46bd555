//! `stet config`: files are checked before they are saved, and those that are saved without a
//! server.

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
        assert!(checked.out.ends_with(" files, 0 faults, 0 unknown parts\n"), "{}", checked.out);
        assert!(!checked.out.starts_with("0 files"), "{}", checked.out);
    }
}

#[test]
fn every_fault_is_told_with_its_place() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    let folder = ground.path().join("SysConfig");
    copied(&folder, |text| text.replace("<workflows>", "<workflows>\n<workflow/>"));
    // Other kinds of files are checked nevertheless.
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
        "unknown: /SysConfig/Commands/commands.xml:1:11: ".to_owned(),
    ] {
        assert!(checked.out.contains(&wanted), "{wanted}\n{}", checked.out);
    }
}

#[test]
fn one_of_a_kind_is_counted_in_the_singular() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    let folder = ground.path().join("SysConfig");
    copied(&folder, |text| text);
    std::fs::write(folder.join("Commands/commands.xml"), "<commands><shrubbery/></commands>")
        .expect("a file can be written");
    let checked = run(stet(&["config", "check", path(ground.path())]));
    assert!(checked.out.ends_with(" files, 0 faults, 1 unknown part\n"), "{}", checked.out);
}

#[test]
fn saved_configuration_is_checked_without_a_running_server() {
    let mut server = Server::filling(&[]);
    let admin = server.login("admin");
    let sound = |data: &Path| run(stet(&["config", "check", "--data", path(data)]));
    let busy = sound(server.data());
    assert_eq!(busy.code, Some(6), "a server has it open: {}{}", busy.out, busy.err);
    assert!(busy.err.contains("--dry-run"), "it says what to do instead: {}", busy.err);
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

/// Regression test: some faults were reported only after others had been corrected.
#[test]
fn one_check_reports_the_faults_of_all_kinds() {
    let ground = TempDir::new().expect("a temporary directory can be made");
    let folder = ground.path().join("SysConfig");
    copied(&folder, |text| text);
    let edit = |name: &str, from: &str, to: &str| {
        let file = folder.join(name);
        let text = std::fs::read_to_string(&file).expect("it was copied");
        assert!(text.contains(from), "{name} has no {from}");
        std::fs::write(file, text.replacen(from, to, 1)).expect("a file can be written");
    };
    // One file with faults against the vocabulary, faults that only reading finds, and unknown
    // names.
    let types = "<objectTypes>\n<objectType name='A' family='nothing'/>\n<objectType name='B' family='document'/>\n\
                 <objectType name='B' family='document'/>\n<shrubbery/>\n</objectTypes>";
    std::fs::write(folder.join("ObjectTypes/objecttypes.xml"), types).expect("a file can be written");
    // A fault of the site configuration, and one of a file that it names.
    edit("Site/siteconfig.xml", "<channel ", "<channel/>\n<channel ");
    let site = std::fs::read_to_string(folder.join("Site/siteconfig.xml")).expect("it is there");
    let named = site.split("pageAccessories=\"/SysConfig/").nth(1).and_then(|rest| rest.split('"').next());
    let named = named.expect("a channel has page accessories").to_owned();
    std::fs::write(folder.join(&named), "<nonsense/>").expect("a file can be written");
    let checked = run(stet(&["config", "check", path(ground.path())]));
    assert_eq!(checked.code, Some(4), "{}{}", checked.out, checked.err);
    for wanted in [
        "fault: /SysConfig/ObjectTypes/objecttypes.xml:2:1: `family` of `objectType` must be",
        "fault: /SysConfig/ObjectTypes/objecttypes.xml:4:1: the object type `B` is defined twice",
        "unknown: /SysConfig/ObjectTypes/objecttypes.xml:5:1: ",
        "fault: /SysConfig/Site/siteconfig.xml:",
        &format!("fault: /SysConfig/{named}:1:1: the root element is `nonsense`"),
    ] {
        assert!(checked.out.contains(wanted), "{wanted}\n{}", checked.out);
    }
    let of_types = checked.out.lines().filter(|line| line.contains("objecttypes.xml")).count();
    assert_eq!(of_types, 3, "nothing is said of what follows from another fault:\n{}", checked.out);
}

/// Runs `config apply` as the administrator of a running server.
fn apply(server: &Server, directory: &Path, more: &[&str]) -> Run {
    let base = server.client().base;
    let mut command = stet(&[&["config", "apply", path(directory), "--url", &base], more].concat());
    command.env("STET_PASSWORD", ADMIN_PASSWORD);
    run(command)
}

#[test]
fn files_that_differ_are_written_and_come_into_force_together() {
    let server = Server::filling(&[]);
    let admin = server.user("admin");
    let ground = TempDir::new().expect("a temporary directory can be made");
    let folder = ground.path().join("SysConfig");
    copied(&folder, |text| text);
    let same = apply(&server, ground.path(), &[]);
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
    assert!(
        same.out.starts_with("0 files written, ") && same.out.ends_with("; the caches are refreshed\n"),
        "{}",
        same.out
    );

    // One alone of the files: the others count as the server has them.
    let part = TempDir::new().expect("a temporary directory can be made");
    let types = std::fs::read_to_string(folder.join("ObjectTypes/objecttypes.xml")).expect("it was copied");
    let flows = std::fs::read_to_string(folder.join(WORKFLOWS)).expect("it was copied");
    let put = |name: &str, text: &str| {
        let file = part.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("it can be made");
        std::fs::write(file, text).expect("it can be written");
    };
    let with_type = types.replace("</objectTypes>", "<objectType name=\"Podcast\" family=\"document\"/></objectTypes>");
    put("ObjectTypes/objecttypes.xml", &with_type);
    put("Templates/podcast.xml", "<podcast/>");
    put(WORKFLOWS, &flows);
    let path_of = |name: &str| format!("/SysConfig/{name}");
    let version = |name: &str| {
        let answer = admin.call("object-get", &[&path_of(name)]).send();
        if answer.status == 404 { json!(null) } else { answer.ok()["version"].clone() }
    };
    let before = version("ObjectTypes/objecttypes.xml").as_u64().expect("it is there");
    let knows = || admin.get("/v3/conf/cache/objecttypes/1").ok()["items"].to_string().contains("Podcast");
    let dry = apply(&server, part.path(), &["--dry-run"]);
    assert_eq!(
        (dry.code, dry.out.as_str()),
        (
            Some(0),
            "would be changed: /SysConfig/ObjectTypes/objecttypes.xml\nwould be new: /SysConfig/Templates/podcast.xml\n\
             2 files would be written, 1 file unchanged\n"
        ),
        "{}",
        dry.err
    );
    assert_eq!(
        (version("ObjectTypes/objecttypes.xml"), version("Templates/podcast.xml")),
        (json!(before), json!(null))
    );
    let done = apply(&server, part.path(), &[]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (
            Some(0),
            "changed: /SysConfig/ObjectTypes/objecttypes.xml\nnew: /SysConfig/Templates/podcast.xml\n\
             2 files written, 1 file unchanged; the caches are refreshed\n"
        ),
        "{}",
        done.err
    );
    assert!(knows(), "it is in force");
    assert_eq!(version("ObjectTypes/objecttypes.xml"), json!(before + 1), "a new version");
    assert_eq!(version(WORKFLOWS), json!(1), "what is the same stays");
    let new = admin.call("object-get", &[&path_of("Templates/podcast.xml")]).ok();
    assert_eq!(new["type"], "Config", "as the files beside it");

    // With a fault no file is written, not even a sound one.
    put("ObjectTypes/objecttypes.xml", &types);
    put(WORKFLOWS, "<workflows><workflow/></workflows>");
    let refused = apply(&server, part.path(), &[]);
    assert_eq!(refused.code, Some(4), "{}{}", refused.out, refused.err);
    assert!(refused.out.contains("fault: /SysConfig/Workflows/workflows.xml:1:12: "), "{}", refused.out);
    assert!(refused.err.contains(" faults; nothing was written"), "{}", refused.err);
    assert!(knows() && version("ObjectTypes/objecttypes.xml") == json!(before + 1));
    // A user who may write but not configure is refused before anything is written.
    put(WORKFLOWS, &flows);
    put("ObjectTypes/objecttypes.xml", &format!("{types}<!-- again -->"));
    let mut command = stet(&["config", "apply", path(part.path()), "--url", &server.client().base, "--user", "editor"]);
    command.env("STET_PASSWORD", SAMPLE_PASSWORD);
    let refused = run(command);
    assert_eq!(refused.code, Some(1), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("nothing was written: the caches can't be refreshed: "), "{}", refused.err);
    assert!(version("ObjectTypes/objecttypes.xml") == json!(before + 1));
    // A user who may not configure changes nothing.
    let mut command =
        stet(&["config", "apply", path(ground.path()), "--url", &server.client().base, "--user", "reporter"]);
    command.env("STET_PASSWORD", ADMIN_PASSWORD);
    let refused = run(command);
    assert_eq!(refused.code, Some(1), "{}{}", refused.out, refused.err);
    assert_eq!(run(stet(&["config", "apply", "/nowhere"])).code, Some(2));
}

#[test]
fn a_data_directory_without_a_server_takes_configuration_too() {
    let data = used_directory();
    let ground = TempDir::new().expect("a temporary directory can be made");
    copied(&ground.path().join("SysConfig"), |text| text.replace("<workflows>", "<workflows>\n<!-- ours -->"));
    let on = |more: &[&str]| {
        run(stet(&[&["config", "apply", path(ground.path()), "--data", path(data.path())], more].concat()))
    };
    let done = on(&[]);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert!(done.out.contains("changed: /SysConfig/Workflows/workflows.xml\n1 file written, "), "{}", done.out);
    let again = on(&["--dry-run"]);
    assert!(again.out.starts_with("0 files would be written, "), "{}{}", again.out, again.err);
}
