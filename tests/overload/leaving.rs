//! Clients that are gone before they are answered, and clients that ask without waiting for
//! answers.

use std::time::Duration;

use super::*;

fn create(client: &Client, folder: &str, name: &str) -> Vec<u8> {
    post(client, "/v3/container/drawer", &json!({ "folderPath": folder, "name": name }))
}

fn is_there(client: &Client, folder: &str, name: &str) -> bool {
    client.get(&format!("/v3/object/{}", encoded(&format!("{folder}/{name}")))).status == 200
}

#[test]
fn a_change_that_was_asked_for_is_made_though_nobody_waits_for_the_answer() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    client.drawer(&folder, "first", 3);
    let names: Vec<String> = (0..100).map(|number| format!("left-{number}")).collect();
    for name in &names {
        let mut stream = connect(&server);
        stream.write_all(&create(&client, &folder, name)).expect("a request can be sent");
        // All of it is sent; nothing is taken any more.
        drop(stream);
    }
    for name in &names {
        wait_until(name, || is_there(&client, &folder, name));
    }
    let mut server = server;
    assert_eq!(server.terminate(), Some(0));
    let (code, text) = server.check();
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn connections_torn_down_in_the_middle_leave_all_of_a_change_or_nothing() {
    let _turn = turn();
    let mut server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    client.drawer(&folder, "first", 3);
    let files = open_files(&server);
    for number in 0..200 {
        let mut stream = connect(&server);
        let request = create(&client, &folder, &format!("torn-{number}"));
        let end = if number % 2 == 0 { request.len() } else { request.len() - number / 2 - 1 };
        stream.write_all(&request[..end]).expect("a part can be sent");
        // A reset: the system throws away what the server has not read.
        let socket = socket2::SockRef::from(&stream);
        socket.set_linger(Some(Duration::ZERO)).expect("it can be set");
        drop(stream);
    }
    wait_until_closed(&server, files);
    for number in (1..200).step_by(2) {
        assert!(!is_there(&client, &folder, &format!("torn-{number}")), "half a request was carried out");
    }
    assert_serves(&server);
    assert_eq!(server.terminate(), Some(0));
    let (code, text) = server.check();
    assert_eq!(code, Some(0), "{text}");
}

/// Checks that no request after a reply that closes the connection is carried out, so a client
/// knows which to send again. Waiting requests cost little memory.
#[test]
fn changes_sent_ahead_are_carried_out_up_to_the_reply_that_closes() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let before = peak(&server);
    let names: Vec<String> = (0..500).map(|number| format!("row-{number}")).collect();
    let mut done = 0;
    while done < 20 {
        let mut stream = connect(&server);
        let mut writer = stream.try_clone().expect("a socket can be shared");
        let requests: Vec<u8> = names[done..].iter().flat_map(|name| create(&client, &folder, name)).collect();
        let before = done;
        std::thread::scope(|scope| {
            // The server closes the connection before it has taken all.
            scope.spawn(move || writer.write_all(&requests));
            while let Some((200, body)) = next_answer(&mut stream) {
                let json: Value = serde_json::from_slice(&body).expect("an answer is JSON");
                assert_eq!(json["result"]["info"]["name"], json!(names[done]));
                done += 1;
            }
        });
        assert!(done > before, "no answer for {}", names[done]);
        assert!(!is_there(&client, &folder, &names[done]), "after {done}");
    }
    assert!(names[..done].iter().all(|name| is_there(&client, &folder, name)));
    assert_peak(&server, before, 100 * MIB);
    assert_serves(&server);
}
