//! What a call holds comes back, however it ends.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use forbear::{Families, Family, Pacing};
use forbear_mock::{MockVendor, reply};
use futures_util::future::join;
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::time::{sleep, timeout};

use crate::adapters::{Adapter, Vendor, get, stack, through};

const SECOND: Duration = Duration::from_secs(1);

through!([
    case_49_places_in_flight_come_back_however_a_call_ends,
    case_49_a_call_that_is_dropped_at_any_poll_leaves_nothing_behind,
]);

/// A family of which two may be in flight.
async fn vendor() -> (MockVendor, Families) {
    let mock = MockVendor::start()
        .await
        .script(reply(200).body("served"))
        .route("/never", reply(200).delay(600 * SECOND))
        .route("/slow", reply(200).body("x".repeat(100_000)).slow_body(10, SECOND / 20))
        .route("/reset", reply(200).reset())
        .route("/cut", reply(200).body("all").close_in_body(1));
    let pacing = Pacing::new().in_flight(2);
    let quotes = Family::new("quotes").host(mock.authority()).pacing(pacing);
    (mock, Families::builder().family(quotes).build().unwrap())
}

/// Whether both places are free.
async fn served(vendor: &Vendor, mock: &MockVendor) {
    let both = join(vendor.status(get(mock.url("/chart"))), vendor.status(get(mock.url("/chart"))));
    let both = timeout(20 * SECOND, both).await.expect("a place in flight is lost");
    assert_eq!(both, (StatusCode::OK, StatusCode::OK));
}

// linkerd/linkerd2-proxy#751, anza-xyz/agave#10478, palantir/conjure-java-runtime#1147: permits that calls took along.
async fn case_49_places_in_flight_come_back_however_a_call_ends(adapter: Adapter) {
    let (mock, families) = vendor().await;
    let vendor = adapter.around(&stack(&families, 300 * SECOND));
    for _ in 0..3 {
        // Dropped while the vendor thinks.
        let sent = mock.attempts().len();
        let there = async {
            while mock.attempts().len() == sent {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            answer = vendor.send(get(mock.url("/never"))) => panic!("{answer:?}"),
            () = there => {}
        }
        // A body that is dropped unread, and one that is dropped half-way.
        drop(vendor.send(get(mock.url("/slow"))).await.unwrap());
        let mut body = vendor.send(get(mock.url("/slow"))).await.unwrap().into_body();
        // A busy machine reads several pieces at once.
        assert!(body.frame().await.unwrap().unwrap().into_data().unwrap().len() < 100_000);
        drop(body);
        // Faults before the answer, and in it.
        vendor.send(get(mock.url("/reset"))).await.unwrap_err();
        if let Ok(cut) = vendor.send(get(mock.url("/cut"))).await {
            cut.into_body().collect().await.unwrap_err();
        }
    }
    served(&vendor, &mock).await;
    // Read to the end, and not dropped.
    let mut answer = vendor.send(get(mock.url("/chart"))).await.unwrap();
    while answer.body_mut().frame().await.is_some() {}
    served(&vendor, &mock).await;
    drop(answer);
}

// The same reports.
async fn case_49_a_call_that_is_dropped_at_any_poll_leaves_nothing_behind(adapter: Adapter) {
    let (mock, families) = vendor().await;
    let vendor = adapter.around(&stack(&families, 300 * SECOND));
    for polls in 0..12 {
        let mut call = pin!(vendor.send(get(mock.url("/chart"))));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..polls {
            if let Poll::Ready(answer) = call.as_mut().poll(&mut cx) {
                assert_eq!(answer.unwrap().status(), StatusCode::OK);
                break;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }
    served(&vendor, &mock).await;
}
