//! Liveblogs by the number of their posts, and their followers beside a bare broadcast.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use super::client::{Load, Target, drive};
use super::follow::{Deliveries, Following, follow};
use super::stet::Stet;
use super::{Plan, Requests, bare, median, ratio, report};

/// The numbers of posts in the compared liveblogs.
const SIZES: [usize; 3] = [10, 1_000, 100_000];

/// Followers of one liveblog, and posts a second that arrive meanwhile.
const FOLLOWERS: usize = 2_000;
const POSTS_A_SECOND: u32 = 50;

/// Streams of clients that never read.
const SILENT: usize = 16;

/// A call to liveblogs of different sizes.
type Ask<'a> = &'a dyn Fn(&str, usize) -> Requests;

/// Posts, listings, polls and searches in liveblogs of 10, 1,000 and 100,000 posts.
pub fn sizes(plan: &Plan) {
    let server = Stet::start("journal");
    let blogs = SIZES.map(|posts| server.liveblog_of(posts));
    let page = |blog: &str| format!("/v3/container/liveblog/{blog}?limit=50");
    let asks: [(&str, usize, Ask<'_>); 6] = [
        ("a post made and removed", 1, &|blog, clients| server.posts_in(clients, blog)),
        ("a post made and removed", 64, &|blog, clients| server.posts_in(clients, blog)),
        ("the newest 50 posts", 16, &|blog, clients| vec![vec![server.request("GET", &page(blog), &[])]; clients]),
        ("the same, not modified (304)", 16, &|blog, clients| {
            let etag = server.etag_of(&page(blog));
            vec![vec![server.request("GET", &page(blog), &[("if-none-match", &etag)])]; clients]
        }),
        ("a poll with `since` that finds nothing", 16, &|blog, clients| {
            let since = server.revision_of(blog);
            vec![vec![server.search(blog, &serde_json::json!({ "since": since }))]; clients]
        }),
        ("a search of all texts for a rare word", 1, &|blog, clients| {
            let filters = serde_json::json!({ "text": ["needle"] });
            vec![vec![server.search(blog, &serde_json::json!({ "filters": filters, "limit": 50 }))]; clients]
        }),
    ];
    for (what, clients, ask) in asks {
        let asked = blogs.each_ref().map(|blog| ask(blog, clients));
        let rows: Vec<[Load; 3]> = (0..plan.rounds)
            .map(|_| asked.each_ref().map(|asked| drive(&Target::new(&server.address), asked, plan.length)))
            .collect();
        println!("\n{what}, {clients} clients:");
        report(&["10 posts", "1,000 posts", "100,000 posts"], &rows);
        ratio("cost at 1,000 posts / at 10", &rows, |row| row[0].rate / row[1].rate);
        ratio("cost at 100,000 posts / at 10", &rows, |row| row[0].rate / row[2].rate);
    }
}

/// Followers of one liveblog into which posts arrive, beside a bare handler that passes the bytes
/// of each event on to as many connections. Both count from the moment that the post is sent.
pub fn followers(plan: &Plan) {
    beside_broadcast(plan, "one liveblog", |server| {
        let blog = server.liveblog_of(0);
        let path = format!("/v3/container/liveblog/{blog}/events");
        (blog, path, 1)
    });
}

/// Streams of twelve containers, into one of which posts arrive, beside the same bare handler.
/// Some more clients open such a stream and never read.
pub fn streams(plan: &Plan) {
    beside_broadcast(plan, "a liveblog and eleven drawers", |server| {
        let blog = server.liveblog_of(0);
        let drawers = (0..11).map(|number| server.drawer(&format!("followed-{number}"), &[]));
        let containers: Vec<String> = std::iter::once(blog.clone()).chain(drawers).collect();
        let path = format!("/v3/events?containers={}", containers.join(","));
        for _ in 0..SILENT {
            let mut silent = TcpStream::connect(&server.address).expect("the server listens");
            silent.write_all(&server.request("GET", &path, &[])).expect("the server reads");
            // It stays open until this process ends.
            std::mem::forget(silent);
        }
        // The name of the stream, and a greeting of each container.
        (blog, path, 1 + containers.len())
    });
}

/// Compares followers with a bare broadcast. `open` returns a liveblog, the path that followers
/// request, and the number of events at the beginning.
fn beside_broadcast(plan: &Plan, what: &str, open: impl Fn(&Stet) -> (String, String, usize)) {
    let mut rows: Vec<[Deliveries; 2]> = Vec::new();
    let gap = Duration::from_secs(1) / POSTS_A_SECOND;
    for _ in 0..plan.rounds {
        let server = Stet::start("journal");
        let (blog, path, greetings) = open(&server);
        let (post, request) = (server.post(&blog, None), server.request("GET", &path, &[]));
        let following = Following { request: &request, greetings };
        let stet = follow(&server.address, server.pid(), &following, &post, FOLLOWERS, gap, plan.length);
        // The bytes of an event as they are on the wire, from a follower that has them.
        let bare = bare::Bare::start(&stet.event, None);
        let request =
            |method: &str| format!("{method} /events HTTP/1.1\r\nhost: bare\r\ncontent-length: 0\r\n\r\n").into_bytes();
        let (get, post) = (request("GET"), request("POST"));
        let following = Following { request: &get, greetings: 1 };
        let bare = follow(&bare.address, bare.pid(), &following, &post, FOLLOWERS, gap, plan.length);
        rows.push([stet, bare]);
    }
    println!(
        "\n{FOLLOWERS} followers of {what}, {POSTS_A_SECOND} posts a second, an event of {} bytes:",
        rows[0][0].event.len()
    );
    let of = |index: usize, value: fn(&Deliveries) -> f64| {
        median(&mut rows.iter().map(|row| value(&row[index])).collect::<Vec<_>>())
    };
    for (index, name) in ["stet", "bare broadcast"].into_iter().enumerate() {
        println!(
            "  {name:<16} p50 {:>7.2} ms   p99 {:>7.2} ms   last follower p50 {:>7.2} ms   p99 {:>7.2} ms   {:>5.1} KiB each",
            of(index, |one| one.p50),
            of(index, |one| one.p99),
            of(index, |one| one.last_p50),
            of(index, |one| one.last_p99),
            of(index, |one| one.kib_each),
        );
    }
    ratio("last follower: stet / bare broadcast", &rows, |row| row[0].last_p50 / row[1].last_p50);
    ratio("p99 of all: stet / bare broadcast", &rows, |row| row[0].p99 / row[1].p99);
}
