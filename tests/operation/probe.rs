//! `stet probe`: the server asked as a load balancer asks it, by a program that is where the server
//! is.

use std::io::Write;
use std::net::TcpListener;

use super::*;

fn probe(listen: &str, settings: &[(&str, &str)]) -> Run {
    let mut command = stet(&["probe", "--listen", listen]);
    command.envs(settings.iter().copied());
    run(command)
}

#[test]
fn a_server_that_is_ready_is_said_to_be_so() {
    let server = Server::shared();
    let address = server.base.strip_prefix("http://").expect("it has no TLS");
    let asked = probe(address, &[("STET_SERVER__BASE_PATH", "/rest")]);
    assert_eq!((asked.code, asked.out.as_str(), asked.err.as_str()), (Some(0), "ready\n", ""));
    // As a container says it: every address, in the environment.
    let mut command = stet(&["probe"]);
    let port = address.rsplit(':').next().expect("an address has a port");
    command.env("STET_SERVER__LISTEN", format!("0.0.0.0:{port}"));
    assert_eq!(run(command).code, Some(0));
}

#[test]
fn a_server_with_tls_is_asked_by_it_whatever_name_its_certificate_has() {
    let files = TempDir::new().expect("a temporary directory can be made");
    let made = rcgen::generate_simple_self_signed(vec!["news.example.org".to_owned()]).expect("one can be made");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| files.path().join(name));
    std::fs::write(&certificate, made.cert.pem()).expect("it can be written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("it can be written");
    let server = Server::with(&[("SERVER__TLS__CERTIFICATE", path(&certificate)), ("SERVER__TLS__KEY", path(&key))]);
    let address = server.base.strip_prefix("https://").expect("it has TLS");
    let tls = [("STET_SERVER__TLS__CERTIFICATE", path(&certificate)), ("STET_SERVER__TLS__KEY", path(&key))];
    let asked = probe(address, &tls);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "ready\n"), "{}", asked.err);
    assert_eq!(probe(address, &[]).code, Some(1), "it does not speak without");
}

#[test]
fn where_nobody_answers_it_fails_and_names_the_address() {
    // Bound without a listener, so that no other process can take the port.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("there are sockets");
    let any: std::net::SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&any.into()).expect("a port can be had");
    let address = socket.local_addr().ok().and_then(|address| address.as_socket()).expect("it has an address");
    let asked = probe(&address.to_string(), &[]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(1), ""));
    assert!(asked.err.starts_with(&format!("stet: not ready: http://{address}/readyz: ")), "{}", asked.err);
    let asked = probe("127.0.0.1:0", &[]);
    assert_eq!(asked.code, Some(2));
    assert!(asked.err.contains("server.listen") && asked.err.contains("127.0.0.1:0"), "{}", asked.err);
}

#[test]
fn a_server_that_is_not_ready_is_told_in_its_own_words() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let address = listener.local_addr().expect("it has an address").to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody asks");
        let mut head = BufReader::new(stream.try_clone().expect("a socket has handles"));
        let mut line = String::new();
        head.read_line(&mut line).expect("a request comes");
        let body = r#"{"status":"draining"}"#;
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .expect("it can be answered");
        // Until it has taken the answer.
        let _ = head.read_to_string(&mut String::new());
        line
    });
    let asked = probe(&address, &[]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(1), ""));
    assert!(asked.err.contains(r#"503 {"status":"draining"}"#), "{}", asked.err);
    assert_eq!(answering.join().expect("it has answered"), "GET /readyz HTTP/1.1\r\n");
}
