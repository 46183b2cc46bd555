//! `stet probe`: checks like a load balancer whether the server of a configuration is ready. An
//! image of a container may have no other program to do this with.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use stet_config::{Config, ServerConfig};
use ureq::tls::TlsConfig;

use crate::exit::{self, Exit, Failure};

/// The timeout of the whole request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The number of bytes of a reply that are read. The reply is a status and a word.
const ANSWER_BYTES: u64 = 4096;

/// Requests `/readyz`, and prints `ready` if the server replies so.
///
/// # Errors
/// [`Exit::Failed`]: the server does not reply, or is not ready; the message contains its reply.
/// [`Exit::Usage`]: the configuration does not state the port.
pub fn run(config: &Config) -> Result<(), Failure> {
    let url = url(&config.server).map_err(|why| Failure::new(Exit::Usage, why))?;
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
        // The request goes to an address, which the certificate need not name. No secret is sent,
        // and the reply is not trusted with any.
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

/// Returns the URL of the readiness check.
///
/// # Errors
/// A message, if the server takes any free port.
fn url(server: &ServerConfig) -> Result<String, String> {
    let scheme = if server.tls.certificate.as_os_str().is_empty() { "http" } else { "https" };
    let listen = &server.listen;
    if listen.ends_with(":0") {
        return Err(format!(
            "`server.listen` is `{listen}`: the port that the server has chosen is not in the configuration"
        ));
    }
    // A server that listens on all addresses also listens on the loopback address.
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
