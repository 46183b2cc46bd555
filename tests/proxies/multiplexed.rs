//! Clients that speak HTTP/2 to a proxy, as browsers do. The server behind it speaks HTTP/1.1.

use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::passing::trusting;
use super::*;

/// The number of followed containers, more than the six connections of a browser.
const CONTAINERS: usize = 8;

/// The bytes of each reply that may be sent ahead, as usual, and those of all together. What a
/// client does not read must not use up the window of its other calls.
const WINDOWS: (u32, u32) = (65_535, 1 << 20);

/// Opens an HTTP/2 connection to a proxy. A task of the runtime drives it.
async fn connected(proxy: &Proxy) -> SendRequest<Bytes> {
    let mut config = proxy.tls_config();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(proxy.tls).await.expect("it listens");
    let stream = TlsConnector::from(Arc::new(config)).connect(proxy.tls_name(), stream).await;
    let stream = stream.expect("a handshake succeeds");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]), "it must choose what browsers prefer");
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
    let (requests, connection) = builder.handshake(stream).await.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    requests
}

/// Sends a GET request and returns the body of the successful reply.
async fn get(requests: &mut SendRequest<Bytes>, proxy: &Proxy, client: &Client, path: &str) -> RecvStream {
    let token = client.token.as_deref().expect("it is logged in");
    let uri = format!("https://{}{path}", proxy.host());
    let request = http::Request::get(uri).header("token", token).body(()).expect("a request can be built");
    let mut ready = requests.clone().ready().await.expect("there is room for a stream");
    let (reply, _) = ready.send_request(request, true).expect("a request can be sent");
    let reply = reply.await.expect("an answer comes");
    assert_eq!(reply.status().as_u16(), 200, "{path}");
    reply.into_body()
}

/// Reads from a body until `wanted` has come.
async fn wait_for(body: &mut RecvStream, wanted: &str) {
    let mut text = String::new();
    while !text.contains(wanted) {
        let more = body.data().await.unwrap_or_else(|| panic!("it ended before `{wanted}` came: {text}"));
        let more = more.expect("the stream goes on");
        body.flow_control().release_capacity(more.len()).expect("it was received");
        text += std::str::from_utf8(&more).expect("events are text");
    }
}

#[test]
fn one_http_2_connection_follows_more_containers_than_a_browser_has_connections() {
    let server = trusting();
    let editor = server.login("editor");
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let folder = own_folder();
        let drawers: Vec<String> =
            (0..CONTAINERS).map(|number| editor.drawer(&folder, &number.to_string(), 100)).collect();
        let story = editor.story(&folder, "story.xml");
        let following = async {
            let mut requests = connected(&proxy).await;
            let mut streams = Vec::new();
            for drawer in &drawers {
                let path = format!("/v3/container/{}/events", encoded(drawer));
                let mut stream = get(&mut requests, &proxy, &editor, &path).await;
                wait_for(&mut stream, "event: hello\n").await;
                streams.push(stream);
            }
            // Calls are answered beside the streams.
            wait_for(&mut get(&mut requests, &proxy, &editor, "/v3/folder/root").await, "}").await;
            for drawer in &drawers {
                editor
                    .post(&format!("/v3/container/drawer/{}/item", encoded(drawer)), &json!({ "sources": [story] }))
                    .ok();
            }
            for stream in &mut streams {
                wait_for(stream, "event: drawer.item").await;
            }
        };
        run(following);
    }
}

/// Returns the number of contents that a server has open.
fn open_contents(server: &Server) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server runs");
    let files = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    files.filter(|file| file.starts_with(server.data().join("content")) && file.is_file()).count()
}

#[test]
fn a_client_of_http_2_that_reads_nothing_is_ended_behind_a_proxy() {
    let server = Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1"), ("SERVER__SLOW_READER_SECONDS", "2")]);
    let editor = server.login("editor");
    // More than the buffers of the system and of a proxy take.
    let bytes: Vec<u8> = (0..32usize << 20).map(|at| ((at * 31) >> 7) as u8).collect();
    let options = json!({ "name": "large.bin", "type": "Document", "folderPath": own_folder() });
    let made = editor.upload("/v3/object/create", &options, Some(("large.bin", "application/pdf", &bytes))).ok();
    let path = format!("/v3/object/{}/content", encoded(made["id"].as_str().expect("a new object has an id")));
    let before = open_contents(&server);
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        run(async {
            let mut requests = connected(&proxy).await;
            let unread = get(&mut requests, &proxy, &editor, &path).await;
            assert_eq!(open_contents(&server), before + 1, "{kind:?}: the reply has begun");
            // Calls are answered beside it, and the client answers each PING meanwhile.
            while open_contents(&server) > before {
                wait_for(&mut get(&mut requests, &proxy, &editor, "/healthz").await, "ok").await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drop(unread);
        });
    }
}

/// Runs what a client does, which may not take longer than tests wait.
fn run(doing: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let outcome = runtime.block_on(async { tokio::time::timeout(PATIENCE, doing).await });
    outcome.expect("what was waited for comes");
}
