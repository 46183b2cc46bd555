//! Many logins at once.

use super::*;

const CLIENTS: usize = 400;

#[test]
fn login_storms_are_admitted_gradually_without_harm_to_active_users() {
    let _turn = turn();
    let server = Server::with(&[
        // The default memory, and three times the default work. All requests must be sent before
        // many are answered, on a busy machine as well.
        ("AUTH__PASSWORD_MEMORY_KIB", "19456"),
        ("AUTH__PASSWORD_ITERATIONS", "6"),
    ]);
    let client = server.login("reporter");
    let before = peak(&server);
    let body = json!({ "connectionId": "Editorial", "applicationId": "desk", "username": "editor",
        "password": SAMPLE_PASSWORD });
    // From threads of few words: each a connection that has asked before any is answered.
    let request = body.to_string();
    let request = format!(
        "POST /v3/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{request}",
        request.len()
    );
    let mut streams: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(request.as_bytes()).expect("a request can be sent");
    }
    // Those who are in: reads and writes.
    client.get("/v3/folder/home").ok();
    client.drawer(&own_folder(), "meanwhile", 3);
    let mut tokens = Vec::new();
    let mut refused = 0;
    for stream in &mut streams {
        let (status, body) = next_answer(stream).expect("everybody is answered");
        let json: Value = serde_json::from_slice(&body).expect("an answer is JSON");
        match status {
            200 => tokens.push(json["result"]["token"]["value"].as_str().expect("a login gives a token").to_owned()),
            503 => {
                assert_eq!(json["result"]["code"], "CMS.Overloaded", "{json}");
                refused += 1;
            }
            _ => panic!("{status}: {json}"),
        }
    }
    println!("{} let in, {refused} refused", tokens.len());
    // 256 may wait at a time.
    assert!(tokens.len() >= 256 && refused > 0, "{} let in, {refused} refused", tokens.len());
    for token in tokens {
        let mut client = server.client();
        client.token = Some(token);
        client.get("/v3/folder/home").ok();
    }
    // 400 at a time would be 7,600 MiB.
    assert_peak(&server, before, 400 * MIB);
    // And the door is open again.
    server.login("editor").get("/v3/folder/home").ok();
}
