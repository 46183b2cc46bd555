//! `stet probe`: whether the server of a configuration is ready, asked as a load balancer asks, for
//! who has no other program at hand. An image of a container may have nothing but stet in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ureq::tls::TlsConfig;

use crate::config::{Config, ServerConfig};
use crate::exit::{self, Exit, Failure};

/// How long the answer may take, from the first byte to the last.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer that are looked at: it is a status and a word.
const ANSWER_BYTES: u64 = 4096;

/// Asks for `/readyz`, and prints `ready` if that is what it answers.
///
/// # Errors
/// [`Exit::Failed`]: nobody answers, or the server is not ready; the message has its words.
/// [`Exit::Usage`]: the configuration does not
/// say where it listens.
pub fn run(config: &Config) -> Result<(), Failure> {
    let url = url(&config.server).map_err(|why| Failure::new(Exit::Usage, why))?;
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
        // It is asked by an address, which its certificate need not name; nothing that must be kept
        // secret is sent or believed.
        .tls_config(TlsConfig::builder().disable_verification(true).build())
        .build()
        .new_agent();
    let failed = |why: &dyn std::fmt::Display| Failure::new(Exit::Failed, format!("not ready: {url}: {why}"));
    let mut reply = agent.get(&url).call().map_err(|error| failed(&error))?;
    if reply.status() == 200 {
        return exit::print("ready\n");
    }
    let said = reply.body_mut().with_config().limit(ANSWER_BYTES).read_to_string().map_err(|error| failed(&error))?;
    Err(failed(&format_args!("{} {said}", reply.status().as_u16())))
}

/// Where the server is asked.
///
/// # Errors
/// A sentence: it takes any port that is free.
fn url(server: &ServerConfig) -> Result<String, String> {
    let scheme = if server.tls.certificate.as_os_str().is_empty() { "http" } else { "https" };
    let listen = &server.listen;
    if listen.ends_with(":0") {
        return Err(format!(
            "`server.listen` is `{listen}`: which port the server has taken is not in the configuration"
        ));
    }
    // Who listens at every address listens at that of the machine itself.
    let address = match listen.parse::<SocketAddr>() {
        Ok(mut address) if address.ip().is_unspecified() => {
            address.set_ip(match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            });
            address.to_string()
        }
        _ => listen.clone(),
    };
    Ok(format!("{scheme}://{address}/readyz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_asked_where_it_listens() {
        for (listen, asked) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/readyz"),
            ("0.0.0.0:80", "http://127.0.0.1:80/readyz"),
            ("[::]:8080", "http://[::1]:8080/readyz"),
            ("[::1]:8080", "http://[::1]:8080/readyz"),
            ("localhost:8080", "http://localhost:8080/readyz"),
        ] {
            let server =
                ServerConfig { listen: listen.to_owned(), base_path: "/rest".into(), ..ServerConfig::default() };
            assert_eq!(url(&server).as_deref(), Ok(asked));
        }
        let any = ServerConfig { listen: "127.0.0.1:0".into(), ..ServerConfig::default() };
        assert!(url(&any).is_err_and(|why| why.contains("127.0.0.1:0")));
    }
}
