//! What is not the vendor's word about a limit closes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forbear::{Error, HealthPhase};
use http::StatusCode;
use tokio::task::JoinSet;
use tower::ServiceBuilder;

use crate::support::{
    Held, MILLISECOND, SECOND, answer, client, get, impatient, limited, registered, settle,
};

// unkeyed/unkey#6568: a blip of ordinary failures, 0.14 % of the calls, tripped a breaker.
#[tokio::test(start_paused = true)]
async fn case_42_plain_failures_never_strike() {
    const CALLS: usize = 60_000;
    let sent = Arc::new(AtomicUsize::new(0));
    let wire = {
        let sent = Arc::clone(&sent);
        client(move |_| {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(20 * MILLISECOND).await;
                Ok(answer(if number.is_multiple_of(500) { 500 } else { 200 }))
            }
        })
    };
    let families = registered();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(wire);
    let mut calls = JoinSet::new();
    let (mut good, mut failed) = (0, 0);
    for _ in 0..CALLS {
        let vendor = vendor.clone();
        calls.spawn(async move { vendor.send(get("/")).await.map(|answer| answer.status()) });
        tokio::time::sleep(MILLISECOND).await;
        while let Some(ended) = calls.try_join_next() {
            match ended.unwrap().unwrap() {
                StatusCode::OK => good += 1,
                _ => failed += 1,
            }
        }
    }
    while let Some(ended) = calls.join_next().await {
        good += usize::from(ended.unwrap().unwrap() == StatusCode::OK);
    }
    assert_eq!((good, failed), (CALLS - CALLS / 500, CALLS / 500));
    assert_eq!(sent.load(Ordering::Relaxed), CALLS, "each call is one attempt");
    let health = families.health();
    let family = health.family("vendor").unwrap();
    assert_eq!((family.strikes, family.signals, family.refusals, family.level), (0, 0, 0, 0));
    assert!(matches!(family.phase, HealthPhase::Open), "{family:?}");
}

// Tr3kkR/Yuzu#3018, envoyproxy/envoy#25487: a local overflow was counted as the endpoint's failure.
#[tokio::test(start_paused = true)]
async fn case_42_local_sheds_never_strike() {
    let wire = client(|_| async {
        tokio::time::sleep(SECOND).await;
        Ok(answer(200))
    });
    let shedding = ServiceBuilder::new().load_shed().concurrency_limit(1).service(wire);
    let families = registered();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(shedding);
    let mut calls = JoinSet::new();
    for _ in 0..1000 {
        let vendor = vendor.clone();
        calls.spawn(async move { vendor.send(get("/")).await.map(|answer| answer.status()) });
    }
    let (mut served, mut shed) = (0, 0);
    while let Some(ended) = calls.join_next().await {
        match ended.unwrap() {
            Ok(StatusCode::OK) => served += 1,
            Err(Error::Client(_)) => shed += 1,
            other => unreachable!("{other:?}"),
        }
    }
    assert_eq!((served, shed), (1, 999));
    let health = families.health();
    let family = health.family("vendor").unwrap();
    assert_eq!((family.strikes, family.signals, family.level), (0, 0, 0));
    assert_eq!(vendor.send(get("/")).await.unwrap().status(), StatusCode::OK);
}

// Tr3kkR/Yuzu#3018, envoyproxy/envoy#25487: the same for refusals, which are local too.
#[tokio::test(start_paused = true)]
async fn case_42_refusals_never_strike_or_prolong() {
    let held = Held::default();
    let families = registered();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(held.client());
    let first = tokio::spawn({
        let vendor = vendor.clone();
        async move { vendor.send(impatient("/")).await.map(|answer| answer.status()) }
    });
    settle().await;
    held.answer(0, limited("10"));
    assert_eq!(first.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
    for past in 0..100_u32 {
        for other in 0..10 {
            // Of other URLs, so that the gate is asked: this one's deadline is known before.
            let refused = vendor.send(impatient(&format!("/{other}"))).await.unwrap_err();
            let Error::Cooling(cooling) = refused else { unreachable!("{refused:?}") };
            assert_eq!(cooling.retry_in(), Some(10 * SECOND - past * 50 * MILLISECOND));
        }
        tokio::time::sleep(50 * MILLISECOND).await;
    }
    let health = families.health();
    let family = health.family("vendor").unwrap();
    assert_eq!((family.strikes, family.signals, family.refusals, family.level), (1, 1, 1000, 1));
    assert_eq!(held.sent(), 1);
}
