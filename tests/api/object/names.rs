//! Names: which are taken as they are, changed or refused, and who gets one that many want.

use super::*;

fn create(client: &Client, folder: &str, name: &str) -> Answer {
    client.upload(CREATE, &json!({ "name": name, "folderPath": folder, "type": "Story" }), None)
}

#[test]
fn what_file_systems_dislike_becomes_an_underscore() {
    let client = Server::shared().login("reporter");
    let made = create(&client, &own_folder(), "a:b\"c|d.xml").ok();
    assert_eq!(made["name"], "a_b_c_d.xml");
    assert!(made["path"].as_str().unwrap().ends_with("/a_b_c_d.xml"));
}

#[test]
fn a_name_that_is_none_is_refused() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    for name in ["", " ", "a/b", "a\nb", "a\u{0}b", "a\u{7f}", ".", "..", &"x".repeat(256), &"\u{e9}".repeat(128)] {
        create(&client, &folder, name).fails(400, "InvalidName");
    }
    assert_eq!(count_in(&client, &folder), 0);
    let longest = "\u{e9}".repeat(127) + "x";
    assert_eq!(create(&client, &folder, &longest).ok()["name"], longest);
}

#[test]
fn names_in_another_normal_form_are_the_same_name() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let made = create(&client, &folder, "Caf\u{e9}").ok();
    let failure = create(&client, &folder, "Cafe\u{301}").fails(409, "DuplicatedName");
    assert_eq!(failure["details"]["existing"], made["id"]);
    create(&client, &folder, "cafe\u{301}").ok();
    let found = client.get(&object(&format!("{folder}/Cafe\u{301}"))).ok();
    assert_eq!((&found["id"], &found["name"]), (&made["id"], &json!("Caf\u{e9}")));
}

#[test]
fn without_a_name_the_files_name_counts_and_without_either_there_is_none() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let options = json!({ "folderPath": folder });
    let made = client.upload(CREATE, &options, Some(("photo:1.jpg", "image/jpeg", b"x"))).ok();
    assert_eq!((&made["name"], &made["type"]), (&json!("photo_1.jpg"), &json!("Image")));
    client.upload(CREATE, &options, None).fails(400, "InvalidName");
    assert_eq!(names_in(&client, &folder), ["photo_1.jpg"]);
}

#[test]
fn of_sixteen_who_create_the_same_name_at_once_one_wins() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let answers = at_once(|number| {
        create(&client, &folder, &format!("a{}", if number % 2 == 0 { "\u{e9}" } else { "e\u{301}" }))
    });
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(won, 1);
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        lost.fails(409, "DuplicatedName");
    }
    assert_eq!(count_in(&client, &folder), 1);
}

#[test]
fn of_sixteen_who_let_it_be_renamed_all_win_with_names_of_their_own() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let made = at_once(|_| {
        upload(&client, &folder, "a.xml", b"x", json!({ "options": { "createMode": "AUTO_RENAME" } })).ok()
    });
    let names: HashSet<&str> = made.iter().map(|record| record["name"].as_str().unwrap()).collect();
    let ids: HashSet<&str> = made.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!((names.len(), ids.len()), (16, 16));
    assert!(names.contains("a.xml") && names.contains("a (16).xml"), "{names:?}");
    assert_eq!(count_in(&client, &folder), 16);
}

#[test]
fn sixteen_new_versions_at_once_are_sixteen_versions() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let mode = json!({ "options": { "createMode": "NEW_VERSION" } });
    let made = at_once(|number| upload(&client, &folder, "a.xml", number.to_string().as_bytes(), mode.clone()).ok());
    let ids: HashSet<&str> = made.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 1);
    let loid = id(&made[0]);
    assert_eq!(client.get(&object(&loid)).ok()["version"], 16);
    let mut contents: Vec<u32> = (1..=16)
        .map(|version| {
            let answer = client.get(&format!("{}/content?version={version}", object(&loid)));
            String::from_utf8(answer.body).unwrap().parse().unwrap()
        })
        .collect();
    contents.sort_unstable();
    assert_eq!(contents, (0..16).collect::<Vec<_>>());
}
