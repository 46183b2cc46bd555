//! Clients that send or read slowly.

use std::time::Duration;

use hyper::Method;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::sleep;

use super::{id, text};
use crate::call::{Call, FormFile};
use crate::client::Socket;
use crate::desk::encode_segment;
use crate::hostile::client::HostileClient;

/// The number of open connections of one client.
const CONNECTIONS: usize = 8;
/// The time that a client keeps them open.
const STAY: Duration = Duration::from_secs(8);
/// The time for which a client sends, longer than a server usually waits for a head.
const SENDING: Duration = Duration::from_secs(12);
/// The time between two bytes or two small reads.
const NOW_AND_THEN: Duration = Duration::from_millis(400);

/// Requests replies of several MB and reads a KB of each at times.
pub async fn read_slowly(client: &mut HostileClient) {
    let large = match client.kept("large") {
        Some(large) => Some(large),
        None => create_large(client).await,
    };
    let Some(large) = large else { return };
    let path = format!("/v3/object/{}?showXml=true&showPath=true", encode_segment(&large));
    let head = format!("GET {} HTTP/1.1\r\nhost: hostile\r\n\r\n", client.uri(&path));
    let mut sockets = open(client, head.as_bytes()).await;
    for socket in &mut sockets {
        client.answer(socket, STAY).await;
    }
    let begun = std::time::Instant::now();
    while begun.elapsed() < STAY {
        for socket in &mut sockets {
            // A connection that the server has closed returns nothing.
            let _ = tokio::time::timeout(Duration::from_millis(10), socket.read(&mut [0; 1024])).await;
        }
        sleep(NOW_AND_THEN).await;
    }
}

/// Creates an object with some MB of attributes.
async fn create_large(client: &mut HostileClient) -> Option<String> {
    let options = json!({ "name": "large.xml", "folderPath": client.folder, "type": "Story" });
    let content = FormFile { part: "content", name: "a.xml", media_type: "text/xml", text: "<story/>" };
    let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[content]);
    let large = id(&client.result(&call).await?)?;
    let set = json!([{ "set": { "xpath": "/attributes/story/headline", "content": text(3_000_000, 5) } }]);
    let body = json!({ "updateFields": [{ "sourceIds": [large], "operators": set }] });
    client.json(Method::POST, "/v3/object/metadata/change/fields", &body).await?;
    client.keep("large", large.clone());
    Some(large)
}

/// Sends heads and bodies byte by byte.
pub async fn send_slowly(client: &mut HostileClient) {
    let body = format!(
        "POST {} HTTP/1.1\r\nhost: hostile\r\ncontent-type: application/json\r\ncontent-length: 3000000\r\n\r\n",
        client.uri("/v3/object")
    );
    let mut sockets = open(client, b"GET /v3/folder/root HTTP/1.1\r\nhost: ").await;
    sockets.extend(open(client, body.as_bytes()).await);
    for socket in sockets.iter_mut().skip(CONNECTIONS) {
        HostileClient::write(socket, &vec![b' '; 500_000]).await;
    }
    let begun = std::time::Instant::now();
    while begun.elapsed() < SENDING {
        for socket in &mut sockets {
            HostileClient::write(socket, b" ").await;
        }
        sleep(NOW_AND_THEN).await;
    }
    for socket in &mut sockets {
        client.answer(socket, Duration::from_millis(10)).await;
    }
}

/// Follows a drawer's events without reading them, and changes the drawer.
pub async fn follow_without_reading(client: &mut HostileClient, round: u64) {
    let drawer = match client.kept("drawer") {
        Some(drawer) => drawer,
        None => {
            let made = client.json(Method::POST, "/v3/container/drawer", &client.new_object("drawer")).await;
            let Some(drawer) = made.as_ref().and_then(id) else { return };
            client.keep("drawer", drawer.clone());
            drawer
        }
    };
    let path = format!("/v3/container/{}/events", encode_segment(&drawer));
    let head = format!("GET {} HTTP/1.1\r\nhost: hostile\r\nlast-event-id: 1\r\n\r\n", client.uri(&path));
    let mut sockets = open(client, head.as_bytes()).await;
    for socket in &mut sockets {
        client.answer(socket, STAY).await;
    }
    let path = format!("/v3/container/drawer/{}", encode_segment(&drawer));
    let begun = std::time::Instant::now();
    let mut change = 0;
    while begun.elapsed() < STAY {
        change += 1;
        let body = json!({ "title": format!("change {round}.{change}") });
        client.json(Method::PUT, &path, &body).await;
    }
}

/// Opens connections and sends the beginning of a request on each.
async fn open(client: &HostileClient, beginning: &[u8]) -> Vec<Box<dyn Socket>> {
    let mut sockets = Vec::new();
    for _ in 0..CONNECTIONS {
        let Some(mut socket) = client.socket().await else { continue };
        if HostileClient::write(&mut socket, beginning).await {
            sockets.push(socket);
        }
    }
    sockets
}
