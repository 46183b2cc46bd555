//! `[auth.cas]`: single sign-on.

use serde::{Deserialize, Serialize};

/// `[auth.cas]`: the CAS server that authenticates users, and the treatment of these users
/// (docs/api/auth.md, "CAS").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CasConfig {
    /// Address of the CAS server, above its `/p3/serviceValidate`; empty: no single sign-on.
    pub server_url: String,
    /// The service that tickets must have been issued for, unless the request was sent to one of
    /// [`CasConfig::services`].
    pub service_url: String,
    /// Addresses of the login, without a query, that are services themselves. A ticket sent to one
    /// of them must have been issued for exactly that address with the query of the request,
    /// without `ticket`.
    pub services: Vec<String>,
    /// Seconds that connecting to the CAS server may take.
    pub connect_seconds: u64,
    /// Seconds that one validation may take in all.
    pub total_seconds: u64,
    /// Maximum bytes of the CAS server's answer.
    pub answer_bytes: usize,
    /// Maximum number of tickets validated at a time.
    pub at_once: usize,
    /// Whether an unknown user is created once the CAS server has authenticated them.
    pub create_users: bool,
    /// Groups of a new user.
    pub groups: Vec<String>,
    /// The attribute whose values decide on groups; empty: groups are not taken over.
    pub group_attribute: String,
    /// Entries `value=group`: a user with the value of [`CasConfig::group_attribute`] is in the
    /// group. See [`CasConfig::mapping`].
    pub group_mapping: Vec<String>,
    /// The attribute with the full name; empty: none is taken over.
    pub full_name_attribute: String,
    /// The attribute with the e-mail address at work; empty: none is taken over.
    pub email_attribute: String,
}

impl CasConfig {
    /// Returns the mapping as pairs of a value and a group. The last `=` separates them, because
    /// values may be distinguished names.
    pub fn mapping(&self) -> impl Iterator<Item = (&str, &str)> {
        self.group_mapping.iter().filter_map(|entry| {
            let (value, group) = entry.rsplit_once('=')?;
            Some((value.trim(), group.trim()))
        })
    }
}

impl CasConfig {
    /// Reports whether single sign-on is configured.
    pub fn is_configured(&self) -> bool {
        !self.server_url.is_empty()
    }
}

impl Default for CasConfig {
    fn default() -> CasConfig {
        CasConfig {
            server_url: String::new(),
            service_url: String::new(),
            services: Vec::new(),
            connect_seconds: 3,
            total_seconds: 10,
            answer_bytes: 64 << 10,
            at_once: 16,
            create_users: false,
            groups: Vec::new(),
            group_attribute: String::new(),
            group_mapping: Vec::new(),
            full_name_attribute: "displayName".to_owned(),
            email_attribute: "mail".to_owned(),
        }
    }
}
