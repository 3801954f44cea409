//! The rows: one answer of 1 KiB with six fields, stored once and served again and again.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use forbear::stale::Served;
use forbear::{Families, Family, StaleLayer};
use forbear_benches::Call;
use forbear_benches::counted::Row;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use moka::sync::Cache;
use tower::{Layer, Service, service_fn};

type Body = Empty<Bytes>;

const URL: &str = "https://quotes.test/v8/chart/AAPL?range=1d";
const MAX_AGE: &str = "max-age=31536000";

/// All rows; the floor is the first.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = vec![
        row("floor: a request is built and dropped", None, || {
            Box::new(|| drop(std::hint::black_box(request())))
        }),
        row("moka alone: a look by a number", None, moka_alone),
        row("moka and a response: its fields copied", None, moka_and_response),
        row("**fresh**", Some(8_300), || hits(&StaleLayer::memory(64 << 20))),
        row("**fresh, of a family**", Some(8_400), || {
            hits(&StaleLayer::memory(64 << 20).families(&families()))
        }),
        row("fresh, told to confirm what it has: 304", Some(10_850), confirmed),
        row("old, its vendor left alone", Some(8_750), old),
    ];
    if cfg!(feature = "caches") {
        rows.push(row("http-cache-tower, moka", None, peer));
    }
    rows
}

fn row(name: &'static str, limit: Option<u64>, make: fn() -> Call) -> Row {
    Row { name, limit, make: Box::new(make) }
}

fn request() -> Request<Body> {
    let mut request = Request::new(Body::new());
    *request.uri_mut() = http::Uri::from_static(URL);
    request
}

fn families() -> Families {
    Families::builder().family(Family::new("quotes").host("quotes.test")).build().unwrap()
}

fn fields() -> HeaderMap {
    let fields = [
        ("cache-control", MAX_AGE),
        ("content-type", "application/json"),
        ("date", "Tue, 01 Dec 2026 00:00:00 GMT"),
        ("etag", "\"33a64df5\""),
        ("server", "quotes"),
        ("x-request-id", "8f14e45f"),
    ];
    fields.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).into_iter().collect()
}

/// What the vendor answers.
fn answer() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(vec![b'x'; 1024])));
    *response.headers_mut() = fields();
    // It is of now.
    response.headers_mut().remove("date");
    response
}

fn moka_alone() -> Call {
    let cache: Cache<u64, Arc<Bytes>> = Cache::new(1000);
    cache.insert(7, Arc::new(Bytes::from(vec![b'x'; 1024])));
    Box::new(move || {
        drop(std::hint::black_box(request()));
        assert!(cache.get(&7).is_some());
    })
}

fn moka_and_response() -> Call {
    let cache: Cache<u64, Arc<(HeaderMap, Bytes)>> = Cache::new(1000);
    cache.insert(7, Arc::new((fields(), Bytes::from(vec![b'x'; 1024]))));
    Box::new(move || {
        drop(std::hint::black_box(request()));
        let entry = cache.get(&7).unwrap();
        let mut response = Response::new(Full::new(entry.1.clone()));
        *response.headers_mut() = entry.0.clone();
        assert_eq!(std::hint::black_box(response).status(), StatusCode::OK);
    })
}

/// Polls what is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let Poll::Ready(done) = pin!(future).poll(&mut Context::from_waker(Waker::noop())) else {
        unreachable!("what is stored is served at the first poll")
    };
    done
}

/// Runs what is not, in a runtime that is left again.
fn run<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let done = future.await;
                // What is stored is stored once its body is read.
                tokio::time::sleep(Duration::from_millis(5)).await;
                done
            })
        };
        scope.spawn(run).join().unwrap()
    })
}

fn hits(layer: &StaleLayer) -> Call {
    let mut service = layer.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(answer())));
    let stored = run(async {
        let response = service.call(request()).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes()
    });
    assert_eq!(stored.len(), 1024);
    Box::new(move || {
        let response = ready(service.call(request())).unwrap();
        assert!(matches!(response.extensions().get(), Some(Served::Fresh)));
    })
}

fn confirmed() -> Call {
    let layer = StaleLayer::memory(64 << 20);
    let mut service = layer.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(answer())));
    run(async { service.call(request()).await.unwrap().into_body().collect().await.unwrap() });
    Box::new(move || {
        let mut request = request();
        request.headers_mut().insert("if-none-match", HeaderValue::from_static("\"33a64df5\""));
        let response = ready(service.call(request)).unwrap();
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    })
}

/// An answer that is old from the first moment, and nobody asks for a better one for a while.
fn old() -> Call {
    let policy = forbear::stale::StalePolicy::new().retry_gap(Duration::from_secs(86_400));
    let layer = StaleLayer::memory(64 << 20).policy(policy);
    let first = Arc::new(AtomicBool::new(true));
    let mut service = layer.layer(service_fn(move |_: Request<Body>| {
        let answer = if first.swap(false, Ordering::Relaxed) {
            let mut answer = answer();
            answer.headers_mut().insert("cache-control", HeaderValue::from_static("max-age=0"));
            answer
        } else {
            let mut down = Response::new(Full::default());
            *down.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            down
        };
        async move { Ok::<_, Infallible>(answer) }
    }));
    run(async { service.call(request()).await.unwrap().into_body().collect().await.unwrap() });
    run(async { service.call(request()).await.unwrap().into_body().collect().await.unwrap() });
    Box::new(move || {
        let response = ready(service.call(request())).unwrap();
        assert!(matches!(response.extensions().get(), Some(Served::Stale { .. })));
    })
}

#[cfg(not(feature = "caches"))]
fn peer() -> Call {
    Box::new(|| ())
}

#[cfg(feature = "caches")]
fn peer() -> Call {
    use http_cache::{CacheMode, HttpCache, HttpCacheOptions, MokaManager};
    use http_cache_tower::HttpCacheLayer;

    let cache = HttpCache {
        mode: CacheMode::Default,
        manager: MokaManager::default(),
        options: HttpCacheOptions::default(),
    };
    let mut service = HttpCacheLayer::with_cache(cache)
        .layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(answer())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let first = runtime.block_on(service.call(request())).map_err(|_| ()).unwrap();
    drop(runtime.block_on(first.into_body().collect()));
    runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
    Box::new(move || {
        let response = ready(service.call(request())).map_err(|_| ()).unwrap();
        assert_eq!(response.headers()["x-cache"], "HIT");
    })
}
