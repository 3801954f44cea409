//! What an operator is told: one WARN per strike, one INFO per recovery.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::time::sleep;
use tower::ServiceExt;

use crate::common::{Client, MS, SECOND, Told, answer, get, limited, panics_in_call};
use crate::{URL, families, service};

#[tokio::test(start_paused = true)]
async fn one_warning_per_strike_and_one_notice_per_recovery() {
    let told = Told::default();
    told.listen();
    let (families, client) = (families(), Client::new([limited(429, 5).delay(MS)]));
    let calls =
        (0..10).map(|_| service(&families, client.clone()).oneshot(get("http://vendor.test/a?key=1")));
    let _ = futures_util::future::join_all(calls).await;
    let _ = service(&families, client.clone()).oneshot(get(URL)).await;
    let lines = told.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN family cools"), "{lines:?}");
    for part in [
        "family=vendor",
        "reason=retry-after",
        "class=throttled",
        "status=429",
        "delay_ms=5000",
        "advertised_ms=5000",
        "level=1",
        "blind=",
        "route=/a",
    ] {
        assert!(lines[0].contains(&format!(" {part}")), "{part} in {lines:?}");
    }
    assert!(!lines[0].contains("key"), "{lines:?}");
    sleep(5 * SECOND).await;
    client.play([answer(200)]);
    for _ in 0..3 {
        let _ = service(&families, client.clone()).oneshot(get(URL)).await;
        sleep(SECOND).await;
    }
    let lines = told.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("INFO family recovers family=vendor"), "{lines:?}");
}

/// An attempt that panicked in `call` was not accepted: the strike after it is still blind.
#[tokio::test(start_paused = true)]
async fn a_panic_in_call_is_not_taken_for_an_accepted_attempt() {
    let told = Told::default();
    told.listen();
    let (families, client) = (families(), Client::new([panics_in_call(), limited(429, 5)]));
    let call = AssertUnwindSafe(service(&families, client.clone()).oneshot(get(URL)));
    assert!(call.catch_unwind().await.is_err());
    sleep(SECOND).await;
    let _ = service(&families, client).oneshot(get(URL)).await.unwrap();
    let lines = told.take();
    assert!(lines[0].contains("blind=true"), "{lines:?}");
}
