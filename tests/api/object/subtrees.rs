//! Folders with more below them than one step changes: each call is one change for all who look,
//! however many steps it takes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Starts a server that changes `objects` objects in a step.
fn small_steps(objects: usize) -> Server {
    Server::with(&[("RUNTIME__OBJECTS_PER_STEP", &objects.to_string())])
}

/// Creates `count` folders in `top`, each with a folder in it. Returns the paths of the inner ones.
fn folders(client: &Client, top: &str, count: usize) -> Vec<String> {
    let paths: Vec<String> = (0..count).map(|n| format!("{top}/f{n:04}/inner")).collect();
    for path in &paths {
        client.call("folder-post", &[]).json(&json!({ "path": path })).ok();
    }
    paths
}

#[test]
fn a_folder_with_1100_nonempty_folders_is_removed_while_others_work() {
    let server = small_steps(16);
    let (client, other) = (server.login("editor"), server.login("reporter"));
    let (top, elsewhere) = (own_folder(), own_folder());
    let paths = folders(&client, &top, 1100);
    let story = client.story(&paths[1099], "story.xml");
    let drawer = client.drawer(&elsewhere, "drawer", 5);
    client.call("drawer-item-post", &[&drawer, &story]).ok();
    let folder = id(&read(&client, &top));
    let some = [&paths[0], &paths[550], &paths[1099], &format!("{}/story.xml", paths[1099]), &story];
    let changed = || other.count("stet_subtree_objects_total");
    let mut stories = 0;
    // Whether others changed something amid the steps.
    let mut while_others_work = |client: &Client, call: &(dyn Fn(&Client) -> Value + Sync)| {
        let (done, before, mut amid) = (AtomicBool::new(false), changed(), false);
        std::thread::scope(|scope| {
            let call = scope.spawn(|| {
                let reply = call(client);
                done.store(true, Ordering::SeqCst);
                reply
            });
            while !done.load(Ordering::SeqCst) {
                stories += 1;
                other.story(&elsewhere, &format!("{stories}.xml"));
                amid |= changed() > before && !done.load(Ordering::SeqCst);
            }
            call.join().expect("it goes well");
        });
        assert!(amid, "nobody else came between");
        assert!(changed() - before > 2000, "it was done in steps");
    };

    while_others_work(&client, &|client| discard(client, &folder).ok());
    some.iter().for_each(|source| is_gone(&client, source));
    assert!(client.items(&drawer).is_empty(), "what is below is hidden in drawers");
    folders(&client, &top, 1);
    client.call("object-discard", &[&top]).ok();

    while_others_work(&client, &|client| restore(client, &folder, json!({})).ok());
    some.iter().for_each(|source| drop(read(&client, source)));
    assert_eq!(client.items(&drawer), std::slice::from_ref(&story));
    assert_eq!(count_in(&client, &top), 1100);

    while_others_work(&client, &|client| destroy(client, &folder).ok());
    some.iter().for_each(|source| is_gone(&client, source));
    restore(&client, &folder, json!({})).fails(404, "ObjectNotFound");
    assert!(client.items(&drawer).is_empty());
}

/// Regression test: a reader during a restore in steps left an outdated number of children in a
/// cache, and later readers got it.
#[test]
fn a_folder_restored_in_steps_counts_its_children_right_despite_readers() {
    const STORIES: usize = 200;
    let server = small_steps(2);
    let (client, other) = (server.login("editor"), server.login("reporter"));
    let top = own_folder();
    (0..STORIES).for_each(|n| drop(client.story(&top, &format!("{n}.xml"))));
    let folder = id(&read(&client, &top));
    for _ in 0..3 {
        discard(&client, &folder).ok();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    other.call("object-get", &[&folder]).send();
                }
            });
            restore(&client, &folder, json!({})).ok();
            done.store(true, Ordering::SeqCst);
        });
        assert_eq!(read(&other, &folder)["virtualAttributes"]["childCount"], STORIES);
    }
}

#[test]
fn objects_locked_by_others_far_below_block_removal_and_own_locks_end() {
    let server = small_steps(4);
    let (client, other) = (server.login("editor"), server.login("admin"));
    let top = own_folder();
    let paths = folders(&client, &top, 20);
    let story = client.story(&paths[19], "story.xml");
    let folder = id(&read(&client, &top));
    lock(&other, &story).ok();
    for call in [discard(&client, &folder), destroy(&client, &folder)] {
        let failure = call.fails(403, "ObjectLocked");
        assert_eq!(failure["source"], json!(story));
    }
    read(&client, &paths[0]);
    unlock(&other, &story, false).ok();
    lock(&client, &story).ok();
    discard(&client, &folder).ok();
    restore(&client, &folder, json!({})).ok();
    shows(&read(&client, &story), json!({ "locked": null, "locker": null }));
}

#[test]
fn calls_on_what_is_under_way_find_it_gone_or_wait() {
    let server = small_steps(4);
    let client = server.login("editor");
    let top = own_folder();
    let paths = folders(&client, &top, 60);
    let folder = id(&read(&client, &top));
    let inner: Vec<String> = paths.iter().map(|path| id(&read(&client, path))).collect();
    // Concurrent calls: the first one decides, and none is asked to retry.
    std::thread::scope(|scope| {
        for round in 0..4 {
            let (client, folder, inner) = (client.afresh(), &folder, &inner);
            scope.spawn(move || {
                for n in 0..6 {
                    let at = (round * 17 + n * 7) % inner.len();
                    let answers = [
                        discard(&client, folder).send(),
                        restore(&client, folder, json!({})).send(),
                        discard(&client, &inner[at]).send(),
                        restore(&client, &inner[at], json!({})).send(),
                    ];
                    for answer in answers {
                        assert!(matches!(answer.status, 200 | 404 | 409), "{}: {}", answer.status, answer.json());
                    }
                }
            });
        }
    });
    // Whatever has come of it, it is whole: what lies in the bin by itself comes back after the
    // folder does.
    restore(&client, &folder, json!({})).send();
    for loid in &inner {
        restore(&client, loid, json!({})).send();
    }
    paths.iter().for_each(|path| drop(read(&client, path)));
}
