//! Filters of listings of objects, and what view forms take in their bodies.

use super::*;

/// An object that a filter may select.
struct Entry {
    name: String,
    type_name: &'static str,
    family: &'static str,
    status: Option<&'static str>,
    creator: &'static str,
    modified: i64,
}

/// A stream of numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// A value of each filter; some have none.
type Given = Vec<(&'static str, Vec<&'static str>)>;

fn random_filters(numbers: &mut Numbers) -> Given {
    let known: [(&str, &[&str]); 7] = [
        ("type", &["EOM::Story", "story", "Image", "Folder", "Nothing"]),
        ("status", &["Story/Draft", "Story/Ready", "Image/Release", "Nothing/Else"]),
        ("family", &["document", "folder", "bundle", "nothing"]),
        ("name", &["*.xml", "?.*", "*1*", "*", "nothing*"]),
        ("creator", &["ada", "mia", "nobody"]),
        ("modifiedAfter", &["999", "1000", "1002"]),
        ("modifiedBefore", &["1001", "1003", "2000"]),
    ];
    let mut given = Vec::new();
    for (filter, values) in known {
        let count =
            if filter.starts_with("modified") { numbers.below(4) / 3 } else { numbers.below(5).saturating_sub(2) };
        if count > 0 {
            given.push((filter, (0..count).map(|_| numbers.one_of(values)).collect()));
        }
    }
    given
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.first(), name.first()) {
        (None, None) => true,
        (Some(b'*'), _) => matches(&pattern[1..], name) || (!name.is_empty() && matches(pattern, &name[1..])),
        (Some(wanted), Some(found)) => (*wanted == b'?' || wanted == found) && matches(&pattern[1..], &name[1..]),
        _ => false,
    }
}

impl Entry {
    fn random(numbers: &mut Numbers, number: usize) -> Entry {
        let (type_name, family, statuses): (_, _, &[_]) = numbers.one_of(&[
            ("Story", "document", &[Some("Story/Draft"), Some("Story/Ready")] as &[_]),
            ("Image", "document", &[Some("Image/Release")]),
            ("Folder", "folder", &[None]),
            ("CompoundStory", "bundle", &[Some("Story/Draft"), Some("Story/Ready")]),
        ]);
        Entry {
            name: format!("{number}{}", numbers.one_of(&[".xml", ".jpg", ""])),
            type_name,
            family,
            status: numbers.one_of(statuses),
            creator: numbers.one_of(&["ada", "mia"]),
            modified: 1000 + numbers.below(4) as i64,
        }
    }

    fn import(&self, admin: &Client, folder: &str, number: usize) {
        let options = json!({
            "uuid": format!("0190f3a1-7c1e-7000-8000-{:012x}", fresh_number() + number), "name": self.name,
            "type": self.type_name, "folderPath": folder, "status": self.status, "creator": self.creator,
            "created": 900, "modified": self.modified,
        });
        admin.call("stet-object-import-post", &[]).form(&options, &[]).ok();
    }

    /// Returns whether an object passes all filters, by their definition.
    fn passes(&self, given: &Given) -> bool {
        given.iter().all(|(filter, values)| {
            values.iter().any(|value| match *filter {
                "type" => value.rsplit("::").next().expect("there is one").eq_ignore_ascii_case(self.type_name),
                "status" => self.status == Some(value),
                "family" => *value == self.family,
                "name" => matches(value.as_bytes(), self.name.as_bytes()),
                "creator" => *value == self.creator,
                "modifiedAfter" => self.modified > value.parse().expect("it is a number"),
                "modifiedBefore" => self.modified < value.parse().expect("it is a number"),
                other => panic!("{other} is no filter"),
            })
        })
    }
}

/// A number that no other test run of this process has used, with room for a thousand behind it.
fn fresh_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1_000, Ordering::Relaxed) + 0x00f1_17e5_0000
}

fn query<'c>(call: Call<'c>, given: &Given) -> Call<'c> {
    given.iter().fold(call, |call, (filter, values)| match values.len() % 2 {
        0 => call.query(filter, values.join(",")),
        _ => values.iter().fold(call, |call, value| call.query(filter, value)),
    })
}

fn body(given: &Given) -> Value {
    let value = |filter: &str, values: &[&str]| match filter {
        "modifiedAfter" | "modifiedBefore" => json!(values[0].parse::<i64>().expect("it is a number")),
        _ if values.len() == 1 => json!(values[0]),
        _ => json!(values),
    };
    given
        .iter()
        .map(|(filter, values)| ((*filter).to_owned(), value(filter, values)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn random_listings_have_what_a_plain_filter_over_the_records_leaves() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let (mut numbers, base) = (Numbers(11), fresh_number());
    let mut entries: Vec<Entry> = (0..40).map(|number| Entry::random(&mut numbers, number)).collect();
    entries.iter().enumerate().for_each(|(number, entry)| entry.import(&admin, &folder, base + number));
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(names(&folder_with(&admin, &folder)).len(), entries.len());
    let mut found = 0;
    for _ in 0..60 {
        let given = random_filters(&mut numbers);
        let wanted: Vec<&str> = entries.iter().filter(|entry| entry.passes(&given)).map(|entry| &*entry.name).collect();
        found += wanted.len();
        let listing = query(admin.call("folder-get", &[&folder]), &given).ok();
        assert_eq!((names(&listing), &listing["total"]), (wanted.clone(), &json!(wanted.len())), "{given:?}");
        let view = query(admin.call("folder-view-get", &[&folder]), &given).ok();
        assert_eq!(names(&view), wanted, "{given:?}");
        let posted = admin.call("folder-view-post", &[&folder]).json(&body(&given)).ok();
        assert_eq!((names(&posted), &posted["total"]), (wanted.clone(), &json!(wanted.len())), "{given:?}");
        let filtered = query(admin.call("folder-filter-get", &[&folder]), &given).query("recursive", true).ok();
        assert_eq!(names(&filtered), wanted, "{given:?}");
        // Pages and orders are of what the filters leave.
        let page = query(admin.call("folder-get", &[&folder]), &given);
        let page = page.query("sortBy", "-name").query("limit", 3).query("offset", 1).ok();
        let backwards: Vec<&str> = wanted.iter().rev().skip(1).take(3).copied().collect();
        assert_eq!((names(&page), &page["total"]), (backwards, &json!(wanted.len())), "{given:?}");
        let folders = query(admin.call("folder-subfolders-get", &[&folder]), &given).query("limit", 100).ok();
        let only = |name: &&&str| entries.iter().any(|entry| entry.name == **name && entry.family == "folder");
        assert_eq!(names(&folders), wanted.iter().filter(only).copied().collect::<Vec<_>>(), "{given:?}");
    }
    assert!(found > 100, "{found}");
}

fn folder_with(client: &Client, source: &str) -> Value {
    folder(client, source).ok()
}

#[test]
fn times_are_exclusive_and_a_value_that_nothing_has_gives_nothing() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let entry = |modified| Entry {
        name: format!("{modified}.xml"),
        type_name: "Story",
        family: "document",
        status: Some("Story/Draft"),
        creator: "ada",
        modified,
    };
    (1..=3).for_each(|modified| entry(modified).import(&admin, &folder, fresh_number()));
    let found = |filter: &str, value: &str| {
        let reply = admin.call("folder-get", &[&folder]).query(filter, value).ok();
        names(&reply).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("modifiedAfter", "1"), ["2.xml", "3.xml"]);
    assert_eq!(found("modifiedBefore", "3"), ["1.xml", "2.xml"]);
    assert_eq!(found("modifiedAfter", "-1").len(), 3);
    assert_eq!(found("type", "eom::STORY").len(), 3);
    assert_eq!(found("type", "").len(), 3, "a list without a value counts as absent");
    for (filter, value) in [
        ("type", "Nothing"),
        ("status", "Story/Nothing"),
        ("status", "Draft"),
        ("family", "nothing"),
        ("name", "nothing"),
        ("creator", "nobody"),
        ("modifiedAfter", "3"),
        ("modifiedBefore", "0"),
    ] {
        assert_eq!(found(filter, value), Vec::<String>::new(), "{filter}={value}");
    }
}

/// A misspelt status looked like a folder without such stories.
#[test]
fn a_value_that_the_configuration_does_not_know_is_reported() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    client.story(&folder, "a.xml");
    let listing = |name: &str, value: &str| {
        let answer = client.call("folder-get", &[&folder]).query(name, value).send();
        answer.ok();
        answer.json()["warnings"].clone()
    };
    for (name, wrong, right) in
        [("status", "Story/Redy", "Story/Ready"), ("type", "Sotry", "Story"), ("family", "documnt", "document")]
    {
        let warnings = listing(name, wrong);
        assert_eq!((&warnings[0]["name"], &warnings[0]["didYouMean"]), (&json!(name), &json!(right)), "{warnings}");
        assert_eq!(listing(name, right), Value::Null);
    }
    let view = json!({ "status": ["Story/Ready", "Story/Redy"] });
    let answer = client.call("folder-view-post", &[&folder]).json(&view).send();
    answer.ok();
    assert_eq!(answer.json()["warnings"][0]["didYouMean"], "Story/Ready");
    // Each is compared with all names that are known.
    let many: Vec<String> = (0..100).map(|number| format!("Story/{number}")).collect();
    let answer = client.call("folder-view-post", &[&folder]).json(&json!({ "status": many })).send();
    assert_eq!(answer.json()["warnings"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_malformed_filter_is_named_and_refused() {
    let (client, folder) = (reporter(), own_folder());
    client.story(&folder, "a.xml");
    let many = vec!["a"; 101].join(",");
    let long = "a".repeat(256);
    let heavy = vec!["*".repeat(255); 17].join(",");
    for (filter, value) in [
        ("modifiedAfter", "yesterday"),
        ("modifiedBefore", "1.5"),
        ("type", &many),
        ("status", &long),
        ("family", &many),
        ("creator", &long),
        ("name", &many),
        ("name", &long),
        ("name", &heavy),
    ] {
        for id in ["folder-get", "folder-view-get", "folder-view-post", "folder-filter-get", "folder-subfolders-get"] {
            let error = client.call(id, &[&folder]).query(filter, value).fails(400, "InvalidParameter");
            assert!(error["message"].as_str().expect("it has one").contains(&format!("`{filter}`")), "{id}: {error}");
        }
    }
    let patterns = client.call("folder-filter-get", &[&folder]).query("patternSequence", &heavy);
    patterns.fails(400, "InvalidParameter");
    for (body, path) in [
        (json!({ "modifiedAfter": "yesterday" }), "$.modifiedAfter"),
        (json!({ "modifiedBefore": 1.5 }), "$.modifiedBefore"),
        (json!({ "type": 5 }), "$.type"),
        (json!({ "status": [["a"]] }), "$.status"),
        (json!({ "limit": -1 }), "$.limit"),
        (json!({ "offset": "x" }), "$.offset"),
    ] {
        let error = client.call("folder-view-post", &[&folder]).json(&body).fails(400, "InvalidBody");
        assert_eq!(error["details"]["path"], path, "{error}");
    }
    let body = json!({ "name": vec!["a"; 101] });
    client.call("folder-view-post", &[&folder]).json(&body).fails(400, "InvalidParameter");
}

#[test]
fn a_view_form_takes_page_order_and_filters_in_its_body() {
    let (client, folder) = (reporter(), own_folder());
    for name in ["a.xml", "b.xml", "c.xml", "d,e.xml"] {
        client.story(&folder, name);
    }
    for view in ["folder-view-post", "folder-view-named-post"] {
        let path: &[&dyn std::fmt::Display] =
            if view == "folder-view-post" { &[&folder] } else { &[&folder, &"editing"] };
        let post = |body: Value| client.call(view, path).json(&body);
        let page = post(json!({ "limit": 2, "offset": 1, "sortBy": "-name" })).ok();
        assert_eq!((names(&page), &page["total"]), (vec!["c.xml", "b.xml"], &json!(4)));
        let page = post(json!({ "limit": "1", "offset": "2" })).ok();
        assert_eq!(names(&page), ["c.xml"], "digits as text count as numbers");
        assert_eq!(names(&post(json!({ "limit": 0 })).ok()), Vec::<&str>::new());
        // A text is read as in the query, a list as it is.
        assert_eq!(names(&post(json!({ "name": "a.*,b.*" })).ok()), ["a.xml", "b.xml"]);
        assert_eq!(names(&post(json!({ "name": ["d,e.*", "a.*"] })).ok()), ["a.xml", "d,e.xml"]);
        // The body wins. The query applies where the body states nothing.
        let both =
            post(json!({ "limit": 1, "name": "*.xml" })).query("limit", 3).query("offset", 1).query("name", "z*");
        assert_eq!(names(&both.ok()), ["b.xml"]);
        let null =
            post(json!({ "limit": null, "offset": null, "type": null })).query("limit", 1).query("type", "Story");
        assert_eq!(names(&null.ok()), ["a.xml"]);
    }
}

#[test]
fn bundles_own_folders_and_the_recycle_bin_are_filtered_too() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let unique = folder.replace('/', "-");
    let options = json!({ "name": "bundle.xml", "type": "CompoundStory", "folderPath": folder });
    let bundle = admin.upload("/v3/object/create", &options, Some(("b.xml", "text/xml", b"<story/>"))).ok();
    let bundle = bundle["id"].as_str().expect("it has an id").to_owned();
    for channel in ["Web", "Tabloid"] {
        admin.call("container-bundle-channelcopy-post", &[&bundle]).json(&json!({ "channel": channel })).ok();
    }
    for id in ["bundle-items-get", "bundle-recursive-get", "bundle-view-get", "bundle-view-post"] {
        assert_eq!(names(&admin.call(id, &[&bundle]).query("name", "W*").ok()), ["Web"], "{id}");
    }
    let home = admin.story("/Users/admin", &format!("{unique}.xml"));
    for id in ["folder-home-get", "folder-home-view-get", "folder-home-view-post"] {
        let reply = admin.call(id, &[]).query("name", format!("{unique}*")).query("creator", "admin").ok();
        assert_eq!((&reply["items"][0]["id"], &reply["total"]), (&json!(home), &json!(1)), "{id}");
    }
    admin.call("object-discard", &[&home]).ok();
    let bin = |creator: &str| {
        admin.call("stet-recyclebin-get", &[]).query("name", format!("{unique}*")).query("creator", creator).ok()
    };
    assert_eq!((&bin("admin")["items"][0]["id"], &bin("admin")["total"]), (&json!(home), &json!(1)));
    assert_eq!(bin("nobody")["total"], 0);
}

/// Guards against leaks: filters must not reveal properties of an object that the caller may not
/// read.
#[test]
fn a_folder_on_the_way_shows_nothing_of_itself_by_filters() {
    let (admin, top) = (Server::shared().user("admin"), own_folder());
    admin.story(&format!("{top}/way/open"), "a.xml");
    let key = json!({ "name": top.replace('/', "-"), "user": "admin",
        "privileges": [{ "privilege": "read", "folder": format!("{top}/way/open") }] });
    let made = admin.call("stet-key-create-post", &[]).json(&key).ok();
    let reader = Server::shared().client_with(&made["token"]);
    let now = admin.call("object-get", &[&format!("{top}/way")]).ok();
    let created = now["created"].as_i64().expect("it has a time");
    let listed = |filter: &str, value: i64| {
        let reply = reader.call("folder-get", &[&top]).query(filter, value).ok();
        names(&reply).len()
    };
    // An outline says that the folder was last modified when it was created.
    assert_eq!((listed("modifiedAfter", created), listed("modifiedAfter", created - 1)), (0, 1));
}
