//! What both ends of a connection need of TLS, in the library and in the program.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use quiche::Config;

/// RSA, whose signatures have one length. BoringSSL's clients accept no Ed25519 unless it is named.
const CERTIFICATE: &[u8] = include_bytes!("../certificate/certificate.pem");
const KEY: &[u8] = include_bytes!("../certificate/key.pem");

/// A configuration with a certificate that no client verifies, which gives the keys of connections.
pub fn config() -> quiche::Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    let unreadable = |_| quiche::Error::TlsFail;
    let (certificate, key) = (File::of(CERTIFICATE).map_err(unreadable)?, File::of(KEY).map_err(unreadable)?);
    config.load_cert_chain_from_pem_file(&certificate.path())?;
    config.load_priv_key_from_pem_file(&key.path())?;
    config.set_application_protos(&[b"fairhaul"])?;
    config.verify_peer(false);
    config.log_keys();
    Ok(config)
}

/// A file in memory: quiche reads its certificate from a file.
struct File(fs::File);

impl File {
    fn of(bytes: &[u8]) -> io::Result<File> {
        // SAFETY: the name ends with a zero, and the descriptor is new.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"fairhaul".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            fs::File::from_raw_fd(descriptor)
        };
        (&file).write_all(bytes)?;
        Ok(File(file))
    }

    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
