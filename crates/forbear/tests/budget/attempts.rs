//! The limit of attempts, counted by the layer that sends them.

use std::num::NonZeroU32;

use forbear::{BudgetLayer, Error, RetryAfterLayer, Spent};
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
