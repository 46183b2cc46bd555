//! The addresses to which events may be sent: public ones, and those that `webhooks.networks`
//! lists. Otherwise a webhook would let its creator reach services that only this machine can.
//!
//! The name in a webhook's address is looked up for each connection, which is then made to one of
//! the addresses that were checked, and to no other. Redirects are not followed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use stet_config::network;
use stet_domain::error::{Code, Error, Result};

/// Maximum number of bytes of an address.
const MOST_BYTES: usize = 2048;

const fn v4(a: u8, b: u8, c: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), bits)
}

/// The networks of IPv4 that are not public: IANA's registry of special-purpose addresses,
/// multicast (224.0.0.0/4) and what is reserved (240.0.0.0/4).
const SPECIAL_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

const fn v6(first: u16, second: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), bits)
}

/// The only public network of IPv6 (RFC 4291).
const PUBLIC_V6: Ipv6Net = v6(0x2000, 0, 3);

/// The networks in it that are not public, by the same registry: protocols such as Teredo,
/// documentation, 6to4, which leads to addresses of IPv4, and documentation again.
const SPECIAL_V6: [Ipv6Net; 4] = [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 20)];

/// Reports whether an address is one of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            PUBLIC_V6.contains(&address) && !SPECIAL_V6.iter().any(|network| network.contains(&address))
        }
    }
}

/// The addresses that may be connected to.
#[derive(Clone)]
pub struct PermittedNetworks {
    listed: Arc<[IpNet]>,
    /// Whether public addresses are permitted as well.
    public: bool,
}

impl PermittedNetworks {
    /// Permits the listed networks, and all public addresses if `public`.
    pub fn of(listed: &[String], public: bool) -> PermittedNetworks {
        PermittedNetworks { listed: listed.iter().filter_map(|text| network(text)).collect(), public }
    }

    /// Reports whether an address may be connected to.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.listed.iter().any(|network| network.contains(&address)) || self.public && is_public(address)
    }

    /// Returns the address in a URL that has one in place of a name, if it is not permitted.
    pub fn refused_host(&self, url: &Url) -> Option<DestinationRefused> {
        let address = match url.host()? {
            url::Host::Ipv4(address) => IpAddr::V4(address),
            url::Host::Ipv6(address) => IpAddr::V6(address),
            url::Host::Domain(_) => return None,
        };
        (!self.contain(address)).then_some(DestinationRefused)
    }
}

/// The refusal of an address.
///
/// The address is not named: somebody who may only make webhooks need not know to which inner
/// addresses names lead.
#[derive(Debug)]
pub struct DestinationRefused;

impl fmt::Display for DestinationRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address is neither public, with https, nor in `webhooks.networks`")
    }
}

impl std::error::Error for DestinationRefused {}

/// Looks up names, and returns the permitted addresses only. Fails if there are others only.
impl Resolve for PermittedNetworks {
    fn resolve(&self, name: Name) -> Resolving {
        let permitted = self.clone();
        Box::pin(async move {
            let (mut addresses, mut refused) = (Vec::new(), false);
            for address in tokio::net::lookup_host((name.as_str(), 0)).await? {
                if permitted.contain(address.ip()) { addresses.push(address) } else { refused = true }
            }
            if refused && addresses.is_empty() {
                return Err(DestinationRefused.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Checks the address of a webhook, as far as that is possible without looking up its name.
///
/// # Errors
/// `InvalidBody` with the place `$.url`.
pub fn check_url(text: &str, networks: &[String]) -> Result<()> {
    let wrong = |what: &str| {
        let message = format!("The body is invalid at `$.url`: {what}.");
        Error::new(Code::InvalidBody, message).with_detail("path", "$.url")
    };
    if text.len() > MOST_BYTES {
        return Err(wrong(&format!("an address may have at most {MOST_BYTES} bytes")));
    }
    let url = Url::parse(text).map_err(|error| wrong(&format!("it is no URL ({error})")))?;
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
        return Err(wrong("it must begin with `https://`, or with `http://` for addresses in `webhooks.networks`"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(wrong("it may have no user, no password and no fragment"));
    }
    match PermittedNetworks::of(networks, url.scheme() == "https").refused_host(&url) {
        Some(refused) => Err(wrong(&format!("{}: {refused}", url.host_str().unwrap_or_default()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in ["8.8.8.8", "1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1", "2a00::1", "::ffff:8.8.8.8"] {
            assert!(is_public(public.parse().expect(public)), "{public}");
        }
        for special in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(special.parse().expect(special)), "{special}");
        }
    }

    #[test]
    fn listed_networks_are_permitted_also_in_the_form_of_ipv6() {
        let permitted = PermittedNetworks::of(&["10.0.0.0/8".to_owned(), "::1".to_owned()], false);
        for (address, is) in [("10.9.8.7", true), ("::ffff:10.9.8.7", true), ("::1", true), ("8.8.8.8", false)] {
            assert_eq!(permitted.contain(address.parse().expect(address)), is, "{address}");
        }
        assert!(PermittedNetworks::of(&[], true).contain("8.8.8.8".parse().expect("an address")));
    }

    #[test]
    fn urls_are_checked_before_they_are_stored() {
        let networks = ["127.0.0.0/8".to_owned()];
        for url in [
            "https://example.org/hook?a=b",
            "http://example.org",
            "https://8.8.8.8:8443/",
            "http://127.0.0.1:9000/x",
            "https://[2606:4700::1]/",
        ] {
            assert!(check_url(url, &networks).is_ok(), "{url}");
        }
        for (url, what) in [
            ("", "no URL"),
            ("example.org/hook", "no URL"),
            ("ftp://example.org/", "must begin with"),
            ("file:///etc/passwd", "must begin with"),
            ("https://user@example.org/", "no user"),
            ("https://user:secret@example.org/", "no user"),
            ("https://example.org/#part", "no fragment"),
            ("https://10.0.0.1/", "10.0.0.1"),
            ("https://0x0a000001/", "10.0.0.1"),
            ("https://167772161/", "10.0.0.1"),
            ("https://[::ffff:a00:1]/", "::ffff:a00:1"),
            ("http://8.8.8.8/", "8.8.8.8"),
            (&format!("https://example.org/{}", "x".repeat(2048)), "at most 2048 bytes"),
        ] {
            let error = check_url(url, &networks).expect_err(url);
            assert_eq!(error.code, Code::InvalidBody, "{url}");
            assert!(error.message.contains("$.url") && error.message.contains(what), "{url}: {}", error.message);
        }
    }

    #[tokio::test]
    async fn names_lead_to_permitted_addresses_only() {
        let resolve = |permitted: PermittedNetworks| async move {
            let name: Name = "localhost".parse().expect("a name");
            permitted.resolve(name).await.map(|addresses| addresses.map(|address| address.ip()).collect::<Vec<_>>())
        };
        let error = resolve(PermittedNetworks::of(&[], true)).await.expect_err("it is this machine");
        assert!(error.to_string().contains("webhooks.networks"), "{error}");
        let listed = PermittedNetworks::of(&["127.0.0.0/8".to_owned()], true);
        let addresses = resolve(listed).await.expect("it is listed");
        assert!(addresses.iter().all(IpAddr::is_ipv4) && !addresses.is_empty(), "{addresses:?}");
    }
}
