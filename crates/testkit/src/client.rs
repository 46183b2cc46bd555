//! A client of a server, and the server's replies.

use std::io::Read;

use serde_json::{Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::{File, PATIENCE, Server, document};

/// A client of a server.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    /// The base address, such as `http://127.0.0.1:PORT`.
    pub base: String,
    /// The token, sent as the query parameter `token`, as clients do.
    pub token: Option<String>,
    /// The certificate of a server with TLS, in PEM.
    certificate: Option<String>,
}

/// A reply.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Creates the HTTP agent. With `certificate`, in PEM, it accepts servers that show this one.
fn agent(certificate: Option<&str>) -> ureq::Agent {
    let mut config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        // Tests examine each reply themselves.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(PATIENCE))
        // The buffers are filled with zeros for each connection, which is slow without
        // optimisation. A response head must fit.
        .input_buffer_size(16 << 10)
        .output_buffer_size(64 << 10);
    if let Some(pem) = certificate {
        let certificate = Certificate::from_pem(pem.as_bytes()).expect("it is a certificate in PEM");
        config = config.tls_config(TlsConfig::builder().root_certs(RootCerts::from(vec![certificate])).build());
    }
    config.build().new_agent()
}

impl Client {
    /// Creates a client of the server at `base`, with the token of a session or without one.
    pub fn at(base: &str, token: Option<String>) -> Client {
        Client { agent: agent(None), base: base.to_owned(), token, certificate: None }
    }

    /// Creates a client of a server with TLS at `base` that shows this certificate, in PEM.
    pub fn over_tls(base: &str, certificate: &str) -> Client {
        Client {
            agent: agent(Some(certificate)),
            base: base.to_owned(),
            token: None,
            certificate: Some(certificate.to_owned()),
        }
    }

    /// Returns the same client with connections of its own.
    pub fn afresh(&self) -> Client {
        Client { agent: agent(self.certificate.as_deref()), ..self.clone() }
    }

    /// Returns the same client for a server that was started again.
    pub fn to(&self, server: &Server) -> Client {
        Client { token: self.token.clone(), ..server.client() }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The failure if no reply arrives.
    pub fn try_send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, String> {
        let glue = if path.contains('?') { '&' } else { '?' };
        let token = self.token.as_ref().map(|token| format!("{glue}token={token}")).unwrap_or_default();
        let uri = format!("{}{path}{token}", self.base);
        // A DELETE may have a body here, which the library must be set to allow.
        let outcome = if method == "DELETE" && !body.is_empty() {
            let request =
                headers.iter().fold(self.agent.delete(&uri), |request, (name, value)| request.header(*name, *value));
            request.force_send_body().send(body)
        } else {
            let request = ureq::http::Request::builder().method(method).uri(&uri);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let made = "a request can be made of this";
            match method {
                "POST" | "PUT" | "PATCH" => self.agent.run(request.body(body).expect(made)),
                _ => self.agent.run(request.body(()).expect(made)),
            }
        };
        let mut response = outcome.map_err(|error| format!("{method} {path}: {error}"))?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect();
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut bytes).map_err(|error| format!("{method} {path}: {error}"))?;
        let answer = Answer { status, headers, body: bytes };
        document::hold(method, path, &answer);
        Ok(answer)
    }

    /// Sends a request, which must be answered.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends a body of JSON.
    pub fn send_json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send_json("POST", path, body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send_json("PUT", path, body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn delete_with(&self, path: &str, body: &Value) -> Answer {
        self.send_json("DELETE", path, body)
    }

    /// Sends a multipart form of `options` and, if given, a file `content` (name, media type,
    /// bytes).
    pub fn upload(&self, path: &str, options: &Value, content: Option<(&str, &str, &[u8])>) -> Answer {
        let files: Vec<_> =
            content.map(|(name, media_type, bytes)| ("content", name, media_type, bytes)).into_iter().collect();
        self.send_form("POST", path, &[], options, &files)
    }

    /// Creates a liveblog from the default template. Returns its loid.
    pub fn liveblog(&self, folder: &str, name: &str) -> String {
        let body = json!({ "name": name, "folderPath": folder });
        let reply = self.post("/v3/container/liveblog/from/template", &body).ok();
        reply["info"]["id"].as_str().expect("a new liveblog has an id").to_owned()
    }

    /// Sends a multipart form of `options` and files, each with the name of the part, file name,
    /// media type and bytes.
    pub fn send_form(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        options: &Value,
        files: &[File<'_>],
    ) -> Answer {
        self.try_send_form(method, path, headers, options, files).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Does what [`Client::send_form`] does.
    ///
    /// # Errors
    /// The failure if no reply arrives.
    pub fn try_send_form(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        options: &Value,
        files: &[File<'_>],
    ) -> Result<Answer, String> {
        let (content_type, body) = form_of(options, files);
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", content_type.as_str())]).collect();
        self.try_send(method, path, &headers, &body)
    }

    /// Creates a story in a folder. Returns its loid.
    pub fn story(&self, folder: &str, name: &str) -> String {
        let options = json!({ "name": name, "type": "Story", "folderPath": folder });
        let reply = self.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story/>"))).ok();
        reply["id"].as_str().expect("a new object has an id").to_owned()
    }

    /// Creates a drawer in a folder. Returns its loid.
    pub fn drawer(&self, folder: &str, name: &str, capacity: u32) -> String {
        let body = json!({ "name": name, "folderPath": folder, "capacity": capacity });
        let reply = self.post("/v3/container/drawer", &body).ok();
        reply["info"]["id"].as_str().expect("a new drawer has an id").to_owned()
    }

    /// Returns the loids of a drawer's items, first to last.
    pub fn items(&self, drawer: &str) -> Vec<String> {
        let reply = self.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(drawer))).ok();
        let items = reply["items"].as_array().expect("a drawer has items").iter();
        items.map(|item| item["source"].as_str().expect("an item has a source").to_owned()).collect()
    }

    /// Returns a value of the server's `/metrics`; 0 if it is missing.
    pub fn metric(&self, name: &str) -> f64 {
        let text = String::from_utf8(self.get("/metrics").body).expect("metrics are text");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().expect("a metric is a number"))
    }

    /// Returns a counter of the server's `/metrics`; 0 if it is missing.
    pub fn count(&self, name: &str) -> u64 {
        self.metric(name) as u64
    }
}

impl Answer {
    /// Returns the JSON of the body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// Returns the `result` of a success in its envelope.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let mut json = self.json();
        assert_eq!(json["status"], "success");
        json["result"].take()
    }

    /// Returns the content of a reply, with or without an envelope.
    pub fn said(&self) -> Value {
        let mut json = self.json();
        if json.get("result").is_some() { json["result"].take() } else { json }
    }

    /// Returns the body of a success of the older surface.
    pub fn bare(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let json = self.json();
        assert!(json.get("result").is_none(), "{json}");
        json
    }

    /// Returns the `result` of a failure in its envelope, which must have this status and code.
    pub fn fails(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let mut json = self.json();
        assert_eq!(json["status"], "error");
        assert_eq!(json["result"]["code"], format!("CMS.{code}"), "{json}");
        // The reference promises that each `TooLarge` error states the limit.
        assert!(code != "TooLarge" || json["result"]["details"]["limit"].is_u64(), "{json}");
        json["result"].take()
    }

    /// Does what [`Answer::fails`] does, and names the call in its panic message.
    pub fn fails_on(&self, what: &str, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{what}: {}", String::from_utf8_lossy(&self.body));
        self.fails(status, code)
    }

    /// Returns a response header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Builds a multipart form of `options` and files. Returns its content type and its bytes.
pub(crate) fn form_of(options: &Value, files: &[File<'_>]) -> (String, Vec<u8>) {
    const BOUNDARY: &str = "----stet-form-boundary";
    let mut body = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"options\"\r\n\
         content-type: application/json\r\n\r\n{options}\r\n"
    )
    .into_bytes();
    for (part, name, media_type, bytes) in files {
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{part}\"; filename=\"{name}\"\r\n\
             content-type: {media_type}\r\n\r\n"
        );
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}

/// Returns a source in the form that it has in a path segment.
pub fn encoded(source: &str) -> String {
    percent_encoding::utf8_percent_encode(source, percent_encoding::NON_ALPHANUMERIC).to_string()
}
