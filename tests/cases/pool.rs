//! Connections are given back before a wait.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{BudgetLayer, RetryAfterLayer};
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Body, MILLISECOND, SECOND, automatic};

const FRAME: usize = 16 * 1024;

/// A response body that holds its connection until it is read to the end or dropped.
struct Leased {
    frames: usize,
    /// Never ends, and never fails.
    stalled: bool,
    _connection: OwnedSemaphorePermit,
}

impl HttpBody for Leased {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.checked_sub(1) {
            Some(left) => {
                self.frames = left;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; FRAME])))))
            }
            None if self.stalled => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

// DataDog/datadog-api-client-java#2079, Infisical/node-sdk-v2#36: answers stayed open during the wait, and drained
// the pool.
#[tokio::test(start_paused = true)]
async fn fifty_waits_leave_a_pool_of_two_to_others() {
    for (frames, stalled) in [(0, false), (4, false), (64, false), (1, true), (0, true)] {
        let pool = Arc::new(Semaphore::new(2));
        let start = Instant::now();
        let connections = Arc::clone(&pool);
        let client = service_fn(move |request: Request<Replay<Body>>| {
            let connections = Arc::clone(&connections);
            async move {
                let connection = connections.acquire_owned().await.unwrap();
                let well = request.uri().host() == Some("other.test") || start.elapsed() > 9 * SECOND;
                let frames = if well { 0 } else { frames };
                let body = Leased { frames, stalled: stalled && !well, _connection: connection };
                let mut response = Response::new(body);
                if !well {
                    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                    response.headers_mut().insert("retry-after", "10".parse().unwrap());
                }
                Ok::<_, Infallible>(response)
            }
        });
        let layers = ServiceBuilder::new().layer(BudgetLayer::new(60 * SECOND)).layer(RetryAfterLayer::new());
        let vendor = layers.service(client);
        let throttled: Vec<_> = (0..50)
            .map(|number| {
                let request =
                    Request::get(format!("http://vendor.test/{number}")).body(Body::default()).unwrap();
                let vendor = vendor.clone();
                tokio::spawn(async move { vendor.oneshot(request).await.map(|response| response.status()) })
            })
            .collect();
        // Long enough for twenty-five pairs of stalled bodies.
        tokio::time::sleep(8 * SECOND).await;
        assert_eq!(pool.available_permits(), 2, "{frames} frames, stalled: {stalled}");
        let asked = Instant::now();
        let other = Request::get("http://other.test/").body(Body::default()).unwrap();
        assert_eq!(vendor.oneshot(other).await.unwrap().status(), StatusCode::OK);
        assert!(asked.elapsed() < 10 * MILLISECOND);
        for waits in throttled {
            assert_eq!(waits.await.unwrap().unwrap(), StatusCode::OK);
        }
    }
}

/// A server on a loopback socket whose first answer is a 429 with a body of `length`; counts its connections.
async fn serve(length: usize) -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (connections, answers) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let accepted = Arc::clone(&connections);
    // Ends with the test's runtime.
    drop(tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            accepted.fetch_add(1, Ordering::Relaxed);
            let answers = Arc::clone(&answers);
            let answer = hyper::service::service_fn(move |_| {
                let first = answers.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    let mut response =
                        Response::new(Full::new(Bytes::from(vec![b'x'; if first { length } else { 2 }])));
                    if first {
                        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                        response.headers_mut().insert("retry-after", "0".parse().unwrap());
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            drop(tokio::spawn(connection));
        }
    }));
    (at, connections)
}

// DataDog/datadog-api-client-java#2079: a small answer is read to its end, so that its connection is used again.
#[tokio::test]
async fn the_connection_of_a_small_429_is_used_again() {
    for (length, expected) in [(0, 1), (1024, 1), (64 * 1024, 1), (4 << 20, 2)] {
        let (at, connections) = serve(length).await;
        let client = Client::builder(TokioExecutor::new()).build_http::<Replay<Full<Bytes>>>();
        let families = automatic();
        let vendor = forbear::stack(&families).budget(30 * SECOND).service(client);
        let request = Request::get(format!("http://{at}/")).body(Full::default()).unwrap();
        let response = vendor.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "xx");
        assert_eq!(connections.load(Ordering::Relaxed), expected, "a body of {length} bytes");
    }
}
