//! What a probe's answer means.

use forbear::RefusalCause;
use forbear_mock::{MockVendor, Reply, reply};
use tokio::time::sleep;
use tower::ServiceExt;

use crate::common::{Client, MS, SECOND, answer, get, limited};
use crate::{URL, families, phase, refusal, service};

/// The phase after the probe of a family that cooled for a second was answered by `probe`.
async fn after(probe: Reply) -> String {
    let families = families();
    let vendor = MockVendor::in_process().script([reply(429).retry_after(1), probe]);
    let _ = service(&families, vendor.service()).oneshot(get(URL)).await.unwrap();
    sleep(SECOND).await;
    let _ = service(&families, vendor.service()).oneshot(get(URL)).await.unwrap();
    // Longer than the refusal window: what was no news does not become an acceptance by itself.
    sleep(500 * MS).await;
    phase(&families, "vendor")
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_begins_the_recovery() {
    for good in [reply(200), reply(204), reply(302), reply(404), reply(409), reply(422)] {
        assert_eq!(after(good.clone()).await, "recovering", "{good:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_strikes() {
    assert_eq!(after(reply(429).retry_after(9)).await, "cooling");
    assert_eq!(after(reply(503).retry_after(9)).await, "cooling");
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_leaves_it_probing() {
    for neutral in [reply(500), reply(503), reply(400), reply(401), reply(403)] {
        assert_eq!(after(neutral.clone()).await, "probing", "{neutral:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_from_a_cache_is_no_news() {
    assert_eq!(after(reply(200).header("age", "0")).await, "recovering");
    assert_eq!(after(reply(200).header("age", "20")).await, "probing");
    assert_eq!(after(reply(429).retry_after(60).header("age", "20")).await, "probing");
}

#[tokio::test(start_paused = true)]
async fn one_probe_is_out_and_the_others_are_refused() {
    let (families, client) = (families(), Client::new([limited(429, 1), answer(200).delay(200 * MS)]));
    let service = service(&families, client.clone());
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    sleep(SECOND).await;
    let calls = (0..10).map(|_| service.clone().oneshot(get(URL)));
    let answers = futures_util::future::join_all(calls).await;
    let refused: Vec<_> = answers.into_iter().filter_map(refusal).collect();
    assert_eq!((client.sent(), refused.len()), (2, 9));
    assert!(refused.iter().all(|cooling| cooling.cause() == RefusalCause::Probing));
    assert_eq!(phase(&families, "vendor"), "recovering");
}
