//! rustls with a certificate that is always the same, and clients that accept it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme, version};

/// Ed25519, whose signatures have one length.
const CERTIFICATE: &[u8] = include_bytes!("../certificate/certificate.der");
const KEY: &[u8] = include_bytes!("../certificate/key.der");
const PROTOCOL: &[u8] = b"fairhaul";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Of the end that opens connections.
///
/// # Errors
/// What rustls says.
pub fn client() -> Result<ClientConfig, Error> {
    let builder =
        ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&version::TLS13])?;
    let verifier = Arc::new(AcceptAll(provider()));
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// Of the end that accepts them.
///
/// # Errors
/// What rustls says.
pub fn server() -> Result<ServerConfig, Error> {
    let builder =
        ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&version::TLS13])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let chain = vec![CertificateDer::from(CERTIFICATE)];
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// Accepts the certificate without a look at the date: there is none in simulated time.
#[derive(Debug)]
struct AcceptAll(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
