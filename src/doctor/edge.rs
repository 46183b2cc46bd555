//! Findings about the network: the listening address, its reachability, proxies and the
//! certificate.

use std::net::ToSocketAddrs;
use std::time::{SystemTime, UNIX_EPOCH};

use stet_api::server::DoctorFinding;
use stet_config::{Config, network};

use crate::listen::BoundAddresses;
use crate::tls::{Certificates, Validity};

/// Days before the end of a certificate from which on there is a warning.
const DAYS_TO_RENEW: u64 = 14;

const DAY_S: u64 = 24 * 60 * 60;

pub(super) fn look(config: &Config, is_running: bool) -> Vec<DoctorFinding> {
    let mut findings = vec![listening(config, is_running)];
    findings.extend(proxies(config));
    findings.extend(certificate(config));
    findings
}

/// Returns the finding about the listening address, and about unencrypted access to it.
fn listening(config: &Config, is_running: bool) -> DoctorFinding {
    let address = &config.server.listen;
    let resolved = match address.to_socket_addrs() {
        Ok(resolved) => resolved.collect::<Vec<_>>(),
        Err(error) => {
            let found = format!("`server.listen` {address} is not an address of this machine: {error}");
            return DoctorFinding::fail("listening", found, "name one, like `127.0.0.1:8080`");
        }
    };
    // A running server has the address. An address that is taken here is released before anyone can
    // connect.
    if !is_running && let Err(error) = BoundAddresses::take(address, Vec::new(), None) {
        let found = format!("the server can't listen at {address}: {error}");
        return DoctorFinding::fail(
            "listening",
            found,
            "stop the process that listens there (`ss -ltnp`), or name another address in `server.listen`",
        );
    }
    judge_listening(config, resolved.iter().all(|address| address.ip().is_loopback()))
}

fn judge_listening(config: &Config, is_local: bool) -> DoctorFinding {
    let (address, server) = (&config.server.listen, &config.server);
    if server.tls.is_on() {
        DoctorFinding::ok("listening", format!("at {address}, with TLS"))
    } else if is_local {
        DoctorFinding::ok("listening", format!("at {address}, which only this machine can reach"))
    } else if server.trusted_proxies.is_empty() {
        let found = format!("at {address} without TLS: passwords and tokens cross the network unencrypted");
        let advice =
            "listen at 127.0.0.1 behind a proxy with TLS and name it in `server.trusted_proxies`, or set [server.tls]";
        DoctorFinding::warn("listening", found, advice)
    } else {
        let proxies = server.trusted_proxies.join(", ");
        DoctorFinding::ok(
            "listening",
            format!("at {address} without TLS, behind {proxies}; let only the proxies reach it there (firewall)"),
        )
    }
}

/// Returns a finding if every address is trusted as a proxy, which makes all claims of a client's
/// address valid.
fn proxies(config: &Config) -> Option<DoctorFinding> {
    let everybody = |proxy: &&String| network(proxy).is_some_and(|network| network.prefix_len() == 0);
    let proxy = config.server.trusted_proxies.iter().find(everybody)?;
    let found = format!(
        "`server.trusted_proxies` has {proxy}: any client may claim any address, in limits and in the audit trail"
    );
    Some(DoctorFinding::warn("proxies", found, "name the proxies' own addresses"))
}

/// Returns findings about the certificate and its key.
fn certificate(config: &Config) -> Vec<DoctorFinding> {
    let tls = &config.server.tls;
    if !tls.is_on() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if let Some(readers) = super::directory::readers(&tls.key) {
        let found = format!("the key {} can be read by {readers}", tls.key.display());
        findings.push(DoctorFinding::warn("certificate", found, format!("chmod 600 {}", tls.key.display())));
    }
    let good = Certificates::load(tls).and_then(|certificates| certificates.validity());
    findings.push(match good {
        // A clock before 1970 is another finding.
        Ok(validity) => {
            let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            judge_certificate(&tls.certificate.display().to_string(), &validity, now_s)
        }
        Err(error) => DoctorFinding::fail(
            "certificate",
            error,
            "see [server.tls]: both must be PEM files, and the key must belong to the certificate",
        ),
    });
    findings
}

fn judge_certificate(name: &str, validity: &Validity, now_s: u64) -> DoctorFinding {
    let shown =
        |s: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + std::time::Duration::from_secs(s.min(253_402_300_799)));
    let (from, until) = (shown(validity.from_s), shown(validity.until_s));
    if now_s < validity.from_s {
        DoctorFinding::fail("certificate", format!("{name} is not valid before {from}"), "check the clock")
    } else if now_s >= validity.until_s {
        DoctorFinding::fail(
            "certificate",
            format!("{name} has expired at {until}"),
            "renew it; a running server uses the new one without a restart",
        )
    } else if now_s + DAYS_TO_RENEW * DAY_S >= validity.until_s {
        DoctorFinding::warn(
            "certificate",
            format!("{name} expires at {until}"),
            "renew it; a running server uses the new one without a restart",
        )
    } else {
        DoctorFinding::ok("certificate", format!("{name} is valid until {until}, and the key belongs to it"))
    }
}

#[cfg(test)]
mod tests {
    use stet_api::server::FindingLevel;

    use super::*;

    #[test]
    fn network_listeners_without_tls_or_proxy_are_warned_about() {
        let mut config = Config::default();
        assert_eq!(judge_listening(&config, true).level, FindingLevel::Ok);
        assert_eq!(judge_listening(&config, false).level, FindingLevel::Warn);
        config.server.trusted_proxies = vec!["192.0.2.1".to_owned()];
        assert_eq!(judge_listening(&config, false).level, FindingLevel::Ok);
        assert_eq!(proxies(&config), None);
        for everybody in ["0.0.0.0/0", "::/0"] {
            config.server.trusted_proxies = vec!["192.0.2.1".to_owned(), everybody.to_owned()];
            assert_eq!(proxies(&config).map(|finding| finding.level), Some(FindingLevel::Warn));
        }
        config.server.trusted_proxies = Vec::new();
        config.server.tls.certificate = "c.pem".into();
        assert_eq!(judge_listening(&config, false).level, FindingLevel::Ok);
    }

    #[test]
    fn a_certificate_is_told_two_weeks_before_its_end() {
        let validity = Validity { from_s: 100 * DAY_S, until_s: 200 * DAY_S };
        for (now_s, level) in [
            (100 * DAY_S - 1, FindingLevel::Fail),
            (100 * DAY_S, FindingLevel::Ok),
            (186 * DAY_S - 1, FindingLevel::Ok),
            (186 * DAY_S, FindingLevel::Warn),
            (200 * DAY_S - 1, FindingLevel::Warn),
            (200 * DAY_S, FindingLevel::Fail),
        ] {
            assert_eq!(judge_certificate("c.pem", &validity, now_s).level, level, "{now_s}");
        }
    }
}
