//! A real gRPC server that limits.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Service;

use super::quotes::{Ask, Quote};

/// Serves quotes on loopback. Asked for `busy` for the first time, or with `busy` in the metadata of a stream, it says `RESOURCE_EXHAUSTED` and how long to stay away.
pub struct Vendor {
    origin: String,
    /// How many calls it saw.
    calls: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Vendor {
    /// Starts it; `pushback_ms` is how long callers are to stay away.
    ///
    /// # Errors
    /// Where there is no socket.
    pub async fn start(pushback_ms: u32) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let calls = Arc::new(AtomicUsize::new(0));
        let handler = Handler { calls: Arc::clone(&calls), limited: Arc::default(), pushback_ms };
        let serving = tokio::spawn(async move {
            let _ = Server::builder().serve_with_incoming(handler, TcpIncoming::from(listener)).await;
        });
        Ok(Self { origin, calls, serving })
    }

    /// Its URL.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many calls it saw.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[derive(Clone)]
struct Handler {
    calls: Arc<AtomicUsize>,
    limited: Arc<AtomicUsize>,
    pushback_ms: u32,
}

impl Handler {
    fn quote(&self, ask: Ask) -> Result<Quote, Status> {
        if ask.symbol == "busy" && self.limited.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-retry-pushback-ms", self.pushback_ms.into());
            return Err(Status::with_metadata(Code::ResourceExhausted, "too many quotes", metadata));
        }
        let price = u64::try_from(ask.symbol.len()).unwrap_or(u64::MAX);
        Ok(Quote { symbol: ask.symbol, price })
    }
}

impl Service<http::Request<Body>> for Handler {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let handler = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Quote, Ask>::default());
            Ok(match request.uri().path() {
                "/quotes.Quotes/Get" => grpc.unary(Get(handler), request).await,
                "/quotes.Quotes/Watch" => grpc.streaming(Watch(handler), request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

struct Get(Handler);

impl Service<Request<Ask>> for Get {
    type Response = Response<Quote>;
    type Error = Status;
    type Future = Ready<Result<Response<Quote>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Ask>) -> Self::Future {
        ready(self.0.quote(request.into_inner()).map(Response::new))
    }
}

struct Watch(Handler);

impl Service<Request<Streaming<Ask>>> for Watch {
    type Response = Response<BoxStream<'static, Result<Quote, Status>>>;
    type Error = Status;
    type Future = Ready<Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<Ask>>) -> Self::Future {
        let handler = self.0.clone();
        // Refused as a whole, before anything is read.
        if let Some(Err(limited)) = request.metadata().get("busy").map(|_| handler.quote(Ask::of("busy"))) {
            return ready(Err(limited));
        }
        let quotes = request.into_inner().map(move |ask| ask.and_then(|ask| handler.quote(ask)));
        ready(Ok(Response::new(quotes.boxed())))
    }
}
