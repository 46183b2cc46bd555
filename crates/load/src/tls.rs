//! The certificates trusted for HTTPS: the system's authorities, or one from a file.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_rustls::TlsConnector;

/// Creates the connector for encrypted connections.
///
/// # Errors
/// One sentence that names the file, or says that the system has no authorities.
pub fn connector(ca: Option<&Path>) -> Result<TlsConnector, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = match ca {
        None => {
            let system = builder.with_platform_verifier();
            system.map_err(|error| format!("the system's authorities can't be loaded: {error}"))?.with_no_client_auth()
        }
        Some(file) => {
            let wrong = |error: &dyn std::fmt::Display| format!("`ca`: {} can't be used: {error}", file.display());
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))? {
                roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate in it"));
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}
