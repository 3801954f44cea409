//! What answers change: the retry quota, and what the vendor says is left.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use forbear::{
    BudgetLayer, Error, Family, NoQueue, Pacing, PacingCause, Partition, RetryAfterLayer, RetryQuota, Spent,
};
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::{Instant, sleep};
use tower::retry::{Policy, RetryLayer};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{Client, MS, SECOND, Sent, answer, get, limited, with};
use crate::{URL, crowd, families, gated, paced, refused};

/// One token to begin with, and a tenth of one for each good answer.
fn tenth() -> Pacing {
    Pacing::new().retry_quota(RetryQuota::new(1).permille(100))
}

#[tokio::test(start_paused = true)]
async fn good_answers_earn_further_attempts() {
    for budget in [true, false] {
        let (families, client) = (families(tenth()), Client::new([limited(429, 1), answer(200)]));
        let inner = RetryAfterLayer::new().layer(gated(&families, client.clone()));
        let layer = if budget { BudgetLayer::new(30 * SECOND) } else { BudgetLayer::unlimited() };
        let service = layer.layer(inner);
        // The reserve.
        assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
        assert_eq!((client.sent(), paced(&families).retries_left), (2, Some(0)));
        // None is left: the vendor's own answer is returned, since it is not sent again.
        client.play([limited(429, 1), answer(200)]);
        sleep(60 * SECOND).await;
        let start = Instant::now();
        assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
        assert!(start.elapsed().is_zero());
        sleep(120 * SECOND).await;
        // Nine more, ten with the one above.
        for _ in 0..9 {
            assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
            sleep(20 * SECOND).await;
        }
        assert_eq!(paced(&families).retries_left, Some(1));
        client.play([limited(429, 1), answer(200)]);
        assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    }
}

/// Without a budget around it what is sent again after a limited answer is known all the same.
#[tokio::test(start_paused = true)]
async fn the_quota_holds_without_a_budget() {
    let (families, client) = (families(tenth()), Client::new([limited(429, 1)]));
    let service = RetryAfterLayer::new().layer(gated(&families, client.clone()));
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 429);
    assert_eq!((client.sent(), paced(&families).retries_left), (2, Some(0)));
}

/// Two that both found the last token: one is sent again, the other's answer is gone by then.
#[tokio::test(start_paused = true)]
async fn who_finds_the_token_gone_has_exhausted_its_budget() {
    let late = limited(429, 1).delay(SECOND);
    let (families, client) = (families(tenth()), Client::new([late, late, answer(200)]));
    let service =
        BudgetLayer::new(60 * SECOND).layer(RetryAfterLayer::new().layer(gated(&families, client.clone())));
    let answers = crowd::all((0..2).map(|_| service.clone().oneshot(get(URL)))).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    let error = answers.into_iter().find_map(Result::err).unwrap();
    let Error::BudgetExhausted(exhausted) = &error else { panic!("{error:?}") };
    assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::RetryQuota, 1));
    assert!(!error.is_refusal());
    assert_eq!(exhausted.last_signal().unwrap().status.unwrap(), 429);
    assert_eq!(paced(&families).refusals.get("retry-quota"), Some(&1));
}

#[derive(Clone)]
struct Again(usize);

impl<Q: Clone, T, E> Policy<Q, T, E> for Again {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut Q, answer: &mut Result<T, E>) -> Option<Self::Future> {
        self.0 = self.0.checked_sub(1)?;
        answer.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Q) -> Option<Q> {
        Some(request.clone())
    }
}

/// What `tower::retry` sends again between the layers is a further attempt of the same logical request.
#[tokio::test(start_paused = true)]
async fn the_quota_bounds_other_retries_too() {
    let (families, client) = (families(tenth()), Client::new([crate::common::fails()]));
    let inner = RetryLayer::new(Again(5)).layer(gated(&families, client.clone()));
    let service = BudgetLayer::new(60 * SECOND).layer(inner);
    let error = service.oneshot(get(URL)).await.unwrap_err();
    assert_eq!(refused::<()>(Err(error)).unwrap().cause(), PacingCause::RetryQuota);
    assert_eq!((client.sent(), paced(&families).retries_left), (2, Some(0)));
}

/// A vendor that says so much is left, and until when, in seconds.
fn telling(
    left: Arc<AtomicUsize>,
    reset: u64,
) -> impl tower::Service<Request<Sent>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send> + Clone
{
    service_fn(move |_: Request<Sent>| {
        let left = left.load(Ordering::SeqCst);
        let response = Response::builder().header("ratelimit", format!("\"default\";r={left};t={reset}"));
        let response = response.body(Full::default()).unwrap();
        async move { Ok(response) }
    })
}

#[tokio::test(start_paused = true)]
async fn what_the_vendor_says_is_left_is_spread_until_there_is_more() {
    let families = families(Pacing::new().at_most(100, 60 * SECOND).steered(true));
    let left = Arc::new(AtomicUsize::new(5));
    let service = gated(&families, telling(Arc::clone(&left), 50));
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    assert!(paced(&families).steered.is_some());
    let error = service.clone().oneshot(with(get(URL), NoQueue)).await.unwrap_err();
    assert_eq!(refused::<()>(Err(error)).unwrap().retry_in(), Some(10 * SECOND));
    left.store(0, Ordering::SeqCst);
    let start = Instant::now();
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    assert_eq!(start.elapsed(), 10 * SECOND);
    // Nothing is left: nothing goes until there is more.
    let start = Instant::now();
    let _ = service.oneshot(get(URL)).await.unwrap();
    assert_eq!(start.elapsed(), 50 * SECOND);
}

/// Of a vendor that counts by key, what is left is of the key that was asked with.
#[tokio::test(start_paused = true)]
async fn a_partition_is_steered_by_what_is_left_of_it() {
    let families = families(Pacing::new().in_flight(9).per_partition(Pacing::new().steered(true)));
    let service = gated(&families, telling(Arc::new(AtomicUsize::new(5)), 50));
    let ask = |key: &str| service.clone().oneshot(with(with(get(URL), Partition::of(key)), NoQueue));
    assert_eq!(ask("a").await.unwrap().status(), 200);
    assert_eq!(refused(ask("a").await).unwrap().retry_in(), Some(10 * SECOND));
    assert_eq!(ask("b").await.unwrap().status(), 200);
    // Not any more where it is told so.
    let each = Pacing::new().at_most(9, SECOND);
    let family = Family::new("vendor").host("vendor.test").pacing(Pacing::new().per_partition(each));
    families.replace(family).unwrap();
    assert_eq!(ask("a").await.unwrap().status(), 200);
    assert_eq!(ask("a").await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_steered_does_not_listen() {
    let families = families(Pacing::new().at_most(100, 60 * SECOND));
    let service = gated(&families, telling(Arc::new(AtomicUsize::new(1)), 50));
    let start = Instant::now();
    for _ in 0..5 {
        let _ = service.clone().oneshot(get(URL)).await.unwrap();
    }
    assert!(start.elapsed().is_zero() && paced(&families).steered.is_none());
}

/// The answer of a host that the client was redirected to says nothing about the family that was asked.
#[tokio::test(start_paused = true)]
async fn what_another_family_answers_does_not_steer() {
    let families = families(Pacing::new().steered(true).retry_quota(RetryQuota::new(0).permille(1000)));
    let inner = ServiceBuilder::new()
        .map_response(|mut response: Response<Full<Bytes>>| {
            let elsewhere = forbear::EffectiveUri("http://elsewhere.test/".parse().unwrap());
            let _ = response.extensions_mut().insert(elsewhere);
            response
        })
        .service(telling(Arc::new(AtomicUsize::new(1)), 50));
    let _ = crate::service(&families, inner).oneshot(get(URL)).await.unwrap();
    assert_eq!((paced(&families).steered, paced(&families).retries_left), (None, Some(0)));
}

/// A signal that too much is in flight lowers what may be, instead of closing the family.
#[tokio::test(start_paused = true)]
async fn a_concurrency_signal_lowers_what_may_be_in_flight() {
    let families = families(Pacing::new().in_flight(8).steered(true));
    let busy = Arc::new(AtomicUsize::new(1));
    let inner = service_fn(move |_: Request<Sent>| {
        let busy = busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        async move {
            sleep(SECOND).await;
            let said = Full::new(Bytes::from_static(br#"{"reason":"inflight_limit"}"#));
            let response = Response::builder().status(if busy { 429 } else { 200 });
            let response = response.header("content-type", "application/json");
            Ok::<_, Infallible>(response.body(if busy { said } else { Full::default() }).unwrap())
        }
    });
    let service = gated(&families, inner);
    let answers = crowd::all((0..8).map(|_| service.clone().oneshot(get(URL)))).await;
    assert_eq!(answers.iter().filter(|answer| answer.as_ref().unwrap().status() == 429).count(), 1);
    let health = families.health();
    assert_eq!(health.family("vendor").unwrap().phase.to_string(), "open");
    let limit = health.family("vendor").unwrap().pacing.as_ref().unwrap().in_flight_limit.unwrap();
    assert!((4..8).contains(&limit), "{limit}");
}

/// A wait before the first attempt, for what another was told, costs no token.
#[tokio::test(start_paused = true)]
async fn a_first_attempt_after_a_wait_is_no_further_one() {
    let families = families(Pacing::new().gap(MS).retry_quota(RetryQuota::new(1)));
    let client = Client::new([limited(429, 5), answer(200)]);
    let service = forbear::stack(&families).budget(60 * SECOND).layer(client.clone());
    let told = service.clone().oneshot(with(get(URL), forbear::NoWait)).await.unwrap();
    assert_eq!((told.status().as_u16(), paced(&families).retries_left), (429, Some(1)));
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    assert_eq!((client.sent(), paced(&families).retries_left), (2, Some(1)));
}
