//! A backlog of 100,000 due keys over twenty families whose vendors limit, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family, MemoryWorkStore, Refresh, Source};
use forbear_mock::{Limiter, MockVendor, reply};
use http::Request;
use http_body_util::Empty;
use tokio::time::Instant;
use tower::service_fn;

const FAMILIES: usize = 20;
const KEYS: usize = 5_000;
/// What each vendor takes, which nobody told the refresh: half of what its drain asks for.
const LIMIT: u32 = 50;
const WINDOW: Duration = Duration::from_secs(10);

/// With windows that begin anew, and with such that slide.
pub(super) async fn measure() {
    let fixed = drain(|| Limiter::fixed_window(LIMIT, WINDOW), "a fixed").await;
    let sliding = drain(|| Limiter::sliding_window(LIMIT, WINDOW), "any").await;
    assert!(fixed.max(sliding) <= 1, "more than the first 429 of a window");
}

/// How many 429 one vendor gave in one window, at most.
async fn drain(limiter: impl Fn() -> Limiter, what: &str) -> usize {
    let mocks: Vec<_> = (0..FAMILIES)
        .map(|_| {
            let limiter = limiter().refusal_with(|wait| reply(429).retry_after_wait(wait));
            MockVendor::in_process().script(reply(200).delay(Duration::from_millis(30))).limit(limiter)
        })
        .collect();
    let families = (0..FAMILIES).fold(Families::builder(), |builder, n| {
        builder.family(Family::new(format!("f{n}")).host(format!("f{n}.test")))
    });
    let families = families.build().expect("families");
    // One service for all: the host says which vendor.
    let vendors: Arc<[_]> =
        mocks.iter().map(|mock| forbear::stack(&families).service(mock.service())).collect();
    let service = service_fn(move |request: Request<Empty<Bytes>>| {
        let host = request.uri().host().unwrap_or_default();
        let n: usize = host.trim_start_matches('f').trim_end_matches(".test").parse().unwrap_or_default();
        let vendor = vendors[n].clone();
        async move { vendor.send(request).await }
    });
    let done = Arc::new(AtomicUsize::new(0));
    let mut builder = Refresh::over(&families, service, MemoryWorkStore::new()).in_flight(64);
    for n in 0..FAMILIES {
        let done = Arc::clone(&done);
        let source = Source::new(format!("s{n}")).family(format!("f{n}")).every(Duration::from_secs(86_400));
        let source = source
            .fetch(move |key| Request::get(format!("http://f{n}.test/{key}")).body(Empty::new()))
            .store(move |_, _| {
                done.fetch_add(1, Ordering::Relaxed);
                async { Ok::<_, std::io::Error>(()) }
            });
        builder = builder.source(source);
    }
    let refresh = builder.build().expect("a refresh");
    for n in 0..FAMILIES {
        let keys = (0..KEYS).map(|key| format!("{key:05}"));
        let _ = refresh.demand(&format!("s{n}"), keys).await.expect("a demand");
    }
    let start = Instant::now();
    refresh
        .run(async {
            while done.load(Ordering::Relaxed) < FAMILIES * KEYS {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        })
        .await;
    let took = start.elapsed();
    let (mut attempts, mut refused, mut worst) = (0, 0, 0);
    for mock in &mocks {
        let all = mock.attempts();
        let at: Vec<_> = all.refused().iter().map(forbear_mock::Attempt::since).collect();
        attempts += all.len();
        refused += at.len();
        let within = |n: usize| at[n..].iter().take_while(|later| **later - at[n] < WINDOW).count();
        worst = worst.max((0..at.len()).map(within).max().unwrap_or_default());
    }
    let most = f64::from(LIMIT) / WINDOW.as_secs_f64() * FAMILIES as f64;
    let rate = (FAMILIES * KEYS) as f64 / took.as_secs_f64();
    println!(
        "{} due keys over {FAMILIES} families; each vendor takes {LIMIT} in {what} {WINDOW:?}",
        FAMILIES * KEYS
    );
    println!("  virtual time     {:>12.0} s", took.as_secs_f64());
    println!(
        "  served           {rate:>12.1} a second, {:.0} % of what the vendors take",
        100.0 * rate / most
    );
    println!("  attempts         {attempts:>12}");
    println!("  429              {refused:>12}, at most {worst} of one vendor within {WINDOW:?}");
    println!();
    worst
}
