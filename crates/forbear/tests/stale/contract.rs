//! What a `tower::Service` owes, above and below; and a whole family that cools.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use forbear::{Error, Families, Family, Unknown};
use tower::{Service, ServiceBuilder};

use crate::vendor::{Fault, answer, ok};
use crate::*;

/// A client that is ready, not ready, or fails before it is called. It panics where a clone is called that was not made ready.
struct Readied {
    inner: Vendor,
    is: Arc<AtomicU8>,
    ready: bool,
}

const READY: u8 = 0;
const NEVER: u8 = 1;
const FAILS: u8 = 2;

impl Clone for Readied {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), is: Arc::clone(&self.is), ready: false }
    }
}

impl Service<Request<Body>> for Readied {
    type Response = Response<Body>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match self.is.load(Ordering::SeqCst) {
            READY => {
                self.ready = true;
                Poll::Ready(Ok(()))
            }
            NEVER => Poll::Pending,
            _ => Poll::Ready(Err(Fault("not to be made ready"))),
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "it was not made ready, or is called twice");
        self.inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_not_ready_or_fails_before_takes_from_nobody_what_is_stored() {
    for (is, because_of) in [(NEVER, Because::BudgetExhausted), (FAILS, Because::Faulted)] {
        let vendor = Vendor::counting("max-age=10, stale-while-revalidate=5");
        let client = Readied { inner: vendor.clone(), is: Arc::default(), ready: false };
        let state = Arc::clone(&client.is);
        let service = layer().budget(2 * SECOND).layer(client);
        assert_eq!(ask(&service, URL).await.0, Served::Live);
        state.store(is, Ordering::SeqCst);
        assert_eq!(ask(&service, URL).await.0, Served::Fresh);
        tokio::time::sleep(11 * SECOND).await;
        assert_eq!(because(ask(&service, URL).await.0), Some(Because::Revalidating));
        tokio::time::sleep(20 * SECOND).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(because(ask(&service, URL).await.0), Some(because_of));
        assert_eq!(begun.elapsed(), if is == NEVER { 2 * SECOND } else { Duration::ZERO });
        let missing = service.clone().oneshot(get("http://vendor.test/b")).await.unwrap_err();
        assert_eq!(matches!(missing, Error::BudgetExhausted(_)), is == NEVER, "{missing:?}");
        assert_eq!(vendor.attempts(), 1);
        // And it is as before once the client is.
        tokio::time::sleep(5 * SECOND).await;
        state.store(READY, Ordering::SeqCst);
        assert_eq!(ask(&service, URL).await, (Served::Live, "2".into()));
        assert_eq!(ask(&service, "http://vendor.test/b").await, (Served::Live, "3".into()));
    }
}

/// Each attempt makes a clone of its own ready, whoever calls which clone of the service.
#[tokio::test(start_paused = true)]
async fn whichever_clone_is_called_below_each_is_made_ready_and_called_once() {
    let vendor = Vendor::counting("max-age=1");
    let client = Readied { inner: vendor.clone(), is: Arc::default(), ready: false };
    let mut service = layer().layer(client);
    for n in 0..50 {
        let url = format!("http://vendor.test/{}", n % 7);
        let mut clone = service.clone();
        let (one, other) = (service.call(get(&url)), clone.call(get(&url)));
        let (one, other) = tokio::join!(one, other);
        assert!(one.is_ok() && other.is_ok());
        tokio::time::sleep(300 * MS).await;
    }
}

#[tokio::test(start_paused = true)]
async fn between_limits_buffers_and_sheds_what_is_stored_needs_no_place_below() {
    let vendor = Vendor::counting("max-age=10");
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(100)
        .layer(layer().budget(60 * SECOND))
        .map_response(|response: Response<Body>| response)
        .buffer(1)
        .concurrency_limit(1)
        .service(vendor.clone());
    let asks = async |url: &str| {
        let response = service.clone().oneshot(get(url)).await.unwrap();
        read(response).await
    };
    asks(URL).await;
    vendor.takes(5 * SECOND);
    // The one place below is taken, and so is the one before it.
    let slow: Vec<_> = (0..5)
        .map(|n| tokio::spawn(service.clone().oneshot(get(&format!("http://vendor.test/slow/{n}")))))
        .collect();
    settle().await;
    let begun = tokio::time::Instant::now();
    for _ in 0..1_000 {
        assert_eq!(asks(URL).await, (Served::Fresh, "1".into()));
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    for one in slow {
        assert_eq!(read(one.await.unwrap().unwrap()).await.0, Served::Live);
    }
    assert_eq!((vendor.attempts(), vendor.in_flight()), (6, 0));
}

const KEYS: usize = 300;

/// Three hundred panels of one vendor.
#[tokio::test(start_paused = true)]
async fn all_keys_of_a_family_that_cools_make_no_attempt_and_no_stampede_after_it() {
    let vendor = Vendor::counting("max-age=10");
    let family = Family::new("vendor").host("vendor.test");
    let families = Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap();
    let client = {
        let vendor = vendor.clone();
        tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
            vendor.clone().oneshot(request.map(vendor::boxed))
        })
    };
    let stale = StaleLayer::memory(16 << 20).policy(StalePolicy::new().while_revalidate(15 * SECOND));
    let service = forbear::stack(&families).budget(30 * SECOND).stale(stale).service(client);
    let all = async || {
        let asked = (0..KEYS).map(|n| service.send(get(&format!("http://vendor.test/{n}"))));
        for response in futures_util::future::join_all(asked).await {
            let response = response.unwrap();
            assert_eq!(response.status(), 200);
            assert!(response.into_body().collect().await.is_ok());
        }
    };
    all().await;
    assert_eq!(vendor.attempts(), KEYS);
    vendor.takes(100 * MS);
    vendor.now(|_| Ok(answer(429, &[("retry-after", "3600")], "")));
    // Some are revalidated at once, and some are asked for: none of them gets another answer.
    tokio::time::sleep(20 * SECOND).await;
    all().await;
    let before = vendor.attempts();
    tokio::time::sleep(SECOND).await;
    let cools = vendor.attempts();
    for _ in 0..59 {
        all().await;
        tokio::time::sleep(60 * SECOND).await;
    }
    assert_eq!(vendor.attempts(), cools, "{before}");
    vendor.now(|_| Ok(ok(&[("cache-control", "max-age=100000")], "new")));
    tokio::time::sleep(62 * SECOND).await;
    // It is called again: by one, then by a few more each second.
    let mut most = 0;
    for _ in 0..60 {
        let before = vendor.attempts();
        all().await;
        tokio::time::sleep(SECOND).await;
        most = most.max(vendor.attempts() - before);
    }
    assert!(vendor.attempts() > cools, "it is called again");
    assert!(most <= 20, "{most} in a second");
    assert!(vendor.attempts() - cools <= KEYS, "none twice");
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_is_well_limited_and_broken_by_turns_is_always_served_well() {
    let family = Family::new("vendor").host("vendor.test");
    let families = Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap();
    let mut attempts = 0;
    let vendor = Vendor::new(move |_| {
        attempts += 1;
        Ok(match attempts % 5 {
            1 | 4 => ok(&[("cache-control", "max-age=5")], "good"),
            2 => answer(
                429,
                &[("retry-after", ["0", "-1", "30", "Tue, 01 Dec 1999 10:00:00 GMT"][attempts / 5 % 4])],
                "bad",
            ),
            3 => answer(500, &[("cache-control", "max-age=600")], "bad"),
            _ => answer(503, &[], "bad"),
        })
    });
    let client = {
        let vendor = vendor.clone();
        tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
            vendor.clone().oneshot(request.map(vendor::boxed))
        })
    };
    let service = forbear::stack(&families).budget(30 * SECOND).stale(layer()).service(client);
    for second in 0..3_600 {
        let response = service.send(get(URL)).await.unwrap();
        assert_eq!(response.status(), 200, "{second}");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "good", "{second}");
        tokio::time::sleep(SECOND).await;
    }
    assert!((100..1_500).contains(&vendor.attempts()), "{}", vendor.attempts());
}
