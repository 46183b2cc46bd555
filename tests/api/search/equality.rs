//! A comparison of searches with a plain scan: random objects and posts of few words, callers with
//! different rights, random queries. A caller must find what they can read and what has the words,
//! with the right totals and facets.

use std::collections::BTreeSet;

use super::*;

/// Words that are no forms or parts of each other in any language of the server.
const WORDS: [&str; 12] =
    ["qax", "wolt", "ziffo", "brump", "dwenk", "fazz", "glurk", "hobbo", "jimz", "krelp", "plonx", "vrang"];

/// Something that can be found, as it was made.
struct Thing {
    words: BTreeSet<usize>,
    kind: &'static str,
    /// The path by which it is read, for a caller's rights.
    path: String,
}

/// A query as the model understands it: alternatives, all of which must apply, and words that must
/// not occur.
struct ModelQuery {
    text: String,
    all: Vec<Vec<usize>>,
    none: Vec<usize>,
}

impl ModelQuery {
    fn random(dice: &mut Dice) -> ModelQuery {
        let mut query = ModelQuery { text: String::new(), all: Vec::new(), none: Vec::new() };
        for _ in 0..dice.roll(3) + 1 {
            let (first, second) = (dice.roll(WORDS.len()), dice.roll(WORDS.len()));
            let text = match dice.roll(5) {
                0 => {
                    query.none.push(first);
                    format!("-{}", WORDS[first])
                }
                1 | 2 => {
                    query.all.push(vec![first, second]);
                    format!("{} OR {}", WORDS[first], WORDS[second].to_uppercase())
                }
                3 => {
                    query.all.push(vec![first]);
                    format!("{}*", &WORDS[first][..3])
                }
                _ => {
                    query.all.push(vec![first]);
                    WORDS[first].to_owned()
                }
            };
            query.text += &format!(" {text}");
        }
        query
    }

    fn fits(&self, thing: &Thing) -> bool {
        let has = |word: &usize| thing.words.contains(word);
        self.all.iter().all(|any| any.iter().any(has)) && !self.none.iter().any(has)
    }
}

/// The newsroom of the comparison.
struct Ground {
    admin: Client,
    folder: String,
    folders: Vec<String>,
    things: BTreeMap<String, Thing>,
    blogs: Vec<String>,
    /// Somebody who writes posts that wait for approval, in the last liveblog.
    author: Option<Client>,
    count: usize,
}

impl Ground {
    fn new(server: &Server) -> Ground {
        let (admin, folder) = (server.user("admin"), own_folder());
        let mut folders: Vec<String> =
            ["a", "a/deep", "b", "c", "elsewhere"].map(|name| format!("{folder}/{name}")).into();
        for path in &folders {
            admin.call("folder-post", &[]).json(&json!({ "path": path })).ok();
        }
        let blogs: Vec<String> = folders[1..3].iter().map(|folder| admin.liveblog(folder, "blog")).collect();
        // Nothing lies in the last one.
        folders.pop();
        Ground { admin, folder, folders, things: BTreeMap::new(), blogs, author: None, count: 0 }
    }

    fn words(dice: &mut Dice) -> BTreeSet<usize> {
        (0..dice.roll(4) + 1).map(|_| dice.roll(WORDS.len())).collect()
    }

    fn text_of(words: &BTreeSet<usize>) -> String {
        words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
    }

    /// Changes something.
    fn change(&mut self, dice: &mut Dice) {
        self.count += 1;
        let (words, number) = (Ground::words(dice), self.count);
        let text = Ground::text_of(&words);
        let loids: Vec<String> = self.things.keys().cloned().collect();
        match dice.roll(10) {
            0..5 => {
                let folder = dice.pick(&self.folders).expect("there are folders").clone();
                let loid = story(&self.admin, &folder, &format!("{number}.xml"), "-", &text);
                self.things.insert(
                    loid.clone(),
                    Thing { words, kind: "object", path: format!("/v3/object/{}", encoded(&loid)) },
                );
            }
            5 | 6 => {
                let blog = dice.pick(&self.blogs).expect("there are liveblogs").clone();
                let author = self.author.as_ref().filter(|_| blog == self.blogs[1] && dice.roll(2) == 0);
                let options = json!({ "title": text, "moderated": dice.roll(2) == 0 });
                let call = author.unwrap_or(&self.admin).call("liveblog-post-create", &[&blog]);
                let post = call.form(&options, &[("content", "p.xml", "text/xml", b"<p/>")]).ok();
                let loid = post["info"]["id"].as_str().expect("a post has an id").to_owned();
                let path = format!("/v3/container/liveblog/{}/post/{}", encoded(&blog), encoded(&loid));
                self.things.insert(loid, Thing { words, kind: "post", path });
            }
            7 | 8 => {
                let objects = loids.iter().filter(|loid| self.things[*loid].kind == "object");
                let Some(loid) = dice.pick(&objects.cloned().collect::<Vec<_>>()).cloned() else { return };
                let content = format!("<story>{text}</story>");
                let call = self.admin.call("stet-object-loid-content-put", &[]).query("loid", &loid);
                call.bytes("text/xml", content).ok();
                self.things.get_mut(&loid).expect("it is there").words = words;
            }
            _ => {
                let objects = loids.iter().filter(|loid| self.things[*loid].kind == "object");
                let Some(loid) = dice.pick(&objects.cloned().collect::<Vec<_>>()).cloned() else { return };
                self.admin.call("object-discard", &[&loid]).ok();
                self.things.remove(&loid);
            }
        }
    }

    /// Returns what a caller can read, by reading each thing.
    fn readable(&self, client: &Client) -> BTreeSet<String> {
        let can_read = |thing: &Thing| client.get(&thing.path).status == 200;
        self.things.iter().filter(|(_, thing)| can_read(thing)).map(|(loid, _)| loid.clone()).collect()
    }

    /// Compares a search with the scan.
    fn compare(&self, client: &Client, readable: &BTreeSet<String>, dice: &mut Dice) {
        let query = ModelQuery::random(dice);
        let fits = |loid: &&String| query.fits(&self.things[*loid]);
        let expected: BTreeSet<String> = readable.iter().filter(fits).cloned().collect();
        // Folders and liveblogs have none of the words.
        let criteria = json!({ "query": query.text, "folder": self.folder, "facets": ["kind"], "limit": 100,
            "highlight": false });
        // A query of negations only finds the folders and liveblogs, too.
        let criteria =
            if query.all.is_empty() { with(criteria, json!({ "families": ["document"] })) } else { criteria };
        let found = search(client, &criteria);
        let all: BTreeSet<String> = ids(&found).into_iter().collect();
        assert_eq!(all, expected, "{}", query.text);
        assert_eq!(found["total"], expected.len(), "{}", query.text);
        for kind in ["object", "post"] {
            let number = expected.iter().filter(|loid| self.things[*loid].kind == kind).count();
            let facets = found["facets"]["kind"].as_array().expect("it is a list");
            let counted = facets
                .iter()
                .find(|facet| facet["value"] == kind)
                .map_or(0, |facet| facet["count"].as_u64().expect("it is a number"));
            assert_eq!(counted as usize, number, "{kind}: {}", query.text);
        }
        // The pages follow each other in the same order.
        let paged: Vec<String> = (0..expected.len().div_ceil(3))
            .flat_map(|page| ids(&search(client, &with(criteria.clone(), json!({ "limit": 3, "offset": 3 * page })))))
            .collect();
        assert_eq!(paged, ids(&found), "{}", query.text);
    }
}

/// Callers of different rights: an administrator, a reader of everything, readers of some folders,
/// one who may moderate, one who writes posts, and one who may read nothing here.
fn callers(server: &Server, ground: &Ground) -> Vec<Client> {
    let admin = server.user("admin");
    let grants: [(&str, &[(&str, &str)]); 5] = [
        ("first", &[("read", "a")]),
        ("deep", &[("read", "a/deep"), ("read", "c")]),
        ("moderator", &[("read", "b"), ("moderate", "b")]),
        ("author", &[("read", "b"), ("create", "b")]),
        ("stranger", &[("read", "elsewhere")]),
    ];
    let limited = grants.map(|(name, grants)| {
        let user = json!({ "name": name, "password": "correct horse", "groups": [] });
        admin.call("stet-user-create-post", &[]).json(&user).ok();
        let privilege = |(privilege, folder): &(&str, &str)| {
            json!({ "privilege": privilege, "folder": format!("{}/{folder}", ground.folder) })
        };
        let privileges: Vec<Value> = grants.iter().map(privilege).collect();
        let group = json!({ "groupName": format!("of-{name}"), "members": [name], "privileges": privileges });
        admin.call("group-create-post", &[]).json(&group).ok();
        server.client_with(&server.log_in(name, "correct horse").ok()["token"]["value"])
    });
    [admin, server.user("reader")].into_iter().chain(limited).collect()
}

#[test]
fn searches_find_what_a_scan_of_all_that_is_readable_finds() {
    let server = Server::start();
    let mut dice = Dice::new(seed("STET_SEARCH_SEED"));
    let mut ground = Ground::new(&server);
    let clients = callers(&server, &ground);
    ground.author = Some(clients[5].clone());
    for _ in 0..setting("STET_SEARCH_ROUNDS").unwrap_or(6) {
        for _ in 0..10 {
            ground.change(&mut dice);
        }
        for client in &clients {
            let readable = ground.readable(client);
            for _ in 0..5 {
                ground.compare(client, &readable, &mut dice);
            }
        }
    }
}
