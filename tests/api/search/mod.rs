//! Search in everything (docs/api/search.md).

mod equality;
mod refusals;

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

/// Searches when everything that was changed before can be found. A wait of the server ends after
/// two seconds, which is too short on a busy machine.
fn search(client: &Client, criteria: &Value) -> Value {
    let newest = newest_event(client);
    let body = with(json!({ "waitFor": newest }), criteria.clone());
    let search = || client.call("stet-search-post", &[]).json(&body).ok();
    wait_patiently_until("the last change can be found", || number(&search()["indexedUpTo"]) >= number(&newest));
    search()
}

/// Returns the number of the commit of an event.
fn number(event: &Value) -> u64 {
    let number = event.as_str().and_then(|event| event.split_once('-')).map(|(number, _)| number.parse());
    number.unwrap_or_else(|| panic!("{event} is no event")).expect("it begins with a number")
}

/// Returns the id of the newest event on the client's server.
fn newest_event(client: &Client) -> Value {
    /// The administrators of the servers, by their addresses.
    static ADMINS: Mutex<BTreeMap<String, Client>> = Mutex::new(BTreeMap::new());
    let newest = |admin: &Client| admin.call("stet-audit-get", &[]).query("limit", 1).send();
    let known = ADMINS.lock().expect("nobody panics with it").get(&client.base).cloned();
    // The address may be that of an earlier server, which knew another token.
    let reply = known.map(|admin| newest(&admin)).filter(|reply| reply.status == 200).unwrap_or_else(|| {
        let mut admin = Client::at(&client.base, None);
        let login = admin.post("/v3/auth/login", &credentials("admin", ADMIN_PASSWORD)).ok();
        admin.token = login["token"]["value"].as_str().map(str::to_owned);
        let reply = newest(&admin);
        ADMINS.lock().expect("nobody panics with it").insert(client.base.clone(), admin);
        reply
    });
    reply.ok()["items"][0]["id"].clone()
}

/// Returns the ids of hits, in their order.
fn ids(found: &Value) -> Vec<String> {
    let items = found["items"].as_array().expect("a search has items").iter();
    items.map(|item| item["id"].as_str().expect("a hit has an id").to_owned()).collect()
}

/// Returns the ids of what has those words.
fn find(client: &Client, query: &str) -> Vec<String> {
    ids(&search(client, &json!({ "query": query, "limit": 100 })))
}

/// Creates a story with attributes and a text.
fn story(client: &Client, folder: &str, name: &str, headline: &str, text: &str) -> String {
    let attributes = json!({ "story": { "headline": headline, "byline": "Ada Moss" } });
    let options = json!({ "name": name, "type": "Story", "folderPath": folder, "attributes": attributes });
    let content = format!("<story><p>{text}</p></story>");
    let reply = client.upload("/v3/object/create", &options, Some((name, "text/xml", content.as_bytes()))).ok();
    reply["id"].as_str().expect("a new object has an id").to_owned()
}

#[test]
fn everything_is_found_by_the_words_in_it() {
    let client = Server::shared().user("admin");
    let folder = own_folder();
    let ferry = story(
        &client,
        &folder,
        "quokkaferry.xml",
        "Quokka harbour reopens",
        "The ferries of the quokka isle sail again.",
    );
    let other = story(&client, &folder, "other.xml", "Nothing", "A quokka looked on.");
    let drawer = client.drawer(&folder, "quokka drawer", 10);
    assert_eq!(find(&client, "quokka ferry"), [ferry.as_str()], "by another form of the word");
    assert_eq!(find(&client, "QUOKKA harbour"), [ferry.as_str()]);
    assert_eq!(find(&client, "\"quokka isle\""), [ferry.as_str()]);
    assert_eq!(find(&client, "\"isle quokka\""), Vec::<String>::new());
    assert_eq!(find(&client, "quokkafer*"), [ferry.as_str()], "by the beginning of its name");
    assert_eq!(find(&client, "byline:\"Ada Moss\" quokka -harbour"), [other.as_str()]);
    let mut all = find(&client, "quokka OR quokkaferry");
    all.sort();
    let mut expected = [ferry.clone(), other.clone(), drawer.clone()];
    expected.sort();
    assert_eq!(all, expected);
    // A new text is found, and the old one is not.
    client
        .call("stet-object-loid-content-put", &[])
        .query("loid", &other)
        .bytes("text/xml", "<story>A wombat.</story>")
        .ok();
    assert_eq!(find(&client, "wombat quokka"), Vec::<String>::new());
    assert!(find(&client, "wombat").contains(&other));
    // What is discarded is found no more, and again when it is restored.
    client.call("object-discard", &[&ferry]).ok();
    assert_eq!(find(&client, "quokka ferry"), Vec::<String>::new());
    client.call("stet-object-restore-post", &[&ferry]).ok();
    assert_eq!(find(&client, "quokka ferry"), [ferry]);
}

#[test]
fn posts_topics_and_messages_are_found() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    let blog = admin.liveblog("/News", "numbat live");
    let content: &[File<'_>] = &[("content", "p.xml", "text/xml", b"<p>It crossed the <b>b</b>ridge.</p>")];
    let post = admin.call("liveblog-post-create", &[&blog]).form(&json!({ "title": "Numbat seen" }), content).ok();
    let post = post["info"]["id"].as_str().expect("a post has an id").to_owned();
    let topic = json!({ "name": "week", "folderPath": "/News", "title": "Numbat week" });
    let topic = admin.call("topic-post", &[]).json(&topic).ok();
    let topic = topic["info"]["id"].as_str().expect("a topic has an id").to_owned();
    let mail = json!({ "subject": "Numbat", "body": "Where is the numbat?", "recipients": ["reporter"] });
    let mail = admin.call("message-sendmail-post", &[]).json(&mail).ok();
    let mail = mail["id"].as_str().expect("a message has an id").to_owned();
    let mut expected = vec![blog.clone(), post.clone(), topic, mail.clone()];
    expected.sort();
    // A message leaves no event that could be waited for.
    wait_patiently_until("all are found", || {
        let mut found = find(&admin, "numbat");
        found.sort();
        found == expected
    });
    let hits = search(&admin, &json!({ "query": "numbat bridge" }));
    includes(
        &hits["items"][0],
        &json!({ "id": post, "kind": "post",
        "post": { "liveblog": blog, "title": "Numbat seen", "status": "approved" } }),
    );
    let hits = search(&reporter, &json!({ "query": "numbat", "kinds": ["message"] }));
    includes(&hits["items"][0], &json!({ "id": mail, "kind": "message", "subject": "Numbat", "sender": "admin" }));
    assert_eq!(find(&server.user("editor"), "numbat \"where is\""), Vec::<String>::new(), "it is in nobody else's box");
    admin.call("stet-message-delete", &[&mail]).ok();
    assert!(!find(&admin, "numbat").contains(&mail), "it has left the sender's box");
}

#[test]
fn hits_are_counted_filtered_sorted_and_paged() {
    let client = Server::shared().user("admin");
    let folder = own_folder();
    let made: Vec<String> =
        (0..5).map(|number| story(&client, &folder, &format!("{number}bilby.xml"), "Bilby", "A bilby.")).collect();
    client.drawer(&folder, "bilby", 5);
    let all = json!({ "query": "bilby", "facets": ["family", "type", "author", "kind"], "sort": "name", "limit": 2 });
    let first = search(&client, &all);
    assert_eq!((&first["total"], ids(&first)), (&json!(6), made[..2].to_vec()));
    includes(
        &first["facets"]["family"],
        &json!([{ "value": "document", "count": 5 }, { "value": "drawer", "count": 1 }]),
    );
    includes(&first["facets"]["author"], &json!([{ "value": "admin", "count": 6 }]));
    assert!(first["facets"].get("status").is_none(), "{first}");
    let second = search(&client, &with(all.clone(), json!({ "offset": 2, "families": ["Document"] })));
    assert_eq!((&second["total"], ids(&second)), (&json!(5), made[2..4].to_vec()));
    let last = search(&client, &with(all, json!({ "sort": "name:desc", "limit": 1, "types": ["Story"] })));
    assert_eq!(ids(&last), [made[4].as_str()]);
    // Below a folder, at any depth, and by the place where it is now.
    let deep = format!("{folder}/deep/deeper");
    let below = story(&client, &deep, "deep.xml", "Bilby", "A bilby.");
    let within =
        |folder: &str| ids(&search(&client, &json!({ "query": "bilby", "folder": folder, "types": ["Story"] })));
    assert_eq!(within(&format!("{folder}/deep")), [below.as_str()]);
    assert_eq!(within(&folder).len(), 6);
    let moved = json!({ "folder": format!("{folder}/deep") });
    client.call("stet-object-move-post", &[&made[0]]).json(&moved).ok();
    assert_eq!(within(&format!("{folder}/deep")).len(), 2);
    let later = search(&client, &json!({ "query": "bilby", "folder": folder, "from": 4_000_000_000_000_i64 }));
    assert_eq!(later["total"], 0);
}

#[test]
fn extracts_mark_the_words_in_the_text() {
    let client = Server::shared().user("admin");
    let folder = own_folder();
    let long = "Nothing happened here. ".repeat(100);
    let text = format!("{long} Then a <i>potoroo</i> came &amp; went. {long}");
    let story = story(&client, &folder, "potoroo.xml", "The Potoroo", &text);
    let found = search(&client, &json!({ "query": "potoroo", "folder": folder }));
    assert_eq!(ids(&found), [story]);
    let highlights = found["items"][0]["highlights"].as_array().expect("a hit has highlights");
    let marked = |field: &str| -> Vec<String> {
        let highlight = highlights.iter().find(|highlight| highlight["field"] == field);
        let highlight = highlight.unwrap_or_else(|| panic!("{field}: {highlights:?}"));
        let text: Vec<char> = highlight["text"].as_str().expect("it has a text").chars().collect();
        assert!(text.len() <= 260, "{highlight}");
        let place = |number: &Value| number.as_u64().expect("it is a number") as usize;
        let matches = highlight["matches"].as_array().expect("it has matches").iter();
        matches.map(|one| text[place(&one[0])..place(&one[1])].iter().collect()).collect()
    };
    assert_eq!((marked("title"), marked("text")), (vec!["Potoroo".to_owned()], vec!["potoroo".to_owned()]));
    let without = search(&client, &json!({ "query": "potoroo", "folder": folder, "highlight": false }));
    assert_eq!(without["items"][0]["highlights"], json!([]));
}

#[test]
fn words_are_completed_from_what_the_caller_may_read() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    let mine = story(&reporter, "/Users/reporter", "a.xml", "Zyzzogeton zyzzomys", "zyzzus");
    let admins = "/Administration";
    let theirs = story(&admin, admins, "b.xml", "Zyzzyva", "zyzzus");
    // From here on the reporter reads their own folder and the news only.
    let grants = json!([{ "privilege": "read", "folder": "/News" }, { "privilege": "create", "folder": "/News" }]);
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "privileges": grants })).ok();
    let begun = |client: &Client| {
        find(client, "");
        let list = client.call("stet-search-suggest-get", &[]).query("query", "a zyzz").ok();
        let mut words: Vec<String> = serde_json::from_value(list["items"].clone()).expect("it is a list of words");
        words.sort();
        words
    };
    let typed = |client: &Client| {
        let mut found = ids(&search(client, &json!({ "query": "zyzz", "asYouType": true })));
        found.sort();
        found
    };
    assert_eq!(begun(&admin), ["zyzzogeton", "zyzzomys", "zyzzyva"]);
    let mut both = [mine.clone(), theirs];
    both.sort();
    assert_eq!(typed(&admin), both);
    assert_eq!(begun(&reporter), ["zyzzogeton", "zyzzomys"]);
    assert_eq!(typed(&reporter), [mine]);
}

cases! {
    "stet-search-get": |_| Made::default().query("kinds", word("object"));
    "stet-search-post": |_| Made::default().json(json!({ "query": "ferry" }));
    "stet-search-suggest-get": |_| Made::default().query("query", word("fer"));
}
