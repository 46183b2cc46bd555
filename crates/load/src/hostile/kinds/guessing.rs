//! Clients that send what the server must refuse or keep.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde_json::json;

use super::{id, text};
use crate::call::Call;
use crate::desk::encode_segment;
use crate::hostile::client::HostileClient;

/// Tries passwords of one user and of many. None of these users logs in otherwise: their logins
/// would be refused, too.
pub async fn guess_passwords(client: &mut HostileClient, round: u64) {
    for number in 0..10 {
        let name = if number % 2 == 0 { format!("nobody-{round}-{number}") } else { "load-guessed".to_owned() };
        let body = json!({ "connectionId": "Editorial", "applicationId": "hostile", "username": name,
            "password": format!("guess {round} {number}") });
        client.send(&Call::json(Method::POST, "/v3/auth/login", &body)).await;
    }
}

/// Sends bytes that are no request, and bodies that are no JSON or too deep.
pub async fn send_rubbish(client: &mut HostileClient, round: u64) {
    for number in 0..4 {
        let Some(mut socket) = client.socket().await else { continue };
        let rubbish = format!("{}\r\n\r\n", text(2000, round * 4 + number));
        if HostileClient::write(&mut socket, rubbish.as_bytes()).await {
            client.answer(&mut socket, Duration::from_secs(2)).await;
        }
    }
    let bodies = [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(300_000),
        format!("{{\"sources\": [{}]", "\"x\",".repeat(100_000)),
        format!("[{}0]", "0,".repeat(1_000_000)),
        format!("{{\"sources\": [\"{}\"]}}", "\\u0000".repeat(100_000)),
    ];
    for body in bodies {
        let body = Bytes::from(body);
        client.send(&Call { body, ..Call::new(Method::POST, "/v3/object".to_owned()) }).await;
    }
    client.get(&format!("/v3/object/{}", "%FF".repeat(2000))).await;
}

/// Changes a topic under a new `Idempotency-Key` each time.
pub async fn flood_with_keys(client: &mut HostileClient, round: u64) {
    let topic = match client.kept("topic") {
        Some(topic) => topic,
        None => {
            let made = client.json(Method::POST, "/v3/container/topic", &client.new_object("topic")).await;
            let Some(topic) = made.as_ref().and_then(id) else { return };
            client.keep("topic", topic.clone());
            topic
        }
    };
    let path = format!("/v3/container/topic/{}/divider", encode_segment(&topic));
    for number in 0..100 {
        // A topic has at most 1,000 dividers: most of these calls are refused, and their refusals
        // are kept.
        let key = format!("{}-{round}-{number}", client.folder);
        let call = Call { idempotency_key: Some(key), ..Call::json(Method::POST, &path, &json!({ "title": "d" })) };
        client.send(&call).await;
    }
}
