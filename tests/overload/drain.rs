//! SIGTERM in the middle of all that.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const CLIENTS: usize = 16;

#[test]
fn sigterm_under_full_load_ends_all_calls_and_loses_no_acknowledged_one() {
    let _turn = turn();
    let mut server = Server::with(&[("SERVER__SHUTDOWN_SECONDS", "3"), ("RUNTIME__PERMITS", "12")]);
    let (editor, drawer) = large_drawer(&server, 10);
    let folder = own_folder();
    editor.drawer(&folder, "first", 3);
    let half = |request: &[u8], but: usize| {
        let mut stream = connect(&server);
        stream.write_all(&request[..request.len() - but]).expect("a part can be sent");
        stream
    };
    // Those who would keep it from ending: who does not read, who never finishes, who says nothing.
    let request = whole_drawer(&editor, &drawer);
    let mut rude: Vec<TcpStream> = (0..5).map(|_| half(&request, 0)).collect();
    rude.iter_mut().for_each(|stream| stream.read_exact(&mut [0; 9]).expect("an answer begins"));
    rude.extend((0..5).map(|_| half(&post(&editor, "/v3/object", &json!({ "sources": [] })), 4)));
    rude.extend((0..5).map(|_| connect(&server)));
    let answered = AtomicUsize::new(0);
    let clients: Vec<Client> = (0..CLIENTS).map(|_| server.login("editor")).collect();
    let made: BTreeSet<String> = std::thread::scope(|scope| {
        let work = |number: usize| {
            let (client, folder, answered) = (&clients[number], &folder, &answered);
            move || {
                let mut made = Vec::new();
                for count in 0.. {
                    let name = format!("{number}-{count}");
                    let body = json!({ "folderPath": folder, "name": name }).to_string();
                    let json = [("content-type", "application/json")];
                    // No answer means a connection that was closed or not taken; that one does not
                    // hang, the harness sees to.
                    let Ok(answer) = client.try_send("POST", "/v3/container/drawer", &json, body.as_bytes()) else {
                        break;
                    };
                    answered.fetch_add(1, Ordering::Relaxed);
                    if answer.status == 200 { made.push(name) } else { assert_overloaded(&answer) }
                }
                made
            }
        };
        let workers: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(work(number))).collect();
        wait_until("the load is on", || answered.load(Ordering::Relaxed) > 200);
        server.ask_to_end();
        wait_until("it drains", || server.log().contains("draining"));
        // No request is answered with "ready" for as long as requests are answered.
        while let Ok(answer) = server.client().try_send("GET", "/readyz", &[], b"") {
            assert_eq!((answer.status, answer.json()["why"].as_str()), (503, Some("draining")));
        }
        workers.into_iter().flat_map(|worker| worker.join().expect("it ended well")).collect()
    });
    println!("{} acknowledged of {} answered", made.len(), answered.load(Ordering::Relaxed));
    assert!(made.len() > 50, "hardly anything was acknowledged");
    assert_eq!(server.ended(), Some(0));
    for stream in &mut rude {
        let mut rest = Vec::new();
        // An end or a reset, but nothing that lasts.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "a connection is open still");
        }
    }
    let (code, text) = server.check();
    assert_eq!(code, Some(0), "{text}");
    let server = server.restart();
    let editor = editor.to(&server);
    let missing: Vec<&String> = made
        .iter()
        .filter(|name| editor.get(&format!("/v3/object/{}", encoded(&format!("{folder}/{name}")))).status != 200)
        .collect();
    assert!(missing.is_empty(), "acknowledged and not there: {missing:?}");
    editor.drawer(&folder, "again", 3);
}
