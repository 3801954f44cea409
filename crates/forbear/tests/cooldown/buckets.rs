//! An attempt that counts in a bucket, a route and a credential needs all of them.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forbear::{Dialect, Families, FamiliesBuilder, Family, Partition};
use http::{Request, Response};
use tower::{Service, ServiceExt};

use crate::common::{SECOND, Sent, get, with};
use crate::{refusal, service};

/// The bucket is named in every answer; a limit is its own where the answer says so, else the credential's.
const DIALECT: &str = r#"
name = "vendor"
bucket = { header = "x-bucket" }

[[rule]]
status = 429
when = { header = "x-of", is = "bucket" }
scope = { header = "x-bucket" }
of = "bucket"
"#;

fn families() -> FamiliesBuilder {
    let dialect = Dialect::from_toml(DIALECT).unwrap();
    Families::builder().family(Family::new("vendor").host("vendor.test").dialect(dialect).per_partition())
}

/// Limits what is asked by its path, and counts what is sent.
fn client() -> (
    impl Service<Request<Sent>, Response = Response<Sent>, Error = Infallible, Future: Send> + Clone,
    Arc<AtomicUsize>,
) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let client = tower::service_fn(move |request: Request<Sent>| {
        count.fetch_add(1, Ordering::SeqCst);
        let answer = Response::builder().header("x-bucket", "core");
        let answer = match request.uri().path() {
            "/bucket" => answer.status(429).header("retry-after", 5).header("x-of", "bucket"),
            "/credential" => answer.status(429).header("retry-after", 300),
            "/dead" => answer.status(429).header("retry-after", 5),
            _ => answer,
        };
        ready(Ok(answer.body(Sent::default()).unwrap()))
    });
    (client, sent)
}

/// A limit of the whole credential holds, also once that of a bucket in it is over.
#[tokio::test(start_paused = true)]
async fn a_bucket_that_is_due_lets_nobody_past_a_credential_that_cools() {
    let families = families().build().unwrap();
    let (client, sent) = client();
    let service = service(&families, client);
    let send = |path: &str, credential: &str| {
        let request = with(get(&format!("http://vendor.test{path}")), Partition::of(credential));
        service.clone().oneshot(request)
    };
    // The bucket of the second route is not known yet.
    assert_eq!(send("/bucket", "one").await.unwrap().status(), 429);
    assert_eq!(send("/credential", "one").await.unwrap().status(), 429);
    tokio::time::sleep(6 * SECOND).await;
    let refused = refusal(send("/bucket", "one").await);
    assert!(refused.is_some(), "{}", families.health());
    assert_eq!(sent.load(Ordering::SeqCst), 2);
    assert!(send("/other", "two").await.is_ok());
}

/// Nor does a route that has a gate of its own, because it is dead.
#[tokio::test(start_paused = true)]
async fn a_dead_route_that_is_due_lets_nobody_past_a_credential_that_cools() {
    let families = families().build().unwrap();
    let (client, sent) = client();
    let service = service(&families, client);
    let send = |path: &str, credential: Option<&str>| {
        let request = get(&format!("http://vendor.test{path}"));
        service.clone().oneshot(match credential {
            Some(credential) => with(request, Partition::of(credential)),
            None => request,
        })
    };
    for _ in 0..3 {
        assert_eq!(send("/dead", None).await.unwrap().status(), 429);
        tokio::time::sleep(20 * SECOND).await;
        assert_eq!(send("/well", None).await.unwrap().status(), 200);
    }
    assert!(families.health().to_string().contains("route /dead"), "{}", families.health());
    assert_eq!(send("/credential", Some("one")).await.unwrap().status(), 429);
    let before = sent.load(Ordering::SeqCst);
    assert!(refusal(send("/dead", Some("one")).await).is_some(), "{}", families.health());
    assert_eq!(sent.load(Ordering::SeqCst), before);
    assert_eq!(send("/dead", Some("two")).await.unwrap().status(), 429);
}

/// A vendor whose answers a test scripts by path, each with its bucket; some come from another host.
fn scripted(
    script: impl Fn(&str) -> http::response::Builder + Clone + Send + 'static,
) -> impl Service<Request<Sent>, Response = Response<Sent>, Error = Infallible, Future: Send> + Clone {
    tower::service_fn(move |request: Request<Sent>| {
        ready(Ok(script(request.uri().path()).body(Sent::default()).unwrap()))
    })
}

fn limited_bucket(name: &'static str, seconds: u64) -> http::response::Builder {
    let answer = Response::builder().status(429).header("retry-after", seconds);
    answer.header("x-bucket", name).header("x-of", "bucket")
}

/// The bucket that an attempt was let through by is not the one that its answer limits.
#[tokio::test(start_paused = true)]
async fn a_probe_of_one_bucket_closes_the_other_that_its_answer_names() {
    let families = families().build().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let service = service(
        &families,
        scripted(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => limited_bucket("first", 5),
            _ => limited_bucket("second", 300),
        }),
    );
    let send = || service.clone().oneshot(get("http://vendor.test/x"));
    assert_eq!(send().await.unwrap().status(), 429);
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(send().await.unwrap().status(), 429);
    let health = families.health().to_string();
    assert!(health.contains("second  cooling 5m"), "{health}");
    tokio::time::sleep(60 * SECOND).await;
    assert!(refusal(send().await).is_some(), "{}", families.health());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// What another host says of its buckets is not learned for the route that was asked.
#[tokio::test(start_paused = true)]
async fn the_bucket_of_whom_a_client_was_redirected_to_is_not_the_routes() {
    let families = families().build().unwrap();
    let elsewhere = || forbear::EffectiveUri("http://cdn.test/".parse().unwrap());
    let service = service(
        &families,
        scripted(move |path| match path {
            "/limited" => limited_bucket("theirs", 300),
            _ => Response::builder().header("x-bucket", "theirs").extension(elsewhere()),
        }),
    );
    let send = |path: &str| service.clone().oneshot(get(&format!("http://vendor.test{path}")));
    assert_eq!(send("/redirected").await.unwrap().status(), 200);
    assert_eq!(send("/limited").await.unwrap().status(), 429);
    assert!(refusal(send("/limited").await).is_some());
    assert_eq!(send("/redirected").await.unwrap().status(), 200, "{}", families.health());
}

/// Nobody knows which route of the other family was asked: the limit of a route there is that family's.
#[tokio::test(start_paused = true)]
async fn the_limit_of_a_route_elsewhere_is_the_whole_familys() {
    let by_route = Dialect::from_toml(
        "name = \"vendor\"\nbucket = { header = \"x-bucket\" }\n[[rule]]\nstatus = 429\nof = \"route\"\n",
    );
    let dialect = by_route.unwrap();
    let family = |name: &str| Family::new(name).host(format!("{name}.test")).dialect(dialect.clone());
    let families = Families::builder().family(family("a")).family(family("b")).build().unwrap();
    let elsewhere = || forbear::EffectiveUri("http://b.test/login".parse().unwrap());
    let service = service(
        &families,
        scripted(move |_| Response::builder().status(429).header("retry-after", 30).extension(elsewhere())),
    );
    assert_eq!(service.clone().oneshot(get("http://a.test/x")).await.unwrap().status(), 429);
    let cooling = refusal(service.oneshot(get("http://b.test/other")).await).unwrap();
    assert_eq!((cooling.family(), cooling.partition()), ("b", None));
}
