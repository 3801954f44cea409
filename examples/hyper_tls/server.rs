//! A server with TLS and a certificate of its own, which counts its connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::BoxError;

/// What it answers with.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A server on loopback.
pub struct Server {
    authority: String,
    certificate: CertificateDer<'static>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    /// Starts it. `protocols` are what it speaks, as ALPN names them: `h2`, `http/1.1`.
    ///
    /// # Errors
    /// Where there is no socket.
    pub async fn start(
        protocols: &[&str],
        answer: impl Fn(Request<Incoming>) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Result<Self, BoxError> {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let certificate = own.cert.der().clone();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)?;
        tls.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(tls));

        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let authority = format!("localhost:{}", listener.local_addr()?.port());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answer, counted) = (acceptor.clone(), answer.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    counted.fetch_add(1, Ordering::SeqCst);
                    let answers = service_fn(move |request| {
                        let answer = answer(request);
                        async move { Ok::<_, Infallible>(answer) }
                    });
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), answers)
                        .await;
                });
            }
        });
        Ok(Self { authority, certificate, connections, accepting })
    }

    /// Its host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.authority)
    }

    /// Whom to trust.
    #[must_use]
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// How many connections it has had.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
