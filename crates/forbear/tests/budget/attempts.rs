//! The limit of attempts, counted by the layer that sends them.

use std::num::NonZeroU32;

use forbear::{BudgetLayer, Error, Families, Family, FamilyCooldownLayer, RetryAfterLayer, Spent};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited, with};
use crate::spent;

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

/// Calls that a handler joins are polled in turn, and a layer above the gate may take its time.
#[tokio::test(start_paused = true)]
async fn joined_calls_are_counted_once_each() {
    let client = Client::new([answer(200)]);
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families).layer(client.clone());
    let late = tower::service_fn(move |request| {
        let gate = gate.clone();
        async move {
            tokio::time::sleep(SECOND).await;
            gate.oneshot(request).await
        }
    });
    let outbound = RetryAfterLayer::new().layer(late);
    let handler = tower::service_fn(move |_| {
        let [one, other] = [outbound.clone(), outbound.clone()];
        async move {
            let (one, other) = tokio::join!(
                one.oneshot(get("http://vendor.test/1")),
                other.oneshot(get("http://vendor.test/2"))
            );
            one.and(other)
        }
    });
    let answer = layer(2).layer(handler).oneshot(get("http://vendor.test/")).await;
    assert_eq!((answer.unwrap().status().as_u16(), client.sent()), (200, 2));
}

/// What was announced to a gate that does not come is not announced to the next one.
#[tokio::test(start_paused = true)]
async fn a_client_without_a_gate_leaves_the_next_ones_attempts_counted() {
    let client = Client::new([answer(200)]);
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families).layer(client.clone());
    let without = RetryAfterLayer::new().layer(client.clone());
    let handler = tower::service_fn(move |_| {
        let (without, gate) = (without.clone(), gate.clone());
        async move {
            without.oneshot(get("http://vendor.test/1")).await?;
            gate.oneshot(get("http://vendor.test/2")).await.map(|_| http::Response::new(()))
        }
    });
    let answer = layer(1).layer(handler).oneshot(get("http://vendor.test/")).await;
    assert_eq!((spent(answer), client.sent()), (Some(Spent::Attempts), 1));
}

/// A layer between the two sends again what failed, and that is refused: what was sent before stays counted.
#[tokio::test(start_paused = true)]
async fn a_refusal_gives_back_only_what_was_not_sent() {
    let client = Client::new([answer(500), limited(429, 1), answer(500)]);
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families).layer(client.clone());
    let others = gate.clone();
    let twice = tower::service_fn(move |request: http::Request<_>| {
        let [first, again, others] = [gate.clone(), gate.clone(), others.clone()];
        async move {
            let body = forbear::body::Replay::try_clone(request.body()).unwrap();
            let next = http::Request::get(request.uri()).body(body).unwrap();
            let failed = first.oneshot(request).await?;
            if failed.status() != 500 {
                return Ok(failed);
            }
            // Somebody else's call cools the family meanwhile.
            let _ = tokio::spawn(others.oneshot(get("http://vendor.test/other"))).await;
            again.oneshot(next).await
        }
    });
    let service = (layer(2), RetryAfterLayer::new()).layer(twice);
    let answer = service.oneshot(get("http://vendor.test/")).await;
    assert_eq!(spent(answer), Some(Spent::Attempts));
    assert_eq!(client.sent(), 3);
}

/// Two budgets inside one: while the one's attempt is counted the other has none, and may have it when it comes back.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_given_back_is_there_for_the_other_budgets_inside() {
    let client = Client::new([limited(429, 60), answer(200)]);
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families).layer(client.clone());
    let _ = gate.clone().oneshot(get("http://vendor.test/")).await.unwrap();
    let refused = tower::service_fn(move |request| {
        let gate = gate.clone();
        async move {
            tokio::time::sleep(SECOND).await;
            gate.oneshot(request).await
        }
    });
    let refused = (BudgetLayer::unlimited(), RetryAfterLayer::new()).layer(refused);
    let plain = RetryAfterLayer::new().layer(client.clone());
    let later = BudgetLayer::unlimited().layer(tower::service_fn(move |request| {
        let plain = plain.clone();
        async move {
            tokio::time::sleep(2 * SECOND).await;
            plain.oneshot(request).await
        }
    }));
    let handler = tower::service_fn(move |_| {
        let (refused, later) = (refused.clone(), later.clone());
        async move {
            let url = "http://vendor.test/";
            let (refused, answer) =
                tokio::join!(refused.oneshot(with(get(url), forbear::NoWait)), later.oneshot(get(url)));
            assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
            answer
        }
    });
    let answer = layer(1).layer(handler).oneshot(get("http://vendor.test/")).await;
    assert_eq!(answer.unwrap().status(), 200);
}
