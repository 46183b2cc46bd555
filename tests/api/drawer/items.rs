//! Adding and removing, one by one and in bulk.

use super::*;

fn sources(desk: &Desk, stories: &[usize]) -> Value {
    json!({ "sources": stories.iter().map(|story| desk.stories[*story].clone()).collect::<Vec<_>>() })
}

#[test]
fn an_added_object_is_the_last_item() {
    let desk = Desk::new(5, 3, 2);
    let reply = desk.add(2).ok();
    assert_eq!(reply["info"]["id"], desk.drawer);
    assert_eq!((&reply["info"]["count"], &reply["info"]["capacity"]), (&json!(3), &json!(5)));
    assert_eq!(placed(&reply), [(desk.stories[2].clone(), 2)]);
    assert_eq!(reply["items"][0]["object"]["id"], desk.stories[2]);
    assert_eq!(reply["items"][0]["object"]["name"], "2.xml");
    assert_eq!(reply["items"][0]["id"], desk.shortcut(2));
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn a_body_is_no_condition_for_adding() {
    let desk = Desk::new(5, 3, 0);
    desk.client.send("POST", &desk.item(0), &[], b"").ok();
    desk.client.send("POST", &desk.item(1), &[("content-type", "application/json")], b" \n").ok();
    desk.client.post(&desk.item(2), &json!({ "options": {}, "anything": 1 })).ok();
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn adding_to_a_full_drawer_is_refused() {
    let desk = Desk::new(2, 3, 2);
    let error = desk.refuses(|| desk.add(2), 409, "DrawerFull");
    assert_eq!(error["details"]["capacity"], 2);
    assert_eq!(error["source"], desk.drawer);
    assert!(error["message"].as_str().is_some_and(|message| message.contains('2')), "{error}");
}

#[test]
fn adding_again_changes_nothing_even_when_full() {
    let desk = Desk::new(2, 2, 2);
    let reply = desk.leaves(|| desk.add(0));
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 0)], "the reply shows where it stands");
    desk.leaves(|| desk.client.post(&desk.path("/item"), &sources(&desk, &[1, 0, 1])));
}

#[test]
fn anything_can_lie_in_a_drawer_a_folder_and_a_drawer_too() {
    let desk = Desk::new(5, 0, 0);
    let other = desk.other("other", 5);
    let folder = desk.client.get(&format!("/v3/object/{}", encoded(&desk.folder))).ok()["id"].clone();
    let both = json!({ "sources": [other, desk.folder] });
    desk.client.post(&desk.path("/item"), &both).ok();
    let reply = desk.read();
    assert_eq!(reply["items"][0]["source"], other);
    assert_eq!(reply["items"][1]["source"], folder);
}

#[test]
fn several_are_added_in_their_order() {
    let desk = Desk::new(5, 5, 1);
    let reply = desk.client.post(&desk.path("/item"), &sources(&desk, &[3, 1, 2])).ok();
    let expected: Vec<_> = [(3, 1), (1, 2), (2, 3)].map(|(story, at)| (desk.stories[story].clone(), at)).into();
    assert_eq!(placed(&reply), expected);
    assert_eq!(desk.order(), [0, 3, 1, 2]);
}

#[test]
fn a_bare_list_is_as_good_as_sources() {
    let desk = Desk::new(5, 2, 0);
    desk.client.post(&desk.path("/item"), &json!(desk.stories)).ok();
    assert_eq!(desk.order(), [0, 1]);
    desk.client.delete_with(&desk.path("/item"), &json!([desk.stories[0]])).ok();
    assert_eq!(desk.order(), [1]);
}

#[test]
fn one_that_is_named_twice_is_added_once() {
    let desk = Desk::new(2, 2, 0);
    let reply = desk.client.post(&desk.path("/item"), &sources(&desk, &[1, 0, 1, 1, 0])).ok();
    assert_eq!(reply["info"]["count"], 2);
    assert_eq!(placed(&reply), [(desk.stories[1].clone(), 0), (desk.stories[0].clone(), 1)]);
    assert_eq!(desk.order(), [1, 0]);
}

#[test]
fn one_too_many_refuses_them_all() {
    let desk = Desk::new(3, 4, 2);
    let error = desk.refuses(|| desk.client.post(&desk.path("/item"), &sources(&desk, &[2, 3])), 409, "DrawerFull");
    assert_eq!(error["details"]["capacity"], 3);
    // Those that are there already need no room.
    desk.client.post(&desk.path("/item"), &sources(&desk, &[0, 2, 1])).ok();
    assert_eq!(desk.order(), [0, 1, 2]);
}

#[test]
fn one_that_is_missing_refuses_them_all_and_is_named() {
    let desk = Desk::new(9, 3, 1);
    for missing in [NOWHERE, "/no/such/object", "0190f3a1-7c1e-7000-8000-0123456789ab", "999999999999"] {
        let body = json!({ "sources": [desk.stories[1], missing, desk.stories[2]] });
        let error = desk.refuses(|| desk.client.post(&desk.path("/item"), &body), 404, "ObjectNotFound");
        assert_eq!(error["source"], missing);
    }
    let body = json!({ "sources": [desk.stories[1], "nonsense"] });
    desk.refuses(|| desk.client.post(&desk.path("/item"), &body), 400, "InvalidParameter");
}

#[test]
fn an_empty_list_changes_nothing() {
    let desk = Desk::new(2, 2, 2);
    desk.leaves(|| desk.client.post(&desk.path("/item"), &json!({ "sources": [] })));
    desk.leaves(|| desk.client.delete_with(&desk.path("/item"), &json!([])));
}

#[test]
fn an_item_is_removed_by_its_object_or_its_shortcut() {
    let desk = Desk::new(5, 3, 3);
    let reply = desk.remove(1).ok();
    assert_eq!(reply["info"]["count"], 2);
    assert_eq!(placed(&reply), [(desk.stories[1].clone(), 1)]);
    assert_eq!(desk.order(), [0, 2]);
    let shortcut = desk.shortcut(2);
    desk.client.delete(&desk.path(&format!("/item/{shortcut}"))).ok();
    assert_eq!(desk.order(), [0]);
    // The object itself is as it was.
    desk.client.get(&format!("/v3/object/{}", encoded(&desk.stories[1]))).ok();
}

#[test]
fn removing_what_is_not_there_is_not_found() {
    let desk = Desk::new(5, 2, 1);
    let error = desk.refuses(|| desk.remove(1), 404, "ObjectNotFound");
    assert_eq!(error["source"], desk.stories[1]);
    let shortcut = desk.shortcut(0);
    desk.remove(0).ok();
    desk.refuses(|| desk.remove(0), 404, "ObjectNotFound");
    desk.refuses(|| desk.client.delete(&desk.path(&format!("/item/{shortcut}"))), 404, "ObjectNotFound");
}

#[test]
fn a_shortcut_is_never_used_twice() {
    let desk = Desk::new(5, 1, 1);
    let first = desk.shortcut(0);
    desk.remove(0).ok();
    desk.add(0).ok();
    assert_ne!(desk.shortcut(0), first);
}

#[test]
fn a_shortcut_names_an_item_that_is_there_when_adding_or_positioning() {
    let desk = Desk::new(5, 3, 2);
    let shortcut = desk.shortcut(0);
    desk.leaves(|| desk.client.post(&desk.path(&format!("/item/{shortcut}")), &json!({})));
    desk.leaves(|| desk.client.post(&desk.path("/item"), &json!([shortcut])));
    desk.client.put(&desk.path(&format!("/item/{shortcut}/position/-1")), &json!({})).ok();
    assert_eq!(desk.order(), [1, 0]);
    let path = desk.path("/item/999999999999/position/0");
    desk.refuses(|| desk.client.put(&path, &json!({})), 404, "ObjectNotFound");
    // A path says which item is meant by the shortcut route, too, and there the object will do.
    let path = desk.path(&format!("/shortcut/{}/position/0", encoded(&desk.stories[0])));
    desk.client.put(&path, &json!({})).ok();
    assert_eq!(desk.order(), [0, 1]);
}

#[test]
fn several_are_removed_by_objects_and_shortcuts_and_the_rest_is_told() {
    let desk = Desk::new(5, 5, 4);
    let shortcut = desk.shortcut(2);
    // A shortcut may come as a number.
    let number: u64 = shortcut.parse().expect("a shortcut is a number");
    let body = json!({ "sources": [desk.stories[0], number, desk.stories[4], NOWHERE, "nonsense", desk.stories[0]] });
    let reply = desk.client.delete_with(&desk.path("/item"), &body).ok();
    assert_eq!(reply["info"]["count"], 2);
    let removed: Vec<_> = placed(&reply).into_iter().map(|(source, _)| source).collect();
    assert_eq!(removed, [desk.stories[0].clone(), desk.stories[2].clone()]);
    assert_eq!(desk.order(), [1, 3]);
    let mut errors: Vec<(String, String)> = reply["errors"]
        .as_array()
        .expect("a bulk reply has errors")
        .iter()
        .map(|error| {
            assert!(error["message"].as_str().is_some_and(|message| message.len() > 10), "{error}");
            (error["source"].as_str().unwrap().to_owned(), error["code"].as_str().unwrap().to_owned())
        })
        .collect();
    errors.sort();
    let mut expected: Vec<(String, String)> = vec![
        (desk.stories[4].clone(), "CMS.ObjectNotFound".into()),
        (NOWHERE.into(), "CMS.ObjectNotFound".into()),
        ("nonsense".into(), "CMS.InvalidParameter".into()),
        (desk.stories[0].clone(), "CMS.ObjectNotFound".into()),
    ];
    expected.sort();
    assert_eq!(errors, expected);
}

#[test]
fn a_bulk_removal_of_nothing_that_is_there_changes_nothing() {
    let desk = Desk::new(5, 2, 1);
    let reply = desk.leaves(|| desk.client.delete_with(&desk.path("/item"), &sources(&desk, &[1])));
    assert_eq!(reply["errors"][0]["source"], desk.stories[1]);
}

#[test]
fn clearing_takes_everything_out() {
    let desk = Desk::new(3, 3, 3);
    let reply = desk.client.put(&desk.path("/item/clear"), &json!({})).ok();
    assert_eq!((&reply["info"]["count"], &reply["info"]["capacity"]), (&json!(0), &json!(3)));
    assert_eq!(reply["items"], json!([]));
    assert!(desk.order().is_empty());
    // An empty drawer has nothing to clear.
    desk.leaves(|| desk.client.put(&desk.path("/item/clear"), &json!({})));
    desk.add(2).ok();
    assert_eq!(desk.order(), [2]);
}
