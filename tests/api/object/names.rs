//! Names: which are taken as they are, changed or refused, and who gets one that many want.

use super::*;

#[test]
fn characters_illegal_in_file_names_become_underscores() {
    let desk = Desk::of("reporter");
    let made = desk.create_empty("a:b\"c|d.xml", json!({})).ok();
    shows(&made, json!({ "name": "a_b_c_d.xml", "path": format!("{}/a_b_c_d.xml", desk.folder) }));
}

#[test]
fn a_name_that_is_none_is_refused() {
    let desk = Desk::of("reporter");
    for name in ["", " ", "a/b", "a\nb", "a\u{0}b", "a\u{7f}", ".", "..", &"x".repeat(256), &"\u{e9}".repeat(128)] {
        desk.create_empty(name, json!({})).fails(400, "InvalidName");
    }
    assert_eq!(desk.count(), 0);
    let longest = "\u{e9}".repeat(127) + "x";
    desk.create_empty(&longest, json!({})).gives(&json!({ "name": longest }));
}

#[test]
fn names_in_another_normal_form_are_the_same_name() {
    let desk = Desk::of("reporter");
    let made = desk.make("Caf\u{e9}", b"x");
    let failure = desk.create_empty("Cafe\u{301}", json!({})).fails(409, "DuplicatedName");
    assert_eq!(failure["details"]["existing"], made);
    desk.make("cafe\u{301}", b"x");
    shows(&read(&desk, &format!("{}/Cafe\u{301}", desk.folder)), json!({ "id": made, "name": "Caf\u{e9}" }));
}

#[test]
fn without_a_name_the_files_name_counts_and_without_either_there_is_none() {
    let desk = Desk::of("reporter");
    let create = |files: &[File<'_>]| desk.form_of(json!({}), json!({}), files);
    let made = create(&[("content", "photo:1.jpg", "image/jpeg", b"x")]);
    made.gives(&json!({ "name": "photo_1.jpg", "type": "Image" }));
    create(&[]).fails(400, "InvalidName");
    assert_eq!(desk.names(), ["photo_1.jpg"]);
}

#[test]
fn one_of_sixteen_creations_of_the_same_name_succeeds() {
    let desk = Desk::of("reporter");
    let answers =
        at_once(|number| desk.create_empty(["a\u{e9}", "ae\u{301}"][number % 2], json!({ "type": "Story" })).send());
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        lost.fails(409, "DuplicatedName");
    }
    assert_eq!(desk.count(), 1);
}

/// The different values of a member in these records.
fn all<'r>(records: &'r [Value], member: &str) -> HashSet<&'r str> {
    records.iter().map(|record| record[member].as_str().unwrap()).collect()
}

#[test]
fn sixteen_auto_renamed_creations_all_get_names_of_their_own() {
    let desk = Desk::of("reporter");
    let made = at_once(|_| desk.again("a.xml", b"x", "AUTO_RENAME"));
    let names = all(&made, "name");
    assert_eq!((names.len(), all(&made, "id").len()), (16, 16));
    assert!(names.contains("a.xml") && names.contains("a (16).xml"), "{names:?}");
    assert_eq!(desk.count(), 16);
}

#[test]
fn sixteen_new_versions_at_once_are_sixteen_versions() {
    let desk = Desk::of("reporter");
    let made = at_once(|number| desk.again("a.xml", number.to_string().as_bytes(), "NEW_VERSION"));
    assert_eq!(all(&made, "id").len(), 1);
    let loid = id(&made[0]);
    assert_eq!(read(&desk, &loid)["version"], 16);
    let contents: HashSet<Vec<u8>> = (1..=16).map(|version| bytes_of_version(&desk, &loid, version)).collect();
    assert_eq!(contents, (0..16).map(|number: u32| number.to_string().into_bytes()).collect());
}
