//! Waits that do not fit end at once.

use std::time::Duration;

use forbear::{Budget, BudgetLayer, Error, RetryAfterLayer, Signal, Spent};
use forbear_mock::{MockVendor, reply};
use http::StatusCode;
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{MILLISECOND, SECOND, get, registered, settle, stacked};

/// As good as at once.
const AT_ONCE: Duration = Duration::from_millis(10);

// urllib3/urllib3#1338: an hour was slept although the timeout said 30 s.
#[tokio::test(start_paused = true)]
async fn an_hour_does_not_fit_thirty_seconds_and_cools_the_family() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(3600), reply(200)]);
    let families = registered();
    let vendor = stacked(&families, 30 * SECOND, &mock);
    let start = Instant::now();
    let response = vendor.send(get("/a")).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.extensions().get::<Signal>().unwrap().delay.unwrap().duration, 3600 * SECOND);
    let Err(Error::Cooling(cooling)) = vendor.send(get("/b")).await else { unreachable!("the family cools") };
    assert_eq!(cooling.signal().unwrap().delay.unwrap().duration, 3600 * SECOND);
    assert!(start.elapsed() < AT_ONCE);
    tokio::time::sleep(3599 * SECOND).await;
    assert!(matches!(vendor.send(get("/c")).await, Ok(response) if response.status() == 200));
    mock.assert_attempts(2);
    assert!(mock.attempts()[1].since() >= 3600 * SECOND);
}

// urllib3/urllib3#1338: who already waits learns of the hour when it is announced, not at their deadline.
#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_ends_when_the_cool_down_outgrows_its_budget() {
    let (mut refused, mut exhausted) = (false, false);
    for seed in 0..8 {
        // The jitter decides which of the two comes first and meets the hour.
        fastrand::seed(seed);
        let mock = MockVendor::in_process().script([reply(429).retry_after(5), reply(429).retry_after(3600)]);
        let families = registered();
        let vendor = stacked(&families, 60 * SECOND, &mock);
        let start = Instant::now();
        let (first, second) = tokio::join!(vendor.send(get("/a")), async {
            settle().await;
            vendor.send(get("/b")).await
        });
        let hint = match (first, second) {
            (Ok(first), Err(Error::Cooling(cooling))) => {
                refused = true;
                assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);
                cooling.signal().unwrap().delay
            }
            (Err(Error::BudgetExhausted(spent)), Ok(second)) => {
                exhausted = true;
                assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
                assert_eq!((spent.what(), spent.attempts()), (Spent::NextWait, 1));
                spent.last_signal().unwrap().delay
            }
            other => unreachable!("{other:?}"),
        };
        assert_eq!(hint.unwrap().duration, 3600 * SECOND, "seed {seed}");
        assert!(start.elapsed() < 6 * SECOND + AT_ONCE, "{:?}", start.elapsed());
        mock.assert_attempts(2);
    }
    assert!(refused && exhausted, "both happen");
}

// hashicorp/go-retryablehttp#272, googleapis/google-cloud-rust#2307: slept to a deadline that no attempt could meet.
#[tokio::test(start_paused = true)]
async fn ten_seconds_do_not_fit_the_five_that_are_left() {
    let script = || [reply(429).retry_after(10), reply(200)];

    let (mock, families) = (MockVendor::in_process().script(script()), registered());
    let vendor = stacked(&families, 5 * SECOND, &mock);
    let start = Instant::now();
    let answer = vendor.send(get("/a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    let refusal = vendor.send(get("/b")).await;
    assert!(matches!(refusal, Err(Error::Cooling(_))), "{refusal:?}");
    let patient = stacked(&families, 60 * SECOND, &mock);
    let mut carried = get("/c");
    carried.extensions_mut().insert(Budget::within(5 * SECOND));
    let refusal = patient.send(carried).await;
    assert!(matches!(refusal, Err(Error::Cooling(_))), "{refusal:?}");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());

    let mock = MockVendor::in_process().script(script());
    let layers = ServiceBuilder::new().layer(BudgetLayer::new(5 * SECOND)).layer(RetryAfterLayer::new());
    let alone = layers.service(mock.service());
    let start = Instant::now();
    let answer = alone.clone().oneshot(get("/a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    let refusal = alone.oneshot(get("/a")).await;
    assert!(matches!(refusal, Err(Error::Cooling(_))), "{refusal:?}");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

// hashicorp/go-retryablehttp#272: the same, for a wait that comes after one that fitted.
#[tokio::test(start_paused = true)]
async fn the_second_wait_spends_what_the_first_left() {
    let mock = MockVendor::in_process().script(reply(429).retry_after(4));
    let families = registered();
    let start = Instant::now();
    let response = stacked(&families, 9 * SECOND, &mock).send(get("/a")).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let took = start.elapsed();
    assert!((8 * SECOND..9 * SECOND).contains(&took) || (4 * SECOND..5 * SECOND).contains(&took), "{took:?}");
    assert!(mock.attempts().last().unwrap().since() + AT_ONCE > took, "it ends with its last attempt");
    assert!(mock.attempts().len() <= 3);
}

// psf/requests#6809: a long hint on a 503 looked like a hang.
#[tokio::test(start_paused = true)]
async fn a_wait_is_capped_where_nobody_set_a_budget() {
    let mock = MockVendor::in_process().script(reply(503).retry_after(40));
    let families = registered();
    let vendor = forbear::stack(&families).service(mock.service());
    let start = Instant::now();
    let response = vendor.send(get("/a")).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(start.elapsed() < 60 * SECOND + MILLISECOND, "{:?}", start.elapsed());
    mock.set_script(reply(503).retry_after(86_400 * 30));
    tokio::time::sleep(300 * SECOND).await;
    let start = Instant::now();
    let response = vendor.send(get("/a")).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(families.health().family("vendor").unwrap().remaining, Some(86_400 * SECOND));
}
