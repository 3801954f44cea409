//! What an exhausted budget tells, and that errors of ours pass through.

use forbear::{BudgetLayer, Error, Families, FamilyCooldownLayer, NoWait, RetryAfterLayer, Spent, Unknown};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, fails, get, hangs, limited, with};

async fn exhausted<const N: usize>(budget: u32, acts: [crate::common::Act; N]) -> forbear::BudgetExhausted {
    let service = (BudgetLayer::new(budget * SECOND), RetryAfterLayer::new()).layer(Client::new(acts));
    match service.oneshot(get("http://vendor.test/")).await {
        Err(Error::BudgetExhausted(exhausted)) => exhausted,
        other => unreachable!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn it_tells_time_attempts_and_the_last_signal_with_its_hint() {
    let error = exhausted(10, [limited(429, 2), hangs()]).await;
    assert_eq!((error.what(), error.spent(), error.attempts()), (Spent::Time, 10 * SECOND, 2));
    let signal = error.last_signal().unwrap();
    assert_eq!((signal.status.unwrap().as_u16(), signal.delay.unwrap().duration), (429, 2 * SECOND));
    assert_eq!(
        error.to_string(),
        "budget exhausted after 10s and 2 attempts: the deadline passed; last signal 429 retry-after, retry after 2.0s"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_signal_it_tells_of_none() {
    let error = exhausted(10, [hangs()]).await;
    assert_eq!((error.what(), error.attempts()), (Spent::Time, 1));
    assert!(error.last_signal().is_none());
    assert_eq!(error.to_string(), "budget exhausted after 10s and 1 attempt: the deadline passed");
}

#[tokio::test(start_paused = true)]
async fn errors_of_ours_pass_through_every_layer_unchanged() {
    let families = Families::builder().unknown(Unknown::Refuse).build().unwrap();
    let refusing = FamilyCooldownLayer::new(families).layer(Client::new([answer(200)]));
    let service = (BudgetLayer::new(SECOND), RetryAfterLayer::new()).layer(refusing);
    let error = service.oneshot(get("http://vendor.test/")).await.unwrap_err();
    assert!(matches!(error, Error::UnknownFamily(_)), "{error:?}");

    let limiting = RetryAfterLayer::new().layer(Client::new([limited(429, 9)]));
    let service = BudgetLayer::new(SECOND).layer(BudgetLayer::new(SECOND).layer(limiting));
    let request = || with(get("http://vendor.test/"), NoWait);
    assert_eq!(service.clone().oneshot(request()).await.unwrap().status(), 429);
    let error = service.oneshot(request()).await.unwrap_err();
    assert!(matches!(&error, Error::Cooling(cooling) if cooling.retry_in() == Some(9 * SECOND)), "{error:?}");

    let service = BudgetLayer::new(SECOND).layer(BudgetLayer::new(SECOND).layer(Client::new([fails()])));
    let error = service.oneshot(get("http://vendor.test/")).await.unwrap_err();
    assert!(matches!(&error, Error::Client(inner) if inner.is::<crate::common::Failed>()), "{error:?}");
}
