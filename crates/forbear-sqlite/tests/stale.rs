//! `StaleLayer` with the file behind its memory: restarts, on the real clock.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::stale::{Because, Served, StalePolicy};
use forbear::{BoxError, Families, Family, StaleLayer, Unknown};
use forbear_sqlite::SqliteStore;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use tempfile::TempDir;
use tower::{Service, ServiceExt};

type Asked = Request<Empty<Bytes>>;
type Says = dyn FnMut(&Asked) -> Response<Full<Bytes>> + Send;

/// A vendor that says what it is told to, and counts.
#[derive(Clone)]
struct Vendor {
    says: Arc<Mutex<Box<Says>>>,
    attempts: Arc<AtomicUsize>,
}

impl Vendor {
    fn new(says: impl FnMut(&Asked) -> Response<Full<Bytes>> + Send + 'static) -> Self {
        Self { says: Arc::new(Mutex::new(Box::new(says))), attempts: Arc::default() }
    }

    fn now(&self, says: impl FnMut(&Asked) -> Response<Full<Bytes>> + Send + 'static) {
        *self.says.lock().unwrap() = Box::new(says);
    }

    fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::from(body.to_owned())).unwrap()
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("forbear.db")
}

/// One life of a program: its store, families that know where they stood, and the whole stack around the vendor.
async fn process(
    path: &Path,
    vendor: &Vendor,
) -> (
    SqliteStore,
    Families,
    forbear::StaleService<
        impl Service<
            Asked,
            Response = Response<impl http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static>,
            Error = forbear::Error,
            Future: Send,
        > + Clone
        + Send
        + 'static,
    >,
) {
    let store = SqliteStore::open(path).unwrap();
    let family = Family::new("vendor").host("vendor.test");
    let families =
        Families::builder().family(family).unknown(Unknown::Refuse).store(store.clone()).build().unwrap();
    families.loaded().await.unwrap();
    let vendor = vendor.clone();
    let client = tower::service_fn(move |request: Request<forbear::Replay<Empty<Bytes>>>| {
        vendor.attempts.fetch_add(1, Ordering::SeqCst);
        let (head, _) = request.into_parts();
        let response = (vendor.says.lock().unwrap())(&Request::from_parts(head, Empty::new()));
        async move { Ok::<_, std::io::Error>(response) }
    });
    let stale = StaleLayer::memory(1 << 20).policy(StalePolicy::new()).store(store.clone());
    let service = forbear::stack(&families).budget(Duration::from_secs(30)).stale(stale).service(client);
    (store, families, service)
}

fn get(url: &str, headers: &[(&str, &str)]) -> Asked {
    let mut request = Request::get(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Empty::new()).unwrap()
}

async fn ask<S, RB>(service: &S, request: Asked) -> (Served, String)
where
    S: Service<Asked, Response = Response<RB>, Error = forbear::Error> + Clone,
    RB: http_body::Body<Data = Bytes, Error = BoxError>,
{
    let response = service.clone().oneshot(request).await.unwrap();
    let served = *response.extensions().get().unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (served, String::from_utf8(body.to_vec()).unwrap())
}

const URL: &str = "http://user-canary:password-canary@vendor.test/v8/chart?symbol=AAPL&key=url-canary";

#[tokio::test]
async fn a_restart_in_the_middle_of_an_hours_cooldown_serves_what_is_stale_without_an_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let vendor = Vendor::new(|_| answer(200, &[("cache-control", "max-age=0")], "yesterday's"));
    let (store, families, service) = process(&path(&directory), &vendor).await;
    assert_eq!(ask(&service, get(URL, &[])).await, (Served::Live, "yesterday's".into()));
    vendor.now(|_| answer(429, &[("retry-after", "3600")], "no"));
    let (served, text) = ask(&service, get(URL, &[])).await;
    assert!(matches!(served, Served::Stale { because: Because::Limited, .. }), "{served:?}");
    assert_eq!(text, "yesterday's");
    service.stored().await.unwrap();
    families.stored().await.unwrap();
    drop((service, families));
    store.close().await;

    let before = vendor.attempts();
    let (_store, families, service) = process(&path(&directory), &vendor).await;
    for _ in 0..100 {
        let (served, text) = ask(&service, get(URL, &[])).await;
        assert!(matches!(served, Served::Stale { because: Because::Cooling, .. }), "{served:?}");
        assert_eq!(text, "yesterday's");
    }
    let health = families.health().to_string();
    assert!(health.starts_with("vendor  cooling "), "{health}");
    assert_eq!((before, vendor.attempts()), (2, 2));
}

#[tokio::test]
async fn two_users_never_mix_also_after_a_restart_and_no_secret_is_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let whose = |request: &Asked| {
        let of = |name: &str| {
            request.headers().get(name).map_or("-", |value| value.to_str().unwrap()).replace("canary", "user")
        };
        ["authorization", "cookie", "x-api-key", "x-vault-token", "x-tenant"].map(of).join(" ")
    };
    let fields = [("cache-control", "max-age=600"), ("vary", "X-Tenant")];
    let vendor = Vendor::new(move |request| answer(200, &fields, &whose(request)));
    let all: Vec<[(&str, &str); 2]> = ["authorization", "cookie", "x-api-key", "x-vault-token"]
        .into_iter()
        .flat_map(|name| ["canary-1", "canary-2"].map(|value| (name, value)))
        .flat_map(|who| ["tenant-canary-1", "tenant-canary-2"].map(|tenant| [who, ("x-tenant", tenant)]))
        .collect();
    let (store, families, service) = process(&path(&directory), &vendor).await;
    for one in &all {
        assert_eq!(ask(&service, get(URL, one)).await, (Served::Live, whose(&get(URL, one))));
    }
    service.stored().await.unwrap();
    drop((service, families));
    store.close().await;
    let bytes = std::fs::read(path(&directory)).unwrap();
    assert!(bytes.windows(11).any(|part| part == b"max-age=600"));
    assert!(!bytes.windows(6).any(|part| part == b"canary"));

    let (_store, _families, service) = process(&path(&directory), &vendor).await;
    for one in &all {
        assert_eq!(ask(&service, get(URL, one)).await, (Served::Fresh, whose(&get(URL, one))));
    }
    // Nor is anybody else served.
    vendor.now(|_| answer(404, &[], "else"));
    for other in [&[][..], &[("authorization", "canary-3")], &[("cookie", "canary-1; canary-2")]] {
        assert_eq!(ask(&service, get(URL, other)).await, (Served::Live, "else".into()));
    }
    assert_eq!(vendor.attempts(), 16 + 3);
}

#[tokio::test]
async fn a_row_that_is_damaged_is_a_miss_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = path(&directory);
    let vendor = Vendor::new(|_| answer(200, &[("cache-control", "max-age=600")], "whole"));
    let (store, families, service) = process(&path, &vendor).await;
    for number in 0..3 {
        ask(&service, get(&format!("http://vendor.test/{number}"), &[])).await;
    }
    service.stored().await.unwrap();
    drop((service, families));
    store.close().await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("UPDATE response_bodies SET body = x'00' WHERE id = 2").unwrap();
    drop(connection);
    let (_store, _families, service) = process(&path, &vendor).await;
    for (number, served) in [Served::Fresh, Served::Live, Served::Fresh].into_iter().enumerate() {
        let asked = ask(&service, get(&format!("http://vendor.test/{number}"), &[])).await;
        assert_eq!(asked, (served, "whole".into()));
    }
}

/// While another process holds the file, and after it is gone.
#[tokio::test]
async fn a_file_that_is_held_or_gone_fails_no_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = path(&directory);
    let vendor = Vendor::new(|_| answer(200, &[("cache-control", "max-age=600")], "whole"));
    let (store, _families, service) = process(&path, &vendor).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..50 {
        let asked = ask(&service, get(&format!("http://vendor.test/{number}"), &[])).await;
        assert_eq!(asked, (Served::Live, "whole".into()));
    }
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    service.stored().await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{suffix}", path.display())).unwrap();
    }
    for number in 0..100 {
        let asked = ask(&service, get(&format!("http://vendor.test/{number}"), &[])).await;
        assert_eq!(asked.1, "whole");
    }
    assert_eq!(vendor.attempts(), 100);
    drop(store);
}
