//! A bare actix-web handler in a process of its own: what the web framework can do on this machine.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use actix_web::web::{Bytes, Data, Payload};
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer, web};
use futures_util::stream::unfold;
use tokio::sync::broadcast::{Sender, channel};

/// Makes the benchmark's binary serve instead.
pub const FLAG: &str = "--serve-bare";

pub struct Bare {
    child: Child,
    pub address: String,
}

impl Bare {
    /// Answers everything with these bytes, or with a 304 what asks with this ETag.
    pub fn start(body: &[u8], etag: Option<&str>) -> Bare {
        let mut child = Command::new(std::env::current_exe().expect("a process knows its binary"))
            .arg(FLAG)
            .env("BARE_ETAG", etag.unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(body).expect("it reads");
        drop(stdin);
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("it says where it listens");
        Bare { child, address: line.trim().to_owned() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other side: reads the body from standard input, then serves until it is killed.
pub fn serve() {
    let mut body = Vec::new();
    std::io::copy(&mut std::io::stdin(), &mut body).expect("the parent writes");
    let answer = Data::new((Bytes::from(body), std::env::var("BARE_ETAG").unwrap_or_default()));
    let followers = Data::new(channel::<Bytes>(1024).0);
    actix_web::rt::System::new().block_on(async {
        // As many as ours has.
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2 + 1);
        let app = move || {
            App::new()
                .app_data(answer.clone())
                .app_data(followers.clone())
                .route("/events", web::get().to(follow))
                .route("/events", web::post().to(publish))
                .default_service(web::to(handle))
        };
        let server = HttpServer::new(app).workers(workers).bind("127.0.0.1:0").expect("a port is free");
        println!("{}", server.addrs()[0]);
        server.run().await.expect("it serves until it is killed");
    });
}

async fn handle(request: HttpRequest, _: Payload, answer: Data<(Bytes, String)>) -> HttpResponse {
    let asked = request.headers().get("if-none-match").and_then(|value| value.to_str().ok());
    if asked.is_some_and(|asked| asked == answer.1) {
        return HttpResponse::NotModified().insert_header(("etag", answer.1.as_str())).finish();
    }
    HttpResponse::Ok().content_type("application/json").body(answer.0.clone())
}

/// Returns a stream of all events, with a greeting first.
async fn follow(followers: Data<Sender<Bytes>>) -> HttpResponse {
    let hello = Bytes::from_static(b"id: 0\nevent: hello\ndata: {}\n\n");
    let events = unfold((Some(hello), followers.subscribe()), |(hello, mut events)| async move {
        let event = match hello {
            Some(hello) => hello,
            None => events.recv().await.ok()?,
        };
        Some((Ok::<_, Error>(event), (None, events)))
    });
    HttpResponse::Ok().content_type("text/event-stream").streaming(events)
}

/// Sends all followers the bytes that it was started with.
async fn publish(answer: Data<(Bytes, String)>, followers: Data<Sender<Bytes>>) -> HttpResponse {
    let _ = followers.send(answer.0.clone());
    HttpResponse::Ok().finish()
}
