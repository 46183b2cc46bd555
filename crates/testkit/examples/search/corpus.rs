//! The objects and posts of the benchmark, and the requests that store them.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use stet_testkit::{Client, Server, encoded};

use crate::options::BenchOptions;
use crate::texts::{Article, ArticleWriter};
use crate::wire::{UserSession, WireConnection, run};

/// The folder of everything.
pub const FOLDER: &str = "/News/Search";
/// The number of clients that create objects and posts.
const BUILDERS: usize = 48;
/// Maximum number of posts in a liveblog, so that each fits into memory.
const POSTS_OF_LIVEBLOG: usize = 10_000;
/// Maximum number of stories in a folder.
const STORIES_OF_FOLDER: usize = 1000;
/// The number of items in the hot drawer.
pub const HOT_ITEMS: usize = 64;

/// The objects and posts, which are known by their numbers.
#[derive(Clone)]
pub struct Corpus {
    writer: Arc<ArticleWriter>,
    pub objects: usize,
    pub posts: usize,
}

impl Corpus {
    /// Creates the corpus that the options describe.
    pub fn of(options: &BenchOptions) -> Corpus {
        Corpus { writer: Arc::new(ArticleWriter::new()), objects: options.objects, posts: options.posts }
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> usize {
        self.objects + self.posts
    }

    /// Writes the article of a story.
    pub fn story(&self, number: usize) -> Article {
        self.writer.write([1, number as u64], 100, 400)
    }

    /// Writes the article of a post.
    pub fn post(&self, number: usize) -> Article {
        self.writer.write([2, number as u64], 50, 150)
    }

    /// Writes the articles of all stories and posts.
    pub fn articles(&self) -> impl Iterator<Item = Article> {
        (0..self.objects).map(|number| self.story(number)).chain((0..self.posts).map(|number| self.post(number)))
    }

    /// Returns the path of a story.
    pub fn story_path(number: usize) -> String {
        format!("{FOLDER}/stories-{}/story-{number}.xml", number / STORIES_OF_FOLDER)
    }

    /// Returns the path of a post's resource.
    pub fn post_resource(number: usize) -> String {
        let ms = number % POSTS_OF_LIVEBLOG;
        // The name is the post's time, which begins at 1,000,000,000 seconds.
        let name = format!("20010909-0146{:02}-{:03}", 40 + ms / 1000, ms % 1000);
        format!("{}/{name}", Self::posts_resource(number))
    }

    /// Returns the path of the resource that adds a post to the liveblog of a number.
    fn posts_resource(number: usize) -> String {
        let blog = format!("{FOLDER}/blog-{}", number / POSTS_OF_LIVEBLOG);
        format!("/v3/container/liveblog/{}/post", encoded(&blog))
    }

    /// Returns the request that creates a story.
    fn story_request(&self, session: &UserSession, number: usize) -> Vec<u8> {
        let article = self.story(number);
        let path = Self::story_path(number);
        let (folder, name) = path.rsplit_once('/').expect("a path has a folder");
        let story = json!({
            "headline": article.headline,
            "language": article.language,
            "byline": article.byline,
            "summary": article.summary,
        });
        let options = json!({
            "name": name, "type": "Story", "folderPath": folder, "attributes": { "story": story },
        });
        session.form("POST", "/v3/object/create", &options, Some(&article.xml("story")))
    }

    /// Returns the request that creates a post.
    fn post_request(&self, session: &UserSession, number: usize) -> Vec<u8> {
        let article = self.post(number);
        let options = json!({
            "title": article.headline,
            "summary": article.summary,
            "timestamp": 1_000_000_000_000 + number % POSTS_OF_LIVEBLOG,
            "attributes": { "post": { "language": article.language, "byline": article.byline } },
        });
        session.form("POST", &Self::posts_resource(number), &options, Some(&article.xml("post")))
    }

    /// Stores everything on a server. Returns the number of objects and posts per second.
    pub fn store(&self, server: &Server) -> f64 {
        let editor = server.login("editor");
        for number in 0..self.posts.div_ceil(POSTS_OF_LIVEBLOG) {
            editor.liveblog(FOLDER, &format!("blog-{number}"));
        }
        editor.drawer(FOLDER, "hot", 1000);
        for number in 0..HOT_ITEMS {
            editor.story(FOLDER, &hot_item(number));
        }
        // Posts of others would be pending.
        let sessions: Vec<_> = ["editor", "admin"].map(|user| UserSession::of(server, user)).into();
        let begun = Instant::now();
        run(async {
            let tasks: Vec<_> = (0..BUILDERS)
                .map(|builder| tokio::spawn(self.clone().store_share(sessions.clone(), builder)))
                .collect();
            for task in tasks {
                task.await.expect("a client runs to its end");
            }
        });
        self.documents() as f64 / begun.elapsed().as_secs_f64()
    }

    /// Stores the share of one client.
    async fn store_share(self, sessions: Vec<UserSession>, builder: usize) {
        let mut connection = WireConnection::open(&sessions[0].address).await;
        for number in (builder..self.objects.max(self.posts)).step_by(BUILDERS) {
            let session = &sessions[number / 7 % sessions.len()];
            if number < self.objects {
                connection.call_patiently(&self.story_request(session, number)).await;
            }
            if number < self.posts {
                connection.call_patiently(&self.post_request(session, number)).await;
            }
        }
    }
}

/// Returns the name of an item of the hot drawer.
pub fn hot_item(number: usize) -> String {
    format!("hot-{number}.xml")
}

/// Returns the paths of the resources for the items of the hot drawer; a position is still missing.
pub fn hot_resources(client: &Client) -> Vec<String> {
    let loid_of = |name: &str| {
        let object = client.get(&format!("/v3/object/{}", encoded(&format!("{FOLDER}/{name}")))).ok();
        object["id"].as_str().expect("an object has an id").to_owned()
    };
    let drawer = loid_of("hot");
    (0..HOT_ITEMS)
        .map(|number| format!("/v3/container/drawer/{drawer}/item/{}/position", loid_of(&hot_item(number))))
        .collect()
}
