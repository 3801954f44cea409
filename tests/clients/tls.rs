//! TLS in front of whatever listens on loopback: each connection goes through a relay that speaks it.

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service;

/// Connects to the relay of a new connection, with the certificate of which it is trusted.
pub(crate) fn connector(http2: bool) -> HttpsConnector<Relayed> {
    let own = rcgen::generate_simple_self_signed([Ipv4Addr::LOCALHOST.to_string()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    server.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];

    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    HttpsConnectorBuilder::new()
        .with_tls_config(client)
        .https_only()
        .enable_all_versions()
        .wrap_connector(Relayed(TlsAcceptor::from(Arc::new(server))))
}

#[derive(Clone)]
pub(crate) struct Relayed(TlsAcceptor);

impl Service<Uri> for Relayed {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let acceptor = self.0.clone();
        Box::pin(async move {
            // First, so that who listens nowhere refuses.
            let mut vendor = TcpStream::connect(uri.authority().unwrap().as_str()).await?;
            let relay = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let client = TcpStream::connect(relay.local_addr()?).await?;
            tokio::spawn(async move {
                let (stream, _) = relay.accept().await?;
                let mut stream = acceptor.accept(stream).await?;
                copy_bidirectional(&mut stream, &mut vendor).await
            });
            Ok(TokioIo::new(client))
        })
    }
}
