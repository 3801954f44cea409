//! The limit of attempts, counted by the layer that sends them.

use std::num::NonZeroU32;

use forbear::{BudgetLayer, Error, Families, Family, FamilyCooldownLayer, RetryAfterLayer, Spent};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited};

fn layer(attempts: u32) -> BudgetLayer {
    BudgetLayer::new(60 * SECOND).attempts(NonZeroU32::new(attempts).unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_last_attempts_answer_is_returned_without_waiting() {
    for attempts in 1..=3 {
        let client = Client::new([limited(429, 1)]);
        let service = (layer(attempts), RetryAfterLayer::new()).layer(client.clone());
        let answer = service.oneshot(get("http://vendor.test/")).await.unwrap();
        assert_eq!((answer.status().as_u16(), client.sent()), (429, attempts as usize));
    }
}

#[tokio::test(start_paused = true)]
async fn enough_attempts_come_to_the_good_answer() {
    let client = Client::new([limited(429, 1), limited(429, 1), answer(200)]);
    let service = (layer(3), RetryAfterLayer::new()).layer(client.clone());
    assert_eq!(service.oneshot(get("http://vendor.test/")).await.unwrap().status(), 200);
}

/// What follows a redirect between the two layers spends the same attempts.
#[tokio::test(start_paused = true)]
async fn an_attempt_too_many_is_not_sent() {
    let client = Client::new([answer(200)]);
    let below = RetryAfterLayer::new().layer(client.clone());
    let thrice = tower::service_fn(move |_| {
        let below = below.clone();
        async move {
            for hop in ["http://vendor.test/1", "http://vendor.test/2"] {
                below.clone().oneshot(get(hop)).await?;
            }
            below.clone().oneshot(get("http://vendor.test/3")).await
        }
    });
    let error = layer(2).layer(thrice).oneshot(get("http://vendor.test/")).await.unwrap_err();
    let Error::BudgetExhausted(exhausted) = error else { unreachable!("{error:?}") };
    assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::Attempts, 2));
    assert_eq!((client.sent(), client.in_flight()), (2, 0));
}

/// A handler's own budget counts what its outbound calls send, and a refusal was never sent.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_takes_its_time_costs_the_budget_around_no_attempt() {
    let client = Client::new([limited(429, 5), answer(200)]);
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families.clone()).layer(client.clone());
    let _ = gate.clone().oneshot(get("http://vendor.test/")).await.unwrap();
    let late = tower::service_fn(move |request| {
        let gate = gate.clone();
        async move {
            tokio::task::yield_now().await;
            gate.oneshot(request).await
        }
    });
    let inside = (layer(10), RetryAfterLayer::new()).layer(late);
    let handler = tower::service_fn(move |request| inside.clone().oneshot(request));
    let answer = layer(1).layer(handler).oneshot(get("http://vendor.test/")).await;
    assert_eq!(answer.unwrap().status(), 200);
}
