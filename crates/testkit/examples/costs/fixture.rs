//! The objects that expensive requests work on. Each part is built when the first request needs it,
//! and is kept over restarts of the server.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use stet_load::black_picture;
use stet_testkit::Server;

use crate::probes::Change;
use crate::texts::{attributes, document, many_attributes, text};
use crate::wire::{Caller, Request};

/// The number of connections that build a fixture.
const BUILDERS: usize = 8;
/// The bytes of the largest attribute text that fits into a JSON body with other fields.
pub const LARGE_TEXT: usize = 3_900_000;
/// The folder of the whole fixture.
pub const FOLDER: &str = "/Costs";
/// The home of the reporter, which is also the large folder.
pub const HOME: &str = "/Users/reporter";

/// The users who send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// A user who may read, create, write and delete.
    Reporter,
    /// A user who may also destroy and moderate.
    Editor,
    /// A user who may do everything.
    Admin,
    /// A user with 1,000 grants on deep folders and no others.
    Granted,
    /// A caller without a session.
    Stranger,
}

/// A server, and the objects that have been built on it.
pub struct Fixture {
    server: RefCell<Option<Server>>,
    tokens: RefCell<BTreeMap<By, String>>,
    numbers: AtomicUsize,
    small: OnceCell<Vec<String>>,
    template: OnceCell<(String, usize)>,
    topic: OnceCell<String>,
    topics: OnceCell<Vec<String>>,
    plan: OnceCell<String>,
    blog: OnceCell<(String, Vec<String>)>,
    drawer: OnceCell<String>,
    heavy_template: OnceCell<String>,
    heavy: OnceCell<Vec<String>>,
    many: OnceCell<String>,
    bundle: OnceCell<String>,
    web: OnceCell<String>,
    deep: OnceCell<String>,
    picture: OnceCell<String>,
    versions: OnceCell<String>,
    people: OnceCell<()>,
    inbox: OnceCell<String>,
    bin: OnceCell<()>,
    change: OnceCell<[Change; 2]>,
}

impl Fixture {
    /// Creates a fixture on a server that has none.
    pub fn new(server: Server) -> Fixture {
        Fixture {
            server: RefCell::new(Some(server)),
            tokens: RefCell::default(),
            numbers: AtomicUsize::new(0),
            small: OnceCell::new(),
            template: OnceCell::new(),
            topic: OnceCell::new(),
            topics: OnceCell::new(),
            plan: OnceCell::new(),
            blog: OnceCell::new(),
            drawer: OnceCell::new(),
            heavy_template: OnceCell::new(),
            heavy: OnceCell::new(),
            many: OnceCell::new(),
            bundle: OnceCell::new(),
            web: OnceCell::new(),
            deep: OnceCell::new(),
            picture: OnceCell::new(),
            versions: OnceCell::new(),
            people: OnceCell::new(),
            inbox: OnceCell::new(),
            bin: OnceCell::new(),
            change: OnceCell::new(),
        }
    }

    /// Returns the id of the server's process.
    pub fn pid(&self) -> u32 {
        self.with_server(Server::pid)
    }

    /// Returns the server's address.
    pub fn base(&self) -> String {
        self.with_server(|server| server.base.clone())
    }

    /// Restarts the server, so that nothing is in its memory.
    pub fn restart(&self) {
        let mut server = self.server.borrow_mut().take().expect("a fixture has a server");
        server.terminate();
        *self.server.borrow_mut() = Some(server.restart());
    }

    fn with_server<T>(&self, what: impl FnOnce(&Server) -> T) -> T {
        what(self.server.borrow().as_ref().expect("a fixture has a server"))
    }

    /// Creates a caller with the session of a user, and with connections of its own.
    pub fn caller(&self, by: By) -> Caller {
        Caller::new(&self.base(), (by != By::Stranger).then(|| self.token(by)))
    }

    /// Returns the token of a user's session.
    pub fn token(&self, by: By) -> String {
        if by == By::Granted {
            self.people();
        }
        if let Some(token) = self.tokens.borrow().get(&by) {
            return token.clone();
        }
        let token = self.fresh_token(by);
        self.tokens.borrow_mut().insert(by, token.clone());
        token
    }

    /// Returns the token of a new session of a user.
    pub fn fresh_token(&self, by: By) -> String {
        let (name, password) = match by {
            By::Reporter => ("reporter", stet_testkit::SAMPLE_PASSWORD),
            By::Editor => ("editor", stet_testkit::SAMPLE_PASSWORD),
            By::Admin => ("admin", stet_testkit::ADMIN_PASSWORD),
            By::Granted => ("granted", "a long secret"),
            By::Stranger => unreachable!("a stranger has no session"),
        };
        let login = Request::new("auth-login-post", &[]).json(&stet_testkit::credentials(name, password));
        let reply = self.caller(By::Stranger).result(&login).expect("users of the sample can log in");
        reply["token"]["value"].as_str().expect("a login has a token").to_owned()
    }

    /// Returns a unique name.
    pub fn name(&self) -> String {
        format!("c{}", self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    /// Sends a request of a user. Returns its result.
    ///
    /// # Panics
    /// If the server refuses the request: a fixture stays within all limits.
    pub fn result(&self, by: By, request: &Request) -> Value {
        self.caller(by).result(request).unwrap_or_else(|error| panic!("a fixture can be built: {error:.2000}"))
    }

    /// Sends `count` requests on several connections, until one is refused. Returns the results of
    /// those that succeed.
    pub fn build(&self, by: By, count: usize, request: impl Fn(usize) -> Request + Sync) -> Vec<Value> {
        let (next, refused) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let callers: Vec<_> = (0..BUILDERS).map(|_| self.caller(by)).collect();
        let build = &|caller: Caller| {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count || refused.load(Ordering::Relaxed) < number {
                    return done;
                }
                match caller.result(&request(number)) {
                    Ok(result) => done.push((number, result)),
                    Err(error) => {
                        if refused.fetch_min(number, Ordering::Relaxed) == usize::MAX {
                            eprintln!("  a fixture ends at {number} of {count}: {error:.300}");
                        }
                    }
                }
            }
        };
        let mut all: Vec<(usize, Value)> = std::thread::scope(|scope| {
            let threads: Vec<_> = callers.into_iter().map(|caller| scope.spawn(move || build(caller))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a builder does not panic")).collect()
        });
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, result)| result).collect()
    }

    /// Sends one request of the reporter `count` times, until it is refused.
    fn build_equal(&self, count: usize, request: &Request) -> Vec<Value> {
        self.build(By::Reporter, count, |_| request.clone())
    }

    /// Returns a request of some hundred bytes that creates an object from a template.
    pub fn request_from(&self, template: &str, more: &Value) -> Request {
        let mut body = json!({ "name": self.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME" });
        merge(&mut body, more);
        Request::new("stet-object-create-from-template-post", &[]).query("path", template).json(&body)
    }

    /// Creates an object of the reporter with this content and these options.
    pub fn object(&self, options: &Value, content: &[u8], media_type: &str) -> String {
        let mut all = json!({ "name": self.name(), "folderPath": FOLDER });
        merge(&mut all, options);
        let request = Request::new("stet-object-create-post", &[]).form(&all, &[("content", media_type, content)]);
        id(&self.result(By::Reporter, &request))
    }

    /// Returns objects with 2 KB of attributes and long names: the entries of the reporter's home.
    pub fn small(&self) -> &[String] {
        self.small.get_or_init(|| {
            let body = json!({ "workFolder": HOME });
            self.result(By::Admin, &Request::new("stet-user-update-put", &[&"reporter"]).json(&body));
            self.objects(20_000, HOME)
        })
    }

    /// Creates small objects in a folder. Returns their ids.
    pub fn objects(&self, count: usize, folder: &str) -> Vec<String> {
        let made = self.build(By::Reporter, count, |number| {
            let name = format!("{}{number:06}", "a".repeat(200));
            let options = json!({
                "name": name, "folderPath": folder, "type": "Story", "attributes": attributes(2000, number as u64),
            });
            Request::new("stet-object-create-post", &[]).form(&options, &[("content", "text/xml", b"<story/>")])
        });
        made.iter().map(id).collect()
    }

    /// Returns the topic with as many lines as a new topic may have. Requests of some hundred bytes
    /// create topics from it.
    pub fn template(&self) -> &str {
        &self.template_and_lines().0
    }

    fn template_and_lines(&self) -> &(String, usize) {
        self.template.get_or_init(|| {
            // The largest number of lines from which a new topic is accepted.
            for lines in [1000, 700, 500, 250, 100] {
                let topic = self.empty_topic();
                let made = self.build(By::Reporter, lines, |number| {
                    Request::new("topicitem-post", &[&topic]).json(&line(number, 7800))
                });
                let tried = self.caller(By::Reporter).result(&self.topic_from(&topic));
                if made.len() == lines && tried.is_ok() {
                    return (topic, lines);
                }
            }
            panic!("no topic can be made of a template");
        })
    }

    /// Creates an empty topic.
    pub fn empty_topic(&self) -> String {
        let body = json!({ "name": self.name(), "folderPath": FOLDER });
        id_in_info(&self.result(By::Reporter, &Request::new("topic-post", &[]).json(&body)))
    }

    /// Returns a request that creates a topic from the largest template.
    pub fn topic_from(&self, template: &str) -> Request {
        let body = json!({ "name": self.name(), "folderPath": FOLDER, "createMode": "AUTO_RENAME" });
        Request::new("topic-from-template-post", &[&template]).json(&body)
    }

    /// Returns a topic with as many lines as allowed, each as large as allowed.
    pub fn topic(&self) -> &str {
        self.topic.get_or_init(|| {
            let lines = self.template_and_lines().1;
            let name = self.name();
            let body = json!({ "name": name, "folderPath": FOLDER, "createMode": "NEW_VERSION" });
            let request = Request::new("topic-from-template-post", &[&self.template()]).json(&body);
            let mut topic = String::new();
            let caller = self.caller(By::Reporter);
            for number in 0..20_000 / lines {
                match caller.result(&request) {
                    Ok(made) => topic = id_in_info(&made),
                    Err(error) => {
                        eprintln!("  the largest topic has {number} times {lines} lines: {error:.300}");
                        break;
                    }
                }
            }
            topic
        })
    }

    /// Returns thirty large topics. An item of each has the first heavy object attached.
    pub fn topics(&self) -> &[String] {
        self.topics.get_or_init(|| {
            let topics = self.large_topics(30, FOLDER);
            let object = &self.heavy()[0];
            for topic in &topics {
                let request = Request::new("topicitem-post", &[topic]);
                let body = json!({ "name": "with an object", "attachment": object });
                self.result(By::Reporter, &request.json(&body));
            }
            topics
        })
    }

    /// Creates topics from the largest template in a folder.
    pub fn large_topics(&self, count: usize, folder: &str) -> Vec<String> {
        let template = self.template();
        let made = self.build(By::Reporter, count, |number| {
            let body = json!({ "name": format!("t{number}"), "folderPath": folder, "createMode": "AUTO_RENAME" });
            Request::new("topic-from-template-post", &[&template]).json(&body)
        });
        made.iter().map(id_in_info).collect()
    }

    /// Returns a plan of the thirty topics.
    pub fn plan(&self) -> &str {
        self.plan.get_or_init(|| {
            let body = json!({ "name": self.name(), "folderPath": FOLDER });
            let plan = id_in_info(&self.result(By::Reporter, &Request::new("topicplan-post", &[]).json(&body)));
            for topic in self.topics() {
                self.result(By::Reporter, &Request::new("topicplan-add-put", &[&plan, topic]));
            }
            plan
        })
    }

    /// Returns a liveblog of large posts, and their ids.
    pub fn blog(&self) -> (&str, &[String]) {
        let (blog, posts) = self.blog.get_or_init(|| {
            let blog = self.empty_blog();
            let made = self.build(By::Editor, 2000, |number| post(&blog, number, 30_000));
            let posts = made.iter().map(id_in_info).collect();
            (blog, posts)
        });
        (blog, posts)
    }

    /// Creates a liveblog without posts.
    pub fn empty_blog(&self) -> String {
        let body = json!({ "name": self.name(), "folderPath": FOLDER });
        let request = Request::new("liveblog-from-default-template-post", &[]).json(&body);
        id_in_info(&self.result(By::Reporter, &request))
    }

    /// Returns a drawer of 10,000 items.
    pub fn drawer(&self) -> &str {
        self.drawer.get_or_init(|| self.filled_drawer(10_000))
    }

    /// Creates a drawer with this number of small objects.
    pub fn filled_drawer(&self, count: usize) -> String {
        let sources = &self.small()[..count];
        let body = json!({ "name": self.name(), "folderPath": FOLDER, "capacity": 10_000, "sources": sources });
        id_in_info(&self.result(By::Reporter, &Request::new("drawer-post", &[]).json(&body)))
    }

    /// Returns an object with nearly 4 MB of attributes and as much content, from which others are
    /// created.
    pub fn heavy_template(&self) -> &str {
        self.heavy_template.get_or_init(|| {
            let name = self.name();
            let options = json!({ "name": name, "type": "Story" });
            let object = self.object(&options, &document(4_000_000), "text/xml");
            self.enlarge(&object);
            format!("{FOLDER}/{name}")
        })
    }

    /// Writes nearly 4 MB of attributes to an object.
    fn enlarge(&self, object: &str) {
        let operators = json!([{ "set": { "xpath": "/attributes/story/headline", "content": text(LARGE_TEXT, 3) } }]);
        let body = json!({ "updateFields": [{ "sourceIds": [object], "operators": operators }] });
        let request = Request::new("stet-object-metadata-change-fields-post", &[]).json(&body);
        self.result(By::Reporter, &request);
    }

    /// Returns a hundred objects with nearly 4 MB of attributes each, in one story family. The
    /// first is linked with all others.
    pub fn heavy(&self) -> &[String] {
        self.heavy.get_or_init(|| {
            let template = self.heavy_template();
            let more = json!({ "suid": "heavy-family", "type": "Story" });
            let made = self.build_equal(100, &self.request_from(template, &more));
            let heavy: Vec<String> = made.iter().map(id).collect();
            for other in &heavy[1..] {
                let body = json!({ "sourceLinkName": "to", "targetLinkName": "from", "targetSource": other });
                let request = Request::new("stet-object-correlate-post", &[&heavy[0]]).json(&body);
                self.result(By::Reporter, &request);
            }
            heavy
        })
    }

    /// Returns an object whose attributes have as many elements as allowed.
    pub fn many(&self) -> &str {
        self.many.get_or_init(|| {
            let options = json!({ "type": "Story", "attributes": many_attributes(99_000) });
            self.object(&options, &document(4_000_000), "text/xml")
        })
    }

    /// Returns a bundle of a hundred bundles, each with nearly 4 MB of attributes.
    pub fn bundle(&self) -> &str {
        self.bundle.get_or_init(|| {
            let (bundle, _) = self.heavy_bundle();
            let template = format!("{FOLDER}/{}", self.name_of(&bundle));
            let more = json!({ "type": "CompoundStory", "folder": bundle, "folderPath": null });
            self.build_equal(100, &self.request_from(&template, &more));
            bundle
        })
    }

    /// Creates a bundle with nearly 4 MB of attributes. Returns its id and its path.
    pub fn heavy_bundle(&self) -> (String, String) {
        let name = self.name();
        let options = json!({ "name": name, "type": "CompoundStory" });
        let bundle = self.object(&options, b"<story/>", "text/xml");
        self.enlarge(&bundle);
        (bundle, format!("{FOLDER}/{name}"))
    }

    fn name_of(&self, object: &str) -> String {
        let reply = self.result(By::Reporter, &Request::new("object-get", &[&object]).query("showAttributes", false));
        reply["name"].as_str().expect("a record has a name").to_owned()
    }

    /// Returns a web container that names 199 bundles, each with nearly 4 MB of attributes.
    pub fn web(&self) -> &str {
        self.web.get_or_init(|| {
            let (_, template) = self.heavy_bundle();
            let more = json!({ "type": "CompoundStory" });
            let made = self.build_equal(199, &self.request_from(&template, &more));
            let links: String = made.iter().map(|bundle| format!("<link href='{}'/>", id(bundle))).collect();
            let content = format!("<webContainer>{links}</webContainer>");
            self.object(&json!({ "type": "WebContainer" }), content.as_bytes(), "text/xml")
        })
    }

    /// Returns the path of a story as deep as allowed.
    pub fn deep(&self) -> &str {
        self.deep.get_or_init(|| {
            let folder = format!("{FOLDER}{}", format!("/{}", "d".repeat(200)).repeat(62));
            self.object(&json!({ "name": "deep", "folderPath": folder, "type": "Story" }), b"<story/>", "text/xml");
            format!("{folder}/deep")
        })
    }

    /// Returns a picture of the most expensive size: 28 million pixels of 16 bits in four channels.
    pub fn picture(&self) -> &str {
        self.picture.get_or_init(|| {
            self.object(&json!({ "name": "large.png", "type": "Image" }), &black_picture(5370), "image/png")
        })
    }

    /// Returns an object with 1,000 versions.
    pub fn versions(&self) -> &str {
        self.versions.get_or_init(|| {
            let object = self.object(&json!({ "type": "Story" }), b"<story/>", "text/xml");
            for number in 0..1000 {
                let put = Request::new("stet-object-content-put", &[&object]).query("newVersion", true);
                self.result(By::Reporter, &put.bytes("text/xml", format!("<story>{number}</story>").into_bytes()));
            }
            object
        })
    }

    /// Creates a thousand users in one group, and one user with 1,000 grants on folders 41 levels
    /// deep.
    pub fn people(&self) {
        self.people.get_or_init(|| {
            let base = format!("{FOLDER}{}", "/level".repeat(40));
            self.build(By::Admin, 1000, |number| {
                Request::new("folder-post", &[]).json(&json!({ "path": format!("{base}/{number}") }))
            });
            let user = json!({ "name": "granted", "password": "a long secret" });
            self.result(By::Admin, &Request::new("stet-user-create-post", &[]).json(&user));
            let grants: Vec<_> =
                (0..1000).map(|number| json!({ "privilege": "read", "folder": format!("{base}/{number}") })).collect();
            let group = json!({ "groupName": "granted", "members": ["granted"], "privileges": grants });
            self.result(By::Admin, &Request::new("group-create-post", &[]).json(&group));
            self.build(By::Admin, 1000, |number| {
                Request::new("stet-user-create-post", &[]).json(&json!({ "name": format!("person-{number}") }))
            });
            let members: Vec<_> = (0..1000).map(|number| format!("person-{number}")).collect();
            let group = json!({ "groupName": "everybody", "members": members });
            self.result(By::Admin, &Request::new("group-create-post", &[]).json(&group));
        });
    }

    /// Fills the reporter's inbox and outbox with messages of the largest texts. Returns the id of
    /// one.
    pub fn inbox(&self) -> &str {
        self.inbox.get_or_init(|| {
            let body = json!({ "subject": "s", "body": text(65_000, 5), "recipients": ["reporter"] });
            let made = self.build(By::Reporter, 990, |_| Request::new("message-sendmail-post", &[]).json(&body));
            id(&made[0])
        })
    }

    /// Fills the recycle bin with 10,000 entries.
    pub fn bin(&self) {
        self.bin.get_or_init(|| {
            let objects = self.objects(10_000, &format!("{FOLDER}/binned"));
            self.result(By::Reporter, &Request::new("objects-discard", &[]).json(&json!(objects)));
        });
    }

    /// Returns the changes of other users: an item of a drawer that moves up and down.
    pub fn changes(&self) -> &[Change; 2] {
        self.change.get_or_init(|| {
            [0, 1].map(|_| {
                let folder = format!("/Others/{}", self.name());
                let stories: Vec<String> = (0..3)
                    .map(|_| {
                        let options = json!({ "name": self.name(), "folderPath": folder, "type": "Story" });
                        let form = Request::new("stet-object-create-post", &[]).form(&options, &[]);
                        id(&self.result(By::Admin, &form))
                    })
                    .collect();
                let body = json!({ "name": "drawer", "folderPath": folder, "sources": stories });
                let drawer = id_in_info(&self.result(By::Admin, &Request::new("drawer-post", &[]).json(&body)));
                let endpoint = stet_testkit::Endpoint::of("drawer-item-position-put");
                let path = |position: &dyn Display| endpoint.path_of(&[&drawer, &stories[0], position]);
                Change { token: self.token(By::Admin), paths: [path(&0), path(&2)] }
            })
        })
    }
}

/// Returns a line of a topic as large as allowed, except for its attributes, which have this number
/// of bytes.
pub fn line(number: usize, attribute_bytes: usize) -> Value {
    let word = |seed: usize| text(250, (number * 8 + seed) as u64);
    json!({
        "name": word(0), "contentType": word(1), "occupation": word(2), "product": word(3), "edition": word(4),
        "priority": word(5), "customPriority": word(6), "comment": text(8190, number as u64),
        "assignees": (0..100).map(word).collect::<Vec<_>>(),
        "attributes": attributes(attribute_bytes, number as u64),
    })
}

/// Returns a request that adds a post as large as allowed, with a content of this number of bytes.
pub fn post(blog: &str, number: usize, content: usize) -> Request {
    let tags: Vec<_> = (0..100).map(|tag| text(250, (number * 100 + tag) as u64)).collect();
    let options = json!({
        "title": text(1020, number as u64), "summary": text(8190, number as u64), "description": text(8190, 9),
        "tags": tags, "timestamp": 1_700_000_000_000_u64 + number as u64, "createMode": "AUTO_RENAME",
    });
    let content = format!("<post><p>{}</p></post>", text(content, number as u64));
    Request::new("liveblog-post-create", &[&blog]).form(&options, &[("content", "text/xml", content.as_bytes())])
}

/// Adds the members of an object to another; null removes one.
fn merge(to: &mut Value, from: &Value) {
    let (Some(to), Some(from)) = (to.as_object_mut(), from.as_object()) else { return };
    for (key, value) in from {
        if value.is_null() {
            to.remove(key);
        } else {
            to.insert(key.clone(), value.clone());
        }
    }
}

/// Returns the id of a record.
pub fn id(record: &Value) -> String {
    record["id"].as_str().unwrap_or_else(|| panic!("a record has an id: {record:.300}")).to_owned()
}

/// Returns the id of the record in a container's reply.
pub fn id_in_info(reply: &Value) -> String {
    id(&reply["info"])
}
