//! What very many hosts cost in memory, under `Unknown::PerHost`. A process of its own, since it counts what all threads
//! allocate; the numbers of a longer run are in `docs/performance.md`:
//!
//! ```sh
//! FORBEAR_HOSTS=10000000 cargo test --release -p forbear-tests --test hosts -- --nocapture
//! ```

use std::convert::Infallible;
use std::fmt::Write;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Peeked;
use forbear::{Error, Families, FamilyCooldownLayer, FamilyCooldownService};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Empty;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tower::{Layer, Service, ServiceExt};

#[global_allocator]
static GLOBAL: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

type Body = Empty<Bytes>;

/// So many hosts, unless `FORBEAR_HOSTS` says otherwise.
const HOSTS: u64 = 100_000;
/// As many automatic families as there may be.
const MOST: f64 = 10_000.0;

/// Answers at once: 200, or a limit.
#[derive(Debug, Clone, Copy)]
struct Client {
    limited: bool,
}

impl<B> Service<Request<B>> for Client {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut response = Response::new(Body::new());
        if self.limited {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        }
        ready(Ok(response))
    }
}

fn request(uri: &mut String, host: u64) -> Request<Body> {
    uri.clear();
    write!(uri, "http://h{host}.test/").unwrap();
    let mut request = Request::new(Body::new());
    *request.uri_mut() = Uri::try_from(uri.as_bytes()).unwrap();
    request
}

/// Bytes that are allocated now.
fn held() -> f64 {
    let stats = GLOBAL.stats();
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 bytes")]
    let held = (stats.bytes_allocated - stats.bytes_deallocated) as f64;
    held
}

fn hosts() -> u64 {
    std::env::var("FORBEAR_HOSTS").ok().map_or(HOSTS, |hosts| hosts.parse().unwrap())
}

fn gate(families: &Families, client: Client) -> FamilyCooldownService<Client> {
    FamilyCooldownLayer::new(families.clone()).layer(client)
}

async fn call(
    gate: &mut FamilyCooldownService<Client>,
    request: Request<Body>,
) -> Result<Response<Peeked<Body>>, Error> {
    ServiceExt::<Request<Body>>::ready(gate).await?.call(request).await
}

/// Calls hosts nobody registered, `pace` a second; how many were limited, how many refused, and the most bytes held.
async fn limits(families: &Families, numbers: std::ops::Range<u64>, pace: u64) -> (u64, u64, f64) {
    let (mut gate, mut uri) = (gate(families, Client { limited: true }), String::new());
    let (mut limited, mut refused, mut most) = (0, 0, 0_f64);
    for host in numbers {
        match call(&mut gate, request(&mut uri, host)).await {
            Ok(_) => limited += 1,
            Err(_) => refused += 1,
        }
        if host % pace == 0 {
            most = most.max(held());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    (limited, refused, most)
}

/// More than ten thousand automatic families hold, with what one thread counts of them.
const ENOUGH: f64 = 4_096.0 * MOST;

#[tokio::test(start_paused = true)]
async fn memory_does_not_grow_with_the_number_of_hosts() {
    let hosts = hosts();
    let families = Families::builder().build().unwrap();
    let (mut open, mut uri) = (gate(&families, Client { limited: false }), String::new());
    let _ = call(&mut open, request(&mut uri, 0)).await.unwrap();
    let before = held();
    for host in 0..hosts {
        let _ = call(&mut open, request(&mut uri, host)).await.unwrap();
    }
    let healthy = held() - before;
    println!("{hosts} healthy hosts hold {healthy} bytes");
    assert!(healthy <= 1_024.0, "{healthy} bytes");

    // Nothing rests long enough to make room: what is over shares one family.
    let (limited, refused, most) = limits(&families, 0..hosts, hosts).await;
    let most = most.max(held()) - before;
    println!("{hosts} limited hosts at once: {limited} answers, {refused} refused; {most} bytes");
    assert!(limited > 10_000 && limited + refused == hosts, "{limited} and {refused}");
    assert!(families.health().overflows > 0 && most < ENOUGH, "{most} bytes");
    tokio::time::sleep(Duration::from_secs(2)).await;
    for host in 0..10_000 {
        let _ = call(&mut open, request(&mut uri, host)).await.unwrap();
    }
    let counted = held() - before;
    println!(
        "  called again, each {} bytes, of which the calling thread's counters are a part",
        counted / MOST
    );
    assert!(counted < ENOUGH, "{counted} bytes");
    drop((open, families));

    // Paced so that those that rest make room for others: families come and go.
    let families = Families::builder().build().unwrap();
    let (limited, _, first) = limits(&families, 0..hosts, 500).await;
    println!("{hosts} limited hosts, 500 a second: {limited} answers; at most {} bytes", first - before);
    assert_eq!((limited, families.health().overflows), (hosts, 0), "each had a family of its own");
    assert!(first - before < ENOUGH, "{} bytes", first - before);
    let (_, _, second) = limits(&families, hosts..2 * hosts, 500).await;
    println!("  and as many again: at most {} bytes", second - before);
    assert!(second - before < (first - before) * 1.1, "{first}, then {second}");

    drop(families);
    let left = held() - before;
    println!(
        "{left} bytes are left when the families are gone: this thread's counters, until other families take their places"
    );
    assert!(left < ENOUGH / 2.0, "{left} bytes");
}
