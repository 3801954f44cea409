//! Everybody comes at the instant a cool-down ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use forbear::{Error, Families};
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::support::{
    Held, MILLISECOND, SECOND, answer, client, get, impatient, limited, registered, settle,
};

const CALLERS: usize = 10_000;

type Outcome = Result<StatusCode, Error>;

/// A family at the instant at which its cool-down ends, and everybody who comes then; every other one is patient.
async fn stampede(held: &Held) -> (Families, JoinSet<(bool, Outcome)>) {
    let families = registered();
    let vendor = forbear::stack(&families).budget(60 * SECOND).service(held.client());
    let first = tokio::spawn({
        let vendor = vendor.clone();
        async move { vendor.send(impatient("/")).await.map(|response| response.status()) }
    });
    settle().await;
    held.answer(0, limited("5"));
    assert_eq!(first.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(5 * SECOND).await;

    let mut all = JoinSet::new();
    for number in 0..CALLERS {
        let vendor = vendor.clone();
        let patient = number % 2 == 0;
        let request = if patient { get("/") } else { impatient("/") };
        all.spawn(async move { (patient, vendor.send(request).await.map(|response| response.status())) });
    }
    // The paused clock moves on when all of them have come.
    tokio::time::sleep(MILLISECOND).await;
    (families, all)
}

// resilience4j/resilience4j#343, xvirobotics/metabot#414: a half-open breaker let everybody through.
#[tokio::test(start_paused = true)]
async fn of_ten_thousand_one_probes_and_the_rest_wait_for_its_verdict() {
    let held = Held::default();
    let (families, mut all) = stampede(&held).await;
    assert_eq!(held.sent(), 2, "one attempt before the verdict");
    assert_eq!(families.health().family("vendor").unwrap().waiting, CALLERS / 2 - 1);
    held.answer(1, answer(200));
    let mut answered = 2;
    let (mut served, mut refused) = (0, 0);
    while served + refused < CALLERS {
        settle().await;
        while answered < held.sent() {
            held.answer(answered, answer(200));
            answered += 1;
        }
        while let Some(ended) = all.try_join_next() {
            match ended.unwrap() {
                (true, Ok(StatusCode::OK)) => served += 1,
                (false, Err(Error::Cooling(_))) => refused += 1,
                other => unreachable!("{other:?}"),
            }
        }
        tokio::time::sleep(5 * MILLISECOND).await;
    }
    assert_eq!((served, refused), (CALLERS / 2, CALLERS / 2));
}

// resilience4j/resilience4j#343, xvirobotics/metabot#414: after a bad verdict it is again one.
#[tokio::test(start_paused = true)]
async fn after_a_bad_verdict_one_probes_again() {
    let held = Held::default();
    let (_families, all) = stampede(&held).await;
    for round in 2..5 {
        assert_eq!(held.sent(), round, "one attempt per cool-down");
        held.answer(round - 1, limited("5"));
        settle().await;
        // The stretch doubles the delay; jitter adds at most a second.
        tokio::time::sleep(3 * SECOND).await;
        assert_eq!(held.sent(), round, "nothing is sent while it cools");
        while held.sent() == round {
            tokio::time::sleep(10 * MILLISECOND).await;
        }
    }
    assert!(all.len() > CALLERS / 3);
}

// resilience4j/resilience4j#343, Tr3kkR/Yuzu#3018: after one success everybody was let through.
#[tokio::test(start_paused = true)]
async fn five_thousand_parked_callers_are_served_at_the_recoverys_pace() {
    const PARKED: usize = 5000;
    /// Attempts per second before the signal: the pace that the family learns.
    const BEFORE: usize = 100;
    let latency = 100 * MILLISECOND;
    let (log, busy) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let wire = {
        let (log, busy) = (Arc::clone(&log), Arc::clone(&busy));
        client(move |_| {
            log.lock().unwrap().push(Instant::now());
            let busy = busy.load(Ordering::Relaxed);
            async move {
                sleep(latency).await;
                Ok(if busy { limited("5") } else { answer(200) })
            }
        })
    };
    let families = registered();
    let vendor = forbear::stack(&families).budget(600 * SECOND).service(wire);
    let call = |path: String| {
        let vendor = vendor.clone();
        async move { vendor.send(get(&path)).await.map(|answer| answer.status()) }
    };

    let mut calls = JoinSet::new();
    for _ in 0..10 * BEFORE {
        calls.spawn(call("/".to_owned()));
        sleep(SECOND / BEFORE as u32).await;
    }
    assert!(calls.join_all().await.iter().all(|ended| matches!(ended, Ok(StatusCode::OK))));
    busy.store(true, Ordering::Relaxed);
    let told = vendor.send(impatient("/")).await.unwrap();
    assert_eq!(told.status(), StatusCode::TOO_MANY_REQUESTS);
    let told = Instant::now();
    busy.store(false, Ordering::Relaxed);
    log.lock().unwrap().clear();

    let mut calls = JoinSet::new();
    for number in 0..PARKED {
        calls.spawn(call(format!("/{number}")));
    }
    sleep(SECOND).await;
    assert_eq!(families.health().family("vendor").unwrap().waiting, PARKED);
    assert!(log.lock().unwrap().is_empty(), "nobody calls while it cools");
    let ended = calls.join_all().await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(StatusCode::OK))), "all are served");

    let sent = log.lock().unwrap().clone();
    assert_eq!(sent.len(), PARKED, "each with one attempt");
    assert!(sent[0] - told >= 5 * SECOND, "{:?}", sent[0] - told);
    assert!(sent[1] - sent[0] >= latency, "one attempt until it is accepted, then {:?}", sent[1] - sent[0]);
    // The curve stays under the learned pace for the first 100 s; a bucket holds 50 ms of it.
    let most = BEFORE + BEFORE / 20 + 1;
    for (at, first) in sent.iter().enumerate() {
        let within = sent[at..].partition_point(|later| *later - *first < SECOND);
        assert!(within <= most, "{within} attempts in the second from {:?}", *first - sent[0]);
    }
    let (took, least) = (*sent.last().unwrap() - sent[0], PARKED as u32 * 100 / (BEFORE as u32 * 85));
    assert!(took <= least * SECOND, "{took:?}: the pace is used");
}
