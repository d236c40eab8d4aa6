//! A transfer over quinn with its own runtime, which reads the clock of the system, by two programs:
//! `quinn-transfer send BYTES` and `quinn-transfer receive`. Fairhaul gives them their addresses, and where their qlog and
//! their keys go, by variables of the environment (docs/programs.md).

use std::env;
use std::error::Error;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, QlogConfig, ServerConfig, TransportConfig};
use rustls::KeyLogFile;

type Failure = Box<dyn Error>;

/// The data of one write.
const PIECE: [u8; 1 << 16] = [0; 1 << 16];

fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["send", bytes] => runtime.block_on(send(bytes.parse()?)),
        ["receive"] => runtime.block_on(receive()),
        _ => Err("wanted: send BYTES, or receive".into()),
    }
}

/// Sends so many bytes on one stream, and waits until they are acknowledged.
async fn send(bytes: usize) -> Result<(), Failure> {
    let mut tls = fairhaul_stack_quic::client()?;
    tls.key_log = Arc::new(KeyLogFile::new());
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport()?);
    let endpoint = Endpoint::client(SocketAddr::new(address("FAIRHAUL_ADDRESS")?, 0))?;
    let connection = endpoint.connect_with(config, peer()?, "fairhaul")?.await?;
    let mut stream = connection.open_uni().await?;
    let mut left = bytes;
    while left > 0 {
        left -= stream.write(&PIECE[..left.min(PIECE.len())]).await?;
    }
    stream.finish()?;
    stream.stopped().await?;
    connection.close(0u8.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// Reads what the stream of each connection brings.
async fn receive() -> Result<(), Failure> {
    let mut tls = fairhaul_stack_quic::server()?;
    tls.key_log = Arc::new(KeyLogFile::new());
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport()?);
    let endpoint = Endpoint::server(config, SocketAddr::new(address("FAIRHAUL_ADDRESS")?, port()?))?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let mut stream = connection.accept_uni().await?;
        while stream.read_chunk(usize::MAX, true).await?.is_some() {}
        connection.closed().await;
    }
    Ok(())
}

/// The transport, with a qlog where `QLOGDIR` says, and windows of flow control that no path of the tests fills.
fn transport() -> Result<Arc<TransportConfig>, Failure> {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window((16u32 << 20).into()).send_window(64 << 20);
    if let Ok(folder) = env::var("QLOGDIR") {
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(File::create(Path::new(&folder).join("quinn.sqlog"))?));
        transport.qlog_stream(qlog.into_stream());
    }
    Ok(Arc::new(transport))
}

fn address(variable: &str) -> Result<IpAddr, Failure> {
    let text = env::var(variable).map_err(|_| format!("{variable} is not set: Fairhaul sets it"))?;
    Ok(text.parse()?)
}

fn port() -> Result<u16, Failure> {
    Ok(env::var("FAIRHAUL_PORT").map_err(|_| "FAIRHAUL_PORT is not set: Fairhaul sets it")?.parse()?)
}

fn peer() -> Result<SocketAddr, Failure> {
    Ok(SocketAddr::new(address("FAIRHAUL_PEER")?, port()?))
}
