//! How long it waits.

use std::time::Duration;

use forbear::{BudgetLayer, NoWait, RetryAfterLayer};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use crate::common::{Act, Client, MS, SECOND, answer, fails, get, limited, with};

const URL: &str = "http://vendor.test/a";

async fn waits(script: Vec<Act>) -> (u16, Vec<Duration>) {
    let client = Client::new(script);
    let answer = RetryAfterLayer::new().layer(client.clone()).oneshot(get(URL)).await.unwrap();
    (answer.status().as_u16(), client.gaps())
}

#[tokio::test(start_paused = true)]
async fn what_was_advertised_is_waited_and_the_request_sent_again() {
    let (status, gaps) = waits(vec![limited(429, 5), answer(200)]).await;
    assert_eq!((status, gaps.len()), (200, 1));
    assert!((5 * SECOND..=5_501 * MS).contains(&gaps[0]), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn without_a_hint_or_with_zero_the_floor_doubles_to_eight_seconds() {
    for limit in [answer(429), limited(429, 0), limited(503, 0), answer(529)] {
        let mut script = vec![limit; 7];
        script.push(answer(200));
        let (status, gaps) = waits(script).await;
        assert_eq!((status, gaps.len()), (200, 7));
        for (gap, floor) in gaps.iter().zip([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
            let (least, most) = (floor * MS, floor * MS + (floor * MS / 10).min(SECOND) + MS);
            assert!((least..=most).contains(gap), "{limit:?}: {gap:?} is not {floor} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_only_adds_at_most_a_tenth_and_a_second() {
    for (delay, most) in [(4, 4_401 * MS), (30, 31_001 * MS)] {
        let mut gaps = Vec::new();
        for _ in 0..200 {
            gaps.extend(waits(vec![limited(429, delay), answer(200)]).await.1);
        }
        let (least, longest) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
        let least_allowed = Duration::from_secs(delay);
        assert!(least >= least_allowed && longest <= most, "{least:?}..{longest:?}");
        let spread = most - least_allowed;
        assert!(longest - least > spread / 2, "drawn for each: {least:?}..{longest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_is_clipped_to_fit_the_deadline() {
    for _ in 0..500 {
        let client = Client::new([limited(429, 20), answer(200)]);
        let service = (BudgetLayer::new(20_010 * MS), RetryAfterLayer::new()).layer(client.clone());
        assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
        assert!((20 * SECOND..20_010 * MS).contains(&client.gaps()[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_at_the_deadline_is_not_begun() {
    // A timer may be late by a millisecond.
    for (budget, sent) in [(20 * SECOND, 1), (20 * SECOND + 5 * MS, 2)] {
        let client = Client::new([limited(429, 20), answer(200)]);
        let service = (BudgetLayer::new(budget), RetryAfterLayer::new()).layer(client.clone());
        let start = Instant::now();
        let answer = service.oneshot(get(URL)).await.unwrap();
        assert_eq!((client.sent(), answer.status() == 200), (sent, sent == 2));
        assert_eq!(start.elapsed().is_zero(), sent == 1);
        if sent == 1 {
            assert_eq!(answer.headers()["retry-after"], "20");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_all_waits_together_take_a_minute_at_most() {
    let (status, gaps) = waits(vec![limited(429, 25)]).await;
    let total: Duration = gaps.iter().sum();
    assert_eq!((status, gaps.len()), (429, 2));
    assert!(total < 60 * SECOND, "{total:?}");
    assert_eq!(waits(vec![limited(429, 60), answer(200)]).await, (429, vec![]));
    let (status, gaps) = waits(vec![limited(429, 59), answer(200)]).await;
    assert!(status == 200 && gaps[0] < 60 * SECOND, "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn with_a_budget_waits_may_take_longer_than_a_minute() {
    let client = Client::new([limited(429, 300), answer(200)]);
    let service = (BudgetLayer::new(400 * SECOND), RetryAfterLayer::new()).layer(client);
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn no_wait_and_without_replay_return_at_once() {
    let start = Instant::now();
    for (layer, request) in [
        (RetryAfterLayer::new(), with(get(URL), NoWait)),
        (RetryAfterLayer::new().without_replay(), get(URL)),
    ] {
        let client = Client::new([limited(429, 5), answer(200)]);
        let answer = layer.layer(client.clone()).oneshot(request).await.unwrap();
        assert_eq!((answer.status().as_u16(), client.sent()), (429, 1));
    }
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_signal_is_returned() {
    for act in [answer(200), answer(404), answer(500), answer(503), limited(500, 5), limited(301, 5)] {
        let client = Client::new([act, answer(200)]);
        let _ = RetryAfterLayer::new().layer(client.clone()).oneshot(get(URL)).await.unwrap();
        assert_eq!(client.sent(), 1, "{act:?}");
    }
    let client = Client::new([fails(), answer(200)]);
    assert!(RetryAfterLayer::new().layer(client.clone()).oneshot(get(URL)).await.is_err());
    assert_eq!(client.sent(), 1);
}
