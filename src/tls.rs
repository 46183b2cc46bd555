//! The TLS certificate, from files that may change while the server runs.
//!
//! The files are read completely and compared with those in force, so the way of their replacement
//! does not matter. New files apply to connections from then on. A certificate without its key may
//! be read between the writing of the two files. It is refused like any unusable one: the old pair
//! stays, and the next reading finds both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use stet_config::TlsConfig;

/// The largest file size in bytes. Chains have some KB, and both files are kept in memory for
/// comparison.
const MAX_BYTES: u64 = 1 << 20;

/// The server's certificate chain and key.
#[derive(Debug)]
pub struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    in_force: ArcSwap<LoadedCertificate>,
}

/// The validity period of a certificate, in epoch seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub from_s: u64,
    /// The end of the period.
    pub until_s: u64,
}

struct LoadedCertificate {
    /// The files' bytes.
    files: (Vec<u8>, Vec<u8>),
    certified: Arc<CertifiedKey>,
}

impl std::fmt::Debug for LoadedCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded(…)")
    }
}

impl Certificates {
    /// Reads the files.
    ///
    /// # Errors
    /// A message for the operator that names the file.
    pub fn load(config: &TlsConfig) -> Result<Arc<Certificates>, String> {
        let provider = Arc::new(ring::default_provider());
        let files = read(&config.certificate, &config.key)?;
        let certified = certified_key(&files, &config.certificate, &config.key, &provider)?;
        Ok(Arc::new(Certificates {
            certificate: config.certificate.clone(),
            key: config.key.clone(),
            provider,
            in_force: ArcSwap::from_pointee(LoadedCertificate { files, certified }),
        }))
    }

    /// Returns the period in which all certificates of the chain are valid.
    ///
    /// # Errors
    /// A message for the operator, if a certificate can't be parsed.
    pub fn validity(&self) -> Result<Validity, String> {
        let mut validity = Validity { from_s: 0, until_s: u64::MAX };
        for certificate in &self.in_force.load().certified.cert {
            let (_, parsed) = x509_parser::parse_x509_certificate(certificate)
                .map_err(|error| format!("{} can't be parsed: {error}", self.certificate.display()))?;
            // A time before 1970 has passed anyway, so 0 serves as well.
            let seconds = |time: x509_parser::time::ASN1Time| u64::try_from(time.timestamp()).unwrap_or(0);
            validity.from_s = validity.from_s.max(seconds(parsed.validity().not_before));
            validity.until_s = validity.until_s.min(seconds(parsed.validity().not_after));
        }
        Ok(validity)
    }

    /// Reads the files again. Returns whether they have changed and are now in force.
    ///
    /// # Errors
    /// The errors of [`Certificates::load`]; the certificate in force stays.
    pub fn reload(&self) -> Result<bool, String> {
        let files = read(&self.certificate, &self.key)?;
        if files == self.in_force.load().files {
            return Ok(false);
        }
        let certified = certified_key(&files, &self.certificate, &self.key, &self.provider)?;
        self.in_force.store(Arc::new(LoadedCertificate { files, certified }));
        Ok(true)
    }

    /// Returns the TLS configuration: TLS 1.2 and 1.3, without client certificates.
    ///
    /// # Errors
    /// None with the built-in provider.
    pub fn server_config(self: &Arc<Self>) -> Result<rustls::ServerConfig, String> {
        let versions = rustls::ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(versions.with_no_client_auth().with_cert_resolver(self.clone()))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.in_force.load().certified.clone())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), String> {
    let read = |path: &Path| {
        let told = |what: String| format!("{} {what}", path.display());
        let unreadable = |error: std::io::Error| told(format!("can't be read: {error}"));
        // Checked before the file is opened: opening a pipe would block until a writer opens it,
        // and so would the server's shutdown.
        let found = std::fs::metadata(path).map_err(unreadable)?;
        if !found.is_file() {
            return Err(told("is no file".to_owned()));
        }
        if found.len() > MAX_BYTES {
            return Err(told(format!("has {} bytes; at most {MAX_BYTES} are read", found.len())));
        }
        std::fs::read(path).map_err(unreadable)
    };
    Ok((read(certificate)?, read(key)?))
}

/// Returns a message about a PEM file. The library would show lines as lists of bytes.
fn pem_fault(error: &pem::Error) -> String {
    // No message contains part of a line that may belong to a key.
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            format!("the line -----END {}----- is missing", label.escape_debug())
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line that begins with -----BEGIN does not end with -----".to_owned()
        }
        pem::Error::Base64Decode(_) => "what is between the lines BEGIN and END is no base64".to_owned(),
        pem::Error::NoItemsFound => "there is none in it".to_owned(),
        other => other.to_string(),
    }
}

fn certified_key(
    (certificate, key): &(Vec<u8>, Vec<u8>),
    certificate_path: &Path,
    key_path: &Path,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, String> {
    let (certificate_path, key_path) = (certificate_path.display(), key_path.display());
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{certificate_path} is no PEM file of certificates: {}", pem_fault(&error)))?;
    if chain.is_empty() {
        return Err(format!("{certificate_path} has no certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("{key_path} has no key in PEM: {}", pem_fault(&error)))?;
    let certified = CertifiedKey::from_der(chain, key, provider);
    certified.map(Arc::new).map_err(|error| format!("{certificate_path} and {key_path} can't be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn unusable_certificates_are_named_and_leave_the_previous_ones_in_force() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("c.pem"), directory.path().join("k.pem"));
        let config = TlsConfig { certificate: certificate.clone(), key: key.clone(), ..TlsConfig::default() };
        assert!(Certificates::load(&config).unwrap_err().contains("c.pem can't be read"));
        let (first, second) = (made(), made());
        let write = |pair: (&str, &str)| {
            std::fs::write(&certificate, pair.0).unwrap();
            std::fs::write(&key, pair.1).unwrap();
        };
        write((&first.0, &first.1));
        let certificates = Certificates::load(&config).unwrap();
        let shown = || certificates.in_force.load().certified.cert[0].clone();
        let at_first = shown();
        assert_eq!(certificates.reload(), Ok(false));
        for (files, wanted) in [
            ((second.0.as_str(), first.1.as_str()), "can't be used"),
            (("", &first.1), "c.pem has no certificate"),
            (("-----BEGIN CERTIFICATE-----\n!\n", &first.1), "c.pem is no PEM file"),
            (("-----BEGIN CERTIFICATE-----\nAAAA\n", &first.1), "the line -----END CERTIFICATE----- is missing"),
            (("-----BEGIN CERTIFICATE\nAAAA\n", &first.1), "-----BEGIN does not end with -----"),
            (("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", &first.1), "no base64"),
            ((&first.0, "no key"), "k.pem has no key"),
        ] {
            write(files);
            let error = certificates.reload().unwrap_err();
            assert!(error.contains(wanted), "{error}");
            assert!(Certificates::load(&config).is_err());
            assert_eq!(shown(), at_first);
        }
        let long = "x".repeat((1 << 20) + 1);
        write((&long, &first.1));
        assert!(certificates.reload().unwrap_err().contains("c.pem has 1048577 bytes"));
        std::fs::remove_file(&certificate).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&certificate).status();
        assert!(made.is_ok_and(|made| made.success()), "a pipe can be made");
        assert!(certificates.reload().unwrap_err().contains("c.pem is no file"));
        std::fs::remove_file(&certificate).unwrap();
        assert_eq!(shown(), at_first);
        write((&second.0, &second.1));
        assert_eq!(certificates.reload(), Ok(true));
        assert_ne!(shown(), at_first);
    }
}
