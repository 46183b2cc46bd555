//! Changes at a rate, while something else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use stet_testkit::{Dice, Server};

use crate::corpus::{Corpus, hot_resources};
use crate::wire::{CallSamples, UserSession, WireConnection, run};

/// The number of clients that send changes.
const CLIENTS: usize = 32;

/// The changes: half of them positions in a drawer, a quarter headlines of stories, a quarter
/// titles of posts.
pub struct ChangeMix {
    corpus: Corpus,
    session: UserSession,
    hot: Vec<String>,
}

impl ChangeMix {
    /// Prepares changes on a server.
    pub fn of(corpus: &Corpus, server: &Server) -> ChangeMix {
        let session = UserSession::of(server, "editor");
        ChangeMix { corpus: corpus.clone(), session, hot: hot_resources(&server.login("editor")) }
    }

    /// Returns the request of the change with a number.
    fn request(&self, number: usize, dice: &mut Dice) -> Vec<u8> {
        let corpus = &self.corpus;
        match number % 4 {
            0 | 2 => {
                let resource = &self.hot[dice.roll(self.hot.len())];
                self.session.request("PUT", &format!("{resource}/{}", dice.roll(60)))
            }
            1 => {
                let other = corpus.story(dice.roll(corpus.objects)).headline;
                headline_request(&self.session, dice.roll(corpus.objects), &other)
            }
            _ => {
                let other = corpus.post(dice.roll(corpus.posts)).headline;
                title_request(&self.session, dice.roll(corpus.posts), &other)
            }
        }
    }

    /// Sends changes at a rate, as far as the server keeps up, until `over` is set.
    pub fn send(self, rate: usize, over: &Arc<AtomicBool>) -> CallSamples {
        let (mix, begun) = (Arc::new(self), Instant::now());
        run(async {
            let tasks: Vec<_> =
                (0..CLIENTS).map(|client| tokio::spawn(mix.clone().send_share(client, rate, over.clone()))).collect();
            let mut all = CallSamples::default();
            for task in tasks {
                all.merge(task.await.expect("a client runs to its end"));
            }
            all.elapsed = begun.elapsed();
            all
        })
    }

    async fn send_share(self: Arc<Self>, client: usize, rate: usize, over: Arc<AtomicBool>) -> CallSamples {
        let mut connection = WireConnection::open(&self.session.address).await;
        let mut dice = Dice::of(&[4, client as u64]);
        let pace = Duration::from_secs_f64(CLIENTS as f64 / rate as f64);
        let mut due = Instant::now() + pace.mul_f64(client as f64 / CLIENTS as f64);
        let mut samples = CallSamples::default();
        for number in client.. {
            tokio::time::sleep_until(due.into()).await;
            if over.load(Ordering::Relaxed) {
                break;
            }
            let request = self.request(number, &mut dice);
            let sent = Instant::now();
            let status = connection.call(&request).await;
            samples.add(0, sent.elapsed(), status);
            // What the server did not keep up with is not sent later.
            due = (due + pace).max(Instant::now());
        }
        samples
    }
}

/// Runs a measurement while changes are sent. Returns its result and the times of the changes.
pub fn beside<T>(mix: ChangeMix, rate: usize, measure: impl FnOnce() -> T) -> (T, CallSamples) {
    let over = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| mix.send(rate, &over));
        let result = measure();
        over.store(true, Ordering::Relaxed);
        (result, sending.join().expect("the clients run to their end"))
    })
}

/// Returns the request that sets the headline of a story.
pub fn headline_request(session: &UserSession, number: usize, headline: &str) -> Vec<u8> {
    let set = json!({ "set": { "xpath": "/attributes/story/headline", "content": headline } });
    let body = json!({ "updateFields": [{ "sourceIds": [Corpus::story_path(number)], "operators": [set] }] });
    session.request_with("POST", "/v3/object/metadata/change/fields", "application/json", &body.to_string())
}

/// Returns the request that sets the title of a post.
pub fn title_request(session: &UserSession, number: usize, title: &str) -> Vec<u8> {
    session.form("PUT", &Corpus::post_resource(number), &json!({ "title": title }), None)
}
