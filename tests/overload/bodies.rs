//! Bodies that begin and never end: what has come of them is held, within a budget.

use super::*;

/// The first 15,000 bytes of a login from an address.
fn begin_login(server: &Server, address: &str) -> TcpStream {
    let mut stream = connect(server);
    let head = format!(
        "POST /v3/auth/login HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {address}\r\ncontent-length: 16000\r\n\r\n{}",
        " ".repeat(15_000)
    );
    stream.write_all(head.as_bytes()).expect("it can be sent");
    stream
}

/// A login with some white space.
fn login_from(server: &Server, address: &str, padding: usize) -> Answer {
    let body = json!({ "connectionId": "Editorial", "applicationId": "desk", "username": "editor",
        "password": SAMPLE_PASSWORD });
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    server.client().send("POST", "/v3/auth/login", &headers, format!("{body}{}", " ".repeat(padding)).as_bytes())
}

const HELD: &str = "stet_budget_bytes{of=\"bodies\"}";

#[test]
fn unfinished_logins_share_a_budget_by_address_and_spare_known_users() {
    let _turn = turn();
    // The least for JSON of 1 MiB. Callers without a session have an eighth, 560 KB, and one
    // address a quarter of that.
    let server = Server::with(&[
        ("MEMORY__CALLS_BYTES", "4480000"),
        ("LIMITS__JSON_BYTES", "1048576"),
        ("LIMITS__XML_BYTES", "1048576"),
        ("LIMITS__JSON_VALUES", "10000"),
        ("SERVER__TRUSTED_PROXIES", "127.0.0.0/8"),
    ]);
    let client = server.login("reporter");
    let held = || client.metric(HELD);
    wait_until("the login is over", || held() == 0.0);
    // Each holds 15,000 bytes or some more, and an address has 140,000.
    let from = |address: &str| (0..8).map(|_| begin_login(&server, address)).collect::<Vec<_>>();
    let first = from("192.0.2.1");
    wait_until("all are held", || (120_000.0..140_000.0).contains(&held()));
    assert_overloaded(&login_from(&server, "192.0.2.1", 15_900));
    assert_eq!(login_from(&server, "192.0.2.2", 15_900).status, 200);
    let others = ["192.0.2.2", "192.0.2.3", "192.0.2.4"].map(from);
    wait_until("they are held", || held() >= 480_000.0);
    let last = (0..2).map(|_| begin_login(&server, "192.0.2.6")).collect::<Vec<_>>();
    wait_until("all is taken", || (544_000.0..560_000.0).contains(&held()));
    assert_overloaded(&login_from(&server, "192.0.2.5", 15_900));
    // Requests as small as logins are accepted.
    assert_eq!(login_from(&server, "192.0.2.5", 0).status, 200);
    assert!(client.metric("stet_overloaded_total{what=\"bodies\"}") >= 2.0);
    assert_serves_the_known(&client);
    drop((first, others, last));
    wait_until("all is given back", || held() == 0.0);
    assert_eq!(login_from(&server, "192.0.2.1", 15_900).status, 200);
}

fn assert_serves_the_known(client: &Client) {
    client.get("/v3/folder/home").ok();
    client.drawer(&own_folder(), "meanwhile", 3);
}

#[test]
fn four_hundred_large_logins_cost_no_memory() {
    let _turn = turn();
    let server = Server::start();
    let before = peak(&server);
    let body = vec![b' '; 4 << 20];
    let mut streams = Vec::new();
    for number in 0..400 {
        let mut stream = connect(&server);
        let length = if number % 2 == 0 { "content-length: 4194304" } else { "transfer-encoding: chunked" };
        let head = format!("POST /v3/auth/login HTTP/1.1\r\nhost: x\r\n{length}\r\n\r\n400000\r\n");
        stream.write_all(head.as_bytes()).expect("the head can be sent");
        stream.set_nonblocking(true).expect("it can be set");
        // As much as is taken of it.
        let _ = stream.write_all(&body);
        streams.push(stream);
    }
    for mut stream in streams {
        stream.set_nonblocking(false).expect("it can be set");
        let mut answer = [0; 12];
        // Who is still sending when it is closed may be reset.
        if stream.read_exact(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 413");
        }
    }
    // Held bodies would take 2.4 GB. The buffers of the kernel and the connections take about 100
    // KiB each.
    assert_peak(&server, before, 100 * MIB);
    assert_serves(&server);
}

#[test]
fn one_user_takes_a_part_of_the_budget_and_others_have_theirs() {
    let _turn = turn();
    // One user has some 8.6 MiB.
    let server = Server::with(&[("MEMORY__CALLS_BYTES", "36114432"), ("LIMITS__JSON_VALUES", "10000")]);
    let (client, other) = (server.login("reporter"), server.login("editor"));
    let list = |client: &Client, length: usize, sent: usize| {
        let mut stream = connect(&server);
        let token = token(client);
        let head = format!("POST /v3/object HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-length: {length}\r\n\r\n");
        let mut body = br#"{"sources": []"#.to_vec();
        body.resize(sent, b' ');
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        stream
    };
    let one = list(&client, 4_000_000, 3_900_000);
    wait_until("it is held", || client.metric(HELD) >= 3_900_000.0);
    // It would have to be there twice while it grows.
    let mut two = list(&client, 4_000_000, 3_999_999);
    let (status, body) = next_answer(&mut two).expect("it is answered");
    assert_eq!(status, 503, "{}", String::from_utf8_lossy(&body));
    let mut theirs = list(&other, 4_000_000, 3_999_999);
    theirs.write_all(b"}").expect("its end can be sent");
    assert_eq!(next_answer(&mut theirs).expect("it is answered").0, 200);
    drop(one);
    wait_until("all is given back", || client.metric(HELD) == 0.0);
    assert_serves_the_known(&client);
}

/// Creates a drawer with these attributes over each of `count` connections at once, and returns the
/// answers.
fn with_attributes(server: &Server, attributes: &str, count: usize) -> Vec<(u16, Vec<u8>)> {
    let client = server.login("editor");
    let token = token(&client);
    let body = format!(
        r#"{{"name": "values", "folderPath": "/Users/editor", "createMode": "AUTO_RENAME", "attributes": {attributes}}}"#
    );
    let send = || {
        let mut stream = connect(server);
        let head = format!(
            "POST /v3/container/drawer HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).expect("it can be sent");
        next_answer(&mut stream).expect("it is answered")
    };
    std::thread::scope(|scope| {
        let sending: Vec<_> = (0..count).map(|_| scope.spawn(send)).collect();
        sending.into_iter().map(|sent| sent.join().expect("it is sent")).collect()
    })
}

#[test]
fn bodies_of_very_many_values_cost_no_more_than_they_count() {
    let _turn = turn();
    let server = Server::start();
    let before = peak(&server);
    // 4 MB of two bytes each: read, 120 MB.
    let many = format!(r#"{{"a": {{"b": [{}0]}}}}"#, "0,".repeat(2_090_000));
    for (status, body) in with_attributes(&server, &many, 24) {
        let text = String::from_utf8_lossy(&body);
        assert!(status == 413 && text.contains("limits.json_values"), "{status}: {text}");
    }
    // Their own bytes, twice at most.
    assert_peak(&server, before, 24 * 2 * 5 * MIB);
    assert_eq!(server.login("editor").metric(HELD), 0.0);
}

#[test]
fn json_values_up_to_the_limit_are_charged_and_parsed_a_few_at_a_time() {
    let _turn = turn();
    let server = Server::start();
    let before = peak(&server);
    // Each a map of its own, which takes some 400 bytes: 13 MB, in 40 bodies 520 MB.
    let maps = format!(r#"{{"a": {{"b": [{}{{"c": 0}}]}}}}"#, r#"{"c": 0},"#.repeat(30_000));
    let statuses: Vec<u16> = with_attributes(&server, &maps, 40).into_iter().map(|(status, _)| status).collect();
    assert!(statuses.contains(&200) && statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    let made = statuses.iter().filter(|status| **status == 200).count();
    println!("{made} were made");
    // The part of one user, and some MiB for each drawer that was made meanwhile and stays open.
    // All at once would be 520.
    assert_peak(&server, before, (140 + 6 * made as u64) * MIB);
    let client = server.login("editor");
    wait_until("all is given back", || client.metric(HELD) == 0.0);
}

#[test]
fn an_attribute_text_has_no_more_elements_and_attributes_than_are_allowed() {
    let _turn = turn();
    let server = Server::with(&[("LIMITS__JSON_VALUES", "10000")]);
    for (elements, wanted) in [(9_998, 200), (9_999, 400)] {
        let xml = json!(format!("<a c=''>{}</a>", "<b/>".repeat(elements))).to_string();
        let (status, body) = with_attributes(&server, &xml, 1).remove(0);
        let text = String::from_utf8_lossy(&body);
        assert_eq!(status, wanted, "{text}");
        assert!(wanted == 200 || text.contains("10000 elements and attributes"), "{text}");
    }
}
