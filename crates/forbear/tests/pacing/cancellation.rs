//! Who goes away holds nothing, and costs no quota where it was not sent.

use forbear::Pacing;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{Client, MS, SECOND, answer, called, cut, get, hangs, poll_once};
use crate::{URL, families, gated, paced};

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_polled_costs_no_quota() {
    let (families, client) = (families(Pacing::new().at_most(1, SECOND)), Client::new([answer(200)]));
    let mut service = gated(&families, client.clone());
    for _ in 0..5 {
        drop(called(&mut service, get(URL)).await);
    }
    let start = Instant::now();
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    assert!(start.elapsed().is_zero());
    assert_eq!((client.sent(), client.in_flight()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_leaves_the_queue_gives_its_place_to_the_next() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = gated(&families, client.clone());
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    let start = Instant::now();
    let mut first = Box::pin(service.clone().oneshot(get(URL)));
    assert!(poll_once(first.as_mut()).is_pending());
    let second = tokio::spawn(service.clone().oneshot(get(URL)));
    sleep(500 * MS).await;
    assert_eq!(paced(&families).queued, 2);
    drop(first);
    assert_eq!(second.await.unwrap().unwrap().status(), 200);
    assert_eq!((start.elapsed(), client.sent(), paced(&families).queued), (SECOND, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_dropped_in_flight_was_sent_and_is_in_flight_no_longer() {
    let pacing = Pacing::new().in_flight(1).at_most(2, 60 * SECOND);
    let (families, client) = (families(pacing), Client::new([hangs()]));
    let service = gated(&families, client.clone());
    assert!(cut(service.clone().oneshot(get(URL)), 1).await.is_none());
    assert_eq!(paced(&families).in_flight, Some(0));
    client.play([answer(200)]);
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
    let start = Instant::now();
    assert!(service.oneshot(get(URL)).await.is_err());
    assert_eq!((start.elapsed().is_zero(), client.sent()), (true, 2));
}

#[tokio::test(start_paused = true)]
async fn cancel_at_every_await_holds_nothing() {
    for steps in 0..6 {
        let (families, client) = (
            families(Pacing::new().gap(SECOND).in_flight(2)),
            Client::new([answer(200), answer(200).polls(2)]),
        );
        let service = gated(&families, client.clone());
        let _ = service.clone().oneshot(get(URL)).await.unwrap();
        drop(cut(service.clone().oneshot(get(URL)), steps).await);
        let health = paced(&families);
        assert_eq!((health.queued, health.in_flight, client.in_flight()), (0, Some(0), 0), "{steps} steps");
        client.play([answer(200)]);
        assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200, "{steps} steps");
    }
}
