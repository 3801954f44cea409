//! Each who waits has a budget of its own.

use forbear::{Budget, BudgetLayer, Error};
use tower::ServiceBuilder;

use crate::*;

fn within(budget: Duration) -> Request<Body> {
    let mut request = get(URL);
    request.extensions_mut().insert(Budget::within(budget));
    request
}

#[tokio::test(start_paused = true)]
async fn a_follower_goes_when_its_budget_ends_and_the_others_stay() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(10 * SECOND);
    let service = service(&vendor);
    let long = tokio::spawn({
        let service = service.clone();
        async move { ask(&service, URL).await }
    });
    settle().await;
    let begun = tokio::time::Instant::now();
    let error = service.clone().oneshot(within(2 * SECOND)).await.unwrap_err();
    assert!(matches!(error, Error::BudgetExhausted(_)), "{error:?}");
    assert_eq!(begun.elapsed(), 2 * SECOND);
    assert_eq!(long.await.unwrap(), (Served::Live, "1".into()));
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_budget_ends_leaves_the_attempt_to_its_followers() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(10 * SECOND);
    let service = service(&vendor);
    let short = tokio::spawn(service.clone().oneshot(within(2 * SECOND)));
    settle().await;
    let begun = tokio::time::Instant::now();
    assert_eq!(ask(&service, URL).await, (Served::Live, "1".into()));
    assert!(begun.elapsed() < 10 * SECOND);
    assert!(matches!(short.await.unwrap(), Err(Error::BudgetExhausted(_))));
    assert_eq!(vendor.attempts(), 1);
}

/// The attempt has the stack's budget, not that of the caller who happened to begin it.
#[tokio::test(start_paused = true)]
async fn a_leaders_short_budget_does_not_end_the_attempt_below() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(10 * SECOND);
    let service =
        ServiceBuilder::new().layer(layer()).layer(BudgetLayer::new(30 * SECOND)).service(vendor.clone());
    let short = tokio::spawn(service.clone().oneshot(within(2 * SECOND)));
    settle().await;
    assert_eq!(ask(&service, URL).await, (Served::Live, "1".into()));
    assert!(matches!(short.await.unwrap(), Err(Error::BudgetExhausted(_))));
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_who_leaves_ends_the_attempt() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(10 * SECOND);
    let service = service(&vendor);
    let both = futures_util::future::join_all(
        [1, 2].map(|seconds| service.clone().oneshot(within(seconds * SECOND))),
    );
    let ended = both.await;
    assert!(ended.iter().all(Result::is_err));
    settle().await;
    assert_eq!((vendor.attempts(), vendor.in_flight()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_serves_what_is_stored() {
    let vendor = Vendor::counting("max-age=10");
    let service =
        ServiceBuilder::new().layer(layer()).layer(BudgetLayer::new(3 * SECOND)).service(vendor.clone());
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(60 * SECOND);
    let begun = tokio::time::Instant::now();
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::BudgetExhausted));
    assert_eq!(begun.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn for_who_has_no_time_left_nothing_is_begun_but_in_the_background() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    let spent = || service.clone().oneshot(within(Duration::ZERO));
    assert!(matches!(spent().await, Err(Error::BudgetExhausted(_))));
    assert_eq!(vendor.attempts(), 0);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    assert_eq!(because(served(&spent().await.unwrap())), Some(Because::BudgetExhausted));
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
}
